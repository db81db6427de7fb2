/** The SQLite client over `node:sqlite`, and what its errors mean. */
import * as SqlError from "effect/sql/SqlError"
import { DatabaseSync } from "node:sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Borrower, Connection } from "effect/sql/SqlConnection"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { iterate, makeStatements, prepare, type Row } from "./statement.ts"

/** Error thrown by `node:sqlite`: `errcode` is SQLite's extended result code, its low byte the primary one. */
interface SqliteFailure extends Error {
  readonly errcode: number
}

const isFailure = (cause: unknown): cause is SqliteFailure =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number"

const primaryCode = (cause: unknown): number => (isFailure(cause) ? cause.errcode & 255 : -1)

const BUSY = 5
const LOCKED = 6
const CANNOT_OPEN = 14
// Two processes started WAL on a file at the same moment: temporary, like BUSY.
const LOCKING_PROTOCOL = 15
const CONSTRAINT = 19
const NOT_A_DATABASE = 26

const CONSTRAINT_PRIMARY_KEY = 1555
const CONSTRAINT_TRIGGER = 1811
const CONSTRAINT_UNIQUE = 2067
const CONSTRAINT_ROWID = 2579

/** Whether another process holds the file's lock; the statement did nothing and may be repeated. */
export const isBusy = (cause: unknown): boolean => [BUSY, LOCKING_PROTOCOL].includes(primaryCode(cause))

/**
 * The constraint's name in SQLite's message: columns (`UNIQUE constraint failed: item.code`), an index or check (`CHECK
 * constraint failed: item_days`), or a trigger's text (`raise(abort, 'asset_claim_overlap')`). Foreign keys give none.
 */
const constraintName = ({ errcode, message }: SqliteFailure): string | undefined => {
  if (errcode === CONSTRAINT_TRIGGER) return message
  const named = /constraint failed: (?:index '(.*)'|(.*))$/s.exec(message)
  return named?.[1] ?? named?.[2]
}

/**
 * Classifies an error of `node:sqlite`. A constraint's name is `reason.constraint` for a `UniqueViolation`, else, as
 * with `pg`, `constraint` of `reason.cause`.
 */
const sqliteError = (cause: unknown, operation: string): SqlError.SqlError => {
  const fields = { cause, operation, message: cause instanceof Error ? cause.message : String(cause) }
  return new SqlError.SqlError({ reason: reasonOf(cause, fields) })
}

const reasonOf = (cause: unknown, fields: { cause: unknown; operation: string; message: string }) => {
  if (!isFailure(cause)) return new SqlError.UnknownError(fields)
  const code = primaryCode(cause)
  if (code === CONSTRAINT) {
    const constraint = constraintName(cause)
    if (constraint !== undefined) Object.assign(cause, { constraint })
    return [CONSTRAINT_UNIQUE, CONSTRAINT_PRIMARY_KEY, CONSTRAINT_ROWID].includes(cause.errcode)
      ? new SqlError.UniqueViolation({ ...fields, constraint: constraint ?? "unknown" })
      : new SqlError.ConstraintError(fields)
  }
  if (code === BUSY || code === LOCKED || code === LOCKING_PROTOCOL) return new SqlError.LockTimeoutError(fields)
  if (code === CANNOT_OPEN || code === NOT_A_DATABASE) return new SqlError.ConnectionError(fields)
  return cause.errcode === 1 ? new SqlError.SqlSyntaxError(fields) : new SqlError.UnknownError(fields)
}

interface SqliteOptions {
  /** Path of the file, created if missing (unless `readOnly`), or ":memory:". */
  readonly path: string
  readonly readOnly?: boolean
  /**
   * Durability of commits. "full" (default): on disk before the commit returns; "normal": a power cut may lose the last
   * commits.
   */
  readonly synchronous?: "full" | "normal"
  /** Milliseconds to wait for another process's lock before failing with a LockTimeoutError; default: 30,000. */
  readonly busy_timeout_ms?: number
  /** Lets transactions share a commit: `sharedCommits`. */
  readonly share?: (
    alone: WithTransaction,
    transactionService: SqlClient.SqlClient["transactionService"],
    isTransaction: () => boolean
  ) => WithTransaction
}
type WithTransaction = SqlClient.SqlClient["withTransaction"]

