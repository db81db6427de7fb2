/**
 * Prices over HTTP that depend on stored data or earlier commands; calculations are in test/core/pricing (rules/rates 5
 * to 9, rules/billing 4 and 5, rules/opportunities 4 to 8 and 11).
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../app.ts"
import { appHouse, errorKeys } from "../app-house.ts"
import type { Listed } from "../answers.ts"

const three_days = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" }
const one_day = { ...three_days, ends_at: "2026-07-02T09:00:00Z" }
const eleven_days = { ...three_days, ends_at: "2026-07-11T09:00:00Z" }
const types = ["rental", "sale", "service", "sub_rental"] as const

describe.each(engines)("prices on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00Z")
  let taxed: number, exempt: number, daily: number
  const exchange = (source_currency_code: string, rate: string, effective_at = "2026-01-01T00:00:00Z", more = {}) =>
    w.create("/exchange_rates", { source_currency_code, target_currency_code: "GBP", rate, effective_at, ...more })
  beforeAll(async () => {
    taxed = await w.customer({ sale_tax_class_id: 1, tag_list: ["vip"] })
    exempt = await w.named("product_tax_classes", "Exempt")
    daily = await w.named("rate_definitions", "Daily Rate")
    await exchange("JPY", "0.005")
  })

  const job = (more: object = {}) => w.opportunity({ ...three_days, ...more })
  const line = (id: number, more: object): Promise<Listed<"opportunities">> =>
    w.create(`/opportunities/${id}/items`, { name: "A line", ...more })
  const rate = (product: number, price: number, more: object = {}) =>
    w.create(`/products/${product}/rates`, {
      rate_definition_id: daily,
      transaction_type: "rental",
      price,
      currency: "GBP",
      ...more
    })
  const priced = async (price: number, more: object = {}, product: object = {}): Promise<number> => {
    const id = await w.product(product)
    await rate(id, price, more)
    return id
  }
  const taxes = (one: Listed<"opportunities">): ReadonlyArray<string> => [
    one.charge_excluding_tax_total,
    one.tax_total,
    one.charge_including_tax_total
  ]

  describe("a line", () => {
    it.each<[string, object, object, string]>([
      ["a quantity of 1.5 as two pieces", { quantity: "1.5" }, {}, "60.00"],
      ["its own discount of 33.33 %", { unit_price: "33.34", discount_percent: 33.33 }, {}, "66.68"],
      ["a service by the day", { transaction_type: 2 }, {}, "30.00"],
      ["a sub-rental by the day", { transaction_type: 3 }, {}, "30.00"],
      [
        "the opportunity's chargeable days instead of elapsed days",
        {},
        { use_chargeable_days: true, chargeable_days: "2.4" },
        "20.00"
      ],
      ["elapsed days if no number of chargeable days is given", {}, { use_chargeable_days: true }, "30.00"],
      [
        "a sale once, whatever the days",
        { transaction_type: 1 },
        { use_chargeable_days: true, chargeable_days: "5" },
        "10.00"
      ],
      [
        "the days of the hire, not the charge dates",
        {},
        { charge_starts_at: "2026-07-01", charge_ends_at: "2026-07-21" },
        "30.00"
      ],
      ["the highest price", { unit_price: 2_147_483_647 }, one_day, "21474836.47"]
    ])("is charged by its manual price: %s", async (_, more, header, total) => {
      const made = await line((await job(header)).id, { unit_price: "10.00", ...more })
      expect([made.items[0].total, made.charge_total]).toEqual([total, total])
      const at = "transaction_type" in more ? more.transaction_type : 0
      expect(types.map((type) => made[`${type}_charge_total`])).toEqual(
        types.map((_type, index) => (index === at ? total : "0.00"))
      )
    })
    it("takes the rate of its type, store and first day, and no store's rate if the opportunity has no store", async () => {
      const other = await w.store()
      const product = await priced(100)
      await rate(product, 200, { transaction_type: "sale" })
      await rate(product, 300, { transaction_type: "service" })
      await rate(product, 400, { store_id: other })
      await rate(product, 500, { valid_from: "2026-08-01", priority: 1 })
      const price = async (more: object, header: object = {}): Promise<string> =>
        (await line((await job(header)).id, { item_id: product, ...more })).items[0].unit_price
      const until = { ends_at: "2026-08-02T00:00:00Z" }
      expect(await price({})).toBe("1.00")
      expect(await price({ transaction_type: 1 })).toBe("2.00")
      expect(await price({ transaction_type: 2 })).toBe("3.00")
      expect(await price({}, { store_id: other })).toBe("4.00")
      expect(await price({ starts_at: "2026-08-01T00:00:00Z", ...until })).toBe("5.00")
      expect(await price({ starts_at: "2026-07-31T23:59:00Z", ...until })).toBe("1.00")
      expect(await price({}, { store_id: null })).toBe("1.00")
    })
    it("is repriced when quantity, dates or price change, and by its rate when the manual price is removed", async () => {
      const made = await line((await job()).id, { item_id: await priced(1000), quantity: 2 })
      const total = async (more: object): Promise<string> =>
        (await w.amend(`/opportunities/${made.id}/items/${made.items[0].id}`, more)).items[0].total
      expect(await total({ quantity: "3" })).toBe("90.00")
      expect(await total({ unit_price: "1.00" })).toBe("9.00")
      expect(await total({ unit_price: 0 })).toBe("0.00")
      expect(await total({ unit_price: null })).toBe("90.00")
      expect(await total({ starts_at: "2026-07-03T09:00:00Z" })).toBe("30.00")
      expect(await total({ discount_percent: "10" })).toBe("27.00")
      expect(await total({ discount_percent: null })).toBe("30.00")
    })
    it("keeps its price when the manual price is removed and no rate applies", async () => {
      const made = await line((await job()).id, { unit_price: "10.00" })
      expect(
        (await w.amend(`/opportunities/${made.id}/items/${made.items[0].id}`, { unit_price: null })).items[0]
      ).toMatchObject({ unit_price: "10.00", total: "30.00" })
    })
    it("keeps its number of days when the opportunity's dates change, until the line is updated", async () => {
      const made = await line((await job()).id, { unit_price: "10.00" })
      await line(made.id, { unit_price: "1.00" })
      const seven = { ...eleven_days, use_chargeable_days: true, chargeable_days: "7" }
      expect((await w.update(`/opportunities/${made.id}`, seven)).charge_total).toBe("33.00")
      // The changed line takes the seven days; the other keeps its three.
      expect((await w.amend(`/opportunities/${made.id}/items/${made.items[0].id}`, { quantity: 1 })).charge_total).toBe(
        "73.00"
      )
    })
    it("takes the opportunity's start or end if an update gives only the other", async () => {
      const made = await line((await job()).id, {
        unit_price: "10.00",
        starts_at: "2026-07-10T09:00:00Z",
        ends_at: "2026-07-20T09:00:00Z"
      })
      expect(made.charge_total).toBe("100.00")
      const path = `/opportunities/${made.id}/items/${made.items[0].id}`
      expect((await w.amend(path, { starts_at: "2026-07-02T09:00:00Z" })).items[0]).toMatchObject({
        ends_at: "2026-07-04T09:00:00.000Z",
        total: "20.00"
      })
      expect((await w.amend(path, { ends_at: "2026-07-11T09:00:00Z" })).items[0]).toMatchObject({
        starts_at: "2026-07-01T09:00:00.000Z",
        total: "100.00"
      })
      const reversed = { starts_at: "2026-07-05T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" }
      expect(errorKeys(await w.patch(path, reversed))).toEqual([422, ["ends_at"]])
    })
    it("is charged for one day from today if neither it nor the opportunity has dates", async () => {
      const product = await priced(1000, { valid_from: "2026-06-18", valid_to: "2026-06-18" })
      const { id } = await w.create("/opportunities", { subject: "No dates" })
      expect((await line(id, { item_id: product, quantity: 2 })).items[0]).toMatchObject({
        starts_at: "2026-06-18T12:00:00.000Z",
        ends_at: "2026-06-19T12:00:00.000Z",
        unit_price: "10.00",
        total: "20.00"
      })
    })
    it("is free for an accessory marked as zero-priced, and charged by the rate of any other accessory", async () => {
      const product = await priced(2000)
      for (const [sort_order, price, zero_priced] of [
        [0, 1000, true],
        [1, 500, false]
      ] as const) {
        const accessory = { accessory_product_id: await priced(price), quantity: 2, included: true }
        await w.create(`/products/${product}/accessories`, { ...accessory, sort_order, zero_priced })
      }
      const { items } = await line((await job()).id, {
        item_id: product,
        quantity: 3,
        materialize_included_accessories: true
      })
      expect(items.map((one) => [one.quantity, one.unit_price, one.total])).toEqual([
        ["3.00", "20.00", "180.00"],
        ["6.00", "0.00", "0.00"],
        ["6.00", "5.00", "90.00"]
      ])
    })
  })

  it.each<[string, string, object, string, object?]>([
    ["a discount above a hundred", "items", { discount_percent: 100.01 }, "discount_percent"],
    ["a negative discount", "items", { discount_percent: -1 }, "discount_percent"],
    ["a discount with three decimals", "items", { discount_percent: "10.555" }, "discount_percent"],
    ["a price with three decimals", "items", { unit_price: "1.001" }, "unit_price"],
    ["a price beyond 32 bits", "items", { unit_price: "21474836.48" }, "unit_price"],
    ["a line beyond 32 bits", "items", { unit_price: "21474836.47", quantity: 2 }, "unit_price", one_day],
    ["a line of an unknown type", "items", { unit_price: 1, transaction_type: 4 }, "transaction_type"],
    ["a cost of an unknown type", "costs", { amount: 1, cost_type: 6 }, "cost_type"],
    ["a cost with three decimals", "costs", { amount: "0.001" }, "amount"],
    ["a missing deal price", "deal_price", {}, "deal_total"],
    ["a deal price with three decimals", "deal_price", { deal_total: "1.001" }, "deal_total"],
    ["a deal price beyond 32 bits", "deal_price", { deal_total: 2_147_483_648 }, "deal_total"],
    ["a deal price of half a yen", "deal_price", { deal_total: "90.5" }, "deal_total", { currency: "JPY" }]
  ])("%s is refused", async (_, path, body, field, header) => {
    const { id } = await job(header)
    expect(
      errorKeys(await w.post(`/opportunities/${id}/${path}`, { name: "A line", description: "A cost", ...body }))
    ).toEqual([422, [field]])
  })
  it.each<[string, object]>([
    ["charge_total", { charge_total: -1 }],
    ["charge_total", { charge_total: "1.001" }],
    ["charge_total", { charge_total: 2_147_483_648 }],
    ["chargeable_days", { chargeable_days: "-1" }]
  ])("an opportunity with %s %j is refused", async (field, sent) => {
    expect(errorKeys(await w.post("/opportunities", { subject: "A job", ...sent }))).toEqual([422, [field]])
  })

  describe("the totals of an opportunity", () => {
    it.each([["125.50"], [12_550], [125.5]])(
      "start with the request's charge_total of %j, until the first line is added",
      async (sent) => {
        const made = await job({ charge_total: sent })
        expect(made.charge_total).toBe("125.50")
        expect((await line(made.id, { unit_price: "1.00" })).charge_total).toBe("3.00")
      }
    )
    it("change with a cost's amount and type, and when it becomes optional", async () => {
      const costs = `/opportunities/${(await job()).id}/costs`
      const van = { description: "Van", cost_type: 0, transaction_type: 0, amount: "30.00", quantity: 2 }
      const made = (await w.create(costs, van)).costs[0]
      expect(made).toMatchObject({ amount: "30.00", quantity: "2.00", cost_type_label: "Delivery" })
      const cost = `${costs}/${made.id}`
      const totals = (one: Listed<"opportunities">): ReadonlyArray<string> => [
        one.charge_total,
        one.transit_charge_total,
        one.service_charge_total,
        one.rental_charge_total
      ]
      expect(totals(await w.amend(cost, { amount: 1000 }))).toEqual(["20.00", "20.00", "0.00", "0.00"])
      expect(totals(await w.amend(cost, { cost_type: 1 }))).toEqual(["20.00", "0.00", "20.00", "0.00"])
      expect(totals(await w.amend(cost, { is_optional: true }))).toEqual(["0.00", "0.00", "0.00", "0.00"])
      expect(totals((await w.remove(cost)).body.opportunity)).toEqual(["0.00", "0.00", "0.00", "0.00"])
    })
    it("no longer include the lines of a removed group", async () => {
      const { id } = await job(one_day)
      const grouped = await line(id, { item_type: "group" })
      await line(id, { unit_price: "10.00", parent_path: "0001" })
      expect((await line(id, { unit_price: "1.00" })).charge_total).toBe("11.00")
      expect((await w.remove(`/opportunities/${id}/items/${grouped.items[0].id}`)).body.opportunity.charge_total).toBe(
        "1.00"
      )
    })
    it("are locked while it is an order, but its deal price can be removed", async () => {
      const { id } = await job(one_day)
      await line(id, { unit_price: "10.00" })
      await w.create(`/opportunities/${id}/deal_price`, { deal_total: "8.00" })
      expect(await w.confirm(id)).toMatchObject({
        pricing_locked: true,
        deal_total: "8.00",
        charge_total: "8.00",
        rental_charge_total: "10.00"
      })
      expect((await w.remove(`/opportunities/${id}/deal_price`)).body.opportunity).toMatchObject({
        deal_total: null,
        charge_total: "10.00"
      })
      expect(await w.create(`/opportunities/${id}/revert_to_quotation`)).toMatchObject({
        pricing_locked: false,
        tax_locked: false,
        exchange_rate_locked: false,
        charge_total: "10.00"
      })
    })
    it("are zero when the deal price is zero, although a line has a price", async () => {
      const { id } = await line((await job(one_day)).id, { unit_price: "10.00" })
      const free = { charge_total: "0.00", deal_total: "0.00", tax_total: "0.00", charge_including_tax_total: "0.00" }
      expect(await w.create(`/opportunities/${id}/deal_price`, { deal_total: 0 })).toMatchObject(free)
    })
    it("keep the exchange rate of their creation, and a copy takes the latest rate", async () => {
      expect(errorKeys(await w.post("/opportunities", { subject: "A job", currency: "CHF" }))).toEqual([
        422,
        ["currency"]
      ])
      await exchange("USD", "0.7")
      await exchange("USD", "0.8", "2026-06-01T00:00:00Z")
      await exchange("USD", "0.9", "2026-07-01T00:00:00Z")
      await exchange("USD", "0.5", "2026-06-10T00:00:00Z", { expires_at: "2026-06-18T12:00:00Z" })
      const { id, exchange_rate } = await job({ currency: "USD" })
      expect(exchange_rate).toBe("0.8000000000")
      await exchange("USD", "0.85", "2026-06-18T12:00:00Z")
      const product = await priced(100, { currency: "USD" })
      await line(id, { item_id: product, unit_price: "10.00", discount_percent: "10" })
      await w.create(`/opportunities/${id}/costs`, { description: "Van", cost_type: 0, amount: "5.00" })
      await w.create(`/opportunities/${id}/lock_locks`)
      await w.create(`/opportunities/${id}/unlock_locks`)
      await w.create(`/opportunities/${id}/deal_price`, { deal_total: "8.00" })
      // A clone keeps manual prices and discounts, but not the agreed total.
      expect(await w.create(`/opportunities/${id}/clone`)).toMatchObject({
        currency_code: "USD",
        exchange_rate: "0.8500000000",
        deal_total: null,
        charge_total: "32.00",
        rental_charge_total: "27.00",
        transit_charge_total: "5.00"
      })
      expect((await w.show(`/opportunities/${id}`)).exchange_rate).toBe("0.8000000000")
    })
    it("use the inverse of the opposite exchange rate", async () => {
      const sterling = { source_currency_code: "GBP", target_currency_code: "EUR", rate: "1.15" }
      await w.create("/exchange_rates", { ...sterling, effective_at: "2026-01-01T00:00:00Z" })
      // 1 / 1.15 = 0.869565217...
      expect((await job({ currency: "EUR" })).exchange_rate).toMatch(/^0\.86956521(00|73)$/)
    })
  })

  describe("tax", () => {
    const bought = async (header: object, ...lines: ReadonlyArray<readonly [tax_class_id: number, price: string]>) => {
      let made = await job({ ...one_day, member_id: taxed, ...header })
      for (const [tax_class_id, unit_price] of lines)
        made = await line(made.id, { item_id: await w.product({ tax_class_id }), unit_price })
      return made
    }
    it("follows the default pair for a pair of classes without a rule, rounded per class", async () => {
      expect(taxes(await bought({}, [exempt, "0.03"], [1, "0.03"]))).toEqual(["0.06", "0.02", "0.08"])
      expect(taxes(await bought({}, [1, "0.03"], [1, "0.03"]))).toEqual(["0.06", "0.01", "0.07"])
    })
    it("is reported as missing for lack of a class, with the fix", async () => {
      const warnings = async (id: number) => (await w.get(`/opportunities/${id}`)).body.meta.warnings
      const { id, items } = await bought({ member_id: null }, [1, "10.00"])
      expect(await warnings(id)).toEqual([
        expect.stringMatching(/^Untaxed: A line, because there is no customer; PUT .*--member/)
      ])
      const nobody = await w.customer({ name: "Nobody Ltd" })
      const { meta } = (await w.put(`/opportunities/${id}`, { member_id: nobody })).body
      expect(meta.warnings).toEqual(await warnings(id))
      expect(meta.warnings).toEqual([
        `Untaxed: A line, because Nobody Ltd has no tax class; PUT /api/v1/members/${nobody} {"sale_tax_class_id":1} ` +
          `(flightcase members update ${nobody} --sale-tax-class-id 1), then POST /api/v1/opportunities/${id}/reprice {} ` +
          `(flightcase quote reprice '#${Number((await w.show(`/opportunities/${id}`)).number)}').`
      ])
      await w.amend(`/opportunities/${id}`, { member_id: taxed })
      expect(await warnings(id)).toBeUndefined()
      await line(id, { name: "Text", unit_price: "1.00" })
      await line(id, { name: "Bare", item_id: await w.product(), unit_price: "1.00" })
      await line(id, { name: "Offered", item_id: await w.product(), unit_price: "1.00", is_optional: true })
      expect(await warnings(id)).toEqual([
        expect.stringMatching(
          /^Untaxed: Bare, because it has no tax class; PUT .*products update \d+ --tax-class-id 1\), then/
        ),
        "Untaxed: Text, because only products and costs have a tax class."
      ])
      await w.amend(`/opportunities/${id}/items/${items[0].id}`, {
        item_id: await w.product(),
        itemable_type: "product"
      })
      expect((await warnings(id))[0]).toMatch(
        /^Untaxed: A line, Bare, because they have no tax class; .*setup --assign-tax/
      )
    })
    it("is zero for an opportunity without a customer", async () => {
      expect(taxes(await bought({ member_id: null }, [1, "10.00"]))).toEqual(["10.00", "0.00", "10.00"])
    })
    it("follows the active rule of the highest priority, with a rate of four decimals", async () => {
      const pair = {
        organisation_tax_class_id: (await w.create("/organisation_tax_classes", { name: "Abroad" })).id,
        product_tax_class_id: (await w.create("/product_tax_classes", { name: "Books" })).id
      }
      for (const [priority, percentage] of [
        [1, "7"],
        [5, "8.8755"],
        [9, "9"]
      ] as const) {
        const { id } = await w.create("/tax_rates", { name: `At ${percentage}`, rate: percentage })
        await w.create("/tax_rules", { ...pair, tax_rate_id: id, priority, is_active: priority < 9 })
      }
      const abroad = await w.customer({ sale_tax_class_id: pair.organisation_tax_class_id })
      const made = await bought({ member_id: abroad }, [pair.product_tax_class_id, "100.00"])
      expect([made.items[0].tax_rate, made.tax_total]).toEqual(["8.88", "8.88"])
    })
    it("keeps its rates while locked, and takes the current rates once unlocked", async () => {
      const [rule] = await w.show("/tax_rules?q[product_tax_class_id_eq]=1")
      const at = (rate: string) => w.amend(`/tax_rates/${rule.tax_rate_id}`, { rate })
      const { id, items } = await bought({}, [1, "100.00"])
      const path = `/opportunities/${id}`
      expect(await w.create(`${path}/lock_locks`)).toMatchObject({
        exchange_rate_locked: true,
        tax_locked: true,
        pricing_locked: true
      })
      const changed = async (more: object) => taxes(await w.amend(`${path}/items/${items[0].id}`, more))
      expect(await changed({ unit_price: "50.00" })).toEqual(["50.00", "10.00", "60.00"])
      await at("23")
      expect(await changed({ quantity: 2 })).toEqual(["100.00", "20.00", "120.00"])
      // A later class starts with the default pair's rate of that time.
      const later = (await w.create("/product_tax_classes", { name: "Later" })).id
      const grown = await line(id, { item_id: await w.product({ tax_class_id: later }), unit_price: "10.00" })
      expect([grown.items[1].tax_rate, ...taxes(grown)]).toEqual(["20.00", "110.00", "22.00", "132.00"])
      const cost = await w.create(`${path}/costs`, { description: "Van", cost_type: 0, amount: "5.00" })
      expect([cost.costs[0].tax_rate, ...taxes(cost)]).toEqual(["20.00", "115.00", "23.00", "138.00"])
      expect(taxes(await w.amend(path, { member_id: null }))).toEqual(["115.00", "23.00", "138.00"])
      await w.amend(path, { member_id: taxed })
      expect((await w.create(`${path}/unlock_locks`)).pricing_locked).toBe(false)
      expect(taxes(await w.amend(path, { member_id: await w.customer() }))).toEqual(["115.00", "0.00", "115.00"])
      expect(taxes(await w.amend(path, { member_id: taxed }))).toEqual(["115.00", "26.45", "141.45"])
      await at("20")
    })
  })

  describe("repricing", () => {
    const outdated = async (id: number) => (await w.get(`/opportunities/${id}?outdated=1`)).body.meta.warnings
    const repriced = async (id: number, body: object = {}) => {
      const reply = await w.post(`/opportunities/${id}/reprice`, body)
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      return [
        reply.body.changes.map((one: any) => `${one.name} ${one.figure} ${one.from} ${one.to}`),
        taxes(reply.body.opportunity)
      ]
    }
    const entries = async (id: number) => (await w.show(`/opportunities/${id}/activity`)).map((one) => one.action)

    it("takes today's rates and tax classes in one event, and keeps manual prices", async () => {
      const product = await w.product()
      const { id: rate_id } = await rate(product, 1000)
      const customer = await w.customer()
      const { id } = await job({ ...one_day, member_id: customer })
      await line(id, { item_id: product, name: "Lamp" })
      await line(id, { item_id: product, name: "Agreed", unit_price: "5.00" })
      expect(await outdated(id)).toEqual([expect.stringMatching(/^Untaxed: /), expect.stringMatching(/^Untaxed: /)])
      await w.amend(`/members/${customer}`, { sale_tax_class_id: 1 })
      await w.amend(`/products/${product}`, { tax_class_id: 1 })
      await w.amend(`/products/${product}/rates/${rate_id}`, { price: 1200 })
      expect(taxes(await w.show(`/opportunities/${id}`))).toEqual(["15.00", "0.00", "15.00"])
      const number = Number((await w.show(`/opportunities/${id}`)).number)
      expect(await outdated(id)).toEqual([
        "Would come out otherwise today: Lamp unit price 10.00 → 12.00, Lamp tax rate 0.00 % → 20.00 %, " +
          "Lamp net 10.00 → 12.00, 1 more, total with tax 15.00 → 20.40; " +
          `POST /api/v1/opportunities/${id}/reprice {} (flightcase quote reprice '#${number}').`
      ])
      const before = (await entries(id)).length
      expect(await repriced(id)).toEqual([
        [
          "Lamp unit price 10.00 12.00",
          "Lamp tax rate 0.00 % 20.00 %",
          "Lamp net 10.00 12.00",
          "Agreed tax rate 0.00 % 20.00 %",
          " net 15.00 17.00",
          " tax 0.00 3.40",
          " total with tax 15.00 20.40"
        ],
        ["17.00", "3.40", "20.40"]
      ])
      expect(await outdated(id)).toBeUndefined()
      expect(await repriced(id)).toEqual([[], ["17.00", "3.40", "20.40"]])
      expect((await entries(id)).length).toBe(before + 1)
    })
    it("is needed before the customer's new tax class affects existing lines and costs", async () => {
      const product = await w.product({ tax_class_id: 1 })
      const customer = await w.customer({ sale_tax_class_id: 1 })
      const abroad = (await w.create("/organisation_tax_classes", { name: "Reverse charge" })).id
      const { id: tax_rate_id } = await w.create("/tax_rates", { name: "Reverse charge", rate: "0" })
      await w.create("/tax_rules", { organisation_tax_class_id: abroad, product_tax_class_id: 1, tax_rate_id })
      const { id } = await job({ ...one_day, member_id: customer })
      await line(id, { item_id: product, name: "Lamp", unit_price: "10.00" })
      await w.create(`/opportunities/${id}/costs`, { description: "Van", cost_type: 0, amount: "5.00" })
      await w.amend(`/members/${customer}`, { sale_tax_class_id: abroad })
      const kept = await line(id, { item_id: product, name: "Stand", unit_price: "20.00" })
      expect([...kept.items, ...kept.costs].map((one) => one.tax_rate)).toEqual(["20.00", "0.00", "20.00"])
      expect(taxes(kept)).toEqual(["35.00", "3.00", "38.00"])
      expect((await outdated(id)).at(-1)).toMatch(/Lamp tax rate 20.00 % → 0.00 %, Van tax rate .*38.00 → 35.00/)
      expect((await repriced(id))[1]).toEqual(["35.00", "0.00", "35.00"])
      await w.amend(`/members/${customer}`, { sale_tax_class_id: 1 })
      const billed = (await w.post(`/opportunities/${id}/invoices`, {})).body.invoice
      expect([billed.subtotal, billed.tax_total]).toEqual(["35.00", "0.00"])
    })
    it("is limited to tax for a locked order, and needs the permission to unlock", async () => {
      const product = await w.product({ tax_class_id: 1 })
      const { id: rate_id } = await rate(product, 1000)
      const { id } = await job(one_day)
      await line(id, { item_id: product })
      await w.confirm(id)
      expect(taxes(await w.amend(`/opportunities/${id}`, { member_id: taxed }))).toEqual(["10.00", "0.00", "10.00"])
      expect(await outdated(id)).toEqual([
        expect.stringMatching(
          /^Untaxed: A line, because tax was locked without a tax class; .*orders reprice '#\d+' --only tax/
        )
      ])
      await w.amend(`/products/${product}/rates/${rate_id}`, { price: 1200 })
      expect(errorKeys(await w.post(`/opportunities/${id}/reprice`))).toEqual([422, ["state"]])
      const editor = viewerWith(["*"], ["opportunities.view", "opportunities.edit"])
      expect((await w.post(`/opportunities/${id}/reprice`, { only: "tax" }, editor)).status).toBe(403)
      expect((await repriced(id, { only: "tax" }))[1]).toEqual(["10.00", "2.00", "12.00"])
      expect(taxes(await line(id, { item_id: product }))).toEqual(["22.00", "4.40", "26.40"])
    })
    it("is refused for accepted, invoiced and lost opportunities", async () => {
      const quote = await job({ ...one_day, member_id: taxed })
      await line(quote.id, { unit_price: "10.00" })
      await w.create(`/opportunities/${quote.id}/convert_to_quotation`)
      const { id: version } = await w.create(`/opportunities/${quote.id}/versions`)
      await w.create(`/opportunities/${quote.id}/versions/${version}/accept`)
      const billed = await job({ ...one_day, member_id: taxed })
      await w.amend(`/opportunities/${billed.id}`, { invoiced: true })
      const lost = await job(one_day)
      await w.create(`/opportunities/${lost.id}/convert_to_quotation`)
      await w.create(`/opportunities/${lost.id}/change_status`, { status: 2 })
      for (const { id } of [quote, billed, lost]) {
        expect(errorKeys(await w.post(`/opportunities/${id}/reprice`))).toEqual([422, ["state"]])
        const told = (await outdated(id)) ?? []
        expect(told.filter((text: string) => !text.startsWith("Untaxed"))).toEqual([])
      }
    })
  })

  describe("discounts and surcharges", () => {
    let lamp: number, group: number, far: number
    const rules: Array<number> = []
    beforeAll(async () => {
      group = (await w.create("/product_groups", { name: "Lighting" })).id
      const fixed = await w.named("rate_definitions", "Fixed Rate")
      lamp = await priced(10_000, { rate_definition_id: fixed }, { product_group_id: group, tax_class_id: 1 })
      far = await w.store({ timezone: "Pacific/Auckland" })
    })
    afterEach(async () => {
      for (const id of rules.splice(0)) await w.remove(`/discount_rules/${id}`)
    })
    /** Creates a rule with a discount of 10 %. */
    const rule = async (more: object): Promise<void> => {
      const ten = { name: "Ten off", discount_type: "percentage", discount_value: "10", criteria: {} }
      rules.push((await w.create("/discount_rules", { ...ten, auto_apply: true, ...more })).id)
    }
    const when = (field: string, operator: string, value: unknown) => ({ conditions: [{ field, operator, value }] })
    /** Charge of an opportunity on Wednesday 1 July 2026; a lamp is 100.00. */
    const charge = async (header: object = {}, ...lines: ReadonlyArray<object>): Promise<string> => {
      const { id } = await job({ ...one_day, member_id: taxed, ...header })
      for (const one of lines) await line(id, { item_id: lamp, ...one })
      return (await w.show(`/opportunities/${id}`)).charge_total
    }

    // Functions, as members, products and groups do not exist yet.
    it.each<[string, string, unknown, boolean, object?]>([
      ["member_id", "eq", () => taxed, true],
      ["member.membership_type", "eq", "organisation", true],
      ["member.tag_list", "cont", "vip", true],
      ["store_id", "eq", 1, true],
      ["product_id", "eq", () => lamp, true],
      ["product_group_id", "in", () => [group], true],
      ["product_type", "eq", "rental", true],
      ["transaction_type", "eq", "rental", true],
      ["quantity", "eq", 1, true],
      ["line_total", "gteq", "100.00", true],
      ["line_total", "gt", "100.00", false],
      ["charge_total", "lteq", "100.00", true],
      ["charge_total", "lt", "100.00", false],
      ["starts_at", "eq", "2026-07-01T09:00:00Z", true],
      ["ends_at", "eq", "2026-07-02T09:00:00Z", true],
      ["day_of_week", "eq", 3, true],
      ["day_of_week", "eq", 4, false],
      ["chargeable_days", "eq", 3, true, three_days],
      ["chargeable_days", "eq", 5, true, { use_chargeable_days: true, chargeable_days: "5" }],
      ["state", "eq", 0, true],
      ["state", "eq", "Draft", true]
    ])("apply to a line if a condition on it is met (%s %s %s): %s", async (field, operator, value, holds, header) => {
      await rule({ criteria: when(field, operator, typeof value === "function" ? value() : value) })
      expect(await charge(header, {})).toBe(holds ? "90.00" : "100.00")
    })
    it.each<[string, string, unknown, boolean]>([
      ["starts_at", "eq", "2026-07-02", true],
      ["starts_at", "lteq", "2026-07-01", false],
      ["ends_at", "eq", "2026-07-03", true],
      ["day_of_week", "eq", "thursday", true],
      ["starts_at", "eq", "2026-07-01T20:00:00Z", true]
    ])(
      "compare conditions with days of the store's time zone, in Auckland: %s %s %s",
      async (field, operator, value, holds) => {
        await rule({ criteria: when(field, operator, value) })
        // 2 July, 8:00 in the store's time zone.
        const window = { starts_at: "2026-07-01T20:00:00Z", ends_at: "2026-07-02T20:00:00Z" }
        expect(await charge({ store_id: far, ...window }, {})).toBe(holds ? "90.00" : "100.00")
      }
    )
    it("end with the last valid day in the store's time zone", async () => {
      await rule({ valid_to: "2026-07-01" })
      const from = (starts_at: string) => charge({ store_id: far, starts_at, ends_at: "2026-07-02T20:00:00Z" }, {})
      expect([await from("2026-07-01T11:59:00Z"), await from("2026-07-01T12:00:00Z")]).toEqual(["90.00", "100.00"])
    })
    it("use the total of all lines if a condition compares the total", async () => {
      await rule({ criteria: when("charge_total", "gteq", "150.00") })
      expect([await charge({}, {}, {}), await charge({}, {})]).toEqual(["180.00", "100.00"])
    })
    it("skip lines with their own discount, and products that may not be discounted", async () => {
      await rule({})
      const firm = await priced(10_000, {}, { discountable: false })
      expect(await charge({}, { discount_percent: 5 })).toBe("95.00")
      expect(await charge({}, { item_id: firm })).toBe("100.00")
    })
    it("include the surcharges of active default groups on new opportunities, and not on earlier ones", async () => {
      const before = await job()
      const extra = { name: "Fuel", calculation_type: "percentage", value: "10" }
      const on = { name: "Group", surcharges: [extra], default_enabled: true }
      const { id } = await w.create("/surcharge_groups", on)
      await w.create("/surcharge_groups", { ...on, is_active: false })
      expect((await job()).surcharge_group_ids).toEqual([id])
      expect((await w.show(`/opportunities/${before.id}`)).surcharge_group_ids).toEqual([])
      await w.put(`/surcharge_groups/${id}`, { default_enabled: false })
    })
    it("include surcharges that are taxed in their own class, or else in the default one", async () => {
      const reduced = (await w.create("/product_tax_classes", { name: "Low" })).id
      const tax_rate_id = await w.named("tax_rates", "Reduced")
      await w.create("/tax_rules", { organisation_tax_class_id: 1, product_tax_class_id: reduced, tax_rate_id })
      const extra = { name: "Fuel", calculation_type: "percentage", value: "10" }
      const { id } = await w.create("/surcharge_groups", {
        name: "Group",
        surcharges: [{ ...extra, tax_class_id: reduced }, extra]
      })
      const made = await job({ ...one_day, member_id: taxed, surcharge_group_ids: [id] })
      // 100.00 and 10.00 at 20 per cent, 10.00 at 5.
      expect(taxes(await line(made.id, { item_id: lamp }))).toEqual(["120.00", "22.50", "142.50"])
    })
  })
})
