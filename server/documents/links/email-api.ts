/** Sending a document by e-mail: with its public link, its PDF, or both. */
import { randomUUID } from "node:crypto"
import { Effect, Result } from "effect"
import { mayHandle } from "../../../core/documents/decide.ts"
import { share, whyNotShared } from "../../../core/documents/links/decide.ts"
import { documentEmailed } from "../../../core/documents/links/events.ts"
import { one, path, write } from "../../../core/documents/lifecycle-api.ts"
import { document_links, type DocumentLinkRow, type DocumentRow } from "../../../core/documents/schema.ts"
import { command, type Input } from "../../../core/kernel/endpoints/endpoint.ts"
import { boolean, type Json, json, longText, text } from "../../../core/kernel/fields/field.ts"
import { type FieldErrors, invalid } from "../../../core/kernel/fields/rejection.ts"
import { parseMailAddress } from "../../../core/values/mail-address.ts"
import { accepted, accepted_shown } from "../../delivery/jobs/api.ts"
import { freshMailId } from "../../delivery/mail/compose.ts"
import { jobKind, jobOffer, serverContext } from "../../ports/server-context.ts"
import { mailing } from "../papers/filled.ts"
import { customerOf, type DocumentMail, documentMail, freshToken, linkOf } from "./public-links.ts"

/** Draws nothing: the PDF is there. */
export const mailDocument = jobKind<DocumentMail>({
  ...mailing,
  kind: "documents.mail",
  meaning: "writes a mail with a document and queues it",
  data: documentMail,
  names_people: true,
  run: (mail) =>
    Effect.flatMap(
      Effect.promise(() => import("./email.ts")),
      ({ sendDocument }) => sendDocument(mail)
    )
})

const addresses_max = 50
const addresses = () =>
  json<Json>({ form: "any", nullable: true, describe: `An e-mail address, or a list of up to ${addresses_max}` })
const fields = {
  to: addresses(),
  cc: addresses(),
  subject: text({ nullable: true, max: 255 }),
  message: longText({ nullable: true, max: 5_000, describe: "Instead of the text that layouts give" }),
  attach_pdf: boolean({ default: true, describe: "The PDF goes along" }),
  share: boolean({ default: true, describe: "The public link stands in the text; it is made where there is none" })
}

type Errors = { [field: string]: ReadonlyArray<string> }
const addressesIn = (field: string, given: Json | undefined, errors: Errors): ReadonlyArray<string> => {
  const list = given === null || given === undefined || given === "" ? [] : Array.isArray(given) ? given : [given]
  if (list.length > addresses_max)
    errors[field] = [`The ${field} field must not have more than ${addresses_max} addresses.`]
  return list.flatMap((entry, at): ReadonlyArray<string> => {
    const key = Array.isArray(given) ? `${field}.${at}` : field
    const read = parseMailAddress(typeof entry === "string" ? entry : "")
    if (Result.isSuccess(read)) return [read.success]
    errors[key] = [`The ${key} field ${read.failure}`]
    return []
  })
}

interface Facts {
  readonly document: DocumentRow
  readonly link: DocumentLinkRow | undefined
  readonly token: string
  /** Where the customer is written to. */
  readonly known: string | undefined
}
const isOver = (link: DocumentLinkRow, now: string): boolean => link.expires_at !== null && link.expires_at <= now

export const emailDocument = command("POST", `${path}/{id}/email`, {
  answer: accepted_shown,
  name: "documents.email",
  summary: "Send a document by e-mail, with its PDF and its public link",
  ability: write,
  permission: "documents.share",
  params: one,
  server_only: true,
  success_status: 202,
  fields,
  facts: ({ rows: { id: document } }: Input<typeof one>) =>
    Effect.gen(function* () {
      const link = yield* linkOf(document.id)
      return { document, link, token: freshToken(), known: yield* customerOf(document) } satisfies Facts
    }),
  decide: (facts: Facts, { values, viewer }, context) =>
    Result.gen(function* () {
      const { document, known, link } = facts
      yield* mayHandle(document, viewer)
      const refusal = whyNotShared(document)
      if (refusal !== undefined) return yield* Result.fail(refusal)
      const errors: Errors = {}
      const given = addressesIn("to", values.to, errors)
      const cc = addressesIn("cc", values.cc, errors)
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
          sender_user_id: viewer.user_id
        }
      }
    }),
  creates: [document_links],
  result: documentMail,
  // Within the transaction that records the events.
  respond: (mail) =>
    Effect.gen(function* () {
      const { jobs } = yield* serverContext
      const id = freshMailId(`document.${mail.document_id}`)
      const job_id = yield* jobs.offer(
        jobOffer(mailDocument, { ...mail, id }, { uuid: randomUUID(), owner_id: mail.sender_user_id || null })
      )
      return accepted(job_id, `The document is on its way to ${mail.to.join(", ")}.`)
    })
})
