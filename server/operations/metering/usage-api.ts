/** `GET /api/v1/usage` and its export (rules/conventions 16). */
import { Clock, Effect, Schema, Stream } from "effect"
import { choice, chunked, CommandRuntime, date, get, integer, ok, settingNumber } from "../../../core/kernel/index.ts"
import { Shown, Store, streamOf, text } from "../../../core/kernel/index.ts"
import type { Catalogue, Failure, FieldErrors, Input, JsonObject, SharedDraft } from "../../../core/kernel/index.ts"
import { instantOf } from "../../../core/values/time.ts"
import { tokenChanged, tokenIssued, tokens } from "../../access/tokens/issue.ts"
import { compare, hour_millis, metering_channels, type MeteringChannel, sent_route } from "./metered.ts"
import { cellsFor, csvRow } from "../../../core/values/csv.ts"
import { randomUUID } from "node:crypto"
import { keepDownload } from "../../files/downloads.ts"
import { accepted, accepted_shown } from "../../delivery/jobs/api.ts"
import { jobKind, jobOffer, serverContext } from "../../ports/server-context.ts"
import type { Meter } from "./meter.ts"

// Resolves the window of a usage query. Pure.

const windows = {
  "24h": "The last 24 hours",
  "7d": "The last seven days",
  "30d": "The last thirty days",
  custom: "Whole days, from one to another"
} as const
type WindowPreset = keyof typeof windows
const day_millis = 24 * hour_millis
const rolling_millis = { "24h": day_millis, "7d": 7 * day_millis, "30d": 30 * day_millis } as const

interface UsageWindow {
  readonly preset: WindowPreset
  /** First and last day of a custom window, or instants of a rolling one. */
  readonly from: string
  readonly to: string
  /** Milliseconds since 1970; `end_millis` is exclusive. */
  readonly begin_millis: number
  readonly end_millis: number
}

const windowErrors = ({ from, to, window }: JsonObject): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (window === "custom") {
    if (typeof from !== "string") errors["from"] = ["Say from which day, as 2026-06-18: the window is custom."]
    if (typeof to !== "string") errors["to"] = ["Say to which day, as 2026-06-18: the window is custom."]
  }
  if (typeof from === "string" && typeof to === "string" && to < from)
    errors["to"] = ["The last day must not be before the first."]
  return errors
}

/** The window of a query: complete UTC days for a custom one; others end now. */
export const windowOf = (
  preset: WindowPreset,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now_millis: number
): UsageWindow => {
  if (preset === "custom") {
    const days = { from: from ?? "", to: to ?? "" }
    const begin_millis = Date.parse(`${days.from}T00:00:00.000Z`)
    return { preset, ...days, begin_millis, end_millis: Date.parse(`${days.to}T00:00:00.000Z`) + day_millis }
  }
  const begin_millis = now_millis - rolling_millis[preset]
  return {
    preset,
    from: instantOf(begin_millis),
    to: instantOf(now_millis),
    begin_millis,
    // Exclusive, so that calls in this millisecond count.
    end_millis: now_millis + 1
  }
}

/** A window as full hours, read from sums, and a partial first hour, read from logs. */
interface Hours {
  /** Hours since 1970; `end` is exclusive. */
  readonly first: number
  readonly end: number
  /** Part of the hour before `first`, in milliseconds; undefined if the window begins on the hour. */
  readonly part: { readonly from_millis: number; readonly to_millis: number } | undefined
}
/**
 * Splits a window into hours. The first hour counts in full if its logs were deleted (before `logs_from_millis`). The
 * last needs no split: it is the current one, or the end of a day.
 */
const hoursOf = ({ begin_millis, end_millis }: UsageWindow, logs_from_millis: number): Hours => {
  const end = Math.ceil(end_millis / hour_millis)
  const begun = Math.floor(begin_millis / hour_millis)
  const is_whole = begin_millis === begun * hour_millis
  if (is_whole || begin_millis < logs_from_millis) return { first: begun, end, part: undefined }
  return { first: begun + 1, end, part: { from_millis: begin_millis, to_millis: (begun + 1) * hour_millis } }
}

// Usage: calls in a window, summed by one dimension (rules/conventions 16), from the hourly sums.

export const dimensions = {
  token: "Calls by token",
  endpoint: "Calls by endpoint",
  resource: "Calls by resource",
  day: "Calls by day, UTC",
  status: "Calls by response status"
} as const
type Dimension = keyof typeof dimensions

