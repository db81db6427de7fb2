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

export const userInvitationRequested = eventType("user.invitation_requested", {
  meaning: "An invited person is to be sent a code to log in with, by mail.",
  data: () => Schema.Struct(account()),
  project: "changes_no_table"
})
export const userAccessReset = eventType("user.access_reset", {
  meaning: "A person is to be sent a new code to log in with, by mail; what they were logged in by may end with it.",
  data: () => Schema.Struct({ ...account(), ends_sessions: Schema.Boolean }),
  project: "changes_no_table"
})
export const userLoggedIn = eventType("user.logged_in", {
  meaning: "A person logged in with a code that was sent to their address, which proves that it is theirs.",
  data: () => Schema.Struct({ ...account(), token_id: Schema.Int, verifies_email: Schema.Boolean }),
  project: ({ id, verifies_email }, { recorded_at }) => [
    update(users, id, { last_login_at: recorded_at, ...(verifies_email ? { email_verified_at: recorded_at } : {}) })
  ]
})

export const userEvents: ReadonlyArray<AnyEventType> = [
  userInvited,
  rowUpdated(users),
  userActivated,
  userReactivated,
  userDeactivated,
  userInvitationRequested,
  userAccessReset,
  userLoggedIn
]
