/**
 * Invoices and credit notes as documents. Issued ones have frozen rows and parties; settings, the customer's language,
 * payments and credits are current (rules/billing 1.3).
 */
import type { Block, PrintDocument } from "../../pricing/print/blocks.ts"
import { formatMoney, sumMoney } from "../../values/money.ts"
import type {
  CreditNoteItemRow,
  CreditNoteRow,
  EInvoiceFacts,
  InvoiceItemRow,
  InvoiceRow,
  NamedParty
} from "../state/tables.ts"
import { credit_note_items, invoice_items, invoices } from "../state/tables.ts"
import type { Money, PaperLine, PaperOptions, Parties } from "./letter.ts"
import { dayText, foreignTax, frame, head, hireOf, isDiscounted, linesTable, pairs } from "./letter.ts"
import { shownMoney, taxRows, text, windowText } from "./letter.ts"
import { epcCode, paymentLink, spacedIban } from "./mail-text.ts"
import { paperLanguage, type Words, wordsOf } from "./words.ts"
import { Effect } from "effect"
import { baseCurrency, settingText, Store, type Settings } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { stores } from "../../setup/stores.ts"
import { zoneOf } from "../../values/time.ts"
import { exemptionReasons, ratesReported } from "../einvoice/amounts.ts"
import { eInvoiceFactsNow, vatReportsNow } from "../einvoice/rates.ts"
import { buyerOf, nobody, sellerOf } from "../state/parties.ts"
import { withValues } from "../../values/text.ts"

export interface InvoicePaper extends Parties {
  readonly invoice: InvoiceRow
  readonly items: ReadonlyArray<InvoiceItemRow>
  readonly order: { readonly number: string | null; readonly subject: string } | null
  /** The order's hire, for rows that have none: deposits, parts and rows by hand; null if rows are lines of it. */
  readonly period: EInvoiceFacts["hire"]
  readonly exemptions: ReadonlyArray<string>
}
export interface CreditNotePaper extends Parties {
  readonly credit_note: CreditNoteRow
  readonly items: ReadonlyArray<CreditNoteItemRow>
  readonly invoice: Pick<InvoiceRow, "number" | "issued_at">
  readonly exemptions: ReadonlyArray<string>
}

export const invoiceDocument = (paper: InvoicePaper): PrintDocument => {
  const { invoice, options } = paper
  const words = wordsOf(options.language)
  const kind = { standard: words.invoice, deposit: words.deposit, proforma: words.proforma }[invoice.type]
  const is_proforma = invoice.type === "proforma"
  const heading = `${kind} ${invoice.number ?? `(${words.draft})`}`
  const lines = paper.items.map((item): PaperLine => ({ ...item, takes_deposit: item.deposit_invoice_id !== null }))
  const hire = hireOf(lines)
  const discounts = sumMoney(lines.filter(isDiscounted).map(({ discount_amount }) => discount_amount))
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
          [words.due, is_proforma ? null : dayText(invoice.due_at, options)],
          [words.customer_number, paper.buyer.account_number],
          [words.your_tax_number, paper.buyer.tax_number],
          [words.reference, invoice.reference],
          [words.order, paper.order === null ? null : (paper.order.number ?? paper.order.subject)],
          hire === undefined
            ? [words.period, paper.period === null ? null : windowText(paper.period, options)]
            : [words.hire, windowText(hire, options)]
        ])
      ),
      { kind: "heading", level: 1, text: heading },
      ...text(invoice.subject, true),
      ...(is_proforma ? text(words.not_invoice, true) : []),
      ...text(options.intro),
      linesTable(lines, hire, invoice, options),
      {
        kind: "totals",
        rows: [
          { label: words.subtotal, value: money(invoice.subtotal) },
          ...(discounts === 0 ? [] : [{ label: words.discounts, value: money(discounts) }]),
          ...taxRows(invoice.tax_summary, words, money, options),
          { label: words.total, value: money(invoice.total), strong: true },
          ...settledRows(invoice, words, money)
        ]
      },
      ...text(paper.exemptions.join("\n")),
      ...foreignTax(invoice, words, options),
      ...text(invoice.notes),
      ...(is_proforma ? dueLater(invoice, words, money) : payment(paper, words, money)),
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
  const issued = dayText(invoice.issued_at, options)
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
      ...text(paper.exemptions.join("\n")),
      ...foreignTax(credit_note, words, options),
      ...text(credit_note.notes),
      ...text(options.terms, false, true)
    ]
  }
}

/** Rows for payments and credits since the issue, and the balance. */
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

/** Bank details as rows; empty if not configured. */
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

const dueLater = ({ status, total }: InvoiceRow, words: Words, money: Money): ReadonlyArray<Block> =>
  status === "voided" ? [] : text(withValues(words.due_once_invoiced, { amount: money(total) }), true)

/** Due date and ways to pay. Omitted on drafts and on voided or settled invoices. */
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
        ? withValues(words.pay, { amount: money(amount_outstanding) })
        : withValues(words.pay_by, { amount: money(amount_outstanding), date: due }),
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

// Input of documents, read from the store and the settings.

const inOrder = { order: ["sort_order", "id"] }

