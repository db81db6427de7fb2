/**
 * Who may act on whose rights: nobody grants, takes away or edits a role, a user, a token or a device that holds a
 * permission they lack themselves. Between roles that come with the system, rank counts as well (rules/conventions 11).
 */
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"
import { admin_role } from "./permissions.ts"
import { levelOf, rolesOf } from "./viewer.ts"
import type { RoleRow, UserRow } from "./schema.ts"

/** What a role, or somebody, may do. */
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

/** What these rights hold and the viewer does not, in words: one permission, or being the owner. Undefined when there is nothing. */
export const missingRight = (viewer: Viewer, rights: Rights): string | undefined => {
  if (viewer.is_owner) return undefined
  if (rights.is_owner) return "the rights of the owner"
  for (const permission of rights.permissions)
    if (!hasOnePermission(viewer, permission)) return `the permission ${permission}`
  return undefined
}

/** Roles that people make have no rank (level 0): for those, permissions alone decide. */
const outranks = (level: number, viewer: Viewer, viewer_level: number): boolean =>
  !viewer.is_owner && level > 0 && level >= viewer_level

/** Why the viewer must leave a role alone, as the end of a sentence; undefined when they need not. */
export const roleChangeRefusal = (role: RoleRow, viewer: Viewer, viewer_level: number): string | undefined => {
  if (outranks(role.level, viewer, viewer_level)) return `${role.name} is not below your own roles`
  const lacked = missingRight(viewer, rightsOfRole(role))
  return lacked === undefined ? undefined : `${role.name} holds ${lacked}, which you do not have`
}
/** Why the viewer must leave a user alone; one's own account is one's own. */
export const userChangeRefusal = (
  user: UserRow,
  roles: ReadonlyArray<RoleRow>,
  viewer: Viewer,
  viewer_level: number
): string | undefined => {
  if (user.id === viewer.user_id) return undefined
  if (outranks(levelOf(user, roles), viewer, viewer_level)) return "they are not below you"
  const lacked = missingRight(viewer, rightsOfUser(user, roles))
  return lacked === undefined ? undefined : `they hold ${lacked}, which you do not have`
}

/** The owner, and whoever has the role of an administrator itself: a role with the same permissions is another role. */
export const isAdministrator = (user: Pick<UserRow, "is_owner" | "role_ids">, roles: ReadonlyArray<RoleRow>): boolean =>
  user.is_owner || rolesOf(user, roles).some((role) => role.is_system && role.name === admin_role)
