import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

describe.each(engines)("stock on %s", (engine) => {
  const w = appHouse(engine)
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const ledgerOf = (product: number, level: number) => `/products/${product}/stock_levels/${level}/stock_transactions`
  const held = async (level: number) => (await w.show(`/stock_levels/${level}`)).quantity_held

  it("has the product's category and an opening balance on a bulk level", async () => {
    const { id, level } = await w.bulk(S, 10)
    const shown = await w.get(`/stock_levels/${level}`)
    expect(shown.body.stock_level).toMatchObject({
      product_id: id,
      store_id: S,
      stock_category: 10,
      stock_category_name: "Bulk Stock",
      quantity_held: "10.00"
    })
    const ledger = await w.get(ledgerOf(id, level))
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
  it("ignores the category and the quantity sent for a unit", async () => {
    const product = (await w.create("/products", { name: "Camera", stock_method: 2 })).id
    const made = await w.post("/stock_levels", {
      product_id: product,
      store_id: S,
      stock_category: 10,
      quantity_held: 5,
      asset_number: "CAM-1"
    })
    expect(made.status).toBe(201)
    expect(made.body.stock_level).toMatchObject({ stock_category: 50, quantity_held: "1.00", asset_number: "CAM-1" })
  })
  it("has one level per store for a bulk product", async () => {
    const { id } = await w.bulk(S, 1)
    await refused(w.post("/stock_levels", { product_id: id, store_id: S }), "product_id")
    const other = await w.store()
    expect((await w.post("/stock_levels", { product_id: id, store_id: other })).status).toBe(201)
    const at = (await w.show(`/stock_levels?q[product_id_eq]=${id}&q[store_id_eq]=${other}`))[0].id
    await refused(w.put(`/stock_levels/${at}`, { store_id: S }), "store_id")
  })
  it("has unique asset and serial numbers, but not barcodes", async () => {
    const product = (await w.create("/products", { name: "Lens", stock_method: 2 })).id
    const row = { product_id: product, store_id: S, barcode: "B" }
    await w.create("/stock_levels", { ...row, asset_number: "A-1", serial_number: "S-1" })
    await refused(w.post("/stock_levels", { ...row, asset_number: "A-1" }), "asset_number")
    await refused(w.post("/stock_levels", { ...row, serial_number: "S-1" }), "serial_number")
    expect((await w.post("/stock_levels", row)).status).toBe(201)
  })
  it("is rejected by field if invalid", async () => {
    await refused(w.post("/stock_levels", {}), "product_id", "store_id")
    const bad = await w.post("/stock_levels", {
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
    const { id } = await w.units(S, 0)
    await refused(
      w.post("/stock_levels", { product_id: id, store_id: S, starts_at: "2026-07-02", ends_at: "2026-07-01" }),
      "ends_at"
    )
  })
  it("takes a quantity on update without a ledger entry, keeps text on null and clears it if empty", async () => {
    const { id, level } = await w.bulk(S, 3)
    await w.put(`/stock_levels/${level}`, { location: "A1", item_name: "Cable" })
    const put = await w.put(`/stock_levels/${level}`, { quantity_held: 8, location: "", item_name: null })
    expect(put.body.stock_level).toMatchObject({ quantity_held: "8.00", location: null, item_name: "Cable" })
    expect((await w.get(ledgerOf(id, level))).body.meta.total).toBe(1)
  })
  it("rejects deleting the last level of a bulk product, and deletes a unit with its ledger", async () => {
    const { level } = await w.bulk(S, 3)
    const at = (await w.show(`/stock_levels/${level}`)).product_id
    const first = (await w.show(`/stock_levels?q[product_id_eq]=${at}&q[store_id_eq]=1`))[0].id
    expect((await w.remove(`/stock_levels/${first}`)).status).toBe(204)
    await refused(w.remove(`/stock_levels/${level}`), "stock_level")
    const { id, units } = await w.units(S, 1)
    expect((await w.remove(`/stock_levels/${units[0]}`)).status).toBe(204)
    expect((await w.get(`/stock_levels/${units[0]}`)).status).toBe(404)
    expect((await w.get(ledgerOf(id, units[0]!))).status).toBe(404)
  })
  it("changes with each transaction, and back when the transaction is deleted", async () => {
    const { id, level } = await w.bulk(S, 0)
    const bought = await w.post(ledgerOf(id, level), { transaction_type: 4, quantity: "10.0" })
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
    const off = await w.post(ledgerOf(id, level), { transaction_type: 6, quantity: 12, description: "Burnt" })
    expect(off.body.stock_transaction).toMatchObject({ quantity: "12.0", quantity_move: "-12.0", description: "Burnt" })
    expect(await held(level)).toBe("-2.00")
    expect((await w.remove(`${ledgerOf(id, level)}/${off.body.stock_transaction.id}`)).status).toBe(204)
    expect(await held(level)).toBe("10.00")
    expect((await w.get(`${ledgerOf(id, level)}/${off.body.stock_transaction.id}`)).status).toBe(404)
  })
  it("lists the ledger newest first", async () => {
    const { id, level } = await w.bulk(S, 0)
    for (const transaction_at of ["2026-01-02", "2026-01-03", "2026-01-01"])
      await w.post(ledgerOf(id, level), { transaction_type: 5, quantity: 1, transaction_at })
    const { body } = await w.get(ledgerOf(id, level))
    expect(body.stock_transactions.map((one) => one.transaction_at?.slice(0, 10))).toEqual([
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
    ["a quantity of zero", { transaction_type: 4, quantity: 0 }, "quantity"],
    ["no quantity", { transaction_type: 4 }, "quantity"],
    ["an invalid date", { transaction_type: 4, quantity: 1, transaction_at: "soon" }, "transaction_at"]
  ])("rejects a transaction with %s", async (_, body, key) => {
    const { id, level } = await w.bulk(S, 0)
    await refused(w.post(ledgerOf(id, level), body), key)
    expect(await held(level)).toBe("0.00")
  })
  it("has one piece per unit, which a write-off removes and deleting the write-off restores", async () => {
    const { id, units } = await w.units(S, 2)
    await refused(w.post(ledgerOf(id, units[0]!), { transaction_type: 6, quantity: 2 }), "quantity")
    const total = async () => (await w.show(`/availability?product_id=${id}&store_id=${S}&date=2026-07-02`)).total_stock
    const off = await w.post(ledgerOf(id, units[0]!), { transaction_type: 6, quantity: 1 })
    expect(await total()).toBe(1)
    await w.remove(`${ledgerOf(id, units[0]!)}/${off.body.stock_transaction.id}`)
    expect(await total()).toBe(2)
  })
  it("is 404 for a level of another product and an entry of another level", async () => {
    const [one, other] = [await w.bulk(S, 1), await w.bulk(S, 1)]
    expect((await w.get(ledgerOf(other.id, one.level))).status).toBe(404)
    expect((await w.post(ledgerOf(other.id, one.level), { transaction_type: 4, quantity: 1 })).status).toBe(404)
    const line = (await w.show(ledgerOf(one.id, one.level)))[0].id
    expect((await w.get(`${ledgerOf(one.id, one.level)}/${line}`)).status).toBe(200)
    expect((await w.get(`${ledgerOf(other.id, other.level)}/${line}`)).status).toBe(404)
    expect((await w.remove(`${ledgerOf(other.id, other.level)}/${line}`)).status).toBe(404)
  })
  describe("moving a unit to another store", () => {
    const next_year = { starts_at: "2099-07-01T09:00:00Z", ends_at: "2099-07-02T09:00:00Z" }
    const moved = (unit: number, store_id: number) => w.put(`/stock_levels/${unit}`, { store_id })
    it("records a transfer out and a transfer in", async () => {
      const { id, units } = await w.units(S, 1)
      const other = await w.store()
      const reply = await moved(units[0]!, other)
      expect([reply.status, reply.body.meta]).toEqual([200, undefined])
      const ledger = await w.show(ledgerOf(id, units[0]!))
      expect(ledger).toMatchObject([
        { transaction_type_name: "Transfer In", store_id: other, quantity_move: "1.0", manual: false },
        { transaction_type_name: "Transfer Out", store_id: S, quantity_move: "-1.0", source_id: other },
        { transaction_type_name: "Opening Balance", store_id: S }
      ])
      expect(await held(units[0]!)).toBe("1.00")
      await refused(w.remove(`${ledgerOf(id, units[0]!)}/${ledger[0].id}`), "stock_transaction")
    })
    it("is rejected while the unit is out", async () => {
      const { id, units } = await w.units(1, 1)
      const order = await w.order(id, 1)
      const given = await w.allocate(order, units[0]!)
      const asset_ids = given.body.opportunity.items[0].assets.map((one) => one.id)
      await w.must("POST", `/opportunities/${order.id}/quick_book_out`, { asset_ids })
      const errors = await refused(moved(units[0]!, S), "store_id")
      expect(errors.store_id[0]).toContain("It is out with")
    })
    it("warns, is rejected or succeeds by the shortage policy if an order at its store needs the unit", async () => {
      const store = await w.store({ name: "Depot" })
      const { id, units } = await w.units(store, 2)
      const order = await w.order(id, 1, { store_id: store, ...next_year })
      await w.allocate(order, units[0]!)
      const number = Number((await w.show(`/opportunities/${order.id}`)).number)
      expect((await moved(units[1]!, S)).body.meta).toBeUndefined()
      const told = await moved(units[0]!, S)
      const warning = `Depot counts on it for "Gig ${id}" (order ${number}).`
      expect([told.status, told.body.meta?.warnings]).toEqual([200, [warning]])
      await w.must("PUT", `/stock_levels/${units[0]}`, { store_id: store })
      await w.must("PUT", `/stores/${store}`, { shortage_policy: "block" })
      const errors = await refused(moved(units[0]!, S), "store_id")
      expect(errors.store_id[0]).toContain(warning)
      await w.must("PUT", `/stores/${store}`, { shortage_policy: "allow" })
      expect((await moved(units[0]!, S)).body.meta).toBeUndefined()
    })
    it("warns about orders that need any unit of the product, although none is allocated", async () => {
      const { id, units } = await w.units(S, 2)
      await w.order(id, 2, { store_id: S, ...next_year })
      expect((await moved(units[1]!, 1)).body.meta.warnings).toHaveLength(1)
    })
  })
  it("requires stock.view and stock:read to read, stock.adjust and stock:write to change", async () => {
    const { id, level } = await w.bulk(S, 1)
    const looker = viewerWith(["stock.view"], ["stock:read"])
    expect((await w.get("/stock_levels", looker)).status).toBe(200)
    expect((await w.get(ledgerOf(id, level), looker)).status).toBe(200)
    for (const viewer of [
      looker,
      viewerWith(["stock.adjust"], ["stock:read"]),
      viewerWith(["stock.view"], ["stock:write"])
    ]) {
      expect((await w.post("/stock_levels", {}, viewer)).status).toBe(403)
      expect((await w.put(`/stock_levels/${level}`, {}, viewer)).status).toBe(403)
      expect((await w.remove(`/stock_levels/${level}`, viewer)).status).toBe(403)
      expect((await w.post(ledgerOf(id, level), {}, viewer)).status).toBe(403)
    }
    expect((await w.get("/stock_levels", viewerWith(["stock.adjust"], ["stock:write"]))).status).toBe(403)
    expect(
      (
        await w.post(
          ledgerOf(id, level),
          { transaction_type: 4, quantity: 1 },
          viewerWith(["stock.adjust"], ["stock:write"])
        )
      ).status
    ).toBe(201)
  })
  itFoldsAgain(w)
})
