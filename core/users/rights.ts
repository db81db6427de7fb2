/**
 * Who may change whose permissions: nobody grants, removes or edits a role, user, token or device that holds a
 * permission they lack themselves. For system roles the level counts as well (rules/conventions 11).
 */
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"
import { admin_role } from "./permissions.ts"
import { levelOf, rolesOf } from "./viewer.ts"
import type { RoleRow, UserRow } from "./schema.ts"

/** The permissions of a role or of a user; the owner has all of them. */
export interface Rights {
  readonly is_owner: boolean
  readonly permissions: Iterable<string>
}
export const rightsOfRole = ({ permissions }: Pick<RoleRow, "permissions">): Rights => ({
  is_owner: false,
  permissions
})
export const rightsOfUser = (user: Pick<UserRow, "is_owner" | "role_ids">, roles: ReadonlyArray<RoleRow>): Rights => ({
  is_owner: user.is_owner,
  permissions: rolesOf(user, roles).flatMap((role) => role.permissions)
})

/** The first right the viewer lacks among these, in words for a message; undefined when the viewer has them all. */
export const missingRight = (viewer: Viewer, rights: Rights): string | undefined => {
  if (viewer.is_owner) return undefined
  if (rights.is_owner) return "the rights of the owner"
  for (const permission of rights.permissions)
    if (!hasOnePermission(viewer, permission)) return `the permission ${permission}`
  return undefined
}

/** Whether a level is as high as the viewer's. Level 0, that of roles made by users, never is: permissions decide. */
const outranks = (level: number, viewer: Viewer, viewer_level: number): boolean =>
  !viewer.is_owner && level > 0 && level >= viewer_level

/** Why the viewer may not change a role, as the end of a sentence; undefined when they may. */
export const roleChangeRefusal = (role: RoleRow, viewer: Viewer, viewer_level: number): string | undefined => {
  if (outranks(role.level, viewer, viewer_level)) return `${role.name} is not below your own roles`
  const missing = missingRight(viewer, rightsOfRole(role))
  return missing === undefined ? undefined : `${role.name} holds ${missing}, which you do not have`
}
/** Why the viewer may not change a user, as the end of a sentence; undefined when they may (always for themselves). */
export const userChangeRefusal = (
  user: UserRow,
  roles: ReadonlyArray<RoleRow>,
  viewer: Viewer,
  viewer_level: number
): string | undefined => {
  if (user.id === viewer.user_id) return undefined
  if (outranks(levelOf(user, roles), viewer, viewer_level)) return "they are not below you"
  const missing = missingRight(viewer, rightsOfUser(user, roles))
  return missing === undefined ? undefined : `they hold ${missing}, which you do not have`
}

/** Whether this is the owner or holds the system role Admin; another role with the same permissions does not count. */
export const isAdministrator = (user: Pick<UserRow, "is_owner" | "role_ids">, roles: ReadonlyArray<RoleRow>): boolean =>
  user.is_owner || rolesOf(user, roles).some((role) => role.is_system && role.name === admin_role)
