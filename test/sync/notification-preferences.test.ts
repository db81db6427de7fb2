/** Notification preferences on devices: set offline, merged when two devices set them, hidden from other users. */
import { beforeAll, describe, expect, it } from "vitest"
import { notificationTypes } from "../../core/office/notifications/types.ts"
import { engines } from "../app.ts"
import type { Person } from "../rental-house.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

const own = "/notification_preferences"
const house = "/notification_settings"
const overdue = "invoice.overdue"

describe.each(engines)("notification preferences on devices, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  let office: TestDevice, dock: TestDevice, counter: TestDevice, person: Person
  const entryOf = <A extends { readonly notification_type: string }>(all: ReadonlyArray<A>) =>
    all.find((one) => one.notification_type === overdue)
  const prefer = async (device: TestDevice, entry: object, path = own) =>
    entryOf(await device.update(path, { preferences: [{ notification_type: overdue, ...entry }] }))
  const shown = async (device: TestDevice) => entryOf(await device.show(own))
  const synced = async (...devices: ReadonlyArray<TestDevice>) => {
    for (const device of devices) expect(await device.sync()).toMatchObject({ conflicts: 0, pending: 0 })
  }
  beforeAll(async () => {
    person = await server.person({ permissions: ["products.view"] })
    office = await server.enrol("office")
    dock = await server.enrol("dock")
    counter = await server.enrol("counter", person.secret)
  })

  it("apply on the server after the sync when set offline", async () => {
    const entry = { channels: { database: true, email: false, broadcast: true }, source: "preference" }
    expect(await prefer(counter, { channels: { email: false, broadcast: true } })).toMatchObject(entry)
    expect(await counter.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const { body } = await server.get(own, person.secret)
    expect(entryOf(Object.values(body)[0])).toMatchObject(entry)
    expect(await shown(counter)).toEqual(entryOf(Object.values(body)[0]))
  })
  it("set by somebody else for a user reach that user's device, which holds no other user's", async () => {
    await prefer(counter, { channels: { email: false, broadcast: true } })
    await synced(counter, office)
    const path = `/members/${person.member_id}/notification_preferences`
    const muted = { is_muted: true, channels: { email: false, broadcast: true } }
    expect(await prefer(office, { is_muted: true }, path)).toMatchObject(muted)
    await synced(office, counter)
    expect(await shown(counter)).toMatchObject(muted)
    await prefer(office, { is_muted: true })
    await synced(office, counter)
    const kept = (await counter.tables())["notification_preferences"]!
    expect(kept.map((row) => row["member_id"])).toEqual([person.member_id])
    // Members are hidden from this device: 404 here, 403 at the server.
    expect([(await counter.get(path)).status, (await server.get(path, person.secret)).status]).toEqual([404, 403])
  })
  it("all apply when two devices set different channels", async () => {
    await prefer(office, { channels: null, is_muted: false })
    await synced(office, dock)
    await prefer(office, { channels: { email: false } })
    await prefer(dock, { channels: { broadcast: true } })
    await synced(office, dock)
    await server.syncedAlike(office, dock)
    for (const device of [office, dock])
      expect(await shown(device)).toMatchObject({ channels: { database: true, email: false, broadcast: true } })
  })
  it("can be set for all types in one command, twice in a row", async () => {
    const types = notificationTypes.filter((one) => !one.is_system)
    for (const is_muted of [true, false])
      await dock.must("PUT", own, {
        preferences: types.map(({ key }) => ({ notification_type: key, channels: { database: true }, is_muted }))
      })
    expect(await dock.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    await server.syncedAlike(dock)
  })
  it("set offline for the company apply to a user without preferences, who may not change them", async () => {
    for (const change of [{ channels: null }, { is_muted: false }])
      await server.put(own, { preferences: [{ notification_type: overdue, ...change }] }, person.secret)
    const settings = [{ notification_type: overdue, channels: { database: false }, is_enabled: true }]
    const channels = { database: false, email: true, broadcast: false }
    expect(entryOf(await office.update(house, { settings }))).toMatchObject({ channels })
    await synced(office, counter)
    expect(await shown(counter)).toMatchObject({ channels, source: "setting" })
    expect([(await counter.get(house)).status, (await counter.put(house, { settings })).status]).toEqual([403, 403])
  })
  it("reach a device whose token covers nothing else, without members' names and e-mail addresses", async () => {
    const abilities = ["sync:read", "sync:write", "notification-preferences:read", "notification-preferences:write"]
    const phone = await server.enrol("phone", (await server.create("/tokens", { name: "Phone", abilities })).secret)
    const { emails, members } = await phone.tables()
    expect([emails, members!.filter((row) => row["name"] !== "")]).toEqual([[], []])
    expect(await shown(phone)).toMatchObject({ notification_type: overdue, source: "preference" })
  })
})
