/** Rows for people: aligned columns on a terminal, values between tabs in a pipe. */
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { styled, type Terminal } from "./terminal.ts"
import { cellText, truncateToWidth, oneLine, padded, minuteText, widthOf } from "./text.ts"

export interface Column {
  readonly title: string
  readonly of: (row: JsonObject) => Json | undefined
  readonly right?: boolean
}
/** A column that shows one key. */
export const column = (key: string, title: string = titleOf(key)): Column => ({ title, of: (row) => row[key] })
export const titleOf = (key: string): string => key.replace(/_id$/, "").replaceAll("_", " ").toUpperCase()

const gap = "  "
const numeric = /^-?\d[\d,]*(\.\d+)?%?$/

/** On a terminal: a heading, columns side by side, cut to its width. Otherwise tabs and nothing but data. */
export const tableText = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<JsonObject>,
  terminal: Terminal
): string => {
  const cells = rows.map((row) => columns.map(({ of }) => oneLine(cellText(of(row)))))
  if (!terminal.is_tty) return cells.map((row) => `${row.join("\t")}\n`).join("")
  const shown = cells.map((row) => row.map(minuteText))
  const widths = columns.map(({ title }, at) => Math.max(widthOf(title), ...shown.map((row) => widthOf(row[at]!))))
  fit(widths, terminal.columns)
  const rights = columns.map(
    ({ right }, at) => right ?? (shown.length > 0 && shown.every((row) => row[at] === "" || numeric.test(row[at]!)))
  )
  const line = (row: ReadonlyArray<string>): string =>
    row
      .map((cell, at) => padded(truncateToWidth(cell, widths[at]!), widths[at]!, rights[at]!))
      .join(gap)
      .trimEnd()
  const heading = styled(terminal.colour, "bold", line(columns.map(({ title }) => title)))
  return [heading, ...shown.map(line)].map((text) => `${text}\n`).join("")
}

/** Takes from the widest columns until the row fits the terminal; none falls below eight. */
const fit = (widths: Array<number>, room: number): void => {
  const space = gap.length * (widths.length - 1)
  for (let over = widths.reduce((sum, width) => sum + width, space) - room; over > 0; over--) {
    const widest = widths.indexOf(Math.max(...widths))
    if (widths[widest]! <= 8) return
    widths[widest]!--
  }
}

/** One thing: a line per key. Nested rows follow as tables of their own. */
export const recordText = (record: JsonObject, terminal: Terminal): string => {
  const keys = Object.keys(record)
  const nested = keys.filter((key) => isRows(record[key]))
  const plain = keys.filter((key) => !nested.includes(key))
  if (!terminal.is_tty) return plain.map((key) => `${key}\t${oneLine(cellText(record[key]))}\n`).join("")
  // What is empty says nothing to a person.
  const told = plain.filter((key) => cellText(record[key]) !== "")
  const width = Math.max(0, ...told.map(widthOf))
  const lines = told.map(
    (key) =>
      `${styled(terminal.colour, "dim", padded(key, width, false))}${gap}${oneLine(minuteText(cellText(record[key])))}\n`
  )
  const tables = nested.map((key) => {
    const rows = record[key] as ReadonlyArray<JsonObject>
    return `\n${styled(terminal.colour, "bold", titleOf(key))}\n${tableText(columnsSeen(rows), rows, terminal)}`
  })
  return lines.join("") + tables.join("")
}
const isRows = (value: Json | undefined): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => typeof one === "object" && one !== null && !Array.isArray(one))

const dull = new Set(["created_at", "updated_at", "custom_fields", "description", "uuid"])
const columns_max = 8
/** Columns for rows nobody chose columns for: the id, what it is called, then short plain values that say something. */
export const columnsSeen = (rows: ReadonlyArray<JsonObject>): ReadonlyArray<Column> => {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const said = (key: string): boolean =>
    rows.some((row) => {
      const value = row[key]
      return (
        value !== null &&
        value !== undefined &&
        value !== "" &&
        value !== false &&
        (typeof value !== "object" || (Array.isArray(value) && value.length > 0))
      )
    })
  const called = ["id", "number", "name", "subject", "key", "code"].filter((key) => keys.includes(key))
  const rest = keys.filter((key) => !called.includes(key) && !dull.has(key) && said(key))
  const chosen = [...called, ...rest].slice(0, columns_max)
  return (chosen.length === 0 ? keys.slice(0, columns_max) : chosen).map((key) => column(key))
}
