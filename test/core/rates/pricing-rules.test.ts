import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { applyDiscountRules } from "../../../core/pricing/discounts.ts"
import { discountFacts } from "../../../core/rates/discount-rules.ts"
import { defaultSurchargeGroupIds, surchargeFacts } from "../../../core/rates/surcharge-groups.ts"
import { type App, engines, openApp, viewerWith } from "../../app.ts"

const manager = (...abilities: ReadonlyArray<string>) => viewerWith(["pricing.manage"], abilities)

describe.each(engines)("discount rules on %s", (engine) => {
  let app: App
  beforeAll(async () => {
    app = await openApp(engine)
  })
  afterAll(() => app.close())
  const path = "/api/v1/discount_rules"
  const ten = { name: "Ten off", discount_type: "percentage", discount_value: 10, criteria: {} }
  const make = async (over: object = {}) => (await app.call("POST", path, { ...ten, ...over })).body.discount_rule

  it("a rule has its defaults and its value as a decimal string", async () => {
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
  it.each([
    [{}, ["name", "discount_type", "criteria", "discount_value"]],
    [{ ...ten, discount_value: 0 }, ["discount_value"]],
    [{ ...ten, discount_value: "100.01" }, ["discount_value"]],
    [{ ...ten, discount_value: "33.333" }, ["discount_value"]],
    [{ ...ten, discount_value: "half" }, ["discount_value"]],
    [{ ...ten, discount_type: "fixed_amount" }, ["currency_code"]],
    [{ ...ten, discount_type: "fixed_amount", currency_code: "GBP", discount_value: 0 }, ["discount_value"]],
    [{ ...ten, discount_type: "fixed_amount", currency_code: "JPY", discount_value: "1.5" }, ["discount_value"]],
    [{ ...ten, discount_type: "half" }, ["discount_type"]],
    [{ ...ten, applies_to: "order" }, ["applies_to"]],
    [{ ...ten, criteria: [] }, ["criteria"]],
    [{ ...ten, criteria: "all" }, ["criteria"]],
    [
      {
        ...ten,
        criteria: {
          conditions: [
            { field: "colour", operator: "eq", value: 1 },
            { field: "member_id", operator: "is", value: 1 }
          ]
        }
      },
      ["criteria.conditions.0.field", "criteria.conditions.1.operator"]
    ],
    [{ ...ten, criteria: { colour: "red" } }, ["criteria.colour"]],
    [{ ...ten, valid_from: "2026-02-02", valid_to: "2026-02-01" }, ["valid_to"]],
    [{ ...ten, store_id: 999 }, ["store_id"]],
    [{ ...ten, max_discount_amount: -5 }, ["max_discount_amount"]]
  ])("%j is refused", async (body, errors) => {
    const refused = await app.call("POST", path, body)
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, errors])
  })
  it("criteria come back as they were sent, in either form", async () => {
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
  it("an update is judged as a whole", async () => {
    const { id } = await make({ discount_value: "15.5", valid_from: "2026-03-01" })
    const put = (body: object) => app.call("PUT", `${path}/${id}`, body)
    expect((await put({ priority: 5 })).body.discount_rule).toMatchObject({ priority: 5, discount_value: "15.50" })
    expect(Object.keys((await put({ valid_to: "2026-02-28" })).body.errors)).toEqual(["valid_to"])
    expect(Object.keys((await put({ discount_type: "fixed_amount" })).body.errors)).toEqual(["currency_code"])
    expect(
      (await put({ discount_type: "fixed_amount", currency_code: "EUR", discount_value: "200" })).body.discount_rule
    ).toMatchObject({ discount_value: "200.00", currency_code: "EUR" })
    expect(Object.keys((await put({ discount_type: "percentage" })).body.errors)).toEqual(["discount_value"])
    expect((await put({ valid_from: null })).body.discount_rule.valid_from).toBeNull()
    expect((await app.call("DELETE", `${path}/${id}`)).status).toBe(204)
    expect((await app.call("GET", `${path}/${id}`)).status).toBe(404)
  })
  it("are listed by name, type and priority", async () => {
    await make({ name: "Zebra week", priority: 9, auto_apply: true })
    expect((await app.call("GET", `${path}?q[auto_apply_true]=1`)).body).toMatchObject({
      discount_rules: [{ name: "Zebra week" }],
      meta: { total: 1 }
    })
    expect((await app.call("GET", `${path}?sort=-priority&per_page=1`)).body.discount_rules[0].name).toBe("Zebra week")
    expect((await app.call("GET", `${path}?q[discount_type_eq]=Percentage&q[name_cont]=zebra`)).body.meta.total).toBe(1)
  })
  it("pricing takes them as they are stored", async () => {
    const rules = await app.run(discountFacts(null))
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
  it("one permission for looking and changing, the token's abilities apart", async () => {
    expect((await app.call("GET", path, undefined, manager("pricing:read"))).status).toBe(200)
    expect((await app.call("POST", path, ten, manager("pricing:read"))).status).toBe(403)
    expect((await app.call("POST", path, ten, manager("pricing:write"))).status).toBe(201)
    expect((await app.call("GET", path, undefined, viewerWith(["rates.view"], ["pricing:read"]))).status).toBe(403)
  })

  describe("surcharge groups", () => {
    const groups = "/api/v1/surcharge_groups"
    const insurance = {
      name: "Insurance",
      calculation_type: "percentage",
      value: "2.5",
      min_amount: 500,
      max_amount: "50"
    }
    const perDay = { name: "Driver", calculation_type: "per_day", value: 12000, applies_to: "rental", tax_class_id: 1 }

    it("a group is made with its surcharges in order", async () => {
      const made = await app.call("POST", groups, { name: "Extras", surcharges: [insurance, perDay] })
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
      expect(Object.keys(made.body.surcharge_group.surcharges[0])).toEqual([
        "id",
        "name",
        "calculation_type",
        "value",
        "applies_to",
        "tax_class_id",
        "min_amount",
        "max_amount",
        "sort_order"
      ])
      expect((await app.call("GET", groups)).body.surcharge_groups).toEqual([made.body.surcharge_group])
    })
    it("surcharges that are sent replace the set, known ids stay, absent ones leave it alone", async () => {
      const { surcharge_group: group } = (
        await app.call("POST", groups, { name: "Fees", surcharges: [insurance, perDay] })
      ).body
      const [first, second] = group.surcharges
      const put = async (body: object) => (await app.call("PUT", `${groups}/${group.id}`, body)).body.surcharge_group
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
      [{ name: "x", surcharges: [{ ...perDay, value: -1 }] }, ["surcharges.0.value"]],
      [{ name: "x", surcharges: [{ ...insurance, min_amount: 600, max_amount: 500 }] }, ["surcharges.0.max_amount"]],
      [{ name: "x", surcharges: [{ ...insurance, tax_class_id: 99 }] }, ["surcharges.0.tax_class_id"]],
      [{ name: "x", surcharges: [{ ...insurance, id: 1 }] }, ["surcharges.0.id"]]
    ])("%j is refused", async (body, errors) => {
      const refused = await app.call("POST", groups, body)
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, errors])
    })
    it("a deleted group takes its surcharges with it, a deleted tax class leaves them", async () => {
      const tax_class_id = (await app.call("POST", "/api/v1/product_tax_classes", { name: "Fuel" })).body
        .product_tax_class.id
      const { surcharge_group: group } = (
        await app.call("POST", groups, { name: "Fuel", surcharges: [{ ...perDay, tax_class_id }] })
      ).body
      await app.call("DELETE", `/api/v1/product_tax_classes/${tax_class_id}`)
      expect((await app.call("GET", `${groups}/${group.id}`)).body.surcharge_group.surcharges).toMatchObject([
        { tax_class_id: null }
      ])
      expect((await app.call("DELETE", `${groups}/${group.id}`)).status).toBe(204)
      expect((await app.dump())["surcharges"]).not.toContainEqual(
        expect.objectContaining({ surcharge_group_id: group.id })
      )
    })
    it("a deleted store's rules go, its groups fall out of use", async () => {
      const store_id = (await app.call("POST", "/api/v1/stores", { name: "Derby" })).body.store.id
      const { surcharge_group: group } = (
        await app.call("POST", groups, { name: "Derby", store_id, default_enabled: true })
      ).body
      const rule = await make({ store_id })
      const defaults = (store: number | null) => app.run(defaultSurchargeGroupIds(store))
      expect([await defaults(store_id), await defaults(1), await defaults(null)]).toEqual([[group.id], [], []])
      await app.call("DELETE", `/api/v1/stores/${store_id}`)
      expect((await app.call("GET", `${path}/${rule.id}`)).status).toBe(404)
      expect((await app.call("GET", `${groups}/${group.id}`)).body.surcharge_group).toMatchObject({
        is_active: false,
        store_id: null
      })
      expect(await app.run(surchargeFacts([group.id]))).toMatchObject([{ id: group.id, surcharges: [] }])
    })
    it("a group an opportunity has switched on stays until it is switched off there", async () => {
      const { surcharge_group: group } = (await app.call("POST", groups, { name: "Worn", surcharges: [insurance] }))
        .body
      const member = (await app.call("POST", "/api/v1/members", { name: "Hire Co", membership_type: "organisation" }))
        .body.member
      const made = await app.call("POST", "/api/v1/opportunities", {
        subject: "Gala",
        member_id: member.id,
        store_id: 1,
        surcharge_group_ids: [group.id]
      })
      expect(made.body.opportunity.surcharge_group_ids).toEqual([group.id])
      const refused = await app.call("DELETE", `${groups}/${group.id}`)
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["surcharge_group"]])
      await app.call("PUT", `/api/v1/opportunities/${made.body.opportunity.id}`, { surcharge_group_ids: [] })
      expect((await app.call("DELETE", `${groups}/${group.id}`)).status).toBe(204)
    })
    it("need pricing.manage and their ability", async () => {
      expect((await app.call("GET", groups, undefined, manager("pricing:read"))).status).toBe(200)
      expect((await app.call("DELETE", `${groups}/1`, undefined, manager("pricing:read"))).status).toBe(403)
      expect((await app.call("GET", `${groups}/1`, undefined, viewerWith([], ["pricing:read"]))).status).toBe(403)
    })
  })

  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
