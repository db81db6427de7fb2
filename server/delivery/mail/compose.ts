/** Composes a queueable message: addresses validated, sender determined, limits checked. */
import { Clock, Effect, Result, Schema } from "effect"
import type { UploadedFile } from "../../../core/kernel/endpoints/endpoint-types.ts"
import { invalid, settingText, Store, type Settings } from "../../../core/kernel/index.ts"
import { type StoreRow, stores } from "../../../core/setup/stores.ts"
import { parseMailAddress } from "../../../core/values/mail-address.ts"
import { printableLine } from "../../../core/values/text.ts"
import { instantOf } from "../../../core/values/time.ts"
import { serverContext } from "../../ports/server-context.ts"

// A message as stored in its job: complete except for the content of large attachments, and the same on every attempt.

/** Maximum size of all attachments together, before base64 adds a third. */
const attachments_bytes_max = 25_000_000
/** Maximum bytes of attachments stored in the job's row, which is always read in full. */
const inline_bytes_max = 1_000_000
const recipients_max = 100
const text_length_max = 500_000

const mailbox = Schema.Struct({ name: Schema.String, address: Schema.String })
export type Mailbox = typeof mailbox.Type

const attached = Schema.Struct({
  name: Schema.String,
  mime_type: Schema.String,
  size_bytes: Schema.Int,
  /** Hash of a blob in the BlobStore, or the bytes. */
  content: Schema.Union([Schema.Struct({ sha256: Schema.String }), Schema.Struct({ base64: Schema.String })])
})
export type Attached = typeof attached.Type

export const mailMessage = Schema.Struct({
  /** Unique id, such as `invoice.42.reminder.1` or the job's UUID; it identifies the job and forms the Message-ID. */
  id: Schema.String,
  /** Part number: 1, plus one for each partial delivery that retries the other recipients. */
  part: Schema.Int,
  /** Message-ID with its angle brackets; the same in every part. */
  message_id: Schema.String,
  written_at: Schema.String,
  /** The user to notify of a refusal. */
  sender_user_id: Schema.NullOr(Schema.Int),
  from: mailbox,
  /** Envelope sender, which receives bounces; empty for notices (`is_notice`), which must not bounce. */
  return_path: Schema.String,
  to: Schema.Array(mailbox),
  cc: Schema.Array(mailbox),
  bcc: Schema.Array(mailbox),
  reply_to: Schema.NullOr(mailbox),
  subject: Schema.String,
  text: Schema.String,
  html: Schema.NullOr(Schema.String),
  attachments: Schema.Array(attached),
  /** Recipients of this part; in the first part all of `to`, `cc` and `bcc`. */
  recipients: Schema.Array(Schema.String),
  /** The text contains a placeholder for a secret that is stored separately (`jobs.ts`). */
  has_secret: Schema.optionalKey(Schema.Boolean)
})
export type MailMessage = typeof mailMessage.Type

/** A recipient refused by a mail server, with its message. */
export const refusal = Schema.Struct({ address: Schema.String, code: Schema.NullOr(Schema.Int), text: Schema.String })
export type Refusal = typeof refusal.Type

type Recipient = string | { readonly name?: string | null; readonly address: string }

/** A file of the BlobStore, or a few bytes in the job itself. */
type MailAttachment = UploadedFile | { readonly name: string; readonly mime_type: string; readonly bytes: Uint8Array }

export interface MailDraft {
  /**
   * Unique id, such as `invoice.42.reminder.1`; a message with a known id is not mailed again. It becomes the
   * Message-ID, equal on every attempt.
   */
  readonly id: string
  /** Store for sender, reply-to and always-BCC; missing values come from the settings. */
  readonly store_id?: number | null
  /** The sending user, who may read the job and is notified if it is refused. */
  readonly sender_user_id: number | null
  readonly to: ReadonlyArray<Recipient>
  readonly cc?: ReadonlyArray<Recipient>
  readonly bcc?: ReadonlyArray<Recipient>
  readonly reply_to?: Recipient | null
  readonly subject: string
  readonly text: string
  readonly html?: string | null
  readonly attachments?: ReadonlyArray<MailAttachment>
  /**
   * Value of `{{secret}}` in the text: encrypted and separate from the message, until sent or expired. Not copied to
   * `always_bcc`.
   */
  readonly secret?: { readonly text: string; readonly expires_at: string }
  /** A notice by the server itself: its refusal notifies no one, and it is not copied to `always_bcc`. */
  readonly is_notice?: boolean
}

/** A message ready to queue, or a 422 for the draft or the settings. */
export const composeMail = Effect.fnUntraced(function* (
  draft: MailDraft,
  settings: Settings
): Store.Reads<MailMessage> {
  const { public_url } = yield* serverContext
  const host = hostOf(public_url())
  const store = draft.store_id == null ? undefined : yield* Store.get(stores, draft.store_id)
  const written_at = instantOf(yield* Clock.currentTimeMillis)
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const given = addressesOf(draft, errors)
  const sender = senderOf(settings, store, host, errors)
  const attachments = attachmentsOf(draft.attachments ?? [], errors)
  checkTexts(draft, errors)
  const is_private = draft.is_notice === true || draft.secret !== undefined
  const bcc = is_private || sender.bcc === undefined ? given.bcc : [...given.bcc, sender.bcc]
  const recipients = [...new Set([...given.to, ...given.cc, ...bcc].map(({ address }) => address))]
  if (recipients.length > recipients_max)
    errors["to"] = [`A message goes to ${recipients_max} recipients at most, and this one has ${recipients.length}.`]
  if (Object.keys(errors).length > 0) return yield* invalid(errors)
  return {
    id: draft.id,
    part: 1,
    message_id: messageIdOf(draft.id, host),
    written_at,
    sender_user_id: draft.sender_user_id,
    from: sender.from,
    return_path: draft.is_notice === true ? "" : sender.from.address,
    to: given.to,
    cc: given.cc,
    bcc,
    reply_to: given.reply_to ?? sender.reply_to ?? null,
    subject: printableLine(draft.subject).trim(),
    text: draft.text,
    html: draft.html ?? null,
    attachments,
    recipients,
    ...(draft.secret === undefined ? {} : { has_secret: true })
  }
})

