/** Kinds of events of a table's rows and of records, declared from the table. */
import { Schema } from "effect"
import type { ActivityValues, AnyEventType, EventType, NewEvent } from "./event-type.ts"
import { event, eventType, streamOf, streamOfRow } from "./event-type.ts"
import { type JsonObject, sameJson, typed } from "../fields/field.ts"
import type { KeyedColumns, NewRow, SomeColumns } from "../tables/field-schema.ts"
import { keyedColumns, newRow, newRowWith, someColumns, without, withoutStamps } from "../tables/field-schema.ts"
import type { AnyRow, RowChange, Table } from "../tables/table.ts"
import { capitalised, insertRow, oneOf, present, remove, update, updateRow } from "../tables/table.ts"

// Events of tables with plain rows: their declarations, and how rules create them.

export type WhenDeleted = (id: number, at: string) => ReadonlyArray<RowChange>
interface MadeRow<T extends Table> {
  readonly meaning: string
  readonly stream?: (row: KeyedColumns<T>) => string
  readonly activity?: (row: KeyedColumns<T>) => ActivityValues
}
/** Declares an event that creates a row and contains all its columns. */
export const rowMade = <T extends Table>(
  type: string,
  table: T,
  declared: MadeRow<T>
): EventType<KeyedColumns<T>, NewRow<T>> => {
  const kind = eventType<KeyedColumns<T>, NewRow<T>>(type, {
    ...declared,
    data: () => newRow(table),
    project: (row, { recorded_at }) => [insertRow(table, row, recorded_at)]
  })
  // `make` accepts full rows, stamps included; the stamps are not recorded.
  return { ...kind, make: (row, stream) => kind.make(withoutStamps(row) as object as NewRow<T>, stream) }
}
export const rowCreated = <T extends Table>(table: T): EventType<KeyedColumns<T>, NewRow<T>> =>
  rowMade(`${table.entity}.created`, table, {
    meaning: `${capitalised(oneOf(table))} was created: all of its columns.`,
    stream: (row) => streamOfRow(table, row)
  })
/** Declares `<entity>.updated`, which contains the changed columns. */
export const rowUpdated = <T extends Table>(table: T): EventType<KeyedColumns<T>> =>
  eventType(`${table.entity}.updated`, {
    meaning: `Columns of ${oneOf(table)} changed: their new values.`,
    data: () => keyedColumns(table),
    project: (row, { recorded_at }) => [alterRow(table, row, recorded_at)]
  })
/** Declares `<entity>.deleted`: the row is deleted, or archived if the table keeps deleted rows. */
export const rowDeleted = (table: Table, on_delete?: WhenDeleted): EventType<{ readonly id: number }> =>
  eventType(`${table.entity}.deleted`, {
    meaning: `${capitalised(oneOf(table))} was ${table.soft_delete ? "archived" : "deleted"}.`,
    data: () => Schema.Struct({ id: Schema.Int }),
    project: ({ id }, { recorded_at }) => [
      ...(on_delete?.(id, recorded_at) ?? []),
      table.soft_delete ? update(table, id, { deleted_at: recorded_at }) : remove(table, id)
    ]
  })
export const rowEvents = (table: Table, on_delete?: WhenDeleted): ReadonlyArray<AnyEventType> => [
  rowCreated(table),
  rowUpdated(table),
  rowDeleted(table, on_delete)
]

export const createdEvent = (table: Table, row: AnyRow & { readonly id: number }): NewEvent =>
  event(streamOfRow(table, row), `${table.entity}.created`, withoutStamps(row))
/** Columns of `after` whose values differ from `before`. */
export const changedColumns = <R extends AnyRow>(before: AnyRow, after: R): Partial<R> => {
  const names = Object.keys(after).filter((name) => !sameJson(before[name] ?? null, after[name] ?? null))
  return Object.fromEntries(names.map((name) => [name, after[name]])) as Partial<R>
}
const wholeRow = ({ updated_at: _u, deleted_at: _d, ...whole }: AnyRow): AnyRow => whole
/** Event of an update: changed columns, or the full row for tables with row-level visibility; none without a change. */
export const updatedEvents = (
  table: Table,
  before: AnyRow & { readonly id: number },
  set: AnyRow
): ReadonlyArray<NewEvent> => {
  const changed = changedColumns(before, set)
  if (Object.keys(changed).length === 0) return []
  const values = table.visibility?.by_row === undefined ? present(changed) : wholeRow({ ...before, ...set })
  return [event(streamOfRow(table, before), `${table.entity}.updated`, { id: before.id, ...values })]
}
/** `row` is needed if the table's events are in the stream of another row. */
export const deletedEvent = (table: Table, id: number, row?: AnyRow): NewEvent =>
  event(streamOfRow(table, { ...row, id }), `${table.entity}.deleted`, { id })

// Events of a record: one row and its dependent rows, all in that row's stream. `set` holds the columns an event
// changes, `was` their previous values. Projecting them again sends nothing and assigns no numbers.

export interface RecordChange<T extends Table> {
  readonly id: number
  readonly set: SomeColumns<T>
  readonly was: SomeColumns<T>
}
type Changed<T extends Table, More extends Schema.Struct.Fields> = RecordChange<T> & Schema.Struct.Type<More>
/** The values that the columns of `set` have in `row`. */
export const columnsBefore = <T extends Table>(row: AnyRow, set: SomeColumns<T>): SomeColumns<T> =>
  Object.fromEntries(Object.keys(set).map((name) => [name, row[name] ?? null])) as SomeColumns<T>
