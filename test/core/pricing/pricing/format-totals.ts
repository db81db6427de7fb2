import { type Totals } from "../../../../core/pricing/pricing/totals.ts"
import { formatMoney } from "../../../../core/values/money.ts"

/** Totals as decimal strings at the currency's own scale. */
export const formatTotals = (totals: Totals, currency: string): { readonly [K in keyof Totals]: string } =>
  Object.fromEntries(Object.entries(totals).map(([name, amount]) => [name, formatMoney(amount, currency)])) as {
    readonly [K in keyof Totals]: string
  }
