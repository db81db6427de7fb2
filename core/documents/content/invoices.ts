/** Invoices and credit notes as documents: those of billing, with the texts and the look of a layout. */
import type { PrintDocument } from "../../pricing/print/blocks.ts"
import { type DocumentType, typeOfInvoice } from "../schema.ts"
import { Effect } from "effect"
import type { CreditNotePaper, InvoicePaper } from "../../billing/paper/document.ts"
import {
  creditNoteDocument,
  creditNoteFileName,
  creditNotePaper,
  invoiceDocument,
  invoiceFileName,
  invoicePaper,
  paperOptions
} from "../../billing/paper/document.ts"
import { amountAsked, paymentLink, standardMail } from "../../billing/paper/mail-text.ts"
import { wordsOf } from "../../billing/paper/words.ts"
import {
  credit_note_statuses,
  credit_notes,
  invoice_statuses,
  invoice_types,
  invoices
} from "../../billing/state/tables.ts"
import { settingText, Store, type Settings } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { formatMoney } from "../../values/money.ts"
import { branded, brandOf, fragmentsOf, mail_places, text_places } from "../brand.ts"
import type { CommonFacts, CustomerFacts, FieldGroup } from "./shared-fields.ts"
import { companyGroup, dataOf, documentGroup, group, memberGroup, rowGroup, storeGroup } from "./shared-fields.ts"
import { plainMail } from "./words.ts"

// Input and result of preparing a document.

export interface DocumentSource {
  readonly document_type: DocumentType
  readonly documentable_id: number
  /** Store whose branding and texts apply; null for the source's own. */
  readonly store_id: number | null
  /** Null until numbered by a server. */
  readonly document_number: string | null
  /** Time of rendering, as an instant: the date of the document unless its source has one. */
  readonly now: string
}
export interface PreparedDocument {
  /** Liquid texts to render with `data`, by place; empty if none. */
  readonly fragments: { readonly [place: string]: string }
  readonly data: object
  /**
   * Builds the document. `filled`: the rendered `fragments`; missing ones fall back to the default text, so
   * `compose({})` is valid, too.
   */
  readonly compose: (filled: { readonly [place: string]: string }) => PrintDocument
  /** Mail texts to render with `data`, and their defaults; absent on warehouse documents. */
  readonly mail?: {
    readonly fragments: { readonly mail_subject?: string; readonly mail_text?: string }
    readonly plain: { readonly subject: string; readonly text: string }
  }
  /** File name without extension, such as `quotation-0000000012`, in plain characters. */
  readonly file_name: string
}

interface InvoiceFacts extends CommonFacts, CustomerFacts, InvoicePaper {}
interface CreditNoteFacts extends CommonFacts, CustomerFacts, CreditNotePaper {}

const kindOf = ({ invoice, options }: InvoicePaper): string => {
  const words = wordsOf(options.language)
  return { standard: words.invoice, deposit: words.deposit, proforma: words.proforma }[invoice.type]
}
const linkOf = ({ invoice, options }: InvoicePaper): string | undefined =>
  options.payment_link === null || invoice.number === null || amountAsked(invoice) === 0
    ? undefined
    : paymentLink(options.payment_link, {
        number: invoice.number,
        amount: formatMoney(amountAsked(invoice), invoice.currency_code),
        currency: invoice.currency_code
      })
const item_fields = { product_name: ["Name", "string", (row: { readonly name: string }) => row.name] } as const

