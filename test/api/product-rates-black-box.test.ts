/** Which rate wins, which overlap, and what is refused: every expectation from rules/rates 2, 5, 6 and 7. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { fields, type PriceList, priceList } from "./price-list.ts"

describe.each(engines)("Which rate wins, on %s (rules/rates 5)", (engine) => {
  let list: PriceList, daily: number, other_store: number
  beforeAll(async () => {
    list = await priceList(engine)
    daily = await list.definition()
    other_store = (await list.made("/stores", { name: "Second depot", timezone: "Pacific/Auckland" })).id
  })
  afterAll(() => list.close())

  type Rate = {
    price: number
    store_id?: number
    transaction_type?: string
    priority?: number
    valid_from?: string
    valid_to?: string
    currency?: string
  }
  // "second" stands for the second store's id, which is known only later.
  const cases: ReadonlyArray<
    readonly [
      string,
      ReadonlyArray<Rate>,
      { start?: string; transaction_type?: string; store_id?: number },
      string | null
    ]
  > = [
    [
      "a negative priority yields to none",
      [{ price: 100, priority: -1 }, { price: 200 }, { price: 300, priority: -5 }],
      {},
      "2.00"
    ],
    [
      "a negative priority of the store yields to all stores' zero",
      [{ price: 100 }, { price: 200, store_id: 1, priority: -1 }],
      { store_id: 1 },
      "1.00"
    ],
    [
      "only negative priorities: the nearest to zero",
      [
        { price: 100, priority: -1 },
        { price: 200, priority: -2 }
      ],
      {},
      "1.00"
    ],
    [
      "the newest of the store's ties",
      [{ price: 100, store_id: 1 }, { price: 200, store_id: 1 }, { price: 300 }],
      { store_id: 1 },
      "2.00"
    ],
    [
      "the store's before a newer one of all stores",
      [{ price: 100, store_id: 1 }, { price: 200 }],
      { store_id: 1 },
      "1.00"
    ],
    ["another store's never", [{ price: 100, store_id: -1, priority: 9 }, { price: 200 }], { store_id: 1 }, "2.00"],
    ["only another store's: none", [{ price: 100, store_id: -1 }], { store_id: 1 }, null],
    ["only the store's, no store asked for: none", [{ price: 100, store_id: 1 }], {}, null],
    [
      "a past one of higher priority lets the next through",
      [{ price: 100, priority: 9, valid_to: "2026-06-14" }, { price: 200 }],
      {},
      "2.00"
    ],
    [
      "a coming one of higher priority lets the next through",
      [{ price: 100, priority: 9, valid_from: "2026-06-16" }, { price: 200 }],
      {},
      "2.00"
    ],
    [
      "until today, in its last minute",
      [{ price: 100, valid_to: "2026-06-15" }],
      { start: "2026-06-15T23:59:59Z" },
      "1.00"
    ],
    ["from today, at midnight", [{ price: 100, valid_from: "2026-06-15" }], { start: "2026-06-15T00:00:00Z" }, "1.00"],
    [
      "from today, a second before midnight",
      [{ price: 100, valid_from: "2026-06-15" }],
      { start: "2026-06-14T23:59:59Z" },
      null
    ],
    ["one day only", [{ price: 100, valid_from: "2026-06-15", valid_to: "2026-06-15" }], {}, "1.00"],
    [
      "the leap day",
      [{ price: 100, valid_from: "2028-02-29", valid_to: "2028-02-29" }],
      { start: "2028-02-29T12:00:00Z" },
      "1.00"
    ],
    [
      "the date of the submitted offset, evening in the west",
      [{ price: 100, valid_to: "2026-06-15" }],
      { start: "2026-06-15T23:30:00-02:00" },
      "1.00"
    ],
    [
      "the date of the submitted offset, morning in the east",
      [{ price: 100, valid_from: "2026-06-16" }],
      { start: "2026-06-16T00:30:00+02:00" },
      "1.00"
    ],
    [
      "the date of the submitted offset, even in a store far away",
      [{ price: 100, valid_to: "2026-06-15" }],
      { start: "2026-06-15T20:00:00Z", store_id: -1 },
      "1.00"
    ],
    [
      "rental unless told",
      [{ price: 100 }, { price: 200, transaction_type: "sale" }, { price: 300, transaction_type: "service" }],
      {},
      "1.00"
    ],
    [
      "sale when told",
      [{ price: 100 }, { price: 200, transaction_type: "sale" }, { price: 300, transaction_type: "service" }],
      { transaction_type: "sale" },
      "2.00"
    ],
    [
      "service when told",
      [
        { price: 100, priority: 9 },
        { price: 300, transaction_type: "service" }
      ],
      { transaction_type: "service" },
      "3.00"
    ],
    [
      "no falling back between types",
      [{ price: 100 }, { price: 200, transaction_type: "sale" }],
      { transaction_type: "service" },
      null
    ],
    [
      "priority before the store, store before age",
      [
        { price: 100, priority: 2 },
        { price: 200, priority: 2, store_id: 1 },
        { price: 300, priority: 2 },
        { price: 400, priority: 1, store_id: 1 }
      ],
      { store_id: 1 },
      "2.00"
    ],
    ["a price of nothing is a price", [{ price: 500 }, { price: 0, priority: 1 }], {}, "0.00"],
    ["the rate's own currency", [{ price: 500, currency: "JPY" }], {}, "500"]
  ]
  it.each(cases)("%s", async (_, rates, asked, unit_price) => {
    const product = await list.product()
    const ids: Array<number> = []
    const store = (id: number | undefined): object => (id === undefined ? {} : { store_id: id < 0 ? other_store : id })
    for (const rate of rates) {
      ids.push(
        (
          await list.made(`/products/${product}/rates`, {
            rate_definition_id: daily,
            transaction_type: "rental",
            currency: "GBP",
            ...rate,
            ...store(rate.store_id)
          })
        ).id
      )
    }
    const start = asked.start ?? "2026-06-15T10:00:00Z"
    const got = await list.calculate(product, {
      quantity: 1,
      end: "2028-03-01T00:00:00Z",
      ...asked,
      ...store(asked.store_id),
      start
    })
    expect(got.status, got.text).toBe(200)
    const { rate_breakdown: answer, meta } = got.body
    if (unit_price === null) {
      expect(answer).toMatchObject({
        currency: "GBP",
        unit_price: "0.00",
        unit_label: "days",
        per_unit_subtotal: "0.00",
        total: "0.00",
        applied_modifiers: []
      })
      expect(meta).toEqual({ resolved: false, rate_definition_id: null, product_rate_id: null })
    } else {
      expect(answer.unit_price).toBe(unit_price)
      expect(meta).toEqual({ resolved: true, rate_definition_id: daily, product_rate_id: expect.any(Number) })
      expect(ids).toContain(meta.product_rate_id)
    }
  })
  it("the next one once the winner is deleted, then none", async () => {
    const product = await list.product()
    const first = await list.made(`/products/${product}/rates`, {
      rate_definition_id: daily,
      transaction_type: "rental",
      currency: "GBP",
      price: 100
    })
    const second = await list.made(`/products/${product}/rates`, {
      rate_definition_id: daily,
      transaction_type: "rental",
      currency: "GBP",
      price: 200
    })
    const winner = async (): Promise<unknown> =>
      (await list.calculate(product, { quantity: 1, start: "2026-06-15", end: "2026-06-16" })).body.meta.product_rate_id
    expect(await winner()).toBe(second.id)
    expect((await list.remove(`/products/${product}/rates/${second.id}`)).status).toBe(204)
    expect(await winner()).toBe(first.id)
    await list.remove(`/products/${product}/rates/${first.id}`)
    expect(await winner()).toBe(null)
  })
})

describe("Overlaps (rules/rates 5)", () => {
  let list: PriceList, daily: number
  beforeAll(async () => {
    list = await priceList()
    daily = await list.definition()
  })
  afterAll(() => list.close())
  const cases: ReadonlyArray<readonly [string, object, object, boolean]> = [
    ["same store, open windows", { store_id: 1 }, { store_id: 1 }, true],
    ["another type", {}, { transaction_type: "sale" }, false],
    ["another priority", { priority: 1 }, { priority: 2 }, false],
    ["a negative priority, the same", { priority: -1 }, { priority: -1 }, true],
    ["another currency still overlaps", { currency: "GBP" }, { currency: "EUR" }, true],
    ["open start, meeting on one day", { valid_to: "2026-06-30" }, { valid_from: "2026-06-30" }, true],
    ["open start, a day apart", { valid_to: "2026-06-30" }, { valid_from: "2026-07-01" }, false],
    [
      "one within the other",
      { valid_from: "2026-01-01", valid_to: "2026-12-31" },
      { valid_from: "2026-06-01", valid_to: "2026-06-02" },
      true
    ],
    [
      "open end, later window",
      { valid_from: "2026-01-01" },
      { valid_from: "2030-01-01", valid_to: "2030-01-01" },
      true
    ],
    ["open end, earlier window", { valid_from: "2026-01-02" }, { valid_to: "2026-01-01" }, false]
  ]
  it.each(cases)("%s", async (_, existing, saved, overlaps) => {
    const product = await list.product()
    const body = { rate_definition_id: daily, transaction_type: "rental", price: 100, currency: "GBP" }
    const first = (await list.made(`/products/${product}/rates`, { ...body, ...existing })).id
    const got = await list.post(`/products/${product}/rates`, { ...body, ...saved })
    expect([got.status, got.body.meta.overlapping_rate_ids]).toEqual([201, overlaps ? [first] : []])
    expect((await list.put(`/products/${product}/rates/${first}`, {})).body.meta.overlapping_rate_ids).toEqual(
      overlaps ? [got.body.product_rate.id] : []
    )
  })
  it("are told in ascending order, never of another product", async () => {
    const body = { rate_definition_id: daily, transaction_type: "rental", price: 100, currency: "GBP" }
    const product = await list.product()
    await list.made(`/products/${await list.product()}/rates`, body)
    const ids = [
      (await list.made(`/products/${product}/rates`, body)).id,
      (await list.made(`/products/${product}/rates`, body)).id
    ]
    expect((await list.post(`/products/${product}/rates`, body)).body.meta.overlapping_rate_ids).toEqual(ids)
  })
})

describe("What a product rate takes (rules/rates 6.2, 7)", () => {
  let list: PriceList, daily: number, product: number
  beforeAll(async () => {
    list = await priceList()
    daily = await list.definition()
    product = await list.product()
  })
  afterAll(() => list.close())
  const body = (more: object): object => ({
    rate_definition_id: daily,
    transaction_type: "rental",
    price: 100,
    currency: "GBP",
    ...more
  })

  it.each<readonly [string, object, ReadonlyArray<string>]>([
    ["a currency of two letters", { currency: "GB" }, ["currency"]],
    ["a currency nobody knows", { currency: "XQZ" }, ["currency"]],
    ["a negative price", { price: -1 }, ["price"]],
    ["a price beyond 32 bits", { price: 2_147_483_648 }, ["price"]],
    ["a price with too many decimals", { price: "1.001" }, ["price"]],
    ["a yen price with decimals", { price: "1.5", currency: "JPY" }, ["price"]],
    ["a dinar price with four decimals", { price: "1.2345", currency: "KWD" }, ["price"]],
    ["no price", { price: null }, ["price"]],
    ["an empty price", { price: "" }, ["price"]],
    ["a list for a price", { price: [1] }, ["price"]],
    ["a type nobody knows", { transaction_type: "hire" }, ["transaction_type"]],
    ["an end before its start", { valid_from: "2026-02-02", valid_to: "2026-02-01" }, ["valid_to"]],
    ["a date that is none", { valid_from: "2026-02-30" }, ["valid_from"]],
    ["a store nobody knows", { store_id: 99_999 }, ["store_id"]],
    ["a definition nobody knows", { rate_definition_id: 99_999 }, ["rate_definition_id"]],
    ["a priority with a fraction", { priority: 1.5 }, ["priority"]],
    ["a priority in words", { priority: "high" }, ["priority"]]
  ])("refuses %s", async (_, more, named) => {
    const got = await list.post(`/products/${product}/rates`, body(more))
    expect([got.status, fields(got)], got.text).toEqual([422, named])
  })
  it("asks for the four it needs", async () => {
    const got = await list.post(`/products/${product}/rates`, {})
    expect([got.status, fields(got)]).toEqual([422, ["currency", "price", "rate_definition_id", "transaction_type"]])
  })
  it.each<readonly [string, object, object]>([
    ["the highest price", { price: 2_147_483_647 }, { price: "21474836.47" }],
    ["a number with a fraction as pounds", { price: 12.5 }, { price: "12.50" }],
    ["a text as pounds", { price: "12.5" }, { price: "12.50" }],
    ["an exponent as a number of pounds", { price: "1e3" }, { price: "1000.00" }],
    ["a whole number as pence", { price: 125 }, { price: "1.25" }],
    ["a text of yen", { price: "125", currency: "JPY" }, { price: "125" }],
    ["a whole number of yen", { price: 125, currency: "JPY" }, { price: "125" }],
    ["fils of a dinar", { price: 1234, currency: "KWD" }, { price: "1.234" }],
    ["a currency in small letters", { currency: "eur" }, { currency: "EUR" }],
    [
      "a type in any letters",
      { transaction_type: "SaLe" },
      { transaction_type: "sale", transaction_type_name: "Sale" }
    ],
    [
      "one day only",
      { valid_from: "2026-02-28", valid_to: "2026-02-28" },
      { valid_from: "2026-02-28", valid_to: "2026-02-28" }
    ],
    ["the leap day", { valid_from: "2028-02-29" }, { valid_from: "2028-02-29", valid_to: null }],
    ["no priority", {}, { priority: 0, store_id: null }]
  ])("takes %s", async (_, more, kept) => {
    const got = await list.post(`/products/${product}/rates`, body(more))
    expect(got.status, got.text).toBe(201)
    expect(got.body.product_rate).toMatchObject(kept)
  })
  it("on a change keeps what is not sent, and clears what may be cleared", async () => {
    const { id } = await list.made(
      `/products/${product}/rates`,
      body({ currency: "JPY", store_id: 1, valid_from: "2026-01-01", valid_to: "2026-12-31", priority: 3 })
    )
    const path = `/products/${product}/rates/${id}`
    expect((await list.put(path, { price: "125" })).body.product_rate).toMatchObject({
      price: "125",
      currency: "JPY",
      store_id: 1,
      priority: 3,
      valid_to: "2026-12-31"
    })
    const fraction = await list.put(path, { price: "12.34" })
    expect([fraction.status, fields(fraction)]).toEqual([422, ["price"]])
    const early = await list.put(path, { valid_to: "2025-12-31" })
    expect([early.status, fields(early)]).toEqual([422, ["valid_to"]])
    expect(
      (await list.put(path, { valid_to: null, valid_from: null, store_id: null, priority: -2 })).body.product_rate
    ).toMatchObject({ valid_to: null, valid_from: null, store_id: null, priority: -2, price: "125" })
    expect(
      (await list.put(path, { price: null, currency: null, transaction_type: null })).body.product_rate
    ).toMatchObject({ price: "125", currency: "JPY", transaction_type: "rental" })
  })
  it("is not found under another product", async () => {
    const { id } = await list.made(`/products/${product}/rates`, body({}))
    const elsewhere = `/products/${await list.product()}/rates/${id}`
    expect([
      (await list.get(elsewhere)).status,
      (await list.put(elsewhere, { price: 1 })).status,
      (await list.remove(elsewhere)).status
    ]).toEqual([404, 404, 404])
  })
  it.each<readonly [string, object, ReadonlyArray<string>]>([
    ["a quantity of none", { quantity: 0 }, ["quantity"]],
    ["a negative quantity", { quantity: -1 }, ["quantity"]],
    ["a quantity with a fraction", { quantity: 1.5 }, ["quantity"]],
    ["a type with a capital", { transaction_type: "Rental" }, ["transaction_type"]],
    ["a type that lines have but rates have not", { transaction_type: "sub_rental" }, ["transaction_type"]],
    ["a start that is no date", { start: "soon" }, ["start"]],
    ["a day that does not exist", { start: "2026-02-29" }, ["start"]],
    ["an end a second early", { start: "2026-03-10T00:00:01Z", end: "2026-03-10T00:00:00Z" }, ["end"]],
    ["an end early by its offset", { start: "2026-03-10T10:00:00Z", end: "2026-03-10T11:00:00+02:00" }, ["end"]],
    ["a store in words", { store_id: "main" }, ["store_id"]]
  ])("is not asked with %s", async (_, more, named) => {
    const got = await list.calculate(product, { quantity: 1, start: "2026-02-01", end: "2026-03-10", ...more })
    expect([got.status, fields(got)], got.text).toEqual([422, named])
  })
  it("is not asked of a product nobody knows", async () => {
    expect((await list.calculate(99_999, { quantity: 1, start: "2026-02-01", end: "2026-03-10" })).status).toBe(404)
    const gone = await list.product()
    await list.remove(`/products/${gone}`)
    expect((await list.calculate(gone, { quantity: 1, start: "2026-02-01", end: "2026-03-10" })).status).toBe(404)
  })
})
