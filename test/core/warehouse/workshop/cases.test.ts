/** Cases and kits with stock that is out of service (rules/availability 13.4). */
import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { errorKeys, refused } from "../../../app-house.ts"
import { caseHouse } from "../containers/fixtures.ts"

describe.each(engines)("cases and kits with stock out of service on %s", (engine) => {
  const w = caseHouse(engine)
  const move = (id: number, name: string) => w.post(`/stock_levels/${id}/${name}`, {})
  const manifest = async (id: number) => await w.show(`/containers/${id}/compliance`)

  it("cannot be packed, sealed or dispatched with that stock, and name its state in the manifest", async () => {
    const box = await w.container("kit")
    const gear = await w.gear()
    await move(gear.unit, "quarantine")
    await refused(w.pack(box.id, gear.unit), "serialised_item_id")
    await move(gear.unit, "release")
    expect((await w.pack(box.id, gear.unit)).status).toBe(201)
    await move(gear.unit, "quarantine")
    // It is already unavailable inside its case, and must be counted once.
    expect(await w.free(gear.product)).toBe(0)
    await refused(w.act(box.id, "seal"), "container")
    await move(gear.unit, "release")
    expect((await w.act(box.id, "seal")).status).toBe(200)
    const before = await manifest(box.id)
    expect(before.items).toMatchObject([{ service_state: "in_service" }])
    expect(before.is_compliant).toBe(true)
    await move(gear.unit, "repair")
    const after = await manifest(box.id)
    expect(after.items).toMatchObject([{ service_state: "in_repair" }])
    expect(after.is_compliant).toBe(false)
    const opportunity = await w.opportunity({
      subject: "Tour",
      store_id: w.S,
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: "2026-07-02T09:00:00Z"
    })
    await w.post(`/opportunities/${opportunity.id}/items`, { name: "Case", item_id: box.product, quantity: 1 })
    await w.confirm(opportunity.id)
    const no_dispatch = await w.act(box.id, "dispatch", { opportunity_id: opportunity.id })
    expect(errorKeys(no_dispatch)).toEqual([422, ["container"]])
    expect(no_dispatch.body.message).toContain("is in repair since")
  })

  it("cannot be moved to another store while they have content, and neither can its units", async () => {
    const gear = await w.units(w.S, 1)
    const box = await w.container("hybrid")
    await w.pack(box.id, gear.units[0]!)
    const other = await w.store()
    const inside = await refused(w.put(`/stock_levels/${gear.units[0]}`, { store_id: other }), "store_id")
    expect(inside.store_id[0]).toContain("take it out first")
    await refused(w.put(`/stock_levels/${box.housing}`, { store_id: other }), "store_id")
  })

  it("are free again once both the case and its fixed parts are in service", async () => {
    const part = await w.units(w.S, 2)
    const product = await w.caseProduct({ availability_mode: "kit" })
    await w.post(`/products/${product}/components`, { component_product_id: part.id, quantity: 1, binding: "fixed" })
    const box = await w.container("kit", { product })
    await w.pack(box.id, part.units[0]!)
    expect(await w.free(product)).toBe(1)
    await move(part.units[0]!, "quarantine")
    expect(await w.free(product)).toBe(0)
    expect(await w.free(part.id)).toBe(1)
    await move(part.units[0]!, "release")
    await move(box.housing, "repair")
    expect(await w.free(product)).toBe(0)
    await move(box.housing, "release")
    expect(await w.free(product)).toBe(1)
  })

  it("are available, if they are kits, only as often as their parts in service allow", async () => {
    const part = await w.units(w.S, 2)
    const kit = await w.bulk(w.S, 0, { is_kit: true })
    await w.post(`/products/${kit.id}/components`, { component_product_id: part.id, quantity: 1 })
    expect(await w.free(kit.id)).toBe(2)
    await move(part.units[0]!, "repair")
    expect(await w.free(kit.id)).toBe(1)
  })
})
