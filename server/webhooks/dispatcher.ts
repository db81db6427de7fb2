/**
 * Sends what is due, in every server: at most 32 attempts at a time, two for each webhook, in turn, so that a slow
 * receiver holds up nobody else. It sleeps until something is due or it is woken.
 */
import { randomUUID } from "node:crypto"
import { Cause, Clock, Effect, Queue, Random, type Scope } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { journal } from "../../core/kernel/journal.ts"
import { update } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { ServerContext } from "../server-context.ts"
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
import { firstKeyOf } from "./deliveries.ts"
import type { WebhookKinds } from "./kind.ts"
import { type DisabledReason, recordAttempt, usual_waits_seconds } from "./outcomes.ts"
import { bodiesOf } from "./payloads.ts"
import { type DeliveryRow, webhook_deliveries, type WebhookRow } from "./schema.ts"
import type { Outcome, Send } from "./send.ts"
import { headersOf, secretsOf, webhookSecrets } from "./signing.ts"

const in_flight_max = 32
/** Other servers may have queued something, and died. */
const look_again_millis = 10_000
/** Something is due, but two attempts of that webhook are in flight, perhaps at another server. */
const look_again_soon_millis = 1_000
const renew_every_millis = 3_000
const after_failure_millis = 1_000

/** One attempt, as measurements and metering are told of it. */
export interface AttemptTold {
  readonly webhook_id: number
  readonly user_id: number
  readonly delivery: Pick<DeliveryRow, "event" | "event_id" | "purpose">
  /** Counted from 1; the first of an event is the one that is metered. */
  readonly attempt: number
  readonly outcome: Outcome
  readonly body_bytes: number
  readonly duration_ms: number
}
export interface DispatcherOptions {
  readonly kinds: WebhookKinds
  readonly send: Send
  /** After each attempt, outside of any transaction. */
  readonly attempted: (told: AttemptTold) => Effect.Effect<void, Failure, Store>
  /** In the transaction that turns a webhook off for its failures. */
  readonly disabled: (
    webhook: WebhookRow,
    reason: DisabledReason,
    at: string
  ) => Effect.Effect<void, Failure, Store | CommandRuntime>
}
type Working = Store | CommandRuntime | ServerContext

export interface Dispatcher {
  /** Something became due. */
  readonly wake: () => void
  readonly run: Effect.Effect<void, Failure, Working | Scope.Scope>
  /** Attempts in flight here. */
  readonly inFlight: () => number
}

export const makeDispatcher = (options: DispatcherOptions): Dispatcher => {
  const server_id = randomUUID()
  /** Webhook ids by the deliveries in flight here. */
  const in_flight = new Map<string, number>()
  const woken = Effect.runSync(Queue.sliding<void>(1))
  const wake = (): void => {
    Queue.offerUnsafe(woken, undefined)
  }
  let last_served = 0

  const attempt = ({ delivery, webhook }: Claimed): Effect.Effect<void, never, Working> =>
    Effect.onInterrupt(attemptDelivery(options, delivery, webhook), () =>
      Effect.ignore(releaseClaim(delivery.key, server_id))
    ).pipe(
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
    const next = yield* nextDue(now)
    const longest = due.length > 0 ? look_again_soon_millis : look_again_millis
    return next === undefined ? longest : Math.min(longest, Math.max(next - now, 1))
  })

  const renewing = Effect.gen(function* () {
    yield* Effect.sleep(renew_every_millis)
    if (in_flight.size > 0) yield* renewClaims(server_id, yield* Clock.currentTimeMillis)
  })
  const goingOn = <R>(work: Effect.Effect<void, Failure, R>): Effect.Effect<never, never, R> =>
    Effect.forever(
      Effect.catchCause(work, (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.andThen(Effect.logWarning("webhooks wait", cause), Effect.sleep(after_failure_millis))
      )
    )
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

/** Of a replay, the body that was sent; of what an erasure removed, one made of what is left. */
const bodyAgain = Effect.fnUntraced(function* (kinds: WebhookKinds, delivery: DeliveryRow) {
  const { event: name, position } = delivery
  const store = yield* Store
  const first = delivery.purpose === "replay" ? yield* store.get(webhook_deliveries, firstKeyOf(delivery)) : undefined
  if (typeof first?.body === "string") return first.body
  const event = position === null ? undefined : yield* store.get(journal, position)
  const kind = kinds.all.find((one) => one.name === name)
  if (event === undefined || kind === undefined) return undefined
  const [body] = yield* bodiesOf([{ kind, event }])
  return body
})

const attemptDelivery = Effect.fnUntraced(function* (
  options: DispatcherOptions,
  delivery: DeliveryRow,
  webhook: WebhookRow
) {
  const { key, outside } = yield* ServerContext
  const body = delivery.body ?? (yield* bodyAgain(options.kinds, delivery))
  const begun_millis = yield* Clock.currentTimeMillis
  const begun = performance.now()
  const secrets = secretsOf(webhookSecrets(key), webhook, instantOf(begun_millis))
  if (body === undefined) return yield* dropDelivery(delivery.key)
  const outcome: Outcome =
    secrets.length === 0
      ? sealed_otherwise
      : yield* sendSigned(options.send, webhook.url, { ...delivery, body, secrets, now_millis: begun_millis })
  const duration_ms = performance.now() - begun
  const now = yield* Clock.currentTimeMillis
  yield* recordAttempt(
    { delivery, outcome, duration_ms, now },
    {
      waits_seconds: outside.webhooks_waits_seconds ?? usual_waits_seconds,
      chance: yield* Random.next,
      disabled: options.disabled
    }
  )
  yield* options.attempted({
    webhook_id: webhook.id,
    user_id: webhook.user_id,
    delivery,
    attempt: delivery.attempts + 1,
    outcome,
    body_bytes: Buffer.byteLength(body),
    duration_ms
  })
})
/** Nothing is left of what it was to tell. */
const dropDelivery = Effect.fnUntraced(function* (key: string) {
  const set = { state: "dropped", claimed_until: null, claimed_by: null }
  yield* (yield* Store).apply([update(webhook_deliveries, key, set)])
})
const sealed_otherwise: Outcome = {
  status: null,
  error: "connect",
  excerpt: "The secret was sealed under another FLIGHTCASE_KEY; rotate it.",
  retry_after_seconds: null
}

const sendSigned = (send: Send, url: string, signed: Parameters<typeof headersOf>[0]) =>
  Effect.promise(async (signal) => send({ url, headers: await headersOf(signed), body: signed.body }, signal))
