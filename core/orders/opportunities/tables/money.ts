/** Costs of an opportunity and the bodies of requests about costs and the deal price (rules/opportunities 8, 11). */
import { boolean, code, decimal, integer, longText, money, ref, text, timestamp } from "../../../kernel/fields/field.ts"
import { type RowOf, table } from "../../../kernel/tables/table.ts"
import { inRowCurrency, opportunityId, quantity, transaction_type_labels } from "./child-columns.ts"
import { costTypes } from "../../../pricing/pricing/totals.ts"

// Versions of a quotation (rules/opportunities 13).

export const version_types = { 0: "Revision", 1: "Alternative" }
export const version_statuses = { 0: "Draft", 1: "Sent", 2: "Accepted", 3: "Declined", 4: "Superseded" }
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

export const cost_type_labels: { readonly [code: number]: string } = costTypes

export const opportunity_costs = table(
  "opportunity_costs",
  {
    opportunity_id: opportunityId(),
    description: text({ required: true }),
    cost_type: code(cost_type_labels, { default: 5 }),
    transaction_type: code(transaction_type_labels, { default: 2 }),
    /** The price of one. */
    amount: money({ ...inRowCurrency, default: 0 }),
    quantity: decimal({ ...quantity, default: "1.00" }),
    tax_rate: decimal({ scale: 4, nullable: true, computed: true, shown_scale: 2 }),
    currency_code: text({ max: 3, computed: true }),
    is_optional: boolean({ default: false }),
    sort_order: integer({ min: 0, default: 0 }),
    notes: longText({ nullable: true }),
    /** Set on costs that pricing computes from a surcharge; the cost endpoints do not change those. */
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
export const dealPriceFields = {
  deal_total: money({ currency: "currency_code", required: true }),
  currency: text({ nullable: true, max: 3, format: "currency" })
}
