/** What moves prices and what does not: header, costs, tax classes, copies, accessories (rules/opportunities 4 to 8 and 11, rules/rates 8 and 9). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fields, type PriceList, priceList, threeDays } from "./price-list.ts"

let list: PriceList
beforeAll(async () => {
  list = await priceList()
})
afterAll(() => list.close())
const show = async (id: number, include = "items,costs"): Promise<any> =>
  (await list.get(`/opportunities/${id}?include=${include}`)).body.opportunity

describe("A line's price", () => {
  it("stays when its price by hand goes and no rate takes over", async () => {
    const job = await list.line((await list.job()).id, { unit_price: "10.00" })
    const path = `/opportunities/${job.id}/items/${job.items[0].id}`
    expect((await list.patch(path, { unit_price: null })).body.opportunity.items[0]).toMatchObject({
      unit_price: "10.00",
      total: "30.00"
    })
  })
  it("does not move with the header until the line is written again", async () => {
    const job = await list.line((await list.job()).id, { unit_price: "10.00" })
    await list.line(job.id, { unit_price: "1.00" })
    const changed = (
      await list.put(`/opportunities/${job.id}`, {
        ends_at: "2026-07-11T09:00:00Z",
        use_chargeable_days: true,
        chargeable_days: "7"
      })
    ).body.opportunity
    expect(changed.charge_total).toBe("33.00")
    // The line written again takes the seven days; the other keeps its three.
    expect(
      (await list.patch(`/opportunities/${job.id}/items/${job.items[0].id}`, { quantity: 1 })).body.opportunity
        .charge_total
    ).toBe("73.00")
  })
  it("knows nothing of the charge dates", async () => {
    const { id } = await list.job({ charge_starts_at: "2026-07-01T00:00:00Z", charge_ends_at: "2026-07-21T00:00:00Z" })
    expect((await list.line(id, { unit_price: "10.00" })).charge_total).toBe("30.00")
  })
  it("takes the job's date for the end that is not sent", async () => {
    const job = await list.line((await list.job()).id, {
      unit_price: "10.00",
      starts_at: "2026-07-10T09:00:00Z",
      ends_at: "2026-07-20T09:00:00Z"
    })
    const path = `/opportunities/${job.id}/items/${job.items[0].id}`
    expect((await list.patch(path, { starts_at: "2026-07-02T09:00:00Z" })).body.opportunity.items[0]).toMatchObject({
      ends_at: "2026-07-04T09:00:00.000Z",
      total: "20.00"
    })
    expect((await list.patch(path, { ends_at: "2026-07-11T09:00:00Z" })).body.opportunity.items[0]).toMatchObject({
      starts_at: "2026-07-01T09:00:00.000Z",
      total: "100.00"
    })
    const reversed = await list.patch(path, { starts_at: "2026-07-05T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" })
    expect([reversed.status, fields(reversed)]).toEqual([422, ["ends_at"]])
  })
  it("is of today and one day where neither line nor job has dates", async () => {
    const product = await list.priced(1000, { valid_from: "2026-06-18", valid_to: "2026-06-18" })
    const { id } = await list.made("/opportunities", { subject: "No dates" })
    expect((await list.line(id, { item_id: product, quantity: 2 })).items[0]).toMatchObject({
      starts_at: "2026-06-18T12:00:00.000Z",
      ends_at: "2026-06-19T12:00:00.000Z",
      unit_price: "10.00",
      total: "20.00"
    })
  })
  it("is never that of one store where the job has none", async () => {
    const product = await list.priced(1000, { store_id: 1 })
    const job = await list.made("/opportunities", { subject: "No store", ...threeDays })
    if (job.store_id === null)
      expect((await list.line(job.id, { item_id: product })).items[0]).toMatchObject({
        unit_price: "0.00",
        total: "0.00"
      })
    else expect(job.store_id).toBe(1)
  })
  it("may be the highest there is, and no more", async () => {
    const { id } = await list.job({ ends_at: "2026-07-02T09:00:00Z" })
    expect((await list.line(id, { unit_price: 2_147_483_647 })).charge_total).toBe("21474836.47")
  })
  it("by the hour takes the line's minutes", async () => {
    const product = await list.priced(500, {}, { base_period: "hourly", strategy_config: { leeway_minutes: 15 } })
    const { id } = await list.job()
    const window = (end: string): object => ({
      item_id: product,
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: `2026-07-01T${end}:00Z`
    })
    expect((await list.line(id, window("12:15"))).items[0].total).toBe("15.00")
    expect((await list.line(id, window("12:16"))).items[1].total).toBe("20.00")
  })
  it("of a hybrid with pieces multiplies the block", async () => {
    const product = await list.priced(
      4000,
      {},
      {
        calculation_strategy: "hybrid",
        base_period: "daily",
        strategy_config: { fixed_charge: 10_000, fixed_period_units: 2 }
      }
    )
    expect((await list.line((await list.job()).id, { item_id: product, quantity: 3 })).items[0]).toMatchObject({
      unit_price: "40.00",
      total: "420.00"
    })
  })
  it("falls with the quantity by its factor, each time the quantity changes", async () => {
    const product = await list.priced(
      1000,
      {},
      {
        enabled_modifiers: ["factor"],
        modifier_configs: { factor: { ranges: [{ from: 10, to: null, factor: "0.5" }] } }
      }
    )
    const job = await list.line((await list.job()).id, { item_id: product, quantity: "9.4" })
    expect(job.items[0].total).toBe("270.00")
    expect(
      (await list.patch(`/opportunities/${job.id}/items/${job.items[0].id}`, { quantity: "9.5" })).body.opportunity
        .items[0].total
    ).toBe("150.00")
  })
  it("of a group is none", async () => {
    const job = await list.line((await list.job()).id, { item_type: "group" })
    expect(job.items[0]).toMatchObject({ total: "0.00", quantity: "1.00" })
    expect((await list.patch(`/opportunities/${job.id}/items/${job.items[0].id}`, { unit_price: 1 })).status).toBe(422)
  })
  it("of an accessory charged at zero is nothing, of another its rate", async () => {
    const [free, paid] = [await list.priced(1000), await list.priced(500)]
    const product = await list.priced(2000)
    await list.made(`/products/${product}/accessories`, {
      accessory_product_id: free,
      quantity: 2,
      included: true,
      zero_priced: true,
      sort_order: 0
    })
    await list.made(`/products/${product}/accessories`, {
      accessory_product_id: paid,
      quantity: 2,
      included: true,
      sort_order: 1
    })
    const job = await list.line((await list.job()).id, {
      item_id: product,
      quantity: 3,
      materialize_included_accessories: true
    })
    expect(job.items.map((one: any) => [one.quantity, one.unit_price, one.total])).toEqual([
      ["3.00", "20.00", "180.00"],
      ["6.00", "0.00", "0.00"],
      ["6.00", "5.00", "90.00"]
    ])
  })
})

describe("A job's totals", () => {
  it.each<readonly [string, object, string]>([
    ["as text", { charge_total: "125.50" }, "125.50"],
    ["in pence", { charge_total: 12_550 }, "125.50"],
    ["as a number of pounds", { charge_total: 125.5 }, "125.50"]
  ])("begin with what is sent %s, until the first line", async (_, sent, expected) => {
    const job = await list.job(sent)
    expect(job.charge_total).toBe(expected)
    expect((await list.line(job.id, { unit_price: "1.00" })).charge_total).toBe("3.00")
  })
  it.each<readonly [string, object, string]>([
    ["a negative total", { charge_total: -1 }, "charge_total"],
    ["a total too fine", { charge_total: "1.001" }, "charge_total"],
    ["a total too large", { charge_total: 2_147_483_648 }, "charge_total"],
    ["negative days", { chargeable_days: "-1" }, "chargeable_days"],
    ["a currency nobody knows", { currency: "XQZ" }, "currency"],
    ["a currency of two letters", { currency: "GB" }, "currency"]
  ])("refuse %s", async (_, sent, named) => {
    const got = await list.post("/opportunities", { subject: "A job", ...sent })
    expect([got.status, fields(got)]).toEqual([422, [named]])
  })
  it("follow costs as they come, change and go", async () => {
    const job = await list.job()
    const costs = `/opportunities/${job.id}/costs`
    const cost = (await list.made(costs, { description: "Van", cost_type: 0, amount: "30.00", quantity: 2 })).costs[0]
    expect(cost).toMatchObject({ amount: "30.00", quantity: "2.00", cost_type_label: "Delivery" })
    const totals = ({ charge_total, service_charge_total, transit_charge_total }: any): ReadonlyArray<string> => [
      charge_total,
      transit_charge_total,
      service_charge_total
    ]
    expect(totals((await list.patch(`${costs}/${cost.id}`, { amount: 1000 })).body.opportunity)).toEqual([
      "20.00",
      "20.00",
      "0.00"
    ])
    expect(totals((await list.patch(`${costs}/${cost.id}`, { cost_type: 1 })).body.opportunity)).toEqual([
      "20.00",
      "0.00",
      "20.00"
    ])
    expect(totals((await list.patch(`${costs}/${cost.id}`, { is_optional: true })).body.opportunity)).toEqual([
      "0.00",
      "0.00",
      "0.00"
    ])
    expect(totals((await list.remove(`${costs}/${cost.id}`)).body.opportunity)).toEqual(["0.00", "0.00", "0.00"])
  })
  it.each<readonly [string, object, string]>([
    ["no description", { description: null }, "description"],
    ["a negative amount", { amount: -1 }, "amount"],
    ["a negative quantity", { quantity: -1 }, "quantity"],
    ["a type nobody knows", { cost_type: 6 }, "cost_type"],
    ["an amount too fine", { amount: "0.001" }, "amount"]
  ])("refuse a cost with %s", async (_, sent, named) => {
    const got = await list.post(`/opportunities/${(await list.job()).id}/costs`, {
      description: "Van",
      amount: 1,
      ...sent
    })
    expect([got.status, fields(got)]).toEqual([422, [named]])
  })
  it("count a cost in the job's own currency", async () => {
    await list.made("/exchange_rates", {
      source_currency_code: "JPY",
      target_currency_code: "GBP",
      rate: "0.005",
      effective_at: "2026-01-01T00:00:00Z"
    })
    const { id } = await list.job({ currency: "JPY" })
    expect((await list.made(`/opportunities/${id}/costs`, { description: "Van", amount: "500" })).charge_total).toBe(
      "500"
    )
    expect((await list.post(`/opportunities/${id}/costs`, { description: "Van", amount: "0.5" })).status).toBe(422)
  })
  it("lose a line and all below a group with it", async () => {
    const { id } = await list.job({ ends_at: "2026-07-02T09:00:00Z" })
    const grouped = await list.line(id, { item_type: "group" })
    await list.line(id, { unit_price: "10.00", parent_path: "0001" })
    const job = await list.line(id, { unit_price: "1.00" })
    expect(job.charge_total).toBe("11.00")
    expect((await list.remove(`/opportunities/${id}/items/${grouped.items[0].id}`)).body.opportunity.charge_total).toBe(
      "1.00"
    )
  })
  it("are locked by becoming an order as they are, deal and all, and free again as a quotation", async () => {
    const { id } = await list.job({ ends_at: "2026-07-02T09:00:00Z" })
    await list.line(id, { unit_price: "10.00" })
    await list.post(`/opportunities/${id}/deal_price`, { deal_total: "8.00" })
    await list.post(`/opportunities/${id}/convert_to_quotation`)
    expect((await list.post(`/opportunities/${id}/convert_to_order`)).body.opportunity).toMatchObject({
      pricing_locked: true,
      deal_total: "8.00",
      charge_total: "8.00",
      rental_charge_total: "10.00"
    })
    expect((await list.remove(`/opportunities/${id}/deal_price`)).body.opportunity).toMatchObject({
      deal_total: null,
      charge_total: "10.00"
    })
    expect((await list.post(`/opportunities/${id}/revert_to_quotation`)).body.opportunity).toMatchObject({
      pricing_locked: false,
      tax_locked: false,
      exchange_rate_locked: false,
      charge_total: "10.00"
    })
  })
  it("of a closed job take no deal, no line and no cost", async () => {
    const { id } = await list.job()
    await list.post(`/opportunities/${id}/convert_to_quotation`)
    await list.post(`/opportunities/${id}/change_status`, { status: 3 })
    for (const [path, body] of [
      ["deal_price", { deal_total: 1 }],
      ["items", { name: "A line" }],
      ["costs", { description: "Van", amount: 1 }]
    ] as const) {
      const got = await list.post(`/opportunities/${id}/${path}`, body)
      expect([path, got.status, fields(got)]).toEqual([path, 422, ["state"]])
    }
  })
  it("of a copy keep prices by hand and discounts, and take the exchange rate of the day", async () => {
    await list.made("/exchange_rates", {
      source_currency_code: "USD",
      target_currency_code: "GBP",
      rate: "0.8",
      effective_at: "2026-01-01T00:00:00Z"
    })
    const { id } = await list.job({ currency: "USD" })
    await list.line(id, {
      item_id: await list.priced(100, { currency: "USD" }),
      unit_price: "10.00",
      discount_percent: "10"
    })
    await list.made(`/opportunities/${id}/costs`, { description: "Van", cost_type: 0, amount: "5.00" })
    await list.post(`/opportunities/${id}/deal_price`, { deal_total: "8.00" })
    await list.made("/exchange_rates", {
      source_currency_code: "USD",
      target_currency_code: "GBP",
      rate: "0.9",
      effective_at: "2026-06-01T00:00:00Z"
    })
    const copy = await list.made(`/opportunities/${id}/clone`)
    expect(copy).toMatchObject({
      currency_code: "USD",
      exchange_rate: "0.9000000000",
      deal_total: null,
      charge_total: "32.00",
      rental_charge_total: "27.00",
      transit_charge_total: "5.00"
    })
    expect((await show(id)).exchange_rate).toBe("0.8000000000")
  })
  it("with prices that include tax are discounted and surcharged on the net", async () => {
    const classes = (await list.get("/organisation_tax_classes")).body.organisation_tax_classes
    const standard = (await list.get("/product_tax_classes")).body.product_tax_classes.find(
      (one: any) => one.name === "Standard"
    ).id
    const member_id = (
      await list.made("/members", { name: "Payer", membership_type: "organisation", sale_tax_class_id: classes[0].id })
    ).id
    const product = await list.priced(12_000, {}, {}, { tax_class_id: standard })
    const rule = (
      await list.made("/discount_rules", {
        name: "Ten off",
        discount_type: "percentage",
        discount_value: "10",
        criteria: {}
      })
    ).id
    const group = (
      await list.made("/surcharge_groups", {
        name: "Fuel",
        surcharges: [{ name: "Fuel", calculation_type: "percentage", value: "5", applies_to: "all" }]
      })
    ).id
    const { id } = await list.job({
      member_id,
      prices_include_tax: true,
      ends_at: "2026-07-02T09:00:00Z",
      discount_rule_ids: [rule],
      surcharge_group_ids: [group]
    })
    // 120.00 with tax is 100.00; less 10.00; 5 per cent of 90.00; tax 20 per cent of 94.50.
    expect(await list.line(id, { item_id: product })).toMatchObject({
      rental_charge_total: "90.00",
      service_charge_total: "4.50",
      charge_total: "94.50",
      tax_total: "18.90",
      charge_including_tax_total: "113.40"
    })
  })
})

describe("Tax rules (rules/rates 8)", () => {
  let organisation: number, product_class: number, member_id: number
  const rate = async (value: string, more: object = {}): Promise<number> =>
    (await list.made("/tax_rates", { name: `At ${value}`, rate: value, ...more })).id
  const rule = (tax_rate_id: number, more: object = {}): Promise<any> =>
    list.made("/tax_rules", {
      organisation_tax_class_id: organisation,
      product_tax_class_id: product_class,
      tax_rate_id,
      ...more
    })
  const classes = async (): Promise<void> => {
    organisation = (await list.made("/organisation_tax_classes", { name: `Abroad ${Math.random()}` })).id
    product_class = (await list.made("/product_tax_classes", { name: `Books ${Math.random()}` })).id
    member_id = (
      await list.made("/members", { name: "Payer", membership_type: "organisation", sale_tax_class_id: organisation })
    ).id
  }
  const taxed = async (): Promise<ReadonlyArray<string>> => {
    const { id } = await list.job({ member_id, ends_at: "2026-07-02T09:00:00Z" })
    const job = await list.line(id, {
      item_id: await list.product({ tax_class_id: product_class }),
      unit_price: "100.00"
    })
    return [job.items[0].tax_rate, job.tax_total]
  }
  it("take the highest priority of the exact pair", async () => {
    await classes()
    await rule(await rate("7"), { priority: 1 })
    await rule(await rate("17.5"), { priority: 5 })
    expect(await taxed()).toEqual(["17.50", "17.50"])
  })
  it("skip an inactive rule for the next", async () => {
    await classes()
    await rule(await rate("7"), { priority: 1 })
    await rule(await rate("9"), { priority: 5, is_active: false })
    expect(await taxed()).toEqual(["7.00", "7.00"])
  })
  it("fall back to the default pair where the exact pair has no active rule", async () => {
    await classes()
    await rule(await rate("9"), { is_active: false })
    expect(await taxed()).toEqual(["20.00", "20.00"])
  })
  it("give no tax where the chosen rate is inactive, without looking further", async () => {
    await classes()
    await rule(await rate("7"), { priority: 1 })
    await rule(await rate("9", { is_active: false }), { priority: 5 })
    expect(await taxed()).toEqual(["0.00", "0.00"])
  })
  it("round a rate of four decimals at the penny only", async () => {
    await classes()
    await rule(await rate("8.8755"))
    expect(await taxed()).toEqual(["8.88", "8.88"])
  })
  it("refuse the same triple again, a rate above a hundred, and losing the default class", async () => {
    await classes()
    const once = await rate("7")
    await rule(once)
    expect(
      (
        await list.post("/tax_rules", {
          organisation_tax_class_id: organisation,
          product_tax_class_id: product_class,
          tax_rate_id: once
        })
      ).status
    ).toBe(422)
    const high = await list.post("/tax_rates", { name: "High", rate: "100.0001" })
    expect([high.status, fields(high)]).toEqual([422, ["rate"]])
    const fine = await list.post("/tax_rates", { name: "Fine", rate: "1.00001" })
    expect([fine.status, fields(fine)]).toEqual([422, ["rate"]])
    const all = (await list.get("/product_tax_classes")).body.product_tax_classes
    const standing = all.find((one: any) => one.is_default)
    expect((await list.remove(`/product_tax_classes/${standing.id}`)).status).toBe(422)
    await list.put(`/product_tax_classes/${product_class}`, { is_default: true })
    expect(
      (await list.get("/product_tax_classes?per_page=100")).body.product_tax_classes
        .filter((one: any) => one.is_default)
        .map((one: any) => one.id)
    ).toEqual([product_class])
    await list.put(`/product_tax_classes/${standing.id}`, { is_default: true })
  })
})

describe("Lists of rates (rules/rates 6)", () => {
  it("filter by their other names, in any letters, and show what is included only", async () => {
    const hybrids = (await list.get("/rate_definitions?q[strategy_eq]=HYBRID&q[is_preset_true]=1")).body
    expect(hybrids.rate_definitions.map((one: any) => one.preset_slug)).toEqual(["fixed-rate-subs-days"])
    expect(hybrids.rate_definitions[0]).toMatchObject({ cloned_from: null, product_rates: null })
    expect((await list.get("/rate_definitions?q[preset_eq]=fixed-rate-subs-days")).body.meta.total).toBe(1)
    const copy = (await list.made(`/rate_definitions/${hybrids.rate_definitions[0].id}/duplicate`)).id
    expect(
      (await list.get(`/rate_definitions/${copy}?include=clonedFrom,product_rates`)).body.rate_definition
    ).toMatchObject({
      cloned_from: { id: hybrids.rate_definitions[0].id, name: "Fixed Rate and Subs Days" },
      product_rates: []
    })
  })
  it("of a product name the definition on show and not on a write", async () => {
    const product = await list.product()
    const daily = await list.definition({ name: "My day" })
    const made = await list.made(`/products/${product}/rates`, {
      rate_definition_id: daily,
      transaction_type: "rental",
      price: 1,
      currency: "GBP"
    })
    expect(made.rate_definition).toBe(null)
    expect((await list.get(`/products/${product}/rates/${made.id}`)).body.product_rate.rate_definition).toEqual({
      id: daily,
      name: "My day"
    })
    expect(
      (await list.get(`/products/${product}/rates?q[transaction_type_eq]=RENTAL`)).body.product_rates[0].rate_definition
    ).toEqual({ id: daily, name: "My day" })
    expect((await list.get(`/products/${product}/rates?q[transaction_type_eq]=sale`)).body.meta.total).toBe(0)
  })
  it("never turn a store's rate into one of all stores when the store goes", async () => {
    const store = (await list.made("/stores", { name: "Closing" })).id
    const product = await list.priced(100, { store_id: store })
    await list.remove(`/stores/${store}`)
    const rates = (await list.get(`/products/${product}/rates`)).body.product_rates
    expect(rates.every((one: any) => one.store_id === store)).toBe(true)
    expect(
      (await list.calculate(product, { quantity: 1, start: "2026-01-01", end: "2026-01-02" })).body.meta.resolved
    ).toBe(false)
  })
})
