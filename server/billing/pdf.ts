/** The PDF of an invoice and of a credit note (interface 4.5). */
import { Effect } from "effect"
import { creditNoteFileName, creditNotePaper, invoiceFileName, invoicePaper } from "../../core/billing/paper/facts.ts"
import { credit_notes_path, one, one_credit_note, path, read, read_credit_notes } from "../../core/billing/paths.ts"
import { type Answer, get, type SharedDraft } from "../../core/kernel/endpoint.ts"
import { drawingRefused, drawn } from "./draw.ts"

const pdf = {
  server_only: true,
  produces: "application/pdf",
  error_answers: { 503: null },
  answer_headers: { "Content-Disposition": "The name of the file", "Cache-Control": "It is not to be kept" }
} as const satisfies SharedDraft

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

export const invoicePdf = get(`${path}/{id}/pdf`, {
  ...pdf,
  ...read,
  name: "invoices.pdf",
  summary: "The invoice as PDF; drafts and voided ones are marked as such on each page",
  params: one,
  run: ({ rows: { id: invoice }, settings }) =>
    Effect.gen(function* () {
      const document = yield* invoicePaper(invoice, settings)
      const { bytes } = yield* Effect.catch(drawn(document), drawingRefused)
      return answerOf(invoiceFileName(invoice), bytes)
    })
})
export const creditNotePdf = get(`${credit_notes_path}/{id}/pdf`, {
  ...pdf,
  ...read_credit_notes,
  name: "credit_notes.pdf",
  summary: "The credit note as PDF",
  params: one_credit_note,
  run: ({ rows: { id: credit_note }, settings }) =>
    Effect.gen(function* () {
      const document = yield* creditNotePaper(credit_note, settings)
      const { bytes } = yield* Effect.catch(drawn(document), drawingRefused)
      return answerOf(creditNoteFileName(credit_note), bytes)
    })
})
