/** A server restored from a backup lacks later events of its devices: they start over and send them again. */
import { describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { fills } from "./inspected-device.ts"
import { serverOfEachTest } from "./opening.ts"
import { backupOf } from "./restoring.ts"

describe.each(engines)("a server on %s, restored from a backup", (engine) => {
  const server = serverOfEachTest(engine)
  const { create, show } = server
  const clients = async () => {
    for (let at = 0; at < 10; at++) await server.customer()
  }

  it.each(fills)(
    "receives each command lost by the restore again, once, from a device filled %s",
    async (_, snapshot_beyond) => {
      const product = `/products/${await server.product()}`
      const device = await server.filled({ snapshot_beyond })
      await device.put(product, { description: "Before the backup" })
      await device.sync()
      const restore = await backupOf(server, engine)
      await device.put(product, { name: "After the backup" })
      await device.post("/product_groups", { name: "After the backup" })
      await device.sync()
      expect(device.outbox.counts()).toEqual({ accepted: 3 })
      await restore()
      // The restored server wrote beyond the device's position, so positions alone reveal nothing.
      await clients()
      await device.put(product, { weight: "12.5" })
      await device.sync()
      expect(device.outbox.counts()).toEqual({ accepted: 4 })
      await server.sameOn(device)
      const whole = { name: "After the backup", description: "Before the backup", weight: "12.5000" }
      expect(await show(product)).toMatchObject(whole)
      expect(await show("/product_groups")).toMatchObject([{ name: "After the backup" }])
      await server.syncedAlike(device)
    }
  )
  it("receives no commands that the device dropped, and accepts later ones", async () => {
    const unit = { product_id: await server.serialised(), store_id: 1, asset_number: "MH-1" }
    const device = await server.filled()
    const restore = await backupOf(server, engine)
    await create("/stock_levels", unit)
    await device.create("/stock_levels", unit)
    await device.post("/product_groups", { name: "Kept" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1, rejected: 1 })
    device.outbox.resolve(device.outbox.byState("rejected")[0]!.id, "dropped")
    // The restored server would accept the unit, but the command was discarded.
    await restore()
    await clients()
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1, dropped: 1 })
    expect(await show("/stock_levels")).toEqual([])
    expect(await show("/product_groups")).toMatchObject([{ name: "Kept" }])
    await device.post("/product_groups", { name: "Later" })
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 2, dropped: 1 })
    await server.sameOn(device)
  })
})
