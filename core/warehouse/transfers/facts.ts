/** Reads facts of transfers: goods by code or id, their stock levels and cases, and what the sending store promised. */
import { Effect } from "effect"
import { columnsSeen, lockStreams, referredRows, Store, streamOf, withoutStamps } from "../../kernel/index.ts"
import type { AnyRow, DecideContext, Viewer } from "../../kernel/index.ts"
import { assetConflicts, withMargin } from "../../orders/availability/api/window.ts"
import { loadSnapshot } from "../../orders/availability/facts/load.ts"
import { sourceName } from "../../orders/availability/rules/demand.ts"
import { demands, lockClaims, transfer_source } from "../../orders/demands/schema.ts"
import { opportunityName } from "../../orders/opportunities/state/index.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { container_items, containers, live_statuses, nesting_max } from "../../products/packing.ts"
import { products } from "../../products/products/schema.ts"
import { bulk_category, stock_levels } from "../../products/stock/schema.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { exact, formatDecimal } from "../../values/decimal.ts"
import { openEndMillis } from "../../values/period.ts"
import { millisOf, openEnd } from "../../values/time.ts"
import { labelOf } from "../containers/events.ts"
import { lookUpAll, type Named } from "../scanning/codes.ts"
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

/** Goods that a code or an item names, with a reason if it names nothing. */
interface Meant {
  readonly field: string
  readonly named: Named | undefined
  readonly quantity: number
  readonly problem: string
}
/** Items of a request. A bulk level given by its id stands for its product. Four queries. */
const namedItems = Effect.fnUntraced(function* (items: ReadonlyArray<SentGoods>): Store.Reads<ReadonlyArray<Meant>> {
  const level_ids = items.flatMap(({ stock_level_id }) => stock_level_id ?? [])
  const levels = yield* Store.byId(stock_levels, level_ids)
  const cases = yield* Store.byId(containers, idsOf(items.map(({ container_id }) => container_id)))
  const own = { serialised_item_id: level_ids, status: live_statuses }
  const housed = level_ids.length === 0 ? [] : yield* Store.find(containers, own)
  const case_of = new Map(housed.map((container) => [container.serialised_item_id, container]))
  const bulk = [...levels.values()].filter(({ stock_category }) => stock_category === bulk_category)
  const product_ids = [...items, ...bulk].map(({ product_id }) => product_id)
  const goods = yield* Store.byId(products, idsOf(product_ids))
  const nameOf = (item: SentGoods): readonly [string, Named | undefined] => {
    const container = cases.get(item.container_id ?? 0)
    if (container !== undefined) return ["container_id", { kind: "container", container }]
    const level = levels.get(item.stock_level_id ?? 0)
    const is_unit = level !== undefined && level.stock_category !== bulk_category
    if (is_unit) return ["stock_level_id", { kind: "unit", level, container: case_of.get(level.id) }]
    const product = goods.get(level?.product_id ?? item.product_id ?? 0)
    const field = level === undefined ? "quantity" : "stock_level_id"
    return [field, product && { kind: "product", product }]
  }
  return items.map((item, at) => {
    const problem = "Name a stock_level_id, a container_id, or a product_id with a quantity."
    const quantity = item.quantity ?? 1
    const is_one = idsOf([item.stock_level_id, item.container_id, item.product_id]).length === 1
    const [field, named] = nameOf(item)
    return is_one && named !== undefined
      ? { field: `items.${at}.${field}`, named, quantity, problem }
      : { field: `items.${at}`, named: undefined, quantity, problem }
  })
})
const idsOf = (ids: ReadonlyArray<number | null | undefined>): ReadonlyArray<number> => ids.flatMap((id) => id ?? [])

const loadGoods = Effect.fnUntraced(function* (sent: SentBody): Store.Reads<ReadonlyArray<Goods> | undefined> {
  if (!sent.codes?.length && !sent.items?.length) return undefined
  const scanned = yield* lookUpAll((sent.codes ?? []).filter((code) => code.trim() !== ""))
  const meant: ReadonlyArray<Meant> = [
    ...scanned.map(({ named, problem, read: { code, quantity = 1 } }, at) => {
      return { field: `codes.${at}`, named, quantity, problem: `${code}: ${problem ?? "nothing has this code."}` }
    }),
    ...(yield* namedItems(sent.items ?? []))
  ]
  const caseOf = (named: Named | undefined) =>
    named === undefined || named.kind === "product" ? undefined : named.container
  const housing_ids = meant.map(({ named }) => caseOf(named)?.serialised_item_id)
  const housings = yield* Store.byId(stock_levels, idsOf(housing_ids))
  return meant.map(({ field, named, problem, quantity }): Goods => {
    if (named?.kind === "product") return { field, kind: "product", product: named.product, quantity }
    const container = caseOf(named)
    if (container !== undefined)
      return { field, kind: "case", container, housing: housings.get(container.serialised_item_id ?? 0) }
    return named?.kind === "unit" ? { field, kind: "unit", level: named.level } : { field, kind: "nothing", problem }
  })
})

