/** Users of tokens. */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/endpoints/endpoint.ts"
import type { NewEvent } from "../../core/kernel/events/event-type.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import { ownerEvents as ownerOf } from "../../core/people/users/decide.ts"
import { roles, users, viewerOf } from "../../core/people/users/permissions.ts"

export const owner_user_id = 1
export type User = Omit<Viewer, "abilities" | "token_id">

/** Events that make the owner of an empty database. */
export const ownerEvents = (at: string): ReadonlyArray<NewEvent> =>
  ownerOf({ name: "Owner", email: "owner@localhost" }, { user_id: owner_user_id, member_id: 1 }, at)

/** The user with the permissions of their roles; undefined where there is none. Two reads by key. */
export const userById = Effect.fnUntraced(function* (
  user_id: number
): Effect.fn.Return<User | undefined, Failure, Store> {
  const user = yield* Store.get(users, user_id)
  return user === undefined ? undefined : viewerOf(user, yield* Store.getMany(roles, user.role_ids), null)
})
