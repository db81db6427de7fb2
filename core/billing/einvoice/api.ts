/** Invoices and credit notes as electronic ones (rules/billing 1.7); server and devices produce the same text. */
import { choice, get, later, longText, text } from "../../kernel/index.ts"
import type { Answer, Endpoint, SettingGroups } from "../../kernel/index.ts"
import { Effect } from "effect"
import { contentDisposition } from "../../values/file-name.ts"
import { credit_notes_path, one, one_credit_note, path, read, read_credit_notes } from "../state/fields.ts"
import type { EInvoiceForm } from "./amounts.ts"

// Settings of electronic invoices besides the company's address and account.

const optional = { nullable: true, on_null: "clear" } as const
export const eInvoiceSettings = {
  einvoice: {
    legal_name: text({ ...optional, describe: "Registered name of the seller; default: the company's name" }),
    peppol_id: text({
      ...optional,
      format: "peppol",
      max: 60,
      describe: "Peppol id of the seller, such as 0088:1234567890128; default: the company's e-mail"
    }),
    untaxed_category: choice(
      { exempt: "Exempt", outside: "Not subject to VAT" },
      { default: "exempt", describe: "VAT category of rows without a tax rule" }
    ),
    untaxed_reason: longText({ ...optional, max: 500, describe: "Reason given for no VAT on rows without a tax rule" })
  }
} satisfies SettingGroups

const writing = later(() => import("./write.ts"))

const asked = {
  produces: "application/xml",
  error_answers: { 422: null },
  answer_headers: { "Content-Disposition": "Name of the file" },
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
  summary: "Download an invoice as an e-invoice (EN 16931), in UBL or CII",
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
  summary: "Download a credit note as an e-invoice (EN 16931), in UBL or CII",
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
