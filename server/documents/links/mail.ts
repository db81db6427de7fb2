/** A mail with a document, as its job keeps it. */
import { Schema } from "effect"

export const documentMail = Schema.Struct({
  /** Id of the message: a repeated request sends a second message. */
  id: Schema.String,
  document_id: Schema.Int,
  to: Schema.Array(Schema.String),
  cc: Schema.Array(Schema.String),
  /** Null: as layouts word it. */
  subject: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  attach_pdf: Schema.Boolean,
  share: Schema.Boolean,
  sender_user_id: Schema.Int
})
export type DocumentMail = typeof documentMail.Type
