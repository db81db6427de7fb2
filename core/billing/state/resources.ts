/** API representation of invoices, payments and credit notes (rules/billing 1.2, 1.4, 1.5). */
import { Effect } from "effect"
import { boolean, decimal, hasOnePermission, integer, picked, resource, Shown, Store } from "../../kernel/index.ts"
import { type AnyRow, type Include, type JsonObject, type Resource, type StoreRead, text } from "../../kernel/index.ts"
import { opportunities, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { formatMoney } from "../../values/money.ts"
import { billedOf, billedTotal, leftToBill } from "./billed.ts"
import { members } from "../../people/members/schema.ts"
import { stores } from "../../setup/stores.ts"
import type { TaxSummaryRow } from "./tables.ts"
import {
  credit_note_items,
  credit_note_statuses,
  credit_notes,
  invoice_items,
  invoice_statuses,
  invoice_types,
  invoices,
  payment_methods,
  payments
} from "./tables.ts"

// `billed_total` and `left_to_bill_total` of opportunities and of the invoices that bill them (rules/billing 1.9).

export const billed_shown = {
  billed_total: text({ nullable: true, describe: "Billed by issued standard invoices, less credits, before tax" }),
  left_to_bill_total: text({ nullable: true, describe: "Unbilled remainder of the opportunity, before tax" })
}
type Opportunities = ReadonlyArray<OpportunityRow>
/**
 * Billing totals of opportunities, or null without permission to see invoices. `idOf`: opportunity of a row;
 * `opportunitiesOf`: those of all rows.
 */
const totalsBy = (
  idOf: (row: AnyRow) => number,
  opportunitiesOf: (rows: ReadonlyArray<AnyRow>) => StoreRead<Opportunities>
): Include => ({
  kind: "keys",
  shows: billed_shown,
  of: Effect.fnUntraced(function* (rows, { viewer }) {
    const found = hasOnePermission(viewer, "invoices.view") ? yield* opportunitiesOf(rows) : []
    const billed = found.length === 0 ? undefined : yield* billedOf(found)
    return (row) => {
      const one = billed?.get(idOf(row))
      return one === undefined
        ? { billed_total: null, left_to_bill_total: null }
        : {
            billed_total: formatMoney(billedTotal(one), one.currency_code),
            left_to_bill_total: formatMoney(leftToBill(one), one.currency_code)
          }
    }
  })
})
export const billedOfOpportunities = totalsBy(
  (row) => Number(row["id"]),
  (rows) => Effect.succeed(rows as Opportunities)
)
const opportunityOf = (row: AnyRow): number => Number(row["opportunity_id"] ?? 0)
const billedBeside = totalsBy(opportunityOf, (rows) => {
  const ids = [...new Set(rows.map(opportunityOf).filter((id) => id > 0))]
  return ids.length === 0 ? Effect.succeed([]) : Store.getMany(opportunities, ids)
})

const amount = () => text({ describe: "Money: a decimal string in the document's currency" })
const taxSummaryShown = Shown.objects({
  tax_class_id: integer({ nullable: true }),
  tax_rate_id: integer({ nullable: true }),
  tax_rate_name: text(),
  rate: decimal({ scale: 4 }),
  net: amount(),
  tax: amount(),
  gross: amount()
})
/** The stored tax summary with formatted amounts. */
const taxSummaryOut = (rows: ReadonlyArray<TaxSummaryRow>, currency: string): ReadonlyArray<JsonObject> =>
  rows.map((row) => ({
    ...picked(row, ["tax_class_id", "tax_rate_id", "tax_rate_name", "rate"]),
    net: formatMoney(row.net, currency),
    tax: formatMoney(row.tax, currency),
    gross: formatMoney(row.gross, currency)
  }))

/** Statuses of invoices with something outstanding. */
const owing_statuses: ReadonlyArray<keyof typeof invoice_statuses> = ["issued", "partially_paid"]

const invoiceItemResource = resource({
  singular: "item",
  plural: "items",
  title: "InvoiceItem",
  entity_type: "invoice_items",
  table: invoice_items,
  order: ["sort_order", "id"]
})
export const paymentResource = resource({
  singular: "payment",
  table: payments,
  shows: { method_name: text() },
  order: ["paid_at", "id"],
  view: (base, row) => ({ ...base, method_name: payment_methods[row.method] })
})
const creditNoteItemResource = resource({
  singular: "item",
  plural: "items",
  title: "CreditNoteItem",
  entity_type: "credit_note_items",
  table: credit_note_items,
  order: ["sort_order", "id"]
})
/** Invoices and credit notes include each other, so one of them needs a type annotation. */
const invoiceOfNote = (): Resource<typeof invoices, "invoice"> => invoiceResource
export const creditNoteResource = resource({
  singular: "credit_note",
  heading: "Deals",
  called: { by: ["number"] },
  table: credit_notes,
  shows: { status_name: text(), tax_summary: taxSummaryShown },
  filters: [
    "number",
    "status",
    "member_id",
    "store_id",
    "opportunity_id",
    "invoice_id",
    "currency_code",
    "total",
    "issued_at",
    "created_at",
    "updated_at"
  ],
  sorts: ["number", "total", "issued_at", "created_at", "updated_at"],
  includes: {
    member: { kind: "brief", via: "member_id", table: members },
    store: { kind: "brief", via: "store_id", table: stores },
    invoice: { kind: "one", via: "invoice_id", resource: invoiceOfNote },
    items: { kind: "many", via: "credit_note_id", resource: () => creditNoteItemResource }
  },
  view: (base, row) => ({
    ...base,
    status_name: credit_note_statuses[row.status],
    tax_summary: taxSummaryOut(row.tax_summary, row.currency_code)
  })
})
export const invoiceResource = resource({
  singular: "invoice",
  heading: "Deals",
  called: { by: ["number"] },
  table: invoices,
  custom_module: "Invoice",
  shows: { type_name: text(), status_name: text(), is_overdue: boolean(), tax_summary: taxSummaryShown },
  filters: [
    "number",
    "type",
    "status",
    "subject",
    "reference",
    "member_id",
    "store_id",
    "opportunity_id",
    "currency_code",
    "subtotal",
    "tax_total",
    "total",
    "amount_paid",
    "amount_outstanding",
    "issued_at",
    "due_at",
    "paid_at",
    "voided_at",
    "emailed_at",
    "created_at",
    "updated_at"
  ],
  sorts: [
    "number",
    "type",
    "status",
    "total",
    "amount_outstanding",
    "issued_at",
    "due_at",
    "paid_at",
    "created_at",
    "updated_at"
  ],
  value_names: {
    status: [
      ...Object.entries(invoice_statuses).flatMap(([status, label]) =>
        [status, label].map((name) => ({ name, where: { status } }))
      ),
      { name: "void", where: { status: "voided" } }
    ]
  },
  flags: { is_overdue: { column: "status", is: owing_statuses, past: "due_at" } },
  related: {
    "member.name": { via: "member_id", table: members, column: "name" },
    "store.name": { via: "store_id", table: stores, column: "name" }
  },
  includes: {
    member: { kind: "brief", via: "member_id", table: members },
    store: { kind: "brief", via: "store_id", table: stores },
    opportunity: { kind: "brief", via: "opportunity_id", table: opportunities, name: "subject" },
    items: { kind: "many", via: "invoice_id", resource: () => invoiceItemResource },
    payments: { kind: "many", via: "invoice_id", resource: () => paymentResource },
    credit_notes: { kind: "many", via: "invoice_id", resource: () => creditNoteResource },
    billing: billedBeside
  },
  view: (base, row, _found, { now }) => ({
    ...base,
    type_name: invoice_types[row.type],
    status_name: invoice_statuses[row.status],
    is_overdue: owing_statuses.includes(row.status) && row.due_at !== null && row.due_at < now,
    tax_summary: taxSummaryOut(row.tax_summary, row.currency_code)
  })
})
