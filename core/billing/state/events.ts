/**
 * Events of invoices, payments and credit notes (rules/billing 1.6), in the stream of the invoice. They carry results,
 * never differences: replaying assigns no numbers and sends nothing.
 */
import { Schema } from "effect"
import { draftEvents, insertRow, newRow, recordEvents } from "../../kernel/index.ts"
import type { AnyEventType, DecideContext } from "../../kernel/index.ts"
import { credit_note_items, credit_notes, invoice_items, invoices, payments } from "./tables.ts"
import { type NumberedKind, numbering_group, numberWritten, prefixOf } from "../../setup/settings/groups.ts"

/** Columns hidden from the activity, such as the names of the parties. */
const hidden = ["billed_to", "billed_by", "overdue_told_at", "tax_summary", "vat_reports"]
const records = recordEvents(invoices, ...hidden)
const { changed } = records
export const { change: invoiceChange, stream: invoiceStream } = records
export const {
  created: invoiceCreated,
  deleted: invoiceDeleted,
  updated: invoiceUpdated
} = draftEvents(records, invoice_items, {
  created: "A draft invoice was created, by hand or from an opportunity: all of its columns and rows.",
  updated: "A draft or an invoice's custom fields changed: changed columns, and rows added, changed and removed.",
  deleted: "A draft was deleted."
})

export const invoiceIssued = changed("invoice.issued", {
  meaning: "An invoice was issued, with its number (null until the server gives one), due date and parties.",
  // The invoice exceeds the unbilled rest of its opportunity, as the user allowed.
  more: () => ({ also: Schema.optionalKey(Schema.Struct({ allow_overbilling: Schema.Boolean })) }),
  shows: (data) => data.also ?? {}
})
export const invoiceVoided = changed("invoice.voided", { meaning: "An invoice was voided; it keeps its number." })
export const invoiceOverdue = changed("invoice.overdue", {
  meaning: "An invoice was still unpaid after it was due. Recorded once for each invoice."
})
export const invoiceEmailed = changed("invoice.emailed", { meaning: "An invoice was handed to the mail queue." })

const moneyEvent = (type: string, meaning: string) =>
  changed(type, {
    meaning,
    more: () => ({ payment: newRow(payments) }),
    rows: ({ payment }, at) => [insertRow(payments, payment, at)],
    shows: ({ payment: { amount = null, id, method = null } }) => ({ payment_id: id, amount, method })
  })
export const paymentRecorded = moneyEvent(
  "payment.recorded",
  "A payment was recorded, with the invoice's new balance and status."
)
export const paymentRefunded = moneyEvent(
  "payment.refunded",
  "Money was refunded, with the invoice's new balance and status."
)

export const creditNoteIssued = changed("credit_note.issued", {
  meaning: "A credit note was issued for an invoice: its rows, and the invoice's new balance and status.",
  more: () => ({ credit_note: newRow(credit_notes), items: Schema.Array(newRow(credit_note_items)) }),
  rows: ({ credit_note, items }, at) => [
    insertRow(credit_notes, credit_note, at),
    ...items.map((row) => insertRow(credit_note_items, row, at))
  ],
  shows: ({ credit_note: { id, number = null, total = null } }) => ({
    credit_note_id: id,
    credit_note_number: number,
    credited: total
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

// Series of document numbers: one for each kind, or one for each kind and store (rules/billing 1.3; rules/rulings,
// number series).

/**
 * The next number of a kind; null on devices, which do not assign numbers. Taken in the transaction that uses it, so
 * that a series has no gaps.
 */
export const nextDocumentNumber = (
  kind: NumberedKind,
  store_id: number | null,
  { number, settings }: Pick<DecideContext, "number" | "settings">
): string | null => {
  const is_per_store = settings[numbering_group]?.[`${kind}.per_store`] === true
  const of_store = is_per_store && store_id !== null
  const nth = number(of_store ? `${kind}:store:${store_id}` : kind)
  const said = prefixOf(kind, settings)
  // By law a number identifies one document, so two stores never share one.
  const before = of_store && !said.includes("{store}") ? `${said}{store}-` : said
  return nth === null ? null : numberWritten(kind, nth, { before, settings, store_id })
}
