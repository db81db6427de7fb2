/**
 * Outcome of an attempt: its row in the log, whether and when to retry, and the health of the webhook
 * (rules/conventions 14).
 */
import { Effect } from "effect"
import { allocateIds } from "../../../core/kernel/runtime/ids.ts"
import { insert, Store, update, updateWhere } from "../../../core/kernel/index.ts"
import type { Failure, RowChange, RowOf } from "../../../core/kernel/index.ts"
import { itemAt } from "../../../core/values/text.ts"
import { instantOf } from "../../../core/values/time.ts"
import { type DeliveryRow, lockWebhook, webhook_deliveries, webhook_logs, type WebhookRow, webhooks } from "./schema.ts"
import type { Outcome } from "./send.ts"

const failures_max = 18
const patience_millis = 24 * 3_600_000
const gone = 410

/** Why a webhook was deactivated automatically. */
export type DisabledReason = "gone" | "failing"

interface Attempted {
  readonly delivery: DeliveryRow
  readonly outcome: Outcome
  readonly duration_ms: number
  readonly now: number
}
interface Recording<R> {
  readonly waits_seconds: ReadonlyArray<number>
  /** Random number from 0 to 1 that spreads retries over time. */
  readonly chance: number
  /** Called in the transaction of an attempt that deactivated the webhook. */
  readonly disabled: (webhook: WebhookRow, reason: DisabledReason, at: string) => Effect.Effect<void, Failure, R>
}

/** Seconds until the next attempt; undefined if none. `chance`: 0 to 1. */
export const waitAfter = (
  attempts: number,
  { retry_after_seconds }: Pick<Outcome, "retry_after_seconds">,
  waits: ReadonlyArray<number>,
  chance: number
): number | undefined => {
  const wait = waits[attempts - 1]
  if (wait === undefined) return undefined
  // The receiver may request a longer delay, up to the next one.
  const longest = waits[attempts] ?? wait
  return Math.max(wait, Math.min(retry_after_seconds ?? 0, longest)) * (1 + chance / 10)
}

/** Changes of a webhook's health columns after a failed attempt at an event. */
const healthAfterFailure = (
  webhook: WebhookRow,
  status: number | null,
  now: number
): { readonly set: Partial<WebhookRow>; readonly reason: DisabledReason | undefined } => {
  const at = instantOf(now)
  const consecutive_failures = webhook.consecutive_failures + 1
  const failing_since = webhook.failing_since ?? at
  const silent_since = Date.parse(webhook.last_success_at ?? failing_since)
  const reason =
    status === gone
      ? "gone"
      : consecutive_failures >= failures_max && now - silent_since >= patience_millis
        ? "failing"
        : undefined
  const disabled = reason === undefined ? {} : { is_active: false, disabled_at: at, disabled_reason: reason }
  return { reason, set: { consecutive_failures, failing_since, updated_at: at, ...disabled } }
}

/** Drops a webhook's waiting deliveries when it is deactivated; they can be replayed. */
export const dropWaiting = (webhook_id: number): RowChange =>
  updateWhere(
    webhook_deliveries,
    { webhook_id, state: "waiting", purpose: "event" },
    { state: "dropped", claimed_until: null, claimed_by: null }
  )

type LogRow = RowOf<typeof webhook_logs>

const logOf = ({ delivery, duration_ms, now, outcome }: Attempted, id: number): LogRow => ({
  id,
  webhook_id: delivery.webhook_id,
  delivery: delivery.key,
  event: delivery.event,
  event_id: delivery.event_id,
  response_code: outcome.status,
  error: outcome.error,
  attempts: delivery.attempts + 1,
  duration_ms: Math.round(duration_ms),
  response_excerpt: outcome.excerpt,
  delivered_at: outcome.error === null ? instantOf(now) : null,
  created_at: instantOf(now)
})

const released = { claimed_until: null, claimed_by: null }
const deliveryAfter = (
  { delivery, now, outcome }: Attempted,
  wait_seconds: number | undefined
): Partial<DeliveryRow> => {
  const attempts = delivery.attempts + 1
  if (outcome.error === null) return { ...released, attempts, state: "delivered" }
  if (wait_seconds === undefined) return { ...released, attempts, state: "failed" }
  return { ...released, attempts, due_at: instantOf(now + Math.ceil(wait_seconds * 1_000)) }
}

/** Records an attempt and its consequences in one transaction. */
export const recordAttempt = <R>(
  attempted: Attempted,
  { chance, disabled, waits_seconds }: Recording<R>
): Effect.Effect<void, Failure, Store | R> =>
  Store.transaction(
    Effect.gen(function* () {
      const { delivery, now, outcome } = attempted
      const webhook = yield* lockWebhook(delivery.webhook_id)
      // The webhook was deleted meanwhile, with its deliveries.
      if (webhook === undefined) return
      const counts = delivery.purpose === "event"
      const failed = outcome.error !== null
      const health = counts && failed ? healthAfterFailure(webhook, outcome.status, now) : undefined
      const is_over = !counts || outcome.status === gone || !webhook.is_active
      const wait = is_over ? undefined : waitAfter(delivery.attempts + 1, outcome, waits_seconds, chance)
      const ids = yield* allocateIds(webhook_logs.name, 1)
      yield* Store.apply([
        insert(webhook_logs, logOf(attempted, itemAt(ids, 0))),
        update(webhook_deliveries, delivery.key, deliveryAfter(attempted, wait)),
        ...(counts && !failed ? [update(webhooks, webhook.id, healthy(now))] : []),
        ...(health === undefined ? [] : [update(webhooks, webhook.id, health.set)]),
        ...(health?.reason === undefined ? [] : [dropWaiting(webhook.id)])
      ])
      if (health?.reason !== undefined && webhook.is_active) yield* disabled(webhook, health.reason, instantOf(now))
    })
  )
const healthy = (now: number) => ({ consecutive_failures: 0, failing_since: null, last_success_at: instantOf(now) })
