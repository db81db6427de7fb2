/**
 * What happens to what an opportunity has: its lines, costs, units and participants. Each kind has an event for a new one,
 * one for one that goes, and changes by names of their own. All lie in the opportunity's stream, and touch its header.
 */
import { Schema } from "effect"
import { remove, type RowChange, update } from "../kernel/row-change.ts"
import type { NewEvent } from "../kernel/event.ts"
import { type ActivityValues, type AnyEventType, type EventType, eventType } from "../kernel/event-type.ts"
import type { Json, JsonObject } from "../kernel/json.ts"
import {
  jsonObject,
  newRow,
  type NewRow,
  type SomeColumns,
  someColumns,
  type Stored,
  withoutStamps
} from "../kernel/stored-schema.ts"
import type { AnyRow, Table } from "../kernel/table.ts"
import { before, change, type Changed, changedValues, pick, put } from "./header/events.ts"
import {
  asset_assignments,
  opportunity_costs,
  opportunity_items,
  opportunity_participants,
  opportunity_versions
} from "./child-tables.ts"
import { opportunities } from "./schema.ts"

const tables = {
  item: opportunity_items,
  cost: opportunity_costs,
  assignment: asset_assignments,
  participant: opportunity_participants,
  version: opportunity_versions
} as const
export type Part = keyof typeof tables
type TableOf<P extends Part> = (typeof tables)[P]
/** The key that names the part: `item_id`. */
type NameOf<P extends Part> = { readonly [K in `${P}_id`]: number }
const nameOf = (part: Part, id: number): JsonObject => ({ [`${part}_id`]: id })
const idOf = (part: Part, data: object): number => (data as { readonly [key: string]: number })[`${part}_id`]!
const touched = (id: number, at: string): RowChange => update(opportunities, id, { updated_at: at })

export type PartChanged<P extends Part> = Changed<TableOf<P>> & NameOf<P>
type PartAdded<P extends Part> = { readonly id: number; readonly also?: JsonObject } & NameOf<P> & {
    readonly [K in P]: SomeColumns<TableOf<P>> & { readonly id: number }
  }
type PartRemoved<P extends Part> = {
  readonly id: number
  readonly was: JsonObject
  readonly also?: JsonObject
} & NameOf<P>

const own = (part: Part) => ({ id: Schema.Int, [`${part}_id`]: Schema.Int })
const addedEvent = <P extends Part>(
  part: P,
  name: string,
  meaning: string,
  activity: (row: AnyRow) => JsonObject
): EventType<PartAdded<P>> => {
  const rowOf = (data: object): AnyRow & { readonly id: number } =>
    (data as { readonly [key: string]: AnyRow & { readonly id: number } })[part]!
  return eventType(`opportunity.${name}`, {
    meaning,
    data: () =>
      Schema.Struct({
        ...own(part),
        [part]: newRow<Table>(tables[part]),
        also: Schema.optionalKey(jsonObject)
      }) as unknown as Stored<PartAdded<P>>,
    project: (data, { recorded_at }) => [put(tables[part], rowOf(data), recorded_at), touched(data.id, recorded_at)],
    activity: (data) => ({ old_values: null, new_values: activity(rowOf(data)) })
  })
}
type Tell<P extends Part> = (data: PartChanged<P>) => ActivityValues
const withName =
  <P extends Part>(part: P): Tell<P> =>
  (data) =>
    changedValues(data, nameOf(part, idOf(part, data)))
/** Events that are no entries of the activity have no `activity`. */
export const changedEvent = <P extends Part>(
  part: P,
  name: string,
  meaning: string,
  activity: Tell<P> | "no entry" = withName(part)
): EventType<PartChanged<P>> =>
  eventType(`opportunity.${name}`, {
    meaning,
    data: () =>
      Schema.Struct({
        ...own(part),
        set: someColumns<Table>(tables[part]),
        was: someColumns<Table>(tables[part]),
        also: jsonObject
      }) as unknown as Stored<PartChanged<P>>,
    project: (data, { recorded_at }) => [
      change(tables[part], idOf(part, data), data.set, recorded_at),
      touched(data.id, recorded_at)
    ],
    ...(activity === "no entry" ? {} : { activity })
  })
