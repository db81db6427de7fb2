/** Invoices and credit notes as electronic ones (rules/billing 1.7): the same text on the server and on a device. */
import { choice, longText, text } from "../../kernel/fields/field.ts"
import type { SettingGroups } from "../../kernel/events/settings.ts"
import { Effect } from "effect"
import { type Answer, type Endpoint, get } from "../../kernel/endpoints/endpoint.ts"
import { later } from "../../kernel/fields/later.ts"
import { contentDisposition } from "../../values/file-name.ts"
import { credit_notes_path, one, one_credit_note, path, read, read_credit_notes } from "../state/fields.ts"
import type { EInvoiceForm } from "./amounts.ts"

// What electronic invoices say beside the company's address and the account to pay to.

const optional = { nullable: true, on_null: "clear" } as const
export const eInvoiceSettings = {
  einvoice: {
    legal_name: text({ ...optional, describe: "The seller as registered; without it the company's name" }),
    peppol_id: text({
      ...optional,
      format: "peppol",
      max: 60,
      describe: "Where the seller is reached in Peppol: 0088:1234567890128; without it the company's e-mail"
    }),
    untaxed_category: choice(
      { exempt: "Exempt", outside: "Not subject to VAT" },
      { default: "exempt", describe: "Of rows whose tax class no rule names" }
    ),
    untaxed_reason: longText({ ...optional, max: 500, describe: "Why such rows bear no VAT, in words for the buyer" })
  }
} satisfies SettingGroups

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
