/** Runs the statements of a store, names the tables they write, and remembers rows within a transaction. */
import { Context, Effect, type Fiber, References } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { type Key, keyOf, type RowOf, type Table } from "../tables/table.ts"
import type { BoundSql, Dialect } from "./statement.ts"

/**
 * "short": may share a connection with statements of other fibers. "ahead", of an outermost transaction, without
 * parameters: travels with the next one. "last": COMMIT of the outermost transaction travels with it.
 */
type StatementKind = "short" | "ahead" | "last"
/** A client that runs statements without spans and templates, in a fraction of the time. */
interface DirectClient {
  /** Rows of a statement, run in the fiber's transaction if there is one; undefined if it has to wait for others. */
  readonly direct: (
    text: string,
    values: ReadonlyArray<unknown>,
    fiber: Fiber.Fiber<unknown, unknown>,
    kind?: StatementKind
  ) => ReturnType<SqlConnection.Connection["execute"]> | undefined
  /** The same for several statements, in one round trip. */
  readonly together: (statements: ReadonlyArray<BoundSql>, fiber: Fiber.Fiber<unknown, unknown>) => AllRows | undefined
}
/** The rows of each of several statements. */
type AllRows = Effect.Effect<
  ReadonlyArray<Effect.Success<ReturnType<SqlConnection.Connection["execute"]>>>,
  SqlError.SqlError
>
/**
 * Runs any statement, or several that only read: directly where the client can and no spans are made. Calls `before`
 * with the tables that each may write.
 */
export const runnerOf = (
  sql: SqlClient.SqlClient & Partial<DirectClient>,
  before: (written: ReturnType<typeof tablesWrittenBy>) => void
) => ({
  run: <Row extends object = { [column: string]: unknown }>(
    text: string,
    values: ReadonlyArray<unknown> = [],
    kind?: StatementKind
  ): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> =>
    Effect.withFiber((fiber) => {
      before(tablesWrittenBy(text))
      return (
        (fiber.getRef(References.TracerEnabled) ? undefined : sql.direct?.(text, values, fiber, kind)) ??
        sql.unsafe<Row>(text, values)
      )
    }),
  readAll: (statements: ReadonlyArray<BoundSql>): AllRows =>
    Effect.withFiber(
      (fiber) =>
        (fiber.getRef(References.TracerEnabled) || statements.length === 0
          ? undefined
          : sql.together?.(statements, fiber)) ??
        Effect.forEach(statements, ({ text, values }) => sql.unsafe(text, values))
    )
})

const written_table = /^\s*(?:insert(?: or \w+)? into|update(?: or \w+)?|delete from)\s+"?(\w+)/i
const written_tables = new RegExp(written_table.source.slice("^\\s*".length), "gi")
/** Names of the tables that a statement writes; undefined if it may write any. */
const tablesWrittenBy = (text: string): ReadonlyArray<string> | undefined => {
  if (/^\s*select\b/i.test(text)) return []
  const [, name] = written_table.exec(text) ?? []
  if (name !== undefined) return [name]
  return /^\s*with\b/i.test(text) ? [...text.matchAll(written_tables)].flatMap(([, one]) => one ?? []) : undefined
}

/** Rows that the current transaction last read or wrote, by table. */
type KnownRows = Map<Table, KnownTable<object>>
interface KnownTable<Row> {
  readonly rows: Map<Key, Row>
  /** Rows by condition and order, until one is written. */
  readonly found: Map<string, ReadonlyArray<Row>>
}
const KnownRows = Context.Reference<KnownRows | undefined>("flightcase/core/KnownRows", {
  defaultValue: () => undefined
})
const withKnownRows = <A, E, R>(use: (rows: KnownRows | undefined) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => use(fiber.getRef(KnownRows)))
const knownTable = <T extends Table>(known: KnownRows, table: T): KnownTable<RowOf<T>> => {
  const there: KnownTable<object> = known.get(table) ?? { rows: new Map(), found: new Map() }
  known.set(table, there)
  return there as KnownTable<RowOf<T>>
}
const knownRow = <T extends Table>(known: KnownRows | undefined, table: T, key: Key): RowOf<T> | undefined =>
  known === undefined ? undefined : knownTable(known, table).rows.get(key)
/** Whether rows that were read may be kept. Rows outside the journal are written by `sql` templates, too. */
const keepsReads = (table: Table, dialect: Dialect): boolean => dialect === "sqlite" && "deleted_at" in table.columns
/** Rows of one read to keep at most. */
const kept_max = 5_000
/** From this many known rows on, a read asks for keys first. */
const keyed_from = 64
/** Forgets what a statement may change. */
const forgetChanged = (known: KnownRows, text: string): void => {
  const written = tablesWrittenBy(text)
  if (written === undefined) return known.clear()
  for (const name of written) for (const table of known.keys()) if (table.name === name) known.delete(table)
}

type Rows<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>
const remembered = <T extends Table>(
  table: T,
  name: string,
  { found, rows: by_key }: KnownTable<RowOf<T>>,
  rows: ReadonlyArray<RowOf<T>>
): ReadonlyArray<RowOf<T>> => {
  if (rows.length > kept_max) return rows
  found.set(name, rows)
  for (const row of rows) by_key.set(keyOf(table, row), row)
  return rows
}
/**
 * Rows by condition and order: as found before, if none was written since. Whole rows have `keyed`, with their keys and
 * rows of some keys: they are remembered, and where most are known by key, only the keys are read.
 */
const foundOrRead = <T extends Table>(
  table: T,
  name: string,
  read: Rows<RowOf<T>>,
  keyed?: { readonly keys: Rows<Key>; readonly some: (keys: ReadonlyArray<Key>) => Rows<RowOf<T>> }
) =>
  withKnownRows((known): typeof read => {
    if (known === undefined) return read
    const there = knownTable(known, table)
    const before = there.found.get(name)
    if (before !== undefined) return Effect.succeed(before)
    if (keyed === undefined) return read
    const all = Effect.map(read, (rows) => remembered(table, name, there, rows))
    if (there.rows.size < keyed_from) return all
    return Effect.flatMap(keyed.keys, (keys) => {
      const missing = keys.filter((key) => !there.rows.has(key))
      if (missing.length * 4 > keys.length) return all
      return Effect.map(keyed.some(missing), (others) => {
        for (const row of others) there.rows.set(keyOf(table, row), row)
        const rows = keys.map((key) => there.rows.get(key)).filter((row) => row !== undefined)
        return remembered(table, name, there, rows)
      })
    })
  })

/** Rows that a transaction remembers (`rememberingRows`). */
export const knownRows = {
  service: KnownRows,
  with: withKnownRows,
  of: knownTable,
  row: knownRow,
  keepsReads,
  kept_max,
  foundOrRead,
  forgetChanged
}
