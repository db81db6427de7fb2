/** Outbound webhooks: subscriptions, pending deliveries, and the log of attempts (rules/conventions 14). */
import { boolean, id, integer, list, longText, text, timestamp } from "../../../core/kernel/fields/field.ts"
import { plainTable, type RowOf, table } from "../../../core/kernel/tables/table.ts"
import { Effect } from "effect"
import { columnList } from "../../../core/kernel/store/statement.ts"
import { type Failure, Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import { createHmac, randomBytes } from "node:crypto"
import { type SecretBox, secretBox } from "../../ports/secret-box.ts"

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
    /** `event`, `replay` or `test`. Only events count towards the webhook's health and are retried. */
    purpose: text(),
    /**
     * `waiting`: attempted at `due_at`, unless a server has claimed it until `claimed_until`; `delivered`; `failed`: no
     * attempt follows; `dropped`: its webhook was turned off first.
     */
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

// Which delivery is attempted next, and by which server. A claim ends soon after its server does; however many servers
// share the database, no webhook has more than two attempts in flight.

export const in_flight_per_webhook = 2
/** Claims are renewed while their attempts last. */
const claim_millis = 10_000

export interface Claimed {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
}

/**
 * Waiting for its first attempt or another one, and in nobody's hands. Of webhooks turned off, tests and replays only.
 */
const attemptable = "d.state = 'waiting' and (w.is_active or d.purpose <> 'event')"

/** Webhooks with something due at an instant. */
export const dueWebhooks = Effect.fnUntraced(function* (
  now: number
): Effect.fn.Return<ReadonlyArray<number>, Failure, Store> {
  const { sql } = yield* Store
  const at = instantOf(now)
  const rows = yield* sql<{ id: number }>`
    select w.id from webhooks w where exists ( select 1 from webhook_deliveries d where d.webhook_id = w.id
    and ${sql.literal(attemptable)} and d.due_at <= ${at} and (d.claimed_until is null
    or d.claimed_until <= ${at})) order by w.id`
  return rows.map(({ id }) => Number(id))
})

/** The first instant after this one at which something is due, or a claim ends; undefined where nothing waits. */
export const nextDue = Effect.fnUntraced(function* (now: number): Effect.fn.Return<number | undefined, Failure, Store> {
  const store = yield* Store
  const at = instantOf(now)
  const rows = yield* store.sql`
    select d.due_at from webhook_deliveries d join webhooks w on w.id = d.webhook_id
    where ${store.sql.literal(attemptable)} and d.due_at > ${at} order by d.due_at limit 1`
  const claimed = yield* store.sql`
    select claimed_until as due_at from webhook_deliveries where claimed_until is not null
    and claimed_until > ${at} order by claimed_until limit 1`
  const instants = [...rows, ...claimed].map((row) => Date.parse(store.decode(webhook_deliveries, row).due_at))
  return instants.length === 0 ? undefined : Math.min(...instants)
})

/** One writer at a time for each webhook: its claims, its outcomes and what is changed of it. */
export const lockWebhook = Effect.fnUntraced(function* (
  id: number
): Effect.fn.Return<WebhookRow | undefined, Failure, Store> {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run("select id from webhooks where id = $1 for update", [id])
  return yield* store.get(webhooks, id)
})

/** Claims what is due of a webhook, `room` at most. */
export const claim = (webhook_id: number, server_id: string, room: number, now: number) =>
  Effect.flatMap(Store, (store) =>
    store.transaction(
      Effect.gen(function* () {
        const webhook = yield* lockWebhook(webhook_id)
        if (webhook === undefined) return []
        const at = instantOf(now)
        const [counted] = yield* store.sql<{ count: number }>`
          select count(*) as count from webhook_deliveries where webhook_id = ${webhook_id}
          and claimed_until > ${at}`
        const free = Math.min(room, in_flight_per_webhook - Number(counted?.count ?? 0))
        if (free <= 0) return []
        const rows = yield* store.sql`
          select ${store.sql.literal(columnList(webhook_deliveries, "d"))} from webhook_deliveries d
          join webhooks w on w.id = d.webhook_id where d.webhook_id = ${webhook_id}
          and ${store.sql.literal(attemptable)} and d.due_at <= ${at} and (d.claimed_until is null
          or d.claimed_until <= ${at}) order by d.due_at, d.key limit ${free}`
        const deliveries = rows.map((row) => store.decode(webhook_deliveries, row))
        yield* store.apply(
          deliveries.map(({ key }) => ({
            op: "update" as const,
            table: webhook_deliveries,
            key,
            set: { claimed_until: instantOf(now + claim_millis), claimed_by: server_id }
          }))
        )
        return deliveries.map((delivery): Claimed => ({ delivery, webhook }))
      })
    )
  )

/** Keeps these claims of this server for as long again. */
export const renewClaims = Effect.fnUntraced(function* (server_id: string, keys: ReadonlyArray<string>, now: number) {
  const { sql } = yield* Store
  yield* sql`
    update webhook_deliveries set claimed_until = ${instantOf(now + claim_millis)} where claimed_by = ${server_id}
    and key in ${sql.in(keys)}`
})
/** Gives a claim back whose attempt was broken off: another server, or the next start, makes it. */
export const releaseClaim = Effect.fnUntraced(function* (key: string, server_id: string) {
  const { sql } = yield* Store
  yield* sql`
    update webhook_deliveries set claimed_until = null, claimed_by = null where key = ${key}
    and claimed_by = ${server_id}`
})
/** On an SQLite file, which one server opens at a time: whoever held claims is gone. */
export const releaseClaimsOfTheDead = Effect.gen(function* () {
  const store = yield* Store
  if (store.dialect === "sqlite")
    yield* store.run(
      "update webhook_deliveries set claimed_until = null, claimed_by = null where claimed_until is not null"
    )
})

// Secrets of webhooks and what deliveries are signed with: Standard Webhooks, and the header that receivers of the
// older family read.

/** `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`
/** For how long the secret before a rotation signs along. */
export const rotation_millis = 24 * 3_600_000

export const webhookSecrets = (key: string): SecretBox => secretBox(key, "webhooks")

/** The secrets in force at an instant, the present one first; none where they were sealed under another key. */
export const secretsOf = (box: SecretBox, row: WebhookRow, now: string): ReadonlyArray<string> => {
  const { previous_secret_sealed: previous, previous_secret_until: until, secret_sealed } = row
  const sealed = [secret_sealed, ...(previous !== null && until !== null && now < until ? [previous] : [])]
  return sealed.flatMap((one) => box.open(one) ?? [])
}

interface Signed {
  readonly event: string
  readonly event_id: string
  readonly body: string
  readonly secrets: ReadonlyArray<string>
  readonly now_millis: number
}
/** What receivers are told that calls them. */
export const own_agent = "Flightcase-Webhooks/1"
/** The headers of an attempt. */
export const headersOf = async ({ body, event, event_id, now_millis, secrets }: Signed) => {
  const { Webhook } = await import("standardwebhooks")
  const at = new Date(now_millis)
  const [present] = secrets
  return {
    "content-type": "application/json",
    "user-agent": own_agent,
    "webhook-id": event_id,
    "webhook-timestamp": String(Math.floor(now_millis / 1_000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(event_id, at, body)).join(" "),
    "x-signals-event": event,
    ...(present === undefined
      ? {}
      : { "x-signals-signature": createHmac("sha256", present).update(body).digest("hex") })
  }
}
