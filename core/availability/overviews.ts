/** Availability of many products or many days at once: grid, chart and sweep (availability 6.5 to 6.7). */
import { Effect } from "effect"
import { type Fault, get } from "../kernel/endpoint.ts"
import { boolean, integer, list, ref, timestamp } from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import { ok } from "../kernel/resource.ts"
import { Site } from "../kernel/site.ts"
import { Store } from "../kernel/store/store.ts"
import type { AnyRow } from "../kernel/table.ts"
import { products } from "../products/schema.ts"
import { stores, zoneOf } from "../stores/stores.ts"
import { endOfMoment, type Period } from "../values/period.ts"
import { instantOf } from "../values/time.ts"
import { access, storeAsked } from "./asked.ts"
import type { Book } from "./book.ts"
import { availabilityCalendar } from "./calendar.ts"
import type { DealName } from "./claim.ts"
import { type AvailabilityGantt, availabilityGantt, kitGantt, leavesOf } from "./gantt.ts"
import { loadBook, loadBooks } from "./load.ts"
import { bookAsOf } from "./past.ts"
import { spanMaxIn } from "./settings.ts"
import { shortages } from "./shortages.ts"
import { availabilityReasons } from "./why.ts"
import { counted, inOrderCheck, momentIn, type Span, spacious, spanIn } from "./window.ts"
import { calendarShown, ganttShown, sweepShown, whyShown } from "./shown.ts"

/** What a grid, a chart or a sweep costs in metering (conventions 16). */
const weight = 5
const spanFields = { from: timestamp({ required: true }), to: timestamp({ required: true }) }
const include_kits = boolean({ default: false, describe: "Kits and other composed products too, each judged slot by slot by what its parts allow" })
const windowOf = (span: Span, zone: string): Period => spacious({ from: span.from.at, to: endOfMoment(span.to, zone) })

const calendar = get("/api/v1/availability/calendar", {
  answer: calendarShown,
  name: "availability.calendar", summary: "Lowest availability of every product of a store, day by day", ...access, weight,
  fields: { store_id: ref("stores", { required: true }), ...spanFields, product_ids: list(integer(), { nullable: true }), include_kits },
  check: inOrderCheck,
  run: (input) => Effect.gen(function*() {
    const store = yield* storeAsked(input)
    const zone = zoneOf(store)
    const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
    const product_ids = input.values.product_ids ?? undefined
    const with_kits = input.values.include_kits === true
    const book = yield* loadBook(store.id, { ...(product_ids === undefined ? { with_kits } : { product_ids }), window: windowOf(span, zone) }, input)
    const grid = yield* counted(() => availabilityCalendar(book, span.from, span.to, { product_ids, include_kits: with_kits }))
    return ok({ calendar: { ...grid, products: grid.products.map((one) => ({ ...one, days: one.days.map((day) => ({ ...day })) })) } })
  })
})

const gantt = get("/api/v1/availability/{product}/gantt", {
  answer: ganttShown,
  name: "availability.gantt", summary: "Every claim on a product at a store, and the days it is short", ...access, weight,
  params: { product: { table: products } },
  fields: { store_id: ref("stores", { required: true }), ...spanFields, asset_ids: list(integer(), { nullable: true }), include_kits },
  check: inOrderCheck,
  run: (input) => Effect.gen(function*() {
    const store = yield* storeAsked(input)
    const zone = zoneOf(store)
    const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
    const { id } = input.rows.product
    const book = yield* loadBook(store.id, { product_ids: [id], window: windowOf(span, zone) }, input)
    const deals = yield* dealNames(book, id)
    const chart = yield* counted(() => availabilityGantt(book, id, span.from, span.to, deals, input.values.asset_ids ?? undefined))
    const kit = input.values.include_kits === true ? yield* kitOf(book, id, span) : {}
    return ok({ gantt: { ...chart, ...rowsJson(chart), ...kit } })
  })
})

const rowsJson = ({ demands, shortages }: Pick<AvailabilityGantt, "demands" | "shortages">) =>
  ({ demands: demands.map((one) => ({ ...one })), shortages: shortages.map((one) => ({ ...one })) })