/** Document options from settings, customer and store. */
export const paperOptions = Effect.fnUntraced(function* (
  { member_id, store_id }: { readonly member_id: number | null; readonly store_id: number | null },
  settings: Settings
): Store.Reads<PaperOptions> {
  const set = (key: string): string | null => settingText(settings, "invoicing", key).trim() || null
  const member = member_id === null ? undefined : yield* Store.get(members, member_id)
  const place = store_id === null ? undefined : yield* Store.get(stores, store_id)
  return {
    // The customer's language, else the company's, with days in the store's time zone, else the company's.
    language: paperLanguage(member?.locale || settingText(settings, "company", "locale")),
    zone: zoneOf(place?.timezone || settingText(settings, "company", "timezone")),
    base_currency: baseCurrency(settings),
    page_size: set("page_size") === "LETTER" ? "LETTER" : "A4",
    accent: set("accent"),
    intro: null,
    terms: set("terms"),
    footer: set("footer"),
    account_holder: set("account_holder"),
    bank_name: set("bank_name"),
    iban: set("iban"),
    bic: set("bic"),
    payment_link: set("payment_link"),
    logo_sha256: null
  }
})

/** Buyer and seller as stored with the document; a draft has the current ones. */
const partiesOf = Effect.fnUntraced(function* (
  invoice: Pick<InvoiceRow, "billed_by" | "billed_to" | "member_id" | "store_id">,
  settings: Settings
) {
  return {
    billed_to: invoice.billed_to ?? (yield* buyerOf(invoice.member_id)),
    billed_by: invoice.billed_by ?? (yield* sellerOf(invoice.store_id, settings))
  }
})

/** The same as `seller` and `buyer`, with an empty party where there is none. */
const namedParties = Effect.fnUntraced(function* (
  row: Parameters<typeof partiesOf>[0],
  settings: Settings
): Store.Reads<{ readonly seller: NamedParty; readonly buyer: NamedParty }> {
  const { billed_by, billed_to } = yield* partiesOf(row, settings)
  return { seller: billed_by ?? nobody, buyer: billed_to ?? nobody }
})

/** A row that deducts a deposit, in the customer's language and with the date as elsewhere, unless it was renamed. */
const inWords = (item: InvoiceItemRow, deposits: ReadonlyArray<InvoiceRow>, options: PaperOptions): InvoiceItemRow => {
  const deposit = deposits.find(({ id }) => id === item.deposit_invoice_id)
  const { issued_at = null, number = null } = deposit ?? {}
  if (issued_at === null || number === null) return item
  const named = (language: string, date: string): string =>
    withValues(wordsOf(language).deposit_invoiced, { number, date })
  // Checkouts name these rows with a plain date; earlier ones always in English.
  return ["en", options.language].some((language) => item.name === named(language, issued_at.slice(0, 10)))
    ? { ...item, name: named(options.language, dayText(issued_at, options) ?? "") }
    : item
}

/** Why rows bear no VAT, as the e-invoice states it (rules/billing 1.7). */
const exemptionsOf = Effect.fnUntraced(function* (
  items: Parameters<typeof exemptionReasons>[0] & Parameters<typeof vatReportsNow>[0],
  kept: InvoiceRow["vat_reports"],
  settings: Settings,
  { language }: PaperOptions
) {
  const { outside_vat, reverse_charge } = wordsOf(language)
  const rates = ratesReported(kept, yield* vatReportsNow(items, settings))
  return exemptionReasons(items, rates, { AE: reverse_charge, O: outside_vat })
})

/** Input of an invoice document, with the branding of `options`. */
export const invoicePaper = Effect.fnUntraced(function* (
  invoice: InvoiceRow,
  settings: Settings,
  options: PaperOptions
): Store.Reads<InvoicePaper> {
  const order = invoice.opportunity_id === null ? undefined : yield* Store.get(opportunities, invoice.opportunity_id)
  const items = yield* Store.find(invoice_items, { invoice_id: invoice.id }, inOrder)
  const deposits = yield* Store.getMany(
    invoices,
    items.flatMap(({ deposit_invoice_id: id }) => id ?? [])
  )
  return {
    invoice,
    items: items.map((item) => inWords(item, deposits, options)),
    ...(yield* namedParties(invoice, settings)),
    order: order === undefined ? null : { number: order.number, subject: order.subject },
    period: items.some(({ opportunity_item_id }) => opportunity_item_id !== null)
      ? null
      : (invoice.billed_by?.einvoice ?? (yield* eInvoiceFactsNow(invoice, settings))).hire,
    exemptions: yield* exemptionsOf(
      items.filter(({ item_type }) => item_type !== "text"),
      invoice.vat_reports,
      settings,
      options
    ),
    options
  }
})

export const creditNotePaper = Effect.fnUntraced(function* (
  credit_note: CreditNoteRow,
  settings: Settings,
  options: PaperOptions
): Store.Reads<CreditNotePaper> {
  const invoice = yield* Store.get(invoices, credit_note.invoice_id)
  const items = yield* Store.find(credit_note_items, { credit_note_id: credit_note.id }, inOrder)
  return {
    credit_note,
    items,
    exemptions: yield* exemptionsOf(items, invoice?.vat_reports ?? null, settings, options),
    invoice: { number: invoice?.number ?? null, issued_at: invoice?.issued_at ?? null },
    ...(yield* namedParties(credit_note, settings)),
    options
  }
})

const plain = (name: string): string => name.replace(/[^\w.-]+/g, "-")
/** File name of an invoice: `invoice-0000000042`; a draft's has its id. */
export const invoiceFileName = ({ id, number }: Pick<InvoiceRow, "id" | "number">): string =>
  `invoice-${plain(number ?? `draft-${id}`)}`
export const creditNoteFileName = ({ id, number }: Pick<CreditNoteRow, "id" | "number">): string =>
  `credit-note-${plain(number ?? String(id))}`
