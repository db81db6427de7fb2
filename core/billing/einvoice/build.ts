/**
 * Builds an electronic invoice from an invoice or credit note, or reports missing data (rules/billing 1.7). Amounts are
 * the invoice's; only prices before tax are calculated.
 */
import { countries } from "../../values/country.ts"
import { scaleOf } from "../../values/money.ts"
import type { NamedParty } from "../state/tables.ts"
import type { DatePeriod, EInvoice, EInvoiceForm, Endpoint, Line, Party, RowVat, Source, SourceRow } from "./amounts.ts"
import { amountText, fits, hasOtherTax, inBaseCurrency, linePrice, vatGroups, vatOfRows } from "./amounts.ts"
import { invalid, type FieldErrors, type Rejection } from "../../kernel/index.ts"
import { Result } from "effect"
import { dayOf, millisOf } from "../../values/time.ts"

// Party identifiers of electronic invoices: VAT ids, Peppol ids.

/** Country prefixes of VAT ids; Greece and Northern Ireland use others there than in addresses (BR-CO-09). */
const prefixes: ReadonlySet<string> = new Set([...countries.map(({ code }) => code), "EL", "XI"])

/** Sorts a number into VAT ids, which begin with a country's prefix, and other tax numbers (BT-31, BT-32). */
const taxNumbersOf = (
  given: string | null
): { readonly vat_id: string | null; readonly tax_registration: string | null } => {
  const text = given?.trim() ?? ""
  if (text === "") return { vat_id: null, tax_registration: null }
  const packed = text.toUpperCase().replace(/[\s./_-]/g, "")
  return /^[A-Z]{2}[A-Z0-9+*]{2,13}$/.test(packed) && prefixes.has(packed.slice(0, 2)) && /\d/.test(packed)
    ? { vat_id: packed, tax_registration: null }
    : { vat_id: null, tax_registration: text }
}

/** Parses `0088:1234567890128`, with or without the prefix of Peppol's registers. */
const parsePeppolId = (given: string): Endpoint | undefined => {
  const found = /^(?:iso6523-actorid-upis::)?(\d{4}):(\S{1,50})$/i.exec(given.trim())
  return found?.[1] === undefined || found[2] === undefined ? undefined : { scheme: found[1], id: found[2] }
}
/** Electronic address of a party: the Peppol id, else the e-mail address (EAS code EM), else null. */
const endpointOf = ({ email, peppol_id }: Pick<NamedParty, "email" | "peppol_id">): Endpoint | null => {
  const peppol = peppol_id === null ? undefined : parsePeppolId(peppol_id)
  if (peppol !== undefined) return peppol
  return email === null || email.trim() === "" ? null : { scheme: "EM", id: email.trim() }
}

// Data missing for an electronic invoice, by field, with a remedy. Each check names the rule of EN 16931 or Peppol it
// ensures.

type Problem = readonly [field: string, text: string] | undefined
const when = (is_wrong: boolean, field: string, text: string): Problem => (is_wrong ? [field, text] : undefined)
const isBlank = (text: string | null): boolean => text === null || text.trim() === ""

const problemsOf = (
  source: Source,
  rows: ReadonlyArray<SourceRow>,
  vats: ReadonlyArray<RowVat>,
  form: EInvoiceForm
): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const found = [
    ...sellerProblems(source, vats),
    ...buyerProblems(source, vats),
    ...addressProblems(source, form),
    ...rowProblems(source, rows, vats)
  ]
  for (const problem of found)
    if (problem !== undefined) errors[problem[0]] = [...(errors[problem[0]] ?? []), problem[1]]
  return errors
}

