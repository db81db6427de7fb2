/**
 * Carrying out row changes by few statements. New rows wait, to be inserted together; so do changes of rows by their keys
 * and deletions of all rows of some parent, to be made together. What a change does to a row that waits is done to it
 * where it waits. Changes that a constraint stands between are made at once, in their order.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { RowChange, Where } from "../change.ts"
import type { AnyRow, Table } from "../table.ts"
import type { Dialect } from "./dialect.ts"
import type { Insert } from "./insert.ts"
import { chunked } from "./statement.ts"
import { isConstrained, updatesOf } from "./update.ts"

type Sql = Effect.Effect<void, SqlError.SqlError>
export interface Hands {
  readonly dialect: Dialect
  readonly insertRows: (table: Table, rows: ReadonlyArray<AnyRow>) => Sql
  readonly send: (statement: Insert) => Sql
  /** One change by itself. */
  readonly change: (one: Exclude<RowChange, { op: "insert" }>) => Sql
}

/** Rows deleted by equal conditions but for one column, whose values add up. */
interface Doomed { readonly fixed: Where; readonly column: string; readonly values: Set<string | number> }
/** What waits for one table; carried out in this order. */
interface Waiting {
  doomed: Doomed | undefined
  rows: Map<unknown, AnyRow>
  sets: Map<unknown, AnyRow>
  found: FoundBy | undefined
}
/** Keys of waiting rows by what stands in a column. */
interface FoundBy { readonly column: string; readonly keys: Map<unknown, Array<unknown>> }
const doomed_max = 1_000

export const applier = ({ change, dialect, insertRows, send }: Hands): (changes: ReadonlyArray<RowChange>) => Sql => {
  const flushDoomed = (table: Table, waiting: Waiting): Sql => {
    const { doomed } = waiting
    waiting.doomed = undefined
    return doomed === undefined ? Effect.void
      : Effect.forEach(chunked([...doomed.values], doomed_max), (values) =>
        change({ op: "delete_where", table, where: { ...doomed.fixed, [doomed.column]: values.length === 1 ? values[0]! : values } }), { discard: true })
  }
  const flushSets = (table: Table, waiting: Waiting): Sql => {
    const { sets } = waiting
    waiting.sets = new Map()
    return sets.size === 0 ? Effect.void
      : Effect.forEach(updatesOf(table, [...sets].map(([key, set]) => ({ key, set })), dialect), send, { discard: true })
  }
  const flush = Effect.fnUntraced(function*(table: Table, waiting: Waiting) {
    yield* flushDoomed(table, waiting)
    const { rows } = waiting
    waiting.rows = new Map()
    waiting.found = undefined
    if (rows.size > 0) yield* insertRows(table, [...rows.values()])
    yield* flushSets(table, waiting)
  })

  /** What is to be done before all else; nothing, for what can wait. */
  const one = (next: RowChange, waiting: Waiting): Sql | undefined => {
    const { rows, sets } = waiting
    const { table } = next
    switch (next.op) {
      case "insert": {
        const key = next.row[table.key]
        // Changes of a row that was not there yet changed nothing.
        sets.delete(key)
        if (!rows.has(key)) {
          rows.set(key, next.row)
          if (waiting.found !== undefined) noted(waiting.found, heldIn(table, next.row, waiting.found.column), key)
          return undefined
        }
        // The second of one key is the database's to refuse.
        return table.first_wins ? undefined : inTurn(flushDoomed(table, waiting), insertRows(table, [next.row]))
      }
      case "update_where":
        return inTurn(flush(table, waiting), change(next))
      case "delete_where": {
        const plain = sets.size === 0 ? doomedBy(table, next.where) : undefined
        if (plain === undefined) return inTurn(flush(table, waiting), change(next))
        for (const key of keysWith(table, waiting, plain)) {
          const row = rows.get(key)
          if (row !== undefined && isMet(table, next.where, row)) rows.delete(key)
        }
        const before = waiting.doomed !== undefined && !isAlike(waiting.doomed, plain) ? flushDoomed(table, waiting) : undefined
        if (waiting.doomed === undefined) waiting.doomed = plain
        else for (const value of plain.values) waiting.doomed.values.add(value)
        return before
      }
      case "delete":
        if (rows.delete(next.key)) return undefined
        sets.delete(next.key)
        return change(next)
      case "update": {
        const row = rows.get(next.key)
        if (row !== undefined) {
          if (waiting.found !== undefined && Object.hasOwn(next.set, waiting.found.column)) waiting.found = undefined
          rows.set(next.key, changed(table, row, next.set))
        } else if (Object.keys(next.set).length > 0) {
          if (table.first_wins || isConstrained(table, next.set)) return inTurn(flushDoomed(table, waiting), flushSets(table, waiting), change(next))
          sets.set(next.key, { ...sets.get(next.key), ...next.set })
        }
        return undefined
      }
    }
  }
  return Effect.fnUntraced(function*(changes: ReadonlyArray<RowChange>) {
    const tables = new Map<Table, Waiting>()
    for (const next of changes) {
      let waiting = tables.get(next.table)
      if (waiting === undefined) tables.set(next.table, waiting = { doomed: undefined, rows: new Map(), sets: new Map(), found: undefined })
      const now = one(next, waiting)
      if (now !== undefined) yield* now
    }
    for (const [table, waiting] of tables) yield* flush(table, waiting)
  })
}
const inTurn = (...steps: ReadonlyArray<Sql>): Sql => Effect.forEach(steps, (step) => step, { discard: true })

