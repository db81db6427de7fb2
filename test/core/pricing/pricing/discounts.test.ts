import fc from "fast-check"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  applyDiscountRules,
  type DiscountRequest,
  type DiscountRule,
  readDiscountValue
} from "../../../../core/pricing/pricing/discounts.ts"
import { discountRule as rule, lineFacts } from "./builders.ts"

type DiscountableLine = DiscountRequest["lines"][number]

const facts = lineFacts({
  "member.membership_type": "organisation",
  product_group_id: 2,
  product_type: "rental",
  state: "quotation"
})
const line = (net: number, over: Partial<DiscountableLine> = {}): DiscountableLine => ({
  net,
  discountable: true,
  priced_by_hand: false,
  facts,
  ...over
})
const apply = (
  rules: ReadonlyArray<DiscountRule>,
  lines: ReadonlyArray<DiscountableLine>,
  over: Partial<DiscountRequest> = {}
) =>
  applyDiscountRules({
    rules,
    lines,
    named_rule_ids: [],
    currency: "GBP",
    store_id: 1,
    start_date: "2026-07-01",
    ...over
  })
const off = (...args: Parameters<typeof apply>) => apply(...args).line_discounts

describe("one discount rule", () => {
  it("takes its percentage off each line, or off the lines together", () => {
    expect(off([rule(1, { discount_value: "12.50" })], [line(333), line(333)])).toEqual([42, 42])
    expect(off([rule(1, { discount_value: "12.50", applies_to: "total" })], [line(333), line(333)])).toEqual([42, 41])
  })
  it("takes a fixed amount off each line, or once off all lines together", () => {
    const fixed = { discount_type: "fixed_amount", discount_value: "10.00", currency_code: "GBP" } as const
    expect(off([rule(1, fixed)], [line(5000), line(700)])).toEqual([1000, 700])
    expect(off([rule(1, { ...fixed, applies_to: "total" })], [line(6667), line(3333)])).toEqual([667, 333])
    expect(off([rule(1, { ...fixed, applies_to: "total" })], [line(400), line(200)])).toEqual([400, 200])
  })
  it("takes at most its maximum amount off an opportunity", () => {
    const half = { discount_value: "50.00", max_discount_amount: 1000 }
    expect(off([rule(1, half)], [line(6000), line(4000)])).toEqual([600, 400])
    expect(off([rule(1, { ...half, applies_to: "total" })], [line(6000), line(4000)])).toEqual([600, 400])
    expect(off([rule(1, half)], [line(1000), line(1000)])).toEqual([500, 500])
  })
  it("discounts only the lines that meet its criteria", () => {
    const other = line(1000, { facts: { ...facts, product_id: 6 } })
    expect(off([rule(1, { criteria: { product_id: 5 } })], [line(1000), other])).toEqual([100, 0])
    expect(off([rule(1, { criteria: { product_id: 5 }, applies_to: "total" })], [line(1000), other])).toEqual([100, 0])
    expect(off([rule(1, { criteria: { colour: "red" } })], [line(1000)])).toEqual([0])
  })
  it("rounds half a penny up, and splits a total by the largest remainder", () => {
    expect(off([rule(1, { discount_value: "0.01" })], [line(5000)])).toEqual([1])
    const dime = { discount_type: "fixed_amount", discount_value: "0.10", applies_to: "total" } as const
    expect(off([rule(1, dime)], [line(10_000), line(10_000), line(5000)])).toEqual([4, 4, 2])
    expect(off([rule(1, dime)], [line(10_000), line(5000)])).toEqual([7, 3])
    expect(off([rule(1, dime)], [line(10_000), line(10_000, { priced_by_hand: true })])).toEqual([10, 0])
  })
  it("reports its amount, unless that is zero", () => {
    expect(apply([rule(1)], [line(1000), line(500)]).applied).toEqual([{ rule_id: 1, name: "Rule 1", amount: 150 }])
    expect(apply([rule(1)], [line(0)]).applied).toEqual([])
  })
})

describe("a discount rule", () => {
  it.each<[string, Partial<DiscountRule>, number]>([
    ["on its first day", { valid_from: "2026-07-01" }, 100],
    ["before its first day", { valid_from: "2026-07-02" }, 0],
    ["on its last day", { valid_to: "2026-07-01" }, 100],
    ["after its last day", { valid_to: "2026-06-30" }, 0],
    ["switched off", { is_active: false }, 0],
    ["in its own store", { store_id: 1 }, 100],
    ["in another store", { store_id: 2 }, 0],
    ["in its own currency", { currency_code: "GBP" }, 100],
    ["in another currency", { currency_code: "EUR" }, 0],
    ["not automatic and not named", { auto_apply: false }, 0]
  ])("applies by its days, switch, store, currency and name: %s", (_, over, expected) => {
    expect(off([rule(1, over)], [line(1000)])).toEqual([expected])
  })
  it("applies without being automatic when named on the opportunity, if its criteria are met", () => {
    expect(off([rule(1, { auto_apply: false })], [line(1000)], { named_rule_ids: [1] })).toEqual([100])
    expect(
      off([rule(1, { auto_apply: false, criteria: { product_id: 6 } })], [line(1000)], { named_rule_ids: [1] })
    ).toEqual([0])
  })
})

