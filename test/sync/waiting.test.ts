/** Lines are put on the waiting list and taken off it without a network. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

describe.each(engines)("two devices at the waiting list on %s", (engine) => {
  let grounds: DeviceTestServer, office: Device, dock: Device, path: string
  const made = async (target: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${target}`, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  const ask = async (device: Device, method: string, target: string, body?: Json): Promise<any> => {
    const { body: answer, status } = await device.ask({ method, path: target, query: [], body })
    return { ...(answer as object), status }
  }
  const sameEverywhere = async (): Promise<void> => {
    for (const device of [office, dock]) await device.sync()
    const truth = await grounds.serverTables()
    expect(await grounds.replicaTables("office")).toEqual(truth)
    expect(await grounds.replicaTables("dock")).toEqual(truth)
  }
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
    office = await grounds.enrol("office")
    dock = await grounds.enrol("dock")
    const { id } = await made("products", { name: "Hazer", stock_method: 1 }, "product")
    const job = { subject: "Hall", store_id: 1, starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }
    path = `/api/v1/opportunities/${(await made("opportunities", job, "opportunity")).id}`
    await made(`${path.slice(8)}/items`, { name: "Hazer", item_id: id, quantity: 2 }, "opportunity")
    for (const device of [office, dock]) await device.sync()
  })
  afterAll(() => grounds.close())

  it("both put the same line on it: the second is a conflict that says so", async () => {
    const body = { resolution: "waitlist", note: "Mrs Ito" }
    const waiting = [{ quantity: 2, free_quantity: 0, position: 1, note: "Mrs Ito" }]
    for (const device of [office, dock])
      expect(await ask(device, "POST", `${path}/shortages/resolve`, body)).toMatchObject({ status: 201, waiting })
    expect(await ask(office, "GET", `${path}/shortages`)).toMatchObject({ waiting })
    expect(await office.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(await dock.sync()).toMatchObject({ accepted: 0, conflicts: 1 })
    const [conflict] = await dock.conflicts()
    expect(JSON.stringify(conflict?.error)).toMatch(/waiting list already/)
    await dock.resolve(conflict?.id ?? "", { drop: true })
    await sameEverywhere()
  })
  it("one takes it off, and the other sees it", async () => {
    expect(await ask(office, "POST", `${path}/shortages/leave`, {})).toMatchObject({ status: 200, waiting: [] })
    expect((await ask(dock, "GET", `${path}/shortages`)).waiting).toHaveLength(1)
    await sameEverywhere()
    expect((await ask(dock, "GET", `${path}/shortages`)).waiting).toEqual([])
  })
})
