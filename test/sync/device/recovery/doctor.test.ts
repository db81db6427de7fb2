/** The doctor finds differences from the server, refills them, and never changes unsent commands. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { examineDevice } from "../../../../sync/device/recovery.ts"
import { engines } from "../../../app.ts"
import { fills, sql } from "../../inspected-device.ts"
import { serverOfSuite } from "../../opening.ts"

describe.each(engines)("the doctor on a device, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { filled } = server
  beforeAll(async () => {
    for (let at = 0; at < 5; at++)
      await server.product({ purchase_price: "12.50", custom_fields: {}, tag_list: ["b", "a"] })
    await server.put("/settings/company", { settings: { name: "Ångström & Söhne" } })
  })

  describe.each(fills)("filled %s", (_, snapshot_beyond) => {
    it("finds no difference from the server but unsent commands", async () => {
      const device = await filled({ snapshot_beyond })
      await device.put("/products/1", { name: "Unsent" })
      // Others keep writing, so a comparison first pulls new events.
      await server.put("/products/2", { description: `Theirs ${snapshot_beyond}` })
      const findings = await examineDevice(device.parts(), false)
      expect(findings.filter((one) => !one.ok)).toEqual([])
      const { detail } = findings.find(({ check }) => check === "tables against server")!
      expect(detail).toMatch(/^\d+ rows alike at event \d+$/)
      expect((await device.show("/products/1")).name).toBe("Unsent")
    })
    it.each([
      ["a value differs", "update products set name = 'Tampered' where id = 3", "products"],
      ["a row is missing", "delete from products where id = 5", "products"],
      [
        "there is an extra row",
        "create temp table one as select * from stores; update one set id = 99; insert into stores select * from one",
        "stores"
      ]
    ])("finds that %s, refills the table, and keeps the outbox", async (what, statements, table) => {
      const device = await filled({ snapshot_beyond })
      const name = `Unsent ${what} ${snapshot_beyond}`
      await device.post("/product_groups", { name })
      await device.run(sql(...statements.split("; ")))
      const differ = { check: "tables against server", detail: `${table} differ; run flightcase doctor --repair` }
      expect(await device.problems()).toContainEqual(expect.objectContaining(differ))
      expect((await device.problems(true)).some(({ detail }) => detail.includes(table))).toBe(true)
      expect(await device.problems()).toEqual([])
      expect(device.outbox.counts()).toEqual({ pending: 1 })
      expect((await device.show("/product_groups")).map((one) => one.name)).toContain(name)
      await server.syncedAlike(device)
    })
  })
  it("finds no difference in a user's visible columns, and finds a hidden value held on the device", async () => {
    const { secret } = await server.person({ permissions: ["products.view", "products.access"] })
    const device = await filled({}, secret)
    expect(await device.problems()).toEqual([])
    await device.run(sql("update products set purchase_price = 1250 where id = 1"))
    expect(await device.problems()).toMatchObject([{ check: "tables against server" }])
  })
})

describe("a folder without its replica", () => {
  const server = serverOfSuite()
  it("opens, asks for a sync, and is filled by it without losing unsent commands", async () => {
    const { close, create, folder } = await server.enrol("one")
    await create("/product_groups", { name: "Unsent" })
    await close()
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(folder, `replica.sqlite${suffix}`), { force: true })
    const device = await server.reopen("one")
    const empty = { status: 503, body: { message: expect.stringContaining("flightcase sync") } }
    expect(await device.get("/product_groups")).toMatchObject(empty)
    expect(await device.status()).toMatchObject({ pending: 1 })
    await device.sync()
    for (const at of [device, server]) expect(await at.show("/product_groups")).toMatchObject([{ name: "Unsent" }])
    expect((await device.doctor(false)).filter((one) => !one.ok)).toEqual([])
  })
})
