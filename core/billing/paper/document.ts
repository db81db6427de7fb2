/**
 * Invoices and credit notes as documents. Pure: what an issued one says comes from its frozen rows and parties, so that
 * drawing it again gives the same pages; only what was paid and credited since is as it is now (rules/billing 1.3).
 */
import type { Block, PrintDocument } from "../../print/blocks.ts"
import { formatMoney } from "../../values/money.ts"
import type { CreditNoteItemRow, CreditNoteRow, InvoiceItemRow, InvoiceRow } from "../schema.ts"
import {
  dayText,
  foreignTax,
  frame,
  head,
  type Money,
  pairs,
  type Parties,
  shownMoney,
  taxRows,
  text
} from "./letter.ts"
import { hireOf, linesTable, type PaperLine, windowText } from "./lines.ts"
import { epcCode, paymentLink, spacedIban } from "./pay.ts"
import { filled, type Words, wordsOf } from "./words.ts"

export interface InvoicePaper extends Parties {
  readonly invoice: InvoiceRow
  readonly items: ReadonlyArray<InvoiceItemRow>
  readonly order: { readonly number: string | null; readonly subject: string } | null
}
export interface CreditNotePaper extends Parties {
  readonly credit_note: CreditNoteRow
  readonly items: ReadonlyArray<CreditNoteItemRow>
  readonly invoice: Pick<InvoiceRow, "number" | "issued_at">
}

export const invoiceDocument = (paper: InvoicePaper): PrintDocument => {
  const { invoice, options } = paper
  const words = wordsOf(options.language)
  const kind = { standard: words.invoice, deposit: words.deposit, proforma: words.proforma }[invoice.type]
  const heading = `${kind} ${invoice.number ?? `(${words.draft})`}`
  const lines = paper.items.map((item): PaperLine => ({ ...item, takes_deposit: item.deposit_invoice_id !== null }))
  const hire = hireOf(lines)
  const money = (minor: number): string => shownMoney(minor, invoice.currency_code, options)
  return {
    ...frame(paper, heading, invoice.issued_at ?? invoice.updated_at),
    ...(invoice.status === "draft"
      ? { watermark: "DRAFT" as const }
      : invoice.status === "voided"
        ? { watermark: "VOID" as const }
        : {}),
    blocks: [
      head(
        paper,
        pairs([
          [words.number, invoice.number],
          [words.date, dayText(invoice.issued_at, options)],
          [words.due, dayText(invoice.due_at, options)],
          [words.customer_number, paper.buyer.account_number],
          [words.your_tax_number, paper.buyer.tax_number],
          [words.reference, invoice.reference],
          [words.order, paper.order === null ? null : (paper.order.number ?? paper.order.subject)],
          [words.hire, hire === undefined ? null : windowText(hire, options)]
        ])
      ),
      { kind: "heading", level: 1, text: heading },
      ...text(invoice.subject, true),
      ...(invoice.type === "proforma" ? text(words.not_invoice) : []),
      ...text(options.intro),
      linesTable(lines, hire, invoice, options),
      {
        kind: "totals",
        rows: [
          { label: words.subtotal, value: money(invoice.subtotal) },
          ...(invoice.discount_total === 0 ? [] : [{ label: words.discounts, value: money(invoice.discount_total) }]),
          ...taxRows(invoice.tax_summary, words, money, options),
          { label: words.total, value: money(invoice.total), strong: true },
          ...settledRows(invoice, words, money)
        ]
      },
      ...foreignTax(invoice, words, options),
      ...text(invoice.notes),
      ...payment(paper, words, money),
      ...text(options.terms, false, true)
    ]
  }
}

