/** What lines cost and jobs come to, from outside: every expectation from rules/rates 8 and 9 and rules/opportunities 7.6 and 8. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { fields, type PriceList, priceList, rows } from "./price-list.ts"

/** Tax: organisations of class Standard pay 20 on Standard, 5 on Reduced; nothing is said of Exempt. */
interface Taxed {
  readonly list: PriceList
  readonly member: number
  readonly standard: number
  readonly reduced: number
  readonly exempt: number
}
const taxed = async (engine: "sqlite" | "pg"): Promise<Taxed> => {
  const list = await priceList(engine)
  const named = async (path: string, key: string, name: string): Promise<number> =>
    (await list.get(`/${path}?per_page=100`)).body[key].find((one: any) => one.name === name).id
  const organisation = await named("organisation_tax_classes", "organisation_tax_classes", "Standard")
  const standard = await named("product_tax_classes", "product_tax_classes", "Standard")
  const exempt = await named("product_tax_classes", "product_tax_classes", "Exempt")
  const five = await named("tax_rates", "tax_rates", "Reduced")
  const reduced = (await list.made("/product_tax_classes", { name: "Reduced" })).id
  await list.made("/tax_rules", {
    organisation_tax_class_id: organisation,
    product_tax_class_id: reduced,
    tax_rate_id: five
  })
  const member = (
    await list.made("/members", { name: "Payer", membership_type: "organisation", sale_tax_class_id: organisation })
  ).id
  return { list, member, standard, reduced, exempt }
}

