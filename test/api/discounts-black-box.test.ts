/** Discount rules and surcharge groups from outside: every expectation from rules/billing 4 and 5. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { fields, type PriceList, priceList } from "./price-list.ts"

let list: PriceList, member: number, other_store: number, group: number, lamp: number, stand: number, fixed: number
let made_rules: Array<number> = []
const oneDay = { ends_at: "2026-07-02T09:00:00Z" }
beforeAll(async () => {
  list = await priceList()
  const classes = (await list.get("/organisation_tax_classes")).body.organisation_tax_classes
  member = (
    await list.made("/members", {
      name: "Payer",
      membership_type: "organisation",
      tag_list: ["vip", "trade"],
      sale_tax_class_id: classes[0].id
    })
  ).id
  other_store = (await list.made("/stores", { name: "Elsewhere" })).id
  group = (await list.made("/product_groups", { name: "Lighting" })).id
  fixed = await list.definition({ calculation_strategy: "fixed", base_period: null })
  const sold = async (price: number, more: object): Promise<number> => {
    const id = await list.product(more)
    for (const transaction_type of ["rental", "sale", "service"]) {
      await list.made(`/products/${id}/rates`, { rate_definition_id: fixed, transaction_type, price, currency: "GBP" })
    }
    return id
  }
  const standard = (await list.get("/product_tax_classes")).body.product_tax_classes.find(
    (one: any) => one.name === "Standard"
  ).id
  const reduced = (await list.made("/product_tax_classes", { name: "Reduced" })).id
  const five = (await list.get("/tax_rates")).body.tax_rates.find((one: any) => one.name === "Reduced").id
  await list.made("/tax_rules", {
    organisation_tax_class_id: classes[0].id,
    product_tax_class_id: reduced,
    tax_rate_id: five
  })
  lamp = await sold(10_000, { product_group_id: group, tax_class_id: standard })
  stand = await sold(5000, { tax_class_id: reduced })
})
afterAll(() => list.close())
afterEach(async () => {
  for (const id of made_rules) await list.remove(`/discount_rules/${id}`)
  made_rules = []
})

const rule = async (more: object = {}): Promise<number> => {
  const { id } = await list.made("/discount_rules", {
    name: "Ten off",
    discount_type: "percentage",
    discount_value: "10",
    criteria: {},
    auto_apply: true,
    ...more
  })
  made_rules.push(id)
  return id
}
/** Wednesday 1 July 2026; a lamp at 100.00 unless told. */
const played = async (lines: ReadonlyArray<object> = [{ item_id: lamp }], job: object = {}): Promise<any> => {
  const { id } = await list.job({ ...oneDay, member_id: member, ...job })
  for (const one of lines) await list.line(id, one)
  return (await list.get(`/opportunities/${id}?include=items,costs`)).body.opportunity
}
const charge = async (lines?: ReadonlyArray<object>, job?: object): Promise<string> =>
  (await played(lines, job)).charge_total

