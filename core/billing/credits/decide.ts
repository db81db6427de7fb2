/** Rules of credit notes (rules/billing 1.1, 1.5). They are created as issued, and never change. */
import { Result } from "effect"
import { invalidField, picked, reject } from "../../kernel/index.ts"
import type { DecideContext, Decided, Json, NewRow, Rejection, ValuesOf } from "../../kernel/index.ts"
import { balanceAfter, taxSummary } from "../state/amounts.ts"
import { creditNoteIssued, invoiceChange, nextDocumentNumber } from "../state/events.ts"
import { exclusiveTax } from "../../pricing/pricing/line.ts"
import { parseMoney } from "../../values/money.ts"
import { isInFuture } from "../../values/time.ts"
import { amountOf, invoiceName, noMoneyReason } from "../payments/decide.ts"
import type { CreditNoteItemRow, InvoiceItemRow, InvoiceRow } from "../state/tables.ts"
import { credit_note_items, credit_notes } from "../state/tables.ts"
import type { Amounts, RowLeft } from "../state/credited.ts"
import { grossOf, hundredths, isUsedUp, leftOf, quantityText, share } from "../state/credited.ts"
import type { creditFields } from "../state/fields.ts"

/** A row to credit: a quantity or an amount before tax; with neither all that is left of it. */
interface Wanted {
  readonly invoice_item_id: number
  readonly quantity?: string | null
  readonly amount?: Json
}
export type CreditInput = Omit<Partial<ValuesOf<typeof creditFields>>, "items"> & {
  readonly items?: ReadonlyArray<Wanted> | null
}
export interface CreditFacts {
  readonly invoice: InvoiceRow
  readonly items: ReadonlyArray<InvoiceItemRow>
  /** Rows of all its credit notes. */
  readonly credited: ReadonlyArray<CreditNoteItemRow>
  /** Names of issued invoices that deduct this deposit. */
  readonly deducted_by: ReadonlyArray<string>
}
export interface CreditResult {
  readonly id: number
  readonly credit_note_id: number
}
/** A row of the new credit note; amounts have the sign of the invoice. */
interface Taken {
  readonly item: InvoiceItemRow
  /** In hundredths; undefined if an amount is credited instead of a quantity. */
  readonly quantity: number | undefined
  readonly amounts: Amounts
}
type Refusable<A> = Result.Result<A, Rejection>

/** Uncredited rest of a row; after a credit by amount it has amounts only, and no quantity. */
const allOf = (row: RowLeft): Taken => ({
  item: row.item,
  quantity: row.has_amounts ? undefined : row.quantity,
  amounts: row.left
})

const byAmount = (
  { invoice }: CreditFacts,
  rows: ReadonlyArray<RowLeft>,
  amount: number
): Refusable<ReadonlyArray<Taken>> => {
  const most = invoice.total - invoice.amount_credited
  if (amount <= 0) return reject("amount", "The amount field must be greater than 0.")
  if (amount > most)
    return reject(
      "amount",
      `The credit of ${amountOf(amount, invoice)} is more than the ${amountOf(most, invoice)} that are not credited ` +
        "yet; credit that much or less."
    )
  if (amount === most) return Result.succeed(rows.map(allOf))
  const parts = spread(amount, rows)
  return Result.succeed(
    rows
      .map(({ item }): Taken => ({ item, quantity: undefined, amounts: parts.get(item.id) ?? { net: 0, tax: 0 } }))
      .filter(({ amounts }) => amounts.net !== 0 || amounts.tax !== 0)
  )
}

