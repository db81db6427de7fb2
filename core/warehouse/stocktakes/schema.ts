/** Tables of stocktakes: their scans, and movements during the count (rules/stocktakes). */
import { boolean, choice, integer, json, longText, money, plainTable, ref, Shown, table } from "../../kernel/index.ts"
import { text, timestamp, type JsonObject, type RowOf } from "../../kernel/index.ts"

const stocktake_statuses = { open: "Open", closed: "Closed", cancelled: "Cancelled" } as const
/** Source of a stocktake's ledger lines, which correct records and are no movements. */
export const ledger_source = "Stocktake"
export const missing_records = { lost: "Lost", written_off: "Written off" } as const

/** Outcomes of a line, in the order of totals. */
export const line_statuses = {
  found: "Found",
  missing: "Missing",
  unexpected: "Unexpected",
  elsewhere: "Another store's",
  out: "Out on an order",
  in_case: "In a case",
  quarantined: "In quarantine or repair"
} as const
const visibility = { all_columns: ["stock.*"] }
const by = () => ref("users", { nullable: true, computed: true, on_delete: "keep" })

export const stocktakes = table(
  "stocktakes",
  {
    store_id: ref("stores", {
      required: true,
      on_delete: "refuse",
      while: [{ status: "open" }],
      otherwise: "keep",
      way_out: "close or cancel the stocktake first"
    }),
    product_group_id: ref("product_groups", {
      nullable: true,
      on_delete: "keep",
      describe: "Group to count, with its subgroups; default: all"
    }),
    notes: longText({ nullable: true }),
    status: choice(stocktake_statuses, { computed: true, default: "open" }),
    started_at: timestamp({ computed: true }),
    started_by_user_id: by(),
    closed_at: timestamp({ nullable: true, computed: true }),
    closed_by_user_id: by(),
    cancelled_at: timestamp({ nullable: true, computed: true }),
    cancelled_by_user_id: by(),
    /** How closing recorded missing units. */
    missing_as: choice(missing_records, { nullable: true, computed: true }),
    /** Number of pieces by status; null until closed. */
    totals: json<JsonObject, { readonly nullable: true; readonly computed: true; readonly hidden: true }>({
      nullable: true,
      computed: true,
      hidden: true
    }),
    /** Lines as recorded by closing, except units found in place, or out on orders and not scanned. */
    outcome: json<
      ReadonlyArray<JsonObject>,
      { readonly nullable: true; readonly computed: true; readonly hidden: true; readonly form: "array" }
    >({ form: "array", nullable: true, computed: true, hidden: true })
  },
  { visibility, indexes: [["store_id", "status"], ["status"]], lease_block_size: 10 }
)
export type StocktakeRow = RowOf<typeof stocktakes>

/**
 * Scans: one row for a unit or unknown code, and one for each count of bulk goods. Keys follow from that, so that scans
 * of several devices add up in any order.
 */
export const stocktake_scans = plainTable(
  "stocktake_scans",
  "key",
  {
    key: text({ max: 600 }),
    stocktake_id: ref("stocktakes", { on_delete: "keep" }),
    code: text({ max: 500 }),
    stock_level_id: ref("stock_levels", { nullable: true, on_delete: "keep", on_merge: "follow" }),
    product_id: ref("products", { nullable: true, on_delete: "keep", on_merge: "follow" }),
    /** Sealed case whose code counted the unit. */
    container_id: ref("containers", { nullable: true, on_delete: "keep" }),
    quantity: integer({ min: 1 }),
    counted_at: timestamp(),
    counted_by_user_id: ref("users", { nullable: true, on_delete: "keep" }),
    /** Reason the code names nothing that can be counted. */
    note: longText({ nullable: true })
  },
  { entity: "stocktake_scan", visibility, indexes: [["stocktake_id"], ["stock_level_id"]], on_conflict_ignore: true }
)
export type StocktakeScanRow = RowOf<typeof stocktake_scans>

/** Bulk goods that left (positive) or returned (negative) on orders while a stocktake of their store was open. */
export const stocktake_moves = plainTable(
  "stocktake_moves",
  "key",
  {
    key: text({ max: 600 }),
    stocktake_id: ref("stocktakes", { on_delete: "keep" }),
    product_id: ref("products", { on_delete: "keep", on_merge: "follow" }),
    quantity: integer(),
    happened_at: timestamp()
  },
  { entity: "stocktake_move", visibility, indexes: [["stocktake_id"]], on_conflict_ignore: true }
)

// Schemas of responses.

export const line_fields = {
  status: choice(line_statuses),
  kind: Shown.oneOf(["unit", "bulk", "code"]),
  /** Code of the unit or product, or an unknown code. */
  code: text(),
  name: text({ nullable: true }),
  product_id: integer({ nullable: true }),
  stock_level_id: integer({ nullable: true }),
  store_id: integer({ nullable: true }),
  opportunity_id: integer({ nullable: true }),
  container_id: integer({ nullable: true }),
  location: text({ nullable: true }),
  is_counted: boolean({ describe: "Whether anything was scanned" }),
  expected: integer({ describe: "Quantity on record when counted" }),
  counted: integer(),
  counted_at: timestamp({ nullable: true }),
  counted_by_user_id: integer({ nullable: true }),
  way_out: text({ nullable: true, describe: "Advice on the difference" }),
  on_close: Shown.oneOf(["nothing", "missing", "found", "difference"], { describe: "Effect of closing on this line" })
}
/** Number of pieces by outcome. */
export const totals_shown = {
  expected: integer(),
  counted: integer(),
  found: integer(),
  missing: integer(),
  surplus: integer(),
  unexpected: integer(),
  elsewhere: integer(),
  out: integer(),
  in_case: integer(),
  quarantined: integer()
}
/** Keys of a single stocktake besides its columns; amounts only for users who may see costs. */
export const taken_shown = {
  totals: Shown.keys(
    { ...totals_shown, expected_value: Shown.optional(money()), missing_value: Shown.optional(money()) },
    { nullable: true, describe: "Quantities by outcome, and their value" }
  ),
  stocktake_lines: Shown.objects(
    { ...line_fields, unit_cost: Shown.optional(money()) },
    { describe: "Lines, with differences first" }
  )
}
/** Last sighting of a unit: place, time and user. */
export const last_seen_shown = Shown.keys(
  {
    at: timestamp(),
    as: Shown.oneOf(["dispatched", "returned", "packed", "counted", "sent", "received", "inspected"]),
    store_id: integer({ nullable: true }),
    opportunity_id: integer({ nullable: true }),
    container_id: integer({ nullable: true }),
    stocktake_id: integer({ nullable: true }),
    transfer_id: integer({ nullable: true }),
    by_user_id: integer({ nullable: true })
  },
  { nullable: true }
)
