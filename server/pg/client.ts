import { Context, Effect, type Fiber, identity, Layer, Option, type Scope, Stream } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Borrower, Connection } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import pg from "pg"
import { firstOf, lastOf } from "../../core/values/text.ts"
import type { RawResult } from "../../sync/sqlite/statement.ts"
import { bind, connectionConfig, isStalePlan, makePlanNames, pgError, type PlanNames } from "./connection.ts"
import { queriesOn, takeSession } from "./session.ts"

interface PgOptions {
  /** Connection URL with `pg`'s query parameters (sslmode …): `postgres://user:password@host:port/database`. */
  readonly url: string
  /**
   * Maximum number of connections; default: 10, at least 2. Transactions and single statements use separate
   * connections, so reads are answered while all writers wait for locks.
   */
  readonly max?: number
  /** Keeps idle connections open. */
  readonly keep?: boolean
  /** Milliseconds a statement waits for a lock before it fails with a LockTimeoutError; default: 8,000. */
  readonly lock_timeout_ms?: number
  /** Milliseconds a statement may take before it fails with a StatementTimeoutError; default: 60,000. */
  readonly statement_timeout_ms?: number
  /** Milliseconds to wait for a connection before failing with a ConnectionError; default: 10,000. */
  readonly connection_timeout_ms?: number
}

const PLANS_KEPT = 500
const STREAM_CHUNK_ROWS = 500
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000

/** `SqlClient` over pools of Postgres connections, closed with the layer's scope. */
export const layer = (options: PgOptions): Layer.Layer<SqlClient.SqlClient, SqlError> =>
  Layer.effect(SqlClient.SqlClient)(make(options))

/**
 * `SqlClient` over pools of Postgres connections, closed with the scope. Fails with a ConnectionError when the
 * database cannot be reached.
 *
 * Values: bigint is a number, or a bigint beyond 2^53; numeric is text; timestamptz is `2026-11-21T03:47:00.000Z`, date
 * `2026-11-21`; json and jsonb are parsed. Objects, Dates and NaN are refused as parameters.
 *
 * An interrupted query is cancelled on the server too. Errors after which the transaction may be run again have
 * `isRetryable`.
 */
export const make = Effect.fnUntraced(function* (
  options: PgOptions
): Effect.fn.Return<SqlClient.SqlClient, SqlError, Scope.Scope> {
  const endpoint = { url: options.url, connection_timeout_ms: options.connection_timeout_ms ?? 10_000 }
  const limits = {
    lock_timeout_ms: options.lock_timeout_ms ?? 8_000,
    statement_timeout_ms: options.statement_timeout_ms ?? 60_000,
    idle_in_transaction_timeout_ms: IDLE_IN_TRANSACTION_TIMEOUT_MS
  }
  const openPool = (max: number) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        makePool({
          ...connectionConfig(endpoint, limits),
          max,
          // A session's queries are sent without waiting for the answers to those before.
          pipeline: true,
          ...(options.keep === true && { idleTimeoutMillis: 0 })
        })
      ),
      (pool) => Effect.promise(() => pool.end())
    )
  const max = options.max ?? 10
  const statements = yield* openPool(Math.max(1, Math.floor(max / 2)))
  const transactions = yield* openPool(Math.max(1, Math.ceil(max / 2)))

  const plans = makePlanNames(PLANS_KEPT)
  const take = (pool: pg.Pool, restore: Parameters<typeof takeSession>[2]) =>
    Effect.map(takeSession(pool, endpoint, restore), (session) => makeConnection(session, plans))
  const release = ({ session }: PgConnection) => session.release

  const acquirerFrom = (pool: pg.Pool) =>
    Effect.uninterruptibleMask((restore) => Effect.acquireRelease(take(pool, restore), release))
  const borrower: Borrower = (use) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(take(statements, restore), (connection) =>
        Effect.onExit(restore(use(connection)), () => release(connection))
      )
    )
  yield* borrower((connection) => connection.execute("select 1", [], undefined))

  const client = yield* Effect.provideServiceEffect(
    SqlClient.make({
      driver: "pg",
      compiler,
      spanAttributes: [["db.system.name", "postgresql"]],
      acquirer: acquirerFrom(statements),
      borrower,
      transactionAcquirer: acquirerFrom(transactions),
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      commit: (connection) => commit((connection as PgConnection).session),
      isTransaction: (connection) => (connection as PgConnection).session.health() !== "lost"
    }),
    Reactivity.Reactivity,
    Reactivity.make
  )
  const { once, shared } = queriesOn(statements, endpoint)
  return Object.assign(
    client,
    directOver(
      client,
      runTogether(once, plans),
      runTogether(([query]) => (query === undefined ? Effect.succeed([]) : shared(query)), plans)
    )
  )
})

