/**
 * What was believed at an earlier time: the journal folded again up to then. Only the streams of the products asked
 * about are read (the product, its parts, its stock levels, the cases of its kind, every opportunity and container that
 * ever claimed it), so the cost grows with their history and with nothing else. Buffers, kits and stock are as they
 * were; the store's time zone and the settings are today's.
 */
import { Effect } from "effect"
import { demands, product_streams, stock_places } from "../demands/schema.ts"
import { container_items, containers } from "../packing/schema.ts"
import type { Failure } from "../kernel/endpoint.ts"
import { type StoredEvent, streamOf } from "../kernel/event.ts"
import { journal } from "../kernel/journal.ts"
import type { JsonObject } from "../kernel/json.ts"
import { invalidField } from "../kernel/rejection.ts"
import { redacted_event } from "../kernel/redacted-event.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { bindings, chunked } from "../kernel/store/statement.ts"
import { Store, type StoreShape } from "../kernel/store/store.ts"
import { product_components } from "../kits/schema.ts"
import { products } from "../products/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import type { StoreRow } from "../stores/stores.ts"
import { type AvailabilitySnapshot, snapshotOf, withProducts } from "./snapshot.ts"
import { type SnapshotContext, stockLevelOf } from "./load.ts"
import { asStockedProduct } from "./load-products.ts"
import { type ProjectedTables, projectInMemory } from "./project-in-memory.ts"
import { kitDepthIn } from "../kits/settings.ts"
import { horizonIn, resolutionIn } from "./settings.ts"

/** The snapshot of a store as it stood at `as_of`, for these products and all they were made of. 422 on `as_of` when the journal does not reach it. */
export const snapshotAsOf = Effect.fnUntraced(function* (
  store_row: StoreRow,
  product_ids: ReadonlyArray<number>,
  as_of: string,
  { now, settings }: SnapshotContext
): Effect.fn.Return<AvailabilitySnapshot, Failure, Store | CommandRuntime> {
  const folded = yield* foldedAsOf(product_ids, yield* positionAt(as_of, now))
  const live = new Set(
    folded
      .rows(products)
      .filter((row) => row.deleted_at === null)
      .map((row) => row.id)
  )
  const parts = Map.groupBy(
    folded
      .rows(product_components)
      .filter((row) => live.has(row.component_product_id))
      .sort((one, other) => one.sort_order - other.sort_order || one.id - other.id),
    (row) => row.product_id
  )
  const places = folded.rows(stock_places)
  const productOf = new Map(
    places.flatMap((one) => (one.product_id === null ? [] : [[one.stock_level_id, one.product_id] as const]))
  )
  const known = places
    .flatMap((one) => (one.store_id === store_row.id ? (productOf.get(one.stock_level_id) ?? []) : []))
    .filter((id) => live.has(id))
  return withProducts(
    snapshotOf({
      store: store_row,
      resolution: resolutionIn(settings),
      now: as_of,
      horizon: horizonIn(settings),
      kit_nesting_max_depth: kitDepthIn(settings),
      // Of a product deleted by then nothing is counted.
      demands: folded.rows(demands).filter((row) => live.has(row.product_id)),
      stock: folded
        .rows(stock_levels)
        .filter((row) => live.has(row.product_id))
        .map(stockLevelOf),
      products: folded.rows(products).map((row) =>
        asStockedProduct(
          row,
          (parts.get(row.id) ?? []).map((part) => ({
            component_product_id: part.component_product_id,
            quantity: Number(part.quantity),
            binding: part.binding
          }))
        )
      ),
      containers: folded
        .rows(containers)
        .filter((one) => one.status !== "dissolved" && (one.store_id === null || one.store_id === store_row.id))
        .map((one) => ({
          id: one.id,
          product_id: one.product_id,
          housing_id: one.serialised_item_id,
          items: folded
            .rows(container_items)
            .filter((item) => item.container_id === one.id)
            .map((item) => ({
              container_item_id: item.id,
              stock_level_id: item.serialised_item_id,
              product_id: item.product_id,
              packed_at: item.packed_at,
              unpacked_at: item.unpacked_at
            }))
        }))
    }),
    known
  )
})

