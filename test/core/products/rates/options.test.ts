/** Options of test/core/pricing/pricing/engine.test.ts, from the request that defines a rate to the price. */
import { describe, expect, it } from "vitest"
import { appHouse } from "../../../app-house.ts"

describe("the options of a rate definition (rules/rates 4)", () => {
  const w = appHouse("sqlite", "2026-06-18T12:00:00Z")
  let definitions = 0
  /** Creates a product with one rate, priced in minor units, and returns its id. */
  const priced = async (price: number, rate: object, definition: object): Promise<number> => {
    const id = await w.product()
    const base = { name: `Options ${++definitions}`, calculation_strategy: "period", base_period: "daily" }
    const rate_definition_id = (await w.create("/rate_definitions", { ...base, ...definition })).id
    const own = { rate_definition_id, transaction_type: "rental", price, currency: "GBP", ...rate }
    await w.create(`/products/${id}/rates`, own)
    return id
  }
  const calculate = (id: number, body: object) => w.post(`/products/${id}/calculate_rate`, body)

  const working = { day_type: "business", business_hours_start: "09:00", business_hours_end: "17:00" }
  const block = { fixed_charge: 20_000, fixed_period_units: 3 }
  const period = (strategy_config: object, base_period = "daily"): object => ({ strategy_config, base_period })
  const hybrid = (strategy_config: object): object => ({ calculation_strategy: "hybrid", strategy_config })
  const multiplier = (...all: ReadonlyArray<string | number>) => ({ tiers: all.map((one) => ({ multiplier: one })) })
  const factor = (from: number, times: string) => ({ ranges: [{ from, to: null, factor: times }] })
  const modified = (modifier_configs: object): object => ({
    enabled_modifiers: Object.keys(modifier_configs),
    modifier_configs
  })
  const tiers = (...all: ReadonlyArray<string | number>): object => modified({ multiplier: multiplier(...all) })
  const both = { factor: factor(1, "0.5"), multiplier: multiplier("0.5") }
  // Two pieces at 100.00, in January 2026.
  it.each<readonly [string, object, string]>([
    ["leeway", period({ leeway_minutes: 30 }), "12T08:00Z to 13T08:30Z: 1-1 x1.0 @100.00 = 200.00"],
    ["no leeway", period({}), "12T08:00Z to 13T08:01Z: 1-2 x1.0 @100.00 = 400.00"],
    ["a first day cut-off", period({ first_day_cutoff: "00:00" }), "12T00:01Z to 13T00:01Z: 1-2 x1.0 @100.00 = 400.00"],
    [
      "a last day cut-off",
      period({ last_day_cutoff: "09:00" }),
      "12T00:00Z to 14T08:59:59Z: 1-2 x1.0 @100.00 = 400.00"
    ],
    [
      "a last day cut-off in the offset that is sent",
      period({ last_day_cutoff: "09:00" }),
      "13T00:00:00-05:00 to 14T08:30:00-05:00: 1-1 x1.0 @100.00 = 200.00"
    ],
    [
      "half hours, which no cut-off shortens",
      period({ first_day_cutoff: "08:00", last_day_cutoff: "23:00" }, "half_hourly"),
      "12T09:00Z to 12T10:01Z: 1-3 x1.0 @100.00 = 600.00"
    ],
    [
      "a five day week and its leeway",
      period({ rental_days_per_week: 5, leeway_minutes: 60 }, "weekly"),
      "12T00:00Z to 17T01:01Z: 1-2 x1.0 @100.00 = 400.00"
    ],
    ["months", period({}, "monthly"), "01T00:00Z to 31T08:00Z: 1-2 x1.0 @100.00 = 400.00"],
    ["business hours", period(working, "hourly"), "16T15:00Z to 19T11:00Z: 1-20 x1.0 @100.00 = 4000.00"],
    [
      "hours of the clock, which are not narrowed by business hours",
      period({ ...working, day_type: "clock" }, "hourly"),
      "12T00:00Z to 13T00:00Z: 1-24 x1.0 @100.00 = 4800.00"
    ],
    [
      "business hours and a first day cut-off",
      period({ ...working, first_day_cutoff: "11:00" }),
      "12T12:00Z to 15T09:01Z: 1-2 x1.0 @100.00 = 400.00"
    ],
    [
      "a block and what is left over",
      hybrid(block),
      "05T00:00Z to 08T00:01Z: 1-3 x1.0 @200.00; 4-4 x1.0 @100.00 = 600.00"
    ],
    [
      "a block of business hours",
      hybrid({ ...working, ...block, fixed_period_units: 2 }),
      "05T09:00Z to 13T17:00Z: 1-2 x1.0 @200.00; 3-3 x1.0 @100.00 = 600.00"
    ],
    [
      "a block without a charge",
      hybrid({ fixed_period_units: 2 }),
      "05 to 10: 1-2 x1.0 @0.00; 3-5 x1.0 @100.00 = 600.00"
    ],
    [
      "a fixed rate and its factor",
      { calculation_strategy: "fixed", ...modified({ factor: factor(2, "0.9") }) },
      "05 to 25: 1-1 x1.0 @100.00 = 180.00"
    ],
    [
      "tiers as text, kept as written",
      tiers("1.0", "1", "0.5"),
      "05 to 08: 1-1 x1.0 @100.00; 2-2 x1 @100.00; 3-3 x0.5 @50.00 = 500.00"
    ],
    ["tiers as numbers", tiers(1.0, 0.5), "05 to 08: 1-1 x1 @100.00; 2-3 x0.5 @50.00 = 400.00"],
    ["both modifiers", modified(both), "05 to 07: 1-2 x0.5 @50.00 = 100.00"]
  ])("change the price as declared: %s", async (_, definition, expected) => {
    const [, start, end, lines, total] = /^(\S+) to (\S+): (.*) = (.*)$/.exec(expected)!
    const id = await priced(10_000, {}, definition)
    const got = await calculate(id, { quantity: 2, start: `2026-01-${start}`, end: `2026-01-${end}` })
    expect(got.status, JSON.stringify(got.body)).toBe(200)
    const { rate_breakdown: answer } = got.body
    const drawn = answer.line_items.map(
      (one: Record<"period_from" | "period_to" | "multiplier" | "unit_price", string>) =>
        `${one.period_from}-${one.period_to} x${one.multiplier} @${one.unit_price}`
    )
    expect([drawn.join("; "), answer.total, answer.units]).toEqual([lines, total, answer.line_items.at(-1).period_to])
  })
  it.each([
    ["JPY", 999, "500", "1500"],
    ["KWD", 1001, "0.501", "1.503"]
  ])("round at the minor unit of %s", async (currency, price, each, total) => {
    const id = await priced(price, { currency }, tiers("0.5"))
    const { rate_breakdown } = (await calculate(id, { quantity: 3, start: "2026-01-05", end: "2026-01-06" })).body
    expect(rate_breakdown).toMatchObject({ currency, per_unit_subtotal: each, total })
  })
})
