/** What the endpoints of availability share: the permission, and the store of the request. */
import { Effect } from "effect"
import type { Failure, Input, SharedDraft } from "../kernel/endpoint.ts"
import { Store } from "../kernel/store/store.ts"
import { type StoreRow, stores } from "../stores/stores.ts"

export const access = { ability: "availability:read", permission: "availability.view" } as const satisfies SharedDraft

/** The store of a `store_id` that was checked already; a missing row is a defect. */
export const requestedStore = Effect.fnUntraced(function* (
  input: Pick<Input, "body">
): Effect.fn.Return<StoreRow, Failure, Store> {
  const row = yield* (yield* Store).get(stores, Number(input.body["store_id"]))
  return row ?? (yield* Effect.die(new Error("the store was checked and is gone")))
})
