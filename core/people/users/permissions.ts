/** The API's permissions, and those of the system roles of a new database (rules/conventions 11). */
import { boolean, forbidden, hasOnePermission, integer, list, longText, permissionsOfArea } from "../../kernel/index.ts"
import { ref, table, text, timestamp } from "../../kernel/index.ts"
import type { Catalogue, Permission, Rejection, RowOf, Viewer } from "../../kernel/index.ts"
import { abilityLacking } from "../../kernel/endpoints/token-permissions.ts"

// Tables of users and of the roles that give them permissions (rules/conventions 11 and 12).

export const roleFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  permissions: list(text(), { default: [], distinct: true })
}
export const roles = table(
  "roles",
  {
    ...roleFields,
    /** Level of a system role, granted only by users of a higher level; 0 for other roles. */
    level: integer({ computed: true, default: 0 }),
    sort_order: integer({ computed: true, default: 100 }),
    is_system: boolean({ computed: true, default: false })
  },
  {
    changes_reader: true,
    // Devices need the user's own roles for permissions, and ids of all roles for saved views that name them.
    visibility: {
      all_columns: ["roles.*", "users.*"],
      granted_columns: [{ to: "everyone", columns: [] }],
      by_key: (id, viewer) => (viewer.role_ids.includes(Number(id)) ? "whole" : undefined)
    },
    uniques: [{ columns: ["name_folded"], field: "name", message: "The name has already been taken." }]
  }
)
type RoleRow = RowOf<typeof roles>

export const users = table(
  "users",
  {
    name: text({ required: true, search: true }),
    email: text({ required: true, search: true, format: "email" }),
    member_id: ref("members", { computed: true, on_delete: "keep" }),
    role_ids: list(ref("roles", { on_delete: "refuse", way_out: "take the role from them first" }), {
      computed: true,
      default: []
    }),
    is_owner: boolean({ computed: true, default: false }),
    is_active: boolean({ computed: true, default: false }),
    email_verified_at: timestamp({ computed: true, nullable: true }),
    invited_at: timestamp({ computed: true, nullable: true }),
    invitation_accepted_at: timestamp({ computed: true, nullable: true }),
    last_login_at: timestamp({ computed: true, nullable: true }),
    deactivated_at: timestamp({ computed: true, nullable: true })
  },
  {
    changes_reader: true,
    // User names are visible to everybody, as histories and lists show them.
    visibility: {
      all_columns: ["users.*"],
      granted_columns: [
        { to: "everyone", columns: ["name", "member_id", "is_active"] },
        { to: ["roles.*"], columns: ["role_ids"] }
      ],
      by_key: (id, viewer) => (id === viewer.user_id ? "whole" : undefined)
    },
    indexes: [["member_id"]],
    uniques: [{ columns: ["email_folded"], field: "email", message: "The email has already been taken." }]
  }
)
export type UserRow = RowOf<typeof users>

const areas: { readonly [area: string]: string } = {
  "settings": "access view manage",
  "users": "access view invite edit deactivate activate delete reset-password",
  "roles": "view manage",
  "members": "access view create edit delete",
  "opportunities": "access view create edit delete unlock_rates",
  "shortages": "view resolve ignore",
  "activities": "access view create edit delete complete",
  "invoices": "access view create edit delete issue void credit",
  "payments": "record",
  "purchase_orders": "view create edit delete send receive",
  "documents": "view create share",
  "pricing": "manage",
  "products": "access view create edit delete",
  "kits": "view manage",
  "rates": "access view create edit delete",
  "stock": "access view adjust transfer",
  "availability": "view",
  "containers": "view create edit pack seal transfer dispatch repack dissolve",
  "reports": "access view export",
  "system": "read",
  "schema": "read",
  "action-log": "view",
  "email-templates": "manage",
  "notifications": "manage",
  "custom-fields": "view manage",
  "list-values": "view manage",
  "tax-classes": "view manage",
  "static-data": "view manage",
  "webhooks": "manage",
  "costs": "view"
}
/** Permissions that the API promises; later slices declare their own. The catalogue's `permissions` has all. */
export const interfacePermissions: ReadonlyArray<Permission> = Object.entries(areas).flatMap(([area, actions]) =>
  permissionsOfArea(area, actions)
)
/**
 * Permissions of server-only endpoints, added later. Declared here so that devices list them too; the server's slice
 * grants them to the system roles.
 */
