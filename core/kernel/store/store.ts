/** Database access over Effect's SqlClient: typed reads, and the one place that applies row changes. */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import type { Rejection } from "../fields/rejection.ts"
import { type AnyRow, type Key, keyOf, type RowChange, type RowOf, type Table, type Where } from "../tables/table.ts"
import { makeBatchWriter, updateOne } from "./batch-writer.ts"
import { bindings, chunked, columnList, columnsNamed, encodeRow, makeInserter, orderSql, quote } from "./statement.ts"
import { knownRows, runnerOf } from "./runner.ts"
import { type BoundSql, type Dialect, rowDecoder, whereSql } from "./statement.ts"

interface FindOptions {
  readonly order?: ReadonlyArray<string>
  readonly limit?: number
  /**
   * Prevents others from deleting the rows until the transaction ends, like a foreign key (Postgres; SQLite has a
   * single writer).
   */
  readonly lock?: boolean
  /** The command will read the rows once more, for its answer. */
  readonly again?: boolean
  /** May return rows read less than a second ago, also within transactions: only for definitions and answers. */
  readonly cached?: boolean
}
type Kept = Pick<FindOptions, "cached">
export type Sql<A> = Effect.Effect<A, SqlError.SqlError>

type Values = ReadonlyArray<unknown>
export interface StoreShape {
  readonly sql: SqlClient.SqlClient
  readonly dialect: Dialect
  /** Whether its database keeps counts of the tables that are `counted_by` columns, as servers' do. */
  readonly keeps_counts: boolean
  /** Runs any statement, with placeholders of the dialect and bound values. */
  readonly run: <Row extends object = { [column: string]: unknown }>(
    text: string,
    values?: Values
  ) => Sql<ReadonlyArray<Row>>
  /** Runs a transaction's last statement, after which nothing may fail; on Postgres, COMMIT travels with it. */
  readonly runLast: StoreShape["run"]
  /** Runs a statement without parameters; on Postgres, it travels with the transaction's next one. */
  readonly runAhead: (text: string) => Sql<unknown>
  /** Rows of each of these statements, which only read; Postgres answers them in one round trip. */
  readonly readAll: ReturnType<typeof runnerOf>["readAll"]
  readonly get: <T extends Table>(table: T, key: Key) => Sql<RowOf<T> | undefined>
  readonly getMany: <T extends Table>(table: T, keys: ReadonlyArray<Key>, how?: Kept) => Sql<ReadonlyArray<RowOf<T>>>
  /** As {@link getMany}; on Postgres none of the rows can be deleted by others until the caller's transaction ends. */
  readonly getManyLocked: <T extends Table>(table: T, keys: ReadonlyArray<Key>) => Sql<ReadonlyArray<RowOf<T>>>
  readonly find: <T extends Table>(table: T, where: Where, options?: FindOptions) => Sql<ReadonlyArray<RowOf<T>>>
  readonly first: <T extends Table>(table: T, where: Where, options?: FindOptions) => Sql<RowOf<T> | undefined>
  /** Like `find`, with only these columns: much faster for many rows of a wide table. */
  readonly pick: <T extends Table, C extends keyof RowOf<T> & string>(
    table: T,
    columns: ReadonlyArray<C>,
    where: Where,
    options?: FindOptions
  ) => Sql<ReadonlyArray<Pick<RowOf<T>, C>>>
  /** Like `getMany`, with only these columns. */
  readonly pickMany: <T extends Table, C extends keyof RowOf<T> & string>(
    table: T,
    columns: ReadonlyArray<C>,
    keys: ReadonlyArray<Key>
  ) => Sql<ReadonlyArray<Pick<RowOf<T>, C>>>
  readonly exists: (table: Table, where: Where) => Sql<boolean>
  /** Decodes a row selected by hand with {@link columnList}. */
  readonly decode: <T extends Table>(table: T, row: { [column: string]: unknown }) => RowOf<T>
  /** Applies row changes in order; runs of inserts into one table share statements. */
  readonly apply: (changes: ReadonlyArray<RowChange>) => Sql<void>
  /** Inserts rows given as values of these columns; those that the table does not have are ignored. */
  readonly insertValues: (table: Table, columns: ReadonlyArray<string>, rows: ReadonlyArray<Values>) => Sql<void>
  /**
   * Changes a row that was read before. On Postgres, the statement travels with the transaction's next one, and reads
   * by key find the row as it should become. Returns whether it became that, known once a later statement has ended.
   */
  readonly updateAhead: (change: Extract<RowChange, { op: "update" }>, before: AnyRow) => Sql<() => boolean>
  /** Rows that a change is about to modify: replicas keep them to revert it. */
  readonly imagesBefore: (
    change: RowChange
  ) => Sql<ReadonlyArray<{ readonly key: Key; readonly row: AnyRow | undefined }>>
  /** Number of statements run that write, and of the last one that may have changed a table; others' do not count. */
  readonly writes: { readonly count: () => number; readonly last: (table: Table) => number }
  /** Connection of the current transaction; undefined outside one. */
  readonly openTransaction: Effect.Effect<object | undefined>
  /** {@link openTransaction} of the fiber that runs. */
  readonly transactionOf: (fiber: { readonly context: Context.Context<never> }) => object | undefined
  readonly transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  /** Runs `work` in a transaction and rolls it back, except for results that `commits` accepts. */
  readonly rolledBack: <A, E, R>(
    work: Effect.Effect<A, E, R>,
    commits?: (result: A) => boolean
  ) => Effect.Effect<A, E | SqlError.SqlError, R>
}

