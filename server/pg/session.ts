import { Effect, Queue, Schedule, Semaphore, Stream } from "effect"
import pg from "pg"
import type { SqlError } from "effect/sql/SqlError"
import { firstOf } from "../../core/values/text.ts"
import { connectionConfig, pgError, sendQueries } from "./connection.ts"

/** A connection taken from the pool. */
interface Session {
  readonly client: pg.PoolClient
  /**
   * Runs a query; for a text with several statements, returns the last one's result. Queries of a session run one at a
   * time.
   */
  readonly query: (query: SessionQuery) => Effect.Effect<pg.QueryResult, SqlError>
  /** Runs queries in one round trip, in order; fails with the first error, once all have ended. */
  readonly queryAll: (queries: ReadonlyArray<SessionQuery>) => Results
  /** Sends a statement (BEGIN, a lock) ahead of the next query and together with it. */
  readonly defer: (text: string) => void
  /** Sends a query with the transaction's next; `ended` gets result or error. False if it must be sent at once. */
  readonly hold: (query: SessionQuery, ended: (answer: pg.QueryResult | SqlError) => void) => boolean
  /** Drops a held query that was not sent yet. */
  readonly dropHeld: () => void
  /** Runs a transaction's last queries, and COMMIT, in one round trip; cannot be interrupted. */
  readonly commit: (queries: ReadonlyArray<SessionQuery>) => Results
  /** Drops deferred statements; true if the transaction has ended, or if nothing of it was sent. */
  readonly hasEnded: () => boolean
  readonly isInTransaction: () => boolean
  /**
   * "cancelled": a query was interrupted, so the connection is not reused; "lost": it does not even answer a rollback.
   */
  readonly health: () => "good" | "cancelled" | "lost"
  /** Returns the connection to the pool, or closes it if it is not in a clean state. */
  readonly release: Effect.Effect<void>
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

type PgEndpoint = Parameters<typeof connectionConfig>[0]
type SessionQuery = Parameters<typeof sendQueries>[1][number]

const CANCEL_TIMEOUT_MS = 2_000

/**
 * Takes a connection from the pool. Waiting can be interrupted within `restore`; a connection received is never lost.
 */
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

type Health = ReturnType<Session["health"]>
type Results = Effect.Effect<ReadonlyArray<pg.QueryResult>, SqlError>

/**
 * Starts queries on a connection, sent together. `answer` receives their results once all have ended, or the first
 * error; `note` is called when the connection is no longer good. Returns the effect to run on interruption.
 */
const startQueries = (
  client: pg.PoolClient,
  endpoint: PgEndpoint,
  queries: ReadonlyArray<SessionQuery>,
  note: (health: Health) => void,
  answer: (results: Results) => void
): Effect.Effect<void> => {
  const results: Array<pg.QueryResult> = []
  let failure: Error | undefined
  let unanswered = 0
  let onAnswer = () => {}
  const answered = (error: Error | null, found: ReadonlyArray<pg.QueryResult>): void => {
    if (error === null) results.push(...found)
    else {
      failure ??= error
      if (endsConnection(error)) note("lost")
    }
    unanswered--
    onAnswer()
    if (unanswered === 0)
      answer(failure === undefined ? Effect.succeed(results) : Effect.fail(pgError(failure, "query")))
  }
  const expect = (answers: number): void => {
    unanswered = answers
  }
  sendQueries(client, queries, expect, answered)
  // On interruption, asks the server to cancel one query after the other. The connection may roll back but is not
  // reused, as a late cancellation would hit another query. A server that does not respond is ignored.
  const cancelled: Effect.Effect<void> = Effect.suspend(() => {
    if (unanswered === 0) return Effect.void
    note("cancelled")
    const before = unanswered
    const next = Effect.callback<void>((resume) => {
      if (unanswered < before) resume(Effect.void)
      else onAnswer = () => resume(Effect.void)
    })
    return Effect.promise(() => cancelBackend(client, endpoint)).pipe(
      Effect.andThen(Effect.raceFirst(next, elapsed(CANCEL_TIMEOUT_MS))),
      Effect.andThen(Effect.suspend(() => (unanswered < before ? cancelled : Effect.sync(() => note("lost")))))
    )
  })
  return cancelled
}

const makeSession = (client: pg.PoolClient, endpoint: PgEndpoint): Session => {
  const turn = Semaphore.makeUnsafe(1)
  let health: Health = "good"
  const note = (changed: Health): void => {
    health = changed
  }
  const runAlone = (queries: ReadonlyArray<SessionQuery>): Results =>
    turn.withPermit(Effect.callback((resume) => startQueries(client, endpoint, queries, note, resume)))
  let held: { readonly query: SessionQuery; readonly ended: Parameters<Session["hold"]>[1] } | undefined
  const run = (queries: ReadonlyArray<SessionQuery>): Results => {
    if (held === undefined) return runAlone(queries)
    const { ended, query } = held
    held = undefined
    return runAlone([query, ...queries]).pipe(
      Effect.tapError((error) => Effect.sync(() => ended(error))),
      Effect.map((results) => {
        ended(firstOf(results))
        return results.slice(1)
      })
    )
  }
  let due: ReadonlyArray<string> = []
  let has_ended = false
  const queryAll: Session["queryAll"] = (given) =>
    Effect.suspend(() => {
      if (due.length === 0) return run(given)
      const first = { text: due.join("; "), is_control: true } as const
      const has_begun = due[0] !== "BEGIN"
      due = []
      // Where BEGIN is cancelled, what travels with it runs outside the transaction: only what writes nothing may.
      if (!has_begun && !given.every(({ text }) => /^\s*(select|savepoint)\b/i.test(text)))
        return Effect.andThen(run([first]), run(given))
      return Effect.map(run([first, ...given]), (results) => results.slice(1))
    })
  return {
    client,
    queryAll,
    query: (given) => Effect.map(queryAll([given]), firstOf),
    defer: (text) => {
      if (text === "BEGIN") has_ended = false
      due = [...due, text]
    },
    hold: (query, ended) => {
      if (due.length > 0 || held !== undefined || client.getTransactionStatus() !== "T") return false
      held = { query, ended }
      return true
    },
    dropHeld: () => {
      held = undefined
    },
    commit: (given) =>
      Effect.suspend(() => (due.length === 0 ? Effect.void : queryAll([]))).pipe(
        Effect.andThen(Effect.suspend(() => run([...given, { text: "COMMIT", is_control: true }]))),
        Effect.onExit(() => Effect.sync(() => void (has_ended = client.getTransactionStatus() === "I"))),
        Effect.uninterruptible
      ),
    hasEnded: () => {
      const is_unsent = due[0] === "BEGIN"
      due = []
      return is_unsent || has_ended
    },
    isInTransaction: () => due[0] === "BEGIN" || client.getTransactionStatus() !== "I",
    health: () => health,
    release: Effect.sync(() => giveBack(client, health))
  }
}

/** Returns the connection to the pool, which closes it unless it is good and outside a transaction. */
const giveBack = (client: pg.PoolClient, health: Health): void => {
  // The driver would wait for answers to queries already sent.
  if (health === "lost") client.connection.stream.destroy()
  client.release(health !== "good" || client.getTransactionStatus() !== "I")
}

/** Runs queries together on a connection of the pool, as a session does, in one step: half of the processor time. */
const queryOnce = (pool: pg.Pool, endpoint: PgEndpoint, queries: ReadonlyArray<SessionQuery>): Results =>
  Effect.callback((resume) => {
    let health: Health = "good"
    let isAbandoned = false
    let stopped = Effect.void
    pool.connect((error, client) => {
      if (client === undefined) return resume(Effect.fail(pgError(error, "connect")))
      if (isAbandoned) return client.release()
      let isReleased = false
      const release = (): void => {
        if (!isReleased) giveBack(client, health)
        isReleased = true
      }
      const note = (changed: Health): void => {
        health = changed
      }
      const cancelled = startQueries(client, endpoint, queries, note, (results) => {
        // A cancelled query's connection is released once the cancellation has ended.
        if (health === "cancelled") return
        release()
        resume(results)
      })
      stopped = Effect.ensuring(cancelled, Effect.sync(release))
    })
    return Effect.suspend(() => {
      isAbandoned = true
      return stopped
    })
  })

/** Short queries on one connection at most, so that none waits for many others. */
const SHARED_MAX = 32

/**
 * Runs short queries on connections of the pool, equal ones that come in one turn of the process together. Interrupted
 * ones are not cancelled on the server; a connection is closed if all its readers were interrupted.
 */
const makeShared = (pool: pg.Pool, endpoint: PgEndpoint): ((query: SessionQuery) => Results) => {
  interface Waiting {
    readonly query: SessionQuery
    readonly answer: (results: Results) => void
    isAbandoned: boolean
    isAnswered: boolean
    abandoned: () => void
  }
  let waiting: Array<Waiting> = []
  const send = (queries: ReadonlyArray<Waiting>): void =>
    pool.connect((error, client) => {
      if (client === undefined) {
        for (const { answer } of queries) answer(Effect.fail(pgError(error, "connect")))
        return
      }
      let health: Health = "good"
      let unanswered = queries.length
      const { stream } = client.connection
      // If all its readers were interrupted, a connection is closed, in case it never answers.
      const closeIfUnwanted = (): void => {
        if (unanswered === 0 || queries.some(({ isAbandoned, isAnswered }) => !isAbandoned && !isAnswered)) return
        setTimeout(() => {
          if (unanswered > 0) stream.destroy()
        }, CANCEL_TIMEOUT_MS)
      }
      stream.cork()
      for (const one of queries) {
        one.abandoned = closeIfUnwanted
        startQueries(
          client,
          endpoint,
          [one.query],
          (changed) => (health = changed),
          (results) => {
            one.isAnswered = true
            if (--unanswered === 0) giveBack(client, health)
            else closeIfUnwanted()
            one.answer(results)
          }
        )
      }
      stream.uncork()
      closeIfUnwanted()
    })
  const sendAll = (): void => {
    const wanted = waiting.filter(({ isAbandoned }) => !isAbandoned)
    waiting = []
    // Reads of other tables do not wait for a locked one.
    for (const queries of Map.groupBy(wanted, ({ query }) => query.text).values())
      for (let at = 0; at < queries.length; at += SHARED_MAX) send(queries.slice(at, at + SHARED_MAX))
  }
  return (query) =>
    Effect.callback((resume) => {
      const one: Waiting = { query, answer: resume, isAbandoned: false, isAnswered: false, abandoned: () => {} }
      if (waiting.push(one) === 1) setImmediate(sendAll)
      return Effect.sync(() => {
        one.isAbandoned = true
        one.abandoned()
      })
    })
}

/** Runs queries outside transactions on connections of the pool. */
export const queriesOn = (pool: pg.Pool, endpoint: PgEndpoint) => ({
  once: (queries: ReadonlyArray<SessionQuery>) => queryOnce(pool, endpoint, queries),
  shared: makeShared(pool, endpoint)
})

/** Whether the error ended the connection: the server's last message, or the driver's. */
const endsConnection = (error: Error): boolean =>
  !(error instanceof pg.DatabaseError) || error.severity === "FATAL" || error.severity === "PANIC"

/** Requests cancellation of the running statement over a separate connection. Best effort: never fails. */
const cancelBackend = async (client: pg.PoolClient, endpoint: PgEndpoint): Promise<void> => {
  const pid = "processID" in client ? client.processID : undefined
  const other = new pg.Client({ ...connectionConfig(endpoint), connectionTimeoutMillis: CANCEL_TIMEOUT_MS })
  other.on("error", () => {})
  try {
    await other.connect()
    await other.query("select pg_cancel_backend($1)", [pid])
  } catch {
    // If the server is unreachable, closing the session's own connection ends its transaction.
  } finally {
    await other.end().catch(() => {})
  }
}

/** Waits in real time, even with a test clock. */
const elapsed = (ms: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * "Listening" is sent at the start and after each reconnection: notifications in between are lost, so the reader must
 * read the current state. "Notified" has the sender's payload.
 */
type Notice = { readonly _tag: "Listening" } | { readonly _tag: "Notified"; readonly payload: string }

interface ListenOptions {
  readonly url: string
  readonly channel: string
  /** Milliseconds before the first reconnection; doubled for each further one up to 5 s. Default: 100. */
  readonly reconnect_after_ms?: number
}

const RECONNECT_AT_MOST_MS = 5_000
const ANSWER_TIMEOUT_MS = 10_000
/** Queue length: notices only say that something changed, so the oldest may be dropped. */
const NOTICES_KEPT = 1_024

/**
 * Notifications (`NOTIFY`) of a channel, over a separate connection that reconnects until the stream's reader stops.
 * Never fails, even while the database is unreachable.
 */
export const listen = (options: ListenOptions): Stream.Stream<Notice> =>
  Stream.callback<Notice>((notices) => keepListening(options, notices), {
    bufferSize: NOTICES_KEPT,
    strategy: "sliding"
  })

const keepListening = (options: ListenOptions, notices: Queue.Enqueue<Notice>): Effect.Effect<never> => {
  const first_ms = options.reconnect_after_ms ?? 100
  const longer = Schedule.min([Schedule.exponential(first_ms), Schedule.spaced(RECONNECT_AT_MOST_MS)])
  return Effect.scoped(listenOnce(options, notices)).pipe(
    Effect.repeat({ schedule: longer, until: (hasListened) => hasListened }),
    Effect.andThen(Effect.sleep(first_ms)),
    Effect.forever
  )
}

/** Runs one connection until it ends; returns whether it ever listened. */
const listenOnce = Effect.fnUntraced(function* (options: ListenOptions, notices: Queue.Enqueue<Notice>) {
  const endpoint = { url: options.url, connection_timeout_ms: ANSWER_TIMEOUT_MS }
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new pg.Client({ ...connectionConfig(endpoint), query_timeout: ANSWER_TIMEOUT_MS })),
    (client) => Effect.promise(() => client.end().catch(() => {}))
  )
  const broken = new Promise<void>((resolve) => client.on("error", () => resolve()).on("end", () => resolve()))
  client.on("notification", ({ payload }) => Queue.offerUnsafe(notices, { _tag: "Notified", payload: payload ?? "" }))
  const succeeds = (f: () => Promise<unknown>) =>
    Effect.promise(() =>
      f().then(
        () => true,
        () => false
      )
    )

  const isListening = yield* succeeds(async () => {
    await client.connect()
    await client.query(`LISTEN ${client.escapeIdentifier(options.channel)}`)
  })
  if (!isListening) return false
  Queue.offerUnsafe(notices, { _tag: "Listening" })
  const silent = Effect.gen(function* () {
    do yield* Effect.sleep(30_000)
    while (yield* succeeds(() => client.query("select 1")))
  })
  yield* Effect.raceFirst(
    Effect.promise(() => broken),
    silent
  )
  return true
})
