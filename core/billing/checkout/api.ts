/** Billing an opportunity (rules/billing 1.3). */
import { Effect } from "effect"
import { boolean, choice, command, created, customFieldFacts, decimal, forbidden } from "../../kernel/index.ts"
import { hasOnePermission, integer, json, later, list, object, referredRows, Store } from "../../kernel/index.ts"
import { settingText, withRules, type Endpoint, type Settings } from "../../kernel/index.ts"
import { opportunities, opportunity_costs, opportunity_items } from "../../orders/opportunities/tables/index.ts"
import { opportunity_versions, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { invoiceAnswer, invoiceShown } from "../invoices/query.ts"
import { items_max, write } from "../state/fields.ts"
import { credit_notes, invoice_items, invoice_types, invoices } from "../state/tables.ts"
import { members } from "../../people/members/schema.ts"
import { products } from "../../products/products/schema.ts"
import { taxFacts } from "../../setup/reference-data/tax.ts"
import { billedOf } from "../state/billed.ts"
import { deductionsOf } from "../invoices/facts.ts"
import type { CheckoutFacts, Deposit } from "./decide.ts"
import type { CheckoutSource } from "../state/rows.ts"

// Facts for billing an opportunity, read in the transaction.

/** Live lines and costs of an opportunity, with the data their taxes depend on and the totals of the active version. */
export const chargedSource = Effect.fnUntraced(function* (
  header: OpportunityRow,
  customer_tax_class_id: number | null
): Store.Reads<CheckoutSource> {
  const where = { opportunity_id: header.id }
  const lines = yield* Store.find(opportunity_items, { ...where, is_live: true }, { order: ["path", "id"] })
  const version =
    header.active_version_id === 0 ? undefined : yield* Store.get(opportunity_versions, header.active_version_id)
  const priced = version ?? header
  return {
    header,
    lines,
    costs: yield* Store.find(opportunity_costs, where, { order: ["sort_order", "id"] }),
    products: yield* referredRows(products, lines, "item_id"),
    tax: yield* taxFacts,
    customer_tax_class_id,
    totals: { net: priced.charge_excluding_tax_total, tax: priced.tax_total }
  }
})

/**
 * The opportunity's issued deposits that no issued invoice deducts. Those credited in full, in another currency or of a
 * previous customer are excluded.
 */
export const depositsOf = Effect.fnUntraced(function* ({
  currency_code,
  id: opportunity_id,
  member_id
}: OpportunityRow): Store.Reads<ReadonlyArray<Deposit>> {
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

const checkoutFactsOf = Effect.fnUntraced(function* (
  header: OpportunityRow,
  settings: Settings
): Store.Reads<CheckoutFacts> {
  const member = header.member_id === null ? undefined : yield* Store.get(members, header.member_id)
  return {
    source: yield* chargedSource(header, member?.sale_tax_class_id ?? null),
    member,
    locale: member?.locale || settingText(settings, "company", "locale"),
    deposits: yield* depositsOf(header),
    billed: (yield* billedOf([header])).get(header.id),
    custom: { from: yield* customFieldFacts("Opportunity"), to: yield* customFieldFacts("Invoice") }
  }
})

const checkingOut = later(() => import("./decide.ts"))

const create = command("POST", "/api/v1/opportunities/{id}/invoices", {
  answer: invoiceShown,
  name: "opportunities.invoice",
  summary: "Draft an invoice for an opportunity's unbilled remainder, or a part of it",
  success_status: 201,
  ability: write,
  permission: "invoices.create",
  params: { id: { table: opportunities } },
  fields: {
    type: choice(invoice_types, { default: "standard", any_case: true }),
    deduct_deposits: boolean({ default: true, describe: "Deduct issued deposits, as rows" }),
    percent: decimal({
      scale: 2,
      min: "0.01",
      max: "100",
      nullable: true,
      describe: "Percentage of the total to bill"
    }),
    amount: json({ form: "any", nullable: true, describe: 'Amount to bill, before tax: "500.00"' }),
    lines: list(
      object({
        opportunity_item_id: integer({ required: true, names: "opportunity_items" }),
        quantity: decimal({
          scale: 2,
          min: "0.01",
          max: "1000000000",
          nullable: true,
          describe: "Quantity to bill; default: all unbilled"
        })
      }),
      { nullable: true, max_items: items_max, describe: "Lines to bill, with quantities" }
    )
  },
  authorize: ({ viewer }) =>
    hasOnePermission(viewer, "opportunities.view")
      ? Effect.void
      : Effect.fail(forbidden("This needs the permission opportunities.view.")),
  creates: [invoices, invoice_items],
  facts: ({ rows, settings }) => withRules(checkingOut, () => checkoutFactsOf(rows.id, settings)),
  decide: ({ known, rules }, { values }, context) =>
    rules.checkout(
      known,
      {
        type: values.type ?? "standard",
        deduct_deposits: values.deduct_deposits ?? true,
        percent: values.percent ?? null,
        amount: values.amount ?? null,
        lines: values.lines ?? null
      },
      context
    ),
  respond: invoiceAnswer(created)
})

export const checkoutEndpoints: ReadonlyArray<Endpoint> = [create]