/**
 * Within it, `get`, `getMany` and `imagesBefore` return rows written individually without reading them. On SQLite, which
 * has one writer, all reads return rows of entities read before. For work in one transaction: writes by `sql` templates
 * are not noticed, which no entity has.
 */
export const rememberingRows = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, never>> =>
  knownRows.with((known) => Effect.provideService(work, knownRows.service, known ?? new Map()))
/** For writes of rows that the rest of the transaction does not read by key. */
export const unremembered = Effect.provideService(knownRows.service, undefined)

export class Store extends Context.Service<Store, StoreShape>()("flightcase/core/Store") {
  static readonly layer: Layer.Layer<Store, never, SqlClient.SqlClient> = Layer.effect(
    Store,
    Effect.map(SqlClient.SqlClient, (sql) => make(sql))
  )

  // Shortcuts to the store of the running effect.

  static readonly run = <Row extends object = { [column: string]: unknown }>(text: string, values?: Values) =>
    Store.use((store) => store.run<Row>(text, values))
  static readonly get = <T extends Table>(table: T, key: Key) => Store.use((store) => store.get(table, key))
  static readonly getMany = <T extends Table>(table: T, keys: ReadonlyArray<Key>, how?: Kept) =>
    Store.use((store) => store.getMany(table, keys, how))
  /** Rows by their numeric ids. No query without ids. */
  static readonly byId = <T extends Table>(
    table: T,
    ids: ReadonlyArray<number | null>
  ): Effect.Effect<ReadonlyMap<number, RowOf<T>>, SqlError.SqlError, Store> =>
    Effect.map(
      Store.getMany(
        table,
        ids.filter((id) => id !== null)
      ),
      (rows) => new Map(rows.map((row) => [Number(Reflect.get(row, table.key)), row]))
    )
  static readonly getManyLocked = <T extends Table>(table: T, keys: ReadonlyArray<Key>) =>
    Store.use((store) => store.getManyLocked(table, keys))
  static readonly find = <T extends Table>(table: T, where: Where, options?: FindOptions) =>
    Store.use((store) => store.find(table, where, options))
  static readonly first = <T extends Table>(table: T, where: Where, options?: FindOptions) =>
    Store.use((store) => store.first(table, where, options))
  static readonly pick = <T extends Table, C extends keyof RowOf<T> & string>(
    table: T,
    columns: ReadonlyArray<C>,
    where: Where,
    options?: FindOptions
  ) => Store.use((store) => store.pick(table, columns, where, options))
  static readonly pickMany = <T extends Table, C extends keyof RowOf<T> & string>(
    table: T,
    columns: ReadonlyArray<C>,
    keys: ReadonlyArray<Key>
  ) => Store.use((store) => store.pickMany(table, columns, keys))
  /** Rows by the part of the statement after the table's name: conditions, order, limit. */
  static readonly select = <T extends Table>(table: T, rest: (sql: SqlClient.SqlClient) => Statement.Fragment) =>
    Store.use(({ decode, sql }) =>
      Effect.map(sql`select ${sql.literal(columnList(table))} from ${sql(table.name)} ${rest(sql)}`, (rows) =>
        rows.map((row) => decode(table, row))
      )
    )
  static override readonly apply = (changes: ReadonlyArray<RowChange>) => Store.use((store) => store.apply(changes))
  static readonly transaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Store.use((store) => store.transaction(effect))
  static readonly exists = (table: Table, where: Where) => Store.use((store) => store.exists(table, where))
}

