/** The server decides later than a device recorded: that alone is no difference anybody is told of. */
import { expect, it, vi } from "vitest"
import { openDeviceTestServer } from "../../server.ts"

it("a unit that went to quarantine by the server's clock, hours after it did here, is nothing to tell of", async () => {
  const server = await openDeviceTestServer()
  try {
    const { product } = (await server.ask("POST", "/api/v1/products", { name: "Camera", stock_method: 2 })).body
    const { stock_level } = (
      await server.ask("POST", "/api/v1/stock_levels", { product_id: product.id, store_id: 1, asset_number: "C-1" })
    ).body
    const device = await server.enrol("warehouse")
    const path = `/api/v1/stock_levels/${stock_level.id}/quarantine`
    vi.useFakeTimers({ toFake: ["Date"] })
    const recorded = Date.now() + 60_000
    vi.setSystemTime(recorded)
    const answer = await device.ask({ method: "POST", path, query: [], body: { reason: "Hums" } })
    expect(answer.status).toBe(200)
    vi.setSystemTime(recorded + 3 * 3_600_000)
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(device.told(false)).toEqual([])
  } finally {
    vi.useRealTimers()
    await server.close()
  }
})

it("a case that was made here, whose uuid is of the moment the server decided, is nothing to tell of", async () => {
  const server = await openDeviceTestServer()
  try {
    const device = await server.enrol("warehouse")
    vi.useFakeTimers({ toFake: ["Date"] })
    const recorded = Date.now() + 60_000
    vi.setSystemTime(recorded)
    const body = { name: "Case 7", barcode: "CASE-7", store_id: 1 }
    expect((await device.ask({ method: "POST", path: "/api/v1/containers", query: [], body })).status).toBe(201)
    vi.setSystemTime(recorded + 3 * 3_600_000)
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(device.told(false)).toEqual([])
  } finally {
    vi.useRealTimers()
    await server.close()
  }
})