describe.each(engines)("Lines priced by hand, on %s (rules/rates 9.1, 9.2)", (engine) => {
  let list: PriceList
  beforeAll(async () => {
    list = await priceList(engine)
  })
  afterAll(() => list.close())
  // Window from 1 July 2026 09:00 UTC; unit price in pounds.
  const table = rows(`
    half a piece rounds up              | 1.5  | 10.00 | 0 | 2026-07-02 09:00 |       |       | 20.00
    just under half is nothing          | 0.49 | 10.00 | 0 | 2026-07-02 09:00 |       |       | 0.00
    half of one is one                  | 0.5  | 10.00 | 0 | 2026-07-02 09:00 |       |       | 10.00
    two and a half are three            | 2.5  | 10.00 | 0 | 2026-07-02 09:00 |       |       | 30.00
    none                                | 0    | 10.00 | 0 | 2026-07-02 09:00 |       |       | 0.00
    a minute short of two days is one   | 1    | 10.00 | 0 | 2026-07-03 08:59 |       |       | 10.00
    two days exactly                    | 1    | 10.00 | 0 | 2026-07-03 09:00 |       |       | 20.00
    an hour is a day                    | 1    | 10.00 | 0 | 2026-07-01 10:00 |       |       | 10.00
    start and end at once is a day      | 1    | 10.00 | 0 | 2026-07-01 09:00 |       |       | 10.00
    over a month's end                  | 1    | 10.00 | 0 | 2026-08-01 09:00 |       |       | 310.00
    a service takes days                | 2    | 10.00 | 2 | 2026-07-04 09:00 |       |       | 60.00
    a sale does not                     | 2    | 10.00 | 1 | 2026-07-04 09:00 |       |       | 20.00
    sub-hire takes days                 | 2    | 10.00 | 3 | 2026-07-04 09:00 |       |       | 60.00
    chargeable days instead             | 2    | 10.00 | 0 | 2026-07-04 09:00 | 5     |       | 100.00
    chargeable days of a sale           | 2    | 10.00 | 1 | 2026-07-04 09:00 | 5     |       | 20.00
    2.4 chargeable days are two         | 1    | 10.00 | 0 | 2026-07-04 09:00 | 2.4   |       | 20.00
    0.4 of a chargeable day is one      | 1    | 10.00 | 0 | 2026-07-04 09:00 | 0.4   |       | 10.00
    no chargeable days: one             | 1    | 10.00 | 0 | 2026-07-04 09:00 | 0     |       | 10.00
    half a penny of discount rounds up  | 1    | 0.01  | 0 | 2026-07-02 09:00 |       | 50    | 0.00
    0.49 of a penny is no discount      | 1    | 0.01  | 0 | 2026-07-02 09:00 |       | 49    | 0.01
    a discount of 12.5 of four pence    | 1    | 0.04  | 0 | 2026-07-02 09:00 |       | 12.5  | 0.03
    a discount with two decimals        | 1    | 100.01 | 0 | 2026-07-02 09:00 |      | 33.33 | 66.68
    a discount of nothing               | 1    | 10.00 | 0 | 2026-07-02 09:00 |       | 0     | 10.00
    the discount is of the whole line   | 3    | 3.33  | 0 | 2026-07-04 09:00 |       | 33.33 | 19.98
    a price of nothing                  | 3    | 0     | 0 | 2026-07-04 09:00 |       | 10    | 0.00
  `)
  it.each(table.map((row) => row as [string, string, string, string, string, string, string, string]))(
    "%s",
    async (_, quantity, unit_price, type, end, days, discount, total) => {
      const { id } = await list.job({
        ends_at: `${end.replace(" ", "T")}:00Z`,
        ...(days === "" ? {} : { use_chargeable_days: true, chargeable_days: days })
      })
      const job = await list.line(id, {
        quantity,
        unit_price,
        transaction_type: Number(type),
        ...(discount === "" ? {} : { discount_percent: discount })
      })
      expect({ total: job.items[0].total, charge: job.charge_total }).toEqual({ total, charge: total })
      const buckets = [
        job.rental_charge_total,
        job.sale_charge_total,
        job.service_charge_total,
        job.sub_rental_charge_total
      ]
      expect(buckets).toEqual(["0.00", "0.00", "0.00", "0.00"].map((none, at) => (at === Number(type) ? total : none)))
    }
  )
  it("count elapsed days when the flag has no number, and the number when the line's own window differs", async () => {
    const flag = await list.job({ use_chargeable_days: true })
    expect((await list.line(flag.id, { unit_price: "10.00" })).charge_total).toBe("30.00")
    const own = await list.job()
    expect(
      (
        await list.line(own.id, {
          unit_price: "10.00",
          starts_at: "2026-07-01T09:00:00Z",
          ends_at: "2026-07-11T09:00:00Z"
        })
      ).charge_total
    ).toBe("100.00")
  })
  it.each<readonly [string, object, string]>([
    ["a discount above a hundred", { discount_percent: 100.01 }, "discount_percent"],
    ["a negative discount", { discount_percent: -1 }, "discount_percent"],
    ["a discount with three decimals", { discount_percent: "10.555" }, "discount_percent"],
    ["a negative price", { unit_price: -1 }, "unit_price"],
    ["a price of too many decimals", { unit_price: "1.001" }, "unit_price"],
    ["a price beyond 32 bits", { unit_price: "21474836.48" }, "unit_price"],
    ["a line beyond 32 bits", { unit_price: "21474836.47", quantity: 2 }, "unit_price"],
    ["a negative quantity", { unit_price: 1, quantity: -1 }, "quantity"],
    ["a type nobody knows", { unit_price: 1, transaction_type: 4 }, "transaction_type"]
  ])("refuse %s", async (_, more, named) => {
    const { id } = await list.job()
    const got = await list.post(`/opportunities/${id}/items`, { name: "A line", ...more })
    expect([got.status, fields(got)], got.text).toEqual([422, [named]])
  })
})