type Run = ReturnType<typeof runnerOf>["run"]
const perTable = <A>(make: (table: Table) => A): ((table: Table) => A) => {
  const known = new WeakMap<Table, A>()
  return (table) => {
    const before = known.get(table)
    if (before !== undefined) return before
    const made = make(table)
    known.set(table, made)
    return made
  }
}
/** Bound values as text. Decimals are bound as bigints, which JSON does not have. */
const nameOf = (values: ReadonlyArray<unknown>): string =>
  JSON.stringify(values.map((value) => (typeof value === "bigint" ? `${value}n` : value)))
/** Reads one row, rows by key, and rows by condition. */
const makeReads = (dialect: Dialect, { readAll, run }: Pick<ReturnType<typeof runnerOf>, "readAll" | "run">) => {
  const decoderOf = perTable((table) => rowDecoder(table, dialect))
  const decode = <T extends Table>(table: T, row: { [column: string]: unknown }): RowOf<T> =>
    decoderOf(table)(row) as RowOf<T>
  const select = <T extends Table>(
    table: T,
    columns: string,
    where: Where,
    options: FindOptions = {},
    reuses = false
  ): Sql<ReadonlyArray<RowOf<T>>> => {
    if (Object.values(where).some((wanted) => Array.isArray(wanted) && wanted.length === 0)) return Effect.succeed([])
    const bound = bindings(dialect)
    const filter = whereSql(table, where, dialect, bound)
    const order = orderSql(table, options.order ?? [])
    const limit = options.limit === undefined ? "" : ` limit ${options.limit}`
    const lock = options.lock === true && dialect === "pg" ? " for key share" : ""
    const rest = `from ${quote(table.name)} where ${filter} order by ${order}${limit}${lock}`
    const sql = (listed: string): BoundSql => ({ text: `select ${listed} ${rest}`, values: bound.values })
    const decodeAll = (found: ReadonlyArray<{ [column: string]: unknown }>) => found.map((row) => decode(table, row))
    const rows = Effect.map(run(sql(columns).text, bound.values), decodeAll)
    if (!reuses || lock !== "") return rows
    const read = { rows, sql, decode: decodeAll, readAll, run }
    const whole = columns === columnList(table) ? read : undefined
    if (dialect === "pg") return whole ? knownRows.newest(table, options.again === true, whole) : rows
    if (!knownRows.keepsReads(table, dialect)) return rows
    const name = `${rest} ${nameOf(bound.values)}`
    return knownRows.foundOrRead(table, name, rows, whole, (keys) => selectMany(table, columns, keys))
  }
  const find: StoreShape["find"] = (table, where, options) => select(table, columnList(table), where, options, true)
  // Cached text, so that drivers find the prepared statement.
  const selectByKey = perTable(
    (table) =>
      `select ${columnList(table)} from ${quote(table.name)} where ${quote(table.key)} = ${dialect === "pg" ? "$1" : "?"}`
  )
  const get = <T extends Table>(table: T, key: Key): Sql<RowOf<T> | undefined> =>
    knownRows.with((known) => {
      const row = knownRows.row(known, table, key)
      if (row !== undefined) return Effect.succeed(row)
      return Effect.map(run(selectByKey(table), [key], "short"), ([read]) => {
        if (read === undefined) return undefined
        const decoded = decode(table, read)
        if (known !== undefined && knownRows.keepsReads(table, dialect))
          knownRows.of(known, table).rows.set(key, decoded)
        return decoded
      })
    })
  const selectMany = <T extends Table>(
    table: T,
    columns: string,
    keys: ReadonlyArray<Key>,
    options: FindOptions = {}
  ): Sql<ReadonlyArray<RowOf<T>>> => {
    const distinct = [...new Set(keys)]
    return distinct.length === 0
      ? Effect.succeed([])
      : distinct.length <= 5_000
        ? select(table, columns, { [table.key]: distinct }, options)
        : Effect.map(
            Effect.forEach(chunked(distinct, 5_000), (some) => select(table, columns, { [table.key]: some }, options)),
            (parts) => parts.flat()
          )
  }
  return { decode, select, find, get, selectMany }
}

