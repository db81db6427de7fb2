/** Events about devices: verdicts on their commands, which reach them through the journal. */
import { Schema } from "effect"
import { caseFoldedName, eventType, foldStored, isSearchable, keyOf, settings_table } from "../../core/kernel/index.ts"
import type { AnyRow, Catalogue, DataOf, JsonObject, Key, RowChange, Table } from "../../core/kernel/index.ts"

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
