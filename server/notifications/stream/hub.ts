/** What people are told of, handed to the programs that listen for it. */
import { Clock, Effect, Queue, Stream } from "effect"
import type { Failure } from "../../../core/kernel/failure.ts"
import { Rejection } from "../../../core/kernel/rejection.ts"
import { keep_alive, opening } from "./frames.ts"
import { type Listener, type Listeners, makeListeners, per_process_max, per_token_max, type Who } from "./listeners.ts"
import { makeReader, type Needs, type Reader } from "./reader.ts"
import { framesFor, lastId, rows_at_once, rowsAfter } from "./rows.ts"
import { endWhoMayNot } from "./standing.ts"

/** A silent stream says this often that it lives; proxies close what is silent for a minute. */
const keep_alive_millis = 15_000

export interface Hub {
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
