/** Seeds: the system roles and the owner of a new database, and permissions later releases grant to system roles. */
import { Effect } from "effect"
import type { LaterSeed } from "../kernel/catalogue.ts"
import type { NewEvent } from "../kernel/event.ts"
import { createdEvent, initialRow, updatedEvent } from "../kernel/crud-resource.ts"
import { Store } from "../kernel/store/store.ts"
import { memberFields, members } from "../members/schema.ts"
import { userInvited } from "./events.ts"
import { systemRoles } from "./permissions.ts"
import { roleFields, roles, users } from "./schema.ts"

export const roleSeed = (): ReadonlyArray<NewEvent> =>
  systemRoles.map((role, at) =>
    createdEvent(roles, { ...initialRow(roles, roleFields), ...role, id: at + 1, sort_order: at + 1, is_system: true })
  )

/**
 * A later seed that adds permissions of a later release to system roles, by the role's name, beside those each has by
 * then. Roles that users made stay as they are.
 */
export const grantToSystemRoles =
  (granted: { readonly [role: string]: ReadonlyArray<string> }): LaterSeed =>
  () =>
    Effect.gen(function* () {
      const system_roles = yield* (yield* Store).find(roles, { is_system: true }, { order: ["sort_order", "id"] })
      return system_roles
        .map((role) => {
          const permissions = [...new Set([...role.permissions, ...(granted[role.name] ?? [])])]
          return updatedEvent(roles, role, { permissions })
        })
        .filter((event) => event !== undefined)
    })

export interface Invited {
  readonly id: number
  readonly member_id: number
  readonly name: string
  readonly email: string
  readonly role_ids: ReadonlyArray<number>
  readonly is_owner: boolean
  readonly is_active: boolean
}
/** Events that create a user and the member record that represents them in lists of members. `at`: an instant. */
export const invitedEvents = (user: Invited, at: string): ReadonlyArray<NewEvent> => [
  createdEvent(members, {
    ...initialRow(members, memberFields),
    id: user.member_id,
    name: user.name,
    membership_type: "user",
    is_active: user.is_active
  }),
  userInvited.make({
    ...initialRow(users, {}),
    ...user,
    invited_at: at,
    invitation_accepted_at: user.is_active ? at : null
  })
]

/** The owner of an empty database. */
export const ownerEvents = (
  { name, email }: { readonly name: string; readonly email: string },
  ids: { readonly user_id: number; readonly member_id: number },
  at: string
): ReadonlyArray<NewEvent> =>
  invitedEvents(
    { id: ids.user_id, member_id: ids.member_id, name, email, role_ids: [], is_owner: true, is_active: true },
    at
  )
