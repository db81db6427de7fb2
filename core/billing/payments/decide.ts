/** Rules of payments and refunds (rules/billing 1.1, 1.4). Neither can be changed: a refund corrects a payment. */
import { Result } from "effect"
import { invalidField, reject } from "../../kernel/index.ts"
import type { DecideContext, Decided, NewRow, Rejection, ValuesOf } from "../../kernel/index.ts"
import { formatMoney } from "../../values/money.ts"
import { invoiceChange, paymentRecorded, paymentRefunded } from "../state/events.ts"
import { isInFuture } from "../../values/time.ts"
import { invoice_statuses, type InvoiceRow, type PaymentRow, payments } from "../state/tables.ts"
import { balanceAfter } from "../state/amounts.ts"
import type { refundFields } from "../state/fields.ts"

/** A payment or refund reported by a user or a payment provider. */
export type MovedMoney = Partial<ValuesOf<typeof refundFields>> & { readonly external_id?: string | null }
export interface MovedResult {
  readonly id: number
  readonly payment_id: number
}

export const invoiceName = ({ number, id }: Pick<InvoiceRow, "number" | "id">): string =>
  number === null ? `Invoice ${id}` : `Invoice ${number}`
export const amountOf = (minor: number, { currency_code }: Pick<InvoiceRow, "currency_code">): string =>
  `${formatMoney(minor, currency_code)} ${currency_code}`

/** Rejection if an invoice takes no payment, refund or credit note (`what`): a proforma, a draft or voided. */
export const noMoneyReason = (invoice: InvoiceRow, what: string): Rejection | undefined =>
  invoice.type === "proforma"
    ? invalidField("type", `A proforma asks for no money, so it takes no ${what}; issue an invoice instead.`)
    : invoice.status === "draft"
      ? invalidField("status", `${invoiceName(invoice)} is a draft; issue it before a ${what} is recorded.`)
      : invoice.status === "voided"
        ? invalidField("status", `${invoiceName(invoice)} was voided, so it takes no ${what}.`)
        : undefined

const commonRefusal = (
  invoice: InvoiceRow,
  input: MovedMoney,
  context: DecideContext,
  what: string
): Rejection | undefined => {
  const unable = noMoneyReason(invoice, what)
  if (unable !== undefined) return unable
  for (const field of ["currency", "currency_code"] as const) {
    const given = input[field]
    if (given !== undefined && given !== null && given !== invoice.currency_code)
      return invalidField(field, `The invoice is in ${invoice.currency_code}; a ${what} of it is in the same currency.`)
  }
  if ((input.amount ?? 0) <= 0) return invalidField("amount", "The amount field must be greater than 0.")
  return input.paid_at !== undefined && input.paid_at !== null && isInFuture(input.paid_at, context.now)
    ? invalidField("paid_at", "The paid at field must not be in the future.")
    : undefined
}

const paymentRow = (
  kind: PaymentRow["kind"],
  invoice: InvoiceRow,
  input: MovedMoney,
  context: DecideContext
): NewRow<typeof payments> => ({
  id: context.id(payments),
  invoice_id: invoice.id,
  member_id: invoice.member_id,
  kind,
  amount: input.amount ?? 0,
  currency_code: invoice.currency_code,
  method: input.method ?? "other",
  reference: input.reference ?? null,
  notes: input.notes ?? null,
  reason: input.reason ?? null,
  paid_at: input.paid_at ?? context.happened_at,
  recorded_by: context.viewer.user_id || null,
  external_id: input.external_id ?? null,
  payment_id: input.payment_id ?? null
})

export const recordPayment = (invoice: InvoiceRow, input: MovedMoney, context: DecideContext): Decided<MovedResult> => {
  const common = commonRefusal(invoice, input, context, "payment")
  if (common !== undefined) return Result.fail(common)
  if (invoice.status !== "issued" && invoice.status !== "partially_paid")
    return reject(
      "status",
      `${invoiceName(invoice)} is ${invoice_statuses[invoice.status].toLowerCase()} already; nothing is outstanding.${
        invoice.amount_paid > 0 ? " If this money came as well, give it back or record it on another invoice." : ""
      }`
    )
  const amount = input.amount ?? 0
  if (amount > invoice.amount_outstanding)
    return reject(
      "amount",
      `The payment of ${amountOf(amount, invoice)} is more than the ` +
        `${amountOf(invoice.amount_outstanding, invoice)} that are outstanding; record that much or less.`
    )
  const payment = paymentRow("payment", invoice, input, context)
  const set = balanceAfter(invoice, { paid: amount }, payment.paid_at)
  return Result.succeed({
    events: [paymentRecorded.make({ ...invoiceChange(invoice, set), payment })],
    result: { id: invoice.id, payment_id: payment.id }
  })
}

export interface RefundFacts {
  /** The payment it refunds; undefined if none is given or found. */
  readonly payment: PaymentRow | undefined
  /** Total of earlier refunds of that payment. */
  readonly refunded: number
}
export const no_payment_named: RefundFacts = { payment: undefined, refunded: 0 }
/** Reason the payment named by a refund cannot be refunded; undefined if it can. */
const namedRefusal = (
  invoice: InvoiceRow,
  { amount = 0, payment_id }: MovedMoney,
  { payment, refunded }: RefundFacts
): Rejection | undefined => {
  if (payment_id === null || payment_id === undefined) return undefined
  if (payment === undefined || payment.invoice_id !== invoice.id || payment.kind !== "payment")
    return invalidField(
      "payment_id",
      `${invoiceName(invoice)} has no payment ${payment_id}; name one of its own, or none.`
    )
  const left = payment.amount - refunded
  return amount > left
    ? invalidField(
        "amount",
        `The refund of ${amountOf(amount, invoice)} is more than the ${amountOf(left, invoice)} that are left of ` +
          `payment ${payment.id}; refund that much or less of it.`
      )
    : undefined
}

export const recordRefund = (
  invoice: InvoiceRow,
  facts: RefundFacts,
  input: MovedMoney,
  context: DecideContext
): Decided<MovedResult> => {
  const common = commonRefusal(invoice, input, context, "refund")
  if (common !== undefined) return Result.fail(common)
  const amount = input.amount ?? 0
  if (invoice.amount_paid <= 0)
    return reject("amount", `Nothing is paid on invoice ${invoice.number ?? invoice.id}, so nothing can be refunded.`)
  if (amount > invoice.amount_paid)
    return reject(
      "amount",
      `The refund of ${amountOf(amount, invoice)} is more than the ` +
        `${amountOf(invoice.amount_paid, invoice)} that are paid; refund that much or less.`
    )
  const named = namedRefusal(invoice, input, facts)
  if (named !== undefined) return Result.fail(named)
  const payment = paymentRow("refund", invoice, input, context)
  const set = balanceAfter(invoice, { paid: -amount }, payment.paid_at)
  return Result.succeed({
    events: [paymentRefunded.make({ ...invoiceChange(invoice, set), payment })],
    result: { id: invoice.id, payment_id: payment.id }
  })
}
