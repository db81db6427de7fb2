/** Invoices and credit notes as electronic ones (rules/billing 1.7): the same text on the server and on a device. */
import { Effect } from "effect"
import { type Answer, type Endpoint, get } from "../../kernel/endpoint.ts"
import { later } from "../../kernel/later.ts"
import { choice } from "../../kernel/field.ts"
import { contentDisposition } from "../../values/file-name.ts"
import { credit_notes_path, one, one_credit_note, path, read, read_credit_notes } from "../paths.ts"
import type { EInvoiceForm } from "./model.ts"

const writing = later(() => import("./write.ts"))

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
    return Effect.map(
      Effect.flatMap(writing, ({ invoiceXml }) => invoiceXml(rows.id, settings, form)),
      (text) => file(`invoice-${rows.id.number}`, form, text)
    )
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
    return Effect.map(
      Effect.flatMap(writing, ({ creditNoteXml }) => creditNoteXml(rows.id, settings, form)),
      (text) => file(`credit-note-${rows.id.number}`, form, text)
    )
  }
})

export const eInvoiceEndpoints: ReadonlyArray<Endpoint> = [invoice, creditNote]
