import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { SqlError } from "effect/sql/SqlError"
import pg from "pg"
import { pgError } from "./error.ts"
import { types } from "./values.ts"

/** One connection, taken from the pool. */
export interface Session {
  readonly client: pg.PoolClient
  /** Runs one query; of a text with several statements, the last one's result. Queries of one session take turns. */
  readonly query: (query: SessionQuery) => Effect.Effect<pg.QueryResult, SqlError>
  /** "cancelled": a query was interrupted, so not for the pool again; "lost": it does not even answer a rollback. */
  readonly health: () => "good" | "cancelled" | "lost"
}

export interface SessionQuery {
  readonly text: string
  readonly values?: Array<unknown>
  readonly name?: string
  readonly rowMode?: "array"
}

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export interface PgEndpoint {
  readonly url: string
  readonly connection_timeout_ms: number
}

/** What Postgres itself breaks off, so that nothing holds a connection, or others up, for ever. 0 is no limit. */
export interface SessionLimits {
  readonly lock_timeout_ms: number
  readonly statement_timeout_ms: number
  readonly idle_in_transaction_timeout_ms: number
}

const CANCEL_TIMEOUT_MS = 2_000

/**
 * How every connection is opened: in UTC and with ISO dates whatever the server's or the role's settings, as the value
 * parsers expect. Options in the url come before that, and after the limits, which they may change.
 */
export const connectionConfig = (
  { url, connection_timeout_ms }: PgEndpoint,
  limits?: SessionLimits
): pg.ClientConfig => {
  const limiting =
    limits === undefined
      ? ""
      : `-c lock_timeout=${limits.lock_timeout_ms} -c statement_timeout=${limits.statement_timeout_ms} ` +
        `-c idle_in_transaction_session_timeout=${limits.idle_in_transaction_timeout_ms} `
  const settings = "-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=iso_8601"
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const own = parsed?.searchParams.get("options")
  parsed?.searchParams.delete("options")
  return {
    connectionString: own == null || parsed === undefined ? url : parsed.href,
    options: limiting + (own == null ? settings : `${own} ${settings}`),
    connectionTimeoutMillis: connection_timeout_ms,
    keepAlive: true,
    types
  }
}

/** Takes a connection from the pool. The wait can be interrupted within `restore`; a connection got is never lost. */
export const takeSession = (pool: pg.Pool, endpoint: PgEndpoint, restore: Restore): Effect.Effect<Session, SqlError> =>
  Effect.suspend(() => {
    let taken: pg.PoolClient | undefined
    let isAbandoned = false
    const waiting = Effect.callback<pg.PoolClient, SqlError>((resume) => {
      pool.connect((error, client) => {
        if (client === undefined) return resume(Effect.fail(pgError(error, "connect")))
        if (isAbandoned) return client.release()
        taken = client
        resume(Effect.succeed(client))
      })
    })
    return restore(waiting).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          isAbandoned = true
          taken?.release()
        })
      ),
      Effect.map((client) => makeSession(client, endpoint))
    )
  })

/** Gives the connection back; one that is not as good as new, or still inside a transaction, is closed instead. */
export const releaseSession = ({ client, health }: Session): Effect.Effect<void> =>
  Effect.sync(() => client.release(health() !== "good" || client.getTransactionStatus() !== "I"))

const makeSession = (client: pg.PoolClient, endpoint: PgEndpoint): Session => {
  const turn = Semaphore.makeUnsafe(1)
  let health: ReturnType<Session["health"]> = "good"
  const run = (query: SessionQuery) =>
    Effect.callback<pg.QueryResult, SqlError>((resume) => {
      let isAnswered = false
      let onAnswer = () => {}
      client.query(query, (error: Error | null, result: pg.QueryResult | Array<pg.QueryResult>) => {
        isAnswered = true
        onAnswer()
        if (error !== null) {
          if (endsConnection(error)) health = "lost"
          return resume(Effect.fail(pgError(error, "query")))
        }
        resume(Effect.succeed(Array.isArray(result) ? (result.at(-1) as pg.QueryResult) : result))
      })
      const answered = Effect.callback<void>((resume) => {
        if (isAnswered) resume(Effect.void)
        else onAnswer = () => resume(Effect.void)
      })
      // Interrupted: the server is told to stop. The connection may roll back but is not used again after that, as the
      // cancellation may come late and stop another's query. A server that does not answer at all is left to itself.
      return Effect.suspend(() => {
        if (isAnswered) return Effect.void
        health = "cancelled"
        return Effect.promise(() => cancelBackend(client, endpoint)).pipe(
          Effect.andThen(Effect.raceFirst(answered, elapsed(CANCEL_TIMEOUT_MS))),
          Effect.andThen(
            Effect.sync(() => {
              if (!isAnswered) health = "lost"
            })
          )
        )
      })
    })
  return { client, query: (query) => turn.withPermit(run(query)), health: () => health }
}

/** Not an answer to the query but the connection's end: the server's last word, or the driver's for want of one. */
const endsConnection = (error: Error): boolean =>
  !(error instanceof pg.DatabaseError) || error.severity === "FATAL" || error.severity === "PANIC"

/** Asks the server, over a connection of its own, to stop what this one is running. Never fails: it is a courtesy. */
const cancelBackend = async (client: pg.PoolClient, endpoint: PgEndpoint): Promise<void> => {
  const pid = "processID" in client ? client.processID : undefined
  const other = new pg.Client({ ...connectionConfig(endpoint), connectionTimeoutMillis: CANCEL_TIMEOUT_MS })
  other.on("error", () => {})
  try {
    await other.connect()
    await other.query("select pg_cancel_backend($1)", [pid])
  } catch {
    // The connection that cannot be reached to cancel is closed by its owner, which ends its transaction too.
  } finally {
    await other.end().catch(() => {})
  }
}

/** Real time, whatever the clock. */
export const elapsed = (ms: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })
