/** What the rules of deliveries must know, read in the transaction once nobody else writes to the same stock. */
import { Effect } from "effect"
import type { Failure } from "../../kernel/endpoint.ts"
import { lockStreams } from "../../kernel/engine.ts"
import { Store } from "../../kernel/store/store.ts"
import { bulk, products } from "../../products/schema.ts"
import { type StockLevelRow, stock_levels } from "../../stock/schema.ts"
import { stores } from "../../stores/stores.ts"
import { purchase_order_items, type PurchaseOrderItemRow, type PurchaseOrderRow } from "../schema.ts"
import type { ReceiveFacts } from "./decide.ts"
import type { ReceiveValues } from "./fields.ts"
import { windowOf } from "./intake.ts"

export const itemsOfOrder = Effect.fnUntraced(function* (purchase_order_id: number) {
  return yield* (yield* Store).find(purchase_order_items, { purchase_order_id }, { order: ["sort_order", "id"] })
})

/** The level that more of a row in bulk goes to: the store's own for a purchase, that of the same hire otherwise. */
const openLevels = Effect.fnUntraced(function* (
  order: PurchaseOrderRow,
  items: ReadonlyArray<PurchaseOrderItemRow>
): Effect.fn.Return<ReadonlyMap<number, StockLevelRow>, Failure, Store> {
  const store = yield* Store
  if (items.length === 0) return new Map()
  if (order.po_type === "sub_hire") {
    const found = yield* store.find(stock_levels, {
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
  // A level that another command is making of the product is there afterwards.
  yield* lockStreams(product_ids.map((id) => `product_stock:${id}`))
  const where = { product_id: product_ids, store_id: order.store_id, stock_category: 10, is_sub_hired: false }
  yield* lockStreams((yield* store.find(stock_levels, where)).map(({ id }) => `stock_level:${id}`))
  const own = new Map((yield* store.find(stock_levels, where)).map((level) => [level.product_id, level]))
  return new Map(
    items.flatMap((item) => {
      const level = own.get(item.product_id ?? 0)
      return level === undefined ? [] : [[item.id, level] as const]
    })
  )
})

export const receiveFactsOf = Effect.fnUntraced(function* (
  order: PurchaseOrderRow,
  sent: ReceiveValues
): Effect.fn.Return<ReceiveFacts, Failure, Store> {
  const store = yield* Store
  const lines = sent.lines ?? []
  const items = yield* itemsOfOrder(order.id)
  const named = new Set(lines.map((line) => line.item_id ?? line.purchase_order_item_id))
  const came = items.filter(({ id }) => named.has(id))
  const found = new Map(
    (yield* store.getMany(products, [...new Set(came.flatMap(({ product_id }) => product_id ?? []))]))
      // Nothing counts what a deleted product has: its goods become no stock.
      .filter(({ deleted_at }) => deleted_at === null)
      .map((row) => [row.id, row])
  )
  const serials = [...new Set(lines.flatMap((line) => line.serial_numbers ?? []).map((one) => one.trim()))]
  const taken =
    serials.length === 0 ? [] : yield* store.find(stock_levels, { serial_number: serials, given_back_at: null })
  return {
    order,
    items,
    products: found,
    has_store: yield* store.exists(stores, { id: order.store_id }),
    taken_serials: new Map(
      taken.flatMap((level) => (level.serial_number === null ? [] : [[level.serial_number, level]]))
    ),
    levels: yield* openLevels(
      order,
      came.filter(({ product_id }) => found.get(product_id ?? 0)?.stock_method === bulk)
    )
  }
})
