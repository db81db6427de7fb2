/** Extreme prices are rejected or calculated exactly, in time that does not grow with the length of the hire. */
import { Result } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { calculateRateMinor, type RateRequest } from "../../../../core/pricing/pricing/engine.ts"
import { explainCalculation } from "../../../../core/pricing/explain/explain.ts"
import { engines } from "../../../app.ts"
import { appHouse, refused } from "../../../app-house.ts"

describe.each(engines)("extreme prices on %s", (engine) => {
  const w = appHouse(engine)
  const rate = { rate_definition_id: 2, transaction_type: "rental", price: "1.00", currency: "GBP" }
  let hourly: number, daily: number, job: number
  beforeAll(async () => {
    const priced = async (rate_definition_id: number): Promise<number> => {
      const id = await w.serialised()
      await w.create(`/products/${id}/rates`, { ...rate, rate_definition_id, price: 2_147_483_647 })
      return id
    }
    const { rate_definitions } = (await w.get("/rate_definitions?per_page=100")).body
    const preset = (slug: string): number => rate_definitions.find((one) => one.preset_slug === slug)!.id
    hourly = await priced(preset("hourly-rate"))
    daily = await priced(preset("daily-rate"))
    job = (await w.opportunity()).id
  })
  const ask = (product: number, body: object) =>
    w.post(`/products/${product}/calculate_rate?explain=1`, {
      quantity: 1,
      start: "2026-01-01T00:00:00Z",
      end: "2026-01-02T00:00:00Z",
      ...body
    })

  it("are rejected for a hire of more than 100,000 hours, or one that ends after the start of 2199", async () => {
    // 87,648 hours are within the hundred thousand; eleven and a half years are not.
    expect((await ask(hourly, { end: "2036-01-01T00:00:00Z" })).body.rate_breakdown).toMatchObject({ units: 87_648 })
    await refused(ask(hourly, { end: "2037-07-01T00:00:00Z" }), "end")
    await refused(ask(hourly, { start: "0001-01-01", end: "2199-01-01" }), "end")
    await refused(ask(daily, { start: "0001-01-01", end: "9999-12-31" }), "end")
  })
  it("are exact to the penny for the largest price and quantity over 2,198 years", async () => {
    // 21,474,836.47 × 802,803 days × 2,147,483,647 pieces. Years 1 to 2198 have 549 - 21 + 5 leap days; the start of
    // 2199 is the latest time.
    const reply = await ask(daily, {
      start: "0001-01-01T00:00:00Z",
      end: "2199-01-01T00:00:00Z",
      quantity: 2_147_483_647
    })
    const pennies = 2_147_483_647n * 802_803n * 2_147_483_647n
    expect(reply.body.rate_breakdown).toMatchObject({
      units: 802_803,
      total: `${pennies / 100n}.${String(pennies % 100n).padStart(2, "0")}`
    })
    expect(reply.body.explanation.at(-1)?.to).toBe(reply.body.rate_breakdown.total)
  })
  it.each([
    ["-1"],
    ["-0.01"],
    ["1e-400"],
    ["1e999999"],
    ["9".repeat(40)],
    ["0." + "1".repeat(40)],
    ["NaN"],
    ["Infinity"],
    ["0x10"],
    ["1,000"],
    ["١٢"],
    [true],
    [[]],
    [{}]
  ])("are rejected for rates, lines, deal prices, surcharges and discounts, such as %j", async (price) => {
    const surcharge = { name: "Y", calculation_type: "fixed_amount", value: price }
    const percent = { name: "X", discount_type: "percentage", discount_value: price, criteria: {} }
    await refused(w.post(`/products/${daily}/rates`, { ...rate, price }), "price")
    await refused(w.post(`/opportunities/${job}/items`, { name: "X", quantity: 1, unit_price: price }), "unit_price")
    await refused(w.post(`/opportunities/${job}/deal_price`, { deal_total: price }), "deal_total")
    await refused(w.post("/surcharge_groups", { name: "X", surcharges: [surcharge] }), "surcharges.0.value")
    await refused(w.post("/discount_rules", percent), "discount_value")
  })
  it("may be written with an exponent", async () => {
    const { id } = await w.opportunity()
    expect(
      (await w.create(`/opportunities/${id}/items`, { name: "X", quantity: 1, unit_price: "1.25e1" })).charge_total
    ).toBe("12.50")
  })
  it.each([["XXX"], ["GB"], ["POUNDS"], [""], ["£"], [826]])("are rejected in the currency %j", async (currency) => {
    const { errors } = (await w.post(`/products/${daily}/rates`, { ...rate, currency })).body
    expect(Object.keys(errors)[0]).toBe("currency")
    // Null and the empty text mean the base currency on an opportunity.
    if (currency !== "") await refused(w.post("/opportunities", { subject: "X", currency }), "currency")
  })
  it("are rejected on a line with a quantity or total out of range, and nothing changes", async () => {
    const { id } = await w.opportunity({ starts_at: "2026-01-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z" })
    const sent = (more: object) => w.post(`/opportunities/${id}/items`, { name: "X", quantity: "1000000000", ...more })
    await refused(sent({ item_id: daily }), "quantity")
    expect((await sent({ unit_price: "21474836.47" })).status).toBe(422)
    expect(await w.show(`/opportunities/${id}?include=items`)).toMatchObject({ charge_total: "0.00", items: [] })
  })

  const tiers = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ multiplier: (1 - at / 100_000).toFixed(5) }))
  it("are calculated with ten thousand tiers and ranges", async () => {
    const method = { name: "Many", calculation_strategy: "period", base_period: "daily" }
    const ranges = Array.from({ length: 10_000 }, (_, at) => ({ from: at + 1, to: at + 1, factor: "0.5" }))
    const definition = await w.create("/rate_definitions", {
      ...method,
      enabled_modifiers: ["multiplier", "factor"],
      modifier_configs: { multiplier: { tiers: tiers(10_000) }, factor: { ranges } }
    })
    const id = await w.serialised()
    await w.create(`/products/${id}/rates`, { ...rate, rate_definition_id: definition.id, price: "1000.00" })
    const { rate_breakdown } = (await ask(id, { end: "2026-01-04T00:00:00Z", quantity: 9_999 })).body
    // 1000.00 + 999.99 + 999.98 = 2999.97, half of it 1499.985 → 1499.99, times 9,999.
    expect(rate_breakdown).toMatchObject({ units: 3, per_unit_subtotal: "1499.99", total: "14998400.01" })
    expect(rate_breakdown.line_items).toHaveLength(3)
    const wrong = { multiplier: { tiers: [...tiers(9_999), { multiplier: "-1" }] } }
    const bad = { ...method, enabled_modifiers: ["multiplier"], modifier_configs: wrong }
    await refused(w.post("/rate_definitions", bad), "modifier_configs.multiplier.tiers.9999.multiplier")
  })
})

