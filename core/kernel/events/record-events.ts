/**
 * Events of a record: of one row and of the rows kept with it, all in the stream of that row. `set` holds the columns
 * of the record that an event changes, `was` the same columns before: replaying numbers, sends and tells nothing again.
 */
import { Schema } from "effect"
import type { JsonObject } from "../fields/json.ts"
import { typed } from "../fields/shown.ts"
import { insertRow, remove, type RowChange, update, updateRow } from "../tables/row-change.ts"
import {
  type KeyedColumns,
  keyedColumns,
  type NewRow,
  newRow,
  newRowWith,
  type SomeColumns,
  someColumns,
  without
} from "../tables/stored-schema.ts"
import type { AnyRow, Table } from "../tables/table.ts"
import { type EventType, eventType, streamOf } from "./event-type.ts"

export interface RecordChange<T extends Table> {
  readonly id: number
  readonly set: SomeColumns<T>
  readonly was: SomeColumns<T>
}
type Changed<T extends Table, More extends Schema.Struct.Fields> = RecordChange<T> & Schema.Struct.Type<More>
/** The columns of `set` as they are in `row`. */
export const columnsBefore = <T extends Table>(row: AnyRow, set: SomeColumns<T>): SomeColumns<T> =>
  Object.fromEntries(Object.keys(set).map((name) => [name, row[name] ?? null])) as SomeColumns<T>
/** Sets the columns that come with the row's id. */
export const alterRow = (table: Table, row: AnyRow & { readonly id: number }, at: string): RowChange =>
  updateRow(table, row.id, without(row, "id"), at)

/** The events of a table's records. `hidden`: columns that the activity leaves out. */
export const recordEvents = <T extends Table>(table: T, ...hidden: ReadonlyArray<string>) => {
  const stream = ({ id }: { readonly id: number }): string => streamOf(table.entity, id)
  const shown = (columns: AnyRow): JsonObject => without(columns, ...hidden) as JsonObject

  /** Columns changed. `more`: further data; `rows`: further row changes; `shows`: new values beside `set`. */
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
      stream,
      project: (data, { recorded_at }) => [
        updateRow(table, data.id, data.set, recorded_at),
        ...(declared.rows?.(data, recorded_at) ?? [])
      ],
      activity: (data) => ({
        old_values: shown(data.was),
        new_values: { ...shown(data.set), ...declared.shows?.(data) }
      })
    })

  return {
    stream: (id: number): string => stream({ id }),
    shown,
    /** What an event says of the record itself: the columns of `set` with what they were before. */
    change: (row: AnyRow & { readonly id: number }, set: SomeColumns<T>): RecordChange<T> => ({
      id: row.id,
      set,
      was: columnsBefore(row, set)
    }),
    changed,
    /** A draft was made, with its items. */
    created: <I extends Table>(items: I, meaning: string) =>
      eventType<
        KeyedColumns<T> & { readonly items: ReadonlyArray<KeyedColumns<I>> },
        NewRow<T> & { readonly items: ReadonlyArray<KeyedColumns<I>> }
      >(`${table.entity}.created`, {
        meaning,
        data: () => typed(newRowWith(table, { items: Schema.Array(newRow(items)) })),
        stream,
        project: ({ items: rows, ...record }, { recorded_at }) => [
          insertRow(table, record, recorded_at),
          ...rows.map((row) => insertRow(items, row, recorded_at))
        ],
        activity: ({ items: rows, ...record }) => ({
          old_values: null,
          new_values: { ...shown(record), items: rows.length }
        })
      }),
    /** A draft changed: its columns, and items that came, changed and went. */
    updated: <I extends Table>(items: I, meaning: string) =>
      changed(`${table.entity}.updated`, {
        meaning,
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
        shows: (data) =>
          data.items === undefined
            ? {}
            : {
                items_added: data.items.added.length,
                items_changed: data.items.altered.length,
                items_removed: data.items.removed.length
              }
      }),
    /** A draft was deleted. */
    deleted: (meaning: string) =>
      eventType(`${table.entity}.deleted`, {
        meaning,
        data: () => Schema.Struct({ id: Schema.Int }),
        stream,
        project: ({ id }, { recorded_at }) => [
          update<Table>(table, id, { deleted_at: recorded_at, updated_at: recorded_at })
        ],
        activity: () => ({ old_values: null, new_values: null })
      })
  }
}
const nothing_moved = { added: [], altered: [], removed: [] }
