/** Commands decided by what other processes, a sync or a rolled back command have changed since the last one. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../../core/catalogue.ts"
import { tablesOfDevices } from "../../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { type Hooks, sql } from "../../inspected-device.ts"
import { serverOfEachTest } from "../../opening.ts"

describe("a command on a device", () => {
  const server = serverOfEachTest()

  it("follows the rights and definitions that a sync or another process brought since the last one", async () => {
    const rights = ["products.view", "products.edit", "products.access"]
    const ann = await server.person({ permissions: rights })
    const id = await server.product({ name: "Lamp" })
    const device = await server.enrol("one", ann.secret)
    const other = await server.reopen("one")
    const rename = (name: string) => device.put(`/products/${id}`, { name })
    for (const name of ["Lamp 1", "Lamp 2"]) expect((await rename(name)).status).toBe(200)
    for (const [syncing, at] of [
      [device, 3],
      [other, 5]
    ] as const) {
      await server.create("/custom_fields", { name: `Field ${at}`, module_type: "Product", field_type: 0 })
      await syncing.sync()
      const changed = await device.put(`/products/${id}`, { custom_fields: { [`Field ${at}`]: "x" } })
      expect(changed).toMatchObject({ status: 200, body: { product: { custom_fields: { [`Field ${at}`]: "x" } } } })
      await syncing.sync()
      await server.grant(ann, ["products.view", "products.access"])
      await syncing.sync()
      expect((await rename(`Lamp ${at}`)).status).toBe(403)
      await server.grant(ann, rights)
      await syncing.sync()
      expect((await rename(`Lamp ${at + 1}`)).status).toBe(200)
    }
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
  })

  it("sees nothing of a planned or refused one", async () => {
    const id = await server.product({ name: "Lamp" })
    const device = await server.enrol()
    await device.must("PUT", `/products/${id}`, { name: "Lamp 1" })
    const group = { method: "POST", path: "/api/v1/product_groups", query: [], body: { name: "Planned" } }
    const planned = await device.ask(group, { plan: true })
    expect(planned.status).toBe(201)
    const made = planned.events![0]!.data["id"]
    expect((await device.put(`/products/${id}`, { product_group_id: made })).status).toBe(422)
    const { id: kept } = await device.create("/product_groups", { name: "Kept" })
    const named = async () => (await device.put(`/products/${id}`, { product_group_id: kept, name: "Lamp 2" })).body
    expect(await named()).toMatchObject({ product: { product_group_name: "Kept" } })
    await device.must("PUT", `/product_groups/${kept}`, { name: "Renamed" })
    const never = { method: "PUT", path: `/api/v1/product_groups/${kept}`, query: [], body: { name: "Never" } }
    expect(await device.ask(never, { plan: true })).toMatchObject({ body: { product_group: { name: "Never" } } })
    expect((await device.put(`/product_groups/${kept}`, { name: "" })).status).toBe(422)
    expect((await device.put(`/products/${id}`, { name: "Lamp 3" })).body).toMatchObject({
      product: { product_group_name: "Renamed" }
    })
    expect((await device.ask(never)).command).toBeDefined()
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
    await server.sameOn(device)
  })
})

describe("the tables of a replica", () => {
  const server = serverOfEachTest()

  it("are compared with the release's until a sync has marked them, and again once any table has changed", async () => {
    const device = await server.filled({ tables: Effect.runSync(tablesOfDevices(catalogue)) })
    const declared = () =>
      device.run(Store.run<{ value: string }>("select value from flightcase_meta where key = 'tables'"))
    const before = await declared()
    /** Opens the replica after another release has declared its tables; returns whether they were compared. */
    const isCompared = async (...more: ReadonlyArray<string>) => {
      await device.run(sql("update flightcase_meta set value = 'of another release' where key = 'tables'", ...more))
      await device.restart()
      return (await declared())[0]!.value === before[0]!.value
    }
    expect(await isCompared()).toBe(true)
    await device.sync()
    await device.restart()
    await server.product({ name: "Lamp" })
    await device.sync()
    expect(await isCompared()).toBe(false)
    expect(await isCompared("create table of_another_release (id integer)")).toBe(true)
    await device.sync()
    await server.sameOn(device)
  })
  it("are compared by the next release, although a process of the one before reads the digest of its file", async () => {
    const before: typeof catalogue = Object.create(catalogue, {
      tables: {
        value: catalogue.tables.map((one) => (one.name === "products" ? { ...one, searched: undefined } : one))
      }
    })
    const digest = Effect.runSync(tablesOfDevices(before))
    const hooks: Hooks = { catalogue: before, tables: digest, snapshot_beyond: Infinity }
    const device = await server.filled(hooks)
    hooks.tables = Effect.runSync(tablesOfDevices(catalogue))
    await device.restart()
    await server.product({ name: "Lamp" })
    await device.sync()
    hooks.catalogue = catalogue
    await device.restart()
    expect((await device.get("/search?q=lamp")).status).toBe(200)
    await server.sameOn(device)
  })
})
