/** Queries for the free units of a product, and for demands that prevent an allocation. */
import { Effect } from "effect"
import { type DemandRow, demands } from "../../demands/schema.ts"
import type { Failure } from "../../../kernel/endpoints/endpoint.ts"
import { bindings, columnList } from "../../../kernel/store/statement.ts"
import { Store } from "../../../kernel/store/store.ts"
import type { Period } from "../../../values/period.ts"
import { type AvailableAsset, availableAssets } from "../rules/assets.ts"
import { type Buffers, noBuffers } from "../rules/demand.ts"
import { loadSnapshot, type SnapshotContext } from "../facts/load.ts"
import { boundInstant, loadStockedProducts } from "../facts/load-products.ts"
import { withMargin } from "./window.ts"

/** Units of a product at a store with no demand of their own in the window, the product's buffers included; by id. */
export const freeAssets = Effect.fnUntraced(function* (
  product_id: number,
  store_id: number,
  window: Period,
  context: SnapshotContext
): Effect.fn.Return<ReadonlyArray<AvailableAsset>, Failure, Store> {
  const product: Buffers = (yield* loadStockedProducts([product_id])).get(product_id) ?? noBuffers
  const snapshot = yield* loadSnapshot(
    store_id,
    {
      product_ids: [product_id],
      window: withMargin({
        from: window.from - product.before_minutes * 60_000,
        to: window.to + product.after_minutes * 60_000
      })
    },
    context
  )
  return availableAssets(snapshot, product_id, window)
})

/**
 * Active demands that prevent reserving these units in [from, to), overdue ones included; by unit, then start. Instants
 * are ISO 8601; the window includes the caller's own buffers. `except` leaves out one source, such as the line being
 * allocated.
 */
export const assetConflicts = Effect.fnUntraced(function* (
  asset_ids: ReadonlyArray<number>,
  window: { readonly from: string; readonly to: string },
  now: string,
  except?: { readonly source_type: string; readonly source_id: number }
): Effect.fn.Return<ReadonlyArray<DemandRow>, Failure, Store> {
  if (asset_ids.length === 0) return []
  const store = yield* Store
  const bound = bindings(store.dialect)
  const to = window.to > window.from ? window.to : boundInstant(Date.parse(window.from) + 1)
  const rows = yield* store.run(
    `select ${columnList(demands)} from ${demands.name} ` +
      `where asset_id in (${asset_ids.map(bound.bind).join(", ")}) and is_active = true ` +
      `and reaches_to > ${bound.bind(window.from)} and buffered_starts_at < ${bound.bind(to)} ` +
      `and (buffered_ends_at > ${bound.bind(window.from)} or ("out" = true and ends_at < ${bound.bind(now)})) ` +
      "order by asset_id, starts_at, id",
    bound.values
  )
  return rows
    .map((row) => store.decode(demands, row))
    .filter(
      (demand) =>
        except === undefined || demand.source_type !== except.source_type || demand.source_id !== except.source_id
    )
})
