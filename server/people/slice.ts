/** Login for people without a token: codes sent by mail (rules/conventions 11). */
import { Clock, Context, Effect, Schema } from "effect"
import { appendEvents, boolean, command, CommandRuntime, created, invalidField } from "../../core/kernel/index.ts"
import { journal, lockStreams, postQuery, remove, removeWhere, retryOnConflict } from "../../core/kernel/index.ts"
import { settingText, Shown, Store, streamOf, text, timestamp } from "../../core/kernel/index.ts"
import type { Failure, Settings, StoredEvent } from "../../core/kernel/index.ts"
import type { TypeSetting } from "../../core/office/notifications/types.ts"
import { effectiveChannels, notification_settings, notificationType } from "../../core/office/notifications/types.ts"
import { memberAnonymised } from "../../core/people/personal-data/erase.ts"
import { momentText } from "../../core/pricing/print/format.ts"
import {
  access_resets_max,
  anonymousEmail,
  resetAccess,
  type ResetFacts,
  userAccessReset,
  userActivated,
  userDeactivated,
  userInvitationRequested,
  userLoggedIn,
  userReactivated
} from "../../core/people/users/decide.ts"
import { type UserRow, users } from "../../core/people/users/permissions.ts"
import { instantOf, zoneOf } from "../../core/values/time.ts"
import { dropMail, dropOldSecrets, queueMail } from "../delivery/mail/jobs.ts"
import { jobKind, jobOffer, processOf, serverContext, timedWork } from "../ports/server-context.ts"
import { queuedNow } from "../delivery/mail/transport.ts"
import { codeWith, firstCode, hashOfCode, login_codes, makeCode } from "./codes.ts"
import type { AccountMailKind } from "./texts.ts"
import { shownWithSecret } from "../ports/secret-box.ts"
import { issuedResource, tokenResource } from "../access/tokens/api.ts"
import { issueOwnToken } from "../access/tokens/issue.ts"
import { AccountMail, factsFor, grants } from "../../core/people/users/api.ts"
import type { ServerSlice } from "../ports/server-slice.ts"

/** The company's setting for a type of notification; undefined if not set. */
const typeSetting = (type: string): Effect.Effect<TypeSetting | undefined, Failure, Store> =>
  Store.get(notification_settings, type)

// Mail to users about their own accounts: the job that follows from events (rules/conventions 15).

const invitation_minutes = 7 * 24 * 60
const reset_minutes = 60

const type_of = {
  invited: "user.invited",
  reset: "password.reset",
  reactivated: "user.reactivated",
  deactivated: "user.deactivated"
} as const satisfies { readonly [K in AccountMailKind]: string }

/** Whether the company sends this mail. The user's own preferences do not apply to mail about the account. */
const isMailed = Effect.fnUntraced(function* (kind: AccountMailKind) {
  const type = notificationType(type_of[kind])
  return type !== undefined && effectiveChannels(type, yield* typeSetting(type.key), undefined).has("email")
})

/** The code of an invitation if no mail server is configured, for the inviting user to pass on; else null. */
const codeShown = Effect.fnUntraced(function* (user_id: number) {
  const { key } = yield* serverContext
  const user = yield* Store.get(users, user_id)
  if (user === undefined || (yield* queuedNow("", user.email)).mode === "smtp") return null
  return firstCode(key, user)
})

/** Validity of a code in minutes: of a reset an hour, if the user has logged in before; of all others a week. */
const minutesFor = (kind: AccountMailKind, { invitation_accepted_at }: UserRow): number =>
  kind === "reset" && invitation_accepted_at !== null ? reset_minutes : invitation_minutes
const expiryAt = (recorded_at: string, minutes: number): string => instantOf(Date.parse(recorded_at) + minutes * 60_000)

const data = Schema.Struct({
  kind: Schema.Literals(["invited", "reset", "reactivated", "deactivated"]),
  user_id: Schema.Int,
  /** Id of the acting user; null for the server. */
  actor_id: Schema.NullOr(Schema.Int),
  position: Schema.Int,
  recorded_at: Schema.String
})
type AccountMailData = typeof data.Type

/** Why the mail is not sent; undefined if it is. The account may have changed since the event. */
const reasonAgainst = (kind: AccountMailKind, user: UserRow | undefined): string | undefined => {
  if (user === undefined || user.email === anonymousEmail(user.id)) return "The person's data was erased."
  const is_closed = user.deactivated_at !== null
  if (kind === "deactivated") return is_closed ? undefined : "The account was opened again."
  return is_closed ? "The account was closed since." : undefined
}

/** Id of the message, by the causing event's position. */
const mailOf = (position: number): string => `account.${position}`

