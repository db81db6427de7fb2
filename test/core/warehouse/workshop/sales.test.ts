/** Goods sold on orders (rules/availability 13.6): no return is awaited, and they leave the stock for good. */
import { beforeEach, describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { scanFixture } from "../scanning/fixture.ts"

const dates = { starts_at: "2026-06-18T09:00:00Z", ends_at: "2026-06-20T17:00:00Z" }
const sale = { transaction_type: 1 }
const complete = 5

describe.each(engines)("goods sold on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)
  beforeEach(() => w.app.setClock("2026-06-18T12:00:00.000Z"))

  const tape = async (held = 100) => {
    const sku = `TAPE-${s.next()}`
    const id = await w.product({ sku, product_type: "sale", allowed_stock_type: 3 })
    return { id, sku, level: await w.hold(id, held) }
  }
  const labelled = async (product_id: number) => {
    const unit = await w.labelled(product_id)
    return { id: unit.id, product_id, code: unit.asset_number ?? "" }
  }
  const to = (order: { id: number }, status: number) =>
    w.post(`/opportunities/${order.id}/change_status`, { status, reason: null })
  const reopen = (order: { id: number }) => w.must("POST", `/opportunities/${order.id}/reopen`)
  const figures = async (product_id: number, level: number) => {
    const { available } = await w.show(`/availability?product_id=${product_id}&store_id=1&date=2026-06-19`)
    return { available, held: (await w.show(`/stock_levels/${level}`)).quantity_held }
  }
  const ledger = async (product_id: number, level: number) =>
    (await w.show(`/products/${product_id}/stock_levels/${level}/stock_transactions`)).map((row) => [
      row.transaction_type_name,
      row.quantity_move,
      row.source_type,
      row.source_id
    ])

  it("leave the ledger when their order is complete, and are back in it while it is reopened", async () => {
    const { id, level, sku } = await tape()
    const order = await s.order([{ item_id: id, quantity: 5 }], dates)
    await s.done(order, "out", `${sku}*5`)
    expect(await figures(id, level)).toEqual({ available: 95, held: "100.00" })
    expect((await to(order, complete)).status).toBe(200)
    expect(await figures(id, level)).toEqual({ available: 95, held: "95.00" })
    expect((await ledger(id, level))[0]).toEqual(["Sell", "-5.0", "Opportunity", order.id])
    await reopen(order)
    expect(await figures(id, level)).toEqual({ available: 95, held: "100.00" })
    await s.done(order, "in", `${sku}*2`)
    expect((await to(order, complete)).status).toBe(200)
    expect(await figures(id, level)).toEqual({ available: 97, held: "97.00" })
    await w.must("DELETE", `/opportunities/${order.id}`)
    expect(await figures(id, level)).toEqual({ available: 97, held: "97.00" })
  })

  it("are not late, unlike goods on hire of the same order", async () => {
    const { id, sku } = await tape()
    const lamp = await w.product({ sku: `LAMP-${s.next()}` })
    await w.hold(lamp, 10)
    const unit = await labelled(await w.serialised())
    const sold = await s.order(
      [
        { item_id: id, quantity: 5 },
        { item_id: unit.product_id, ...sale }
      ],
      dates
    )
    const mixed = await s.order(
      [
        { item_id: id, quantity: 5 },
        { item_id: lamp, quantity: 2 }
      ],
      dates
    )
    for (const order of [sold, mixed]) await s.done(order, "out", `${sku}*5`)
    await s.done(sold, "out", unit.code)
    const { sku: lamps } = await w.show(`/products/${lamp}`)
    await s.done(mixed, "out", `${lamps}*2`)
    w.app.setClock("2026-06-22T12:00:00.000Z")
    const late = async () => (await w.show("/today")).late.orders.map((one: { id: number }) => one.id)
    expect(await late()).toEqual([mixed.id])
    await refused(to(mixed, complete), "state")
    await s.done(mixed, "in", `${lamps}*2`)
    expect(await late()).toEqual([])
    expect((await to(mixed, complete)).status).toBe(200)
    await refused(to(sold, 6), "state")
    expect((await w.remove(`/opportunities/${sold.id}`)).status).toBe(422)
  })

  it("include units, which are sold from then on, and come back to an order that is reopened", async () => {
    const product = await w.serialised()
    const unit = await labelled(product)
    const order = await s.order([{ item_id: product, ...sale }], dates)
    await s.done(order, "out", unit.code)
    expect(await figures(product, unit.id)).toMatchObject({ available: 0, held: "1.00" })
    expect((await to(order, complete)).status).toBe(200)
    expect(await figures(product, unit.id)).toEqual({ available: 0, held: "0.00" })
    expect((await w.show(`/stock_levels/${unit.id}`)).service_state).toBe("sold")
    await reopen(order)
    expect(await figures(product, unit.id)).toEqual({ available: 0, held: "1.00" })
    await s.done(order, "in", unit.code, { finalise: true })
    expect((await to(order, complete)).status).toBe(200)
    expect(await figures(product, unit.id)).toEqual({ available: 1, held: "1.00" })
    expect((await w.show(`/stock_levels/${unit.id}`)).service_state).toBe("in_service")
  })

  it("are posted once where somebody recorded the sale by hand", async () => {
    const { id, level, sku } = await tape()
    const order = await s.order([{ item_id: id, quantity: 5 }], dates)
    await s.done(order, "out", `${sku}*5`)
    await w.must("POST", `/stock_levels/${level}/sold`, { quantity: 3, opportunity_id: order.id })
    expect((await to(order, complete)).status).toBe(200)
    expect(await figures(id, level)).toEqual({ available: 95, held: "95.00" })
    await reopen(order)
    expect((await figures(id, level)).held).toBe("97.00")
  })

  it("include the counted parts of a kit", async () => {
    const { id, level } = await tape()
    const sku = `KIT-${s.next()}`
    const kit = await w.product({ sku })
    await w.must("POST", `/products/${kit}/components`, { component_product_id: id, quantity: 3 })
    const order = await s.order([{ item_id: kit, quantity: 4, ...sale }], dates)
    const line = `/opportunities/${order.id}/items/${order.items[0].id}/fulfilment`
    await w.must("PATCH", line, { action: "dispatch", quantity: 2 })
    expect((await to(order, complete)).status).toBe(200)
    expect(await figures(id, level)).toEqual({ available: 94, held: "94.00" })
  })

  it("are out for a stocktake before and after their order is complete", async () => {
    const { id, sku } = await tape()
    const order = await s.order([{ item_id: id, quantity: 5 }], dates)
    await s.done(order, "out", `${sku}*5`)
    const count = await w.create("/stocktakes", { store_id: 1 })
    await w.must("POST", `/stocktakes/${count.id}/scans`, { codes: [`${sku}*95`] })
    const counted = async () =>
      (await w.show(`/stocktakes/${count.id}`)).stocktake_lines.find((line) => line.product_id === id)
    expect(await counted()).toMatchObject({ expected: 95, counted: 95 })
    w.app.setClock("2026-06-18T13:00:00.000Z")
    expect((await to(order, complete)).status).toBe(200)
    expect(await counted()).toMatchObject({ expected: 95, counted: 95 })
    await w.must("POST", `/stocktakes/${count.id}/cancel`)
  })

  it("keep their order from being complete while the case they left in is out", async () => {
    const product = await w.serialised()
    const unit = await labelled(product)
    const box = await s.box([unit])
    const order = await s.order([{ item_id: product, ...sale }], dates)
    await s.done(order, "out", box.barcode)
    const errors = await refused(to(order, complete), "state")
    expect(errors.state[0]).toContain(`${unit.code} left in ${box.name}, which is still out`)
  })

  itFoldsAgain(w)
})
