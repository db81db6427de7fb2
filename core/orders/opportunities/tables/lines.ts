/** Lines of an opportunity (rules/opportunities 7). */
import { allColumnsExcept, boolean, choice, code, decimal, integer, json, longText } from "../../../kernel/index.ts"
import { money, ref, table, text, timestamp, type JsonObject, type RowOf } from "../../../kernel/index.ts"
import { open_status_conditions } from "./statuses.ts"

// Columns that several tables of opportunities share, and labels of their codes.

export const transaction_type_labels = { 0: "Rental", 1: "Sale", 2: "Service", 3: "Sub-rental" }
export const rental_line = 0
export const sale_line = 1
/** Transaction type of services, which take no stock. */
export const service_line = 2
/** Default transaction type of a line, by its product's type. */
export const kindOfProduct = (product: { readonly product_type: string } | undefined): number =>
  product?.product_type === "sale" ? sale_line : product?.product_type === "service" ? service_line : rental_line

export const line_quantity_max = 1_000_000_000
/** A quantity of a line or a cost: two decimals, not negative. */
export const quantity = { scale: 2, min: "0", max: String(line_quantity_max) } as const

export const inRowCurrency = { currency: "currency_code" } as const
export const opportunityId = () => ref("opportunities", { computed: true, live: false, on_delete: "keep" })
/** The opportunity's currency, copied to the row so that its amounts can be formatted without the opportunity. */
const currencyCode = () => text({ max: 3, computed: true, hidden: true })

export const item_types = {
  group: "Group",
  product: "Product",
  accessory: "Accessory",
  service: "Service",
  text: "Text"
} as const
export type ItemType = keyof typeof item_types
export const charge_period_labels = { 0: "Hour", 1: "Day", 2: "Week", 3: "Month", 4: "Fixed" }
/** Charge period of a manual price for the whole time; other charge periods are only labels. */
export const fixed_charge = 4

const itemColumns = {
  opportunity_id: opportunityId(),
  version_id: ref("opportunity_versions", { nullable: true, computed: true, on_delete: "handled" }),
  /** True in the active version, or without versions. Other lines are not displayed or charged, and take no stock. */
  is_live: boolean({ computed: true, default: true, hidden: true }),
  item_id: ref("products", { nullable: true, live: false, on_delete: "keep" }),
  itemable_type: text({ nullable: true }),
  item_type: choice(item_types, { default: "product" }),
  path: text({ computed: true }),
  revenue_group_id: ref("revenue_groups", { nullable: true, live: false, on_delete: "clear" }),
  name: text({ required: true }),
  description: longText({ nullable: true }),
  notes: longText({ nullable: true }),
  quantity: decimal({ ...quantity, default: "1.00" }),
  dispatched_quantity: decimal({ ...quantity, computed: true, default: "0.00" }),
  returned_quantity: decimal({ ...quantity, computed: true, default: "0.00" }),
  unit_price: money({ ...inRowCurrency, computed: true, default: 0 }),
  /** The manual price; null if the product's rate decides. */
  manual_unit_price: money({ ...inRowCurrency, nullable: true, hidden: true }),
  /** The manual total of the full line, before its discount, for any quantity and days. */
  manual_total: money({ ...inRowCurrency, nullable: true, hidden: true }),
  /** Price times quantity and time, less the line's own discount; with tax where prices include it. */
  discounted_total: money({ ...inRowCurrency, computed: true, default: 0, hidden: true }),
  /** Reduction of the net by discount rules. */
  rule_discount: money({ ...inRowCurrency, computed: true, default: 0, hidden: true }),
  total: money({ ...inRowCurrency, computed: true, default: 0 }),
  charge_period: code(charge_period_labels, { default: 1 }),
  discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true }),
  tax_rate: decimal({ scale: 4, nullable: true, computed: true, shown_scale: 2 }),
  transaction_type: code(transaction_type_labels, { default: 0 }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean({ default: false }),
  custom_fields: json<JsonObject>({ default: {} }),
  /** The store whose stock the line takes, if not the opportunity's. */
  dispatch_store_id: ref("stores", { nullable: true, computed: true, hidden: true, on_delete: "clear" }),
  return_store_id: ref("stores", { nullable: true, computed: true, hidden: true, on_delete: "clear" }),
  /** Quantity on order from suppliers and not yet received (rules/availability 9). */
  on_order_quantity: decimal({ ...quantity, computed: true, hidden: true, default: "0.00" }),
  /**
   * Creation time of the line at `origin_item_id`; null for one that is no copy. Discount rules deleted since then
   * still apply.
   */
  first_made_at: timestamp({ nullable: true, computed: true, hidden: true }),
  /** The first line that this one was copied from, through all versions. */
  origin_item_id: ref("opportunity_items", { nullable: true, computed: true, hidden: true, on_delete: "keep" }),
  currency_code: currencyCode()
}
export const opportunity_items = table("opportunity_items", itemColumns, {
  entity: "opportunity_item",
  bookkeeping: ["path", "version_id"],
  refused_as: { quantity: ["dispatched_quantity", "returned_quantity"] },
  lease_block_size: 2_000,
  visibility: {
    all_columns: ["opportunities.*"],
    granted_columns: [
      {
        to: ["containers.*", "shortages.*"],
        columns: allColumnsExcept(
          itemColumns,
          "revenue_group_id",
          "description",
          "notes",
          "unit_price",
          "manual_unit_price",
          "manual_total",
          "discounted_total",
          "rule_discount",
          "total",
          "charge_period",
          "discount_percent",
          "tax_rate",
          "custom_fields",
          "first_made_at"
        )
      },
      { to: ["purchase_orders.*"], columns: ["opportunity_id"] }
    ]
  },
  indexes: [["opportunity_id", "path"], ["item_id"]]
})
export type ItemRow = RowOf<typeof opportunity_items>

