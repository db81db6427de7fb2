/** An undo of several commands is recorded as a whole, whatever happens on the way. */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openOutboxAt } from "../../sync/device/outbox/outbox.ts"
import { businessOfEachTest } from "./business.ts"
import type { Hooks } from "./filling.ts"
import { undoOf } from "./undoing.ts"

describe("an undo that is broken off halfway", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const dates = { starts_at: "2030-12-03T09:00:00.000Z", ends_at: "2030-12-05T17:00:00.000Z" }

  it("leaves nothing of itself behind, and is done as a whole the next time", async () => {
    const { id: item_id } = await make("products", { name: "Head", stock_method: 2 })
    const units: Array<number> = []
    for (const asset_number of ["MH-1", "MH-2"])
      units.push((await make("stock_levels", { product_id: item_id, store_id: 1, asset_number })).id)
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1, ...dates })
    await make(`opportunities/${id}/items`, { name: "Line", item_id, quantity: 2 })
    const { items } = (await business.ask("GET", `opportunities/${id}?include=items`)).body.opportunity
    await make(`opportunities/${id}/convert_to_quotation`, {})
    await make(`opportunities/${id}/convert_to_order`, {})
    for (const stock_level_id of units)
      await make(`opportunities/${id}/items/${items[0].id}/assets`, { stock_level_id })
    const { assets } = (await business.ask("GET", `opportunities/${id}/assets`)).body
    const hooks: Hooks = {}
    const device = await filled(hooks)
    const asset_ids = assets.map((one: any) => one.id)
    await device.ask("POST", `opportunities/${id}/quick_book_out`, { asset_ids })
    await device.sync()
    const before = await device.tables()

    let written = 0
    const onDisk: Array<number> = []
    hooks.at = (step) => {
      if (step !== "in the outbox") return
      const disk = openOutboxAt(join(device.folder, "outbox.sqlite"))
      onDisk.push(disk.lastN())
      disk.close()
      if (++written === 2) throw new Error("broken off")
    }
    await expect(undoOf(device).undo("1", false)).rejects.toThrow("broken off")
    // What another process would find, had this one ended there.
    expect(onDisk).toEqual([1, 1])
    delete hooks.at
    expect(device.outbox.lastN()).toBe(1)
    expect(await device.tables()).toEqual(before)
    await device.restart()
    expect(await device.tables()).toEqual(before)

    expect(await undoOf(device).undo("1", false)).toMatchObject({ ok: true, recorded: [2, 3] })
    expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    const after = (await business.ask("GET", `opportunities/${id}/assets`)).body.assets
    expect(after.map((one: any) => one.status_label)).toEqual(["Allocated", "Allocated"])
  })
})
