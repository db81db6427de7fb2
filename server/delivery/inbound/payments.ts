/**
 * Payments in webhooks, as Schemas that decode providers' formats into one: Stripe's events, and a plain format for any
 * other program. Each payment has an id besides the delivery's, as Stripe reports one payment in several events.
 */
import { Schema, SchemaGetter } from "effect"

/** A payment or refund, as reported by a provider. */
export interface ToldPayment {
  /** The provider's id of the payment; a payment with a known id is not recorded again. */
  readonly payment_id: string
  /** Number or id of the invoice, as named in the payment; null if none. */
  readonly invoice: string | null
  /** Decimal in the currency's main unit, such as `1234.50`. */
  readonly amount: string
  /** ISO 4217 code. */
  readonly currency: string
}
export interface ToldRefund extends ToldPayment {
  /** `amount` is the total refunded so far, not that of one refund. */
  readonly is_total: true
}
/** A completed checkout, which may be unpaid: bank debits are reported again once paid. */
interface ToldCheckout extends ToldPayment {
  readonly is_paid: boolean
}

/** Decimal places of Stripe's amounts in currencies that do not have two. */
const stripe_decimals: { readonly [currency: string]: number } = {
  ...Object.fromEntries(
    "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ").map((currency) => [currency, 0])
  ),
  ...Object.fromEntries("BHD JOD KWD OMR TND".split(" ").map((currency) => [currency, 3]))
}
/** Converts Stripe's smallest units to a decimal: 1050 eur is 10.50. */
export const stripeAmount = (smallest_units: number, currency: string): string => {
  const decimals = stripe_decimals[currency.toUpperCase()] ?? 2
  const digits = String(smallest_units).padStart(decimals + 1, "0")
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

const amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const currency = Schema.String.check(Schema.isPattern(/^[A-Za-z]{3}$/))
const id = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/))
const optional = <A, I>(of: Schema.Codec<A, I>) => Schema.optionalKey(Schema.NullOr(of))
/** Our metadata on Stripe objects: `invoice_id` or `invoice_number`. */
const metadata = optional(Schema.Record(Schema.String, Schema.String))
type Metadata = { readonly [key: string]: string } | null | undefined
const invoiceIn = (given: Metadata): string | null => given?.["invoice_number"] ?? given?.["invoice_id"] ?? null
/** An id, or the expanded object with that id. */
const idOrObject = Schema.Union([id, Schema.Struct({ id })])
const idOf = (given: string | { readonly id: string }): string => (typeof given === "string" ? given : given.id)

const told = <A>() => Schema.declare<A>((value): value is A => typeof value === "object" && value !== null)
/** A one-way codec: this server only decodes these payloads. */
const decodedBy = <I, A>(form: Schema.Codec<I, unknown>, read: (given: I) => A): Schema.Codec<A, unknown> =>
  form.pipe(
    Schema.decodeTo(told<A>(), {
      decode: SchemaGetter.transform(read),
      encode: SchemaGetter.forbidden(() => "what others tell is not sent back")
    })
  )
const stripeEvent = <A>(object: Schema.Codec<A, unknown>) => Schema.Struct({ data: Schema.Struct({ object }) })

/** Decodes `checkout.session.completed` and `checkout.session.async_payment_succeeded`. */
export const stripeCheckout: Schema.Codec<ToldCheckout, unknown> = decodedBy(
  stripeEvent(
    Schema.Struct({
      id,
      payment_intent: optional(idOrObject),
      client_reference_id: optional(Schema.String),
      amount_total: amount,
      currency,
      payment_status: Schema.String,
      metadata
    })
  ),
  ({ data: { object } }) => ({
    // A checkout of zero has no payment and is identified by its own id.
    payment_id: idOf(object.payment_intent ?? object.id),
    invoice: object.client_reference_id ?? invoiceIn(object.metadata),
    amount: stripeAmount(object.amount_total, object.currency),
    currency: object.currency.toUpperCase(),
    is_paid: object.payment_status !== "unpaid"
  })
)

/** Decodes `payment_intent.succeeded`. */
export const stripePayment: Schema.Codec<ToldPayment, unknown> = decodedBy(
  stripeEvent(Schema.Struct({ id, amount_received: amount, currency, metadata })),
  ({ data: { object } }) => ({
    payment_id: object.id,
    invoice: invoiceIn(object.metadata),
    amount: stripeAmount(object.amount_received, object.currency),
    currency: object.currency.toUpperCase()
  })
)

/** Decodes `charge.refunded`, partial or full. */
export const stripeRefund: Schema.Codec<ToldRefund, unknown> = decodedBy(
  stripeEvent(Schema.Struct({ id, payment_intent: optional(idOrObject), amount_refunded: amount, currency, metadata })),
  ({ data: { object } }) => ({
    payment_id: idOf(object.payment_intent ?? object.id),
    invoice: invoiceIn(object.metadata),
    amount: stripeAmount(object.amount_refunded, object.currency),
    currency: object.currency.toUpperCase(),
    is_total: true
  })
)

const decimal = /^\d{1,15}(\.\d{1,6})?$/
const decimalAmount = Schema.Union([
  Schema.String.check(Schema.isPattern(decimal)),
  Schema.Finite.check(Schema.makeFilter((value: number) => decimal.test(String(value))))
])

/** Decodes `payment.recorded` of generic and Standard Webhooks sources; `reference` is the payment's id. */
export const plainPayment: Schema.Codec<ToldPayment, unknown> = decodedBy(
  Schema.Struct({
    data: Schema.Struct({
      invoice_number: Schema.String.check(Schema.isMinLength(1)),
      amount: decimalAmount,
      currency,
      reference: id
    })
  }),
  ({ data }) => ({
    payment_id: data.reference,
    invoice: data.invoice_number,
    amount: String(data.amount),
    currency: data.currency.toUpperCase()
  })
)
