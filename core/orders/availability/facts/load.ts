/**
 * Loads snapshots: stock, demands and parts of many products and stores in a fixed number of queries. Only demands that
 * meet the window are read, by an index on `reaches_to`, so the cost depends on the window, not on history.
 */
import { Effect } from "effect"
import { bindings, decodeValue, settingNumber, settingText, Store } from "../../../kernel/index.ts"
import type { Bindings, Failure, Rejection, RowOf, Settings, StoreShape } from "../../../kernel/index.ts"
import { demands, supplies } from "../../demands/schema.ts"
import { blocksUninspected, bulk_category, stock_levels } from "../../../products/stock/schema.ts"
import { type StoreRow, stores } from "../../../setup/stores.ts"
import type { Period } from "../../../values/period.ts"
import type { AvailabilitySnapshot, Horizon, StockedProduct, StockLevel } from "../rules/snapshot.ts"
import { defaultHorizon, snapshotOf, withProducts } from "../rules/snapshot.ts"
import type { Demand, OpportunityName, ReleasePoint, Resolution } from "../rules/demand.ts"
import {
  boundInstant,
  everStockedSql,
  loadProductsOfStores,
  loadStockedProducts,
  packedContainers,
  stockedProducts
} from "./load-products.ts"
import { kitDepthIn } from "../../../products/kits/schema.ts"
import { default_span_days } from "../../../setup/settings/groups.ts"
import type { DemandDateSource } from "../rules/line-demands.ts"

// The settings group `availability` (rules/rulings 15): slots, horizon, dates, release point, spans.

const group = "availability"
export const resolutionIn = (settings: Settings): Resolution =>
  (settingText(settings, group, "resolution") || "daily") as Resolution
export const releasePointIn = (settings: Settings): ReleasePoint =>
  (settingText(settings, group, "release_point") || "returned") as ReleasePoint
export const demandDateSourceIn = (settings: Settings): DemandDateSource =>
  (settingText(settings, group, "demand_date_source") || "operational") as DemandDateSource
export const horizonIn = (settings: Settings): Horizon => ({
  past_days: settingNumber(settings, group, "horizon_past_days"),
  future_days: settingNumber(settings, group, "horizon_future_days") || defaultHorizon.future_days
})
/** Maximum days from `from` to `to` of calendars, charts, sweeps and plans (rules/availability 6.5). */
export const spanMaxIn = (settings: Settings): number =>
  settingNumber(settings, group, "span_max_days") || default_span_days

interface SnapshotRequest {
  /** Products to load, with their parts. Undefined: all products with stock or demands there, without parts. */
  readonly product_ids?: ReadonlyArray<number> | undefined
  /** With `product_ids`: deleted products count as having no stock and no demands. */
  readonly live_only?: boolean
  /** With `product_ids`: why these products are refused, if they are. */
  readonly refusal?: ((products: ReadonlyMap<number, StockedProduct>) => Rejection | undefined) | undefined
  /** With `product_ids`: reads the names of the opportunities that demand them. */
  readonly with_names?: boolean
  /** Without `product_ids`: includes all composed products of the catalogue, with their parts. */
  readonly with_kits?: boolean
  /** The span to calculate, in milliseconds; demands outside it may be missing from the snapshots. */
  readonly window: Period
  /** With `product_ids`: all stored demands of an opportunity, which are not read again. */
  readonly read?:
    | { readonly opportunity_id: number; readonly demands: ReadonlyArray<RowOf<typeof demands>> }
    | undefined
}
export interface SnapshotContext {
  readonly settings: Settings
  readonly now: string
}

const named_products_max = 2_000

/** Live kits, and container products in mode kit or hybrid, with their parts at any depth. Two queries. */
const composedProducts = Effect.fnUntraced(function* (): Store.Reads<ReadonlyMap<number, StockedProduct>> {
  const rows = yield* Store.run<{ id: number }>(
    "select id from products where deleted_at is null " +
      "and ((is_kit = true and container_availability_mode is null) " +
      "or container_availability_mode in ('kit', 'hybrid'))"
  )
  return yield* loadStockedProducts(rows.map((row) => row.id))
})

const withoutDeleted = (products: ReadonlyMap<number, StockedProduct>, live_only = false): typeof products => {
  const has_deleted = live_only && [...products.values()].some(({ name }) => name === null)
  return has_deleted ? new Map([...products].filter(([, { name }]) => name !== null)) : products
}

/** One snapshot per existing store. Nine queries at most, whatever the number of stores, products and demands. */
export const loadSnapshots = (
  request: SnapshotRequest & { readonly store_ids: ReadonlyArray<number> },
  context: SnapshotContext
): Effect.Effect<ReadonlyMap<number, AvailabilitySnapshot>, Failure, Store> =>
  Effect.flatMap(Store.getMany(stores, request.store_ids), (found) => snapshotsAt(found, request, context))
