/** What the endpoints of one opportunity have in common. */
import { opportunities } from "./schema.ts"
import {
  asset_assignments,
  opportunity_costs,
  opportunity_items,
  opportunity_participants,
  opportunity_versions
} from "./child-tables.ts"

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

export const read = { ability: "opportunities:read", permission: "opportunities.view" } as const
export const edit = { ability: "opportunities:write", permission: "opportunities.edit" } as const
