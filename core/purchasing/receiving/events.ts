/**
 * Deliveries from suppliers, and what went back to them (rules/billing 2). Both carry results: the quantities as they
 * are afterwards, and the stock levels by id. The stock itself follows by a reaction.
 */
import { Schema } from "effect"
import { type AnyEventType, type EventType, eventType } from "../../kernel/events/event-type.ts"
import { update } from "../../kernel/tables/row-change.ts"
import { keyedColumns, type KeyedColumns, newRow, type Stored, without } from "../../kernel/tables/stored-schema.ts"
import {
  insertedRow,
  purchase_order_changed,
  type PurchaseOrderChanged,
  purchaseOrderSet,
  purchaseOrderStream,
  purchaseOrderValues
} from "../events.ts"
import {
  purchase_order_items,
  purchase_order_receipt_lines,
  purchase_order_receipts,
  purchase_orders
} from "../schema.ts"

export interface GoodsMoved extends PurchaseOrderChanged {
  /** Rows of the order with their new quantity. */
  readonly items: ReadonlyArray<KeyedColumns<typeof purchase_order_items>>
  readonly receipt: KeyedColumns<typeof purchase_order_receipts>
  readonly lines: ReadonlyArray<KeyedColumns<typeof purchase_order_receipt_lines>>
}
const stream = ({ id }: { readonly id: number }): string => purchaseOrderStream(id)

const goodsEvent = (type: string, meaning: string): EventType<GoodsMoved> =>
  eventType<GoodsMoved>(type, {
    meaning,
    data: (): Stored<GoodsMoved> =>
      Schema.Struct({
        ...purchase_order_changed,
        items: Schema.Array(keyedColumns(purchase_order_items)),
        receipt: newRow(purchase_order_receipts),
        lines: Schema.Array(newRow(purchase_order_receipt_lines))
      }),
    stream,
    project: (data, meta) => [
      purchaseOrderSet(data, meta),
      ...data.items.map((row) =>
        update(purchase_order_items, row.id, { ...without(row, "id"), updated_at: meta.recorded_at })
      ),
      insertedRow(purchase_order_receipts, data.receipt, meta.recorded_at),
      ...data.lines.map((line) => insertedRow(purchase_order_receipt_lines, line, meta.recorded_at))
    ],
    activity: (data) =>
      purchaseOrderValues(data, {
        receipt_id: data.receipt.id,
        reference: data.receipt.reference ?? null,
        lines: data.lines.length
      })
  })
export const purchaseOrderReceived = goodsEvent(
  "purchase_order.received",
  "A delivery for a purchase order came: what of each row, and the stock levels it became."
)
export const purchaseOrderReturned = goodsEvent(
  "purchase_order.returned",
  "Sub-hired goods went back to the supplier: what of each row, from which stock levels."
)
interface HireExtended extends PurchaseOrderChanged {
  /** Rows of the order whose own end moved. */
  readonly items: ReadonlyArray<KeyedColumns<typeof purchase_order_items>>
  /** Rows whose goods are hired until `ends_at` now: their stock follows. */
  readonly hired_items: ReadonlyArray<number>
  readonly ends_at: string
  readonly reason: string | null
}
export const purchaseOrderExtended = eventType<HireExtended>("purchase_order.extended", {
  meaning: "The hire of sub-hired goods ends at another time: later, or sooner.",
  data: (): Stored<HireExtended> =>
    Schema.Struct({
      ...purchase_order_changed,
      items: Schema.Array(keyedColumns(purchase_order_items)),
      hired_items: Schema.Array(Schema.Int),
      ends_at: Schema.String,
      reason: Schema.NullOr(Schema.String)
    }),
  stream,
  project: (data, meta) => [
    purchaseOrderSet(data, meta),
    ...data.items.map((row) =>
      update(purchase_order_items, row.id, { ...without(row, "id"), updated_at: meta.recorded_at })
    )
  ],
  activity: (data) => purchaseOrderValues(data, { ends_at: data.ends_at, reason: data.reason })
})
export const purchaseOrderReturnDue = eventType<PurchaseOrderChanged>("purchase_order.return_due", {
  meaning: "People were reminded that sub-hired goods are due back. Recorded once for each end of the hire.",
  data: (): Stored<PurchaseOrderChanged> => Schema.Struct(purchase_order_changed),
  stream,
  project: ({ id, set }) => [update(purchase_orders, id, set)],
  activity: ({ set }) => ({ old_values: null, new_values: { due_at: set.return_reminded_for ?? null } })
})

export const receivingEvents: ReadonlyArray<AnyEventType> = [
  purchaseOrderReceived,
  purchaseOrderReturned,
  purchaseOrderExtended,
  purchaseOrderReturnDue
]
