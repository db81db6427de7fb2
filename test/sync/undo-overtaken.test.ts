/** What others did between a command's recording here and its arrival at the server is what an undo leads back to. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import type { Filled } from "./filling.ts"
import { undoOf } from "./undoing.ts"

describe("an undo of what was recorded before others' work was known", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const dates = { starts_at: "2030-12-03T09:00:00.000Z", ends_at: "2030-12-05T17:00:00.000Z" }
  const seventh = "2030-12-07T17:00:00.000Z"
  const order = async () => {
    const product = await make("products", { name: "Head", stock_method: 2 })
    const unit = (await make("stock_levels", { product_id: product.id, store_id: 1, asset_number: "MH-1" })).id
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1, ...dates })
    await make(`opportunities/${id}/items`, { name: "Line", item_id: product.id, quantity: 1 })
    const { items } = (await business.ask("GET", `opportunities/${id}?include=items`)).body.opportunity
    await make(`opportunities/${id}/convert_to_quotation`, {})
    await make(`opportunities/${id}/convert_to_order`, {})
    return { id: id as number, item: items[0].id as number, unit: unit as number }
  }
  const undone = async (device: Filled) => {
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    const result = await undoOf(device).undo("1", false)
    expect(result, JSON.stringify(result)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
  }

  it("puts back the name that somebody else gave before the command arrived", async () => {
    const { id } = await make("products", { name: "Lamp" })
    const device = await filled()
    await device.ask("PUT", `products/${id}`, { name: "Lantern" })
    await business.must("PUT", `products/${id}`, { name: "Torch" })
    await undone(device)
    expect((await business.ask("GET", `products/${id}`)).body.product.name).toBe("Torch")
  })
  it("leads back to the end of the hire that somebody else agreed on, of its lines, too", async () => {
    const { id } = await order()
    const device = await filled()
    const ninth = "2030-12-09T17:00:00.000Z"
    await device.ask("POST", `opportunities/${id}/extend`, { ends_at: ninth })
    await business.must("POST", `opportunities/${id}/extend`, { ends_at: seventh })
    await undone(device)
    const { ends_at, items } = (await business.ask("GET", `opportunities/${id}?include=items`)).body.opportunity
    expect([ends_at, items[0].ends_at]).toEqual([seventh, seventh])
  })
  it("leaves a unit prepared that somebody else prepared before it was booked out", async () => {
    const { id, item, unit } = await order()
    const { id: asset } = await make(`opportunities/${id}/items/${item}/assets`, { stock_level_id: unit })
    const device = await filled()
    await device.ask("POST", `opportunities/${id}/quick_book_out`, { asset_ids: [asset] })
    await business.must("PATCH", `opportunities/${id}/items/${item}/assets/${asset}`, { action: "prepare" })
    await undone(device)
    const { assets } = (await business.ask("GET", `opportunities/${id}/assets`)).body
    expect(assets).toMatchObject([{ status_label: "Prepared" }])
  })
})
