/** A unit's place on an order, taken back: what a colleague did with the unit meanwhile stays as it is. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import type { Filled } from "./filling.ts"
import { undoOf } from "./undoing.ts"

describe("taking back what was done with a unit", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const dates = { starts_at: "2030-12-03T09:00:00Z", ends_at: "2030-12-05T17:00:00Z" }
  /** An order of one head, and three of them. */
  const house = async () => {
    const { id: item_id } = await make("products", { name: "Head", stock_method: 2 })
    const units: Array<number> = []
    for (let n = 1; n <= 3; n++)
      units.push((await make("stock_levels", { product_id: item_id, store_id: 1, asset_number: `MH-${n}` })).id)
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1, ...dates })
    const { items } = await make(`opportunities/${id}/items`, { name: "Head", item_id, quantity: 1 })
    await make(`opportunities/${id}/convert_to_quotation`, {})
    await make(`opportunities/${id}/convert_to_order`, {})
    const line = `opportunities/${id}/items/${items[0].id}`
    const [one = 0, other = 0, third = 0] = units
    return { one, other, third, line, assets: `opportunities/${id}/assets` }
  }
  const allocate = (line: string, stock_level_id: number) => make(`${line}/assets`, { stock_level_id })
  const standing = async (assets: string) =>
    (await business.ask("GET", assets)).body.assets.map((one: any) => [
      one.stock_level_id,
      one.status_label,
      one.container_stock_level_id
    ])
  const sent = async (device: Filled, method: string, path: string, body?: object) => {
    const answer = await device.ask(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
    return String(device.outbox.lastN())
  }

  it("does not put another unit on the order for one that a colleague has sent out", async () => {
    const { assets, line, one, other } = await house()
    const { id } = await allocate(line, one)
    const device = await filled()
    const move = (body: object) => business.must("PATCH", `${line}/assets/${id}`, body)
    const n = await sent(device, "PATCH", `${line}/assets/${id}`, { action: "substitute", stock_level_id: other })
    await move({ action: "prepare" })
    await move({ action: "dispatch" })
    expect(await undoOf(device).undo(n, false)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 1, pending: 0 })
    for (const { id } of device.outbox.byState("rejected")) device.outbox.resolve(id, "dropped")
    expect(await undoOf(device).plan(n)).toMatchObject({
      plan: { steps: [{ way: "refused", says: expect.stringMatching(/status was changed since by Owner/) }] }
    })
    expect(await standing(assets)).toEqual([[other, "Dispatched", null]])
  })
  it("does not take a unit off the order that a colleague has put there instead", async () => {
    const { assets, line, one, other } = await house()
    const device = await filled()
    const n = await sent(device, "POST", `${line}/assets`, { stock_level_id: one })
    const [unit] = (await business.ask("GET", assets)).body.assets
    await business.must("PATCH", `${line}/assets/${unit.id}`, { action: "substitute", stock_level_id: other })
    expect(await undoOf(device).undo(n, false)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 1, pending: 0 })
    for (const { id } of device.outbox.byState("rejected")) device.outbox.resolve(id, "dropped")
    expect(await undoOf(device).plan(n)).toMatchObject({
      plan: { steps: [{ way: "refused", says: expect.stringMatching(/stock level id was changed since by Owner/) }] }
    })
    expect(await standing(assets)).toEqual([[other, "Allocated", null]])
  })
  it("puts a unit that was taken off back in the case it travels in", async () => {
    const { assets, line, one, third } = await house()
    const { id } = await allocate(line, one)
    await business.must("PATCH", `${line}/assets/${id}`, { action: "set_container", container_stock_level_id: third })
    await business.must("PATCH", `${line}/assets/${id}`, { action: "prepare" })
    const device = await filled()
    const n = await sent(device, "DELETE", `${line}/assets/${id}`)
    expect(await standing(assets)).toEqual([])
    expect(await undoOf(device).undo(n, false)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
    expect(await standing(assets)).toEqual([[one, "Prepared", third]])
  })
})
