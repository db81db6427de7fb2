/** Lines of an opportunity and the bodies of their requests (rules/opportunities 7). */
import {
  boolean,
  choice,
  code,
  decimal,
  integer,
  json,
  type JsonObject,
  longText,
  money,
  ref,
  text,
  timestamp
} from "../../../kernel/fields/field.ts"
import { type RowOf, table } from "../../../kernel/tables/table.ts"
import { allColumnsExcept } from "../../../kernel/tables/visibility.ts"
import { currencyCode, inRowCurrency, opportunityId, quantity, transaction_type_labels } from "./child-columns.ts"

const item_types = {
  group: "Group",
  product: "Product",
  accessory: "Accessory",
  service: "Service",
  text: "Text"
} as const
export type ItemType = keyof typeof item_types
export const charge_period_labels = { 0: "Hour", 1: "Day", 2: "Week", 3: "Month", 4: "Fixed" }
/** A manual price for the complete time; the other charge periods are labels only. */
export const fixed_charge = 4

const itemColumns = {
  opportunity_id: opportunityId(),
  version_id: ref("opportunity_versions", { nullable: true, computed: true, on_delete: "handled" }),
  /** In the active version, or there are no versions. Other lines are not shown, not charged, and take no stock. */
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
  /** The price agreed by hand; null lets the product's rate decide. */
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
  /** The store whose stock it takes, if not the opportunity's. */
  dispatch_store_id: ref("stores", { nullable: true, computed: true, hidden: true, on_delete: "clear" }),
  return_store_id: ref("stores", { nullable: true, computed: true, hidden: true, on_delete: "clear" }),
  /** Quantity on order from suppliers and not yet received (rules/availability 9). */
  on_order_quantity: decimal({ ...quantity, computed: true, hidden: true, default: "0.00" }),
  /**
   * When the line at `origin_item_id` was made; null for one that is no copy. Discount rules deleted later still apply.
   */
  first_made_at: timestamp({ nullable: true, computed: true, hidden: true }),
  /** The line of an earlier version that this one was copied from, through all versions. */
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

const percent = { scale: 2, min: "0", max: "100" } as const
const currency = () => text({ nullable: true, max: 3, format: "currency" })

const by_day = "By hand, for one; per day where the line is hired and not charged once"
const whole_line = "By hand, for the whole line before its discount, in place of unit_price"
const fixed_price = "Fixed: a price by hand is charged once, not per day"
export const addItemFields = {
  item_type: choice(item_types, { default: "product", any_case: true }),
  name: text({ required: true }),
  item_id: ref("products", { nullable: true }),
  /** The same as `item_id`. */
  itemable_id: ref("products", { nullable: true }),
  itemable_type: text({ nullable: true }),
  parent_path: text({ nullable: true }),
  principal_item_id: integer({ nullable: true, names: "opportunity_items" }),
  quantity: decimal({ ...quantity, default: "1.00" }),
  transaction_type: code(transaction_type_labels, { nullable: true, describe: "Default: as its product's type is" }),
  charge_period: code(charge_period_labels, { default: 1, describe: fixed_price }),
  store_id: ref("stores", { nullable: true, describe: "The opportunity's own store, or none" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean({ default: false }),
  discount_percent: decimal({ ...percent, nullable: true }),
  unit_price: money({ currency: "currency_code", nullable: true, describe: by_day }),
  line_total: money({ currency: "currency_code", nullable: true, describe: whole_line }),
  currency: currency(),
  revenue_group_id: ref("revenue_groups", { nullable: true }),
  description: longText({ nullable: true }),
  notes: longText({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} }),
  materialize_included_accessories: boolean({ default: true })
}

export const changeItemFields = {
  quantity: decimal(quantity),
  unit_price: money({ currency: "currency_code", nullable: true, on_null: "clear", describe: by_day }),
  line_total: money({ currency: "currency_code", nullable: true, on_null: "clear", describe: whole_line }),
  currency: currency(),
  discount_percent: decimal({ ...percent, nullable: true, on_null: "clear" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean(),
  transaction_type: code(transaction_type_labels),
  charge_period: code(charge_period_labels, { describe: fixed_price }),
  item_id: ref("products", { nullable: true, on_null: "clear" }),
  itemable_type: text({ nullable: true, on_null: "clear" }),
  name: text({ required: true, on_null: "reject" }),
  description: longText({ nullable: true, on_null: "clear" }),
  notes: longText({ nullable: true, on_null: "clear" })
}
