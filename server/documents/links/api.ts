/** Endpoints for public links of documents: create, change, revoke, mail and open them (rules/billing 3). */
import { Effect, Result, Schema } from "effect"
import { documentAccepted, documentEmailed } from "../../../core/documents/links/events.ts"
import { changeLink, linkErrors, revokeLink, share, whyNotShared } from "../../../core/documents/links/decide.ts"
import {
  documentResource,
  one,
  path,
  publicLinkOut,
  publicLinkShown,
  write
} from "../../../core/documents/lifecycle-api.ts"
import { document_links, type DocumentLinkRow, type DocumentRow } from "../../../core/documents/schema.ts"
import { boolean, command, get, insert, invalid, json, longText, noContent } from "../../../core/kernel/index.ts"
import { postQuery, remove, renderById, Shown, Store, text, timestamp } from "../../../core/kernel/index.ts"
import { viewContext } from "../../../core/kernel/index.ts"
import type { Endpoint, FieldErrors, Input, Json, SharedDraft, StoreRead } from "../../../core/kernel/index.ts"
import { jobKind, jobOffer, processOf, serverContext, open_access } from "../../ports/server-context.ts"
import type { DocumentMail } from "./public-links.ts"
import { customerOf, document_link_pins, documentMail, form_bytes_max, hashPin, linkOf } from "./public-links.ts"
import { randomBytes, randomUUID } from "node:crypto"
import { mayHandle } from "../../../core/documents/decide.ts"
import { addresses_max, mailAddressesIn } from "../../../core/values/mail-address.ts"
import { accepted, accepted_shown } from "../../delivery/jobs/api.ts"
import { mailMode, queuedText } from "../../delivery/mail/transport.ts"
import { mailing } from "../papers/filled.ts"

// Sending a document by e-mail: with its public link, its PDF, or both.

/** Job that mails a document. Its PDF exists already, so it is drawn only if lost from the file store. */
export const mailDocument = jobKind<DocumentMail>({
  ...mailing,
  kind: "documents.mail",
  meaning: "queues mail with a document",
  data: documentMail,
  run: (mail) =>
    Effect.flatMap(
      Effect.promise(() => import("./mailing.ts")),
      ({ sendDocument }) => sendDocument(mail)
    )
})

const addresses = () =>
  json<Json>({ form: "any", nullable: true, describe: `An e-mail address, or a list of up to ${addresses_max}` })
const mail_fields = {
  to: addresses(),
  cc: addresses(),
  subject: text({ nullable: true, max: 255 }),
  message: longText({ nullable: true, max: 5_000, describe: "Text of the mail; default: the text in the layout" }),
  attach_pdf: boolean({ default: true, describe: "Whether to attach the PDF" }),
  share: boolean({ default: true, describe: "Whether to include the public link; made if missing or expired" })
}

interface MailFacts {
  readonly document: DocumentRow
  readonly link: DocumentLinkRow | undefined
  readonly token: string
  /** The customer's e-mail address; undefined if unknown. */
  readonly known: string | undefined
  readonly mode: Effect.Success<typeof mailMode>
}
const isOver = (link: DocumentLinkRow, now: string): boolean => link.expires_at !== null && link.expires_at <= now

/** A random token of 30 bytes, as 40 characters. */
const freshToken = (): string => randomBytes(30).toString("base64url")

const emailDocument = command("POST", `${path}/{id}/email`, {
  answer: accepted_shown,
  name: "documents.email",
  summary: "Send a document by e-mail, by default with PDF and public link",
  ability: write,
  permission: "documents.share",
  params: one,
  server_only: true,
  success_status: 202,
  fields: mail_fields,
  facts: Effect.fnUntraced(function* ({ rows: { id: document } }: Input<typeof one>) {
    const link = yield* linkOf(document.id)
    const known = yield* customerOf(document)
    return { document, link, token: freshToken(), known, mode: yield* mailMode } satisfies MailFacts
  }),
  decide: (facts: MailFacts, { values, viewer }, context) =>
    Result.gen(function* () {
      const { document, known, link } = facts
      yield* mayHandle(document, viewer)
      const refusal = whyNotShared(document)
      if (refusal !== undefined) return yield* Result.fail(refusal)
      const errors: { [field: string]: ReadonlyArray<string> } = {}
      const given = mailAddressesIn("to", values.to, errors) ?? []
      const cc = mailAddressesIn("cc", values.cc, errors) ?? []
      const to = given.length > 0 || known === undefined ? given : [known]
      if (to.length === 0 && Object.keys(errors).length === 0)
        errors["to"] = ["The to field is required: the customer has no e-mail address."]
      if (Object.keys(errors).length > 0) return yield* Result.fail(invalid(errors satisfies FieldErrors))
      const shares = values.share ?? true
      const is_new = shares && (link === undefined || isOver(link, context.now))
      const made = is_new ? yield* share(facts, {}, context) : undefined
      const with_pdf = values.attach_pdf ?? true
      return {
        events: [...(made?.events ?? []), documentEmailed.make({ id: document.id, with_pdf, with_link: shares })],
        result: {
          id: "",
          document_id: document.id,
          to,
          cc,
          subject: values.subject || null,
          message: values.message || null,
          attach_pdf: with_pdf,
          share: shares,
          sender_user_id: viewer.user_id,
          mode: facts.mode
        }
      }
    }),
  creates: [document_links],
  result: Schema.Struct({ ...documentMail.fields, mode: Schema.Literals(["smtp", "outbox"]) }),
  // Within the transaction that records the events.
  respond: Effect.fnUntraced(function* ({ mode, ...mail }) {
    const { jobs } = yield* serverContext
    const id = `document.${mail.document_id}.${randomUUID()}`
    const job_id = yield* jobs.offer(
      jobOffer(mailDocument, { ...mail, id }, { uuid: randomUUID(), owner_id: mail.sender_user_id || null })
    )
    return accepted(job_id, queuedText("The document", mode, mail.to.join(", ")))
  })
})

