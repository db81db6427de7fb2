/** Purchase orders created offline, and costs on devices of users who may not see them. */
import { describe, expect, it } from "vitest"
import { engines, permissionsOfRole } from "../app.ts"
import { serverOfSuite } from "./opening.ts"

describe.each(engines)("purchase orders on devices, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, show } = server

  it("get their number with the sync if they were created offline", async () => {
    const supplier_id = await server.customer()
    const office = await server.enrol()
    const items = [{ name: "Truss", unit_cost: "25.00" }]
    const made = await office.create("/purchase_orders", { supplier_id, po_type: "purchase", items })
    expect(made).toMatchObject({ number: null, total: "25.00", status: "draft" })
    await office.create(`/purchase_orders/${made.id}/send`)
    expect(await office.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    await server.syncedAlike(office)
    const sent = { status: "sent", number: expect.stringMatching(/^\d{10}$/) }
    expect(await show(`/purchase_orders/${made.id}`)).toMatchObject(sent)
  })
  it("have no costs on the devices of users who may not see costs, also after changes", async () => {
    expect(permissionsOfRole("Warehouse")).not.toContain("costs.view")
    const product_id = await server.product({ sub_rental_price: "12.34" })
    const body = {
      supplier_id: await server.customer(),
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: "2026-07-05T09:00:00Z",
      items: [{ product_id, quantity: "3", discount_percent: "10" }]
    }
    const before = await create("/purchase_orders", body)
    const permissions = ["view", "create", "edit", "send"].map((one) => `purchase_orders.${one}`)
    const device = await server.enrol("blind", (await server.person({ permissions })).secret)
    const after = await create("/purchase_orders", body)
    await server.put(`/purchase_orders/${before.id}`, { items: [{ id: before.items[0].id, quantity: "5" }] })
    const own = await device.create("/purchase_orders", { ...body, items: [{ product_id, quantity: "2" }] })
    expect(own).not.toHaveProperty("total")
    expect(await device.sync()).toMatchObject({ conflicts: 0, pending: 0 })
    const { purchase_order_items, purchase_orders } = await device.tables()
    expect(purchase_orders!.map(({ id }) => id)).toContain(after.id)
    for (const { exchange_rate, subtotal, tax_total, total } of purchase_orders!)
      expect([subtotal, tax_total, total, Number(exchange_rate)]).toEqual([0, 0, 0, 1])
    for (const { discount_percent, subtotal, tax_rate, total, unit_cost } of purchase_order_items!)
      expect([unit_cost, subtotal, total, discount_percent, tax_rate]).toEqual([0, 0, 0, null, null])
    const kept = await show(`/purchase_orders/${own.id}?include=items`)
    expect([kept.total, kept.items[0].unit_cost]).toEqual(["24.68", "12.34"])
    for (const { id } of [before, after, own])
      expect(JSON.stringify(await device.show(`/purchase_orders/${id}?include=items`))).not.toMatch(
        /unit_cost|"total"|exchange_rate|tax_rate|discount_percent/
      )
  })
})
