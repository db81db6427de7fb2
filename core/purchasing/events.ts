/**
 * What happens to purchase orders beside receipts (rules/billing 2). All of it stands in the stream of the order, with
 * results and never differences: replaying numbers, sends and tells nothing again.
 */
import { Schema } from "effect"
import {
  type ActivityValues,
  type AnyEventType,
  type EventType,
  eventType,
  type ProjectionContext,
  streamOf
} from "../kernel/events/event-type.ts"
import type { JsonObject } from "../kernel/fields/json.ts"
import { insert, remove, type RowChange, update } from "../kernel/tables/row-change.ts"
import {
  keyedColumns,
  type NewRow,
  newRow,
  newRowWith,
  type SomeColumns,
  someColumns,
  type Stored,
  without
} from "../kernel/tables/stored-schema.ts"
import type { AnyRow, Table } from "../kernel/tables/table.ts"
import { purchase_order_items, purchase_orders, type PurchaseOrderRow } from "./schema.ts"

export const purchaseOrderStream = (id: number): string => streamOf("purchase_order", id)
/** Every event names its order as `id`. */
const stream = ({ id }: { readonly id: number }): string => purchaseOrderStream(id)

type PurchaseOrderColumns = SomeColumns<typeof purchase_orders>
export interface PurchaseOrderChanged {
  readonly id: number
  readonly set: PurchaseOrderColumns
  readonly was: PurchaseOrderColumns
}
/** What events that change an order hold of it. */
export const purchase_order_changed = {
  id: Schema.Int,
  set: someColumns(purchase_orders),
  was: someColumns(purchase_orders)
}
/** The columns of `set` with what they were before. */
export const purchaseOrderChange = (row: PurchaseOrderRow, set: PurchaseOrderColumns): PurchaseOrderChanged => ({
  id: row.id,
  set,
  was: Object.fromEntries(Object.keys(set).map((name) => [name, (row as AnyRow)[name] ?? null]))
})
/** A row of the order, made when the event was recorded. */
export const insertedRow = (table: Table, row: AnyRow, at: string): RowChange =>
  insert(table, { ...row, created_at: at, updated_at: at, deleted_at: null })
export const purchaseOrderSet = (
  { id, set }: Pick<PurchaseOrderChanged, "id" | "set">,
  { recorded_at }: Pick<ProjectionContext, "recorded_at">
): RowChange => update(purchase_orders, id, { ...set, updated_at: recorded_at })
export const purchaseOrderValues = (
  { set, was }: Pick<PurchaseOrderChanged, "set" | "was">,
  more: JsonObject = {}
): ActivityValues => ({ old_values: was as JsonObject, new_values: { ...(set as JsonObject), ...more } })

interface OrderMade extends SomeColumns<typeof purchase_orders> {
  readonly id: number
  readonly items: ReadonlyArray<SomeColumns<typeof purchase_order_items> & { readonly id: number }>
}
export const purchaseOrderCreated = eventType<OrderMade, NewRow<typeof purchase_orders> & Pick<OrderMade, "items">>(
  "purchase_order.created",
  {
    meaning: "A draft of an order to a supplier was made: all of its columns, and its lines.",
    data: () => newRowWith(purchase_orders, { items: Schema.Array(newRow(purchase_order_items)) }),
    stream,
    project: ({ items, ...order }, { recorded_at }) => [
      insertedRow(purchase_orders, order, recorded_at),
      ...items.map((row) => insertedRow(purchase_order_items, row, recorded_at))
    ],
    activity: ({ items, ...order }) => ({
      old_values: null,
      new_values: { ...(order as JsonObject), items: items.length }
    })
  }
)
export const purchaseOrderUpdated = eventType("purchase_order.updated", {
  meaning: "A draft of an order to a supplier changed: columns that did, and lines that came, changed and went.",
  data: () =>
    Schema.Struct({
      ...purchase_order_changed,
      items: Schema.optionalKey(
        Schema.Struct({
          added: Schema.Array(newRow(purchase_order_items)),
          altered: Schema.Array(keyedColumns(purchase_order_items)),
          removed: Schema.Array(Schema.Int)
        })
      )
    }),
  stream,
  project: (data, { recorded_at }) => [
    purchaseOrderSet(data, { recorded_at }),
    ...(data.items?.removed ?? []).map((id) => remove(purchase_order_items, id)),
    ...(data.items?.altered ?? []).map((row) =>
      update(purchase_order_items, row.id, { ...without(row, "id"), updated_at: recorded_at })
    ),
    ...(data.items?.added ?? []).map((row) => insertedRow(purchase_order_items, row, recorded_at))
  ],
  activity: (data) =>
    purchaseOrderValues(
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
export const purchaseOrderDeleted = eventType("purchase_order.deleted", {
  meaning: "A draft of an order to a supplier was deleted.",
  data: () => Schema.Struct({ id: Schema.Int }),
  stream,
  project: ({ id }, { recorded_at }) => [
    update(purchase_orders, id, { deleted_at: recorded_at, updated_at: recorded_at })
  ],
  activity: () => ({ old_values: null, new_values: null })
})

/** Events that change columns of the order and nothing else. */
const headerEvent = (type: string, meaning: string): EventType<PurchaseOrderChanged> =>
  eventType<PurchaseOrderChanged>(type, {
    meaning,
    data: (): Stored<PurchaseOrderChanged> => Schema.Struct(purchase_order_changed),
    stream,
    project: (data, meta) => [purchaseOrderSet(data, meta)],
    activity: (data) => purchaseOrderValues(data)
  })
export const purchaseOrderSent = headerEvent(
  "purchase_order.sent",
  "An order was sent to its supplier, or marked as sent where no address of theirs is known."
)
export const purchaseOrderCancelled = headerEvent(
  "purchase_order.cancelled",
  "An order of which nothing had come was cancelled; it keeps its number."
)

export const procurementEvents: ReadonlyArray<AnyEventType> = [
  purchaseOrderCreated,
  purchaseOrderUpdated,
  purchaseOrderDeleted,
  purchaseOrderSent,
  purchaseOrderCancelled
]
