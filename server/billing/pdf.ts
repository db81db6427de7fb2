/** The PDF of an invoice and of a credit note (rules/billing 1.3). */
import { Effect } from "effect"
import { credit_notes_path, one, one_credit_note, path, read, read_credit_notes } from "../../core/billing/paths.ts"
import { drawing_weight } from "../../core/documents/paths.ts"
import type { DocumentSource } from "../../core/documents/content/prepare.ts"
import { document_types, typeOfInvoice } from "../../core/documents/types.ts"
import { type Answer, get, type SharedDraft } from "../../core/kernel/endpoint.ts"
import { choice } from "../../core/kernel/field.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { notFound } from "../../core/kernel/rejection.ts"
import type { Settings } from "../../core/kernel/settings.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { filledDocument } from "../documents/filled.ts"
import { contents } from "../documents/preparing.ts"
import { tellPdf } from "../webhooks/telling.ts"
import { drawingRefused, drawn } from "./draw.ts"

const pdf = {
  server_only: true,
  produces: "application/pdf",
  error_answers: { 422: null, 503: null },
  answer_headers: { "Content-Disposition": "The name of the file", "Cache-Control": "It is not to be kept" },
  fields: {
    format: choice(
      { pdf: "PDF for people", facturx: "Factur-X: a PDF that carries the e-invoice as XML for programs" },
      { default: "pdf", any_case: true }
    )
  }
} as const satisfies SharedDraft

/** What the PDF carries: the e-invoice where that was asked for, refused as the e-invoice by itself would be. */
const carried = (
  format: "pdf" | "facturx" | undefined,
  xml: (of: typeof import("../../core/billing/einvoice/write.ts")) => Effect.Effect<string, Failure, Store>
): Effect.Effect<{ readonly carried_xml?: string }, Failure, Store> =>
  format === "facturx"
    ? Effect.map(
        Effect.flatMap(
          Effect.promise(() => import("../../core/billing/einvoice/write.ts")),
          xml
        ),
        (carried_xml) => ({ carried_xml })
      )
    : Effect.succeed({})

/** `name` has plain signs only. */
const answerOf = (name: string, bytes: Uint8Array): Answer<never> => ({
  status: 200,
  content: { type: "application/pdf", text: bytes },
  headers: {
    "content-disposition": `inline; filename="${name}.pdf"`,
    // What was paid since is on it.
    "cache-control": "private, no-store"
  }
})

/** The same pages as a document of it has, with what was paid since. */
const pdfOf = Effect.fnUntraced(function* (
  source: Omit<DocumentSource, "store_id" | "document_number">,
  settings: Settings,
  carries: Effect.Effect<{ readonly carried_xml?: string }, Failure, Store>
) {
  const { prepareDocument } = yield* contents
  const prepared = yield* prepareDocument({ ...source, store_id: null, document_number: null }, settings)
  if (prepared === undefined) return yield* notFound("There is no such document.")
  const options = yield* carries
  const { bytes } = yield* Effect.catch(
    Effect.flatMap(filledDocument(prepared), (document) => drawn(document, options)),
    drawingRefused
  )
  yield* tellPdf(document_types[source.document_type].of, source.documentable_id)
  return answerOf(prepared.file_name, bytes)
})

export const invoicePdf = get(`${path}/{id}/pdf`, {
  ...pdf,
  ...read,
  metering_weight: drawing_weight,
  name: "invoices.pdf",
  summary: "The invoice as PDF; drafts and voided ones are marked as such on each page",
  params: one,
  run: ({ now, rows: { id: invoice }, settings, values }) =>
    pdfOf(
      { document_type: typeOfInvoice(invoice), documentable_id: invoice.id, now },
      settings,
      carried(values.format, ({ invoiceXml }) => invoiceXml(invoice, settings, "cii"))
    )
})
export const creditNotePdf = get(`${credit_notes_path}/{id}/pdf`, {
  ...pdf,
  ...read_credit_notes,
  metering_weight: drawing_weight,
  name: "credit_notes.pdf",
  summary: "The credit note as PDF",
  params: one_credit_note,
  run: ({ now, rows: { id: credit_note }, settings, values }) =>
    pdfOf(
      { document_type: "credit_note", documentable_id: credit_note.id, now },
      settings,
      carried(values.format, ({ creditNoteXml }) => creditNoteXml(credit_note, settings, "cii"))
    )
})
