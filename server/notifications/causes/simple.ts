/** Types that one event causes by itself, told to everybody who may see what it is about. */
import { Effect } from "effect"
import { invoiceIssued, invoiceOverdue, paymentRecorded } from "../../../core/billing/events.ts"
import { read as invoices_read } from "../../../core/billing/paths.ts"
import { quotationAccepted } from "../../../core/documents/links/events.ts"
import type { AnyEventType } from "../../../core/kernel/event-type.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { opportunityCreated } from "../../../core/opportunities/header/events.ts"
import { read as opportunities_read } from "../../../core/opportunities/paths.ts"
import { read as purchase_orders_read } from "../../../core/procurement/paths.ts"
import { purchaseOrderReceived } from "../../../core/procurement/receiving/events.ts"
import { type Cause, keyOf } from "../happening.ts"

interface Plain {
  readonly on: AnyEventType
  /** The table of what it is about, whose id is the event's `id`. */
  readonly about: string
  readonly seen_with: string
  readonly details?: (data: JsonObject) => JsonObject
}
const plain = (notification_type: string, { about, details = () => ({}), on, seen_with }: Plain): Cause => ({
  notification_type,
  on: [on.type],
  may: () => true,
  happenings: (events) =>
    Effect.succeed(
      events.map((event) => ({
        notification_type,
        key: keyOf(event),
        subject: { type: about, id: Number(event.data["id"]) },
        details: details(event.data),
        seen_with,
        to: null,
        actor_id: event.actor_id,
        command_id: event.command_id
      }))
    )
})
const idWithin =
  (name: string) =>
  (data: JsonObject): JsonObject => {
    const row = data[name]
    return { [`${name}_id`]: isJsonObject(row) ? (row["id"] ?? null) : null }
  }

const opportunity = { about: "opportunities", seen_with: opportunities_read.permission }
const invoice = { about: "invoices", seen_with: invoices_read.permission }

export const simpleCauses: ReadonlyArray<Cause> = [
  // A copy is made by the same event.
  plain("opportunity.created", { ...opportunity, on: opportunityCreated }),
  plain("document.accepted", {
    ...opportunity,
    on: quotationAccepted,
    details: ({ document_id }) => ({ document_id: document_id ?? null })
  }),
  plain("invoice.issued", { ...invoice, on: invoiceIssued }),
  plain("invoice.overdue", { ...invoice, on: invoiceOverdue }),
  plain("payment.recorded", { ...invoice, on: paymentRecorded, details: idWithin("payment") }),
  plain("purchase_order.received", {
    about: "purchase_orders",
    seen_with: purchase_orders_read.permission,
    on: purchaseOrderReceived,
    details: idWithin("receipt")
  })
]
