/**
 * Payments and refunds received by webhook. Each is recorded once, by the provider's id of it. One that cannot be
 * recorded (an unknown invoice, another currency, more than is outstanding) fails with the reason and stays in the
 * source's log and among the failed jobs, where a user can retry it.
 */
import { Effect, Result } from "effect"
import { invoiceStream } from "../../core/billing/state/events.ts"
import { type MovedMoney, recordPayment, recordRefund } from "../../core/billing/payments/decide.ts"
import { type InvoiceRow, invoices, type PaymentRow, payments } from "../../core/billing/state/tables.ts"
import { CommandRuntime, type DecideContext, lockStreams, type Rejection, Store } from "../../core/kernel/index.ts"
import { formatMoney, parseMoney } from "../../core/values/money.ts"
import { type Delivery, inboundHandler } from "../ports/server-slice.ts"
import type { ToldPayment, ToldRefund } from "../delivery/inbound/payments.ts"
import { plainPayment, stripeCheckout, stripePayment, stripeRefund } from "../delivery/inbound/payments.ts"
import { GivenUp, recordByServer, viewerNamed } from "../ports/server-context.ts"

const nobody = viewerNamed("webhooks", { is_owner: true })
const givenUp = (message: string): GivenUp => new GivenUp({ message })

/** The invoice with this number, else with this id. A proforma may have an invoice's number and is skipped. */
const invoiceNamed = Effect.fnUntraced(function* (named: string) {
  const found = (yield* Store.find(invoices, { number: named })).find(
    ({ deleted_at, type }) => deleted_at === null && type !== "proforma"
  )
  if (found !== undefined) return found
  // Numbers with leading zeros are no ids.
  if (!/^[1-9]\d{0,14}$/.test(named)) return undefined
  const row = yield* Store.get(invoices, Number(named))
  return row?.deleted_at === null ? row : undefined
})

/** Locks and reads the invoice, so that concurrent deliveries and users' payments wait for each other. */
const locked = Effect.fnUntraced(function* (invoice_id: number) {
  yield* lockStreams([invoiceStream(invoice_id)])
  return yield* Store.get(invoices, invoice_id)
})
const paymentUnder = Effect.fnUntraced(function* (external_id: string) {
  const [row] = yield* Store.find(payments, { external_id }, { limit: 1 })
  return row
})

const minorOf = (amount: string, currency: string): Effect.Effect<number, GivenUp> =>
  Result.match(parseMoney(amount, currency), {
    onSuccess: (minor) => Effect.succeed(minor),
    onFailure: (fault) => Effect.fail(givenUp(`The amount ${amount} ${fault}`))
  })

const record = Effect.fnUntraced(function* (
  rule: typeof recordPayment,
  invoice: InvoiceRow,
  money: MovedMoney,
  { received_at }: Delivery
) {
  const runtime = yield* CommandRuntime
  const [id] = yield* runtime.allocateIds(payments.name, 1)
  const context: DecideContext = {
    now: received_at,
    happened_at: received_at,
    viewer: nobody,
    settings: yield* runtime.settings,
    id: () => id ?? 0,
    number: () => null
  }
  const decided = rule(invoice, { ...money, paid_at: received_at }, context)
  if (Result.isFailure(decided)) return yield* givenUp(reasonOf(decided.failure))
  yield* recordByServer(decided.success.events, received_at)
  return decided.success.result.payment_id
})
const reasonOf = ({ errors, message }: Rejection): string => Object.values(errors ?? {}).flat()[0] ?? message

const textOf = (minor: number, currency: string): string => `${formatMoney(minor, currency)} ${currency}`
const nameOf = ({ id, number }: InvoiceRow): string => `invoice ${number ?? id}`

/** Result text if the payment is recorded already. Gives up if the recorded payment with its id has other data. */
const recordedAlready = Effect.fnUntraced(function* (
  { amount, currency, invoice, payment_id }: ToldPayment,
  known: PaymentRow
) {
  const named = invoice === null ? undefined : yield* invoiceNamed(invoice)
  const minor = Result.getOrUndefined(parseMoney(amount, known.currency_code))
  return currency === known.currency_code &&
    minor === known.amount &&
    (invoice === null || named?.id === known.invoice_id)
    ? `payment ${payment_id} is recorded already`
    : yield* givenUp(
        `Payment ${payment_id} of ${amount} ${currency}${invoice === null ? "" : ` for invoice ${invoice}`} ` +
          `has the id of payment ${known.id}, which is of ${textOf(known.amount, known.currency_code)}` +
          `${named?.id === known.invoice_id ? "" : " on another invoice"}: record it by hand if it is another payment.`
      )
})

