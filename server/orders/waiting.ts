/**
 * Checks the waiting list after commits that may free goods: then all changes are visible, and commands that free goods
 * do not wait for it (rules/availability 9).
 */
import { Clock, Effect, Schema } from "effect"
import { chunked, CommandRuntime, dataOf, lockStreams, Store, type StoredEvent } from "../../core/kernel/index.ts"
import { demandsReplacedEvent } from "../../core/orders/demands/schema.ts"

import { opportunityStream } from "../../core/orders/opportunities/events/event-families.ts"
import { levelChanged, levelDeleted, levelMade } from "../../core/orders/opportunities/shortages/stock-moved.ts"
import { waitChanged, waitLeft, waitMatched } from "../../core/orders/opportunities/events/waiting.ts"
import { lookAtWaiting } from "../../core/orders/opportunities/waiting/api.ts"
import { settleQueue } from "../../core/orders/opportunities/waiting/decide.ts"
import { shortage_waits } from "../../core/orders/opportunities/tables/index.ts"
import { instantOf } from "../../core/values/time.ts"
import { jobKind, jobOffer, recordByServer, serverContext, timedWork } from "../ports/server-context.ts"
import { lateTransfersSweep } from "./reminders.ts"
import type { ServerSlice } from "../ports/server-slice.ts"

/** Maximum opportunities settled in one transaction, which locks them. */
const at_once = 100
/**
 * Number of streams in one command above which the full waiting list is checked: a query by stream would be longer than
 * its result.
 */
const streams_max = 200

const settings = Effect.flatMap(CommandRuntime, (runtime) => runtime.settings)

/** Events due now for lines that wait for these products: matched, changed or left. */
const dueOf = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>
): CommandRuntime.Reads<ReturnType<typeof settleQueue>> {
  const now = instantOf(yield* Clock.currentTimeMillis)
  return settleQueue(yield* lookAtWaiting(product_ids, { now, settings: yield* settings }), now)
})

/** Checks again under locks of these opportunities and records the events; returns how many lines matched. */
const settle = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  opportunity_ids: ReadonlyArray<number>
) {
  yield* lockStreams(opportunity_ids.map(opportunityStream))
  const chosen = new Set(opportunity_ids)
  const events = (yield* dueOf(product_ids)).flatMap(({ event, opportunity_id }) =>
    chosen.has(opportunity_id) ? [event] : []
  )
  if (events.length === 0) return 0
  yield* recordByServer(events, instantOf(yield* Clock.currentTimeMillis))
  return events.filter(({ type }) => type === waitMatched.type).length
})

/** Checks all lines waiting for these products; returns how many matched. */
const settleWaiting = Effect.fnUntraced(function* (product_ids: ReadonlyArray<number>) {
  const due = yield* dueOf(product_ids)
  let matched = 0
  for (const some of chunked([...new Set(due.map(({ opportunity_id }) => opportunity_id))], at_once))
    matched += yield* Store.transaction(settle(product_ids, some))
  return matched
})

const attempts = {
  attempts_max: 20,
  waits_seconds: [1, 5, 30, 120, 600],
  at_a_time: 1,
  counts_broken_off: false
} as const

const lookAgain = jobKind({
  kind: "opportunities.waiting",
  meaning: "notifies the waiting list of freed goods",
  data: Schema.Struct({ product_ids: Schema.Array(Schema.Int) }),
  ...attempts,
  run: ({ product_ids }) => Effect.map(settleWaiting(product_ids), (matched) => ({ matched }))
})

/** Number of products checked at a time, so that no query reads all waiting lines. */
const products_at_once = 20
const waitedFor = Effect.gen(function* () {
  const rows = yield* Store.run<{ id: number }>(
    `select distinct product_id as id from ${shortage_waits.name} order by 1`
  )
  return rows.map(({ id }) => Number(id))
})

/** Hourly task that checks all waiting lines, as time and settings may free goods, too. */
export const waitingSweep = timedWork({
  cron: "27 * * * *",
  kind: "opportunities.waiting_hourly",
  meaning: "checks the whole waiting list for freed goods",
  ...attempts,
  run: Effect.fnUntraced(function* () {
    let matched = 0
    for (const some of chunked(yield* waitedFor, products_at_once)) matched += yield* settleWaiting(some)
    return { matched }
  })
})

/** Types of events that may free goods: changed demands and stock levels. */
const frees = new Set([demandsReplacedEvent, levelMade, levelChanged, levelDeleted].map(({ type }) => type))
const own = new Set([waitMatched, waitChanged].map(({ type }) => type))
const of_opportunity = opportunityStream(0).replace(/0$/, "")
const opportunityIn = (stream: string): number | undefined =>
  stream.startsWith(of_opportunity) ? Number(stream.slice(of_opportunity.length)) : undefined

/**
 * Ids of products whose waiting lines these events may affect: those in the freed streams, by `product_streams`, those
 * the opportunities wait for, and, where goods were freed, all kits and containers, as parts do not lead to them.
 */
const concerned = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>) {
  const relevant = events.filter(({ type }) => !own.has(type))
  const freeing = [...new Set(relevant.flatMap(({ stream, type }) => (frees.has(type) ? [stream] : [])))]
  const left = dataOf(waitLeft, relevant).map(({ product_id }) => product_id)
  const deals = [...new Set(relevant.flatMap(({ stream }) => opportunityIn(stream) ?? []))]
  if (freeing.length === 0 && deals.length === 0) return left
  if (freeing.length + deals.length > streams_max) return yield* waitedFor
  const { sql } = yield* Store
  const ours = deals.length === 0 ? [] : [sql`w.opportunity_id in ${sql.in(deals)}`]
  const keys = sql.csv(freeing.map((stream) => sql`w.product_id || '/' || ${stream}`))
  const theirs =
    freeing.length === 0
      ? []
      : [
          sql`
            exists (select 1 from products p where p.id = w.product_id and (p.is_kit
            or p.container_availability_mode is not null))`,
          sql`exists (select 1 from product_streams s where s.key in (${keys}))`
        ]
  const rows = yield* sql<{ id: number }>`
    select distinct w.product_id as id from shortage_waits w where ${sql.or([...ours, ...theirs])} order by 1`
  return [...new Set([...left, ...rows.map(({ id }) => Number(id))])]
})

export const opportunitiesServerSlice: ServerSlice = {
  name: "opportunities_server",
  jobs: [lookAgain],
  timed: [waitingSweep, lateTransfersSweep],
  concerns: (events) =>
    Effect.succeed(
      events.some(
        ({ stream, type }) => frees.has(type) || type === waitLeft.type || opportunityIn(stream) !== undefined
      )
    ),
  recorded: Effect.fnUntraced(function* (events) {
    const product_ids = yield* concerned(events)
    const [first] = events
    if (first === undefined) return
    const { jobs } = yield* serverContext
    for (const [at, some] of chunked(product_ids, products_at_once).entries())
      yield* jobs.offer(jobOffer(lookAgain, { product_ids: some }, { subject: `${first.position}.${at}` }))
  })
}
