/** Events of single units allocated to lines (rules/opportunities 9.1). */
import type { AnyEventType, NewEvent } from "../../../kernel/events/event-type.ts"
import { isJsonObject, type JsonObject } from "../../../kernel/fields/field.ts"
import { childEvents, pick } from "./event-families.ts"
import { asset_assignments, type AssignmentRow } from "../tables/units.ts"

const { added, changes, removed } = childEvents("assignment", asset_assignments)

const asset_allocated = added("asset_allocated", "A unit was allocated to a line.", (row) => ({
  assignment_id: row.id,
  ...pick(row, ["opportunity_item_id", "stock_level_id"])
}))
export const unitAllocated = asset_allocated.make
/** Stock levels of the assignments created by these events, by assignment: new allocations have no row yet. */
export const levelsAllocated = (events: ReadonlyArray<NewEvent>): ReadonlyMap<number, number> =>
  new Map(
    events.flatMap(({ data, type }) => {
      const row = type === asset_allocated.type.type ? data["assignment"] : undefined
      return isJsonObject(row) ? [[Number(row["id"]), Number(row["stock_level_id"])] as const] : []
    })
  )

const unit_changes = changes({
  asset_prepared: "A unit was prepared.",
  asset_preparation_reverted: "The preparation of a unit was reverted.",
  asset_dispatched: "A unit was dispatched.",
  asset_on_hire: "A unit is on hire.",
  asset_returned: "A unit came back.",
  asset_checked: "A unit that came back was checked.",
  asset_status_reverted: "A unit went back to an earlier status.",
  asset_substituted: "A unit was replaced by another.",
  asset_container_set: "A unit was assigned to a case.",
  asset_container_cleared: "A unit is no longer assigned to a case."
})
/** Containers react to dispatched and returned units, the workshop to checked ones. */
export const {
  asset_checked: unitChecked,
  asset_dispatched: unitDispatched,
  asset_returned: unitReturned,
  asset_status_reverted: unitReverted
} = unit_changes.kinds
export type UnitChange = Parameters<typeof unit_changes.make>[1]
/** `set`: the columns that change; `also`: what the activity shows beside them. */
export const unitChanged = unit_changes.make

const asset_deallocated = removed("asset_deallocated", "A unit was released from its line.")
/** `also.reason`: the reason, or null. */
export const unitDeallocated = (unit: AssignmentRow, also: JsonObject): NewEvent =>
  asset_deallocated.make(unit, { assignment_id: unit.id, stock_level_id: unit.stock_level_id }, also)

export const unitEvents: ReadonlyArray<AnyEventType> = [
  asset_allocated.type,
  ...unit_changes.types,
  asset_deallocated.type
]
