/** Preferences of notifications on devices: set without a network, merged where two set one, kept from other people's. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import { notificationTypes } from "../../core/notifications/types.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

const own = "/api/v1/notification_preferences"
const house = "/api/v1/notification_settings"
const overdue = "invoice.overdue"

describe.each(engines)("preferences of notifications on devices, on %s", (engine) => {
  let grounds: DeviceTestServer, office: Device, dock: Device, counter: Device, member_id: number, token: string
  const ask = (device: Device, method: string, path: string, body?: Json) =>
    device.ask({ method, path, query: [], body })
  const rowOf = (answer: { readonly body?: unknown }): any =>
    Object.values(answer.body as object)[0].find((one: any) => one.notification_type === overdue)
  const made = async (path: string, body: object, key: string): Promise<any> => {
    const reply = await grounds.ask("POST", `/api/v1/${path}`, body)
    expect(reply.status, JSON.stringify(reply.body)).toBe(201)
    return reply.body[key]
  }
  const prefer = async (device: Device, entry: object, path = own): Promise<any> => {
    const reply = await ask(device, "PUT", path, { preferences: [{ notification_type: overdue, ...entry }] })
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return rowOf(reply)
  }
  const shown = async (device: Device, path = own): Promise<any> => rowOf(await ask(device, "GET", path))
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
    ;({ member_id, token } = await grounds.letInWith({ name: "Counter", permissions: ["products.view"] }))
    office = await grounds.enrol("office")
    dock = await grounds.enrol("dock")
    counter = await grounds.enrol("counter", token)
    for (const device of [office, dock, counter]) await device.sync()
  })
  afterAll(() => grounds.close())

  it("one's own are set without a network, and hold on the server once they are synced", async () => {
    expect(await prefer(counter, { channels: { email: false, broadcast: true } })).toMatchObject({
      channels: { database: true, email: false, broadcast: true },
      source: "preference"
    })
    expect(await shown(counter)).toMatchObject({ source: "preference" })
    expect(await counter.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const { body } = await grounds.ask("GET", own, undefined, token)
    expect(rowOf({ body })).toMatchObject({ channels: { database: true, email: false, broadcast: true } })
    await counter.sync()
    expect(await shown(counter)).toEqual(rowOf({ body }))
  })
  it("what the office sets for somebody reaches their own device, and nobody else's", async () => {
    await prefer(counter, { channels: { email: false, broadcast: true } })
    for (const device of [counter, office]) await device.sync()
    expect(
      await prefer(office, { is_muted: true }, `/api/v1/members/${member_id}/notification_preferences`)
    ).toMatchObject({ is_muted: true, channels: { broadcast: true } })
    await office.sync()
    await counter.sync()
    expect(await shown(counter)).toMatchObject({ is_muted: true, channels: { email: false, broadcast: true } })
    await prefer(office, { is_muted: true })
    await office.sync()
    await counter.sync()
    const { notification_preferences: kept } = (await grounds.replicaTables("counter")) as any
    expect(kept.map((row: any) => row.member_id)).toEqual([member_id])
    // Members are not told to this device: here there is none, at the server it is not for them.
    const path = `/api/v1/members/${member_id}/notification_preferences`
    expect((await ask(counter, "GET", path)).status).toBe(404)
    expect((await grounds.ask("GET", path, undefined, token)).status).toBe(403)
  })
  it("two devices that name different channels both count; of one channel the later counts", async () => {
    await prefer(office, { channels: null, is_muted: false })
    for (const device of [office, dock]) await device.sync()
    await prefer(office, { channels: { email: false } })
    await prefer(dock, { channels: { broadcast: true } })
    for (const device of [office, dock]) expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    for (const device of [office, dock]) await device.sync()
    for (const device of [office, dock])
      expect(await shown(device)).toMatchObject({ channels: { database: true, email: false, broadcast: true } })
    const truth = await grounds.serverTables()
    expect(await grounds.replicaTables("office")).toEqual(truth)
    expect(await grounds.replicaTables("dock")).toEqual(truth)
  })
  it("every type at once is set on a device, more than once", async () => {
    const types = notificationTypes.filter((one) => !one.is_system)
    for (const is_muted of [true, false]) {
      const preferences = types.map(({ key }) => ({ notification_type: key, channels: { database: true }, is_muted }))
      expect((await ask(dock, "PUT", own, { preferences })).status).toBe(200)
    }
    expect(await dock.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    await dock.sync()
    expect(await grounds.replicaTables("dock")).toEqual(await grounds.serverTables())
  })
  it("the house's are set without a network and hold for everybody", async () => {
    await grounds.ask("PUT", own, { preferences: [{ notification_type: overdue, channels: null }] }, token)
    await grounds.ask("PUT", own, { preferences: [{ notification_type: overdue, is_muted: false }] }, token)
    const settings = [{ notification_type: overdue, channels: { database: false }, is_enabled: true }]
    const reply = await ask(office, "PUT", house, { settings })
    expect(rowOf(reply)).toMatchObject({ channels: { database: false, email: true, broadcast: false } })
    await office.sync()
    await counter.sync()
    expect(await shown(counter)).toMatchObject({
      channels: { database: false, email: true, broadcast: false },
      source: "setting"
    })
    expect((await ask(counter, "GET", house)).status).toBe(403)
    expect((await ask(counter, "PUT", house, { settings })).status).toBe(403)
  })
  it("a token for preferences alone opens nothing of members to its device", async () => {
    const { secret } = await made(
      "tokens",
      {
        name: "Phone",
        abilities: ["sync:read", "sync:write", "notification-preferences:read", "notification-preferences:write"]
      },
      "token"
    )
    const phone = await grounds.enrol("phone", secret)
    await phone.sync()
    const { emails, members } = (await grounds.replicaTables("phone")) as any
    expect(emails).toEqual([])
    expect(members.filter((row: any) => row.name !== "")).toEqual([])
    expect(await shown(phone)).toMatchObject({ notification_type: overdue, source: "preference" })
  })
})
