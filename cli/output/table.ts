/** Formats rows: aligned columns on a terminal, tab-separated values in a pipe. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/index.ts"
import { isRows } from "../base/answers.ts"
import { cellText, minuteText, oneLine, padded, styled, type Terminal, truncateToWidth, widthOf } from "./text.ts"

export interface Column<in R = JsonObject> {
  readonly title: string
  readonly of: (row: R) => Json | undefined
  readonly right?: boolean
  /** Whether values are ids of stores, displayed by name on a terminal. */
  readonly is_store?: boolean
  /** Left out of a table that is too wide for the terminal; those with the highest number first. */
  readonly spare?: number
}
/** Column with the value of a key; ids of stores (`store_id`) are displayed by name on a terminal. */
export const column = (key: string, title: string = titleOf(key)): Column => ({
  title,
  of: (row) => row[key],
  ...(key === "store_id" ? { is_store: true } : {})
})
/** Readable form of a key: "product" for `product_id`. */
export const labelOf = (key: string): string => key.replace(/_id$/, "").replaceAll("_", " ")
const titleOf = (key: string): string => labelOf(key).toUpperCase()

/**
 * Column by `key` or `key=TITLE`; dots are for nested keys (`member.name`), and `rows+key` sums a key of nested rows,
 * with `-other` of those where the other is empty. A number after `?` makes it spare: `location?2`.
 */
const columnOf = (text: string): Column => {
  const [spec = "", spare] = text.split("?")
  const [key = "", title] = spec.split("=")
  return { ...wholeColumn(key, title), ...(spare === undefined ? {} : { spare: Number(spare) }) }
}
const wholeColumn = (key: string, title: string | undefined): Column => {
  const [, rows = "", summed = "", empty = ""] = /^(\w+)\+(\w+)(?:-(\w+))?$/.exec(key) ?? []
  if (summed !== "")
    return { title: title ?? summed.toUpperCase(), right: true, of: (row) => sumOf(row[rows], summed, empty) }
  const path = key.split(".")
  if (path.length === 1) return column(key, title)
  return {
    title: (title ?? key.slice(0, key.indexOf("."))).toUpperCase(),
    of: (row) => path.reduce<Json | undefined>((value, step) => (isJsonObject(value) ? value[step] : undefined), row)
  }
}
const sumOf = (rows: Json | undefined, key: string, empty: string): number | undefined =>
  Array.isArray(rows)
    ? rows.filter(isJsonObject).reduce((sum, row) => sum + (row[empty] == null ? Number(row[key] ?? 0) : 0), 0)
    : undefined

/** Columns from a text, separated by commas. */
export const columnsNamed = (specs: string): ReadonlyArray<Column> => specs.split(/,\s*/).map(columnOf)

const gap = "  "
/** `2027-07-01`, with or without a minute, and the short forms of a day's lists: `09:00`, `Fri 4 Dec 09:00`. */
const day_or_minute = /^(\d{4}-\d{2}-\d{2}( \d{2}:\d{2}Z?)?|([A-Z][a-z]{2} \d+ [A-Z][a-z]{2} )?\d{2}:\d{2})$/
const numeric = /^-?\d[\d,]*(\.\d+)?%?$/

/**
 * Formats a table: on a terminal aligned, with header, and cut to its width; in a pipe tab-separated, with header only
 * for `has_titles`, if several tables follow each other.
 */
