import { describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { appHouse, refused } from "../app-house.ts"

describe.each(engines)("very large quantities on %s", (engine) => {
  const w = appHouse(engine)
  const window = { store_id: 1, starts_at: "2031-07-01T09:00:00Z", ends_at: "2031-07-05T09:00:00Z" }
  const line = (id: number, item_id: number, quantity: number) =>
    w.post(`/opportunities/${id}/items`, { name: "Line", item_id, quantity })

  it("are refused above a million for parts of kits and accessories of products", async () => {
    const [kit, part] = [await w.product(), await w.product()]
    for (const [path, field] of [
      ["components", "component_product_id"],
      ["accessories", "accessory_product_id"]
    ] as const)
      await refused(w.post(`/products/${kit}/${path}`, { [field]: part, quantity: 1_000_001 }), "quantity")
  })
  it("are refused for a line that needs too many accessories, with or without dates", async () => {
    const [lamp, clamp] = [await w.product(), await w.product()]
    await w.create(`/products/${lamp}/accessories`, {
      accessory_product_id: clamp,
      quantity: 1_000_000,
      included: true
    })
    for (const more of [{}, window]) {
      const { id } = await w.create("/opportunities", { subject: "Big", ...more })
      await refused(line(id, lamp, 1_000_000_000), "quantity")
      const { items } = (await line(id, lamp, 2)).body.opportunity
      expect(items.map((one) => one.quantity)).toEqual(["2.00", "2000000.00"])
    }
  })
  it("are counted up to the numeric limit in nested kits", async () => {
    const [outer, inner, part] = [await w.product(), await w.product(), await w.product()]
    await w.create(`/products/${inner}/components`, { component_product_id: part, quantity: 1_000_000 })
    await w.create(`/products/${outer}/components`, { component_product_id: inner, quantity: 1_000 })
    const { id } = await w.opportunity(window)
    expect((await line(id, outer, 2)).status).toBe(201)
    await refused(line(id, outer, 3), "quantity")
    await refused(line(id, inner, 1_000_000_000), "quantity")
    await w.create(`/opportunities/${id}/convert_to_quotation`)
    await w.create(`/opportunities/${id}/convert_to_order`, { shortage_notes: "A desert" })
    const { available } = await w.show(`/products/${part}/availability?store_id=1&date=2031-07-02T12:00:00Z`)
    expect(available).toBe(-2_000_000_000)
  })
})
