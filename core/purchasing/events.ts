/**
 * Events of purchase orders other than receipts (rules/billing 2), in the stream of the order. They carry results,
 * never differences: replaying assigns no numbers and sends nothing.
 */
import type { AnyEventType } from "../kernel/events/event-type.ts"
import { draftEvents, recordEvents } from "../kernel/events/record-events.ts"
import { purchase_order_items, purchase_orders } from "./schema.ts"

const records = recordEvents(purchase_orders)
export const { change: purchaseOrderChange, changed: purchaseOrderChanged, stream: purchaseOrderStream } = records
export const {
  created: purchaseOrderCreated,
  deleted: purchaseOrderDeleted,
  updated: purchaseOrderUpdated
} = draftEvents(records, purchase_order_items, {
  created: "A draft of an order to a supplier was made: all of its columns, and its lines.",
  updated: "A draft of an order to a supplier changed: columns that did, and lines that came, changed and went.",
  deleted: "A draft of an order to a supplier was deleted."
})
export const purchaseOrderSent = purchaseOrderChanged("purchase_order.sent", {
  meaning: "An order was sent to its supplier, or marked as sent where no address of theirs is known."
})
export const purchaseOrderCancelled = purchaseOrderChanged("purchase_order.cancelled", {
  meaning: "An order of which nothing had come was cancelled; it keeps its number."
})

export const procurementEvents: ReadonlyArray<AnyEventType> = [
  purchaseOrderCreated,
  purchaseOrderUpdated,
  purchaseOrderDeleted,
  purchaseOrderSent,
  purchaseOrderCancelled
]
