/** Reads facts of transfers: goods by code or id, their stock levels and cases, and what the sending store promised. */
import { Effect } from "effect"
import { streamOf } from "../../kernel/events/event-type.ts"
import type { Settings } from "../../kernel/events/settings.ts"
import type { Viewer } from "../../kernel/fields/rejection.ts"
import { columnsSeen } from "../../kernel/tables/visibility.ts"
import { lockStreams } from "../../kernel/runtime/engine.ts"
import { Store } from "../../kernel/store/store.ts"
import { withoutStamps } from "../../kernel/tables/field-schema.ts"
import type { AnyRow } from "../../kernel/tables/table.ts"
import { assetConflicts, withMargin } from "../../orders/availability/api/window.ts"
import { loadSnapshot } from "../../orders/availability/facts/load.ts"
import { sourceName } from "../../orders/availability/rules/demand.ts"
import { demands, lockClaims, transfer_source } from "../../orders/demands/schema.ts"
import { opportunityName } from "../../orders/opportunities/state/aggregate.ts"
import { loadElsewhere, shortagesNow } from "../../orders/opportunities/shortages/api.ts"
import { opportunities } from "../../orders/opportunities/tables/opportunities.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { container_items, containers, live_statuses, nesting_max } from "../../products/packing.ts"
import { products } from "../../products/products/schema.ts"
import { type StockLevelRow, bulk_category, stock_levels } from "../../products/stock/schema.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { exact, formatDecimal } from "../../values/decimal.ts"
import { openEndMillis } from "../../values/period.ts"
import { millisOf, openEnd } from "../../values/time.ts"
import { labelOf } from "../containers/events.ts"
import { lookUp } from "../scanning/codes.ts"
import type { MoveFacts } from "./move.ts"
import type { CaseContent, Goods, GoodsFacts, PlanFacts } from "./plan.ts"
import { transfer_items, type TransferRow, transfers, transferStream } from "./schema.ts"

/** Goods in a request: one of the three is named. */
interface SentGoods {
  readonly stock_level_id?: number | null
  readonly container_id?: number | null
  readonly product_id?: number | null
  readonly quantity?: number | null
}
interface SentBody {
  readonly codes?: ReadonlyArray<string> | null
  readonly items?: ReadonlyArray<SentGoods> | null
}

const byId = <R extends { readonly id: number }>(rows: ReadonlyArray<R>): ReadonlyMap<number, R> =>
  new Map(rows.map((row) => [row.id, row]))

const asCase = Effect.fnUntraced(function* (field: string, container: ContainerRow): Store.Reads<Goods> {
  return { field, kind: "case", container, housing: yield* Store.get(stock_levels, container.serialised_item_id ?? 0) }
})
const asUnit = Effect.fnUntraced(function* (field: string, level: StockLevelRow): Store.Reads<Goods> {
  const own = yield* Store.first(containers, { serialised_item_id: level.id, status: live_statuses })
  return own === undefined ? { field, kind: "unit", level } : yield* asCase(field, own)
})
const goodsOfCode = Effect.fnUntraced(function* (code: string, at: number): Store.Reads<Goods> {
  const field = `codes.${at}`
  const { named, problem, read } = yield* lookUp(code)
  if (named === undefined)
    return { field, kind: "nothing", problem: `${read.code}: ${problem ?? "nothing has this code."}` }
  return named.kind === "unit"
    ? yield* asUnit(field, named.level)
    : named.kind === "container"
      ? yield* asCase(field, named.container)
      : { field, kind: "product", product: named.product, quantity: read.quantity ?? 1 }
})
const goodsOfItem = Effect.fnUntraced(function* (sent: SentGoods, at: number): Store.Reads<Goods> {
  const field = `items.${at}`
  if ([sent.stock_level_id, sent.container_id, sent.product_id].filter((id) => id != null).length === 1) {
    const level = yield* Store.get(stock_levels, sent.stock_level_id ?? 0)
    if (level !== undefined) return yield* asUnit(`${field}.stock_level_id`, level)
    const container = yield* Store.get(containers, sent.container_id ?? 0)
    if (container !== undefined) return yield* asCase(`${field}.container_id`, container)
    const product = yield* Store.get(products, sent.product_id ?? 0)
    if (product !== undefined)
      return { field: `${field}.quantity`, kind: "product", product, quantity: sent.quantity ?? 1 }
  }
  return { field, kind: "nothing", problem: "Name a stock_level_id, a container_id, or a product_id with a quantity." }
})
/** A bulk level given by its id stands for its product. */
const withProductsOfBulk = Effect.fnUntraced(function* (one: Goods, quantity: number): Store.Reads<Goods> {
  if (one.kind !== "unit" || one.level.stock_category !== bulk_category) return one
  const product = yield* Store.get(products, one.level.product_id)
  return product === undefined ? one : { field: one.field, kind: "product", product, quantity }
})