/** Runs statements without spans and templates. `once`: outside transactions, where stale plans are run again. */
const directOver = (
  client: SqlClient.SqlClient,
  once: ReturnType<typeof runTogether>,
  shared: ReturnType<typeof runTogether>
) => {
  const onceOrAgain = (given: ReadonlyArray<BoundSql>, run = once): Together =>
    Effect.catchIf(
      run(given),
      (error) => isStalePlan(error.reason.cause),
      () => Effect.forEach(given, ({ text, values }) => client.unsafe(text, values))
    )
  return {
    direct: (
      text: string,
      values: ReadonlyArray<unknown>,
      { context }: Fiber.Fiber<unknown, unknown>,
      kind?: string
    ) => {
      const [connection, depth] = Context.getOrUndefined(context, client.transactionService) ?? []
      // In a savepoint, a deferred lock could first be sent with its release, whose errors are defects.
      if (depth === 0 && isPgConnection(connection)) {
        if (kind === "last") return Effect.map(connection.last([{ text, values }]), firstOf)
        if (kind === "ahead") return Effect.sync(() => (connection.session.defer(text), []))
        if (kind === "held") return connection.hold({ text, values })
      }
      if (connection !== undefined) return connection.execute(text, values, undefined)
      if (values.length === 0 && !ONE_READ.test(text)) return undefined
      return Effect.map(onceOrAgain([{ text, values }], kind === "short" ? shared : once), ([rows = []]) => rows)
    },
    together: (given: ReadonlyArray<BoundSql>, { context }: Fiber.Fiber<unknown, unknown>) => {
      const [connection] = Context.getOrUndefined(context, client.transactionService) ?? []
      if (connection === undefined) return onceOrAgain(given)
      return isPgConnection(connection) ? connection.together(given) : undefined
    }
  }
}

const makePool = (config: pg.PoolConfig): pg.Pool => {
  const pool = new pg.Pool(config)
  // A connection that breaks while idle has already left the pool; without a listener its error would end the process.
  pool.on("error", () => {})
  pool.on("connect", (client) => client.on("error", () => {}))
  return pool
}

const compiler = Statement.makeCompiler({
  dialect: "pg",
  placeholder: (index) => `$${index}`,
  onIdentifier: Statement.defaultEscape('"'),
  onCustom: () => ["", []],
  onRecordUpdate: (placeholders, alias, columns, values, returning) => [
    `(values ${placeholders}) AS ${alias}${columns}${returning ? ` RETURNING ${returning[0]}` : ""}`,
    returning ? values.flat().concat(returning[1]) : values.flat()
  ]
})

/**
 * Fails if Postgres answers COMMIT with ROLLBACK, without an error: a statement of the transaction failed and the
 * failure was handled, so nothing was written.
 */
const checkCommitted = ({ command }: pg.QueryResult): Effect.Effect<void, SqlError> =>
  command === "COMMIT"
    ? Effect.void
    : Effect.fail(
        new SqlError({
          reason: new UnknownError({
            cause: undefined,
            operation: "commit",
            message: "rolled back at commit, as a statement in the transaction had failed: only a nested one may fail"
          })
        })
      )

const commitWith = (session: Session, queries: Parameters<Session["commit"]>[0]) =>
  Effect.tap(session.commit(queries), (results) => checkCommitted(lastOf(results)))
