import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import pg from "pg"
import { connectionConfig } from "./session.ts"

/**
 * "Listening" is said at the start and after every reconnection: what was notified meanwhile is lost, so read what
 * there is to read. "Notified" carries the sender's payload.
 */
export type Notice = { readonly _tag: "Listening" } | { readonly _tag: "Notified"; readonly payload: string }

export interface ListenOptions {
  readonly url: string
  readonly channel: string
  /** The wait before the first try to reconnect; doubled with every further one up to 5 s. 100 by default. */
  readonly reconnect_after_ms?: number
  /** How often a silent connection is asked whether it still lives; 30,000 by default. */
  readonly heartbeat_ms?: number
}

const RECONNECT_AT_MOST_MS = 5_000
const ANSWER_TIMEOUT_MS = 10_000
/** A notice says that there is news, not what: a reader this far behind loses nothing with the oldest. */
const NOTICES_KEPT = 1_024

/**
 * What `NOTIFY` sends on a channel, over a connection of its own that is made again whenever it breaks, until the
 * stream's reader stops. Never fails: an unreachable database is silent.
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

/** One connection's life. Answers, when it has ended, whether it had come to listen at all. */
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
    do yield* Effect.sleep(options.heartbeat_ms ?? 30_000)
    while (yield* succeeds(() => client.query("select 1")))
  })
  yield* Effect.raceFirst(
    Effect.promise(() => broken),
    silent
  )
  return true
})