/** The last event recorded by then. */
const positionAt = Effect.fnUntraced(function* (as_of: string, now: string): Effect.fn.Return<number, Failure, Store> {
  if (as_of > now) return yield* invalidField("as_of", "The as of field must not be in the future.")
  const store = yield* Store
  const bound = bindings(store.dialect)
  const [last] = yield* store.run<{ position: number }>(
    `select position from journal where recorded_at <= ${bound.bind(as_of)} order by recorded_at desc, position desc limit 1`,
    bound.values
  )
  if (last !== undefined) return Number(last.position)
  const [first] = yield* store.run("select * from journal order by position limit 1")
  const begins = first === undefined ? "is empty" : `begins at ${store.decode(journal, first).recorded_at}`
  return yield* invalidField("as_of", `The journal ${begins}: what was believed before is not on record.`)
})

/** Events that say what a product is made of, to be read before it is known whose history counts. */
const compositions = ["product.merged", "component.created", "component.updated"]
/** Events that change the tables looked at. */
export const stock_event_types = [
  ...compositions,
  "component.deleted",
  "product.created",
  "product.updated",
  "product.deleted",
  "stock_level.created",
  "stock_level.updated",
  "stock_level.deleted",
  "stock_level.merged",
  "claims.set",
  "claims.phased",
  "container.created",
  "container.updated",
  "container.deleted",
  "container.sealed",
  "container.unsealed",
  "container.dissolved",
  "container.dispatched",
  "container.returned",
  "container.repack.started",
  "container.item.packed",
  "container.item.unpacked"
]

/** Products lead to their parts and to what was merged into them; then everything of all of them is folded in order. */
const foldedAsOf = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  position: number
): Effect.fn.Return<ProjectedTables, Failure, Store | CommandRuntime> {
  const store = yield* Store
  const { catalogue } = yield* CommandRuntime
  const streams = new Set<string>()
  const known = new Set<number>()
  for (let next = [...new Set(product_ids)]; next.length > 0;) {
    next.forEach((id) => known.add(id))
    const noted = (yield* Effect.forEach(chunked(next, at_once_max), (some) =>
      store.find(product_streams, { product_id: [...some] })
    )).flat()
    const found = [...noted.map((row) => row.stream), ...next.map((id) => streamOf("product", id))]
    found.forEach((stream) => streams.add(stream))
    const making = yield* eventsOf(
      store,
      found.filter((stream) => /^(product|component):/.test(stream)),
      compositions,
      position
    )
    const leadsTo = making
      .flatMap(({ data }) => [data["component_product_id"], data["secondary_id"], ...toldOf(data)])
      .filter((id) => typeof id === "number")
    next = [...new Set(leadsTo)].filter((id) => !known.has(id))
  }
  const events = yield* eventsOf(store, [...streams], stock_event_types, position)
  return projectInMemory(
    catalogue,
    [products, product_components, stock_levels, stock_places, demands, containers, container_items],
    events
  )
})

/** The same of an event told in part: the parts it makes or sets, and whose rows it finds. */
const toldOf = ({ changes }: JsonObject): ReadonlyArray<unknown> =>
  !Array.isArray(changes)
    ? []
    : (changes as ReadonlyArray<{ readonly [part: string]: JsonObject | undefined }>).flatMap(({ row, set, where }) => [
        row?.["component_product_id"],
        set?.["component_product_id"],
        where?.["product_id"]
      ])

const at_once_max = 500
/** Events of these streams and types up to a position, in order. */
const eventsOf = Effect.fnUntraced(function* (
  store: StoreShape,
  streams: ReadonlyArray<string>,
  types: ReadonlyArray<string>,
  position: number
): Effect.fn.Return<ReadonlyArray<StoredEvent>, Failure> {
  const found: Array<StoredEvent> = []
  for (const some of chunked(streams, at_once_max)) {
    const bound = bindings(store.dialect)
    const rows = yield* store.run(
      `select * from journal where stream in (${some.map(bound.bind).join(", ")}) and position <= ${bound.bind(position)} ` +
        `and type in (${[...types, redacted_event].map(bound.bind).join(", ")})`,
      bound.values
    )
    for (const row of rows) found.push(store.decode(journal, row) as StoredEvent)
  }
  return found.sort((one, other) => one.position - other.position)
})
