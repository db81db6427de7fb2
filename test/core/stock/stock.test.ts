import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

describe.each(engines)("stock on %s", (engine) => {
  let app: App, business: SampleBusiness, S: number
  beforeAll(async () => {
    app = await openApp(engine)
    business = sampleBusiness(app)
    S = await business.store()
  })
  afterAll(() => app.close())
  const ledgerOf = (product: number, level: number) =>
    `/api/v1/products/${product}/stock_levels/${level}/stock_transactions`
  const held = async (level: number) =>
    (await app.call("GET", `/api/v1/stock_levels/${level}`)).body.stock_level.quantity_held

  it("a bulk level takes its category from the product and opens its ledger", async () => {
    const { id, level } = await business.bulk(S, 10)
    const shown = await app.call("GET", `/api/v1/stock_levels/${level}`)
    expect(shown.body.stock_level).toMatchObject({
      product_id: id,
      store_id: S,
      stock_category: 10,
      stock_category_name: "Bulk Stock",
      quantity_held: "10.00"
    })
    const ledger = await app.call("GET", ledgerOf(id, level))
    expect(ledger.body.stock_transactions).toMatchObject([
      {
        transaction_type: 1,
        transaction_type_name: "Opening Balance",
        quantity: "10.0",
        quantity_move: "10.0",
        manual: false
      }
    ])
    expect(ledger.body.meta).toEqual({ total: 1, per_page: 20, page: 1 })
  })
  it("a supplied category is ignored, a unit is one whatever was sent", async () => {
    const product = (await business.post("/products", { name: "Camera", stock_method: 2 })).product.id
    const made = await app.call("POST", "/api/v1/stock_levels", {
      product_id: product,
      store_id: S,
      stock_category: 10,
      quantity_held: 5,
      asset_number: "CAM-1"
    })
    expect(made.status).toBe(201)
    expect(made.body.stock_level).toMatchObject({ stock_category: 50, quantity_held: "1.00", asset_number: "CAM-1" })
  })
  it("a bulk product has one level per store", async () => {
    const { id } = await business.bulk(S, 1)
    const second = await app.call("POST", "/api/v1/stock_levels", { product_id: id, store_id: S })
    expect(second.status).toBe(422)
    expect(Object.keys(second.body.errors)).toEqual(["product_id"])
    const other = await business.store()
    expect((await app.call("POST", "/api/v1/stock_levels", { product_id: id, store_id: other })).status).toBe(201)
    const at = (await app.call("GET", `/api/v1/stock_levels?q[product_id_eq]=${id}&q[store_id_eq]=${other}`)).body
      .stock_levels[0].id
    const moved = await app.call("PUT", `/api/v1/stock_levels/${at}`, { store_id: S })
    expect(Object.keys(moved.body.errors)).toEqual(["store_id"])
  })
  it("asset and serial numbers are unique, barcodes are not", async () => {
    const product = (await business.post("/products", { name: "Lens", stock_method: 2 })).product.id
    const row = { product_id: product, store_id: S, barcode: "B" }
    await business.post("/stock_levels", { ...row, asset_number: "A-1", serial_number: "S-1" })
    const asset = await app.call("POST", "/api/v1/stock_levels", { ...row, asset_number: "A-1" })
    expect([asset.status, Object.keys(asset.body.errors)]).toEqual([422, ["asset_number"]])
    const serial = await app.call("POST", "/api/v1/stock_levels", { ...row, serial_number: "S-1" })
    expect([serial.status, Object.keys(serial.body.errors)]).toEqual([422, ["serial_number"]])
    expect((await app.call("POST", "/api/v1/stock_levels", row)).status).toBe(201)
  })
  it("bad input is told by field", async () => {
    const none = await app.call("POST", "/api/v1/stock_levels", {})
    expect([none.status, Object.keys(none.body.errors)]).toEqual([422, ["product_id", "store_id"]])
    const bad = await app.call("POST", "/api/v1/stock_levels", {
      product_id: 99_999,
      store_id: "x",
      stock_type: 3,
      quantity_held: -1,
      location: "x".repeat(256)
    })
    expect([bad.status, Object.keys(bad.body.errors).sort()]).toEqual([
      422,
      ["location", "product_id", "quantity_held", "stock_type", "store_id"]
    ])
    const { id } = await business.units(S, 0)
    const dates = await app.call("POST", "/api/v1/stock_levels", {
      product_id: id,
      store_id: S,
      starts_at: "2026-07-02",
      ends_at: "2026-07-01"
    })
    expect([dates.status, Object.keys(dates.body.errors)]).toEqual([422, ["ends_at"]])
  })
  it("an update sets the quantity without a line in the ledger; null keeps, an empty text clears", async () => {
    const { id, level } = await business.bulk(S, 3)
    await app.call("PUT", `/api/v1/stock_levels/${level}`, { location: "A1", item_name: "Cable" })
    const put = await app.call("PUT", `/api/v1/stock_levels/${level}`, {
      quantity_held: 8,
      location: "",
      item_name: null
    })
    expect(put.body.stock_level).toMatchObject({ quantity_held: "8.00", location: null, item_name: "Cable" })
    expect((await app.call("GET", ledgerOf(id, level))).body.meta.total).toBe(1)
  })
  it("the last level of a bulk product stays; a unit goes with its ledger", async () => {
    const { level } = await business.bulk(S, 3)
    const at = (await app.call("GET", `/api/v1/stock_levels/${level}`)).body.stock_level.product_id
    const first = (await app.call("GET", `/api/v1/stock_levels?q[product_id_eq]=${at}&q[store_id_eq]=1`)).body
      .stock_levels[0].id
    expect((await app.call("DELETE", `/api/v1/stock_levels/${first}`)).status).toBe(204)
    const last = await app.call("DELETE", `/api/v1/stock_levels/${level}`)
    expect([last.status, Object.keys(last.body.errors)]).toEqual([422, ["stock_level"]])
    const { id, units } = await business.units(S, 1)
    expect((await app.call("DELETE", `/api/v1/stock_levels/${units[0]}`)).status).toBe(204)
    expect((await app.call("GET", `/api/v1/stock_levels/${units[0]}`)).status).toBe(404)
    expect((await app.call("GET", ledgerOf(id, units[0]!))).status).toBe(404)
  })
  it("a purchase is added, its deletion takes it back", async () => {
    const { id, level } = await business.bulk(S, 0)
    const bought = await app.call("POST", ledgerOf(id, level), { transaction_type: 4, quantity: "10.0" })
    expect(bought.status).toBe(201)
    expect(bought.body.stock_transaction).toMatchObject({
      stock_level_id: level,
      store_id: S,
      quantity: "10.0",
      quantity_move: "10.0",
      manual: true,
      source_type: null
    })
    expect(await held(level)).toBe("10.00")
    const off = await app.call("POST", ledgerOf(id, level), { transaction_type: 6, quantity: 12, description: "Burnt" })
    expect(off.body.stock_transaction).toMatchObject({ quantity: "12.0", quantity_move: "-12.0", description: "Burnt" })
    expect(await held(level)).toBe("-2.00")
    expect((await app.call("DELETE", `${ledgerOf(id, level)}/${off.body.stock_transaction.id}`)).status).toBe(204)
    expect(await held(level)).toBe("10.00")
    expect((await app.call("GET", `${ledgerOf(id, level)}/${off.body.stock_transaction.id}`)).status).toBe(404)
  })
  it("the ledger is listed newest first", async () => {
    const { id, level } = await business.bulk(S, 0)
    for (const transaction_at of ["2026-01-02", "2026-01-03", "2026-01-01"])
      await app.call("POST", ledgerOf(id, level), { transaction_type: 5, quantity: 1, transaction_at })
    const { body } = await app.call("GET", ledgerOf(id, level))
    expect(body.stock_transactions.map((one: any) => one.transaction_at.slice(0, 10))).toEqual([
      "2026-01-03",
      "2026-01-02",
      "2026-01-01"
    ])
  })
  it.each([
    ["an unknown type", { transaction_type: 999, quantity: 1 }, "transaction_type"],
    ["a system type", { transaction_type: 1, quantity: 1 }, "transaction_type"],
    ["no type", { quantity: 1 }, "transaction_type"],
    ["a fraction", { transaction_type: 4, quantity: 2.5 }, "quantity"],
    ["nothing", { transaction_type: 4, quantity: 0 }, "quantity"],
    ["no quantity", { transaction_type: 4 }, "quantity"],
    ["a date that is none", { transaction_type: 4, quantity: 1, transaction_at: "soon" }, "transaction_at"]
  ])("%s is refused", async (_, body, key) => {
    const { id, level } = await business.bulk(S, 0)
    const reply = await app.call("POST", ledgerOf(id, level), body)
    expect([reply.status, Object.keys(reply.body.errors)]).toEqual([422, [key]])
    expect(await held(level)).toBe("0.00")
  })
  it("a unit moves by exactly one; written off it is no stock, taken back it is", async () => {
    const { id, units } = await business.units(S, 2)
    const two = await app.call("POST", ledgerOf(id, units[0]!), { transaction_type: 6, quantity: 2 })
    expect([two.status, Object.keys(two.body.errors)]).toEqual([422, ["quantity"]])
    const total = async () =>
      (await app.call("GET", `/api/v1/availability?product_id=${id}&store_id=${S}&date=2026-07-02`)).body.availability
        .total_stock
    const off = await app.call("POST", ledgerOf(id, units[0]!), { transaction_type: 6, quantity: 1 })
    expect(await total()).toBe(1)
    await app.call("DELETE", `${ledgerOf(id, units[0]!)}/${off.body.stock_transaction.id}`)
    expect(await total()).toBe(2)
  })
  it("a level of another product and a line of another level are not found", async () => {
    const one = await business.bulk(S, 1),
      other = await business.bulk(S, 1)
    expect((await app.call("GET", ledgerOf(other.id, one.level))).status).toBe(404)
    expect((await app.call("POST", ledgerOf(other.id, one.level), { transaction_type: 4, quantity: 1 })).status).toBe(
      404
    )
    const line = (await app.call("GET", ledgerOf(one.id, one.level))).body.stock_transactions[0].id
    expect((await app.call("GET", `${ledgerOf(one.id, one.level)}/${line}`)).status).toBe(200)
    expect((await app.call("GET", `${ledgerOf(other.id, other.level)}/${line}`)).status).toBe(404)
    expect((await app.call("DELETE", `${ledgerOf(other.id, other.level)}/${line}`)).status).toBe(404)
  })
  it("looking needs stock.view and stock:read, changing stock.adjust and stock:write", async () => {
    const { id, level } = await business.bulk(S, 1)
    const looker = viewerWith(["stock.view"], ["stock:read"])
    expect((await app.call("GET", "/api/v1/stock_levels", undefined, looker)).status).toBe(200)
    expect((await app.call("GET", ledgerOf(id, level), undefined, looker)).status).toBe(200)
    for (const viewer of [
      looker,
      viewerWith(["stock.adjust"], ["stock:read"]),
      viewerWith(["stock.view"], ["stock:write"])
    ]) {
      expect((await app.call("POST", "/api/v1/stock_levels", {}, viewer)).status).toBe(403)
      expect((await app.call("PUT", `/api/v1/stock_levels/${level}`, {}, viewer)).status).toBe(403)
      expect((await app.call("DELETE", `/api/v1/stock_levels/${level}`, undefined, viewer)).status).toBe(403)
      expect((await app.call("POST", ledgerOf(id, level), {}, viewer)).status).toBe(403)
    }
    expect(
      (await app.call("GET", "/api/v1/stock_levels", undefined, viewerWith(["stock.adjust"], ["stock:write"]))).status
    ).toBe(403)
    expect(
      (
        await app.call(
          "POST",
          ledgerOf(id, level),
          { transaction_type: 4, quantity: 1 },
          viewerWith(["stock.adjust"], ["stock:write"])
        )
      ).status
    ).toBe(201)
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
