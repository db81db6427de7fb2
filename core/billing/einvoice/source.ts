/** What an electronic invoice is made from: an invoice or a credit note of ours, and what is known beside it. */
import type { VatCategory } from "./model.ts"
import type { NamedParty } from "../schema.ts"

/** Rows of invoices and of credit notes alike; money in minor units, below zero on credit notes as there. */
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
/** How a rate is to be reported; without a category its percentage decides. */
export interface RateReport {
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
  /** One unit of the currency in the base currency. */
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
  /** What is credited, or deposits that rows take off. */
  readonly preceding: ReadonlyArray<{ readonly number: string; readonly issued_at: string | null }>
  /** The hire, where rows do not say when. */
  readonly hire: { readonly starts_at: string; readonly ends_at: string } | null
  readonly zone: string
  readonly seller: NamedParty
  readonly buyer: NamedParty
  readonly account: { readonly iban: string; readonly bic: string | null; readonly holder: string | null } | null
  readonly rates: ReadonlyMap<number, RateReport>
  /** Rows whose class no tax rule names. */
  readonly untaxed: RateReport
}
