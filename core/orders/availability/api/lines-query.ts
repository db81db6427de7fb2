/** The stock that many opportunity lines ask for (rules/availability 6.8). */
import { Effect } from "effect"
import type { Failure } from "../../../kernel/endpoints/endpoint.ts"
import { Store } from "../../../kernel/store/store.ts"
import { inOrder } from "../../../values/period.ts"
import { millisOf } from "../../../values/time.ts"
import type { AvailabilitySnapshot } from "../rules/snapshot.ts"
import type { LineRequest } from "../rules/line.ts"
import { loadSnapshots, type SnapshotContext } from "../facts/load.ts"
import { withMargin } from "./window.ts"

/** A product-backed line with its window (`lineWindow`) and store (`storeOfLine`) resolved. */
export interface LineAtStore extends LineRequest {
  readonly store_id: number
}

/** The snapshots of all stores the lines take from, over the span of all lines: one fixed set of queries. */
export const snapshotsForLines = Effect.fnUntraced(function* (
  lines: ReadonlyArray<LineAtStore>,
  context: SnapshotContext
): Effect.fn.Return<ReadonlyMap<number, AvailabilitySnapshot>, Failure, Store> {
  if (lines.length === 0) return new Map()
  const windows = lines.map((line) => inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) }))
  return yield* loadSnapshots(
    {
      store_ids: [...new Set(lines.map((line) => line.store_id))],
      product_ids: [...new Set(lines.map((line) => line.product_id))],
      window: withMargin({
        from: windows.reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY),
        to: windows.reduce((last, { to }) => Math.max(last, to), Number.NEGATIVE_INFINITY)
      })
    },
    context
  )
})
