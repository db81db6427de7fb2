import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

describe.each(engines)("products on %s", (engine) => {
  const w = appHouse(engine)

  it("get an empty stock level at the default store if bulk", async () => {
    const made = await w.post("/products", { name: "New Speaker", product_type: "rental", replacement_charge: 10000 })
    expect(made.status).toBe(201)
    expect(made.body.product).toMatchObject({
      name: "New Speaker",
      product_type: "rental",
      replacement_charge: "100.00",
      stock_method: 1,
      is_kit: false
    })
    const shown = await w.get(`/products/${made.body.product.id}?include=stock_levels,secretRelation`)
    expect(shown.body.product.stock_levels).toMatchObject([{ store_id: 1, quantity_held: "0.00" }])
  })
  it("are rejected without a name and with an unknown stock method, at their fields", async () => {
    await refused(w.post("/products", { stock_method: 7 }), "name", "stock_method")
  })
  it("clear values on empty text, and keep them on null", async () => {
    const { body } = await w.post("/products", { name: "A", sku: "S-1", description: "d" })
    const cleared = await w.put(`/products/${body.product.id}`, { sku: "", description: null })
    expect(cleared.body.product).toMatchObject({ sku: null, description: "d" })
  })
  it("warn of a SKU or barcode of another product when it is set, and refuse nothing", async () => {
    const [name, sku] = ["N".repeat(255), "S".repeat(255)]
    const first = await w.post("/products", { name, sku, barcode: "B-1" })
    expect(first.body).not.toHaveProperty("meta")
    const { id } = first.body.product
    const second = await w.post("/products", { name: "B", sku, barcode: "B-1" })
    expect([second.status, second.body.meta]).toEqual([
      201,
      { warnings: [`"${name}" (id ${id}) has the sku ${sku}, too.`, `"${name}" (id ${id}) has the barcode B-1, too.`] }
    ])
    const path = `/products/${second.body.product.id}`
    expect((await w.put(path, { name: "C", sku, barcode: "B-1" })).body).not.toHaveProperty("meta")
    expect((await w.put(path, { sku: "", barcode: "B-2" })).body).not.toHaveProperty("meta")
    expect((await w.put(path, { barcode: "B-1" })).body.meta?.["warnings"]).toHaveLength(1)
    await w.remove(`/products/${id}`)
    expect((await w.put(path, { sku })).body).not.toHaveProperty("meta")
  })
  it("warn of a code that differs in capitals alone, as scanners and people take it for the same", async () => {
    const { id } = (await w.post("/products", { name: "PAR", sku: "PAR64c", barcode: "b-64" })).body.product
    expect((await w.post("/products", { name: "None", sku: "PAR-64c" })).body).not.toHaveProperty("meta")
    const { body } = await w.post("/products", { name: "Other", sku: "x", barcode: "B-64" })
    expect(body.meta).toEqual({ warnings: [`"PAR" (id ${id}) has the barcode b-64, the same but for capitals.`] })
    const own = await w.put(`/products/${id}`, { sku: "PAR64C", barcode: "b-64" })
    expect(own.body).not.toHaveProperty("meta")
    const { warnings } = (await w.put(`/products/${body.product.id}`, { sku: "par64c" })).body.meta ?? {}
    expect(warnings).toEqual([`"PAR" (id ${id}) has the sku PAR64C, the same but for capitals.`])
  })
  it("are created without a word about the products of the same code that one may not see", async () => {
    await w.post("/products", { name: "Prototype", sku: "X-1" })
    const creator = viewerWith(["products.create"], ["*"])
    const { body } = await w.app.call("POST", "/api/v1/products", { name: "Y", sku: "X-1" }, creator)
    expect(body.product).toMatchObject({ sku: "X-1" })
    expect(body).not.toHaveProperty("meta")
  })
  it("treat a percent sign in a filter literally", async () => {
    for (const name of ["50% off", "500"]) await w.post("/products", { name })
    const found = await w.get("/products?q[name_cont]=50%25")
    expect(found.body.products.map((one) => one.name)).toEqual(["50% off"])
  })
  itFoldsAgain(w)
})
