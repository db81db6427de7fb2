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
  created: "A draft purchase order was created: all of its columns and lines.",
  updated: "A draft purchase order changed: changed columns, and lines added, changed and removed.",
  deleted: "A draft purchase order was deleted."
})
export const purchaseOrderSent = purchaseOrderChanged("purchase_order.sent", {
  meaning: "A purchase order was sent to its supplier, or marked as sent if no address is known."
})
export const purchaseOrderCancelled = purchaseOrderChanged("purchase_order.cancelled", {
  meaning: "A purchase order without deliveries was cancelled; it keeps its number."
})

export const procurementEvents: ReadonlyArray<AnyEventType> = [
  purchaseOrderCreated,
  purchaseOrderUpdated,
  purchaseOrderDeleted,
  purchaseOrderSent,
  purchaseOrderCancelled
]