/** Queues a mail about an account, with a login code if the kind has one. */
const accountMail = Effect.fnUntraced(function* (given: AccountMailData) {
  const { actor_id, kind, position, recorded_at, user_id } = given
  yield* lockStreams([streamOf("user", user_id)])
  const user = yield* Store.get(users, user_id)
  const against = reasonAgainst(kind, user) ?? ((yield* isMailed(kind)) ? undefined : "The house has it not sent.")
  if (user === undefined || against !== undefined) return { sent: false, reason: against ?? "" }
  const settings = yield* (yield* CommandRuntime).settings
  const actor = actor_id === null ? undefined : yield* Store.get(users, actor_id)
  const expires_at = expiryAt(recorded_at, minutesFor(kind, user))
  const first = kind === "invited" ? firstCode((yield* serverContext).key, user) : undefined
  const code = kind === "deactivated" ? "" : yield* makeCode({ user_id, position, expires_at, code: first })
  if (code === undefined) return { sent: false, reason: "A later code was sent instead." }
  const zone = zoneOf(settingText(settings, "company", "timezone"))
  const is_first = kind === "reset" && user.invitation_accepted_at === null
  const { accountText } = yield* Effect.promise(() => import("./texts.ts"))
  const words = accountText(is_first ? "invited" : kind, {
    name: user.name,
    by: actor?.name ?? null,
    house: settingText(settings, "company", "name"),
    url: (yield* serverContext).public_url(),
    until: `${momentText(expires_at, zone, "en-GB", "long")} (${zone})`
  })
  const queued = yield* queueMail(
    {
      id: mailOf(position),
      sender_user_id: actor === undefined ? null : actor.id,
      to: [{ name: user.name, address: user.email }],
      ...words,
      ...(code === "" ? {} : { secret: { text: code, expires_at } })
    },
    settings
  )
  return { sent: true, job_id: queued.job_id }
})

const mailAccount = jobKind<AccountMailData>({
  kind: "users.mail",
  meaning: "sends account mail to users",
  data,
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  // Safe to repeat: message id and code position are unique, so nothing is queued twice.
  run: (given) => Store.transaction(accountMail(given)).pipe(retryOnConflict)
})

const kind_of: { readonly [type: string]: AccountMailKind } = {
  [userInvitationRequested.type]: "invited",
  [userAccessReset.type]: "reset",
  [userReactivated.type]: "reactivated",
  [userDeactivated.type]: "deactivated"
}
export const accountMails = processOf({
  on: [userInvitationRequested, userAccessReset, userReactivated, userDeactivated],
  jobs: ({ actor_id, data: { id }, position, recorded_at, type }) => {
    const kind = kind_of[type]
    return kind === undefined
      ? []
      : [
          jobOffer(
            mailAccount,
            { kind, user_id: id, actor_id, position, recorded_at },
            { subject: String(position), owner_id: actor_id }
          )
        ]
  }
})

/** Deletes pending account mail of an erased person. */
const dropMails = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>): Store.Reads<void> {
  const streams = events.flatMap(({ data, type }) =>
    type === memberAnonymised.type && typeof data["user_id"] === "number" ? [streamOf("user", data["user_id"])] : []
  )
  if (streams.length === 0) return
  const store = yield* Store
  const caused = yield* store.find(journal, { stream: streams, type: Object.keys(kind_of) })
  for (const { position } of caused) yield* dropMail(store, mailOf(position))
})

// Exchanges a code for a token, once. All faults get the same response, which does not reveal which codes existed.

const refused = invalidField(
  "code",
  "This code is not valid here: it may have been used, replaced by a later one, or have expired. Ask for a new one."
)

/**
 * Uses a code up and issues a token, under the lock of the user's stream: of two concurrent requests the second fails.
 */
const redeemed = Effect.fnUntraced(function* (hash: string, user_id: number, name: string, settings: Settings) {
  const runtime = yield* CommandRuntime
  yield* lockStreams([streamOf("user", user_id)])
  const now = instantOf(yield* Clock.currentTimeMillis)
  const code = yield* codeWith(hash, now)
  const user = code?.user_id === user_id ? yield* Store.get(users, user_id) : undefined
  if (user === undefined || user.deactivated_at !== null) return yield* refused
  const account = { id: user.id, member_id: user.member_id }
  const token = yield* issueOwnToken({ name, user_id }, settings, now)
  yield* Store.apply([remove(login_codes, user_id)])
  yield* appendEvents(
    [
      ...(user.is_active ? [] : [userActivated.make({ ...account, first: user.invitation_accepted_at === null })]),
      token.event,
      userLoggedIn.make({ ...account, token_id: token.id, verifies_email: user.email_verified_at === null })
    ],
    { command_id: yield* runtime.commandId, actor_id: user_id, replica_id: null, recorded_at: now }
  )
  return token
})

