import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { noRateMethod } from "../../../../core/pricing/pricing/engine.ts"
import {
  chargeableDays,
  type LineRequest,
  lockedTaxes,
  noTax,
  overrideErrors,
  priceLine,
  resolveLockedTax,
  resolveTax,
  type TransactionType
} from "../../../../core/pricing/pricing/line.ts"

type TaxRule = Parameters<typeof resolveTax>[0]["rules"][number]

const line = (over: Partial<LineRequest>): LineRequest => ({
  transaction_type: "rental",
  quantity: "1.00",
  manual_unit_price: null,
  rate: null,
  carried_unit_price: 0,
  discount_percent: null,
  starts_at: "2026-07-01T09:00:00.000Z",
  ends_at: "2026-07-04T09:00:00.000Z",
  days: { use_chargeable_days: false, chargeable_days: null },
  currency: "GBP",
  prices_include_tax: false,
  tax_rate: "20.0000",
  ...over
})
const priced = (over: Partial<LineRequest>) => Result.getOrThrow(priceLine(line(over)))
const daily = (price: number) => ({ price, method: noRateMethod })

describe("the price of a line over three days", () => {
  // source type        quantity  price  discount  incl  subtotal  total
  it.each(
    `
    manual  rental       2.00      1000  -         no       6000     6000
    manual  sale         2.00      1000  -         no       2000     2000
    manual  service      2.00      1000  -         no       6000     6000
    manual  sub_rental   2.00      1000  -         no       6000     6000
    manual  rental       1.50      1000  -         no       6000     6000
    manual  rental       0.40      1000  -         no          0        0
    manual  rental       0.49      1000  -         no          0        0
    manual  rental       0.50      1000  -         no       3000     3000
    manual  rental       2.50      1000  -         no       9000     9000
    manual  rental       0.00      1000  -         no          0        0
    manual  rental       1.00         0  -         no          0        0
    rate    rental       2.00      1000  -         no       6000     6000
    rate    rental       0.40      1000  -         no       3000     3000
    rate    rental       0.00      1000  -         no       3000     3000
    rate    rental       1.50      1000  -         no       6000     6000
    rate    rental       3.00      1000  33.33     no       9000     6000
    rate    sale         2.00      1000  -         no       6000     6000
    carried rental       2.00       500  -         no       3000     3000
    manual  rental       1.00       333  12.50     no        999      874
    manual  sale         1.00         1  50        no          1        0
    manual  sale         1.00         1  49        no          1        1
    manual  sale         1.00         4  12.5      no          4        3
    manual  sale         1.00     10001  33.33     no      10001     6668
    manual  rental       3.00       333  33.33     no       2997     1998
    manual  rental       1.00      1000  0         no       3000     3000
    manual  rental       3.00         0  10        no          0        0
    manual  rental       1.00      5000  100       no      15000        0
    manual  rental       1.00      4000  -         yes     12000    10000
    manual  rental       1.00      4000  10        yes     12000     9000
  `
      .trim()
      .split("\n")
      .map((row) => [row.trim(), row.trim().split(/\s+/)] as const)
  )("equals the price calculated by hand: %s", (_, row) => {
    const [
      source = "",
      type = "",
      quantity = "",
      price = "",
      discount = "",
      inclusive = "",
      subtotal = "",
      total = ""
    ] = row
    const answer = priced({
      transaction_type: type as TransactionType,
      quantity,
      manual_unit_price: source === "manual" ? Number(price) : null,
      rate: source === "rate" ? daily(Number(price)) : null,
      carried_unit_price: source === "carried" ? Number(price) : 99_999,
      discount_percent: discount === "-" ? null : discount,
      prices_include_tax: inclusive === "yes"
    })
    expect([answer.source, answer.unit_price, answer.subtotal, answer.total]).toEqual([
      source,
      Number(price),
      Number(subtotal),
      Number(total)
    ])
  })

  it("rounds its own discount half away from zero: 12.5 percent of 9.99 is 1.25", () => {
    expect(priced({ manual_unit_price: 333, discount_percent: "12.50" })).toMatchObject({
      subtotal: 999,
      discount: 125,
      total: 874
    })
  })

  it("prefers the manual price to a rate, and a rate to the row's earlier price", () => {
    expect(priced({ manual_unit_price: 1, rate: daily(2), carried_unit_price: 3 }).source).toBe("manual")
    expect(priced({ manual_unit_price: 0, rate: daily(2) })).toMatchObject({ source: "manual", total: 0 })
    expect(priced({ rate: daily(2), carried_unit_price: 3 }).source).toBe("rate")
  })

  it("counts four days and eight hours as four days at a manual price and as five at a rate", () => {
    const window = { starts_at: "2026-10-01T09:00:00.000Z", ends_at: "2026-10-05T17:00:00.000Z" }
    expect([
      priced({ ...window, manual_unit_price: 100 }).units,
      priced({ ...window, rate: daily(100) }).units
    ]).toEqual([4, 5])
  })

  it("takes the opportunity's chargeable days for manual prices and not for rates", () => {
    const days = { use_chargeable_days: true, chargeable_days: "10.0" }
    expect([priced({ days, manual_unit_price: 100 }).units, priced({ days, rate: daily(100) }).units]).toEqual([10, 3])
    const sold = { days, transaction_type: "sale" } as const
    expect([priced({ ...sold, manual_unit_price: 100 }).units, priced({ ...sold, rate: daily(100) }).units]).toEqual([
      1, 3
    ])
  })

  it("uses its rate's leeway and fixed charge, and the factor for the quantity rounded to whole pieces", () => {
    const hourly = { ...noRateMethod, base_period: "hourly" as const, strategy_config: { leeway_minutes: 15 } }
    const hours = (end: string) =>
      priced({ rate: { price: 500, method: hourly }, ends_at: `2026-07-01T${end}:00.000Z` }).total
    expect([hours("12:15"), hours("12:16")]).toEqual([1500, 2000])
    const strategy_config = { fixed_charge: 10_000, fixed_period_units: 2 }
    const hybrid = { ...noRateMethod, calculation_strategy: "hybrid" as const, strategy_config }
    expect(priced({ rate: { price: 4000, method: hybrid }, quantity: "3.00" })).toMatchObject({
      unit_price: 4000,
      total: 42_000
    })
    const modifier_configs = { factor: { ranges: [{ from: 10, to: null, factor: "0.5" }] } }
    const factor = { ...noRateMethod, enabled_modifiers: ["factor"], modifier_configs }
    const pieces = (quantity: string) => priced({ rate: { price: 1000, method: factor }, quantity }).total
    expect([pieces("9.40"), pieces("9.50")]).toEqual([27_000, 15_000])
  })

  it("is rejected if its amount or its hourly units are out of range", () => {
    const huge = priceLine(line({ quantity: "99999999.00", manual_unit_price: 2_147_483_647 }))
    expect(Object.keys(Result.merge(huge))).toEqual(["quantity"])
    const hourly = { price: 1, method: { ...noRateMethod, base_period: "hourly" as const } }
    expect(Object.keys(Result.merge(priceLine(line({ rate: hourly, ends_at: "2126-07-01T09:00:00.000Z" }))))).toEqual([
      "ends_at"
    ])
  })

  it("is rejected if an override brings it beyond the money range", () => {
    expect(
      overrideErrors(
        2_147_483_647,
        priced({ manual_unit_price: 2_147_483_647, quantity: "1.00", transaction_type: "sale" })
      )
    ).toBeUndefined()
    expect(Object.keys(overrideErrors(2_147_483_647, priced({ manual_unit_price: 2_147_483_647 })) ?? {})).toEqual([
      "unit_price"
    ])
  })
})