/** Keys of waiting rows with the value, and perhaps of rows that had it or are gone: looked up, not searched for. */
const keysWith = (table: Table, waiting: Waiting, { column, values }: Doomed): ReadonlyArray<unknown> => {
  if (waiting.rows.size === 0) return []
  if (waiting.found?.column !== column) {
    const found: FoundBy = waiting.found = { column, keys: new Map() }
    for (const [key, row] of waiting.rows) noted(found, heldIn(table, row, column), key)
  }
  const { keys } = waiting.found
  return [...values].flatMap((value) => keys.get(value) ?? [])
}
const noted = ({ keys }: FoundBy, value: unknown, key: unknown): void => {
  const others = keys.get(value)
  if (others === undefined) keys.set(value, [key])
  else others.push(key)
}

/** A row that waits to be inserted, with a change done to it. */
const changed = (table: Table, row: AnyRow, set: AnyRow): AnyRow => {
  const next: { [column: string]: unknown } = { ...row }
  for (const name of Object.keys(set)) {
    if (table.columns[name] === undefined) throw new Error(`table ${table.name} has no column ${name}`)
    next[name] = set[name] ?? null
  }
  return next
}

/** Kinds whose values are equal where they are the same in memory. */
const plain_kinds: ReadonlySet<string> = new Set(["integer", "ref", "code", "choice", "boolean"])
/** Conditions that rows in memory can be held against: plain values of plain columns; one is a number or a text. */
const doomedBy = (table: Table, where: Where): Doomed | undefined => {
  const names = Object.keys(where).sort()
  // Rows of one kind and many parents: it is the parents that add up.
  const column = names.findLast((name) => typeof where[name] === "number") ?? names.at(-1)
  const value = column === undefined ? undefined : where[column]
  const isPlain = names.every((name) => {
    const shape = table.columns[name]?.shape
    return shape !== undefined && (plain_kinds.has(shape.kind) || (shape.kind === "text" && !shape.search)) && ["string", "number", "boolean"].includes(typeof where[name])
  })
  if (!isPlain || column === undefined || (typeof value !== "number" && typeof value !== "string")) return undefined
  const { [column]: _last, ...fixed } = where
  return { fixed, column, values: new Set([value]) }
}
const isAlike = (one: Doomed, other: Doomed): boolean => {
  const names = Object.keys(other.fixed)
  return one.column === other.column && names.length === Object.keys(one.fixed).length && names.every((name) => one.fixed[name] === other.fixed[name])
}
const isMet = (table: Table, where: Where, row: AnyRow): boolean => Object.entries(where).every(([name, wanted]) => heldIn(table, row, name) === wanted)
/** What the row holds once it is stored. */
const heldIn = (table: Table, row: AnyRow, name: string): unknown => {
  const field = table.columns[name]!
  const given = row[name]
  return given === undefined || (given === null && !field.nullable) ? field.default ?? null : given
}
