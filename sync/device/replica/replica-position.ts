/** A replica's position in the server's journal. */
import { Effect } from "effect"
import { Store } from "../../../core/kernel/store/store.ts"
import { readMeta } from "./local-tables.ts"

export interface ReplicaPosition {
  readonly position: number
  readonly offset: string
  readonly handle: string | undefined
  readonly synced_at: string | null
  /** The journal here begins after this position: the replica was filled from rows there. 0 where all of it is here. */
  readonly journal_from: number
  /** Whether a new history of the server's is being staged here. */
  readonly anew: boolean
}
export const readReplicaPosition = Effect.gen(function* () {
  const store = yield* Store
  return {
    position: Number((yield* readMeta(store, "position")) ?? 0),
    offset: (yield* readMeta(store, "offset")) ?? "-1",
    handle: yield* readMeta(store, "handle"),
    synced_at: (yield* readMeta(store, "synced_at")) ?? null,
    journal_from: Number((yield* readMeta(store, "journal_from")) ?? 0),
    anew: (yield* readMeta(store, "anew")) === "yes"
  } satisfies ReplicaPosition
})
