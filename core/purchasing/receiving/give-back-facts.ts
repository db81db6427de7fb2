/** Facts for receiving goods and for returning them to a supplier: stock levels, and claims on units. */
import { Effect } from "effect"
import { lockStreams, referredRows, Store } from "../../kernel/index.ts"
import { bulk, products } from "../../products/products/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { purchase_order_items, type PurchaseOrderItemRow, type PurchaseOrderRow } from "../schema.ts"
import type { ReceiveFacts } from "./decide.ts"
import { claimText, type ReceiveValues, type UnitClaim } from "../fields.ts"
import { windowOf } from "./intake.ts"
import { demands } from "../../orders/demands/schema.ts"
import { opportunities, opportunity_items } from "../../orders/opportunities/tables/index.ts"
import { container_items, containers, live_statuses } from "../../products/packing.ts"
import { exact, type ExactNumber } from "../../values/decimal.ts"
import { numberText } from "../../values/text.ts"

// Facts of deliveries, read in the transaction after locking the stock.

export const itemsOfOrder = (purchase_order_id: number) =>
  Store.find(purchase_order_items, { purchase_order_id }, { order: ["sort_order", "id"] })

/** Stock level that each bulk row is added to: the store's for purchases, else one of the same sub-hire; by row id. */
const openLevels = Effect.fnUntraced(function* (
  order: PurchaseOrderRow,
  items: ReadonlyArray<PurchaseOrderItemRow>
): Store.Reads<ReadonlyMap<number, StockLevelRow>> {
  if (items.length === 0) return new Map()
  if (order.po_type === "sub_hire") {
    const found = yield* Store.find(stock_levels, {
      purchase_order_item_id: items.map(({ id }) => id),
      given_back_at: null
    })
    return new Map(
      items.flatMap((item) => {
        const { ends_at, starts_at } = windowOf(order, item)
        const same = found.find(
          (level) =>
            level.purchase_order_item_id === item.id &&
            level.product_id === item.product_id &&
            level.store_id === order.store_id &&
            level.starts_at === starts_at &&
            level.ends_at === ends_at
        )
        return same === undefined ? [] : [[item.id, same] as const]
      })
    )
  }
  const product_ids = [...new Set(items.flatMap(({ product_id }) => product_id ?? []))].sort((a, b) => a - b)
  // Serialises with other commands that create a level of the product.
  yield* lockStreams(product_ids.map((id) => `product_stock:${id}`))
  const where = { product_id: product_ids, store_id: order.store_id, stock_category: 10, is_sub_hired: false }
  yield* lockStreams((yield* Store.find(stock_levels, where)).map(({ id }) => `stock_level:${id}`))
  const own = new Map((yield* Store.find(stock_levels, where)).map((level) => [level.product_id, level]))
  return new Map(
    items.flatMap((item) => {
      const level = own.get(item.product_id ?? 0)
      return level === undefined ? [] : [[item.id, level] as const]
    })
  )
})

/**
 * Descriptions of units and cases in use that have these as a code, by code. Serial numbers are unique, also those of
 * units that are gone. Four queries.
 */
const takenSerials = Effect.fnUntraced(function* (
  serials: ReadonlyArray<string>
): Store.Reads<ReadonlyMap<string, string>> {
  const taken = new Map<string, string>()
  if (serials.length === 0) return taken
  const cases = yield* Store.find(containers, { barcode: serials, status: live_statuses })
  for (const { barcode, id } of cases) taken.set(barcode ?? "", `the code of container ${id}, which is in use,`)
  for (const column of ["barcode", "asset_number", "serial_number"] as const) {
    const is_serial = column === "serial_number"
    const where = { [column]: serials, given_back_at: null, ...(is_serial ? {} : { is_gone: false }) }
    for (const level of yield* Store.find(stock_levels, where)) {
      const of_level = is_serial ? "on" : `the ${column.replace("_", " ")} of`
      taken.set(level[column] ?? "", `${of_level} stock level ${level.id}`)
    }
  }
  return taken
})

export const receiveFactsOf = Effect.fnUntraced(function* (
  order: PurchaseOrderRow,
  sent: ReceiveValues
): Store.Reads<ReceiveFacts> {
  const lines = sent.lines ?? []
  const items = yield* itemsOfOrder(order.id)
  const named = new Set(lines.map((line) => line.item_id ?? line.purchase_order_item_id))
  const came = items.filter(({ id }) => named.has(id))
  const found = new Map(
    (yield* Store.getMany(products, [...new Set(came.flatMap(({ product_id }) => product_id ?? []))]))
      // Goods of deleted products do not become stock.
      .filter(({ deleted_at }) => deleted_at === null)
      .map((row) => [row.id, row])
  )
  const serials = [...new Set(lines.flatMap((line) => line.serial_numbers ?? []).map((one) => one.trim()))]
  return {
    order,
    items,
    products: found,
    has_store: yield* Store.exists(stores, { id: order.store_id }),
    taken_serials: yield* takenSerials(serials),
    levels: yield* openLevels(
      order,
      came.filter(({ product_id }) => found.get(product_id ?? 0)?.stock_method === bulk)
    )
  }
})

