/** A server restored from a backup has forgotten what its devices know: they begin anew and send it again. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { lastPosition } from "../../core/kernel/journal.ts"
import { rebuild } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { engines } from "../app.ts"
import { enrolled } from "./filling.ts"
import { businessOfEachTest } from "./business.ts"

describe.each(engines)("a server on %s, restored from a backup", (engine) => {
  const { business, devices, make } = businessOfEachTest(engine)
  const head = (): Promise<number> => business.run(Effect.flatMap(Store, lastPosition))
  /** As the database was when the backup was made. */
  const restore = (position: number, last_n: number) =>
    business.run(
      Effect.gen(function* () {
        const store = yield* Store
        yield* store.run(`delete from journal where position > ${position}`)
        yield* store.run(`update journal_head set position = ${position}`)
        yield* store.run(`delete from replica_verdicts where n > ${last_n}`)
        yield* store.run(`update replicas set last_n = ${last_n}`)
        yield* rebuild(catalogue)
      })
    )

  it.each([
    ["filled from rows", 0],
    ["filled from events", Number.POSITIVE_INFINITY]
  ])("gets back from a device %s what it had accepted since, each once", async (_, snapshot_beyond) => {
    const product = await make("products", { name: "Lamp" })
    const device = await enrolled(business, "device", { snapshot_beyond })
    devices.push(device)
    await device.sync()
    await device.ask("PUT", `products/${product.id}`, { description: "Before the backup" })
    await device.sync()
    const backup = await head()
    await device.ask("PUT", `products/${product.id}`, { name: "After the backup" })
    await device.ask("POST", "product_groups", { name: "After the backup" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 3 })
    await restore(backup, 1)
    // It has gone on since, further than the device ever was: positions tell nothing any more.
    for (let at = 0; at < 10; at++) await make("members", { name: `Client ${at}`, membership_type: "organisation" })
    await device.ask("PUT", `products/${product.id}`, { weight: "12.5" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 4 })
    expect(await device.tables()).toEqual(await business.tables())
    expect((await business.ask("GET", `products/${product.id}`)).body.product).toMatchObject({
      name: "After the backup",
      description: "Before the backup",
      weight: "12.5000"
    })
    expect(
      (await business.ask("GET", "product_groups")).body.product_groups.filter(
        (one: any) => one.name === "After the backup"
      )
    ).toHaveLength(1)
    await device.sync()
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("hears no more of commands somebody gave up, and their numbers leave no gap", async () => {
    const unit = {
      product_id: (await make("products", { name: "Head", stock_method: 2 })).id,
      store_id: 1,
      asset_number: "MH-1"
    }
    const device = await enrolled(business, "device", { snapshot_beyond: 0 })
    devices.push(device)
    await device.sync()
    const backup = await head()
    await make("stock_levels", unit)
    expect((await device.ask("POST", "stock_levels", unit)).status).toBe(201)
    await device.ask("POST", "product_groups", { name: "Kept" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1, rejected: 1 })
    device.outbox.resolve(device.outbox.byState("rejected")[0]!.id, "dropped")
    // Restored, the server would take the unit; but it was given up.
    await restore(backup, 0)
    for (let at = 0; at < 5; at++) await make("members", { name: `Client ${at}`, membership_type: "organisation" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1, dropped: 1 })
    expect((await business.ask("GET", "stock_levels")).body.stock_levels).toEqual([])
    expect((await business.ask("GET", "product_groups")).body.product_groups).toMatchObject([{ name: "Kept" }])
    await device.ask("POST", "product_groups", { name: "Later" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 2, dropped: 1 })
    expect(await device.tables()).toEqual(await business.tables())
  })
})
