/**
 * What imports share: many rows in one request, a verdict for each. A rejected row changes nothing and does not stop
 * the others; the same rows imported again change nothing; a dry run gives the same verdicts and writes nothing.
 */
import { Effect, Result } from "effect"
import type { DecideContext, Decided } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { boolean, choice, integer, json, json_levels_max, list, text } from "../kernel/field.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import { findUnstorableText } from "../kernel/input.ts"
import type { FieldErrors } from "../kernel/rejection.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { ok } from "../kernel/resource.ts"
import { namedIn } from "./cells.ts"

export const rows_max = 500

/** The body of every import. */
export const importFields = {
  // A row that cannot be stored is refused by itself.
  rows: json<
    ReadonlyArray<Json>,
    { readonly form: "array"; readonly by_item: true; readonly required: true; readonly describe: string }
  >({ form: "array", by_item: true, required: true, describe: `At most ${rows_max} rows, each an object of columns` }),
  dry_run: boolean({ default: false, describe: "Answer the verdicts and write nothing" }),
  promised_skus: list(text(), {
    default: [],
    max_items: 20_000,
    describe: "Dry runs: skus that earlier requests of the same file would have made"
  }),
  promised_stores: list(text(), {
    default: [],
    max_items: 100,
    describe: "Dry runs: names of stores that would be made before"
  })
}

/** 422 `rows` for too many, before anything is read from the database. */
export const checkRows = ({ rows }: JsonObject): FieldErrors =>
  Array.isArray(rows) && rows.length > rows_max
    ? { rows: [`At most ${rows_max} rows fit one request; send the others in another.`] }
    : {}

export type Status = "created" | "updated" | "unchanged" | "rejected"
export interface Verdict {
  /** 1 for the first row. */
  readonly row: number
  readonly status: Status
  /** Id of what the row makes or changes; null where a dry run would make it, or none was found. */
  readonly id: number | null
  /** The sku, name or slug that identified the row. */
  readonly key: string | null
  readonly errors?: FieldErrors
  readonly warnings?: ReadonlyArray<string>
}

/** A row after reading: cells by the import's own column names, without empty ones. */
export interface Row {
  readonly number: number
  readonly cells: JsonObject
  readonly unknown: ReadonlyArray<string>
  /** Why the row cannot be read at all; it has no cells then. */
  readonly unreadable: FieldErrors | undefined
}

export interface Columns {
  readonly known: ReadonlySet<string>
  /** Other names of columns. */
  readonly aliases: { readonly [name: string]: string }
  /** Columns that may be spread: `stock.Main Warehouse`, `rate.price`. */
  readonly spread: ReadonlySet<string>
}

/** `Product Group` → `product_group`. */
export const columnName = (header: string): string =>
  header
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_")

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "")

/** Reads rows by the columns an import knows. An empty cell is one that was not given: it changes nothing. */
export const readRows = (rows: ReadonlyArray<Json>, columns: Columns): ReadonlyArray<Row> =>
  rows.map((row, index): Row => {
    const unreadable = problemOf(row)
    if (!isJsonObject(row) || unreadable !== undefined) return { number: index + 1, cells: {}, unknown: [], unreadable }
    const cells: { [column: string]: Json } = {}
    const unknown: Array<string> = []
    for (const [header, value] of Object.entries(row)) {
      if (isBlank(value)) continue
      const dot = header.indexOf(".")
      const head = columnName(dot < 0 ? header : header.slice(0, dot))
      const column = namedIn(columns.aliases, head) ?? head
      if (dot >= 0 && columns.spread.has(column)) {
        const before = cells[column]
        cells[column] = {
          ...(before !== undefined && isJsonObject(before) ? before : {}),
          [header.slice(dot + 1).trim()]: value
        }
      } else if (dot < 0 && columns.known.has(column)) cells[column] = value
      else unknown.push(header)
    }
    return { number: index + 1, cells, unknown, unreadable }
  })
const problemOf = (row: Json): FieldErrors | undefined => {
  if (!isJsonObject(row)) return { row: ["The row must be an object of columns."] }
  const wrong = findUnstorableText(row, json_levels_max)
  return wrong === undefined
    ? undefined
    : {
        [wrong.at.join(".") || "row"]: [
          `The ${wrong.at.length === 0 ? "row" : columnName(wrong.at[0] ?? "").replaceAll("_", " ")} ${wrong.says}`
        ]
      }
}

/** What a row would do: its errors and warnings, and how it is carried out when it has no errors. */
export interface Plan {
  /** The sku, name or slug that identifies the row, for the verdict. */
  readonly key: string | null
  /**
   * Every way to name what the row is about: no two rows of a batch may share one. `id <n>` covers rows made here, too.
   */
  readonly identities: ReadonlyArray<string>
  readonly id: number | null
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  /** Allocates ids and makes the result known to later rows. */
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

/** A dry run allocates no ids: negative numbers tell its rows apart. */
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
    const planned =
      row.unreadable !== undefined ? rejectedPlan(null, row.unreadable) : withoutRepeat(plan(row), row, keys)
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
      ...(warnings.length === 0 ? {} : { warnings })
    })
    if (Object.keys(planned.errors).length > 0) return verdict("rejected", planned.id)
    const carried_out = planned.carryOut()
    events.push(...carried_out.events)
    keys.set(`id ${carried_out.id}`, row.number)
    if (planned.id !== null) return verdict(carried_out.events.length === 0 ? "unchanged" : "updated", planned.id)
    return verdict("created", dry_run ? null : carried_out.id)
  })
  return Result.succeed({ events: dry_run ? [] : events, result: { results, meta: { ...countOf(results), dry_run } } })
}

/** Rejects a second row about the same thing: the two would change it back and forth at every import. */
const withoutRepeat = (plan: Plan, row: Row, keys: Map<string, number>): Plan => {
  const earlier = plan.identities.map((identity) => keys.get(identity)).find((number) => number !== undefined)
  for (const identity of plan.identities) keys.set(identity, earlier ?? row.number)
  return earlier === undefined
    ? plan
    : rejectedPlan(plan.key, { row: [`Row ${earlier} is already about ${plan.key}.`] })
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

/** The verdicts and how many there are of each status. */
export const verdictsShown = {
  results: Shown.objects({
    row: integer(),
    status: choice({ created: "Created", updated: "Updated", unchanged: "Unchanged", rejected: "Rejected" }),
    id: integer({ nullable: true }),
    key: text({ nullable: true }),
    errors: Shown.optional(Shown.map(list(text()))),
    warnings: Shown.optional(list(text()))
  }),
  meta: Shown.keys({
    created: integer(),
    updated: integer(),
    unchanged: integer(),
    rejected: integer(),
    dry_run: boolean()
  })
}
export const verdictsResult = Shown.keys(verdictsShown)
type Verdicts = typeof verdictsResult.Type
export type VerdictsDecided = Decided<Verdicts>
type RowVerdict = Verdicts["results"][number]
export const answerVerdicts = (result: Verdicts) => Effect.succeed(ok(result))
