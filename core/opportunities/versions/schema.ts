/** Versions of a quotation (rules/opportunities 13). */
import { boolean, code, integer, longText, money, ref, text, timestamp } from "../../kernel/field.ts"
import { type RowOf, table } from "../../kernel/table.ts"
import { inRowCurrency, opportunityId } from "../child-columns.ts"

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
