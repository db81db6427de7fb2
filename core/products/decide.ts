/** What may happen to products: merging two that are one (spec 4.14, availability 7.1). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../kernel/endpoint.ts"
import { event, type NewEvent, streamOf } from "../kernel/event.ts"
import { createdEvent, deletedEvent, initial, updatedEvent } from "../kernel/register.ts"
import { invalidField } from "../kernel/rejection.ts"
import { type StockLevelRow, stock_levels, stockLevelFields } from "../stock/schema.ts"
import type { StoreRow } from "../stores/stores.ts"
import { bulk, type ProductRow, products } from "./schema.ts"

/** A new bulk product gets an empty stock level at the default store, else at the first one (availability 7.1). */
export const firstStockLevel = (product: ProductRow, stores: ReadonlyArray<StoreRow>, context: DecideContext): ReadonlyArray<NewEvent> => {
  const store = stores.find((one) => one.is_default) ?? stores[0]
  if (product.stock_method !== bulk || store === undefined) return []
  return [createdEvent(stock_levels, {
    ...initial(stock_levels, stockLevelFields), id: context.id(stock_levels), product_id: product.id, store_id: store.id,
    stock_category: 10, quantity_held: "0.00"
  })]
}

export interface MergeFacts {
  readonly secondary: ProductRow | undefined
  readonly secondary_levels: ReadonlyArray<StockLevelRow>
}
/**
 * The secondary's stock moves to the primary, custom field values fill the primary's gaps, the secondary is deleted.
 * 422 on `secondary_id`: missing, not a live product, the primary itself, of another type or stock method.
 */
export const mergeProducts = (primary: ProductRow, facts: MergeFacts): Decided => {
  const { secondary } = facts
  const refuse = (text: string): Decided => Result.fail(invalidField("secondary_id", text))
  if (secondary === undefined || secondary.deleted_at !== null) return refuse("The selected secondary product does not exist.")
  if (secondary.id === primary.id) return refuse("A product cannot be merged with itself.")
  if (secondary.product_type !== primary.product_type) return refuse("Only products of the same type can be merged.")
  if (secondary.stock_method !== primary.stock_method) return refuse("Only products of the same stock method can be merged.")
  const own = primary.custom_fields
  const filled = { ...secondary.custom_fields, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null)) }
  const updated = updatedEvent(products, primary, { custom_fields: filled })
  return Result.succeed({
    events: [
      ...(updated === undefined ? [] : [updated]),
      event(streamOf("product", primary.id), "product.merged", { primary_id: primary.id, secondary_id: secondary.id }),
      deletedEvent(products, secondary.id)
    ],
    result: { id: primary.id }
  })
}
