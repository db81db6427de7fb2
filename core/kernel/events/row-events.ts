/** Events of tables with plain rows: their declarations, and how rules create them. */
import { Schema } from "effect"
import type { ActivityValues, AnyEventType, EventType, NewEvent } from "./event-type.ts"
import { event, eventType, streamOfRow } from "./event-type.ts"
import { type Json, type JsonObject, sameJson } from "../fields/field.ts"
import { keyedColumns, type KeyedColumns, newRow, type NewRow, withoutStamps } from "../tables/field-schema.ts"
import type { AnyRow, RowChange, Table } from "../tables/table.ts"
import { capitalised, insertRow, oneOf, remove, update, updateRow } from "../tables/table.ts"

/** Further changes made when a row is deleted. */
export type OnDelete = (id: number, at: string) => ReadonlyArray<RowChange>
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
/** Declares `<entity>.created`. */
export const rowCreated = <T extends Table>(table: T): EventType<KeyedColumns<T>, NewRow<T>> =>
  rowMade(`${table.entity}.created`, table, {
    meaning: `${capitalised(oneOf(table))} was created: all of its columns.`,
    stream: (row) => streamOfRow(table, row)
  })
/** Declares `<entity>.updated`, which contains the changed columns. */
export const rowUpdated = <T extends Table>(table: T): EventType<KeyedColumns<T>> =>
  eventType(`${table.entity}.updated`, {
    meaning: `Columns of ${oneOf(table)} changed: those that did, as they are now.`,
    data: () => keyedColumns(table),
    project: ({ id, ...set }, { recorded_at }) => [updateRow(table, id, set, recorded_at)]
  })
/** Declares `<entity>.deleted`: the row is deleted, or archived if the table keeps deleted rows. */
export const rowDeleted = (table: Table, on_delete?: OnDelete): EventType<{ readonly id: number }> =>
  eventType(`${table.entity}.deleted`, {
    meaning: `${capitalised(oneOf(table))} was ${table.soft_delete ? "archived" : "deleted"}.`,
    data: () => Schema.Struct({ id: Schema.Int }),
    project: ({ id }, { recorded_at }) => [
      ...(on_delete?.(id, recorded_at) ?? []),
      table.soft_delete ? update(table, id, { deleted_at: recorded_at }) : remove(table, id)
    ]
  })
export const rowEvents = (table: Table, on_delete?: OnDelete): ReadonlyArray<AnyEventType> => [
  rowCreated(table),
  rowUpdated(table),
  rowDeleted(table, on_delete)
]

export const createdEvent = (table: Table, row: AnyRow & { readonly id: number }): NewEvent =>
  event(streamOfRow(table, row), `${table.entity}.created`, withoutStamps(row) as JsonObject)
/** Columns of `after` whose values differ from `before`. */
export const changedColumns = <R extends AnyRow>(before: AnyRow, after: R): Partial<R> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => !sameJson((before[name] ?? null) as Json, (value ?? null) as Json))
  ) as Partial<R>
/**
 * The event for an update: changed columns, or the full row for tables with row-level visibility; undefined if nothing
 * changed.
 */
export const updatedEvent = (
  table: Table,
  before: AnyRow & { readonly id: number },
  set: AnyRow
): NewEvent | undefined => {
  const changed = changedColumns(before, set)
  if (Object.keys(changed).length === 0) return undefined
  const { updated_at: _u, deleted_at: _d, ...whole } = { ...before, ...set }
  return event(streamOfRow(table, before), `${table.entity}.updated`, {
    id: before.id,
    ...((table.visibility?.by_row === undefined ? changed : whole) as JsonObject)
  })
}
/** `row` is needed if the table's events are in the stream of another row. */
export const deletedEvent = (table: Table, id: number, row?: AnyRow): NewEvent =>
  event(streamOfRow(table, { ...row, id }), `${table.entity}.deleted`, { id })
