/** What belongs to an opportunity: lines, costs, participants, allocated units and quote versions (rules/opportunities 7, 9, 11 to 13). */
import {
  boolean,
  choice,
  code,
  decimal,
  integer,
  json,
  money,
  longText,
  ref,
  text,
  timestamp
} from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import { allColumnsExcept } from "../kernel/visibility.ts"
import { type RowOf, table } from "../kernel/table.ts"
import { costTypes } from "../pricing/totals.ts"
import { open_status_conditions } from "./status/statuses.ts"

export const item_types = {
  group: "Group",
  product: "Product",
  accessory: "Accessory",
  service: "Service",
  text: "Text"
} as const
export type ItemType = keyof typeof item_types
export const transaction_type_labels = { 0: "Rental", 1: "Sale", 2: "Service", 3: "Sub-rental" }
export const charge_period_labels = { 0: "Hour", 1: "Day", 2: "Week", 3: "Month", 4: "Fixed" }
export const cost_type_labels: { readonly [code: number]: string } = costTypes
export const condition_labels = { 0: "Good", 1: "Damaged", 2: "Missing" }

export const allocated = 0,
  prepared = 1,
  dispatched = 2,
  on_hire = 3,
  checked_in = 4,
  finalised = 5
export const assignment_statuses = {
  [allocated]: "Allocated",
  [prepared]: "Prepared",
  [dispatched]: "Dispatched",
  [on_hire]: "On Hire",
  [checked_in]: "Checked In",
  [finalised]: "Finalised"
}

export const line_quantity_max = 1_000_000_000
const quantity = { scale: 2, min: "0", max: String(line_quantity_max) } as const
const moneyHere = { currency: "currency_code" } as const
const belongs = () => ref("opportunities", { computed: true, live: false, on_delete: "keep" })
/** The opportunity's currency, kept with the row so that its money can be put into words alone. */
const currency_code = () => text({ max: 3, computed: true, hidden: true })

const itemColumns = {
  opportunity_id: belongs(),
  version_id: ref("opportunity_versions", { nullable: true, computed: true, on_delete: "handled" }),
  /** In the active version, or there are none. Other lines neither show, nor count, nor claim stock. */
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
  unit_price: money({ ...moneyHere, computed: true, default: 0 }),
  /** The price agreed by hand; null lets the product's rate decide. */
  manual_unit_price: money({ ...moneyHere, nullable: true, hidden: true }),
  /** Price times quantity and time, less the line's own discount; with tax where prices include it. */
  discounted_total: money({ ...moneyHere, computed: true, default: 0, hidden: true }),
  /** What discount rules take off the net. */
  rule_discount: money({ ...moneyHere, computed: true, default: 0, hidden: true }),
  total: money({ ...moneyHere, computed: true, default: 0 }),
  charge_period: code(charge_period_labels, { default: 1 }),
  discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true }),
  tax_rate: decimal({ scale: 4, nullable: true, computed: true, shown_scale: 2 }),
  transaction_type: code(transaction_type_labels, { default: 0 }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean({ default: false }),
  custom_fields: json<JsonObject>({ default: {} }),
  /** The store whose stock it takes, where that is not the opportunity's. */
  dispatch_store_id: ref("stores", { nullable: true, computed: true, hidden: true, on_delete: "clear" }),
  return_store_id: ref("stores", { nullable: true, computed: true, hidden: true, on_delete: "clear" }),
  /** The line of an earlier version it goes back to: what tells in two versions that they are one. */
  /** When that line was made; null for a line of its own. Discount rules deleted later go on for it. */
  first_made_at: timestamp({ nullable: true, computed: true, hidden: true }),
  origin_item_id: ref("opportunity_items", { nullable: true, computed: true, hidden: true, on_delete: "keep" }),
  currency_code: currency_code()
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
          "discounted_total",
          "rule_discount",
          "total",
          "charge_period",
          "discount_percent",
          "tax_rate",
          "custom_fields",
          "first_made_at"
        )
      }
    ]
  },
  indexes: [["opportunity_id", "path"], ["item_id"]]
})
export type ItemRow = RowOf<typeof opportunity_items>

