import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  applySurcharges,
  priceOpportunity,
  readSurchargeValue,
  type StageLine,
  type StagesRequest,
  type SurchargeGroup
} from "../../../../core/pricing/pricing/surcharges.ts"
import type { ResolvedTax } from "../../../../core/pricing/pricing/line.ts"
import { discountRule, lineFacts } from "./builders.ts"

type Surcharge = SurchargeGroup["surcharges"][number]

const surcharge = (id: number, over: Partial<Surcharge> = {}): Surcharge => ({
  id,
  name: `Surcharge ${id}`,
  calculation_type: "percentage",
  value: "10.00",
  applies_to: "all",
  tax_class_id: null,
  min_amount: null,
  max_amount: null,
  sort_order: 0,
  ...over
})
const group = (surcharges: ReadonlyArray<Surcharge>, over: Partial<SurchargeGroup> = {}): SurchargeGroup => ({
  id: 1,
  name: "Group",
  is_active: true,
  store_id: null,
  sort_order: 0,
  surcharges,
  ...over
})
const threeLines = [
  { transaction_type: "rental", net: 10_000 },
  { transaction_type: "sale", net: 5000 },
  { transaction_type: "sub_rental", net: 2000 }
] as const
const charge = (over: Partial<Surcharge>, lines: Parameters<typeof applySurcharges>[0]["lines"] = threeLines) =>
  applySurcharges({ groups: [group([surcharge(1, over)])], lines, days: 4, currency: "GBP", store_id: 1 }).map(
    ({ net }) => net
  )

describe("a surcharge on 100.00 rental, 50.00 sale and 20.00 sub-rental over four days", () => {
  it.each<[string, Partial<Surcharge>, ReadonlyArray<number>]>([
    ["ten percent of all", {}, [1700]],
    ["ten percent of rental, sub-rental included", { applies_to: "rental" }, [1200]],
    ["ten percent of sale", { applies_to: "sale" }, [500]],
    ["nothing for service, which no line is", { applies_to: "service", min_amount: 900 }, []],
    ["a third of a percent, rounded", { value: "0.33", applies_to: "sale" }, [17]],
    ["half a penny rounds up", { value: "0.01", applies_to: "sale" }, [1]],
    ["nothing at zero percent", { value: "0.00" }, [0]],
    ["25.00 once", { calculation_type: "fixed_amount", value: "25.00" }, [2500]],
    ["2.50 a day", { calculation_type: "per_day", value: "2.50" }, [1000]],
    ["at least 20.00", { min_amount: 2000 }, [2000]],
    ["at most 15.00", { max_amount: 1500 }, [1500]],
    ["within its limits", { min_amount: 1000, max_amount: 2000 }, [1700]],
    ["exactly its limit if minimum and maximum are equal", { min_amount: 1200, max_amount: 1200 }, [1200]],
    ["at least 12.00 for all days", { calculation_type: "per_day", value: "2.50", min_amount: 1200 }, [1200]],
    ["at most 5.00 for all days", { calculation_type: "per_day", value: "2.50", max_amount: 500 }, [500]]
  ])("is charged by its kind, limits and transaction types: %s", (_, over, expected) => {
    expect(charge(over)).toEqual(expected)
  })

  it("is not charged on an opportunity without lines", () => {
    expect(charge({ calculation_type: "fixed_amount", value: "25.00" }, [])).toEqual([])
  })
})

describe("surcharge groups", () => {
  const apply = (groups: ReadonlyArray<SurchargeGroup>) =>
    applySurcharges({ groups, lines: threeLines, days: 1, currency: "GBP", store_id: 1 }).map(
      ({ surcharge_id }) => surcharge_id
    )

  it("charge each of their surcharges on the lines, never on other surcharges", () => {
    const groups = [group([surcharge(1), surcharge(2, { value: "20.00" })])]
    expect(
      applySurcharges({ groups, lines: threeLines, days: 4, currency: "GBP", store_id: 1 }).map(({ net }) => net)
    ).toEqual([1700, 3400])
  })
  it("are not charged when inactive or of another store", () => {
    expect(
      apply([
        group([surcharge(1)], { is_active: false }),
        group([surcharge(2)], { store_id: 2 }),
        group([surcharge(3)], { store_id: 1 })
      ])
    ).toEqual([3])
  })
  it("are charged in their sort order, and so are their surcharges", () => {
    expect(
      apply([
        group([surcharge(1, { sort_order: 2 }), surcharge(2, { sort_order: 1 }), surcharge(3, { sort_order: 1 })], {
          id: 5,
          sort_order: 9
        }),
        group([surcharge(4)], { id: 6, sort_order: 1 })
      ])
    ).toEqual([4, 2, 3, 1])
  })
  it("give costs of the kind Surcharge, taxed in the surcharge's own class", () => {
    expect(
      applySurcharges({
        groups: [group([surcharge(1, { tax_class_id: 9 })])],
        lines: threeLines,
        days: 1,
        currency: "GBP",
        store_id: null
      })
    ).toEqual([
      { surcharge_group_id: 1, surcharge_id: 1, name: "Surcharge 1", cost_type: 2, product_tax_class_id: 9, net: 1700 }
    ])
  })
  it.each<["percentage" | "fixed_amount" | "per_day", unknown, string]>([
    ["percentage", 0, "0.00"],
    ["percentage", "101", "must not be greater than 100."],
    ["per_day", 250, "2.50"],
    ["fixed_amount", "-1", "must be at least 0."]
  ])("read the value of a %s, %j, as %j", (type, value, expected) => {
    expect(Result.merge(readSurchargeValue(type, value, "GBP"))).toBe(expected)
  })
})

