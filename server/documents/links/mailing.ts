/** Jobs of public links: the mail that sends one, and the certificate of an acceptance. */
import { Clock, Effect } from "effect"
import { linkWords } from "../../../core/documents/links/words.ts"
import type { DocumentAcceptanceRow, DocumentRow } from "../../../core/documents/schema.ts"
import {
  document_acceptances,
  document_links,
  documents,
  documentStream,
  linkAddress
} from "../../../core/documents/schema.ts"
import { CommandRuntime, lockStreams, settingText, Store, type Settings } from "../../../core/kernel/index.ts"
import { GivenUp, recordByServer, serverContext } from "../../ports/server-context.ts"
import { drawn, filledMail, preparedAgain, queueDocumentMail } from "../papers/filled.ts"
import { keepBytes, pdfThere } from "../papers/drawing.ts"
import { type DocumentMail, linkOf, textOf } from "./public-links.ts"
import { withValues } from "../../../core/values/text.ts"
import { randomUUID } from "node:crypto"
import { chosenContact } from "../../../core/billing/state/parties.ts"
import { certified } from "../../../core/documents/links/acceptance.ts"
import { certificateKept } from "../../../core/documents/links/events.ts"
import { changesOf } from "../../../core/kernel/events/event-type.ts"
import { emails } from "../../../core/people/members/schema.ts"
import { opportunities } from "../../../core/orders/opportunities/tables/index.ts"
import { momentText } from "../../../core/pricing/print/format.ts"
import { stores } from "../../../core/setup/stores.ts"
import { instantOf, zoneOf } from "../../../core/values/time.ts"
import { queueMail } from "../../delivery/mail/jobs.ts"
import { background_limit_millis } from "../../print/renderer.ts"

// The job that writes a mail with a document and queues it.

/** Subject and text of the mail by its layout; the document's title where that has none, or the source is gone. */
const wordsOf = Effect.fnUntraced(function* (document: DocumentRow, settings: Settings) {
  const { document: snapshot } = yield* textOf(document.id)
  const prepared = yield* preparedAgain(document, settings)
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

// The certificate of an acceptance: drawn once the document is accepted, stored, and mailed to both sides. Safe to
// repeat: it is stored and mailed once.

interface Case {
  readonly acceptance: DocumentAcceptanceRow
  readonly document: DocumentRow
  readonly settings: Settings
}
const zoneFor = Effect.fnUntraced(function* ({ document, settings }: Case) {
  const { store_id } = document
  const place = store_id === null ? undefined : yield* Store.get(stores, store_id)
  return { place, zone: zoneOf(place?.timezone || settingText(settings, "company", "timezone")) }
})

/** Draws and stores the certificate, unless it was meanwhile or the person was erased; returns the acceptance's row. */
const kept = Effect.fnUntraced(function* (of: Case) {
  const { acceptance, document } = of
  const { document: snapshot } = yield* textOf(document.id)
  const link = acceptance.link_id === null ? undefined : yield* Store.get(document_links, acceptance.link_id)
  const { zone } = yield* zoneFor(of)
  const whole = certified({ snapshot, document, acceptance, link: link ?? null, zone })
  const { bytes } = yield* drawn(whole, { limit_millis: background_limit_millis }).pipe(
    Effect.catchTag("DrawingTooLong", ({ message }) => Effect.fail(new GivenUp({ message })))
  )
  const blob = yield* keepBytes(bytes)
  const set = {
    uuid: randomUUID(),
    file_name: (document.file_name ?? `document-${document.id}.pdf`).replace(/(\.pdf)?$/i, "-accepted.pdf"),
    file_size: blob.size_bytes,
    sha256: blob.sha256
  }
  yield* Store.transaction(
    Effect.gen(function* () {
      yield* lockStreams([documentStream(document.id)])
      const now_row = yield* Store.get(document_acceptances, acceptance.id)
      if (now_row === undefined || now_row.uuid !== null || now_row.name !== acceptance.name) return
      const runtime = yield* CommandRuntime
      const now = instantOf(yield* Clock.currentTimeMillis)
      const event = certificateKept.make({ id: document.id, acceptance_id: acceptance.id, set })
      if (runtime.filesNamed !== undefined)
        yield* runtime.filesNamed(changesOf(runtime.catalogue.projection, [event], now))
      yield* recordByServer([event], now)
    })
  )
  return yield* Store.get(document_acceptances, acceptance.id)
})

/** Address for the customer's copy: the one given on acceptance, else the member's. */
const customerAddress = Effect.fnUntraced(function* ({ email, opportunity_id }: DocumentAcceptanceRow) {
  if (email !== null) return email
  const job = opportunity_id === null ? undefined : yield* Store.get(opportunities, opportunity_id)
  if (job === undefined || job.member_id === null) return undefined
  const rows = yield* Store.find(emails, { member_id: job.member_id }, { order: ["id"] })
  return chosenContact(rows, new Set())?.address
})
const mailBoth = Effect.fnUntraced(function* (of: Case) {
  const { acceptance, document, settings } = of
  const { file_name, file_size, sha256 } = acceptance
  if (file_name === null || file_size === null || sha256 === null) return 0
  const { document: snapshot } = yield* textOf(document.id)
  const words = linkWords(snapshot.language)
  const { place, zone } = yield* zoneFor(of)
  const house = place?.email || settingText(settings, "company", "email")
  const customer = yield* customerAddress(acceptance)
  const said = {
    name: acceptance.name,
    document: snapshot.title,
    date: momentText(acceptance.accepted_at, zone, snapshot.language, "long")
  }
  const both = [
    { part: "customer", to: customer, text: words.mail_customer },
    { part: "house", to: house === "" ? undefined : house, text: words.mail_staff }
  ]
  for (const { part, text, to } of both)
    if (to !== undefined)
      yield* Store.transaction(
        queueMail(
          {
            id: `document.${document.id}.accepted.${part}`,
            store_id: document.store_id,
            sender_user_id: null,
            to: [to],
            subject: withValues(words.mail_subject, said).slice(0, 255),
            text: withValues(text, said),
            attachments: [{ name: file_name, mime_type: "application/pdf", size_bytes: file_size, sha256 }]
          },
          settings
        )
      )
  return both.filter(({ to }) => to !== undefined).length
})

/** The job: draws, stores and mails the certificate of an acceptance. */
export const certify = Effect.fnUntraced(function* (acceptance_id: number) {
  const acceptance = yield* Store.get(document_acceptances, acceptance_id)
  const document = acceptance === undefined ? undefined : yield* Store.get(documents, acceptance.document_id)
  if (acceptance === undefined || document === undefined)
    return yield* new GivenUp({ message: "The acceptance is gone." })
  const settings = yield* (yield* CommandRuntime).settings
  const of = { acceptance, document, settings }
  const whole = acceptance.uuid === null ? yield* kept(of) : acceptance
  return { messages: whole === undefined ? 0 : yield* mailBoth({ ...of, acceptance: whole }) }
})
