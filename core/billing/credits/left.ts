/** What is left to credit of each row of an invoice, and how a credit is taken from it. Amounts are minor units. */
import { exact, fromScaled, roundHalfAway, toScaled } from "../../values/decimal.ts"
import { multiplyDivide } from "../../values/plain-decimal.ts"
import type { CreditNoteItemRow, InvoiceItemRow } from "../schema.ts"

/** Deductions have amounts below zero; so has what is left of them. */
export interface Amounts {
  readonly net: number
  readonly tax: number
}
export interface RowLeft {
  readonly item: InvoiceItemRow
  /** Of the invoiced quantity, in hundredths. */
  readonly quantity: number
  /** What earlier credits of a quantity took: the last of them takes the remainder of the row. */
  readonly by_quantity: Amounts
  readonly left: Amounts
  /** Amounts without a quantity were credited, so that a quantity says no longer what is left. */
  readonly has_amounts: boolean
}

export const hundredths = (quantity: string): number => Number(toScaled(quantity, 2))
export const quantityText = (in_hundredths: number): string => fromScaled(BigInt(in_hundredths), 2)
export const grossOf = ({ net, tax }: Amounts): number => net + tax

type Credited = Pick<CreditNoteItemRow, "invoice_item_id" | "quantity" | "subtotal" | "tax_total" | "by_amount">

/** `credited`: the rows of all credit notes of the invoice, whose amounts have the sign of the credit. */
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

const share = (amount: number, part: number, whole: number): number =>
  (multiplyDivide(amount, part, whole) ?? roundHalfAway(exact(amount).times(part).dividedBy(whole)).toNumber()) + 0
/** No further from zero than `most`, and on its side of zero. */
const within = (amount: number, most: number): number =>
  most < 0 ? Math.max(most, Math.min(0, amount)) : Math.min(most, Math.max(0, amount))
const isWithin = (amount: number, most: number): boolean => within(amount, most) === amount

/**
 * What a quantity of a row comes to: its proportion, and with the last of the quantity all that earlier ones left.
 * Undefined where less money than that is left of the row.
 */
export const ofQuantity = (row: RowLeft, quantity: number): Amounts | undefined => {
  const { item, by_quantity, left } = row
  const remainder = { net: item.subtotal - by_quantity.net, tax: item.tax_total - by_quantity.tax }
  const whole = hundredths(item.quantity)
  const due =
    quantity === row.quantity
      ? remainder
      : {
          net: within(share(item.subtotal, quantity, whole), remainder.net),
          tax: within(share(item.tax_total, quantity, whole), remainder.tax)
        }
  return isWithin(due.net, left.net) && isWithin(due.tax, left.tax) ? due : undefined
}

/**
 * Spreads an amount over what is left of rows, deductions included, pro rata: each part lies between nothing and what
 * is left of it, the parts add up to the amount exactly, and the whole of what is left takes all of every row. The odd
 * minor units go to those parts most was cut off from, among equals to the earlier.
 */
export const spread = (amount: number, rows: ReadonlyArray<RowLeft>): ReadonlyArray<Amounts> => {
  const parts = rows.flatMap(({ left }) => [left.net, left.tax])
  const whole = parts.reduce((sum, part) => sum + part, 0)
  const cut = parts.map((part) => {
    const product = BigInt(part) * BigInt(amount)
    return { taken: Number(product / BigInt(whole)), rest: product % BigInt(whole) }
  })
  const odd = amount - cut.reduce((sum, { taken }) => sum + taken, 0)
  const sign = BigInt(Math.sign(odd))
  const raised = new Set(
    cut
      .map(({ rest }, at) => ({ at, rest: rest * sign }))
      .filter(({ rest }) => rest > 0n)
      .sort((one, other) => (one.rest === other.rest ? one.at - other.at : one.rest > other.rest ? -1 : 1))
      .slice(0, Math.abs(odd))
      .map(({ at }) => at)
  )
  const taken = cut.map((one, at) => one.taken + (raised.has(at) ? Math.sign(odd) : 0))
  return rows.map((_, at) => ({ net: taken[at * 2] ?? 0, tax: taken[at * 2 + 1] ?? 0 }))
}