describe("A discount rule (4)", () => {
  const percent = (discount_value: string, more: object = {}): object => ({ discount_value, ...more })
  const pounds = (discount_value: string, more: object = {}): object => ({
    discount_type: "fixed_amount",
    discount_value,
    currency_code: "GBP",
    ...more
  })
  const both = [{ item_id: "lamp" }, { item_id: "stand" }]
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<object>, string, ReadonlyArray<object>?, object?]> = [
    ["of ten per cent", [percent("10")], "90.00"],
    ["of everything", [percent("100")], "0.00"],
    ["rounds half a penny up", [percent("0.01", { criteria: {} })], "49.99", [{ item_id: "stand" }]],
    ["that is not active", [percent("10", { is_active: false })], "100.00"],
    ["that nobody named", [percent("10", { auto_apply: false })], "100.00"],
    ["of the job's store", [percent("10", { store_id: 1 })], "90.00"],
    ["of another store", [percent("10", { store_id: -1 })], "100.00"],
    ["on its first day", [percent("10", { valid_from: "2026-07-01" })], "90.00"],
    ["on its last day", [percent("10", { valid_to: "2026-07-01" })], "90.00"],
    ["on its only day", [percent("10", { valid_from: "2026-07-01", valid_to: "2026-07-01" })], "90.00"],
    ["from tomorrow", [percent("10", { valid_from: "2026-07-02" })], "100.00"],
    ["until yesterday", [percent("10", { valid_to: "2026-06-30" })], "100.00"],
    ["alone: the best of two", [percent("10", { priority: 9 }), percent("15")], "85.00"],
    ["alone: pounds against per cent", [percent("10", { priority: 9 }), pounds("10.01")], "89.99"],
    ["on another: of what remains", [percent("10", { stackable: true }), percent("20", { stackable: true })], "72.00"],
    [
      "on another: pounds first by priority",
      [percent("10", { stackable: true }), pounds("30", { stackable: true, priority: 1 })],
      "63.00"
    ],
    [
      "on another: per cent first by priority",
      [percent("10", { stackable: true, priority: 1 }), pounds("30", { stackable: true })],
      "60.00"
    ],
    [
      "on another: by age where priorities are the same",
      [pounds("30", { stackable: true }), percent("10", { stackable: true })],
      "63.00"
    ],
    [
      "on another never goes below nothing",
      [pounds("80", { stackable: true }), pounds("80", { stackable: true })],
      "0.00"
    ],
    ["capped", [percent("50", { max_discount_amount: "20.00" })], "80.00"],
    ["below its cap", [percent("10", { max_discount_amount: "20.00" })], "90.00"],
    ["capped at nothing more than it gives", [percent("20", { max_discount_amount: "20.00" })], "80.00"],
    ["alone: the cap decides which is best", [percent("50", { max_discount_amount: "5.00" }), percent("10")], "90.00"],
    ["of more than there is", [pounds("150.00")], "0.00"],
    ["in another currency is none", [pounds("10.00", { currency_code: "EUR" })], "100.00"],
    ["of each line", [pounds("10.00", { applies_to: "line" })], "130.00", both],
    ["of the total", [pounds("10.00", { applies_to: "total" })], "140.00", both],
    [
      "of the total in per cent, capped",
      [percent("50", { applies_to: "total", max_discount_amount: "20.00" })],
      "130.00",
      both
    ],
    ["of the total larger than it", [pounds("1000", { applies_to: "total" })], "0.00", both],
    ["spares a line priced by hand", [percent("10")], "190.00", [{ item_id: "lamp" }, { unit_price: "100.00" }]],
    ["spares a line with its own discount", [percent("10")], "95.00", [{ item_id: "lamp", discount_percent: 5 }]],
    [
      "of the total spares them as well",
      [pounds("10", { applies_to: "total" })],
      "190.00",
      [{ item_id: "lamp" }, { item_id: "lamp", unit_price: "100.00" }]
    ],
    [
      "does not count optional lines",
      [pounds("120", { applies_to: "total" })],
      "0.00",
      [{ item_id: "lamp" }, { item_id: "stand", is_optional: true }]
    ]
  ]
  const things = (lines: ReadonlyArray<any>): ReadonlyArray<object> =>
    lines.map((one) => (one.item_id === undefined ? one : { ...one, item_id: one.item_id === "lamp" ? lamp : stand }))
  const full = cases.map(([name, rules, expected, lines = [{ item_id: "lamp" }], job = {}]) => ({
    name,
    rules,
    expected,
    lines,
    job
  }))
  it.each(full)("$name", async ({ rules, expected, lines, job }) => {
    for (const one of rules)
      await rule("store_id" in one && one.store_id === -1 ? { ...one, store_id: other_store } : one)
    expect(await charge(things(lines), job)).toBe(expected)
  })
  it("named on the job acts without auto_apply, and no longer when it is taken off", async () => {
    const id = await rule({ auto_apply: false })
    const job = await played([{ item_id: lamp }], { discount_rule_ids: [id] })
    expect([job.charge_total, job.discount_rule_ids]).toEqual(["90.00", [id]])
    await list.put(`/opportunities/${job.id}`, { discount_rule_ids: [] })
    expect(
      (await list.post(`/opportunities/${job.id}/items`, { name: "More", item_id: lamp })).body.opportunity.charge_total
    ).toBe("200.00")
  })
  it("named on the job but not for it does nothing", async () => {
    const id = await rule({ auto_apply: false, criteria: { store_id: other_store } })
    expect(await charge([{ item_id: lamp }], { discount_rule_ids: [id] })).toBe("100.00")
  })
  it("of the total is spread over tax classes by their nets", async () => {
    await rule({ discount_type: "fixed_amount", discount_value: "30.00", currency_code: "GBP", applies_to: "total" })
    // 30 over 100 and 50: 20 and 10; 80 at 20 per cent and 40 at 5.
    expect(await played(things(both))).toMatchObject({
      charge_total: "120.00",
      tax_total: "18.00",
      charge_including_tax_total: "138.00",
      rental_charge_total: "120.00"
    })
  })
  it("of the total is spread to the penny, the largest remainder first", async () => {
    await rule({ discount_type: "fixed_amount", discount_value: "0.10", currency_code: "GBP", applies_to: "total" })
    // 10 pence over 100.00 rental, 100.00 sale and 50.00 service: 4, 4 and 2.
    expect(
      await played([{ item_id: lamp }, { item_id: lamp, transaction_type: 1 }, { item_id: stand, transaction_type: 2 }])
    ).toMatchObject({
      rental_charge_total: "99.96",
      sale_charge_total: "99.96",
      service_charge_total: "49.98",
      charge_total: "249.90"
    })
    // 10 pence over 100.00 rental and 50.00 service: 6.67 and 3.33, so 7 and 3.
    expect(await played([{ item_id: lamp }, { item_id: stand, transaction_type: 2 }])).toMatchObject({
      rental_charge_total: "99.93",
      service_charge_total: "49.97"
    })
  })
  it("leaves costs alone", async () => {
    await rule({ applies_to: "total" })
    const job = await played()
    expect(
      (await list.post(`/opportunities/${job.id}/costs`, { description: "Van", cost_type: 0, amount: "30.00" })).body
        .opportunity
    ).toMatchObject({ charge_total: "120.00", transit_charge_total: "30.00", rental_charge_total: "90.00" })
  })
  it("is taxed after it: 100.00 less ten per cent, plus twenty", async () => {
    await rule({ criteria: { member_id: member } })
    expect(await played()).toMatchObject({
      charge_total: "90.00",
      tax_total: "18.00",
      charge_including_tax_total: "108.00"
    })
  })
  it("spares a product that may not be discounted", async () => {
    const firm = await list.product({ discountable: false })
    await list.made(`/products/${firm}/rates`, {
      rate_definition_id: fixed,
      transaction_type: "rental",
      price: 10_000,
      currency: "GBP"
    })
    await rule()
    expect(await charge([{ item_id: firm }])).toBe("100.00")
  })
  it("gives way to a deal, and comes back when the deal goes", async () => {
    await rule()
    const job = await played()
    expect(
      (await list.post(`/opportunities/${job.id}/deal_price`, { deal_total: "70.00" })).body.opportunity
    ).toMatchObject({ charge_total: "70.00", rental_charge_total: "100.00" })
    expect((await list.remove(`/opportunities/${job.id}/deal_price`)).body.opportunity.charge_total).toBe("90.00")
  })
  it("is not undone by locking", async () => {
    await rule()
    const job = await played()
    expect((await list.post(`/opportunities/${job.id}/lock_locks`)).body.opportunity.charge_total).toBe("90.00")
  })
  it("once deleted leaves what it gave", async () => {
    const id = await rule()
    const job = await played()
    expect((await list.remove(`/discount_rules/${id}`)).status).toBe(204)
    expect((await list.get(`/opportunities/${job.id}`)).body.opportunity.charge_total).toBe("90.00")
  })
})

