/** Discount rules and surcharge groups applied to opportunities (rules/billing 4 and 5). */
import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { hire_dates, fifty_each } from "../../../rental-house.ts"
import { words } from "../../../words.ts"

describe.each(engines)("discount rules and surcharge groups of an opportunity on %s", (engine) => {
  const w = appHouse(engine)
  const rule = (body: object = {}) =>
    w.create("/discount_rules", { name: "Ten", discount_type: "percentage", discount_value: 10, criteria: {}, ...body })
  const group = (surcharges: ReadonlyArray<object>, body: object = {}) =>
    w.create("/surcharge_groups", { name: "Extras", surcharges, ...body })
  const fee = { name: "Fee", calculation_type: "fixed_amount", value: "40" }

  it("are set on create and update, kept if absent, and cleared by null", async () => {
    const [one, two] = [await rule(), await rule({ name: "Other" })],
      extras = await group([fee])
    const { id } = await w.opportunity({ discount_rule_ids: [one.id], surcharge_group_ids: [extras.id] })
    const shown = async () => await w.show(`/opportunities/${id}`)
    expect(await shown()).toMatchObject({ discount_rule_ids: [one.id], surcharge_group_ids: [extras.id] })
    expect((await w.update(`/opportunities/${id}`, { discount_rule_ids: [two.id, one.id] })).discount_rule_ids).toEqual(
      [two.id, one.id]
    )
    await w.put(`/opportunities/${id}`, { subject: "Renamed" })
    expect(await shown()).toMatchObject({ discount_rule_ids: [two.id, one.id], surcharge_group_ids: [extras.id] })
    await w.put(`/opportunities/${id}`, { discount_rule_ids: null, surcharge_group_ids: null })
    expect(await shown()).toMatchObject({ discount_rule_ids: [], surcharge_group_ids: [] })
  })
  it.each([
    ["discount_rule_ids", [999_999], "discount_rule_ids.0"],
    ["surcharge_group_ids", [999_999], "surcharge_group_ids.0"],
    ["discount_rule_ids", "1", "discount_rule_ids"],
    ["surcharge_group_ids", { 0: 1 }, "surcharge_group_ids"],
    ["discount_rule_ids", ["x"], "discount_rule_ids.0"],
    ["surcharge_group_ids", [1.5], "surcharge_group_ids.0"],
    ["discount_rule_ids", [-1], "discount_rule_ids.0"]
  ])("are rejected on create and update: %s of %j, with an error at %s", async (field, value, key) => {
    await refused(w.post("/opportunities", { subject: "X", [field]: value }), key)
    const { id } = await w.opportunity()
    await refused(w.put(`/opportunities/${id}`, { [field]: value }), key)
  })
  // 2 × 50.00 × 4 days is 400.00; of rules that do not stack, the best one for the customer applies.
  it("apply within their dates, store and currency, but only the best of the rules that do not stack", async () => {
    const [ten, twenty] = [
      await rule(),
      await rule({ name: "Twenty", discount_value: 20, valid_from: "2026-09-01", valid_to: "2026-09-01" })
    ]
    const others = await Promise.all([
      rule({ discount_value: 90, valid_to: "2026-08-31" }),
      rule({ discount_value: 90, valid_from: "2026-09-02" }),
      rule({ discount_value: 90, is_active: false }),
      rule({ discount_type: "fixed_amount", discount_value: "300", currency_code: "EUR" }),
      w.store().then((store_id) => rule({ discount_value: 90, store_id }))
    ])
    const { id } = await w.deal(hire_dates)
    const total = async (ids: ReadonlyArray<number>) =>
      (await w.update(`/opportunities/${id}`, { discount_rule_ids: ids })).charge_total
    expect(await total(others.map((one) => one.id))).toBe("400.00")
    expect(await total([ten.id])).toBe("360.00")
    expect(await total([ten.id, twenty.id, ...others.map((one) => one.id)])).toBe("320.00")
  })
  it.each([
    ["by name", (id: number) => ({ discount_rule_ids: [id] }), {}],
    ["automatically", () => ({}), { auto_apply: true, criteria: { product_id: 1 } }]
  ] as const)("reduce only existing lines after deletion, if applied %s", async (how, header, of_rule) => {
    const product = how === "by name" ? undefined : await w.create("/products", { name: "Ruled" })
    const gone = await rule({ ...of_rule, ...(product === undefined ? {} : { criteria: { product_id: product.id } }) })
    const line = product === undefined ? fifty_each : { name: "Ruled", item_id: product.id, quantity: 2 }
    const rate = { rate_definition_id: 1, transaction_type: "rental", currency: "GBP" }
    // 2 × 50.00 × 4 days by hand, 2 × 40.00 × 5 days by the rate: 400.00, less 10 per cent.
    if (product !== undefined) await w.create(`/products/${product.id}/rates`, { ...rate, price: "40.00" })
    const { id, line: first } = await w.deal({ ...hire_dates, ...header(gone.id) }, line)
    const shown = async () => (await w.get(`/opportunities/${id}?include=items&explain=1`)).body
    const before = (await shown()).opportunity
    expect(before.items[0].total).toBe("360.00")
    expect((await w.remove(`/discount_rules/${gone.id}`)).status).toBe(204)
    expect((await shown()).opportunity).toMatchObject({ charge_total: "360.00", discount_rule_ids: [] })
    // A cost, a new line and a new quantity recompute the totals; the new line gets no discount.
    expect((await w.create(`/opportunities/${id}/costs`, { description: "Van", amount: "10" })).charge_total).toBe(
      "370.00"
    )
    expect((await w.create(`/opportunities/${id}/items`, line)).charge_total).toBe("770.00")
    expect((await w.amend(`/opportunities/${id}/items/${first.id}`, { quantity: 3 })).charge_total).toBe("950.00")
    expect((await w.amend(`/opportunities/${id}/items/${first.id}`, { quantity: 2 })).charge_total).toBe("770.00")
    // Setting and clearing an optional line and a deal price leaves the total unchanged.
    await w.patch(`/opportunities/${id}/items/${first.id}`, { is_optional: true })
    expect((await w.amend(`/opportunities/${id}/items/${first.id}`, { is_optional: false })).charge_total).toBe(
      "770.00"
    )
    await w.post(`/opportunities/${id}/deal_price`, { deal_total: "350" })
    expect((await w.remove(`/opportunities/${id}/deal_price`)).body.opportunity.charge_total).toBe("770.00")
    const { explanation } = await shown()
    expect(explanation).toContainEqual(
      expect.objectContaining({ rule: "discount_rule", words: expect.stringContaining("deleted since") })
    )
    // The header as it was read can be sent again.
    const { discount_rule_ids, subject } = (await shown()).opportunity
    expect((await w.put(`/opportunities/${id}`, { subject, discount_rule_ids })).status).toBe(200)
    const by_hand = (await w.amend(`/opportunities/${id}/items/${first.id}`, { discount_percent: "1" })).items[0].total
    // Automatic rules skip manual prices; named rules do not.
    expect(by_hand).toBe(how === "by name" ? "356.40" : "396.00")
  })
  it("still apply after deletion to existing lines of both versions, and to their copies in a new one", async () => {
    const gone = await rule()
    const { id } = await w.deal({ ...hire_dates, discount_rule_ids: [gone.id] })
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    const first = await w.create(`/opportunities/${id}/versions`, { label: "A" })
    const alternative = { version_type: 1, source_version_id: first.id }
    const second = await w.create(`/opportunities/${id}/versions`, { label: "B", ...alternative })
    expect((await w.remove(`/discount_rules/${gone.id}`)).status).toBe(204)
    const total = async () => (await w.show(`/opportunities/${id}`)).charge_total
    for (const version of [first, second, first]) {
      await w.post(`/opportunities/${id}/versions/${version.id}/activate`)
      expect(await total()).toBe("360.00")
      await w.post(`/opportunities/${id}/costs`, { description: "Van", amount: "0" })
      expect(await total()).toBe("360.00")
    }
    await w.post(`/opportunities/${id}/versions`, { label: "C", ...alternative })
    expect(await total()).toBe("360.00")
    await w.post(`/opportunities/${id}/convert_to_order`)
    expect(await total()).toBe("360.00")
    // A clone is a new opportunity, to which a deleted rule does not apply.
    expect((await w.create(`/opportunities/${id}/clone`)).charge_total).toBe("400.00")
  })
  it("keep their order when one of the rules is deleted", async () => {
    const percent = await rule({ discount_value: 20, stackable: true, priority: 10 })
    const hundred = { name: "Hundred", discount_type: "fixed_amount", discount_value: "100", currency_code: "GBP" }
    const fixed = await rule({ ...hundred, applies_to: "total", stackable: true })
    const { id } = await w.deal({ ...hire_dates, discount_rule_ids: [percent.id, fixed.id] })
    expect((await w.show(`/opportunities/${id}`)).charge_total).toBe("220.00")
    await w.remove(`/discount_rules/${fixed.id}`)
    expect((await w.create(`/opportunities/${id}/costs`, { description: "Van", amount: "10" })).charge_total).toBe(
      "230.00"
    )
  })
  it("add surcharges as costs that users cannot edit or remove", async () => {
    const extras = await group([
      fee,
      { name: "Share", calculation_type: "percentage", value: "5", max_amount: "15", sort_order: 2 }
    ])
    const { id } = await w.deal({ ...hire_dates, surcharge_group_ids: [extras.id] })
    const { costs, charge_total, service_charge_total } = await w.show(`/opportunities/${id}?include=costs`)
    expect(costs).toMatchObject([
      { description: "Fee", cost_type: 2, cost_type_label: "Surcharge", amount: "40.00" },
      { description: "Share", amount: "15.00" }
    ])
    expect([charge_total, service_charge_total]).toEqual(["455.00", "55.00"])
    await refused(w.patch(`/opportunities/${id}/costs/${costs[0].id}`, { amount: 1 }), "cost")
    await refused(w.remove(`/opportunities/${id}/costs/${costs[0].id}`), "cost")
    // An inactive group charges nothing from the next change on, but cannot be deleted while an opportunity uses it.
    await w.put(`/surcharge_groups/${extras.id}`, { is_active: false })
    await refused(w.remove(`/surcharge_groups/${extras.id}`), "surcharge_group")
    expect(await w.create(`/opportunities/${id}/items`, fifty_each)).toMatchObject({
      charge_total: "800.00",
      costs: []
    })
  })
  it("apply by default to new opportunities of their store, unless an empty list is sent", async () => {
    const extras = await group([fee], { default_enabled: true, store_id: 1 })
    expect((await w.opportunity()).surcharge_group_ids).toEqual([extras.id])
    expect((await w.opportunity({ surcharge_group_ids: [] })).surcharge_group_ids).toEqual([])
    expect((await w.opportunity({ store_id: null })).surcharge_group_ids).toEqual([])
    await w.put(`/surcharge_groups/${extras.id}`, { default_enabled: false })
    expect((await w.opportunity()).surcharge_group_ids).toEqual([])
  })
  it("are converted at the opportunity's exchange rate", async () => {
    const yen = { source_currency_code: "JPY", target_currency_code: "GBP", rate: "0.005" }
    await w.create("/exchange_rates", { ...yen, effective_at: "2020-01-01T00:00:00Z" })
    const capped = await rule({ discount_value: 50, applies_to: "total", max_discount_amount: "2.00" })
    const extras = await group([
      { ...fee, value: "12.50" },
      { name: "Share", calculation_type: "percentage", value: "1", min_amount: "5.00" }
    ])
    // 2 × 5,000 × 4 is 40,000 yen, less 2.00 GBP at 200 yen each; a fee of 12.50 GBP and at least 5.00 GBP.
    const { id } = await w.deal(
      { ...hire_dates, currency: "JPY", discount_rule_ids: [capped.id], surcharge_group_ids: [extras.id] },
      { ...fifty_each, unit_price: "5000" }
    )
    expect(await w.show(`/opportunities/${id}?include=costs`)).toMatchObject({
      rental_charge_total: "39600",
      service_charge_total: "3500",
      charge_total: "43100",
      costs: [{ amount: "2500" }, { amount: "1000" }]
    })
  })
  it("explain their amounts only with explain=1", async () => {
    const { id } = await w.deal(hire_dates)
    expect((await w.get(`/opportunities/${id}`)).body.explanation).toBeUndefined()
    expect((await w.get(`/opportunities/${id}?explain=0`)).body.explanation).toBeUndefined()
    expect((await w.get(`/opportunities/${id}?explain=1`)).body.explanation.map(({ rule }) => rule)).toEqual(
      words("manual_price whole_days quantity sum sum tax_group sum sum")
    )
    await w.post(`/opportunities/${id}/deal_price`, { deal_total: "350" })
    expect((await w.get(`/opportunities/${id}?explain=1`)).body.explanation).toContainEqual({
      figure: "charge_excluding_tax_total",
      rule: "deal_price",
      from: "400.00",
      to: "350.00",
      words: "The agreed price of 350.00 stands in place of the sum, 400.00."
    })
  })
  itFoldsAgain(w)
})
