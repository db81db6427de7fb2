import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"

describe.each(engines)("an order without an end, on %s", (engine) => {
  const w = appHouse(engine, undefined, "2026-06-18T12:00:00.000Z")

  it("still takes its stock years later, and is charged for one day", async () => {
    const product = await w.product()
    await w.hold(product, 10)
    const line = { name: "Barrier", item_id: product, quantity: 3, unit_price: "5.00" }
    const { id, items } = await w.deal({ starts_at: "2026-06-18T08:00:00Z" }, line)
    expect(items[0]).toMatchObject({ ends_at: null, total: "15.00" })
    await w.confirm(id)
    const point = await w.get(`/availability?product_id=${product}&store_id=1&date=2030-01-01`)
    expect(point.body.availability).toMatchObject({ total_stock: 10, total_demanded: 3, available: 7 })
  })
})
