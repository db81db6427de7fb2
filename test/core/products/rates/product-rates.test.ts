import { beforeAll, describe, expect, it } from "vitest"
import { rateFacts } from "../../../../core/products/rates/product-rates.ts"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { words } from "../../../words.ts"

describe.each(engines)("product rates on %s", (engine) => {
  const w = appHouse(engine)
  let base: string
  const newProduct = async (): Promise<string> => `/products/${await w.product()}`
  const daily = { rate_definition_id: 2, transaction_type: "rental", price: 5000, currency: "GBP" }
  const put = async (on: string, over: object = {}) => (await w.post(`${on}/rates`, { ...daily, ...over })).body
  const store = async (name: string): Promise<number> => (await w.create("/stores", { name })).id
  beforeAll(async () => {
    base = await newProduct()
  })

  it("are created, shown, changed and removed", async () => {
    const made = await w.post(`${base}/rates`, {
      ...daily,
      transaction_type: "RENTAL",
      currency: "gbp",
      price: "125.50",
      valid_from: "2026-01-01"
    })
    expect(made.status).toBe(201)
    const { product_rate: rate, meta } = made.body
    expect(rate).toMatchObject({
      product_id: Number(base.split("/").at(-1)),
      rate_definition_id: 2,
      store_id: null,
      transaction_type: "rental",
      transaction_type_name: "Rental",
      price: "125.50",
      currency: "GBP",
      valid_from: "2026-01-01",
      valid_to: null,
      priority: 0,
      rate_definition: null
    })
    expect(meta).toEqual({ overlapping_rate_ids: [] })
    const path = `${base}/rates/${rate.id}`
    expect((await w.show(path)).rate_definition).toEqual({ id: 2, name: "Daily Rate" })
    expect((await w.get(`${base}/rates`)).body).toMatchObject({
      product_rates: [{ id: rate.id, rate_definition: { id: 2, name: "Daily Rate" } }],
      meta: { total: 1, per_page: 20, page: 1 }
    })
    const changed = await w.put(path, { price: "99.9", valid_from: null, priority: 3 })
    expect(changed.body.product_rate).toMatchObject({
      price: "99.90",
      valid_from: null,
      priority: 3,
      transaction_type: "rental",
      rate_definition: null
    })
    const filtered = async (type: string) =>
      (await w.get(`${base}/rates?q[transaction_type_eq]=${type}`)).body.meta.total
    expect([await filtered("RENTAL"), await filtered("sale")]).toEqual([1, 0])
    expect((await w.remove(path)).status).toBe(204)
    expect((await w.get(path)).status).toBe(404)
  })
  it("keep absent fields and required ones sent as null on update, and clear optional ones", async () => {
    const kept = { price: "125", currency: "JPY", transaction_type: "rental", valid_to: "2026-12-31", store_id: 1 }
    const { product_rate: rate } = await put(base, { ...kept, valid_from: "2026-01-01", priority: 3 })
    const path = `${base}/rates/${rate.id}`
    const sent = (body: object) => w.update(path, body)
    expect(await sent({ price: null, currency: null, transaction_type: null })).toMatchObject({ ...kept, priority: 3 })
    expect(await sent({ valid_to: null, valid_from: null, store_id: null, priority: -2 })).toMatchObject({
      ...kept,
      valid_to: null,
      valid_from: null,
      store_id: null,
      priority: -2
    })
    expect(Object.keys((await w.put(path, { price: "12.34" })).body.errors)).toEqual(["price"])
    await w.remove(path)
  })
  it.each([
    [{ price: 12.5 }, { price: "12.50" }],
    [{ price: "1e3" }, { price: "1000.00" }],
    [{ price: 2_147_483_647 }, { price: "21474836.47" }],
    [{ currency: "KWD", price: 1234 }, { price: "1.234" }],
    [{ transaction_type: "SaLe" }, { transaction_type: "sale", transaction_type_name: "Sale" }],
    [{ valid_from: "2028-02-29" }, { valid_from: "2028-02-29", valid_to: null }]
  ])("are normalised on saving: %j as %j", async (over, kept) => {
    expect((await put(await newProduct(), over)).product_rate).toMatchObject(kept)
  })

  it("are read and written at the currency's own scale", async () => {
    const product = await newProduct()
    expect((await put(product, { currency: "JPY", price: 6000 })).product_rate.price).toBe("6000")
    expect((await put(product, { currency: "KWD", price: "2.468" })).product_rate.price).toBe("2.468")
    const { product_rate: yen } = await put(product, { currency: "JPY", price: "6000" })
    expect((await w.update(`${product}/rates/${yen.id}`, { price: "70" })).price).toBe("70")
    const moved = await w.put(`${product}/rates/${yen.id}`, { currency: "GBP" })
    expect([moved.status, Object.keys(moved.body.errors)]).toEqual([422, ["price"]])
    expect(await w.update(`${product}/rates/${yen.id}`, { currency: "GBP", price: 7000 })).toMatchObject({
      price: "70.00",
      currency: "GBP"
    })
    expect(await w.update(`${product}/rates/${yen.id}`, { currency: "EUR" })).toMatchObject({
      price: "70.00",
      currency: "EUR"
    })
  })

  it.each([
    [{ price: -1 }, ["price"]],
    [{ price: "1.005" }, ["price"]],
    [{ price: null }, ["price"]],
    [{ price: "1.5", currency: "JPY" }, ["price"]],
    [{ transaction_type: "sub_rental" }, ["transaction_type"]],
    [{ rate_definition_id: 9999 }, ["rate_definition_id"]],
    [{ store_id: 9999 }, ["store_id"]],
    [{ valid_from: "2026-02-30" }, ["valid_from"]],
    [{ priority: "high" }, ["priority"]],
    [{ priority: 1.5 }, ["priority"]],
    [{ valid_from: "2026-02-02", valid_to: "2026-02-01" }, ["valid_to"]]
  ])("are rejected: %j", async (over, errors) => {
    await refused(w.post(`${base}/rates`, { ...daily, ...over }), ...errors)
  })
  it("name every required field for an empty body", async () => {
    expect(Object.keys((await w.post(`${base}/rates`, {})).body.errors)).toEqual(
      words("rate_definition_id transaction_type price currency")
    )
  })
  it("reject a new end before the stored start", async () => {
    const product = await newProduct()
    const { product_rate: one } = await put(product, { valid_from: "2026-05-01", valid_to: "2026-05-01" })
    const path = `${product}/rates/${one.id}`
    expect(Object.keys((await w.put(path, { valid_to: "2026-04-30" })).body.errors)).toEqual(["valid_to"])
    expect((await w.put(path, { valid_to: "2026-04-30", valid_from: null })).status).toBe(200)
  })

  it("name overlapping rates in ascending order, on update as well", async () => {
    const product = await newProduct()
    const york = await store("York")
    const first = (await put(product)).product_rate.id
    const second = (await put(product, { currency: "EUR", valid_from: "2026-01-01", valid_to: "2026-12-31" }))
      .product_rate.id
    await put(await newProduct())
    await put(product, { priority: 1 })
    await put(product, { store_id: york })
    await put(product, { transaction_type: "sale" })
    const last = await put(product, { valid_from: "2026-12-31" })
    expect(last.meta.overlapping_rate_ids).toEqual([first, second])
    const moved = await w.put(`${product}/rates/${last.product_rate.id}`, { valid_from: "2027-01-01" })
    expect(moved.body.meta.overlapping_rate_ids).toEqual([first])
  })

  it("are 404 under another product, and under a deleted product", async () => {
    const other = await newProduct()
    const { product_rate: rate } = await put(base)
    for (const method of ["GET", "PUT", "DELETE"])
      expect((await w.call(method, `${other}/rates/${rate.id}`, {})).status).toBe(404)
    const gone = await newProduct()
    await w.remove(gone)
    expect((await w.get(`${gone}/rates`)).status).toBe(404)
    for (const product of [gone, "/products/99999"]) {
      const hire = { quantity: 1, start: "2026-02-01", end: "2026-03-10" }
      expect((await w.post(`${product}/calculate_rate`, hire)).status).toBe(404)
    }
  })

  it("prevent deleting their definition, except for archived products", async () => {
    const product = await newProduct()
    const definition = (await w.create("/rate_definitions", { name: "Own", calculation_strategy: "fixed" })).id
    await put(product, { rate_definition_id: definition })
    const included = await w.get(`/rate_definitions/${definition}?include=productRates`)
    expect(included.body.rate_definition.product_rates).toMatchObject([{ price: "50.00", rate_definition: null }])
    await refused(w.remove(`/rate_definitions/${definition}`), "rate_definition")
    await w.remove(product)
    expect((await w.remove(`/rate_definitions/${definition}`)).status).toBe(204)
  })

  it("are deleted with their store", async () => {
    const product = await newProduct()
    const leeds = await store("Leeds")
    const { product_rate: rate } = await put(product, { store_id: leeds })
    expect((await w.remove(`/stores/${leeds}`)).status).toBe(204)
    expect((await w.get(`${product}/rates/${rate.id}`)).status).toBe(404)
  })

  describe("calculate_rate", () => {
    const hire = { quantity: 2, start: "2026-02-01T09:00:00Z", end: "2026-02-04T09:00:00Z" }
    const price = async (on: string, over: object = {}) =>
      (await w.post(`${on}/calculate_rate`, { ...hire, ...over })).body

    it("prefers the highest priority, then the store's own rate, then a rate of all stores", async () => {
      const product = await newProduct()
      const bath = await store("Bath")
      const general = await put(product)
      const own = await put(product, { store_id: bath, price: 6000 })
      expect(await price(product, { store_id: bath })).toMatchObject({
        rate_breakdown: {
          currency: "GBP",
          unit_price: "60.00",
          units: 3,
          unit_label: "days",
          per_unit_subtotal: "180.00",
          quantity: 2,
          total: "360.00"
        },
        meta: { resolved: true, rate_definition_id: 2, product_rate_id: own.product_rate.id }
      })
      expect((await price(product)).meta.product_rate_id).toBe(general.product_rate.id)
      const urgent = await put(product, { priority: 1, price: 100 })
      const winner = async () => (await price(product, { store_id: bath })).meta.product_rate_id
      for (const { product_rate } of [urgent, own, general]) {
        expect(await winner()).toBe(product_rate.id)
        await w.remove(`${product}/rates/${product_rate.id}`)
      }
      expect(await winner()).toBeNull()
    })
    it("reads days and times of day in the offset that was sent", async () => {
      const product = await newProduct()
      const { id } = await w.create("/rate_definitions", {
        name: "Late",
        calculation_strategy: "period",
        base_period: "daily",
        strategy_config: { last_day_cutoff: "10:00" }
      })
      await put(product, { rate_definition_id: id, valid_from: "2026-02-01" })
      const local = { start: "2026-02-01T00:30:00+02:00", end: "2026-02-03T09:30:00+02:00" }
      const utc = { start: "2026-01-31T22:30:00Z", end: "2026-02-03T07:30:00Z" }
      // The store's own time zone does not matter.
      const far = await w.create("/stores", { name: "Far", timezone: "Pacific/Auckland" })
      expect((await price(product, { ...utc, store_id: far.id })).meta.resolved).toBe(false)
      // 00:30 to the start of the third, by the cut-off: 47.5 hours. In UTC the same hire begins a day earlier, before
      // the rate is valid.
      expect(await price(product, local)).toMatchObject({ rate_breakdown: { units: 2 }, meta: { resolved: true } })
      expect(await price(product, utc)).toMatchObject({
        rate_breakdown: { units: 3, total: "0.00" },
        meta: { resolved: false }
      })
    })
    it("requires rates.view or products.view, and rates:read or products:read", async () => {
      const ask = async (permission: string, ability: string) =>
        (await w.post(`${base}/calculate_rate`, hire, viewerWith([permission], [ability]))).status
      expect([
        await ask("rates.view", "rates:read"),
        await ask("products.view", "products:read"),
        await ask("stock.view", "rates:read"),
        await ask("rates.view", "rates:write")
      ]).toEqual([200, 200, 403, 403])
    })
  })

  it("are loaded for three products at once by store and start, with their methods", async () => {
    const [one, two, none] = [await newProduct(), await newProduct(), await newProduct()]
    const ids = [one, two, none].map((path) => Number(path.split("/").at(-1)))
    const hull = await store("Hull")
    await put(one, { valid_to: "2026-01-31" })
    const now = (await put(one, { valid_from: "2026-02-01" })).product_rate.id
    const own = (await put(two, { store_id: hull })).product_rate.id
    const found = async (store_id: number | null, start: string | null) =>
      [...(await w.app.run(rateFacts(ids, { store_id, start })))].map(([id, rates]) => [
        id,
        rates.map((rate) => rate.id)
      ])
    expect(await found(hull, "2026-02-01T00:00:00.000Z")).toEqual([
      [ids[0], [now]],
      [ids[1], [own]],
      [ids[2], []]
    ])
    expect(await found(null, "2026-02-01T00:00:00.000Z")).toEqual([
      [ids[0], [now]],
      [ids[1], []],
      [ids[2], []]
    ])
    expect((await w.app.run(rateFacts([ids[0]!], { store_id: null }))).get(ids[0]!)).toMatchObject([
      { price: 5000, method: { calculation_strategy: "period", base_period: "daily" } },
      { id: now }
    ])
    expect((await w.app.run(rateFacts([], { store_id: null }))).size).toBe(0)
  })

  itFoldsAgain(w)
})
