/** What people are told of, handed to the programs that listen for it. */
import { Clock, Context, Effect, Latch, Queue, Stream } from "effect"
import { columnList } from "../../../../core/kernel/store/statement.ts"
import { type Failure, Store } from "../../../../core/kernel/store/store.ts"
import { readerOf, shownRows } from "../api.ts"
import { type NotificationRow, notifications } from "../schema.ts"
import type { Frame, Listener, Listeners, Who } from "./listeners.ts"
import {
  endWhoMayNot,
  frameOf,
  keep_alive,
  makeListeners,
  opening,
  per_process_max,
  per_token_max,
  stream_ability
} from "./listeners.ts"
import { ServerContext, userById } from "../../../ports/server-context.ts"
import { Rejection } from "../../../../core/kernel/fields/rejection.ts"
import { type Answer, type CommandRuntime, get } from "../../../../core/kernel/endpoints/endpoint.ts"
import { integer } from "../../../../core/kernel/fields/field.ts"
import type { ServerCall, ServerEndpoint } from "../../../ports/server-slice.ts"

// Rows of `notifications` for streams, and what is sent of them.

const rows_at_once = 500

/** The next ones after a row, in their order; of one person, or of all. */
const rowsAfter = Effect.fnUntraced(function* (
  last: number,
  user_id?: number
): Effect.fn.Return<ReadonlyArray<NotificationRow>, Failure, Store> {
  const store = yield* Store
  const { sql } = store
  const rows = yield* sql`
    select ${sql.literal(columnList(notifications))} from notifications
    where id > ${last} ${user_id === undefined ? sql.literal("") : sql`and user_id = ${user_id}`} order by id
    limit ${rows_at_once}`
  return rows.map((row) => store.decode(notifications, row))
})

/** The newest there is; 0 where there is none. */
const lastId: Effect.Effect<number, Failure, Store> = Effect.flatMap(Store, (store) =>
  Effect.map(store.run<{ last: number | null }>(`select max(id) as last from ${notifications.name}`), ([row]) =>
    Number(row?.last ?? 0)
  )
)

/** Those of these rows that this person may see, as bytes. */
const framesFor = Effect.fnUntraced(function* (
  user_id: number,
  rows: ReadonlyArray<NotificationRow>
): Effect.fn.Return<ReadonlyArray<Frame>, Failure, Store | CommandRuntime> {
  const user = rows.length === 0 ? undefined : yield* userById(user_id)
  if (user === undefined) return []
  const shown = yield* shownRows(rows, readerOf(user))
  return shown.map((one) => frameOf(one.id, one.shown))
})

// The one reader of a process: it looks once after commits, however many streams there are, and reads what came after
// the row it read last. Rows become visible in the order of their ids, as whoever writes them sees to.

/** Tokens and accounts are looked at after commits, at most this often. */
const standing_millis = 1_000
/** And at least this often. */
const idle_millis = 15_000
/** After a look: what is committed meanwhile is read by the next one. */
const pause_millis = 50
const failed_pause_millis = 1_000

type Needs = Store | CommandRuntime | ServerContext
interface Reader {
  /** Reads for as long as the server runs. */
  readonly work: Effect.Effect<never, never, Needs>
  /** What its work was given; undefined before it has begun. */
  readonly needs: () => Context.Context<Needs> | undefined
  readonly join: (who: Who) => Listener
  readonly leave: (listener: Listener) => void
  /** After which row what is new begins, once that is known. */
  readonly begun: Effect.Effect<number>
}

const makeReader = (listeners: Listeners): Reader => {
  const woken = Latch.makeUnsafe(false)
  /** Open once it is known after which row what is new begins. */
  const begun = Latch.makeUnsafe(false)
  let has_begun = false
  let last = 0
  /** One more each time nobody is left: what was being read then is for nobody. */
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
      // What came after a token was revoked is not told by it, however soon it came.
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

/** Wakes the reader after commits, and ends all streams when the server stops; gives the way to end both. */
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

/** One look, and the wait until there is something to look at. */
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
    // A change that came right after a check is looked at a moment later.
    const wait = since < standing_millis ? standing_millis - since : idle_millis
    yield* Effect.raceFirst(woken.await, Effect.sleep(wait))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logWarning("notifications could not be read", cause), Effect.sleep(failed_pause_millis))
    )
  )
}

/** A silent stream says this often that it lives; proxies close what is silent for a minute. */
const keep_alive_millis = 15_000

interface Hub {
  /** Refused where there are too many already. It ends with the server, and with its token or account. */
  readonly listen: (who: Who) => Effect.Effect<Stream.Stream<Uint8Array>, Rejection>
  /** Reads for all of them, for as long as the server runs. */
  readonly work: Reader["work"]
}

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
const refusalOf = (listeners: Listeners, { token_id }: Who): Rejection | undefined =>
  listeners.count() >= per_process_max
    ? tooManyHere
    : listeners.ofToken(token_id) >= per_token_max
      ? tooManyOfToken
      : undefined

type Out = Queue.Enqueue<Uint8Array>

/** Where what is to be sent begins: after the row the client knows, or after what is there. */
const knownTo = Effect.fnUntraced(function* ({ after }: Listener, last: number) {
  // The reader may not have read yet what was committed before this one came.
  if (after === undefined) return Math.max(last, yield* lastId)
  // One beyond the newest is of another history: a restored database has begun its ids anew.
  return after <= last || after <= (yield* lastId) ? after : last
})

/** Sends what came after a row, from the table; answers the last one there is. */
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

/** Sends to one listener, as fast as it reads. */
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
          (queue) =>
            Effect.gen(function* () {
              // Others may have come between the answer's head and this.
              if (refusalOf(listeners, who) === undefined) {
                const listener = yield* listening(who)
                yield* Effect.raceFirst(sent(listener, reader.begun, queue), listener.ended.await).pipe(
                  Effect.provideContext(needs),
                  // Its client comes back, and goes on after what it got.
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

// `GET /notifications/stream`: what its caller is told of as it comes, by server-sent events.

const stream_name = "notifications.stream"
const fields = {
  after: integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    describe: "The last one known: what came after it is sent first. The header Last-Event-ID comes before it"
  })
}

/** The id of the last event that a client got before it connected again. */
const LastEventId = Context.Reference<number | undefined>("flightcase/server/LastEventId", {
  defaultValue: () => undefined
})
/** Endpoints are given no headers of their request: this one gets the one it needs. */
export const withLastEventId = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> => {
  if (call.endpoint.name !== stream_name) return next
  const given = call.headers["last-event-id"]
  // Anything else is of another server.
  return typeof given === "string" && /^\d{1,15}$/.test(given)
    ? Effect.provideService(next, LastEventId, Number(given))
    : next
}

export const streamEndpoint = (hub: Hub) =>
  get("/api/v1/notifications/stream", {
    name: stream_name,
    summary: "Stream your notifications as server-sent events named notification, with their ids",
    ability: stream_ability,
    permission: null,
    server_only: true,
    fields,
    produces: "text/event-stream",
    error_answers: { 503: null },
    answer_headers: { "X-Accel-Buffering": "no: proxies are to pass on each event as it comes" },
    run: ({ values, viewer }) =>
      Effect.gen(function* () {
        const after = (yield* LastEventId) ?? values.after
        const stream = yield* hub.listen({ user_id: viewer.user_id, token_id: viewer.token_id, after })
        return {
          status: 200,
          streamed: { type: "text/event-stream", size_bytes: undefined, open: () => Effect.succeed(stream) },
          headers: { "x-accel-buffering": "no" }
        }
      })
  })
