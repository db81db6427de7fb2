/** What comes with a new product (availability 7.1). */
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { createdEvent, initial } from "../kernel/register.ts"
import { stock_levels, stockLevelFields } from "../stock/schema.ts"
import type { StoreRow } from "../stores/stores.ts"
import { bulk, type ProductRow } from "./schema.ts"

/** A new bulk product gets an empty stock level at the default store, else at the first one (availability 7.1). */
export const firstStockLevel = (product: ProductRow, stores: ReadonlyArray<StoreRow>, context: DecideContext): ReadonlyArray<NewEvent> => {
  const store = stores.find((one) => one.is_default) ?? stores[0]
  if (product.stock_method !== bulk || store === undefined) return []
  return [createdEvent(stock_levels, {
    ...initial(stock_levels, stockLevelFields), id: context.id(stock_levels), product_id: product.id, store_id: store.id,
    stock_category: 10, quantity_held: "0.00"
  })]
}
