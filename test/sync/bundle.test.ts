/** Sync by hand: bundles carried between a device that has no network and its server. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { JsonObject } from "../../core/kernel/json.ts"
import { type Device, openDevice } from "../../sync/replica/device.ts"
import { readSealed, seal, type Sealed } from "../../sync/sealed.ts"
import { newSeed } from "../../sync/signature.ts"
import { engines } from "../app.ts"
import { type Grounds, openGrounds, token } from "./server.ts"

const write = (device: Device, method: string, path: string, body: JsonObject) => device.ask({ method, path, query: [], body })
const read = async (device: Device, path: string): Promise<any> => (await device.ask({ method: "GET", path, query: [], body: undefined })).body

describe.each(engines)("a bundle and a server on %s", (engine) => {
  let grounds: Grounds
  beforeEach(async () => { grounds = await openGrounds(engine) })
  afterEach(async () => { await grounds.close() })
  const deliver = (text: string, as?: string) => grounds.ask("POST", "/api/v1/sync/bundles", { bundle: JSON.parse(text) }, as)

  it("carries commands to the server and its verdicts and news back, a refusal among them", async () => {
    const { body: { product } } = await grounds.ask("POST", "/api/v1/products", { name: "Moving head", stock_method: 2 })
    const unit = { product_id: product.id, store_id: 1, asset_number: "MH-1" }
    const device = await grounds.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    await write(device, "POST", "/api/v1/stock_levels", unit)
    // Meanwhile somebody else takes the number, and does something of their own.
    await grounds.ask("POST", "/api/v1/stock_levels", unit)
    await grounds.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    const out = await device.bundleOut()
    expect(out).toMatchObject({ commands: 2, more: false })
    const { status, body } = await deliver(out.text)
    expect(status).toBe(200)
    expect(body.delivered).toMatchObject({ device: "van", commands: 2, accepted: 1, rejected: 1, complete: true })
    const report = await device.bundleIn(JSON.stringify(body.bundle))
    expect(report).toMatchObject({ accepted: 1, rejected: 1, pending: 0, conflicts: 1, known: false, complete: true })
    expect(await device.conflicts()).toMatchObject([{ name: "stock_levels.create", n: 2, error: { status: 422, errors: { asset_number: [expect.any(String)] } } }])
    expect((await read(device, "/api/v1/products")).products).toMatchObject([{ name: "Moving head" }, { sku: "SP-1" }])
    expect(await grounds.replicaTables("van")).toEqual(await grounds.serverTables())
    // The network comes back: nothing is sent twice.
    expect(await device.sync()).toMatchObject({ sent: 0, accepted: 0, rejected: 0, pending: 0, conflicts: 1 })
  })

  it("does the same again and again without doing anything twice", async () => {
    const device = await grounds.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const out = await device.bundleOut()
    const first = (await deliver(out.text)).body
    const second = (await deliver(out.text)).body
    expect(second.delivered).toMatchObject({ accepted: 1, rejected: 0 })
    expect((await grounds.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(1)
    expect(await device.bundleIn(JSON.stringify(first.bundle))).toMatchObject({ accepted: 1, known: false })
    expect(await device.bundleIn(JSON.stringify(first.bundle))).toMatchObject({ accepted: 0, known: true, applied_events: 0 })
    expect(await device.bundleIn(JSON.stringify(second.bundle))).toMatchObject({ accepted: 0, known: true })
    // One made before the answer came names commands that are decided: they are answered, not decided again.
    expect((await deliver(out.text)).body.delivered).toMatchObject({ accepted: 1 })
    expect(await grounds.replicaTables("van")).toEqual(await grounds.serverTables())
  })

  it("brings ids to a device whose blocks run low", async () => {
    const device = await grounds.enrol("van")
    for (let at = 0; at < 30; at++) await write(device, "POST", "/api/v1/product_groups", { name: `Group ${at}` })
    const out = await device.bundleOut()
    expect(readSealed(out.text).body["leases"]).toEqual([{ entity: "product_groups", request_no: 2 }])
    await device.bundleIn(JSON.stringify((await deliver(out.text)).body.bundle))
    for (let at = 0; at < 60; at++) expect((await write(device, "POST", "/api/v1/product_groups", { name: `More ${at}` })).status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: 60, rejected: 0 })
  })

  it("is decided as the device's user stands now, whoever carries it", async () => {
    const { body: { user } } = await grounds.ask("POST", "/api/v1/users", { name: "Ann", email: "ann@example.com", roles: ["Admin"], active: true })
    const { body: { token: hers } } = await grounds.ask("POST", "/api/v1/tokens", { name: "hers", abilities: ["*"], user_id: user.id })
    const device = await grounds.enrol("hers", hers.secret)
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const out = await device.bundleOut()
    const { body: { token: courier } } = await grounds.ask("POST", "/api/v1/tokens", { name: "courier", abilities: ["products:read"] })
    expect((await deliver(out.text, courier.secret)).status).toBe(403)
    await grounds.ask("DELETE", `/api/v1/users/${user.id}`)
    expect(await deliver(out.text)).toMatchObject({ status: 403, body: { message: expect.stringContaining("deactivated") } })
    await grounds.ask("POST", `/api/v1/users/${user.id}/activate`)
    // Her tokens died with the account, the device's own too.
    expect(await deliver(out.text)).toMatchObject({ status: 403, body: { message: expect.stringContaining("log in anew") } })
  })

  it("does no more than the token its device enrolled with opens, whatever the courier's opens", async () => {
    const enrolledWith = async (name: string, abilities: ReadonlyArray<string>) =>
      grounds.enrol(name, (await grounds.ask("POST", "/api/v1/tokens", { name, abilities })).body.token.secret)
    const sealedBy = async (device: Device, commands: ReadonlyArray<JsonObject>) => {
      const { body, made_at } = readSealed((await device.bundleOut()).text)
      return JSON.stringify(seal("commands", { ...body, commands }, device.profile.key!, made_at))
    }
    const command = (n: number, name: string, body: JsonObject): JsonObject => ({ n, id: `sealed-${n}`, name, payload: { params: {}, body }, ids: {}, issued_at: "2026-06-18T12:00:00.000Z" })
    const till = await enrolledWith("till", ["sync:read", "sync:write", "members:write"])
    const { status, body } = await deliver(await sealedBy(till, [
      command(1, "product_groups.create", { name: "Lighting" }), command(2, "members.create", { name: "Client", membership_type: "organisation" })
    ]))
    expect(status).toBe(200)
    expect(body.bundle.body.verdicts).toMatchObject([
      { status: "rejected", error: { status: 403, message: expect.stringContaining("products:write") } }, { status: "accepted" }
    ])
    expect((await grounds.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(0)
  })

  it("is refused whole when it was changed, cut off, made by another device, or is none", async () => {
    const device = await grounds.enrol("van")
    const other = await grounds.enrol("office")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const { text } = await device.bundleOut()
    const sealed = JSON.parse(text) as Sealed
    const refusal = async (bundle: unknown) => {
      const { status, body } = await grounds.ask("POST", "/api/v1/sync/bundles", { bundle })
      return [status, body.message]
    }
    const commands = (sealed.body["commands"] as ReadonlyArray<JsonObject>).map((one) => ({ ...one, payload: { params: {}, body: { name: "Forged" } } }))
    expect(await refusal({ ...sealed, body: { ...sealed.body, commands } })).toEqual([422, expect.stringContaining("changed after it was made")])
    expect(await refusal({ ...sealed, body: { ...sealed.body, replica_id: other.profile.replica_id } })).toEqual([422, expect.stringContaining("another device")])
    expect(await refusal({ ...seal("commands", { ...sealed.body, commands }, newSeed(), sealed.made_at) })).toEqual([422, expect.stringContaining("another device")])
    expect(await refusal({ ...sealed, body: { ...sealed.body, replica_id: 999 } })).toEqual([404, expect.stringContaining("another server")])
    expect(await refusal({ ...sealed, flightcase_bundle: 2 })).toEqual([422, expect.stringContaining("newer release")])
    expect(await refusal({ hello: 1 })).toEqual([422, expect.stringContaining("no bundle")])
    expect((await grounds.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(0)
    const answered = JSON.stringify((await deliver(text)).body.bundle)
    await expect(device.bundleIn(answered.slice(0, -40))).rejects.toThrow("cut off")
    await expect(device.bundleIn(answered.replace("Lighting", "Frightening"))).rejects.toThrow("changed after it was made")
    await expect(other.bundleIn(answered)).rejects.toThrow(`this device is replica ${other.profile.replica_id}`)
    await expect(device.bundleIn(text)).rejects.toThrow("This bundle was made here")
    await expect(other.bundleIn(text)).rejects.toThrow("comes from another device")
    const { body, made_at } = JSON.parse(answered) as Sealed
    await expect(device.bundleIn(JSON.stringify(seal("events", body, newSeed(), made_at)))).rejects.toThrow("not signed by the server")
    expect(await device.status()).toMatchObject({ pending: 1 })
    expect(await device.bundleIn(answered)).toMatchObject({ accepted: 1, pending: 0 })
  })

  it("holds no secret", async () => {
    const device = await grounds.enrol("van")
    const { text } = await device.bundleOut()
    const answer = JSON.stringify((await deliver(text)).body)
    for (const secret of [token, device.profile.token, device.profile.key!]) {
      expect(text).not.toContain(secret)
      expect(answer).not.toContain(secret)
    }
  })

  it("fills a device that never came to its first sync's end, and one whose grants changed", async () => {
    const device = await grounds.enrol("van")
    await grounds.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    const stale = { ...JSON.parse((await device.bundleOut()).text) as Sealed }
    // As a device that has nothing yet would say it.
    const empty = seal("commands", { ...stale.body, position: 0, offset: "-1", handle: null }, device.profile.key!, stale.made_at)
    const { body } = await deliver(JSON.stringify(empty))
    expect(body.bundle.body.pages[0]).toMatchObject({ anew: true, from: "-1" })
    expect(await device.bundleIn(JSON.stringify(body.bundle))).toMatchObject({ complete: true })
    expect(await grounds.replicaTables("van")).toEqual(await grounds.serverTables())
  })

  it("that begins where the replica is not is refused with the way on", async () => {
    const device = await grounds.enrol("van")
    cpSync(join(grounds.folder, "van"), join(grounds.folder, "backup"), { recursive: true })
    await grounds.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    await device.sync()
    const { text } = await device.bundleOut()
    await grounds.ask("POST", "/api/v1/products", { name: "Stand", sku: "ST-1" })
    const answer = JSON.stringify((await deliver(text)).body.bundle)
    const restored = grounds.keep(await openDevice(join(grounds.folder, "backup")))
    await expect(restored.bundleIn(answer)).rejects.toThrow("has not reached")
    expect(await restored.sync()).toMatchObject({ pending: 0 })
    expect(await restored.bundleIn(answer)).toMatchObject({ known: true })
    expect(await grounds.replicaTables("backup")).toEqual(await grounds.serverTables())
  })

  it("of a revoked device is not taken", async () => {
    const device = await grounds.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    const { text } = await device.bundleOut()
    await grounds.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)
    expect(await deliver(text)).toMatchObject({ status: 403, body: { message: expect.stringContaining("revoked") } })
  })
})
