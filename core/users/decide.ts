/** Rules for users: who may invite, change and deactivate whom (rules/conventions 11 and 12). */
import { Result } from "effect"
import type { Decided } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { updatedEvent } from "../kernel/crud-resource.ts"
import { type FieldErrors, forbidden, invalid, invalidField, Rejection } from "../kernel/rejection.ts"
import { foldCase } from "../kernel/table.ts"
import type { Viewer } from "../kernel/viewer.ts"
import { type MemberRow, members } from "../members/schema.ts"
import { parseMailAddress } from "../values/mail-address.ts"
import { anonymousEmail } from "./anonymous.ts"
import { userAccessReset, userActivated, userDeactivated, userInvitationRequested, userReactivated } from "./events.ts"
import { type Invited, invitedEvents } from "./seed.ts"
import { type RoleRow, type UserRow, users } from "./schema.ts"
import { roleChangeRefusal, userChangeRefusal } from "./rights.ts"

export interface UserFacts {
  readonly roles: ReadonlyArray<RoleRow>
  /** The caller's level. */
  readonly level: number
}

/** Roles by name or id, in their sort order. 422 for one added or removed that the caller has no right to grant. */
const chosenRoles = (
  names: ReadonlyArray<string>,
  before: ReadonlyArray<number>,
  viewer: Viewer,
  facts: UserFacts
): Result.Result<ReadonlyArray<number>, Rejection> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const chosen = new Set<number>()
  names.forEach((name, at) => {
    const role = facts.roles.find((one) => foldCase(one.name) === foldCase(name) || String(one.id) === name)
    if (role === undefined)
      errors[`roles.${at}`] = [`There is no role ${name}; there are ${facts.roles.map((one) => one.name).join(", ")}.`]
    else chosen.add(role.id)
  })
  const changed = facts.roles.filter((role) => chosen.has(role.id) !== before.includes(role.id))
  const bars = changed.flatMap((role) => roleChangeRefusal(role, viewer, facts.level) ?? [])
  if (bars.length > 0) errors["roles"] = bars.map((bar) => `You cannot grant or take away this role: ${bar}.`)
  return Object.keys(errors).length > 0
    ? Result.fail(invalid(errors as FieldErrors))
    : Result.succeed(facts.roles.filter((role) => chosen.has(role.id)).map((role) => role.id))
}

/** `send_invitation`: a code to log in with is sent to them. */
export const inviteUser = (
  user: Pick<Invited, "id" | "member_id" | "name" | "email" | "is_active"> & {
    readonly roles: ReadonlyArray<string>
    readonly send_invitation: boolean
  },
  viewer: Viewer,
  facts: UserFacts,
  at: string
): Decided => {
  const { roles, send_invitation, ...rest } = user
  return Result.map(chosenRoles(roles, [], viewer, facts), (role_ids) => ({
    events: [
      ...invitedEvents({ ...rest, role_ids, is_owner: false }, at),
      ...(send_invitation ? [userInvitationRequested.make({ id: user.id, member_id: user.member_id })] : [])
    ],
    result: { id: user.id }
  }))
}

/** 403 with the reason where the viewer may not change this user. */
const mayNot = (act: string, user: UserRow, viewer: Viewer, facts: UserFacts): Rejection | undefined => {
  const bar = userChangeRefusal(user, facts.roles, viewer, facts.level)
  return bar === undefined ? undefined : forbidden(`You cannot ${act} this user: ${bar}.`)
}

export interface UserChange {
  readonly name?: string
  readonly email?: string
  readonly roles?: ReadonlyArray<string>
}
export const changeUser = (
  user: UserRow,
  change: UserChange,
  viewer: Viewer,
  facts: UserFacts & { readonly member: MemberRow | undefined }
): Decided => {
  const refusal = mayNot("change", user, viewer, facts)
  if (refusal !== undefined) return Result.fail(refusal)
  const chosen =
    change.roles === undefined ? Result.succeed(user.role_ids) : chosenRoles(change.roles, user.role_ids, viewer, facts)
  return Result.map(chosen, (role_ids) => {
    const email = change.email ?? user.email
    const email_verified_at = email === user.email ? user.email_verified_at : null
    const set = { name: change.name ?? user.name, email, email_verified_at, role_ids }
    const events: ReadonlyArray<NewEvent | undefined> = [
      updatedEvent(users, user, set),
      facts.member === undefined ? undefined : updatedEvent(members, facts.member, { name: set.name })
    ]
    return { events: events.filter((event) => event !== undefined), result: { id: user.id } }
  })
}

