/**
 * The one reader of a process: it looks once after commits, however many streams there are, and reads what came after
 * the row it read last. Rows become visible in the order of their ids, as whoever writes them sees to.
 */
import { Clock, type Context, Effect, Latch } from "effect"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/failure.ts"
import type { Store } from "../../../core/kernel/store/store.ts"
import { ServerContext } from "../../server-context.ts"
import type { Frame } from "./frames.ts"
import type { Listener, Listeners, Who } from "./listeners.ts"
import { framesFor, lastId, rows_at_once, rowsAfter } from "./rows.ts"
import { endWhoMayNot } from "./standing.ts"

/** Tokens and accounts are looked at after commits, at most this often. */
const standing_millis = 1_000
/** And at least this often. */
const idle_millis = 15_000
/** After a look: what is committed meanwhile is read by the next one. */
const pause_millis = 50
const failed_pause_millis = 1_000

export type Needs = Store | CommandRuntime | ServerContext
export interface Reader {
  /** Reads for as long as the server runs. */
  readonly work: Effect.Effect<never, never, Needs>
  /** What its work was given; undefined before it has begun. */
  readonly needs: () => Context.Context<Needs> | undefined
  readonly join: (who: Who) => Listener
  readonly leave: (listener: Listener) => void
  /** After which row what is new begins, once that is known. */
  readonly begun: Effect.Effect<number>
}

export const makeReader = (listeners: Listeners): Reader => {
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
