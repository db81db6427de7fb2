/** Events about devices: verdicts on their commands, which reach them through the journal. */
import { Schema } from "effect"
import { caseFoldedName, eventType, foldStored, isJsonObject, isSearchable, sameJson } from "../../core/kernel/index.ts"
import { keyOf, settings_table, streamOf } from "../../core/kernel/index.ts"
import type { AnyRow, Catalogue, DataOf, Json, JsonObject, Key, RowChange, Table } from "../../core/kernel/index.ts"

const verdictError = () =>
  Schema.Struct({
    status: Schema.Int,
    message: Schema.String,
    errors: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String))),
    // Id of the refused command that this one depends on, so that it was not decided (status 424).
    cause: Schema.optionalKey(Schema.String)
  })

/** Recorded in the device's stream. */
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
export const decidedIn = (data: JsonObject): DataOf<typeof commandDecided> => commandDecided.read(data)

// Changes by events, row by row and column by column, computed alike on device and server.

/**
 * Effect of an event on a row. `columns`: all of a created row, the changed ones of an updated row, none of a deleted
 * row.
 */
export interface RowTouch {
  readonly table: Table
  readonly key: Key
  readonly op: "insert" | "update" | "delete"
  readonly columns: AnyRow
}
/** Identifies a row among all tables: `products/7`. */
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
  foldStored(catalogue, event, { recorded_at }).flatMap((change: RowChange): ReadonlyArray<RowTouch> => {
    const { table } = change
    // Rows without an id are indexes of other rows and not shown; settings are.
    if (table.key !== "id" && table !== settings_table) return []
    if (change.op === "insert") return [{ table, key: keyOf(table, change.row), op: "insert", columns: change.row }]
    if (change.op === "update") return [{ table, key: change.key, op: "update", columns: change.set }]
    return change.op === "delete" ? [{ table, key: change.key, op: "delete", columns: {} }] : []
  })

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
/** Whether a user made the change, rather than a rule. */
const isWork = ({ columns, op, table }: RowTouch): boolean =>
  op !== "update" ||
  Object.keys(columns).some((column) => isWorthShowing(table, column) && !table.follows.includes(column))

/** Column of a watched path: `custom_fields` for `custom_fields.12`, one value of the document. */
export const columnOf = (watched: string): string => watched.split(".", 1)[0] ?? watched
/** Value at a watched path in these columns; null if absent. */
export const valueAt = (columns: AnyRow, watched: string): Json => {
  const column = columnOf(watched)
  const value = columns[column] ?? null
  if (column === watched) return value
  return isJsonObject(value) ? (value[watched.slice(column.length + 1)] ?? null) : null
}

/** A change of a watched row. */
export interface WatchedChange {
  readonly table: Table
  readonly key: Key
  /** The changed path; undefined if the complete row is watched. */
  readonly watched: string | undefined
  /** The causing change, of the row itself or of one that belongs to it. */
  readonly by: RowTouch
}
/**
 * Returns a function that finds the watched change in each event of a sequence. Rows are watched by `table/key`, with
 * their paths (none: all columns that people edit, and dependent rows). `known`: earlier values, as events contain
 * complete documents.
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
