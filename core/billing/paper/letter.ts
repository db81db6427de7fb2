/** Common parts of letters: header with both parties, footer, table of lines, tax sums. Pure. */
import type { Block, Column, Page, PrintDocument, Row, Table } from "../../pricing/print/blocks.ts"
import { plain } from "../../pricing/print/blocks.ts"
import { dateText, moneyText, pageLabel, percentText, quantityText } from "../../pricing/print/format.ts"
import { countries } from "../../values/country.ts"
import { compareDecimals, exact, roundHalfAway } from "../../values/decimal.ts"
import { convertMoney, formatMoney, scaleOf, timesMoney } from "../../values/money.ts"
import { dayOf } from "../../values/time.ts"
import type { InvoiceItemRow, NamedParty, TaxSummaryRow } from "../state/tables.ts"
import { type Words, wordsOf } from "./words.ts"
import { withValues } from "../../values/text.ts"

/** Document settings of company and customer. */
export interface PaperOptions {
  /** BCP 47 tag of a supported language. */
  readonly language: string
  readonly zone: string
  readonly base_currency: string
  readonly page_size: Page["size"]
  readonly accent: string | null
  /** Text above the lines. */
  readonly intro: string | null
  readonly terms: string | null
  readonly footer: string | null
  readonly account_holder: string | null
  readonly bank_name: string | null
  readonly iban: string | null
  readonly bic: string | null
  readonly payment_link: string | null
  /** Hash of the logo; its content is passed when rendering. */
  readonly logo_sha256: string | null
}
export interface Parties {
  readonly seller: NamedParty
  readonly buyer: NamedParty
  readonly options: PaperOptions
}
type Pair = { readonly label: string; readonly value: string }
export const pairs = (
  given: ReadonlyArray<readonly [label: string, value: string | null | undefined]>
): ReadonlyArray<Pair> => given.flatMap(([label, value]) => (value == null || value === "" ? [] : [{ label, value }]))
const day = (instant: string, { zone }: PaperOptions): string => dayOf(Date.parse(instant), zone)
export const dayText = (instant: string | null, options: PaperOptions): string | null =>
  instant === null ? null : dateText(day(instant, options), options.language)

export const shownMoney = (minor: number, currency: string, { language }: PaperOptions): string =>
  moneyText(formatMoney(minor, currency), currency, language)