/** Updates the columns given along with the row's id. */
export const alterRow = (table: Table, row: Partial<AnyRow> & { readonly id: number }, at: string): RowChange =>
  updateRow(table, row.id, without(row, "id"), at)

/** Items of a draft that were added, changed and removed; undefined if none were. */
export const itemsMoved = <R extends AnyRow & { readonly id: number }>(
  before: ReadonlyArray<R>,
  after: ReadonlyArray<R>
) => {
  const stored = new Map(before.map((row) => [row.id, row]))
  const kept = new Set(after.map(({ id }) => id))
  const added = after.filter(({ id }) => !stored.has(id)).map(withoutStamps)
  const removed = before.filter(({ id }) => !kept.has(id)).map(({ id }) => id)
  const altered = after.flatMap((row) => {
    const earlier = stored.get(row.id)
    const set =
      earlier === undefined ? {} : changedColumns(earlier, without(row, "id", "created_at", "updated_at", "deleted_at"))
    return Object.keys(set).length === 0 ? [] : [{ ...set, id: row.id }]
  })
  return added.length + removed.length + altered.length === 0 ? undefined : { added, altered, removed }
}

/** Event declarations for a table's records. `hidden`: columns left out of the activity. */
export const recordEvents = <T extends Table>(table: T, ...hidden: ReadonlyArray<string>) => {
  const stream = (id: number): string => streamOf(table.entity, id)
  const shown = (columns: Partial<AnyRow>): JsonObject => without(present(columns), ...hidden)

  /**
   * Declares a change of columns. `more`: further data; `rows`: further row changes; `shows`: new values besides `set`.
   */
  const changed = <const More extends Schema.Struct.Fields = {}>(
    type: string,
    declared: {
      readonly meaning: string
      readonly more?: () => More
      readonly rows?: (data: Changed<T, More>, at: string) => ReadonlyArray<RowChange>
      readonly shows?: (data: Changed<T, More>) => JsonObject
    }
  ): EventType<Changed<T, More>> =>
    eventType<Changed<T, More>>(type, {
      meaning: declared.meaning,
      data: () =>
        typed(
          Schema.Struct({ id: Schema.Int, set: someColumns(table), was: someColumns(table), ...declared.more?.() })
        ),
      stream: ({ id }) => stream(id),
      project: (data, { recorded_at }) => [
        updateRow(table, data.id, data.set, recorded_at),
        ...(declared.rows?.(data, recorded_at) ?? [])
      ],
      activity: (data) => ({
        old_values: shown(data.was),
        new_values: { ...shown(data.set), ...declared.shows?.(data) }
      })
    })

  /** Data of a change of the record's own row: `set` and the previous values of its columns. */
  const change = (row: AnyRow & { readonly id: number }, set: SomeColumns<T>): RecordChange<T> => ({
    id: row.id,
    set,
    was: columnsBefore(row, set)
  })
  return { table, stream, shown, change, changed }
}

type WithItems<Record, I extends Table> = Record & { readonly items: ReadonlyArray<KeyedColumns<I>> }
const nothing_moved = { added: [], altered: [], removed: [] }
/** Events that create a draft with its items, change it and delete it. */
export const draftEvents = <T extends Table, I extends Table>(
  { changed, shown, table }: ReturnType<typeof recordEvents<T>>,
  items: I,
  meaning: { readonly created: string; readonly updated: string; readonly deleted: string }
) => ({
  created: eventType<WithItems<KeyedColumns<T>, I>, WithItems<NewRow<T>, I>>(`${table.entity}.created`, {
    meaning: meaning.created,
    data: () => typed(newRowWith(table, { items: Schema.Array(newRow(items)) })),
    project: ({ items: rows, ...record }, { recorded_at }) => [
      insertRow(table, record, recorded_at),
      ...rows.map((row) => insertRow(items, row, recorded_at))
    ],
    activity: ({ items: rows, ...record }) => ({
      old_values: null,
      new_values: { ...shown(record), items: rows.length }
    })
  }),
  updated: changed(`${table.entity}.updated`, {
    meaning: meaning.updated,
    more: () => ({
      items: Schema.optionalKey(
        Schema.Struct({
          added: Schema.Array(newRow(items)),
          altered: Schema.Array(keyedColumns(items)),
          removed: Schema.Array(Schema.Int)
        })
      )
    }),
    rows: ({ items: { added, altered, removed } = nothing_moved }, at) => [
      ...removed.map((id) => remove(items, id)),
      ...altered.map((row) => alterRow(items, row, at)),
      ...added.map((row) => insertRow(items, row, at))
    ],
    shows: ({ items: moved }) =>
      moved === undefined
        ? {}
        : { items_added: moved.added.length, items_changed: moved.altered.length, items_removed: moved.removed.length }
  }),
  deleted: eventType(`${table.entity}.deleted`, {
    meaning: meaning.deleted,
    data: () => Schema.Struct({ id: Schema.Int }),
    project: ({ id }, { recorded_at }) => [
      update<Table>(table, id, { deleted_at: recorded_at, updated_at: recorded_at })
    ],
    activity: () => ({ old_values: null, new_values: null })
  })
})
