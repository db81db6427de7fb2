/** Usage: what was asked in a window, summed by one dimension (rules/conventions 16), from the sums of hours. */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { settingNumber } from "../../core/kernel/settings.ts"
import { bindings, chunked } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { streamOf } from "../../core/kernel/event.ts"
import { instantOf } from "../../core/values/time.ts"
import { tokens } from "../tokens/schema.ts"
import { tokenChanged, tokenIssued } from "../tokens/events.ts"
import { hour_millis, sent_label, sent_route } from "./metered.ts"
import type { MeteringChannel } from "./schema.ts"
import { hoursOf, type UsageWindow } from "./window.ts"

export const dimensions = {
  token: "Who asked, by token",
  endpoint: "What was asked",
  resource: "What it was about",
  day: "When, by day of UTC",
  status: "How it was answered"
} as const
export type Dimension = keyof typeof dimensions

export interface UsageAsked {
  readonly window: UsageWindow
  readonly dimension: Dimension
  readonly channel: MeteringChannel | undefined
  readonly token_id: number | undefined
}
export interface UsageRow {
  readonly key: string
  readonly label: string | null
  readonly request_count: number
  readonly weighted_units: number
}
export interface Usage {
  readonly rows: ReadonlyArray<UsageRow>
  readonly totals: { readonly request_count: number; readonly weighted_units: number }
}

/** The key of what has no token, route, resource or status. */
const none = "none"

/** By dimension: what sums are grouped by, and the same of logs. `day` of logs is known, as they are of one hour. */
const grouped: { readonly [D in Dimension]: { readonly sums: string; readonly logs: string } } = {
  token: { sums: "personal_access_token_id", logs: "coalesce(personal_access_token_id, 0)" },
  endpoint: { sums: "route_name", logs: "coalesce(route_name, '')" },
  resource: { sums: "resource", logs: "coalesce(resource, '')" },
  day: { sums: "hour / 24", logs: "" },
  status: { sums: "status_code", logs: "coalesce(status_code, 0)" }
}
const keyOf = (dimension: Dimension, group: string | number): string => {
  if (dimension === "day") return instantOf(Number(group) * 24 * hour_millis).slice(0, 10)
  return group === "" || Number(group) === 0 ? none : String(group)
}

interface Sum {
  readonly group: string | number
  readonly request_count: number
  readonly weighted_units: number
}
const summed = "cast(count(*) as bigint) as request_count, cast(sum(weighted_units) as bigint) as weighted_units"
const added =
  "cast(sum(request_count) as bigint) as request_count, cast(sum(weighted_units) as bigint) as weighted_units"

const sumsOf = Effect.fnUntraced(function* (asked: UsageAsked, logs_from_millis: number) {
  const store = yield* Store
  const { end, first, part } = hoursOf(asked.window, logs_from_millis)
  const { logs, sums } = grouped[asked.dimension]
  const hours = bindings(store.dialect)
  const alike = (bind: (value: unknown) => string): string =>
    (asked.channel === undefined ? "" : ` and channel = ${bind(asked.channel)}`) +
    (asked.token_id === undefined ? "" : ` and personal_access_token_id = ${bind(asked.token_id)}`)
  const found = yield* store.run<Sum>(
    `select ${sums} as "group", ${added} from usage_hours where hour >= ${hours.bind(first)} ` +
      `and hour < ${hours.bind(end)}${alike(hours.bind)} group by 1`,
    hours.values
  )
  if (part === undefined) return found
  const { bind, values } = bindings(store.dialect)
  const group = asked.dimension === "day" ? String(Math.floor(part.from_millis / (24 * hour_millis))) : logs
  const more = yield* store.run<Sum>(
    `select "group", ${summed} from (select ${group} as "group", weighted_units from request_logs ` +
      `where created_at >= ${bind(instantOf(part.from_millis))} and created_at < ${bind(instantOf(part.to_millis))}` +
      `${alike(bind)}) as part group by 1`,
    values
  )
  return [...found, ...more]
})

/** In the order of section 16. */
const inOrder = (dimension: Dimension) => (a: UsageRow, b: UsageRow) =>
  dimension === "day"
    ? compare(a.key, b.key)
    : b.weighted_units - a.weighted_units || b.request_count - a.request_count || compare(a.key, b.key)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** As of the instant its window says. */
export const usageOf = Effect.fnUntraced(function* (
  asked: UsageAsked,
  now_millis: number
): Effect.fn.Return<Usage, Failure, Store | CommandRuntime> {
  const { catalogue, settings } = yield* CommandRuntime
  const logs_from = now_millis - settingNumber(yield* settings, "metering", "log_retention_days") * 24 * hour_millis
  const sums = new Map<string, { request_count: number; weighted_units: number }>()
  const totals = { request_count: 0, weighted_units: 0 }
  for (const { group, request_count, weighted_units } of yield* sumsOf(asked, logs_from)) {
    const key = keyOf(asked.dimension, group)
    const sum = sums.get(key) ?? { request_count: 0, weighted_units: 0 }
    sums.set(key, sum)
    for (const one of [sum, totals]) {
      one.request_count += Number(request_count)
      one.weighted_units += Number(weighted_units)
    }
  }
  const labels = yield* labelsOf(asked.dimension, [...sums.keys()], catalogue)
  const rows = [...sums].map(([key, sum]) => ({ key, label: labels.get(key) ?? null, ...sum }))
  return { rows: rows.sort(inOrder(asked.dimension)), totals }
})

const labelsOf = (
  dimension: Dimension,
  keys: ReadonlyArray<string>,
  catalogue: Catalogue
): Effect.Effect<ReadonlyMap<string, string>, Failure, Store> => {
  switch (dimension) {
    case "token":
      return tokenNames(keys.filter((key) => key !== none).map(Number))
    case "endpoint":
      return Effect.succeed(
        new Map(
          keys.flatMap((key) => {
            const endpoint = key === sent_route ? undefined : catalogue.endpoint(key)
            const label = endpoint === undefined ? undefined : `${endpoint.method} ${endpoint.path}`
            return key === sent_route ? [[key, sent_label]] : label === undefined ? [] : [[key, label]]
          })
        )
      )
    case "resource":
      return Effect.succeed(new Map(keys.filter((key) => key !== none).map((key) => [key, titleCase(key)])))
    case "day":
    case "status":
      return Effect.succeed(new Map())
  }
}
/** `purchase_orders` → `Purchase Orders`. */
const titleCase = (name: string): string =>
  name
    .split(/[_.]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ")

/** Names of tokens by their id; those taken away keep the last they had. */
const tokenNames = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const store = yield* Store
  const names = new Map<string, string>()
  for (const { id, name } of yield* store.getMany(tokens, ids)) names.set(String(id), name)
  const gone = ids.filter((id) => !names.has(String(id)))
  for (const some of chunked(gone, 500)) {
    const { bind, values } = bindings(store.dialect)
    const streams = some.map((id) => bind(streamOf(tokens.entity, id))).join(", ")
    const named = yield* store.run<{ id: string | number; name: string | null }>(
      `select data ->> 'id' as id, data ->> 'name' as name from journal where stream in (${streams}) ` +
        `and type in (${bind(tokenIssued.type)}, ${bind(tokenChanged.type)}) order by position`,
      values
    )
    for (const { id, name } of named) if (name !== null) names.set(String(id), name)
  }
  return names
})
