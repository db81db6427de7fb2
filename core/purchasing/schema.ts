/**
 * Purchase orders: goods hired or bought from suppliers, and their deliveries (rules/billing 2). Amounts are minor
 * units of the order's currency; all events of an order are in its stream.
 */
import { alterRow, boolean, choice, decimal, draftEvents, eventType, insertRow, integer } from "../kernel/index.ts"
import { json, keyedColumns, longText, money, newRow, recordEvents, ref, someColumns, table } from "../kernel/index.ts"
import { text, timestamp, update } from "../kernel/index.ts"
import type { AnyEventType, JsonObject, RecordChange, RowOf } from "../kernel/index.ts"
import { Schema } from "effect"

export const purchase_order_types = { sub_hire: "Sub-Hire", purchase: "Purchase" } as const
export type PurchaseOrderType = keyof typeof purchase_order_types
export const purchase_order_statuses = {
  draft: "Draft",
  sent: "Sent",
  partially_received: "Partially Received",
  received: "Received",
  cancelled: "Cancelled"
} as const
export type PurchaseOrderStatus = keyof typeof purchase_order_statuses

/** Statuses of orders with something outstanding, or possibly so. */
const open_statuses = ["draft", "sent", "partially_received"] as const satisfies ReadonlyArray<PurchaseOrderStatus>

const costs = { visible_to: "costs.view" } as const
const amount = () => money({ currency: "currency_code", computed: true, default: 0, ...costs })
const follows = { on_delete: "keep", on_merge: "follow" } as const
const seen = { all_columns: ["purchase_orders.*"] } as const
const listed = (...columns: ReadonlyArray<string>): ReadonlyArray<string> => [...columns, "deleted_at"]

export const purchase_orders = table(
  "purchase_orders",
  {
    number: text({ nullable: true, computed: true, max: 80, search: true }),
    subject: text({ nullable: true, search: true, on_null: "clear" }),
    reference: text({ nullable: true, search: true, on_null: "clear" }),
    po_type: choice(purchase_order_types, { default: "sub_hire", any_case: true }),
    status: choice(purchase_order_statuses, { computed: true, default: "draft" }),
    supplier_id: ref("members", follows),
    store_id: ref("stores", {
      live: false,
      on_delete: "refuse",
      while: open_statuses.map((status) => ({ status })),
      otherwise: "keep",
      way_out: "receive or cancel it first, or have it delivered to another store"
    }),
    opportunity_id: ref("opportunities", { nullable: true, on_null: "clear", on_delete: "keep", live: false }),
    currency_code: text({ max: 3, computed: true }),
    /** Exchange rate when the order was created: the value of one unit of `currency_code` in the base currency. */
    exchange_rate: decimal({ scale: 10, shown_scale: 8, computed: true, default: "1.0000000000", ...costs }),
    subtotal: amount(),
    tax_total: amount(),
    total: amount(),
    expected_at: timestamp({ nullable: true, on_null: "clear" }),
    /** Hire period of sub-hired goods. */
    starts_at: timestamp({ nullable: true, on_null: "clear" }),
    ends_at: timestamp({ nullable: true, on_null: "clear" }),
    sent_at: timestamp({ nullable: true, computed: true }),
    /** Time the last piece was received. */
    received_at: timestamp({ nullable: true, computed: true }),
    /** Time the last sub-hired piece was returned. */
    returned_at: timestamp({ nullable: true, computed: true }),
    cancelled_at: timestamp({ nullable: true, computed: true }),
    cancellation_reason: longText({ nullable: true, computed: true, max: 1_000 }),
    delivery_instructions: longText({ nullable: true, max: 5_000, on_null: "clear" }),
    notes: longText({ nullable: true, max: 5_000, on_null: "clear" }),
    created_by: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    /** Due date for which the reminder was sent; a new due date is reminded of again. */
    return_reminded_for: timestamp({ nullable: true, computed: true, hidden: true }),
    custom_fields: json<JsonObject>({ default: {} })
  },
  {
    visibility: {
      ...seen,
      // Needed offline to refuse deleting a store with goods on order.
      granted_columns: [{ to: ["settings.manage"], columns: ["store_id", "status"] }]
    },
    named_by: ["number", "subject"],
    searched: { columns: ["number", "subject", "reference"] },
    bookkeeping: ["return_reminded_for"],
    soft_delete: true,
    lease_block_size: 50,
    indexes: [
      listed("number_folded"),
      listed("status"),
      listed("po_type"),
      listed("po_type", "returned_at", "ends_at"),
      listed("supplier_id"),
      listed("store_id"),
      listed("opportunity_id"),
      listed("expected_at"),
      listed("starts_at"),
      listed("ends_at"),
      listed("sent_at"),
      listed("received_at"),
      listed("cancelled_at"),
      listed("created_at"),
      listed("updated_at")
    ]
  }
)
export type PurchaseOrderRow = RowOf<typeof purchase_orders>

