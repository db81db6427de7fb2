/**
 * Stock levels (the quantity of a bulk product at a store, or one serialised unit) and their ledger (rules/availability
 * 10).
 */
import {
  boolean,
  choice,
  code,
  decimal,
  integer,
  json,
  type JsonObject,
  list,
  longText,
  object,
  ref,
  text,
  timestamp
} from "../../kernel/fields/field.ts"
import { remove, type RowOf, table } from "../../kernel/tables/table.ts"
import { out_of_service_labels, service_states } from "../service.ts"
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../kernel/events/event-type.ts"
import { rowEvents } from "../../kernel/endpoints/crud-resource.ts"

export const stock_categories = { 10: "Bulk Stock", 50: "Serialised Stock" }
const quantity = { scale: 2, min: "0", default: "0.00" } as const

export const stockLevelFields = {
  product_id: ref("products", { required: true, create_only: true, on_delete: "keep", on_merge: "follow_updated" }),
  store_id: ref("stores", { required: true, on_delete: "refuse", way_out: "move or delete the stock first" }),
  member_id: ref("members", { nullable: true, on_delete: "keep", on_merge: "follow" }),
  item_name: text({ nullable: true, search: true }),
  asset_number: text({ nullable: true, search: true }),
  serial_number: text({ nullable: true, search: true }),
  barcode: text({ nullable: true, search: true }),
  location: text({ nullable: true }),
  stock_type: code({ 1: "Rental", 2: "Sale" }, { default: 1 }),
  quantity_held: decimal(quantity),
  quantity_allocated: decimal(quantity),
  quantity_unavailable: decimal(quantity),
  quantity_on_order: decimal(quantity),
  container_stock_level_id: ref("stock_levels", { nullable: true, on_delete: "clear", on_merge: "follow" }),
  container_mode: text({ nullable: true, max: 20 }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} })
}
export const stock_levels = table(
  "stock_levels",
  {
    ...stockLevelFields,
    stock_category: code(stock_categories, { computed: true }),
    /** True for a serialised unit that the newest line of its ledger moved out: written off, sold or transferred. */
    is_gone: boolean({ computed: true, default: false, hidden: true }),
    is_sub_hired: boolean({ computed: true, default: false }),
    /** For a serialised unit. A bulk level stays in service: `out_of_service` has the quantity that is not. */
    service_state: choice(service_states, { computed: true, default: "in_service" }),
    /** Stock out of service, one entry for each open service record (core/warehouse/workshop maintains both). */
    out_of_service: list(
      object({
        service_record_id: integer({ required: true, min: 1 }),
        state: choice(out_of_service_labels, { required: true }),
        quantity: integer({ required: true, min: 1 }),
        starts_at: timestamp({ required: true }),
        expected_back_at: timestamp({ nullable: true })
      }),
      { computed: true, default: [] }
    ),
    /** When a sub-hired level went back to its supplier: it counted until then, and its numbers are free again. */
    given_back_at: timestamp({ nullable: true, computed: true }),
    /** The row of the purchase order it came by. */
    purchase_order_item_id: ref("purchase_order_items", {
      nullable: true,
      computed: true,
      live: false,
      on_delete: "keep"
    })
  },
  {
    named_by: ["item_name", "asset_number", "serial_number", "product_id"],
    word: "asset",
    searched: { columns: ["item_name", "asset_number", "serial_number", "barcode"] },
    bookkeeping: ["quantity_allocated"],
    merged_by: { event: "stock_level.merged", from: "id", into: "into_id" },
    visibility: {
      all_columns: [
        "stock.*",
        "products.*",
        "availability.view",
        "containers.*",
        "kits.*",
        "opportunities.*",
        "purchase_orders.*",
        "shortages.*"
      ],
      granted_columns: [
        // A piece given back has its serial number no longer.
        { to: ["activities.*"], columns: ["item_name", "asset_number", "serial_number", "barcode", "given_back_at"] },
        // Users who delete stores must see whether one holds stock.
        { to: ["settings.manage"], columns: ["store_id"] }
      ]
    },
    indexes: [
      ["product_id", "store_id"],
      ["store_id"],
      ["barcode"],
      ["serial_number"],
      ["created_at"],
      ["purchase_order_item_id"],
      ["service_state"]
    ],
    uniques: [
      { columns: ["asset_number"], field: "asset_number", message: "The asset number has already been taken." },
      {
        columns: ["serial_number"],
        field: "serial_number",
        message: "The serial number has already been taken.",
        // The supplier may send the same piece again.
        where: "given_back_at is null"
      },
      {
        columns: ["product_id", "store_id"],
        field: "product_id",
        message: "The product already has a stock level at this store.",
        where: "stock_category = 10 and not is_sub_hired"
      }
    ]
  }
)
export type StockLevelRow = RowOf<typeof stock_levels>

/** Ledger types with the sign of their move; `manual` ones may be posted by people. */
export const transaction_types = {
  1: { name: "Opening Balance", sign: 1, manual: false },
  2: { name: "Increase", sign: 1, manual: false },
  3: { name: "Decrease", sign: -1, manual: false },
  4: { name: "Buy", sign: 1, manual: true },
  5: { name: "Find", sign: 1, manual: true },
  6: { name: "Write Off", sign: -1, manual: true },
  7: { name: "Sell", sign: -1, manual: true },
  8: { name: "Return", sign: 1, manual: false },
  9: { name: "Make", sign: 1, manual: true },
  10: { name: "Transfer Out", sign: -1, manual: false },
  11: { name: "Transfer In", sign: 1, manual: false }
} as const
export type TransactionType = keyof typeof transaction_types

export const stock_transactions = table(
  "stock_transactions",
  {
    stock_level_id: ref("stock_levels", { computed: true, on_delete: "delete", on_merge: "follow_updated" }),
    product_id: ref("products", { computed: true, on_delete: "keep", on_merge: "follow_updated" }),
    store_id: ref("stores", { nullable: true, on_delete: "clear" }),
    source_id: integer({ computed: true, nullable: true }),
    source_type: text({ computed: true, nullable: true }),
    transaction_type: code(
      Object.fromEntries(Object.entries(transaction_types).map(([key, type]) => [key, type.name])),
      { required: true }
    ),
    transaction_at: timestamp({ nullable: true }),
    quantity: decimal({ scale: 2, min: "0.01", required: true, shown_scale: 1 }),
    quantity_move: decimal({ scale: 2, computed: true, shown_scale: 1 }),
    description: longText({ nullable: true }),
    manual: boolean({ computed: true, default: true })
  },
  { visibility: { all_columns: ["stock.*"] }, indexes: [["stock_level_id", "transaction_at"], ["product_id"]] }
)
export type StockTransactionRow = RowOf<typeof stock_transactions>

// Events of stock beside the creation, change and deletion of levels.

/** References to the level move to the other one where their columns declare `on_merge`. */
export const stockLevelMerged = eventType("stock_level.merged", {
  meaning: "A stock level was merged into another one of the same product and store.",
  data: () => Schema.Struct({ id: Schema.Int, into_id: Schema.Int }),
  project: ({ id }) => [remove(stock_levels, id)]
})

export const stockEvents: ReadonlyArray<AnyEventType> = [...rowEvents(stock_transactions), stockLevelMerged]
