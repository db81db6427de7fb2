/** Devices at the server: their own tokens, their standing, and what becomes of copies and of the revoked. */
import { cpSync, existsSync, readdirSync, renameSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { type Device, openDevice } from "../../../sync/device/device.ts"
import { readProfile } from "../../../sync/device/folder.ts"
import { moveUnsent } from "../../../sync/device/recovery/move-unsent.ts"
import { openOutboxOf } from "../../../sync/device/folder.ts"
import { readUnsent } from "../../../sync/device/outbox/unsent.ts"
import { engines } from "../../app.ts"
import { type DeviceTestServer, openDeviceTestServer, token } from "../server.ts"

const write = (device: Device, method: string, path: string, body: JsonObject) =>
  device.ask({ method, path, query: [], body })

describe.each(engines)("devices on %s", (engine) => {
  let test_server: DeviceTestServer
  beforeEach(async () => {
    test_server = await openDeviceTestServer(engine)
  })
  afterEach(async () => {
    await test_server.close()
  })

  it("hold a token of their own, which opens what the other did and ends with the device or with the other", async () => {
    const {
      body: { token: mine }
    } = await test_server.ask("POST", "/api/v1/tokens", {
      name: "mine",
      abilities: ["products:read", "sync:read", "sync:write"]
    })
    const device = await test_server.enrol("van", mine.secret)
    const own = device.profile.token
    expect([mine.secret, token]).not.toContain(own)
    expect((await test_server.ask("GET", "/api/v1/products", undefined, own)).status).toBe(200)
    expect((await test_server.ask("GET", "/api/v1/tokens", undefined, own)).status).toBe(403)
    expect((await test_server.ask("GET", "/api/v1/tokens")).body.tokens.map((one: any) => one.name)).toContain(
      "Device van"
    )
    await test_server.ask("DELETE", `/api/v1/tokens/${mine.id}`)
    expect((await test_server.ask("GET", "/api/v1/products", undefined, own)).status).toBe(401)
  })

  it("lose every door when they are revoked, are told why, and leave their person's token alone", async () => {
    const device = await test_server.enrol("van")
    const own = device.profile.token
    expect((await test_server.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)).status).toBe(204)
    for (const path of ["/api/v1/products", "/api/v1/sync/shape?table=journal&offset=-1", "/api/v1/sync/replicas"]) {
      expect(await test_server.ask("GET", path, undefined, own)).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining("revoked"), errors: { replica: ["revoked"] } }
      })
    }
    expect((await test_server.ask("GET", "/api/v1/products")).status).toBe(200)
    expect(
      (
        await test_server.ask("POST", "/api/v1/sync/commands", {
          replica_id: device.profile.replica_id,
          commands: [{ n: 1, id: "x", name: "y", payload: {}, issued_at: "2026-01-01T00:00:00Z" }]
        })
      ).status
    ).toBe(403)
    expect((await test_server.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)).status).toBe(204)
  })

  it("give up their data when they learn that they are revoked, and keep what they have not sent", async () => {
    const device = await test_server.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    await test_server.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)
    await expect(device.sync()).rejects.toMatchObject({ kind: "revoked", status: 403 })
    const folder = join(test_server.folder, "van")
    expect(readdirSync(folder).filter((name) => name.startsWith("replica"))).toEqual([])
    await expect(openDevice(folder)).rejects.toMatchObject({
      kind: "revoked",
      message: expect.stringContaining("1 unsent command is kept")
    })
    expect(readUnsent(folder)).toMatchObject({
      unreadable: 0,
      commands: [{ n: 1, name: "product_groups.create", state: "pending", payload: { body: { name: "Lighting" } } }]
    })
  })

  it("are listed to their owner, to those who manage users, and to nobody else", async () => {
    const {
      body: { user }
    } = await test_server.ask("POST", "/api/v1/users", { name: "Ann", email: "ann@example.com", active: true })
    const {
      body: { token: hers }
    } = await test_server.ask("POST", "/api/v1/tokens", { name: "hers", abilities: ["*"], user_id: user.id })
    const device = await test_server.enrol("van")
    const other = await test_server.enrol("hers", hers.secret)
    await write(device, "POST", "/api/v1/product_groups", { name: "Lighting" })
    await device.sync()
    const { body } = await test_server.ask("GET", "/api/v1/sync/replicas?per_page=1&sort=-id")
    expect(body).toMatchObject({
      replicas: [{ name: "hers", user_name: "Ann", last_n: 0, revoked_at: null }],
      meta: { total: 2, per_page: 1 }
    })
    expect(
      (await test_server.ask("GET", `/api/v1/sync/replicas/${device.profile.replica_id}`)).body.replica
    ).toMatchObject({ name: "van", last_n: 1, seen_at: expect.any(String), position: expect.any(Number) })
    expect(
      (await test_server.ask("GET", "/api/v1/sync/replicas", undefined, hers.secret)).body.replicas.map(
        (one: any) => one.name
      )
    ).toEqual(["hers"])
    expect(
      (await test_server.ask("GET", `/api/v1/sync/replicas/${device.profile.replica_id}`, undefined, hers.secret))
        .status
    ).toBe(404)
    expect(
      (
        await test_server.ask(
          "PUT",
          `/api/v1/sync/replicas/${device.profile.replica_id}`,
          { name: "mine" },
          hers.secret
        )
      ).status
    ).toBe(403)
    expect(
      (await test_server.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`, undefined, hers.secret))
        .status
    ).toBe(403)
    expect(
      (
        await test_server.ask(
          "PUT",
          `/api/v1/sync/replicas/${other.profile.replica_id}`,
          { name: "Ann's" },
          hers.secret
        )
      ).body.replica.name
    ).toBe("Ann's")
    await other.sync()
    expect(readProfile(join(test_server.folder, "hers")).device).toBe("Ann's")
  })

  it("that are copies of each other are told apart before anything is sent, and the one told goes on as a device of its own", async () => {
    const device = await test_server.enrol("van")
    await write(device, "POST", "/api/v1/product_groups", { name: "Shared" })
    cpSync(join(test_server.folder, "van"), join(test_server.folder, "copy"), { recursive: true })
    await write(device, "POST", "/api/v1/product_groups", { name: "Of the first" })
    expect(await device.sync()).toMatchObject({ accepted: 2 })
    const copy = test_server.keep(await openDevice(join(test_server.folder, "copy")))
    const made = await write(copy, "POST", "/api/v1/product_groups", { name: "Of the copy" })
    const group = (made.body as any).product_group
    await write(copy, "POST", "/api/v1/products", { name: "Spot", product_group_id: group.id })
    await expect(copy.sync()).rejects.toMatchObject({ kind: "copied", status: 409 })
    expect((await test_server.ask("GET", "/api/v1/product_groups")).body.meta.total).toBe(2)

    const fresh = await test_server.enrol("fresh")
    const outbox = openOutboxOf(join(test_server.folder, "copy"))
    const moved = await moveUnsent(outbox.pending(), copy.profile.replica_id, fresh, join(test_server.folder, "fresh"))
    outbox.close()
    // "Shared" was decided when the first device sent it.
    expect(moved).toEqual({ moved: 2, decided: 1, left: [] })
    expect(await fresh.sync()).toMatchObject({ accepted: 2, rejected: 0 })
    const groups = (await test_server.ask("GET", "/api/v1/product_groups")).body.product_groups
    expect(groups.map((one: any) => one.name).sort()).toEqual(["Of the copy", "Of the first", "Shared"])
    expect((await test_server.ask("GET", "/api/v1/products")).body.products[0]).toMatchObject({
      name: "Spot",
      product_group_id: groups.find((one: any) => one.name === "Of the copy").id
    })
    // The first goes on as before.
    await write(device, "POST", "/api/v1/product_groups", { name: "Later" })
    expect(await device.sync()).toMatchObject({ accepted: 1 })
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("take along what names things by kind and id: it names them still, by the ids they have now", async () => {
    const device = await test_server.enrol("van")
    const made = async (path: string, body: JsonObject): Promise<any> => {
      const answer = await write(device, "POST", `/api/v1/${path}`, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      return Object.values(answer.body as object)[0]
    }
    const [kept, twice] = [
      await made("members", { name: "Kept", membership_type: "organisation" }),
      await made("members", { name: "Twice", membership_type: "organisation" })
    ]
    const product = await made("products", { name: "Spot" })
    await made("activities", { subject: "Ring them", regarding_type: "Member", regarding_id: kept.id })
    await made("activities", { subject: "Mend it", regarding_type: "Product", regarding_id: product.id })
    expect((await write(device, "POST", `/api/v1/members/${kept.id}/merge`, { secondary_id: twice.id })).status).toBe(
      200
    )
    await test_server.ask("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)
    const fresh = await test_server.enrol("fresh")
    const outbox = openOutboxOf(join(test_server.folder, "van"))
    expect(
      await moveUnsent(outbox.pending(), device.profile.replica_id, fresh, join(test_server.folder, "fresh"))
    ).toEqual({ moved: 6, decided: 0, left: [] })
    outbox.close()
    expect(await fresh.sync()).toMatchObject({ accepted: 6, rejected: 0 })
    const [members, products, activities] = await Promise.all(
      ["members", "products", "activities"].map(
        async (list) => (await test_server.ask("GET", `/api/v1/${list}?sort=id`)).body[list]
      )
    )
    const mine = members.find((one: any) => one.name === "Kept")
    expect([mine.id, products[0].id]).not.toEqual([kept.id, product.id])
    expect(activities.map((one: any) => [one.subject, one.regarding_type, one.regarding_id])).toEqual([
      ["Ring them", "Member", mine.id],
      ["Mend it", "Product", products[0].id]
    ])
    expect(members.map((one: any) => one.name)).not.toContain("Twice")
  })

  it("put back from a backup are told so, though nothing is pending there", async () => {
    const device = await test_server.enrol("van")
    cpSync(join(test_server.folder, "van"), join(test_server.folder, "backup"), { recursive: true })
    await write(device, "POST", "/api/v1/product_groups", { name: "Sent" })
    await device.sync()
    renameSync(join(test_server.folder, "backup"), join(test_server.folder, "restored"))
    const restored = test_server.keep(await openDevice(join(test_server.folder, "restored")))
    await expect(restored.sync()).rejects.toMatchObject({ kind: "copied" })
    expect(existsSync(join(test_server.folder, "restored", "replica.sqlite"))).toBe(true)
  })

  it("too old to send are told so, keep what they recorded, and still fetch", async () => {
    const device = await test_server.enrol("van")
    const { replica_id } = device.profile
    const command = {
      n: 1,
      id: "018f0000-0000-7000-8000-000000000001",
      name: "product_groups.create",
      payload: { params: {}, body: { name: "Old" } },
      ids: { product_groups: [1] },
      issued_at: "2026-01-01T00:00:00Z"
    }
    const greeted = await test_server.ask("POST", `/api/v1/sync/replicas/${replica_id}/hello`, {
      schema_version: 0,
      last_n: 1,
      pending: [{ n: 1, id: command.id }]
    })
    expect(greeted).toMatchObject({
      status: 200,
      body: { push: false, copied: false, server: { client_schema_min: 1 } }
    })
    expect(await test_server.ask("POST", "/api/v1/sync/commands", { replica_id, commands: [command] })).toMatchObject({
      status: 426,
      body: { message: expect.stringContaining("stay on the device") }
    })
    const shape = await fetch(
      `${test_server.url()}/api/v1/sync/shape?table=journal&offset=-1&replica_id=${replica_id}`,
      { headers: { authorization: `Bearer ${device.profile.token}` } }
    )
    expect(shape.status).toBe(200)
    // Updated, it sends.
    expect(await device.sync()).toMatchObject({ pending: 0 })
    expect(await test_server.ask("POST", "/api/v1/sync/commands", { replica_id, commands: [command] })).toMatchObject({
      status: 200,
      body: { verdicts: [{ status: "accepted" }] }
    })
  })
})
