/**
 * An electronic invoice from an invoice or a credit note, or what is missing for one (rules/billing 1.7). Amounts are
 * those of the invoice: nothing is calculated anew but prices without tax.
 */
import { Result } from "effect"
import { type FieldErrors, invalid, type Rejection } from "../../kernel/rejection.ts"
import { scaleOf } from "../../values/currency.ts"
import { millisOf } from "../../values/time.ts"
import { dayOf } from "../../values/zone.ts"
import type { NamedParty } from "../schema.ts"
import { amountText, inBaseCurrency, linePrice } from "./amounts.ts"
import type { DatePeriod, EInvoice, EInvoiceForm, Line, Party } from "./model.ts"
import { endpointOf, taxNumbersOf } from "./numbers.ts"
import { problemsOf } from "./problems.ts"
import type { Source, SourceRow } from "./source.ts"
import { type RowVat, vatGroups, vatOfRows, vatSums } from "./vat.ts"

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
    // A credit note is due at no date (BR-CO-25 wants either).
    payment_terms: is_credit ? `Set off against invoice ${source.preceding[0]?.number ?? ""}.` : null,
    lines: rows.map((row, at) => lineOf(source, row, at, vats[at], sign, periods[at] ?? null)),
    vat: vatGroups(vatSums(rows, vats), source.currency_code, sign),
    totals: { net: amount(source.subtotal), tax: amount(source.tax_total), gross: amount(source.total) }
  }
}

/** Only where the seller accounts in a currency whose amounts an electronic invoice can hold. */
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

/** First and last day, included: what ends at midnight ends the day before. */
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

/** Notes, and rows that are words only. */
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

/** What is not subject to VAT names no VAT numbers (BR-O-02, BR-O-03). */
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
    // The buyer's are no part of it: nobody needs them to book the invoice.
    phone: role === "seller" ? oneLine(party.phone) : null,
    email: role === "seller" ? oneLine(party.email) : null
  }
}
