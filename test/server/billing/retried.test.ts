/** Requests about money that are sent again under their key, as a client does that heard no answer. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Engine, engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"
import { type Billing, billingOf } from "./billing.ts"

describe.each(engines)("billing that is asked for again on %s", (engine: Engine) => {
  let serving: Serving
  let billing: Billing
  let member_id: number
  beforeAll(async () => {
    serving = await serve(engine)
    billing = billingOf(serving)
    member_id = await billing.member("Ann")
  })
  afterAll(() => serving?.close())
  let keys = 0
  const twice = async (path: string, json: object, other: object) => {
    const headers = { "idempotency-key": `billing-${++keys}` }
    const ask = (body: object) => serving.ask(`/api/v1/${path}`, { method: "POST", json: body, headers })
    const [first, again, changed] = [await ask(json), await ask(json), await ask(other)]
    expect(first.status, first.text).toBeLessThan(300)
    expect([again.status, again.text]).toEqual([first.status, first.text])
    expect(changed.status, changed.text).toBe(409)
    return first.body
  }
  const shown = async (id: number) => (await billing.must(`invoices/${id}?include=payments,credit_notes`)).invoice

  it("issues, pays, refunds and credits once", async () => {
    const { id } = await billing.draft(member_id)
    const { invoice } = await twice(`invoices/${id}/issue`, {}, { due_at: "2040-01-01T00:00:00Z" })
    await twice(`invoices/${id}/payments`, { amount: "30.00" }, { amount: "31.00" })
    await twice(`invoices/${id}/refunds`, { amount: "10.00" }, { amount: "11.00" })
    await twice(`invoices/${id}/credit_notes`, { amount: "5.00" }, {})
    const end = await shown(id)
    expect([end.amount_paid, end.amount_credited, end.payments.length, end.credit_notes.length]).toEqual([
      "20.00",
      "5.00",
      2,
      1
    ])
    const next = await billing.issued(member_id)
    expect(Number(next["number"])).toBe(Number(invoice.number) + 1)
  })
  it("makes one draft of an order", async () => {
    const { opportunity } = await billing.must("opportunities", {
      subject: "Festival",
      store_id: 1,
      member_id,
      starts_at: "2031-09-01T09:00:00Z",
      ends_at: "2031-09-05T17:00:00Z"
    })
    await billing.must(`opportunities/${opportunity.id}/items`, {
      name: "Hire",
      unit_price: "10.00",
      transaction_type: 1
    })
    await twice(`opportunities/${opportunity.id}/invoices`, {}, { type: "proforma" })
    expect((await billing.must(`invoices?q[opportunity_id_eq]=${opportunity.id}`)).invoices).toHaveLength(1)
  })
  it("refuses an address that would add a line to the head of a message", async () => {
    const { id } = await billing.issued(member_id)
    const mail = (json: object) => serving.ask(`/api/v1/invoices/${id}/email`, { method: "POST", json })
    expect((await mail({ to: "a@b.example\r\nBcc: c@d.example" })).status).toBe(422)
    expect((await mail({ to: ["a@b.example", 7] })).status).toBe(422)
    expect((await mail({ to: Array.from({ length: 51 }, (_, at) => `a${at}@b.example`) })).status).toBe(422)
    expect((await shown(id)).emailed_at).toBeNull()
  })
})
