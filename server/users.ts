/** Who a token's user is. */
import { Effect } from "effect"
import type { Fault } from "../core/kernel/endpoint.ts"
import type { NewEvent } from "../core/kernel/event.ts"
import type { Store } from "../core/kernel/store/store.ts"
import type { Viewer } from "../core/kernel/viewer.ts"

export const owner_user_id = 1
export type User = Omit<Viewer, "abilities" | "token_id">

/** Events that make the owner of an empty database. */
export const ownerEvents = (_at: string): ReadonlyArray<NewEvent> => []

export const userById = (user_id: number): Effect.Effect<User | undefined, Fault, Store> =>
  Effect.succeed(user_id !== owner_user_id ? undefined
    : { user_id, name: "Owner", member_id: null, is_owner: true, is_active: true, permissions: new Set() })