const snapshotsAt = (found: ReadonlyArray<StoreRow>, request: SnapshotRequest, context: SnapshotContext) =>
  Store.use((store) => snapshotsIn(store, found, request, context))
const snapshotsIn = Effect.fnUntraced(function* (
  store: StoreShape,
  found: ReadonlyArray<StoreRow>,
  request: SnapshotRequest,
  { now, settings }: SnapshotContext
): Store.Reads<ReadonlyMap<number, AvailabilitySnapshot>> {
  const store_ids = found.map((one) => one.id)
  if (store_ids.length === 0) return new Map()
  const product_ids = request.product_ids === undefined ? undefined : [...new Set(request.product_ids)]
  const facts = yield* factsOf(store, store_ids, { ...request, product_ids })
  const { demands: rows, levels, products } = facts
  const demandsAt = byStore(rows, found.length),
    levelsAt = byStore(levels, found.length)
  const all = [...products.values()]
  const stocked = store_ids.map((id) => new Set(levelsAt(id).map((level) => level.product_id)))
  const unstocked = [...products.keys()].filter((id) => stocked.some((here) => !here.has(id)))
  const known_pairs = unstocked.length === 0 ? [] : yield* loadKnown(store, store_ids, unstocked)
  const knownAt = byStore(known_pairs, found.length)
  const containers =
    product_ids === undefined && request.with_kits !== true
      ? []
      : yield* packedContainers(store_ids, all, request.window.from)
  return new Map(
    found.map((one) => {
      const snapshot = snapshotOf({
        store: one,
        resolution: resolutionIn(settings),
        now,
        horizon: horizonIn(settings),
        kit_nesting_max_depth: kitDepthIn(settings),
        blocks_uninspected: blocksUninspected(settings),
        demands: demandsAt(one.id),
        opportunities: facts.opportunities,
        stock: levelsAt(one.id),
        products: all,
        containers: containers.filter((container) => container.store_id === null || container.store_id === one.id)
      })
      // Includes products whose demands or stock were not read: demands outside the window, deleted stock.
      return [
        one.id,
        withProducts(
          snapshot,
          knownAt(one.id).map((pair) => pair.product_id)
        )
      ]
    })
  )
})

/** The snapshot of one store, given by its row or id; a missing store is a defect. */
export const loadSnapshot = (
  of: StoreRow | number,
  request: SnapshotRequest,
  context: SnapshotContext
): Effect.Effect<AvailabilitySnapshot, Failure, Store> =>
  Effect.map(
    typeof of === "number"
      ? loadSnapshots({ ...request, store_ids: [of] }, context)
      : snapshotsAt([of], request, context),
    (found) => {
      const [snapshot] = found.values()
      if (snapshot === undefined) throw new Error(`store ${String(of)} vanished while it was being counted`)
      return snapshot
    }
  )

/** Rows of a store, out of those of `stores` stores. */
const byStore = <Row extends { readonly store_id: number }>(
  rows: ReadonlyArray<Row>,
  stores: number
): ((store_id: number) => ReadonlyArray<Row>) => {
  if (stores === 1) return () => rows
  const groups = Map.groupBy(rows, (row) => row.store_id)
  return (store_id) => groups.get(store_id) ?? []
}

/** SQL `store_id in (…) and product_id in (…)`; without the latter for all products. */
const whereSql = ({ bind }: Bindings, stores: ReadonlyArray<number>, products?: ReadonlyArray<number>): string =>
  `store_id in (${stores.map(bind).join(", ")})` +
  (products === undefined ? "" : ` and product_id in (${products.map(bind).join(", ")})`)

interface StockRow extends Omit<StockLevel, "quantity_held" | "last_transaction_type" | "supplied_by"> {
  readonly quantity_held: unknown
  readonly is_gone: boolean
  readonly source_type: string | null
  readonly source_id: number | null
}
const writtenOff = 6
/** Converts a stock level row to the form in snapshots. */
export const stockLevelOf = (
  row: Omit<StockLevel, "last_transaction_type"> & { readonly is_gone: boolean }
): StockLevel => ({ ...row, last_transaction_type: row.is_gone ? writtenOff : null })

const stockOf = ({ dialect }: Pick<StoreShape, "dialect">, rows: ReadonlyArray<StockRow>): ReadonlyArray<StockLevel> =>
  rows.map((row) => {
    const { source_id, source_type } = row
    return source_type === null || source_id === null
      ? {
          ...row,
          quantity_held: String(decodeValue(stock_levels.columns.quantity_held, row.quantity_held, dialect)),
          last_transaction_type: row.is_gone ? writtenOff : null
        }
      : supplyAsStock({ ...row, id: -row.id, quantity: Number(row.quantity_held), source_id, source_type })
  })
