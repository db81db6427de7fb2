/** Random histories of one invoice, decided by the rules and projected from events, with invariants after each step. */
import * as fc from "fast-check"
import { Result } from "effect"
import { expect } from "vitest"
import { taxSummary } from "../../../core/billing/state/amounts.ts"
import { type CreditInput, issueCreditNote } from "../../../core/billing/credits/decide.ts"
import { no_payment_named, recordPayment, recordRefund } from "../../../core/billing/payments/decide.ts"
import { voidInvoice } from "../../../core/billing/invoices/decide.ts"
import { credit_note_items, invoice_items, type InvoiceRow } from "../../../core/billing/state/tables.ts"
import type { DecideContext } from "../../../core/kernel/endpoints/endpoint.ts"
import type { NewEvent } from "../../../core/kernel/events/event-type.ts"
import type { Facts, GivenRow } from "../decider.ts"
import { after, creditFactsIn, invoiceIn, issued, notesIn, paymentsIn, type Sold, taxed } from "./invoice.ts"

const rates = [taxed("20.0000", 1), taxed("5.5000", 2), taxed("0.0000", 3), taxed("19.6000", 1)]
const row = fc.record({
  hundredths: fc.oneof(
    fc.integer({ min: 1, max: 5 }).map((n) => n * 100),
    fc.integer({ min: 1, max: 9_999 })
  ),
  amount: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 200_000 }) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 12 }) },
    { weight: 2, arbitrary: fc.integer({ min: -20_000, max: 0 }) }
  ),
  rate: fc.integer({ min: 0, max: rates.length - 1 })
})
const sold = fc
  .array(row, { minLength: 1, maxLength: 7 })
  .map((rows) =>
    rows.map(({ hundredths, amount, rate }): Sold => ({
      quantity: (hundredths / 100).toFixed(2),
      amount,
      tax: rates[rate] ?? taxed("0.0000")
    }))
  )

/** A share of the maximum amount; values just below, at and above the limits are drawn more often. */
const share = fc.oneof(
  fc.constantFrom(0, 1, 1.000001, 0.5),
  fc.double({ min: 0, max: 1.2, noNaN: true, noDefaultInfinity: true })
)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("pay" as const), share }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("refund" as const), share }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("credit_amount" as const), share }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("credit_rows" as const),
      picks: fc.array(fc.record({ row: fc.nat(6), share, all: fc.boolean() }), { minLength: 1, maxLength: 3 })
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("credit_all" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("void" as const) }) }
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
export const histories = fc.record({
  sold,
  currency_code: fc.constantFrom("GBP", "JPY", "KWD"),
  prices_include_tax: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 14 })
})
type History = typeof histories extends fc.Arbitrary<infer H> ? H : never

type Seen = ReadonlyArray<GivenRow | NewEvent>
const sum = (amounts: ReadonlyArray<number>): number => amounts.reduce((all, one) => all + one, 0)
/** A share of the maximum; the share 1.000001 stands for one unit above it. */
const portion = (most: number, share: number): number =>
  share === 1.000001 ? Math.max(0, most) + 1 : Math.round(Math.max(0, most) * share)

