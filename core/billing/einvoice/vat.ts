/** VAT categories of rows, and the breakdown by them (EN 16931 BG-23, BR-S-*, BR-Z-*, BR-E-*, BR-AE-*, BR-O-*). */
import { scaleOf } from "../../values/currency.ts"
import { compareDecimals, exact } from "../../values/decimal.ts"
import { amountText, plainText } from "./amounts.ts"
import type { VatCategory, VatGroup } from "./model.ts"
import type { RateReport, Source, SourceRow } from "./source.ts"

export interface RowVat {
  readonly category: VatCategory
  /** Null for what is not subject to VAT. */
  readonly rate: string | null
  readonly report: RateReport
}
/** Rows without money say no rate: they go with the first that does, to which they add nothing. */
export const vatOfRows = (
  rows: ReadonlyArray<SourceRow>,
  rates: Pick<Source, "rates" | "untaxed">
): ReadonlyArray<RowVat> => {
  const rated = rows.map((row) => (row.tax_rate === null && row.subtotal === 0 ? undefined : vatOfRow(row, rates)))
  const first = rated.find((one) => one !== undefined) ?? reported(rates.untaxed, null)
  return rated.map((one) => one ?? first)
}
const vatOfRow = (row: SourceRow, { rates, untaxed }: Pick<Source, "rates" | "untaxed">): RowVat =>
  reported(row.tax_rate_id === null ? untaxed : (rates.get(row.tax_rate_id) ?? untaxed), row.tax_rate)

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

export interface VatSum {
  readonly vat: RowVat
  /** Minor units, with the signs of the rows. */
  readonly net: number
  readonly tax: number
  readonly reasons: ReadonlyArray<string>
}
/** One for each category and rate, the highest rate first. Tax is what the rows say: it was rounded when billed. */
export const vatSums = (rows: ReadonlyArray<SourceRow>, vats: ReadonlyArray<RowVat>): ReadonlyArray<VatSum> => {
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
 * Whether the tax of a group is not its net times its rate (BR-CO-17): the official check takes less than one whole
 * unit of the currency, which prices with tax in them and merged classes stay far below.
 */
export const isOtherTax = ({ net, tax, vat: { rate } }: VatSum, currency: string): boolean =>
  rate === null || rate === "0"
    ? tax !== 0
    : exact(net)
        .times(exact(rate))
        .dividedBy(100)
        .minus(tax)
        .abs()
        .greaterThanOrEqualTo(10 ** scaleOf(currency))

export const vatGroups = (sums: ReadonlyArray<VatSum>, currency: string, sign: 1 | -1): ReadonlyArray<VatGroup> =>
  sums.map(({ net, reasons: said, tax, vat: { category, rate } }) => ({
    category,
    rate,
    net: amountText(sign * net, currency),
    tax: amountText(sign * tax, currency),
    reason: said.length === 0 ? reasons[category].text : said.join("; "),
    reason_code: reasons[category].code
  }))
/** Categories that say why there is no VAT; exempt has no reason of its own. */
const needsReason = (category: VatCategory): boolean => category !== "S" && category !== "Z"
