/** Rules for users: who may be invited, changed and deactivated by whom (rules/conventions 11 and 12). */
import { Effect, Result, Schema } from "effect"
import { createdEvent, decided, decision, eventType, foldCase, forbidden, initialRow } from "../../kernel/index.ts"
import { invalid, reject, Rejection, rowMade, rowUpdated, Store, update, updatedEvents } from "../../kernel/index.ts"
import type { AnyEventType, Catalogue, Decided, LaterSeed, NewEvent, RowOf, Viewer } from "../../kernel/index.ts"
import { memberFields, type MemberRow, members } from "../members/schema.ts"
import type { UserRow } from "./permissions.ts"
import { beyondToken, interfacePermissions, rightsOfUser, roleChangeRefusal } from "./permissions.ts"
import { roleFields, roles, userChangeRefusal, users } from "./permissions.ts"
import { parseMailAddress } from "../../values/mail-address.ts"

/** Name that replaces an anonymised person's. */
export const anonymous_name = "Anonymised Member"
/** Address that replaces an anonymised user's: `.invalid` is undeliverable (RFC 2606), and the id makes it unique. */
export const anonymousEmail = (user_id: number): string => `anonymised-${user_id}@example.invalid`

// Events of user accounts (rules/conventions 11 and 12).

export const userInvited = rowMade("user.invited", users, { meaning: "A user was invited: the new account." })

const account = () => ({ id: Schema.Int, member_id: Schema.Int })
const activation = (type: string, meaning: string) =>
  eventType(type, {
    meaning,
    // `first`: whether this is the first activation, which accepts the invitation.
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
  meaning: "A user was deactivated: their tokens and devices stopped working.",
  data: () => Schema.Struct(account()),
  project: ({ id, member_id }, { recorded_at }) => [
    update(users, id, { is_active: false, deactivated_at: recorded_at, updated_at: recorded_at }),
    update(members, member_id, { is_active: false, updated_at: recorded_at })
  ]
})