export const opportunity_costs = table(
  "opportunity_costs",
  {
    opportunity_id: belongs(),
    description: text({ required: true }),
    cost_type: code(cost_type_labels, { default: 5 }),
    transaction_type: code(transaction_type_labels, { default: 2 }),
    /** For one. */
    amount: money({ ...moneyHere, default: 0 }),
    quantity: decimal({ ...quantity, default: "1.00" }),
    tax_rate: decimal({ scale: 4, nullable: true, computed: true, shown_scale: 2 }),
    currency_code: text({ max: 3, computed: true }),
    is_optional: boolean({ default: false }),
    sort_order: integer({ min: 0, default: 0 }),
    notes: longText({ nullable: true }),
    /** Set on what a surcharge came to: kept by pricing, closed to the cost endpoints. */
    surcharge_id: ref("surcharges", { nullable: true, computed: true, on_delete: "keep" }),
    surcharge_group_id: ref("surcharge_groups", { nullable: true, computed: true, on_delete: "keep" }),
    product_tax_class_id: ref("product_tax_classes", {
      nullable: true,
      computed: true,
      hidden: true,
      on_delete: "clear"
    })
  },
  {
    entity: "opportunity_cost",
    visibility: { all_columns: ["opportunities.*"] },
    indexes: [["opportunity_id", "sort_order"], ["surcharge_group_id"]]
  }
)
export type CostRow = RowOf<typeof opportunity_costs>

export const opportunity_participants = table(
  "opportunity_participants",
  {
    opportunity_id: belongs(),
    member_id: ref("members", {
      required: true,
      create_only: true,
      on_delete: "keep",
      on_merge: "follow",
      merge_once_per: "opportunity_id"
    }),
    role: text({ nullable: true, max: 100, on_null: "clear" }),
    mute: boolean({ default: false })
  },
  {
    entity: "opportunity_participant",
    visibility: {
      all_columns: ["opportunities.*"],
      granted_columns: [{ to: ["members.delete"], columns: ["opportunity_id", "member_id"] }]
    },
    indexes: [["member_id"]],
    uniques: [
      { columns: ["opportunity_id", "member_id"], field: "member_id", message: "The member takes part already." }
    ]
  }
)
export type ParticipantRow = RowOf<typeof opportunity_participants>

export const asset_assignments = table(
  "asset_assignments",
  {
    opportunity_id: belongs(),
    opportunity_item_id: ref("opportunity_items", { computed: true, on_delete: "handled" }),
    /** A unit stays while an open opportunity has it; on closed ones the row is a record of what went out. */
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
      // A unit that an open opportunity has is not deleted.
      granted_columns: [{ to: ["stock.*"], columns: ["opportunity_id", "stock_level_id", "status"] }]
    },
    indexes: [["opportunity_id"], ["opportunity_item_id"], ["stock_level_id", "status"]]
  }
)
export type AssignmentRow = RowOf<typeof asset_assignments>

export const version_types = { 0: "Revision", 1: "Alternative" }
export const version_statuses = { 0: "Draft", 1: "Sent", 2: "Accepted", 3: "Declined", 4: "Superseded" }
const versionTotal = () => money({ ...moneyHere, computed: true, default: 0, signed: true })
export const opportunity_versions = table(
  "opportunity_versions",
  {
    opportunity_id: belongs(),
    version_number: integer({ computed: true }),
    parent_version_id: ref("opportunity_versions", { nullable: true, computed: true, on_delete: "clear" }),
    superseded_by_version_id: ref("opportunity_versions", { nullable: true, computed: true, on_delete: "clear" }),
    version_type: code(version_types, { default: 0 }),
    label: text({ nullable: true }),
    is_active: boolean({ computed: true, default: false }),
    status: code(version_statuses, { computed: true, default: 0 }),
    decline_reason: text({ nullable: true, computed: true, max: 1000 }),
    currency_code: text({ max: 3, computed: true }),
    charge_excluding_tax_total: versionTotal(),
    tax_total: versionTotal(),
    charge_including_tax_total: versionTotal(),
    charge_total: versionTotal(),
    notes: longText({ nullable: true }),
    created_by: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    sent_to: ref("members", { nullable: true, computed: true, on_delete: "keep", on_merge: "follow" }),
    sent_via: text({ nullable: true, computed: true }),
    accepted_by: ref("members", { nullable: true, computed: true, on_delete: "keep", on_merge: "follow" }),
    sent_at: timestamp({ nullable: true, computed: true }),
    accepted_at: timestamp({ nullable: true, computed: true }),
    declined_at: timestamp({ nullable: true, computed: true })
  },
  {
    entity: "opportunity_version",
    visibility: { all_columns: ["opportunities.*"] },
    indexes: [["opportunity_id", "version_number"]]
  }
)
export type VersionRow = RowOf<typeof opportunity_versions>
