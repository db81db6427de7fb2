/** Streams new notifications to the listening clients of this process. */
import { Clock, Context, Effect, Latch, Queue, Stream } from "effect"
import { get, integer, Rejection, Store } from "../../../../core/kernel/index.ts"
import type { Answer, CommandRuntime, Failure } from "../../../../core/kernel/index.ts"
import { readerOf, shownRows } from "../api.ts"
import { type NotificationRow, notifications } from "../schema.ts"
import type { Frame, Listener, Listeners, Who } from "./listeners.ts"
import { endWhoMayNot, frameOf, keep_alive, makeListeners, opening, stream_ability } from "./listeners.ts"
import { ServerContext, userById } from "../../../ports/server-context.ts"
import type { ServerCall, ServerEndpoint } from "../../../ports/server-slice.ts"

// Rows of `notifications` for streams, and their encoding.

const rows_at_once = 500

/** Next rows after an id, in id order; of one user, or of all. */
const rowsAfter = Effect.fnUntraced(function* (
  last: number,
  user_id?: number
): Store.Reads<ReadonlyArray<NotificationRow>> {
  return yield* Store.select(
    notifications,
    (sql) => sql`where id > ${last} ${user_id === undefined ? sql.literal("") : sql`and user_id = ${user_id}`}
    order by id limit ${rows_at_once}`
  )
})

/** Id of the newest row; 0 without rows. */
const lastId: Effect.Effect<number, Failure, Store> = Effect.flatMap(Store, (store) =>
  Effect.map(store.run<{ last: number | null }>(`select max(id) as last from ${notifications.name}`), ([row]) =>
    Number(row?.last ?? 0)
  )
)

/** Encodes the rows this user may see as server-sent events. */
const framesFor = Effect.fnUntraced(function* (
  user_id: number,
  rows: ReadonlyArray<NotificationRow>
): CommandRuntime.Reads<ReadonlyArray<Frame>> {
  const user = rows.length === 0 ? undefined : yield* userById(user_id)
  if (user === undefined) return []
  const shown = yield* shownRows(rows, readerOf(user))
  return shown.map((one) => frameOf(one.id, one.shown))
})

// The single reader of this process: it queries once after commits, for all streams, from the last row read. Rows
// become visible in id order, as their writers ensure.

/** Minimum interval between checks of tokens and accounts after commits. */
const standing_millis = 1_000
/** Maximum interval between checks of tokens and accounts. */
const idle_millis = 15_000
/** Pause after a query, so that the next one covers several commits. */
const pause_millis = 50
const failed_pause_millis = 1_000

type Needs = Store | CommandRuntime | ServerContext
interface Reader {
  /** Reads new rows until the server stops. */
  readonly work: Effect.Effect<never, never, Needs>
  /** Dependencies of the reader; undefined before it starts. */
  readonly needs: () => Context.Context<Needs> | undefined
  readonly join: (who: Who) => Listener
  readonly leave: (listener: Listener) => void
  /** Id after which rows count as new; waits until it is known. */
  readonly begun: Effect.Effect<number>
}

const makeReader = (listeners: Listeners): Reader => {
  const woken = Latch.makeUnsafe(false)
  /** Opens once the start of new rows is known. */
  const begun = Latch.makeUnsafe(false)
  let has_begun = false
  let last = 0
  /** Incremented when the last listener leaves, which invalidates a read in progress. */
  let times_empty = 0
  let needs: Context.Context<Needs> | undefined

  const look: Effect.Effect<void, Failure, Needs> = Effect.gen(function* () {
    while (listeners.count() > 0) {
      const before = times_empty
      if (!has_begun) {
        const newest = yield* lastId
        if (before !== times_empty) continue
        last = newest
        has_begun = true
        begun.openUnsafe()
        return
      }
      const rows = yield* rowsAfter(last)
      const heard = rows.filter(({ is_broadcast, user_id }) => is_broadcast && listeners.ofUser(user_id).size > 0)
      const given: Array<readonly [number, ReadonlyArray<Frame>]> = []
      for (const [user_id, own] of Map.groupBy(heard, (row) => row.user_id))
        given.push([user_id, yield* framesFor(user_id, own)])
      // Revoked tokens deliver nothing recorded after the revocation.
      const listening = [...new Set(heard.map(({ user_id }) => user_id))].flatMap((id) => [...listeners.ofUser(id)])
      yield* endWhoMayNot(listening, yield* Clock.currentTimeMillis)
      if (before !== times_empty) continue
      for (const [user_id, frames] of given) listeners.give(user_id, frames)
      last = rows.at(-1)?.id ?? last
      if (rows.length < rows_at_once) return
    }
  })

  return {
    work: Effect.gen(function* () {
      needs = yield* Effect.context<Needs>()
      const stop = endingWith(yield* ServerContext, listeners, woken)
      return yield* Effect.ensuring(Effect.forever(turns(look, listeners, woken)), Effect.sync(stop))
    }),
    needs: () => needs,
    begun: Effect.map(begun.await, () => last),
    join: (who) => {
      const listener = listeners.join(who)
      woken.openUnsafe()
      return listener
    },
    leave: (listener) => {
      listeners.leave(listener)
      if (listeners.count() > 0) return
      times_empty++
      has_begun = false
      begun.closeUnsafe()
    }
  }
}

