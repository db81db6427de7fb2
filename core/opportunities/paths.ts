/** Paths, path parameters and rights that endpoints of opportunities share. */
import type { SharedDraft } from "../kernel/endpoint.ts"
import { fulfil_permission } from "../users/permissions.ts"
import { opportunities } from "./schema.ts"
import { asset_assignments } from "./units/schema.ts"
import { opportunity_costs } from "./money/schema.ts"
import { opportunity_items } from "./lines/schema.ts"
import { opportunity_participants } from "./participants/schema.ts"
import { opportunity_versions } from "./versions/schema.ts"

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
/** What the warehouse does with units; nothing here may change money or the header (rules/conventions 11). */
export const fulfil = {
  ability: [write, "opportunities:fulfil"],
  permission: [edit.permission, fulfil_permission]
} as const satisfies SharedDraft
