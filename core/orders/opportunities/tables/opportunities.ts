/** Opportunities: drafts, quotations and orders (rules/opportunities 4). */
import { allColumnsExcept, boolean, code, decimal, integer, json, list, longText } from "../../../kernel/index.ts"
import { money, ref, table, tags, text, timestamp, type JsonObject, type RowOf } from "../../../kernel/index.ts"
import type { LockedTax } from "../../../pricing/pricing/line.ts"
import { open_status_conditions, states } from "./statuses.ts"
import { inRowCurrency, opportunityId, quantity, transaction_type_labels } from "./lines.ts"
import { costTypes } from "../../../pricing/pricing/totals.ts"

/** The phases of a job, in the order they happen; each has a start and an end. */
export const phases = ["prep", "load", "deliver", "setup", "show", "takedown", "collect", "unload", "deprep"] as const

const moment = () => timestamp({ nullable: true })
const windows = {
  prep_starts_at: moment(),
  prep_ends_at: moment(),
  load_starts_at: moment(),
  load_ends_at: moment(),
  deliver_starts_at: moment(),
  deliver_ends_at: moment(),
  setup_starts_at: moment(),
  setup_ends_at: moment(),
  show_starts_at: moment(),
  show_ends_at: moment(),
  takedown_starts_at: moment(),
  takedown_ends_at: moment(),
  collect_starts_at: moment(),
  collect_ends_at: moment(),
  unload_starts_at: moment(),
  unload_ends_at: moment(),
  deprep_starts_at: moment(),
  deprep_ends_at: moment()
}
const cleared = { nullable: true, on_null: "clear" } as const
/** Archived members stay referenced; after a merge the reference is changed to the remaining member. */
const follows = { on_delete: "keep", on_merge: "follow" } as const

/** Fields of create and update; `on_null` gives the meaning of null on update (rules/opportunities 4). */
const header = {
  subject: text({ required: true, search: true, on_null: "reject" }),
  member_id: ref("members", { nullable: true, ...follows }),
  venue_id: ref("members", { ...cleared, ...follows }),
  store_id: ref("stores", {
    nullable: true,
    on_delete: "refuse",
    while: open_status_conditions,
    otherwise: "clear",
    way_out: "give it another store or close it first"
  }),
  owned_by: ref("members", { nullable: true, ...follows }),
  reference: text({ ...cleared, search: true }),
  description: longText(cleared),
  external_description: longText(cleared),
  rating: integer({ ...cleared, min: 0, max: 5 }),
  tag_list: tags({ on_null: "clear" }),
  custom_fields: json<JsonObject>({ default: {} }),
  starts_at: moment(),
  ends_at: moment(),
  charge_starts_at: moment(),
  charge_ends_at: moment(),
  ...windows,
  ordered_at: moment(),
  quote_invalid_at: moment(),
  use_chargeable_days: boolean({ default: false }),
  open_ended_rental: boolean({ default: false }),
  customer_collecting: boolean({ default: false }),
  customer_returning: boolean({ default: false }),
  chargeable_days: decimal({ ...cleared, scale: 1, min: "0", max: "100000", strict: false }),
  delivery_address_id: ref("addresses", { ...cleared, on_delete: "clear" }),
  collection_address_id: ref("addresses", { ...cleared, on_delete: "clear" }),
  delivery_instructions: longText(cleared),
  collection_instructions: longText(cleared),
  surcharge_group_ids: list(
    ref("surcharge_groups", {
      on_delete: "refuse",
      while: [{ deleted_at: null }],
      otherwise: "clear",
      way_out: "make the group inactive instead"
    }),
    { default: [], distinct: true, max_items: 100, on_null: "clear" }
  ),
  discount_rule_ids: list(ref("discount_rules", { on_delete: "clear", clears_into: "kept_rule_ids" }), {
    default: [],
    distinct: true,
    max_items: 100,
    on_null: "clear"
  })
}

