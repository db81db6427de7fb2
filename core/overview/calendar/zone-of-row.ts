/** Time zone in which people read the times of a row. */
import { Effect } from "effect"
import { Store, type AnyRow } from "../../kernel/index.ts"
import { stores } from "../../setup/stores.ts"
import { zoneOf } from "../../values/time.ts"

/** Time zone of the row's store; without one the company's, given as `timezone`. */
export const zoneOfRow = Effect.fnUntraced(function* ({ store_id }: AnyRow, timezone: string | null) {
  const store = typeof store_id === "number" ? yield* Store.get(stores, store_id) : undefined
  return zoneOf(store?.timezone || timezone)
})
