/** Possible faults in a world, their frequency, and other parameters. */
import { Clock, Effect } from "effect"
import type { Answer, Failure } from "../../core/kernel/endpoints/endpoint.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/fields/rejection.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import type { Random } from "./random.ts"

/** Probabilities of each fault, per occasion. */
export interface Faults {
  lost_request: number
  lost_reply: number
  /** A device stops waiting while the server still processes its request. */
  given_up: number
  /** A request arrives twice. */
  repeated: number
  /** Commands sent long ago arrive again. */
  late: number
  /** A crash between two steps. */
  crash: number
  /** A crash at some statement within a step. */
  cut_off: number
  /** A crash with a power cut, which tears unsynced data. */
  power: number
  /** The server crashes at some statement of a request. */
  server_cut_off: number
  /** On a continued request the server reports that its history restarted. */
  anew: number
  /** Users work on the server while a device is filled. */
  busy: number
  /** Maximum clock error of a device in either direction; drawn at each start. */
  skew_millis: number
}
export const noFaults: Faults = {
  lost_request: 0,
  lost_reply: 0,
  given_up: 0,
  repeated: 0,
  late: 0,
  crash: 0,
  cut_off: 0,
  power: 0,
  server_cut_off: 0,
  anew: 0,
  busy: 0,
  skew_millis: 0
}
export const faultsOf = (random: Random): Faults => ({
  lost_request: random.next() * 0.2,
  lost_reply: random.next() * 0.2,
  given_up: random.next() * 0.15,
  repeated: random.next() * 0.2,
  late: random.next() * 0.2,
  crash: random.next() * 0.06,
  cut_off: random.next() * 0.12,
  power: random.pick([0, 0.5, 1]),
  server_cut_off: random.next() * 0.06,
  anew: random.happens(0.3) ? 0.15 : 0,
  busy: random.next() * 0.6,
  skew_millis: random.pick([0, 60_000, 3 * 86_400_000, 12 * 86_400_000])
})

/** Faults that occurred in a world: with few, its success proves little. */
export interface FaultCounts {
  /** Requests that reached the server while it processed another. */
  met: number
  /** Database pages that were torn by a power cut. */
  torn_pages: number
}

export const clockAt = (now: () => number): Clock.Clock => {
  const nanos = (): bigint => BigInt(now()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: () => Effect.void
  }
}

/** Turns refusals into results. */
export const told = <A extends Answer, R>(
  effect: Effect.Effect<A, Failure, R>
): Effect.Effect<A | Answer, Failure, R> =>
  Effect.catch(effect, (failure): Effect.Effect<A | Answer, Failure, R> =>
    failure instanceof Rejection
      ? Effect.succeed({ status: statusOf[failure.kind], body: bodyOf(failure) as unknown as JsonObject })
      : Effect.fail(failure)
  )
