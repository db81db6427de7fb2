/**
 * Endpoints for many products or days: calendar, chart, shortages; and the reasons for a figure (rules/availability 6.5
 * to 6.7).
 */
import { boolean, get, integer, later, list, ok, ref, Store, timestamp } from "../../../kernel/index.ts"
import type { CommandRuntime, JsonObject } from "../../../kernel/index.ts"
import { instantOf, zoneOf } from "../../../values/time.ts"
import { endOfMoment, type LocalMoment, type Period } from "../../../values/period.ts"
import { type AvailabilitySnapshot, isTracked } from "../rules/snapshot.ts"
import { dayCells, dayGrid } from "../rules/days.ts"
import { Effect } from "effect"
import { products } from "../../../products/products/schema.ts"
import { stores } from "../../../setup/stores.ts"
import { access, missingProduct, requestedStore } from "./planning.ts"
import type { AvailabilityGantt } from "../rules/gantt.ts"
import { loadSnapshot, loadSnapshots, spanMaxIn } from "../facts/load.ts"
import { inOrderCheck, momentIn, rejectingLimits, type Span, spanIn, withMargin } from "./window.ts"
import { calendarShown, ganttShown, sweepShown, whyShown } from "./answers.ts"

// Loaded on first use, as queries about an earlier time are rare.

export const pastStock = later(() => import("./as-of.ts"))

// Days on which the demands at a store exceed its stock (rules/availability 6.7).

interface Shortage {
  readonly product_id: number
  readonly product_name: string | null
  readonly store_id: number
  readonly date: string
  /** The day's minimum, negative. */
  readonly available: number
  /** Missing quantity on that day, positive. */
  readonly severity: number
  readonly calculated_at: string
}

/** One row per short product, store and day from `from` to `to`, both included; by date, product, then store. */
export const shortages = (
  snapshots: ReadonlyArray<AvailabilitySnapshot>,
  from: LocalMoment,
  to: LocalMoment
): ReadonlyArray<Shortage> =>
  snapshots
    .flatMap((snapshot) => shortagesAt(snapshot, from, to))
    .sort((one, other) =>
      one.date < other.date
        ? -1
        : one.date > other.date
          ? 1
          : one.product_id - other.product_id || one.store_id - other.store_id
    )

const shortagesAt = (snapshot: AvailabilitySnapshot, from: LocalMoment, to: LocalMoment): ReadonlyArray<Shortage> => {
  const grid = dayGrid(snapshot, from, to)
  return snapshot.known
    .filter((id) => isTracked(snapshot, id))
    .flatMap((product_id) =>
      dayCells(snapshot, product_id, grid)
        .filter((cell) => cell.min_available < 0)
        .map(({ date, min_available }) => ({
          product_id,
          product_name: snapshot.products.get(product_id)?.name ?? null,
          store_id: snapshot.store_id,
          date,
          available: min_available,
          severity: -min_available,
          calculated_at: instantOf(snapshot.now)
        }))
    )
}

const charting = later(() => import("../rules/gantt.ts"))
const countingDays = later(() => import("./calendar.ts"))
const reasoning = later(() => import("../rules/reasons.ts"))

/** Units that these requests cost in metering (rules/conventions 16). */
const weight = 5
const spanFields = { from: timestamp({ required: true }), to: timestamp({ required: true }) }
const include_kits = boolean({
  default: false,
  describe: "Include kits, counted by components; charts also get days and parts"
})
const windowOf = (span: Span, zone: string): Period =>
  withMargin({ from: span.from.at, to: endOfMoment(span.to, zone) })

const calendar = get("/api/v1/availability/calendar", {
  answer: calendarShown,
  name: "availability.calendar",
  summary: "List every product's lowest availability at a store, by day",
  ...access,
  metering_weight: weight,
  fields: {
    store_id: ref("stores", { required: true }),
    ...spanFields,
    product_ids: list(integer(), { nullable: true }),
    include_kits
  },
  check: inOrderCheck,
  run: Effect.fnUntraced(function* (input) {
    const store = yield* requestedStore(input)
    const zone = zoneOf(store?.timezone)
    const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
    const product_ids = input.values.product_ids ?? undefined
    const with_kits = input.values.include_kits === true
    const snapshot = yield* loadSnapshot(
      store,
      { ...(product_ids === undefined ? { with_kits } : { product_ids }), window: windowOf(span, zone) },
      input
    )
    const { availabilityCalendar } = yield* countingDays
    const grid = yield* rejectingLimits(() =>
      availabilityCalendar(snapshot, span.from, span.to, { product_ids, include_kits: with_kits })
    )
    return ok({
      calendar: {
        ...grid,
        products: grid.products.map((one) => ({ ...one, days: one.days.map((day) => ({ ...day })) }))
      }
    })
  })
})

