/** VAT categories of rows, and the breakdown by them (EN 16931 BG-23, BR-S-*, BR-Z-*, BR-E-*, BR-AE-*, BR-O-*). */
import { compareDecimals } from "../../values/decimal.ts"
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

/** One group for each category and rate, the highest rate first. Tax is what the rows say: it was rounded when billed. */
export const vatGroups = (
  rows: ReadonlyArray<SourceRow>,
  vats: ReadonlyArray<RowVat>,
  currency: string,
  sign: 1 | -1
): ReadonlyArray<VatGroup> => {
  interface Sum {
    readonly vat: RowVat
    net: number
    tax: number
    readonly reasons: Set<string>
  }
  const sums = new Map<string, Sum>()
  for (const [at, row] of rows.entries()) {
    const vat = vats[at]
    if (vat === undefined) continue
    const key = `${vat.category} ${vat.rate}`
    const sum = sums.get(key) ?? { vat, net: 0, tax: 0, reasons: new Set<string>() }
    sum.net += sign * row.subtotal
    sum.tax += sign * row.tax_total
    const said = vat.report.reason?.trim() ?? ""
    if (said !== "" && needsReason(vat.category)) sum.reasons.add(said)
    sums.set(key, sum)
  }
  return [...sums.values()]
    .sort((one, other) => compareDecimals(other.vat.rate ?? "-1", one.vat.rate ?? "-1"))
    .map(({ net, reasons: said, tax, vat: { category, rate } }) => ({
      category,
      rate,
      net: amountText(net, currency),
      tax: amountText(tax, currency),
      reason: said.size === 0 ? reasons[category].text : [...said].join("; "),
      reason_code: reasons[category].code
    }))
}
/** Categories that say why there is no VAT; exempt has no reason of its own. */
export const needsReason = (category: VatCategory): boolean => category !== "S" && category !== "Z"
