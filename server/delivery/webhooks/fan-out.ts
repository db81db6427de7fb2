/**
 * From events to deliveries: the transaction that records events writes one row for each subscriber and message, with
 * the body rendered from the rows at that moment. A job adds deliveries missed by a server that had not heard of a
 * subscription. Rows are identified by webhook, event and position, so that repeating adds nothing.
 */
import { Clock, Context, Effect, Schema } from "effect"
import { chunked, CommandRuntime, insert, journal, lastPosition, Store } from "../../../core/kernel/index.ts"
import type { Failure, JsonObject, NewEvent, StoredEvent, StoreRead } from "../../../core/kernel/index.ts"
import { webhook_deliveries, type WebhookRow, webhooks } from "./schema.ts"
import { instantOf } from "../../../core/values/time.ts"
import { bodiesOf, bodyOf, deliveryOf, type Message, messagesOf, toldOf, type WebhookKinds } from "./payloads.ts"
import { type JobKind, jobKind, jobOffer, serverContext } from "../../ports/server-context.ts"
import type { ServerEndpoint } from "../../ports/server-slice.ts"

// Subscribed event names, in memory: commands with other events need no query. Several servers on one database reload
// them within a second; `catchUp` queues what they missed.

export const every_event = "*"
export const wants = ({ events }: Pick<WebhookRow, "events">, name: string): boolean =>
  events.includes(name) || events.includes(every_event)

export interface Subscriptions {
  /** Event names that active webhooks subscribe to, possibly `*`. */
  readonly names: Effect.Effect<ReadonlySet<string>, Failure, Store>
  readonly forget: () => void
}
const believed_millis = 900

export const makeSubscriptions = (): Subscriptions => {
  let kept: { readonly names: ReadonlySet<string>; readonly at: number } | undefined
  let generation = 0
  const read = (store: Store["Service"], now: number) => {
    const begun = generation
    return Effect.map(store.find(webhooks, { is_active: true }), (rows) => {
      const names = new Set(rows.flatMap(({ events }) => events))
      // Not cached if something changed during the read.
      if (begun === generation) kept = { names, at: now }
      return names
    })
  }
  return {
    names: Effect.gen(function* () {
      const store = yield* Store
      const now = yield* Clock.currentTimeMillis
      // An SQLite file has one server, which changes them itself.
      const is_fresh = kept !== undefined && (store.dialect === "sqlite" || Math.abs(now - kept.at) < believed_millis)
      return kept !== undefined && is_fresh ? kept.names : yield* read(store, now)
    }),
    forget: () => {
      generation++
      kept = undefined
    }
  }
}

// Notifies subscribers of changes without a journal event, such as a PDF rendered on reading. Costs nothing without
// subscribers; failures to record it are only logged.

export const pdf_generated = "pdf_generated"

type Teller = (name: string, data: JsonObject) => Effect.Effect<void, never, Store>
/** Reports a change without a journal event to subscribers; by default does nothing. */
export const WebhookTeller = Context.Reference<Teller>("flightcase/WebhookTeller", {
  defaultValue: () => () => Effect.void
})

export const makeTeller =
  (subscriptions: Subscriptions, wake: () => void): Teller =>
  (name, data) =>
    Effect.gen(function* () {
      const names = yield* subscriptions.names
      if (!names.has(name) && !names.has(every_event)) return
      const now = instantOf(yield* Clock.currentTimeMillis)
      const subscribers = (yield* Store.find(webhooks, { is_active: true }, { order: ["id"] })).filter((one) =>
        wants(one, name)
      )
      const body = bodyOf(name, now, data)
      yield* Store.apply(subscribers.map(({ id }) => insert(webhook_deliveries, toldOf(id, name, body, now))))
      wake()
    }).pipe(Effect.catchCause((cause) => Effect.logWarning(`nobody was told of ${name}`, cause)))

/** Reports to subscribers that a PDF was rendered from a row and not stored. */
export const tellPdf = (documentable_type: string, documentable_id: number): Effect.Effect<void, never, Store> =>
  Effect.flatMap(WebhookTeller, (tell) =>
    tell(pdf_generated, { document_id: null, documentable_type, documentable_id, job_id: null })
  )