describe("chargeable days", () => {
  const noOverride = { use_chargeable_days: false, chargeable_days: null }
  it("are one without dates, or when the end is before the start", () => {
    expect(chargeableDays({ starts_at: null, ends_at: "2026-07-04T09:00:00Z" }, noOverride)).toBe(1)
    expect(chargeableDays({ starts_at: "2026-07-04T09:00:00Z", ends_at: "2026-07-01T09:00:00Z" }, noOverride)).toBe(1)
  })
  it("are the override's value, rounded and at least one, or the days of the dates if it has none", () => {
    const window = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-04T08:59:00Z" }
    expect(chargeableDays(window, { use_chargeable_days: true, chargeable_days: null })).toBe(2)
    expect(chargeableDays(window, { use_chargeable_days: true, chargeable_days: "0.0" })).toBe(1)
    expect(chargeableDays(window, { use_chargeable_days: true, chargeable_days: "0.4" })).toBe(1)
    expect(chargeableDays(window, { use_chargeable_days: true, chargeable_days: "2.4" })).toBe(2)
  })
  it("are one if start and end are equal, and are counted across the end of a month", () => {
    const starts_at = "2026-07-01T09:00:00Z"
    expect(chargeableDays({ starts_at, ends_at: starts_at }, noOverride)).toBe(1)
    expect(chargeableDays({ starts_at, ends_at: "2026-08-01T09:00:00Z" }, noOverride)).toBe(31)
  })
})

