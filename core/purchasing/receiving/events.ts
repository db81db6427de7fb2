/**
 * Events of deliveries and returns (rules/billing 2). Both carry results: the new quantities, and the stock levels by
 * id. The stock itself follows by a reaction.
 */
import { Schema } from "effect"
import { type AnyEventType, type DataOf, eventType } from "../../kernel/events/event-type.ts"
import { alterRow, type RecordChange } from "../../kernel/events/record-events.ts"
import { insertRow, update } from "../../kernel/tables/table.ts"
import { keyedColumns, newRow, someColumns } from "../../kernel/tables/stored-schema.ts"
import {
  purchase_order_items,
  purchase_order_receipt_lines,
  purchase_order_receipts,
  purchase_orders,
  purchaseOrderChanged
} from "../schema.ts"

/** `items`: rows of the order with their new quantity. */
const goodsEvent = (type: string, meaning: string) =>
  purchaseOrderChanged(type, {
    meaning,
    more: () => ({
      items: Schema.Array(keyedColumns(purchase_order_items)),
      receipt: newRow(purchase_order_receipts),
      lines: Schema.Array(newRow(purchase_order_receipt_lines))
    }),
    rows: ({ items, lines, receipt }, at) => [
      ...items.map((row) => alterRow(purchase_order_items, row, at)),
      insertRow(purchase_order_receipts, receipt, at),
      ...lines.map((line) => insertRow(purchase_order_receipt_lines, line, at))
    ],
    shows: ({ lines, receipt: { id, reference = null } }) => ({ receipt_id: id, reference, lines: lines.length })
  })
export const purchaseOrderReceived = goodsEvent(
  "purchase_order.received",
  "A delivery for a purchase order was received: quantities by line, and the stock levels created."
)
export type GoodsMoved = DataOf<typeof purchaseOrderReceived>
export const purchaseOrderReturned = goodsEvent(
  "purchase_order.returned",
  "Sub-hired goods were returned to the supplier: quantities by line, and their stock levels."
)
export const purchaseOrderExtended = purchaseOrderChanged("purchase_order.extended", {
  meaning: "The end of a sub-hire moved, later or earlier.",
  more: () => ({
    // Rows of the order whose own end moved.
    items: Schema.Array(keyedColumns(purchase_order_items)),
    // Rows whose goods are hired until `ends_at` now: their stock follows.
    hired_items: Schema.Array(Schema.Int),
    ends_at: Schema.String,
    reason: Schema.NullOr(Schema.String)
  }),
  rows: ({ items }, at) => items.map((row) => alterRow(purchase_order_items, row, at)),
  shows: ({ ends_at, reason }) => ({ ends_at, reason })
})
export const purchaseOrderReturnDue = eventType<RecordChange<typeof purchase_orders>>("purchase_order.return_due", {
  meaning: "People were reminded that sub-hired goods are due back. Recorded once for each end of the hire.",
  data: () => Schema.Struct({ id: Schema.Int, set: someColumns(purchase_orders), was: someColumns(purchase_orders) }),
  project: ({ id, set }) => [update(purchase_orders, id, set)],
  activity: ({ set }) => ({ old_values: null, new_values: { due_at: set.return_reminded_for ?? null } })
})

export const receivingEvents: ReadonlyArray<AnyEventType> = [
  purchaseOrderReceived,
  purchaseOrderReturned,
  purchaseOrderExtended,
  purchaseOrderReturnDue
]