const commit = (session: Session): Effect.Effect<void, SqlError> =>
  Effect.suspend(() => (session.hasEnded() ? Effect.void : Effect.asVoid(commitWith(session, []))))

type Session = Effect.Success<ReturnType<typeof takeSession>>
interface PgConnection extends Connection {
  readonly session: Session
  readonly together: (given: ReadonlyArray<BoundSql>) => Together
  /** Sends a statement with the next one. Its rows are added to the result once they are there. */
  readonly hold: (given: BoundSql) => ReturnType<Connection["execute"]>
  /** Runs the transaction's last statement and commits. */
  readonly last: (given: ReadonlyArray<BoundSql>) => Together
}
const isPgConnection = (connection: Connection | undefined): connection is PgConnection =>
  connection !== undefined && "together" in connection

type Run = (
  text: string,
  params: ReadonlyArray<unknown>,
  how: { readonly prepared: boolean; readonly rowMode?: "array" }
) => Effect.Effect<pg.QueryResult, SqlError>

/** Runs statements over a session, frequent ones as prepared statements; a stale plan is prepared again. */
const runOver = (session: Session, plans: PlanNames): Run => {
  const run: Run = (text, params, how) => {
    if (params.length === 0) {
      const result = session.query({ text, ...(how.rowMode && { rowMode: how.rowMode }) })
      return CHANGES_SCHEMA.test(text) ? Effect.tap(result, () => Effect.sync(plans.renewAll)) : result
    }
    return Effect.flatMap(bound(params), (values) => {
      const name = how.prepared ? plans.nameOf(text) : undefined
      const query: Parameters<Session["query"]>[0] = {
        text,
        values,
        ...(name && { name }),
        ...(how.rowMode && { rowMode: how.rowMode })
      }
      return name === undefined
        ? session.query(query)
        : Effect.catchIf(
            session.query(query),
            (error) => isStalePlan(error.reason.cause),
            (error) => {
              plans.renew(text)
              // Within a transaction the caller must run all of it again.
              return session.isInTransaction() ? Effect.fail(error) : run(text, params, how)
            }
          )
    })
  }
  return run
}

interface BoundSql {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}
type Together = Effect.Effect<ReadonlyArray<Effect.Success<ReturnType<Connection["execute"]>>>, SqlError>

/** Runs statements in one round trip, each as a query of its own, frequent ones as prepared statements. */
const runTogether =
  (query: Session["queryAll"], plans: PlanNames) =>
  (given: ReadonlyArray<BoundSql>): Together =>
    Effect.flatMap(boundAll(given), (statements) =>
      Effect.tapError(
        Effect.map(
          query(
            statements.map(({ text, values }) => {
              const name = values.length === 0 && !ONE_READ.test(text) ? undefined : plans.nameOf(text)
              return { text, ...(values.length > 0 && { values }), ...(name && { name }) }
            })
          ),
          (results) => results.map(({ rows }) => rows)
        ),
        // Statements with stale plans did nothing: they are prepared again when run again.
        (error) => Effect.sync(() => isStalePlan(error.reason.cause) && given.forEach(({ text }) => plans.renew(text)))
      )
    )

const holdOn =
  (session: Session, plans: PlanNames, run: Run): PgConnection["hold"] =>
  ({ text, values: given }) =>
    Effect.flatMap(bound(given), (values) => {
      const rows: Array<unknown> = []
      const name = plans.nameOf(text)
      const is_held = session.hold({ text, values, ...(name && { name }) }, (answer) => {
        if (!(answer instanceof SqlError)) rows.push(...answer.rows)
        else if (isStalePlan(answer.reason.cause)) plans.renew(text)
      })
      return is_held ? Effect.succeed(rows) : Effect.map(run(text, values, { prepared: true }), (result) => result.rows)
    })