export const invoiceGroups: ReadonlyArray<FieldGroup<InvoiceFacts>> = [
  documentGroup,
  group<InvoiceFacts>("invoice", "Invoice", {
    number: ["Number", "string", ({ invoice }) => invoice.number],
    type: ["Kind", "string", kindOf],
    subject: ["Subject", "string", ({ invoice }) => invoice.subject],
    reference: ["Customer's reference", "string", ({ invoice }) => invoice.reference],
    issued_on: ["Issued", "date", ({ invoice }) => invoice.issued_at],
    due_on: ["Due", "date", ({ invoice }) => invoice.due_at],
    payment_terms_days: ["Days to pay", "number", ({ invoice }) => invoice.payment_terms_days],
    subtotal: ["Net", "currency", ({ invoice }) => invoice.subtotal],
    discount_total: ["Discounts", "currency", ({ invoice }) => invoice.discount_total],
    tax_total: ["Tax", "currency", ({ invoice }) => invoice.tax_total],
    total: ["Total", "currency", ({ invoice }) => invoice.total],
    amount_paid: ["Paid", "currency", ({ invoice }) => invoice.amount_paid],
    amount_credited: ["Credited", "currency", ({ invoice }) => invoice.amount_credited],
    to_pay: ["To pay", "currency", ({ invoice }) => amountAsked(invoice)],
    payment_link: ["Address to pay at", "string", linkOf],
    order: ["Order", "string", ({ order }) => order?.number ?? order?.subject],
    is_draft: ["Draft", "boolean", ({ invoice }) => invoice.status === "draft"],
    // Status code, as in the API (rules/billing 1.2).
    status: ["Status code", "string", ({ invoice }) => invoice.status],
    status_name: ["Status", "string", ({ invoice }) => invoice_statuses[invoice.status]],
    type_name: ["Kind, in English", "string", ({ invoice }) => invoice_types[invoice.type]],
    currency_code: ["Currency", "string", ({ invoice }) => invoice.currency_code],
    exchange_rate: ["Exchange rate", "number", ({ invoice }) => invoice.exchange_rate],
    prices_include_tax: ["Prices include tax", "boolean", ({ invoice }) => invoice.prices_include_tax],
    amount_outstanding: ["Outstanding", "currency", ({ invoice }) => invoice.amount_outstanding],
    notes: ["Notes", "string", ({ invoice }) => invoice.notes],
    void_reason: ["Reason for voiding", "string", ({ invoice }) => invoice.void_reason],
    issued_at: ["Issued", "date", ({ invoice }) => invoice.issued_at],
    due_at: ["Due", "date", ({ invoice }) => invoice.due_at],
    paid_at: ["Paid on", "date", ({ invoice }) => invoice.paid_at],
    voided_at: ["Voided on", "date", ({ invoice }) => invoice.voided_at],
    emailed_at: ["Mailed on", "date", ({ invoice }) => invoice.emailed_at],
    created_at: ["Made on", "date", ({ invoice }) => invoice.created_at],
    updated_at: ["Changed on", "date", ({ invoice }) => invoice.updated_at]
  }),
  memberGroup,
  storeGroup,
  companyGroup,
  rowGroup<InvoiceFacts, InvoicePaper["items"][number]>(
    { key: "items", label: "Rows", one: "item" },
    ({ items }) => items.filter(({ item_type }) => item_type !== "text"),
    {
      ...item_fields,
      description: ["Description", "string", ({ description }) => description],
      quantity: ["Quantity", "number", ({ quantity }) => quantity],
      unit_charge: ["Price", "currency", ({ unit_price }) => unit_price],
      discount: ["Discount in percent", "number", ({ discount_percent }) => discount_percent],
      tax_rate: ["Tax in percent", "number", ({ tax_rate }) => tax_rate],
      total_charge: ["Net", "currency", ({ subtotal }) => subtotal]
    }
  )
]
export const creditNoteGroups: ReadonlyArray<FieldGroup<CreditNoteFacts>> = [
  documentGroup,
  group<CreditNoteFacts>("credit_note", "Credit note", {
    number: ["Number", "string", ({ credit_note }) => credit_note.number],
    reason: ["Reason", "string", ({ credit_note }) => credit_note.reason],
    issued_on: ["Issued", "date", ({ credit_note }) => credit_note.issued_at],
    subtotal: ["Net", "currency", ({ credit_note }) => credit_note.subtotal],
    tax_total: ["Tax", "currency", ({ credit_note }) => credit_note.tax_total],
    total: ["Total", "currency", ({ credit_note }) => credit_note.total],
    // Status code, as in the API (rules/billing 1.5).
    status: ["Status code", "string", ({ credit_note }) => credit_note.status],
    status_name: ["Status", "string", ({ credit_note }) => credit_note_statuses[credit_note.status]],
    currency_code: ["Currency", "string", ({ credit_note }) => credit_note.currency_code],
    exchange_rate: ["Exchange rate", "number", ({ credit_note }) => credit_note.exchange_rate],
    notes: ["Notes", "string", ({ credit_note }) => credit_note.notes],
    issued_at: ["Issued", "date", ({ credit_note }) => credit_note.issued_at],
    created_at: ["Made on", "date", ({ credit_note }) => credit_note.created_at],
    updated_at: ["Changed on", "date", ({ credit_note }) => credit_note.updated_at]
  }),
  group<CreditNoteFacts>("invoice", "Credited invoice", {
    number: ["Number", "string", ({ invoice }) => invoice.number],
    issued_on: ["Issued", "date", ({ invoice }) => invoice.issued_at]
  }),
  memberGroup,
  storeGroup,
  companyGroup,
  rowGroup<CreditNoteFacts, CreditNotePaper["items"][number]>(
    { key: "items", label: "Rows", one: "item" },
    ({ items }) => items,
    {
      ...item_fields,
      quantity: ["Quantity", "number", ({ quantity }) => quantity],
      unit_charge: ["Price", "currency", ({ unit_price }) => unit_price],
      tax_rate: ["Tax in percent", "number", ({ tax_rate }) => tax_rate],
      total_charge: ["Net", "currency", ({ subtotal }) => subtotal]
    }
  )
]

