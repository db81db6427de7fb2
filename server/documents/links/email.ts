/** The job that writes a mail with a document and queues it. */
import { Effect } from "effect"
import { linkWords } from "../../../core/documents/links/words.ts"
import { type DocumentRow, documents, linkAddress } from "../../../core/documents/schema.ts"
import { CommandRuntime } from "../../../core/kernel/endpoints/endpoint.ts"
import type { Settings } from "../../../core/kernel/events/settings.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { GivenUp, serverContext } from "../../ports/server-context.ts"
import { filledMail, preparation, queueDocumentMail } from "../papers/filled.ts"
import { pdfThere } from "../papers/snapshot.ts"
import { textOf } from "./opened.ts"
import { type DocumentMail, linkOf } from "./public-links.ts"
import { withValues } from "../../../core/values/text.ts"

/** Subject and text of the mail by its layout; a plain default if the document's source is gone. */
const wordsOf = Effect.fnUntraced(function* (document: DocumentRow, settings: Settings) {
  const { document: snapshot } = yield* textOf(document.id)
  const prepare = yield* preparation
  const prepared = yield* prepare(
    {
      document_type: document.document_type,
      documentable_id: document.documentable_id,
      store_id: document.store_id,
      document_number: document.document_number,
      now: document.created_at
    },
    settings
  )
  const filled = prepared === undefined ? { subject: "", text: "" } : yield* filledMail(prepared)
  const words = linkWords(snapshot.language)
  return {
    subject: filled.subject || snapshot.title,
    text: filled.text.trim() === "" ? `${snapshot.title}\n` : filled.text,
    words
  }
})

const compose = Effect.fnUntraced(function* (mail: DocumentMail, document: DocumentRow, settings: Settings) {
  const { public_url } = yield* serverContext
  const { subject, text, words } = yield* wordsOf(document, settings)
  const link = mail.share ? yield* linkOf(document.id) : undefined
  const read_here =
    link === undefined
      ? ""
      : `\n${withValues(words.sent_link, { url: linkAddress(link.token, settings, public_url()) })}`
  return { subject: mail.subject ?? subject, text: `${(mail.message ?? text).trimEnd()}\n${read_here}` }
})

export const sendDocument: (
  mail: DocumentMail
) => Effect.Effect<{ readonly mail_job_id: string }, unknown, Store | CommandRuntime> = Effect.fnUntraced(function* (
  mail: DocumentMail
) {
  const document = yield* Store.get(documents, mail.document_id)
  if (document === undefined || document.status === "voided")
    return yield* new GivenUp({ message: "The document was voided before it was sent." })
  const { file_name, file_size, sha256 } = document
  const settings = yield* (yield* CommandRuntime).settings
  if (mail.attach_pdf) yield* pdfThere(document)
  const texts = yield* compose(mail, document, settings)
  const attachments =
    mail.attach_pdf && sha256 !== null
      ? [
          {
            name: file_name ?? `document-${document.id}.pdf`,
            mime_type: "application/pdf",
            size_bytes: file_size ?? 0,
            sha256
          }
        ]
      : []
  const { cc, id, sender_user_id, to } = mail
  const { store_id } = document
  return yield* queueDocumentMail({ id, store_id, sender_user_id, to, cc, ...texts, attachments }, settings)
})
