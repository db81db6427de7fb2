/** One attempt at a delivery: signed, sent, written down and told of. */
import { Clock, Effect, Random } from "effect"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { journal } from "../../core/kernel/journal.ts"
import { update } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { ServerContext } from "../server-context.ts"
import { firstKeyOf } from "./deliveries.ts"
import type { WebhookKinds } from "./kind.ts"
import { type DisabledReason, recordAttempt, usual_waits_seconds } from "./outcomes.ts"
import { bodiesOf } from "./payloads.ts"
import { type DeliveryRow, webhook_deliveries, type WebhookRow } from "./schema.ts"
import type { Outcome, Send } from "./send.ts"
import { headersOf, secretsOf, webhookSecrets } from "./signing.ts"

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

export const attemptDelivery = Effect.fnUntraced(function* (
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
