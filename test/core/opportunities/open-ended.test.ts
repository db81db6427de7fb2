import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"

describe.each(engines)("an order that begins and has no end, on %s", (engine) => {
  let app: App
  beforeAll(async () => {
    app = await openApp(engine, "2026-06-18T12:00:00.000Z")
  })
  afterAll(() => app.close())

  it("claims its stock for good and is charged as one day until it ends (A15)", async () => {
    const { product } = (await app.call("POST", "/api/v1/products", { name: "Barrier" })).body
    const levels = (await app.call("GET", `/api/v1/stock_levels?q[product_id_eq]=${product.id}`)).body.stock_levels
    await app.call("POST", `/api/v1/products/${product.id}/stock_levels/${levels[0].id}/stock_transactions`, {
      transaction_type: 4,
      quantity: 10
    })
    const { opportunity } = (
      await app.call("POST", "/api/v1/opportunities", {
        subject: "Site",
        store_id: 1,
        starts_at: "2026-06-18T08:00:00Z"
      })
    ).body
    const path = `/api/v1/opportunities/${opportunity.id}`
    const added = await app.call("POST", `${path}/items`, {
      name: "Barrier",
      item_id: product.id,
      quantity: 3,
      unit_price: "5.00"
    })
    expect(added.body.opportunity.items[0]).toMatchObject({ ends_at: null, total: "15.00" })
    await app.call("POST", `${path}/convert_to_quotation`)
    await app.call("POST", `${path}/convert_to_order`)
    const point = await app.call("GET", `/api/v1/availability?product_id=${product.id}&store_id=1&date=2030-01-01`)
    expect(point.body.availability).toMatchObject({ total_stock: 10, total_demanded: 3, available: 7 })
  })
})