const kitOf = Effect.fnUntraced(function*(book: Book, product_id: number, span: Span): Effect.fn.Return<JsonObject, Fault, Store | Site> {
  const deals = yield* dealNames(book, product_id, ...leavesOf(book, product_id, 1, 0).map((leaf) => leaf.product_id))
  const { days, parts } = yield* counted(() => kitGantt(book, product_id, span.from, span.to, deals))
  return { days: days.map((one) => ({ ...one })), parts: parts.map((part) => ({ ...part, ...rowsJson(part) })) }
})

const sweep = get("/api/v1/availability/shortages", {
  answer: sweepShown,
  name: "availability.shortages", summary: "Days on which more is promised than a store has; of all stores unless one is named", ...access, weight,
  fields: {
    store_id: ref("stores", { nullable: true }), ...spanFields,
    per_page: integer({ min: 1, max: 200, default: 50 }), page: integer({ min: 1, default: 1 })
  },
  check: inOrderCheck,
  run: (input) => Effect.gen(function*() {
    const { page = 1, per_page = 50, store_id } = input.values
    const swept = yield* (yield* Store).find(stores, typeof store_id === "number" ? { id: store_id } : { include_in_default_queries: true })
    const zone = swept.length === 1 ? zoneOf(swept[0]) : "UTC"
    const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
    const books = yield* loadBooks({ store_ids: swept.map((one) => one.id), window: windowOf(span, zone) }, input)
    const found = yield* counted(() => shortages([...books.values()], span.from, span.to))
    return ok({
      shortages: found.slice((page - 1) * per_page, page * per_page).map((one) => ({ ...one })),
      meta: { total: found.length, per_page, page }
    })
  })
})

const why = get("/api/v1/availability/why", {
  answer: whyShown,
  name: "availability.why", summary: "What one number rests on: the stock counted, the claims that take it, the parts that limit it", ...access,
  fields: {
    product_id: ref("products", { required: true }), store_id: ref("stores", { required: true }), date: timestamp({ required: true }),
    as_of: timestamp({ nullable: true, describe: "What was believed at this earlier time, at the cost of reading the product's history again" })
  },
  run: (input) => Effect.gen(function*() {
    const store = yield* storeAsked(input)
    const product_id = input.values.product_id ?? 0
    const zone = zoneOf(store)
    const { at } = momentIn(input.body, "date", zone)
    const as_of = typeof input.values.as_of === "string" ? instantOf(momentIn(input.body, "as_of", zone).at) : undefined
    const book = as_of === undefined ? yield* loadBook(store.id, { product_ids: [product_id], window: spacious({ from: at, to: at }) }, input)
      : yield* bookAsOf(store, [product_id], as_of, input)
    const deals = yield* dealNames(book, product_id)
    const { cases, claims, demand_breakdown, parts, stock_level_ids, ...reasons } = yield* counted(() => availabilityReasons(book, product_id, at, deals))
    return ok({
      reasons: {
        ...reasons, ...(as_of === undefined ? {} : { as_of }), demand_breakdown: { ...demand_breakdown }, stock_level_ids: [...stock_level_ids],
        claims: claims.map((one) => ({ ...one })), parts: parts.map((one) => ({ ...one })),
        cases: cases.map((one) => ({ ...one, missing: one.missing.map((part) => ({ ...part })) }))
      }
    })
  })
})

/** Subjects and numbers of the opportunities that claim any of these products. */
export const dealNames = Effect.fnUntraced(function*(
  book: Book, ...product_ids: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyMap<number, DealName>, Fault, Store | Site> {
  const ids = [...new Set(product_ids.flatMap(book.claimsOf).map(({ claim }) => claim.opportunity_id).filter((one) => one !== null))]
  const table = (yield* Site).catalogue.tables.find((one) => one.name === "opportunities")
  if (ids.length === 0 || table === undefined) return new Map()
  const rows: ReadonlyArray<AnyRow> = yield* (yield* Store).getMany(table, ids)
  return new Map(rows.map((row) => [row["id"] as number, { subject: row["subject"] as string | null, number: row["number"] as string | null }]))
})

export const overviews = [calendar, gantt, sweep, why]