const isOrganisation = Effect.fnUntraced(function* (member_id: number) {
  return (yield* Store.get(members, member_id))?.membership_type === "organisation"
})

export const prepareInvoice = Effect.fnUntraced(function* (
  source: DocumentSource,
  settings: Settings
): Store.Reads<PreparedDocument | undefined> {
  const invoice = yield* Store.get(invoices, source.documentable_id)
  if (invoice === undefined || invoice.deleted_at !== null) return undefined
  if (source.document_type !== "invoice" && source.document_type !== typeOfInvoice(invoice)) return undefined
  const plain = yield* paperOptions(invoice, settings)
  const brand = yield* brandOf(source.document_type, source.store_id ?? invoice.store_id, settings)
  const paper = yield* invoicePaper(invoice, settings, plain)
  const facts: InvoiceFacts = {
    ...paper,
    is_organisation: yield* isOrganisation(invoice.member_id),
    delivery_address: null,
    website: settingText(settings, "company", "website") || null,
    document: {
      number: source.document_number ?? invoice.number,
      date: invoice.issued_at ?? source.now,
      due_date: invoice.due_at,
      terms: plain.terms,
      notes: invoice.notes
    }
  }
  const written = { language: plain.language, zone: plain.zone, currency: invoice.currency_code }
  const set = (key: "mail_subject" | "mail_text") => {
    const own = settingText(settings, "invoicing", key)
    return own.trim() === "" ? {} : { [key]: own }
  }
  return {
    fragments: fragmentsOf(brand, text_places),
    data: dataOf(invoiceGroups, facts, written),
    compose: (filled) => invoiceDocument({ ...paper, options: branded(plain, brand, filled) }),
    mail: {
      fragments: { ...set("mail_subject"), ...set("mail_text"), ...fragmentsOf(brand, mail_places) },
      plain: standardMail(invoice, paper, plain)
    },
    file_name: invoiceFileName(invoice)
  }
})

export const prepareCreditNote = Effect.fnUntraced(function* (
  source: DocumentSource,
  settings: Settings
): Store.Reads<PreparedDocument | undefined> {
  const credit_note = yield* Store.get(credit_notes, source.documentable_id)
  if (credit_note === undefined) return undefined
  // The terms in the settings apply to invoices, so credit notes omit them.
  const plain = { ...(yield* paperOptions(credit_note, settings)), terms: null }
  const brand = yield* brandOf(source.document_type, source.store_id ?? credit_note.store_id, settings)
  const paper = yield* creditNotePaper(credit_note, settings, plain)
  const facts: CreditNoteFacts = {
    ...paper,
    is_organisation: yield* isOrganisation(credit_note.member_id),
    delivery_address: null,
    website: settingText(settings, "company", "website") || null,
    document: {
      number: source.document_number ?? credit_note.number,
      date: credit_note.issued_at,
      due_date: null,
      terms: settingText(settings, "invoicing", "terms").trim() || null,
      notes: credit_note.notes
    }
  }
  const written = { language: plain.language, zone: plain.zone, currency: credit_note.currency_code }
  return {
    fragments: fragmentsOf(brand, text_places),
    data: dataOf(creditNoteGroups, facts, written),
    compose: (filled) => creditNoteDocument({ ...paper, options: branded(plain, brand, filled) }),
    mail: {
      fragments: fragmentsOf(brand, mail_places),
      plain: plainMail(
        {
          document: `${wordsOf(plain.language).credit_note} ${credit_note.number ?? ""}`.trim(),
          name: paper.buyer.name,
          sender: paper.seller.name,
          subject: ""
        },
        plain.language
      )
    },
    file_name: creditNoteFileName(credit_note)
  }
})
