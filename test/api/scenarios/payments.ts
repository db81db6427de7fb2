/** Payments and refunds (rules/billing 1.1, 1.4). */
import { expect } from "vitest"
import { invoices, now, type Scenario, scenario } from "../payment-scenarios.ts"

const refused = (field: string) => ({ status: 422, body: { errors: { [field]: [expect.any(String)] } } })

export const paymentScenarios: ReadonlyArray<Scenario> = [
  scenario("P1", "a part is paid, then the rest, then some is given back", async (scene) => {
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
  scenario("P2", "one unit more than is outstanding is refused, and nothing changes", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.pay(id, "120.01")).toMatchObject(refused("amount"))
    expect((await scene.shown(id)).payments).toEqual([])
  }),
  scenario("P3", "nothing, less than nothing, and no number are no payments", async (scene) => {
    const { id } = await scene.issued()
    for (const amount of [0, "-1.00", "x", "1.001", undefined])
      expect(await scene.pay(id, amount), String(amount)).toMatchObject(refused("amount"))
  }),
  scenario("P4", "whole numbers are minor units", async (scene) => {
    const { id } = await scene.issued()
    expect((await scene.pay(id, 12_000)).body.invoice.status).toBe("paid")
  }),
  scenario("P5", "a draft takes no payment and no refund", async (scene) => {
    const { id } = await scene.draft()
    expect(await scene.pay(id, "1.00")).toMatchObject(refused("status"))
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("status"))
  }),
  scenario("P6", "a proforma takes neither, issued or not", async (scene) => {
    const { id } = await scene.issued({ type: "proforma" })
    expect(await scene.pay(id, "1.00")).toMatchObject(refused("type"))
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("type"))
    expect(await scene.pay((await scene.draft({ type: "proforma" })).id, "1.00")).toMatchObject(refused("type"))
  }),
  scenario("P7", "a voided invoice takes neither, and nothing of it is outstanding", async (scene) => {
    const { id } = await scene.issued()
    expect((await scene.voided(id)).body.invoice).toMatchObject({ status: "voided", amount_outstanding: "0.00" })
    expect(await scene.pay(id, "1.00")).toMatchObject(refused("status"))
    expect(await scene.refund(id, "1.00")).toMatchObject(refused("status"))
  }),
  scenario("P8", "a paid invoice takes no more", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "120.00")
    expect(await scene.pay(id, "0.01")).toMatchObject(refused("status"))
  }),
  scenario("P9", "an invoice with money on it is not voided; once all is given back it is", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "0.01")
    expect(await scene.voided(id)).toMatchObject(refused("status"))
    await scene.refund(id, "0.01")
    expect((await scene.voided(id)).body.invoice.status).toBe("voided")
  }),
  scenario("P10", "nothing is refunded that was not paid", async (scene) => {
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
  scenario("P11", "a payment of an earlier day says when the invoice was paid", async (scene) => {
    const { id } = await scene.issued()
    const at = "2026-06-10T08:30:00.000Z"
    expect((await scene.pay(id, "120.00", { paid_at: at })).body).toMatchObject({
      payment: { paid_at: at },
      invoice: { paid_at: at }
    })
  }),
  scenario("P12", "nobody paid tomorrow", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.pay(id, "1.00", { paid_at: "2026-06-19" })).toMatchObject(refused("paid_at"))
  }),
  scenario("P13", "another currency is refused, the invoice's own may be named", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.pay(id, "1.00", { currency: "EUR" })).toMatchObject(refused("currency"))
    expect((await scene.pay(id, "1.00", { currency: "gbp" })).status).toBe(201)
    expect(await scene.refund(id, "1.00", { currency: "EUR" })).toMatchObject(refused("currency"))
  }),
  scenario("P14", "a method nobody knows, and texts that are too long, are refused", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.pay(id, "1.00", { method: "shells" })).toMatchObject(refused("method"))
    expect(await scene.pay(id, "1.00", { reference: "x".repeat(256) })).toMatchObject(refused("reference"))
    expect(await scene.pay(id, "1.00", { notes: "x".repeat(1_001) })).toMatchObject(refused("notes"))
    expect(await scene.refund(id, "1.00", { reason: "x".repeat(1_001) })).toMatchObject(refused("reason"))
  }),
  scenario("P15", "every method has its name, and none is other", async (scene) => {
    const { id } = await scene.issued()
    const methods = { cash: "Cash", card: "Card", bank_transfer: "Bank Transfer", cheque: "Cheque" }
    for (const [method, method_name] of Object.entries(methods))
      expect((await scene.pay(id, "1.00", { method })).body.payment).toMatchObject({ method, method_name })
    expect((await scene.pay(id, "1.00")).body.payment).toMatchObject({ method: "other", method_name: "Other" })
  }),
  scenario("P16", "both kinds are one list, the oldest first", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "30.00", { paid_at: "2026-06-12" })
    await scene.refund(id, "10.00", { paid_at: "2026-06-14" })
    await scene.pay(id, "5.00", { paid_at: "2026-06-10" })
    expect((await scene.shown(id)).payments.map((row: any) => [row.kind, row.amount])).toEqual([
      ["payment", "5.00"],
      ["payment", "30.00"],
      ["refund", "10.00"]
    ])
  }),
  scenario("P17", "an invoice of nothing is paid as it is issued", async (scene) => {
    const { id, status } = await scene.issued({}, { name: "Gift", unit_price: "0.00" })
    expect(status).toBe("paid")
    expect(await scene.pay(id, "0.01")).toMatchObject(refused("status"))
  }),
  scenario("P18", "yen have no decimals", async (scene) => {
    const { id, total } = await scene.issued({ currency: "JPY" }, { name: "Heads", unit_price: "1000" })
    expect(total).toBe("1200")
    expect(await scene.pay(id, "0.5")).toMatchObject(refused("amount"))
    expect((await scene.pay(id, "700")).body.invoice.amount_outstanding).toBe("500")
  }),
  scenario("P19", "dinars have three decimals, and prices may include tax", async (scene) => {
    const { id, subtotal, tax_total, total } = await scene.issued(
      { currency: "KWD", prices_include_tax: true },
      { name: "Heads", unit_price: "10.000" }
    )
    expect([subtotal, tax_total, total]).toEqual(["8.333", "1.667", "10.000"])
    expect((await scene.pay(id, "9.999")).body.invoice.amount_outstanding).toBe("0.001")
  }),
  scenario("P20", "the list finds invoices by what is paid of them", async (scene) => {
    const { id, member_id } = await scene.issued()
    await scene.pay(id, "20.00")
    const found = async (filter: string): Promise<ReadonlyArray<number>> =>
      (await scene.get(`${invoices}?q[member_id_eq]=${member_id}&${filter}`)).body.invoices.map(
        (one: { id: number }) => one.id
      )
    expect(await found("q[status_eq]=partially_paid")).toEqual([id])
    expect(await found("q[amount_outstanding_gteq]=100.00")).toEqual([id])
    expect(await found("q[amount_paid_eq]=20.00")).toEqual([id])
    expect(await found("q[status_eq]=paid")).toEqual([])
  }),
  scenario("P21", "payments need their own permission and ability", async (scene) => {
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
  scenario("P22", "an invoice that is not there is 404, whatever the body", async (scene) => {
    expect((await scene.pay(999_999, "1.00")).status).toBe(404)
    expect((await scene.refund(999_999, "x")).status).toBe(404)
  })
]
