/** The rows of an invoice or credit note, as a table. */
import { type Column, plain, type Row, type Table } from "../../pricing/print/blocks.ts"
import { dateText, moneyText, percentText, quantityText } from "../../pricing/print/format.ts"
import { formatMoney } from "../../values/money.ts"
import { dayOf } from "../../values/time.ts"
import type { InvoiceItemRow } from "../state/tables.ts"
import { wordsOf } from "./words.ts"

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
  /** It takes a deposit off that was billed before. */
  readonly takes_deposit: boolean
}
interface Written {
  readonly language: string
  readonly zone: string
}
type Window = Pick<PaperLine, "starts_at" | "ends_at">

/** The window that most lines have: it stands at the head, and lines that differ show their own. */
export const hireOf = <W extends Window>(lines: ReadonlyArray<W>): W | undefined => {
  const hired = lines.filter(({ ends_at, starts_at }) => starts_at !== null || ends_at !== null)
  const by_window = Map.groupBy(hired, ({ ends_at, starts_at }) => `${starts_at} ${ends_at}`)
  return [...by_window.values()].toSorted((a, b) => b.length - a.length)[0]?.[0]
}

/** A mark that is not seen: below a note in Arabic the first day would stand to the right of the last. */
export const shown_left_to_right = "\u200e"

/** From a day to a day; times of the day are the delivery's matter. */
export const windowText = ({ ends_at, starts_at }: Window, { language, zone }: Written): string =>
  [
    ...new Set(
      [starts_at, ends_at].flatMap((instant) =>
        instant === null ? [] : [dateText(dayOf(Date.parse(instant), zone), language)]
      )
    )
  ].join(" – ")

/** Prices with tax in them add up to amounts with tax in them: such a document shows both with tax. */
export const linesTable = (
  lines: ReadonlyArray<PaperLine>,
  common: Window | undefined,
  { currency_code, prices_include_tax }: { readonly currency_code: string; readonly prices_include_tax: boolean },
  written: Written
): Table => {
  const { language } = written
  const words = wordsOf(language)
  const discounted = lines.some(({ discount_amount }) => discount_amount !== 0)
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
    const cells = [
      quantityText(line.quantity, language),
      money(line.unit_price),
      ...(discounted ? [discountText(line, money, language)] : []),
      line.tax_rate === null ? "" : percentText(line.tax_rate, language),
      money(prices_include_tax ? line.total : line.subtotal)
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

const discountText = (line: PaperLine, money: (minor: number) => string, language: string): string =>
  line.discount_percent !== null && !/^0(\.0+)?$/.test(line.discount_percent)
    ? percentText(line.discount_percent, language)
    : line.discount_amount === 0
      ? ""
      : money(line.discount_amount)

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
