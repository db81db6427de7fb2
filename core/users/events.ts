/** Events of user accounts (rules/conventions 11 and 12). */
import { Schema } from "effect"
import { update } from "../kernel/row-change.ts"
import { type AnyEventType, eventType } from "../kernel/event-type.ts"
import { rowMade, rowUpdated } from "../kernel/crud-resource.ts"
import { members } from "../members/schema.ts"
import { users } from "./schema.ts"

export const userInvited = rowMade("user.invited", users, {
  meaning: "A person was invited to work here: the account as it was made."
})

const account = () => ({ id: Schema.Int, member_id: Schema.Int })
const activation = (type: string, meaning: string) =>
  eventType(type, {
    meaning,
    // `first`: the first activation, which accepts the invitation.
    data: () => Schema.Struct({ ...account(), first: Schema.Boolean }),
    project: ({ id, member_id, first }, { recorded_at }) => [
      update(users, id, {
        is_active: true,
        deactivated_at: null,
        updated_at: recorded_at,
        ...(first ? { invitation_accepted_at: recorded_at } : {})
      }),
      update(members, member_id, { is_active: true, updated_at: recorded_at })
    ]
  })
export const userActivated = activation("user.activated", "An invited user may log in.")
export const userReactivated = activation("user.reactivated", "A deactivated user may log in again.")
export const userDeactivated = eventType("user.deactivated", {
  meaning: "A user may not log in any more; tokens and devices end with the account.",
  data: () => Schema.Struct(account()),
  project: ({ id, member_id }, { recorded_at }) => [
    update(users, id, { is_active: false, deactivated_at: recorded_at, updated_at: recorded_at }),
    update(members, member_id, { is_active: false, updated_at: recorded_at })
  ]
})

export const userEvents: ReadonlyArray<AnyEventType> = [
  userInvited,
  rowUpdated(users),
  userActivated,
  userReactivated,
  userDeactivated
]
