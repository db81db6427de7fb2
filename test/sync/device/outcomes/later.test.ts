/**
 * The server decides later than a device recorded: what happened did so when it was recorded, and the rest is no
 * difference anybody is told of.
 */
import { expect, it, vi } from "vitest"
import { openDeviceTestServer } from "../../server.ts"

it("a unit went to quarantine when that was recorded here, however late the server hears of it", async () => {
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
    const [record] = (await server.ask("GET", "/api/v1/service_records")).body.service_records
    expect(record).toMatchObject({ starts_at: new Date(recorded).toISOString() })
    expect(record.created_at).not.toBe(record.starts_at)
  } finally {
    vi.useRealTimers()
    await server.close()
  }
})

const opened = async () => {
  const server = await openDeviceTestServer()
  const made = async (path: string, body: object = {}) => {
    const answer = await server.ask("POST", `/api/v1${path}`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return Object.values(answer.body)[0] as any
  }
  const lamp = await made("/products", { name: "Lamp", stock_method: 2 })
  const units = []
  for (const asset_number of ["L-1", "L-2"])
    units.push(await made("/stock_levels", { product_id: lamp.id, store_id: 1, asset_number }))
  const dates = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }
  const { id } = await made("/opportunities", { subject: "Gig", store_id: 1, ...dates })
  await made(`/opportunities/${id}/items`, { name: "Lamp", item_id: lamp.id, quantity: 2 })
  await made(`/opportunities/${id}/convert_to_quotation`)
  await made(`/opportunities/${id}/convert_to_order`)
  const assets = async () => (await server.ask("GET", `/api/v1/opportunities/${id}/assets`)).body.assets
  return { server, made, units, id, assets }
}

it.each([
  ["days later", -3 * 86_400_000],
  ["while this clock is an hour ahead: as the server's has it", 3_600_000]
])("what left, came back and was sealed did so when it was scanned here; sent %s", async (_, ahead_millis) => {
  const { assets, id, made, server, units } = await opened()
  try {
    const box = await made("/containers/temporary", { name: "Box", barcode: "BOX", store_id: 1 })
    await made(`/containers/${box.id}/pack`, { serialised_item_id: units[1].id })
    const device = await server.enrol("warehouse")
    vi.useFakeTimers({ toFake: ["Date"] })
    const sent = Date.now() + 60_000
    const at = (minutes: number): string => new Date(sent + ahead_millis + minutes * 60_000).toISOString()
    const ask = async (minutes: number, path: string, body: object) => {
      vi.setSystemTime(Date.parse(at(minutes)))
      const answer = await device.ask({ method: "POST", path: `/api/v1${path}`, query: [], body: body as {} })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    await ask(1, `/opportunities/${id}/scan`, { direction: "out", code: "L-1" })
    await ask(2, "/scan_in", { code: "L-1", condition: 1 })
    await ask(3, `/containers/${box.id}/seal`, {})
    vi.setSystemTime(sent)
    expect(await device.sync()).toMatchObject({ accepted: 3, conflicts: 0 })
    expect(device.told(false)).toEqual([])
    const happened = (minutes: number): string => (ahead_millis > 0 ? new Date(sent).toISOString() : at(minutes))
    expect(await assets()).toMatchObject([
      { dispatched_at: happened(1), returned_at: happened(2), checked_at: happened(2) }
    ])
    const [record] = (await server.ask("GET", "/api/v1/service_records")).body.service_records
    expect(record).toMatchObject({ starts_at: happened(2) })
    const { container } = (await server.ask("GET", `/api/v1/containers/${box.id}`)).body
    expect(container.sealed_at).toBe(happened(3))
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