/** Applies row changes; rows written one at a time are kept for `get` (`rememberingRows`). */
const makeWrites = (dialect: Dialect, run: Run, decode: StoreShape["decode"]) => {
  const inserterOf = perTable((table) => makeInserter(table, dialect))
  const sendOne = knownRows.writerOfOne(dialect, run, decode)
  const sendMany = (table: Table, { text, values }: BoundSql, kind?: Parameters<Run>[2]): Sql<void> =>
    knownRows.with((known) => {
      known?.delete(table)
      return Effect.asVoid(run(text, values, kind))
    })
  const insertMany = (table: Table, statements: ReadonlyArray<BoundSql>): Sql<void> =>
    Effect.forEach(statements, (one) => sendMany(table, one, dialect === "sqlite" ? "bound" : undefined), {
      discard: true
    })
  const insertRows = (table: Table, rows: ReadonlyArray<AnyRow>): Sql<void> => {
    const [row] = rows
    const statements = inserterOf(table)(rows, (one, column) => one[column])
    return row !== undefined && rows.length === 1
      ? Effect.forEach(statements, (one) => sendOne(table, keyOf(table, row), one), { discard: true })
      : insertMany(table, statements)
  }
  const insertValues: StoreShape["insertValues"] = (table, columns, rows) => {
    const places = Object.keys(table.columns).map((name) => columns.indexOf(name))
    const statements = inserterOf(table)(rows, (row, _, nth) => row[places[nth] ?? -1])
    return insertMany(table, statements)
  }
  const change = (one: Exclude<RowChange, { op: "insert" }>): Sql<void> => {
    if (one.op === "update") return sendOne(one.table, one.key, updateOne(one.table, one, dialect), one.set)
    const bound = bindings(dialect)
    const set =
      one.op !== "update_where"
        ? ""
        : Object.entries(encodeRow(one.table, one.set, dialect))
            .map(([name, value]) => `${quote(name)} = ${bound.bind(value)}`)
            .join(", ")
    if (set === "" && one.op === "update_where") return Effect.void
    const where =
      one.op === "delete"
        ? `${quote(one.table.key)} = ${bound.bind(one.key)}`
        : whereSql(one.table, one.where, dialect, bound)
    const verb = set === "" ? `delete from ${quote(one.table.name)}` : `update ${quote(one.table.name)} set ${set}`
    const text = `${verb} where ${where}`
    if (one.op !== "delete") return sendMany(one.table, { text, values: bound.values })
    return knownRows.with((known) => {
      if (known?.has(one.table) === true) knownRows.forget(known, one.table, one.key)
      return Effect.asVoid(run(text, bound.values))
    })
  }
  return { apply: makeBatchWriter({ dialect, insertRows, sendMany, change }), insertValues }
}