describe("Criteria (4)", () => {
  const when = (field: string, operator: string, value: unknown): object => ({ field, operator, value })
  const all = (...conditions: ReadonlyArray<object>): object => ({ conditions })
  const any = (...conditions: ReadonlyArray<object>): object => ({ match: "any", conditions })
  // Members, products and groups are known only later, so criteria are functions.
  const cases: ReadonlyArray<readonly [string, () => object, boolean, object?, object?]> = [
    ["the member", () => all(when("member_id", "eq", member)), true],
    ["the member's id as text", () => all(when("member_id", "eq", String(member))), true],
    ["another member", () => all(when("member_id", "eq", member + 1)), false],
    ["any but the member", () => all(when("member_id", "not_eq", member)), false],
    ["any but another member", () => all(when("member_id", "not_eq", member + 1)), true],
    ["one of the members", () => all(when("member_id", "in", [member + 1, member])), true],
    ["one of the members as texts", () => all(when("member_id", "in", [String(member)])), true],
    ["none of the members", () => all(when("member_id", "not_in", [member + 1, member])), false],
    ["none of other members", () => all(when("member_id", "not_in", [member + 1])), true],
    ["a bare value", () => ({ member_id: member }), true],
    ["a bare list", () => ({ member_id: [member + 1, member] }), true],
    ["a bare value and another that fails", () => ({ member_id: member, store_id: 2 }), false],
    ["no condition at all", () => all(), true],
    ["an organisation", () => all(when("member.membership_type", "eq", "organisation")), true],
    ["a contact", () => all(when("member.membership_type", "eq", "contact")), false],
    ["a tag", () => all(when("member.tag_list", "cont", "vip")), true],
    ["a tag nobody has", () => all(when("member.tag_list", "cont", "press")), false],
    ["one of some tags", () => all(when("member.tag_list", "in", ["press", "trade"])), true],
    ["none of some tags", () => all(when("member.tag_list", "not_in", ["press", "trade"])), false],
    ["the store", () => all(when("store_id", "eq", 1)), true],
    ["the product", () => all(when("product_id", "eq", lamp)), true],
    ["another product", () => all(when("product_id", "eq", stand)), false],
    ["the group", () => all(when("product_group_id", "in", [group])), true],
    ["the kind of product", () => all(when("product_type", "eq", "rental")), true],
    ["the type of line by name", () => all(when("transaction_type", "eq", "rental")), true],
    ["the type of line by number", () => all(when("transaction_type", "eq", 0)), true],
    ["another type of line", () => all(when("transaction_type", "eq", "sale")), false],
    ["ten pieces or more, with ten", () => all(when("quantity", "gteq", 10)), true, { quantity: 10 }],
    ["ten pieces or more, with nine", () => all(when("quantity", "gteq", 10)), false, { quantity: 9 }],
    ["more than ten, with ten", () => all(when("quantity", "gt", "10")), false, { quantity: 10 }],
    ["fewer than ten, with nine: numbers, not texts", () => all(when("quantity", "lt", "10")), true, { quantity: 9 }],
    ["at most ten, with ten", () => all(when("quantity", "lteq", "10.0")), true, { quantity: 10 }],
    ["a line of 100.00 in pounds", () => all(when("line_total", "gteq", "100.00")), true],
    ["a line of 100.01 in pounds", () => all(when("line_total", "gteq", "100.01")), false],
    ["a line of more than 100.00", () => all(when("line_total", "gt", "100")), false],
    ["a job of 100.00 in pounds", () => all(when("charge_total", "lteq", "100.00")), true],
    ["a job of less than 100.00", () => all(when("charge_total", "lt", "100.00")), false],
    ["starting on a day or later", () => all(when("starts_at", "gteq", "2026-07-01")), true],
    ["starting later than that day", () => all(when("starts_at", "gteq", "2026-07-02")), false],
    ["starting until an instant", () => all(when("starts_at", "lteq", "2026-07-01T09:00:00Z")), true],
    ["starting before that instant", () => all(when("starts_at", "lt", "2026-07-01T09:00:00Z")), false],
    ["the same instant in another offset", () => all(when("starts_at", "eq", "2026-07-01T11:00:00+02:00")), true],
    ["ending before an instant", () => all(when("ends_at", "lt", "2026-07-02T09:00:01Z")), true],
    ["a Wednesday", () => all(when("day_of_week", "eq", 3)), true],
    ["a Thursday", () => all(when("day_of_week", "in", [4])), false],
    [
      "three days or more, with three",
      () => all(when("chargeable_days", "gteq", 3)),
      true,
      {},
      { ends_at: "2026-07-04T09:00:00Z" }
    ],
    [
      "three days or more, with two",
      () => all(when("chargeable_days", "gteq", 3)),
      false,
      {},
      { ends_at: "2026-07-03T09:00:00Z" }
    ],
    [
      "chargeable days as agreed",
      () => all(when("chargeable_days", "eq", 5)),
      true,
      {},
      { use_chargeable_days: true, chargeable_days: "5" }
    ],
    ["a draft by number", () => all(when("state", "eq", 0)), true],
    ["a draft by name", () => all(when("state", "eq", "Draft")), true],
    ["a draft or a quotation", () => all(when("state", "in", [0, "1"])), true],
    ["anything but a draft", () => all(when("state", "not_eq", 0)), false],
    ["an order", () => ({ state: 2 }), false],
    ["all of two, one fails", () => all(when("store_id", "eq", 1), when("quantity", "gt", 1)), false],
    ["any of two, one holds", () => any(when("store_id", "eq", 2), when("quantity", "eq", 1)), true],
    ["any of two, none holds", () => any(when("store_id", "eq", 2), when("quantity", "gt", 1)), false],
    [
      "a group within: store and (many or lamp)",
      () => all(when("store_id", "eq", 1), any(when("quantity", "gt", 9), when("product_id", "eq", lamp))),
      true
    ],
    [
      "a group within that fails",
      () => all(when("store_id", "eq", 1), any(when("quantity", "gt", 9), when("product_id", "eq", stand))),
      false
    ],
    [
      "any of a group within and a condition",
      () =>
        any(when("store_id", "eq", 2), {
          match: "all",
          conditions: [when("quantity", "eq", 1), when("product_id", "eq", lamp)]
        }),
      true
    ]
  ]
  const full = cases.map(([name, criteria, holds, line = {}, job = {}]) => ({ name, criteria, holds, line, job }))
  it.each(full)("$name", async ({ criteria, holds, line, job }) => {
    await rule({ criteria: criteria() })
    const { charge_total } = await played([{ item_id: lamp, ...line }], job)
    const whole = 100 * ("quantity" in line ? Number(line.quantity) : 1)
    expect(charge_total).toBe(`${holds ? whole * 0.9 : whole}.00`)
  })
  it.each<readonly [string, string, unknown, boolean]>([
    ["starts_at", "eq", "2026-07-02", true],
    ["starts_at", "lteq", "2026-07-01", false],
    ["ends_at", "eq", "2026-07-03", true],
    ["day_of_week", "eq", "thursday", true],
    ["starts_at", "eq", "2026-07-01T20:00:00Z", true]
  ])("ask for days of the store: %s %s %s, in Auckland", async (field, operator, value, holds) => {
    const far = (await list.made("/stores", { name: "Far", timezone: "Pacific/Auckland" })).id
    await rule({ criteria: all(when(field, operator, value)) })
    // 2 July, 8 in the morning there.
    expect(
      await charge([{ item_id: lamp }], {
        store_id: far,
        starts_at: "2026-07-01T20:00:00Z",
        ends_at: "2026-07-02T20:00:00Z"
      })
    ).toBe(holds ? "90.00" : "100.00")
  })
  it("of a window are days of the store: valid until 1 July, which is over in Auckland", async () => {
    const far = (await list.made("/stores", { name: "Far", timezone: "Pacific/Auckland" })).id
    await rule({ valid_to: "2026-07-01" })
    expect(
      await charge([{ item_id: lamp }], {
        store_id: far,
        starts_at: "2026-07-01T11:59:00Z",
        ends_at: "2026-07-02T20:00:00Z"
      })
    ).toBe("90.00")
    expect(
      await charge([{ item_id: lamp }], {
        store_id: far,
        starts_at: "2026-07-01T12:00:00Z",
        ends_at: "2026-07-02T20:00:00Z"
      })
    ).toBe("100.00")
  })
  it("of a line judge each line by itself", async () => {
    await rule({ criteria: { product_id: stand } })
    expect(await charge([{ item_id: lamp }, { item_id: stand }])).toBe("145.00")
  })
  it("of the job's total judge the whole job", async () => {
    await rule({ criteria: all(when("charge_total", "gteq", "150.00")) })
    expect(await charge([{ item_id: lamp }, { item_id: stand }])).toBe("135.00")
    expect(await charge([{ item_id: lamp }])).toBe("100.00")
  })
})

