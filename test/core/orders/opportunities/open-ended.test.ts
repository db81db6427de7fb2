import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"

describe.each(engines)("an order without an end, on %s", (engine) => {
  const w = appHouse(engine, undefined, "2026-06-18T12:00:00.000Z")

  it("takes its stock indefinitely, and is charged for one day until it ends (case A15)", async () => {
    const { product } = (await w.post("/products", { name: "Barrier" })).body
    const levels = await w.show(`/stock_levels?q[product_id_eq]=${product.id}`)
    await w.post(`/products/${product.id}/stock_levels/${levels[0].id}/stock_transactions`, {
      transaction_type: 4,
      quantity: 10
    })
    const { opportunity } = (
      await w.post("/opportunities", { subject: "Site", store_id: 1, starts_at: "2026-06-18T08:00:00Z" })
    ).body
    const path = `/opportunities/${opportunity.id}`
    const added = await w.post(`${path}/items`, {
      name: "Barrier",
      item_id: product.id,
      quantity: 3,
      unit_price: "5.00"
    })
    expect(added.body.opportunity.items[0]).toMatchObject({ ends_at: null, total: "15.00" })
    await w.post(`${path}/convert_to_quotation`)
    await w.post(`${path}/convert_to_order`)
    const point = await w.get(`/availability?product_id=${product.id}&store_id=1&date=2030-01-01`)
    expect(point.body.availability).toMatchObject({ total_stock: 10, total_demanded: 3, available: 7 })
  })
})
