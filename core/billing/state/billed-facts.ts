/** Reads the billed amounts of opportunities; four queries, for any number. */
import { Effect } from "effect"
import type { Failure } from "../../kernel/endpoints/endpoint.ts"
import { Store } from "../../kernel/store/store.ts"
import { opportunities, type OpportunityRow } from "../../orders/opportunities/tables/opportunities.ts"
import { opportunity_versions } from "../../orders/opportunities/tables/money.ts"
import { exact } from "../../values/decimal.ts"
import { convertMoney } from "../../values/currency.ts"
import { isUsedUp, leftOf } from "./credited.ts"
import {
  credit_note_items,
  invoice_items,
  type InvoiceItemRow,
  type InvoiceRow,
  invoices,
  standing_statuses
} from "./tables.ts"
import { type Billed, type BilledRow, type Billing, netOfRows } from "./billed.ts"

type BilledOpportunity = Pick<
  OpportunityRow,
  "id" | "active_version_id" | "charge_excluding_tax_total" | "currency_code" | "exchange_rate"
>
/** Amounts of an invoice in the currency of its opportunity, by the rates that both keep. */
const amountsIn = (opportunity: BilledOpportunity, invoice: InvoiceRow): ((amount: number) => number) => {
  if (invoice.currency_code === opportunity.currency_code) return (amount) => amount
  const rate = exact(invoice.exchange_rate).dividedBy(exact(opportunity.exchange_rate)).toFixed(12)
  return (amount) => convertMoney(amount, invoice.currency_code, opportunity.currency_code, rate)
}

/** By opportunity. `but`: a draft that is left out, because it is what is looked at. */
export const billedOf = Effect.fnUntraced(function* (
  headers: ReadonlyArray<BilledOpportunity>,
  but?: number
): Effect.fn.Return<ReadonlyMap<number, Billed>, Failure, Store> {
  const found = (yield* Store.find(
    invoices,
    {
      opportunity_id: headers.map(({ id }) => id),
      type: "standard",
      status: ["draft", ...standing_statuses],
      deleted_at: null
    },
    { order: ["issued_at", "id"] }
  )).filter(({ id }) => id !== but)
  const invoice_id = found.map(({ id }) => id)
  const items = Map.groupBy(
    invoice_id.length === 0 ? [] : yield* Store.find(invoice_items, { invoice_id }, { order: ["sort_order", "id"] }),
    (item) => item.invoice_id
  )
  const credited = Map.groupBy(
    invoice_id.length === 0 ? [] : yield* Store.find(credit_note_items, { invoice_id }),
    (note) => note.invoice_id
  )
  const versions = new Map(
    (yield* Store.getMany(opportunity_versions, [
      ...new Set(headers.flatMap((one) => (one.active_version_id === 0 ? [] : [one.active_version_id])))
    ])).map((version) => [version.id, version])
  )
  return new Map(
    headers.map((opportunity) => {
      const own = found.filter((invoice) => invoice.opportunity_id === opportunity.id)
      const rowsOf = (invoice: InvoiceRow): ReadonlyArray<BilledRow> => {
        const amountIn = amountsIn(opportunity, invoice)
        return leftOf(items.get(invoice.id) ?? [], credited.get(invoice.id) ?? [])
          .filter((row) => row.item.deposit_invoice_id === null && !isUsedUp(row))
          .map((row) => ({
            invoice,
            item: row.item,
            quantity: row.left.net === 0 && row.has_amounts ? 0 : row.quantity,
            net: amountIn(row.left.net),
            tax: amountIn(row.left.tax)
          }))
      }
      const billed: Billed = {
        total: (versions.get(opportunity.active_version_id) ?? opportunity).charge_excluding_tax_total,
        currency_code: opportunity.currency_code,
        rows: own.filter(({ status }) => status !== "draft").flatMap(rowsOf),
        drafts: own
          .filter(({ status }) => status === "draft")
          .map((invoice) => ({ invoice, net: amountsIn(opportunity, invoice)(netOfRows(items.get(invoice.id) ?? [])) }))
      }
      return [opportunity.id, billed]
    })
  )
})

/** What an invoice bills of its opportunity, and what others do; undefined of all but standard ones with one. */
export const billingOf = Effect.fnUntraced(function* (
  invoice: InvoiceRow,
  items: ReadonlyArray<InvoiceItemRow>
): Effect.fn.Return<Billing | undefined, Failure, Store> {
  if (invoice.type !== "standard" || invoice.opportunity_id === null) return undefined
  const opportunity = yield* Store.get(opportunities, invoice.opportunity_id)
  if (opportunity === undefined) return undefined
  const others = (yield* billedOf([opportunity], invoice.id)).get(opportunity.id)
  return others === undefined ? undefined : { others, own: amountsIn(opportunity, invoice)(netOfRows(items)) }
})