const recordTold = Effect.fnUntraced(function* (told: ToldPayment, delivery: Delivery, method: PaymentRow["method"]) {
  const { amount, currency, payment_id } = told
  if (Number(amount) === 0) return `payment ${payment_id} is of ${amount} ${currency}: there is nothing to record`
  const known = yield* paymentUnder(payment_id)
  if (known !== undefined) return yield* recordedAlready(told, known)
  if (told.invoice === null) {
    // Only the checkout event names the invoice, and may arrive after this one.
    return yield* Effect.fail(new Error(`Payment ${payment_id} of ${amount} ${currency} names no invoice.`))
  }
  const found = yield* invoiceNamed(told.invoice)
  if (found === undefined)
    return yield* givenUp(
      `Payment ${payment_id} of ${amount} ${currency} names invoice ${told.invoice}: there is none.`
    )
  const invoice = (yield* locked(found.id)) ?? found
  const meanwhile = yield* paymentUnder(payment_id)
  if (meanwhile !== undefined) return yield* recordedAlready(told, meanwhile)
  if (currency !== invoice.currency_code)
    return yield* givenUp(
      `Payment ${payment_id} of ${amount} ${currency} is for ${nameOf(invoice)}, ` +
        `which is in ${invoice.currency_code}.`
    )
  const minor = yield* minorOf(amount, currency)
  const money = { amount: minor, method, reference: payment_id, external_id: payment_id } as const
  const id = yield* record(recordPayment, invoice, money, delivery)
  return `payment ${id} of ${textOf(minor, currency)} recorded on ${nameOf(invoice)}`
})

/**
 * Sum of the refunds recorded for a payment, in minor units. One recorded by hand names its payment by id or by the
 * reference, or belongs to the only one. `unclear`: manual refunds that name none of several.
 */
const refundsOf = Effect.fnUntraced(function* (paid: PaymentRow) {
  const moved = yield* Store.find(payments, { invoice_id: paid.invoice_id })
  const is_only = moved.every(({ id, kind }) => kind === "refund" || id === paid.id)
  const references = new Set(
    moved.flatMap(({ kind, reference }) => (kind === "payment" && reference !== null ? [reference] : []))
  )
  const refunds = moved.filter(({ kind }) => kind === "refund")
  const isUnnamed = ({ payment_id, reference }: PaymentRow): boolean =>
    payment_id === null && (reference === null || !references.has(reference))
  const isOfIt = (refund: PaymentRow): boolean =>
    isUnnamed(refund)
      ? is_only
      : refund.payment_id === null
        ? refund.reference === paid.reference
        : refund.payment_id === paid.id
  return {
    recorded: refunds.filter(isOfIt).reduce((sum, { amount }) => sum + amount, 0),
    unclear: is_only ? [] : refunds.filter(isUnnamed)
  }
})

const recordRefunded = Effect.fnUntraced(function* ({ amount, currency, payment_id }: ToldRefund, delivery: Delivery) {
  const paid = yield* paymentUnder(payment_id)
  // The refund may arrive before its payment: retry, and finally leave it to a user.
  if (paid === undefined)
    return yield* Effect.fail(
      new Error(`Refund of ${amount} ${currency} is of payment ${payment_id}, which is not known.`)
    )
  const invoice = yield* locked(paid.invoice_id)
  if (invoice === undefined) return yield* givenUp(`The invoice of payment ${payment_id} is gone.`)
  if (currency !== paid.currency_code)
    return yield* givenUp(`The refund is in ${currency}, and payment ${payment_id} was in ${paid.currency_code}.`)
  const total = yield* minorOf(amount, currency)
  const { recorded, unclear } = yield* refundsOf(paid)
  const more = total - recorded
  if (more <= 0) return `refunds of payment ${payment_id} up to ${amount} ${currency} are recorded already`
  const same = unclear.find((refund) => refund.amount === more)
  if (same !== undefined)
    return yield* givenUp(
      `Of payment ${payment_id} ${textOf(more, currency)} were given back, and refund ${same.id} of ` +
        `${textOf(same.amount, currency)} on ${nameOf(invoice)} may be that: it names no payment_id. ` +
        `If it is another refund, record this one by hand with payment_id ${paid.id}; ` +
        "if it is the same, nothing is left to do."
    )
  const money = {
    payment_id: paid.id,
    amount: more,
    method: paid.method,
    reference: payment_id,
    external_id: `${payment_id}:refunded:${total}`
  } as const
  const id = yield* record(
    (of, moved, context) => recordRefund(of, { payment: paid, refunded: recorded }, moved, context),
    invoice,
    money,
    delivery
  )
  return `refund ${id} of ${textOf(more, currency)} recorded on ${nameOf(invoice)}`
})

const checkout = (event: string) =>
  inboundHandler({
    kinds: ["stripe"],
    event,
    body: stripeCheckout,
    run: (told, delivery) =>
      told.is_paid ? recordTold(told, delivery, "card") : Effect.succeed(`payment ${told.payment_id} is not made yet`)
  })

export const toldPayments = [
  checkout("checkout.session.completed"),
  checkout("checkout.session.async_payment_succeeded"),
  inboundHandler({
    kinds: ["stripe"],
    event: "payment_intent.succeeded",
    body: stripePayment,
    run: (told, delivery) => recordTold(told, delivery, "card")
  }),
  inboundHandler({ kinds: ["stripe"], event: "charge.refunded", body: stripeRefund, run: recordRefunded }),
  inboundHandler({
    kinds: ["generic", "standard"],
    event: "payment.recorded",
    body: plainPayment,
    run: (told, delivery) => recordTold(told, delivery, "other")
  })
]
