/** Facts for billing an opportunity, read in the transaction. */
import { Effect } from "effect"
import { customFieldFacts } from "../../kernel/lists/custom-field.ts"
import type { Failure } from "../../kernel/endpoints/endpoint.ts"
import { Store } from "../../kernel/store/store.ts"
import { members } from "../../people/members/schema.ts"
import { opportunity_items } from "../../orders/opportunities/tables/lines.ts"
import { opportunity_costs, opportunity_versions } from "../../orders/opportunities/tables/money.ts"
import type { OpportunityRow } from "../../orders/opportunities/tables/opportunities.ts"
import { products } from "../../products/products/schema.ts"
import { taxFacts } from "../../setup/reference-data/tax.ts"
import { billedOf } from "../state/billed-facts.ts"
import { deductionsOf } from "../invoices/facts.ts"
import { credit_notes, invoices } from "../state/tables.ts"
import type { CheckoutFacts, Deposit } from "./decide.ts"
import type { CheckoutSource } from "../state/rows.ts"

/** What is charged, and what the taxes of it depend on. */
export const chargedSource = Effect.fnUntraced(function* (
  header: OpportunityRow,
  customer_tax_class_id: number | null
): Effect.fn.Return<CheckoutSource, Failure, Store> {
  const where = { opportunity_id: header.id }
  const lines = yield* Store.find(opportunity_items, { ...where, is_live: true }, { order: ["path", "id"] })
  const version =
    header.active_version_id === 0 ? undefined : yield* Store.get(opportunity_versions, header.active_version_id)
  const priced = version ?? header
  return {
    header,
    lines,
    costs: yield* Store.find(opportunity_costs, where, { order: ["sort_order", "id"] }),
    products: new Map(
      (yield* Store.getMany(products, [...new Set(lines.flatMap((line) => line.item_id ?? []))])).map((row) => [
        row.id,
        row
      ])
    ),
    tax: yield* taxFacts,
    customer_tax_class_id,
    totals: { net: priced.charge_excluding_tax_total, tax: priced.tax_total }
  }
})

/**
 * Deposits of an opportunity that were issued and not undone, and that no issued invoice takes off yet. One in another
 * currency, or of the customer it had before, is nothing that can be taken off.
 */
export const depositsOf = Effect.fnUntraced(function* ({
  currency_code,
  id: opportunity_id,
  member_id
}: OpportunityRow): Effect.fn.Return<ReadonlyArray<Deposit>, Failure, Store> {
  const issued = yield* Store.find(
    invoices,
    {
      opportunity_id,
      member_id,
      currency_code,
      type: "deposit",
      status: ["issued", "partially_paid", "paid"],
      deleted_at: null
    },
    { order: ["issued_at", "id"] }
  )
  if (issued.length === 0) return []
  const ids = issued.map(({ id }) => id)
  const deducted = yield* deductionsOf(ids)
  const notes = Map.groupBy(yield* Store.find(credit_notes, { invoice_id: ids }), (note) => note.invoice_id)
  return issued
    .filter(({ id }) => !deducted.has(id))
    .map((invoice) => ({ invoice, credited: (notes.get(invoice.id) ?? []).flatMap((note) => note.tax_summary) }))
})

export const checkoutFactsOf = Effect.fnUntraced(function* (
  header: OpportunityRow
): Effect.fn.Return<CheckoutFacts, Failure, Store> {
  const member = header.member_id === null ? undefined : yield* Store.get(members, header.member_id)
  return {
    source: yield* chargedSource(header, member?.sale_tax_class_id ?? null),
    member,
    deposits: yield* depositsOf(header),
    billed: (yield* billedOf([header])).get(header.id),
    custom: { from: yield* customFieldFacts("Opportunity"), to: yield* customFieldFacts("Invoice") }
  }
})
