/** Concurrent requests at the simulated server, interleaved at random, statement by statement. */
import { Effect } from "effect"
import { type Random, randomOf } from "./random.ts"
import type { FaultCounts } from "./faults.ts"

interface InFlightRequests {
  /** Waits before each statement, except while a request is alone. */
  readonly turn: Effect.Effect<void>
  readonly begin: (request: Promise<unknown>) => void
  readonly end: (request: Promise<unknown>) => void
  readonly isEmpty: () => boolean
  /** Resolves when all current requests have ended. */
  readonly settled: () => Promise<unknown>
  /** Records an unexpected failure, which `assertSound` throws. */
  readonly failed: (error: unknown) => void
  readonly assertSound: () => void
}

export const makeInFlightRequests = (random: Random, tally: FaultCounts): InFlightRequests => {
  const requests = new Set<Promise<unknown>>()
  const turns = randomOf(random.below(0x7fffffff))
  let unexpected: unknown
  return {
    turn: Effect.suspend(() => {
      let turn: Effect.Effect<void> = Effect.void
      for (let left = requests.size < 2 ? 0 : turns.below(4); left > 0; left--)
        turn = Effect.andThen(turn, Effect.yieldNow)
      return turn
    }),
    begin: (request) => {
      if (requests.size > 0) tally.met++
      requests.add(request)
    },
    end: (request) => {
      requests.delete(request)
    },
    isEmpty: () => requests.size === 0,
    settled: () => Promise.allSettled([...requests]),
    failed: (error) => {
      unexpected ??= error
    },
    assertSound: () => {
      if (unexpected !== undefined) throw unexpected
    }
  }
}