/** 422 on `user` for the owner and for the caller's own account; no events for a user who is not active. */
export const deactivateUser = (user: UserRow, viewer: Viewer, facts: UserFacts): Decided => {
  if (user.is_owner) return Result.fail(invalidField("user", "The owner cannot be deactivated."))
  if (user.id === viewer.user_id) return Result.fail(invalidField("user", "You cannot deactivate yourself."))
  const refusal = mayNot("deactivate", user, viewer, facts)
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.succeed({
    events:
      user.is_active || user.deactivated_at === null
        ? [userDeactivated.make({ id: user.id, member_id: user.member_id })]
        : [],
    result: { id: user.id }
  })
}

/** 422 on `user` for an anonymised user: nobody is left to use the account. */
export const activateUser = (user: UserRow, viewer: Viewer, facts: UserFacts): Decided => {
  const refusal = mayNot("activate", user, viewer, facts)
  if (refusal !== undefined) return Result.fail(refusal)
  if (user.email === anonymousEmail(user.id))
    return Result.fail(invalidField("user", "This user was anonymised; invite the person anew."))
  return Result.succeed({
    events: user.is_active
      ? []
      : [
          (user.deactivated_at === null ? userActivated : userReactivated).make({
            id: user.id,
            member_id: user.member_id,
            first: user.invitation_accepted_at === null
          })
        ],
    result: { id: user.id }
  })
}

/** New codes for one person in an hour, at most. */
export const access_resets_max = 5
export interface ResetFacts extends UserFacts {
  /** When codes were sent for that reason before, the latest first. */
  readonly before: ReadonlyArray<string>
}
/** 422 on `user` for a closed account: it is activated first, which sends a code by itself. */
export const resetAccess = (
  user: UserRow,
  ends_sessions: boolean,
  viewer: Viewer,
  facts: ResetFacts,
  now: string
): Decided<ResetAccess> => {
  const refusal = mayNot("reset the access of", user, viewer, facts)
  if (refusal !== undefined) return Result.fail(refusal)
  // A code opens all that its person may do: a token that opens less cannot be traded for one.
  if (user.id === viewer.user_id && !viewer.abilities.has("*"))
    return Result.fail(forbidden("Your own token lacks the ability *, and what is sent opens everything you may do."))
  if (user.deactivated_at !== null || user.email === anonymousEmail(user.id))
    return Result.fail(invalidField("user", "This account is closed: activate it, and a code is sent."))
  const address = parseMailAddress(user.email)
  if (Result.isFailure(address))
    return Result.fail(invalidField("user", `No mail can be sent to ${user.email}: change the e-mail address first.`))
  const free_at = Date.parse(facts.before[access_resets_max - 1] ?? "1970-01-01T00:00:00.000Z") + hour_millis
  if (free_at > Date.parse(now)) return Result.fail(tooManyResets(Math.ceil((free_at - Date.parse(now)) / 1_000)))
  return Result.succeed({
    events: [userAccessReset.make({ id: user.id, member_id: user.member_id, ends_sessions })],
    result: { id: user.id, sent_to: address.success }
  })
}
export interface ResetAccess {
  readonly id: number
  readonly sent_to: string
}
const hour_millis = 3_600_000
const tooManyResets = (seconds: number): Rejection =>
  new Rejection({
    kind: "too_many",
    message: `This person was sent ${access_resets_max} codes within an hour: wait ${Math.ceil(seconds / 60)} minutes.`,
    headers: { "retry-after": String(seconds) }
  })