export const frame = (
  { options, seller }: Parties,
  title: string,
  dated_at: string
): Omit<PrintDocument, "blocks"> => ({
  format: "flightcase.document",
  version: 2,
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
export const addressLines = (
  party: Pick<NamedParty, "street" | "postcode" | "city" | "county" | "country_code">,
  home?: string | null
): ReadonlyArray<string> =>
  [
    ...(party.street ?? "").split("\n"),
    [party.postcode, party.city].filter(Boolean).join(" "),
    party.county ?? "",
    party.country_code === null || home === undefined || party.country_code === home
      ? ""
      : countryName(party.country_code)
  ].filter((line) => line.trim() !== "")

/** Sender and buyer to the left, in the envelope's window; document data to the right. */
export const head = ({ buyer, options, seller }: Parties, rows: ReadonlyArray<Pair>): Block => ({
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

export const text = (given: string | null, bold = false, small = false): ReadonlyArray<Block> =>
  given === null || given.trim() === ""
    ? []
    : [{ kind: "paragraph", runs: [{ text: given, ...(bold ? { bold } : {}) }], ...(small ? { small } : {}) }]

export type Money = (minor: number) => string
export const taxRows = (
  summary: ReadonlyArray<TaxSummaryRow>,
  words: Words,
  money: Money,
  { language }: PaperOptions
) =>
  summary.map(({ net, rate, tax, tax_rate_name }) => ({
    label: `${tax_rate_name || words.tax} ${percentText(rate, language)} ${withValues(words.on, { net: money(net) })}`,
    value: money(tax)
  }))

/** Note of the tax in the accounting currency, if it differs (Directive 2006/112/EC, article 230). */
export const foreignTax = (
  row: { readonly currency_code: string; readonly exchange_rate: string; readonly tax_total: number },
  words: Words,
  options: PaperOptions
): ReadonlyArray<Block> => {
  const { base_currency, language } = options
  if (row.currency_code === base_currency || row.tax_total === 0) return []
  const amount = convertMoney(row.tax_total, row.currency_code, base_currency, row.exchange_rate)
  return text(
    withValues(words.tax_in, {
      amount: moneyText(formatMoney(amount, base_currency), base_currency, language),
      rate: row.exchange_rate.replace(/0+$/, "").replace(/\.$/, "")
    }),
    false,
    true
  )
}

// The rows of an invoice or credit note, as a table.

export interface PaperLine extends Pick<
  InvoiceItemRow,
  | "item_type"
  | "name"
  | "description"
  | "quantity"
  | "unit_price"
  | "discount_percent"
  | "discount_amount"
  | "subtotal"
  | "total"
  | "tax_rate"
  | "starts_at"
  | "ends_at"
> {
  /** Whether the line deducts an earlier deposit. */
  readonly takes_deposit: boolean
}
interface Written {
  readonly language: string
  readonly zone: string
}
type Window = Pick<PaperLine, "starts_at" | "ends_at">

/** The most frequent hire period, printed in the header; lines with another one print their own. */
export const hireOf = <W extends Window>(lines: ReadonlyArray<W>): W | undefined => {
  const hired = lines.filter(({ ends_at, starts_at }) => starts_at !== null || ends_at !== null)
  const by_window = Map.groupBy(hired, ({ ends_at, starts_at }) => `${starts_at} ${ends_at}`)
  return [...by_window.values()].toSorted((a, b) => b.length - a.length)[0]?.[0]
}

/** An invisible left-to-right mark: below a note in Arabic, dates would otherwise appear in reverse order. */
export const shown_left_to_right = "\u200e"

/** Date range of a hire period without times, which are printed with the delivery. */
export const windowText = ({ ends_at, starts_at }: Window, { language, zone }: Written): string =>
  [
    ...new Set(
      [starts_at, ends_at].flatMap((instant) =>
        instant === null ? [] : [dateText(dayOf(Date.parse(instant), zone), language)]
      )
    )
  ].join(" – ")

/** A discount without a percentage is the rounding of a price made of the net. */
export const isDiscounted = ({ discount_percent }: Pick<PaperLine, "discount_percent">): boolean =>
  discount_percent !== null && compareDecimals(discount_percent, "0") > 0

const decimals_more_max = 6
/** Price of one unit: with as many decimals as it takes to give the amount, if it was rounded. */
const priceOf = (line: PaperLine, amount: number, currency: string): string => {
  if (isDiscounted(line) || Number(timesMoney(line.unit_price, line.quantity)) === amount)
    return formatMoney(line.unit_price, currency)
  const price = exact(amount).dividedBy(exact(line.quantity))
  let more = 0
  while (more < decimals_more_max && !roundHalfAway(roundHalfAway(price, more).times(line.quantity)).equals(amount))
    more++
  const scale = scaleOf(currency)
  return price.dividedBy(exact(10).pow(scale)).toFixed(scale + more)
}

/** Table of lines. If prices include tax, amounts do, too, so that they add up. */
export const linesTable = (
  lines: ReadonlyArray<PaperLine>,
  common: Window | undefined,
  { currency_code, prices_include_tax }: { readonly currency_code: string; readonly prices_include_tax: boolean },
  written: Written
): Table => {
  const { language } = written
  const words = wordsOf(language)
  const discounted = lines.some(isDiscounted)
  const money = (minor: number): string => moneyText(formatMoney(minor, currency_code), currency_code, language)
  const ownWindow = (line: PaperLine): string =>
    common?.starts_at === line.starts_at && common.ends_at === line.ends_at
      ? ""
      : shown_left_to_right + windowText(line, written)
  const rowOf = (line: PaperLine): Row => {
    const note = [line.description, ownWindow(line)]
      .filter((one) => one !== null && one !== "" && one !== shown_left_to_right)
      .join("\n")
    const has_money = line.item_type !== "text"
    const amount = prices_include_tax ? line.total : line.subtotal
    const cells = [
      quantityText(line.quantity, language),
      moneyText(priceOf(line, amount, currency_code), currency_code, language),
      ...(discounted ? [isDiscounted(line) ? percentText(line.discount_percent ?? "", language) : ""] : []),
      line.tax_rate === null ? "" : percentText(line.tax_rate, language),
      money(amount)
    ]
    return {
      kind: "row",
      cells: [
        { runs: plain(line.name), ...(note === "" ? {} : { note }) },
        ...cells.map((shown) => ({ runs: plain(has_money ? shown : "") }))
      ]
    }
  }
  const deposits = lines.filter(({ takes_deposit }) => takes_deposit)
  return {
    kind: "table",
    caption: words.description,
    striped: true,
    columns: columnsOf(discounted, prices_include_tax, language),
    rows: [
      ...lines.filter(({ takes_deposit }) => !takes_deposit).map(rowOf),
      ...(deposits.length === 0 ? [] : [{ kind: "group" as const, text: words.deposits }, ...deposits.map(rowOf)])
    ]
  }
}

const columnsOf = (discounted: boolean, prices_include_tax: boolean, language: string): ReadonlyArray<Column> => {
  const words = wordsOf(language)
  const ends = (title: string, share: number): Column => ({ title, share, alignment: "end" })
  return [
    { title: words.description, share: discounted ? 4.2 : 5 },
    ends(words.quantity, 1),
    ends(prices_include_tax ? words.unit_price_gross : words.unit_price, 1.7),
    ...(discounted ? [ends(words.discount, 1.1)] : []),
    ends(words.tax, 0.9),
    ends(prices_include_tax ? words.gross : words.net, 1.8)
  ]
}
