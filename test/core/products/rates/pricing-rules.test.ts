import { describe, expect, it } from "vitest"
import { applyDiscountRules } from "../../../../core/pricing/pricing/discounts.ts"
import {
  defaultSurchargeGroupIds,
  discountFacts,
  surchargeFacts
} from "../../../../core/products/rates/discounts-surcharges.ts"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { words } from "../../../words.ts"

const manager = (...abilities: ReadonlyArray<string>) => viewerWith(["pricing.manage"], abilities)

describe.each(engines)("discount rules on %s", (engine) => {
  const w = appHouse(engine)
  const path = "/discount_rules"
  const ten = { name: "Ten off", discount_type: "percentage", discount_value: 10, criteria: {} }
  const make = (over: object = {}) => w.create(path, { ...ten, ...over })

  it("have defaults, and their value as a decimal string", async () => {
    expect(await make()).toMatchObject({
      name: "Ten off",
      description: null,
      discount_type: "percentage",
      discount_value: "10.00",
      applies_to: "line",
      max_discount_amount: null,
      currency_code: null,
      criteria: {},
      auto_apply: false,
      stackable: false,
      priority: 0,
      is_active: true,
      valid_from: null,
      valid_to: null,
      store_id: null
    })
    expect(
      await make({
        discount_type: "fixed_amount",
        discount_value: 1250,
        currency_code: "gbp",
        max_discount_amount: "20"
      })
    ).toMatchObject({ discount_value: "12.50", currency_code: "GBP", max_discount_amount: "20.00" })
    expect(
      await make({
        discount_type: "fixed_amount",
        discount_value: "1.234",
        currency_code: "KWD",
        max_discount_amount: 5000
      })
    ).toMatchObject({ discount_value: "1.234", max_discount_amount: "5.000" })
  })
  const colour = { field: "colour", operator: "eq", value: 1 }
  const member = { field: "member_id", operator: "is", value: 1 }
  it.each([
    [{}, ["name", "discount_type", "criteria", "discount_value"]],
    [{ ...ten, name: "x".repeat(256) }, ["name"]],
    [{ ...ten, discount_type: "fixed_amount" }, ["currency_code"]],
    [{ ...ten, discount_type: "fixed_amount", currency_code: "JPY", discount_value: "1.5" }, ["discount_value"]],
    [{ ...ten, discount_type: "half" }, ["discount_type"]],
    [{ ...ten, applies_to: "order" }, ["applies_to"]],
    [{ ...ten, criteria: [] }, ["criteria"]],
    [
      { ...ten, criteria: { conditions: [colour, member] } },
      ["criteria.conditions.0.field", "criteria.conditions.1.operator"]
    ],
    [{ ...ten, valid_from: "2026-02-02", valid_to: "2026-02-01" }, ["valid_to"]],
    [{ ...ten, store_id: 999 }, ["store_id"]],
    [{ ...ten, max_discount_amount: -5 }, ["max_discount_amount"]]
  ])("are rejected: %j", async (body, errors) => {
    await refused(w.post(path, body), ...errors)
  })
  it("return criteria as sent, as conditions or as a map of values", async () => {
    const structured = {
      match: "any",
      conditions: [
        { field: "quantity", operator: "gteq", value: "10" },
        { match: "all", conditions: [{ field: "member_id", operator: "in", value: [1, 2] }] }
      ]
    }
    expect((await make({ criteria: structured })).criteria).toEqual(structured)
    expect((await make({ criteria: { member_id: 5 } })).criteria).toEqual({ member_id: 5 })
  })
  it("are validated on update together with stored values", async () => {
    const { id } = await make({ discount_value: "15.5", valid_from: "2026-03-01" })
    const put = (body: object) => w.put(`${path}/${id}`, body)
    expect((await put({ priority: 5 })).body.discount_rule).toMatchObject({ priority: 5, discount_value: "15.50" })
    expect(Object.keys((await put({ valid_to: "2026-02-28" })).body.errors)).toEqual(["valid_to"])
    expect(Object.keys((await put({ discount_type: "fixed_amount" })).body.errors)).toEqual(["currency_code"])
    expect(
      (await put({ discount_type: "fixed_amount", currency_code: "EUR", discount_value: "200" })).body.discount_rule
    ).toMatchObject({ discount_value: "200.00", currency_code: "EUR" })
    expect(Object.keys((await put({ discount_type: "percentage" })).body.errors)).toEqual(["discount_value"])
    expect((await put({ valid_from: null })).body.discount_rule.valid_from).toBeNull()
    expect((await w.remove(`${path}/${id}`)).status).toBe(204)
    expect((await w.get(`${path}/${id}`)).status).toBe(404)
  })
  it("are filtered by name, type and auto_apply, and sorted by priority", async () => {
    await make({ name: "Zebra week", priority: 9, auto_apply: true })
    expect((await w.get(`${path}?q[auto_apply_true]=1`)).body).toMatchObject({
      discount_rules: [{ name: "Zebra week" }],
      meta: { total: 1 }
    })
    expect((await w.get(`${path}?sort=-priority&per_page=1`)).body.discount_rules[0].name).toBe("Zebra week")
    expect((await w.get(`${path}?q[discount_type_eq]=Percentage&q[name_cont]=zebra`)).body.meta.total).toBe(1)
  })
  it("are applied by pricing as they are stored", async () => {
    const rules = await w.app.run(discountFacts(null))
    expect(rules[0]).toMatchObject({ name: "Zebra week", discount_value: "10.00" })
    const facts = { member_id: null } as never
    expect(
      applyDiscountRules({
        rules: rules.slice(0, 1),
        named_rule_ids: [],
        currency: "GBP",
        store_id: null,
        start_date: "2026-06-01",
        lines: [{ net: 10_000, discountable: true, priced_by_hand: false, facts }]
      }).line_discounts
    ).toEqual([1000])
  })
  it("require pricing.manage, and separate abilities to read and to write", async () => {
    expect((await w.get(path, manager("pricing:read"))).status).toBe(200)
    expect((await w.post(path, ten, manager("pricing:read"))).status).toBe(403)
    expect((await w.post(path, ten, manager("pricing:write"))).status).toBe(201)
    expect((await w.get(path, viewerWith(["rates.view"], ["pricing:read"]))).status).toBe(403)
  })

  describe("surcharge groups", () => {
    const groups = "/surcharge_groups"
    const insurance = {
      name: "Insurance",
      calculation_type: "percentage",
      value: "2.5",
      min_amount: 500,
      max_amount: "50"
    }
    const perDay = { name: "Driver", calculation_type: "per_day", value: 12000, applies_to: "rental", tax_class_id: 1 }

    it("are created with their surcharges in order", async () => {
      const made = await w.post(groups, { name: "Extras", surcharges: [insurance, perDay] })
      expect(made.status).toBe(201)
      expect(made.body.surcharge_group).toMatchObject({
        name: "Extras",
        description: null,
        is_active: true,
        default_enabled: false,
        store_id: null,
        sort_order: 0,
        surcharges: [
          {
            name: "Insurance",
            calculation_type: "percentage",
            value: "2.50",
            applies_to: "all",
            tax_class_id: null,
            min_amount: "5.00",
            max_amount: "50.00",
            sort_order: 0
          },
          {
            name: "Driver",
            calculation_type: "per_day",
            value: "120.00",
            applies_to: "rental",
            tax_class_id: 1,
            min_amount: null,
            max_amount: null,
            sort_order: 1
          }
        ]
      })
      expect(Object.keys(made.body.surcharge_group.surcharges[0])).toEqual(
        words("id name calculation_type value applies_to tax_class_id min_amount max_amount sort_order")
      )
      expect((await w.get(groups)).body.surcharge_groups).toEqual([made.body.surcharge_group])
    })
    it("replace their surcharges by those sent, and keep them if absent", async () => {
      const group = await w.create(groups, { name: "Fees", surcharges: [insurance, perDay] })
      const [first, second] = group.surcharges
      const put = (body: object) => w.update(`${groups}/${group.id}`, body)
      expect((await put({ name: "Charges" })).surcharges).toEqual(group.surcharges)
      const replaced = await put({
        surcharges: [
          { ...second, value: "130" },
          { name: "Fuel", calculation_type: "fixed_amount", value: "7" }
        ]
      })
      expect(replaced.surcharges).toMatchObject(
        [
          { name: "Fuel", value: "7.00", sort_order: 1 },
          { id: second.id, name: "Driver", value: "130.00", sort_order: 1 }
        ].reverse()
      )
      expect(replaced.surcharges.map(({ id }: { id: number }) => id)).not.toContain(first.id)
      expect((await put({ surcharges: [] })).surcharges).toEqual([])
    })
    it.each([
      [{}, ["name"]],
      [{ name: "x", surcharges: {} }, ["surcharges"]],
      [{ name: "x", surcharges: [{}] }, ["surcharges.0.name", "surcharges.0.calculation_type", "surcharges.0.value"]],
      [{ name: "x", surcharges: [perDay, { ...insurance, value: 101 }] }, ["surcharges.1.value"]],
      [{ name: "x", surcharges: [{ ...perDay, calculation_type: "hourly" }] }, ["surcharges.0.calculation_type"]],
      [{ name: "x", surcharges: [{ ...perDay, applies_to: "line" }] }, ["surcharges.0.applies_to"]],
      [{ name: "x", surcharges: [{ ...insurance, min_amount: 600, max_amount: 500 }] }, ["surcharges.0.max_amount"]],
      [{ name: "x", surcharges: [{ ...insurance, tax_class_id: 99 }] }, ["surcharges.0.tax_class_id"]],
      [{ name: "x", surcharges: [{ ...insurance, id: 1 }] }, ["surcharges.0.id"]]
    ])("are rejected: %j", async (body, errors) => {
      await refused(w.post(groups, body), ...errors)
    })
    it("are deleted with their surcharges, and survive a deleted tax class", async () => {
      const tax_class_id = (await w.create("/product_tax_classes", { name: "Fuel" })).id
      const group = await w.create(groups, { name: "Fuel", surcharges: [{ ...perDay, tax_class_id }] })
      await w.remove(`/product_tax_classes/${tax_class_id}`)
      expect((await w.show(`${groups}/${group.id}`)).surcharges).toMatchObject([{ tax_class_id: null }])
      expect((await w.remove(`${groups}/${group.id}`)).status).toBe(204)
      expect((await w.app.dump())["surcharges"]).not.toContainEqual(
        expect.objectContaining({ surcharge_group_id: group.id })
      )
    })
    it("become inactive if their store is deleted, while its discount rules are deleted", async () => {
      const store_id = (await w.create("/stores", { name: "Derby" })).id
      const group = await w.create(groups, { name: "Derby", store_id, default_enabled: true })
      const rule = await make({ store_id })
      const defaults = (store: number | null) => w.app.run(defaultSurchargeGroupIds(store))
      expect([await defaults(store_id), await defaults(1), await defaults(null)]).toEqual([[group.id], [], []])
      await w.remove(`/stores/${store_id}`)
      expect((await w.get(`${path}/${rule.id}`)).status).toBe(404)
      expect(await w.show(`${groups}/${group.id}`)).toMatchObject({ is_active: false, store_id: null })
      expect(await w.app.run(surchargeFacts([group.id]))).toMatchObject([{ id: group.id, surcharges: [] }])
    })
    it("cannot be deleted while an opportunity uses them", async () => {
      const group = await w.create(groups, { name: "Worn", surcharges: [insurance] })
      const member = await w.create("/members", { name: "Hire Co", membership_type: "organisation" })
      const made = await w.post("/opportunities", {
        subject: "Gala",
        member_id: member.id,
        store_id: 1,
        surcharge_group_ids: [group.id]
      })
      expect(made.body.opportunity.surcharge_group_ids).toEqual([group.id])
      await refused(w.remove(`${groups}/${group.id}`), "surcharge_group")
      await w.put(`/opportunities/${made.body.opportunity.id}`, { surcharge_group_ids: [] })
      expect((await w.remove(`${groups}/${group.id}`)).status).toBe(204)
    })
    it("require pricing.manage, and separate abilities to read and to write", async () => {
      expect((await w.get(groups, manager("pricing:read"))).status).toBe(200)
      expect((await w.remove(`${groups}/1`, manager("pricing:read"))).status).toBe(403)
      expect((await w.get(`${groups}/1`, viewerWith([], ["pricing:read"]))).status).toBe(403)
    })
  })

  itFoldsAgain(w)
})
