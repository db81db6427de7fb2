/** An answer's body for people: rows as a table, a single record as lines. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import { metaIn } from "../base/answers.ts"
import { columnsOf } from "./columns.ts"
import { type Column, column, columnsSeen, recordText, tableText } from "./table.ts"
import type { Terminal } from "./terminal.ts"

interface Rendered {
  readonly text: string
  /** Which rows of how many these are, when there are more. */
  readonly more: string | undefined
}

/** `words`: rows under this key with words in place of codes. */
export const bodyText = (
  body: Json | undefined,
  terminal: Terminal,
  words: (key: string, rows: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject> = (_key, rows) => rows
): Rendered => {
  if (!isJsonObject(body))
    return {
      text: body === undefined || body === null ? "" : `${typeof body === "string" ? body : JSON.stringify(body)}\n`,
      more: undefined
    }
  const [key, ...others] = Object.keys(body).filter((name) => name !== "meta" && name !== "_meta")
  if (key === undefined) return { text: "", more: undefined }
  const value = body[key]
  if (others.length > 0 || value === undefined) return { text: recordText(body, terminal), more: undefined }
  if (Array.isArray(value)) {
    if (!value.every(isJsonObject))
      return {
        text: value.map((one: Json) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join(""),
        more: undefined
      }
    // Through a saved view, rows have the view's columns and no others.
    const columns =
      metaIn(body).view !== undefined
        ? Object.keys(value[0] ?? {}).map((name) => column(name))
        : (columnsOf(key) ?? columnsSeen(value))
    return {
      text: value.length === 0 ? "" : tableText(columns, words(key, value), terminal),
      more: pageNote(value.length, body.meta)
    }
  }
  if (!isJsonObject(value)) return { text: `${value === null ? "" : String(value)}\n`, more: undefined }
  const [record = value] = words(key, [value])
  return { text: `${recordText(ordered(record), terminal, chosenFor)}${noteOf(body.meta, terminal)}`, more: undefined }
}

/** Columns of rows inside a record: those of their lists, where the rows have all of them. */
const chosenFor = (key: string, rows: ReadonlyArray<JsonObject>): ReadonlyArray<Column> | undefined => {
  const columns = columnsOf(key)
  return columns?.every(({ of }) => rows.some((row) => of(row) !== undefined)) === true ? columns : undefined
}
const pageNote = (count: number, meta: Json | undefined): string | undefined => {
  if (!isJsonObject(meta)) return undefined
  const { total, page, per_page } = meta
  if (typeof total !== "number" || typeof page !== "number" || typeof per_page !== "number") return undefined
  if (total === 0) return "Nothing found."
  return total > count
    ? `${(page - 1) * per_page + 1} to ${(page - 1) * per_page + count} of ${total}; --page ${page + 1} goes on, --all shows all.`
    : undefined
}
/** Details beside the record, such as the ids of overlapping rates. */
const noteOf = (meta: Json | undefined, terminal: Terminal): string => {
  if (!isJsonObject(meta)) return ""
  const details = Object.fromEntries(
    // Warnings are told apart from the data, terminal or not.
    Object.entries(meta).filter(
      ([key, value]) => key !== "warnings" && value !== null && !(Array.isArray(value) && value.length === 0)
    )
  )
  return Object.keys(details).length === 0 ? "" : `\n${recordText(details, terminal)}`
}
/** The record with ids and names first. */
const ordered = (record: JsonObject): JsonObject => {
  const first = ["id", "number", "name", "subject", "sku", "status_label", "state_label"].filter((key) =>
    Object.hasOwn(record, key)
  )
  const keys = [...first, ...Object.keys(record).filter((key) => !first.includes(key))]
  return Object.fromEntries(keys.map((key) => [key, record[key] ?? null]))
}