describe("Lines priced by rates (rules/rates 9.1)", () => {
  let list: PriceList
  beforeAll(async () => {
    list = await priceList()
  })
  afterAll(() => list.close())
  const lineOf = async (product: number, more: object = {}, job: object = {}): Promise<any> =>
    (await list.line((await list.job(job)).id, { item_id: product, ...more })).items[0]

  it.each<readonly [string, object, string]>([
    ["0.4 of a piece as one", { quantity: "0.4" }, "30.00"],
    ["none as one", { quantity: "0" }, "30.00"],
    ["1.5 as two", { quantity: "1.5" }, "60.00"],
    ["a discount of the engine's sum", { quantity: "3", discount_percent: "33.33" }, "60.00"],
    ["days rounded up", { ends_at: "2026-07-04T09:01:00Z" }, "40.00"],
    ["its own window", { starts_at: "2026-07-10T00:00:00Z", ends_at: "2026-07-11T00:00:00Z" }, "10.00"],
    ["a price by hand before the rate", { unit_price: "7.00" }, "21.00"],
    ["a price by hand of nothing", { unit_price: 0 }, "0.00"]
  ])("charge %s", async (_, more, total) => {
    expect((await lineOf(await list.priced(1000), more)).total).toBe(total)
  })
  it("take the rate of their type, store and first day", async () => {
    const daily = await list.definition()
    const product = await list.product()
    const other = (await list.made("/stores", { name: "Elsewhere" })).id
    for (const rate of [
      { price: 100 },
      { price: 200, transaction_type: "sale" },
      { price: 300, transaction_type: "service" },
      { price: 400, store_id: other },
      { price: 500, valid_from: "2026-08-01", priority: 1 }
    ]) {
      await list.made(`/products/${product}/rates`, {
        rate_definition_id: daily,
        transaction_type: "rental",
        currency: "GBP",
        ...rate
      })
    }
    const price = async (more: object, job: object = {}): Promise<string> =>
      (await lineOf(product, more, job)).unit_price
    expect(await price({})).toBe("1.00")
    expect(await price({ transaction_type: 1 })).toBe("2.00")
    expect(await price({ transaction_type: 2 })).toBe("3.00")
    expect(await price({}, { store_id: other })).toBe("4.00")
    expect(await price({ starts_at: "2026-08-01T00:00:00Z", ends_at: "2026-08-02T00:00:00Z" })).toBe("5.00")
    expect(await price({ starts_at: "2026-07-31T23:59:00Z", ends_at: "2026-08-02T00:00:00Z" })).toBe("1.00")
  })
  it("ignore chargeable days, and take a sale's units as the engine counts them", async () => {
    const product = await list.priced(1000, { transaction_type: "sale" })
    expect(
      (await lineOf(product, { transaction_type: 1 }, { use_chargeable_days: true, chargeable_days: "9" })).total
    ).toBe("30.00")
  })
  it("are never priced in pence as if they were another currency's cents", async () => {
    await list.made("/exchange_rates", {
      source_currency_code: "EUR",
      target_currency_code: "GBP",
      rate: "0.8",
      effective_at: "2026-01-01T00:00:00Z"
    })
    const product = await list.priced(1000)
    // Skipped (0.00) or converted (12.50 a day) are both allowed; 10.00 a day is not.
    expect(["0.00", "37.50"]).toContain((await lineOf(product, {}, { currency: "EUR" })).total)
  })
  it("price again when quantity, dates or price change, and the rate again when the price by hand goes", async () => {
    const job = await list.line((await list.job()).id, { item_id: await list.priced(1000), quantity: 2 })
    const path = `/opportunities/${job.id}/items/${job.items[0].id}`
    const total = async (more: object): Promise<unknown> =>
      (await list.patch(path, more)).body.opportunity.items[0].total
    expect(await total({ quantity: "3" })).toBe("90.00")
    expect(await total({ unit_price: "1.00" })).toBe("9.00")
    expect(await total({ unit_price: null })).toBe("90.00")
    expect(await total({ starts_at: "2026-07-03T09:00:00Z" })).toBe("30.00")
    expect(await total({ discount_percent: "10" })).toBe("27.00")
    expect(await total({ discount_percent: null })).toBe("30.00")
  })
})