/**
 * Durability of a commit; default: `synchronous`. With "normal" a power cut may lose the last commits, but only
 * complete ones and in order: the next "full" commit flushes them too.
 */
export const Durability = Context.Reference<"full" | "normal" | undefined>("flightcase/sync/Durability", {
  defaultValue: () => undefined
})

/** `user_version` of files in which freed pages have always been overwritten, or since they were rewritten. */
export const erasing_version = 1

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const STREAM_CHUNK_ROWS = 256

/** `SqlClient` over one `node:sqlite` database, closed with the layer's scope. */
export const layer = (options: SqliteOptions): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient)(make(options))

const openFile = (options: SqliteOptions): Effect.Effect<DatabaseSync, SqlError.SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    attempt(
      "open",
      () =>
        new DatabaseSync(options.path, {
          readOnly: options.readOnly ?? false,
          enableForeignKeyConstraints: true,
          // SQLite's own waiting blocks the event loop, so it is short; `patiently` waits longer without blocking.
          timeout: 5
        })
    ),
    (db) => Effect.sync(() => db.close())
  )

/**
 * Makes SQLite overwrite freed pages, so that deleted data is gone from the file; new files are marked with
 * `erasing_version`.
 */
const overwriteFreed = (db: DatabaseSync): Effect.Effect<void, SqlError.SqlError> =>
  attempt("open", () => {
    db.exec("pragma secure_delete = on; pragma temp_store = memory")
    if (db.prepare("pragma page_count").get()?.["page_count"] === 0) db.exec(`pragma user_version = ${erasing_version}`)
  })

/** Runs statements on the database; `before` runs ahead of each, except streams. */
const connectionOver = (
  db: DatabaseSync,
  statements: ReturnType<typeof makeStatements>,
  before: (sql: string) => void
): Connection => {
  const execute: Connection["execute"] = (sql, params, transformRows) => {
    const rows = attempt("execute", () => {
      before(sql)
      return statements.rows(sql, params)
    })
    return transformRows === undefined ? rows : Effect.map(rows, transformRows)
  }
  const executeValues: Connection["executeValues"] = (sql, params) =>
    attempt("executeValues", () => {
      before(sql)
      return statements.values(sql, params)
    })
  return {
    execute,
    executeUnprepared: execute,
    executeValues,
    executeValuesUnprepared: executeValues,
    executeRaw: (sql, params) =>
      attempt("executeRaw", () => {
        before(sql)
        return statements.raw(sql, params)
      }),
    executeStream: (sql, params, transformRows) =>
      Stream.unwrap(
        Effect.map(
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
              })
            )
        )
      )
  }
}

const spanAttributes = [["db.system.name", "sqlite"]] as const
const clientOver = (
  acquirers: Pick<Parameters<typeof SqlClient.make>[0], keyof ReturnType<typeof SqlClient.makeSqliteAcquirers>>
): Effect.Effect<SqlClient.SqlClient> =>
  Effect.provideServiceEffect(
    SqlClient.make({ driver: "node-sqlite", compiler: Statement.makeCompilerSqlite(), spanAttributes, ...acquirers }),
    Reactivity.Reactivity,
    Reactivity.make
  )

/**
 * `SqlClient` over one `node:sqlite` database, closed with the scope.
 *
 * Values: a column declared `boolean` reads true or false, one declared `jsonb` the parsed document; an integer is a
 * number, or a bigint beyond 2^53; computed columns have no declared type and read as SQLite stores them. Objects,
 * Dates and NaN are refused as parameters.
 *
 * Transactions begin IMMEDIATE (unless `readOnly`), one at a time; other fibers wait for their end. While another
 * process holds the lock the writer waits, and can be interrupted, without blocking the event loop or other reads here.
 */
