/**
 * An event as somebody sees it who may not see all of it: the changes it makes to what they do see, column by column.
 * It takes the event's place in their journal, at its position, and folds like any other.
 */
import { Schema } from "effect"
import type { Key, RowChange } from "./row-change.ts"
import type { Scrub } from "./event.ts"
import { type EventType, eventType } from "./event-type.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "./json.ts"
import { redactedValue } from "./visibility.ts"
import { jsonObject, type Stored } from "./stored-schema.ts"
import type { Table } from "./table.ts"

export const redacted_event = "rows.told"

const rowsToldSchema = () => {
  const key = Schema.Union([Schema.Finite, Schema.String])
  const value = Schema.Union([
    Schema.String,
    Schema.Finite,
    Schema.Boolean,
    Schema.Null,
    Schema.Array(Schema.Union([Schema.String, Schema.Finite]))
  ])
  const where = Schema.Record(Schema.String, value)
  const table = Schema.String
  return Schema.Struct({
    of: Schema.String,
    changes: Schema.Array(
      Schema.Union([
        Schema.Struct({ op: Schema.Literal("insert"), table, row: jsonObject }),
        Schema.Struct({ op: Schema.Literal("update"), table, key, set: jsonObject }),
        Schema.Struct({ op: Schema.Literal("delete"), table, key }),
        Schema.Struct({ op: Schema.Literal("update_where"), table, where, set: jsonObject }),
        Schema.Struct({ op: Schema.Literal("delete_where"), table, where })
      ])
    ),
    scrub: Schema.optionalKey(
      Schema.Struct({
        streams: Schema.Array(Schema.String),
        placeholders: jsonObject,
        kept: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String)))
      })
    )
  })
}
/** `of`: what it was, for accounts of who did what. `scrub`: personal data it takes out of what was recorded before. */
export type RedactedEvent = ReturnType<typeof rowsToldSchema>["Type"]
export const redactedEventData = (
  of: string,
  changes: ReadonlyArray<RowChange>,
  scrub: Scrub | undefined
): JsonObject => ({
  of,
  changes: changes.map(({ table, ...rest }): Json => ({ ...(rest as JsonObject), table: table.name })),
  ...(scrub === undefined
    ? {}
    : {
        scrub: {
          streams: scrub.streams,
          placeholders: scrub.placeholders,
          ...(scrub.kept === undefined ? {} : { kept: scrub.kept })
        }
      })
})
/** The type of what happened, also where the event was redacted. */
export const originalTypeOf = ({ type, data }: { readonly type: string; readonly data: JsonObject }): string =>
  type === redacted_event ? String(data["of"]) : type

/** A table of a later release is ignored; its rows come with that release. */
export const rowsToldEvent = (tableOf: (name: string) => Table | undefined): EventType<RedactedEvent> =>
  eventType(redacted_event, {
    meaning:
      "Something happened of which the reader may see a part: the changes to the rows and columns that are theirs to see.",
    data: (): Stored<RedactedEvent> => rowsToldSchema(),
    stream: () => "",
    project: ({ changes }) =>
      changes.flatMap((told): ReadonlyArray<RowChange> => {
        const table = tableOf(told.table)
        return table === undefined ? [] : [{ ...told, table }]
      }),
    scrub: (data) => data.scrub
  })

/** Whether a column of a redacted row holds only the placeholder for a reader who may not see it. */
export type IsWithheld = (table: string, column: string, key: Key, value: Json) => boolean
export const isWithheldIn =
  (tables: ReadonlyArray<Table>): IsWithheld =>
  (name, column, key, value) => {
    const table = tables.find((one) => one.name === name)
    return table !== undefined && column in table.columns && sameJson(redactedValue(table, column, key) as Json, value)
  }
const nothingWithheld: IsWithheld = () => false

/**
 * What a scrub makes of the event's own data, or of the row changes of a redacted event; the same data where there is
 * nothing to take out. What was withheld from the reader stays as it is: the rows hold the same.
 */
export const scrubbed = (
  data: JsonObject,
  scrub: Pick<Scrub, "placeholders" | "kept">,
  isWithheld: IsWithheld = nothingWithheld
): JsonObject => {
  const own = withPlaceholders(data, scrub)
  const changes = data["changes"]
  if (!Array.isArray(changes)) return own
  const next = (changes as ReadonlyArray<JsonObject>).map((change) => {
    const part = "row" in change ? "row" : "set"
    const values = change[part] as JsonObject | undefined
    if (values === undefined) return change
    const key = (change["key"] ?? values["id"]) as Key
    const hidden = withPlaceholders(values, scrub, (column, value) =>
      isWithheld(String(change["table"]), column, key, value)
    )
    return hidden === values ? change : { ...change, [part]: hidden }
  })
  return next.every((change, at) => change === (changes as ReadonlyArray<Json>)[at]) ? own : { ...own, changes: next }
}
const withPlaceholders = (
  values: JsonObject,
  { kept = {}, placeholders }: Pick<Scrub, "placeholders" | "kept">,
  stays: (column: string, value: Json) => boolean = () => false
): JsonObject => {
  const hidden = Object.entries(placeholders).filter(([key, placeholder]) => {
    const value = values[key] ?? null
    return value !== null && !sameJson(value, placeholder) && !stays(key, value)
  })
  const cut = Object.entries(kept).flatMap(([name, keys]): ReadonlyArray<readonly [string, Json]> => {
    const document = values[name]
    if (!isJsonObject(document)) return []
    const left = Object.entries(document).filter(([key]) => keys.includes(key))
    return left.length === Object.keys(document).length ? [] : [[name, Object.fromEntries(left)]]
  })
  return hidden.length + cut.length === 0 ? values : { ...values, ...Object.fromEntries([...hidden, ...cut]) }
}
