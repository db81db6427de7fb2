/** Events of an opportunity's lines (rules/opportunities 7, 9.3). */
import { Schema } from "effect"
import { eventType, isJsonObject, picked, update } from "../../../kernel/index.ts"
import type { ActivityValues, AnyEventType, AnyRow, JsonObject, NewEvent } from "../../../kernel/index.ts"
import { type ChildChanged, childEvents, pick } from "./event-families.ts"
import { asset_assignments, opportunities, opportunity_items } from "../tables/index.ts"
import type { AssignmentRow, ItemRow } from "../tables/index.ts"

const { added, changes, removed, usualActivity } = childEvents("item", opportunity_items)
type Change = ChildChanged<"item", typeof opportunity_items>

const item_added = added("item_added", "A line was added.", (row) => ({
  item_id: row.id,
  product_id: row["item_id"] ?? null,
  ...pick(row, ["name", "quantity", "unit_price", "total", "transaction_type", "is_optional"])
}))
export const lineAdded = item_added.make

/** Shows only the quantity of this count, without earlier ones. */
const newOnly = (data: Change): ActivityValues => ({ old_values: null, new_values: usualActivity(data).new_values })
/** In the activity `item_id` is the line and `product_id` its product, which the column `item_id` holds. */
const withProducts = (data: Change): ActivityValues => {
  const { new_values, old_values } = usualActivity(data)
  const product = (values: JsonObject | null, columns: Partial<AnyRow>): JsonObject => ({
    ...values,
    item_id: data.item_id,
    product_id: columns["item_id"] ?? null
  })
  return { old_values: product(old_values, data.was), new_values: product(new_values, data.set) }
}
const line_changes = changes({
  item_quantity_changed: "A line's quantity changed.",
  item_dates_changed: "A line got other hire dates.",
  item_price_overridden: "A line's price was set by hand, or is calculated again.",
  item_discount_set: "A line got another discount.",
  item_kind_changed: "A line's kind (hire, sale, service) or charging (per day, once) changed.",
  item_optional_toggled: "A line became optional, or no longer is.",
  item_substituted: { meaning: "A line's product was replaced.", activity: withProducts },
  item_sub_rented: "A line became a sub-rental: all of it is hired from a supplier.",
  item_renamed: "A line got another name.",
  item_details_updated: "A line's description or notes changed.",
  item_split: "A part of a line came back early or stays longer, and got a line of its own.",
  bulk_dispatched: { meaning: "A quantity of a line was dispatched.", activity: newOnly },
  bulk_returned: { meaning: "A quantity of a line came back.", activity: newOnly },
  bulk_dispatch_reverted: { meaning: "The dispatch of a quantity of a line was reverted.", activity: newOnly },
  bulk_return_reverted: { meaning: "The return of a quantity of a line was reverted.", activity: newOnly },
  bulk_quantity_adjusted: "The quantity of a line of a running order was corrected.",
  item_on_order: { meaning: "The quantity on order from suppliers for a line changed.", activity: "no entry" },
  item_store_set: {
    meaning: "The store that a line leaves from, or comes back to, is settled by its units.",
    activity: "no entry"
  }
})
/** The quantity on order for a line changed, so its shortage is checked again. */
export const lineOnOrder = line_changes.kinds.item_on_order
/**
 * A quantity was dispatched or returned (`also` has quantity, condition and damage notes), or that was reverted. `set`:
 * the new totals dispatched and returned.
 */
export const {
  bulk_dispatched: bulkDispatched,
  bulk_dispatch_reverted: bulkDispatchReverted,
  bulk_returned: bulkReturned,
  bulk_return_reverted: bulkReturnReverted
} = line_changes.kinds
export type LineChange = Parameters<typeof line_changes.make>[1]
/** `set`: the changed columns; `also`: further values for the activity. */
export const lineChanged = line_changes.make

const item_removed = removed("item_removed", "A line was removed.")
/** Values of a removed line in the activity (rules/opportunities 15). */
const lineSnapshot = (line: ItemRow): JsonObject => ({
  item_id: line.id,
  name: line.name,
  product_id: line.item_id,
  ...picked(line, ["quantity", "unit_price", "total", "transaction_type", "is_optional"])
})
export const lineRemoved = (line: ItemRow): NewEvent => item_removed.make(line, lineSnapshot(line))

/** `paths`: all lines in order; `moved`: those whose path changes, absent from events of earlier releases. */
const items_restructured = eventType("opportunity.items_restructured", {
  meaning: "Lines were reordered.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      paths: Schema.Array(Schema.Struct({ id: Schema.Int, path: Schema.String })),
      moved: Schema.optionalKey(Schema.Array(Schema.Int))
    }),
  project: ({ id, moved, paths }, { recorded_at }) => {
    const changed = moved === undefined ? undefined : new Set(moved)
    return [
      ...paths
        .filter((line) => changed?.has(line.id) ?? true)
        .map((line) => update(opportunity_items, line.id, { path: line.path, updated_at: recorded_at })),
      update(opportunities, id, { updated_at: recorded_at })
    ]
  },
  activity: ({ paths }) => ({ old_values: null, new_values: { paths: paths.map((line) => ({ ...line })) } })
})
export const linesRestructured = (
  opportunity_id: number,
  paths: ReadonlyArray<{ readonly id: number; readonly path: string }>,
  moved: ReadonlyArray<number>
): NewEvent => items_restructured.make({ id: opportunity_id, paths: paths.map((line) => ({ ...line })), moved })

export const lineEvents: ReadonlyArray<AnyEventType> = [
  item_added.type,
  ...line_changes.types,
  item_removed.type,
  items_restructured
]

// Events of single units allocated to lines (rules/opportunities 9.1).

const assignments = childEvents("assignment", asset_assignments)

const asset_allocated = assignments.added("asset_allocated", "A unit was allocated to a line.", (row) => ({
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

const unit_changes = assignments.changes({
  asset_prepared: "A unit was prepared.",
  asset_preparation_reverted: "The preparation of a unit was reverted.",
  asset_dispatched: "A unit was dispatched.",
  asset_on_hire: "A unit is on hire.",
  asset_returned: "A unit came back.",
  asset_checked: "A unit that came back was checked.",
  asset_status_reverted: "A unit went back to an earlier status.",
  asset_substituted: "A unit was replaced by another.",
  asset_line_changed: "A unit went along to another line of its order, as a part of its line.",
  asset_container_set: "A unit was assigned to a case.",
  asset_container_cleared: "A unit is no longer assigned to a case."
})
/** Containers react to dispatched and returned units, the workshop to checked and reverted ones. */
export const {
  asset_checked: unitChecked,
  asset_dispatched: unitDispatched,
  asset_returned: unitReturned,
  asset_status_reverted: unitReverted
} = unit_changes.kinds
/** `set`: the changed columns; `also`: further values for the activity. */
export const unitChanged = unit_changes.make

const asset_deallocated = assignments.removed("asset_deallocated", "A unit was released from its line.")
/** `also.reason`: the reason, or null. */
export const unitDeallocated = (unit: AssignmentRow, also: JsonObject): NewEvent =>
  asset_deallocated.make(unit, { assignment_id: unit.id, stock_level_id: unit.stock_level_id }, also)

export const unitEvents: ReadonlyArray<AnyEventType> = [
  asset_allocated.type,
  ...unit_changes.types,
  asset_deallocated.type
]