export const userInvitationRequested = eventType("user.invitation_requested", {
  meaning: "A login code was requested by mail for an invited user.",
  data: () => Schema.Struct(account()),
  project: "changes_no_table"
})
export const userAccessReset = eventType("user.access_reset", {
  meaning: "A new login code was requested by mail; existing logins may end with it.",
  data: () => Schema.Struct({ ...account(), ends_sessions: Schema.Boolean }),
  project: "changes_no_table"
})
export const userLoggedIn = eventType("user.logged_in", {
  meaning: "A user logged in with a login code, which verifies their address.",
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

// Seeds: the system roles and the owner of a new database, and permissions later releases grant to system roles.

const keys = interfacePermissions.map((one) => one.key)

const all = (...areas: ReadonlyArray<string>): ReadonlyArray<string> =>
  interfacePermissions.filter((one) => areas.includes(one.area)).map((one) => one.key)
const without = (from: ReadonlyArray<string>, ...left_out: ReadonlyArray<string>): ReadonlyArray<string> =>
  from.filter((key) => !left_out.includes(key))

interface SystemRole {
  readonly name: string
  readonly level: number
  readonly description: string
  readonly permissions: ReadonlyArray<string>
}
/**
 * Permissions of the system roles in the first release; `laterGrants` and later slices add to them. The owner needs
 * none: `users.is_owner` passes every permission.
 */
export const systemRoles: ReadonlyArray<SystemRole> = [
  { name: "Admin", level: 80, description: "Everything", permissions: keys },
  {
    name: "Operations Manager",
    level: 60,
    description: "Everything but settings, users and roles",
    permissions: without(keys, ...all("settings", "users", "roles"))
  },
  {
    name: "Sales",
    level: 40,
    description: "Customers, quotes, orders and invoices",
    permissions: [
      ...without(all("opportunities"), "opportunities.unlock_rates"),
      ...all("activities", "invoices", "members", "payments", "documents"),
      "shortages.view",
      "shortages.resolve",
      "products.view",
      "reports.view"
    ]
  },
  {
    name: "Warehouse",
    level: 35,
    description: "Stock, containers and goods in and out",
    permissions: [
      ...all("stock", "products", "containers", "kits"),
      "availability.view",
      "members.view",
      "reports.view",
      "shortages.view",
      "shortages.resolve",
      "purchase_orders.view",
      "purchase_orders.receive",
      "documents.view"
    ]
  },
  {
    name: "Read Only",
    level: 20,
    description: "Read-only access",
    permissions: without(
      interfacePermissions.filter((one) => one.action === "view" || one.action === "access").map((one) => one.key),
      "costs.view"
    )
  }
]

export const roleSeed = (): ReadonlyArray<NewEvent> =>
  systemRoles.map((role, at) =>
    createdEvent(roles, { ...initialRow(roles, roleFields), ...role, id: at + 1, sort_order: at + 1, is_system: true })
  )

/** A seed that adds a later release's permissions to system roles, by name; other roles stay as they are. */
export const grantToSystemRoles =
  (granted: { readonly [role: string]: ReadonlyArray<string> }): LaterSeed =>
  () =>
    Effect.gen(function* () {
      const system_roles = yield* Store.find(roles, { is_system: true }, { order: ["sort_order", "id"] })
      return system_roles.flatMap((role) => {
        const permissions = [...new Set([...role.permissions, ...(granted[role.name] ?? [])])]
        return updatedEvents(roles, role, { permissions })
      })
    })

interface Invited {
  readonly id: number
  readonly member_id: number
  readonly name: string
  readonly email: string
  readonly role_ids: ReadonlyArray<number>
  readonly is_owner: boolean
  readonly is_active: boolean
}
/** Events that create a user with a member record. `at`: current time. */
const invitedEvents = (user: Invited, at: string): ReadonlyArray<NewEvent> => [
  createdEvent(members, {
    ...initialRow(members, memberFields),
    id: user.member_id,
    name: user.name,
    membership_type: "user",
    is_active: user.is_active
  }),
  userInvited.make({
    ...initialRow(users),
    ...user,
    invited_at: at,
    invitation_accepted_at: user.is_active ? at : null
  })
]

/** Events that create the owner of an empty database. */
export const ownerEvents = (
  { name, email }: { readonly name: string; readonly email: string },
  ids: { readonly user_id: number; readonly member_id: number },
  at: string
): ReadonlyArray<NewEvent> =>
  invitedEvents(
    { id: ids.user_id, member_id: ids.member_id, name, email, role_ids: [], is_owner: true, is_active: true },
    at
  )

interface UserFacts {
  readonly roles: ReadonlyArray<RowOf<typeof roles>>
  /** Level of the caller. */
  readonly level: number
  readonly catalogue: Catalogue
}

/** 403 if the user may do more than the caller's token. For the caller's own account every ability is required. */
const mayMore = (
  user: Pick<UserRow, "is_owner" | "role_ids"> & { readonly id?: number },
  viewer: Viewer,
  { catalogue, roles }: UserFacts
): Rejection | undefined => {
  const rights = rightsOfUser(user, roles)
  return beyondToken(catalogue, viewer, user.id === viewer.user_id ? { ...rights, is_owner: true } : rights)
}

/**
 * Ids of roles given by name or id, in sort order. 422 for an unknown one, and for a changed one that the caller may
 * not grant or remove; 403 if an added one exceeds the caller's token.
 */
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
  if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
  const role_ids = facts.roles.filter((role) => chosen.has(role.id)).map((role) => role.id)
  const added = role_ids.filter((id) => !before.includes(id))
  const refusal = mayMore({ is_owner: false, role_ids: added }, viewer, facts)
  return refusal === undefined ? Result.succeed(role_ids) : Result.fail(refusal)
}

/** Invites a user. `send_invitation`: whether to send a login code. */
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
  return Result.map(chosenRoles(roles, [], viewer, facts), (role_ids) =>
    decision(user.id, [
      ...invitedEvents({ ...rest, role_ids, is_owner: false }, at),
      ...(send_invitation ? [userInvitationRequested.make({ id: user.id, member_id: user.member_id })] : [])
    ])
  )
}

