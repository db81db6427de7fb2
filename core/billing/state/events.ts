/**
 * What happens to invoices, payments and credit notes (rules/billing 1.6). All of it stands in the stream of the
 * invoice, with results and never differences: replaying numbers, sends and tells nothing again.
 */
import { Schema } from "effect"
import {
  type ActivityValues,
  type AnyEventType,
  type EventType,
  eventType,
  type ProjectionContext,
  streamOf
} from "../../kernel/events/event-type.ts"
import type { JsonObject } from "../../kernel/fields/json.ts"
import { insert, remove, type RowChange, update } from "../../kernel/tables/row-change.ts"
import {
  keyedColumns,
  type NewRow,
  newRow,
  newRowWith,
  type SomeColumns,
  someColumns,
  type Stored,
  without
} from "../../kernel/tables/stored-schema.ts"
import type { AnyRow, Table } from "../../kernel/tables/table.ts"
import { credit_note_items, credit_notes, invoice_items, type InvoiceRow, invoices, payments } from "./tables.ts"

export const invoiceStream = (id: number): string => streamOf("invoice", id)
/** Every event names its invoice as `id`. */
const stream = ({ id }: { readonly id: number }): string => invoiceStream(id)

export type InvoiceColumns = SomeColumns<typeof invoices>
interface Changed {
  readonly id: number
  readonly set: InvoiceColumns
  readonly was: InvoiceColumns
}
const changed = { id: Schema.Int, set: someColumns(invoices), was: someColumns(invoices) }
/** The columns of `set` with what they were before. */
export const invoiceChange = (row: InvoiceRow, set: InvoiceColumns): Changed => ({
  id: row.id,
  set,
  was: Object.fromEntries(Object.keys(set).map((name) => [name, (row as AnyRow)[name] ?? null]))
})
const inserted = (table: Table, row: AnyRow, at: string): RowChange =>
  insert(table, { ...row, created_at: at, updated_at: at, deleted_at: null })
const invoiceSet = (
  { id, set }: Pick<Changed, "id" | "set">,
  { recorded_at }: Pick<ProjectionContext, "recorded_at">
): RowChange => update(invoices, id, { ...set, updated_at: recorded_at })
const values = ({ set, was }: Pick<Changed, "set" | "was">, more: JsonObject = {}): ActivityValues => ({
  old_values: shown(was),
  new_values: { ...shown(set), ...more }
})
/** What the activity leaves out: who was billed stands on the invoice. */
const shown = (columns: InvoiceColumns): JsonObject =>
  without(columns as JsonObject, "billed_to", "billed_by", "overdue_told_at", "tax_summary", "vat_reports")

interface InvoiceMade extends SomeColumns<typeof invoices> {
  readonly id: number
  readonly items: ReadonlyArray<SomeColumns<typeof invoice_items> & { readonly id: number }>
}
export const invoiceCreated = eventType<InvoiceMade, NewRow<typeof invoices> & Pick<InvoiceMade, "items">>(
  "invoice.created",
  {
    meaning: "A draft of an invoice was made, by hand or from an opportunity: all of its columns, and its rows.",
    data: () => newRowWith(invoices, { items: Schema.Array(newRow(invoice_items)) }),
    stream,
    project: ({ items, ...invoice }, { recorded_at }) => [
      inserted(invoices, invoice, recorded_at),
      ...items.map((row) => inserted(invoice_items, row, recorded_at))
    ],
    activity: ({ items, ...invoice }) => ({ old_values: null, new_values: { ...shown(invoice), items: items.length } })
  }
)
export const invoiceUpdated = eventType("invoice.updated", {
  meaning:
    "A draft changed, or the custom fields of an invoice: columns that did, and rows that came, changed and went.",
  data: () =>
    Schema.Struct({
      ...changed,
      items: Schema.optionalKey(
        Schema.Struct({
          added: Schema.Array(newRow(invoice_items)),
          altered: Schema.Array(keyedColumns(invoice_items)),
          removed: Schema.Array(Schema.Int)
        })
      )
    }),
  stream,
  project: (data, { recorded_at }) => [
    invoiceSet(data, { recorded_at }),
    ...(data.items?.removed ?? []).map((id) => remove(invoice_items, id)),
    ...(data.items?.altered ?? []).map((row) =>
      update(invoice_items, row.id, { ...without(row, "id"), updated_at: recorded_at })
    ),
    ...(data.items?.added ?? []).map((row) => inserted(invoice_items, row, recorded_at))
  ],
  activity: (data) =>
    values(
      data,
      data.items === undefined
        ? {}
        : {
            items_added: data.items.added.length,
            items_changed: data.items.altered.length,
            items_removed: data.items.removed.length
          }
    )
})
export const invoiceDeleted = eventType("invoice.deleted", {
  meaning: "A draft was deleted.",
  data: () => Schema.Struct({ id: Schema.Int }),
  stream,
  project: ({ id }, { recorded_at }) => [update(invoices, id, { deleted_at: recorded_at, updated_at: recorded_at })],
  activity: () => ({ old_values: null, new_values: null })
})

