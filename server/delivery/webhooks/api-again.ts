/** Deliveries on request: a test, a repetition, or a replay of all events since a time. Each is attempted once. */
import { Effect, Result } from "effect"
import { baseView, command, insert, integer, invalidField, lastPosition, Store } from "../../../core/kernel/index.ts"
import { text, timestamp, viewContext, type Endpoint, type Failure } from "../../../core/kernel/index.ts"
import { access, one, ownOnly, type WebhookApi } from "./api.ts"
import { deliveryOf, messagesOf, replayOf, testOf, type WebhookKinds } from "./payloads.ts"
import { eventsOfTypes, page_events, wants } from "./fan-out.ts"
import { type DeliveryRow, webhook_deliveries, webhook_logs, type WebhookRow, webhooks } from "./schema.ts"

const accepted = <const B>(more: B) => ({ status: 202, body: { message: "Accepted", ...more } })
const acceptedShown = { message: text(), event_id: text({ describe: "Value of the delivery's webhook-id header" }) }

/** Queues these rows; they are sent after the commit. */
const queued = Effect.fnUntraced(function* (api: WebhookApi, rows: ReadonlyArray<DeliveryRow>) {
  const store = yield* Store
  yield* store.apply(rows.map((row) => insert(webhook_deliveries, row)))
  yield* store.sql.afterCommit(Effect.sync(api.wake))
})

const test = (api: WebhookApi) =>
  command("POST", "/api/v1/webhooks/{id}/test", {
    answer: acceptedShown,
    name: "webhooks.test",
    summary: "Send the event webhook.test to a webhook, active or not; its log shows the result",
    ...access,
    ...one,
    success_status: 202,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows }) => Result.succeed({ events: [], result: { id: rows.id.id } }),
    respond: Effect.fnUntraced(function* ({ id }, input) {
      const row = testOf(id, baseView(webhooks, input.rows.id, viewContext(input)), input.now)
      yield* queued(api, [row])
      return accepted({ event_id: row.event_id })
    })
  })

const replayOne = (api: WebhookApi) =>
  command("POST", "/api/v1/webhooks/{id}/logs/{log}/replay", {
    answer: acceptedShown,
    name: "webhooks.replay_log",
    summary: "Send a log entry's delivery again, with the same id",
    ...access,
    params: { id: { table: webhooks }, log: { table: webhook_logs, of: { param: "id", column: "webhook_id" } } },
    authorize: ownOnly,
    success_status: 202,
    facts: ({ rows }): Effect.Effect<DeliveryRow | undefined, Failure, Store> =>
      Store.get(webhook_deliveries, rows.log.delivery),
    decide: (delivery, { rows }) =>
      delivery === undefined
        ? Result.fail(invalidField("log", "What was sent is no longer kept; replay everything since then instead."))
        : Result.succeed({ events: [], result: { id: rows.log.id } }),
    respond: Effect.fnUntraced(function* (_result, { now, rows }) {
      const delivery = yield* Store.get(webhook_deliveries, rows.log.delivery)
      yield* queued(api, delivery === undefined ? [] : [replayOf(delivery, now)])
      return accepted({ event_id: rows.log.event_id })
    })
  })

const replayed_max = 10_000
/** Deliveries of all subscribed events since a time, whether or not they were queued then. */
const missedSince = Effect.fnUntraced(function* (kinds: WebhookKinds, webhook: WebhookRow, since: string, now: string) {
  const store = yield* Store
  const [first] = yield* store.sql<{ position: number | null }>`
    select min(position) as position from journal where recorded_at >= ${since}`
  const wanted = kinds.all.filter(({ name }) => wants(webhook, name))
  const types = [...new Set(wanted.map(({ on }) => on))]
  const causedBy = (type: string) => wanted.filter(({ on }) => on === type)
  const told = new Set<string>()
  const rows: Array<DeliveryRow> = []
  if (first === undefined || first.position === null || types.length === 0) return rows
  const to = yield* lastPosition(store)
  for (let from = Number(first.position); from <= to && rows.length <= replayed_max;) {
    const events = yield* eventsOfTypes(types, from, to)
    for (const message of messagesOf(events, causedBy, told))
      rows.push(replayOf(deliveryOf(webhook.id, message, null, now), now))
    const last = events.at(-1)
    if (last === undefined || events.length < page_events) break
    from = last.position + 1
  }
  return rows
})

const too_many = invalidField("since", `More than ${replayed_max} events happened since then; name a later instant.`)

const replaySince = (api: WebhookApi) =>
  command("POST", "/api/v1/webhooks/{id}/replay", {
    answer: { message: text(), count: integer({ describe: "Number of deliveries queued" }) },
    name: "webhooks.replay",
    summary: "Send all subscribed events since a time, including those missed while inactive",
    ...access,
    ...one,
    success_status: 202,
    fields: { since: timestamp({ required: true, describe: "Time of the earliest events to send" }) },
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows }) => Result.succeed({ events: [], result: { id: rows.id.id } }),
    respond: Effect.fnUntraced(function* (_result, { now, rows, values }) {
      const missed = yield* missedSince(api.kinds, rows.id, values.since ?? now, now)
      if (missed.length > replayed_max) return yield* too_many
      yield* queued(api, missed)
      return accepted({ count: missed.length })
    })
  })

export const againEndpoints = (api: WebhookApi): ReadonlyArray<Endpoint> => [
  test(api),
  replayOne(api),
  replaySince(api)
]