export const creditNoteDocument = (paper: CreditNotePaper): PrintDocument => {
  const { credit_note, invoice, options } = paper
  const words = wordsOf(options.language)
  const heading = `${words.credit_note} ${credit_note.number ?? `(${words.draft})`}`
  const lines = paper.items.map((item): PaperLine => ({
    ...item,
    item_type: "custom",
    description: null,
    discount_percent: null,
    discount_amount: 0,
    starts_at: null,
    ends_at: null,
    takes_deposit: false
  }))
  const money = (minor: number): string => shownMoney(minor, credit_note.currency_code, options)
  const issued = dayText(invoice.issued_at, options, "figures")
  return {
    ...frame(paper, heading, credit_note.issued_at),
    blocks: [
      head(
        paper,
        pairs([
          [words.number, credit_note.number],
          [words.date, dayText(credit_note.issued_at, options)],
          [words.credited_invoice, [invoice.number, issued === null ? null : `(${issued})`].filter(Boolean).join(" ")],
          [words.customer_number, paper.buyer.account_number],
          [words.your_tax_number, paper.buyer.tax_number]
        ])
      ),
      { kind: "heading", level: 1, text: heading },
      ...text(credit_note.reason === null ? null : `${words.reason}: ${credit_note.reason}`),
      ...text(options.intro),
      linesTable(lines, undefined, credit_note, options),
      {
        kind: "totals",
        rows: [
          { label: words.subtotal, value: money(credit_note.subtotal) },
          ...taxRows(credit_note.tax_summary, words, money, options),
          { label: words.total, value: money(credit_note.total), strong: true }
        ]
      },
      ...foreignTax(credit_note, words, options),
      ...text(credit_note.notes),
      ...text(options.terms, false, true)
    ]
  }
}

/** What was paid and credited since it was issued, and what is left. */
const settledRows = (invoice: InvoiceRow, words: Words, money: Money) => {
  const { amount_credited, amount_outstanding, amount_paid, status } = invoice
  if (status === "draft" || status === "voided" || (amount_paid === 0 && amount_credited === 0)) return []
  return [
    ...(amount_credited === 0 ? [] : [{ label: words.credited, value: money(0 - amount_credited) }]),
    ...(amount_paid === 0 ? [] : [{ label: words.paid, value: money(0 - amount_paid) }]),
    amount_outstanding < 0
      ? { label: words.owed_back, value: money(0 - amount_outstanding), strong: true }
      : { label: words.outstanding, value: money(amount_outstanding), strong: true }
  ]
}

/** The account to pay to, as rows to copy from; nothing where none is set. */
const bankRows = ({ invoice: { number }, options, seller }: InvoicePaper, words: Words): ReadonlyArray<Block> =>
  options.iban === null
    ? []
    : [
        {
          kind: "key_values",
          rows: pairs([
            [words.account, options.account_holder ?? seller.name],
            ["IBAN", spacedIban(options.iban)],
            ["BIC", options.bic],
            [words.bank, options.bank_name],
            [words.reference_of_payment, number ?? ""]
          ])
        }
      ]

/** Until when and how to pay what is open. A draft and what is settled say nothing of it. */
const payment = (paper: InvoicePaper, words: Words, money: Money): ReadonlyArray<Block> => {
  const { invoice, options, seller } = paper
  const { amount_outstanding, currency_code, number, status } = invoice
  if (status === "draft" || status === "voided" || amount_outstanding <= 0) return []
  const amount = formatMoney(amount_outstanding, currency_code)
  const link =
    options.payment_link === null || number === null
      ? undefined
      : paymentLink(options.payment_link, { number, amount, currency: currency_code })
  const epc =
    options.iban === null
      ? undefined
      : epcCode({
          iban: options.iban,
          bic: options.bic,
          holder: options.account_holder ?? seller.name,
          currency: currency_code,
          amount_minor: amount_outstanding,
          text: number ?? ""
        })
  const due = dayText(invoice.due_at, options)
  const words_of_it: ReadonlyArray<Block> = [
    ...text(
      due === null
        ? filled(words.pay, { amount: money(amount_outstanding) })
        : filled(words.pay_by, { amount: money(amount_outstanding), date: due }),
      true
    ),
    ...bankRows(paper, words),
    ...(link === undefined
      ? []
      : [{ kind: "paragraph" as const, runs: [{ text: words.pay_online, link }, { text: `\n${link}` }] }])
  ]
  const symbol = epc ?? link
  return [
    {
      kind: "together",
      blocks:
        symbol === undefined
          ? words_of_it
          : [
              {
                kind: "columns",
                columns: [
                  { share: 1.6, blocks: words_of_it },
                  {
                    share: 1,
                    blocks: [
                      {
                        kind: "code",
                        symbology: "qr",
                        value: symbol,
                        caption: epc === undefined ? words.pay_online : words.scan,
                        width_mm: 32,
                        alignment: "end"
                      }
                    ]
                  }
                ]
              }
            ]
    }
  ]
}
