/** A new bulk product gets an empty stock level, so that quantities can be posted to it (rules/availability 7.1). */
import { Effect, Result } from "effect"
import type { DecideContext } from "../../kernel/endpoints/endpoint.ts"
import { type DataOf, dataOf, type NewEvent } from "../../kernel/events/event-type.ts"
import { type Happened, reaction } from "../../kernel/events/react.ts"
import { createdEvent, initialRow, rowCreated } from "../../kernel/endpoints/crud-resource.ts"
import { Store } from "../../kernel/store/store.ts"
import { bulk, type ProductRow, products } from "../products/schema.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { stock_levels, stockLevelFields } from "./schema.ts"

/** The empty level of a new bulk product: at the default store, else at the first one; none without a store. */
export const firstStockLevel = (
  product: Pick<ProductRow, "id" | "stock_method">,
  stores: ReadonlyArray<StoreRow>,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const store = stores.find((one) => one.is_default) ?? stores[0]
  if (product.stock_method !== bulk || store === undefined) return []
  return [
    createdEvent(stock_levels, {
      ...initialRow(stock_levels, stockLevelFields),
      id: context.id(stock_levels),
      product_id: product.id,
      store_id: store.id,
      stock_category: 10,
      quantity_held: "0.00"
    })
  ]
}

const productCreated = rowCreated(products)
const levelCreated = rowCreated(stock_levels)
/** New bulk products without a stock level from the same command: an import makes the levels of its products itself. */
const withoutStock = ({
  all,
  events
}: Happened<DataOf<typeof productCreated>>): ReadonlyArray<Pick<ProductRow, "id" | "stock_method">> => {
  const stocked = new Set(dataOf(levelCreated, all).map(({ product_id }) => product_id))
  return events.flatMap(({ data: { id, stock_method } }) =>
    stock_method === bulk && !stocked.has(id) ? [{ id, stock_method }] : []
  )
}

export const productStocked = reaction({
  on: [productCreated],
  facts: (happened) =>
    Effect.gen(function* () {
      return withoutStock(happened).length === 0 ? [] : yield* Store.find(stores, {})
    }),
  decide: (happened, found, context) =>
    Result.succeed(withoutStock(happened).flatMap((product) => firstStockLevel(product, found, context)))
})
