/** What others did since is not taken back along with a device's own command; and what has no way back says so. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import { undoOf } from "./undoing.ts"

describe("taking back what was sent", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")

  it("is refused where somebody set the same value since, with who; what else they set stays", async () => {
    const { id } = await make("products", { name: "Lamp", sku: "L-1" })
    const device = await filled()
    const nameThere = async () => (await business.ask("GET", `products/${id}`)).body.product
    await device.ask("PUT", `products/${id}`, { name: "Lantern" })
    await device.sync()
    await business.ask("PUT", `products/${id}`, { sku: "L-2" })
    await device.sync()
    expect(await undoOf(device).undo("1", false)).toMatchObject({ ok: true, plan: { steps: [{ way: "compensate" }] } })
    await device.sync()
    expect(await nameThere()).toMatchObject({ name: "Lamp", sku: "L-2" })

    await device.ask("PUT", `products/${id}`, { name: "Lantern" })
    await device.sync()
    await business.ask("PUT", `products/${id}`, { name: "Floodlight" })
    await device.sync()
    const n = String(device.outbox.lastN())
    expect(await undoOf(device).undo(n, false)).toMatchObject({
      ok: false,
      failure: { kind: "refused", plan: { steps: [{ way: "refused", later: { field: "name", who: "Owner" } }] } }
    })
    await device.sync()
    expect(await nameThere()).toMatchObject({ name: "Floodlight" })
  })
  it("deletes nothing that others have worked on since it was made", async () => {
    const device = await filled()
    const { id } = (await device.ask("POST", "opportunities", { subject: "Gala", store_id: 1 })).body.opportunity
    const other = (await device.ask("POST", "opportunities", { subject: "Fair", store_id: 1 })).body.opportunity
    await device.sync()
    await business.ask("PUT", `opportunities/${id}`, { reference: "PO-7" })
    await device.sync()
    expect(await undoOf(device).undo("1", false)).toMatchObject({ ok: false, failure: { kind: "refused" } })
    expect(await undoOf(device).undo("2", false)).toMatchObject({ ok: true })
    await device.sync()
    expect((await business.ask("GET", `opportunities/${id}`)).status).toBe(200)
    expect((await business.ask("GET", `opportunities/${other.id}`)).status).toBe(404)
  })
  it("is planned as it would be decided: what the rules refuse by now says who did what meanwhile", async () => {
    const { id: product_id } = await make("products", { name: "Radio", stock_method: 2 })
    const { id } = await make("stock_levels", { product_id, store_id: 1, asset_number: "RC-1" })
    const device = await filled()
    await device.ask("POST", `stock_levels/${id}/quarantine`, { reason: "crackles" })
    await device.sync()
    expect(await undoOf(device).list(1)).toMatchObject([{ way: "compensate", refusal: null }])
    expect(device.outbox.lastN()).toBe(1)
    await business.ask("POST", `stock_levels/${id}/repair`, {})
    await device.sync()
    const before = await device.tables()
    const step = {
      way: "refused",
      says: expect.stringMatching(
        /^RC-1 has no open service record \d+\. .*RC-1.* was changed since by Owner \(.*\)\.$/
      ),
      instead: "agree on it, and set it by hand",
      later: { who: "Owner", n: null },
      refusal: { status: 422, errors: { service_record_id: [expect.any(String)] } }
    }
    const undo = undoOf(device)
    expect(await undo.list(1)).toMatchObject([step])
    expect(await undo.plan("1")).toMatchObject({ ok: true, plan: { steps: [step] } })
    expect(await undo.undo("1", false)).toMatchObject({
      ok: false,
      failure: { kind: "refused", plan: { steps: [step] } }
    })
    expect(await device.tables()).toEqual(before)
    expect(device.outbox.lastN()).toBe(1)
  })
  it("names the own command that stands in the way", async () => {
    const { id: product_id } = await make("products", { name: "Radio", stock_method: 2 })
    const { id } = await make("stock_levels", { product_id, store_id: 1, asset_number: "RC-2" })
    const device = await filled()
    await device.ask("POST", `stock_levels/${id}/quarantine`, { reason: "crackles" })
    await device.sync()
    await device.ask("POST", `stock_levels/${id}/repair`, {})
    await device.sync()
    expect(await undoOf(device).list(2)).toMatchObject([
      { n: 2 },
      { n: 1, way: "refused", later: { n: 2 }, instead: "undo that first: flightcase undo 2" }
    ])
  })
})