describe("the tax of a product class and a member class", () => {
  let id = 0
  const rule = (organisation: number, product: number, tax_rate_id: number, over: Partial<TaxRule> = {}): TaxRule => ({
    id: ++id,
    organisation_tax_class_id: organisation,
    product_tax_class_id: product,
    tax_rate_id,
    priority: 0,
    is_active: true,
    ...over
  })
  const rates = [
    { id: 20, name: "Standard", rate: "20", is_active: true },
    { id: 5, name: "Reduced", rate: "5.0000", is_active: true },
    { id: 9, name: "Old", rate: "17.5", is_active: false }
  ]
  const resolve = (rules: ReadonlyArray<TaxRule>, organisation: number | null, product: number | null) =>
    resolveTax(
      { rules, rates, default_organisation_tax_class_id: 1, default_product_tax_class_id: 1 },
      organisation,
      product
    )

  it("is that of the active rule with the highest priority", () => {
    const rules = [rule(2, 2, 20), rule(2, 2, 5, { priority: 3 }), rule(2, 2, 20, { priority: 9, is_active: false })]
    expect(resolve(rules, 2, 2)).toEqual({ tax_rate_id: 5, name: "Reduced", percentage: "5.0000" })
  })
  it("falls back to the default classes only for a pair without an active rule", () => {
    expect(resolve([rule(1, 1, 20)], 2, 3)).toEqual({ tax_rate_id: 20, name: "Standard", percentage: "20.0000" })
    expect(resolve([rule(1, 1, 20), rule(2, 3, 9)], 2, 3)).toEqual(noTax)
    expect(resolve([rule(2, 3, 5, { priority: 1 }), rule(2, 3, 9, { priority: 5 })], 2, 3)).toEqual(noTax)
    expect(resolve([rule(1, 1, 20), rule(2, 3, 5, { is_active: false })], 2, 3).tax_rate_id).toBe(20)
    expect(resolve([], 1, 1)).toEqual(noTax)
  })
  it("is none if a class is missing or the rate is deleted", () => {
    expect(resolve([rule(1, 1, 20)], null, 1)).toEqual(noTax)
    expect(resolve([rule(1, 1, 20)], 1, null)).toEqual(noTax)
    expect(resolve([rule(1, 1, 404)], 1, 1)).toEqual({ tax_rate_id: null, name: "No Tax", percentage: "0.0000" })
  })
  it("is locked for every product class, with the default pair's tax for classes without a rule", () => {
    const rules = [rule(1, 1, 20), rule(2, 3, 5), rule(2, 4, 9)]
    const table = { rules, rates, default_organisation_tax_class_id: 1, default_product_tax_class_id: 1 }
    for (const organisation of [1, 2, null]) {
      const lock = { tax_locked: true, locked_taxes: lockedTaxes(table, organisation) }
      for (const product of [1, 3, 4, 404, null])
        expect(resolveLockedTax(lock, { ...table, rules: [] }, 9, product)).toEqual(
          resolveTax(table, organisation, product)
        )
    }
  })
})