describe("a line's discount by rule", () => {
  it("is zero at a manual price, unless the rule is named", () => {
    expect(off([rule(1)], [line(1000, { priced_by_hand: true }), line(1000)])).toEqual([0, 100])
    expect(off([rule(1)], [line(1000, { priced_by_hand: true })], { named_rule_ids: [1] })).toEqual([100])
  })
  it("is always zero when the line is not discountable", () => {
    expect(off([rule(1)], [line(1000, { discountable: false })], { named_rule_ids: [1] })).toEqual([0])
  })
})

describe("several discount rules", () => {
  const stackable = true
  it("apply by priority if they stack, each to the remainder", () => {
    const fixed = { discount_type: "fixed_amount", discount_value: "10.00", stackable } as const
    expect(off([rule(1, { stackable }), rule(2, { ...fixed, priority: 5 })], [line(10_000)])).toEqual([1000 + 900])
    expect(off([rule(1, { stackable }), rule(2, fixed)], [line(10_000)])).toEqual([1000 + 1000])
    expect(
      apply([rule(2, { stackable }), rule(1, { stackable })], [line(10_000)]).applied.map(({ rule_id, amount }) => [
        rule_id,
        amount
      ])
    ).toEqual([
      [1, 1000],
      [2, 900]
    ])
  })
  it("are reduced to the rule with the largest discount if they do not stack", () => {
    const rules = [rule(1, { priority: 9, discount_value: "5.00" }), rule(2, { discount_value: "20.00" }), rule(3)]
    expect(apply(rules, [line(10_000)]).applied).toEqual([{ rule_id: 2, name: "Rule 2", amount: 2000 }])
    const fixed = rule(2, { discount_type: "fixed_amount", discount_value: "10.01", currency_code: "GBP" })
    expect(off([rule(1, { priority: 9 }), fixed], [line(10_000)])).toEqual([1001])
    const capped = rule(1, { discount_value: "50.00", max_discount_amount: 500 })
    expect(off([capped, rule(2)], [line(10_000)])).toEqual([1000])
    expect(apply([rule(5), rule(4)], [line(10_000)]).applied[0]?.rule_id).toBe(4)
    expect(apply([rule(4), rule(5, { priority: 1 })], [line(10_000)]).applied[0]?.rule_id).toBe(5)
  })
  it("give the larger of two discounts: that of the rules that stack, or of the best rule that does not", () => {
    const stack = [rule(1, { stackable }), rule(2, { stackable })]
    expect(off([...stack, rule(3, { discount_value: "15.00" })], [line(10_000)])).toEqual([1900])
    expect(off([...stack, rule(3, { discount_value: "25.00" })], [line(10_000)])).toEqual([2500])
  })

  it("never take off more than a line's amount or their maximum, and add up to the lines' discounts", () => {
    const anyRule = fc.record({
      discount_type: fc.constantFrom("percentage" as const, "fixed_amount" as const),
      discount_value: fc.integer({ min: 1, max: 10_000 }).map((hundredths) => (hundredths / 100).toFixed(2)),
      applies_to: fc.constantFrom("line" as const, "total" as const),
      max_discount_amount: fc.option(fc.integer({ min: 0, max: 5000 })),
      stackable: fc.boolean(),
      priority: fc.integer({ min: -3, max: 3 })
    })
    fc.assert(
      fc.property(
        fc.array(anyRule, { maxLength: 6 }),
        fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 8 }),
        (rules, nets) => {
          const { applied, line_discounts } = apply(
            rules.map((over, index) => rule(index + 1, over)),
            nets.map((net) => line(net))
          )
          line_discounts.forEach((discount, index) => {
            expect(discount).toBeGreaterThanOrEqual(0)
            expect(discount).toBeLessThanOrEqual(nets[index] ?? 0)
          })
          const amounts = applied.reduce((sum, { amount }) => sum + amount, 0)
          expect(line_discounts.reduce((sum, discount) => sum + discount, 0)).toBe(amounts)
          for (const { amount, rule_id } of applied)
            expect(amount).toBeLessThanOrEqual(rules[rule_id - 1]?.max_discount_amount ?? Infinity)
        }
      )
    )
  })
})

describe("the value of a discount rule", () => {
  it.each<["percentage" | "fixed_amount", unknown, string]>([
    ["percentage", "12.5", "12.50"],
    ["percentage", 100, "100.00"],
    ["percentage", 0, "must be greater than 0."],
    ["percentage", "100.01", "must not be greater than 100."],
    ["percentage", "1.234", "must have at most 2 decimals."],
    ["fixed_amount", 1050, "10.50"],
    ["fixed_amount", "10.5", "10.50"],
    ["fixed_amount", "0.00", "must be greater than 0."],
    ["fixed_amount", "-1.00", "must be at least 0."]
  ])("is read by type: a %s from %j as %j", (type, value, expected) => {
    expect(Result.merge(readDiscountValue(type, value, "GBP"))).toBe(expected)
  })
})
