/**
 * An event as somebody sees it who may not see all of it: the changes it makes to what they do see, column by column.
 * It takes the event's place in their journal, at its position, and folds like any other.
 */
import type { Key, RowChange, Where } from "./change.ts"
import type { Fold, Scrub } from "./event.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "./json.ts"
import type { AnyRow, Table } from "./table.ts"

export const rows_told_event = "rows.told"
type Written = JsonObject & { readonly op: RowChange["op"]; readonly table: string }
export interface RowsTold {
  /** What it was, for accounts of who did what. */
  readonly of: string
  readonly changes: ReadonlyArray<Written>
  /** Personal data it takes out of what was recorded before. */
  readonly scrub?: Scrub
}
export const rowsTold = (of: string, changes: ReadonlyArray<RowChange>, scrub: Scrub | undefined): JsonObject => ({
  of, changes: changes.map(({ table, ...rest }): Json => ({ ...rest as JsonObject, table: table.name })),
  ...(scrub === undefined ? {} : {
    scrub: { streams: scrub.streams, placeholders: scrub.placeholders, ...(scrub.kept === undefined ? {} : { kept: scrub.kept }) }
  })
})
/** The type of what happened, whoever tells it. */
export const typeOf = ({ type, data }: { readonly type: string; readonly data: JsonObject }): string =>
  type === rows_told_event ? String(data["of"]) : type

/** A table of a later release is passed over; its rows come with the release. */
export const foldRowsTold = (tableOf: (name: string) => Table | undefined): Fold => ({ changes }: RowsTold) => changes.flatMap(({ op, table: name, ...rest }): ReadonlyArray<RowChange> => {
  const table = tableOf(name)
  if (table === undefined) return []
  switch (op) {
    case "insert": return [{ op, table, row: rest["row"] as AnyRow }]
    case "update": return [{ op, table, key: rest["key"] as Key, set: rest["set"] as AnyRow }]
    case "delete": return [{ op, table, key: rest["key"] as Key }]
    case "update_where": return [{ op, table, where: rest["where"] as Where, set: rest["set"] as AnyRow }]
    case "delete_where": return [{ op, table, where: rest["where"] as Where }]
  }
})

/** What a scrub makes of the event's own data, or of the changes it is told by; the same data where there is nothing to take out. */
export const scrubbed = (data: JsonObject, scrub: Pick<Scrub, "placeholders" | "kept">): JsonObject => {
  const own = covered(data, scrub)
  const changes = data["changes"]
  if (!Array.isArray(changes)) return own
  const next = (changes as ReadonlyArray<JsonObject>).map((change) => {
    const part = "row" in change ? "row" : "set"
    const values = change[part] as JsonObject | undefined
    const hidden = values === undefined ? values : covered(values, scrub)
    return hidden === values ? change : { ...change, [part]: hidden! }
  })
  return next.every((change, at) => change === (changes as ReadonlyArray<Json>)[at]) ? own : { ...own, changes: next }
}
const covered = (values: JsonObject, { kept = {}, placeholders }: Pick<Scrub, "placeholders" | "kept">): JsonObject => {
  const hidden = Object.entries(placeholders).filter(([key, placeholder]) => (values[key] ?? null) !== null && !sameJson(values[key]!, placeholder))
  const cut = Object.entries(kept).flatMap(([name, keys]): ReadonlyArray<readonly [string, Json]> => {
    const document = values[name]
    if (!isJsonObject(document)) return []
    const left = Object.entries(document).filter(([key]) => keys.includes(key))
    return left.length === Object.keys(document).length ? [] : [[name, Object.fromEntries(left)]]
  })
  return hidden.length + cut.length === 0 ? values : { ...values, ...Object.fromEntries([...hidden, ...cut]) }
}
