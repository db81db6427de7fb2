/** Events of public links to documents, in the stream of the document. */
import { Schema } from "effect"
import { eventType, insertRow, newRow, remove, someColumns, streamOf, update, updateWhere } from "../../kernel/index.ts"
import type { AnyEventType, KeyedColumns, NewRow } from "../../kernel/index.ts"
import { document_acceptances, document_links, type DocumentLinkRow } from "../schema.ts"

/** Stream of an event: that of its document, which it names as `id`. */
const stream = ({ id }: { readonly id: number }): string => streamOf("document", id)

interface LinkMade<Link> {
  readonly id: number
  readonly link: Link
  readonly replaced_id: number | null
}
export const linkCreated = eventType<
  LinkMade<KeyedColumns<typeof document_links>>,
  LinkMade<NewRow<typeof document_links>>
>("document.link.created", {
  meaning: "A public link to a document was created; an earlier one stopped working.",
  data: () => Schema.Struct({ id: Schema.Int, link: newRow(document_links), replaced_id: Schema.NullOr(Schema.Int) }),
  stream,
  project: ({ link, replaced_id }, { recorded_at }) => [
    ...(replaced_id === null ? [] : [remove(document_links, replaced_id)]),
    insertRow(document_links, link, recorded_at)
  ],
  // Hidden from the activity: the token opens the document.
  activity: ({ link, replaced_id }) => ({
    old_values: replaced_id === null ? null : { link_id: replaced_id },
    new_values: { link_id: link.id, expires_at: link.expires_at ?? null, requires_pin: link.requires_pin ?? false }
  })
})

const told = {
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  requires_pin: Schema.optionalKey(Schema.Boolean)
}
export const linkChanged = eventType("document.link.changed", {
  meaning: "The expiry or PIN of a public link changed: all of its columns.",
  data: () =>
    Schema.Struct({ id: Schema.Int, link_id: Schema.Int, set: someColumns(document_links), was: Schema.Struct(told) }),
  stream,
  project: ({ link_id, set }, { recorded_at }) => [
    update(document_links, link_id, { ...set, updated_at: recorded_at })
  ],
  // Hidden from the activity: the token opens the document.
  activity: ({ set: { expires_at = null, requires_pin = false }, was }) => ({
    old_values: { ...was },
    new_values: { ...("expires_at" in was ? { expires_at } : {}), ...("requires_pin" in was ? { requires_pin } : {}) }
  })
})
const linkRevoked = eventType("document.link.revoked", {
  meaning: "The public link to a document was revoked.",
  data: () => Schema.Struct({ id: Schema.Int, link_id: Schema.Int }),
  stream,
  project: ({ link_id }) => [remove(document_links, link_id)],
  activity: ({ link_id }) => ({ old_values: { link_id }, new_values: null })
})
export const revoked = ({ document_id, id }: Pick<DocumentLinkRow, "document_id" | "id">) =>
  linkRevoked.make({ id: document_id, link_id: id })

/** Personal data is in separate columns, so that erasure finds it. */
export const documentAccepted = eventType<
  KeyedColumns<typeof document_acceptances>,
  NewRow<typeof document_acceptances>
>("document.accepted", {
  meaning: "A quotation was accepted at its public link: who, when, from where, and the hashes of text and PDF.",
  data: () => newRow(document_acceptances),
  stream: ({ document_id = 0 }) => streamOf("document", document_id),
  project: (acceptance, { recorded_at }) => [insertRow(document_acceptances, acceptance, recorded_at)],
  activity: ({ id, name, note, pdf_sha256 }) => ({
    old_values: null,
    new_values: { acceptance_id: id, name: name ?? null, pdf_sha256: pdf_sha256 ?? null, note: note ?? null }
  })
})
/** Entry in the opportunity's history; the person is recorded only with the document. */
export const quotationAccepted = eventType("opportunity.quotation_accepted", {
  meaning: "The customer accepted a quotation of this opportunity at its public link.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      document_id: Schema.Int,
      document_number: Schema.NullOr(Schema.String),
      note: Schema.NullOr(Schema.String)
    }),
  project: "changes_no_table",
  activity: ({ document_id, document_number, note }) => ({
    old_values: null,
    new_values: { document_id, document_number, note }
  })
})

export const certificateKept = eventType("document.certificate.kept", {
  meaning: "The accepted document was drawn with its certificate; the PDF is kept.",
  data: () => Schema.Struct({ id: Schema.Int, acceptance_id: Schema.Int, set: someColumns(document_acceptances) }),
  stream,
  project: ({ acceptance_id, set }, { recorded_at }) => [
    update(document_acceptances, acceptance_id, { ...set, updated_at: recorded_at })
  ],
  activity: ({ acceptance_id, set }) => ({
    old_values: null,
    new_values: { acceptance_id, sha256: set.sha256 ?? null }
  })
})

const erased = { name: "Anonymised", email: null, ip_address: null, user_agent: null, signature_svg: null } as const
export const acceptanceErased = eventType("document.acceptance.erased", {
  meaning: "The data of the person who accepted a quotation was erased; acceptance, time and hashes stay.",
  data: () => Schema.Struct({ id: Schema.Int }),
  stream,
  project: ({ id }, { recorded_at }) => [
    updateWhere(
      document_acceptances,
      { document_id: id },
      // The certificate names the person: without the hash its content is unreferenced, and will be deleted.
      { ...erased, uuid: null, file_name: null, file_size: null, sha256: null, updated_at: recorded_at }
    )
  ],
  scrub: ({ id }) => ({ streams: [streamOf("document", id)], placeholders: erased })
})

export const documentEmailed = eventType("document.emailed", {
  meaning: "A document was queued as mail. The recipient is not recorded here.",
  data: () => Schema.Struct({ id: Schema.Int, with_pdf: Schema.Boolean, with_link: Schema.Boolean }),
  stream,
  project: "changes_no_table",
  activity: ({ with_link, with_pdf }) => ({ old_values: null, new_values: { with_pdf, with_link } })
})

export const linkEvents: ReadonlyArray<AnyEventType> = [
  linkCreated,
  linkChanged,
  linkRevoked,
  documentAccepted,
  quotationAccepted,
  certificateKept,
  acceptanceErased,
  documentEmailed
]