/** Streams a query's rows through a cursor; statements that write run at once. */
const streamOver =
  (session: Session, run: Run): Connection["executeStream"] =>
  (sql, params, transformRows) => {
    const select = transformRows ?? identity
    if (!READS.test(sql) || WRITES.test(sql)) {
      return Stream.fromIterableEffect(Effect.map(run(sql, params, { prepared: false }), ({ rows }) => select(rows)))
    }
    return Stream.unwrap(
      Effect.map(openCursor(session, sql, params), (fetch) =>
        Stream.paginate(undefined, () =>
          Effect.map(
            fetch,
            ({ rows }) =>
              [select(rows), rows.length < STREAM_CHUNK_ROWS ? Option.none() : Option.some(undefined)] as const
          )
        )
      )
    )
  }

const makeConnection = (session: Session, plans: PlanNames): PgConnection => {
  const run = runOver(session, plans)
  const rows =
    (prepared: boolean): Connection["execute"] =>
    (sql, params, transformRows) =>
      Effect.map(run(sql, params, { prepared }), (result) => (transformRows ?? identity)(result.rows))
  const values =
    (prepared: boolean): Connection["executeValues"] =>
    (sql, params) =>
      Effect.map(run(sql, params, { prepared, rowMode: "array" }), (result) => result.rows)
  // A lost connection has ended its transaction: a rollback on it succeeds.
  const control: Connection["execute"] = (sql, params, transformRows) => {
    if (sql === "BEGIN") return Effect.sync(() => (session.defer(sql), []))
    if (sql.startsWith("ROLLBACK")) session.dropHeld()
    if (sql.startsWith("ROLLBACK") && session.hasEnded()) return Effect.succeed([])
    const result = rows(false)(sql, params, transformRows)
    return sql.startsWith("ROLLBACK")
      ? Effect.catchIf(
          result,
          () => session.health() === "lost",
          () => Effect.succeed([])
        )
      : result
  }
  return {
    session,
    together: runTogether(session.queryAll, plans),
    hold: holdOn(session, plans, run),
    last: runTogether((queries) => commitWith(session, queries), plans),
    execute: rows(true),
    executeUnprepared: control,
    executeValues: values(true),
    executeValuesUnprepared: values(false),
    executeRaw: (sql, params) =>
      Effect.map(run(sql, params, { prepared: true }), (result): RawResult => ({
        rows: result.rows,
        rowCount: result.rowCount ?? 0
      })),
    executeStream: streamOver(session, run)
  }
}

const bound = (params: ReadonlyArray<unknown>): Effect.Effect<Array<unknown>, SqlError> =>
  Effect.try({ try: () => params.map(bind), catch: (cause) => pgError(cause, "bind") })

const boundAll = (given: ReadonlyArray<BoundSql>) =>
  Effect.try({
    try: () => given.map(({ text, values }) => ({ text, values: values.map(bind) })),
    catch: (cause) => pgError(cause, "bind")
  })

const CHANGES_SCHEMA = /\b(create|alter|drop)\b/i
/** One statement that reads: without parameters, a text may also hold several, or change the schema. */
const ONE_READ = /^\s*select\b[^;]*$/i
const READS = /^\s*(select|with|values|table)\b/i
const WRITES = /\b(insert|update|delete|merge)\b/i

let cursors = 0

/** Opens a cursor in the current transaction, or in a new one, and returns the effect that fetches the next rows. */
const openCursor = Effect.fnUntraced(function* (session: Session, sql: string, params: ReadonlyArray<unknown>) {
  const name = `flightcase_cursor_${++cursors}`
  if (!session.isInTransaction()) {
    yield* Effect.acquireRelease(session.query({ text: "BEGIN" }), () => closing(session, "COMMIT"))
  } else {
    yield* Effect.addFinalizer(() => closing(session, `CLOSE ${name}`))
  }
  const values = yield* bound(params)
  yield* session.query({ text: `DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`, values })
  return session.query({ text: `FETCH ${STREAM_CHUNK_ROWS} FROM ${name}` })
})

/** Ends a cursor by this statement; ignores failures, as a failed transaction or lost connection has closed it. */
const closing = (session: Session, text: string): Effect.Effect<void> =>
  session.health() === "lost" ? Effect.void : Effect.ignore(session.query({ text }))
