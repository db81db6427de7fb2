/**
 * Shared by imports: many rows in one request, a verdict for each. A rejected row changes nothing and does not stop the
 * others; importing accepted rows again changes nothing; a dry run gives the same verdicts and writes nothing.
 */
import { findUnstorableText, initialRow, isJsonObject, isStorableText, json_levels_max } from "../kernel/index.ts"
import type { DecideContext, Decided, FieldErrors, Fields, Json, JsonObject, NewEvent } from "../kernel/index.ts"
import type { RowOf, Table } from "../kernel/index.ts"
import { Result } from "effect"
import type { verdictsResult } from "./fields.ts"

// How imports read cells of spreadsheets: `yes` as true, a number as text, tags between commas.

/** Words for yes and no in English, German, French, Spanish, Italian and Dutch. */
const yes = new Set(["yes", "y", "true", "t", "1", "on", "ja", "j", "wahr", "oui", "o", "vrai", "sí", "si", "s", "sì"])
for (const word of ["verdadero", "vero", "waar"]) yes.add(word)
const no = new Set(["no", "n", "false", "f", "0", "off", "nein", "falsch", "non", "faux", "falso", "nee", "onwaar"])

/** Texts between separators, trimmed, without empty ones. */
export const partsOfText = (text: string, separator: RegExp): ReadonlyArray<string> =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "")

/** The entry under a user-supplied name; names that every object has, such as `constructor`, are ignored. */
export const namedIn = <A>(by_name: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(by_name, name) ? by_name[name] : undefined

/** A cell as the value a request would hold for this field. */
export const cellValue = (fields: Fields, column: string, cell: Json): Json => {
  const kind = namedIn(fields, column)?.type.kind
  if (kind === "text" && typeof cell === "number") return String(cell)
  if (typeof cell !== "string") return cell
  const word = cell.trim().toLowerCase()
  if (kind === "boolean") return yes.has(word) ? true : no.has(word) ? false : cell
  if (kind === "list") return [...partsOfText(cell, /[,;]/)]
  return cell
}

/** A cell that identifies a row, as text: a sku may come as a number. Undefined for anything that cannot be stored. */
export const textCell = (cells: JsonObject, column: string): string | undefined => {
  const cell = cells[column]
  return typeof cell === "string" && isStorableText(cell)
    ? cell.trim()
    : typeof cell === "number"
      ? String(cell)
      : undefined
}

/** Records in a cell: objects, or text split by `separator` under `main`; [] without a cell, undefined if neither. */
export const recordsIn = (
  cell: Json | undefined,
  main: string,
  separator: RegExp | undefined
): ReadonlyArray<JsonObject> | undefined => {
  if (cell === undefined) return []
  if (Array.isArray(cell)) {
    const inner = cell.map((one: Json) => recordsIn(one, main, separator))
    return inner.some((one) => one === undefined) ? undefined : inner.flatMap((one) => one ?? [])
  }
  if (isJsonObject(cell)) return [cell]
  if (typeof cell !== "string" && typeof cell !== "number") return undefined
  const text = String(cell)
  return (separator === undefined ? [text] : partsOfText(text, separator)).map((one) => ({ [main]: one }))
}

/** A row after reading: cells by the import's own column names, without empty ones. */
export interface Row {
  readonly number: number
  readonly cells: JsonObject
  readonly unknown: ReadonlyArray<string>
  /** Errors if the row cannot be read at all; it then has no cells. */
  readonly unreadable: FieldErrors | undefined
}

export interface Columns {
  readonly known: ReadonlySet<string>
  readonly aliases: { readonly [name: string]: string }
  /** Columns that may be spread over several: `stock.Main Warehouse`, `rate.price`. */
  readonly spread: ReadonlySet<string>
}

/** `Product Group` → `product_group`. */
export const columnName = (header: string): string =>
  header
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_")

/** Many lists write a dash for an empty cell. */
const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && /^\s*[-–—]?\s*$/.test(value))

