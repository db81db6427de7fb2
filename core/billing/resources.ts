/** How answers show invoices, payments and credit notes (rules/billing 1.2, 1.4, 1.5). */
import * as Shown from "../kernel/answer-schema.ts"
import { boolean, decimal, integer, text } from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import { type Resource, resource } from "../kernel/resource.ts"
import { members } from "../members/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { stores } from "../stores/stores.ts"
import { formatMoney } from "../values/money.ts"
import {
  credit_note_items,
  credit_note_statuses,
  credit_notes,
  invoice_items,
  invoice_statuses,
  invoice_types,
  type InvoiceRow,
  type InvoiceStatus,
  invoices,
  payment_methods,
  payments,
  type TaxSummaryRow
} from "./schema.ts"

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
/** The frozen summary with its money as answers give it. */
export const taxSummaryOut = (rows: ReadonlyArray<TaxSummaryRow>, currency: string): ReadonlyArray<JsonObject> =>
  rows.map((row) => ({
    tax_class_id: row.tax_class_id,
    tax_rate_id: row.tax_rate_id,
    tax_rate_name: row.tax_rate_name,
    rate: row.rate,
    net: formatMoney(row.net, currency),
    tax: formatMoney(row.tax, currency),
    gross: formatMoney(row.gross, currency)
  }))

/** Statuses of invoices on which something is still to be paid. */
export const owing_statuses: ReadonlyArray<InvoiceStatus> = ["issued", "partially_paid"]
/** Unpaid in part or whole after it was due. Judged when it is asked for. */
export const isOverdue = (row: Pick<InvoiceRow, "status" | "due_at">, now: string): boolean =>
  owing_statuses.includes(row.status) && row.due_at !== null && row.due_at < now

export const invoiceItemResource = resource({
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
/** Each includes the other: one of them must say its type. */
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
    credit_notes: { kind: "many", via: "invoice_id", resource: () => creditNoteResource }
  },
  view: (base, row, _found, { now }) => ({
    ...base,
    type_name: invoice_types[row.type],
    status_name: invoice_statuses[row.status],
    is_overdue: isOverdue(row, now),
    tax_summary: taxSummaryOut(row.tax_summary, row.currency_code)
  })
})
