/** Quantity of each product, or of its parts, free now at each store that has stock: an include of products. */
import { Effect } from "effect"
import type { AnyRow } from "../../../kernel/tables/table.ts"
import type { ViewContext } from "../../../kernel/endpoints/resource.ts"
import { hasAbility, hasOnePermission } from "../../../kernel/fields/rejection.ts"
import { type Failure, Store } from "../../../kernel/store/store.ts"
import { integer, text } from "../../../kernel/fields/field.ts"
import * as Shown from "../../../kernel/lists/answer-schema.ts"
import { stores } from "../../../setup/stores.ts"
import { millisOf } from "../../../values/time.ts"
import { KitNestedTooDeep } from "../rules/kits.ts"
import type { AvailabilitySnapshot } from "../rules/snapshot.ts"
import { loadSnapshots, type SnapshotContext } from "../facts/load.ts"
import { pointAvailability } from "../rules/point.ts"
import { withMargin } from "./window.ts"

export const free_shown = Shown.objects({ store_id: integer(), store_name: text(), available: integer() })

/** Undefined of kits that are nested too deeply to be counted. */
const pointOrNothing = (snapshot: AvailabilitySnapshot, product_id: number, at: number) => {
  try {
    return pointAvailability(snapshot, product_id, at)
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep) return undefined
    throw thrown
  }
}

const maySee = (viewer: ViewContext["viewer"]): boolean =>
  hasOnePermission(viewer, "availability.view") && hasAbility(viewer, "availability:read")

/** Stores without any of it are left out; all of them for a viewer who may not see availability. */
export const freeNow = Effect.fnUntraced(function* (
  rows: ReadonlyArray<AnyRow>,
  context: SnapshotContext & Pick<ViewContext, "viewer">
): Effect.fn.Return<(row: AnyRow) => typeof free_shown.Type, Failure, Store> {
  const product_ids = rows.flatMap((row) => (row["product_type"] === "service" ? [] : [Number(row["id"])]))
  if (product_ids.length === 0 || !maySee(context.viewer)) return () => []
  const places = yield* Store.find(stores, { include_in_default_queries: true }, { order: ["id"] })
  const at = millisOf(context.now)
  const snapshots = yield* loadSnapshots(
    { store_ids: places.map(({ id }) => id), product_ids, window: withMargin({ from: at, to: at }) },
    context
  )
  const is_asked = new Set(product_ids)
  return (row) =>
    is_asked.has(Number(row["id"]))
      ? places.flatMap(({ id, name }) => {
          const snapshot = snapshots.get(id)
          if (snapshot === undefined) return []
          const found = pointOrNothing(snapshot, Number(row["id"]), at)
          return found === undefined || (found.total_stock === 0 && found.total_demanded === 0)
            ? []
            : [{ store_id: id, store_name: name, available: found.available }]
        })
      : []
})