// Missing or invalid data of the seller: BR-6, BR-9, BR-CO-26, BR-S-2, BR-Z-2, BR-E-2, BR-AE-2.
const sellerProblems = ({ seller }: Source, vats: ReadonlyArray<RowVat>): ReadonlyArray<Problem> => {
  const { tax_registration, vat_id } = taxNumbersOf(seller.tax_number)
  const is_outside = vats.some(({ category }) => category === "O")
  const has_number = !isBlank(seller.registration_number) || (vat_id !== null && !is_outside)
  return [
    when(isBlank(seller.name), "company.name", "An e-invoice names the seller: set company.name in the settings."),
    when(
      isBlank(seller.country_code),
      "company.country_code",
      "An e-invoice says which country the seller is in: set company.country_code in the settings."
    ),
    when(
      !is_outside && vat_id === null && tax_registration === null,
      "company.tax_number",
      "An e-invoice with VAT names the seller's VAT id: set company.tax_number in the settings, such as GB123456789."
    ),
    when(
      !has_number && (is_outside || tax_registration !== null),
      "company.registration_number",
      is_outside
        ? "Without VAT an e-invoice names the seller's registration: set company.registration_number in the settings."
        : "A tax number that is no VAT id does not identify the seller: set company.registration_number, too."
    )
  ]
}
// Missing or invalid data of the buyer: BR-7, BR-11, BR-AE-2.
const buyerProblems = ({ buyer }: Source, vats: ReadonlyArray<RowVat>): ReadonlyArray<Problem> => [
  when(isBlank(buyer.name), "member.name", "An e-invoice names the buyer: give the member a name."),
  when(
    isBlank(buyer.country_code),
    "member.country_id",
    "An e-invoice says which country the buyer is in: give the member an address with a country."
  ),
  when(
    vats.some(({ category }) => category === "AE") &&
      taxNumbersOf(buyer.tax_number).vat_id === null &&
      isBlank(buyer.registration_number),
    "member.tax_number",
    "With reverse charge an e-invoice names the buyer's VAT id: set the member's tax_number, such as DE123456789."
  )
]
// Missing or malformed electronic addresses: PEPPOL-EN16931-R010, R020. CII needs none, as it is embedded in a PDF.
const addressProblems = ({ buyer, seller }: Source, form: EInvoiceForm): ReadonlyArray<Problem> => {
  const shape = "such as 0088:1234567890128: the scheme's four digits, a colon and the id"
  const isMalformed = (id: string | null): boolean => id !== null && !isBlank(id) && parsePeppolId(id) === undefined
  return [
    when(isMalformed(seller.peppol_id), "einvoice.peppol_id", `einvoice.peppol_id must be ${shape}.`),
    when(isMalformed(buyer.peppol_id), "member.peppol_id", `The member's peppol_id must be ${shape}.`),
    when(
      form === "ubl" && endpointOf(seller) === null,
      "einvoice.peppol_id",
      "Peppol needs the seller's address: set einvoice.peppol_id or company.email in the settings."
    ),
    when(
      form === "ubl" && endpointOf(buyer) === null,
      "member.peppol_id",
      "Peppol needs the buyer's address: give the member a peppol_id or an e-mail address."
    )
  ]
}

// Rows that cannot be represented: BR-16, BR-CO-17, BR-E-10, BR-O-11 to BR-O-14, BR-DEC-*.
const rowProblems = (
  source: Source,
  rows: ReadonlyArray<SourceRow>,
  vats: ReadonlyArray<RowVat>
): ReadonlyArray<Problem> => {
  const outside = vats.filter(({ category }) => category === "O").length
  const amounts = rows.flatMap((row) => [row.subtotal, row.tax_total])
  return [
    when(rows.length === 0, "items", "An e-invoice has at least one row that is no text."),
    when(
      outside > 0 && outside < vats.length,
      "items",
      "Rows that are not subject to VAT cannot share an e-invoice with others: bill them apart."
    ),
    when(
      [...amounts, source.subtotal, source.tax_total, source.total].some((one) => !fits(one, source.currency_code)),
      "currency_code",
      `EN 16931 gives amounts two decimals at most, and this document has thousandths of ${source.currency_code}: ` +
        "send its PDF instead. Where every amount and its tax come to whole hundredths there is an e-invoice."
    ),
    when(
      hasOtherTax(rows, vats, source.currency_code),
      "tax_total",
      "Its tax is not what its rates come to, which an e-invoice must be: send it as PDF, or credit it and bill anew."
    ),
    ...vats.map(({ category, report }, at) =>
      when(
        category === "E" && isBlank(report.reason),
        `items.${at}.tax_rate_id`,
        report.name === ""
          ? "No tax rule applied to this row, and an e-invoice says why it bears no tax: set einvoice.untaxed_reason."
          : `An e-invoice says why a row is exempt: set exemption_reason of the tax rate ${report.name}.`
      )
    )
  ]
}

export const eInvoice = (source: Source, form: EInvoiceForm): Result.Result<EInvoice, Rejection> => {
  const rows = source.rows.filter(({ item_type }) => item_type !== "text")
  const vats = vatOfRows(rows, source)
  const errors: FieldErrors = problemsOf(source, rows, vats, form)
  return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed(built(source, rows, vats))
}

