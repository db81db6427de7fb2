/** Amounts and prices by EN 16931: amounts have at most two decimals, and prices are never negative. */
import type { NamedParty, VatReport } from "../state/tables.ts"
import { compareDecimals, exact, formatDecimal, fromScaled } from "../../values/decimal.ts"
import { formatMoney, scaleOf, timesMoney } from "../../values/money.ts"

// An electronic invoice in the terms of EN 16931 (BT and BG numbers are the standard's). Both formats are written from
// it without decisions: amounts are decimal strings, codes are final, absent values are null.

/** UBL for Peppol, or CII for Factur-X and ZUGFeRD. */
export type EInvoiceForm = "ubl" | "cii"
/** Standard rate, zero rate, exempt, reverse charge, not subject to VAT (BT-118, BT-151). */
export type VatCategory = "S" | "Z" | "E" | "AE" | "O"

/** Electronic address: an id in a scheme of the EAS list (BT-34, BT-49). */
export interface Endpoint {
  readonly scheme: string
  readonly id: string
}
export interface Party {
  readonly name: string
  /** BT-29, BT-46: the identifier the other party uses for this one. */
  readonly identifier: string | null
  /** BT-30, BT-47: company registration number. */
  readonly registration_number: string | null
  /** BT-31, BT-48: begins with a country's prefix. */
  readonly vat_id: string | null
  /** BT-32: the seller's tax number if it is no VAT id. */
  readonly tax_registration: string | null
  readonly endpoint: Endpoint | null
  readonly street: string | null
  readonly city: string | null
  readonly postcode: string | null
  readonly county: string | null
  readonly country_code: string
  readonly phone: string | null
  readonly email: string | null
}
/** Plain dates, both inclusive. */
export interface DatePeriod {
  readonly first: string
  readonly last: string
}
/** BG-27: a discount of one line. */
interface LineAllowance {
  readonly amount: string
  readonly base: string
  readonly percent: string | null
}
export interface Line {
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** Negative on deductions, as prices never are (BR-27). */
  readonly quantity: string
  /** BT-131: line amount without VAT. */
  readonly net: string
  /** BT-146, without VAT: of one unit, or of `price_quantity` units. */
  readonly price: string
  /** BT-149: quantity the price is for; null for one unit. */
  readonly price_quantity: string | null
  readonly allowance: LineAllowance | null
  readonly category: VatCategory
  /** Percentage; null if not subject to VAT. */
  readonly rate: string | null
  readonly period: DatePeriod | null
}
/** BG-23: one per category and rate. */
export interface VatGroup {
  readonly category: VatCategory
  readonly rate: string | null
  readonly net: string
  readonly tax: string
  readonly reason: string | null
  readonly reason_code: string | null
}
export interface EInvoice {
  readonly number: string
  readonly code: "380" | "386" | "381"
  readonly issue_date: string
  readonly due_date: string | null
  readonly currency: string
  /** BT-6 and BT-111: VAT in the seller's accounting currency, if it differs. */
  readonly accounting: { readonly currency: string; readonly tax: string } | null
  readonly note: string | null
  /** BT-10: the buyer's reference. */
  readonly buyer_reference: string | null
  /** BT-13: the buyer's purchase order. */
  readonly order_reference: string | null
  /** BG-3: the credited invoice, or the deducted deposits. */
  readonly preceding: ReadonlyArray<{ readonly number: string; readonly date: string | null }>
  /** BG-14, BT-73 and BT-74: the hire. */
  readonly period: DatePeriod | null
  /** BT-72: delivery date; null if there is a period. */
  readonly delivery_date: string | null
  readonly seller: Party
  readonly buyer: Party
  /** BG-17: the account to pay to. */
  readonly account: { readonly iban: string; readonly bic: string | null; readonly holder: string | null } | null
  /** BT-20: payment terms as text. */
  readonly payment_terms: string | null
  readonly lines: ReadonlyArray<Line>
  readonly vat: ReadonlyArray<VatGroup>
  /** BT-106 and BT-109 (net), BT-110 (tax), BT-112 and BT-115 (gross): nothing is rounded or prepaid. */
  readonly totals: { readonly net: string; readonly tax: string; readonly gross: string }
}