const facts = lineFacts({ chargeable_days: "4" })
const line = (id: number, net: number, over: Partial<StageLine> = {}): StageLine => ({
  id,
  transaction_type: "rental",
  net,
  product_tax_class_id: 1,
  is_optional: false,
  discountable: true,
  priced_by_hand: false,
  facts,
  ...over
})
const tenPercent = discountRule(1, { name: "Ten", applies_to: "total" })
const taxOf = (id: number): ResolvedTax => ({ tax_rate_id: id, name: "Standard", percentage: "20.0000" })
const request = (over: Partial<StagesRequest>): StagesRequest => ({
  lines: [line(11, 6000), line(12, 4000)],
  costs: [],
  rules: [tenPercent],
  named_rule_ids: [],
  surcharge_groups: [group([surcharge(1, { calculation_type: "percentage", value: "5.00" })])],
  days: 4,
  currency: "GBP",
  store_id: 1,
  start_date: "2026-07-01",
  prices_include_tax: false,
  deal_total: null,
  tax_locked: false,
  default_product_tax_class_id: 1,
  taxOf,
  locked: null,
  ...over
})
const price = (over: Partial<StagesRequest>) => Result.getOrThrow(priceOpportunity(request(over)))

describe("the stages of pricing", () => {
  it("run discounts before surcharges and tax last: 100.00, less 10.00, plus 5 percent of 90.00, plus 20 percent", () => {
    const answer = price({})
    expect([...answer.line_nets]).toEqual([
      [11, 5400],
      [12, 3600]
    ])
    expect(answer.surcharges.map(({ net }) => net)).toEqual([450])
    expect(answer.totals).toMatchObject({
      rental_charge_total: 9000,
      service_charge_total: 450,
      charge_total: 9450,
      tax_total: 1890,
      charge_including_tax_total: 11_340
    })
  })

  it("leave optional lines out of discount rules and surcharges", () => {
    const answer = price({ lines: [line(11, 6000), line(12, 4000, { is_optional: true })] })
    expect([[...answer.line_discounts], answer.totals.charge_total]).toEqual([
      [
        [11, 600],
        [12, 0]
      ],
      5400 + 270
    ])
  })

  it("skip discount rules and surcharges under a deal price", () => {
    const answer = price({ deal_total: 5000 })
    expect([answer.applied_rules, answer.surcharges]).toEqual([[], []])
    expect(answer.totals).toMatchObject({
      rental_charge_total: 10_000,
      service_charge_total: 0,
      charge_total: 5000,
      tax_total: 1000
    })
  })

  it("keep the discounts of locked pricing after the rules change", () => {
    const before = price({})
    const after = price({ locked: before, rules: [], surcharge_groups: [] })
    expect(after.totals).toEqual(before.totals)
    expect(after.applied_rules).toEqual([{ rule_id: 1, name: "Ten", amount: 1000 }])
  })

  it("never let a locked discount exceed a line that has shrunk since", () => {
    expect([...price({ locked: price({}), lines: [line(11, 500)] }).line_nets]).toEqual([[11, 0]])
  })

  it("reject sums too large to be counted exactly", () => {
    const lines = [line(11, Number.MAX_SAFE_INTEGER), line(12, Number.MAX_SAFE_INTEGER)]
    expect(Object.keys(Result.merge(priceOpportunity(request({ lines, rules: [], surcharge_groups: [] }))))).toEqual([
      "charge_total"
    ])
  })
})