interface UsageAsked {
  readonly window: UsageWindow
  readonly dimension: Dimension
  readonly channel: MeteringChannel | undefined
  readonly token_id: number | undefined
}
interface UsageRow {
  readonly key: string
  readonly label: string | null
  readonly request_count: number
  readonly weighted_units: number
}
interface Usage {
  readonly rows: ReadonlyArray<UsageRow>
  readonly totals: { readonly request_count: number; readonly weighted_units: number }
}

/** Value of a dimension that a call does not have. */
const none = "none"

/** SQL for each dimension, in sums and in logs. `day` of logs is constant, as they are of one hour. */
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
  const { sql } = yield* Store
  const { end, first, part } = hoursOf(asked.window, logs_from_millis)
  const { logs, sums } = grouped[asked.dimension]
  const alike = sql.and([
    ...(asked.channel === undefined ? [] : [sql`channel = ${asked.channel}`]),
    ...(asked.token_id === undefined ? [] : [sql`personal_access_token_id = ${asked.token_id}`])
  ])
  const found = yield* sql<Sum>`
    select ${sql.literal(sums)} as "group", ${sql.literal(added)} from usage_hours where hour >= ${first}
    and hour < ${end} and ${alike} group by 1`
  if (part === undefined) return found
  const group = asked.dimension === "day" ? String(Math.floor(part.from_millis / (24 * hour_millis))) : logs
  const more = yield* sql<Sum>`
    select "group", ${sql.literal(summed)} from (select ${sql.literal(group)} as "group", weighted_units
    from request_logs where created_at >= ${instantOf(part.from_millis)}
    and created_at < ${instantOf(part.to_millis)} and ${alike}) as part group by 1`
  return [...found, ...more]
})

/** Sort order of rows: days ascending, other dimensions by most units, then calls (rules/conventions 16). */
const inOrder = (dimension: Dimension) => (a: UsageRow, b: UsageRow) =>
  dimension === "day"
    ? compare(a.key, b.key)
    : b.weighted_units - a.weighted_units || b.request_count - a.request_count || compare(a.key, b.key)

