/**
 * Business rules of EN 16931-1 that our invoices can meet or break, and those of Peppol BIS Billing 3 for UBL, written
 * from the standards' text over the parsed XML. official.long.test.ts runs the official checks where available.
 */
import { Decimal } from "decimal.js"
import type { ReadInvoice, ReadLine, ReadParty } from "./semantic.ts"

type Broken = readonly [rule: string, is_broken: boolean]
const num = (text: string | undefined): Decimal => new Decimal(text ?? "0")
const sum = (all: ReadonlyArray<string | undefined>): Decimal =>
  all.reduce((total, one) => total.plus(num(one)), num("0"))
const blank = (text: string | undefined): boolean => text === undefined || text.trim() === ""
const day = /^\d{4}-\d\d-\d\d$/

/** Names of the rules that the invoice breaks. */
export const brokenRules = (invoice: ReadInvoice): ReadonlyArray<string> => [
  ...new Set(
    [
      ...headRules(invoice),
      ...partyRules(invoice),
      ...invoice.lines.flatMap((line) => lineRules(line, invoice)),
      ...sumRules(invoice),
      ...invoice.vat.flatMap((vat) => categoryRules(vat.category ?? "", invoice)),
      ...decimalRules(invoice),
      ...(invoice.form === "ubl" ? peppolRules(invoice) : facturxRules(invoice))
    ]
      .filter(([, is_broken]) => is_broken)
      .map(([rule]) => rule)
  )
]

const headRules = (one: ReadInvoice): ReadonlyArray<Broken> => [
  ["BR-01", blank(one.specification)],
  ["BR-02", blank(one.number)],
  ["BR-03", !day.test(one.issue_date ?? "")],
  ["BR-04", blank(one.code)],
  ["BR-05", !/^[A-Z]{3}$/.test(one.currency ?? "")],
  ["BR-12", blank(one.line_total)],
  ["BR-13", blank(one.without_vat)],
  ["BR-14", blank(one.with_vat)],
  ["BR-15", blank(one.due)],
  ["BR-16", one.lines.length === 0],
  ["BR-29", one.period !== undefined && (one.period.last ?? "9") < (one.period.first ?? "0")],
  ["BR-49", one.account !== undefined && blank(one.means)],
  ["BR-53", (one.accounting_currency === undefined) !== (one.accounting_tax === undefined)],
  ["BR-55", one.preceding.some(({ number }) => blank(number))],
  ["BR-61", (one.means === "30" || one.means === "58") && blank(one.account)],
  ["BR-CO-19", one.period !== undefined && blank(one.period.first) && blank(one.period.last)],
  ["BR-CO-25", num(one.due).greaterThan(0) && blank(one.due_date) && blank(one.terms)],
  ["BR-CL-01", !["380", "386", "381"].includes(one.code ?? "")],
  ["BT-25 of a credit note", one.code === "381" && one.preceding.length !== 1]
]
const partyRules = ({ buyer, seller }: ReadInvoice): ReadonlyArray<Broken> => [
  ["BR-06", blank(seller.name)],
  ["BR-07", blank(buyer.name)],
  ["BR-08", !seller.has_address],
  ["BR-09", !/^[A-Z]{2}$/.test(seller.country ?? "")],
  ["BR-10", !buyer.has_address],
  ["BR-11", !/^[A-Z]{2}$/.test(buyer.country ?? "")],
  ["BR-62", seller.endpoint !== undefined && blank(seller.endpoint_scheme)],
  ["BR-63", buyer.endpoint !== undefined && blank(buyer.endpoint_scheme)],
  ["BR-CO-09", [seller, buyer].some(({ vat_id }) => vat_id !== undefined && !/^[A-Z]{2}/.test(vat_id))],
  ["BR-CO-26", blank(seller.registration) && blank(seller.vat_id)]
]
const lineRules = (line: ReadLine, { period }: ReadInvoice): ReadonlyArray<Broken> => [
  ["BR-21", blank(line.id)],
  ["BR-22", blank(line.quantity)],
  ["BR-23", line.unit !== "C62"],
  ["BR-24", blank(line.net)],
  ["BR-25", blank(line.name)],
  ["BR-26", blank(line.price)],
  ["BR-27", num(line.price).lessThan(0)],
  ["BR-30", line.period !== undefined && (line.period.last ?? "9") < (line.period.first ?? "0")],
  ["BR-41", line.allowances.some(({ amount }) => blank(amount))],
  ["BR-42", line.allowances.some(({ reason }) => blank(reason))],
  ["BR-CO-04", blank(line.category)],
  ["PEPPOL-EN16931-R110", line.period !== undefined && (line.period.first ?? "") < (period?.first ?? "9")],
  ["PEPPOL-EN16931-R111", line.period !== undefined && (line.period.last ?? "9") > (period?.last ?? "")],
  [
    "PEPPOL-EN16931-R120",
    num(line.price)
      .dividedBy(line.price_quantity === undefined ? 1 : num(line.price_quantity))
      .times(num(line.quantity))
      .minus(sum(line.allowances.map(({ amount }) => amount)))
      .minus(num(line.net))
      .abs()
      .greaterThan("0.02")
  ],
  ["PEPPOL-EN16931-R121", line.price_quantity !== undefined && !num(line.price_quantity).greaterThan(0)],
  [
    "PEPPOL-EN16931-R040",
    line.allowances.some(
      ({ amount, base, percent }) =>
        percent !== undefined &&
        num(base).times(num(percent)).dividedBy(100).minus(num(amount)).abs().greaterThan("0.02")
    )
  ]
]

