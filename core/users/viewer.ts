/** The viewer of a request: the permissions of a user's roles and the abilities of their token. */
import type { Viewer } from "../kernel/viewer.ts"
import { owner_level } from "./permissions.ts"
import type { RoleRow, UserRow } from "./schema.ts"

/** `roles`: at least the user's. Without a token (on a replica, in a page of the server) every ability is there. */
export const viewerOf = (
  user: UserRow,
  roles: ReadonlyArray<RoleRow>,
  token: { readonly id: number; readonly abilities: ReadonlyArray<string> } | null
): Viewer => ({
  user_id: user.id,
  name: user.name,
  person_id: user.member_id,
  is_owner: user.is_owner,
  is_active: user.is_active,
  role_ids: user.role_ids,
  permissions: new Set(rolesOf(user, roles).flatMap((role) => role.permissions)),
  abilities: new Set(token === null ? ["*"] : token.abilities),
  token_id: token?.id ?? null
})

export const rolesOf = (user: Pick<UserRow, "role_ids">, roles: ReadonlyArray<RoleRow>): ReadonlyArray<RoleRow> =>
  roles.filter((role) => user.role_ids.includes(role.id))

/** The highest level of a user's roles: only roles and users below it are theirs to manage (rules/conventions 11). */
export const levelOf = (
  user: Pick<UserRow, "is_owner" | "role_ids"> | undefined,
  roles: ReadonlyArray<RoleRow>
): number =>
  user === undefined ? 0 : user.is_owner ? owner_level : Math.max(0, ...rolesOf(user, roles).map((role) => role.level))