/** BT-81: SEPA credit transfer, or credit transfer. */
export const paymentMeansCode = (currency: string): string => (currency === "EUR" ? "58" : "30")
/** UNTDID 5189: discount. */
export const discount_code = "95"
/** Unit of every row: "one" in UN/ECE Recommendation 20. Rows have no unit, and their price covers the whole hire. */
export const unit_code = "C62"

// Input of an electronic invoice: our invoice or credit note, and related data.

/** Rows of invoices and credit notes; minor units, negative on credit notes. */
export interface SourceRow {
  readonly id: number
  readonly item_type: string
  readonly name: string
  readonly description: string | null
  readonly quantity: string
  readonly unit_price: number
  readonly discount_percent: string | null
  readonly discount_amount: number
  readonly subtotal: number
  readonly tax_rate_id: number | null
  /** Percentage; null on rows without money. */
  readonly tax_rate: string | null
  readonly tax_total: number
  readonly starts_at: string | null
  readonly ends_at: string | null
}
/** How a VAT rate is reported; if the category is null, its percentage decides. */
interface RateReport {
  readonly name: string
  readonly category: VatCategory | null
  readonly reason: string | null
}
export interface Source {
  readonly kind: "invoice" | "deposit" | "credit_note"
  readonly number: string
  readonly issued_at: string
  readonly due_at: string | null
  readonly currency_code: string
  /** Value of one unit in the base currency. */
  readonly exchange_rate: string
  readonly base_currency: string
  readonly prices_include_tax: boolean
  readonly notes: ReadonlyArray<string | null>
  readonly reference: string | null
  readonly member_id: number
  readonly subtotal: number
  readonly tax_total: number
  readonly total: number
  readonly rows: ReadonlyArray<SourceRow>
  /** The credited invoice, or the deducted deposits. */
  readonly preceding: ReadonlyArray<{ readonly number: string; readonly issued_at: string | null }>
  /** The hire, for rows without dates. */
  readonly hire: { readonly starts_at: string; readonly ends_at: string } | null
  readonly zone: string
  readonly seller: NamedParty
  readonly buyer: NamedParty
  readonly account: { readonly iban: string; readonly bic: string | null; readonly holder: string | null } | null
  readonly rates: ReadonlyMap<number, RateReport>
  /** Rows whose tax class has no rule. */
  readonly untaxed: RateReport
}

/** Decimals of amounts (BR-DEC-*); prices may have more. */
const decimals_max = 2

/** Whether the amount fits in two decimals; thousandths of a dinar do not. */
export const fits = (minor: number, currency: string): boolean =>
  minor % 10 ** Math.max(0, scaleOf(currency) - decimals_max) === 0

/** The amount as a decimal string with at most two decimals; it must pass {@link fits}. */
export const amountText = (minor: number, currency: string): string => {
  const scale = scaleOf(currency)
  return scale <= decimals_max
    ? formatMoney(minor, currency)
    : fromScaled(BigInt(Math.round(minor / 10 ** (scale - decimals_max))), decimals_max)
}

/** Drops trailing zeros: "20.0000" becomes "20". */
const plainText = (decimal: string): string =>
  decimal.includes(".") ? decimal.replace(/0+$/, "").replace(/\.$/, "") : decimal

/** Converts an amount to the base currency, with at most two decimals. */
export const inBaseCurrency = (
  minor: number,
  { base_currency, currency_code, exchange_rate }: Pick<Source, "base_currency" | "currency_code" | "exchange_rate">
): string =>
  formatDecimal(
    exact(minor)
      .dividedBy(exact(10).pow(scaleOf(currency_code)))
      .times(exact(exchange_rate)),
    Math.min(decimals_max, scaleOf(base_currency))
  )

interface LinePrice {
  readonly quantity: string
  readonly price: string
  readonly price_quantity: string | null
  readonly allowance: LineAllowance | null
}
/** Allowed difference between quantity × price and the line's amount (Peppol allows 0.02). */
const slack = exact("0.005")
const price_scales = [2, 3, 4, 6, 8] as const

/**
 * Price and quantity that give the line's net. As entered if they do; otherwise a net price derived from the net, per
 * unit if the decimals suffice, else for the whole quantity (BT-149). Negative lines have negative quantities (BR-27).
 */