/** Wakes the reader after commits, and ends all streams on shutdown; returns the function that ends both. */
const endingWith = (
  { isStopping, onCommit }: ServerContext["Service"],
  listeners: Listeners,
  woken: Latch.Latch
): (() => void) => {
  const endAll = (): void => {
    for (const listener of listeners.all()) listener.ended.openUnsafe()
  }
  const stop = onCommit(() => {
    woken.openUnsafe()
    if (isStopping()) endAll()
  })
  return () => {
    stop()
    endAll()
  }
}

/** Runs one query and waits for the next. */
const turns = (
  look: Effect.Effect<void, Failure, Needs>,
  listeners: Listeners,
  woken: Latch.Latch
): Effect.Effect<void, never, Needs> => {
  let checked_millis = Number.NEGATIVE_INFINITY
  return Effect.gen(function* () {
    woken.closeUnsafe()
    yield* look
    const since = performance.now() - checked_millis
    if (since >= standing_millis) {
      checked_millis = performance.now()
      yield* endWhoMayNot(listeners.all(), yield* Clock.currentTimeMillis)
    }
    yield* Effect.sleep(pause_millis)
    // A change right after a check is found by the next check, within the minimum interval.
    const wait = since < standing_millis ? standing_millis - since : idle_millis
    yield* Effect.raceFirst(woken.await, Effect.sleep(wait))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logWarning("notifications could not be read", cause), Effect.sleep(failed_pause_millis))
    )
  )
}

/** Keep-alive interval of silent streams; proxies close them after a minute. */
const keep_alive_millis = 15_000

interface Hub {
  /** Opens a stream; rejects above the limit of streams. Ends with the server, its token or its account. */
  readonly listen: (who: Who) => Effect.Effect<Stream.Stream<Uint8Array>, Rejection>
  /** Reads new rows for all listeners until the server stops. */
  readonly work: Reader["work"]
}

const per_token_max = 10

const tooManyOfToken = new Rejection({
  kind: "too_many",
  message:
    `This token has ${per_token_max} streams of notifications open, as many as one may have; ` +
    `end one of them first.`,
  headers: { "retry-after": "30" }
})
const tooManyHere = new Rejection({
  kind: "unavailable",
  message: "The server has as many streams of notifications as it takes; try again.",
  headers: { "retry-after": "30" }
})
const per_process_max = 1_000

const refusalOf = (listeners: Listeners, { token_id }: Who): Rejection | undefined =>
  listeners.count() >= per_process_max
    ? tooManyHere
    : listeners.ofToken(token_id) >= per_token_max
      ? tooManyOfToken
      : undefined

type Out = Queue.Enqueue<Uint8Array>

/** Id after which a new stream sends rows: the client's last id, or the newest row's. */
const knownTo = Effect.fnUntraced(function* ({ after }: Listener, last: number) {
  // The reader may lag behind the last commit.
  if (after === undefined) return Math.max(last, yield* lastId)
  // A larger id comes from another history: a restored database restarts its ids.
  return after <= last || after <= (yield* lastId) ? after : last
})

