/** `GET /api/v1/request_logs`: each call for as long as the settings keep it (rules/conventions 16). */
import { Effect } from "effect"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { get } from "../../core/kernel/endpoint.ts"
import { ignoredOf } from "../../core/kernel/ignored.ts"
import { conditionsOf, type Query, sortOf } from "../../core/kernel/query.ts"
import type { Where } from "../../core/kernel/row-change.ts"
import { listOf, ok, resource, viewContext } from "../../core/kernel/resource.ts"
import type { ViewContext } from "../../core/kernel/resource-types.ts"
import type { Meter } from "./meter.ts"
import { request_logs } from "./schema.ts"

export const logResource = resource({
  singular: "request_log",
  table: request_logs,
  filters: ["channel", "route_name", "status_code", "personal_access_token_id", "user_id", "created_at"],
  sorts: ["created_at", "status_code", "route_name"],
  order: ["-created_at", "-id"]
})

/**
 * `created_at` is the newest first, other names begin with the least; a minus turns either round. Calls alike in it
 * come in the order they came in, or the other way round with it.
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

/**
 * What is rare has an index of its own, by a column that is empty elsewhere; it takes the place of the condition, so
 * that counting looks at nothing but that index.
 */
const rareOf = (query: Query): { readonly query: Query; readonly where?: Where } => {
  const asked = conditionsOf(query).find(({ name }) => name === "channel")
  const channel = asked?.predicate === "eq" ? asked.values.at(-1)?.trim() : undefined
  return channel === "webhook_sent" || channel === "webhook_received"
    ? { query: query.filter(([name]) => !name.startsWith("q[channel_eq]")), where: { webhook_channel: channel } }
    : { query }
}

/** The list as it is asked for. */
export const listLogs = (asked: Query, context: ViewContext) => {
  const order = orderOf(asked)
  const { query, ...rare } = rareOf(asked.filter(([name]) => !isSort(name)))
  const sort = ignoredOf(asked, { filters: () => true, is_sorted: order !== undefined, includes: {} })
  return listOf(logResource, query, context, {
    ...rare,
    ...(order === undefined ? {} : { order }),
    ignored: sort.filter((one) => one.startsWith("sort="))
  })
}

export const logsEndpoint = (meter: Meter) =>
  get("/api/v1/request_logs", {
    answer: Shown.page(() => logResource),
    name: "request_logs.list",
    summary: "List calls to the API and webhooks, the newest first",
    ability: "api-log:read",
    permission: "system.read",
    metering_weight: 0,
    server_only: true,
    run: (input) =>
      Effect.gen(function* () {
        yield* meter.flushed
        return ok(yield* listLogs(input.query, viewContext(input)))
      })
  })
