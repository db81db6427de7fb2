/** Amount left to credit on each row of an invoice, and how a credit uses it up. Amounts are minor units. */
import { exact, fromScaled, multiplyDivide, roundHalfAway, toScaled } from "../../values/decimal.ts"
import type { CreditNoteItemRow, InvoiceItemRow } from "./tables.ts"

/** Net and tax; both are negative for rows that deduct a deposit. */
export interface Amounts {
  readonly net: number
  readonly tax: number
}
export interface RowLeft {
  readonly item: InvoiceItemRow
  /** Uncredited quantity, in hundredths. */
  readonly quantity: number
  /** Sum of earlier credits by quantity; the credit of the last quantity takes the remainder of the row. */
  readonly by_quantity: Amounts
  readonly left: Amounts
  /** Whether amounts were credited without a quantity, so the quantity no longer gives the rest. */
  readonly has_amounts: boolean
}

export const hundredths = (quantity: string): number => Number(toScaled(quantity, 2))
export const quantityText = (in_hundredths: number): string => fromScaled(BigInt(in_hundredths), 2)
export const grossOf = ({ net, tax }: Amounts): number => net + tax

type Credited = Pick<CreditNoteItemRow, "invoice_item_id" | "quantity" | "subtotal" | "tax_total" | "by_amount">

/** Uncredited rest of each row but texts. `credited`: rows of the invoice's credit notes, with the opposite sign. */
export const leftOf = (
  items: ReadonlyArray<InvoiceItemRow>,
  credited: ReadonlyArray<Credited>
): ReadonlyArray<RowLeft> => {
  const by_item = Map.groupBy(credited, (one) => one.invoice_item_id)
  return items
    .filter((item) => item.item_type !== "text")
    .map((item) => {
      const all = by_item.get(item.id) ?? []
      const of_quantity = all.filter((one) => !one.by_amount)
      const sum = (rows: ReadonlyArray<Credited>, column: "subtotal" | "tax_total"): number =>
        rows.reduce((total, one) => total - one[column], 0)
      return {
        item,
        quantity: of_quantity.reduce((rest, one) => rest - hundredths(one.quantity), hundredths(item.quantity)),
        by_quantity: { net: sum(of_quantity, "subtotal"), tax: sum(of_quantity, "tax_total") },
        left: { net: item.subtotal - sum(all, "subtotal"), tax: item.tax_total - sum(all, "tax_total") },
        has_amounts: all.length > of_quantity.length
      }
    })
}
export const isUsedUp = ({ left, quantity, has_amounts }: RowLeft): boolean =>
  left.net === 0 && left.tax === 0 && (quantity === 0 || has_amounts)

/** `amount × part ÷ whole`, rounded half away from zero. */
export const share = (amount: number, part: number, whole: number): number =>
  whole < 0
    ? share(amount, 0 - part, 0 - whole)
    : (multiplyDivide(amount, part, whole) ?? roundHalfAway(exact(amount).times(part).dividedBy(whole)).toNumber()) + 0
