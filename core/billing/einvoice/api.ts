/** Invoices and credit notes as electronic ones (rules/billing 1.7): the same text on the server and on a device. */
import { Effect } from "effect"
import { type Answer, type Endpoint, get } from "../../kernel/endpoint.ts"
import { choice } from "../../kernel/field.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import type { Settings } from "../../kernel/settings.ts"
import { contentDisposition } from "../../values/file-name.ts"
import { credit_notes_path, one, one_credit_note, path, read, read_credit_notes } from "../paths.ts"
import { type CreditNoteRow, type InvoiceRow } from "../schema.ts"
import { eInvoice } from "./build.ts"
import { ciiText } from "./cii.ts"
import { creditNoteSource, invoiceSource } from "./facts.ts"
import type { EInvoiceForm } from "./model.ts"
import type { Source } from "./source.ts"
import { ublText } from "./ubl.ts"

const writers = { ubl: ublText, cii: ciiText }

const textOf = (source: Source, form: EInvoiceForm): Effect.Effect<string, Rejection> =>
  Effect.map(Effect.fromResult(eInvoice(source, form)), writers[form])
const without_number = invalidField("number", "It has no number yet: sync first, the server gives it.")

/** The invoice as XML; refused for drafts, voids and proformas, and where something is missing. */
export const invoiceXml = Effect.fnUntraced(function* (invoice: InvoiceRow, settings: Settings, form: EInvoiceForm) {
  if (invoice.type === "proforma")
    return yield* invalidField("type", "A proforma is no invoice, so there is no e-invoice of it.")
  if (invoice.status === "draft") return yield* invalidField("status", "A draft is no invoice yet: issue it first.")
  if (invoice.status === "voided") return yield* invalidField("status", "The invoice was voided.")
  if (invoice.number === null) return yield* without_number
  return yield* textOf(yield* invoiceSource(invoice, settings), form)
})
export const creditNoteXml = Effect.fnUntraced(function* (note: CreditNoteRow, settings: Settings, form: EInvoiceForm) {
  if (note.number === null) return yield* without_number
  return yield* textOf(yield* creditNoteSource(note, settings), form)
})

const asked = {
  produces: "application/xml",
  error_answers: { 422: null },
  answer_headers: { "Content-Disposition": "The name of the file" },
  fields: {
    format: choice(
      { ubl: "UBL 2.1 for Peppol BIS Billing 3", cii: "UN/CEFACT CII, profile EN 16931" },
      { default: "ubl", any_case: true }
    )
  }
} as const
const file = (name: string, form: EInvoiceForm, text: string): Answer<never> => ({
  status: 200,
  content: { type: "application/xml; charset=utf-8", text },
  headers: { "content-disposition": contentDisposition(`${name}-${form}.xml`, "attachment") }
})

const invoice = get(`${path}/{id}/xml`, {
  ...asked,
  ...read,
  name: "invoices.xml",
  summary: "The invoice as an e-invoice (EN 16931), as UBL or CII",
  params: one,
  run: ({ rows, settings, values }) => {
    const form = values.format ?? "ubl"
    return Effect.map(invoiceXml(rows.id, settings, form), (text) => file(`invoice-${rows.id.number}`, form, text))
  }
})
const creditNote = get(`${credit_notes_path}/{id}/xml`, {
  ...asked,
  ...read_credit_notes,
  name: "credit_notes.xml",
  summary: "The credit note as an e-invoice (EN 16931), as UBL or CII",
  params: one_credit_note,
  run: ({ rows, settings, values }) => {
    const form = values.format ?? "ubl"
    return Effect.map(creditNoteXml(rows.id, settings, form), (text) =>
      file(`credit-note-${rows.id.number}`, form, text)
    )
  }
})

export const eInvoiceEndpoints: ReadonlyArray<Endpoint> = [invoice, creditNote]
