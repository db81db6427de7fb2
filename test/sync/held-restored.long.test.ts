/**
 * A server put back from a backup gives ids anew that its devices have made rows with since. Nothing a device sends or
 * records again may then act on the rows that have them now.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { backupOf } from "./restoring.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

describe.each(engines)("after a server on %s was put back and gave ids anew,", (engine) => {
  let test_server: DeviceTestServer
  let product: number
  beforeEach(async () => {
    test_server = await openDeviceTestServer(engine)
    product = (await test_server.ask("POST", "/api/v1/products", { name: "Moving head", stock_method: 2 })).body.product
      .id
  })
  afterEach(async () => {
    await test_server.close()
  })
  const write = async (
    device: Device,
    method: string,
    path: string,
    body: JsonObject,
    status = method === "POST" ? 201 : 200
  ): Promise<any> => {
    const answer = await device.ask({ method, path: `/api/v1/${path}`, query: [], body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    return answer.body
  }
  const unit = (asset_number: string) => ({ product_id: product, store_id: 1, asset_number })
  const unitsAtServer = async () =>
    (await test_server.ask("GET", "/api/v1/stock_levels?per_page=100&sort=id")).body.stock_levels
  const atServer = async (asset_number: string) =>
    (await unitsAtServer()).find((one: any) => one.asset_number === asset_number)
  const newAtServer = async (asset_number: string): Promise<any> => {
    const { status, body } = await test_server.ask("POST", "/api/v1/stock_levels", unit(asset_number))
    expect(status, JSON.stringify(body)).toBe(201)
    return body.stock_level
  }
  const counts = async (device: Device) => {
    const { pending, conflicts, held } = await device.status()
    return { pending, conflicts, held }
  }
  const all_settled = { pending: 0, conflicts: 0, held: 0 }
  /** A device whose next units have ids of a block that the backup knows nothing of. */
  const beforeTheBackup = async (): Promise<{ van: Device; restore: () => Promise<void> }> => {
    const van = await test_server.enrol("van")
    for (let at = 0; at < 26; at++) await write(van, "POST", "stock_levels", unit(`V-${at}`))
    const restore = await backupOf(test_server, engine)
    await van.sync()
    for (let at = 26; at < 50; at++) await write(van, "POST", "stock_levels", unit(`V-${at}`))
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    return { van, restore }
  }

  it("a held command follows what it builds on to its new id", async () => {
    const { van, restore } = await beforeTheBackup()
    await newAtServer("TAKEN")
    const { stock_level: own } = await write(van, "POST", "stock_levels", unit("TAKEN"))
    await write(van, "PUT", `stock_levels/${own.id}`, { location: "Van, shelf 3" })
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 1 })
    await restore()
    const theirs = await newAtServer("THEIRS")
    expect(theirs.id).toBe(own.id)
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 1 })
    const [conflict] = await van.conflicts()
    expect((await van.resolve(conflict!.id, { retry: true })).status).toBe(201)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect(await atServer("THEIRS")).toMatchObject({ id: theirs.id, location: theirs.location })
    expect((await atServer("TAKEN")).id).not.toBe(own.id)
    expect(await atServer("TAKEN")).toMatchObject({ location: "Van, shelf 3" })
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("a command on a row whose making was accepted before, and is not any more, waits for it", async () => {
    const { van, restore } = await beforeTheBackup()
    const { stock_level: own } = await write(van, "POST", "stock_levels", unit("OWN"))
    await van.sync()
    await write(van, "PUT", `stock_levels/${own.id}`, { location: "Sent before" })
    await van.sync()
    await write(van, "PUT", `stock_levels/${own.id}`, { location: "Not sent yet" })
    await restore()
    const theirs = await newAtServer("THEIRS")
    expect(theirs.id).toBe(own.id)
    await van.sync()
    expect(await atServer("THEIRS")).toMatchObject({ location: theirs.location })
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 2 })
    const [conflict] = await van.conflicts()
    expect((await van.resolve(conflict!.id, { retry: true })).status).toBe(201)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect(await atServer("THEIRS")).toMatchObject({ location: theirs.location })
    expect(await atServer("OWN")).toMatchObject({ location: "Not sent yet" })
  })

  it("a command whose ground was given up is not recorded again on the row that has its id now", async () => {
    const { van, restore } = await beforeTheBackup()
    const { stock_level: own } = await write(van, "POST", "stock_levels", unit("OWN"))
    await write(van, "PUT", `stock_levels/${own.id}`, { location: "Van, shelf 3" })
    await van.sync()
    await restore()
    const theirs = await newAtServer("THEIRS")
    expect(theirs.id).toBe(own.id)
    await van.sync()
    const [making] = await van.conflicts()
    await van.resolve(making!.id, { drop: true })
    const [left] = await van.conflicts()
    expect(left).toMatchObject({
      name: "stock_levels.update",
      error: { message: expect.stringContaining("was dropped") }
    })
    expect(left!.ways_out.map((one) => one.way)).not.toContain("retry")
    for (const how of [{ retry: true }, { amend: { location: "Elsewhere" } }] as const) {
      expect(await van.resolve(left!.id, how)).toMatchObject({
        status: 422,
        body: { message: expect.stringContaining("another one by now") }
      })
    }
    await van.sync()
    expect(await atServer("THEIRS")).toMatchObject({ location: theirs.location })
    expect((await van.resolve(left!.id, { drop: true })).status).toBe(200)
    expect(await counts(van)).toEqual(all_settled)
  })

  it("a row that a body refers to is followed as well, and one that is somebody else's can be named by amending", async () => {
    const van = await test_server.enrol("van")
    for (let at = 0; at < 26; at++) await write(van, "POST", "product_groups", { name: `V ${at}` })
    const restore = await backupOf(test_server, engine)
    await van.sync()
    for (let at = 26; at < 50; at++) await write(van, "POST", "product_groups", { name: `V ${at}` })
    const { product_group: own } = await write(van, "POST", "product_groups", { name: "Own" })
    await van.sync()
    for (const name of ["Lamp", "Stand"]) await write(van, "POST", "products", { name, product_group_id: own.id })
    await van.sync()
    await restore()
    const theirs = (await test_server.ask("POST", "/api/v1/product_groups", { name: "Theirs" })).body.product_group
    expect(theirs.id).toBe(own.id)
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 2 })
    const [making] = await van.conflicts()
    const [lamp] = making!.held
    // Given a group that is there, it waits no longer.
    expect((await van.resolve(lamp!.id, { amend: { name: "Lamp", product_group_id: null } })).status).toBe(201)
    expect((await van.resolve(making!.id, { retry: true })).status).toBe(201)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    const groups = (await test_server.ask("GET", "/api/v1/product_groups?per_page=100")).body.product_groups
    const products = (await test_server.ask("GET", "/api/v1/products?per_page=100")).body.products
    const anew = groups.find((one: any) => one.name === "Own")
    expect(anew.id).not.toBe(theirs.id)
    expect(products.find((one: any) => one.name === "Stand")).toMatchObject({ product_group_id: anew.id })
    expect(products.find((one: any) => one.name === "Lamp")).toMatchObject({ product_group_id: null })
  })

  it.each(["news only", "something unsent"])(
    "a device whose bundles carry %s loses nothing and touches nobody else's row",
    async (carried) => {
      const { van, restore } = await beforeTheBackup()
      const { stock_level: own } = await write(van, "POST", "stock_levels", unit("OWN"))
      await write(van, "POST", "stock_levels", unit("OWN-2"))
      await van.sync()
      const before = await unitsAtServer()
      const round = async () => {
        const { status, body } = await test_server.ask("POST", "/api/v1/sync/bundles", {
          bundle: JSON.parse((await van.bundleOut()).text)
        })
        expect(status, JSON.stringify(body.errors)).toBe(200)
        return van.bundleIn(JSON.stringify(body.bundle))
      }
      if (carried === "something unsent")
        await write(van, "PUT", `stock_levels/${own.id}`, { location: "Van, shelf 3" })
      await restore()
      const theirs = await newAtServer("THEIRS")
      expect(theirs.id).toBe(own.id)
      // The first round tells the device what the server has forgotten, the second brings it there.
      expect(await round()).toMatchObject({ complete: false, accepted: 0 })
      // What its person sees by that id now is the other one, and that is what is meant from now on.
      if (carried === "news only") await write(van, "PUT", `stock_levels/${own.id}`, { location: "As seen now" })
      await round()
      expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: carried === "news only" ? 0 : 1 })
      expect(await atServer("THEIRS")).toMatchObject({
        location: carried === "news only" ? "As seen now" : theirs.location
      })
      const [conflict] = await van.conflicts()
      expect(conflict).toMatchObject({ name: "stock_levels.create" })
      expect((await van.resolve(conflict!.id, { retry: true })).status).toBe(201)
      await round()
      expect(await counts(van)).toEqual(all_settled)
      const after = await unitsAtServer()
      const named = (units: any) =>
        units
          .filter((one: any) => !["OWN", "THEIRS"].includes(one.asset_number))
          .map((one: any) => [one.id, one.asset_number])
      expect(named(after)).toEqual(named(before))
      expect(await atServer("THEIRS")).toMatchObject({
        location: carried === "news only" ? "As seen now" : theirs.location
      })
      expect(await atServer("OWN")).toMatchObject({ location: carried === "news only" ? null : "Van, shelf 3" })
      // By network nothing more is to be said.
      expect(await van.sync()).toMatchObject({ sent: 0, rejected: 0, pending: 0 })
      expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
    }
  )

  it.each(["not sent yet", "accepted before"])(
    "a command on a row that others had made, %s, is not taken for one on the row that has its id now",
    async (sent) => {
      const van = await test_server.enrol("van")
      const restore = await backupOf(test_server, engine)
      const seen = await newAtServer("SEEN")
      await van.sync()
      await write(van, "PUT", `stock_levels/${seen.id}`, { location: "Van, shelf 3" })
      if (sent === "accepted before") expect(await van.sync()).toMatchObject({ accepted: 1 })
      await restore()
      const other = await newAtServer("OTHER")
      expect(other.id).toBe(seen.id)
      await van.sync()
      expect(await atServer("OTHER")).toMatchObject({ location: other.location })
      expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 0 })
      const [conflict] = await van.conflicts()
      expect(conflict).toMatchObject({
        error: { status: 422, message: expect.stringContaining("may be another one by now") }
      })
      // A person who has looked at it may say that it is meant.
      expect((await van.resolve(conflict!.id, { retry: true })).status).toBe(200)
      await van.sync()
      expect(await atServer("OTHER")).toMatchObject({ location: "Van, shelf 3" })
      expect(await counts(van)).toEqual(all_settled)
    }
  )

  it("a row that its own device has sent again is the same row to others", async () => {
    const van = await test_server.enrol("van"),
      shop = await test_server.enrol("shop")
    const restore = await backupOf(test_server, engine)
    const { stock_level: made } = await write(shop, "POST", "stock_levels", unit("SHOP"))
    await shop.sync()
    await van.sync()
    await write(van, "PUT", `stock_levels/${made.id}`, { location: "Sent before" })
    await van.sync()
    await write(van, "PUT", `stock_levels/${made.id}`, { location: "Not sent yet" })
    await restore()
    await shop.sync()
    expect(await counts(shop)).toEqual(all_settled)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect(await atServer("SHOP")).toMatchObject({ id: made.id, location: "Not sent yet" })
  })

  it("ids shown again once are shown again after the same backup was put back once more", async () => {
    const { van, restore } = await beforeTheBackup()
    await write(van, "POST", "stock_levels", unit("OWN"))
    await van.sync()
    const own = await atServer("OWN")
    for (let at = 0; at < 2; at++) {
      await restore()
      await van.sync()
      expect(await counts(van)).toEqual(all_settled)
      expect((await atServer("OWN")).id).toBe(own.id)
    }
    expect(await unitsAtServer()).toHaveLength(51)
  })
})