describe("What a discount rule takes (4)", () => {
  const body = (more: object): object => ({
    name: "Rule",
    discount_type: "percentage",
    discount_value: "10",
    criteria: {},
    is_active: false,
    ...more
  })
  const one = (condition: object): object => ({
    criteria: { conditions: [{ field: "store_id", operator: "eq", value: 1 }, condition] }
  })
  it.each<readonly [string, object, ReadonlyArray<string>]>([
    ["no name", { name: null }, ["name"]],
    ["a long name", { name: "x".repeat(256) }, ["name"]],
    ["no type", { discount_type: null }, ["discount_type"]],
    ["a type nobody knows", { discount_type: "fixed" }, ["discount_type"]],
    ["nothing off", { discount_value: "0" }, ["discount_value"]],
    ["a negative percentage", { discount_value: "-1" }, ["discount_value"]],
    ["more than a hundred", { discount_value: "100.01" }, ["discount_value"]],
    ["three decimals", { discount_value: "10.555" }, ["discount_value"]],
    ["words", { discount_value: "ten" }, ["discount_value"]],
    ["pounds without currency", { discount_type: "fixed_amount", discount_value: "10" }, ["currency_code"]],
    ["no pounds", { discount_type: "fixed_amount", discount_value: 0, currency_code: "GBP" }, ["discount_value"]],
    [
      "pounds too fine",
      { discount_type: "fixed_amount", discount_value: "1.001", currency_code: "GBP" },
      ["discount_value"]
    ],
    ["an unknown scope", { applies_to: "all" }, ["applies_to"]],
    ["no criteria", { criteria: null }, ["criteria"]],
    ["criteria in words", { criteria: "all" }, ["criteria"]],
    ["criteria as a list", { criteria: [{ field: "store_id", operator: "eq", value: 1 }] }, ["criteria"]],
    ["a field nobody knows", one({ field: "weather", operator: "eq", value: 1 }), ["criteria.conditions.1.field"]],
    [
      "an operator nobody knows",
      one({ field: "store_id", operator: "like", value: 1 }),
      ["criteria.conditions.1.operator"]
    ],
    ["a bare key nobody knows", { criteria: { weather: "fine" } }, ["criteria.weather"]],
    ["an end before its start", { valid_from: "2026-02-02", valid_to: "2026-02-01" }, ["valid_to"]],
    ["a store nobody knows", { store_id: 99_999 }, ["store_id"]]
  ])("refuses %s", async (_, more, named) => {
    const got = await list.post("/discount_rules", body(more))
    expect([got.status, fields(got)], got.text).toEqual([422, named])
  })
  it("refuses groups within groups within groups", async () => {
    const leaf = { field: "store_id", operator: "eq", value: 1 }
    expect(
      (await list.post("/discount_rules", body({ criteria: { conditions: [{ conditions: [leaf] }] } }))).status
    ).toBe(201)
    expect(
      (
        await list.post(
          "/discount_rules",
          body({ criteria: { conditions: [{ conditions: [{ conditions: [leaf] }] }] } })
        )
      ).status
    ).toBe(422)
  })
  it("starts as a manual one of no great weight", async () => {
    const got = await list.post("/discount_rules", {
      name: "Rule",
      discount_type: "percentage",
      discount_value: 10,
      criteria: {}
    })
    expect(got.body.discount_rule).toMatchObject({
      description: null,
      discount_type: "percentage",
      max_discount_amount: null,
      criteria: {},
      auto_apply: false,
      stackable: false,
      priority: 0,
      is_active: true,
      valid_from: null,
      valid_to: null,
      store_id: null
    })
  })
  it("on a change is judged as a whole", async () => {
    const { id } = await list.made("/discount_rules", body({ valid_from: "2026-02-01", valid_to: "2026-03-01" }))
    const path = `/discount_rules/${id}`
    const early = await list.put(path, { valid_to: "2026-01-31" })
    expect([early.status, fields(early)]).toEqual([422, ["valid_to"]])
    const pounds = await list.put(path, { discount_type: "fixed_amount" })
    expect([pounds.status, fields(pounds)]).toEqual([422, ["currency_code"]])
    expect((await list.put(path, { valid_to: null, name: "New" })).body.discount_rule).toMatchObject({
      name: "New",
      valid_to: null,
      valid_from: "2026-02-01"
    })
    expect((await list.remove(path)).status).toBe(204)
    expect((await list.get(path)).status).toBe(404)
  })
})

