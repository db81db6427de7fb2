/** Invoices, credit notes and payments whole; payments with the invoice they are of. */
import { integer } from "../../../core/kernel/field.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { type WebhookKind, wholeRow } from "../kind.ts"

const idWithin =
  (key: string) =>
  (data: JsonObject): number => {
    const row = data[key]
    return isJsonObject(row) ? Number(row["id"]) : 0
  }

export const billingKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("invoices", ["invoice.created", "invoice.issued", "invoice.voided", "invoice.overdue"]),
  ...wholeRow("payments", ["payment.recorded", "payment.refunded"], {
    id_of: idWithin("payment"),
    more: { invoice_id: integer() },
    more_of: ({ id }) => ({ invoice_id: Number(id) })
  }),
  ...wholeRow("credit_notes", ["credit_note.issued"], { id_of: idWithin("credit_note") })
]