export interface ReturnFacts extends Pick<ReceiveFacts, "order" | "items" | "products"> {
  /** Sub-hired levels of the order that were not returned yet. */
  readonly levels: ReadonlyArray<StockLevelRow>
  /** Reasons units cannot be returned, by unit id. */
  readonly holds: ReadonlyMap<number, string>
  /** Bulk quantity present at the stores of the order and its stock, by product id, without what is on hire. */
  readonly in_house: ReadonlyMap<number, ExactNumber>
}

/** Active demands on these units, out now or ending later, earliest first; without those of cases. Two queries. */
export const claimsOf = Effect.fnUntraced(function* (
  unit_ids: ReadonlyArray<number>,
  now: string
): Store.Reads<ReadonlyArray<UnitClaim>> {
  if (unit_ids.length === 0) return []
  const claims = (yield* Store.find(demands, { asset_id: unit_ids, is_active: true }, { order: ["starts_at"] })).filter(
    (demand) => demand.source_type !== "container" && (demand.out || demand.ends_at > now)
  )
  const jobs = new Map(
    (yield* Store.getMany(opportunities, [
      ...new Set(claims.flatMap(({ opportunity_id }) => opportunity_id ?? []))
    ])).map((row) => [row.id, `"${row.subject}" (order ${numberText(row.number, row.id)})`])
  )
  return claims.map((demand) => ({
    demand,
    job: jobs.get(demand.opportunity_id ?? 0) ?? `${demand.source_type} ${demand.source_id}`
  }))
})

/** Reasons units cannot be returned, by id: packed, out, or allocated for later. Three queries. */
const holdsOf = Effect.fnUntraced(function* (
  unit_ids: ReadonlyArray<number>,
  now: string
): Store.Reads<ReadonlyMap<number, string>> {
  if (unit_ids.length === 0) return new Map()
  const packed = yield* Store.find(container_items, { serialised_item_id: unit_ids, unpacked_at: null })
  const holds = new Map(
    packed.map((row) => [row.serialised_item_id, `is packed in container ${row.container_id}; unpack it first.`])
  )
  for (const claim of yield* claimsOf(unit_ids, now)) {
    const { asset_id } = claim.demand
    if (asset_id !== null && !holds.has(asset_id)) holds.set(asset_id, claimText(claim))
  }
  return holds
})

/**
 * Bulk quantities present at the stores: held, less what is out. Lines count dispatched pieces; for kit components only
 * their demand says they are out.
 */
const inHouse = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  store_id: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, ExactNumber>> {
  if (product_ids.length === 0) return new Map()
  const held = yield* Store.find(stock_levels, {
    product_id: product_ids,
    store_id,
    stock_category: 10,
    given_back_at: null
  })
  const out = (yield* Store.find(demands, { product_id: product_ids, store_id, is_active: true, out: true })).filter(
    ({ asset_id }) => asset_id === null
  )
  const lines = yield* Store.byId(
    opportunity_items,
    out.filter(({ source_type }) => source_type === "opportunity_item").map(({ source_id }) => source_id)
  )
  const away = new Map<number, ExactNumber>()
  for (const { product_id, quantity, source_id, source_type } of out) {
    const line = source_type === "opportunity_item" ? lines.get(source_id) : undefined
    const gone =
      line?.item_id === product_id ? exact(line.dispatched_quantity).minus(line.returned_quantity) : exact(quantity)
    away.set(product_id, gone.plus(away.get(product_id) ?? 0))
  }
  return new Map(
    product_ids.map((id) => [
      id,
      held
        .filter(({ product_id }) => product_id === id)
        .reduce((sum, { quantity_held }) => sum.plus(quantity_held), exact(0))
        .minus(away.get(id) ?? 0)
    ])
  )
})

export const returnFactsOf = Effect.fnUntraced(function* (
  order: PurchaseOrderRow,
  now: string
): Store.Reads<ReturnFacts> {
  const items = yield* itemsOfOrder(order.id)
  const where = { purchase_order_item_id: items.map(({ id }) => id), given_back_at: null }
  const levels = items.length === 0 ? [] : yield* Store.find(stock_levels, where, { order: ["id"] })
  // Serialises with allocating and packing of the units.
  yield* lockStreams(levels.map(({ id }) => `stock_level:${id}`))
  const found = yield* referredRows(products, items, "product_id")
  return {
    order,
    items,
    products: found,
    levels: items.length === 0 ? [] : yield* Store.find(stock_levels, where, { order: ["id"] }),
    holds: yield* holdsOf(
      levels.filter(({ stock_category }) => stock_category === 50).map(({ id }) => id),
      now
    ),
    in_house: yield* inHouse(
      [...found.values()]
        .filter(
          ({ id, stock_method }) =>
            stock_method === bulk ||
            levels.some(({ product_id, stock_category }) => product_id === id && stock_category !== 50)
        )
        .map(({ id }) => id),
      [...new Set([order.store_id, ...levels.map(({ store_id }) => store_id)])]
    )
  }
})
