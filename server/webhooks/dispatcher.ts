/**
 * Sends what is due, in every server: at most 32 attempts at a time, two for each webhook, in turn, so that a slow
 * receiver holds up nobody else. It sleeps until something is due or it is woken.
 */
import { randomUUID } from "node:crypto"
import { Cause, Clock, Effect, Queue, type Scope } from "effect"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { ServerContext } from "../server-context.ts"
import { attemptDelivery, type AttemptOptions } from "./attempt.ts"
import {
  claim,
  type Claimed,
  dueWebhooks,
  in_flight_per_webhook,
  nextDue,
  releaseClaim,
  releaseClaimsOfTheDead,
  renewClaims
} from "./claims.ts"

const in_flight_max = 32
/** Other servers may have queued something, and died. */
const look_again_millis = 10_000
/** Something is due, but two attempts of that webhook are in flight, perhaps at another server. */
const look_again_soon_millis = 1_000
const renew_every_millis = 3_000
const after_failure_millis = 1_000

type Working = Store | CommandRuntime | ServerContext

export interface Dispatcher {
  /** Something became due. */
  readonly wake: () => void
  readonly run: Effect.Effect<void, Failure, Working | Scope.Scope>
  /** Attempts in flight here. */
  readonly inFlight: () => number
}

export const makeDispatcher = (options: AttemptOptions): Dispatcher => {
  const server_id = randomUUID()
  /** Webhook ids by the deliveries in flight here. */
  const in_flight = new Map<string, number>()
  const woken = Effect.runSync(Queue.sliding<void>(1))
  const wake = (): void => {
    Queue.offerUnsafe(woken, undefined)
  }
  let last_served = 0

  const attempt = ({ delivery, webhook }: Claimed): Effect.Effect<void, never, Working> =>
    attemptDelivery(options, delivery, webhook).pipe(
      // Not recorded, it is made again: by another server, or by the next start.
      Effect.onError(() => Effect.ignore(releaseClaim(delivery.key, server_id))),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.logWarning(`webhook ${webhook.id}: an attempt was not recorded`, cause)
      ),
      Effect.ensuring(
        Effect.sync(() => {
          in_flight.delete(delivery.key)
          wake()
        })
      )
    )

  /** Starts what may be started now; how long to sleep until the next look. */
  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const due = in_flight.size < in_flight_max ? yield* dueWebhooks(now) : []
    // In turn: those after the one that was served last come first.
    const in_turn = [...due.filter((id) => id > last_served), ...due.filter((id) => id <= last_served)]
    for (const webhook_id of in_turn) {
      const own = [...in_flight.values()].filter((id) => id === webhook_id).length
      const room = Math.min(in_flight_max - in_flight.size, in_flight_per_webhook - own)
      if (room <= 0) continue
      for (const claimed of yield* claim(webhook_id, server_id, room, now)) {
        last_served = webhook_id
        in_flight.set(claimed.delivery.key, webhook_id)
        yield* Effect.forkScoped(attempt(claimed), { startImmediately: true })
      }
    }
    // An attempt that ends wakes it earlier.
    if (due.length > 0) return look_again_soon_millis
    const next = yield* nextDue(now)
    return next === undefined ? look_again_millis : Math.min(look_again_millis, Math.max(next - now, 1))
  })

  const renewing = Effect.gen(function* () {
    yield* Effect.sleep(renew_every_millis)
    if (in_flight.size > 0) yield* renewClaims(server_id, [...in_flight.keys()], yield* Clock.currentTimeMillis)
  })
  const dispatching = Effect.flatMap(round, (millis) => Effect.asVoid(Effect.timeoutOption(Queue.take(woken), millis)))
  return {
    wake,
    inFlight: () => in_flight.size,
    run: Effect.gen(function* () {
      yield* releaseClaimsOfTheDead
      yield* Effect.forkScoped(goingOn(renewing))
      yield* goingOn(dispatching)
    })
  }
}

const goingOn = <R>(work: Effect.Effect<void, Failure, R>): Effect.Effect<never, never, R> =>
  Effect.forever(
    Effect.catchCause(work, (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.andThen(Effect.logWarning("webhooks wait", cause), Effect.sleep(after_failure_millis))
    )
  )