export const linePrice = (
  row: SourceRow,
  net: number,
  { currency_code, prices_include_tax }: Pick<Source, "currency_code" | "prices_include_tax">
): LinePrice => {
  const quantity = plainText(row.quantity)
  const is_negative = net < 0 || (net === 0 && row.unit_price < 0)
  const signed = is_negative ? `-${quantity}` : quantity
  const amount = amountOf(Math.abs(net), currency_code)
  const price = amountOf(Math.abs(row.unit_price), currency_code)
  const before = Number(timesMoney(Math.abs(row.unit_price), row.quantity))
  const discount = Math.abs(row.discount_amount)
  // A discount without a percentage is the rounding of a price, so it is not reported as a discount.
  const is_shown = discount === 0 || (row.discount_percent !== null && !is_negative)
  const comes = is_shown && before - discount === Math.abs(net)
  const is_close = price.times(exact(quantity)).minus(amountOf(before, currency_code)).abs().lessThanOrEqualTo(slack)
  if (!prices_include_tax && comes && is_close && fits(before, currency_code) && fits(discount, currency_code)) {
    return {
      quantity: signed,
      price: formatMoney(Math.abs(row.unit_price), currency_code),
      price_quantity: null,
      allowance: discount === 0 ? null : allowanceOf(row, before, discount, currency_code)
    }
  }
  for (const scale of price_scales) {
    const unit = exact(formatDecimal(amount.dividedBy(exact(quantity)), scale))
    if (unit.times(exact(quantity)).minus(amount).abs().lessThan(slack))
      return { quantity: signed, price: unit.toFixed(scale), price_quantity: null, allowance: null }
  }
  return {
    quantity: signed,
    price: amountText(Math.abs(net), currency_code),
    price_quantity: quantity,
    allowance: null
  }
}
const amountOf = (minor: number, currency: string) => exact(minor).dividedBy(exact(10).pow(scaleOf(currency)))

/** BG-27: the discount of a line; without the percentage if rounding made it differ from the amount. */
const allowanceOf = (row: SourceRow, before: number, discount: number, currency: string): LineAllowance => {
  const percent = row.discount_percent
  const missed =
    percent === null
      ? undefined
      : amountOf(before, currency).times(exact(percent)).dividedBy(100).minus(amountOf(discount, currency))
  return {
    amount: amountText(discount, currency),
    base: amountText(before, currency),
    percent: percent === null || missed?.abs().greaterThan(slack) === true ? null : plainText(percent)
  }
}

// VAT categories of rows, and the breakdown by them (EN 16931 BG-23, BR-S-*, BR-Z-*, BR-E-*, BR-AE-*, BR-O-*).

export interface RowVat {
  readonly category: VatCategory
  /** Null if not subject to VAT. */
  readonly rate: string | null
  readonly report: RateReport
}
/**
 * VAT category and rate of each row. Rows without money take those of the first other row, to which they add nothing.
 */
export const vatOfRows = (
  rows: ReadonlyArray<Pick<SourceRow, "subtotal" | "tax_rate" | "tax_rate_id">>,
  rates: Pick<Source, "rates" | "untaxed">
): ReadonlyArray<RowVat> => {
  const rated = rows.map((row) => (row.tax_rate === null && row.subtotal === 0 ? undefined : vatOfRow(row, rates)))
  const first = rated.find((one) => one !== undefined) ?? reported(rates.untaxed, null)
  return rated.map((one) => one ?? first)
}
const vatOfRow = (
  row: Pick<SourceRow, "tax_rate" | "tax_rate_id">,
  { rates, untaxed }: Pick<Source, "rates" | "untaxed">
): RowVat => reported(row.tax_rate_id === null ? untaxed : (rates.get(row.tax_rate_id) ?? untaxed), row.tax_rate)

const reported = (report: RateReport, rate: string | null): RowVat => {
  if (rate !== null && compareDecimals(rate, "0") > 0) return { category: "S", rate: plainText(rate), report }
  const category = report.category === null || report.category === "S" ? "Z" : report.category
  return { category, rate: category === "O" ? null : "0", report }
}

const reasons: { readonly [K in VatCategory]: { readonly code: string | null; readonly text: string | null } } = {
  S: { code: null, text: null },
  Z: { code: null, text: null },
  E: { code: null, text: null },
  AE: { code: "VATEX-EU-AE", text: "Reverse charge" },
  O: { code: "VATEX-EU-O", text: "Not subject to VAT" }
}

