import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"

describe.each(engines)("products on %s", (engine) => {
  let app: App
  beforeAll(async () => {
    app = await openApp(engine)
  })
  afterAll(() => app.close())

  it("a bulk product gets an empty stock level at the default store", async () => {
    const made = await app.call("POST", "/api/v1/products", {
      name: "New Speaker",
      product_type: "rental",
      replacement_charge: 10000
    })
    expect(made.status).toBe(201)
    expect(made.body.product).toMatchObject({
      name: "New Speaker",
      product_type: "rental",
      replacement_charge: "100.00",
      stock_method: 1,
      is_kit: false
    })
    const shown = await app.call("GET", `/api/v1/products/${made.body.product.id}?include=stock_levels,secretRelation`)
    expect(shown.body.product.stock_levels).toMatchObject([{ store_id: 1, quantity_held: "0.00" }])
  })
  it("a missing name is told by field", async () => {
    const made = await app.call("POST", "/api/v1/products", { stock_method: 7 })
    expect(made.status).toBe(422)
    expect(Object.keys(made.body.errors)).toEqual(["name", "stock_method"])
  })
  it("an empty text clears, null keeps", async () => {
    const { body } = await app.call("POST", "/api/v1/products", { name: "A", sku: "S-1", description: "d" })
    const cleared = await app.call("PUT", `/api/v1/products/${body.product.id}`, { sku: "", description: null })
    expect(cleared.body.product).toMatchObject({ sku: null, description: "d" })
  })
  it("a percent sign in a filter is literal", async () => {
    for (const name of ["50% off", "500"]) await app.call("POST", "/api/v1/products", { name })
    const found = await app.call("GET", "/api/v1/products?q[name_cont]=50%25")
    expect(found.body.products.map((one: { name: string }) => one.name)).toEqual(["50% off"])
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
