/** Endpoints of availability for one product (rules/availability 6). */
import { Effect } from "effect"
import { get, integer, invalidField, missingReferenceText, ok, ref, timestamp } from "../../../kernel/index.ts"
import type { Answer, CommandRuntime, Failure, Input, Rejection, Shown, Slice, Store } from "../../../kernel/index.ts"
import { products } from "../../../products/products/schema.ts"
import { instantOf, zoneOf } from "../../../values/time.ts"
import { clipped, inOrder, type Period } from "../../../values/period.ts"
import { access, missingProduct, planningEndpoints, requestedStore } from "./planning.ts"
import { type AvailabilitySnapshot, snapshotOf } from "../rules/snapshot.ts"
import { horizonIn, loadSnapshot, resolutionIn } from "../facts/load.ts"
import { loadStockedProducts } from "../facts/load-products.ts"
import { overviewEndpoints, pastStock } from "./overviews.ts"
import { pointAvailability } from "../rules/days.ts"
import { rangeAvailability } from "../rules/line.ts"
import { slotBounds } from "../rules/demand.ts"
import {
  dateOrRangeCheck,
  free_shown,
  freeAssets,
  freeNow,
  inOrderCheck,
  momentIn,
  rejectingLimits,
  spanIn,
  withMargin
} from "./window.ts"
import { availableAssetsShown, pointOrRangeShown } from "./answers.ts"

const storeField = ref("stores", { required: true })

const whenFields = {
  date: timestamp({ nullable: true, describe: "Single moment: a date on the store's clock, or an instant" }),
  from: timestamp({ nullable: true, describe: "Start of a range; requires the parameter to" }),
  to: timestamp({ nullable: true, describe: "End of the range, exclusive" }),
  as_of: timestamp({ nullable: true, describe: "As-of time: computed from events recorded by then" })
}

const isMoment = ({ body }: Pick<Input, "body">): boolean =>
  body["date"] !== undefined && String(body["date"]).trim() !== ""

const unknownProduct =
  (product_id: number) =>
  (found: ReadonlyMap<number, unknown>): Rejection | undefined =>
    found.has(product_id) ? undefined : invalidField("product_id", missingReferenceText("product_id"))

/** One moment (`date`) or a range (`from`, `to`) of one product at one store; `is_named`: by a field, not the path. */
const pointOrRange = Effect.fnUntraced(function* (
  input: Input,
  product_id: number,
  is_named: boolean
): CommandRuntime.Reads<Answer<Shown.KeysShown<typeof pointOrRangeShown>>> {
  const store = yield* requestedStore(input)
  const zone = zoneOf(store?.timezone)
  const as_of =
    typeof input.values["as_of"] === "string" ? instantOf(momentIn(input.body, "as_of", zone).at) : undefined
  const echoed_as_of = as_of === undefined ? {} : { as_of }
  const refusal = is_named ? unknownProduct(product_id) : missingProduct(product_id)
  const found = Effect.flatMap(loadStockedProducts([product_id]), (read) => {
    const refused = refusal(read)
    return refused === undefined ? Effect.void : Effect.fail(refused)
  })
  if (as_of !== undefined) yield* found
  const snapshotOver = (window: Period): Effect.Effect<AvailabilitySnapshot, Failure, Store | CommandRuntime> =>
    as_of === undefined
      ? loadSnapshot(store, { product_ids: [product_id], live_only: true, refusal, window }, input)
      : Effect.flatMap(pastStock, ({ snapshotAsOf }) => snapshotAsOf(store, [product_id], as_of, input))
  if (isMoment(input)) {
    const { at } = momentIn(input.body, "date", zone)
    const [from = at, to = at] = slotBounds(at, at, resolutionIn(input.settings), zone)
    const snapshot = yield* snapshotOver({ from, to })
    return ok({
      availability: { ...(yield* rejectingLimits(() => pointAvailability(snapshot, product_id, at))), ...echoed_as_of }
    })
  }
  const span = yield* Effect.tapError(spanIn(input.body, zone), () => found)
  const window = { from: span.from.at, to: span.to.at }
  const { horizon } = snapshotOf({
    store,
    resolution: resolutionIn(input.settings),
    now: as_of ?? input.now,
    demands: [],
    stock: [],
    horizon: horizonIn(input.settings)
  })
  const inside = clipped(window, horizon) ?? { from: horizon.from, to: horizon.from }
  const snapshot = yield* snapshotOver(withMargin(inOrder(inside)))
  return ok({
    availability: {
      ...(yield* rejectingLimits(() => rangeAvailability(snapshot, product_id, window))),
      ...echoed_as_of
    }
  })
})

const flat = get("/api/v1/availability", {
  answer: pointOrRangeShown,
  name: "availability.show",
  summary: "Show a product's availability at a store, at one moment or over a range",
  ...access,
  fields: { product_id: ref("products", { required: true, live: false }), store_id: storeField, ...whenFields },
  check: dateOrRangeCheck,
  finds: ["product_id"],
  run: (input) => pointOrRange(input, input.values.product_id ?? 0, true)
})

const ofProduct = get("/api/v1/products/{product}/availability", {
  answer: pointOrRangeShown,
  name: "products.availability",
  summary: "Show this product's availability at a store",
  ...access,
  params: { product: { table: products, found_by_run: true } },
  fields: { store_id: storeField, ...whenFields },
  check: dateOrRangeCheck,
  run: (input) => pointOrRange(input, input.rows.product.id, false)
})

const availableAssets = get("/api/v1/products/{product}/available-assets", {
  answer: availableAssetsShown,
  name: "products.available_assets",
  summary: "List this product's serialised units that are free in a window",
  ...access,
  params: { product: { table: products } },
  fields: {
    store_id: storeField,
    from: timestamp({ required: true }),
    to: timestamp({ required: true }),
    per_page: integer({ min: 1, max: 100, default: 50, describe: "Rows per page" }),
    page: integer({ min: 1, default: 1, describe: "Page number, from 1" })
  },
  check: inOrderCheck,
  run: Effect.fnUntraced(function* (input) {
    const { page = 1, per_page = 50 } = input.values
    const store = yield* requestedStore(input)
    const span = yield* spanIn(input.body, zoneOf(store?.timezone))
    const free = yield* freeAssets(input.rows.product.id, store.id, { from: span.from.at, to: span.to.at }, input)
    return ok({
      available_assets: free.slice((page - 1) * per_page, page * per_page).map((asset) => ({ ...asset })),
      meta: { total: free.length, per_page, page }
    })
  })
})

export const availabilitySlice: Slice = {
  name: "availability",
  includes: { products: { free: { kind: "worked_out", shown: free_shown, of: freeNow } } },
  endpoints: [flat, ofProduct, availableAssets, ...overviewEndpoints, ...planningEndpoints]
}