/** Events that change columns of the invoice and nothing else. */
const headerEvent = (type: string, meaning: string): EventType<Changed> =>
  eventType<Changed>(type, {
    meaning,
    data: (): Stored<Changed> => Schema.Struct(changed),
    stream,
    project: (data, meta) => [invoiceSet(data, meta)],
    activity: (data) => values(data)
  })
interface Issued extends Changed {
  /** It bills more than was left of its opportunity. */
  readonly also?: { readonly allow_overbilling: boolean }
}
export const invoiceIssued = eventType<Issued>("invoice.issued", {
  meaning: "An invoice was issued, with its number (null until the server gives one), due date and parties.",
  data: (): Stored<Issued> =>
    Schema.Struct({ ...changed, also: Schema.optionalKey(Schema.Struct({ allow_overbilling: Schema.Boolean })) }),
  stream,
  project: (data, meta) => [invoiceSet(data, meta)],
  activity: (data) => values(data, data.also ?? {})
})
export const invoiceVoided = headerEvent("invoice.voided", "An invoice was voided; it keeps its number.")
export const invoiceOverdue = headerEvent(
  "invoice.overdue",
  "An invoice was still unpaid after it was due. Recorded once for each invoice."
)
export const invoiceEmailed = headerEvent("invoice.emailed", "An invoice was handed to the mail queue.")

interface MoneyMoved extends Changed {
  readonly payment: SomeColumns<typeof payments> & { readonly id: number }
}
const moneyEvent = (type: string, meaning: string): EventType<MoneyMoved> =>
  eventType<MoneyMoved>(type, {
    meaning,
    data: (): Stored<MoneyMoved> => Schema.Struct({ ...changed, payment: newRow(payments) }),
    stream,
    project: (data, meta) => [inserted(payments, data.payment, meta.recorded_at), invoiceSet(data, meta)],
    activity: (data) =>
      values(data, {
        payment_id: data.payment.id,
        amount: data.payment.amount ?? null,
        method: data.payment.method ?? null
      })
  })
export const paymentRecorded = moneyEvent(
  "payment.recorded",
  "A payment was recorded, and what it made of the invoice."
)
export const paymentRefunded = moneyEvent(
  "payment.refunded",
  "Money was given back, and what that made of the invoice."
)

export const creditNoteIssued = eventType("credit_note.issued", {
  meaning: "A credit note was issued for an invoice, with its rows, and what it made of the invoice.",
  data: () =>
    Schema.Struct({ ...changed, credit_note: newRow(credit_notes), items: Schema.Array(newRow(credit_note_items)) }),
  stream,
  project: (data, meta) => [
    inserted(credit_notes, data.credit_note, meta.recorded_at),
    ...data.items.map((row) => inserted(credit_note_items, row, meta.recorded_at)),
    invoiceSet(data, meta)
  ],
  activity: (data) =>
    values(data, {
      credit_note_id: data.credit_note.id,
      credit_note_number: data.credit_note.number ?? null,
      credited: data.credit_note.total ?? null
    })
})

export const billingEvents: ReadonlyArray<AnyEventType> = [
  invoiceCreated,
  invoiceUpdated,
  invoiceDeleted,
  invoiceIssued,
  invoiceVoided,
  invoiceOverdue,
  invoiceEmailed,
  paymentRecorded,
  paymentRefunded,
  creditNoteIssued
]