// Units allocated to lines, with their steps (rules/opportunities 9.1).

export const allocated = 0,
  prepared = 1,
  dispatched = 2,
  on_hire = 3,
  checked_in = 4,
  finalised = 5
export const assignment_statuses: { readonly [code: number]: string } = {
  [allocated]: "Allocated",
  [prepared]: "Prepared",
  [dispatched]: "Dispatched",
  [on_hire]: "On Hire",
  [checked_in]: "Checked In",
  [finalised]: "Finalised"
}
export const good = 0,
  damaged = 1,
  missing = 2
export const condition_labels = { [good]: "Good", [damaged]: "Damaged", [missing]: "Missing" }

export const asset_assignments = table(
  "asset_assignments",
  {
    opportunity_id: opportunityId(),
    opportunity_item_id: ref("opportunity_items", { computed: true, on_delete: "handled" }),
    /** Blocks deleting a stock level while an open opportunity has it; on closed ones the row is a record. */
    stock_level_id: ref("stock_levels", {
      computed: true,
      on_delete: "refuse",
      while: [{ status: [allocated, prepared, dispatched, on_hire, checked_in] }],
      while_of: { column: "opportunity_id", table: "opportunities", is: open_status_conditions },
      way_out: "release the unit there first"
    }),
    status: code(assignment_statuses, { computed: true, default: allocated }),
    allocated_at: timestamp({ nullable: true, computed: true }),
    prepared_at: timestamp({ nullable: true, computed: true }),
    dispatched_at: timestamp({ nullable: true, computed: true }),
    returned_at: timestamp({ nullable: true, computed: true }),
    checked_at: timestamp({ nullable: true, computed: true }),
    container_stock_level_id: ref("stock_levels", { nullable: true, computed: true, on_delete: "clear" }),
    condition_on_return: code(condition_labels, { nullable: true, computed: true }),
    notes: longText({ nullable: true })
  },
  {
    entity: "asset_assignment",
    lease_block_size: 1_000,
    visibility: {
      all_columns: ["opportunities.*", "containers.*", "shortages.*"],
      // Lets devices refuse to delete a unit that an open opportunity has.
      granted_columns: [{ to: ["stock.*"], columns: ["opportunity_id", "stock_level_id", "status"] }]
    },
    indexes: [["opportunity_id"], ["opportunity_item_id"], ["stock_level_id", "status"]]
  }
)
export type AssignmentRow = RowOf<typeof asset_assignments>

/** Records of acknowledged shortages (rules/opportunities 9.5). */
export const acknowledgements = table(
  "shortage_acknowledgements",
  {
    opportunity_id: ref("opportunities", { computed: true, live: false, on_delete: "keep" }),
    user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    acknowledged_at: timestamp({ computed: true }),
    /** The store's policy at that time, ignoring permissions. */
    policy_at_time: choice({ block: "Block", warn: "Warn", allow: "Allow" }, { computed: true }),
    /** Whether the permission to ignore shortages was needed. */
    permission_used: boolean({ computed: true }),
    shortages_snapshot: json<ReadonlyArray<JsonObject>>({ form: "array", computed: true }),
    notes: longText({ nullable: true })
  },
  {
    visibility: { all_columns: ["opportunities.*", "shortages.*"] },
    indexes: [["opportunity_id"]],
    entity: "shortage_acknowledgement"
  }
)

// Waiting list of opportunity lines for goods (rules/availability 9).

const wait_statuses = { waiting: "Waiting", matched: "Matched" } as const

/**
 * One row for each waiting line, and for each notified line of an open opportunity that holds no stock yet, which keeps
 * its position. Leaving the list deletes the row; the history is in the opportunity's events.
 */
export const shortage_waits = table(
  "shortage_waits",
  {
    opportunity_id: opportunityId(),
    opportunity_item_id: ref("opportunity_items", { computed: true, on_delete: "handled" }),
    product_id: ref("products", { computed: true, live: false, on_delete: "keep", on_merge: "follow" }),
    store_id: ref("stores", {
      computed: true,
      on_delete: "refuse",
      way_out: "take the lines off the waiting list first"
    }),
    status: choice(wait_statuses, { computed: true, default: "waiting" }),
    /** Shortfall when the line began to wait, or shortage when it last changed. */
    quantity: integer({ computed: true, min: 1 }),
    /** The line's quantity and dates at that time: a line edited until it is not short is not notified. */
    requested_quantity: integer({ computed: true, min: 1 }),
    starts_at: timestamp({ computed: true }),
    ends_at: timestamp({ computed: true }),
    waitlisted_by: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    waitlisted_at: timestamp({ computed: true }),
    matched_at: timestamp({ nullable: true, computed: true }),
    note: longText({ nullable: true })
  },
  {
    entity: "shortage_wait",
    follows: ["status", "matched_at"],
    visibility: { all_columns: ["opportunities.*", "shortages.*"] },
    indexes: [["product_id", "store_id"], ["opportunity_id"], ["opportunity_item_id"]]
  }
)
export type WaitRow = RowOf<typeof shortage_waits>