const sumRules = (one: ReadInvoice): ReadonlyArray<Broken> => [
  ["BR-CO-10", !sum(one.lines.map(({ net }) => net)).equals(num(one.line_total))],
  ["BR-CO-13", !num(one.line_total).equals(num(one.without_vat))],
  ["BR-CO-14", !sum(one.vat.map(({ tax }) => tax)).equals(num(one.tax))],
  ["BR-CO-15", !num(one.without_vat).plus(num(one.tax)).equals(num(one.with_vat))],
  ["BR-CO-16", !num(one.with_vat).equals(num(one.due))],
  ["BR-CO-18", one.vat.length === 0],
  ["BR-45", one.vat.some(({ net }) => blank(net))],
  ["BR-46", one.vat.some(({ tax }) => blank(tax))],
  ["BR-47", one.vat.some(({ category }) => blank(category))],
  ["BR-48", one.vat.some(({ category, rate }) => category !== "O" && blank(rate))],
  ["groups are distinct", new Set(one.vat.map(groupOf)).size !== one.vat.length],
  ["BR-CO-17", one.vat.some((vat) => missedBy(vat).greaterThanOrEqualTo(1))],
  ...one.vat.map((vat): Broken => [
    `BR-${codeOf(vat.category)}-08`,
    !sum(one.lines.filter((line) => groupOf(line) === groupOf(vat)).map(({ net }) => net)).equals(num(vat.net))
  ])
]
interface Grouped {
  readonly category: string | undefined
  readonly rate: string | undefined
}
const groupOf = ({ category, rate }: Grouped): string => `${category} ${rate === undefined ? "" : num(rate).toFixed()}`
/** Difference between a group's tax and its net times its rate; the official check allows less than 1. */
export const missedBy = (vat: ReadInvoice["vat"][number]): Decimal =>
  num(vat.net).times(num(vat.rate)).dividedBy(100).toDecimalPlaces(2, Decimal.ROUND_HALF_UP).minus(num(vat.tax)).abs()

const codeOf = (category: string | undefined): string => category ?? "?"
const hasSellerNumber = ({ tax_registration, vat_id }: ReadParty): boolean => !blank(vat_id) || !blank(tax_registration)
const categoryRules = (category: string, one: ReadInvoice): ReadonlyArray<Broken> => {
  const lines = one.lines.filter((line) => line.category === category)
  const groups = one.vat.filter((vat) => vat.category === category)
  const rates = [...lines, ...groups].map(({ rate }) => rate)
  const is_explained = groups.every(({ reason, reason_code }) => !blank(reason) || !blank(reason_code))
  const free: ReadonlyArray<Broken> = [
    [`BR-${category}-05`, rates.some((rate) => blank(rate) || !num(rate).equals(0))],
    [`BR-${category}-09`, groups.some(({ tax }) => !num(tax).equals(0))],
    [`BR-${category}-01`, groups.length !== 1]
  ]
  const numbered: Broken = [`BR-${category}-02`, !hasSellerNumber(one.seller)]
  switch (category) {
    case "S":
      return [
        numbered,
        ["BR-S-05", rates.some((rate) => blank(rate) || !num(rate).greaterThan(0))],
        ["BR-S-10", groups.some(({ reason, reason_code }) => !blank(reason) || !blank(reason_code))]
      ]
    case "Z":
      return [
        numbered,
        ...free,
        ["BR-Z-10", groups.some(({ reason, reason_code }) => !blank(reason) || !blank(reason_code))]
      ]
    case "E":
      return [numbered, ...free, ["BR-E-10", !is_explained]]
    case "AE":
      return [
        ["BR-AE-02", !hasSellerNumber(one.seller) || (blank(one.buyer.vat_id) && blank(one.buyer.registration))],
        ...free,
        ["BR-AE-10", !is_explained]
      ]
    case "O":
      return [
        ["BR-O-02", [one.seller, one.buyer].some(({ vat_id }) => vat_id !== undefined)],
        ["BR-O-05", rates.some((rate) => rate !== undefined)],
        ["BR-O-09", groups.some(({ tax }) => !num(tax).equals(0))],
        ["BR-O-10", !is_explained],
        ["BR-O-11", one.vat.length !== 1]
      ]
    default:
      return [[`category ${category}`, true]]
  }
}

/** Amounts have at most two decimals; prices may have more. */
const decimalRules = (one: ReadInvoice): ReadonlyArray<Broken> => {
  const amounts = [
    one.line_total,
    one.without_vat,
    one.tax,
    one.with_vat,
    one.due,
    one.accounting_tax,
    ...one.lines.flatMap((line) => [line.net, ...line.allowances.flatMap(({ amount, base }) => [amount, base])]),
    ...one.vat.flatMap(({ net, tax }) => [net, tax])
  ]
  return [["BR-DEC", amounts.some((text) => text !== undefined && !/^-?\d+(\.\d{1,2})?$/.test(text))]]
}
const peppolRules = (one: ReadInvoice): ReadonlyArray<Broken> => [
  ["PEPPOL-EN16931-R001", blank(one.process)],
  ["PEPPOL-EN16931-R002", one.notes > 1],
  ["PEPPOL-EN16931-R003", blank(one.buyer_reference) && blank(one.order_reference)],
  ["PEPPOL-EN16931-R005", one.accounting_currency === one.currency],
  ["PEPPOL-EN16931-R010", blank(one.buyer.endpoint)],
  ["PEPPOL-EN16931-R020", blank(one.seller.endpoint)]
]
const facturxRules = (one: ReadInvoice): ReadonlyArray<Broken> => [
  ["BR-FX-EN-04", blank(one.delivery_date) && one.period === undefined]
]
