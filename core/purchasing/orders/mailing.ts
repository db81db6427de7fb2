/**
 * The mail with a purchase order (rules/billing 2.3). Sending is recorded on server or device; the server that records
 * it queues the message in the same transaction. Addresses stay out of the journal.
 */
import { Context, Schema } from "effect"
import type { StoreRead } from "../../kernel/endpoints/endpoint.ts"

export const purchaseOrderMail = Schema.Struct({
  purchase_order_id: Schema.Int,
  sent_at: Schema.String,
  /** Null: no address of the supplier is known, and nothing is mailed. */
  to: Schema.NullOr(Schema.String),
  /** Null: as the settings word it. */
  message: Schema.NullOr(Schema.String),
  sender_user_id: Schema.Int
})
export type PurchaseOrderMail = typeof purchaseOrderMail.Type

/** Queues the message. A server has it; a device does not, and sends the command on. */
export class PurchaseOrderMailer extends Context.Service<
  PurchaseOrderMailer,
  (mail: PurchaseOrderMail) => StoreRead<void>
>()("flightcase/PurchaseOrderMailer") {}
