import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Json } from "../../../../core/kernel/fields/field.ts"
import { readCriteria } from "../../../../core/pricing/pricing/criteria.ts"
import { meetsCriteria } from "../../../../core/pricing/pricing/discounts.ts"

/** A Friday hire by a trade customer: 4 days, 2 of product 5. */
const facts: Parameters<typeof meetsCriteria>[1] = {
  member_id: 7,
  "member.membership_type": "organisation",
  "member.discount_category_id": null,
  "member.price_category_id": 3,
  "member.tag_list": ["Trade", "Festival crew"],
  store_id: 1,
  product_id: 5,
  product_group_id: 2,
  product_type: "rental",
  transaction_type: "rental",
  quantity: "2.00",
  chargeable_days: "4",
  line_total: 40_000,
  charge_total: 100_000,
  starts_at: "2026-07-03T09:00:00.000Z",
  ends_at: "2026-07-07T09:00:00.000Z",
  day_of_week: 5,
  state: "quotation"
}
const meets = (criteria: Json): boolean => meetsCriteria(Result.getOrThrow(readCriteria(criteria)), facts, "GBP")

describe("a condition", () => {
  it.each<[string, string, Json, boolean]>([
    ["member_id", "eq", 7, true],
    ["member_id", "eq", "7", true],
    ["member_id", "not_eq", 7, false],
    ["member_id", "not_eq", 8, true],
    ["member_id", "in", [6, 7], true],
    ["member_id", "in", ["7"], true],
    ["member_id", "not_in", [6, 7], false],
    ["member_id", "not_in", [6], true],
    ["member.discount_category_id", "eq", null, true],
    ["member.discount_category_id", "eq", 1, false],
    ["member.discount_category_id", "not_eq", 1, true],
    ["member.discount_category_id", "not_in", [1], true],
    ["member.membership_type", "eq", "Organisation", true],
    ["member.membership_type", "eq", "contact", false],
    ["member.membership_type", "cont", "organ", true],
    ["member.tag_list", "eq", "trade", true],
    ["member.tag_list", "in", ["retail", "festival crew"], true],
    ["member.tag_list", "not_in", ["trade"], false],
    ["member.tag_list", "cont", "CREW", true],
    ["member.tag_list", "cont", "school", false],
    ["transaction_type", "eq", 0, true],
    ["transaction_type", "eq", "sale", false],
    ["transaction_type", "in", ["sale", "rental"], true],
    ["quantity", "gteq", "2", true],
    ["quantity", "gteq", 3, false],
    ["quantity", "gt", 2, false],
    ["quantity", "lt", "10", true],
    ["quantity", "lteq", "2.0", true],
    ["chargeable_days", "lt", "4.5", true],
    ["chargeable_days", "lteq", 3, false],
    ["line_total", "gteq", "400.00", true],
    ["line_total", "gteq", "400.01", false],
    ["line_total", "gt", "400.00", false],
    ["line_total", "eq", 40_000, true],
    ["charge_total", "lt", "999.99", false],
    ["charge_total", "lteq", "1000", true],
    ["starts_at", "gteq", "2026-07-03", true],
    ["starts_at", "gteq", "2026-07-04", false],
    ["starts_at", "eq", "2026-07-03", true],
    ["starts_at", "eq", "2026-07-03T11:00:00+02:00", true],
    ["starts_at", "lteq", "2026-07-03T09:00:00Z", true],
    ["starts_at", "lt", "2026-07-03T09:00:00Z", false],
    ["starts_at", "lt", "2026-07-03", false],
    ["starts_at", "lt", "2026-07-03T09:00:01Z", true],
    ["ends_at", "gt", "2026-07-07T09:00:00Z", false],
    ["day_of_week", "eq", 5, true],
    ["day_of_week", "eq", "friday", true],
    ["day_of_week", "in", [6, 0], false],
    ["day_of_week", "in", ["Fri", "sat"], true],
    ["state", "not_eq", "order", true],
    ["state", "not_eq", 1, false],
    ["state", "eq", 1, true],
    ["state", "eq", "Quotation", true],
    ["state", "in", [2, "1"], true],
    ["state", "eq", 2, false]
  ])("compares a field of the line or order with a value: %s %s %j is met: %s", (field, operator, value, expected) => {
    expect(meets({ conditions: [{ field, operator, value }] })).toBe(expected)
  })
})

