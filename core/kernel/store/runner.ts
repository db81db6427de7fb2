/** Runs the statements of a store, names the tables they write, and remembers rows within a transaction. */
import { Context, Effect, type Fiber, References } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { type Json, sameJson } from "../fields/field.ts"
import { type AnyRow, type Key, keyOf, type RowChange, type RowOf, type Table } from "../tables/table.ts"
import { type BoundSql, columnList, decodeValue, type Dialect, encodeValue, isDocument, quote } from "./statement.ts"

/**
 * "short": may share a connection with statements of other fibers. "ahead", of an outermost transaction, without
 * parameters: travels with the next one. "held": the same with parameters; its rows are added once they are there.
 * "last": COMMIT of the outermost transaction travels with it. "bound": returns no rows, and its values are as SQLite's
 * driver binds them.
 */
type StatementKind = "short" | "ahead" | "held" | "last" | "bound"
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
  /** On Postgres: rows of a read that is repeated, with their versions. */
  versions?: ReadonlyMap<Key, { readonly row: Row; readonly xmin: unknown }>
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
const kept_max = 5_000
/** From this many known rows on, a read asks for keys first. */
const keyed_from = 64
/** Forgets what a statement may change. */
const forgetChanged = (known: KnownRows, text: string): void => {
  const written = tablesWrittenBy(text)
  if (written === undefined) return known.clear()
  for (const name of written) for (const table of known.keys()) if (table.name === name) known.delete(table)
}

/** Forgets a row that is deleted, and which rows were found. */
const forget = (known: KnownRows, table: Table, key: Key): void => {
  const { found, rows } = knownTable(known, table)
  found.clear()
  rows.delete(key)
}

type Rows<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>
interface AnyCells {
  readonly [column: string]: unknown
}
/** A read of whole rows by condition and order. */
interface WholeRead<T extends Table> {
  readonly rows: Rows<RowOf<T>>
  /** The statement with other columns. */
  readonly sql: (columns: string) => BoundSql
  readonly decode: (rows: ReadonlyArray<AnyCells>) => ReadonlyArray<RowOf<T>>
  readonly run: ReturnType<typeof runnerOf>["run"]
  readonly readAll: ReturnType<typeof runnerOf>["readAll"]
}
const keysIn = <T extends Table>(table: T, { decode }: WholeRead<T>, rows: ReadonlyArray<AnyCells>) =>
  decode(rows).map((row) => keyOf(table, row))

/** Rows by key: from memory if all are known there, read otherwise, and remembered if they are `whole`. */
const manyOrRead = <T extends Table>(
  dialect: Dialect,
  table: T,
  keys: ReadonlyArray<Key>,
  read: () => Rows<RowOf<T>>,
  whole = true
): Rows<RowOf<T>> =>
  withKnownRows((known): ReturnType<typeof read> => {
    if (known === undefined || !keepsReads(table, dialect)) return read()
    const distinct = new Set(keys)
    const numbers = [...distinct].filter((key) => typeof key === "number").sort((one, other) => one - other)
    const rows = numbers.map((key) => knownRow(known, table, key)).filter((row) => row !== undefined)
    if (rows.length > 0 && rows.length === distinct.size) return Effect.succeed(rows)
    if (!whole) return read()
    return Effect.map(read(), (found) => {
      if (found.length <= kept_max) for (const row of found) knownTable(known, table).rows.set(keyOf(table, row), row)
      return found
    })
  })

/** Rows by condition and order: as found before, if none was written since, read otherwise. */
const foundOrRead = <T extends Table>(
  table: T,
  name: string,
  read: Rows<RowOf<T>>,
  whole: WholeRead<T> | undefined,
  some: (keys: ReadonlyArray<Key>) => Rows<RowOf<T>>
) =>
  withKnownRows((known): typeof read => {
    if (known === undefined) return read
    const there = known.has(table) ? knownTable(known, table) : undefined
    const before = there?.found.get(name)
    if (before !== undefined) return Effect.succeed(before)
    if (whole === undefined) return read
    const remembered = (rows: ReadonlyArray<RowOf<T>>): typeof rows => {
      if (rows.length > kept_max) return rows
      const kept = knownTable(known, table)
      kept.found.set(name, rows)
      for (const row of rows) kept.rows.set(keyOf(table, row), row)
      return rows
    }
    const all = Effect.map(read, remembered)
    if (there === undefined || there.rows.size < keyed_from) return all
    const { text, values } = whole.sql(quote(table.key))
    return Effect.flatMap(whole.run(text, values), (found) => {
      const keys = keysIn(table, whole, found)
      const missing = keys.filter((key) => !there.rows.has(key))
      if (missing.length * 4 > keys.length) return all
      return Effect.map(some(missing), (others) => {
        for (const row of others) there.rows.set(keyOf(table, row), row)
        return remembered(keys.map((key) => there.rows.get(key)).filter((row) => row !== undefined))
      })
    })
  })