type Errors = { [field: string]: ReadonlyArray<string> }

const addressesOf = (draft: Pick<MailDraft, "to" | "cc" | "bcc" | "reply_to">, errors: Errors) => {
  const many = (field: string, given: ReadonlyArray<Recipient> = []): ReadonlyArray<Mailbox> =>
    given.flatMap((one, at) => mailboxOf(one, given.length === 1 ? field : `${field}.${at}`, errors) ?? [])
  const to = many("to", draft.to)
  if (draft.to.length === 0) errors["to"] = ["The to field is required: nobody is named who would get the message."]
  return {
    to,
    cc: many("cc", draft.cc),
    bcc: many("bcc", draft.bcc),
    reply_to: draft.reply_to == null ? undefined : mailboxOf(draft.reply_to, "reply_to", errors)
  }
}

const mailboxOf = (given: Recipient, field: string, errors: Errors, called = labelOf(field)): Mailbox | undefined => {
  const { name, address } = typeof given === "string" ? { name: "", address: given } : given
  const parsed = parseMailAddress(address)
  if (Result.isSuccess(parsed)) return { name: printableLine(name ?? "").trim(), address: parsed.success }
  errors[field] = [`The ${called} ${parsed.failure}`]
  return undefined
}
const labelOf = (field: string): string => `${field.replaceAll("_", " ")} field`

interface Sender {
  readonly from: Mailbox
  readonly reply_to: Mailbox | undefined
  readonly bcc: Mailbox | undefined
}
/** Sender: the store's address, else the company's, else one at the server's host. */
const senderOf = (settings: Settings, store: StoreRow | undefined, host: string, errors: Errors): Sender => {
  const set = (key: string): string => settingText(settings, "mail", key)
  const boxFrom = (own: string | null | undefined, key: string): Mailbox | undefined => {
    const address = own || set(key)
    const where = own ? `the store's mail ${key.replaceAll("_", " ")}` : `setting mail.${key}`
    return address === "" ? undefined : mailboxOf(address, own ? `store.mail_${key}` : `mail.${key}`, errors, where)
  }
  const own = boxFrom(store?.mail_sender_address, "sender_address")
  const address = own?.address ?? (parsedOr(settingText(settings, "company", "email")) || `flightcase@${nameOf(host)}`)
  const name = store?.mail_sender_name || set("sender_name") || settingText(settings, "company", "name")
  return {
    from: { name: printableLine(name).trim(), address },
    reply_to: boxFrom(store?.mail_reply_to, "reply_to"),
    bcc: boxFrom(store?.mail_always_bcc, "always_bcc")
  }
}
const parsedOr = (address: string): string => Result.getOrElse(parseMailAddress(address), () => "")

const attachmentsOf = (given: ReadonlyArray<MailAttachment>, errors: Errors): ReadonlyArray<Attached> => {
  const attached = given.map((one): Attached => {
    // A file name without folders or header breaks.
    const name = printableLine(one.name).replace(/[/\\]/g, "_").trim() || "file"
    const { mime_type } = one
    return "bytes" in one
      ? {
          name,
          mime_type,
          size_bytes: one.bytes.length,
          content: { base64: Buffer.from(one.bytes).toString("base64") }
        }
      : { name, mime_type, size_bytes: one.size_bytes, content: { sha256: one.sha256 } }
  })
  const bytesOf = (some: ReadonlyArray<Attached>): number => some.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
  const total = bytesOf(attached)
  const inline = bytesOf(attached.filter(({ content }) => "base64" in content))
  if (total > attachments_bytes_max)
    errors["attachments"] = [
      `The attachments have ${megabytes(total)} MB, and a message takes ${megabytes(attachments_bytes_max)} MB: ` +
        "leave some out, or send a link."
    ]
  else if (inline > inline_bytes_max)
    errors["attachments"] = [
      `Attachments that are not stored as files may have ${megabytes(inline_bytes_max)} MB together.`
    ]
  return attached
}
const megabytes = (bytes: number): string => String(Math.ceil(bytes / 100_000) / 10)

const checkTexts = ({ subject, text, html }: MailDraft, errors: Errors): void => {
  if (printableLine(subject).trim() === "") errors["subject"] = ["The subject field is required."]
  else if ([...subject].length > 998) errors["subject"] = ["The subject field must not be longer than 998 characters."]
  if (text.length + (html?.length ?? 0) > text_length_max)
    errors["text"] = [`The text field must not be longer than ${text_length_max} characters.`]
}

const hostOf = (public_url: string): string => (URL.canParse(public_url) ? new URL(public_url).hostname : "localhost")
/** Host name for an address; `localhost` for an IP address, which is invalid there. */
const nameOf = (host: string): string => (/^[\d.]+$|^\[/.test(host) ? "localhost" : host)

/** Message-ID of an id. Invalid characters become `=` and their code, so that ids stay distinct. */
const messageIdOf = (id: string, host: string): string =>
  `<${id.replace(/[^\w.+-]|^\.|\.$|\.(?=\.)/gu, (sign) =>
    [...Buffer.from(sign)].map((byte) => `=${byte.toString(16).padStart(2, "0")}`).join("")
  )}@${/^[\d.]+$/.test(host) ? `[${host}]` : host.startsWith("[") ? `[IPv6:${host.slice(1)}` : host}>`