const loadGoods = Effect.fnUntraced(function* (sent: SentBody): Store.Reads<ReadonlyArray<Goods> | undefined> {
  if (!sent.codes?.length && !sent.items?.length) return undefined
  const texts = (sent.codes ?? []).filter((code) => code.trim() !== "")
  const scanned = yield* Effect.forEach(texts, goodsOfCode)
  const named = yield* Effect.forEach(sent.items ?? [], (item, at) =>
    Effect.flatMap(goodsOfItem(item, at), (one) => withProductsOfBulk(one, item.quantity ?? 1))
  )
  return [...scanned, ...named]
})

const loadCase = Effect.fnUntraced(function* (container: ContainerRow): Store.Reads<CaseContent> {
  const all = [container]
  for (let inside = all, depth = 0; inside.length > 0 && depth < nesting_max; depth++) {
    inside = [
      ...(yield* Store.find(containers, { parent_container_id: inside.map(({ id }) => id), status: live_statuses }))
    ]
    all.push(...inside)
  }
  const packings = yield* Store.find(container_items, { container_id: all.map(({ id }) => id), unpacked_at: null })
  const packed = new Map(packings.map((item) => [item.serialised_item_id, item]))
  const housings = all.flatMap(({ serialised_item_id }) => serialised_item_id ?? [])
  const levels = yield* Store.getMany(stock_levels, [...new Set([...housings, ...packed.keys()])])
  const demanded = { source_type: "container", source_id: packings.map(({ id }) => id) }
  const held = new Set((yield* Store.pick(demands, ["source_id"], demanded)).map(({ source_id }) => source_id))
  const unitOf = (level: StockLevelRow, item: ContainerItemRow | undefined) => ({
    level,
    item,
    is_held: item !== undefined && held.has(item.id)
  })
  return { containers: all, units: levels.map((level) => unitOf(level, packed.get(level.id))) }
})

interface Leaving {
  /** Units outside cases, and those that leave in one. */
  readonly alone: ReadonlyArray<number>
  readonly in_case: ReadonlyArray<number>
  readonly from: string
  readonly transfer_id: number
}
/** Names of opportunities, for viewers who may see them. */
const orderNames = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, viewer: Viewer) {
  if (!columnsSeen(opportunities, viewer)("subject")) return new Map<number, string>()
  const found = yield* Store.getMany(opportunities, [...new Set(ids)])
  return new Map(found.map((one) => [one.id, opportunityName(one.id, one)]))
})
/** Reasons units cannot leave from an instant on, apart from this transfer and the case they leave in. */
const loadHeld = Effect.fnUntraced(function* (
  { alone, from, in_case, transfer_id }: Leaving,
  { now, viewer }: Pick<Now, "now" | "viewer">
): Store.Reads<ReadonlyMap<number, string>> {
  const inside = new Set<number | null>(in_case)
  const packings = yield* Store.find(container_items, { serialised_item_id: alone, unpacked_at: null })
  const packed = packings.filter(({ serialised_item_id }) => !inside.has(serialised_item_id))
  const claims = yield* assetConflicts([...alone, ...in_case], { from, to: openEnd }, now, {
    source_type: transfer_source,
    source_id: transfer_id
  })
  const conflicts = [
    ...claims.filter(({ asset_id, container_id }) => container_id === null || !inside.has(asset_id)),
    ...packed.map((one) => ({
      asset_id: one.serialised_item_id,
      container_id: one.container_id,
      opportunity_id: null,
      out: false,
      source_type: "container",
      source_id: one.id
    }))
  ]
  const levels = byId(
    yield* Store.getMany(
      stock_levels,
      conflicts.flatMap(({ asset_id }) => asset_id ?? [])
    )
  )
  const orders = yield* orderNames(
    conflicts.flatMap(({ opportunity_id }) => opportunity_id ?? []),
    viewer
  )
  const cases = byId(
    yield* Store.getMany(
      containers,
      conflicts.flatMap(({ container_id }) => container_id ?? [])
    )
  )
  return new Map(
    conflicts.toReversed().flatMap((demand) => {
      const level = levels.get(demand.asset_id ?? 0)
      if (level === undefined) return []
      const { container_id, opportunity_id, out } = demand
      const order = orders.get(opportunity_id ?? 0) ?? `opportunity ${opportunity_id}`
      const text =
        opportunity_id !== null
          ? `is ${out ? "out with" : "allocated to"} ${order}: send another one`
          : container_id !== null
            ? `is in the case ${cases.get(container_id)?.name ?? container_id}: take it out first, or send the case`
            : `is on ${sourceName(demand, new Map()).replace("#", "").toLowerCase()} already`
      return [[level.id, `${labelOf(level)} ${text}.`] as const]
    })
  )
})