interface VatSum {
  readonly vat: RowVat
  /** Minor units, with the signs of the rows. */
  readonly net: number
  readonly tax: number
  readonly reasons: ReadonlyArray<string>
}
type TaxedRows = ReadonlyArray<Pick<SourceRow, "subtotal" | "tax_total">>
/** VAT sums per category and rate, highest rate first. Tax is that of the rows, as rounded when billed. */
const vatSums = (rows: TaxedRows, vats: ReadonlyArray<RowVat>): ReadonlyArray<VatSum> => {
  const pairs = rows.flatMap((row, at) => {
    const vat = vats[at]
    return vat === undefined ? [] : [{ row, vat }]
  })
  return [...Map.groupBy(pairs, ({ vat }) => `${vat.category} ${vat.rate}`).values()]
    .flatMap((group) => {
      const vat = group[0]?.vat
      if (vat === undefined) return []
      const said = group.map((one) => one.vat.report.reason?.trim() ?? "").filter((reason) => reason !== "")
      return {
        vat,
        net: group.reduce((sum, { row }) => sum + row.subtotal, 0),
        tax: group.reduce((sum, { row }) => sum + row.tax_total, 0),
        reasons: needsReason(vat.category) ? [...new Set(said)] : []
      }
    })
    .sort((one, other) => compareDecimals(other.vat.rate ?? "-1", one.vat.rate ?? "-1"))
}
/**
 * Whether the tax of a group differs from net × rate (BR-CO-17). The official check tolerates less than one whole unit
 * of the currency.
 */
export const hasOtherTax = (rows: TaxedRows, vats: ReadonlyArray<RowVat>, currency: string): boolean =>
  vatSums(rows, vats).some(({ net, tax, vat: { rate } }) =>
    rate === null || rate === "0"
      ? tax !== 0
      : exact(net)
          .times(exact(rate))
          .dividedBy(100)
          .minus(tax)
          .abs()
          .greaterThanOrEqualTo(10 ** scaleOf(currency))
  )

export const vatGroups = (
  rows: TaxedRows,
  vats: ReadonlyArray<RowVat>,
  currency: string,
  sign: 1 | -1
): ReadonlyArray<VatGroup> =>
  vatSums(rows, vats).map(({ net, reasons: said, tax, vat: { category, rate } }) => ({
    category,
    rate,
    net: amountText(sign * net, currency),
    tax: amountText(sign * tax, currency),
    reason: said.length === 0 ? reasons[category].text : said.join("; "),
    reason_code: reasons[category].code
  }))
/** Whether a VAT category states why no VAT is due; exempt needs a reason from the user. */
const needsReason = (category: VatCategory): boolean => category !== "S" && category !== "Z"

/** Reasons for charging no VAT, each once; `words` are those of categories whose rates give none. */
export const exemptionReasons = (
  rows: ReadonlyArray<TaxedRows[number] & Parameters<typeof vatOfRows>[0][number]>,
  rates: Pick<Source, "rates" | "untaxed">,
  words: { readonly [K in VatCategory]?: string }
): ReadonlyArray<string> => {
  // Rows that cost nothing need no reason.
  const charged = rows.filter(({ subtotal, tax_total }) => subtotal !== 0 || tax_total !== 0)
  const said = vatSums(charged, vatOfRows(charged, rates)).flatMap(({ reasons, vat: { category } }) =>
    reasons.length > 0 ? reasons : (words[category] ?? [])
  )
  return [...new Set(said)]
}

/**
 * Reporting of tax as stored at the issue, or the current one for older invoices (`frozen` is null). A missing
 * exemption reason is taken from the current settings, as the format requires one.
 */
export const ratesReported = (
  frozen: ReadonlyArray<VatReport> | null,
  now: ReadonlyArray<VatReport>
): Pick<Source, "rates" | "untaxed"> => {
  const today = new Map(now.map((report) => [report.tax_rate_id, report]))
  const kept = (frozen ?? []).map((report) =>
    report.category === "E" && !report.reason?.trim()
      ? { ...report, reason: today.get(report.tax_rate_id)?.reason ?? null }
      : report
  )
  const reports = new Map<number | null, RateReport>([...now, ...kept].map((report) => [report.tax_rate_id, report]))
  return {
    rates: new Map([...reports].flatMap(([id, report]) => (id === null ? [] : [[id, report] as const]))),
    untaxed: reports.get(null) ?? { name: "", category: "E", reason: null }
  }
}
