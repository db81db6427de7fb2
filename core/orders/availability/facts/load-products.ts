/** Queries for the products of a snapshot: their buffers, parts and the content of their cases. */
import { Effect } from "effect"
import { demands, supplies } from "../../demands/schema.ts"
import { container_items, containers, live_statuses } from "../../../products/packing.ts"
import { type ContainerMode, type KitPart, product_components } from "../../../products/kits/schema.ts"
import { bindings, decodeValue, Store, type Failure, type StoreShape } from "../../../kernel/index.ts"
import { serialised } from "../../../products/products/schema.ts"
import { instantOf, openEnd } from "../../../values/time.ts"
import { compositionOf, type PackedContainer, type PackedItem, type StockedProduct } from "../rules/snapshot.ts"

interface ProductRow {
  readonly id: number
  readonly name: string
  readonly stock_method: number
  readonly track_availability: boolean
  readonly is_kit: boolean
  readonly container_availability_mode: ContainerMode | null
  readonly buffer_before_minutes: number
  readonly post_rent_unavailability: number
  readonly deleted_at: string | null
}
const columns =
  "p.id, p.name, p.stock_method, p.track_availability, p.is_kit, p.container_availability_mode, " +
  "p.buffer_before_minutes, p.post_rent_unavailability, p.deleted_at"

/** Converts a product row and its parts to the form in snapshots. */
const asStockedProduct = (row: ProductRow, parts: ReadonlyArray<KitPart>): StockedProduct => ({
  id: row.id,
  name: row.deleted_at === null ? row.name : null,
  is_serialised: row.stock_method === serialised,
  track_availability: row.track_availability,
  is_kit: row.is_kit,
  container_mode: row.container_availability_mode,
  before_minutes: row.buffer_before_minutes,
  after_minutes: row.post_rent_unavailability,
  parts
})

/** A product with one of its parts, or with nulls if it has none. */
interface ProductPartRow extends ProductRow {
  readonly component_product_id: number | null
  readonly part_quantity: unknown
  readonly binding: "pool" | "fixed"
}

/** These products and their parts, at any depth, by id. One query. */
export const loadStockedProducts = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, StockedProduct>> {
  if (product_ids.length === 0) return new Map()
  const store = yield* Store
  const { text, values } = statementOf(store, [...new Set(product_ids)])
  return stockedOf(store, yield* store.run<ProductPartRow>(text, values))
})
/** SQL of products with their own parts. */
const textOf = (ids: string): string =>
  `select ${columns}, c.component_product_id, c.quantity as part_quantity, c.binding ` +
  "from products p left join product_components c on c.product_id = p.id " +
  `where p.id in (${ids}) order by p.id, c.sort_order, c.id`
const statementOf = ({ dialect }: Pick<StoreShape, "dialect">, product_ids: ReadonlyArray<number>) => {
  const bound = bindings(dialect)
  const ids = bound.list(product_ids)
  const text =
    `with recursive tree(id) as (select id from products where id in (${ids}) ` +
    "union select c.component_product_id from product_components c join tree on c.product_id = tree.id) " +
    textOf("select id from tree")
  return { text, values: bound.values }
}
const stockedOf = (
  { dialect }: Pick<StoreShape, "dialect">,
  rows: ReadonlyArray<ProductPartRow>
): ReadonlyMap<number, StockedProduct> => {
  const live = new Set<number>()
  for (const { deleted_at, id } of rows) if (deleted_at === null) live.add(id)
  const found = new Map<number, StockedProduct>()
  const parts = new Map<number, Array<KitPart>>()
  for (const row of rows) {
    let own = parts.get(row.id)
    if (own === undefined) {
      parts.set(row.id, (own = []))
      found.set(row.id, asStockedProduct(row, own))
    }
    const { binding, component_product_id, part_quantity } = row
    if (component_product_id === null || !live.has(component_product_id)) continue
    const quantity = Number(decodeValue(product_components.columns.quantity, part_quantity, dialect))
    own.push({ component_product_id, quantity, binding })
  }
  return found
}