const removedEvent = <P extends Part>(part: P, name: string, meaning: string): EventType<PartRemoved<P>> =>
  eventType(`opportunity.${name}`, {
    meaning,
    data: () =>
      Schema.Struct({ ...own(part), was: jsonObject, also: Schema.optionalKey(jsonObject) }) as unknown as Stored<
        PartRemoved<P>
      >,
    project: (data, { recorded_at }) => [remove(tables[part], idOf(part, data)), touched(data.id, recorded_at)],
    activity: ({ was }) => ({ old_values: was, new_values: null })
  })

/** What was counted out or in, not what was counted before. */
const newOnly: Tell<"item"> = (data) => ({ old_values: null, new_values: withName("item")(data).new_values })
/** `item_id` of a line is the product it stands for; in the activity it names the line. */
const withProducts: Tell<"item"> = (data) => {
  const { new_values, old_values } = withName("item")(data)
  const product = (values: JsonObject | null, columns: AnyRow): JsonObject => ({
    ...values,
    item_id: data.item_id,
    product_id: (columns["item_id"] ?? null) as Json
  })
  return { old_values: product(old_values, data.was), new_values: product(new_values, data.set) }
}

const added = {
  item: addedEvent("item", "item_added", "A line was added.", (row) => ({
    item_id: row["id"] as number,
    product_id: (row["item_id"] ?? null) as Json,
    ...pick(row, ["name", "quantity", "unit_price", "total", "transaction_type", "is_optional"])
  })),
  cost: addedEvent("cost", "cost_added", "A cost was added.", (row) => ({
    cost_id: row["id"] as number,
    ...pick(row, ["description", "cost_type", "amount", "quantity", "transaction_type", "is_optional"])
  })),
  participant: addedEvent("participant", "participant_added", "Somebody takes part in the opportunity.", (row) => ({
    participant_id: row["id"] as number,
    ...pick(row, ["member_id", "role", "mute"])
  })),
  assignment: addedEvent("assignment", "asset_allocated", "A unit was allocated to a line.", (row) => ({
    assignment_id: row["id"] as number,
    ...pick(row, ["opportunity_item_id", "stock_level_id"])
  }))
} as const
const changed = {
  item: {
    item_quantity_changed: changedEvent("item", "item_quantity_changed", "A line's quantity changed."),
    item_dates_changed: changedEvent("item", "item_dates_changed", "A line got other hire dates."),
    item_price_overridden: changedEvent(
      "item",
      "item_price_overridden",
      "A line's price was set by hand, or is worked out again."
    ),
    item_discount_set: changedEvent("item", "item_discount_set", "A line got another discount."),
    item_optional_toggled: changedEvent("item", "item_optional_toggled", "A line became optional, or no longer is."),
    item_substituted: changedEvent("item", "item_substituted", "A line stands for another product.", withProducts),
    item_renamed: changedEvent("item", "item_renamed", "A line got another name."),
    item_details_updated: changedEvent("item", "item_details_updated", "A line's description or notes changed."),
    bulk_dispatched: changedEvent("item", "bulk_dispatched", "A quantity of a line was dispatched.", newOnly),
    bulk_returned: changedEvent("item", "bulk_returned", "A quantity of a line came back.", newOnly),
    bulk_quantity_adjusted: changedEvent(
      "item",
      "bulk_quantity_adjusted",
      "The quantity of a line was put right while the order runs."
    ),
    item_store_set: changedEvent(
      "item",
      "item_store_set",
      "The store that a line leaves from, or comes back to, is settled by its units.",
      "no entry"
    )
  },
  cost: { cost_updated: changedEvent("cost", "cost_updated", "A cost changed.") },
  participant: {
    participant_updated: changedEvent("participant", "participant_updated", "The part somebody takes changed.")
  },
  assignment: {
    asset_prepared: changedEvent("assignment", "asset_prepared", "A unit was prepared."),
    asset_preparation_reverted: changedEvent(
      "assignment",
      "asset_preparation_reverted",
      "A prepared unit is only allocated again."
    ),
    asset_dispatched: changedEvent("assignment", "asset_dispatched", "A unit left."),
    asset_on_hire: changedEvent("assignment", "asset_on_hire", "A unit is on hire."),
    asset_returned: changedEvent("assignment", "asset_returned", "A unit came back."),
    asset_checked: changedEvent("assignment", "asset_checked", "A unit that came back was checked."),
    asset_status_reverted: changedEvent(
      "assignment",
      "asset_status_reverted",
      "A unit went back to an earlier status."
    ),
    asset_substituted: changedEvent("assignment", "asset_substituted", "Another unit goes instead."),
    asset_container_set: changedEvent("assignment", "asset_container_set", "A unit goes in a case."),
    asset_container_cleared: changedEvent("assignment", "asset_container_cleared", "A unit goes in no case.")
  }
} as const
/** Units that leave and come back: what is packed follows them. */
export const { asset_dispatched: unitDispatched, asset_returned: unitReturned } = changed.assignment
const removed = {
  item: removedEvent("item", "item_removed", "A line was removed."),
  cost: removedEvent("cost", "cost_removed", "A cost was removed."),
  participant: removedEvent("participant", "participant_removed", "Somebody takes part no longer."),
  assignment: removedEvent("assignment", "asset_deallocated", "A unit was released from its line.")
} as const

