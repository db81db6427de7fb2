/** Devices over real HTTP: enrolment, offline work, sync. */
import { existsSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { enrolDevice, Unreachable } from "../../../sync/device/device.ts"
import { engines } from "../../app.ts"
import { newsReader } from "../../../sync/device/exchange/news.ts"
import { serverOfEachTest, token } from "../opening.ts"

const newsAt = async (
  ...[cursor, signal]: [Parameters<typeof newsReader>[0] extends () => Promise<infer C> ? C : never, AbortSignal]
) => {
  const { close, next } = newsReader(async () => cursor)
  return next(signal).finally(close)
}

describe.each(engines)("a device, server on %s", (engine) => {
  const server = serverOfEachTest(engine)

  it("has the server's rows once enrolled", async () => {
    await server.product({ name: "Speaker", sku: "SP-1" })
    const device = await server.enrol()
    const { body } = await device.get("/products?q[sku_eq]=SP-1")
    expect(body).toMatchObject({ products: [{ name: "Speaker" }], meta: { total: 1 } })
    await server.sameOn(device)
  })
  it("records while the server is unreachable, and later syncs valid commands and reports the others with the API's error", async () => {
    const product_id = await server.serialised()
    const product = `/products/${product_id}`
    const unit = { product_id, store_id: 1, asset_number: "MH-1" }
    const device = await server.enrol()
    await server.stop()
    expect(await device.post("/stock_levels", unit)).toMatchObject({ status: 201, command: { n: 1 } })
    const { id: product_group_id } = await device.create("/product_groups", { name: "Lighting" })
    const changed = { product_group_id, name: "Moving head 250" }
    await device.must("PUT", product, changed)
    expect((await device.post("/products", { name: "" })).status).toBe(422)
    await expect(device.sync()).rejects.toBeInstanceOf(Unreachable)
    expect(await device.status()).toMatchObject({ pending: 3, conflicts: 0 })
    expect(await device.show(product)).toMatchObject({ ...changed, product_group_name: "Lighting" })

    await server.start()
    await server.create("/stock_levels", unit)
    expect(await device.sync()).toMatchObject({ sent: 3, accepted: 2, rejected: 1, pending: 0, conflicts: 1 })
    const [conflict] = await device.conflicts()
    const error = { status: 422, errors: { asset_number: [expect.any(String)] } }
    expect(conflict).toMatchObject({ name: "stock_levels.create", error })
    expect(await server.show(product)).toMatchObject(changed)
    await server.sameOn(device)
    const amended = await device.resolve(conflict!.id, { amend: { ...unit, asset_number: "MH-2" } })
    expect(amended.status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: 1, rejected: 0, conflicts: 0 })
    await server.sameOn(device)
  })
  it("leaves a short log of its replica when its process ends, and moves a long one into the file", async () => {
    const [short, long] = [await server.enrol("short"), await server.enrol("long")]
    const logOf = (device: typeof short) => join(device.folder, "replica.sqlite-wal")
    for (const device of [short, long]) await device.close()
    const [one, other] = [await server.reopen("short"), await server.reopen("long")]
    const { id } = await one.create("/products", { name: "Left" })
    const moved = await other.create("/products", { name: "Moved" })
    for (let at = 0; statSync(logOf(other)).size <= 256 * 1024; at++)
      await other.update(`/products/${moved.id}`, { name: `Moved ${at}` })
    for (const device of [one, other]) await device.close(true)
    expect([one, other].map((device) => existsSync(logOf(device)))).toEqual([true, false])
    const again = await server.reopen("short")
    expect(await again.show(`/products/${id}`)).toMatchObject({ name: "Left" })
    expect(await again.sync()).toMatchObject({ accepted: 1, pending: 0 })
    await server.sameOn(again)
  })
  it("takes the events of the answer that ends its wait for news, unless it has moved since", async () => {
    const product = `/products/${await server.serialised()}`
    const device = await server.enrol()
    const news = async () => {
      const { offset, handle } = await device.place()
      const waiting = newsAt({ ...device.profile, offset, handle }, new AbortController().signal)
      await server.must("PUT", product, { name: `After ${offset}` })
      return { came: (await waiting)!, name: `After ${offset}` }
    }
    const first = await news()
    expect(await device.take(first.came)).toMatchObject({ pulled_events: 1, pending: 0, quiet: true })
    expect(await device.show(product)).toMatchObject({ name: first.name })
    expect(await device.take(first.came)).toBeUndefined()
    const second = await news()
    await device.sync()
    expect(await device.take(second.came)).toBeUndefined()
    await server.sameOn(device)

    // With a command pending, a sync has to follow.
    await device.must("PUT", product, { description: "Unsent" })
    const third = await news()
    expect(await device.take(third.came)).toMatchObject({ pulled_events: 1, pending: 1, quiet: false })
    expect(await device.show(product)).toMatchObject({ name: third.name, description: "Unsent" })
    expect(await device.sync()).toMatchObject({ accepted: 1, rejected: 0 })
    await server.sameOn(device)
  })
  it("leaves a change of its user's permissions to a sync, which fetches the rows they show", async () => {
    const product = await server.create("/products", { name: "Cam", purchase_price: "2500.00" })
    const permissions = ["products.view", "products.edit"]
    const { id, name } = await server.create("/roles", { name: "Chief", permissions: [...permissions, "costs.view"] })
    const person = await server.person({ permissions })
    const device = await server.enrol("few", person.secret)
    const { offset, handle } = await device.place()
    const waiting = newsAt({ ...device.profile, offset, handle }, new AbortController().signal)
    // The request waits at the server by then, with the permissions of before.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await server.must("PUT", `/users/${person.user_id}`, { roles: [name] })
    expect(await waiting).toBeUndefined()
    expect(await device.show(`/products/${product.id}`)).not.toHaveProperty("purchase_price")
    await device.sync()
    expect(await device.show(`/products/${product.id}`)).toMatchObject({ purchase_price: "2500.00" })
    await server.must("PUT", `/users/${person.user_id}`, { roles: [] })
    await server.must("DELETE", `/roles/${id}`)
  })
  it("leaves news to a sync if the server does not accept its handle, offset or token", async () => {
    const device = await server.enrol()
    const { offset, handle } = await device.place()
    const signal = new AbortController().signal
    expect(await newsAt({ ...device.profile, offset, handle: `${handle}1` }, signal)).toBeUndefined()
    const [position] = offset.split("_")
    expect(await newsAt({ ...device.profile, offset: `${position}_1`, handle }, signal)).toBeUndefined()
    expect(await newsAt({ ...device.profile, token: "none", offset, handle }, signal)).toBeUndefined()
  })
  it("refuses a second enrolment into its folder, and replaces an unfinished one", async () => {
    const device = await server.enrol("one")
    const again = { name: "one", url: server.url(), token, device: "again" }
    await expect(enrolDevice(device.folder, again)).rejects.toThrow("holds a device already")
    await device.close()
    rmSync(join(device.folder, "profile.json"))
    const anew = await server.enrol("one")
    await anew.create("/product_groups", { name: "Audio" })
    expect(await anew.sync()).toMatchObject({ accepted: 1, rejected: 0 })
  })
  it("loses no command when its folder is open twice and both record concurrently", async () => {
    const first = await server.enrol("one")
    const second = await server.reopen("one")
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? first : second).create("/product_groups", { name: `Group ${at}` })
      )
    )
    expect(await first.sync()).toMatchObject({ sent: 20, accepted: 20, rejected: 0, pending: 0 })
    expect(await server.show("/product_groups")).toHaveLength(20)
    await server.sameOn(first)
  })
  it("has its altered rows found and repaired by the doctor", async () => {
    const device = await server.enrol()
    const db = new DatabaseSync(join(device.folder, "replica.sqlite"))
    db.exec("update stores set name = 'Tampered'")
    db.close()
    for (const repair of [false, true]) {
      const found = (await device.doctor(repair)).find((one) => one.check === "tables against journal")
      expect(found).toMatchObject({ ok: false })
    }
    expect((await device.doctor(false)).every((one) => one.ok)).toBe(true)
  })
})
