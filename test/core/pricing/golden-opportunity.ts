/** Prices an opportunity of the golden file: lines one by one, then the roll-up. */
import { Result } from "effect"
import { noRateMethod, type RateMethod } from "../../../core/pricing/engine.ts"
import { priceLine, type TransactionType } from "../../../core/pricing/line.ts"
import { noTax, type ResolvedTax } from "../../../core/pricing/tax.ts"
import { rollUp, type TotalCost } from "../../../core/pricing/totals.ts"
import { formatTotals } from "./format-totals.ts"
import { formatDecimal } from "../../../core/values/decimal.ts"
import { formatMoney } from "../../../core/values/money.ts"

export interface GoldenOpportunity {
  readonly starts_at: string
  readonly ends_at: string
  readonly currency_code?: string
  readonly tax_rates?: { readonly [product_tax_class: string]: string }
  readonly default_product_tax_class?: number
  readonly prices_include_tax?: boolean
  readonly use_chargeable_days?: boolean
  readonly chargeable_days?: string
  readonly deal_total?: number
  readonly tax_locked?: boolean
  readonly stored_tax_total?: number
  readonly items?: ReadonlyArray<{
    readonly quantity: string
    readonly transaction_type: TransactionType
    readonly unit_price?: number
    readonly rate?: { readonly price: number } & Partial<RateMethod>
    readonly product_tax_class?: number
    readonly discount_percent?: string
    readonly is_optional?: boolean
    readonly starts_at?: string
    readonly ends_at?: string
  }>
  readonly costs?: ReadonlyArray<Omit<TotalCost, "is_optional"> & { readonly is_optional?: boolean }>
}

export const priceGoldenOpportunity = (input: GoldenOpportunity) => {
  const currency = input.currency_code ?? "GBP"
  const taxOf = (product_tax_class_id: number): ResolvedTax => {
    const percentage = input.tax_rates?.[product_tax_class_id]
    return percentage === undefined ? noTax : { tax_rate_id: product_tax_class_id, name: "Tax", percentage }
  }
  const items = (input.items ?? []).map((item) => {
    const tax_rate = item.product_tax_class === undefined ? noTax.percentage : taxOf(item.product_tax_class).percentage
    const priced = Result.getOrThrow(
      priceLine({
        transaction_type: item.transaction_type,
        quantity: item.quantity,
        manual_unit_price: item.unit_price ?? null,
        rate: item.rate === undefined ? null : { price: item.rate.price, method: { ...noRateMethod, ...item.rate } },
        carried_unit_price: 0,
        discount_percent: item.discount_percent ?? null,
        starts_at: item.starts_at ?? input.starts_at,
        ends_at: item.ends_at ?? input.ends_at,
        days: {
          use_chargeable_days: input.use_chargeable_days ?? false,
          chargeable_days: input.chargeable_days ?? null
        },
        currency,
        prices_include_tax: input.prices_include_tax ?? false,
        tax_rate
      })
    )
    return { item, priced, tax_rate }
  })
  const { totals } = rollUp({
    lines: items.map(({ item, priced }) => ({
      transaction_type: item.transaction_type,
      net: priced.total,
      product_tax_class_id: item.product_tax_class ?? null,
      is_optional: item.is_optional ?? false
    })),
    costs: (input.costs ?? []).map((cost) => ({ is_optional: false, ...cost })),
    prices_include_tax: input.prices_include_tax ?? false,
    deal_total: input.deal_total ?? null,
    locked_tax_total: input.tax_locked === true ? (input.stored_tax_total ?? 0) : null,
    default_product_tax_class_id: input.default_product_tax_class ?? null,
    taxOf
  })
  return {
    items: items.map(({ priced, tax_rate }) => ({
      unit_price: formatMoney(priced.unit_price, currency),
      total: formatMoney(priced.total, currency),
      tax_rate: formatDecimal(tax_rate, 2)
    })),
    ...formatTotals(totals, currency)
  }
}
