/** Counted goods that come back damaged, on both engines: all of them are out of service. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"
import { type ScanFixture, scanFixture } from "../scanning/fixture.ts"

describe.each(engines)("damaged counted goods on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let s: ScanFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    s = scanFixture(w)
  })
  afterAll(() => app.close())

  it("all that one scan brings back damaged on two lines is out of service", async () => {
    const sku = `CAB-${s.next()}`
    const cable = await w.product({ stock_method: 1, sku })
    const [stock] = (await w.get(`/api/v1/stock_levels?q[product_id_eq]=${cable.id}`)).body.stock_levels
    expect((await w.put(`/api/v1/stock_levels/${stock.id}`, { quantity_held: 10 })).status).toBe(200)
    const gig = await s.order([3, 2].map((quantity) => ({ item_id: cable.id, quantity })))
    expect((await s.scan(gig, "out", `${sku}*5`)).status).toBe(200)
    const back = await s.scan(gig, "in", `${sku}*5`, { condition: 1 })
    expect(back.status, JSON.stringify(back.body)).toBe(200)

    const { stock_level } = (await w.get(`/api/v1/stock_levels/${stock.id}`)).body
    expect(stock_level.out_of_service).toMatchObject([{ quantity: 3 }, { quantity: 2 }])
    const { availability } = (await w.get(`/api/v1/availability?product_id=${cable.id}&store_id=1&date=2031-07-01`))
      .body
    expect(availability).toMatchObject({ total_stock: 10, available: 5 })
  })

  it("what was counted as back and damaged by mistake is out again, and in quarantine no more", async () => {
    const sku = `CAB-${s.next()}`
    const cable = await w.product({ stock_method: 1, sku })
    const [stock] = (await w.get(`/api/v1/stock_levels?q[product_id_eq]=${cable.id}`)).body.stock_levels
    await w.put(`/api/v1/stock_levels/${stock.id}`, { quantity_held: 10 })
    const gig = await s.order([{ item_id: cable.id, quantity: 5 }])
    await s.scan(gig, "out", `${sku}*5`)
    for (const quantity of [2, 3]) await s.scan(gig, "in", `${sku}*${quantity}`, { condition: 1 })
    const open = async () => {
      const { out_of_service } = (await w.get(`/api/v1/stock_levels/${stock.id}`)).body.stock_level
      return out_of_service.map((one: { quantity: number }) => one.quantity)
    }
    expect(await open()).toEqual([2, 3])
    const revert = (quantity: number) =>
      w.patch(`/api/v1/opportunities/${gig.id}/items/${gig.items[0].id}/fulfilment`, {
        action: "revert_return",
        quantity
      })
    expect((await revert(4)).status).toBe(200)
    expect(await open()).toEqual([1])
    expect((await revert(1)).status).toBe(200)
    expect(await open()).toEqual([])
  })
})
