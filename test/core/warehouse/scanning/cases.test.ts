/**
 * Cases and their contents scanned out and in: sealed, open, rented as kits, out of service, partly returned, scanned
 * twice.
 */
import { describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/index.ts"
import { demands } from "../../../../core/orders/demands/schema.ts"
import { engines } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"
import { dates, scanFixture } from "./fixture.ts"

describe.each(engines)("scanning cases on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)

  it("requires confirmation for a unit in a sealed case, and records the broken seal", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const packed = await s.box([a!, b!])
    const before = await w.app.dump()
    const asked = await s.scan(gig, "out", a!.asset_number)
    expect(asked.status).toBe(409)
    expect(asked.body.errors.break_seal[0]).toMatch(/U-\d+ is in Box \d+, which is sealed\. .*break the seal/)
    expect(await w.app.dump()).toEqual(before)
    const out = await s.scan(gig, "out", a!.asset_number, { break_seal: true })
    expect(out.body.scan.taken_out_of).toEqual([
      { container_id: packed.id, name: expect.any(String), seal_broken: true, left: null }
    ])
    const left = await s.containerAt(packed)
    expect(left).toMatchObject({
      status: "open",
      unsealed_reason: `unit scanned out to order ${Number(gig.number)}: ${a!.asset_number}`,
      unsealed_by_user_id: 1
    })
    expect(left.unsealed_at).not.toBeNull()
    expect(left.items.map((one) => one.serialised_item_id)).toEqual([b!.id])
    // Sealed again, it reports no broken seal.
    expect((await w.create(`/containers/${packed.id}/seal`)).unsealed_reason).toBeNull()
  })

  it("takes a unit out of an open box with a message, and breaks the seal of a box if a unit is booked out by id", async () => {
    const [product, a, b, c] = await s.heads(3)
    const gig = await s.order([{ item_id: product.id, quantity: 3 }])
    const open = await s.box([a!, b!], { sealed: false })
    expect((await s.scan(gig, "out", a!.asset_number)).body.scan.taken_out_of).toEqual([
      { container_id: open.id, name: expect.any(String), seal_broken: false, left: null }
    ])
    expect(await s.containerAt(open)).toMatchObject({ status: "open", unsealed_reason: null })
    await w.post(`/containers/${open.id}/pack`, { serialised_item_id: c!.id })
    await w.post(`/containers/${open.id}/seal`)
    const allocated = await w.post(`/opportunities/${gig.id}/quick_allocate`, {
      allocations: [{ opportunity_item_id: gig.items[0].id, stock_level_id: c!.id }]
    })
    const asset = allocated.body.opportunity.items[0].assets.find((one) => one.stock_level_id === c!.id)!
    expect((await w.post(`/opportunities/${gig.id}/quick_book_out`, { asset_ids: [asset.id] })).status).toBe(200)
    expect(await s.containerAt(open)).toMatchObject({
      status: "open",
      unsealed_reason: `unit scanned out to order ${Number(gig.number)}: ${c!.asset_number}`
    })
  })

  it("sends a sealed case out and back by its code, with all its content", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const packed = await s.box([a!, b!])
    const out = await s.scan(gig, "out", packed.barcode)
    expect(out.body.scan, JSON.stringify(out.body)).toMatchObject({
      kind: "container",
      container_id: packed.id,
      quantity: 2,
      counts: { asked: 2, out: 2, to_go: 0 }
    })
    expect(await s.containerAt(packed)).toMatchObject({ status: "dispatched", opportunity_id: gig.id })
    expect(await s.refusal(gig, "out", packed.barcode)).toMatch("is booked out on this order already")
    const back = await w.post("/scan_in", { code: packed.barcode })
    expect(back.body.scan, JSON.stringify(back.body)).toMatchObject({
      kind: "container",
      opportunity_id: gig.id,
      counts: { out: 2, back: 2 }
    })
    const there = await s.containerAt(packed)
    expect([there.status, there.items.length]).toEqual(["returned", 2])
    expect((await s.units(gig)).map(([, status]) => status)).toEqual(["Checked In", "Checked In"])
  })

  it("rejects a case with content that the order does not need, and an open case", async () => {
    const [product, a] = await s.heads(1)
    const [, stranger] = await s.heads(1)
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const packed = await s.box([a!, stranger!])
    const before = await w.app.dump()
    expect(await s.refusal(gig, "out", packed.barcode)).toMatch(
      `${stranger!.asset_number}, which is in it, is not on this order`
    )
    const open = await s.box((await s.heads(1)).slice(1), { sealed: false })
    expect(await s.refusal(gig, "out", open.barcode)).toMatch(/is open; only a sealed case goes out whole/)
    expect((await w.app.dump())["asset_assignments"]).toEqual(before["asset_assignments"])
    expect(await s.units(gig)).toEqual([])
  })

  it("returns a box with the last of its units", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const packed = await s.box([a!, b!])
    await s.scan(gig, "out", packed.barcode)
    await s.done(gig, "in", a!.asset_number)
    expect((await s.containerAt(packed)).status).toBe("dispatched")
    await s.done(gig, "in", b!.asset_number)
    expect((await s.containerAt(packed)).status).toBe("returned")
  })

  /** Creates a sealed case with one unit, of a product rented as a kit or used for transport. */
  const flightCase = async (availability_mode = "kit") => {
    const flight = await w.serialised()
    const template = { is_containerable: true, availability_mode }
    expect((await w.put(`/products/${flight}/container_template`, template)).status).toBe(200)
    const housing = await w.labelled(flight, { asset_number: `K-${s.next()}` })
    const [product, a] = await s.heads(1)
    const kit = await w.create("/containers", { name: "Kit", serialised_item_id: housing.id })
    expect((await w.post(`/containers/${kit.id}/pack`, { serialised_item_id: a!.id })).status).toBe(201)
    expect((await w.post(`/containers/${kit.id}/seal`)).status).toBe(200)
    return { a, flight, housing, kit, product }
  }

  it("sends a kit out and back by its case's own code", async () => {
    const { a, flight, housing, kit, product } = await flightCase()
    const gig = await s.order([{ item_id: flight, quantity: 1 }])
    const other = await s.order([{ item_id: product.id, quantity: 1 }])
    // Units in the kit can only be taken out by breaking its seal.
    expect((await s.scan(other, "out", a!.asset_number)).status).toBe(409)
    expect((await s.scan(gig, "out", housing.asset_number!)).body.scan).toMatchObject({
      kind: "container",
      quantity: 1,
      counts: { asked: 1, out: 1 }
    })
    expect(await s.refusal(other, "out", a!.asset_number)).toMatch("is in Kit, which is out")
    expect((await w.create("/scan_in", { code: housing.asset_number })).kind).toBe("container")
    expect((await s.containerAt(kit)).status).toBe("returned")
  })

  it("takes a unit out of a sealed kit if the scan breaks the seal, which opens the kit", async () => {
    const { a, kit, product } = await flightCase()
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    await s.done(gig, "out", a!.asset_number, { break_seal: true })
    expect(await s.containerAt(kit)).toMatchObject({
      status: "open",
      unsealed_reason: `unit scanned out to order ${Number(gig.number)}: ${a!.asset_number}`,
      items: []
    })
  })

  it.each(["transport", "kit"])("rejects a %s case in quarantine until it is released", async (mode) => {
    const { housing, kit, product } = await flightCase(mode)
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    expect((await w.post(`/stock_levels/${housing.id}/quarantine`)).status).toBe(200)

    const text = expect.stringMatching(`^${housing.asset_number}, the case of Kit, is in quarantine since .*release`)
    for (const code of [`container:${kit.id}`, housing.asset_number!]) {
      const { body, status } = await s.scan(gig, "out", code)
      expect([status, body.errors]).toEqual([422, { code: [text] }])
    }
    if (mode === "kit") {
      const sent = await w.post(`/containers/${kit.id}/dispatch`, { opportunity_id: gig.id })
      expect([sent.status, sent.body.errors]).toEqual([422, { container: [text] }])
    }
    expect((await s.containerAt(kit)).status).toBe("sealed")
    expect((await w.post(`/stock_levels/${housing.id}/release`)).status).toBe(200)
    await s.done(gig, "out", `container:${kit.id}`)
  })

  it("rejects the return of a case on another order than it went out with", async () => {
    const [product, ...units] = await s.heads(1)
    const lines = [{ item_id: product.id, quantity: 1 }]
    const [first, second] = [await s.order(lines), await s.order(lines)]
    const { barcode, name } = await s.box(units)
    await s.done(first, "out", barcode)
    expect(await s.refusal(second, "in", barcode)).toBe(`${name} is out with another order (id ${first.id}).`)
    await s.done(first, "in", barcode)
  })

  it("sends a returned case out again by the steps that its rejections name", async () => {
    const [product, unit] = await s.heads(1)
    const { barcode, id: container_id } = await s.box([unit!])
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const at = `/containers/${container_id}`
    for (const direction of ["out", "in"] as const) await s.done(gig, direction, barcode)

    const refusal = () => s.refusal(gig, "out", barcode)
    const repack = new RegExp(`flightcase containers repack start --container-id ${container_id}\\b`)
    expect(await refusal()).toMatch(repack)
    expect((await w.post(`${at}/seal`)).body.errors.container[0]).toMatch(repack)
    expect((await w.post(`${at}/pack`, { serialised_item_id: unit!.id })).body.errors.container[0]).toMatch(repack)
    expect((await w.post("/containers/repack/start", { container_id })).status).toBe(201)
    expect((await w.post(`${at}/seal`)).status).toBe(200)

    const way = /orders items assets move \d+ (\d+) (\d+) --action revert_status --status 0$/
    const [, line, asset] = way.exec(await refusal()) ?? expect.fail("the refusal names no way")
    const path = `/opportunities/${gig.id}/items/${line}/assets/${asset}`
    await w.must("PATCH", path, { action: "revert_status", status: 0 })
    await s.done(gig, "out", barcode)
  })

  it.each(["another", "the same"])(
    "dispatches a unit that came back without its case on %s order while the case is out",
    async (order) => {
      const [product, a, b] = await s.heads(2)
      const gig = await s.order([{ item_id: product.id, quantity: 2 }], dates(20, 22))
      const next =
        order === "another" ? await s.order([{ item_id: product.id, quantity: 1 }], dates(25, 26)) : undefined
      const box = await s.box([a!, b!])
      await s.done(gig, "out", box.barcode)
      await s.done(gig, "in", a!.asset_number)
      // The unit's check is recorded without its case as well.
      await s.done(gig, "in", a!.asset_number, { finalise: true })
      expect((await s.done(next ?? gig, "out", a!.asset_number)).taken_out_of).toMatchObject([
        { container_id: box.id, seal_broken: false, left: null }
      ])
      const { items, status } = await s.containerAt(box)
      expect([status, items.map((one) => one.serialised_item_id)]).toEqual(["dispatched", [b!.id]])
      await s.done(gig, "in", box.barcode)
      expect(await s.units(gig)).toContainEqual([a!.id, next === undefined ? "Dispatched" : "Finalised"])
    }
  )

  it("frees the case of a box once its last unit is back", async () => {
    const { a, housing, kit, product } = await flightCase("transport")
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const claims = () => w.app.run(Store.find(demands, { asset_id: housing.id }))
    await s.done(gig, "out", housing.asset_number!)
    expect(await claims()).toMatchObject([{ is_active: true, out: true }])
    await s.done(gig, "in", a!.asset_number)
    expect((await s.containerAt(kit)).status).toBe("returned")
    expect(await claims()).toEqual([])
  })
})
