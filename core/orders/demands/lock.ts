/** Who claims goods waits for who claims the same (Postgres; SQLite has one writer at a time anyway). */
import { Effect } from "effect"
import type { Failure } from "../../kernel/store/failure.ts"
import { lockIfFree } from "../../kernel/runtime/locks.ts"
import type { Store } from "../../kernel/store/store.ts"

/** Products share so many locks: Postgres holds some thousands for all transactions together. */
const locks_max = 1_024

const namesOf = (product_ids: Iterable<number>): ReadonlyArray<string> =>
  [...product_ids].map((id) => `claims:${id % locks_max}`)

/**
 * Until the transaction ends nobody else claims these products, and of those that are `read` nobody claims more or
 * less. To be asked for before what there is of them is read: who comes second sees what the first has claimed.
 */
export const lockClaims = Effect.fnUntraced(function* (
  claimed: Iterable<number>,
  read: Iterable<number> = []
): Effect.fn.Return<void, Failure, Store> {
  const names = namesOf(claimed)
  const own = new Set(names)
  yield* lockIfFree(names)
  yield* lockIfFree(
    namesOf(read).filter((name) => !own.has(name)),
    { shared: true }
  )
})
