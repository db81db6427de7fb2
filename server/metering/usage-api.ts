/** `GET /api/v1/usage` and its export (rules/conventions 16). */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Schema, Stream } from "effect"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { get, type Input, type SharedDraft } from "../../core/kernel/endpoint.ts"
import { choice, date, integer, text } from "../../core/kernel/field.ts"
import { ok } from "../../core/kernel/resource.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { keepDownload } from "../files/downloads.ts"
import { accepted, accepted_shown } from "../jobs/accepted.ts"
import { jobKind, jobOffer } from "../jobs/job-kind.ts"
import { serverContext } from "../server-context.ts"
import type { Meter } from "./meter.ts"
import { metering_channels, type MeteringChannel } from "./schema.ts"
import { csvOf } from "./csv.ts"
import { dimensions, type Dimension, usageOf, type UsageAsked } from "./usage.ts"
import { windowErrors, windowOf, type WindowPreset, windows } from "./window.ts"

const fields = {
  window: choice(windows, { default: "7d" }),
  from: date({ nullable: true, describe: "With window=custom: the first day, of UTC" }),
  to: date({ nullable: true, describe: "With window=custom: the last day; it counts whole" }),
  channel: choice(metering_channels, { nullable: true, describe: "Without it all of them" }),
  dimension: choice(dimensions, { default: "endpoint" }),
  token_id: integer({ nullable: true, min: 1, max: Number.MAX_SAFE_INTEGER })
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
        key: text({ describe: "Of what has no token, route, resource or status: none" }),
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
    summary: "What was asked of the server in a window of time, summed",
    fields,
    run: (input) =>
      Effect.gen(function* () {
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
/** Writes what was asked for as it was when it was asked for. */
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
  run: ({ asked, now_millis, owner_id }) =>
    Effect.gen(function* () {
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
      // The address holds as long as the file.
      return { download_url: file_url?.(uuid, instantOf(yield* Clock.currentTimeMillis)) ?? null }
    })
})

export const exportEndpoint = (meter: Meter) =>
  get("/api/v1/usage/export", {
    ...access,
    answer: accepted_shown,
    success_status: 202,
    name: "usage.export",
    summary: "Have usage written as CSV; the job says where it is fetched, within an hour",
    fields,
    run: (input) =>
      Effect.gen(function* () {
        yield* meter.flushed
        const { jobs } = yield* serverContext
        const { channel = null, dimension, from = null, to = null, token_id = null, window } = given(input)
        const owner_id = input.viewer.user_id
        const offer = jobOffer(
          exportUsage,
          { asked: { window, dimension, from, to, channel, token_id }, now_millis: Date.parse(input.now), owner_id },
          { subject: randomUUID(), owner_id }
        )
        return accepted(yield* (yield* Store).transaction(jobs.offer(offer)), "Accepted")
      })
  })
