/**
 * Durable jobs of mail (rules/conventions 19): `mail.send` hands a message over, and `mail.refused` notifies its sender
 * if it did not reach all recipients. A message may be handed over twice, if a server dies between the mail server's
 * answer and its own record of it; both have one Message-ID, by which mailboxes detect the duplicate.
 */
import { Clock, Effect, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { CommandRuntime, insert, plainTable, remove, Store, text, timestamp } from "../../../core/kernel/index.ts"
import { update, type Failure, type Settings, type StoreShape } from "../../../core/kernel/index.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { dropJob } from "../jobs/queue-table.ts"
import { holdContent } from "../../files/downloads.ts"
import { GivenUp, type JobKind, jobKind, type JobOffer, jobOffer, serverContext } from "../../ports/server-context.ts"
import { composeMail, type MailDraft, type MailMessage, mailMessage, type Refusal, refusal } from "./compose.ts"
import type { Delivered } from "./deliver.ts"
import { MailTransport } from "./transport.ts"
import { instantOf } from "../../../core/values/time.ts"
import { secretBox } from "../../ports/secret-box.ts"

// Secrets in messages, such as login codes. Jobs keep their data for weeks; a secret is stored separately, encrypted,
// only until its message was handed over, has failed or is too late.

/** Placeholder of the secret in a message. */
export const secret_place = "{{secret}}"

export const mail_secrets = plainTable(
  "mail_secrets",
  "mail_id",
  {
    mail_id: text({ max: 255 }),
    /** Null once the message was sent. */
    sealed: text({ secret: true, nullable: true, max: 1_000 }),
    /** Time after which the secret must not be sent. */
    expires_at: timestamp()
  },
  { entity: "mail_secret", indexes: [["expires_at"]], on_conflict_ignore: true }
)

const box = Effect.map(serverContext, ({ key }) => secretBox(key, "mail_secrets"))

/** Stores a message's secret in the transaction that queues it. A message queued twice keeps its first secret. */
const keepSecret = Effect.fnUntraced(function* (
  mail_id: string,
  secret: { readonly text: string; readonly expires_at: string }
): Store.Reads<void> {
  if (yield* Store.exists(mail_secrets, { mail_id })) return
  const sealed = (yield* box).seal(secret.text)
  yield* Store.apply([insert(mail_secrets, { mail_id, sealed, expires_at: secret.expires_at })])
})

/**
 * The message with its secret; undefined if an earlier, unrecorded attempt sent it. Fails if the secret is unreadable
 * or expired.
 */
const withSecret = Effect.fnUntraced(function* (
  message: MailMessage
): Effect.fn.Return<MailMessage | undefined, Failure | GivenUp, Store> {
  if (message.has_secret !== true) return message
  const kept = yield* Store.get(mail_secrets, message.id)
  if (kept !== undefined && kept.sealed === null) return undefined
  const now = instantOf(yield* Clock.currentTimeMillis)
  if (kept === undefined || kept.sealed === null || kept.expires_at <= now)
    return yield* new GivenUp({ message: "The code in this message is not valid any more: have a new one sent." })
  const secret = (yield* box).open(kept.sealed)
  if (secret === undefined)
    return yield* new GivenUp({ message: "The server's own key was changed: have a new code sent." })
  const filled = (part: string): string => part.replaceAll(secret_place, () => secret)
  return { ...message, text: filled(message.text), html: message.html === null ? null : filled(message.html) }
})

/** Deletes the secret of a sent message and records that it was sent. */
const secretSent = Effect.fnUntraced(function* ({ has_secret, id }: MailMessage): Store.Reads<void> {
  if (has_secret === true) yield* Store.apply([update(mail_secrets, id, { sealed: null })])
})
/** Deletes the secret of a message that will not be sent. */
const dropSecret = Effect.fnUntraced(function* ({
  has_secret,
  id
}: Pick<MailMessage, "id" | "has_secret">): Store.Reads<void> {
  if (has_secret === true) yield* Store.apply([remove(mail_secrets, id)])
})
/** Deletes expired unsent secrets, and records of messages sent long ago. */
export const dropOldSecrets = Effect.fnUntraced(function* (now: string, sent_before: string) {
  const { sql } = yield* Store
  yield* sql`
    delete from mail_secrets where (sealed is not null and expires_at < ${now}) or expires_at < ${sent_before}`
})

/** Seconds between attempts: short at first, for broken connections, then growing; nearly two days in all. */
const waits_seconds = [5, 60, 300, 900, 3_600, 7_200, 14_400, 21_600, 28_800, 43_200, 43_200]

export const sendMail: JobKind<MailMessage> = jobKind({
  kind: "mail.send",
  meaning: "sends a message by e-mail",
  data: mailMessage,
  attempts_max: waits_seconds.length + 1,
  waits_seconds,
  at_a_time: 2,
  names_people: true,
  counts_broken_off: false,
  run: Effect.fnUntraced(function* (message) {
    const whole = yield* withSecret(message)
    if (whole === undefined) return { message_id: message.message_id, recipients: [...message.recipients] }
    const { deliver } = yield* Effect.promise(() => import("./deliver.ts"))
    const delivered = yield* Effect.provideService(deliver(whole), MailTransport, yield* mailTransport)
    return yield* settle(message, delivered)
  }),
  // After earlier refusals a notice is already queued.
  ended: (message, error) => Effect.andThen(dropSecret(message), tellOfFailure(message, error))
})

/** Mail server connections of the server that runs the job. */
const mailTransport = Effect.map(Effect.serviceOption(MailTransport), Option.getOrThrow)

/** Queues a separate job for deferred recipients, so that others do not receive the message twice. */
const settle = Effect.fnUntraced(function* (message: MailMessage, { result, refused, remaining, failure }: Delivered) {
  const { jobs } = yield* serverContext
  const continued_by =
    remaining.length === 0
      ? undefined
      : yield* Store.transaction(
          jobs.offer({
            ...mailOffer({ ...message, part: message.part + 1, recipients: remaining.map(({ address }) => address) }),
            delay_seconds: waits_seconds[1] ?? 60
          })
        )
  if (continued_by === undefined && failure === undefined) yield* secretSent(message)
  if (refused.length > 0) yield* tellSender(message, refused)
  if (failure !== undefined) return yield* new GivenUp({ message: failure })
  return continued_by === undefined ? result : { ...result, continued_by }
})
const mailOffer = (message: MailMessage): JobOffer<MailMessage> =>
  jobOffer(sendMail, message, {
    ...(message.part === 1 && uuid.test(message.id)
      ? { uuid: message.id }
      : { subject: message.part === 1 ? message.id : `${message.id}~${message.part}` }),
    owner_id: message.sender_user_id
  })
/** Message ids that are job ids, too: answers name them, so that the sender can follow the job. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Queues a notice to the sending user; none for notices themselves and for messages without a sending user. */
const tellSender = Effect.fnUntraced(function* (
  message: MailMessage,
  refused: ReadonlyArray<Refusal>
): Store.Reads<void> {
  if (message.return_path === "" || message.sender_user_id === null) return
  const { jobs } = yield* serverContext
  const { id, part, message_id, sender_user_id, subject } = message
  yield* Store.transaction(
    jobs.offer(
      jobOffer(
        tellOfRefusal,
        { id, part, message_id, sender_user_id, subject, refused },
        { subject: `${id}~${part}`, owner_id: sender_user_id }
      )
    )
  )
})
const tellOfFailure = (message: MailMessage, text: string): Effect.Effect<void, Failure, Store> =>
  tellSender(
    message,
    message.recipients.map((address) => ({ address, code: null, text }))
  )

const refusedMessage = Schema.Struct({
  id: Schema.String,
  part: Schema.Int,
  message_id: Schema.String,
  sender_user_id: Schema.Int,
  subject: Schema.String,
  refused: Schema.Array(refusal)
})
type RefusedMessage = typeof refusedMessage.Type

/** Job that notifies the sender of a refused message. */
export const tellOfRefusal = jobKind<RefusedMessage>({
  kind: "mail.refused",
  meaning: "notifies the sender of a message that it was refused",
  data: refusedMessage,
  attempts_max: 5,
  waits_seconds: [5, 60, 900, 3_600],
  at_a_time: 1,
  names_people: true,
  counts_broken_off: false,
  run: Effect.fnUntraced(function* (message) {
    const sender = yield* Store.get(users, message.sender_user_id)
    const address = sender?.is_active === true ? sender.email : ""
    // A notice to the refused address would be refused as well.
    if (address === "" || message.refused.some((one) => one.address.toLowerCase() === address.toLowerCase()))
      return { told: false }
    const queued = yield* Store.transaction(
      queueMail(noticeOf(message, { name: sender?.name ?? "", address }), yield* (yield* CommandRuntime).settings)
    )
    return { told: true, job_id: queued.job_id }
  })
})

const noticeOf = (
  { id, part, message_id, subject, refused }: RefusedMessage,
  to: { readonly name: string; readonly address: string }
): MailDraft => ({
  id: `refused.${id}.${part}`,
  sender_user_id: null,
  to: [to],
  subject: `Not delivered: ${subject}`.slice(0, 900),
  text: [
    `Your message "${subject}" did not reach:`,
    "",
    ...refused.map(({ address, text }) => `  ${address}\n    ${text}`),
    "",
    "Check the address and send the message again. It is not tried any more.",
    "",
    `Message-ID: ${message_id}`,
    ""
  ].join("\n"),
  is_notice: true
})

export interface QueuedMail {
  readonly job_id: string
  readonly message_id: string
  readonly recipients: ReadonlyArray<string>
}
/**
 * Queues a message in the caller's transaction, or fails with 422 for an invalid draft. `mailMode` says whether it will
 * be sent.
 */
export const queueMail = Effect.fnUntraced(function* (draft: MailDraft, settings: Settings): Store.Reads<QueuedMail> {
  const message = yield* composeMail(draft, settings)
  // Attachments may be deleted while the message waits for a mail server.
  yield* holdContent(
    message.attachments.flatMap((one) => ("sha256" in one.content ? [{ ...one, ...one.content }] : []))
  )
  if (draft.secret !== undefined) yield* keepSecret(message.id, draft.secret)
  const { jobs } = yield* serverContext
  return {
    job_id: yield* jobs.offer(mailOffer(message)),
    message_id: message.message_id,
    recipients: message.recipients
  }
})

/** Removes a waiting or failed message; one being sent is still sent. Returns whether it was removed. */
export const dropMail = (store: StoreShape, id: string): Effect.Effect<boolean, SqlError.SqlError> =>
  dropJob(store, `${sendMail.kind}:${id}`)
