/** Scans out of cases and damaged ones back in, taken back: the case and the unit are as they were before. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "./business.ts"
import type { Filled } from "./filling.ts"
import { undoOf } from "./undoing.ts"

describe("a scan that is taken back", () => {
  const { business, filled, make } = businessOfEachTest("sqlite")
  const dates = { starts_at: "2030-12-03T09:00:00Z", ends_at: "2030-12-05T17:00:00Z" }
  const order = async (item_id: number, quantity: number) => {
    const { id } = await make("opportunities", { subject: "Gig", store_id: 1, ...dates })
    await make(`opportunities/${id}/items`, { name: "Line", item_id, quantity })
    await make(`opportunities/${id}/convert_to_quotation`, {})
    await make(`opportunities/${id}/convert_to_order`, {})
    return id as number
  }
  /** Heads on an order of all of them, packed and sealed in a case. */
  const house = async (many: number, path = "containers/temporary") => {
    const product = await make("products", { name: "Head", stock_method: 2 })
    const units: Array<number> = []
    for (let n = 1; n <= many; n++)
      units.push((await make("stock_levels", { product_id: product.id, store_id: 1, asset_number: `MH-${n}` })).id)
    const container = (await make(path, { name: "Case 7", barcode: "C7", store_id: 1 })).id
    for (const serialised_item_id of units) await make(`containers/${container}/pack`, { serialised_item_id })
    await make(`containers/${container}/seal`, {})
    return { units, container: container as number, gig: await order(product.id, many), product: product.id as number }
  }
  const scanned = async (device: Filled, gig: number, body: object) => {
    const answer = await device.ask("POST", `opportunities/${gig}/scan`, body)
    await device.sync()
    return { ...answer.body.scan, n: String(device.outbox.lastN()) }
  }
  const undone = async (device: Filled, n: string) => {
    const result = await undoOf(device).undo(n, false)
    expect(result, JSON.stringify(result)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0, conflicts: 0 })
    return result.ok ? result.plan.steps[0]?.says : undefined
  }
  const live = async () =>
    (await business.ask("GET", "containers?include=active_items&q[status_not_eq]=dissolved")).body.containers.map(
      (one: any) => [one.name, one.barcode, one.status, one.active_items.map((item: any) => item.serialised_item_id)]
    )
  const assets = async (gig: number) =>
    (await business.ask("GET", `opportunities/${gig}/assets`)).body.assets.map((one: any) => [
      one.stock_level_id,
      one.status_label
    ])

  it("packs the unit again and seals the case as it was", async () => {
    const { gig, units } = await house(3)
    const device = await filled()
    const { n } = await scanned(device, gig, { direction: "out", code: "MH-2", break_seal: true })
    expect((await undoOf(device).list(1))[0]?.summary).toMatch(/^Book out MH-2 for order \d+ Gig, 3–5 Dec/)
    expect(await undone(device, n)).toMatch(/MH-2 is in .*Case 7 again, .*Case 7 is sealed again\.$/)
    const [[name, barcode, status, inside]] = await live()
    expect([name, barcode, status, [...inside].sort()]).toEqual(["Case 7", "C7", "sealed", units])
    expect(await assets(gig)).toEqual([])
  })
  it("begins a case that ended with its last unit anew; one with a label of its own was left empty", async () => {
    const { container, gig, units } = await house(1)
    const device = await filled()
    const out = await scanned(device, gig, { direction: "out", code: "MH-1", break_seal: true })
    expect(out.taken_out_of).toEqual([
      { container_id: container, name: "Case 7", seal_broken: true, left: "dissolved" }
    ])
    expect(await live()).toEqual([])
    await undone(device, out.n)
    expect(await live()).toEqual([["Case 7", "C7", "sealed", units]])
  })
  it("leaves a case that is known by its label open and empty, and fills it again", async () => {
    const { gig, units } = await house(1, "containers")
    const device = await filled()
    const out = await scanned(device, gig, { direction: "out", code: "MH-1", break_seal: true })
    expect(out.taken_out_of).toMatchObject([{ left: "empty" }])
    expect(await live()).toEqual([["Case 7", "C7", "open", []]])
    await undone(device, out.n)
    expect(await live()).toEqual([["Case 7", "C7", "sealed", units]])
  })
  it("leaves the case open and says so where the unit cannot be packed again", async () => {
    const { gig, product, units } = await house(2)
    const device = await filled()
    const { n } = await scanned(device, gig, { direction: "out", code: "MH-2", break_seal: true })
    const later = await order(product, 1)
    const { items } = (await business.ask("GET", `opportunities/${later}?include=items`)).body.opportunity
    await business.ask("PATCH", `opportunities/${later}/items/${items[0].id}`, {
      starts_at: "2031-01-03T09:00:00Z",
      ends_at: "2031-01-05T09:00:00Z"
    })
    const allocated = await business.ask("POST", `opportunities/${later}/items/${items[0].id}/assets`, {
      stock_level_id: units[1]
    })
    expect(allocated.status, JSON.stringify(allocated.body)).toBeLessThan(300)
    await device.sync()
    expect(await undone(device, n)).toMatch(/Case 7 stays as it is\. .*committed/)
    expect(await live()).toEqual([["Case 7", "C7", "open", [units[0]]]])
  })
  it("puts a unit that came back damaged out again, in service", async () => {
    const { gig, units } = await house(1, "containers")
    const device = await filled()
    await scanned(device, gig, { direction: "out", code: "MH-1", break_seal: true })
    const { n } = await scanned(device, gig, { direction: "in", code: "MH-1", condition: 1, damage_notes: "lens" })
    const state = async () => (await business.ask("GET", `stock_levels/${units[0]}`)).body.stock_level.service_state
    expect(await state()).toBe("quarantine")
    await undone(device, n)
    expect([await state(), await assets(gig)]).toEqual(["in_service", [[units[0], "Dispatched"]]])
    await scanned(device, gig, { direction: "in", code: "MH-1" })
    const again = await device.ask("POST", `opportunities/${gig}/scan`, { direction: "out", code: "MH-1" })
    expect(again.body.scan).toMatchObject({ name: "MH-1", is_out_again: true })
  })
  describe("of counted goods that came back damaged", () => {
    /** Five of ten cables are out, two of them are back good, three damaged. */
    const cables = async (device: Filled) => {
      const { id } = await make("products", { name: "Cable", barcode: "CAB", stock_method: 1 })
      const level = (await business.ask("GET", `stock_levels?q[product_id_eq]=${id}`)).body.stock_levels[0]
      if (level === undefined) await make("stock_levels", { product_id: id, store_id: 1, quantity_held: 10 })
      else await business.must("PUT", `stock_levels/${level.id}`, { quantity_held: 10 })
      const gig = await order(id, 5)
      await device.sync()
      await scanned(device, gig, { direction: "out", code: "CAB*5" })
      await scanned(device, gig, { direction: "in", code: "CAB*2" })
      const { n } = await scanned(device, gig, { direction: "in", code: "CAB*3", condition: 1, damage_notes: "cut" })
      const state = async () => {
        const { items } = (await business.ask("GET", `opportunities/${gig}?include=items`)).body.opportunity
        const [{ dispatched_quantity, returned_quantity }] = items
        const found = (await business.ask("GET", `service_records?q[product_id_eq]=${id}`)).body.service_records
        const open = found.filter((one: any) => one.is_open)
        return [Number(dispatched_quantity), Number(returned_quantity), open.map((one: any) => Number(one.quantity))]
      }
      return { gig, n, state }
    }
    it("puts them out again, in service", async () => {
      const device = await filled()
      const { n, state } = await cables(device)
      expect(await state()).toEqual([5, 5, [3]])
      await undone(device, n)
      expect(await state()).toEqual([5, 2, []])
    })
    it("leaves them out of service where the return cannot be taken back", async () => {
      const device = await filled()
      const { gig, n, state } = await cables(device)
      await make(`opportunities/${gig}/change_status`, { status: 5 })
      expect(await undoOf(device).undo(n, false)).toMatchObject({ ok: true })
      expect((await device.sync()).rejected).toBe(1)
      expect(await state()).toEqual([5, 5, [3]])
    })
  })
})
