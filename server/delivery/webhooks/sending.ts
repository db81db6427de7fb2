import { Cause, Clock, Effect, Queue, Random, type Scope } from "effect"
import { CommandRuntime } from "../../../core/kernel/endpoints/endpoint.ts"
import { journal } from "../../../core/kernel/events/journal.ts"
import { update } from "../../../core/kernel/tables/table.ts"
import { type Failure, Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import { ServerContext } from "../../ports/server-context.ts"
import { bodiesOf, firstKeyOf, type WebhookKinds } from "./payloads.ts"
import { type DisabledReason, dropQueuedForInactive, recordAttempt, usual_waits_seconds } from "./outcomes.ts"
import type { Claimed, DeliveryRow, WebhookRow } from "./schema.ts"
import {
  claim,
  dueWebhooks,
  headersOf,
  in_flight_per_webhook,
  nextDue,
  releaseClaim,
  releaseClaimsOfTheDead,
  renewClaims,
  secretsOf,
  webhook_deliveries,
  webhookSecrets
} from "./schema.ts"
import type { Outcome, Send } from "./send.ts"
import { randomUUID } from "node:crypto"
import { Rejection } from "../../../core/kernel/fields/rejection.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { queueMail } from "../mail/jobs.ts"

// One attempt at a delivery: signed, sent, written down and told of.

/** One attempt, as measurements and metering are told of it. */
export interface AttemptTold {
  readonly webhook_id: number
  readonly user_id: number
  /** Where it went, without path and query, which may hold keys. */
  readonly host: string
  readonly delivery: Pick<DeliveryRow, "event" | "event_id" | "purpose">
  /** Counted from 1; the first of an event is the one that is metered. */
  readonly attempt: number
  readonly outcome: Outcome
  readonly body_bytes: number
  /** When it was begun, in milliseconds since 1970. */
  readonly begun_millis: number
  readonly duration_ms: number
}
export interface AttemptOptions {
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
  options: AttemptOptions,
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
    host: URL.parse(webhook.url)?.host ?? "",
    delivery,
    attempt: delivery.attempts + 1,
    outcome,
    body_bytes: Buffer.byteLength(body),
    begun_millis,
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

// Sends what is due, in every server: at most 32 attempts at a time, two for each webhook, in turn, so that a slow
// receiver holds up nobody else. It sleeps until something is due or it is woken.

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
    yield* dropQueuedForInactive
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

// Tells whoever a webhook belongs to that it was turned off.

const why: { readonly [reason in DisabledReason]: string } = {
  gone: "its receiver answered 410 Gone",
  failing: "nothing it was sent was taken for a day"
}

/** In the transaction that turns it off. An account without an address that mail can go to is told nothing. */
export const mailOwner = (
  webhook: WebhookRow,
  reason: DisabledReason,
  at: string
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const owner = yield* (yield* Store).get(users, webhook.user_id)
    if (owner === undefined || !owner.is_active || owner.email === "") return
    const since = webhook.last_success_at ?? webhook.created_at
    yield* queueMail(
      {
        id: `webhook.${webhook.id}.disabled.${at.replaceAll(/\D/g, "")}`,
        sender_user_id: null,
        to: [{ name: owner.name, address: owner.email }],
        subject: `Webhook ${webhook.id} was turned off`,
        text: [
          `The webhook to ${hostOf(webhook.url)} was turned off, because ${why[reason]}.`,
          "Nothing is sent to it any more.",
          "",
          `See how the attempts went:   flightcase webhooks logs ${webhook.id}`,
          `Turn it on again:            flightcase webhooks update ${webhook.id} --is-active`,
          `Send what it has missed:     flightcase webhooks replay ${webhook.id} --since ${since}`,
          ""
        ].join("\n"),
        is_notice: true
      },
      yield* (yield* CommandRuntime).settings
    )
  }).pipe(
    Effect.catchIf(
      (failure) => failure instanceof Rejection,
      (rejection) =>
        Effect.logWarning(`webhook ${webhook.id}: nobody was told that it was turned off`, rejection.message)
    )
  )
const hostOf = (url: string): string => URL.parse(url)?.host ?? url

/** What only a running server needs to send webhooks: loaded when it begins to. */
export { sender } from "./send.ts"
