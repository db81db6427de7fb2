/** Outbound webhooks: subscriptions, pending deliveries, and the log of attempts (rules/conventions 14). */
import { boolean, columnList, id, integer, list, longText, plainTable, Store } from "../../../core/kernel/index.ts"
import { table, text, timestamp, type RowOf } from "../../../core/kernel/index.ts"
import { Effect } from "effect"
import { instantOf } from "../../../core/values/time.ts"
import { createHmac, randomBytes } from "node:crypto"
import { type SecretBox, secretBox } from "../../ports/secret-box.ts"

export const webhook_fields = {
  url: text({
    required: true,
    max: 2048,
    format: "url",
    describe: "URL that deliveries are posted to: http or https, no private address"
  }),
  events: list(text({ max: 100 }), {
    required: true,
    min_items: 1,
    max_items: 500,
    distinct: true,
    describe: "Event names from GET /webhook_events, or * for all"
  })
}

export const webhooks = table(
  "webhooks",
  {
    ...webhook_fields,
    is_active: boolean({ default: true, describe: "False once turned off, by a user or automatically" }),
    consecutive_failures: integer({ computed: true, default: 0, describe: "Failed attempts since the last success" }),
    disabled_at: timestamp({ nullable: true, computed: true, describe: "Time it was turned off because of failures" }),
    /** First journal position to send; earlier events, and those during a deactivation, need a replay. */
    told_from: integer({ computed: true, hidden: true, default: 0, max: Number.MAX_SAFE_INTEGER }),
    /** Id of the user who owns the webhook. */
    user_id: integer({ computed: true, hidden: true, max: Number.MAX_SAFE_INTEGER }),
    disabled_reason: text({ nullable: true, computed: true, hidden: true }),
    last_success_at: timestamp({ nullable: true, computed: true, hidden: true }),
    /** Time of the first of its consecutive failures; null while it works. */
    failing_since: timestamp({ nullable: true, computed: true, hidden: true }),
    /** Signing secret, encrypted by `secretBox`. */
    secret_sealed: text({ computed: true, secret: true, max: 500 }),
    /** Secret before the last rotation, which also signs until the expiry in the next column. */
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
    /** Unique per event and webhook, so that each event is queued once. */
    key: text(),
    webhook_id: integer({ max: Number.MAX_SAFE_INTEGER }),
    /** Event name that webhooks subscribe to. */
    event: text(),
    /** Id sent to receivers, the same for every attempt and replay. */
    event_id: text(),
    /** Journal position; null for tests and for changes without a journal event. */
    position: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    happened_at: timestamp(),
    /** Body to send; null if found or rendered on sending: for replays of journal events, and after an erasure. */
    body: longText({ nullable: true, max: 10_000_000 }),
    /** `event`, `replay` or `test`. Only events are retried and count for the webhook's health. */
    purpose: text(),
    /**
     * `waiting`: attempted at `due_at`, unless a server has claimed it until `claimed_until`; `delivered`; `failed`: no
     * further attempt; `dropped`: its webhook was deactivated first, or its row is gone.
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

/** Texts for the reasons of failed attempts. */
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
    /** Key of its row in `webhook_deliveries`. */
    delivery: text({ hidden: true }),
    event: text({ search: true }),
    event_id: text({ search: true, describe: "Value of the webhook-id header, the same for every attempt and replay" }),
    response_code: integer({ nullable: true, describe: "HTTP status of the receiver's response; null without one" }),
    error: text({
      nullable: true,
      max: 30,
      search: true,
      describe: `Kind of error: ${Object.keys(attempt_errors).join(", ")}; null for a success`
    }),
    attempts: integer({ describe: "Number of the attempt, from 1" }),
    duration_ms: integer(),
    response_excerpt: text({ nullable: true, max: 2000, describe: "Beginning of the response, at most 1 kB" }),
    delivered_at: timestamp({ nullable: true, describe: "Time it was delivered; null if it was not" }),
    created_at: timestamp()
  },
  { entity: "webhook_log", indexes: [["webhook_id", "id"], ["delivery"], ["created_at"]] }
)
// Scheduling of deliveries across servers. A claim expires soon after its server dies; a webhook has at most two
// attempts in flight on all servers.

export const in_flight_per_webhook = 2
/** Duration of a claim, which is renewed during the attempt. */
const claim_millis = 10_000

export interface Claimed {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
}

/** SQL condition: waiting for an attempt. Inactive webhooks get only tests and replays. */
const attemptable = "d.state = 'waiting' and (w.is_active or d.purpose <> 'event')"

/** Ids of webhooks with deliveries due at a time. */
export const dueWebhooks = Effect.fnUntraced(function* (now: number): Store.Reads<ReadonlyArray<number>> {
  const { sql } = yield* Store
  const at = instantOf(now)
  const rows = yield* sql<{ id: number }>`
    select w.id from webhooks w where exists ( select 1 from webhook_deliveries d where d.webhook_id = w.id
    and ${sql.literal(attemptable)} and d.due_at <= ${at} and (d.claimed_until is null
    or d.claimed_until <= ${at})) order by w.id`
  return rows.map(({ id }) => Number(id))
})

/** Next time at which a delivery is due or a claim expires; undefined if none waits. */
export const nextDue = Effect.fnUntraced(function* (now: number): Store.Reads<number | undefined> {
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

/** Locks and reads a webhook: claims, outcomes and changes of it wait for each other. */
export const lockWebhook = Effect.fnUntraced(function* (id: number): Store.Reads<WebhookRow | undefined> {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run("select id from webhooks where id = $1 for update", [id])
  return yield* store.get(webhooks, id)
})

/** Claims due deliveries of a webhook, at most `room`. */
export const claim = (webhook_id: number, server_id: string, room: number, now: number) =>
  Store.transaction(
    Effect.gen(function* () {
      const store = yield* Store
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

export const renewClaims = Effect.fnUntraced(function* (server_id: string, keys: ReadonlyArray<string>, now: number) {
  const { sql } = yield* Store
  yield* sql`
    update webhook_deliveries set claimed_until = ${instantOf(now + claim_millis)} where claimed_by = ${server_id}
    and key in ${sql.in(keys)}`
})
/** Releases the claim of an interrupted attempt: another server or the next start retries. */
export const releaseClaim = Effect.fnUntraced(function* (key: string, server_id: string) {
  const { sql } = yield* Store
  yield* sql`
    update webhook_deliveries set claimed_until = null, claimed_by = null where key = ${key}
    and claimed_by = ${server_id}`
})
/** On an SQLite file, which one server opens at a time, all earlier claims are void. */
export const releaseClaimsOfTheDead = Effect.gen(function* () {
  const store = yield* Store
  if (store.dialect === "sqlite")
    yield* store.run(
      "update webhook_deliveries set claimed_until = null, claimed_by = null where claimed_until is not null"
    )
})

// Secrets and signatures of webhooks: Standard Webhooks, and the older header format.

export const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`
export const webhookSecrets = (key: string): SecretBox => secretBox(key, "webhooks")

/** Secrets valid at a time, current first; none if encrypted under another key. */
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
/** User agent of deliveries. */
export const own_agent = "Flightcase-Webhooks/1"
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