/** Fields of POST. `charge_total` is an estimate, kept until the first line or cost is added. */
export const createFields = {
  ...header,
  surcharge_group_ids: list(ref("surcharge_groups"), { nullable: true, distinct: true, max_items: 100 }),
  currency: text({ format: "currency", max: 3, nullable: true, input_only: true }),
  prices_include_tax: boolean({ nullable: true }),
  charge_total: money({ currency: "currency", nullable: true })
}
/** Fields of PUT; `invoiced` is not available on create. */
export const updateFields = {
  ...header,
  invoiced: boolean({ default: false }),
  charge_total: money({ currency: "currency_code" })
}

const total = () => money({ currency: "currency_code", computed: true, default: 0, signed: true })
/** Computed totals, in minor units of the opportunity's currency; all net but the last two. */
export const totalFields = {
  rental_charge_total: total(),
  sale_charge_total: total(),
  service_charge_total: total(),
  sub_rental_charge_total: total(),
  transit_charge_total: total(),
  loss_damage_charge_total: total(),
  charge_excluding_tax_total: total(),
  charge_total: total(),
  tax_total: total(),
  charge_including_tax_total: total()
}

const columns = {
  ...header,
  number: text({ nullable: true, computed: true, max: 40, search: true }),
  /** Dates of an order before its first extension; null while the hire has these (rules/opportunities 4.3). */
  original_starts_at: timestamp({ nullable: true, computed: true }),
  original_ends_at: timestamp({ nullable: true, computed: true }),
  source_opportunity_id: ref("opportunities", { nullable: true, computed: true, live: false, on_delete: "keep" }),
  state: code(states, { computed: true, default: 0 }),
  status: integer({ computed: true, default: 0 }),
  invoiced: boolean({ default: false }),
  has_shortage: boolean({ computed: true, default: false }),
  currency_code: text({ max: 3, computed: true }),
  /** Value of one unit of `currency_code` in the base currency, on creation. */
  exchange_rate: decimal({ scale: 10, computed: true, default: "1.0000000000" }),
  exchange_rate_locked: boolean({ computed: true, default: false }),
  tax_locked: boolean({ computed: true, default: false }),
  /**
   * Tax percentages when tax was locked, kept after unlocking until prices are recalculated. Empty otherwise, and if
   * locked by a release that kept amounts instead.
   */
  locked_taxes: json<ReadonlyArray<LockedTax>>({ form: "array", computed: true, default: [], hidden: true }),
  prices_include_tax: boolean({ default: false }),
  deal_total: money({ currency: "currency_code", nullable: true, computed: true }),
  ...totalFields,
  /** Reductions by discount rule: `[{rule_id, name, amount}]`, minor units. */
  applied_discounts: json<ReadonlyArray<JsonObject>>({ form: "array", computed: true, default: [], hidden: true }),
  /** Deleted discount rules that named it: they still apply to lines made before the deletion. */
  kept_rule_ids: list(ref("discount_rules", { live: false, on_delete: "keep" }), {
    computed: true,
    default: [],
    hidden: true
  }),
  active_version_id: integer({ computed: true, default: 0 }),
  version_count: integer({ computed: true, default: 0 }),
  has_alternatives: boolean({ computed: true, default: false })
}
export const opportunities = table("opportunities", columns, {
  entity: "opportunity",
  named_by: ["subject", "number"],
  word: "order",
  bookkeeping: ["active_version_id"],
  follows: ["has_shortage"],
  refused_as: { state: ["status"] },
  lease_block_size: 200,
  visibility: {
    all_columns: ["opportunities.*"],
    granted_columns: [
      // Warehouse staff need the name, status and dates of a job, but not its customer or prices.
      {
        to: ["availability.view", "containers.*", "shortages.*"],
        columns: allColumnsExcept(
          columns,
          "member_id",
          "venue_id",
          "owned_by",
          "reference",
          "description",
          "external_description",
          "rating",
          "tag_list",
          "custom_fields",
          "quote_invalid_at",
          "delivery_address_id",
          "collection_address_id",
          "delivery_instructions",
          "collection_instructions",
          "surcharge_group_ids",
          "discount_rule_ids",
          "kept_rule_ids",
          "invoiced",
          "exchange_rate",
          "locked_taxes",
          "deal_total",
          ...Object.keys(totalFields),
          "applied_discounts"
        )
      },
      { to: ["activities.*", "purchase_orders.*"], columns: ["subject"] },
      // Let devices refuse to delete a surcharge group, store or unit that an open opportunity uses.
      { to: ["pricing.manage"], columns: ["surcharge_group_ids"] },
      { to: ["settings.manage"], columns: ["store_id", "state", "status"] },
      { to: ["stock.*"], columns: ["state", "status"] }
    ]
  },
  soft_delete: true,
  searched: { columns: ["subject", "number", "reference"] },
  counted_by: ["store_id", "state", "status", "has_shortage"],
  // With `deleted_at` in the index, lists of undeleted rows are counted and skipped without reading rows.
  indexes: [
    ["state", "status"],
    ["state", "status", "starts_at"],
    ["state", "status", "ends_at"],
    ["state", "starts_at"],
    ["member_id"],
    ["venue_id"],
    ["store_id", "starts_at"],
    ["owned_by"],
    ["starts_at"],
    ["created_at"],
    ["subject_folded"],
    ["number_folded"],
    ["reference_folded"],
    ["source_opportunity_id"],
    ["charge_total"],
    ["ends_at"],
    ["ordered_at"],
    ["updated_at"]
  ].map((columns) => [...columns, "deleted_at"]),
  // For filters on columns that are null in most rows, which then need no index entry.
  partial_indexes: [
    { columns: ["starts_at", "deleted_at"], where: "has_shortage" },
    ...["quote_invalid_at", "charge_starts_at", "charge_ends_at", ...Object.keys(windows)].map((name) => ({
      columns: [name, "deleted_at"],
      where: `${name} is not null`
    }))
  ]
})
export type OpportunityRow = RowOf<typeof opportunities>

