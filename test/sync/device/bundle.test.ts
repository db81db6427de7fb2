/** Sync by hand: bundles carried between a device that has no network and its server. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { type Device, openDevice } from "../../../sync/device/device.ts"
import { readBundle, signBundle, type SignedBundle } from "../../../sync/protocol/bundle-format.ts"
import { newSeed } from "../../../sync/protocol/signature.ts"
import { engines } from "../../app.ts"
import { type DeviceTestServer, openDeviceTestServer, token } from "../server.ts"

const write = (device: Device, method: string, path: string, body: JsonObject) =>
  device.ask({ method, path, query: [], body })
const read = async (device: Device, path: string): Promise<any> =>
  (await device.ask({ method: "GET", path, query: [], body: undefined })).body

describe.each(engines)("a bundle and a server on %s", (engine) => {
  let test_server: DeviceTestServer
  beforeEach(async () => {
    test_server = await openDeviceTestServer(engine)
  })
  afterEach(async () => {
    await test_server.close()
  })
  const deliver = (text: string, as?: string) =>
    test_server.ask("POST", "/api/v1/sync/bundles", { bundle: JSON.parse(text) }, as)

  it("carries commands to the server and its verdicts and news back, a refusal among them", async () => {
    const {
      body: { product }
    } = await test_server.ask("POST", "/api/v1/products", { name: "Moving head", stock_method: 2 })
    const unit = { product_id: product.id, store_id: 1, asset_number: "MH-1" }
    const device = await test_server.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    await write(device, "POST", "/api/v1/stock_levels", unit)
    // Meanwhile somebody else takes the number, and does something of their own.
    await test_server.ask("POST", "/api/v1/stock_levels", unit)
    await test_server.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    const out = await device.bundleOut()
    expect(out).toMatchObject({ commands: 2, more: false })
    const { status, body } = await deliver(out.text)
    expect(status).toBe(200)
    expect(body.delivered).toMatchObject({ device: "van", commands: 2, accepted: 1, rejected: 1, complete: true })
    const report = await device.bundleIn(JSON.stringify(body.bundle))
    expect(report).toMatchObject({ accepted: 1, rejected: 1, pending: 0, conflicts: 1, known: false, complete: true })
    expect(await device.conflicts()).toMatchObject([
      { name: "stock_levels.create", n: 2, error: { status: 422, errors: { asset_number: [expect.any(String)] } } }
    ])
    expect((await read(device, "/api/v1/products")).products).toMatchObject([{ name: "Moving head" }, { sku: "SP-1" }])
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
    // The network comes back: nothing is sent twice.
    expect(await device.sync()).toMatchObject({ sent: 0, accepted: 0, rejected: 0, pending: 0, conflicts: 1 })
  })

  it("does the same again and again without doing anything twice", async () => {
    const device = await test_server.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const out = await device.bundleOut()
    const first = (await deliver(out.text)).body
    const second = (await deliver(out.text)).body
    expect(second.delivered).toMatchObject({ accepted: 1, rejected: 0 })
    expect((await test_server.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(1)
    expect(await device.bundleIn(JSON.stringify(first.bundle))).toMatchObject({ accepted: 1, known: false })
    expect(await device.bundleIn(JSON.stringify(first.bundle))).toMatchObject({
      accepted: 0,
      known: true,
      applied_events: 0
    })
    expect(await device.bundleIn(JSON.stringify(second.bundle))).toMatchObject({ accepted: 0, known: true })
    // One made before the answer came names commands that are decided: they are answered, not decided again.
    expect((await deliver(out.text)).body.delivered).toMatchObject({ accepted: 1 })
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("brings ids to a device whose blocks run low", async () => {
    const device = await test_server.enrol("van")
    for (let at = 0; at < 30; at++) await write(device, "POST", "/api/v1/product_groups", { name: `Group ${at}` })
    const out = await device.bundleOut()
    expect(readBundle(out.text).body["leases"]).toEqual([{ entity: "product_groups", request_no: 2 }])
    await device.bundleIn(JSON.stringify((await deliver(out.text)).body.bundle))
    for (let at = 0; at < 60; at++)
      expect((await write(device, "POST", "/api/v1/product_groups", { name: `More ${at}` })).status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: 60, rejected: 0 })
  })

  it("is decided as the device's user stands now, whoever carries it", async () => {
    const ann = await test_server.letIn({ name: "Ann", roles: ["Admin"] })
    const device = await test_server.enrol("hers", ann.token)
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const out = await device.bundleOut()
    const {
      body: { token: courier }
    } = await test_server.ask("POST", "/api/v1/tokens", { name: "courier", abilities: ["products:read"] })
    expect((await deliver(out.text, courier.secret)).status).toBe(403)
    await test_server.ask("DELETE", `/api/v1/users/${ann.user_id}`)
    expect(await deliver(out.text)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining("deactivated") }
    })
    await test_server.ask("POST", `/api/v1/users/${ann.user_id}/activate`)
    // Her tokens died with the account, the device's own too.
    expect(await deliver(out.text)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining("log in anew") }
    })
  })

  it("does no more than the token its device enrolled with opens, whatever the courier's opens", async () => {
    const enrolledWith = async (name: string, abilities: ReadonlyArray<string>) =>
      test_server.enrol(name, (await test_server.ask("POST", "/api/v1/tokens", { name, abilities })).body.token.secret)
    const sealedBy = async (device: Device, commands: ReadonlyArray<JsonObject>) => {
      const { body, made_at } = readBundle((await device.bundleOut()).text)
      return JSON.stringify(signBundle("commands", { ...body, commands }, device.profile.key!, made_at))
    }
    const command = (n: number, name: string, body: JsonObject): JsonObject => ({
      n,
      id: `sealed-${n}`,
      name,
      payload: { params: {}, body },
      ids: {},
      issued_at: "2026-06-18T12:00:00.000Z"
    })
    const till = await enrolledWith("till", ["sync:read", "sync:write", "members:write"])
    const { status, body } = await deliver(
      await sealedBy(till, [
        command(1, "product_groups.create", { name: "Lighting" }),
        command(2, "members.create", { name: "Client", membership_type: "organisation" })
      ])
    )
    expect(status).toBe(200)
    expect(body.bundle.body.verdicts).toMatchObject([
      { status: "rejected", error: { status: 403, message: expect.stringContaining("products:write") } },
      { status: "accepted" }
    ])
    expect((await test_server.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(0)
  })

  it("is refused whole when it was changed, cut off, made by another device, or is none", async () => {
    const device = await test_server.enrol("van")
    const other = await test_server.enrol("office")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const { text } = await device.bundleOut()
    const sealed = JSON.parse(text) as SignedBundle
    const refusal = async (bundle: unknown) => {
      const { status, body } = await test_server.ask("POST", "/api/v1/sync/bundles", { bundle })
      return [status, body.message]
    }
    const commands = (sealed.body["commands"] as ReadonlyArray<JsonObject>).map((one) => ({
      ...one,
      payload: { params: {}, body: { name: "Forged" } }
    }))
    expect(await refusal({ ...sealed, body: { ...sealed.body, commands } })).toEqual([
      422,
      expect.stringContaining("changed after it was made")
    ])
    expect(await refusal({ ...sealed, body: { ...sealed.body, replica_id: other.profile.replica_id } })).toEqual([
      422,
      expect.stringContaining("another device")
    ])
    expect(
      await refusal({ ...signBundle("commands", { ...sealed.body, commands }, newSeed(), sealed.made_at) })
    ).toEqual([422, expect.stringContaining("another device")])
    expect(await refusal({ ...sealed, body: { ...sealed.body, replica_id: 999 } })).toEqual([
      404,
      expect.stringContaining("another server")
    ])
    expect(await refusal({ ...sealed, flightcase_bundle: 2 })).toEqual([422, expect.stringContaining("newer release")])
    expect(await refusal({ hello: 1 })).toEqual([422, expect.stringContaining("no bundle")])
    expect((await test_server.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(0)
    const answered = JSON.stringify((await deliver(text)).body.bundle)
    await expect(device.bundleIn(answered.slice(0, -40))).rejects.toThrow("cut off")
    await expect(device.bundleIn(answered.replace("Lighting", "Frightening"))).rejects.toThrow(
      "changed after it was made"
    )
    await expect(other.bundleIn(answered)).rejects.toThrow(`this device is replica ${other.profile.replica_id}`)
    await expect(device.bundleIn(text)).rejects.toThrow("This bundle was made here")
    await expect(other.bundleIn(text)).rejects.toThrow("comes from another device")
    const { body, made_at } = JSON.parse(answered) as SignedBundle
    await expect(device.bundleIn(JSON.stringify(signBundle("events", body, newSeed(), made_at)))).rejects.toThrow(
      "not signed by the server"
    )
    expect(await device.status()).toMatchObject({ pending: 1 })
    expect(await device.bundleIn(answered)).toMatchObject({ accepted: 1, pending: 0 })
  })

  it("holds no secret", async () => {
    const device = await test_server.enrol("van")
    const { text } = await device.bundleOut()
    const answer = JSON.stringify((await deliver(text)).body)
    for (const secret of [token, device.profile.token, device.profile.key!]) {
      expect(text).not.toContain(secret)
      expect(answer).not.toContain(secret)
    }
  })

  it("fills a device that never came to its first sync's end, and one whose grants changed", async () => {
    const device = await test_server.enrol("van")
    await test_server.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    const stale = { ...(JSON.parse((await device.bundleOut()).text) as SignedBundle) }
    // As a device that has nothing yet would say it.
    const empty = signBundle(
      "commands",
      { ...stale.body, position: 0, offset: "-1", handle: null },
      device.profile.key!,
      stale.made_at
    )
    const { body } = await deliver(JSON.stringify(empty))
    expect(body.bundle.body.pages[0]).toMatchObject({ anew: true, from: "-1" })
    expect(await device.bundleIn(JSON.stringify(body.bundle))).toMatchObject({ complete: true })
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("that begins where the replica is not is refused with the way on", async () => {
    const device = await test_server.enrol("van")
    cpSync(join(test_server.folder, "van"), join(test_server.folder, "backup"), { recursive: true })
    await test_server.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    await device.sync()
    const { text } = await device.bundleOut()
    await test_server.ask("POST", "/api/v1/products", { name: "Stand", sku: "ST-1" })
    const answer = JSON.stringify((await deliver(text)).body.bundle)
    const restored = test_server.keep(await openDevice(join(test_server.folder, "backup")))
    await expect(restored.bundleIn(answer)).rejects.toThrow("has not reached")
    expect(await restored.sync()).toMatchObject({ pending: 0 })
    expect(await restored.bundleIn(answer)).toMatchObject({ known: true })
    expect(await test_server.replicaTables("backup")).toEqual(await test_server.serverTables())
  })

  it("of a revoked device is not taken", async () => {
    const device = await test_server.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const { text } = await device.bundleOut()
    await test_server.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)
    expect(await deliver(text)).toMatchObject({ status: 403, body: { message: expect.stringContaining("revoked") } })
  })
})
