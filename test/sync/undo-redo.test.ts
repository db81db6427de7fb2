/** What was undone is recorded once more: once, over nobody's work, and with the ids of today. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import type { Filled } from "./filling.ts"
import { undoOf } from "./undoing.ts"

describe("what is recorded again after it was undone", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const done = async (result: Promise<{ readonly ok: boolean }>) => {
    const answer = await result
    expect(answer, JSON.stringify(answer)).toMatchObject({ ok: true })
  }
  const synced = async (device: Filled) =>
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0, conflicts: 0 })
  const refused = {
    ok: false,
    failure: { kind: "refused", plan: { steps: [{ later: { field: "name", who: "Owner" } }] } }
  }

  it("is recorded once, however often it was taken back and recorded in between", async () => {
    const { id: item_id } = await make("products", { name: "Head" })
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1 })
    const device = await filled()
    const items = async () => (await device.ask("GET", `opportunities/${id}?include=items`)).body.opportunity.items
    await device.ask("POST", `opportunities/${id}/items`, { name: "Line", item_id, quantity: 1 })
    await synced(device)
    const undo = undoOf(device)
    await done(undo.undo("1", false))
    await synced(device)
    await done(undo.redo("1"))
    await done(undo.undo("3", false))
    expect(await undo.undo("1", false)).toMatchObject({ ok: false, failure: { kind: "undone" } })
    await done(undo.redo("1"))
    expect(await undo.redo("1")).toMatchObject({ ok: false, failure: { kind: "settled" } })
    expect(await undo.redo("3")).toMatchObject({ ok: false, failure: { kind: "settled" } })
    expect(await undo.redo(undefined)).toMatchObject({ ok: false, failure: { kind: "nothing" } })
    expect((await items()).length).toBe(1)
    await synced(device)
    await done(undo.undo("4", false))
    expect(await items()).toEqual([])
    await done(undo.redo(undefined))
    expect((await items()).length).toBe(1)
    await synced(device)
  })
  it("is refused where somebody set the same value since, whether it had been sent or not", async () => {
    const { id } = await make("products", { name: "Lamp" })
    const device = await filled()
    const undo = undoOf(device)
    await device.ask("PUT", `products/${id}`, { name: "Lantern" })
    await done(undo.undo("1", false))
    await business.must("PUT", `products/${id}`, { name: "Torch" })
    await synced(device)
    expect(await undo.redo("1")).toMatchObject(refused)

    await device.ask("PUT", `products/${id}`, { name: "Lantern" })
    await synced(device)
    await done(undo.undo("2", false))
    await synced(device)
    await business.must("PUT", `products/${id}`, { name: "Floodlight" })
    await synced(device)
    expect(await undo.redo("2")).toMatchObject(refused)
    expect((await business.ask("GET", `products/${id}`)).body.product.name).toBe("Floodlight")
  })
  it("looks at the custom field that it sets, not at its neighbours", async () => {
    for (const name of ["a", "b"]) await make("custom_fields", { name, module_type: "Product", field_type: 0 })
    const { id } = await make("products", { name: "Lamp" })
    const device = await filled()
    const undo = undoOf(device)
    const set = (custom_fields: object) => business.must("PUT", `products/${id}`, { custom_fields })
    const fields = async () => (await business.ask("GET", `products/${id}`)).body.product.custom_fields
    await device.ask("PUT", `products/${id}`, { custom_fields: { a: "mine" } })
    await synced(device)
    await done(undo.undo("1", false))
    await synced(device)
    await set({ b: "theirs" })
    await done(undo.redo("1"))
    await synced(device)
    expect(await fields()).toEqual({ a: "mine", b: "theirs" })

    await done(undo.undo("3", false))
    await synced(device)
    await set({ a: "theirs" })
    await device.sync()
    expect(await undo.redo("3")).toMatchObject({
      ok: false,
      failure: { plan: { steps: [{ later: { field: "custom_fields", who: "Owner" } }] } }
    })
  })
  it("waits as a conflict where the server knows of a change that the device does not", async () => {
    const { id } = await make("products", { name: "Lamp" })
    const device = await filled()
    await device.ask("PUT", `products/${id}`, { name: "Lantern" })
    await done(undoOf(device).undo("1", false))
    await device.sync()
    await business.must("PUT", `products/${id}`, { name: "Torch" })
    await done(undoOf(device).redo("1"))
    expect(await device.sync()).toMatchObject({ conflicts: 1 })
    expect((await business.ask("GET", `products/${id}`)).body.product.name).toBe("Torch")
  })
  it("names the rows that were made anew: an order and its line", async () => {
    const { id: item_id } = await make("products", { name: "Head" })
    const device = await filled()
    const { id } = (await device.ask("POST", "opportunities", { subject: "Gig", store_id: 1 })).body.opportunity
    await device.ask("POST", `opportunities/${id}/items`, { name: "Line", item_id, quantity: 1 })
    await synced(device)
    const undo = undoOf(device)
    for (const n of ["2", "1"]) await done(undo.undo(n, false))
    await synced(device)
    for (const n of ["1", "2"]) await done(undo.redo(n))
    await synced(device)
    const { opportunities } = (await business.ask("GET", "opportunities?include=items")).body
    expect(opportunities).toMatchObject([{ subject: "Gig", items: [{ item_id }] }])
  })
})
