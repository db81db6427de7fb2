/** Payments as reported by senders, in all formats. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import {
  plainPayment,
  stripeAmount,
  stripeCheckout,
  stripePayment,
  stripeRefund
} from "../../../../server/delivery/inbound/payments.ts"

const read = <A>(schema: Schema.Codec<A, unknown>, body: unknown): Promise<A | "no"> =>
  Effect.runPromise(Effect.catch(Schema.decodeUnknownEffect(schema)(body), () => Effect.succeed("no" as const)))
/** Shortened from Stripe's documentation; unknown keys are ignored. */
const event = (type: string, object: object) => ({
  id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
  object: "event",
  api_version: "2026-05-27.basil",
  created: 1_686_089_970,
  livemode: false,
  type,
  data: { object }
})
const intent = {
  id: "pi_3MtwBwLkdIwHu7ix28a3tqPa",
  object: "payment_intent",
  amount: 2000,
  amount_received: 2000,
  currency: "eur",
  metadata: { invoice_number: "INV-0007" }
}
const checkout = {
  id: "cs_test_a11YYufWQzNY63zpQ6QSNRQhkUpVph4WRmzW0zWJO2znZKdVujZ0N0S22u",
  object: "checkout.session",
  amount_total: 2000,
  client_reference_id: "INV-0007",
  currency: "eur",
  metadata: {},
  payment_intent: "pi_3MtwBwLkdIwHu7ix28a3tqPa",
  payment_status: "paid"
}

describe("Stripe's events", () => {
  it("name a payment by its payment intent, whichever event reports it", async () => {
    const payment = { payment_id: "pi_3MtwBwLkdIwHu7ix28a3tqPa", invoice: "INV-0007", amount: "20.00", currency: "EUR" }
    expect(await read(stripePayment, event("payment_intent.succeeded", intent))).toEqual(payment)
    expect(await read(stripeCheckout, event("checkout.session.completed", checkout))).toEqual({
      ...payment,
      is_paid: true
    })
    expect(
      await read(
        stripeRefund,
        event("charge.refunded", {
          id: "ch_1",
          payment_intent: intent,
          amount: 2000,
          amount_refunded: 500,
          currency: "eur",
          metadata: {}
        })
      )
    ).toEqual({ ...payment, invoice: null, amount: "5.00", is_total: true })
  })
  it("report a checkout as unpaid, under the checkout's id if it has no payment intent", async () => {
    const told = await read(stripeCheckout, event("", { ...checkout, payment_status: "unpaid", payment_intent: null }))
    expect(told).toMatchObject({ is_paid: false, payment_id: checkout.id })
  })
  it("are not read if fields are missing or invalid", async () => {
    for (const wrong of [
      {},
      { ...intent, amount_received: "2000" },
      { ...intent, amount_received: 0.5 },
      { ...intent, amount_received: -1 },
      { ...intent, currency: "euro" },
      { ...intent, id: "a b" },
      { ...intent, metadata: { invoice_number: 7 } }
    ])
      expect(await read(stripePayment, event("payment_intent.succeeded", wrong)), JSON.stringify(wrong)).toBe("no")
    expect(await read(stripePayment, {})).toBe("no")
  })
})

describe("amounts in Stripe's events", () => {
  it("are in hundredths, except in the currencies where Stripe uses another unit", () => {
    expect(
      [
        [1050, "eur"],
        [5, "gbp"],
        [0, "usd"],
        [500, "jpy"],
        [5124, "kwd"],
        [500, "isk"],
        [500, "ugx"],
        [Number.MAX_SAFE_INTEGER, "eur"]
      ].map(([units, currency]) => stripeAmount(Number(units), String(currency)))
    ).toEqual(["10.50", "0.05", "0.00", "500", "5.124", "5.00", "5.00", "90071992547409.91"])
  })
})

describe("a generic payment event", () => {
  const data = { invoice_number: "INV-0007", amount: "12.50", currency: "eur", reference: "bank-4711" }
  it("has its amount as a string or a number", async () => {
    const payment = { payment_id: "bank-4711", invoice: "INV-0007", amount: "12.50", currency: "EUR" }
    expect(await read(plainPayment, { type: "payment.recorded", data })).toEqual(payment)
    expect(await read(plainPayment, { data: { ...data, amount: 12.5 } })).toEqual({ ...payment, amount: "12.5" })
  })
  it("is not read without a valid positive amount, reference and invoice number", async () => {
    for (const amount of [null, "", "-1", "1e3", 1e21, 0.1 + 0.2, "1,5", true])
      expect(await read(plainPayment, { data: { ...data, amount } }), String(amount)).toBe("no")
    expect(await read(plainPayment, { data: { ...data, reference: "" } })).toBe("no")
    expect(await read(plainPayment, { data: { ...data, invoice_number: "" } })).toBe("no")
  })
})
