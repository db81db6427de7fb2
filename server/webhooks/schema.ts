/** Webhooks out: who is told what, what is on its way to them, and how each attempt went (rules/conventions 14). */
import { boolean, id, integer, list, longText, text, timestamp } from "../../core/kernel/field.ts"
import { type RowOf, plainTable, table } from "../../core/kernel/table.ts"

export const webhook_fields = {
  url: text({
    required: true,
    max: 2048,
    format: "url",
    describe: "Where deliveries are posted to: http or https, and no private address"
  }),
  events: list(text({ max: 100 }), {
    required: true,
    min_items: 1,
    max_items: 500,
    distinct: true,
    describe: "Names that GET /webhook_events lists, or * for all of them"
  })
}

export const webhooks = table(
  "webhooks",
  {
    ...webhook_fields,
    is_active: boolean({ default: true, describe: "False once it was turned off, by hand or after failing for long" }),
    consecutive_failures: integer({
      computed: true,
      default: 0,
      describe: "Attempts that failed since the last success"
    }),
    disabled_at: timestamp({ nullable: true, computed: true, describe: "When it was turned off for its failures" }),
    /** The first position it is told of: what happened before it was made, or while it was off, is for replays. */
    told_from: integer({ computed: true, hidden: true, default: 0, max: Number.MAX_SAFE_INTEGER }),
    /** Whose it is. */
    user_id: integer({ computed: true, hidden: true, max: Number.MAX_SAFE_INTEGER }),
    disabled_reason: text({ nullable: true, computed: true, hidden: true }),
    last_success_at: timestamp({ nullable: true, computed: true, hidden: true }),
    /** When the first of its consecutive failures was. */
    failing_since: timestamp({ nullable: true, computed: true, hidden: true }),
    /** Sealed by `secretBox`. */
    secret_sealed: text({ computed: true, secret: true, max: 500 }),
    /** The secret before the last rotation signs along until the time beside it. */
    previous_secret_sealed: text({ nullable: true, computed: true, secret: true, max: 500 }),
    previous_secret_until: timestamp({ nullable: true, computed: true, hidden: true })
  },
  { indexes: [["user_id"]] }
)
export type WebhookRow = RowOf<typeof webhooks>

/** Why a message is on its way. Only events count for or against the health of a webhook, and only they are retried. */
export const purposes = ["event", "replay", "test"] as const
export type Purpose = (typeof purposes)[number]
/**
 * `waiting`: to be attempted at `due_at`, unless a server has claimed it until `claimed_until`; `delivered`; `failed`:
 * no attempt follows; `dropped`: its webhook was turned off first.
 */
export type DeliveryState = "waiting" | "delivered" | "failed" | "dropped"

export const webhook_deliveries = plainTable(
  "webhook_deliveries",
  "key",
  {
    /** The same for the same event to the same webhook, so that it is queued once. */
    key: text(),
    webhook_id: integer({ max: Number.MAX_SAFE_INTEGER }),
    /** The event's name for subscribers. */
    event: text(),
    /** What receivers know it by: the same for every attempt and replay. */
    event_id: text(),
    /** The journal's; null for tests. */
    position: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    happened_at: timestamp(),
    /** As it is sent; null once an erasure removed it, which has it made anew from what is left. */
    body: longText({ nullable: true, max: 10_000_000 }),
    purpose: text(),
    state: text(),
    attempts: integer(),
    due_at: timestamp(),
    claimed_until: timestamp({ nullable: true }),
    claimed_by: text({ nullable: true }),
    created_at: timestamp()
  },
  {
    entity: "webhook_delivery",
    on_conflict_ignore: true,
    indexes: [["webhook_id", "state", "due_at"], ["state", "due_at"], ["created_at"]],
    partial_indexes: [{ columns: ["webhook_id", "claimed_until"], where: "claimed_until is not null" }]
  }
)
export type DeliveryRow = RowOf<typeof webhook_deliveries>

/** Why no answer of success came. */
export const attempt_errors = {
  timeout: "No answer within 15 seconds",
  dns: "The name has no address",
  connect: "No connection, or it broke",
  tls: "The certificate or the handshake was refused",
  refused_target: "The address is private or reserved",
  http: "The answer was no success"
}
export type AttemptError = keyof typeof attempt_errors

export const webhook_logs = plainTable(
  "webhook_logs",
  "id",
  {
    id: id(),
    webhook_id: integer({ hidden: true, max: Number.MAX_SAFE_INTEGER }),
    /** Its row in `webhook_deliveries`. */
    delivery: text({ hidden: true }),
    event: text({ search: true }),
    event_id: text({ search: true, describe: "The header webhook-id: the same for every attempt and replay" }),
    response_code: integer({ nullable: true, describe: "The receiver's status; null where it gave none" }),
    error: text({
      nullable: true,
      max: 30,
      search: true,
      describe: `What went wrong: ${Object.keys(attempt_errors).join(", ")}; null for a success`
    }),
    attempts: integer({ describe: "Which attempt this was" }),
    duration_ms: integer(),
    response_excerpt: text({ nullable: true, max: 2000, describe: "The beginning of the answer, 1 kB at most" }),
    delivered_at: timestamp({ nullable: true, describe: "When it arrived; null where it did not" }),
    created_at: timestamp()
  },
  { entity: "webhook_log", indexes: [["webhook_id", "id"], ["delivery"], ["created_at"]] }
)
export type LogRow = RowOf<typeof webhook_logs>
