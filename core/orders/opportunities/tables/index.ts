/** Entry of the tables of opportunities, with paths, path parameters and access of their endpoints. */
import { boolean, ref, table, text, type RowOf, type SharedDraft } from "../../../kernel/index.ts"
import { fulfil_permission } from "../../../people/users/permissions.ts"
import { opportunities, opportunity_costs, opportunity_versions } from "./opportunities.ts"
import { asset_assignments, opportunity_items, opportunityId } from "./lines.ts"

export * from "./lines.ts"
export * from "./opportunities.ts"
export * from "./statuses.ts"

// Members who participate in an opportunity (rules/opportunities 12).

export const opportunity_participants = table(
  "opportunity_participants",
  {
    opportunity_id: opportunityId(),
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

export const path = "/api/v1/opportunities"
export const one = { id: { table: opportunities } } as const
export const item = {
  ...one,
  item: { table: opportunity_items, of: { param: "id", column: "opportunity_id" } }
} as const
export const cost = {
  ...one,
  cost: { table: opportunity_costs, of: { param: "id", column: "opportunity_id" } }
} as const
export const participant = {
  ...one,
  participant: { table: opportunity_participants, of: { param: "id", column: "opportunity_id" } }
} as const
export const version = {
  ...one,
  version: { table: opportunity_versions, of: { param: "id", column: "opportunity_id" } }
} as const
export const asset = {
  ...item,
  asset: { table: asset_assignments, of: { param: "item", column: "opportunity_item_id" } }
} as const

export const read = { ability: "opportunities:read", permission: "opportunities.view" } as const satisfies SharedDraft
export const write = "opportunities:write"
export const edit = { ability: write, permission: "opportunities.edit" } as const satisfies SharedDraft
/** Access for warehouse actions on units, none of which changes prices or the header (rules/conventions 11). */
export const fulfil = {
  ability: [write, "opportunities:fulfil"],
  permission: [edit.permission, fulfil_permission]
} as const satisfies SharedDraft
