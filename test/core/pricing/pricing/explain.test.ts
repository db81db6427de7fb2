/** Explanations end at the price they explain. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { PricedRate, RateRequest } from "../../../../core/pricing/pricing/engine.ts"
import { explainCalculation, explainChoice } from "../../../../core/pricing/explain/explain.ts"
import type { Step } from "../../../../core/pricing/explain/explain-step.ts"
import { explainLine } from "../../../../core/pricing/explain/explain-totals.ts"
import { type LineRequest, priceLine } from "../../../../core/pricing/pricing/line.ts"
import { pricedRate } from "./builders.ts"

type LineFacts = Parameters<typeof explainLine>[0]

const rate = (id: number, over: Partial<PricedRate> = {}) => pricedRate({ id, price: 1000, ...over })
const question = { transaction_type: "rental", store_id: 2, start: "2026-06-18T09:00:00Z" } as const

describe("the explanation of the winning rate (rules/rates 5)", () => {
  it.each([
    ["no_rate", "none", []],
    [
      "no_rate",
      "none",
      [rate(1, { transaction_type: "sale" }), rate(2, { store_id: 3 }), rate(3, { valid_to: "2026-06-17" })]
    ],
    ["only_rate", "1", [rate(1), rate(2, { valid_from: "2026-06-19" })]],
    ["highest_priority", "1", [rate(1, { priority: 5 }), rate(2, { store_id: 2 })]],
    ["own_store", "1", [rate(1, { store_id: 2 }), rate(2)]],
    ["newest", "9", [rate(3), rate(9), rate(4)]]
  ])("names the rule %s and the winner %s", (rule, to, rates) => {
    expect(explainChoice(rates, question)).toMatchObject({ figure: "product_rate_id", rule, to })
  })
  it("names the winner, the rate it beat and the reason", () => {
    expect(
      explainChoice([rate(1, { priority: 5, definition_name: "Daily" }), rate(2, { price: 900 }), rate(3)], question)
        .words
    ).toBe(
      "Rate 1 (Daily, 10.00 GBP) wins over rate 3 (Period-based, 10.00 GBP) and 1 other for rental at store 2 on 2026-06-18: its priority 5 is higher than 0."
    )
  })
})

const request: RateRequest = {
  calculation_strategy: "period",
  base_period: "daily",
  strategy_config: {},
  enabled_modifiers: [],
  modifier_configs: {},
  price: 1001,
  currency: "GBP",
  quantity: 6,
  start: "2026-06-15T14:00:00+01:00",
  end: "2026-06-17T08:30:00+01:00"
}
const rules = (steps: ReadonlyArray<Step>): ReadonlyArray<string> =>
  steps.map(({ figure, rule, to }) => `${figure} ${rule} ${to}`)

describe("the steps of a calculation", () => {
  // 14:00 Monday to 08:30 Wednesday; the cut-offs make it 00:00 Monday to 00:00 Wednesday: 2880 minutes, less 15 of
  // leeway.
  it("show cut-offs, leeway and rounding of units (rules/rates 4.1)", () => {
    const strategy_config = { first_day_cutoff: "12:00", last_day_cutoff: "09:00", leeway_minutes: 15 }
    expect(rules(explainCalculation({ ...request, strategy_config }))).toEqual([
      "start first_day_cutoff 2026-06-15T00:00:00+01:00",
      "end last_day_cutoff 2026-06-17T00:00:00+01:00",
      "minutes elapsed 2880",
      "minutes leeway 2865",
      "units part_counts_whole 2",
      "per_unit_subtotal period 20.02",
      "total quantity 120.12"
    ])
  })
  // 14:00 to 17:00, 09:00 to 17:00, nothing: 660 minutes.
  it("show opening hours and the minimum of one unit", () => {
    const strategy_config = {
      day_type: "business",
      business_hours_start: "09:00",
      business_hours_end: "17:00",
      leeway_minutes: 700
    }
    expect(rules(explainCalculation({ ...request, strategy_config })).slice(0, 3)).toEqual([
      "minutes business_hours 660",
      "minutes leeway 0",
      "units at_least_one 1"
    ])
  })
  // 10.01 × 0.333 = 3.33333; 10.01 + 3.33 = 13.34; × 0.95 = 12.673; × 6 = 76.02.
  it("show each multiplier, the factor and every rounding (rules/rates 4.4, 4.5)", () => {
    const steps = explainCalculation({
      ...request,
      enabled_modifiers: ["factor", "multiplier"],
      modifier_configs: {
        multiplier: { tiers: [{ multiplier: "1.0" }, { multiplier: "0.333" }] },
        factor: { ranges: [{ from: 5, to: null, factor: "0.95" }] }
      }
    })
    expect(rules(steps).slice(2)).toEqual([
      "per_unit_subtotal period 20.02",
      "line_items.0.unit_price multiplier 10.01",
      "line_items.1.unit_price multiplier 3.33",
      "per_unit_subtotal multiplier 13.34",
      "per_unit_subtotal factor 12.67",
      "total quantity 76.02"
    ])
    expect(steps.map(({ words }) => words).slice(4)).toEqual([
      "Multiplier 0.333 for day 2: 10.01 × 0.333 is 3.33, rounded half away from zero from 3.33333.",
      "With its multipliers the time costs 13.34 for one instead of 20.02.",
      "Factor 0.95 for a quantity of 6: 13.34 × 0.95 is 12.67, rounded half away from zero from 12.673.",
      "6 × 12.67 is 76.02 GBP."
    ])
  })
  it("show the block of a hybrid and the single price of a fixed rate", () => {
    const hybrid = explainCalculation({
      ...request,
      calculation_strategy: "hybrid",
      strategy_config: { fixed_charge: 5000, fixed_period_units: 1 }
    })
    expect(hybrid.at(-2)!.words).toBe(
      "The first 1 day cost 50.00 together, however few are used; 1 day beyond at 10.01 each: 60.01 for one."
    )
    expect(rules(explainCalculation({ ...request, calculation_strategy: "fixed", base_period: null }))).toEqual([
      "per_unit_subtotal fixed 10.01",
      "total quantity 60.06"
    ])
  })
  it("are empty for a hire beyond the limit of units", () => {
    expect(explainCalculation({ ...request, base_period: "hourly", end: "2056-01-01T00:00:00Z" })).toEqual([])
  })
})

describe("the explanation of a line", () => {
  const line: LineRequest = {
    transaction_type: "rental",
    quantity: "2.50",
    manual_unit_price: 999,
    rate: null,
    carried_unit_price: 0,
    discount_percent: "12.50",
    starts_at: "2026-06-15T09:00:00Z",
    ends_at: "2026-06-17T10:00:00Z",
    days: { use_chargeable_days: false, chargeable_days: null },
    currency: "GBP",
    prices_include_tax: false,
    tax_rate: "20.0000"
  }
  const facts = (over: Partial<LineRequest> = {}): LineFacts => ({
    request: { ...line, ...over, rate: null },
    rate: null
  })
  const stored = (of: LineFacts) => {
    const { discount, subtotal, unit_price } = Result.getOrThrow(priceLine(of.request))
    return { unit_price, discounted_total: subtotal - discount, tax_rate: "20.0000" }
  }
  // 3 × 9.99 × 2 = 59.94; 12.5 percent is 7.4925, 7.49; 52.45 with tax in it is 43.7083 net.
  it("shows whole units, days, its own discount and the included tax for a manual price", () => {
    const given = facts({ prices_include_tax: true })
    expect(rules(explainLine(given, stored(given)))).toEqual([
      "quantity whole_units 3",
      "unit_price manual_price 9.99",
      "units whole_days 2",
      "total quantity 59.94",
      "discounted_total line_discount 52.45",
      "total tax_included 43.71"
    ])
  })
  it("shows the days set on the opportunity, no days for a sale, and one day without dates", () => {
    const days = facts({ days: { use_chargeable_days: true, chargeable_days: "3.5" } })
    expect(rules(explainLine(days, stored(days)))).toContain("units chargeable_days 4")
    const sale = facts({ transaction_type: "sale" })
    expect(rules(explainLine(sale, stored(sale)))).toContain("units sold 1")
    const undated = facts({ starts_at: null })
    expect(rules(explainLine(undated, stored(undated)))).toContain("units at_least_one 1")
  })
  it("shows an outdated price as stored, with a note", () => {
    const given = facts()
    expect(explainLine(given, { ...stored(given), discounted_total: 5000 })).toEqual([
      {
        figure: "discounted_total",
        rule: "kept",
        from: null,
        to: "50.00",
        words: "50.00 is what it came to when the line was last changed; with what is known now it would be 52.45."
      }
    ])
  })
})