describe.each(engines)("Totals and tax, on %s (rules/rates 8, 9.3, 9.4)", (engine) => {
  let world: Taxed
  beforeAll(async () => {
    world = await taxed(engine)
  })
  afterAll(() => world.list.close())

  type Line = { readonly class?: "standard" | "reduced" | "exempt"; readonly [key: string]: unknown }
  const played = async (job: object, lines: ReadonlyArray<Line>, costs: ReadonlyArray<object> = []): Promise<any> => {
    const { list } = world
    const { id } = await list.job({ member_id: world.member, ends_at: "2026-07-02T09:00:00Z", ...job })
    for (const { class: tax_class, ...line } of lines) {
      await list.line(id, {
        ...line,
        ...(tax_class === undefined ? {} : { item_id: await list.product({ tax_class_id: world[tax_class] }) })
      })
    }
    for (const cost of costs) await list.made(`/opportunities/${id}/costs`, { description: "A cost", ...cost })
    return (await list.get(`/opportunities/${id}?include=items,costs`)).body.opportunity
  }
  const sums = (job: any): ReadonlyArray<string> => [
    job.charge_excluding_tax_total,
    job.tax_total,
    job.charge_including_tax_total
  ]

  const cases: ReadonlyArray<
    readonly [string, object, ReadonlyArray<Line>, ReadonlyArray<object>, ReadonlyArray<string>]
  > = [
    [
      "each class is taxed and rounded once",
      {},
      [
        { class: "standard", unit_price: "0.02" },
        { class: "standard", unit_price: "0.01" },
        { class: "reduced", unit_price: "0.09" },
        { class: "reduced", unit_price: "0.01" }
      ],
      [],
      ["0.13", "0.02", "0.15"]
    ],
    [
      "33.33 twice is 13.33, not 13.34",
      {},
      [
        { class: "standard", unit_price: "33.33" },
        { class: "standard", unit_price: "33.33" }
      ],
      [],
      ["66.66", "13.33", "79.99"]
    ],
    [
      "a pair without a rule takes the default pair's",
      {},
      [{ class: "exempt", unit_price: "10.00" }],
      [],
      ["10.00", "2.00", "12.00"]
    ],
    [
      "two classes at one rate round apart",
      {},
      [
        { class: "exempt", unit_price: "0.03" },
        { class: "standard", unit_price: "0.03" }
      ],
      [],
      ["0.06", "0.02", "0.08"]
    ],
    ["a line without product is untaxed", {}, [{ unit_price: "10.00" }], [], ["10.00", "0.00", "10.00"]],
    [
      "a cost is taxed as the default class, with its lines",
      {},
      [{ class: "standard", unit_price: "0.02" }],
      [{ amount: "0.01" }],
      ["0.03", "0.01", "0.04"]
    ],
    [
      "a cost's quantity rounds to whole units",
      {},
      [],
      [{ amount: "10.00", quantity: "1.5" }],
      ["20.00", "4.00", "24.00"]
    ],
    ["a cost of 0.4 is nothing", {}, [], [{ amount: "10.00", quantity: "0.4" }], ["0.00", "0.00", "0.00"]],
    [
      "optional lines and costs are left out",
      {},
      [
        { class: "standard", unit_price: "10.00" },
        { class: "standard", unit_price: "99.00", is_optional: true }
      ],
      [{ amount: "5.00", is_optional: true }],
      ["10.00", "2.00", "12.00"]
    ],
    [
      "prices with tax are stored net, line by line",
      { prices_include_tax: true },
      [
        { class: "standard", unit_price: "10.00" },
        { class: "reduced", unit_price: "10.50" }
      ],
      [],
      ["18.33", "2.17", "20.50"]
    ],
    [
      "prices with tax, discount first",
      { prices_include_tax: true },
      [{ class: "standard", unit_price: "100.00", discount_percent: "10" }],
      [],
      ["75.00", "15.00", "90.00"]
    ],
    [
      "costs with tax, stripped after the quantity",
      { prices_include_tax: true },
      [],
      [{ amount: "0.10", quantity: 3 }],
      ["0.25", "0.05", "0.30"]
    ],
    [
      "a line with tax but without class keeps its price",
      { prices_include_tax: true },
      [{ unit_price: "10.00" }],
      [],
      ["10.00", "0.00", "10.00"]
    ],
    [
      "nobody to pay, no tax",
      { member_id: null },
      [{ class: "standard", unit_price: "10.00" }],
      [],
      ["10.00", "0.00", "10.00"]
    ],
    [
      "yen",
      { currency: "JPY" },
      [
        { class: "standard", unit_price: "333" },
        { class: "reduced", unit_price: "10" }
      ],
      [],
      ["343", "68", "411"]
    ],
    [
      "dinars",
      { currency: "KWD" },
      [{ class: "standard", unit_price: "1.333" }],
      [{ amount: 1 }],
      ["1.334", "0.267", "1.601"]
    ]
  ]
  it.each(cases)("%s", async (_, job, lines, costs, expected) => {
    // Jobs in another currency need an exchange rate.
    if ("currency" in job)
      await world.list.post("/exchange_rates", {
        source_currency_code: job.currency,
        target_currency_code: "GBP",
        rate: "2",
        effective_at: "2026-01-01T00:00:00Z"
      })
    expect(sums(await played(job, lines, costs))).toEqual(expected)
  })
  it("every kind of cost has its place", async () => {
    const job = await played(
      {},
      [],
      [0, 1, 2, 3, 4, 5].map((cost_type) => ({ cost_type, amount: 10 ** cost_type, transaction_type: 0 }))
    )
    expect([
      job.transit_charge_total,
      job.service_charge_total,
      job.loss_damage_charge_total,
      job.rental_charge_total,
      job.charge_total
    ]).toEqual(["0.01", "1011.10", "100.00", "0.00", "1111.11"])
  })
  it("a deal is net, taxed as the default class, even where prices include tax", async () => {
    for (const prices_include_tax of [false, true]) {
      const job = await played({ prices_include_tax }, [{ class: "reduced", unit_price: "105.00" }])
      const opportunity = (await world.list.post(`/opportunities/${job.id}/deal_price`, { deal_total: "50.03" })).body
        .opportunity
      expect(sums(opportunity)).toEqual(["50.03", "10.01", "60.04"])
      expect([opportunity.charge_total, opportunity.deal_total, opportunity.rental_charge_total]).toEqual([
        "50.03",
        "50.03",
        prices_include_tax ? "100.00" : "105.00"
      ])
      const cleared = (await world.list.remove(`/opportunities/${job.id}/deal_price`)).body.opportunity
      expect([sums(cleared), cleared.deal_total]).toEqual([
        prices_include_tax ? ["100.00", "5.00", "105.00"] : ["105.00", "5.25", "110.25"],
        null
      ])
    }
  })
  it("a deal of nothing is a deal", async () => {
    const job = await played({}, [{ class: "standard", unit_price: "10.00" }])
    const opportunity = (await world.list.post(`/opportunities/${job.id}/deal_price`, { deal_total: 0 })).body
      .opportunity
    expect([...sums(opportunity), opportunity.deal_total]).toEqual(["0.00", "0.00", "0.00", "0.00"])
  })
  it.each<readonly [string, object, string]>([
    ["none", {}, "deal_total"],
    ["negative", { deal_total: -1 }, "deal_total"],
    ["too fine", { deal_total: "1.001" }, "deal_total"],
    ["too large", { deal_total: 2_147_483_648 }, "deal_total"]
  ])("a deal is refused: %s", async (_, body, named) => {
    const job = await played({}, [{ unit_price: 100 }])
    const got = await world.list.post(`/opportunities/${job.id}/deal_price`, body)
    expect([got.status, fields(got)]).toEqual([422, [named]])
  })
  it("a deal in yen has no decimals, unless told otherwise in none", async () => {
    await world.list.post("/exchange_rates", {
      source_currency_code: "JPY",
      target_currency_code: "GBP",
      rate: "0.005",
      effective_at: "2026-01-01T00:00:00Z"
    })
    const job = await played({ currency: "JPY" }, [{ unit_price: 100 }])
    expect(
      (await world.list.post(`/opportunities/${job.id}/deal_price`, { deal_total: "90" })).body.opportunity.charge_total
    ).toBe("90")
    expect((await world.list.post(`/opportunities/${job.id}/deal_price`, { deal_total: "90.5" })).status).toBe(422)
  })
  it("deal and locks exclude each other, and the tax lock keeps the tax while nets move", async () => {
    const { list } = world
    const job = await played({}, [{ class: "standard", unit_price: "100.00" }])
    const path = `/opportunities/${job.id}`
    await list.post(`${path}/deal_price`, { deal_total: "50.00" })
    const lock = await list.post(`${path}/lock_locks`)
    expect([lock.status, fields(lock)]).toEqual([422, ["opportunity"]])
    await list.remove(`${path}/deal_price`)
    expect((await list.post(`${path}/lock_locks`)).body.opportunity).toMatchObject({
      exchange_rate_locked: true,
      tax_locked: true,
      pricing_locked: true
    })
    const again = await list.post(`${path}/lock_locks`)
    expect([again.status, fields(again)]).toEqual([422, ["state"]])
    const opportunity = await list.post(`${path}/deal_price`, { deal_total: "50.00" })
    expect([opportunity.status, fields(opportunity)]).toEqual([422, ["opportunity"]])
    const changed = (await list.patch(`${path}/items/${job.items[0].id}`, { unit_price: "50.00" })).body.opportunity
    expect(sums(changed)).toEqual(["50.00", "20.00", "70.00"])
    expect((await list.post(`${path}/unlock_locks`)).body.opportunity.pricing_locked).toBe(false)
    const twice = await list.post(`${path}/unlock_locks`)
    expect([twice.status, fields(twice)]).toEqual([422, ["state"]])
    expect(sums((await list.patch(`${path}/items/${job.items[0].id}`, { quantity: 2 })).body.opportunity)).toEqual([
      "100.00",
      "20.00",
      "120.00"
    ])
  })
  it("a new customer brings their own tax, unless it is locked", async () => {
    const { list } = world
    const free = (await list.made("/members", { name: "Abroad", membership_type: "organisation" })).id
    const job = await played({}, [{ class: "standard", unit_price: "100.00" }])
    expect(sums((await list.put(`/opportunities/${job.id}`, { member_id: free })).body.opportunity)).toEqual([
      "100.00",
      "0.00",
      "100.00"
    ])
    await list.post(`/opportunities/${job.id}/lock_locks`)
    expect(sums((await list.put(`/opportunities/${job.id}`, { member_id: world.member })).body.opportunity)).toEqual([
      "100.00",
      "0.00",
      "100.00"
    ])
  })
})

