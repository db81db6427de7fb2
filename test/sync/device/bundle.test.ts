/** Sync by bundles carried between a device without a network and its server. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { newSeed, readBundle, signBundle } from "../../../sync/protocol/bundle-format.ts"
import { engines } from "../../app.ts"
import { serverOfEachTest, type TestDevice, token, wireCommand } from "../opening.ts"

type SignedBundle = ReturnType<typeof signBundle>

describe.each(engines)("a sync bundle file, server on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const { create } = server
  const deliver = (text: string, as?: string) => server.post("/sync/bundles", { bundle: JSON.parse(text) }, as)
  const answerTo = async (text: string): Promise<{ readonly text: string; readonly delivered: any }> => {
    const { bundle, delivered } = await server.must("POST", "/sync/bundles", { bundle: JSON.parse(text) })
    return { text: JSON.stringify(bundle), delivered }
  }
  const group = (device: TestDevice, name = "Lighting") => device.create("/product_groups", { name })
  const groups = async () => (await server.show("/product_groups")).length

  it("carries commands to the server, and verdicts and others' changes back", async () => {
    const unit = { product_id: await server.serialised({ name: "Head" }), store_id: 1, asset_number: "MH-1" }
    const device = await server.enrol("van")
    await group(device)
    await device.create("/stock_levels", unit)
    // Meanwhile another user takes the number and makes other changes.
    await create("/stock_levels", unit)
    await create("/products", { name: "Speaker" })
    const out = await device.bundleOut()
    expect(out).toMatchObject({ commands: 2, more: false })
    const { delivered, text } = await answerTo(out.text)
    expect(delivered).toMatchObject({ device: "van", commands: 2, accepted: 1, rejected: 1, complete: true })
    const report = { accepted: 1, rejected: 1, pending: 0, conflicts: 1, known: false, complete: true }
    expect(await device.bundleIn(text)).toMatchObject(report)
    const error = { status: 422, errors: { asset_number: [expect.any(String)] } }
    expect(await device.conflicts()).toMatchObject([{ name: "stock_levels.create", n: 2, error }])
    expect(await device.show("/products")).toMatchObject([{ name: "Head" }, { name: "Speaker" }])
    await server.sameOn(device)
    // Once the network is back, nothing is sent twice.
    expect(await device.sync()).toMatchObject({ sent: 0, accepted: 0, rejected: 0, pending: 0, conflicts: 1 })
  })
  it("takes effect once when it is delivered three times", async () => {
    const device = await server.enrol()
    await group(device)
    const out = await device.bundleOut()
    const [first, second] = [await answerTo(out.text), await answerTo(out.text)]
    expect(second.delivered).toMatchObject({ accepted: 1, rejected: 0 })
    expect(await groups()).toBe(1)
    expect(await device.bundleIn(first.text)).toMatchObject({ accepted: 1, known: false })
    expect(await device.bundleIn(first.text)).toMatchObject({ accepted: 0, known: true, applied_events: 0 })
    expect(await device.bundleIn(second.text)).toMatchObject({ accepted: 0, known: true })
    // A bundle written before the answer arrived holds decided commands: they get their verdicts again.
    expect((await answerTo(out.text)).delivered).toMatchObject({ accepted: 1 })
    await server.sameOn(device)
  })
  it("leases ids to a device whose blocks run low", async () => {
    const device = await server.enrol()
    for (let at = 0; at < 30; at++) await group(device, `Group ${at}`)
    const out = await device.bundleOut()
    expect(readBundle(out.text).body["leases"]).toEqual([{ entity: "product_groups", request_no: 2 }])
    await device.bundleIn((await answerTo(out.text)).text)
    for (let at = 0; at < 60; at++) await group(device, `More ${at}`)
    expect(await device.sync()).toMatchObject({ accepted: 60, rejected: 0 })
  })
  it("is refused if sent with a token that may not sync, or if its device's user was deactivated", async () => {
    const { secret, user_id } = await server.person({ roles: ["Admin"] })
    const device = await server.enrol("hers", secret)
    await group(device)
    const { text } = await device.bundleOut()
    const courier = await create("/tokens", { name: "courier", abilities: ["products:read"] })
    expect((await deliver(text, courier.secret)).status).toBe(403)
    const refused = (words: string) => ({ status: 403, body: { message: expect.stringContaining(words) } })
    await server.must("DELETE", `/users/${user_id}`)
    expect(await deliver(text)).toMatchObject(refused("deactivated"))
    await server.must("POST", `/users/${user_id}/activate`)
    // All tokens ended with the account, the device's too.
    expect(await deliver(text)).toMatchObject(refused("log in anew"))
  })
  it("is limited to the abilities of the token its device enrolled with", async () => {
    const abilities = ["sync:read", "sync:write", "members:write"]
    const till = await server.enrol("till", (await create("/tokens", { name: "till", abilities })).secret)
    const { body, made_at } = readBundle((await till.bundleOut()).text)
    const commands = [
      wireCommand(1, "sealed-1", "product_groups.create", { name: "Lighting" }),
      wireCommand(2, "sealed-2", "members.create", { name: "Client", membership_type: "organisation" })
    ]
    const sealed = signBundle("commands", { ...body, commands } as SignedBundle["body"], till.profile.key!, made_at)
    const error = { status: 403, message: expect.stringContaining("products:write") }
    expect(JSON.parse((await answerTo(JSON.stringify(sealed))).text).body.verdicts).toMatchObject([
      { status: "rejected", error },
      { status: "accepted" }
    ])
    expect(await groups()).toBe(0)
  })
  it("is refused completely if altered, truncated, from another device, or invalid", async () => {
    const [device, other] = [await server.enrol("van"), await server.enrol("office")]
    await group(device)
    const { text } = await device.bundleOut()
    const sealed = JSON.parse(text) as SignedBundle
    const commands = [wireCommand(1, "forged", "product_groups.create", { name: "Forged" })] as never
    const forged = signBundle("commands", { ...sealed.body, commands }, newSeed(), sealed.made_at)
    for (const [bundle, status, words] of [
      [{ ...sealed, body: { ...sealed.body, commands } }, 422, "changed after it was made"],
      [{ ...sealed, body: { ...sealed.body, replica_id: other.profile.replica_id } }, 422, "another device"],
      [forged, 422, "another device"],
      [{ ...sealed, body: { ...sealed.body, replica_id: 999 } }, 404, "another server"],
      [{ ...sealed, flightcase_bundle: 2 }, 422, "newer release"],
      [{ hello: 1 }, 422, "no bundle"]
    ] as const) {
      const refused = await server.post("/sync/bundles", { bundle })
      expect([refused.status, refused.body.message]).toEqual([status, expect.stringContaining(words)])
    }
    expect(await groups()).toBe(0)
    const { text: answered } = await answerTo(text)
    const { body, made_at } = JSON.parse(answered) as SignedBundle
    for (const [at, bundle, words] of [
      [device, answered.slice(0, -40), "cut off"],
      [device, answered.replace("Lighting", "Frightening"), "changed after it was made"],
      [other, answered, `this device is replica ${other.profile.replica_id}`],
      [device, text, "This bundle was made here"],
      [other, text, "comes from another device"],
      [device, JSON.stringify(signBundle("events", body, newSeed(), made_at)), "not signed by the server"]
    ] as const)
      await expect(at.bundleIn(bundle)).rejects.toThrow(words)
    expect(await device.status()).toMatchObject({ pending: 1 })
    expect(await device.bundleIn(answered)).toMatchObject({ accepted: 1, pending: 0 })
  })
  it("contains neither tokens nor the device's key", async () => {
    const device = await server.enrol()
    const { text } = await device.bundleOut()
    const both = text + (await answerTo(text)).text
    for (const secret of [token, device.profile.token, device.profile.key!]) expect(both).not.toContain(secret)
  })
  it("fills a device that has no rows yet", async () => {
    const device = await server.enrol()
    await server.product()
    const stale = JSON.parse((await device.bundleOut()).text) as SignedBundle
    // As an empty device would request it.
    const nothing = { ...stale.body, position: 0, offset: "-1", handle: null }
    const { text } = await answerTo(JSON.stringify(signBundle("commands", nothing, device.profile.key!, stale.made_at)))
    expect(JSON.parse(text).body.pages[0]).toMatchObject({ anew: true, from: "-1" })
    expect(await device.bundleIn(text)).toMatchObject({ complete: true })
    await server.sameOn(device)
  })
  it("is refused by a restored replica that lacks earlier events, and accepted after the replica has synced", async () => {
    const device = await server.enrol()
    cpSync(device.folder, join(server.folder, "backup"), { recursive: true })
    await server.product()
    await device.sync()
    const { text } = await device.bundleOut()
    await server.product()
    const answered = (await answerTo(text)).text
    const restored = await server.reopen("backup")
    await expect(restored.bundleIn(answered)).rejects.toThrow("has not reached")
    expect(await restored.sync()).toMatchObject({ pending: 0 })
    expect(await restored.bundleIn(answered)).toMatchObject({ known: true })
    await server.sameOn(restored)
  })
  it("is refused if its device was revoked", async () => {
    const device = await server.enrol()
    await group(device)
    const { text } = await device.bundleOut()
    await server.must("DELETE", `/sync/replicas/${device.profile.replica_id}`)
    expect(await deliver(text)).toMatchObject({ status: 403, body: { message: expect.stringContaining("revoked") } })
  })
})