export const make = Effect.fnUntraced(function* (
  options: SqliteOptions
): Effect.fn.Return<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope> {
  const db = yield* openFile(options)
  const patiently = makePatiently(options.busy_timeout_ms ?? 30_000)
  const usual = options.synchronous ?? "full"
  let synchronous: "full" | "normal" | undefined
  /** Sets the durability of commits. Only outside transactions, as SQLite refuses it within. */
  const waitFor = (wanted: "full" | "normal"): void => {
    if (synchronous === wanted || options.readOnly === true) return
    db.exec(`pragma synchronous = ${wanted}`)
    synchronous = wanted
  }
  /** Resets the durability for a write outside a transaction, as an earlier transaction may have changed it. */
  const asUsual = (sql: string): void => {
    if (synchronous !== usual && !db.isTransaction && !/^\s*select\b[^;]*$/i.test(sql)) waitFor(usual)
  }

  if (options.readOnly !== true) {
    yield* patiently(overwriteFreed(db))
    yield* patiently(attempt("open", () => db.exec("pragma journal_mode = wal")))
    yield* patiently(attempt("open", () => waitFor(usual)))
  }

  const statements = makeStatements(db)
  const connection = connectionOver(db, statements, asUsual)
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore: Semaphore.makeUnsafe(1),
    isTransaction: () => db.isTransaction
  })
  // A writer that finds the file locked returns the connection before it waits, so that readers are not blocked.
  const borrower: Borrower = (use) => patiently(acquirers.borrower(use))
  const client = yield* clientOver({ ...acquirers, borrower })

  // Like the client's own, except that the transaction begins once it has the connection, which it returns while
  // waiting for another process's lock. The wait can be interrupted.
  const beginning = options.readOnly === true ? "BEGIN" : "BEGIN IMMEDIATE"
  const begun = (restore: Restore) =>
    Effect.withFiber((fiber): Effect.Effect<Connection, SqlError.SqlError> => {
      const wanted = fiber.getRef(Durability)
      const scope = Scope.forkUnsafe(Context.getUnsafe(fiber.context, Scope.Scope))
      const leased = Scope.provide(restore(acquirers.transactionAcquirer), scope)
      return Effect.tap(leased, () =>
        attempt("begin", () => {
          waitFor(wanted ?? usual)
          statements.rows(beginning, [])
        })
      ).pipe(Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
    })
  const withTransaction = SqlClient.makeWithTransaction({
    transactionService: client.transactionService,
    spanAttributes,
    acquireConnection: (restore) => patiently(begun(restore), restore),
    ...controlsOver(db, connection),
    onCommitFailure: acquirers.onCommitFailure
  })
  const { share = identity } = options
  return Object.assign(client, {
    withTransaction: share(withTransaction, client.transactionService, () => db.isTransaction),
    direct: directOver(db, statements, asUsual, client),
    together: togetherOver(db, statements, client)
  })
})

/**
 * Runs statements without spans and templates; undefined if they have to wait for another fiber's transaction or for
 * another process. No transaction can begin while they run.
 */
const runNow = <A>(
  db: DatabaseSync,
  { transactionService }: SqlClient.SqlClient,
  { context }: { readonly context: Context.Context<never> },
  run: (isInside: boolean) => A
): Exit.Exit<A, SqlError.SqlError> | undefined => {
  const isInside = Context.getOrUndefined(context, transactionService) !== undefined
  if (!isInside && db.isTransaction) return undefined
  try {
    return Exit.succeed(run(isInside))
  } catch (cause) {
    if (!isInside && db.isTransaction) db.exec("ROLLBACK")
    return !isInside && isBusy(cause) ? undefined : Exit.fail(sqliteError(cause, "execute"))
  }
}
type Fiber = Parameters<typeof runNow>[2]
const directOver =
  (
    db: DatabaseSync,
    statements: ReturnType<typeof makeStatements>,
    before: (sql: string) => void,
    client: SqlClient.SqlClient
  ) =>
  (sql: string, params: ReadonlyArray<unknown>, fiber: Fiber, kind?: string) =>
    runNow(db, client, fiber, (): ReadonlyArray<Row> => {
      // One statement that begins so writes nothing.
      if (!sql.startsWith("select ")) before(sql)
      return kind === "bound" ? statements.write(sql, params) : statements.rows(sql, params)
    })

