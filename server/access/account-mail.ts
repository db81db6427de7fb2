/** Mail to people about their own accounts: the job that follows from what was recorded (rules/conventions 15). */
import { Effect, Schema } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { lockStreams, retryOnConflict } from "../../core/kernel/engine.ts"
import { type StoredEvent, streamOf } from "../../core/kernel/event.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { journal } from "../../core/kernel/journal.ts"
import { settingText } from "../../core/kernel/settings.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { effectiveChannels } from "../../core/notifications/effective.ts"
import { notificationType } from "../../core/notifications/types.ts"
import { memberAnonymised } from "../../core/personal-data/events.ts"
import { momentText } from "../../core/print/format.ts"
import { anonymousEmail } from "../../core/users/anonymous.ts"
import { userAccessReset, userDeactivated, userInvitationRequested, userReactivated } from "../../core/users/events.ts"
import { users, type UserRow } from "../../core/users/schema.ts"
import { instantOf } from "../../core/values/time.ts"
import { zoneOf } from "../../core/values/zone.ts"
import { jobKind, jobOffer, processOf } from "../jobs/job-kind.ts"
import { dropMail, queueMail } from "../mail/jobs.ts"
import { serverContext } from "../server-context.ts"
import { makeCode } from "./codes.ts"
import { typeSetting } from "./house-settings.ts"
import type { AccountMailKind } from "./texts.ts"

export const invitation_minutes = 7 * 24 * 60
export const reset_minutes = 60

const type_of = {
  invited: "user.invited",
  reset: "password.reset",
  reactivated: "user.reactivated",
  deactivated: "user.deactivated"
} as const satisfies { readonly [K in AccountMailKind]: string }

/** Whether the house has this mail sent. People's own preferences do not count: it is about their account itself. */
export const isMailed = Effect.fnUntraced(function* (kind: AccountMailKind) {
  const type = notificationType(type_of[kind])
  return type !== undefined && effectiveChannels(type, yield* typeSetting(type.key), undefined).has("email")
})

/** How long a code is good for: whoever has never been here is given the time of an invitation again. */
export const minutesFor = (kind: AccountMailKind, { invitation_accepted_at }: UserRow): number =>
  kind === "reset" && invitation_accepted_at !== null ? reset_minutes : invitation_minutes
export const expiryAt = (recorded_at: string, minutes: number): string =>
  instantOf(Date.parse(recorded_at) + minutes * 60_000)

const data = Schema.Struct({
  kind: Schema.Literals(["invited", "reset", "reactivated", "deactivated"]),
  user_id: Schema.Int,
  /** Who did it. */
  actor_id: Schema.NullOr(Schema.Int),
  position: Schema.Int,
  recorded_at: Schema.String
})
type AccountMailData = typeof data.Type

/** Why nothing is sent; undefined where it is. The account may have changed since. */
const reasonAgainst = (kind: AccountMailKind, user: UserRow | undefined): string | undefined => {
  if (user === undefined || user.email === anonymousEmail(user.id)) return "The person's data was erased."
  const is_closed = user.deactivated_at !== null
  if (kind === "deactivated") return is_closed ? undefined : "The account was opened again."
  return is_closed ? "The account was closed since." : undefined
}

/** Its name among messages, by the event that caused it. */
const mailOf = (position: number): string => `account.${position}`

/** One mail about an account, with a code of its own where its reader is to log in. */
export const accountMail = Effect.fnUntraced(function* (given: AccountMailData) {
  const { actor_id, kind, position, recorded_at, user_id } = given
  const store = yield* Store
  yield* lockStreams([streamOf("user", user_id)])
  const user = yield* store.get(users, user_id)
  const against = reasonAgainst(kind, user) ?? ((yield* isMailed(kind)) ? undefined : "The house has it not sent.")
  if (user === undefined || against !== undefined) return { sent: false, reason: against ?? "" }
  const settings = yield* (yield* CommandRuntime).settings
  const actor = actor_id === null ? undefined : yield* store.get(users, actor_id)
  const expires_at = expiryAt(recorded_at, minutesFor(kind, user))
  const code = kind === "deactivated" ? "" : yield* makeCode({ user_id, position, expires_at })
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

export const mailAccount = jobKind<AccountMailData>({
  kind: "users.mail",
  meaning: "sends people mail about their own account",
  data,
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  // Repeated after its commit it queues nothing: the message has its id already, and the code its position.
  run: (given) => Effect.flatMap(Store, (store) => store.transaction(accountMail(given))).pipe(retryOnConflict)
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

/** Mail about an account that still waits is not sent to somebody whose data is erased, nor are its words kept. */
export const dropMails = Effect.fnUntraced(function* (
  events: ReadonlyArray<StoredEvent>
): Effect.fn.Return<void, Failure, Store> {
  const streams = events.flatMap(({ data, type }) =>
    type === memberAnonymised.type && typeof data["user_id"] === "number" ? [streamOf("user", data["user_id"])] : []
  )
  if (streams.length === 0) return
  const store = yield* Store
  const caused = yield* store.find(journal, { stream: streams, type: Object.keys(kind_of) })
  for (const { position } of caused) yield* dropMail(store, mailOf(position))
})
