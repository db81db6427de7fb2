/**
 * Families of events that the facets of an opportunity share: changes of its header, and events of its child rows
 * (lines, costs, participants, units, versions). All are in the stream `opportunity:<id>`, which is the opportunity's
 * activity (rules/opportunities 15). In their data `set` holds the changed columns, `was` their previous values, and
 * `also` values for the activity that no table stores.
 */
import { Schema } from "effect"
import { columnsBefore, eventType, insertRow, jsonObject, newRow, present, remove } from "../../../kernel/index.ts"
import { someColumns } from "../../../kernel/index.ts"
import { mapValues, streamOf, typed, update, updateRow, withoutStamps } from "../../../kernel/index.ts"
import type { ActivityValues, AnyEventType, EventType, JsonObject, KeyedColumns } from "../../../kernel/index.ts"
import type { NewEvent, NewRow, ProjectionContext, RecordChange, RowChange, RowOf } from "../../../kernel/index.ts"
import type { AnyRow, SomeColumns, Stored, Table } from "../../../kernel/index.ts"
import { opportunities, type OpportunityRow } from "../tables/index.ts"

/** The stream that holds all events of an opportunity. */
export const opportunityStream = (id: number): string => streamOf("opportunity", id)

interface Changed<T extends Table> extends RecordChange<T> {
  readonly also: JsonObject
}

const answer_names: { readonly [column: string]: string | undefined } = {
  manual_unit_price: "unit_price",
  manual_total: "line_total"
}
/** Renames columns to their names in responses. */
const answerNames = (values: Partial<AnyRow>): JsonObject =>
  Object.fromEntries(Object.entries(present(values)).map(([name, value]) => [answer_names[name] ?? name, value]))
/** Some columns of a row, for the activity; null where the row has none. */
export const pick = (row: Partial<AnyRow>, names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, row[name] ?? null]))
/** Old and new values of a change; `child`: the name of the child row, if the event is about one. */
export const changedValues = (
  { also, set, was }: Pick<Changed<Table>, "also" | "set" | "was">,
  child: JsonObject = {}
): ActivityValues => ({
  old_values: { ...child, ...answerNames(was) },
  new_values: { ...child, ...answerNames(set), ...also }
})
/** Adds `reason` to the new values: the value they have under `key`, else null. */
export const withReason = ({ new_values, old_values }: ActivityValues, key = "reason"): ActivityValues => ({
  old_values,
  new_values: { ...new_values, reason: new_values?.[key] ?? null }
})

/** Declaration of one event of a family: its meaning, and its activity entry if that differs from the family's. */
type Declared<Data> =
  | string
  | { readonly meaning: string; readonly activity: ((data: Data) => ActivityValues) | "no entry" }
const meaningOf = <Data>(declared: Declared<Data>): string =>
  typeof declared === "string" ? declared : declared.meaning
const activityOf = <Data>(
  declared: Declared<Data>,
  usual: (data: Data) => ActivityValues
): { readonly activity?: (data: Data) => ActivityValues } => {
  const activity = typeof declared === "string" ? usual : declared.activity
  return activity === "no entry" ? {} : { activity }
}

export type HeaderChanged = Changed<typeof opportunities>
const headerSchema = (): Stored<HeaderChanged> =>
  Schema.Struct({ id: Schema.Int, set: someColumns(opportunities), was: someColumns(opportunities), also: jsonObject })
/** An update without changes is an activity entry and leaves the row as it is. */
const projectHeader = ({ id, set }: HeaderChanged, { recorded_at }: ProjectionContext): ReadonlyArray<RowChange> =>
  Object.keys(set).length === 0 ? [] : [updateRow(opportunities, id, set, recorded_at)]

/** Declares events that change header columns, by their names after `opportunity.`. */
export const headerChanges = <const Name extends string>(declared: {
  readonly [N in Name]: Declared<HeaderChanged>
}): {
  readonly types: ReadonlyArray<AnyEventType>
  readonly named: { readonly [N in Name]: EventType<HeaderChanged> }
  readonly make: (
    name: Name,
    row: OpportunityRow,
    set: SomeColumns<typeof opportunities>,
    also?: JsonObject
  ) => NewEvent
} => {
  const types = declareEach(declared, (name, event: Declared<HeaderChanged>) =>
    eventType(`opportunity.${name}`, {
      meaning: meaningOf(event),
      data: headerSchema,
      project: projectHeader,
      ...activityOf(event, changedValues)
    })
  )
  return {
    types: Object.values(types),
    named: types,
    make: (name, row, set, also = {}) => types[name].make({ id: row.id, set, was: columnsBefore(row, set), also })
  }
}
const declareEach = <Name extends string, D, Data>(
  declared: { readonly [N in Name]: D },
  declare: (name: Name, one: D) => EventType<Data>
): { readonly [N in Name]: EventType<Data> } => mapValues(declared, (one, name) => declare(name, one))

