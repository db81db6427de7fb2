/** Endpoints for unbooked lists: their effect on stock, and the first possible window. They store nothing. */
import { Effect } from "effect"
import { choice, integer, invalid, invalidField, later, list, object, ok, postQuery } from "../../../kernel/index.ts"
import { notFound, ref, Store, timestamp } from "../../../kernel/index.ts"
import type { Failure, FieldErrors, Input, JsonObject, Rejection, SharedDraft } from "../../../kernel/index.ts"
import { type StoreRow, stores } from "../../../setup/stores.ts"
import { zoneOf } from "../../../values/time.ts"
import { itemAt } from "../../../values/text.ts"
import { endOfMoment } from "../../../values/period.ts"
import { type Buffers, noBuffers, slotCeiling } from "../rules/demand.ts"
import type { FitRequest } from "../rules/fit.ts"
import { loadSnapshot, loadSnapshots, spanMaxIn } from "../facts/load.ts"
import { loadStockedProducts } from "../facts/load-products.ts"
import type { PlannedLine } from "../rules/planned.ts"
import { span_days_ceiling } from "../../../setup/settings/groups.ts"
import { inOrderCheck, momentIn, rejectingLimits, tooLong, withMargin } from "./window.ts"
import { earliestFitShown, whatIfShown } from "./answers.ts"

// Parts shared by the availability endpoints: the permission, and the request's store.

export const access = { ability: "availability:read", permission: "availability.view" } as const satisfies SharedDraft

/** The store of a validated `store_id`; a missing row is a defect. */
export const requestedStore = (input: Pick<Input, "body">): Effect.Effect<StoreRow, Failure, Store> =>
  Effect.map(Store.getMany(stores, [Number(input.body["store_id"])]), ([row]) => {
    if (row === undefined) throw new Error("the store was checked and is gone")
    return row
  })

/** Refuses the product of a path that is missing or deleted, once products are read. */
export const missingProduct =
  (product_id: number) =>
  (found: ReadonlyMap<number, { readonly name: string | null }>): Rejection | undefined =>
    typeof found.get(product_id)?.name === "string" ? undefined : notFound()

const planning = later(() => import("../rules/planned.ts"))
const fitting = later(() => import("../rules/fit.ts"))

/** Units that these requests cost in metering, as for calendars and charts (rules/conventions 16). */
const weight = 5
const planned_lines_max = 200
const quantity = integer({ min: 1, max: 1_000_000, default: 1, describe: "Quantity in whole units" })
const dayMillis = 86_400_000

const whatIf = postQuery("/api/v1/availability/what_if", {
  answer: whatIfShown,
  name: "availability.what_if",
  ...access,
  metering_weight: weight,
  summary: "Check the availability and shortfall of planned lines; records nothing",
  fields: {
    store_id: ref("stores", { nullable: true, describe: "Default store of the lines" }),
    lines: list(
      object({
        product_id: ref("products", { required: true }),
        quantity,
        starts_at: timestamp({ required: true, describe: "Start: a date on the store's clock, or an instant" }),
        ends_at: timestamp({
          required: true,
          describe: "End, exclusive; all lines must fit into availability.span_max_days days"
        }),
        store_id: ref("stores", { nullable: true })
      }),
      {
        required: true,
        min_items: 1,
        max_items: planned_lines_max,
        describe: "Planned lines to check together, at most 200"
      }
    )
  },
  run: (input) =>
    Effect.gen(function* () {
      const lines = yield* linesOf(input)
      const window = {
        from: Math.min(...lines.map((line) => line.from)),
        to: Math.max(...lines.map((line) => line.to))
      }
      const product_ids = [...new Set(lines.map((line) => line.product_id))]
      const reach = widest(yield* loadStockedProducts(product_ids))
      const snapshots = yield* loadSnapshots(
        {
          store_ids: [...new Set(lines.map((line) => line.store_id))],
          product_ids,
          window: withMargin({
            from: window.from - reach.before_minutes * 60_000,
            to: window.to + reach.after_minutes * 60_000
          })
        },
        input
      )
      const { planAnswers } = yield* planning
      const answers = yield* rejectingLimits(
        () =>
          [...snapshots.values()].map((snapshot) =>
            planAnswers(
              snapshot,
              lines.filter((line) => line.store_id === snapshot.store_id)
            )
          ),
        { window: "lines", product: "lines" }
      )
      const timelines = answers.flatMap((one) => one.timelines)
      if (timelines.reduce((sum, one) => sum + one.slots.length, 0) > slotCeiling) {
        return yield* invalidField(
          "lines",
          `The lines need more than ${slotCeiling} slots. Ask for fewer, or for shorter ones.`
        )
      }
      const judged = answers.flatMap((one) => one.lines).sort((one, other) => one.line - other.line)
      return ok({ what_if: { has_shortage: judged.some((one) => one.has_shortage), lines: judged, timelines } })
    })
})