const storeOf = Effect.fnUntraced(function* (id: number): Store.Reads<StoreRow> {
  const row = yield* Store.get(stores, id)
  return row ?? (yield* Effect.die(new Error(`store ${id} of a transfer vanished`)))
})
const bulkLevels = Effect.fnUntraced(function* (store_id: number, product_ids: ReadonlyArray<number>) {
  const where = { store_id, product_id: product_ids, stock_category: bulk_category, is_sub_hired: false }
  const ids = (yield* Store.pick(stock_levels, ["id"], where)).map(({ id }) => id)
  // Quantities are read once no other command is changing them.
  yield* lockStreams(ids.map((id) => streamOf("stock_level", id)))
  return new Map((yield* Store.getMany(stock_levels, ids)).map((level) => [level.product_id, level]))
})

const productsIn = (goods: ReadonlyArray<Goods>): ReadonlyArray<number> =>
  goods.flatMap((one) =>
    one.kind === "product"
      ? [one.product.id]
      : one.kind === "unit"
        ? [one.level.product_id]
        : one.kind === "case"
          ? (one.housing?.product_id ?? [])
          : []
  )
const unitsIn = (goods: ReadonlyArray<Goods>): ReadonlyArray<number> =>
  goods.flatMap((one) => (one.kind === "unit" ? [one.level.id] : []))

interface Now {
  readonly now: string
  readonly settings: Settings
  readonly viewer: Viewer
}
/** Facts that planning and moving share. */
const loadShared = Effect.fnUntraced(function* (
  place: Pick<TransferRow, "from_store_id" | "to_store_id" | "starts_at" | "id">,
  goods: ReadonlyArray<Goods>,
  more: { readonly product_ids: ReadonlyArray<number>; readonly container_ids: ReadonlyArray<number> },
  context: Pick<Now, "now" | "viewer">
): Store.Reads<GoodsFacts> {
  const product_ids = [...new Set([...productsIn(goods), ...more.product_ids])]
  const named = goods.flatMap((one) => (one.kind === "case" ? [one.container] : []))
  const others = yield* Store.getMany(containers, [...more.container_ids])
  const cases = yield* Effect.forEach([...named, ...others], (container) =>
    Effect.map(loadCase(container), (content) => [container.id, content] as const)
  )
  const in_case = cases.flatMap(([, { units }]) => units.map(({ level }) => level.id))
  yield* lockClaims([...product_ids, ...cases.flatMap(([, { units }]) => units.map(({ level }) => level.product_id))])
  return {
    goods,
    from: yield* storeOf(place.from_store_id),
    to: yield* storeOf(place.to_store_id),
    products: byId(yield* Store.getMany(products, product_ids)),
    bulk_from: yield* bulkLevels(place.from_store_id, product_ids),
    held: yield* loadHeld({ alone: unitsIn(goods), in_case, from: place.starts_at, transfer_id: place.id }, context),
    cases: new Map(cases)
  }
})

/** Goods of an order that are short at the receiving store, as far as the sending store has them free at that time. */
const loadShort = Effect.fnUntraced(function* (
  { from_store_id, opportunity_id, to_store_id }: SentPlan,
  context: Now
): Store.Reads<ReadonlyArray<Goods>> {
  const header = yield* Store.get(opportunities, opportunity_id ?? 0)
  const found = header === undefined ? [] : yield* shortagesNow([header], context)
  const short = found
    .flatMap(({ shortages }) => shortages)
    .filter(({ remaining_shortfall, store_id }) => store_id === to_store_id && remaining_shortfall > 0)
  const offers = (yield* loadElsewhere(short, context)).filter(({ store_id }) => store_id === from_store_id)
  const named = byId(
    yield* Store.getMany(
      products,
      offers.map(({ product_id }) => product_id)
    )
  )
  return offers.flatMap((offer): ReadonlyArray<Goods> => {
    const product = named.get(offer.product_id)
    const line = short.find(({ opportunity_item_id }) => opportunity_item_id === offer.opportunity_item_id)
    const quantity = Math.min(offer.available, line?.remaining_shortfall ?? 0)
    return product === undefined ? [] : [{ field: "opportunity_id", kind: "product", product, quantity }]
  })
})
type SentPlan = Pick<TransferRow, "from_store_id" | "to_store_id" | "starts_at"> &
  Partial<Pick<TransferRow, "opportunity_id">>