/** Sends the rows after an id from the table; returns the last id sent. */
const caughtUp = Effect.fnUntraced(function* (
  after: number,
  listener: Listener,
  out: Out
): Effect.fn.Return<number, Failure, Needs> {
  const { user_id } = listener
  for (let known = after; ;) {
    const rows = yield* rowsAfter(known, user_id)
    const frames = yield* framesFor(
      user_id,
      rows.filter((row) => row.is_broadcast)
    )
    yield* endWhoMayNot([listener], yield* Clock.currentTimeMillis)
    if (listener.is_over) return yield* Effect.never
    for (const { bytes } of frames) yield* Queue.offer(out, bytes)
    known = rows.at(-1)?.id ?? known
    if (rows.length < rows_at_once) return known
  }
})

/** Sends queued rows to one listener, as fast as it reads. */
const sent = Effect.fnUntraced(function* (
  listener: Listener,
  begun: Reader["begun"],
  out: Out
): Effect.fn.Return<never, Failure, Needs> {
  let known = yield* knownTo(listener, yield* begun)
  yield* Queue.offer(out, opening)
  if (listener.after !== undefined) known = yield* caughtUp(known, listener, out)
  for (;;) {
    listener.news.closeUnsafe()
    if (listener.is_behind) {
      listener.is_behind = false
      known = yield* caughtUp(known, listener, out)
    }
    for (const { bytes, id } of listener.waiting.splice(0)) {
      if (id <= known) continue
      yield* Queue.offer(out, bytes)
      known = id
    }
    const is_quiet = yield* Effect.raceFirst(
      Effect.as(listener.news.await, false),
      Effect.as(Effect.sleep(keep_alive_millis), true)
    )
    if (is_quiet) yield* Queue.offer(out, keep_alive)
  }
})

export const makeHub = (): Hub => {
  const listeners = makeListeners()
  const reader = makeReader(listeners)
  const listening = (who: Who) =>
    Effect.acquireRelease(
      Effect.sync(() => reader.join(who)),
      (listener) => Effect.sync(() => reader.leave(listener))
    )
  return {
    work: reader.work,
    listen: (who) =>
      Effect.suspend(() => {
        const needs = reader.needs()
        const refusal = refusalOf(listeners, who)
        if (needs === undefined || refusal !== undefined) return Effect.fail(refusal ?? tooManyHere)
        const stream = Stream.callback<Uint8Array>(
          Effect.fnUntraced(function* (queue) {
            // Other streams may have begun since the first check.
            if (refusalOf(listeners, who) === undefined) {
              const listener = yield* listening(who)
              yield* Effect.raceFirst(sent(listener, reader.begun, queue), listener.ended.await).pipe(
                Effect.provideContext(needs),
                // The client reconnects and resumes after its last id.
                Effect.catchCause((cause) => Effect.logWarning("a stream of notifications ended", cause))
              )
            }
            yield* Queue.end(queue)
          }),
          { bufferSize: 16, strategy: "suspend" }
        )
        return Effect.succeed(stream)
      })
  }
}

// `GET /notifications/stream`: the caller's notifications as server-sent events.

const stream_name = "notifications.stream"
const fields = {
  after: integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    describe: "Last received id; newer notifications are sent first. The header Last-Event-ID takes precedence"
  })
}

/** Value of `Last-Event-ID`: the last event the client received before reconnecting. */
const LastEventId = Context.Reference<number | undefined>("flightcase/server/LastEventId", {
  defaultValue: () => undefined
})
/** Passes `Last-Event-ID` to the stream's endpoint, as endpoints receive no request headers. */
export const withLastEventId = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> => {
  if (call.endpoint.name !== stream_name) return next
  const given = call.headers["last-event-id"]
  // Other values cannot come from this server.
  return typeof given === "string" && /^\d{1,15}$/.test(given)
    ? Effect.provideService(next, LastEventId, Number(given))
    : next
}

export const streamEndpoint = (hub: Hub) =>
  get("/api/v1/notifications/stream", {
    name: stream_name,
    summary: "Stream your notifications as server-sent events",
    ability: stream_ability,
    permission: null,
    server_only: true,
    fields,
    produces: "text/event-stream",
    error_answers: { 503: null },
    run: Effect.fnUntraced(function* ({ values, viewer }) {
      const after = (yield* LastEventId) ?? values.after
      const stream = yield* hub.listen({ user_id: viewer.user_id, token_id: viewer.token_id, after })
      return {
        status: 200,
        streamed: { type: "text/event-stream", size_bytes: undefined, open: () => Effect.succeed(stream) }
      }
    })
  })