interface Outcome {
  readonly decided: Result.Result<{ readonly events: ReadonlyArray<NewEvent> }, unknown>
  /** Whether the rules accept the step; undefined if that depends on the amounts of rows. */
  readonly expected: boolean | undefined
}
const take = (one: Step, facts: Facts, context: DecideContext): Outcome => {
  const invoice = invoiceIn(facts)
  const left = invoice.total - invoice.amount_credited
  const credit = (input: CreditInput) => issueCreditNote(creditFactsIn(facts), input, context)
  switch (one.kind) {
    case "pay": {
      const amount = portion(invoice.amount_outstanding, one.share)
      return {
        decided: recordPayment(invoice, { amount }, context),
        expected:
          ["issued", "partially_paid"].includes(invoice.status) && amount > 0 && amount <= invoice.amount_outstanding
      }
    }
    case "refund": {
      const amount = portion(invoice.amount_paid, one.share)
      return {
        decided: recordRefund(invoice, no_payment_named, { amount }, context),
        expected: invoice.status !== "voided" && amount > 0 && amount <= invoice.amount_paid
      }
    }
    case "credit_amount": {
      const amount = portion(left, one.share)
      return {
        decided: credit({ amount }),
        expected: invoice.status !== "voided" && left > 0 && amount > 0 && amount <= left
      }
    }
    case "credit_all":
      return { decided: credit({}), expected: invoice.status === "voided" ? false : left > 0 ? true : undefined }
    case "void": {
      // 7: no void with payments or credits, and none twice.
      const notes = notesIn(facts).length
      return {
        decided: voidInvoice(invoice, { credit_notes: notes, deducted_by: [] }, "Rained off", context),
        expected: invoice.status !== "voided" && invoice.amount_paid === 0 && notes === 0
      }
    }
    case "credit_rows": {
      const items = facts.find(invoice_items, {})
      return {
        decided: credit({
          items: one.picks.map(({ row: at, share: part, all }) => {
            const item = items[at % items.length]
            if (item === undefined) throw new Error("an invoice without rows")
            const quantity = Math.max(1, portion(Math.round(Number(item.quantity) * 100), part))
            return { invoice_item_id: item.id, quantity: all ? null : (quantity / 100).toFixed(2) }
          })
        }),
        expected: undefined
      }
    }
  }
}

type Moving = Extract<Step, { readonly kind: "pay" | "refund" | "credit_amount" }>
const isMoving = (one: Step): one is Moving => "share" in one
const columnOf = { pay: "amount_paid", refund: "amount_paid", credit_amount: "amount_credited" } as const
/** The amount that a step requests of the invoice as it was before. */
const portionOf = (one: Moving, before: Seen): number =>
  after(before, (facts) => {
    const { amount_credited, amount_outstanding, amount_paid, total } = invoiceIn(facts)
    const most = { pay: amount_outstanding, refund: amount_paid, credit_amount: total - amount_credited }[one.kind]
    return portion(most, one.share)
  })
/** The amount by which a step changed what is paid or credited. */
const movedBy = (one: Moving, before: Seen, now: Seen): number => {
  const [was, is] = [before, now].map((seen) => after(seen, (facts) => invoiceIn(facts)[columnOf[one.kind]]))
  return Math.abs((is ?? 0) - (was ?? 0))
}

/** Whether a part lies between zero and the whole, with its sign. */
const lies = (part: number, whole: number): boolean =>
  whole < 0 ? part <= 0 && part >= whole : part >= 0 && part <= whole