export const tableText = <R extends JsonObject>(
  columns: ReadonlyArray<Column<R>>,
  rows: ReadonlyArray<R>,
  terminal: Terminal,
  { has_titles = false }: { readonly has_titles?: boolean } = {}
): string => {
  const nameIn = (id: Json | undefined): Json | undefined =>
    (terminal.is_tty ? terminal.storeName?.(id) : undefined) ?? id
  const cells = rows.map((row) =>
    columns.map(({ is_store = false, of }) => oneLine(cellText(is_store ? nameIn(of(row)) : of(row))))
  )
  if (!terminal.is_tty) {
    const lines = has_titles ? [columns.map(({ title }) => title), ...cells] : cells
    return lines.map((row) => `${row.join("\t")}\n`).join("")
  }
  const shown = cells.map((row, at) => {
    const zone = terminal.zoneOf?.(rows[at] ?? {})
    return row.map((text) => minuteText(text, zone))
  })
  const layout = withoutSpare(
    columns.map(({ right, spare, title }, at): LaidOut => {
      const texts = shown.map((row) => row[at] ?? "")
      const is_filled = texts.some((text) => text !== "")
      const is_numeric = texts.length > 0 && texts.every((text) => text === "" || numeric.test(text))
      const is_time = is_filled && texts.every((text) => text === "" || day_or_minute.test(text))
      const width = Math.max(widthOf(title), ...texts.map(widthOf))
      const gives = !whole_titles.has(title) && !is_numeric && !is_time
      const is_telling = telling.has(title) && new Set(texts).size > 1
      return {
        at,
        width,
        right: right ?? is_numeric,
        gives,
        spare: is_telling ? 0 : is_filled ? (spare ?? 0) : Infinity
      }
    }),
    terminal.columns
  )
  const widths = narrowed(
    narrowed(
      layout.map(({ width }) => width),
      layout.map(({ gives }) => gives),
      terminal.columns
    ),
    // Cells without a title stay whole if they can, but wrap no line.
    layout.map(({ at, gives }) => gives || columns[at]?.title === ""),
    terminal.columns
  )
  const line = (row: ReadonlyArray<string>): string =>
    layout
      .map(({ at, right }, place) => {
        const width = widths[place] ?? 0
        return padded(truncateToWidth(row[at] ?? "", width), width, right)
      })
      .join(gap)
      .trimEnd()
  const heading = styled(terminal.colour, "bold", line(columns.map(({ title }) => title)))
  return [heading, ...shown.map(line)].map((text) => `${text}\n`).join("")
}

const narrowest = 8
/** Width to which columns are cut before spare ones are left out. */
const readable = 16
/** Columns that change what the others say where they differ by row: they are not spare then. */
const telling: ReadonlySet<string> = new Set(["CUR", "ACTIVE", "OVERDUE", "ON ORDER"])
const whole_titles: ReadonlySet<string> = new Set(["ID", "NUMBER", ""])
/**
 * Widths of columns that fit the terminal: the widest shrinks first, to eight at least. Ids, numbers and dates are
 * never cut, as they are copied, or useless in part.
 */
const narrowed = (
  widths: ReadonlyArray<number>,
  may_give: ReadonlyArray<boolean>,
  room: number
): ReadonlyArray<number> => {
  const result = [...widths]
  const gaps = gap.length * (widths.length - 1)
  for (let over = result.reduce((sum, width) => sum + width, gaps) - room; over > 0; over--) {
    const most = Math.max(0, ...result.filter((_, at) => may_give[at]))
    if (most <= narrowest) break
    result[result.findIndex((width, at) => width === most && may_give[at])] = most - 1
  }
  return result
}

interface LaidOut {
  /** Position among the table's columns. */
  readonly at: number
  readonly width: number
  readonly right: boolean
  readonly gives: boolean
  /** 0: always shown; Infinity: without any value. */
  readonly spare: number
}
/** The columns without spare ones, until the others fit the terminal once they are cut. */
const withoutSpare = (layout: ReadonlyArray<LaidOut>, room: number): ReadonlyArray<LaidOut> => {
  const least = layout.reduce((sum, { gives, width }) => sum + (gives ? Math.min(width, readable) : width), 0)
  const most = Math.max(0, ...layout.map(({ spare }) => spare))
  if (most === 0 || layout.every(({ spare }) => spare === most) || least + gap.length * (layout.length - 1) <= room)
    return layout
  return withoutSpare(
    layout.filter(({ spare }) => spare !== most),
    room
  )
}

/** Terminal settings for parts of a record, which are in the zone of its store unless they name their own. */
export const onClockOf = (terminal: Terminal, record: JsonObject): Terminal => {
  const zone = terminal.zoneOf?.(record)
  return { ...terminal, zoneOf: (row) => ("store_id" in row ? terminal.zoneOf?.(row) : zone) }
}