const gantt = get("/api/v1/availability/{product}/gantt", {
  answer: ganttShown,
  name: "availability.gantt",
  summary: "Show all demands on a product at a store, and the days it is short",
  ...access,
  metering_weight: weight,
  params: { product: { table: products, found_by_run: true } },
  fields: {
    store_id: ref("stores", { required: true }),
    ...spanFields,
    asset_ids: list(integer(), { nullable: true }),
    include_kits
  },
  check: inOrderCheck,
  run: Effect.fnUntraced(function* (input) {
    const store = yield* requestedStore(input)
    const zone = zoneOf(store?.timezone)
    const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
    const { id } = input.rows.product
    const snapshot = yield* loadSnapshot(
      store,
      { product_ids: [id], refusal: missingProduct(id), with_names: true, window: windowOf(span, zone) },
      input
    )
    const { availabilityGantt } = yield* charting
    const chart = yield* rejectingLimits(() =>
      availabilityGantt(snapshot, id, span.from, span.to, snapshot.opportunities, input.values.asset_ids ?? undefined)
    )
    const kit = input.values.include_kits === true ? yield* kitOf(snapshot, id, span) : {}
    return ok({ gantt: { ...chart, ...rowsJson(chart), ...kit } })
  })
})

const rowsJson = ({ demands, shortages, supplies }: Pick<AvailabilityGantt, "demands" | "shortages" | "supplies">) => ({
  demands: demands.map((one) => ({ ...one })),
  supplies: supplies.map((one) => ({ ...one })),
  shortages: shortages.map((one) => ({ ...one }))
})
const kitOf = Effect.fnUntraced(function* (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  span: Span
): CommandRuntime.Reads<JsonObject> {
  const { kitGantt } = yield* charting
  const { days, parts } = yield* rejectingLimits(() =>
    kitGantt(snapshot, product_id, span.from, span.to, snapshot.opportunities)
  )
  return { days: days.map((one) => ({ ...one })), parts: parts.map((part) => ({ ...part, ...rowsJson(part) })) }
})

const sweep = get("/api/v1/availability/shortages", {
  answer: sweepShown,
  name: "availability.shortages",
  summary: "List overbooked products by day, at one store or all",
  ...access,
  metering_weight: weight,
  fields: {
    store_id: ref("stores", { nullable: true }),
    ...spanFields,
    per_page: integer({ min: 1, max: 200, default: 50, describe: "Rows per page" }),
    page: integer({ min: 1, default: 1, describe: "Page number, from 1" })
  },
  check: inOrderCheck,
  run: Effect.fnUntraced(function* (input) {
    const { page = 1, per_page = 50, store_id } = input.values
    const swept = yield* Store.find(
      stores,
      typeof store_id === "number" ? { id: store_id } : { include_in_default_queries: true }
    )
    const zone = swept.length === 1 ? zoneOf(swept[0]?.timezone) : "UTC"
    const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
    const snapshots = yield* loadSnapshots(
      { store_ids: swept.map((one) => one.id), window: windowOf(span, zone) },
      input
    )
    const found = yield* rejectingLimits(() => shortages([...snapshots.values()], span.from, span.to))
    return ok({
      shortages: found.slice((page - 1) * per_page, page * per_page).map((one) => ({ ...one })),
      meta: { total: found.length, per_page, page }
    })
  })
})

const why = get("/api/v1/availability/why", {
  answer: whyShown,
  name: "availability.why",
  summary: "Explain an availability figure: the stock, demands and components behind it",
  ...access,
  fields: {
    product_id: ref("products", { required: true }),
    store_id: ref("stores", { required: true }),
    date: timestamp({ required: true }),
    as_of: timestamp({ nullable: true, describe: "As-of time: computed from events recorded by then" })
  },
  run: Effect.fnUntraced(function* (input) {
    const store = yield* requestedStore(input)
    const product_id = input.values.product_id ?? 0
    const zone = zoneOf(store?.timezone)
    const { at } = momentIn(input.body, "date", zone)
    const as_of = typeof input.values.as_of === "string" ? instantOf(momentIn(input.body, "as_of", zone).at) : undefined
    const snapshot =
      as_of === undefined
        ? yield* loadSnapshot(
            store,
            { product_ids: [product_id], with_names: true, window: withMargin({ from: at, to: at }) },
            input
          )
        : yield* (yield* pastStock).snapshotAsOf(store, [product_id], as_of, input, true)
    const { availabilityReasons } = yield* reasoning
    const {
      cases,
      claims: demands,
      demand_breakdown,
      parts,
      stock_level_ids,
      ...reasons
    } = yield* rejectingLimits(() => availabilityReasons(snapshot, product_id, at, snapshot.opportunities))
    return ok({
      reasons: {
        ...reasons,
        ...(as_of === undefined ? {} : { as_of }),
        demand_breakdown: { ...demand_breakdown },
        stock_level_ids: [...stock_level_ids],
        claims: demands.map((one) => ({ ...one })),
        parts: parts.map((one) => ({ ...one })),
        cases: cases.map((one) => ({ ...one, missing: one.missing.map((part) => ({ ...part })) }))
      }
    })
  })
})

export const overviewEndpoints = [calendar, gantt, sweep, why]