/** SQL of products with their own parts alone, and products of its rows for all levels, by id, or of one row. */
export const stockedProducts = { textOf, of: stockedOf, from: asStockedProduct }

/**
 * SQL condition: the product has ever had a stock level at the store. `there`: SQL for the store, `= 1` or `in (…)`.
 */
export const everStockedSql = (product: string, there: string): string =>
  "exists (select 1 from stock_places made join stock_places here on here.stock_level_id = made.stock_level_id " +
  `where made.product_id = ${product} and here.store_id ${there})`

/** All products of which these stores have or had stock, demands or supplies, without parts. One query. */
export const loadProductsOfStores = Effect.fnUntraced(function* (
  store_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, StockedProduct>> {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const here = (): string => bound.list(store_ids)
  const rows = yield* store.run<ProductRow>(
    `select ${columns} from products p ` +
      `where exists (select 1 from stock_levels s where s.product_id = p.id and s.store_id in (${here()})) ` +
      `or exists (select 1 from ${demands.name} c where c.product_id = p.id and c.store_id in (${here()})) ` +
      `or exists (select 1 from ${supplies.name} a where a.product_id = p.id and a.store_id in (${here()})) ` +
      `or (p.deleted_at is null and ${everStockedSql("p.id", `in (${here()})`)})`,
    bound.values
  )
  return new Map(rows.map((row) => [row.id, asStockedProduct(row, [])]))
})

interface StoredContainer extends PackedContainer {
  readonly store_id: number | null
}

/** Cases in use of these kits, at these stores or at none, with their content since `from` (ms). Two queries. */
export const packedContainers = (
  store_ids: ReadonlyArray<number>,
  products: ReadonlyArray<StockedProduct>,
  from: number
): Effect.Effect<ReadonlyArray<StoredContainer>, Failure, Store> => {
  const cases = products
    .filter((product) => ["kit", "hybrid"].includes(compositionOf(product)))
    .map((product) => product.id)
  return cases.length === 0 ? Effect.succeed([]) : containersOf(store_ids, cases, from)
}
const containersOf = Effect.fnUntraced(function* (
  store_ids: ReadonlyArray<number>,
  cases: ReadonlyArray<number>,
  from: number
): Store.Reads<ReadonlyArray<StoredContainer>> {
  const store = yield* Store
  const found = (yield* store.find(containers, { product_id: cases, status: live_statuses })).filter(
    (one) => one.store_id === null || store_ids.includes(one.store_id)
  )
  const items = yield* loadItems(
    store,
    found.map((one) => one.id),
    from
  )
  return found.map((one) => ({
    id: one.id,
    product_id: one.product_id,
    housing_id: one.serialised_item_id,
    store_id: one.store_id,
    items: items.get(one.id) ?? []
  }))
})

const loadItems = Effect.fnUntraced(function* (
  store: StoreShape,
  container_ids: ReadonlyArray<number>,
  from: number
): Effect.fn.Return<ReadonlyMap<number, ReadonlyArray<PackedItem>>, Failure> {
  if (container_ids.length === 0) return new Map()
  const bound = bindings(store.dialect)
  const rows = yield* store.run<PackedItem & { readonly container_id: number }>(
    "select id as container_item_id, container_id, serialised_item_id as stock_level_id, product_id, packed_at, " +
      `unpacked_at from ${container_items.name} where container_id in (${bound.list(container_ids)}) ` +
      `and (unpacked_at is null or unpacked_at > ${bound.bind(boundInstant(from))}) order by id`,
    bound.values
  )
  return Map.groupBy(rows, (row) => row.container_id)
})

/** An instant as text for either database, clamped to the years from 1 to `openEnd`. */
export const boundInstant = (millis: number): string =>
  millis <= firstMillis ? firstInstant : millis >= lastMillis ? lastInstant : instantOf(millis)
const firstInstant = "0001-01-01T00:00:00.000Z"
const lastInstant = openEnd
const firstMillis = Date.parse(firstInstant)
const lastMillis = Date.parse(lastInstant)
