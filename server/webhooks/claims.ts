/**
 * Which delivery is attempted next, and by which server. A claim ends soon after its server does; however many servers
 * share the database, no webhook has more than two attempts in flight.
 */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { bindings, columnList } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { type DeliveryRow, webhook_deliveries, type WebhookRow, webhooks } from "./schema.ts"

export const in_flight_per_webhook = 2
/** Claims are renewed while their attempts last. */
export const claim_millis = 10_000

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
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const at = instantOf(now)
  const rows = yield* store.run<{ id: number }>(
    `select w.id from webhooks w where exists (` +
      `select 1 from webhook_deliveries d where d.webhook_id = w.id and ${attemptable} ` +
      `and d.due_at <= ${bind(at)} and (d.claimed_until is null or d.claimed_until <= ${bind(at)})) order by w.id`,
    values
  )
  return rows.map(({ id }) => Number(id))
})

/** The first instant after this one at which something is due, or a claim ends; undefined where nothing waits. */
export const nextDue = Effect.fnUntraced(function* (now: number): Effect.fn.Return<number | undefined, Failure, Store> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const at = instantOf(now)
  const rows = yield* store.run(
    `select d.due_at from webhook_deliveries d join webhooks w on w.id = d.webhook_id ` +
      `where ${attemptable} and d.due_at > ${bind(at)} order by d.due_at limit 1`,
    values
  )
  const claims = bindings(store.dialect)
  const claimed = yield* store.run(
    `select claimed_until as due_at from webhook_deliveries ` +
      `where claimed_until is not null and claimed_until > ${claims.bind(at)} order by claimed_until limit 1`,
    claims.values
  )
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
        const counting = bindings(store.dialect)
        const [counted] = yield* store.run<{ count: number }>(
          `select count(*) as count from webhook_deliveries ` +
            `where webhook_id = ${counting.bind(webhook_id)} and claimed_until > ${counting.bind(at)}`,
          counting.values
        )
        const free = Math.min(room, in_flight_per_webhook - Number(counted?.count ?? 0))
        if (free <= 0) return []
        const { bind, values } = bindings(store.dialect)
        const rows = yield* store.run(
          `select ${columnList(webhook_deliveries, "d")} ` +
            `from webhook_deliveries d join webhooks w on w.id = d.webhook_id ` +
            `where d.webhook_id = ${bind(webhook_id)} and ${attemptable} and d.due_at <= ${bind(at)} ` +
            `and (d.claimed_until is null or d.claimed_until <= ${bind(at)}) order by d.due_at, d.key limit ${free}`,
          values
        )
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
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  yield* store.run(
    `update webhook_deliveries set claimed_until = ${bind(instantOf(now + claim_millis))} ` +
      `where claimed_by = ${bind(server_id)} and key in (${keys.map(bind).join(", ")})`,
    values
  )
})
/** Gives a claim back whose attempt was broken off: another server, or the next start, makes it. */
export const releaseClaim = Effect.fnUntraced(function* (key: string, server_id: string) {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  yield* store.run(
    `update webhook_deliveries set claimed_until = null, claimed_by = null ` +
      `where key = ${bind(key)} and claimed_by = ${bind(server_id)}`,
    values
  )
})
/** On an SQLite file, which one server opens at a time: whoever held claims is gone. */
export const releaseClaimsOfTheDead = Effect.gen(function* () {
  const store = yield* Store
  if (store.dialect === "sqlite")
    yield* store.run(
      "update webhook_deliveries set claimed_until = null, claimed_by = null where claimed_until is not null"
    )
})