export const loadPlan = Effect.fnUntraced(function* (sent: SentBody & SentPlan, context: Now): Store.Reads<PlanFacts> {
  const goods = (yield* loadGoods(sent)) ?? (yield* loadShort(sent, context))
  const shared = yield* loadShared({ ...sent, id: 0 }, goods, { product_ids: [], container_ids: [] }, context)
  const product_ids = [...shared.products.keys()]
  const snapshot = yield* loadSnapshot(
    sent.from_store_id,
    { product_ids, window: withMargin({ from: millisOf(sent.starts_at), to: openEndMillis }) },
    context
  )
  const promised = product_ids.flatMap((id) =>
    snapshot.demandsOf(id).flatMap(({ demand }) => demand.opportunity_id ?? [])
  )
  return { ...shared, snapshot, orders: yield* orderNames(promised, context.viewer) }
})

export const loadMove = Effect.fnUntraced(function* (
  transfer: TransferRow,
  sent: SentBody,
  context: Pick<Now, "now" | "viewer">
): Store.Reads<MoveFacts> {
  const items = yield* Store.find(transfer_items, { transfer_id: transfer.id }, { order: ["id"] })
  const goods = yield* loadGoods(sent)
  const shared = yield* loadShared(
    { ...transfer, starts_at: context.now },
    goods ?? [],
    {
      product_ids: items.flatMap(({ product_id }) => product_id ?? []),
      container_ids: items.flatMap(({ container_id }) => container_id ?? [])
    },
    context
  )
  const named = (goods ?? []).flatMap((one) => (one.kind === "unit" ? [one.level] : []))
  const level_ids = items.flatMap(({ stock_level_id }) => stock_level_id ?? [])
  const home = yield* Store.first(transfers, { return_of_transfer_id: transfer.id, status: "draft" })
  if (home !== undefined) yield* lockStreams([transferStream(home.id)])
  return {
    ...shared,
    goods,
    transfer,
    items,
    levels: byId([...named, ...(yield* Store.getMany(stock_levels, level_ids))]),
    bulk_to: yield* bulkLevels(transfer.to_store_id, [...shared.products.keys()]),
    home: home && { transfer: home, items: yield* Store.find(transfer_items, { transfer_id: home.id }) }
  }
})

// Answers.

/** Items of transfers as shown: names, codes and weights. */
export const showItems = Effect.fnUntraced(function* (rows: ReadonlyArray<AnyRow>) {
  const ids = rows.map(({ id }) => Number(id))
  const items = yield* Store.find(transfer_items, { transfer_id: ids }, { order: ["id"] })
  const levels = byId(
    yield* Store.getMany(
      stock_levels,
      items.flatMap(({ stock_level_id }) => stock_level_id ?? [])
    )
  )
  const cases = byId(
    yield* Store.getMany(
      containers,
      items.flatMap(({ container_id }) => container_id ?? [])
    )
  )
  const contents = new Map(
    yield* Effect.forEach([...cases.values()], (one) =>
      Effect.map(loadCase(one), ({ units }) => [one.id, units] as const)
    )
  )
  const of_cases = [...contents.values()].flat().map(({ level }) => level.product_id)
  const named = byId(
    yield* Store.getMany(products, [...new Set([...of_cases, ...items.flatMap(({ product_id }) => product_id ?? [])])])
  )
  const weightOf = (product_ids: ReadonlyArray<number>, quantity: number): string | null => {
    const weights = product_ids.flatMap((id) => named.get(id)?.weight ?? [])
    return weights.length < product_ids.length || weights.length === 0
      ? null
      : formatDecimal(weights.reduce((sum, one) => sum.plus(one), exact(0)).times(quantity), 4)
  }
  const shown = items.map((item) => {
    const level = levels.get(item.stock_level_id ?? 0)
    const container = cases.get(item.container_id ?? 0)
    const product = named.get(item.product_id ?? 0)
    const goods = contents.get(item.container_id ?? 0)?.map((unit) => unit.level.product_id)
    return {
      ...withoutStamps(item),
      code: container?.barcode ?? (level === undefined ? (product?.sku ?? null) : labelOf(level)),
      name: container?.name ?? product?.name ?? null,
      weight: weightOf(goods ?? (item.product_id === null ? [] : [item.product_id]), item.quantity)
    }
  })
  const by_transfer = Map.groupBy(shown, ({ transfer_id }) => transfer_id)
  return (row: AnyRow) => ({ items: by_transfer.get(Number(row["id"])) ?? [] })
})
