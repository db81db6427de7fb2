/** Rows that take issued deposits off the final invoice (rules/rulings, deposits at checkout). */
import { inclusiveTax } from "../../pricing/tax.ts"
import { allocateMoney } from "../../values/money.ts"
import { groupKey, type RowTax } from "../amounts.ts"
import { newItem } from "../invoices/items.ts"
import type { InvoiceItemRow, InvoiceRow, TaxSummaryRow } from "../schema.ts"

export interface Deposit {
  readonly invoice: InvoiceRow
  /** Tax summaries of its credit notes: below zero. */
  readonly credited: ReadonlyArray<TaxSummaryRow>
}
const taxOf = (row: TaxSummaryRow): RowTax => ({
  tax_class_id: row.tax_class_id,
  tax_rate_id: row.tax_rate_id,
  tax_rate_name: row.tax_rate_name,
  tax_rate: row.rate
})
/** What was not credited of a deposit, by class and rate: below zero where it had deductions of a rate of their own. */
const leftOf = ({ credited, invoice }: Deposit): ReadonlyArray<TaxSummaryRow> => {
  const groups = [
    ...Map.groupBy([...invoice.tax_summary, ...credited], (row) => groupKey(taxOf(row))).values()
  ].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const net = group.reduce((sum, row) => sum + row.net, 0)
    const tax = group.reduce((sum, row) => sum + row.tax, 0)
    return net === 0 && tax === 0 ? [] : [{ ...first, net, tax, gross: net + tax }]
  })
  return grossOf(groups) <= 0 ? [] : groups
}
const grossOf = (groups: ReadonlyArray<TaxSummaryRow>): number => groups.reduce((sum, { gross }) => sum + gross, 0)

/** As much of these amounts as there is left to take off. */
const within = (groups: ReadonlyArray<TaxSummaryRow>, limit: number): ReadonlyArray<TaxSummaryRow> => {
  if (grossOf(groups) <= limit) return groups
  // Which is less than what is above zero comes to: deductions need not be told.
  const above = groups.filter(({ gross }) => gross > 0)
  const parts = allocateMoney(
    limit,
    above.map((row) => row.gross)
  )
  return above.map((row, at) => ({ ...row, ...inclusiveTax(parts[at] ?? 0, row.rate) })).filter((row) => row.gross > 0)
}

/** Rows of deposits, the earliest first, taxed as the deposits were; they never take off more than `total`. */
export const depositRows = (
  deposits: ReadonlyArray<Deposit>,
  total: number,
  invoice: Pick<InvoiceRow, "id" | "currency_code">,
  sort_from: number
): ReadonlyArray<InvoiceItemRow> => {
  let left = total
  const rows: Array<InvoiceItemRow> = []
  for (const deposit of deposits) {
    for (const group of left <= 0 ? [] : within(leftOf(deposit), left)) {
      left -= group.gross
      rows.push({
        ...newItem(invoice),
        ...taxOf(group),
        name: nameOf(deposit.invoice),
        unit_price: -group.net,
        subtotal: -group.net,
        tax_total: -group.tax,
        total: -group.gross,
        sort_order: sort_from + rows.length,
        deposit_invoice_id: deposit.invoice.id
      })
    }
  }
  return rows
}
const nameOf = ({ id, issued_at, number }: InvoiceRow): string =>
  `Deposit invoice ${number ?? `(id ${id}, number pending)`} of ${(issued_at ?? "").slice(0, 10)}`