describe("criteria", () => {
  const yes = { field: "store_id", operator: "eq", value: 1 }
  const no = { field: "store_id", operator: "eq", value: 2 }

  it("require all conditions, or one of them if match is any", () => {
    expect([
      meets({ conditions: [yes, no] }),
      meets({ match: "any", conditions: [yes, no] }),
      meets({ match: "any", conditions: [no] })
    ]).toEqual([false, true, false])
  })
  it("are met by every line if empty", () => {
    expect([meets({}), meets({ conditions: [] }), meets({ match: "any", conditions: [] })]).toEqual([true, true, true])
  })
  it("may nest groups one level deep", () => {
    expect(meets({ conditions: [yes, { match: "any", conditions: [no, yes] }] })).toBe(true)
    expect(meets({ conditions: [yes, { match: "all", conditions: [no, yes] }] })).toBe(false)
  })
  it("may be a plain map of values or lists of values", () => {
    expect([
      meets({ member_id: 7 }),
      meets({ member_id: [6, 7], store_id: 1 }),
      meets({ member_id: 7, store_id: 2 })
    ]).toEqual([true, true, false])
  })
  it("are not met if a condition compares an unknown fact", () => {
    const unknown = { ...facts, starts_at: null, quantity: null }
    const meetsUnknown = (criteria: Json) => meetsCriteria(Result.getOrThrow(readCriteria(criteria)), unknown, "GBP")
    for (const operator of ["gt", "gteq", "lt", "lteq"]) {
      expect(meetsUnknown({ conditions: [{ field: "quantity", operator, value: 1 }] })).toBe(false)
      expect(meetsUnknown({ conditions: [{ field: "starts_at", operator, value: "2026-01-01" }] })).toBe(false)
    }
  })

  it.each<[Json, string]>([
    [[], "criteria"],
    ["all", "criteria"],
    [null, "criteria"],
    [{ match: "some", conditions: [] }, "criteria.match"],
    [{ conditions: "x" }, "criteria.conditions"],
    [{ conditions: [5] }, "criteria.conditions.0"],
    [{ conditions: [yes, { field: "colour", operator: "eq", value: 1 }] }, "criteria.conditions.1.field"],
    [{ conditions: [{ field: "store_id", operator: "like", value: 1 }] }, "criteria.conditions.0.operator"],
    [{ conditions: [{ field: "state", operator: "gt", value: "a" }] }, "criteria.conditions.0.operator"],
    [{ conditions: [{ field: "store_id", operator: "in", value: 1 }] }, "criteria.conditions.0.value"],
    [{ conditions: [{ field: "quantity", operator: "gt", value: "many" }] }, "criteria.conditions.0.value"],
    [{ conditions: [{ field: "starts_at", operator: "gt", value: "soon" }] }, "criteria.conditions.0.value"],
    [{ conditions: [{ field: "day_of_week", operator: "eq", value: "someday" }] }, "criteria.conditions.0.value"],
    [{ conditions: [{ match: "any", conditions: [{ field: "x" }] }] }, "criteria.conditions.0.conditions.0.field"],
    [{ conditions: [{ conditions: [{ conditions: [] }] }] }, "criteria.conditions.0.conditions.0"],
    [{ colour: "red" }, "criteria.colour"],
    [{ member_id: "x" }, "criteria.member_id"]
  ])("are rejected: %j, naming %s", (criteria, key) => {
    expect(Object.keys(Result.merge(readCriteria(criteria)))).toEqual([key])
  })
})