describe("Exchange rates (rules/rates 9.5)", () => {
  let list: PriceList
  beforeAll(async () => {
    list = await priceList()
  })
  afterAll(() => list.close())
  const rate = (source: string, target: string, value: string, more: object = {}): Promise<any> =>
    list.made("/exchange_rates", {
      source_currency_code: source,
      target_currency_code: target,
      rate: value,
      effective_at: "2026-01-01T00:00:00Z",
      ...more
    })
  const snapshot = async (currency: string): Promise<string> => (await list.job({ currency })).exchange_rate

  it("is one of the own currency, and refused where nobody knows one", async () => {
    expect(await snapshot("GBP")).toBe("1.0000000000")
    const got = await list.post("/opportunities", { subject: "A job", currency: "CHF" })
    expect([got.status, fields(got)]).toEqual([422, ["currency"]])
  })
  it("is the newest in force now, kept when a newer comes", async () => {
    await rate("USD", "GBP", "0.7")
    await rate("USD", "GBP", "0.8", { effective_at: "2026-06-01T00:00:00Z" })
    await rate("USD", "GBP", "0.9", { effective_at: "2026-07-01T00:00:00Z" })
    await rate("USD", "GBP", "0.5", { effective_at: "2026-06-10T00:00:00Z", expires_at: "2026-06-18T12:00:00Z" })
    const job = await list.job({ currency: "USD" })
    expect(job.exchange_rate).toBe("0.8000000000")
    await rate("USD", "GBP", "0.85", { effective_at: "2026-06-18T12:00:00Z" })
    await list.line(job.id, { unit_price: "10.00" })
    await list.post(`/opportunities/${job.id}/lock_locks`)
    await list.post(`/opportunities/${job.id}/unlock_locks`)
    expect((await list.get(`/opportunities/${job.id}`)).body.opportunity).toMatchObject({
      exchange_rate: "0.8000000000",
      charge_total: "30.00"
    })
    expect(await snapshot("USD")).toBe("0.8500000000")
  })
  it("is the inverse of the other way round, cut off", async () => {
    await rate("GBP", "EUR", "1.15")
    // 1 / 1.15 = 0.869565217...
    expect(await snapshot("EUR")).toMatch(/^0\.86956521(00|73)$/)
  })
})