// Versions of a quotation (rules/opportunities 13).

export const version_types = { 0: "Revision", 1: "Alternative" }
export const version_statuses: { readonly [code: number]: string } = {
  0: "Draft",
  1: "Sent",
  2: "Accepted",
  3: "Declined",
  4: "Superseded"
}
const versionTotal = () => money({ ...inRowCurrency, computed: true, default: 0, signed: true })
export const opportunity_versions = table(
  "opportunity_versions",
  {
    opportunity_id: opportunityId(),
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

// Costs of an opportunity and the fields of their requests (rules/opportunities 11).

export const cost_type_labels: { readonly [code: number]: string } = costTypes

export const opportunity_costs = table(
  "opportunity_costs",
  {
    opportunity_id: opportunityId(),
    description: text({ required: true }),
    cost_type: code(cost_type_labels, { default: 5 }),
    transaction_type: code(transaction_type_labels, { default: 2 }),
    /** Price per unit. */
    amount: money({ ...inRowCurrency, default: 0 }),
    quantity: decimal({ ...quantity, default: "1.00" }),
    tax_rate: decimal({ scale: 4, nullable: true, computed: true, shown_scale: 2 }),
    currency_code: text({ max: 3, computed: true }),
    is_optional: boolean({ default: false }),
    sort_order: integer({ min: 0, default: 0 }),
    notes: longText({ nullable: true }),
    /** Set on costs computed from a surcharge, which the cost endpoints cannot change. */
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

export const costFields = {
  description: text({ required: true }),
  cost_type: code(cost_type_labels, { default: 5 }),
  transaction_type: code(transaction_type_labels, { default: 2 }),
  amount: money({ currency: "currency_code", default: 0 }),
  quantity: decimal({ scale: 2, min: "0", max: "1000000000", default: "1.00" }),
  currency: text({ nullable: true, max: 3, format: "currency" }),
  is_optional: boolean({ default: false }),
  sort_order: integer({ min: 0, max: 999_999, default: 0 }),
  notes: longText({ nullable: true, on_null: "clear" })
}