const range = Schema.Struct({
  from: Schema.Int,
  /** Last position; null for the journal's end when the job runs. */
  to: Schema.NullOr(Schema.Int),
  /** Id of the only webhook to queue for; null for all. */
  webhook_id: Schema.NullOr(Schema.Int)
})

export interface FanOut {
  readonly job: JobKind<typeof range.Type>
  /** Whether a webhook subscribes to one of the events, or one is an erasure. */
  readonly concerns: (events: ReadonlyArray<NewEvent>) => ServerEndpoint<boolean>
  /** Queues deliveries in the recording transaction. Webhooks are read without locks, so that it does not wait. */
  readonly recorded: (events: ReadonlyArray<StoredEvent>) => ServerEndpoint<void>
  /**
   * In the transaction that changes a subscription: queues a scan of the journal from a position, for when no server
   * has the old subscription cached.
   */
  readonly catchUp: (webhook_id: number, from: number) => StoreRead<void>
}

/** Delay of the scan: longer than any server's cache lives, and than a command that read it waits for the journal. */
const catch_up_seconds = 20
export const page_events = 500

export const makeFanOut = (kinds: WebhookKinds, subscriptions: Subscriptions, wake: () => void): FanOut => {
  const job = jobKind({
    kind: "webhooks.queue",
    meaning: "queues deliveries a server missed because it did not know a webhook yet",
    data: range,
    attempts_max: 20,
    waits_seconds: [1, 5, 30, 120, 600],
    at_a_time: 2,
    counts_broken_off: false,
    run: Effect.fnUntraced(function* ({ from, to, webhook_id }) {
      const end = to ?? (yield* endOfJournal)
      const subscribers = yield* Store.find(
        webhooks,
        { is_active: true, ...(webhook_id === null ? {} : { id: webhook_id }) },
        { order: ["id"] }
      )
      const queued = yield* queueEvents(kinds, { from, to: end }, subscribers)
      if (queued > 0) wake()
      return { queued }
    })
  })
  const causes = (names: ReadonlySet<string>, type: string): boolean =>
    kinds.causedBy(type).some(({ name }) => names.has(name) || names.has(every_event))
  const isWanted = (events: ReadonlyArray<NewEvent>) =>
    Effect.map(subscriptions.names, (names) => names.size > 0 && events.some(({ type }) => causes(names, type)))
  return {
    job,
    concerns: (events) =>
      Effect.flatMap(CommandRuntime, ({ catalogue }) =>
        events.some(({ type }) => catalogue.scrubs[type] !== undefined) ? Effect.succeed(true) : isWanted(events)
      ),
    recorded: Effect.fnUntraced(function* (events) {
      yield* forgetErased(events)
      if (!(yield* isWanted(events))) return
      const store = yield* Store
      const subscribers = yield* store.find(webhooks, { is_active: true }, { order: ["id"] })
      const causedBy = (type: string) =>
        kinds.causedBy(type).filter(({ name }) => subscribers.some((one) => wants(one, name)))
      const messages = messagesOf(events, causedBy)
      let queued = 0
      for (const page of chunked(messages, page_events)) queued += yield* writeMessages(page, subscribers)
      if (queued > 0) yield* store.sql.afterCommit(Effect.sync(wake))
    }),
    catchUp: Effect.fnUntraced(function* (webhook_id, from) {
      const { jobs } = yield* serverContext
      const subject = `${webhook_id}:${from}:${yield* Clock.currentTimeMillis}`
      const range = { from, to: null, webhook_id }
      yield* jobs.offer(jobOffer(job, range, { subject, delay_seconds: catch_up_seconds }))
    })
  }
}

/** The journal's last position, once transactions in progress have ended: they may not see the subscription. */
const endOfJournal = Store.transaction(
  Effect.gen(function* () {
    const store = yield* Store
    if (store.dialect === "pg") yield* store.run("select 1 from journal_head where id = 1 for update")
    return yield* lastPosition(store)
  })
)