/** Formats a record: a line per key, then nested rows as tables. A terminal gets empty values only with `has_empty`. */
export const recordText = (
  record: JsonObject,
  terminal: Terminal,
  chosen: (key: string, rows: ReadonlyArray<JsonObject>) => ReadonlyArray<Column> | undefined = () => undefined,
  has_empty = false
): string => {
  const nested = Object.entries(record).flatMap(([key, value]) =>
    isRows(value) && value.length > 0 ? [[key, value] as const] : []
  )
  const plain = Object.keys(record).filter((key) => !nested.some(([name]) => name === key))
  const zone = terminal.zoneOf?.(record)
  const within = onClockOf(terminal, record)
  const tables = nested.map(
    ([key, rows]) =>
      `\n${styled(terminal.colour, "bold", titleOf(key))}\n` +
      tableText(chosen(key, rows) ?? columnsSeen(rows), rows, within, { has_titles: true })
  )
  if (!terminal.is_tty)
    return plain.map((key) => `${key}\t${oneLine(cellText(record[key]))}\n`).join("") + tables.join("")
  const filled = plain.filter((key) => has_empty || cellText(record[key]) !== "")
  const width = Math.max(0, ...filled.map(widthOf))
  const named = (key: string): Json | undefined =>
    (key === "store_id" ? terminal.storeName?.(record[key]) : undefined) ?? record[key]
  const shown = (key: string): string => oneLine(minuteText(cellText(named(key)), zone))
  const lines = filled.map((key) =>
    `${styled(terminal.colour, "dim", padded(key, width, false))}${gap}${shown(key)}`.trimEnd().concat("\n")
  )
  return lines.join("") + tables.join("")
}

/** Columns left out of lists without configured columns. */
const minor_columns = new Set(["created_at", "updated_at", "custom_fields", "description", "uuid"])
const columns_max = 8
/** Columns of lists without configured ones, at most eight: ids and names first, then those with any value. */
export const columnsSeen = (rows: ReadonlyArray<JsonObject>): ReadonlyArray<Column> => {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const hasValues = (key: string): boolean =>
    rows.some((row) => {
      const value = row[key]
      return (
        value != null &&
        value !== "" &&
        value !== false &&
        (typeof value !== "object" || (Array.isArray(value) && value.length > 0))
      )
    })
  const names = ["id", "number", "name", "subject", "key", "code"].filter((key) => keys.includes(key))
  const rest = keys.filter((key) => !names.includes(key) && !minor_columns.has(key) && hasValues(key))
  const chosen = [...names, ...rest].slice(0, columns_max)
  const shown = chosen.length === 0 ? keys.slice(0, columns_max) : chosen
  const titles = shown.map(titleOf)
  // Adds `_id` to titles that would be equal, as of `event` and `event_id`.
  return shown.map((key, at) =>
    titles.indexOf(titleOf(key)) === at ? column(key) : column(key, key.replaceAll("_", " ").toUpperCase())
  )
}

// Formats a record in several parts: fields, tables of rows, sums. Parts are separated by an empty line; pipes get them
// without colors, in full width.

export type Block =
  | { readonly record: JsonObject }
  | { readonly text: string }
  | { readonly title?: string; readonly columns: ReadonlyArray<Column>; readonly rows: ReadonlyArray<JsonObject> }

export const blocksText = (blocks: ReadonlyArray<Block>, terminal: Terminal): string =>
  blocks
    .map((block) => textOf(block, terminal))
    .filter((text) => text !== "")
    .join("\n")
const textOf = (block: Block, terminal: Terminal): string => {
  if ("text" in block) return block.text
  if ("record" in block) return Object.keys(block.record).length === 0 ? "" : recordText(block.record, terminal)
  const { columns, rows, title } = block
  if (rows.length === 0) return ""
  return `${title === undefined ? "" : `${title}\n`}${tableText(columns, rows, terminal, { has_titles: true })}`
}