/** The planned lines with their store and dates in its time zone; 422 names the line and its field. */
const linesOf = Effect.fnUntraced(function* (
  input: Input
): Store.Reads<ReadonlyArray<PlannedLine & { readonly line: number }>> {
  const given = (
    input.values as {
      readonly lines: ReadonlyArray<
        Omit<PlannedLine, "from" | "to" | "store_id"> & { readonly store_id: number | null }
      >
    }
  ).lines
  const sent = input.body["lines"] as ReadonlyArray<JsonObject>
  const otherwise = (input.values as { readonly store_id?: number | null }).store_id ?? null
  const store_ids = given.map((line) => line.store_id ?? otherwise).filter((id) => id !== null)
  const zones = new Map((yield* Store.getMany(stores, store_ids)).map((store) => [store.id, zoneOf(store?.timezone)]))
  const errors: { [path: string]: ReadonlyArray<string> } = {}
  const lines = given.flatMap(({ product_id, quantity, store_id }, line) => {
    const at = store_id ?? otherwise
    if (at === null) {
      errors[`lines.${line}.store_id`] = ["The store field is required unless store_id is given for all lines."]
      return []
    }
    const zone = zones.get(at) ?? "UTC"
    const body = itemAt(sent, line)
    const from = momentIn(body, "starts_at", zone).at,
      to = momentIn(body, "ends_at", zone).at
    if (to <= from) errors[`lines.${line}.ends_at`] = ["The ends at field must be after starts at."]
    return [{ line, product_id, quantity, store_id: at, from, to }]
  })
  const first = Math.min(...lines.map((line) => line.from))
  const days_max = spanMaxIn(input.settings)
  for (const { line, to } of lines) {
    if (to - first > days_max * dayMillis)
      errors[`lines.${line}.ends_at`] = [
        `All lines must lie within ${days_max} days (setting availability.span_max_days).`
      ]
  }
  return Object.keys(errors).length > 0 ? yield* invalid(errors) : lines
})

const widest = (products: ReadonlyMap<number, Buffers>): Buffers =>
  [...products.values()].reduce(
    (widest, one) => ({
      before_minutes: Math.max(widest.before_minutes, one.before_minutes),
      after_minutes: Math.max(widest.after_minutes, one.after_minutes)
    }),
    noBuffers
  )

const oneDuration = (_values: JsonObject, body: JsonObject): FieldErrors => {
  const [minutes, days] = ["duration_minutes", "duration_days"].map((name) => (body[name] ?? null) !== null)
  return minutes === true && days === true
    ? { duration_days: ["The duration days field cannot be given together with duration minutes."] }
    : minutes === true || days === true
      ? {}
      : { duration_days: ["The duration days field is required unless duration minutes is given."] }
}
const untilAfterFrom = (values: JsonObject, body: JsonObject): FieldErrors => {
  const reversed = inOrderCheck(
    { from: values["from"] ?? null, to: values["until"] ?? null },
    { from: body["from"] ?? null, to: body["until"] ?? null }
  )
  return "to" in reversed ? { until: ["The until field must be a date on or after from."] } : {}
}

const fit = postQuery("/api/v1/availability/earliest_fit", {
  answer: earliestFitShown,
  name: "availability.earliest_fit",
  ...access,
  metering_weight: weight,
  summary: "Find the first window in which all products are free at a store",
  fields: {
    store_id: ref("stores", { required: true }),
    lines: list(object({ product_id: ref("products", { required: true }), quantity }), {
      required: true,
      min_items: 1,
      max_items: planned_lines_max
    }),
    from: timestamp({ required: true, describe: "Earliest start: a date on the store's clock, or an instant" }),
    until: timestamp({
      required: true,
      describe: "Latest end; a date includes that day; at most availability.span_max_days days after from"
    }),
    duration_minutes: integer({
      min: 1,
      max: span_days_ceiling * 1_440,
      nullable: true,
      describe: "Length of the hire in minutes; or give duration_days"
    }),
    duration_days: integer({
      min: 1,
      max: span_days_ceiling,
      nullable: true,
      describe: "Length of the hire in days on the store's clock"
    }),
    align: choice(
      { slot: "With a slot", day: "With a day of the store", none: "At any moment" },
      { default: "slot", describe: "Times at which the window may begin" }
    )
  },
  check: (values, body) => ({ ...oneDuration(values, body), ...untilAfterFrom(values, body) }),
  run: (input) =>
    Effect.gen(function* () {
      const store = yield* requestedStore(input)
      const zone = zoneOf(store?.timezone)
      const from = momentIn(input.body, "from", zone).at,
        until = endOfMoment(momentIn(input.body, "until", zone), zone)
      if (until <= from) return yield* invalidField("until", "The until field must be after from.")
      const days_max = spanMaxIn(input.settings)
      if (until - from > (days_max + 1) * dayMillis) return yield* invalidField("until", tooLong(days_max))
      if ((input.values.duration_days ?? 0) > days_max)
        return yield* invalidField("duration_days", `The duration days field must not be greater than ${days_max}.`)
      if ((input.values.duration_minutes ?? 0) > days_max * 1_440)
        return yield* invalidField(
          "duration_minutes",
          `The duration minutes field must not be greater than ${days_max * 1_440}.`
        )
      const { align = "slot", duration_days, duration_minutes, lines = [] } = input.values
      const request: FitRequest = {
        lines,
        from,
        until,
        align,
        duration: typeof duration_minutes === "number" ? { minutes: duration_minutes } : { days: duration_days ?? 1 }
      }
      const product_ids = [...new Set(lines.map((line) => line.product_id))]
      const reach = widest(yield* loadStockedProducts(product_ids))
      const snapshot = yield* loadSnapshot(
        store,
        {
          product_ids,
          window: withMargin({ from: from - reach.before_minutes * 60_000, to: until + reach.after_minutes * 60_000 })
        },
        input
      )
      const { earliestFit } = yield* fitting
      const { bottleneck, reason, window } = yield* rejectingLimits(() => earliestFit(snapshot, request), {
        window: "until",
        product: "lines"
      })
      return ok({
        earliest_fit: {
          store_id: store.id,
          window: window === null ? null : { ...window },
          reason,
          bottleneck: bottleneck === null ? null : { ...bottleneck, lines: [...bottleneck.lines] }
        }
      })
    })
})

export const planningEndpoints = [whatIf, fit]