/** Counts how often elements of a list are read by index. */
const watched = <A>(list: ReadonlyArray<A>): { readonly list: ReadonlyArray<A>; readonly looks: () => number } => {
  let looks = 0
  const proxy = new Proxy(list, {
    get: (target, name, receiver) => {
      if (typeof name === "string" && /^\d+$/.test(name)) looks++
      return Reflect.get(target, name, receiver) as unknown
    }
  })
  return { list: proxy, looks: () => looks }
}

describe("the work of calculating a price", () => {
  const request = (list: ReadonlyArray<{ readonly multiplier: string }>, end: string): RateRequest => ({
    calculation_strategy: "period",
    base_period: "daily",
    strategy_config: { day_type: "business", business_hours_start: "09:00", business_hours_end: "10:00" },
    enabled_modifiers: ["multiplier"],
    modifier_configs: { multiplier: { tiers: list } },
    price: 100,
    currency: "GBP",
    quantity: 1,
    start: "0001-01-01T00:00:00Z",
    end
  })
  it("grows with the tiers, and not with the length of the hire", () => {
    const looksAt = (count: number, end: string): number => {
      const { list, looks } = watched(Array.from({ length: count }, (_, at) => ({ multiplier: String(at % 7) })))
      Result.getOrThrow(calculateRateMinor(request(list, end)))
      return looks()
    }
    const [small, long, large] = [
      looksAt(100, "0200-01-01T00:00:00Z"),
      looksAt(100, "9999-12-31T00:00:00Z"),
      looksAt(10_000, "9999-12-31T00:00:00Z")
    ]
    expect(small).toBeGreaterThan(0)
    expect(long).toBe(small)
    expect(large).toBe(small * 100)
  })
  it("yields one line per tier, explained in a bounded number of steps", () => {
    const list = Array.from({ length: 50 }, (_, at) => ({ multiplier: String(at) }))
    const asked = request(list, "9999-12-31T00:00:00Z")
    expect(Result.getOrThrow(calculateRateMinor(asked)).lines).toHaveLength(50)
    expect(explainCalculation(asked).length).toBeLessThan(60)
  })
})
