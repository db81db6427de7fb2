/** Inbound webhooks: their tables, processing after the response, and retention. */
import { choice, integer, isJsonObject, longText, parseJson, Store, table, text } from "../../../core/kernel/index.ts"
import { timestamp, update, type RowOf } from "../../../core/kernel/index.ts"
import { type Delivery, type Handling, type InboundHandler, source_kinds } from "../../ports/server-slice.ts"
import { Clock, Effect, Schema } from "effect"
import { instantOf } from "../../../core/values/time.ts"
import { GivenUp, type JobKind, jobKind, timedWork } from "../../ports/server-context.ts"

// Sources and deliveries of inbound webhooks, on the server only (rules/conventions 14).

export const source_fields = {
  name: text({
    required: true,
    max: 64,
    format: "slug",
    search: true,
    describe: "Name, and last part of the URL it sends to"
  }),
  kind: choice(source_kinds, {
    required: true,
    describe: "Signature: generic in X-Signals-Signature, standard by Standard Webhooks, stripe by Stripe"
  })
}
export const inbound_sources = table(
  "inbound_sources",
  {
    ...source_fields,
    /** Encrypted signing secret; `server/ports/secret-box.ts`. */
    sealed_secret: longText({ secret: true })
  },
  { uniques: [{ columns: ["name"], field: "name", message: "Another source has this name." }] }
)
/** Largest accepted body, in bytes. */
export const inbound_body_bytes_max = 262_144
export const excerpt_chars_max = 1_000

/**
 * One row per accepted delivery, however often it was sent. Deliveries outlive their source and are still processed.
 */
export const inbound_deliveries = table(
  "inbound_deliveries",
  {
    event: text({ nullable: true, search: true, describe: "Event type, as named by the sender" }),
    status: choice({ queued: "Accepted, to be worked on", done: "Done", failed: "Given up" }, { default: "queued" }),
    result: text({ nullable: true, max: 1_000, describe: "Result of processing, or the reason it failed" }),
    delivery_id: text({ describe: "Sender's id of the delivery; for generic sources the SHA-256 of the body" }),
    /** Body as received; null once removed, after processing (`forgetBodies`). */
    body: longText({ nullable: true, hidden: true, max: inbound_body_bytes_max }),
    body_excerpt: text({
      nullable: true,
      max: excerpt_chars_max,
      describe: "Beginning of the body; null once removed"
    }),
    body_bytes: integer({ describe: "Size of the body, in bytes" }),
    /** Name of the source: one added again with a new secret keeps its history. */
    source: text({ max: 64, describe: "Name of the source that sent it" }),
    kind: choice(source_kinds),
    done_at: timestamp({ nullable: true })
  },
  {
    entity: "inbound_delivery",
    indexes: [["source", "id"], ["created_at"]],
    uniques: [{ columns: ["source", "delivery_id"], field: "delivery_id", message: "It was received before." }]
  }
)
type DeliveryRow = RowOf<typeof inbound_deliveries>

export type DeliveryWork = JobKind<{ readonly delivery_id: number }>

const no_handler = "Nothing follows from this kind of event."

/** Job kind that processes deliveries. `handlers`: those of all slices, once the catalogue is complete. */
export const deliveryWork = (handlers: () => ReadonlyArray<InboundHandler>): DeliveryWork =>
  jobKind({
    kind: "inbound.received",
    meaning: "processes an inbound webhook",
    data: Schema.Struct({ delivery_id: Schema.Int }),
    attempts_max: 8,
    waits_seconds: [1, 30, 300, 1_800, 7_200],
    at_a_time: 2,
    counts_broken_off: false,
    run: Effect.fnUntraced(function* ({ delivery_id }) {
      const row = yield* Store.get(inbound_deliveries, delivery_id)
      // Already processed by an attempt that ended before the queue recorded it, or the row is deleted.
      if (row === undefined || row.status === "done") return { result: row?.result ?? null }
      if (row.body === null)
        return yield* new GivenUp({ message: "What was sent is no longer kept; record by hand what it was about." })
      const now = instantOf(yield* Clock.currentTimeMillis)
      return yield* Store.transaction(
        Effect.gen(function* () {
          const result = yield* handledBy(handlers(), row, row.body ?? "")
          yield* Store.apply([
            update(inbound_deliveries, row.id, {
              status: "done",
              result: inShort(result),
              done_at: now,
              updated_at: now
            })
          ])
          return { result }
        })
      )
    }),
    ended: Effect.fnUntraced(function* ({ delivery_id }, error) {
      const row = yield* Store.get(inbound_deliveries, delivery_id)
      if (row === undefined || row.status === "done") return
      const now = instantOf(yield* Clock.currentTimeMillis)
      const failed = { status: "failed", result: inShort(error), done_at: now, updated_at: now } as const
      yield* Store.apply([update(inbound_deliveries, row.id, failed)])
    })
  })

const handledBy = (handlers: ReadonlyArray<InboundHandler>, row: DeliveryRow, text: string): Handling<string> => {
  const handler = handlers.find(({ event, kinds }) => event === row.event && kinds.includes(row.kind))
  if (handler === undefined) return Effect.succeed(no_handler)
  const body = parseJson(text)
  const delivery: Delivery = {
    source: row.source,
    kind: row.kind,
    delivery_id: row.delivery_id,
    received_at: row.created_at
  }
  return isJsonObject(body)
    ? handler.handle(body, delivery)
    : Effect.fail(new GivenUp({ message: "The body is no JSON object." }))
}

const result_chars_max = 1_000
const inShort = (text: string): string => text.slice(0, result_chars_max).replaceAll("\u0000", "").toWellFormed()

/** Days that processed bodies are kept: longer than any sender retries (Stripe keeps events for 30 days). */
export const kept_days = 90

/**
 * Removes old deliveries; of generic sources only the bodies, as their signatures hold no time and a replayed old
 * delivery would count as new.
 */
export const forgetOld = timedWork({
  cron: "41 3 * * *",
  kind: "inbound.forget",
  meaning: "removes old inbound deliveries",
  run: Effect.fnUntraced(function* ({ due_at }) {
    const { sql } = yield* Store
    const before = instantOf(Date.parse(due_at) - kept_days * 86_400_000)
    yield* sql`
        delete from inbound_deliveries where created_at < ${before} and kind <> 'generic' and status <> 'queued'`
    yield* forgetBodies(before)
  })
})

/** Removes the bodies of processed deliveries received before an instant. */
export const forgetBodies = Effect.fnUntraced(function* (before: string) {
  const { sql } = yield* Store
  yield* sql`
      update inbound_deliveries set body = null, body_excerpt = null where created_at < ${before}
      and body is not null and status <> 'queued'`
})