/**
 * On Postgres, where others may commit meanwhile: rows read `again` by this command that are still the same version,
 * and those it wrote itself. Versions are read before the rows, so that none is taken for newer than it is.
 */
const newest = <T extends Table>(table: T, again: boolean, read: WholeRead<T>) =>
  withKnownRows((known): typeof read.rows => {
    if (known === undefined) return read.rows
    const there = knownTable(known, table)
    const before = there.versions
    if (!again && before === undefined) return read.rows
    // The transaction that wrote a row names its version.
    const versions = read.sql(`${quote(table.key)}, xmin::text`)
    if (again || before === undefined)
      return Effect.map(read.readAll([versions, read.sql(columnList(table))]), ([listed = [], found = []]) => {
        const rows = read.decode(found)
        const keys = keysIn(table, read, listed)
        const versionOf = new Map(keys.map((key, at) => [key, listed[at]?.["xmin"]]))
        there.versions = new Map(
          rows.map((row) => [keyOf(table, row), { row, xmin: versionOf.get(keyOf(table, row)) }])
        )
        return rows
      })
    return Effect.flatMap(read.run(versions.text, versions.values), (listed) => {
      const rows = keysIn(table, read, listed).map((key, at) => {
        const one = before.get(key)
        return there.rows.get(key) ?? (one?.xmin === listed[at]?.["xmin"] ? one?.row : undefined)
      })
      const known_rows = rows.filter((row) => row !== undefined)
      return known_rows.length < rows.length ? read.rows : Effect.succeed(known_rows)
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

/** A row as SQLite returns it once these values are stored. */
const rowAfter = (table: Table, row: object, set: AnyRow): AnyRow => {
  const stored: { [column: string]: Json } = { ...row }
  for (const [name, value] of Object.entries(set)) {
    const field = table.columns[name]
    if (field === undefined || value === null) stored[name] = null
    else if (isDocument(field)) stored[name] = JSON.parse(JSON.stringify(value))
    else if (field.type.kind !== "decimal") stored[name] = value
    else stored[name] = String(decodeValue(field, encodeValue(field, value, "sqlite"), "sqlite"))
  }
  return stored
}
/**
 * Writes one row and remembers the result, so that `get` need not read it. On SQLite, an update that sets `set` does
 * not return a row known before: SQLite makes a temporary table for it.
 */
const writerOfOne =
  (
    dialect: Dialect,
    run: ReturnType<typeof runnerOf>["run"],
    decode: (table: Table, row: { [column: string]: unknown }) => AnyRow
  ) =>
  (table: Table, key: Key, { text, values }: BoundSql, set?: AnyRow): Effect.Effect<void, SqlError.SqlError> =>
    withKnownRows((known) => {
      if (known === undefined) return Effect.asVoid(run(text, values))
      const before = dialect === "sqlite" ? knownRow(known, table, key) : undefined
      const after = before === undefined || set === undefined ? undefined : rowAfter(table, before, set)
      const returning = after === undefined ? ` returning ${columnList(table)}` : ""
      return Effect.map(run(`${text}${returning}`, values), ([row]) => {
        const { found, rows } = knownTable(known, table)
        found.clear()
        if (after !== undefined) rows.set(key, after)
        else if (row === undefined) rows.delete(key)
        else rows.set(key, decode(table, row))
      })
    })

/** Rows that a transaction remembers (`rememberingRows`). */
export const knownRows = {
  updateAhead,
  writerOfOne,
  service: KnownRows,
  with: withKnownRows,
  of: knownTable,
  row: knownRow,
  keepsReads,
  foundOrRead,
  manyOrRead,
  newest,
  forget,
  forgetChanged
}
