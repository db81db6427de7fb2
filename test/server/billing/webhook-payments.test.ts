/** Payments reported by providers, from the webhook request to the invoice. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, both_engines } from "../../app.ts"
import { signedGeneric, signedStripe } from "../delivery/inbound/signing.ts"
import { serve, type Serving } from "../serving.ts"
import { type Billing, billingOf } from "./billing.ts"

const stripe_secret = "whsec_of-stripe-as-it-shows-it"

describe.each(both_engines)("payments received by webhook on %s", (engine: Engine) => {
  let serving: Serving
  let billing: Billing
  let member_id: number
  let generic: { readonly id: number; readonly secret: string }
  let stripe_id: number
  beforeAll(async () => {
    serving = await serve(engine, { public_url: "https://hire.example" })
    billing = billingOf(serving)
    await billing.must("settings/company", { settings: { base_currency: "EUR" } }, "PUT")
    member_id = await billing.member("Ann")
    generic = (await billing.must("inbound_sources", { name: "bank", kind: "generic" })).inbound_source
    const stripe = { name: "stripe", kind: "stripe", secret: stripe_secret }
    stripe_id = (await billing.must("inbound_sources", stripe)).inbound_source.id
  })
  afterAll(() => serving?.close())

  const log = async (source_id: number, delivery_id?: string) => {
    const { logs } = await billing.must(`inbound_sources/${source_id}/logs?per_page=100`)
    return delivery_id === undefined
      ? logs[0]
      : logs.find((one: { delivery_id: string }) => one.delivery_id === delivery_id)
  }
  const settled = async (source_id: number, delivery_id?: string) => {
    await expect
      .poll(async () => (await log(source_id, delivery_id))?.status, { timeout: 20_000 })
      .toMatch(/done|failed/)
    const { result, status } = await log(source_id, delivery_id)
    return [status, result]
  }
  let events = 0
  const stripe = async (type: string, object: object, id = `evt_${++events}`) => {
    const body = JSON.stringify({ id, type, data: { object } })
    const got = await serving.ask("/api/v1/webhooks/inbound/stripe", {
      method: "POST",
      bytes: body,
      token: null,
      headers: signedStripe(stripe_secret, Date.now(), body)
    })
    expect(got.status, got.text).toBe(202)
    return settled(stripe_id, id)
  }
  const plain = async (data: object) => {
    const body = JSON.stringify({ type: "payment.recorded", data })
    await serving.ask("/api/v1/webhooks/inbound/bank", {
      method: "POST",
      bytes: body,
      token: null,
      headers: signedGeneric(generic.secret, body)
    })
    return settled(generic.id)
  }
  const shown = async (id: number) => {
    const { invoice } = await billing.must(`invoices/${id}?include=payments`)
    return [invoice.status, invoice.amount_outstanding, invoice.payments.length]
  }

  it("are recorded once when three events report them", async () => {
    const { id, number } = await billing.issued(member_id)
    const session = {
      id: "cs_1",
      payment_intent: "pi_1",
      client_reference_id: number,
      amount_total: 10_000,
      currency: "eur",
      payment_status: "paid"
    }
    expect((await stripe("checkout.session.completed", session))[0]).toBe("done")
    expect(await shown(id)).toEqual(["paid", "0.00", 1])
    const [status, result] = await stripe("payment_intent.succeeded", {
      id: "pi_1",
      amount_received: 10_000,
      currency: "eur"
    })
    expect([status, result]).toEqual(["done", "payment pi_1 is recorded already"])
    await stripe("checkout.session.completed", session, "evt_1")
    expect(await shown(id)).toEqual(["paid", "0.00", 1])
  })
  it("may name the invoice by its id, and refund events record only the amount not yet refunded", async () => {
    const { id } = await billing.issued(member_id)
    const metadata = { invoice_id: String(id) }
    await stripe("payment_intent.succeeded", { id: "pi_2", amount_received: 10_000, currency: "eur", metadata })
    expect(await shown(id)).toEqual(["paid", "0.00", 1])
    const charge = { id: "ch_2", payment_intent: "pi_2", currency: "eur" }
    expect((await stripe("charge.refunded", { ...charge, amount_refunded: 3_000 }))[0]).toBe("done")
    expect(await shown(id)).toEqual(["partially_paid", "30.00", 2])
    await stripe("charge.refunded", { ...charge, amount_refunded: 3_000 })
    expect(await shown(id)).toEqual(["partially_paid", "30.00", 2])
    await stripe("charge.refunded", { ...charge, amount_refunded: 10_000 })
    expect(await shown(id)).toEqual(["issued", "100.00", 3])
  })
  describe("a refund recorded by hand before its webhook arrives", () => {
    const paid = async (payment: string, amount_received = 10_000, into?: number) => {
      const id = into ?? (await billing.issued(member_id)).id
      const metadata = { invoice_id: String(id) }
      await stripe("payment_intent.succeeded", { id: payment, amount_received, currency: "eur", metadata })
      const { invoice } = await billing.must(`invoices/${id}?include=payments`)
      const made = invoice.payments.find((one) => one.reference === payment)!
      return { id, payment_id: made.id }
    }
    const refundTold = (payment_intent: string, amount_refunded: number) =>
      stripe("charge.refunded", { id: `ch_${payment_intent}`, payment_intent, currency: "eur", amount_refunded })

    it("is not recorded again if it names its payment, and a later event records only the difference", async () => {
      const { id, payment_id } = await paid("pi_hand_1")
      const { refund } = await billing.must(`invoices/${id}/refunds`, { amount: "30.00", payment_id })
      expect(refund.payment_id).toBe(payment_id)
      expect(await refundTold("pi_hand_1", 3_000)).toEqual([
        "done",
        "refunds of payment pi_hand_1 up to 30.00 EUR are recorded already"
      ])
      expect(await shown(id)).toEqual(["partially_paid", "30.00", 2])
      await refundTold("pi_hand_1", 4_500)
      expect(await shown(id)).toEqual(["partially_paid", "45.00", 3])
    })
    it("is not recorded again if it has the payment's reference, or the invoice has only one payment", async () => {
      const named = await paid("pi_hand_2")
      await billing.must(`invoices/${named.id}/refunds`, { amount: "30.00", reference: "pi_hand_2" })
      await refundTold("pi_hand_2", 3_000)
      expect(await shown(named.id)).toEqual(["partially_paid", "30.00", 2])
      const only = await paid("pi_hand_3")
      await billing.must(`invoices/${only.id}/refunds`, { amount: "30.00", method: "card" })
      await refundTold("pi_hand_3", 3_000)
      expect(await shown(only.id)).toEqual(["partially_paid", "30.00", 2])
    })
    it("makes an event of the same amount fail if it may belong to another payment of the invoice", async () => {
      const { id } = await paid("pi_hand_4", 6_000)
      await paid("pi_hand_5", 4_000, id)
      await billing.must(`invoices/${id}/refunds`, { amount: "30.00" })
      const [status, result] = await refundTold("pi_hand_4", 3_000)
      expect([status, result]).toEqual(["failed", expect.stringMatching(/refund \d+ of 30.00 EUR .* payment_id/)])
      expect(await shown(id)).toEqual(["partially_paid", "30.00", 3])
      // Another amount counts as another refund.
      expect((await refundTold("pi_hand_5", 1_000))[0]).toBe("done")
      expect(await shown(id)).toEqual(["partially_paid", "40.00", 4])
    })
    it("is refused if it names a refund or another invoice's payment, or exceeds the named payment", async () => {
      const { id, payment_id } = await paid("pi_hand_6", 6_000)
      const other = await paid("pi_hand_7", 4_000, id)
      const elsewhere = await paid("pi_hand_8")
      const fields = async (body: object) => {
        const got = await serving.ask(`/api/v1/invoices/${id}/refunds`, { json: body })
        return [got.status, ...Object.keys(got.body.errors ?? {})]
      }
      expect(await fields({ amount: "1.00", payment_id: elsewhere.payment_id })).toEqual([422, "payment_id"])
      expect(await fields({ amount: "1.00", payment_id: 999_999 })).toEqual([422, "payment_id"])
      expect(await fields({ amount: "60.01", payment_id })).toEqual([422, "amount"])
      expect(await fields({ amount: "50.00", payment_id })).toEqual([201])
      expect(await fields({ amount: "10.01", payment_id })).toEqual([422, "amount"])
      const { invoice } = await billing.must(`invoices/${id}?include=payments`)
      const refund = invoice.payments.find((one) => one.kind === "refund")!
      expect(await fields({ amount: "1.00", payment_id: refund.id })).toEqual([422, "payment_id"])
      expect(await fields({ amount: "10.00", payment_id: other.payment_id })).toEqual([201])
    })
  })
  it("are accepted with an amount of zero, without recording a payment", async () => {
    const { id, number } = await billing.issued(member_id)
    const session = { id: "cs_free", payment_intent: null, client_reference_id: number, currency: "eur" }
    const told = await stripe("checkout.session.completed", {
      ...session,
      amount_total: 0,
      payment_status: "no_payment_required"
    })
    expect(told).toEqual(["done", "payment cs_free is of 0.00 EUR: there is nothing to record"])
    expect(await shown(id)).toEqual(["issued", "100.00", 0])
  })
  it("are accepted in the generic form of other programs, each reference once", async () => {
    const { id, number } = await billing.issued(member_id)
    const told = { invoice_number: number, amount: "40.00", currency: "eur", reference: "bank-1" }
    expect((await plain(told))[0]).toBe("done")
    expect(await shown(id)).toEqual(["partially_paid", "60.00", 1])
    expect(await plain({ ...told, amount: 40 })).toEqual(["done", "payment bank-1 is recorded already"])
    expect(await shown(id)).toEqual(["partially_paid", "60.00", 1])
  })
  it.each([
    ["of a missing invoice", { invoice_number: "0000999999" }, /names invoice 0000999999: there is none/],
    ["in another currency", { currency: "USD" }, /which is in EUR/],
    ["of more than is outstanding", { amount: "100.01" }, /more than the 100.00 EUR that are outstanding/],
    ["of parts of a cent", { amount: "1.001" }, /at most 2 decimals/]
  ])("%s fail with the reason, and change nothing", async (what, more, reason) => {
    const { id, number } = await billing.issued(member_id)
    const told = { invoice_number: number, amount: "100.00", currency: "EUR", reference: `odd-${what.length}` }
    const [status, result] = await plain({ ...told, ...more })
    expect(status).toBe("failed")
    expect(result).toMatch(reason)
    expect(await shown(id)).toEqual(["issued", "100.00", 0])
    const { jobs } = await billing.must("system/jobs?q[kind_eq]=inbound.received&q[status_eq]=failed")
    expect(jobs[0].error).toMatch(reason)
  })
  it("fail if they repeat a payment's id with another invoice, amount or currency", async () => {
    const [one, other] = [await billing.issued(member_id), await billing.issued(member_id)]
    const told = { invoice_number: one["number"], amount: "40.00", currency: "EUR", reference: "statement-7" }
    expect((await plain(told))[0]).toBe("done")
    for (const more of [{ invoice_number: other["number"] }, { amount: "41.00" }, { currency: "USD" }]) {
      const [status, result] = await plain({ ...told, ...more })
      expect([status, result]).toEqual(["failed", expect.stringMatching(/has the id of payment \d+/)])
    }
    expect(await plain({ ...told, amount: "40.0" })).toEqual(["done", "payment statement-7 is recorded already"])
    expect([await shown(one.id), await shown(other.id)]).toEqual([
      ["partially_paid", "60.00", 1],
      ["issued", "100.00", 0]
    ])
  })
  it("pay the invoice and not the earlier proforma of the same number", async () => {
    const before = Number((await billing.issued(member_id)).number)
    const issued = () => billing.issued(member_id, { type: "proforma" })
    let proforma = await issued()
    while (Number(proforma.number) <= before) proforma = await issued()
    const { id, number } = await billing.issued(member_id)
    expect(proforma.number).toBe(number)
    const told = { invoice_number: number, amount: "40.00", currency: "EUR", reference: "pro-1" }
    expect((await plain(told))[0]).toBe("done")
    expect([await shown(id), (await shown(proforma.id))[2]]).toEqual([["partially_paid", "60.00", 1], 0])
  })
})