/** Amounts to credit for one requested row, or its rejection. `at`: its index in `items`, for the error's key. */
const takenOf = (
  { invoice, items }: CreditFacts,
  row: RowLeft | undefined,
  wanted: Wanted,
  at: number
): Refusable<Taken> => {
  const field = `items.${at}.quantity`
  if (row === undefined)
    return reject(
      `items.${at}.invoice_item_id`,
      items.some(({ id }) => id === wanted.invoice_item_id)
        ? "This row is a text, and texts have nothing to credit."
        : `${invoiceName(invoice)} has no such row; name one of its own.`
    )
  if (isUsedUp(row)) return reject(field, `Nothing is left to credit of "${row.item.name}".`)
  if (wanted.amount !== null && wanted.amount !== undefined) return amountOfRow(row, invoice, wanted, `items.${at}`)
  if (wanted.quantity === null || wanted.quantity === undefined) return Result.succeed(allOf(row))
  const quantity = hundredths(wanted.quantity)
  if (quantity > row.quantity)
    return reject(
      field,
      `Of "${row.item.name}" ${quantityText(row.quantity)} are left to credit; ${wanted.quantity} are too many.`
    )
  const amounts = ofQuantity(row, quantity)
  return amounts === undefined
    ? reject(
        field,
        `Amounts of "${row.item.name}" were credited before: ${amountOf(grossOf(row.left), invoice)} are left of it, ` +
          "which is less than this quantity comes to. Credit an amount, or leave the quantity out to credit " +
          "what is left."
      )
    : Result.succeed({ item: row.item, quantity, amounts })
}
/** An amount before tax of one row; all that is left of it takes all of its tax. */
const amountOfRow = (row: RowLeft, invoice: InvoiceRow, wanted: Wanted, field: string): Refusable<Taken> => {
  if (wanted.quantity !== null && wanted.quantity !== undefined)
    return reject(`${field}.amount`, "Give the quantity or the amount of a row, not both.")
  const read = parseMoney(wanted.amount ?? null, invoice.currency_code)
  if (Result.isFailure(read)) return reject(`${field}.amount`, `The amount field ${read.failure}`)
  const { item, left } = row
  const net = read.success
  if (net <= 0 || net > left.net)
    return reject(
      `${field}.amount`,
      `Of "${item.name}" ${amountOf(left.net, invoice)} without tax are left to credit; credit that much or less.`
    )
  const tax = net === left.net ? left.tax : Math.min(left.tax, exclusiveTax(net, item.tax_rate ?? "0").tax)
  return Result.succeed({ item, quantity: undefined, amounts: { net, tax } })
}
const without = (row: RowLeft, { amounts, quantity }: Taken): RowLeft => ({
  ...row,
  quantity: row.quantity - (quantity ?? 0),
  by_quantity:
    quantity === undefined
      ? row.by_quantity
      : { net: row.by_quantity.net + amounts.net, tax: row.by_quantity.tax + amounts.tax },
  left: { net: row.left.net - amounts.net, tax: row.left.tax - amounts.tax },
  has_amounts: row.has_amounts || quantity === undefined
})

const byItems = (
  facts: CreditFacts,
  rows: ReadonlyArray<RowLeft>,
  items: ReadonlyArray<Wanted>
): Refusable<ReadonlyArray<Taken>> => {
  const rest = new Map(rows.map((row) => [row.item.id, row]))
  const taken: Array<Taken> = []
  for (const [at, wanted] of items.entries()) {
    const row = rest.get(wanted.invoice_item_id)
    const one = takenOf(facts, row, wanted, at)
    if (Result.isFailure(one)) return Result.fail(one.failure)
    taken.push(one.success)
    if (row !== undefined) rest.set(row.item.id, without(row, one.success))
  }
  const { invoice } = facts
  const sum = grossSum(taken)
  const most = invoice.total - invoice.amount_credited
  if (sum < 0)
    return reject("items", "These rows are deductions: crediting them alone would ask for more money, not for less.")
  if (sum > most)
    return reject(
      "items",
      `These rows come to ${amountOf(sum, invoice)}, and ${amountOf(most, invoice)} of the invoice are not credited ` +
        "yet: credit its deductions with them, or credit less."
    )
  // Otherwise rows and classes would keep amounts that cancel out.
  if (sum === most && ![...rest.values()].every(({ left }) => left.net === 0 && left.tax === 0))
    return reject(
      "items",
      "These rows come to all that is not credited yet, and others are left: leave the rows out to credit everything."
    )
  return Result.succeed(taken)
}
const grossSum = (taken: ReadonlyArray<Taken>): number => taken.reduce((sum, { amounts }) => sum + grossOf(amounts), 0)

const taken = (facts: CreditFacts, input: CreditInput): Refusable<ReadonlyArray<Taken>> => {
  const { invoice } = facts
  const rows = leftOf(facts.items, facts.credited).filter((row) => !isUsedUp(row))
  const is_credited = invoice.total !== 0 && invoice.amount_credited === invoice.total
  if (is_credited || rows.length === 0)
    return reject("invoice", `${invoiceName(invoice)} is credited already; nothing is left to credit.`)
  if (input.amount !== null && input.amount !== undefined) return byAmount(facts, rows, input.amount)
  if (input.items !== null && input.items !== undefined)
    return byItems(facts, leftOf(facts.items, facts.credited), input.items)
  return Result.succeed(rows.map(allOf))
}

