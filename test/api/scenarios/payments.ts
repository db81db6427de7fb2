/** Payments and refunds (rules/billing 1.1, 1.4). */
import { expect } from "vitest"
import { invoices, now, type Scenario, scenario } from "../payment-scenarios.ts"

const refused = (field: string) => ({ status: 422, body: { errors: { [field]: [expect.any(String)] } } })

export const paymentScenarios: ReadonlyArray<Scenario> = [
  scenario("P1", "records a partial payment, the remainder, and a refund", async (scene) => {
    const { id, total } = await scene.issued()
    expect(total).toBe("120.00")
    const half = await scene.pay(id, "50.00", { method: "cash" })
    expect(half).toMatchObject({
      status: 201,
      body: {
        payment: { kind: "payment", amount: "50.00", method: "cash", method_name: "Cash", currency_code: "GBP" },
        invoice: { status: "partially_paid", amount_paid: "50.00", amount_outstanding: "70.00", paid_at: null }
      }
    })
    expect((await scene.pay(id, "70.00")).body.invoice).toMatchObject({
      status: "paid",
      amount_outstanding: "0.00",
      paid_at: now
    })
    expect((await scene.refund(id, "20.00", { reason: "Broken" })).body).toMatchObject({
      refund: { kind: "refund", amount: "20.00", reason: "Broken" },
      invoice: { status: "partially_paid", amount_paid: "100.00", amount_outstanding: "20.00", paid_at: null }
    })
  }),
  scenario("P2", "refuses a payment one minor unit above the outstanding amount", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.pay(id, "120.01")).toMatchObject(refused("amount"))
    expect((await scene.shown(id)).payments).toEqual([])
  }),
  scenario("P3", "refuses zero, negative and invalid amounts", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "10.00")
    for (const amount of [0, "-1.00", "x", "1.001", undefined])
      for (const move of [scene.pay, scene.refund])
        expect(await move(id, amount), String(amount)).toMatchObject(refused("amount"))
  }),
  scenario("P4", "reads whole numbers as minor units", async (scene) => {
    const { id } = await scene.issued()
    expect((await scene.pay(id, 12_000)).body.invoice.status).toBe("paid")
  }),
  scenario("P5", "refuses payments and refunds of a draft", async (scene) => {
    const { id } = await scene.draft()
    expect(await scene.pay(id, "1.00")).toMatchObject(refused("status"))
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("status"))
  }),
  scenario("P6", "refuses payments and refunds of a proforma, issued or not", async (scene) => {
    const { id } = await scene.issued({ type: "proforma" })
    expect(await scene.pay(id, "1.00")).toMatchObject(refused("type"))
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("type"))
    expect(await scene.pay((await scene.draft({ type: "proforma" })).id, "1.00")).toMatchObject(refused("type"))
  }),
  scenario("P7", "refuses payments and refunds of a voided invoice, of which nothing is outstanding", async (scene) => {
    const { id } = await scene.issued()
    expect((await scene.voided(id)).body.invoice).toMatchObject({ status: "voided", amount_outstanding: "0.00" })
    expect(await scene.pay(id, "1.00")).toMatchObject(refused("status"))
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("status"))
  }),
  scenario("P8", "refuses more payments of a paid invoice", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "120.00")
    expect(await scene.pay(id, "0.01")).toMatchObject(refused("status"))
  }),
  scenario("P9", "voids an invoice once all payments are refunded, and not before", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "0.01")
    expect(await scene.voided(id)).toMatchObject(refused("status"))
    await scene.refund(id, "0.01")
    expect((await scene.voided(id)).body.invoice.status).toBe("voided")
  }),
  scenario("P10", "refuses refunds above the amount paid", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("amount"))
    await scene.pay(id, "10.00")
    expect(await scene.refund(id, "10.01")).toMatchObject(refused("amount"))
    expect((await scene.refund(id, "10.00")).body.invoice).toMatchObject({
      status: "issued",
      amount_paid: "0.00",
      amount_outstanding: "120.00"
    })
    expect(await scene.refund(id, "0.01")).toMatchObject(refused("amount"))
  }),
  scenario("P11", "sets an invoice's paid date to the payment's own date", async (scene) => {
    const { id } = await scene.issued()
    const at = "2026-06-10T08:30:00.000Z"
    expect((await scene.pay(id, "120.00", { paid_at: at })).body).toMatchObject({
      payment: { paid_at: at },
      invoice: { paid_at: at }
    })
  }),
  scenario("P12", "refuses payments and refunds in the future", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "10.00")
    for (const move of [scene.pay, scene.refund])
      expect(await move(id, "1.00", { paid_at: "2026-06-19" })).toMatchObject(refused("paid_at"))
  }),
  scenario("P13", "refuses another currency than the invoice's", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.pay(id, "1.00", { currency: "EUR" })).toMatchObject(refused("currency"))
    expect((await scene.pay(id, "1.00", { currency: "gbp" })).status).toBe(201)
    expect(await scene.refund(id, "1.00", { currency: "EUR" })).toMatchObject(refused("currency"))
  }),
  scenario("P14", "refuses unknown methods and too long texts", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "10.00")
    for (const move of [scene.pay, scene.refund]) {
      expect(await move(id, "1.00", { method: "shells" })).toMatchObject(refused("method"))
      expect(await move(id, "1.00", { reference: "x".repeat(256) })).toMatchObject(refused("reference"))
      expect(await move(id, "1.00", { notes: "x".repeat(1_001) })).toMatchObject(refused("notes"))
    }
    expect(await scene.refund(id, "1.00", { reason: "x".repeat(1_001) })).toMatchObject(refused("reason"))
  }),
  scenario("P15", "accepts every payment method, with Other as the default", async (scene) => {
    const { id } = await scene.issued()
    const methods = { cash: "Cash", card: "Card", bank_transfer: "Bank Transfer", cheque: "Cheque" }
    for (const [method, method_name] of Object.entries(methods))
      expect((await scene.pay(id, "1.00", { method })).body.payment).toMatchObject({ method, method_name })
    expect((await scene.pay(id, "1.00")).body.payment).toMatchObject({ method: "other", method_name: "Other" })
  }),
  scenario("P16", "lists payments and refunds together, the oldest first", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "30.00", { paid_at: "2026-06-12" })
    await scene.refund(id, "10.00", { paid_at: "2026-06-14" })
    await scene.pay(id, "5.00", { paid_at: "2026-06-10" })
    expect((await scene.shown(id)).payments.map((row) => [row.kind, row.amount])).toEqual([
      ["payment", "5.00"],
      ["payment", "30.00"],
      ["refund", "10.00"]
    ])
  }),
  scenario("P17", "marks an invoice of zero as paid when it is issued", async (scene) => {
    const { id, status } = await scene.issued({}, { name: "Gift", unit_price: "0.00" })
    expect(status).toBe("paid")
    expect(await scene.pay(id, "0.01")).toMatchObject(refused("status"))
  }),
  scenario("P18", "accepts payments in yen without decimals", async (scene) => {
    const { id, total } = await scene.issued({ currency: "JPY" }, { name: "Heads", unit_price: "1000" })
    expect(total).toBe("1200")
    expect(await scene.pay(id, "0.5")).toMatchObject(refused("amount"))
    expect((await scene.pay(id, "700")).body.invoice.amount_outstanding).toBe("500")
  }),
  scenario("P19", "accepts payments in dinars with three decimals, of prices that include tax", async (scene) => {
    const { id, subtotal, tax_total, total } = await scene.issued(
      { currency: "KWD", prices_include_tax: true },
      { name: "Heads", unit_price: "10.000" }
    )
    expect([subtotal, tax_total, total]).toEqual(["8.333", "1.667", "10.000"])
    expect((await scene.pay(id, "9.999")).body.invoice.amount_outstanding).toBe("0.001")
  }),
  scenario("P20", "finds invoices by their payment status", async (scene) => {
    const { id, member_id } = await scene.issued()
    await scene.pay(id, "20.00")
    const found = async (filter: string): Promise<ReadonlyArray<number>> =>
      (await scene.get(`${invoices}?q[member_id_eq]=${member_id}&${filter}`)).body.invoices.map((one) => one.id)
    expect(await found("q[status_eq]=partially_paid")).toEqual([id])
    expect(await found("q[amount_outstanding_gteq]=100.00")).toEqual([id])
    expect(await found("q[amount_paid_eq]=20.00")).toEqual([id])
    expect(await found("q[status_eq]=paid")).toEqual([])
  }),
  scenario("P21", "needs the permission and ability for payments", async (scene) => {
    const { id } = await scene.issued()
    if (scene.somebody === undefined || scene.nobody === undefined) {
      await scene.pay(id, "1.00")
      await scene.refund(id, "1.00")
      return
    }
    const asked = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>, path = "payments") =>
      (
        await (
          await scene.somebody?.(permissions, abilities)
        )?.("POST", `${invoices}/${id}/${path}`, { amount: "1.00" })
      )?.status
    expect(await asked(["invoices.view", "invoices.edit"], ["*"])).toBe(403)
    expect(await asked(["payments.record"], ["invoices:write"])).toBe(403)
    expect(await asked(["payments.record"], ["payments:write"])).toBe(201)
    expect(await asked(["invoices.credit"], ["invoices:write"], "refunds")).toBe(403)
    expect(await asked(["payments.record"], ["payments:write"], "refunds")).toBe(201)
    expect((await scene.nobody("POST", `${invoices}/${id}/payments`, { amount: "1.00" })).status).toBe(401)
  }),
  scenario("P22", "answers 404 for a missing invoice, whatever the body", async (scene) => {
    expect((await scene.pay(999_999, "1.00")).status).toBe(404)
    expect((await scene.refund(999_999, "x")).status).toBe(404)
  })
]