/** 403 with the reason if the viewer may not change this user; undefined if they may. */
const mayNot = (act: string, user: UserRow, viewer: Viewer, facts: UserFacts): Rejection | undefined => {
  const bar = userChangeRefusal(user, facts.roles, viewer, facts.level)
  return bar === undefined ? undefined : forbidden(`You cannot ${act} this user: ${bar}.`)
}

interface UserChange {
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
  // A login code can be sent to the new address, so the token must cover all the account's rights.
  const code_refusal =
    change.email === undefined || change.email === user.email ? undefined : mayMore(user, viewer, facts)
  if (code_refusal !== undefined) return Result.fail(code_refusal)
  return Result.map(chosen, (role_ids) => {
    const email = change.email ?? user.email
    const email_verified_at = email === user.email ? user.email_verified_at : null
    const set = { name: change.name ?? user.name, email, email_verified_at, role_ids }
    const renamed = facts.member === undefined ? [] : updatedEvents(members, facts.member, { name: set.name })
    return decision(user.id, [...updatedEvents(users, user, set), ...renamed])
  })
}

/** Deactivates a user; no events if deactivated already. 422 on `user` for the owner and the caller's own account. */
export const deactivateUser = (user: UserRow, viewer: Viewer, facts: UserFacts): Decided => {
  if (user.is_owner) return reject("user", "The owner cannot be deactivated.")
  if (user.id === viewer.user_id) return reject("user", "You cannot deactivate yourself.")
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

/** Activates a user; no events if active already. 422 on `user` for an anonymised one. */
export const activateUser = (user: UserRow, viewer: Viewer, facts: UserFacts): Decided => {
  const refusal = mayNot("activate", user, viewer, facts) ?? (user.is_active ? undefined : mayMore(user, viewer, facts))
  if (refusal !== undefined) return Result.fail(refusal)
  if (user.email === anonymousEmail(user.id)) return reject("user", "This user was anonymised; invite the person anew.")
  return decided(
    user.id,
    user.is_active
      ? []
      : [
          (user.deactivated_at === null ? userActivated : userReactivated).make({
            id: user.id,
            member_id: user.member_id,
            first: user.invitation_accepted_at === null
          })
        ]
  )
}

/** Maximum login codes sent to one user by resets within an hour. */
export const access_resets_max = 5
export interface ResetFacts extends UserFacts {
  /** Times of earlier resets, latest first. */
  readonly before: ReadonlyArray<string>
}
/**
 * Sends a new login code. 422 on `user` for a deactivated account, which gets one when it is activated, an anonymised
 * one, and an address that cannot be mailed; 429 above `access_resets_max` within an hour.
 */
export const resetAccess = (
  user: UserRow,
  ends_sessions: boolean,
  viewer: Viewer,
  facts: ResetFacts,
  now: string
): Decided<{ readonly id: number; readonly sent_to: string }> => {
  // A login code gives all rights of the user, so the caller's token must cover them.
  const refusal = mayNot("reset the access of", user, viewer, facts) ?? mayMore(user, viewer, facts)
  if (refusal !== undefined) return Result.fail(refusal)
  if (user.deactivated_at !== null || user.email === anonymousEmail(user.id))
    return reject("user", "This account is closed: activate it, and a code is sent.")
  const address = parseMailAddress(user.email)
  if (Result.isFailure(address))
    return reject("user", `No mail can be sent to ${user.email}: change the e-mail address first.`)
  const free_at = Date.parse(facts.before[access_resets_max - 1] ?? "1970-01-01T00:00:00.000Z") + hour_millis
  if (free_at > Date.parse(now)) return Result.fail(tooManyResets(Math.ceil((free_at - Date.parse(now)) / 1_000)))
  return Result.succeed({
    events: [userAccessReset.make({ id: user.id, member_id: user.member_id, ends_sessions })],
    result: { id: user.id, sent_to: address.success }
  })
}
const hour_millis = 3_600_000
const tooManyResets = (seconds: number): Rejection =>
  new Rejection({
    kind: "too_many",
    message: `This person was sent ${access_resets_max} codes within an hour: wait ${Math.ceil(seconds / 60)} minutes.`,
    headers: { "retry-after": String(seconds) }
  })
