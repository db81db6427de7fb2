/**
 * Locks of claimed products: a command waits for others that claim the same (Postgres; SQLite has one writer at a
 * time).
 */
import { Effect } from "effect"
import { lockIfFree } from "../../kernel/runtime/locks.ts"
import type { Failure, Store } from "../../kernel/store/store.ts"

/** Products share this many locks: Postgres holds some thousands for all transactions together. */
const locks_max = 1_024

const namesOf = (product_ids: Iterable<number>): ReadonlyArray<string> =>
  [...product_ids].map((id) => `claims:${id % locks_max}`)

/**
 * Until the transaction ends, no other command claims these products, nor changes claims on those being `read`. Call it
 * before reading their availability, so that the second command sees the first one's claims.
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