/** Converts a supply to the form of stock in snapshots. */
export const supplyAsStock = ({
  ends_at,
  id,
  product_id,
  quantity,
  source_id,
  source_type,
  starts_at,
  store_id
}: Pick<
  RowOf<typeof supplies>,
  "id" | "product_id" | "store_id" | "quantity" | "ends_at" | "source_type" | "source_id"
> & { readonly starts_at: string | null }): StockLevel => ({
  id: -id,
  product_id,
  store_id,
  stock_category: bulk_category,
  quantity_held: quantity,
  starts_at,
  ends_at,
  last_transaction_type: null,
  item_name: null,
  asset_number: null,
  serial_number: null,
  barcode: null,
  location: null,
  supplied_by: { source_type, source_id }
})

/** The columns of a demand: both databases return instants and booleans in their final form, so nothing is decoded. */
const demandColumns =
  "id, product_id, store_id, asset_id, quantity, starts_at, ends_at, buffered_starts_at, buffered_ends_at, " +
  'source_type, source_id, phase, is_active, "out", pending_checkin, returned_at, checked_at, ' +
  "opportunity_id, container_id"

type Texts = readonly [products: string, stock: string, demands: string]
/** A demand, and the names of its opportunity if they were read. */
type DemandWithName = Demand & Partial<OpportunityName>
const namesOf = (rows: ReadonlyArray<DemandWithName>): ReadonlyMap<number, OpportunityName> => {
  const names = new Map<number, OpportunityName>()
  for (const { number = null, opportunity_id, subject = null } of rows)
    if (opportunity_id !== null) names.set(opportunity_id, { subject, number })
  return names
}
/** Texts by what they depend on, as hashing a new long text takes as long as reading an index. */
const texts = new Map<string, Texts>()
const textsOf = (
  { dialect }: Pick<StoreShape, "dialect">,
  store_ids: ReadonlyArray<number>,
  product_ids: ReadonlyArray<number> | undefined,
  { except_one, with_names }: { readonly except_one: boolean; readonly with_names: boolean }
): Texts => {
  const key = `${dialect} ${store_ids.length} ${product_ids?.length} ${with_names} ${except_one}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const [of_products, of_stock, of_demands] = [bindings(dialect), bindings(dialect), bindings(dialect)]
  const where = (bound: Bindings): string => whereSql(bound, store_ids, product_ids)
  const of_window =
    `select ${demandColumns} from ${demands.name} where ${where(of_demands)} ` +
    `and reaches_to > ${of_demands.bind("")} and buffered_starts_at < ${of_demands.bind("")}` +
    (except_one ? ` and (opportunity_id is null or opportunity_id <> ${of_demands.bind(0)})` : "")
  const made: Texts = [
    stockedProducts.textOf((product_ids ?? []).map(of_products.bind).join(", ")),
    "select id, product_id, store_id, stock_category, quantity_held, is_gone, starts_at, ends_at, item_name, " +
      "asset_number, serial_number, barcode, location, out_of_service, inspection_due_at, " +
      "null as source_type, null as source_id " +
      `from stock_levels where ${where(of_stock)} union all select -id, product_id, store_id, ${bulk_category}, ` +
      "quantity, false, starts_at, ends_at, null, null, null, null, null, null, null, source_type, source_id " +
      `from ${supplies.name} where ${where(of_stock)}`,
    with_names
      ? `select c.*, o.subject, o.number from (${of_window}) c ` +
        "left join opportunities o on o.id = c.opportunity_id order by c.id"
      : `${of_window} order by id`
  ]
  if (texts.size >= 100) texts.clear()
  texts.set(key, made)
  return made
}

/**
 * Statements of products, their stock and the active demands that meet the window; of units that are out; of units
 * waiting for their check, now or within the window.
 */
const statementsOf = (
  store: StoreShape,
  store_ids: ReadonlyArray<number>,
  { read, window, with_names = false }: Pick<SnapshotRequest, "read" | "window" | "with_names">,
  product_ids?: ReadonlyArray<number>
) => {
  const what = { except_one: read !== undefined, with_names }
  const [products, stock, of_demands] = textsOf(store, store_ids, product_ids, what)
  const named = product_ids ?? []
  const where = [...store_ids, ...named]
  const except = read === undefined ? [] : [read.opportunity_id]
  return [
    { text: products, values: named },
    { text: stock, values: [...where, ...where] },
    { text: of_demands, values: [...where, ...boundsOf(window), ...except] }
  ]
}
/** Demands reach beyond the first instant and start before the second. */
const boundsOf = ({ from, to }: Period): readonly [string, string] => [
  boundInstant(from),
  boundInstant(Math.max(to, from + 1))
]
/** Those of the demands read already that belong to the snapshots. */
const meeting = (
  { read, window }: Pick<SnapshotRequest, "read" | "window">,
  store_ids: ReadonlyArray<number>,
  product_ids: ReadonlySet<number>
): ReadonlyArray<Demand> => {
  if (read === undefined) return []
  const [from, to] = boundsOf(window)
  return read.demands.filter(
    (demand) =>
      product_ids.has(demand.product_id) &&
      store_ids.includes(demand.store_id) &&
      demand.reaches_to !== null &&
      demand.reaches_to > from &&
      demand.buffered_starts_at < to
  )
}

/** Products with their parts, stock and demands: all of the stores, or level by level, as most have no parts. */
const factsOf = function* (
  store: StoreShape,
  store_ids: ReadonlyArray<number>,
  request: SnapshotRequest
): Store.Reads<{
  readonly products: ReadonlyMap<number, StockedProduct>
  readonly levels: ReadonlyArray<StockLevel>
  readonly demands: ReadonlyArray<Demand>
  readonly opportunities: ReadonlyMap<number, OpportunityName> | undefined
}> {
  const { live_only, product_ids, refusal, with_kits, with_names } = request
  const levels = product_ids && (yield* readLevels(store, store_ids, product_ids, request))
  const found = levels
    ? stockedProducts.of(store, levels[0])
    : product_ids
      ? yield* loadStockedProducts(product_ids)
      : with_kits === true
        ? new Map([...(yield* loadProductsOfStores(store_ids)), ...(yield* composedProducts())])
        : yield* loadProductsOfStores(store_ids)
  const refused = refusal?.(found)
  if (refused !== undefined) return yield* refused
  const products = withoutDeleted(found, live_only)
  const isWanted = ({ product_id }: Pick<Demand, "product_id">): boolean => products.has(product_id)
  const [stock = [], demands = []] = levels
    ? [levels[1].filter(isWanted), levels[2].filter(isWanted)]
    : yield* store.readAll(statementsOf(store, store_ids, { ...request, read: undefined }).slice(1))
  return {
    products,
    levels: stockOf(store, stock),
    demands,
    opportunities: with_names === true ? namesOf(demands) : undefined
  }
}

type ProductRows = Parameters<typeof stockedProducts.of>[1]
type Levels = readonly [products: ProductRows, stock: ReadonlyArray<StockRow>, demands: ReadonlyArray<DemandWithName>]
/** Products stay in the order of their ids, as those of each level are. */
const withLevel = ([products, stock, demands]: Levels, [made, held, claimed]: Levels): Levels => [
  [...products, ...made].toSorted((one, other) => one.id - other.id),
  [...stock, ...held],
  [...demands, ...claimed]
]
/** Rows of these products, then of their parts, and so on; undefined if a statement cannot name them all. */
const readLevels = function* (
  store: StoreShape,
  store_ids: ReadonlyArray<number>,
  named: ReadonlyArray<number>,
  request: SnapshotRequest
) {
  const known = new Set(named)
  let levels: Levels = [[], [], []]
  for (let wanted = named; wanted.length > 0;) {
    if (known.size > named_products_max) return undefined
    const [made = [], held = [], claimed = []] = yield* store.readAll(statementsOf(store, store_ids, request, wanted))
    levels = wanted === named ? [made, held, claimed] : withLevel(levels, [made, held, claimed])
    const parts: ReadonlyArray<number> = made.flatMap((row) => row.component_product_id ?? [])
    wanted = parts.length === 0 ? parts : [...new Set(parts)].filter((id) => !known.has(id))
    for (const id of wanted) known.add(id)
  }
  const own = meeting(request, store_ids, known)
  return own.length === 0 ? levels : withLevel(levels, [[], [], own])
}

/** The products that ever had demands or stock at the stores: one index look-up per pair. */
const loadKnown = Effect.fnUntraced(function* (
  store: StoreShape,
  store_ids: ReadonlyArray<number>,
  product_ids: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyArray<{ readonly product_id: number; readonly store_id: number }>, Failure> {
  const bound = bindings(store.dialect)
  return yield* store.run<{ product_id: number; store_id: number }>(
    "select p.id as product_id, s.id as store_id from products p, stores s " +
      `where s.id in (${bound.list(store_ids)})` +
      (product_ids.length > named_products_max ? "" : ` and p.id in (${bound.list(product_ids)})`) +
      ` and (exists (select 1 from ${demands.name} c where c.product_id = p.id and c.store_id = s.id) ` +
      `or ${everStockedSql("p.id", "= s.id")})`,
    bound.values
  )
})