/** Contents of cases, by case: one query per level of nesting, and three more. */
const loadCases = Effect.fnUntraced(function* (
  roots: ReadonlyArray<ContainerRow>
): Store.Reads<ReadonlyMap<number, CaseContent>> {
  if (roots.length === 0) return new Map()
  const all = new Map(roots.map((container) => [container.id, container]))
  for (let open = [...all.keys()], depth = 0; open.length > 0 && depth < nesting_max; depth++) {
    const inside = yield* Store.find(containers, { parent_container_id: open, status: live_statuses })
    open = inside.flatMap(({ id }) => (all.has(id) ? [] : [id]))
    for (const container of inside) all.set(container.id, container)
  }
  const children = Map.groupBy(all.values(), ({ parent_container_id }) => parent_container_id)
  const found = yield* Store.find(container_items, { container_id: [...all.keys()], unpacked_at: null })
  const packings = Map.groupBy(found, ({ container_id }) => container_id)
  const housings = idsOf([...all.values()].map(({ serialised_item_id }) => serialised_item_id))
  const level_ids = [...housings, ...found.map(({ serialised_item_id }) => serialised_item_id)]
  const levels = yield* Store.byId(stock_levels, level_ids)
  const demanded = { source_type: "container", source_id: found.map(({ id }) => id) }
  const held = new Set(
    found.length === 0 ? [] : (yield* Store.pick(demands, ["source_id"], demanded)).map(({ source_id }) => source_id)
  )
  const contentOf = (root: ContainerRow): CaseContent => {
    const within = [root]
    for (let inside = within, depth = 0; inside.length > 0 && depth < nesting_max; depth++) {
      inside = inside.flatMap(({ id }) => children.get(id) ?? [])
      within.push(...inside)
    }
    const units = new Map<number, ContainerItemRow | undefined>()
    for (const id of idsOf(within.map(({ serialised_item_id }) => serialised_item_id))) units.set(id, undefined)
    for (const item of within.flatMap(({ id }) => packings.get(id) ?? [])) units.set(item.serialised_item_id, item)
    return {
      containers: within,
      units: [...units].flatMap(([id, item]) => {
        const level = levels.get(id)
        return level === undefined ? [] : [{ level, item, is_held: item !== undefined && held.has(item.id) }]
      })
    }
  }
  return new Map(roots.map((root) => [root.id, contentOf(root)]))
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
  { now, viewer }: Pick<DecideContext, "now" | "viewer">
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
  const levels = yield* referredRows(stock_levels, conflicts, "asset_id")
  const orders = yield* orderNames(
    conflicts.flatMap(({ opportunity_id }) => opportunity_id ?? []),
    viewer
  )
  const cases = yield* referredRows(containers, conflicts, "container_id")
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

/** Facts that planning and moving share. */
const loadShared = Effect.fnUntraced(function* (
  place: Pick<TransferRow, "from_store_id" | "to_store_id" | "starts_at" | "id">,
  goods: ReadonlyArray<Goods>,
  more: { readonly product_ids: ReadonlyArray<number>; readonly container_ids: ReadonlyArray<number> },
  context: Pick<DecideContext, "now" | "viewer">
): Store.Reads<GoodsFacts> {
  const product_ids = [...new Set([...productsIn(goods), ...more.product_ids])]
  const named = goods.flatMap((one) => (one.kind === "case" ? [one.container] : []))
  const others = yield* Store.getMany(containers, [...more.container_ids])
  const cases = yield* loadCases([...named, ...others])
  const inside = [...cases.values()].flatMap(({ units }) => units.map(({ level }) => level))
  const in_case = inside.map(({ id }) => id)
  const all_ids = [...new Set([...product_ids, ...inside.map(({ product_id }) => product_id)])]
  yield* lockClaims(all_ids)
  return {
    goods,
    from: yield* storeOf(place.from_store_id),
    to: yield* storeOf(place.to_store_id),
    products: yield* Store.byId(products, all_ids),
    bulk_from: yield* bulkLevels(place.from_store_id, product_ids),
    held: yield* loadHeld({ alone: unitsIn(goods), in_case, from: place.starts_at, transfer_id: place.id }, context),
    cases
  }
})

export type SentPlan = SentBody &
  Pick<TransferRow, "from_store_id" | "to_store_id" | "starts_at"> &
  Partial<Pick<TransferRow, "opportunity_id">>

export const loadPlan = Effect.fnUntraced(function* (
  sent: SentPlan,
  context: Pick<DecideContext, "now" | "settings" | "viewer">
): Store.Reads<PlanFacts> {
  const goods = (yield* loadGoods(sent)) ?? []
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
  context: Pick<DecideContext, "now" | "viewer">
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
    levels: new Map([...named, ...(yield* Store.getMany(stock_levels, level_ids))].map((one) => [one.id, one])),
    bulk_to: yield* bulkLevels(transfer.to_store_id, [...shared.products.keys()]),
    home: home && { transfer: home, items: yield* Store.find(transfer_items, { transfer_id: home.id }) }
  }
})

// Answers.

/** Items of transfers as shown: names, codes and weights. */
export const showItems = Effect.fnUntraced(function* (rows: ReadonlyArray<AnyRow>) {
  const ids = rows.map(({ id }) => Number(id))
  const items = yield* Store.find(transfer_items, { transfer_id: ids }, { order: ["id"] })
  const levels = yield* referredRows(stock_levels, items, "stock_level_id")
  const cases = yield* referredRows(containers, items, "container_id")
  const contents = yield* loadCases([...cases.values()])
  const of_cases = [...contents.values()].flatMap(({ units }) => units.map(({ level }) => level.product_id))
  const named = yield* Store.byId(products, [...of_cases, ...items.map(({ product_id }) => product_id)])
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
    const goods = contents.get(item.container_id ?? 0)?.units.map((unit) => unit.level.product_id)
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