const redeem = postQuery("/api/v1/login_codes/redeem", {
  answer: { token: Shown.row(() => issuedResource) },
  name: "login_codes.redeem",
  summary: "Log in with a mailed code; the token is only in this response",
  ability: null,
  permission: null,
  public: true,
  server_only: true,
  success_status: 201,
  fields: {
    code: text({
      required: true,
      input_only: true,
      max: 200,
      describe: "Login code, with or without hyphens, in any case"
    }),
    name: text({ default: "Login by code", describe: "Name of the token, such as the machine's" })
  },
  run: (input) =>
    Effect.gen(function* () {
      const hash = hashOfCode(input.values.code ?? "")
      const code = hash === undefined ? undefined : yield* codeWith(hash, input.now)
      if (hash === undefined || code === undefined) return yield* refused
      const { name = "" } = input.values
      const { id, secret } = yield* Store.transaction(redeemed(hash, code.user_id, name, input.settings)).pipe(
        retryOnConflict
      )
      return created(yield* shownWithSecret(tokenResource, id, secret, input))
    })
})

// A new code for a user who lost access, or whose access must be replaced.

const beforeOf = Effect.fnUntraced(function* (user: UserRow) {
  const resets = yield* Store.find(
    journal,
    { stream: streamOf("user", user.id), type: userAccessReset.type },
    { order: ["-version"], limit: access_resets_max }
  )
  return resets.map(({ recorded_at }) => recorded_at)
})

type UsersFacts = ReturnType<typeof factsFor>
type Facts = Effect.Effect<ResetFacts, Effect.Error<UsersFacts>, Effect.Services<UsersFacts>>

const reset = command("POST", "/api/v1/users/{id}/reset_password", {
  answer: {
    message: text(),
    sent_to: text({ describe: "Address the code is sent to" }),
    expires_at: timestamp({ describe: "Time the code expires" })
  },
  name: "users.reset_password",
  summary: "Send a user a new login code; end_sessions revokes their tokens",
  ability: "users:write",
  permission: "users.reset-password",
  server_only: true,
  success_status: 202,
  params: { id: { table: users } },
  streams: ({ id }) => [`user:${id}`, grants],
  fields: {
    end_sessions: boolean({ default: false, describe: "Revoke the user's tokens, and those of their devices" })
  },
  facts: ({ rows, viewer }): Facts =>
    Effect.gen(function* () {
      return { ...(yield* factsFor(viewer)), before: yield* beforeOf(rows.id) }
    }),
  decide: (facts, { now, rows, values, viewer }) =>
    resetAccess(rows.id, values.end_sessions === true, viewer, facts, now),
  result: Schema.Struct({ id: Schema.Int, sent_to: Schema.String }),
  respond: Effect.fnUntraced(function* ({ sent_to }, { now, rows }) {
    const { text: message } = yield* queuedNow("A code to log in with", sent_to)
    return { status: 202, body: { message, sent_to, expires_at: expiryAt(now, minutesFor("reset", rows.id)) } }
  })
})

/** How long sent messages are remembered: longer than their jobs, which would be queued again otherwise. */
const sent_kept_millis = 30 * 86_400_000

const dropExpired = Effect.fnUntraced(function* (now: string) {
  const { sql } = yield* Store
  yield* sql`delete from login_codes where expires_at <= ${now}`
})

const dropOldDaily = timedWork({
  cron: "41 3 * * *",
  kind: "access.cleanup",
  meaning: "removes expired login codes, also from queued mail",
  run: Effect.fnUntraced(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* dropExpired(instantOf(now))
    yield* dropOldSecrets(instantOf(now), instantOf(now - sent_kept_millis))
  })
})

/** Deletes the codes that these events end, in their transaction. */
const endCodes = (events: ReadonlyArray<StoredEvent>): Effect.Effect<void, Failure, Store> => {
  const ended = events.flatMap(({ data, type }) =>
    type === userDeactivated.type || (type === `${users.entity}.updated` && data["email"] !== undefined)
      ? [Number(data["id"])]
      : type === memberAnonymised.type && typeof data["user_id"] === "number"
        ? [data["user_id"]]
        : []
  )
  return ended.length === 0 ? Effect.void : Store.apply(ended.map((user_id) => removeWhere(login_codes, { user_id })))
}

const ends_codes = new Set([userDeactivated.type, `${users.entity}.updated`, memberAnonymised.type])

export const accessSlice: ServerSlice = {
  name: "access",
  server_tables: [login_codes],
  endpoints: [reset, redeem],
  jobs: [mailAccount, dropOldDaily.kind],
  processes: [accountMails],
  timed: [dropOldDaily],
  concerns: (events) => Effect.succeed(events.some(({ type }) => ends_codes.has(type))),
  recorded: (events) => Effect.andThen(endCodes(events), dropMails(events)),
  services: () => Context.make(AccountMail, { invites: isMailed("invited"), codeShown })
}
