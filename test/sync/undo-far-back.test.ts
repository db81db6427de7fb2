/** Undo goes further back than what has nothing left to take back. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import { undoOf } from "./undoing.ts"

describe("an undo of the last that was recorded", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")

  it("goes on with what was recorded before that once nothing of it is left", async () => {
    const { id: product } = await make("products", { name: "Lamp" })
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1 })
    const { id: item_id } = await make("products", { name: "Head", stock_method: 2 })
    const unit = (await make("stock_levels", { product_id: item_id, store_id: 1, asset_number: "MH-1" })).id
    await make(`opportunities/${id}/items`, { name: "Line", item_id, quantity: 1 })
    const { items } = (await business.ask("GET", `opportunities/${id}?include=items`)).body.opportunity
    await make(`opportunities/${id}/convert_to_quotation`, {})
    await make(`opportunities/${id}/convert_to_order`, {})
    const device = await filled()
    await device.ask("PUT", `products/${product}`, { name: "Lantern" })
    const place = `opportunities/${id}/items/${items[0].id}/assets`
    const { body } = await device.ask("POST", place, { stock_level_id: unit })
    await device.sync()
    await business.must("DELETE", `${place}/${body.asset.id}`)
    await device.sync()
    const undo = undoOf(device)
    expect(await undo.undo(undefined, false)).toMatchObject({ ok: true, plan: { steps: [{ n: 2, way: "nothing" }] } })
    expect(await undo.undo(undefined, false)).toMatchObject({
      ok: true,
      plan: { steps: [{ n: 1, way: "compensate" }] }
    })
    expect(await undo.undo("2", false)).toMatchObject({ ok: true, plan: { steps: [{ way: "nothing" }] } })
    expect(await undo.undo(undefined, false)).toMatchObject({ ok: false, failure: { kind: "nothing" } })
  })
})