type Added = keyof typeof added
type ChangedByName = { readonly [P in Added]: { readonly [name: string]: AnyEventType } }
export type ChangeOf<P extends Added> = keyof (typeof changed)[P] & string

export const partAdded = <P extends Added>(opportunity_id: number, part: P, row: NewRow<TableOf<P>>): NewEvent => {
  const kind: AnyEventType = added[part]
  return kind.make({ id: opportunity_id, ...nameOf(part, row.id), [part]: withoutStamps(row as AnyRow), also: {} })
}
/** `set`: the columns that changed; `also`: what is told in the activity and kept nowhere else. */
export const partChanged = <P extends Added>(
  opportunity_id: number,
  part: P,
  name: ChangeOf<P>,
  row: AnyRow & { readonly id: number },
  set: SomeColumns<TableOf<P>>,
  also: JsonObject = {}
): NewEvent => {
  const kind: AnyEventType = (changed as ChangedByName)[part][name]!
  return kind.make({ id: opportunity_id, ...nameOf(part, row.id), set, was: before(row, set), also })
}
/** `was`: what the activity tells of it. */
export const partRemoved = <P extends Added>(
  opportunity_id: number,
  part: P,
  id: number,
  was: JsonObject,
  also: JsonObject = {}
): NewEvent => {
  const kind: AnyEventType = removed[part]
  return kind.make({ id: opportunity_id, ...nameOf(part, id), was, also })
}

/** `paths`: all lines in their order; `moved`: those that stand elsewhere than before, absent from events of old. */
const itemsRestructuredEvent = eventType("opportunity.items_restructured", {
  meaning: "Lines were put in another order.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      paths: Schema.Array(Schema.Struct({ id: Schema.Int, path: Schema.String })),
      moved: Schema.optionalKey(Schema.Array(Schema.Int))
    }),
  project: ({ id, moved, paths }, { recorded_at }) => {
    const elsewhere = moved === undefined ? undefined : new Set(moved)
    return [
      ...paths
        .filter((one) => elsewhere?.has(one.id) ?? true)
        .map((one) => update(opportunity_items, one.id, { path: one.path, updated_at: recorded_at })),
      touched(id, recorded_at)
    ]
  },
  activity: ({ paths }) => ({ old_values: null, new_values: { paths: paths.map((one) => ({ ...one })) } })
})
export const itemsRestructured = (
  opportunity_id: number,
  paths: ReadonlyArray<{ readonly id: number; readonly path: string }>,
  moved: ReadonlyArray<number>
): NewEvent => itemsRestructuredEvent.make({ id: opportunity_id, paths: paths.map((one) => ({ ...one })), moved })

export const partEvents: ReadonlyArray<AnyEventType> = [
  ...Object.values(added),
  ...Object.values(changed).flatMap((names) => Object.values<AnyEventType>(names)),
  ...Object.values(removed),
  itemsRestructuredEvent
]