describe("Surcharges (5)", () => {
  const groups: Array<number> = []
  afterEach(async () => {
    for (const id of groups.splice(0))
      await list.put(`/surcharge_groups/${id}`, { is_active: false, default_enabled: false })
  })
  const surcharges = async (rows: ReadonlyArray<object>, more: object = {}): Promise<any> => {
    const made = await list.made("/surcharge_groups", {
      name: "Group",
      surcharges: rows.map((row) => ({ name: "Surcharge", calculation_type: "percentage", value: "10", ...row })),
      ...more
    })
    groups.push(made.id)
    return made
  }
  const lines = [{ item_id: "lamp" }, { item_id: "stand", transaction_type: 1 }]
  const with_things = (all: ReadonlyArray<any>): ReadonlyArray<object> =>
    all.map((one) => ({ ...one, item_id: one.item_id === "lamp" ? lamp : stand }))
  // Three days; 100.00 rental and 50.00 sale.
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<object>, string]> = [
    ["a share of all", [{}], "15.00"],
    ["a share of rentals", [{ applies_to: "rental" }], "10.00"],
    ["a share of sales", [{ applies_to: "sale" }], "5.00"],
    ["a share of nothing", [{ applies_to: "service" }], "0.00"],
    ["no per cent", [{ value: "0" }], "0.00"],
    ["half a penny rounds up", [{ value: "0.01", applies_to: "sale" }], "0.01"],
    ["at least", [{ min_amount: "25.00" }], "25.00"],
    ["at least, and more", [{ min_amount: "14.99" }], "15.00"],
    ["at most", [{ max_amount: "5.00" }], "5.00"],
    ["at most, and less", [{ max_amount: "15.01" }], "15.00"],
    ["between", [{ min_amount: "12.00", max_amount: "12.00" }], "12.00"],
    ["an amount", [{ calculation_type: "fixed_amount", value: "12.34" }], "12.34"],
    ["an amount in minor units", [{ calculation_type: "fixed_amount", value: 1234 }], "12.34"],
    ["an amount a day", [{ calculation_type: "per_day", value: "5.00" }], "15.00"],
    ["an amount a day, at most", [{ calculation_type: "per_day", value: "5.00", max_amount: "12.00" }], "12.00"],
    ["an amount a day, at least", [{ calculation_type: "per_day", value: "5.00", min_amount: "20.00" }], "20.00"],
    ["two, each of the lines", [{}, { value: "20" }], "45.00"]
  ]
  it.each(cases)("%s", async (_, rows, expected) => {
    const { id } = await surcharges(rows)
    const job = await played(with_things(lines), { surcharge_group_ids: [id], ends_at: "2026-07-04T09:00:00Z" })
    expect([job.service_charge_total, job.rental_charge_total, job.sale_charge_total]).toEqual([
      expected,
      "100.00",
      "50.00"
    ])
    expect(Number(job.charge_total)).toBe(150 + Number(expected))
  })
  it("come after discounts", async () => {
    await rule()
    const { id } = await surcharges([{}])
    expect(await played([{ item_id: lamp }], { surcharge_group_ids: [id] })).toMatchObject({
      rental_charge_total: "90.00",
      service_charge_total: "9.00",
      charge_total: "99.00",
      tax_total: "19.80"
    })
  })
  it("are computed costs of the kind Surcharge, which nobody changes by hand", async () => {
    const { id } = await surcharges([{ name: "Fuel" }])
    const job = await played([{ item_id: lamp }], { surcharge_group_ids: [id] })
    expect(job.surcharge_group_ids).toEqual([id])
    expect(job.costs).toHaveLength(1)
    expect(job.costs[0]).toMatchObject({
      description: "Fuel",
      cost_type: 2,
      cost_type_label: "Surcharge",
      amount: "10.00",
      quantity: "1.00"
    })
    expect((await list.patch(`/opportunities/${job.id}/costs/${job.costs[0].id}`, { amount: 1 })).status).toBe(422)
    expect((await list.remove(`/opportunities/${job.id}/costs/${job.costs[0].id}`)).status).toBe(422)
  })
  it("follow the lines, and go with the group", async () => {
    const { id } = await surcharges([{}])
    const job = await played([{ item_id: lamp }], { surcharge_group_ids: [id] })
    expect((await list.line(job.id, { item_id: stand })).service_charge_total).toBe("15.00")
    expect((await list.put(`/opportunities/${job.id}`, { surcharge_group_ids: [] })).body.opportunity).toMatchObject({
      service_charge_total: "0.00",
      surcharge_group_ids: [],
      costs: []
    })
    expect(
      (await list.put(`/opportunities/${job.id}`, { surcharge_group_ids: [id] })).body.opportunity.service_charge_total
    ).toBe("15.00")
  })
  it("are on for new jobs when enabled by default, unless the job says otherwise", async () => {
    const before = await list.job()
    const { id } = await surcharges([{}], { default_enabled: true })
    expect((await list.job()).surcharge_group_ids).toEqual([id])
    expect((await list.job({ surcharge_group_ids: [] })).surcharge_group_ids).toEqual([])
    expect((await list.get(`/opportunities/${before.id}`)).body.opportunity.surcharge_group_ids).toEqual([])
  })
  it("are not on by default when inactive or of another store", async () => {
    await surcharges([{}], { default_enabled: true, is_active: false })
    await surcharges([{}], { default_enabled: true, store_id: other_store })
    expect((await list.job()).surcharge_group_ids).toEqual([])
  })
  it("are taxed in their own class, or else the default one", async () => {
    const reduced = (await list.get("/product_tax_classes")).body.product_tax_classes.find(
      (one: any) => one.name === "Reduced"
    ).id
    const { id } = await surcharges([{ tax_class_id: reduced }, {}])
    // 100.00 and 10.00 at 20 per cent, 10.00 at 5.
    expect(await played([{ item_id: lamp }], { surcharge_group_ids: [id] })).toMatchObject({
      charge_total: "120.00",
      tax_total: "22.50"
    })
  })
  it("give way to a deal", async () => {
    const { id } = await surcharges([{}])
    const job = await played([{ item_id: lamp }], { surcharge_group_ids: [id] })
    expect(
      (await list.post(`/opportunities/${job.id}/deal_price`, { deal_total: "70.00" })).body.opportunity
    ).toMatchObject({ charge_total: "70.00", service_charge_total: "0.00" })
  })
  it("in use are not deleted, else they are", async () => {
    const { id } = await surcharges([{}])
    const job = await played([{ item_id: lamp }], { surcharge_group_ids: [id] })
    const got = await list.remove(`/surcharge_groups/${id}`)
    expect([got.status, fields(got)]).toEqual([422, ["surcharge_group"]])
    await list.put(`/opportunities/${job.id}`, { surcharge_group_ids: [] })
    expect((await list.remove(`/surcharge_groups/${id}`)).status).toBe(204)
  })
  it("are replaced as a set, known ones keeping their ids", async () => {
    const {
      id,
      surcharges: [fuel, crew]
    } = await surcharges([{ name: "Fuel" }, { name: "Crew" }])
    const kept = (
      await list.put(`/surcharge_groups/${id}`, {
        surcharges: [
          { id: crew.id, name: "Crew", calculation_type: "fixed_amount", value: "5.00" },
          { name: "New", calculation_type: "percentage", value: "1" }
        ]
      })
    ).body.surcharge_group
    expect(kept.surcharges.map((one: any) => [one.name, one.calculation_type])).toEqual([
      ["Crew", "fixed_amount"],
      ["New", "percentage"]
    ])
    expect(kept.surcharges[0].id).toBe(crew.id)
    expect(kept.surcharges.map((one: any) => one.id)).not.toContain(fuel.id)
    expect((await list.put(`/surcharge_groups/${id}`, { name: "Renamed" })).body.surcharge_group).toMatchObject({
      name: "Renamed",
      surcharges: kept.surcharges
    })
  })
  it.each<readonly [string, object, ReadonlyArray<string>]>([
    ["no name", { name: null }, ["name"]],
    [
      "a surcharge of nothing",
      { surcharges: [{}] },
      ["surcharges.0.calculation_type", "surcharges.0.name", "surcharges.0.value"]
    ],
    [
      "more than all",
      { surcharges: [{ name: "A", calculation_type: "percentage", value: "100.01" }] },
      ["surcharges.0.value"]
    ],
    [
      "less than nothing",
      {
        surcharges: [
          { name: "A", calculation_type: "percentage", value: "1" },
          { name: "B", calculation_type: "fixed_amount", value: -1 }
        ]
      },
      ["surcharges.1.value"]
    ],
    [
      "a most below the least",
      {
        surcharges: [{ name: "A", calculation_type: "percentage", value: "1", min_amount: "2.00", max_amount: "1.99" }]
      },
      ["surcharges.0.max_amount"]
    ],
    [
      "a calculation nobody knows",
      { surcharges: [{ name: "A", calculation_type: "hourly", value: "1" }] },
      ["surcharges.0.calculation_type"]
    ],
    [
      "a scope nobody knows",
      { surcharges: [{ name: "A", calculation_type: "percentage", value: "1", applies_to: "line" }] },
      ["surcharges.0.applies_to"]
    ],
    ["surcharges in words", { surcharges: "fuel" }, ["surcharges"]]
  ])("refuse %s", async (_, more, named) => {
    const got = await list.post("/surcharge_groups", { name: "Group", is_active: false, ...more })
    expect([got.status, fields(got)], got.text).toEqual([422, named])
  })
  it("refuse to be named when nobody knows them", async () => {
    const got = await list.post("/opportunities", { subject: "A job", surcharge_group_ids: [99_999] })
    expect(got.status).toBe(422)
    expect(fields(got)[0]).toMatch(/^surcharge_group_ids/)
  })
})