// Jobs of public links: the certificate of an acceptance. Loaded with the first one.

export const drawCertificate = jobKind({
  kind: "documents.certificate",
  meaning: "renders the certificate of an accepted quotation and sends it to both parties",
  data: Schema.Struct({ acceptance_id: Schema.Int }),
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  run: ({ acceptance_id }) =>
    Effect.flatMap(
      Effect.promise(() => import("./mailing.ts")),
      ({ certify }) => certify(acceptance_id)
    )
})
export const certificateFollows = processOf({
  on: [documentAccepted],
  jobs: ({ data: { id } }) => [jobOffer(drawCertificate, { acceptance_id: id }, { subject: String(id) })]
})

const shared = {
  ability: write,
  permission: "documents.share",
  params: one,
  server_only: true
} as const satisfies SharedDraft

const fields = {
  pin: text({
    nullable: true,
    on_null: "clear",
    input_only: true,
    max: 255,
    describe: "PIN that readers must enter, 4 to 12 letters or digits; null for none"
  }),
  expires_at: timestamp({ nullable: true, on_null: "clear", describe: "Time it expires; null for never" })
}
const answer = { public_link: publicLinkShown, document: Shown.row(() => documentResource) }

interface Facts {
  readonly document: DocumentRow
  readonly link: DocumentLinkRow | undefined
  /** Random token for a new link: rules have no randomness of their own. */
  readonly token: string
}
const factsOf = ({ rows: { id: document } }: Input<typeof one>): StoreRead<Facts> =>
  Effect.map(linkOf(document.id), (link) => ({ document, link, token: freshToken() }))

/**
 * Stores or removes the hash of a link's PIN, in the transaction of the command that changes it; does nothing without
 * a link, or if `pin` is undefined.
 */
const keepPin = Effect.fnUntraced(function* (link: DocumentLinkRow | undefined, pin: string | null | undefined) {
  if (link === undefined || pin === undefined) return
  yield* Store.apply([remove(document_link_pins, link.id)])
  if (pin !== null) yield* Store.apply([insert(document_link_pins, { link_id: link.id, hash: yield* hashPin(pin) })])
})

const shownWithLink = Effect.fnUntraced(function* (document_id: number, input: Input) {
  const { public_url } = yield* serverContext
  const link = yield* linkOf(document_id)
  const shown = yield* renderById(documentResource, document_id, [], viewContext(input))
  return {
    public_link: link === undefined ? null : publicLinkOut(link, input.settings, public_url),
    document: shown.document
  }
})

const create = command("POST", `${path}/{id}/public_link`, {
  ...shared,
  answer,
  name: "documents.share",
  summary: "Create a public link to a document; an earlier one stops working",
  success_status: 201,
  fields,
  creates: [document_links],
  check: linkErrors,
  facts: factsOf,
  decide: (facts: Facts, { values }, context) => share(facts, values, context),
  respond: Effect.fnUntraced(function* ({ id }, input) {
    yield* keepPin(yield* linkOf(id), input.values.pin ?? null)
    return { status: 201, body: yield* shownWithLink(id, input) }
  })
})
const change = command("PUT", `${path}/{id}/public_link`, {
  ...shared,
  answer,
  name: "documents.update_share",
  summary: "Update the expiry or PIN of a document's public link; null clears either",
  fields,
  check: linkErrors,
  facts: factsOf,
  decide: (facts: Facts, { values }, context) => changeLink(facts, values, context),
  respond: Effect.fnUntraced(function* ({ id }, input) {
    yield* keepPin(yield* linkOf(id), input.values.pin)
    return { status: 200, body: yield* shownWithLink(id, input) }
  })
})
const end = command("DELETE", `${path}/{id}/public_link`, {
  ...shared,
  name: "documents.unshare",
  summary: "Revoke a document's public link",
  facts: factsOf,
  decide: (facts: Facts, _input, context) => revokeLink(facts, context),
  respond: () => Effect.succeed(noContent)
})

const open = { ...open_access, produces: "text/html" } as const satisfies SharedDraft
/** The pages' code, loaded on the first request. */
const pages = Effect.promise(() => import("./pages.ts"))

const showPage = get("/d/{token}", {
  ...open,
  name: "public_documents.show",
  summary: "Show a shared document as a page or as PDF",
  run: (input) => Effect.flatMap(pages, ({ showPublic }) => showPublic(input))
})
const sendForm = postQuery("/d/{token}", {
  ...open,
  name: "public_documents.answer",
  summary: "Submit a document's PIN, or accept a quotation",
  raw_body: true,
  body_max: form_bytes_max,
  run: (input) => Effect.flatMap(pages, ({ answerPublic }) => answerPublic(input))
})
export const isPublicPage = ({ name }: Pick<Endpoint, "name">): boolean =>
  name === showPage.name || name === sendForm.name

export const linkEndpoints: ReadonlyArray<Endpoint> = [create, change, end, emailDocument, showPage, sendForm]