const code_columns = new Set(["sku", "barcode", "account_number", "stock"])
/** Scientific notation: spreadsheets save long codes this way and lose the last digits. */
const shortened = /^\s*\d[.,]\d+E\+\d+\s*$/i
const isShortened = (value: Json | undefined): value is string => typeof value === "string" && shortened.test(value)
const shortenedIn = (row: JsonObject, { aliases }: Columns): FieldErrors => {
  const errors: { [header: string]: ReadonlyArray<string> } = {}
  for (const header of Object.keys(row)) {
    const value = row[header]
    const found = Array.isArray(value) ? value.find(isShortened) : isShortened(value) ? value : undefined
    if (found === undefined) continue
    const [head = ""] = header.split(".")
    if (code_columns.has(namedIn(aliases, columnName(head)) ?? columnName(head)))
      errors[header] = [
        `${String(found).trim()} is a long number that a spreadsheet shortened: save that column as text.`
      ]
  }
  return errors
}

/** Reads rows by an import's columns. An empty cell counts as absent and changes nothing. */
export const readRows = (rows: ReadonlyArray<Json>, columns: Columns): ReadonlyArray<Row> => {
  const headings = new Map<string, Heading>()
  const headingOf = (header: string): Heading => {
    const known = headings.get(header) ?? readHeading(header, columns)
    headings.set(header, known)
    return known
  }
  return rows.map((row, index): Row => {
    const unreadable = problemOf(row, columns)
    if (!isJsonObject(row) || unreadable !== undefined) return { number: index + 1, cells: {}, unknown: [], unreadable }
    const cells: { [column: string]: Json } = {}
    const unknown: Array<string> = []
    for (const header of Object.keys(row)) {
      const value = row[header]
      if (value === undefined || isBlank(value)) continue
      const { column, part } = headingOf(header)
      if (column === undefined) unknown.push(header)
      else if (part === undefined) cells[column] = value
      else {
        const before = cells[column] ?? null
        cells[column] = { ...(isJsonObject(before) ? before : {}), [part]: value }
      }
    }
    return { number: index + 1, cells, unknown, unreadable }
  })
}
/** The column of a heading, undefined if there is none, and the part of a spread one: `Main Warehouse`. */
interface Heading {
  readonly column: string | undefined
  readonly part: string | undefined
}
const readHeading = (header: string, { aliases, known, spread }: Columns): Heading => {
  const dot = header.indexOf(".")
  const head = columnName(dot < 0 ? header : header.slice(0, dot))
  const column = namedIn(aliases, head) ?? head
  if (dot < 0) return { column: known.has(column) ? column : undefined, part: undefined }
  return { column: spread.has(column) ? column : undefined, part: header.slice(dot + 1).trim() }
}
const problemOf = (row: Json, columns: Columns): FieldErrors | undefined => {
  if (!isJsonObject(row)) return { row: ["The row must be an object of columns."] }
  const spoiled = shortenedIn(row, columns)
  if (Object.keys(spoiled).length > 0) return spoiled
  const wrong = findUnstorableText(row, json_levels_max)
  return wrong === undefined
    ? undefined
    : {
        [wrong.at.join(".") || "row"]: [
          `The ${wrong.at.length === 0 ? "row" : columnName(wrong.at[0] ?? "").replaceAll("_", " ")} ${wrong.says}`
        ]
      }
}

type Verdicts = typeof verdictsResult.Type
export type VerdictsDecided = Decided<Verdicts>
type RowVerdict = Verdicts["results"][number]
type Status = RowVerdict["status"]

/** Plan for a row: its errors and warnings, and how to apply it if it has no errors. */
export interface Plan {
  /** The sku, name or slug that identifies the row, for the verdict. */
  readonly key: string | null
  /** All names of the row's subject, which no two rows of a batch may share. `id <n>` covers rows created here, too. */
  readonly identities: ReadonlyArray<string>
  readonly id: number | null
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  readonly same_as_row?: number
  /** Allocates ids, returns the events, and makes the result known to later rows. */
  readonly carryOut: () => { readonly id: number; readonly events: ReadonlyArray<NewEvent> }
}