/** Usage in a window: sorted rows by the dimension, and totals. `now_millis` decides which logs are still kept. */
export const usageOf = Effect.fnUntraced(function* (
  asked: UsageAsked,
  now_millis: number
): CommandRuntime.Reads<Usage> {
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
            return key === sent_route ? [[key, "POST to subscribers"]] : label === undefined ? [] : [[key, label]]
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
/** Title of an endpoint group: `purchase_orders` → `Purchase Orders`. */
const titleCase = (name: string): string =>
  name
    .split(/[_.]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ")

/** Names of tokens by id; for deleted tokens the last name. */
const tokenNames = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const store = yield* Store
  const { sql } = store
  const names = new Map<string, string>()
  for (const { id, name } of yield* store.getMany(tokens, ids)) names.set(String(id), name)
  const gone = ids.filter((id) => !names.has(String(id)))
  for (const some of chunked(gone, 500)) {
    const streams = some.map((id) => streamOf(tokens.entity, id))
    const named = yield* sql<{ id: string | number; name: string | null }>`
      select data ->> 'id' as id, data ->> 'name' as name from journal where stream in ${sql.in(streams)}
      and type in ${sql.in([tokenIssued.type, tokenChanged.type])} order by position`
    for (const { id, name } of named) if (name !== null) names.set(String(id), name)
  }
  return names
})

// Usage as a CSV file for spreadsheets.

export const csvOf = (rows: ReadonlyArray<UsageRow>): string => {
  const cells = cellsFor(false)
  return [
    ["key", "label", "request_count", "weighted_units"],
    ...rows.map(({ key, label, request_count, weighted_units }) => [key, label, request_count, weighted_units])
  ]
    .map((row) => csvRow(row.map(cells.of)))
    .join("")
}

const fields = {
  window: choice(windows, { default: "7d" }),
  from: date({ nullable: true, describe: "First day, UTC, with window=custom" }),
  to: date({ nullable: true, describe: "Last day, UTC, inclusive, with window=custom" }),
  channel: choice(metering_channels, { nullable: true, describe: "Channel of the calls; default: all" }),
  dimension: choice(dimensions, { default: "endpoint" }),
  token_id: integer({ nullable: true, min: 1, max: Number.MAX_SAFE_INTEGER, describe: "Only calls of this token" })
}
const access = {
  ability: "api-usage:read",
  permission: "system.read",
  metering_weight: 0,
  server_only: true,
  check: windowErrors
} as const satisfies SharedDraft

interface Asked {
  readonly window: WindowPreset
  readonly dimension: Dimension
  readonly from?: string | null | undefined
  readonly to?: string | null | undefined
  readonly channel?: MeteringChannel | null | undefined
  readonly token_id?: number | null | undefined
}
const askedOf = ({ channel, dimension, from, to, token_id, window }: Asked, now_millis: number): UsageAsked => ({
  window: windowOf(window, { from: from ?? undefined, to: to ?? undefined }, now_millis),
  dimension,
  channel: channel ?? undefined,
  token_id: token_id ?? undefined
})
const given = ({ values }: Input<{}, typeof fields>): Asked => ({
  ...values,
  window: values.window ?? "7d",
  dimension: values.dimension ?? "endpoint"
})

const counted = { request_count: integer(), weighted_units: integer() }
export const usageEndpoint = (meter: Meter) =>
  get("/api/v1/usage", {
    ...access,
    answer: {
      usage: Shown.objects({
        key: text({ describe: "Value of the dimension; none for calls without one" }),
        label: text({ nullable: true }),
        ...counted
      }),
      meta: Shown.keys({
        totals: Shown.keys(counted),
        window: Shown.keys({ preset: choice(windows), from: text(), to: text() }),
        dimension: choice(dimensions)
      })
    },
    name: "usage.list",
    summary: "Show API usage in a time window, in total and by dimension",
    fields,
    run: Effect.fnUntraced(function* (input) {
      yield* meter.flushed
      const now_millis = Date.parse(input.now)
      const asked = askedOf(given(input), now_millis)
      const { rows, totals } = yield* usageOf(asked, now_millis)
      const { from, preset, to } = asked.window
      return ok({
        usage: rows.map((row) => ({ ...row })),
        meta: { totals: { ...totals }, window: { preset, from, to }, dimension: asked.dimension }
      })
    })
  })

const nullable = Schema.NullOr(Schema.String)
const kept_millis = 3_600_000
/** Job that writes an export with the parameters of its request. */
export const exportUsage = jobKind({
  kind: "usage.export",
  meaning: "writes usage as CSV",
  asked_with: "api-usage:read",
  data: Schema.Struct({
    asked: Schema.Struct({
      window: Schema.Literals(["24h", "7d", "30d", "custom"]),
      dimension: Schema.Literals(["token", "endpoint", "resource", "day", "status"]),
      from: nullable,
      to: nullable,
      channel: Schema.NullOr(Schema.Literals(["api", "webhook_sent", "webhook_received"])),
      token_id: Schema.NullOr(Schema.Int)
    }),
    now_millis: Schema.Int,
    owner_id: Schema.Int
  }),
  attempts_max: 5,
  waits_seconds: [5, 30],
  at_a_time: 1,
  run: Effect.fnUntraced(function* ({ asked, now_millis, owner_id }) {
    const whole = askedOf(asked, now_millis)
    const { rows } = yield* usageOf(whole, now_millis)
    const { from, to } = whole.window
    const { uuid } = yield* keepDownload({
      name: `usage-${asked.dimension}-${from.slice(0, 10)}-${to.slice(0, 10)}.csv`,
      content: Stream.make(new TextEncoder().encode(csvOf(rows))),
      owner_id,
      mime_type: "text/csv",
      kept_millis
    })
    const { file_url } = yield* CommandRuntime
    // Valid as long as the file exists.
    return { download_url: file_url?.(uuid, instantOf(yield* Clock.currentTimeMillis)) ?? null }
  })
})

export const exportEndpoint = (meter: Meter) =>
  get("/api/v1/usage/export", {
    ...access,
    answer: accepted_shown,
    success_status: 202,
    name: "usage.export",
    summary: "Export usage as CSV by a job, whose result has a download URL valid for an hour",
    fields,
    run: Effect.fnUntraced(function* (input) {
      yield* meter.flushed
      const { jobs } = yield* serverContext
      const { channel = null, dimension, from = null, to = null, token_id = null, window } = given(input)
      const owner_id = input.viewer.user_id
      const offer = jobOffer(
        exportUsage,
        { asked: { window, dimension, from, to, channel, token_id }, now_millis: Date.parse(input.now), owner_id },
        { uuid: randomUUID(), owner_id }
      )
      return accepted(yield* Store.transaction(jobs.offer(offer)), "Accepted")
    })
  })