export const make = (sql: Parameters<typeof runnerOf>[0], keeps_counts = false): StoreShape => {
  const dialect: Dialect = sql.onDialectOrElse({ pg: () => "pg" as const, orElse: () => "sqlite" as const })
  let writes = 0
  const last_writes = new Map<string | undefined, number>()
  const runner = runnerOf(sql, (written) => {
    for (const name of written ?? [undefined]) last_writes.set(name, ++writes)
  })
  const { readAll, run } = runner
  const { decode, find, get, select, selectMany } = makeReads(dialect, runner)
  const writer = makeWrites(dialect, run, decode)
  // A savepoint begins with the rows known before it; what it reads and writes is kept only if it is not rolled back.
  const transaction: StoreShape["transaction"] = (effect) =>
    knownRows.with((known) => {
      if (known === undefined) return sql.withTransaction(effect)
      const within: NonNullable<typeof known> = new Map(
        [...known].map(([table, { found, rows }]) => [table, { rows: new Map(rows), found: new Map(found) }])
      )
      known.clear()
      return Effect.tap(sql.withTransaction(Effect.provideService(effect, knownRows.service, within)), () =>
        Effect.sync(() => within.forEach((rows, table) => known.set(table, rows)))
      )
    })
  const transactionOf: StoreShape["transactionOf"] = ({ context }) =>
    Context.getOrUndefined(context, sql.transactionService)?.[0]
  return {
    sql,
    dialect,
    keeps_counts,
    // A custom statement may write any row.
    run: (text, values) =>
      knownRows.with((known) => {
        if (known !== undefined) knownRows.forgetChanged(known, text)
        return run(text, values)
      }),
    runLast: (text, values) => run(text, values, "last"),
    runAhead: (text) => run(text, [], "ahead"),
    readAll,
    get,
    find,
    pick: (table, columns, where, options) => select(table, columnsNamed(columns), where, options, true),
    getMany: (table, keys) =>
      knownRows.manyOrRead(dialect, table, keys, () => selectMany(table, columnList(table), keys)),
    pickMany: (table, columns, keys) =>
      knownRows.manyOrRead(dialect, table, keys, () => selectMany(table, columnsNamed(columns), keys), false),
    getManyLocked: (table, keys) => selectMany(table, columnList(table), keys, { lock: true }),
    decode,
    ...writer,
    updateAhead: (change, before) =>
      knownRows.updateAhead(run, change, before, updateOne(change.table, change, dialect), decode),
    imagesBefore: imagesBeforeBy({ find, get }),
    writes: {
      count: () => writes,
      last: ({ name }) => Math.max(last_writes.get(name) ?? 0, last_writes.get(undefined) ?? 0)
    },
    first: (table, where, options) => Effect.map(find(table, where, { ...options, limit: 1 }), (rows) => rows[0]),
    exists: (table, where) => Effect.map(find(table, where, { limit: 1 }), (rows) => rows.length > 0),
    transaction,
    openTransaction: Effect.withFiber((fiber) => Effect.succeed(transactionOf(fiber))),
    transactionOf,
    rolledBack: (work, commits) => rolledBack(transaction, work, commits)
  }
}

const imagesBeforeBy =
  ({ find, get }: Pick<StoreShape, "find" | "get">): StoreShape["imagesBefore"] =>
  (one) => {
    if (one.op === "insert") {
      const before = one.table.on_conflict_ignore
        ? get(one.table, keyOf(one.table, one.row))
        : Effect.succeed(undefined)
      return Effect.map(before, (row) => [{ key: keyOf(one.table, one.row), row }])
    }
    const rows =
      one.op === "update" || one.op === "delete"
        ? Effect.map(get(one.table, one.key), (row) => (row === undefined ? [] : [row]))
        : find(one.table, one.where)
    return Effect.map(rows, (found) => found.map((row) => ({ key: keyOf(one.table, row), row })))
  }

/** Only failures roll back a transaction, so the result is thrown as a defect and caught outside. */
const rolledBack = <A, E, R>(
  transaction: StoreShape["transaction"],
  work: Effect.Effect<A, E, R>,
  commits: (result: A) => boolean = () => false
) =>
  Effect.suspend(() => {
    const ended: { result?: Effect.Effect<A> } = {}
    const tried = Effect.tap(work, (result) => {
      if (commits(result)) return Effect.void
      ended.result = Effect.succeed(result)
      return Effect.die(ended)
    })
    return Effect.catchDefect(transaction(tried), (defect) =>
      defect === ended ? (ended.result ?? Effect.die(defect)) : Effect.die(defect)
    )
  })

// Failures of reading and deciding: a refusal, or a database error.

export type Failure = Rejection | SqlError.SqlError
/** Reads rows and returns an `A`. */
export type StoreRead<A> = Effect.Effect<A, Failure, Store>
export declare namespace Store {
  /** Return type of a generator function for a {@link StoreRead}. */
  type Reads<A> = Effect.fn.Return<A, Failure, Store>
}
