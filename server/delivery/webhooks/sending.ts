import { Cause, Clock, Effect, Queue, Random, type Scope } from "effect"
import { CommandRuntime, journal, Rejection, Store, update, type Failure } from "../../../core/kernel/index.ts"
import { instantOf } from "../../../core/values/time.ts"
import { ServerContext } from "../../ports/server-context.ts"
import { bodiesOf, firstKeyOf, type WebhookKinds } from "./payloads.ts"
import { type DisabledReason, dropWaiting, recordAttempt } from "./outcomes.ts"
import type { Claimed, DeliveryRow, WebhookRow } from "./schema.ts"
import {
  claim,
  dueWebhooks,
  headersOf,
  in_flight_per_webhook,
  lockWebhook,
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
import { users } from "../../../core/people/users/permissions.ts"
import { queueMail } from "../mail/jobs.ts"

// One attempt at a delivery: signed, sent, recorded and reported.

/** A finished attempt, for metrics and metering. */
export interface AttemptTold {
  readonly webhook_id: number
  readonly user_id: number
  /** Host of the target; its path and query may contain keys. */
  readonly host: string
  readonly delivery: Pick<DeliveryRow, "event" | "event_id" | "purpose">
  /** Number of the attempt, from 1; the first attempt at an event is metered. */
  readonly attempt: number
  readonly outcome: Outcome
  readonly body_bytes: number
  /** Start, in milliseconds since 1970. */
  readonly begun_millis: number
  readonly duration_ms: number
}
export interface AttemptOptions {
  readonly kinds: WebhookKinds
  readonly send: Send
  /** Called after each attempt, outside transactions. */
  readonly attempted: (told: AttemptTold) => Effect.Effect<void, Failure, Store>
  /** Called in the transaction that deactivates a webhook for failures. */
  readonly disabled: (
    webhook: WebhookRow,
    reason: DisabledReason,
    at: string
  ) => Effect.Effect<void, Failure, Store | CommandRuntime>
}
/** Replays resend the original body; if an erasure removed it, it is rendered again. */
const bodyAgain = Effect.fnUntraced(function* (kinds: WebhookKinds, delivery: DeliveryRow) {
  const { event: name, position } = delivery
  const first = delivery.purpose === "replay" ? yield* Store.get(webhook_deliveries, firstKeyOf(delivery)) : undefined
  if (typeof first?.body === "string") return first.body
  const event = position === null ? undefined : yield* Store.get(journal, position)
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
      // Waits between attempts: six attempts in all, with the first.
      waits_seconds: outside.webhooks_waits_seconds ?? [60, 300, 1_800, 7_200, 21_600],
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
/** Drops a delivery whose subject no longer exists. */
const dropDelivery = Effect.fnUntraced(function* (key: string) {
  const set = { state: "dropped", claimed_until: null, claimed_by: null }
  yield* Store.apply([update(webhook_deliveries, key, set)])
})
const sealed_otherwise: Outcome = {
  status: null,
  error: "connect",
  excerpt: "The secret was sealed under another FLIGHTCASE_KEY; rotate it.",
  retry_after_seconds: null
}

const sendSigned = (send: Send, url: string, signed: Parameters<typeof headersOf>[0]) =>
  Effect.promise(async (signal) => send({ url, headers: await headersOf(signed), body: signed.body }, signal))

// Sends due deliveries, in every server: at most 32 attempts at a time and two per webhook, in turn, so that slow
// receivers do not block others. Sleeps until the next due time or wake-up.

const in_flight_max = 32
/** Poll interval, as other servers may have queued something and died. */
const look_again_millis = 10_000
/** Delay while a webhook with due deliveries has two attempts in flight, perhaps on another server. */
const look_again_soon_millis = 1_000
const renew_every_millis = 3_000
const after_failure_millis = 1_000

type Working = Store | CommandRuntime | ServerContext

export interface Dispatcher {
  /** Wakes the sender after deliveries became due. */
  readonly wake: () => void
  readonly run: Effect.Effect<void, Failure, Working | Scope.Scope>
}

/** Drops deliveries queued during the webhook's deactivation. */
const dropQueuedForInactive = Effect.gen(function* () {
  const rows = yield* Store.run<{ id: number }>(
    "select w.id from webhooks w where not w.is_active and exists (select 1 from webhook_deliveries d " +
      "where d.webhook_id = w.id and d.state = 'waiting' and d.purpose = 'event') order by w.id"
  )
  for (const { id } of rows)
    yield* Store.transaction(
      Effect.gen(function* () {
        const webhook = yield* lockWebhook(Number(id))
        if (webhook?.is_active === false) yield* Store.apply([dropWaiting(webhook.id)])
      })
    )
})

export const makeDispatcher = (options: AttemptOptions): Dispatcher => {
  const server_id = randomUUID()
  /** Webhook ids of deliveries in flight in this process, by key. */
  const in_flight = new Map<string, number>()
  const woken = Effect.runSync(Queue.sliding<void>(1))
  const wake = (): void => {
    Queue.offerUnsafe(woken, undefined)
  }
  let last_served = 0

  const attempt = ({ delivery, webhook }: Claimed): Effect.Effect<void, never, Working> =>
    attemptDelivery(options, delivery, webhook).pipe(
      // Releases the claim if the outcome was not recorded, so that another server or the next start repeats the
      // attempt.
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

  /** Starts as many attempts as allowed; returns the milliseconds to sleep. */
  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* dropQueuedForInactive
    const due = in_flight.size < in_flight_max ? yield* dueWebhooks(now) : []
    // Round-robin: starts with the webhook after the last served.
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
    // The end of an attempt wakes the sender earlier.
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

// Notifies a webhook's owner of its deactivation.

const why: { readonly [reason in DisabledReason]: string } = {
  gone: "its receiver answered 410 Gone",
  failing: "nothing it was sent was taken for a day"
}

/** Queues the mail, in the deactivating transaction. Owners without a mail address get none. */
export const mailOwner = (
  webhook: WebhookRow,
  reason: DisabledReason,
  at: string
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const owner = yield* Store.get(users, webhook.user_id)
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

/** Exported from here, so that the slice loads everything for sending by one import. */
export { sender } from "./send.ts"
