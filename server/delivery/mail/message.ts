/** A message as its job keeps it: complete but for the content of large attachments, and the same on every attempt. */
import { Schema } from "effect"

/** Bytes of all attachments together, before encoding makes a third more of them. */
export const attachments_bytes_max = 25_000_000
/** Bytes of what lies in the job itself: its row is read and written whole. */
export const inline_bytes_max = 1_000_000
export const recipients_max = 100
export const text_length_max = 500_000

const mailbox = Schema.Struct({ name: Schema.String, address: Schema.String })
export type Mailbox = typeof mailbox.Type

const attached = Schema.Struct({
  name: Schema.String,
  mime_type: Schema.String,
  size_bytes: Schema.Int,
  /** Of a blob in the BlobStore, or the bytes themselves. */
  content: Schema.Union([Schema.Struct({ sha256: Schema.String }), Schema.Struct({ base64: Schema.String })])
})
export type Attached = typeof attached.Type

export const mailMessage = Schema.Struct({
  /** What it is about and why; names the job and the message. */
  id: Schema.String,
  /** 1, and one more each time some recipients got it and others are to be tried again. */
  part: Schema.Int,
  /** With its angle brackets. The same in every part. */
  message_id: Schema.String,
  written_at: Schema.String,
  /** Told when it is refused. */
  sender_user_id: Schema.NullOr(Schema.Int),
  from: mailbox,
  /** Where mail servers send what they could not deliver; empty for messages about refusals, which get no answer. */
  return_path: Schema.String,
  to: Schema.Array(mailbox),
  cc: Schema.Array(mailbox),
  bcc: Schema.Array(mailbox),
  reply_to: Schema.NullOr(mailbox),
  subject: Schema.String,
  text: Schema.String,
  html: Schema.NullOr(Schema.String),
  attachments: Schema.Array(attached),
  /** Whom this part goes to: in the first part everybody above. */
  recipients: Schema.Array(Schema.String),
  /** Its text has a place for a secret that is kept apart from it (`secrets.ts`). */
  has_secret: Schema.optionalKey(Schema.Boolean)
})
export type MailMessage = typeof mailMessage.Type

/** A recipient that a mail server would not take, with its words. */
export const refusal = Schema.Struct({ address: Schema.String, code: Schema.NullOr(Schema.Int), text: Schema.String })
export type Refusal = typeof refusal.Type