/** Runs reads in one transaction, as each would lock and unlock the file otherwise. */
const togetherOver = (db: DatabaseSync, statements: ReturnType<typeof makeStatements>, client: SqlClient.SqlClient) => {
  const [begin, commit] = [db.prepare("BEGIN"), db.prepare("COMMIT")]
  return (reads: ReadonlyArray<{ readonly text: string; readonly values: ReadonlyArray<unknown> }>, fiber: Fiber) =>
    runNow(db, client, fiber, (isInside) => {
      const begins = !isInside && reads.length > 1
      // `run` would count changes in a new object.
      if (begins) begin.get()
      const rows = reads.map(({ text, values }): ReadonlyArray<Row> => statements.rows(text, values))
      if (begins) commit.get()
      return rows
    })
}

const rolledBack = new SqlError.SqlError({
  reason: new SqlError.UnknownError({
    cause: undefined,
    operation: "savepoint",
    message: "SQLite rolled back the transaction after an earlier failure"
  })
})
/** Statements that control a transaction that has begun; some failures make SQLite end it early. */
const controlsOver = (db: DatabaseSync, connection: Connection) => {
  const control = (sql: string) => Effect.asVoid(connection.execute(sql, [], undefined))
  const whenOpen = (sql: string, otherwise: Effect.Effect<void, SqlError.SqlError> = Effect.void) =>
    Effect.suspend(() => (db.isTransaction ? control(sql) : otherwise))
  return {
    begin: () => Effect.void,
    // Outside a transaction, a savepoint would begin one and its release commit it.
    savepoint: (_: Connection, id: number) => whenOpen(`SAVEPOINT effect_sql_${id}`, Effect.fail(rolledBack)),
    releaseSavepoint: (_: Connection, id: number) => whenOpen(`RELEASE SAVEPOINT effect_sql_${id}`),
    commit: () => control("COMMIT"),
    rollback: () => whenOpen("ROLLBACK"),
    rollbackSavepoint: (_: Connection, id: number) => whenOpen(`ROLLBACK TO SAVEPOINT effect_sql_${id}`)
  }
}

const attempt = <A>(operation: string, f: () => A): Effect.Effect<A, SqlError.SqlError> =>
  Effect.try({ try: f, catch: (cause) => sqliteError(cause, operation) })

/** Takes the next rows and leaves the generator open (its own `take` would close it). */
const take = (rows: Generator<Row>, count: number): Array<Row> => {
  const taken: Array<Row> = []
  while (taken.length < count) {
    const next = rows.next()
    if (next.done === true) break
    taken.push(next.value)
  }
  return taken
}

/** Repeats an effect while another process holds the lock. Within `restore` the wait can be interrupted. */
type Patiently = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
  restore?: Restore
) => Effect.Effect<A, E | SqlError.SqlError, R>

/** Fails after `busy_timeout_ms`. Not for statements in a transaction, which only its owner can repeat as a whole. */
const makePatiently =
  (busy_timeout_ms: number): Patiently =>
  (effect, restore = identity) =>
    Effect.suspend(() => {
      // Read when it first waits: on reading it, Node loads what measures.
      let started_ms: number | undefined
      const go = (tries: number): typeof effect =>
        Effect.catchIf(effect, isLocked, (error) =>
          (started_ms ??= performance.now()) + busy_timeout_ms <= performance.now()
            ? Effect.fail(error)
            : Effect.flatMap(restore(pause(tries)), () => go(tries + 1))
        )
      return go(0)
    })
const isLocked = (error: unknown): error is SqlError.SqlError =>
  error instanceof SqlError.SqlError && isBusy(error.reason.cause)

/**
 * Waits for a short random time, so that two waiting processes do not stay in step. Real time, even with a test clock.
 */
const pause = (tries: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), Math.random() * Math.min(50, 5 * (tries + 1)))
    return Effect.sync(() => clearTimeout(timer))
  })
