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
/** Limits an amount to the range between zero and `most`, which may be negative. */
const within = (amount: number, most: number): number =>
  most < 0 ? Math.max(most, Math.min(0, amount)) : Math.min(most, Math.max(0, amount))
const isWithin = (amount: number, most: number): boolean => within(amount, most) === amount

/**
 * Amount to credit for a quantity of a row: its proportion, or the remainder with the last of the quantity. Undefined
 * if it exceeds the row's rest.
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
 * Splits an amount in proportion to the rests, which may be negative; the parts add up exactly, but are all 0 if the
 * rests add up to 0. Odd units go to the parts with the largest rounding loss, then to earlier ones.
 */
const proRata = (amount: number, left: ReadonlyArray<number>): ReadonlyArray<number> => {
  const whole = BigInt(left.reduce((sum, part) => sum + part, 0))
  if (whole === 0n) return left.map(() => 0)
  const cut = left.map((part) => {
    const product = BigInt(part) * BigInt(amount)
    return { taken: Number(product / whole), rest: product % whole }
  })
  const odd = amount - cut.reduce((sum, { taken }) => sum + taken, 0)
  const sign = BigInt(Math.sign(odd)) * (whole < 0n ? -1n : 1n)
  const raised = new Set(
    cut
      .map(({ rest }, at) => ({ at, rest: rest * sign }))
      .filter(({ rest }) => rest > 0n)
      .sort((one, other) => (one.rest === other.rest ? one.at - other.at : one.rest > other.rest ? -1 : 1))
      .slice(0, Math.abs(odd))
      .map(({ at }) => at)
  )
  return cut.map(({ taken }, at) => taken + (raised.has(at) ? Math.sign(odd) : 0))
}
const sumOf = (rows: ReadonlyArray<RowLeft>): Amounts => ({
  net: rows.reduce((sum, { left }) => sum + left.net, 0),
  tax: rows.reduce((sum, { left }) => sum + left.tax, 0)
})
/**
 * Splits a gross amount over the rests of rows, deductions included, by row id: first over tax classes and rates, each
 * rounded once, then over their rows. The full rest credits every row completely.
 */
export const spread = (amount: number, rows: ReadonlyArray<RowLeft>): ReadonlyMap<number, Amounts> => {
  const classes = [
    ...Map.groupBy(rows, ({ item }) => `${item.tax_class_id}/${item.tax_rate_id}/${item.tax_rate}`).values()
  ].map((of) => ({ of, left: sumOf(of) }))
  const amounts = proRata(
    amount,
    classes.map(({ left }) => grossOf(left))
  )
  return new Map(
    classes.flatMap(({ of, left }, at) => {
      const gross = amounts[at] ?? 0
      const tax = gross === 0 ? 0 : share(left.tax, gross, grossOf(left))
      const net_of = proRata(
        gross - tax,
        of.map((row) => row.left.net)
      )
      const tax_of = proRata(
        tax,
        of.map((row) => row.left.tax)
      )
      return of.map(({ item }, row) => [item.id, { net: net_of[row] ?? 0, tax: tax_of[row] ?? 0 }] as const)
    })
  )
}
