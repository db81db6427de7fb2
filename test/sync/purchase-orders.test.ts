/** Devices at one purchase order without a network, and what a device holds of costs its person may not see. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import { permissionsOfRole } from "../../core/users/permissions.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

const orders = "/api/v1/purchase_orders"
const ask = (
  device: Device,
  method: string,
  path: string,
  body?: Json,
  query: ReadonlyArray<readonly [string, string]> = []
) => device.ask({ method, path, query: [...query], body })

describe.each(engines)("two devices at one purchase order on %s", (engine) => {
  let grounds: DeviceTestServer, office: Device, dock: Device, supplier_id: number
  const made = async (path: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${path}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
    supplier_id = (await made("members", { name: "Rig Hire", membership_type: "organisation" }, "member")).id
    office = await grounds.enrol("office")
    dock = await grounds.enrol("dock")
  })
  afterAll(() => grounds.close())
  const draft = async () => {
    const items = [{ name: "Truss", quantity: "4", unit_cost: "25.00" }]
    const order = await made("purchase_orders", { supplier_id, po_type: "purchase", items }, "purchase_order")
    for (const device of [office, dock]) await device.sync()
    return order
  }
  const shown = async (id: number) => (await grounds.ask("GET", `${orders}/${id}?include=items`)).body.purchase_order
  const sameEverywhere = async (): Promise<void> => {
    for (const device of [office, dock]) await device.sync()
    const truth = await grounds.serverTables()
    expect(await grounds.replicaTables("office")).toEqual(truth)
    expect(await grounds.replicaTables("dock")).toEqual(truth)
  }

  it("an order that is made offline gets its number when it is synced", async () => {
    const made_offline = await ask(office, "POST", orders, {
      supplier_id,
      po_type: "purchase",
      items: [{ name: "Truss", unit_cost: "25.00" }]
    })
    expect(made_offline.status).toBe(201)
    const { purchase_order } = made_offline.body as any
    expect(purchase_order).toMatchObject({ number: null, total: "25.00", status: "draft" })
    const sent = await ask(office, "POST", `${orders}/${purchase_order.id}/send`, {})
    expect(sent.status).toBe(200)
    expect(await office.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    await sameEverywhere()
    expect(await shown(purchase_order.id)).toMatchObject({ status: "sent", number: expect.stringMatching(/^\d{10}$/) })
  })
  it("one sends it while the other cancels it: both are true", async () => {
    const { id } = await draft()
    expect((await ask(office, "POST", `${orders}/${id}/send`, {})).status).toBe(200)
    expect((await ask(dock, "POST", `${orders}/${id}/cancel`, {})).status).toBe(200)
    for (const device of [office, dock]) expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "cancelled", sent_at: expect.any(String) })
  })
  it("both receive all of it: the second delivery is a conflict that says how many are too many", async () => {
    const { id, items } = await draft()
    await made(`purchase_orders/${id}/send`, {}, "purchase_order")
    for (const device of [office, dock]) await device.sync()
    const [item] = items ?? (await shown(id)).items
    const lines = [{ item_id: item.id, quantity: "4" }]
    for (const device of [office, dock])
      expect((await ask(device, "POST", `${orders}/${id}/receive`, { lines })).status).toBe(200)
    expect(await office.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(await dock.sync()).toMatchObject({ accepted: 0, conflicts: 1 })
    const [conflict] = await dock.conflicts()
    expect(JSON.stringify(conflict?.error)).toMatch(/received in full/)
    await dock.resolve(conflict?.id ?? "", { drop: true })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ status: "received", items: [{ received_quantity: "4.00" }] })
  })
  it("one cancels it while the other changes it: the change is a conflict that says why", async () => {
    const { id } = await draft()
    expect((await ask(office, "POST", `${orders}/${id}/cancel`, {})).status).toBe(200)
    expect((await ask(dock, "PUT", `${orders}/${id}`, { subject: "More" })).status).toBe(200)
    await office.sync()
    expect(await dock.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    const [conflict] = await dock.conflicts()
    expect(conflict?.error).toMatchObject({
      errors: { status: ["The order is cancelled; only a draft can be changed."] }
    })
    await dock.resolve(conflict?.id ?? "", { drop: true })
    await sameEverywhere()
  })
  it("both change different fields: both stand", async () => {
    const { id } = await draft()
    expect((await ask(office, "PUT", `${orders}/${id}`, { subject: "Rig" })).status).toBe(200)
    expect((await ask(dock, "PUT", `${orders}/${id}`, { delivery_instructions: "Dock 2" })).status).toBe(200)
    for (const device of [office, dock]) expect(await device.sync()).toMatchObject({ conflicts: 0 })
    await sameEverywhere()
    expect(await shown(id)).toMatchObject({ subject: "Rig", delivery_instructions: "Dock 2" })
  })
})

describe.each(engines)("the device of somebody who may not see costs on %s", (engine) => {
  let grounds: DeviceTestServer
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
  })
  afterAll(() => grounds.close())
  const permissions = ["view", "create", "edit", "send"].map((one) => `purchase_orders.${one}`)
  const made = async (path: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${path}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }

  it("holds none, before and after it is told of changes; the server keeps them", async () => {
    expect(permissionsOfRole("Warehouse")).not.toContain("costs.view")
    const supplier = await made("members", { name: "Rig Hire", membership_type: "organisation" }, "member")
    const product = await made("products", { name: "Lamp", sub_rental_price: "12.34" }, "product")
    const body = {
      supplier_id: supplier.id,
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: "2026-07-05T09:00:00Z",
      items: [{ product_id: product.id, quantity: "3", discount_percent: "10" }]
    }
    const before = await made("purchase_orders", body, "purchase_order")
    const { token } = await grounds.letInWith({ name: "Bea", permissions })
    const device = await grounds.enrol("blind", token)
    const after = await made("purchase_orders", body, "purchase_order")
    await grounds.ask("PUT", `${orders}/${before.id}`, { items: [{ id: before.items[0].id, quantity: "5" }] })
    const own = await ask(device, "POST", orders, { ...body, items: [{ product_id: product.id, quantity: "2" }] })
    expect(own.status).toBe(201)
    expect(JSON.stringify(own.body)).not.toMatch(/unit_cost|"total"|exchange_rate/)
    expect(await device.sync()).toMatchObject({ conflicts: 0, pending: 0 })
    const tables: any = await grounds.replicaTables("blind")
    expect(tables.purchase_orders.map((row: any) => row.id).toSorted()).toContain(after.id)
    for (const row of tables.purchase_orders)
      expect([row.subtotal, row.tax_total, row.total, Number(row.exchange_rate)]).toEqual([0, 0, 0, 1])
    for (const row of tables.purchase_order_items)
      expect([row.unit_cost, row.subtotal, row.total, row.discount_percent, row.tax_rate]).toEqual([
        0,
        0,
        0,
        null,
        null
      ])
    const { id } = (own.body as any).purchase_order
    const kept = (await grounds.ask("GET", `${orders}/${id}?include=items`)).body.purchase_order
    expect([kept.total, kept.items[0].unit_cost]).toEqual(["24.68", "12.34"])
    for (const one of [before.id, after.id, id]) {
      const answered = await ask(device, "GET", `${orders}/${one}`, undefined, [["include", "items"]])
      expect(JSON.stringify(answered.body)).not.toMatch(/unit_cost|"total"|exchange_rate|tax_rate|discount_percent/)
    }
  })
})