const built = (source: Source, rows: ReadonlyArray<SourceRow>, vats: ReadonlyArray<RowVat>): EInvoice => {
  const is_credit = source.kind === "credit_note"
  const sign = is_credit ? -1 : 1
  const amount = (minor: number): string => amountText(sign * minor, source.currency_code)
  const is_outside = vats.some(({ category }) => category === "O")
  const day = (instant: string): string => dayOf(millisOf(instant), source.zone)
  const issue_date = day(source.issued_at)
  const periods = rows.map((row) => periodOf(row, source.zone))
  const period = wholePeriod(periods) ?? (source.hire === null ? null : periodOf(source.hire, source.zone))
  return {
    number: source.number,
    code: is_credit ? "381" : source.kind === "deposit" ? "386" : "380",
    issue_date,
    due_date: is_credit ? null : source.due_at === null ? issue_date : day(source.due_at),
    currency: source.currency_code,
    accounting: accountingOf(source, sign, is_outside),
    note: noteOf(source),
    buyer_reference: source.buyer.account_number ?? String(source.member_id),
    order_reference: oneLine(source.reference),
    preceding: source.preceding.map(({ issued_at, number }) => ({
      number,
      date: issued_at === null ? null : day(issued_at)
    })),
    period,
    delivery_date: period === null ? issue_date : null,
    seller: partyOf(source.seller, "seller", is_outside),
    buyer: partyOf(source.buyer, "buyer", is_outside),
    account: is_credit ? null : source.account,
    // A credit note has no due date (BR-CO-25 requires one or terms on invoices).
    payment_terms: is_credit ? `Set off against invoice ${source.preceding[0]?.number ?? ""}.` : null,
    lines: rows.map((row, at) => lineOf(source, row, at, vats[at], sign, periods[at] ?? null)),
    vat: vatGroups(rows, vats, source.currency_code, sign),
    totals: { net: amount(source.subtotal), tax: amount(source.tax_total), gross: amount(source.total) }
  }
}

/**
 * VAT total in the seller's accounting currency; null if it is the invoice's, has over two decimals, or no VAT is due.
 */
const accountingOf = (source: Source, sign: 1 | -1, is_outside: boolean): EInvoice["accounting"] =>
  source.base_currency === source.currency_code || scaleOf(source.base_currency) > 2 || is_outside
    ? null
    : { currency: source.base_currency, tax: inBaseCurrency(sign * source.tax_total, source) }

const lineOf = (
  source: Source,
  row: SourceRow,
  at: number,
  vat: RowVat | undefined,
  sign: 1 | -1,
  period: DatePeriod | null
): Line => ({
  id: String(at + 1),
  name: oneLine(row.name) ?? "–",
  description: row.description,
  net: amountText(sign * row.subtotal, source.currency_code),
  ...linePrice({ ...row, unit_price: sign * row.unit_price }, sign * row.subtotal, source),
  category: vat?.category ?? "Z",
  rate: vat === undefined ? "0" : vat.rate,
  period
})

/** First and last day of a period, inclusive: an end at midnight is the day before. */
const periodOf = (
  { ends_at, starts_at }: { readonly starts_at: string | null; readonly ends_at: string | null },
  zone: string
): DatePeriod | null => {
  if (starts_at === null || ends_at === null || ends_at < starts_at) return null
  const first = dayOf(millisOf(starts_at), zone)
  const last = dayOf(ends_at === starts_at ? millisOf(ends_at) : millisOf(ends_at) - 1, zone)
  return { first, last }
}
const wholePeriod = (periods: ReadonlyArray<DatePeriod | null>): DatePeriod | null =>
  periods.reduce<DatePeriod | null>(
    (whole, one) =>
      whole === null || one === null
        ? (whole ?? one)
        : {
            first: one.first < whole.first ? one.first : whole.first,
            last: one.last > whole.last ? one.last : whole.last
          },
    null
  )

/** Text of the invoice note: its notes and text-only rows; null without any. */
const noteOf = ({ notes, rows }: Source): string | null => {
  const words = rows.filter(({ item_type }) => item_type === "text").flatMap((row) => [row.name, row.description])
  const texts = [...notes, ...words].filter((text) => text !== null && text.trim() !== "")
  return texts.length === 0 ? null : texts.join("\n")
}
const oneLine = (text: string | null): string | null => {
  const joined =
    text
      ?.split(/[\r\n]+/)
      .map((part) => part.trim())
      .filter((part) => part !== "")
      .join(", ") ?? ""
  return joined === "" ? null : joined
}

/** A party of the invoice; without tax numbers if not subject to VAT (BR-O-02, BR-O-03). */
const partyOf = (party: NamedParty, role: "seller" | "buyer", is_outside: boolean): Party => {
  const { tax_registration, vat_id } = taxNumbersOf(party.tax_number)
  return {
    name: oneLine(party.name) ?? "",
    identifier: null,
    registration_number: oneLine(party.registration_number),
    vat_id: is_outside ? null : vat_id,
    tax_registration: role === "buyer" || is_outside ? null : tax_registration,
    endpoint: endpointOf(party),
    street: oneLine(party.street),
    city: oneLine(party.city),
    postcode: oneLine(party.postcode),
    county: oneLine(party.county),
    country_code: (party.country_code ?? "").toUpperCase(),
    // Only the seller's contact data: booking the invoice does not need the buyer's.
    phone: role === "seller" ? oneLine(party.phone) : null,
    email: role === "seller" ? oneLine(party.email) : null
  }
}
