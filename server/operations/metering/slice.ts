/** Metering: which calls were made, by whom, and at what weight; hourly sums, logs and their retention. */
import { Clock, Effect, Schema } from "effect"
import { CommandRuntime, conditionsOf, get, listBody, ok, resource, settingNumber } from "../../../core/kernel/index.ts"
import { Shown, sortOf, Store, viewContext } from "../../../core/kernel/index.ts"
import type { Failure, Query, StoredEvent, ViewContext, Where } from "../../../core/kernel/index.ts"
import { memberAnonymised } from "../../../core/people/personal-data/erase.ts"
import { deleteInParts, jobKind, jobOffer, serverContext, timedWork } from "../../ports/server-context.ts"
import { ignoredOf } from "../../../core/kernel/endpoints/ignored.ts"
import type { Meter } from "./meter.ts"
import { hour_millis, request_logs, usage_hours } from "./metered.ts"
import { instantOf } from "../../../core/values/time.ts"
import { dropMonthsBefore, monthOf } from "../../http/limit-month.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import { exportEndpoint, exportUsage, usageEndpoint } from "./usage-api.ts"

// Removes an erased person's addresses and devices from their logs.

const emptyLogs = (user_ids: ReadonlyArray<number>): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    yield* sql`
      update request_logs set ip_address = null, user_agent = null where user_id in ${sql.in(user_ids)}
      and (ip_address is not null or user_agent is not null)`
  })

/** Job for records that other servers or calls in progress had not written yet when the person was erased. */
const emptyLateLogs = jobKind({
  kind: "metering.erasure",
  meaning: "removes an erased person's addresses from calls recorded late",
  data: Schema.Struct({ user_ids: Schema.Array(Schema.Int) }),
  attempts_max: 20,
  waits_seconds: [5, 60, 600],
  at_a_time: 1,
  run: ({ user_ids }) => emptyLogs(user_ids)
})
const late_seconds = 15

/** Runs in the transaction of these events. `forget`: removes users' addresses from unwritten records. */
const eraseAddresses = (
  events: ReadonlyArray<StoredEvent>,
  forget: (user_ids: ReadonlySet<number>) => void
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const erased = events.filter(({ type }) => type === memberAnonymised.type)
    const user_ids = erased.flatMap(({ data }) => (typeof data["user_id"] === "number" ? [data["user_id"]] : []))
    const [first] = erased
    if (first === undefined || user_ids.length === 0) return
    forget(new Set(user_ids))
    yield* emptyLogs(user_ids)
    const { jobs } = yield* serverContext
    yield* jobs.offer(
      jobOffer(emptyLateLogs, { user_ids }, { subject: String(first.position), delay_seconds: late_seconds })
    )
  })

// `GET /api/v1/request_logs`: each call for as long as the settings keep it (rules/conventions 16).

const logResource = resource({
  singular: "request_log",
  table: request_logs,
  filters: ["channel", "route_name", "status_code", "personal_access_token_id", "user_id", "created_at"],
  sorts: ["created_at", "status_code", "route_name"],
  order: ["-created_at", "-id"]
})

/**
 * Sort order of the request: `created_at` is newest first, other columns ascending; a minus reverses, ties included,
 * which are otherwise in order of arrival. Undefined without a sort.
 */
const orderOf = (query: Query): ReadonlyArray<string> | undefined => {
  const asked = sortOf(query, sorted_by)
  if (asked === undefined) return undefined
  const order = [...new Set([asked.column, "created_at", "id"])]
  const is_backwards = asked.column === "created_at" ? !asked.descending : asked.descending
  return is_backwards ? order.map((column) => `-${column}`) : order
}
const sorted_by = { aliases: {}, sorts: logResource.sorts }
const isSort = (name: string): boolean => name === "sort" || name.startsWith("sort[") || name.startsWith("q[s]")

/** Replaces a condition on a rare channel by one on `webhook_channel`, whose index has rows of those channels only. */
const rareOf = (query: Query): { readonly query: Query; readonly where?: Where } => {
  const asked = conditionsOf(query).find(({ name }) => name === "channel")
  const channel = asked?.predicate === "eq" ? asked.values.at(-1)?.trim() : undefined
  return channel === "webhook_sent" || channel === "webhook_received"
    ? { query: query.filter(([name]) => !name.startsWith("q[channel_eq]")), where: { webhook_channel: channel } }
    : { query }
}

export const listLogs = (asked: Query, context: ViewContext) => {
  const order = orderOf(asked)
  const { query, ...rare } = rareOf(asked.filter(([name]) => !isSort(name)))
  const sort = ignoredOf(asked, { filters: () => true, is_sorted: order !== undefined, includes: {} })
  return listBody(logResource, query, context, {
    ...rare,
    ...(order === undefined ? {} : { order }),
    ignored: sort.filter((one) => one.startsWith("sort="))
  })
}

const logsEndpoint = (meter: Meter) =>
  get("/api/v1/request_logs", {
    answer: Shown.page(() => logResource),
    name: "request_logs.list",
    summary: "List API calls and webhooks, newest first",
    ability: "api-log:read",
    permission: "system.read",
    metering_weight: 0,
    server_only: true,
    run: Effect.fnUntraced(function* (input) {
      yield* meter.flushed
      return ok(yield* listLogs(input.query, viewContext(input)))
    })
  })

// Logs and sums are kept as long as the settings say, and deleted in small batches, so that they block others only
// briefly.

/** Deletes logs, sums and months' units older than the configured retention; logs by whole hours. */
export const dropOld = Effect.gen(function* () {
  const settings = yield* (yield* CommandRuntime).settings
  const now = yield* Clock.currentTimeMillis
  const logs = now - settingNumber(settings, "metering", "log_retention_days") * 24 * hour_millis
  const whole_hour = instantOf(Math.floor(logs / hour_millis) * hour_millis)
  yield* deleteInParts("request_logs", "created_at", whole_hour)
  const sums = new Date(now)
  sums.setUTCMonth(sums.getUTCMonth() - settingNumber(settings, "metering", "usage_retention_months"))
  const first_hour = Math.floor(sums.getTime() / hour_millis)
  yield* deleteInParts("usage_hours", "hour", first_hour)
  yield* dropMonthsBefore(monthOf(sums.getTime()))
})

const dropOldDaily = timedWork({
  cron: "37 3 * * *",
  kind: "metering.retention",
  meaning: "removes API calls and call totals older than the configured retention",
  run: () => dropOld
})

export const meteringSlice = (meter: Meter): ServerSlice => ({
  name: "metering",
  server_tables: [request_logs, usage_hours],
  resources: [logResource],
  endpoints: [usageEndpoint(meter), exportEndpoint(meter), logsEndpoint(meter)],
  answered: meter.answered,
  concerns: (events) => Effect.succeed(events.some(({ type }) => type === memberAnonymised.type)),
  recorded: (events) => eraseAddresses(events, meter.forget),
  jobs: [exportUsage, emptyLateLogs, dropOldDaily.kind],
  timed: [dropOldDaily],
  measured: meter.measured,
  background: meter.run
})
