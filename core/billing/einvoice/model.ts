/**
 * What an electronic invoice says, in the terms of EN 16931 (BT and BG numbers are that standard's). Both written forms
 * are made from it and decide nothing: amounts are finished decimal strings, codes are chosen, absent is null.
 */

/** UBL for Peppol, or CII for Factur-X and ZUGFeRD. */
export type EInvoiceForm = "ubl" | "cii"
/** Standard rate, zero rate, exempt, reverse charge, not subject to VAT (BT-118, BT-151). */
export type VatCategory = "S" | "Z" | "E" | "AE" | "O"
/** Invoice, prepayment invoice, credit note (BT-3). */
export type DocumentCode = "380" | "386" | "381"

/** Where a network delivers to: a scheme of the EAS list with an id in it (BT-34, BT-49). */
export interface Endpoint {
  readonly scheme: string
  readonly id: string
}
export interface Party {
  readonly name: string
  /** BT-29, BT-46: what one calls the other. */
  readonly identifier: string | null
  /** BT-30, BT-47. */
  readonly registration_number: string | null
  /** BT-31, BT-48: begins with the letters of a country. */
  readonly vat_id: string | null
  /** BT-32: the seller's number at its tax office, where that is no VAT id. */
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
/** Plain dates, both included. */
export interface DatePeriod {
  readonly first: string
  readonly last: string
}
/** BG-27: a discount of one line. */
export interface LineAllowance {
  readonly amount: string
  readonly base: string
  readonly percent: string | null
}
export interface Line {
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** Below zero where the line takes something off: prices never are (BR-27). */
  readonly quantity: string
  /** BT-131. */
  readonly net: string
  /** BT-146, without VAT: of one unit, or of `price_quantity` units. */
  readonly price: string
  /** BT-149. */
  readonly price_quantity: string | null
  readonly allowance: LineAllowance | null
  readonly category: VatCategory
  /** Percentage; null for what is not subject to VAT. */
  readonly rate: string | null
  readonly period: DatePeriod | null
}
/** BG-23: one for each category and rate. */
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
  readonly code: DocumentCode
  readonly issue_date: string
  readonly due_date: string | null
  readonly currency: string
  /** BT-6 and BT-111: VAT in the currency the seller accounts for it in, where that is another. */
  readonly accounting: { readonly currency: string; readonly tax: string } | null
  readonly note: string | null
  /** BT-10. */
  readonly buyer_reference: string | null
  /** BT-13: the buyer's purchase order. */
  readonly order_reference: string | null
  /** BG-3: what is credited, or the deposits that are taken off. */
  readonly preceding: ReadonlyArray<{ readonly number: string; readonly date: string | null }>
  /** BG-14, BT-73 and BT-74: the hire. */
  readonly period: DatePeriod | null
  /** BT-72, where there is no period. */
  readonly delivery_date: string | null
  readonly seller: Party
  readonly buyer: Party
  /** BG-17: the account to pay to. */
  readonly account: { readonly iban: string; readonly bic: string | null; readonly holder: string | null } | null
  /** BT-20. */
  readonly payment_terms: string | null
  readonly lines: ReadonlyArray<Line>
  readonly vat: ReadonlyArray<VatGroup>
  /** BT-106 and BT-109, BT-110, BT-112 and BT-115: nothing is rounded and nothing is prepaid. */
  readonly totals: { readonly net: string; readonly tax: string; readonly gross: string }
}

/** BT-81: SEPA credit transfer, or credit transfer. */
export const paymentMeansCode = (currency: string): string => (currency === "EUR" ? "58" : "30")
/** UNTDID 5189: discount. */
export const discount_code = "95"
/** UN/ECE Recommendation 20: one. Rows have no unit of their own, and their price covers the whole hire. */
export const unit_code = "C62"