/**
 * Shared by writers of bodies; an erasure takes it exclusively, so that no body rendered from earlier rows is written
 * after it. SQLite has one writer anyway.
 */
const bodies_lock = "hashtextextended('bodies of webhooks', 0)"

/** Deletes stored bodies and response excerpts after an erasure; bodies still needed are rendered again. */
const forgetErased = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>) {
  const { scrubs } = (yield* CommandRuntime).catalogue
  if (!events.some(({ type }) => scrubs[type] !== undefined)) return
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run(`select pg_advisory_xact_lock(${bodies_lock})`)
  yield* store.run("update webhook_deliveries set body = null where position is not null")
  yield* store.run("update webhook_logs set response_excerpt = null")
})

/** A page of events of these types, from the start of a range. */
export const eventsOfTypes = (
  types: ReadonlyArray<string>,
  from: number,
  to: number
): StoreRead<ReadonlyArray<StoredEvent>> =>
  Store.select(
    journal,
    (sql) => sql`where position >= ${from} and position <= ${to} and type in ${sql.in(types)}
    order by position limit ${page_events}`
  )

/** Queues these webhooks' subscribed events in a range; returns the number of rows. */
export const queueEvents = Effect.fnUntraced(function* (
  kinds: WebhookKinds,
  { from, to }: { readonly from: number; readonly to: number },
  subscribers: ReadonlyArray<WebhookRow>
): CommandRuntime.Reads<number> {
  const wanted = kinds.all.filter(({ name }) => subscribers.some((one) => wants(one, name)))
  if (wanted.length === 0) return 0
  const names = new Set(wanted.map(({ name }) => name))
  const causedBy = (type: string) => kinds.causedBy(type).filter(({ name }) => names.has(name))
  const types = [...new Set(wanted.map(({ on }) => on))]
  const told = new Set<string>()
  let queued = 0
  for (let next = from; next <= to;) {
    const events = yield* eventsOfTypes(types, next, to)
    queued += yield* queueMessages(messagesOf(events, causedBy, told), subscribers)
    const last = events.at(-1)
    if (last === undefined || events.length < page_events) break
    next = last.position + 1
  }
  return queued
})

const queueMessages = (messages: ReadonlyArray<Message>, subscribers: ReadonlyArray<WebhookRow>) =>
  messages.length === 0
    ? Effect.succeed(0)
    : Store.transaction(
        Effect.gen(function* () {
          const active = yield* stillActive(subscribers)
          return yield* writeMessages(
            messages,
            subscribers.filter(({ id }) => active.has(id))
          )
        })
      )

const writeMessages = Effect.fnUntraced(function* (
  messages: ReadonlyArray<Message>,
  subscribers: ReadonlyArray<WebhookRow>
) {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run(`select pg_advisory_xact_lock_shared(${bodies_lock})`)
  const bodies = yield* bodiesOf(messages)
  const now = instantOf(yield* Clock.currentTimeMillis)
  const rows = messages.flatMap((message, at) => {
    const body = bodies[at]
    return body === undefined
      ? []
      : subscribers
          .filter((webhook) => wants(webhook, message.kind.name) && message.event.position >= webhook.told_from)
          .map((webhook) => deliveryOf(webhook.id, message, body, now))
  })
  yield* store.apply(rows.map((row) => insert(webhook_deliveries, row)))
  return rows.length
})

/**
 * Subscribers still active, locked until the transaction ends: rows queued after a webhook's deactivation would wait
 * forever.
 */
const stillActive = Effect.fnUntraced(function* (subscribers: ReadonlyArray<WebhookRow>) {
  const { dialect, sql } = yield* Store
  const rows = yield* sql<{ id: number }>`
    select id from webhooks where id in ${sql.in(subscribers.map(({ id }) => id))} and is_active
    order by id ${sql.literal(dialect === "pg" ? "for share" : "")}`
  return new Set(rows.map(({ id }) => Number(id)))
})
