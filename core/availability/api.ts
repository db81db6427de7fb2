/** How availability is asked for (spec 4.16, availability 6). */
import { Effect } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { type Answer, type Fault, get, type Input } from "../kernel/endpoint.ts"
import { integer, ref, timestamp } from "../kernel/field.ts"
import type { Json } from "../kernel/json.ts"
import { ok } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { type ProductRow, products } from "../products/schema.ts"
import { zoneOf } from "../stores/stores.ts"
import { clipped, inOrder } from "../values/period.ts"
import { freeAssets } from "./assets-query.ts"
import { access, storeAsked } from "./asked.ts"
import { bookOf } from "./book.ts"
import { loadBook } from "./load.ts"
import { overviews } from "./overviews.ts"
import { pointAvailability } from "./point.ts"
import { rangeAvailability } from "./range.ts"
import { horizonIn, resolutionIn } from "./settings.ts"
import { counted, dateOrRangeCheck, inOrderCheck, momentIn, spacious, spanIn } from "./window.ts"

const storeField = ref("stores", { required: true })

const whenFields = {
  date: timestamp({ nullable: true, describe: "One moment: a day of the store, or an instant" }),
  from: timestamp({ nullable: true, describe: "Start of a range, with to" }),
  to: timestamp({ nullable: true, describe: "End of the range, excluded" })
}

/** One moment (`date`) or a range (`from`, `to`) of one product at one store. */
const pointOrRange = Effect.fnUntraced(function*(input: Input, product: ProductRow | undefined, product_id: number): Effect.fn.Return<Answer, Fault, Store> {
  const store = yield* storeAsked(input)
  const zone = zoneOf(store)
  // Of a deleted product nothing is counted.
  const product_ids = product === undefined || product.deleted_at !== null ? [] : [product.id]
  if (input.body["date"] !== undefined && String(input.body["date"]).trim() !== "") {
    const { at } = momentIn(input.body, "date", zone)
    const book = yield* loadBook(store.id, { product_ids, window: spacious({ from: at, to: at }) }, input)
    return ok({ availability: { ...yield* counted(() => pointAvailability(book, product_id, at)) } })
  }
  const span = yield* spanIn(input.body, zone)
  const window = { from: span.from.at, to: span.to.at }
  const { horizon } = bookOf({ store, resolution: resolutionIn(input.settings), now: input.now, claims: [], stock: [], horizon: horizonIn(input.settings) })
  const inside = clipped(window, horizon) ?? { from: horizon.from, to: horizon.from }
  const book = yield* loadBook(store.id, { product_ids, window: spacious(inOrder(inside)) }, input)
  return ok({ availability: rangeJson(yield* counted(() => rangeAvailability(book, product_id, window))) })
})
const rangeJson = ({ slots, ...range }: ReturnType<typeof rangeAvailability>): Json => ({ ...range, slots: slots.map((slot) => ({ ...slot })) })

const flat = get("/api/v1/availability", {
  name: "availability.show", summary: "What is free of a product at a store, at one moment or over a range", ...access,
  fields: { product_id: ref("products", { required: true, live: false }), store_id: storeField, ...whenFields },
  check: dateOrRangeCheck,
  run: (input) => Effect.gen(function*() {
    const product_id = input.values.product_id ?? 0
    return yield* pointOrRange(input, yield* (yield* Store).get(products, product_id), product_id)
  })
})

const ofProduct = get("/api/v1/products/{product}/availability", {
  name: "products.availability", summary: "What is free of this product at a store, at one moment or over a range", ...access,
  params: { product: { table: products } },
  fields: { store_id: storeField, ...whenFields },
  check: dateOrRangeCheck,
  run: (input) => pointOrRange(input, input.rows.product, input.rows.product.id)
})

const availableAssets = get("/api/v1/products/{product}/available-assets", {
  name: "products.available_assets", summary: "Serialised units of this product that nobody claims in a window", ...access,
  params: { product: { table: products } },
  fields: {
    store_id: storeField, from: timestamp({ required: true }), to: timestamp({ required: true }),
    per_page: integer({ min: 1, max: 100, default: 50 }), page: integer({ min: 1, default: 1 })
  },
  check: inOrderCheck,
  run: (input) => Effect.gen(function*() {
    const { page = 1, per_page = 50 } = input.values
    const store = yield* storeAsked(input)
    const span = yield* spanIn(input.body, zoneOf(store))
    const free = yield* freeAssets(input.rows.product.id, store.id, { from: span.from.at, to: span.to.at }, input)
    return ok({
      available_assets: free.slice((page - 1) * per_page, page * per_page).map((asset) => ({ ...asset })),
      meta: { total: free.length, per_page, page }
    })
  })
})

export const availabilitySlice: Slice = {
  name: "availability",
  endpoints: [flat, ofProduct, availableAssets, ...overviews]
}