/** Rows of an order share its stream and visibility. */
const ofOrder = { stream: { entity: "purchase_order", column: "purchase_order_id" }, visibility: seen } as const
const orderId = () => ref("purchase_orders", { computed: true, live: false, on_delete: "keep" })

export const purchase_order_items = table(
  "purchase_order_items",
  {
    purchase_order_id: orderId(),
    product_id: ref("products", { nullable: true, live: false, ...follows }),
    opportunity_item_id: ref("opportunity_items", { nullable: true, live: false, on_delete: "clear" }),
    name: text(),
    description: longText({ nullable: true }),
    quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", default: "1.00" }),
    received_quantity: decimal({ scale: 2, computed: true, default: "0.00" }),
    /** Returned part of the received quantity. */
    returned_quantity: decimal({ scale: 2, computed: true, default: "0.00" }),
    /** Price of one piece for the whole hire. */
    unit_cost: money({ currency: "currency_code", default: 0, ...costs }),
    discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true, ...costs }),
    subtotal: amount(),
    tax_class_id: ref("product_tax_classes", { nullable: true, live: false, on_delete: "keep" }),
    tax_rate: decimal({ scale: 4, nullable: true, computed: true, ...costs }),
    tax_total: amount(),
    total: amount(),
    cost_group_id: ref("cost_groups", { nullable: true, live: false, on_delete: "clear" }),
    starts_at: timestamp({ nullable: true }),
    ends_at: timestamp({ nullable: true }),
    sort_order: integer({ min: 0, max: 999_999, default: 0 }),
    currency_code: text({ max: 3, computed: true, hidden: true })
  },
  {
    ...ofOrder,
    entity: "purchase_order_item",
    lease_block_size: 500,
    indexes: [["purchase_order_id", "sort_order"], ["product_id"], ["opportunity_item_id"]]
  }
)
export type PurchaseOrderItemRow = RowOf<typeof purchase_order_items>

/** One delivery from the supplier, or one return to them. */
export const purchase_order_receipts = table(
  "purchase_order_receipts",
  {
    purchase_order_id: orderId(),
    received_at: timestamp(),
    /** Number of the delivery or return note. */
    reference: text({ nullable: true }),
    notes: longText({ nullable: true, max: 5_000 }),
    received_by: ref("users", { nullable: true, computed: true, on_delete: "keep" })
  },
  { ...ofOrder, entity: "purchase_order_receipt", indexes: [["purchase_order_id", "received_at"]] }
)

export const purchase_order_receipt_lines = table(
  "purchase_order_receipt_lines",
  {
    purchase_order_id: orderId(),
    receipt_id: ref("purchase_order_receipts", { computed: true, live: false, on_delete: "keep" }),
    item_id: ref("purchase_order_items", { computed: true, live: false, on_delete: "keep" }),
    quantity: decimal({ scale: 2, computed: true, default: "1.00" }),
    serial_numbers: json<ReadonlyArray<string>>({ form: "array", computed: true, default: [] }),
    /** Ids of the stock levels that goods were added to, or returned from. */
    stock_level_ids: json<ReadonlyArray<number>>({ form: "array", computed: true, default: [] }),
    is_return: boolean({ computed: true, default: false }),
    notes: longText({ nullable: true, max: 1_000 })
  },
  { ...ofOrder, entity: "purchase_order_receipt_line", indexes: [["receipt_id"], ["item_id"]] }
)

// Events of purchase orders other than receipts (rules/billing 2), in the stream of the order. They carry results,
// never differences: replaying assigns no numbers and sends nothing.

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

// Paths and rights that the endpoints of purchase orders share (rules/billing 2.3).

export const path = "/api/v1/purchase_orders"
export const one = { id: { table: purchase_orders } } as const
export const read = { ability: "purchase_orders:read", permission: "purchase_orders.view" } as const
export const write = "purchase_orders:write"

// Events of deliveries and returns (rules/billing 2). Both carry results: the new quantities, and the stock levels by
// id. The stock itself follows by a reaction.

/** Declares a delivery or return event. `items`: rows of the order with new quantities. */
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
  "A delivery for a purchase order was received: quantities by line, and their stock levels."
)
export const purchaseOrderReturned = goodsEvent(
  "purchase_order.returned",
  "Sub-hired goods were returned to the supplier: quantities by line, and their stock levels."
)
export const purchaseOrderExtended = purchaseOrderChanged("purchase_order.extended", {
  meaning: "The end of a sub-hire moved, later or earlier.",
  more: () => ({
    items: Schema.Array(keyedColumns(purchase_order_items)),
    // Ids of rows whose stock gets the new `ends_at`.
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
