/** Devices at the server: tokens, state, copies and revocation. */
import { cpSync, existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openDevice } from "../../../sync/device/device.ts"
import { openOutboxOf, readProfile } from "../../../sync/device/outbox/folder.ts"
import { moveUnsent } from "../../../sync/device/move-unsent.ts"
import { readUnsent } from "../../../sync/device/outbox/unsent.ts"
import { engines } from "../../app.ts"
import { serverOfEachTest, type TestDevice, token, wireCommand } from "../opening.ts"

describe.each(engines)("devices on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const { create, show } = server
  const group = (device: TestDevice, name: string) => device.create("/product_groups", { name })
  const pathOf = ({ profile }: TestDevice): string => `/sync/replicas/${profile.replica_id}`
  const revoke = (device: TestDevice) => server.must("DELETE", pathOf(device))
  const copied = (device: TestDevice, name: string) =>
    cpSync(device.folder, join(server.folder, name), { recursive: true })
  /** Moves unsent commands of a device to a new one. */
  const moved = async (from: TestDevice) => {
    const fresh = await server.enrol("fresh")
    const outbox = openOutboxOf(from.folder)
    const report = await moveUnsent(outbox.pending(), from.profile.replica_id, fresh, fresh.folder)
    outbox.close()
    return { fresh, report }
  }

  it("have their own token with the abilities of the enrolling token, and lose it with that token", async () => {
    const abilities = ["products:read", "sync:read", "sync:write"]
    const mine = await create("/tokens", { name: "mine", abilities })
    const own = (await server.enrol("van", mine.secret)).profile.token
    expect([mine.secret, token]).not.toContain(own)
    const statuses = async () => [
      (await server.get("/products", own)).status,
      (await server.get("/tokens", own)).status
    ]
    expect(await statuses()).toEqual([200, 403])
    expect((await show("/tokens")).map((one) => one.name)).toContain("Device van")
    await server.must("DELETE", `/tokens/${mine.id}`)
    expect(await statuses()).toEqual([401, 401])
  })
  it("lose all access when revoked, with the reason, while their user's token still works", async () => {
    const device = await server.enrol()
    await revoke(device)
    const refused = { message: expect.stringContaining("revoked"), errors: { replica: ["revoked"] } }
    for (const path of ["/products", "/sync/shape?table=journal&offset=-1", "/sync/replicas"])
      expect(await server.get(path, device.profile.token)).toMatchObject({ status: 403, body: refused })
    await server.must("GET", "/products")
    const commands = [wireCommand(1, "x", "y", {})]
    const pushed = await server.post("/sync/commands", { replica_id: device.profile.replica_id, commands })
    expect(pushed.status).toBe(403)
    await revoke(device)
  })
  it("delete their replica at the first sync after they were revoked, and keep unsent commands", async () => {
    const device = await server.enrol()
    await group(device, "Lighting")
    await revoke(device)
    await expect(device.sync()).rejects.toMatchObject({ kind: "revoked", status: 403 })
    expect(readdirSync(device.folder).filter((name) => name.startsWith("replica"))).toEqual([])
    const message = expect.stringContaining("1 unsent command is kept")
    await expect(openDevice(device.folder)).rejects.toMatchObject({ kind: "revoked", message })
    const kept = { n: 1, name: "product_groups.create", state: "pending", payload: { body: { name: "Lighting" } } }
    expect(readUnsent(device.folder)).toMatchObject({ unreadable: 0, commands: [kept] })
  })
  it("are visible to their own user and to users who may manage users, and answer 404 to others", async () => {
    const { secret: hers } = await server.person({ name: "Ann" })
    const [device, other] = [await server.enrol("van"), await server.enrol("hers", hers)]
    await group(device, "Lighting")
    await device.sync()
    expect((await server.get("/sync/replicas?per_page=1&sort=-id")).body).toMatchObject({
      replicas: [{ name: "hers", user_name: "Ann", last_n: 0, revoked_at: null }],
      meta: { total: 2, per_page: 1 }
    })
    const shown = { name: "van", last_n: 1, seen_at: expect.any(String), position: expect.any(Number) }
    expect(await show(pathOf(device))).toMatchObject(shown)
    expect((await server.get("/sync/replicas", hers)).body.replicas).toMatchObject([{ name: "hers" }])
    expect([
      (await server.get(pathOf(device), hers)).status,
      (await server.put(pathOf(device), { name: "mine" }, hers)).status,
      (await server.remove(pathOf(device), hers)).status
    ]).toEqual([404, 404, 404])
    const renamed = { replica: { name: "Ann's" } }
    expect(await server.must("PUT", pathOf(other), { name: "Ann's" }, hers)).toMatchObject(renamed)
    await other.sync()
    expect(readProfile(other.folder).device).toBe("Ann's")
  })
  it("are detected before they send if they are copies, and their unsent commands move to a new device", async () => {
    const device = await server.enrol()
    await group(device, "Shared")
    copied(device, "copy")
    await group(device, "Of the first")
    expect(await device.sync()).toMatchObject({ accepted: 2 })
    const copy = await server.reopen("copy")
    const { id: product_group_id } = await group(copy, "Of the copy")
    await copy.create("/products", { name: "Spot", product_group_id })
    await expect(copy.sync()).rejects.toMatchObject({ kind: "copied", status: 409 })
    expect(await show("/product_groups")).toHaveLength(2)
    const { fresh, report } = await moved(copy)
    // "Shared" was decided when the first device sent it.
    expect(report).toEqual({ moved: 2, decided: 1, left: [] })
    expect(await fresh.sync()).toMatchObject({ accepted: 2, rejected: 0 })
    const groups = await show("/product_groups")
    expect(groups.map((one) => one.name).sort()).toEqual(["Of the copy", "Of the first", "Shared"])
    const { id } = groups.find((one) => one.name === "Of the copy")!
    expect(await show("/products")).toMatchObject([{ name: "Spot", product_group_id: id }])
    // The first device continues as before.
    await group(device, "Later")
    expect(await device.sync()).toMatchObject({ accepted: 1 })
    await server.sameOn(device)
  })
  it("keep references between commands that move to a new device", async () => {
    const device = await server.enrol()
    const [kept, secondary_id] = [await device.customer({ name: "Kept" }), await device.customer({ name: "Twice" })]
    const product = await device.product()
    await device.create("/activities", { subject: "Ring them", regarding_type: "Member", regarding_id: kept })
    await device.create("/activities", { subject: "Mend it", regarding_type: "Product", regarding_id: product })
    await device.must("POST", `/members/${kept}/merge`, { secondary_id })
    await revoke(device)
    const { fresh, report } = await moved(device)
    expect(report).toEqual({ moved: 6, decided: 0, left: [] })
    expect(await fresh.sync()).toMatchObject({ accepted: 6, rejected: 0 })
    const [members, products] = [await show("/members"), await show("/products")]
    const mine = members.find((one) => one.name === "Kept")!
    expect([mine.id, products[0].id]).not.toEqual([kept, product])
    expect(await show("/activities?sort=id")).toMatchObject([
      { subject: "Ring them", regarding_type: "Member", regarding_id: mine.id },
      { subject: "Mend it", regarding_type: "Product", regarding_id: products[0].id }
    ])
    expect(members.map((one) => one.name)).not.toContain("Twice")
  })
  it("are detected if restored from an old copy, even without pending commands", async () => {
    const device = await server.enrol()
    copied(device, "restored")
    await group(device, "Sent")
    await device.sync()
    const restored = await server.reopen("restored")
    await expect(restored.sync()).rejects.toMatchObject({ kind: "copied" })
    expect(existsSync(join(restored.folder, "replica.sqlite"))).toBe(true)
  })
  it("are refused when they send with too old a release, but still pull", async () => {
    const device = await server.enrol()
    const { replica_id } = device.profile
    const commands = [wireCommand(1, "old", "product_groups.create", { name: "Old" }, { ids: { product_groups: [1] } })]
    const push = () => server.post("/sync/commands", { replica_id, commands })
    const hello = { schema_version: 0, last_n: 1, pending: [{ n: 1, id: "old" }] }
    const greeted = { push: false, copied: false, server: { client_schema_min: 1 } }
    expect(await server.must("POST", `${pathOf(device)}/hello`, hello)).toMatchObject(greeted)
    const stay = { message: expect.stringContaining("stay on the device") }
    expect(await push()).toMatchObject({ status: 426, body: stay })
    await server.must(
      "GET",
      `/sync/shape?table=journal&offset=-1&replica_id=${replica_id}`,
      undefined,
      device.profile.token
    )
    // After an update it sends.
    expect(await device.sync()).toMatchObject({ pending: 0 })
    expect(await push()).toMatchObject({ status: 200, body: { verdicts: [{ status: "accepted" }] } })
  })
})
