import { DatabaseSync } from "node:sqlite"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { isBusy, sqliteError } from "./sqlite-error.ts"
import { bind, hasMore, iterate, prepare, runForRows, runForValues } from "./sqlite-statement.ts"
import type { Prepared, Row } from "./sqlite-statement.ts"

export interface SqliteOptions {
  /** A file, made if it is not there (unless `readOnly`), or ":memory:". */
  readonly path: string
  readonly readOnly?: boolean
  /** "full", the default, is on disk when a commit answers; "normal" may lose the last commits in a power cut. */
  readonly synchronous?: "full" | "normal"
  /** How long to wait for another process's lock before failing with a LockTimeoutError; 30,000 by default. */
  readonly busy_timeout_ms?: number
}

/** What `sql`...`.raw` answers, with the two fields it shares with `pg`: rows returned, rows returned or changed. */
export interface RawResult {
  readonly rows: ReadonlyArray<unknown>
  readonly rowCount: number
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const STATEMENTS_KEPT = 500
const STREAM_CHUNK_ROWS = 256

/** `SqlClient` over one `node:sqlite` database, closed with the layer's scope. */
export const layer = (options: SqliteOptions): Layer.Layer<SqlClient.SqlClient, SqlError> =>
  Layer.effect(SqlClient.SqlClient)(make(options))

/**
 * `SqlClient` over one `node:sqlite` database, closed with the scope.
 *
 * Values: a column declared `boolean` reads true or false, one declared `jsonb` the parsed document; an integer is a
 * number, or a bigint beyond 2^53; computed columns have no declared type and read as SQLite stores them. Objects,
 * Dates and NaN are refused as parameters.
 *
 * Transactions begin IMMEDIATE, one at a time; other fibers wait for their end. While another process holds the lock
 * the fiber waits without blocking the event loop, and can be interrupted.
 */
export const make = Effect.fnUntraced(function*(
  options: SqliteOptions
): Effect.fn.Return<SqlClient.SqlClient, SqlError, Scope.Scope> {
  const db = yield* Effect.acquireRelease(
    attempt("open", () =>
      new DatabaseSync(options.path, {
        readOnly: options.readOnly ?? false,
        enableForeignKeyConstraints: true,
        // Blocks the event loop, so only for as long as a commit takes; `patiently` waits longer without blocking.
        timeout: 5
      })),
    (db) => Effect.sync(() => db.close())
  )
  const busy_timeout_ms = options.busy_timeout_ms ?? 30_000

  /** Runs `f`, again and again while another process holds the lock; never inside a transaction, which is all or none. */
  const patiently = <A>(operation: string, f: () => A, restore: Restore = identity): Effect.Effect<A, SqlError> =>
    Effect.suspend(() => {
      const started_ms = performance.now()
      const go = (tries: number): Effect.Effect<A, SqlError> => {
        try {
          return Effect.succeed(f())
        } catch (cause) {
          const waits = isBusy(cause) && !db.isTransaction && performance.now() - started_ms < busy_timeout_ms
          return waits
            ? Effect.flatMap(restore(pause(tries)), () => go(tries + 1))
            : Effect.fail(sqliteError(cause, operation))
        }
      }
      return go(0)
    })

  if (options.readOnly !== true) {
    yield* patiently("open", () => db.exec("pragma journal_mode = wal"))
    yield* patiently("open", () => db.exec(`pragma synchronous = ${options.synchronous ?? "full"}`))
  }

  const cache = new Map<string, Prepared>()
  let schemaChanged = false
  const prepared = (sql: string): Prepared => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const fresh = prepare(db, sql)
    if (cache.size >= STATEMENTS_KEPT) cache.delete(cache.keys().next().value as string)
    cache.set(sql, fresh)
    return fresh
  }
  /** Statements remember declared types: forgotten after DDL, and again when a transaction takes DDL back. */
  const forgetting = <A>(run: Prepared, result: A): A => {
    const takesBack = schemaChanged && run.statement.sourceSQL.startsWith("ROLLBACK")
    if (run.changesSchema || takesBack) cache.clear()
    schemaChanged = run.changesSchema || (schemaChanged && db.isTransaction)
    return result
  }
  const rowsOf = (sql: string, params: ReadonlyArray<unknown>) => {
    const run = prepared(sql)
    return forgetting(run, runForRows(run, params))
  }
  const valuesOf = (sql: string, params: ReadonlyArray<unknown>) => {
    const run = prepared(sql)
    return forgetting(run, runForValues(run, params))
  }
  const rawOf = (sql: string, params: ReadonlyArray<unknown>): RawResult => {
    if (params.length === 0 && hasMore(sql, db.prepare(sql))) {
      cache.clear()
      schemaChanged = true
      db.exec(sql)
      return { rows: [], rowCount: 0 }
    }
    const run = prepared(sql)
    if (run.names.length > 0) {
      const rows = forgetting(run, runForRows(run, params))
      return { rows, rowCount: rows.length }
    }
    return forgetting(run, { rows: [], rowCount: Number(run.statement.run(...params.map(bind)).changes) })
  }

  const execute: Connection["execute"] = (sql, params, transformRows) => {
    const rows = patiently("execute", () => rowsOf(sql, params))
    return transformRows === undefined ? rows : Effect.map(rows, transformRows)
  }
  const executeValues: Connection["executeValues"] = (sql, params) =>
    patiently("executeValues", () => valuesOf(sql, params))
  const connection: Connection = {
    execute,
    executeUnprepared: execute,
    executeValues,
    executeValuesUnprepared: executeValues,
    executeRaw: (sql, params) => patiently("executeRaw", () => rawOf(sql, params)),
    executeStream: (sql, params, transformRows) =>
      Stream.unwrap(Effect.map(
        Effect.acquireRelease(
          attempt("executeStream", () => iterate(prepare(db, sql), params)),
          (rows) => Effect.sync(() => rows.return(undefined))
        ),
        (rows) =>
          Stream.paginate(rows, () =>
            attempt("executeStream", () => {
              const chunk = take(rows, STREAM_CHUNK_ROWS)
              const more = chunk.length < STREAM_CHUNK_ROWS ? Option.none() : Option.some(rows)
              return [transformRows === undefined ? chunk : transformRows(chunk), more] as const
            }))
      ))
  }

  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore: Semaphore.makeUnsafe(1),
    isTransaction: () => db.isTransaction
  })
  const spanAttributes = [["db.system.name", "sqlite"]] as const
  const client = yield* Effect.provideServiceEffect(
    SqlClient.make({
      driver: "node-sqlite",
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes,
      ...acquirers
    }),
    Reactivity.Reactivity,
    Reactivity.make
  )

  // As the client's own, except that the wait for another process's lock at BEGIN can be interrupted. One variable is
  // enough: the semaphore lets one transaction in at a time.
  let restoreOfOpening: Restore = identity
  const beginning = options.readOnly === true ? "BEGIN" : "BEGIN IMMEDIATE"
  const control = (sql: string) => Effect.asVoid(connection.execute(sql, [], undefined))
  const whenOpen = (sql: string) => Effect.suspend(() => db.isTransaction ? control(sql) : Effect.void)
  const withTransaction = SqlClient.makeWithTransaction({
    transactionService: client.transactionService,
    spanAttributes,
    acquireConnection: (restore) =>
      Effect.tap(restore(acquirers.transactionAcquirer), () =>
        Effect.sync(() => {
          restoreOfOpening = restore
        })),
    begin: (_, statement) =>
      Effect.asVoid(patiently("begin", () => rowsOf(statement ?? beginning, []), restoreOfOpening)),
    savepoint: (_, id) => control(`SAVEPOINT effect_sql_${id}`),
    releaseSavepoint: (_, id) => whenOpen(`RELEASE SAVEPOINT effect_sql_${id}`),
    commit: () => control("COMMIT"),
    onCommitFailure: acquirers.onCommitFailure,
    rollback: () => whenOpen("ROLLBACK"),
    rollbackSavepoint: (_, id) => whenOpen(`ROLLBACK TO SAVEPOINT effect_sql_${id}`)
  })
  return Object.assign(client, { withTransaction })
})

const attempt = <A>(operation: string, f: () => A): Effect.Effect<A, SqlError> =>
  Effect.try({ try: f, catch: (cause) => sqliteError(cause, operation) })

/** The next rows, leaving the generator open (its own `take` would close it). */
const take = (rows: Generator<Row>, count: number): Array<Row> => {
  const taken: Array<Row> = []
  while (taken.length < count) {
    const next = rows.next()
    if (next.done === true) break
    taken.push(next.value)
  }
  return taken
}

/** A short wait of random length, so that two waiting processes do not keep meeting. Real time, whatever the clock. */
const pause = (tries: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), Math.random() * Math.min(50, 5 * (tries + 1)))
    return Effect.sync(() => clearTimeout(timer))
  })