export const rejectedPlan = (key: string | null, errors: FieldErrors, id: number | null = null): Plan => ({
  key,
  identities: [],
  id,
  errors,
  warnings: [],
  carryOut: () => {
    throw new Error("a rejected row is not carried out")
  }
})

export interface ImportContext {
  readonly rows: ReadonlyArray<Row>
  readonly dry_run: boolean
}

/** A dry run allocates no ids: it uses negative numbers instead. */
export const importContext = (context: DecideContext, dry_run: boolean): DecideContext => {
  let last = 0
  return dry_run ? { ...context, id: () => --last } : context
}

/** Plans and carries out one row after the other: each builds on those before. */
export const decideRows = ({ rows, dry_run }: ImportContext, plan: (row: Row) => Plan): Decided<Verdicts> => {
  const keys = new Map<string, number>()
  const reported_columns = new Set<string>()
  const events: Array<NewEvent> = []
  const results = rows.map((row): RowVerdict => {
    const ignored = row.unknown.filter((column) => !reported_columns.has(column))
    for (const column of ignored) reported_columns.add(column)
    const planned = row.unreadable !== undefined ? rejectedPlan(null, row.unreadable) : withoutRepeat(plan(row), keys)
    const warnings = [
      ...ignored.map((column) => `There is no column ${column}; it is passed over.`),
      ...planned.warnings
    ]
    const verdict = (status: Status, id: number | null): RowVerdict => ({
      row: row.number,
      status,
      id,
      key: planned.key,
      ...(Object.keys(planned.errors).length === 0 ? {} : { errors: planned.errors }),
      ...(planned.same_as_row === undefined ? {} : { same_as_row: planned.same_as_row }),
      ...(ignored.length === 0 ? {} : { ignored }),
      ...(warnings.length === 0 ? {} : { warnings })
    })
    if (Object.keys(planned.errors).length > 0) return verdict("rejected", planned.id)
    const carried_out = planned.carryOut()
    events.push(...carried_out.events)
    for (const identity of [...planned.identities, `id ${carried_out.id}`]) keys.set(identity, row.number)
    if (planned.id !== null) return verdict(carried_out.events.length === 0 ? "unchanged" : "updated", planned.id)
    return verdict("created", dry_run ? null : carried_out.id)
  })
  return Result.succeed({ events: dry_run ? [] : events, result: { results, meta: { ...countOf(results), dry_run } } })
}

/** Rejects a row about the same as an accepted one: the two would change it back and forth at every import. */
const withoutRepeat = (plan: Plan, keys: ReadonlyMap<string, number>): Plan => {
  const earlier = plan.identities.map((identity) => keys.get(identity)).find((number) => number !== undefined)
  return earlier === undefined
    ? plan
    : { ...rejectedPlan(plan.key, { row: [`Row ${earlier} is already about ${plan.key}.`] }), same_as_row: earlier }
}

const countOf = (results: ReadonlyArray<RowVerdict>) => {
  const count = (status: Status): number => results.filter((one) => one.status === status).length
  return {
    created: count("created"),
    updated: count("updated"),
    unchanged: count("unchanged"),
    rejected: count("rejected")
  }
}

// Columns of a rate import, with their aliases.

export const methodColumns = [
  "calculation_strategy",
  "base_period",
  "enabled_modifiers",
  "strategy_config",
  "modifier_configs"
] as const

export const rateColumns: Columns = {
  known: new Set(["name", "description", "preset", "engine", ...methodColumns]),
  aliases: {
    slug: "preset",
    preset_slug: "preset",
    rate_engine: "engine",
    source_engine: "engine",
    strategy: "calculation_strategy",
    period: "base_period",
    modifiers: "enabled_modifiers"
  },
  spread: new Set(["strategy_config", "modifier_configs"])
}

/** A new row with its columns' defaults. Its stamps are null until it is recorded. */
export const draftRow = <T extends Table>(
  table: T,
  fields: Fields,
  set: Partial<RowOf<T>> & { readonly id: number }
): RowOf<T> => ({ ...initialRow(table, fields), ...set }) as RowOf<T>
