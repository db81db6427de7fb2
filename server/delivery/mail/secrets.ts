/**
 * Secrets in messages, such as login codes. Jobs keep their data for weeks; a secret is stored separately, encrypted,
 * only until its message was handed over, has failed or is too late.
 */
import { Clock, Effect } from "effect"
import { text, timestamp } from "../../../core/kernel/fields/field.ts"
import { type Failure, Store } from "../../../core/kernel/store/store.ts"
import { insert, plainTable, remove, update } from "../../../core/kernel/tables/table.ts"
import { instantOf } from "../../../core/values/time.ts"
import { secretBox } from "../../ports/secret-box.ts"
import { GivenUp, serverContext } from "../../ports/server-context.ts"
import type { MailMessage } from "./compose.ts"

/** Where a secret stands in the text of its message. */
export const secret_place = "{{secret}}"

export const mail_secrets = plainTable(
  "mail_secrets",
  "mail_id",
  {
    mail_id: text({ max: 255 }),
    /** Null once the message was handed over. */
    sealed: text({ secret: true, nullable: true, max: 1_000 }),
    /** When the secret is of no use any more. */
    expires_at: timestamp()
  },
  { entity: "mail_secret", indexes: [["expires_at"]], on_conflict_ignore: true }
)

const box = Effect.map(serverContext, ({ key }) => secretBox(key, "mail_secrets"))

/** In the transaction that queues the message. A message that is queued twice keeps its first secret. */
export const keepSecret = Effect.fnUntraced(function* (
  mail_id: string,
  secret: { readonly text: string; readonly expires_at: string }
): Effect.fn.Return<void, Failure, Store> {
  const store = yield* Store
  if (yield* store.exists(mail_secrets, { mail_id })) return
  const sealed = (yield* box).seal(secret.text)
  yield* store.apply([insert(mail_secrets, { mail_id, sealed, expires_at: secret.expires_at })])
})

/**
 * The message as it is sent; undefined where it was handed over by an attempt that ended before that was noted. Given
 * up where its secret cannot be read or used any more.
 */
export const withSecret = Effect.fnUntraced(function* (
  message: MailMessage
): Effect.fn.Return<MailMessage | undefined, Failure | GivenUp, Store> {
  if (message.has_secret !== true) return message
  const kept = yield* (yield* Store).get(mail_secrets, message.id)
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

/** The message is with a mail server, or in the outbox. That it is stays known, the secret does not. */
export const secretSent = Effect.fnUntraced(function* ({
  has_secret,
  id
}: MailMessage): Effect.fn.Return<void, Failure, Store> {
  if (has_secret === true) yield* (yield* Store).apply([update(mail_secrets, id, { sealed: null })])
})
/** Its message is not sent any more. */
export const dropSecret = Effect.fnUntraced(function* ({
  has_secret,
  id
}: Pick<MailMessage, "id" | "has_secret">): Effect.fn.Return<void, Failure, Store> {
  if (has_secret === true) yield* (yield* Store).apply([remove(mail_secrets, id)])
})
/** What is left of messages whose jobs were dropped, and of those that were sent long ago. */
export const dropOldSecrets = Effect.fnUntraced(function* (now: string, sent_before: string) {
  const { sql } = yield* Store
  yield* sql`
    delete from mail_secrets where (sealed is not null and expires_at < ${now}) or expires_at < ${sent_before}`
})
