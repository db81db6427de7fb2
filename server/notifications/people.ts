/** Who could be told: everybody with an account that is open, each with what their roles permit. Two reads. */
import { Effect } from "effect"
import { Store } from "../../core/kernel/store/store.ts"
import { hasOnePermission, type Viewer } from "../../core/kernel/viewer.ts"
import { roles, users } from "../../core/users/schema.ts"
import { viewerOf } from "../../core/users/viewer.ts"
import type { Happening } from "./happening.ts"

/** Whether somebody may be told what is seen with these permissions; asked when they are told and when they read. */
export const maySee = (viewer: Viewer, seen_with: string): boolean =>
  seen_with.split(" ").every((permission) => permission === "" || hasOnePermission(viewer, permission))

export interface People {
  /** Those who are told of it, by the reach of the happening and what each of them may see. */
  readonly of: (happening: Happening) => ReadonlyArray<Viewer>
}

export const peopleFor = Effect.fnUntraced(function* () {
  const store = yield* Store
  const rows = yield* store.find(users, { is_active: true, deleted_at: null }, { order: ["id"] })
  const all_roles = yield* store.find(roles, { deleted_at: null })
  const viewers = rows.map((row) => viewerOf(row, all_roles, null))
  const by_user = new Map(viewers.map((one) => [one.user_id, one]))
  const by_member = new Map(viewers.map((one) => [one.person_id, one]))
  const of: People["of"] = ({ except, seen_with, to }) => {
    const reached =
      to === null
        ? viewers
        : [
            ...(to.user_ids ?? []).map((id) => by_user.get(id)),
            ...(to.member_ids ?? []).map((id) => (id === null ? undefined : by_member.get(id)))
          ]
    return [...new Set(reached)]
      .filter((one) => one !== undefined)
      .filter((one) => one.user_id !== except && maySee(one, seen_with))
  }
  return { of } satisfies People
})
