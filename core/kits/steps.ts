/** Queries for the kits that contain products and for what products are made of, at any depth. */
import { Effect } from "effect"
import type { Failure } from "../kernel/endpoint.ts"
import { bindings } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import type { Composed } from "./graph.ts"

/** Every step of composition above the first products and below the second. One query. */
export const loadCompositionSteps = Effect.fnUntraced(function* (
  above: ReadonlyArray<number>,
  below: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyArray<Composed>, Failure, Store> {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const named = (ids: ReadonlyArray<number>): string => ids.map(bound.bind).join(", ")
  return yield* store.run<{ product_id: number; component_product_id: number }>(
    `with recursive up(id) as (select id from products where id in (${named(above)}) ` +
      "union select c.product_id from product_components c join up on c.component_product_id = up.id), " +
      `down(id) as (select id from products where id in (${named(below)}) ` +
      "union select c.component_product_id from product_components c join down on c.product_id = down.id) " +
      "select product_id, component_product_id from product_components " +
      "where component_product_id in (select id from up) or product_id in (select id from down)",
    bound.values
  )
})