/** Invariants, checked on the rows alone. */
const holds = (facts: Facts, first: InvoiceRow): void => {
  const invoice = invoiceIn(facts)
  const items = facts.find(invoice_items, {})
  const credits = facts.find(credit_note_items, {})
  const notes = notesIn(facts)
  // 1: totals of rows, classes and document agree, for the invoice and every credit note.
  for (const [document, rows] of [
    [invoice, items],
    ...notes.map((note) => [note, credits.filter((one) => one.credit_note_id === note.id)] as const)
  ] as const) {
    expect(sum(rows.map((one) => one.subtotal))).toBe(document.subtotal + 0)
    expect(sum(rows.map((one) => one.total))).toBe(document.total + 0)
    expect(sum(document.tax_summary.map((one) => one.tax))).toBe(document.tax_total + 0)
    expect(document.subtotal + document.tax_total).toBe(document.total)
  }
  // 2: all amounts follow from the total, payments and credits.
  const moved = paymentsIn(facts)
  const isVoided = invoice.status === "voided"
  const of = (kind: string): number => sum(moved.filter((one) => one.kind === kind).map((one) => one.amount))
  const credited = 0 - sum(notes.map((note) => note.total))
  expect([invoice.amount_paid, invoice.amount_credited + 0]).toEqual([of("payment") - of("refund"), credited + 0])
  expect(invoice.amount_outstanding).toBe(isVoided ? 0 : invoice.total - credited - of("payment") + of("refund"))
  // 3: credits and refunds never exceed what can be credited or refunded.
  expect(lies(credited, invoice.total), `${credited} credited of ${invoice.total}`).toBe(true)
  expect(invoice.amount_paid).toBeGreaterThanOrEqual(0)
  for (const item of items) {
    const own = credits.filter((one) => one.invoice_item_id === item.id)
    expect(lies(0 - sum(own.map((one) => one.subtotal)), item.subtotal)).toBe(true)
    expect(lies(0 - sum(own.map((one) => one.tax_total)), item.tax_total)).toBe(true)
    const quantity = sum(own.filter((one) => !one.by_amount).map((one) => Math.round(Number(one.quantity) * 100)))
    const whole = Math.round(Number(item.quantity) * 100)
    expect(quantity).toBeLessThanOrEqual(whole)
    // Rows credited in full have no remainder.
    if (quantity === whole) expect(sum(own.map((one) => one.total)) + item.total).toBe(0)
  }
  for (const note of notes) expect(note.total).toBeLessThanOrEqual(0)
  // 4: a fully credited invoice comes to zero in every row, class and total.
  if (invoice.status === "credited") {
    for (const item of items) {
      const own = credits.filter((one) => one.invoice_item_id === item.id)
      expect(sum(own.map((one) => one.subtotal)) + item.subtotal).toBe(0)
      expect(sum(own.map((one) => one.tax_total)) + item.tax_total).toBe(0)
    }
    const both = taxSummary([...items, ...credits.map((one) => ({ ...one, discount_amount: 0 }))])
    for (const { net, tax, gross } of both) expect([net + 0, tax + 0, gross + 0]).toEqual([0, 0, 0])
  }
  // 5: only amounts and statuses that follow from payments have changed.
  const { amount_credited, amount_outstanding, amount_paid, paid_at, status, updated_at } = first
  const { voided_at, void_reason } = isVoided ? first : invoice
  const money = { amount_credited, amount_outstanding, amount_paid, paid_at, status, updated_at }
  expect({ ...invoice, ...money, voided_at, void_reason }).toEqual(first)
  // 7: voided invoices have neither payments nor credits.
  if (isVoided) {
    expect([invoice.amount_paid, notes.length]).toEqual([0, 0])
    expect([invoice.paid_at, invoice.void_reason]).toEqual([null, "Rained off"])
    return
  }
  // Rule 1.1, written independently.
  expect(invoice.status).toBe(
    invoice.total === 0
      ? "paid"
      : credited === invoice.total
        ? "credited"
        : invoice.amount_outstanding <= 0
          ? "paid"
          : invoice.amount_paid > 0
            ? "partially_paid"
            : "issued"
  )
  expect(invoice.paid_at === null).toBe(invoice.status !== "paid")
}

export interface Counted {
  accepted: number
  refused: number
  credited: number
  voided: number
}
export const play = ({ sold: rows, steps, ...set }: History, counted: Counted): void => {
  const made = issued(rows, set)
  if (made.invoice.total < 0) return
  const begins: Partial<InvoiceRow> =
    made.invoice.total === 0 ? { status: "paid", paid_at: made.invoice.issued_at } : {}
  const first = issued(rows, { ...set, ...begins })
  let history: Seen = first.rows
  for (const [at, one] of steps.entries()) {
    const [events, before] = after(history, (facts) => {
      holds(facts, first.invoice)
      const { decided, expected } = take(one, facts, {
        ...facts.context,
        number: () => at + 1,
        id: (table) => facts.context.id(table) + 100 * at
      })
      if (expected !== undefined) expect(Result.isSuccess(decided), JSON.stringify(one)).toBe(expected)
      return [Result.isSuccess(decided) ? decided.success.events : [], invoiceIn(facts).status] as const
    })
    if (events.length > 0) counted.accepted++
    else counted.refused++
    history = [...history, ...events]
    const asked = isMoving(one) && events.length > 0 ? portionOf(one, history.slice(0, -1)) : undefined
    if (asked !== undefined && isMoving(one)) expect(movedBy(one, history.slice(0, -1), history)).toBe(asked)
    const status = after(history, (facts) => invoiceIn(facts).status)
    if (status === "credited" && before !== "credited") counted.credited++
    if (status === "voided" && before !== "voided") counted.voided++
  }
  after(history, (facts) => {
    holds(facts, first.invoice)
    return true
  })
}
