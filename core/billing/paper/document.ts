/**
 * Invoices and credit notes as documents. Pure: what an issued one says comes from its frozen rows and parties, so that
 * drawing it again gives the same pages; only what was paid and credited since is as it is now (rules/billing 1.3).
 */
import type { Block, Page, PrintDocument } from "../../print/blocks.ts"
import { plain } from "../../print/blocks.ts"
import { dateText, moneyText, pageLabel, percentText } from "../../print/format.ts"
import { countries } from "../../reference-data/country-list.ts"
import { convertMoney } from "../../values/exchange.ts"
import { formatMoney } from "../../values/money.ts"
import { dayOf } from "../../values/zone.ts"
import type {
  CreditNoteItemRow,
  CreditNoteRow,
  InvoiceItemRow,
  InvoiceRow,
  NamedParty,
  TaxSummaryRow
} from "../schema.ts"
import { linesTable, type PaperLine, windowText } from "./lines.ts"
import { epcCode, paymentLink, spacedIban } from "./pay.ts"
import { filled, type Words, wordsOf } from "./words.ts"

/** What settings and the customer say about how documents look. */
export interface PaperOptions {
  /** BCP 47, one that there are words for. */
  readonly language: string
  readonly zone: string
  readonly base_currency: string
  readonly page_size: Page["size"]
  readonly accent: string | null
  readonly terms: string | null
  readonly footer: string | null
  readonly account_holder: string | null
  readonly bank_name: string | null
  readonly iban: string | null
  readonly bic: string | null
  readonly payment_link: string | null
  /** The picture's hash; its content is given when the document is drawn. */
  readonly logo_sha256: string | null
}
interface Parties {
  readonly seller: NamedParty
  readonly buyer: NamedParty
  readonly options: PaperOptions
}
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

type Pair = { readonly label: string; readonly value: string }
const pairs = (given: ReadonlyArray<readonly [label: string, value: string | null | undefined]>): ReadonlyArray<Pair> =>
  given.flatMap(([label, value]) => (value == null || value === "" ? [] : [{ label, value }]))
const day = (instant: string, { zone }: PaperOptions): string => dayOf(Date.parse(instant), zone)
const dayText = (instant: string | null, options: PaperOptions, form: "figures" | "long" = "long"): string | null =>
  instant === null ? null : dateText(day(instant, options), options.language, form)

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
      ...text(credit_note.notes)
    ]
  }
}

const shownMoney = (minor: number, currency: string, { language }: PaperOptions): string =>
  moneyText(formatMoney(minor, currency), currency, language)

const frame = ({ options, seller }: Parties, title: string, dated_at: string): Omit<PrintDocument, "blocks"> => ({
  format: "flightcase.document",
  version: 1,
  title,
  language: options.language,
  ...(seller.name === "" ? {} : { author: seller.name }),
  dated_at,
  page: { size: options.page_size },
  header: { start: plain(seller.name), end: plain(title) },
  footer: { lines: footerLines(seller, options), page_label: pageLabel(options.language) },
  ...(options.accent === null || !/^#[0-9a-f]{6}$/.test(options.accent) ? {} : { accent: options.accent })
})

const footerLines = (seller: NamedParty, options: PaperOptions): ReadonlyArray<string> => {
  const own = (options.footer ?? "").split("\n").filter((line) => line.trim() !== "")
  if (own.length > 0) return own.slice(0, 6).map((line) => line.slice(0, 2_000))
  const words = wordsOf(options.language)
  const numbers = pairs([
    [words.tax_number, seller.tax_number],
    [words.registration, seller.registration_number]
  ]).map(({ label, value }) => `${label} ${value}`)
  return [
    [seller.name, ...addressLines(seller)],
    [...numbers, seller.email, seller.phone]
  ]
    .map((parts) => parts.filter((part) => part !== null && part !== "").join(" · "))
    .filter((line) => line !== "")
}

const countryName = (code: string): string => countries.find((one) => one.code === code)?.name ?? code
const addressLines = (party: NamedParty, home?: string | null): ReadonlyArray<string> =>
  [
    ...(party.street ?? "").split("\n"),
    [party.postcode, party.city].filter(Boolean).join(" "),
    party.county ?? "",
    party.country_code === null || home === undefined || party.country_code === home
      ? ""
      : countryName(party.country_code)
  ].filter((line) => line.trim() !== "")

/** Sender and buyer to the left, where the window of an envelope is; what identifies the document to the right. */
const head = ({ buyer, options, seller }: Parties, rows: ReadonlyArray<Pair>): Block => ({
  kind: "columns",
  columns: [
    {
      share: 1.2,
      blocks: [
        ...(options.logo_sha256 === null
          ? []
          : [
              {
                kind: "image" as const,
                picture: { sha256: options.logo_sha256 },
                alt: seller.name,
                width_mm: 46,
                height_max_mm: 18
              }
            ]),
        ...text([seller.name, ...addressLines(seller)].filter((part) => part !== "").join(", "), false, true),
        {
          kind: "paragraph",
          runs: [
            { text: buyer.name, bold: true },
            {
              text: addressLines(buyer, seller.country_code)
                .map((line) => `\n${line}`)
                .join("")
            }
          ]
        }
      ]
    },
    { share: 1, blocks: [{ kind: "key_values", rows }] }
  ]
})

const text = (given: string | null, bold = false, small = false): ReadonlyArray<Block> =>
  given === null || given.trim() === ""
    ? []
    : [{ kind: "paragraph", runs: [{ text: given, ...(bold ? { bold } : {}) }], ...(small ? { small } : {}) }]

/** The window that most lines have: it stands at the head, and lines that differ show their own. */
const hireOf = (lines: ReadonlyArray<PaperLine>): PaperLine | undefined => {
  const hired = lines.filter(({ ends_at, starts_at }) => starts_at !== null || ends_at !== null)
  const by_window = Map.groupBy(hired, ({ ends_at, starts_at }) => `${starts_at} ${ends_at}`)
  return [...by_window.values()].toSorted((a, b) => b.length - a.length)[0]?.[0]
}

type Money = (minor: number) => string
const taxRows = (summary: ReadonlyArray<TaxSummaryRow>, words: Words, money: Money, { language }: PaperOptions) =>
  summary.map(({ net, rate, tax, tax_rate_name }) => ({
    label: `${tax_rate_name || words.tax} ${percentText(rate, language)} ${filled(words.on, { net: money(net) })}`,
    value: money(tax)
  }))

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

/** Tax in the currency it is accounted for in, where that is another (Directive 2006/112/EC, article 230). */
const foreignTax = (
  row: { readonly currency_code: string; readonly exchange_rate: string; readonly tax_total: number },
  words: Words,
  options: PaperOptions
): ReadonlyArray<Block> => {
  const { base_currency, language } = options
  if (row.currency_code === base_currency || row.tax_total === 0) return []
  const amount = convertMoney(row.tax_total, row.currency_code, base_currency, row.exchange_rate)
  return text(
    filled(words.tax_in, {
      amount: moneyText(formatMoney(amount, base_currency), base_currency, language),
      rate: row.exchange_rate.replace(/0+$/, "").replace(/\.$/, "")
    }),
    false,
    true
  )
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
