/**
 * Accounts: whose it is, where they can log in, and those who may see accounts. Mail to people about their own account
 * is queued with the event itself, as it may hold a code; these rows are for inboxes.
 */
import { Effect } from "effect"
import { userDeactivated, userInvited, userReactivated } from "../../../core/users/events.ts"
import { users } from "../../../core/users/schema.ts"
import { type Cause, keyOf } from "../happening.ts"

/** What the list of users asks for. */
export const users_permission = "users.view"

const account = (notification_type: string, on: string, is_told_themselves = false): Cause => ({
  notification_type,
  on: [on],
  // The owner of a new database was invited by nobody.
  may: (event) => event.actor_id !== null,
  happenings: (events) =>
    Effect.succeed(
      events.flatMap((event) => {
        const id = Number(event.data["id"])
        const happening = {
          notification_type,
          key: keyOf(event),
          subject: { type: users.name, id },
          details: {},
          only: ["database", "broadcast"],
          actor_id: event.actor_id,
          command_id: event.command_id
        } as const
        return [
          ...(is_told_themselves ? [{ ...happening, seen_with: "", to: { user_ids: [id] } }] : []),
          { ...happening, seen_with: users_permission, to: null, except: id }
        ]
      })
    )
})

export const userCauses: ReadonlyArray<Cause> = [
  account("user.invited", userInvited.type),
  account("user.deactivated", userDeactivated.type),
  account("user.reactivated", userReactivated.type, true)
]
