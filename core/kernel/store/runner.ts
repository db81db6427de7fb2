/** Runs the statements of a store, names the tables they write, and remembers rows within a transaction. */
import { Context, Effect, type Fiber, References } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { sameJson } from "../fields/field.ts"
import type { AnyRow, Key, RowChange, RowOf, Table } from "../tables/table.ts"
import { type BoundSql, columnList, type Dialect } from "./statement.ts"

/**
 * "short": may share a connection with statements of other fibers. "ahead", of an outermost transaction, without
 * parameters: travels with the next one. "held": the same with parameters; its rows are added once they are there.
 * "last": COMMIT of the outermost transaction travels with it.
 */
type StatementKind = "short" | "ahead" | "held" | "last"
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
  if (!/^\s*with\b/i.test(text)) return undefined
  const known = written_within.get(text)
  if (known !== undefined) return known
  const found = [...text.matchAll(written_tables)].flatMap(([, one]) => one ?? [])
  if (written_within.size >= texts_kept) written_within.clear()
  if (text.length <= kept_length_max) written_within.set(text, found)
  return found
}
/** Tables that statements with subqueries write, by text: such texts are long, and few. */
const written_within = new Map<string, ReadonlyArray<string>>()
const texts_kept = 200
const kept_length_max = 4_000

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
  known?.has(table) === true ? knownTable(known, table).rows.get(key) : undefined
/** Whether rows that were read may be kept. Rows outside the journal are written by `sql` templates, too. */
const keepsReads = (table: Table, dialect: Dialect): boolean => dialect === "sqlite" && "deleted_at" in table.columns
/** Rows of one read to keep at most. */
const kept_max = 1_000
/** Forgets what a statement may change. */
const forgetChanged = (known: KnownRows, text: string): void => {
  const written = tablesWrittenBy(text)
  if (written === undefined) return known.clear()
  for (const name of written) for (const table of known.keys()) if (table.name === name) known.delete(table)
}

/** Rows by condition and order: as found before, if none was written since, read otherwise. */
const foundOrRead = <T extends Table>(
  table: T,
  name: string,
  are_whole: boolean,
  read: Effect.Effect<ReadonlyArray<RowOf<T>>, SqlError.SqlError>
) =>
  withKnownRows((known): typeof read => {
    if (known === undefined) return read
    const before = known.has(table) ? knownTable(known, table).found.get(name) : undefined
    if (before !== undefined) return Effect.succeed(before)
    return Effect.map(read, (rows) => {
      if (are_whole && rows.length <= kept_max) knownTable(known, table).found.set(name, rows)
      return rows
    })
  })

/** Remembers a row as an update should make it; returns whether it did, known once the statement has ended. */
const updateAhead = (
  run: ReturnType<typeof runnerOf>["run"],
  { key, set, table }: Extract<RowChange, { op: "update" }>,
  before: AnyRow,
  { text, values }: BoundSql,
  decode: (table: Table, row: { [column: string]: unknown }) => AnyRow
) =>
  withKnownRows((known): Effect.Effect<() => boolean, SqlError.SqlError> => {
    if (known === undefined) return Effect.as(run(text, values), () => true)
    return Effect.map(run(`${text} returning ${columnList(table)}`, values, "held"), (stored) => {
      const { found, rows } = knownTable(known, table)
      const expected: AnyRow = { ...before, ...set }
      found.clear()
      rows.set(key, expected)
      return () => {
        const [row] = stored.map((one) => decode(table, one))
        if (row === undefined) rows.delete(key)
        else rows.set(key, row)
        return (
          row !== undefined && Object.keys(row).every((name) => sameJson(expected[name] ?? null, row[name] ?? null))
        )
      }
    })
  })

/** Rows that a transaction remembers (`rememberingRows`). */
export const knownRows = {
  updateAhead,
  service: KnownRows,
  with: withKnownRows,
  of: knownTable,
  row: knownRow,
  keepsReads,
  kept_max,
  foundOrRead,
  forgetChanged
}
