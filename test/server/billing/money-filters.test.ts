/** Filters of money compare major units, each row at the decimals of its own currency. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"
import { type Billing, billingOf } from "./billing.ts"

describe.each(engines)("money filters of invoices on %s", (engine) => {
  let serving: Serving
  let billing: Billing
  let member_id: number
  beforeAll(async () => {
    serving = await serve(engine)
    billing = billingOf(serving)
    member_id = await billing.member("Ann")
    await draft("GBP", "900.00")
    await draft("GBP", "89.99")
  })
  afterAll(() => serving?.close())
  const draft = async (currency: string, unit_price: string) =>
    billing.draft(member_id, { currency, items: [{ name: "Hire", unit_price }] })
  const found = async (query: string): Promise<ReadonlyArray<string>> => {
    const { invoices } = await billing.must(`invoices?sort=total&per_page=50&${query}`)
    return invoices.map((one: { currency_code: string; total: string }) => `${one.currency_code} ${one.total}`).sort()
  }

  it("take base amounts to the unit, and values between two units as what they are", async () => {
    expect(await found("q[total_gteq]=900.00")).toEqual(["GBP 900.00"])
    expect(await found("q[total_gt]=899.999")).toEqual(["GBP 900.00"])
    expect(await found("q[total_gt]=900")).toEqual([])
    expect(await found("q[total_lt]=90")).toEqual(["GBP 89.99"])
    expect(await found("q[total_eq]=89.991")).toEqual([])
    expect(await found("q[total_eq]=much")).toEqual([])
  })
  it("take yen without decimals and dinars with three", async () => {
    for (const code of ["JPY", "KWD"]) {
      await billing.must(`currencies/${code}`, { is_enabled: true }, "PUT")
      const rate = { source_currency_code: code, target_currency_code: "GBP", rate: "2", effective_at: "2020-01-01" }
      await billing.must("exchange_rates", rate)
    }
    for (const [code, price] of [
      ["JPY", "900"],
      ["JPY", "89999"],
      ["KWD", "900.000"],
      ["KWD", "90.001"]
    ] as const)
      await draft(code, price)
    expect(await found("q[total_gteq]=900.00")).toEqual(["GBP 900.00", "JPY 89999", "JPY 900", "KWD 900.000"])
    expect(await found("q[total_eq]=900")).toEqual(["GBP 900.00", "JPY 900", "KWD 900.000"])
    expect(await found("q[total_in]=89.99,90.001,much")).toEqual(["GBP 89.99", "KWD 90.001"])
    expect(await found("q[total_not_eq]=900")).toEqual(["GBP 89.99", "JPY 89999", "KWD 90.001"])
    expect(await found("q[total_gt]=900&q[currency_code_eq]=JPY")).toEqual(["JPY 89999"])
    expect(await found("q[total_lteq]=90.0005")).toEqual(["GBP 89.99"])
    expect(await found("q[total_gt]=899.5")).toEqual(["GBP 900.00", "JPY 89999", "JPY 900", "KWD 900.000"])
  })
})