export const serverPermissions: ReadonlyArray<Permission> = permissionsOfArea("system", "manage")
/** Permission for the warehouse's actions on units of orders, without prices; `opportunities.edit` suffices as well. */
export const fulfil_permission = "opportunities.fulfil"
export const laterPermissions: ReadonlyArray<Permission> = permissionsOfArea("opportunities", "fulfil")
export const owner_level = 100
/**
 * Name of the system role with every permission; its users may issue tokens and read everybody's calendar, as the owner
 * may.
 */
const admin_role = "Admin"
/**
 * Permissions added to system roles after the first release. Later seeds grant them, so that existing databases get
 * them, too.
 */
export const laterGrants: { readonly [role: string]: ReadonlyArray<string> } = {
  [admin_role]: [fulfil_permission],
  "Operations Manager": [fulfil_permission],
  "Sales": [fulfil_permission, "availability.view", "stock.view", "kits.view", "containers.view"],
  "Warehouse": [fulfil_permission, "opportunities.view", "activities.view"]
}

// The viewer of a request: the permissions of a user's roles and the abilities of their token.

/**
 * The viewer of a request. `roles`: includes at least the user's. Without a token all abilities are given, as for
 * boards, feeds and notifications.
 */
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

/** Highest level of a user's roles: users manage only roles and users below it (rules/conventions 11). */
export const levelOf = (
  user: Pick<UserRow, "is_owner" | "role_ids"> | undefined,
  roles: ReadonlyArray<RoleRow>
): number =>
  user === undefined ? 0 : user.is_owner ? owner_level : Math.max(0, ...rolesOf(user, roles).map((role) => role.level))

// Rules for changing permissions: users can only grant, remove or edit what they have permission for themselves. For
// system roles the level counts as well (rules/conventions 11).

/** Permissions of a role or user; the owner has all. */
interface Rights {
  readonly is_owner: boolean
  readonly permissions: Iterable<string>
}
const rightsOfRole = ({ permissions }: Pick<RoleRow, "permissions">): Rights => ({ is_owner: false, permissions })
export const rightsOfUser = (user: Pick<UserRow, "is_owner" | "role_ids">, roles: ReadonlyArray<RoleRow>): Rights => ({
  is_owner: user.is_owner,
  permissions: rolesOf(user, roles).flatMap((role) => role.permissions)
})

/** First right of these that the viewer lacks, as text; undefined if none. */
export const missingRight = (viewer: Viewer, rights: Rights): string | undefined => {
  if (viewer.is_owner) return undefined
  if (rights.is_owner) return "the rights of the owner"
  for (const permission of rights.permissions)
    if (!hasOnePermission(viewer, permission)) return `the permission ${permission}`
  return undefined
}

/**
 * 403 if these rights exceed the caller's token; undefined otherwise. Such a token can neither grant them nor send a
 * login code, which gives all of a user's rights.
 */
export const beyondToken = (
  catalogue: Catalogue,
  viewer: Viewer,
  { is_owner, permissions }: Rights
): Rejection | undefined => {
  const ability = abilityLacking(catalogue, viewer, is_owner ? "all" : new Set(permissions))
  return ability === undefined
    ? undefined
    : forbidden(
        `Your token lacks the ability ${ability}, which these rights open; use a token that has it, or one with *.`
      )
}

/**
 * Whether a level is at or above the viewer's. Never for level 0, that of roles users made: permissions decide there.
 */
const outranks = (level: number, viewer: Viewer, viewer_level: number): boolean =>
  !viewer.is_owner && level > 0 && level >= viewer_level

/** Reason the viewer may not change a role, as the end of a sentence; undefined if they may. */
export const roleChangeRefusal = (role: RoleRow, viewer: Viewer, viewer_level: number): string | undefined => {
  if (outranks(role.level, viewer, viewer_level)) return `${role.name} is not below your own roles`
  const missing = missingRight(viewer, rightsOfRole(role))
  return missing === undefined ? undefined : `${role.name} holds ${missing}, which you do not have`
}
/** Reason the viewer may not change a user, as the end of a sentence; undefined if they may, as for themselves. */
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

/** Whether the user is the owner or has the system role Admin; equal permissions do not count. */
export const isAdministrator = (user: Pick<UserRow, "is_owner" | "role_ids">, roles: ReadonlyArray<RoleRow>): boolean =>
  user.is_owner || rolesOf(user, roles).some((role) => role.is_system && role.name === admin_role)