/** The stored row: amounts have the opposite sign of the invoice's. */
const itemRow = (
  { item, quantity, amounts }: Taken,
  credit_note_id: number,
  invoice: InvoiceRow,
  context: DecideContext
): NewRow<typeof credit_note_items> => {
  const amount = invoice.prices_include_tax ? grossOf(amounts) : amounts.net
  // Rows of credit notes have no discount: the price is that after it.
  const price =
    quantity === undefined ? amount : item.discount_amount === 0 ? item.unit_price : share(amount, 100, quantity)
  return {
    id: context.id(credit_note_items),
    credit_note_id,
    invoice_id: invoice.id,
    invoice_item_id: item.id,
    name: item.name,
    quantity: quantity === undefined ? "1.00" : quantityText(quantity),
    unit_price: 0 - price,
    subtotal: 0 - amounts.net,
    ...picked(item, ["tax_class_id", "tax_rate_id", "tax_rate_name", "tax_rate"]),
    tax_total: 0 - amounts.tax,
    total: 0 - grossOf(amounts),
    by_amount: quantity === undefined,
    sort_order: item.sort_order,
    currency_code: invoice.currency_code
  }
}
const sumOf = (
  rows: ReadonlyArray<CreditNoteItemRow | NewRow<typeof credit_note_items>>,
  column: "subtotal" | "tax_total" | "total"
): number => rows.reduce((sum, row) => sum + row[column], 0)

const refusalOf = (invoice: InvoiceRow, { issued_at }: CreditInput, { now }: DecideContext): Rejection | undefined =>
  noMoneyReason(invoice, "credit note") ??
  (issued_at === null || issued_at === undefined
    ? undefined
    : isInFuture(issued_at, now)
      ? invalidField("issued_at", "The issued at field must not be in the future.")
      : invoice.issued_at !== null && issued_at < invoice.issued_at
        ? invalidField("issued_at", `The credit note cannot be issued before its invoice was, at ${invoice.issued_at}.`)
        : undefined)

export const issueCreditNote = (
  facts: CreditFacts,
  input: CreditInput,
  context: DecideContext
): Decided<CreditResult> =>
  Result.gen(function* () {
    const { invoice } = facts
    const refusal = refusalOf(invoice, input, context)
    if (refusal !== undefined) return yield* Result.fail(refusal)
    // Otherwise the customer gets the deposit back twice: by this credit and by the invoice that deducts it.
    if (facts.deducted_by.length > 0)
      return yield* reject(
        "invoice",
        `The deposit is taken off by ${facts.deducted_by.join(", ")}; credit or void that first.`
      )
    const rows = yield* taken(facts, input)
    const id = context.id(credit_notes)
    const items = rows.map((row) => itemRow(row, id, invoice, context))
    const issued_at = input.issued_at ?? context.now
    const total = sumOf(items, "total")
    const credit_note: NewRow<typeof credit_notes> = {
      id,
      number: nextDocumentNumber("credit_note", invoice.store_id, context),
      status: "issued",
      invoice_id: invoice.id,
      member_id: invoice.member_id,
      store_id: invoice.store_id,
      opportunity_id: invoice.opportunity_id,
      currency_code: invoice.currency_code,
      exchange_rate: invoice.exchange_rate,
      prices_include_tax: invoice.prices_include_tax,
      subtotal: sumOf(items, "subtotal"),
      tax_total: sumOf(items, "tax_total"),
      total,
      tax_summary: taxSummary(items.map((row) => ({ ...row, discount_amount: 0 }))),
      reason: input.reason ?? null,
      notes: input.notes ?? null,
      issued_at,
      billed_to: invoice.billed_to,
      billed_by: invoice.billed_by
    }
    const set = balanceAfter(invoice, { credited: 0 - total }, issued_at)
    return {
      events: [creditNoteIssued.make({ ...invoiceChange(invoice, set), credit_note, items })],
      result: { id: invoice.id, credit_note_id: id }
    }
  })

// Amounts of a quantity, and parts of an amount.

/** Limits an amount to the range between zero and `most`, which may be negative. */
const within = (amount: number, most: number): number =>
  most < 0 ? Math.max(most, Math.min(0, amount)) : Math.min(most, Math.max(0, amount))
const isWithin = (amount: number, most: number): boolean => within(amount, most) === amount

/**
 * Amount to credit for a quantity of a row: its proportion, or the remainder with the last of the quantity. Undefined
 * if it exceeds the row's rest.
 */
const ofQuantity = (row: RowLeft, quantity: number): Amounts | undefined => {
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
const sumLeft = (rows: ReadonlyArray<RowLeft>): Amounts => ({
  net: rows.reduce((sum, { left }) => sum + left.net, 0),
  tax: rows.reduce((sum, { left }) => sum + left.tax, 0)
})
/**
 * Splits a gross amount over the rests of rows, deductions included, by row id: first over tax classes and rates, each
 * rounded once, then over their rows. The full rest credits every row completely.
 */
const spread = (amount: number, rows: ReadonlyArray<RowLeft>): ReadonlyMap<number, Amounts> => {
  const classes = [
    ...Map.groupBy(rows, ({ item }) => `${item.tax_class_id}/${item.tax_rate_id}/${item.tax_rate}`).values()
  ].map((of) => ({ of, left: sumLeft(of) }))
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
