/** Events about devices: the verdicts on their commands, which reach them through the journal. */
import { Schema } from "effect"
import { type DataOf, eventType, streamOf } from "../../core/kernel/events/event-type.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../core/kernel/fields/field.ts"
import { type Catalogue, foldStored } from "../../core/kernel/endpoints/endpoint.ts"
import { settings_table } from "../../core/kernel/events/settings.ts"
import type { AnyRow, Key, RowChange, Table } from "../../core/kernel/tables/table.ts"
import { caseFoldedName, isSearchable } from "../../core/kernel/tables/table.ts"

const verdictError = () =>
  Schema.Struct({
    status: Schema.Int,
    message: Schema.String,
    errors: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String))),
    // The refused command this one builds on, which is why it was not decided (status 424).
    cause: Schema.optionalKey(Schema.String)
  })

/** Belongs in the stream of the device. */
export const commandDecided = eventType("command.decided", {
  meaning: "The server decided a command that a device had recorded: accepted, or refused with the error.",
  data: () =>
    Schema.Struct({
      // The command's number in the device's sequence.
      n: Schema.Int,
      command_id: Schema.String,
      name: Schema.String,
      status: Schema.Literals(["accepted", "rejected"]),
      error: Schema.optionalKey(verdictError())
    }),
  project: "changes_no_table"
})
type DecidedData = DataOf<typeof commandDecided>
export const decidedIn = (data: JsonObject): DecidedData => commandDecided.read(data)

// Changes of events, row by row and column by column: read alike by a device and by its server.

/**
 * Effect of an event on one row: `columns` are all of a new row, the changed ones of another, none of a deleted one.
 */
export interface RowTouch {
  readonly table: Table
  readonly key: Key
  readonly op: "insert" | "update" | "delete"
  readonly columns: AnyRow
}
/** `products/7`: identifies the row among those of all tables. */
export const rowKey = ({ table, key }: { readonly table: Table; readonly key: Key }): string => `${table.name}/${key}`

interface ToldEvent {
  readonly stream: string
  readonly type: string
  readonly data: JsonObject
}
export const touchesOf = (
  { catalogue }: { readonly catalogue: Catalogue },
  event: ToldEvent,
  recorded_at: string
): ReadonlyArray<RowTouch> =>
  foldStored(catalogue, event, { recorded_at, actor_id: null, position: 0 }).flatMap(
    (change: RowChange): ReadonlyArray<RowTouch> => {
      const { table } = change
      // Rows without an id of their own are indexes of other rows; settings alone mean something to people.
      if (table.key !== "id" && table !== settings_table) return []
      if (change.op === "insert")
        return [{ table, key: change.row[table.key] as Key, op: "insert", columns: change.row }]
      if (change.op === "update") return [{ table, key: change.key, op: "update", columns: change.set }]
      return change.op === "delete" ? [{ table, key: change.key, op: "delete", columns: {} }] : []
    }
  )

const system_columns: ReadonlySet<string> = new Set(["id", "uuid", "created_at", "updated_at"])
/** Whether changes of this column are shown to users; false for internal columns. */
export const isWorthShowing = (table: Table, column: string): boolean => {
  const field = table.columns[column]
  return (
    field !== undefined &&
    !field.hidden &&
    !system_columns.has(column) &&
    !table.bookkeeping.includes(column) &&
    !Object.entries(table.columns).some(([name, one]) => isSearchable(one) && caseFoldedName(name) === column)
  )
}
/** Whether somebody edited the row: derived changes do not count. */
const isWork = ({ columns, op, table }: RowTouch): boolean =>
  op !== "update" ||
  Object.keys(columns).some((column) => isWorthShowing(table, column) && !table.follows.includes(column))

/** The column of a watched path: `custom_fields.12` is one value of a document in `custom_fields`. */
export const columnOf = (watched: string): string => watched.split(".", 1)[0] ?? watched
/** The value at a watched path in these columns. */
export const valueAt = (columns: AnyRow, watched: string): Json => {
  const column = columnOf(watched)
  const value = (columns[column] ?? null) as Json
  if (column === watched) return value
  return isJsonObject(value) ? (value[watched.slice(column.length + 1)] ?? null) : null
}

/** A change of a row that is watched. */
export interface WatchedChange {
  readonly table: Table
  readonly key: Key
  /** The changed path; undefined if the full row is watched. */
  readonly watched: string | undefined
  /** The change that caused it: of the row itself, or of one that belongs to it. */
  readonly by: RowTouch
}
/**
 * Looks at events in their order for changes of rows, by `table/key` with what is watched of each (nothing named: all
 * that people work on, be it a row that belongs to it). Events carry documents whole: which of their values an event
 * changed follows from those before it, or from what is `known` of the row.
 */
export const watching = (
  catalogue: Catalogue,
  rows: { readonly [row: string]: ReadonlyArray<string> },
  known: ReadonlyMap<string, AnyRow> = new Map()
): ((event: ToldEvent, recorded_at: string) => WatchedChange | undefined) => {
  const watched = new Map(Object.entries(rows))
  const before = new Map(known)
  const whole = new Map<string, { readonly table: Table; readonly key: Key }>()
  for (const [row, values] of watched) {
    const at = row.indexOf("/")
    const table = catalogue.tables.find(({ name }) => name === row.slice(0, at))
    const key = row.slice(at + 1)
    if (table !== undefined && values.length === 0) whole.set(streamOf(table.entity, key), { table, key })
  }
  const changeBy = (stream: string, by: RowTouch): WatchedChange | undefined => {
    const place = rowKey(by)
    const values = watched.get(place)
    if (values === undefined || values.length === 0) {
      const row = values === undefined ? whole.get(stream) : by
      return row !== undefined && isWork(by) ? { table: row.table, key: row.key, watched: undefined, by } : undefined
    }
    const had = before.get(place)
    const changed = values.find(
      (one) =>
        columnOf(one) in by.columns &&
        (one in by.columns || had === undefined || !sameJson(valueAt(had, one), valueAt(by.columns, one)))
    )
    before.set(place, { ...had, ...by.columns })
    return changed === undefined ? undefined : { table: by.table, key: by.key, watched: changed, by }
  }
  return (event, recorded_at) => {
    const changes = touchesOf({ catalogue }, event, recorded_at).map((touch) => changeBy(event.stream, touch))
    return changes.find((change) => change !== undefined)
  }
}
