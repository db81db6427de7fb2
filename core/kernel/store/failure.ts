/** How reading and deciding may fail: refused with a reason, or the database did not answer as it should. */
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Rejection } from "../fields/rejection.ts"
import type { Store } from "./store.ts"

export type Failure = Rejection | SqlError.SqlError
/** Reads rows and returns an `A`. */
export type StoreRead<A> = Effect.Effect<A, Failure, Store>
