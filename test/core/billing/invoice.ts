/** An issued invoice with rows, as its tables hold it. */
import { type RowTax, sumsOf, taxedRows } from "../../../core/billing/state/amounts.ts"
import { Result } from "effect"
import {
  credit_note_items,
  credit_notes,
  invoice_items,
  type InvoiceItemRow,
  type InvoiceRow,
  invoices,
  payments
} from "../../../core/billing/state/tables.ts"
import type { NewEvent } from "../../../core/kernel/events/event-type.ts"
import { initialRow } from "../../../core/kernel/tables/field-schema.ts"
import { decider, type Facts, given_at, type GivenRow, row, stamps } from "../decider.ts"
import { billingEvents } from "../../../core/billing/state/events.ts"
import type { CreditFacts } from "../../../core/billing/credits/decide.ts"

export const taxed = (rate: string, tax_class_id = 1): RowTax => ({
  tax_class_id,
  tax_rate_id: tax_class_id,
  tax_rate_name: `${rate} %`,
  tax_rate: rate
})
const standard = taxed("20.0000")
export interface Sold {
  readonly name?: string
  readonly quantity: string
  /** Amount of the row in minor units; with tax if prices include it. */
  readonly amount: number
  readonly tax?: RowTax
}
export const header = (set: Partial<InvoiceRow> = {}): InvoiceRow => ({
  ...initialRow(invoices),
  id: 1,
  number: "0000000001",
  status: "issued",
  member_id: 1,
  store_id: 1,
  currency_code: "GBP",
  issued_at: given_at,
  ...stamps,
  ...set
})
/** Invoice 1, and its rows from 11 on. */
export const issued = (
  sold: ReadonlyArray<Sold>,
  set: Partial<InvoiceRow> = {}
): {
  readonly invoice: InvoiceRow
  readonly items: ReadonlyArray<InvoiceItemRow>
  readonly rows: ReadonlyArray<GivenRow>
} => {
  const { prices_include_tax = false, currency_code = "GBP" } = set
  const amounts = taxedRows(
    sold.map(({ amount, tax = standard }) => ({ amount, tax })),
    prices_include_tax
  )
  const items = sold.map((one, at): InvoiceItemRow => ({
    ...initialRow(invoice_items),
    id: 11 + at,
    invoice_id: 1,
    name: one.name ?? `Row ${at + 1}`,
    quantity: one.quantity,
    unit_price: Math.round(one.amount / Number(one.quantity)),
    ...(one.tax ?? standard),
    ...(amounts[at] ?? { subtotal: 0, tax_total: 0, total: 0 }),
    sort_order: at,
    currency_code,
    ...stamps
  }))
  const invoice = header({ ...sumsOf(items), ...set })
  return { invoice, items, rows: [row(invoices, invoice), ...items.map((item) => row(invoice_items, item))] }
}

export const invoiceIn = (facts: Facts): InvoiceRow => {
  const found = facts.get(invoices, 1)
  if (found === undefined) throw new Error("no invoice was given")
  return found
}
export const creditFactsIn = (facts: Facts): CreditFacts => ({
  invoice: invoiceIn(facts),
  items: facts.find(invoice_items, { invoice_id: 1 }),
  credited: facts.find(credit_note_items, { invoice_id: 1 }),
  deducted_by: []
})
export const paymentsIn = (facts: Facts) => facts.find(payments, { invoice_id: 1 })
export const notesIn = (facts: Facts) => facts.find(credit_notes, { invoice_id: 1 })

export const { given } = decider(billingEvents)
/** Result of a function of the rows as they are after these events. */
export const after = <A>(before: ReadonlyArray<GivenRow | NewEvent>, look: (facts: Facts) => A): A => {
  const seen: Array<A> = []
  given(...before).when((facts) => {
    seen.push(look(facts))
    return Result.succeed({ events: [], result: {} })
  })
  const [first] = seen
  if (first === undefined) throw new Error("nothing was seen")
  return first
}
