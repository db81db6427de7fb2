/**
 * Opportunities: drafts, quotations and orders (rules/opportunities 4). Lines, costs, units and versions are in the
 * folders beside.
 */
import {
  boolean,
  code,
  decimal,
  integer,
  json,
  type JsonObject,
  list,
  longText,
  money,
  ref,
  tags,
  text,
  timestamp
} from "../../../kernel/fields/field.ts"
import { allColumnsExcept } from "../../../kernel/tables/visibility.ts"
import { type RowOf, table } from "../../../kernel/tables/table.ts"
import type { LockedTax } from "../../../pricing/pricing/tax.ts"
import { open_status_conditions, states } from "./statuses.ts"

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
/** Archived members stay referenced; after a merge the reference follows to the member that remains. */
const follows = { on_delete: "keep", on_merge: "follow" } as const

/** Fields of both create and update; `on_null` says what null means on update (rules/opportunities 4). */
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

/** The body of POST. `charge_total` is an estimate, kept until the first line or cost is added. */
export const createFields = {
  ...header,
  surcharge_group_ids: list(ref("surcharge_groups"), { nullable: true, distinct: true, max_items: 100 }),
  currency: text({ format: "currency", max: 3, nullable: true, input_only: true }),
  prices_include_tax: boolean({ nullable: true }),
  charge_total: money({ currency: "currency", nullable: true })
}
/** The body of PUT; `invoiced` can only be set later. */
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
  /** Dates agreed when it became an order, if an extension moved them since (rules/opportunities 4.3). */
  original_starts_at: timestamp({ nullable: true, computed: true }),
  original_ends_at: timestamp({ nullable: true, computed: true }),
  source_opportunity_id: ref("opportunities", { nullable: true, computed: true, live: false, on_delete: "keep" }),
  state: code(states, { computed: true, default: 0 }),
  status: integer({ computed: true, default: 0 }),
  invoiced: boolean({ default: false }),
  has_shortage: boolean({ computed: true, default: false }),
  currency_code: text({ max: 3, computed: true }),
  /** One unit of `currency_code` in the base currency, as it was on creation. */
  exchange_rate: decimal({ scale: 10, computed: true, default: "1.0000000000" }),
  exchange_rate_locked: boolean({ computed: true, default: false }),
  tax_locked: boolean({ computed: true, default: false }),
  /** Percentages since tax was locked; none: it is not, or a release that kept amounts locked it. */
  locked_taxes: json<ReadonlyArray<LockedTax>>({ form: "array", computed: true, default: [], hidden: true }),
  prices_include_tax: boolean({ default: false }),
  deal_total: money({ currency: "currency_code", nullable: true, computed: true }),
  ...totalFields,
  /** Reductions by discount rule: `[{rule_id, name, amount}]`, minor units. */
  applied_discounts: json<ReadonlyArray<JsonObject>>({ form: "array", computed: true, default: [], hidden: true }),
  /** Deleted discount rules that were named on it: they still apply to lines made before the deletion. */
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
      // Warehouse staff need the name, status and dates of a job, not its customer or its prices.
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
      // Needed offline to refuse the deletion of a surcharge group, store or unit that an open opportunity uses.
      { to: ["pricing.manage"], columns: ["surcharge_group_ids"] },
      { to: ["settings.manage"], columns: ["store_id", "state", "status"] },
      { to: ["stock.*"], columns: ["state", "status"] }
    ]
  },
  soft_delete: true,
  searched: { columns: ["subject", "number", "reference"] },
  // Lists select rows that are not deleted: with `deleted_at` in the index, counting and skipping reads no rows.
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
  // Columns that are filtered by, but null in most rows, which then need no index entry.
  partial_indexes: [
    { columns: ["starts_at", "deleted_at"], where: "has_shortage" },
    ...["quote_invalid_at", "charge_starts_at", "charge_ends_at", ...Object.keys(windows)].map((name) => ({
      columns: [name, "deleted_at"],
      where: `${name} is not null`
    }))
  ]
})
export type OpportunityRow = RowOf<typeof opportunities>
