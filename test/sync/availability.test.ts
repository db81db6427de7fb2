import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Device } from "../../sync/device/device.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

/** What a device says of stock without a network is what its journal says, plans and the past included. */
describe("availability on a device", () => {
  let test_server: DeviceTestServer, device: Device
  let lamp: number, pair: number, level: number
  beforeAll(async () => {
    test_server = await openDeviceTestServer()
    const post = async (path: string, body: object) => (await test_server.ask("POST", `/api/v1${path}`, body)).body
    lamp = (await post("/products", { name: "Lamp" })).product.id
    level = (await test_server.ask("GET", `/api/v1/stock_levels?q[product_id_eq]=${lamp}`)).body.stock_levels[0].id
    await test_server.ask("PUT", `/api/v1/stock_levels/${level}`, { quantity_held: 4 })
    pair = (await post("/products", { name: "Pair" })).product.id
    await post(`/products/${pair}/components`, { component_product_id: lamp, quantity: 2 })
    device = await test_server.enrol("van")
  })
  afterAll(() => test_server.close())
  const onDevice = async (method: string, path: string, body?: object) => {
    const [at = "", query = ""] = path.split("?")
    const reply = await device.ask({
      method,
      path: `/api/v1${at}`,
      query: [...new URLSearchParams(query)] as ReadonlyArray<readonly [string, string]>,
      body: body as never
    })
    return { status: reply.status, body: reply.body as any }
  }
  const soon = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const later = () => new Promise((resolve) => setTimeout(resolve, 5))

  it("is the server's, for kits, lists, the first free window and the past; an order made offline is counted from then on", async () => {
    const store_id = 1
    const questions = (as_of: string): ReadonlyArray<readonly [string, string, object?]> => [
      ["GET", `/availability/calendar?store_id=1&from=${soon(1)}&to=${soon(5)}&include_kits=1`],
      ["GET", `/products/${pair}/availability?store_id=1&date=${soon(3)}&as_of=${as_of}`],
      [
        "POST",
        "/availability/what_if",
        { store_id, lines: [{ product_id: pair, quantity: 2, starts_at: soon(2), ends_at: soon(4) }] }
      ],
      [
        "POST",
        "/availability/earliest_fit",
        { store_id, lines: [{ product_id: pair, quantity: 2 }], from: soon(1), until: soon(20), duration_days: 2 }
      ]
    ]
    const before = new Date().toISOString()
    for (const [method, path, body] of questions(before)) {
      const there = await test_server.ask(method, `/api/v1${path}`, body)
      expect([path, there.status]).toEqual([path, 200])
      expect(await onDevice(method, path, body)).toEqual({ status: 200, body: there.body })
    }
    await later()
    await test_server.stop()
    const made = await onDevice("POST", "/opportunities", {
      subject: "From the van",
      store_id,
      starts_at: `${soon(2)}T00:00:00Z`,
      ends_at: `${soon(4)}T00:00:00Z`
    })
    const { id } = made.body.opportunity
    await onDevice("POST", `/opportunities/${id}/items`, {
      name: "Lamps",
      item_type: "product",
      item_id: lamp,
      quantity: 3
    })
    await onDevice("POST", `/opportunities/${id}/convert_to_quotation`, {})
    expect((await onDevice("POST", `/opportunities/${id}/convert_to_order`, {})).status).toBe(200)
    await later()
    const after = new Date().toISOString()
    const kits = async (as_of: string) =>
      (await onDevice("GET", `/products/${pair}/availability?store_id=1&date=${soon(3)}&as_of=${as_of}`)).body
        .availability.available
    expect([await kits(before), await kits(after)]).toEqual([2, 0])
    const fit = (
      await onDevice("POST", "/availability/earliest_fit", {
        store_id,
        lines: [{ product_id: pair, quantity: 1 }],
        from: soon(2),
        until: soon(20),
        duration_days: 1
      })
    ).body.earliest_fit
    expect(fit.window.starts_at.slice(0, 10)).toBe(soon(4))
    await test_server.start()
    await device.sync()
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
    for (const [method, path, body] of questions(before)) {
      expect((await onDevice(method, path, body)).body).toEqual(
        (await test_server.ask(method, `/api/v1${path}`, body)).body
      )
    }
  })
})
