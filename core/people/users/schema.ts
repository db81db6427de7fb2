/** Tables of users and of the roles that give them permissions (rules/conventions 11 and 12). */
import { boolean, integer, list, longText, ref, text, timestamp } from "../../kernel/fields/field.ts"
import { type RowOf, table } from "../../kernel/tables/table.ts"

export const roleFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  permissions: list(text(), { default: [], distinct: true })
}
export const roles = table(
  "roles",
  {
    ...roleFields,
    /** A role is granted only by users of a higher level. Roles that are not the system's have level 0. */
    level: integer({ computed: true, default: 0 }),
    sort_order: integer({ computed: true, default: 100 }),
    is_system: boolean({ computed: true, default: false })
  },
  {
    changes_reader: true,
    // Devices need their user's own roles for the permissions, and ids of all roles for saved views that name them.
    visibility: {
      all_columns: ["roles.*", "users.*"],
      granted_columns: [{ to: "everyone", columns: [] }],
      by_key: (id, viewer) => (viewer.role_ids.includes(Number(id)) ? "whole" : undefined)
    },
    uniques: [{ columns: ["name_folded"], field: "name", message: "The name has already been taken." }]
  }
)
export type RoleRow = RowOf<typeof roles>

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
    // Histories and lists show everybody the names of users.
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