/** Key of the child row's id in an event's data: `item_id` for the child `item`. */
type ChildId<Child extends string> = { readonly [N in `${Child}_id`]: number }
type ChildRow<Child extends string, T extends Table> = { readonly [N in Child]: KeyedColumns<T> }
type ChildAdded<Child extends string, T extends Table> = { readonly id: number; readonly also?: JsonObject } & ChildRow<
  Child,
  T
> &
  ChildId<Child>
export type ChildChanged<Child extends string, T extends Table> = Changed<T> & ChildId<Child>
type ChildRemoved<Child extends string> = {
  readonly id: number
  readonly was: JsonObject
  readonly also?: JsonObject
} & ChildId<Child>
const rowIn = <Child extends string, T extends Table>(child: Child, data: ChildRow<Child, T>): KeyedColumns<T> =>
  data[child]
type KeyedRow = Partial<AnyRow> & { readonly id: number }
type OwnedRow = { readonly id: number; readonly opportunity_id: number }

/**
 * Declares events of one kind of child row. For `item`, they name the line in `item_id`, and new lines are in `item`.
 * Each event also stamps the opportunity as updated.
 */
export const childEvents = <const Child extends string, T extends Table>(child: Child, table: T) => {
  const id_key = `${child}_id` as const
  const childId = (data: ChildId<Child>): number => data[id_key]
  const touched = (id: number, at: string): RowChange => update(opportunities, id, { updated_at: at })
  // The keys of these structs are computed.
  const struct = <Data>(fields: Schema.Struct.Fields): Stored<Data> =>
    typed(Schema.Struct({ id: Schema.Int, [id_key]: Schema.Int, ...fields }))
  const usualActivity = (data: ChildChanged<Child, T>): ActivityValues =>
    changedValues(data, { [id_key]: childId(data) })

  /** Declares an event that contains the new child row. */
  const added = (name: string, meaning: string, activity: (row: KeyedRow) => JsonObject) => {
    const type: AnyEventType = eventType<ChildAdded<Child, T>>(`opportunity.${name}`, {
      meaning,
      data: () => struct({ [child]: newRow(table), also: Schema.optionalKey(jsonObject) }),
      project: (data, { recorded_at }) => [
        insertRow(table, rowIn(child, data), recorded_at),
        touched(data.id, recorded_at)
      ],
      activity: (data) => ({ old_values: null, new_values: activity(rowIn(child, data)) })
    })
    return {
      type,
      make: (row: NewRow<T> & OwnedRow): NewEvent =>
        type.make({ id: row.opportunity_id, [id_key]: row.id, [child]: withoutStamps(row), also: {} })
    }
  }
  /** Declares events that change columns of the child row, by their names after `opportunity.`. */
  const changes = <const Name extends string>(declared: {
    readonly [N in Name]: Declared<ChildChanged<Child, T>>
  }) => {
    const types = declareEach(declared, (name, event: Declared<ChildChanged<Child, T>>) =>
      eventType<ChildChanged<Child, T>>(`opportunity.${name}`, {
        meaning: meaningOf(event),
        data: () => struct({ set: someColumns(table), was: someColumns(table), also: jsonObject }),
        project: (data, { recorded_at }) => [
          updateRow(table, childId(data), data.set, recorded_at),
          touched(data.id, recorded_at)
        ],
        ...activityOf(event, usualActivity)
      })
    )
    return {
      types: Object.values<AnyEventType>(types),
      kinds: types,
      make: (row: RowOf<T> & OwnedRow, name: Name, set: SomeColumns<T>, also: JsonObject = {}): NewEvent => {
        const kind: AnyEventType = types[name]
        return kind.make({ id: row.opportunity_id, [id_key]: row.id, set, was: columnsBefore(row, set), also })
      }
    }
  }
  /** Declares an event that removes the child row; `was` has its values for the activity. */
  const removed = (name: string, meaning: string) => {
    const type: AnyEventType = eventType<ChildRemoved<Child>>(`opportunity.${name}`, {
      meaning,
      data: () => struct({ was: jsonObject, also: Schema.optionalKey(jsonObject) }),
      project: (data, { recorded_at }) => [remove(table, childId(data)), touched(data.id, recorded_at)],
      activity: ({ was }) => ({ old_values: was, new_values: null })
    })
    return {
      type,
      make: (row: OwnedRow, was: JsonObject, also: JsonObject = {}): NewEvent =>
        type.make({ id: row.opportunity_id, [id_key]: row.id, was, also })
    }
  }
  return { added, changes, removed, usualActivity }
}
