/** Scanning on both engines: one code, one verdict; cases, kits and what a refused scan leaves behind: nothing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"
import { dates, day, type ScanFixture, scanFixture } from "./fixture.ts"

describe.each(engines)("scanning on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let s: ScanFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    s = scanFixture(w)
  })
  afterAll(() => app.close())

  it("a unit is allocated, prepared and booked out by one code, counted, and checked in without naming the order", async () => {
    const {
      product,
      units: [a]
    } = await s.heads(1)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const out = await s.scan(gig, "out", ` ${a!.asset_number} `)
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    expect(out.body.scan).toMatchObject({
      kind: "unit",
      name: a!.asset_number,
      stock_level_id: a!.id,
      counts: { asked: 2, packed: 1, out: 1, back: 0, lost: 0, to_go: 1 }
    })
    const { assets } = (await w.get(`${opportunity_path}/${gig.id}/assets`)).body
    expect(assets[0].prepared_at).not.toBeNull()
    const again = await s.scan(gig, "out", a!.asset_number)
    expect([again.status, again.body.errors.code]).toEqual([
      422,
      [`${a!.asset_number} is booked out on this order already`]
    ])
    const back = await w.post("/api/v1/scan_in", { code: a!.asset_number, finalise: true })
    expect(back.body.scan).toMatchObject({ opportunity_id: gig.id, counts: { out: 1, back: 1 } })
    expect(await s.units(gig)).toEqual([[a!.id, "Finalised"]])
    expect((await w.post("/api/v1/scan_in", { code: a!.asset_number })).body.errors.code).toEqual([
      `${a!.asset_number} is not out`
    ])
  })

  it("what came back unchecked is checked by the same scan with how it is, and is refused with that way without", async () => {
    const { product, units: made } = await s.heads(2)
    const at = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const { asset_number } of made)
      for (const direction of ["out", "in"] as const)
        expect((await s.scan(at, direction, asset_number)).status).toBe(200)
    const again = await w.post("/api/v1/scan_in", { code: made[0]!.asset_number })
    expect(again.status).toBe(422)
    expect(again.body.errors.code[0]).toContain("is not checked; scan it in once more with finalise or a condition")
    expect((await w.post("/api/v1/scan_in", { code: made[0]!.asset_number, finalise: true })).status).toBe(200)
    expect((await s.scan(at, "in", made[1]!.asset_number, { condition: 1, damage_notes: "Bent" })).status).toBe(200)
    expect((await s.units(at)).map(([, status]: [number, string]) => status)).toEqual(["Finalised", "Finalised"])
    const [level] = (await w.get(`/api/v1/stock_levels?q[id_eq]=${made[1]!.id}`)).body.stock_levels
    expect(level.service_state).toBe("quarantine")
    const checked = await w.post("/api/v1/scan_in", { code: made[0]!.asset_number, finalise: true })
    expect(checked.status).toBe(422)
  })
  it("a refused scan leaves nothing: not the allocation that its unit would have needed", async () => {
    const {
      product,
      units: [a]
    } = await s.heads(1)
    const [first, second] = [
      await s.order([{ item_id: product.id, quantity: 1 }], dates(1, 5)),
      await s.order([{ item_id: product.id, quantity: 1 }], dates(10, 12))
    ]
    expect((await s.scan(first, "out", a!.asset_number)).status).toBe(200)
    const before = await app.dump()
    const refused = await s.scan(second, "out", a!.asset_number)
    expect(refused.status).toBe(422)
    expect(refused.body.errors.code[0]).toMatch(
      new RegExp(`^${a!.asset_number} is out with "Gig .*order ${Number(first.number)}\\); check it in there first\\.$`)
    )
    expect(await app.dump()).toEqual(before)
    expect(await s.units(second)).toEqual([])
  })

  it("what came back damaged makes room for another unit, and the numbers stay those of the line", async () => {
    const {
      product,
      units: [a, b, c]
    } = await s.heads(3)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) expect((await s.scan(gig, "out", one!.asset_number)).status).toBe(200)
    expect((await s.scan(gig, "out", c!.asset_number)).body.errors.code[0]).toContain(
      "asks for 2 and takes no more units"
    )
    const broken = await s.scan(gig, "in", a!.asset_number, { finalise: true, condition: 1, damage_notes: "No light" })
    expect(broken.status, JSON.stringify(broken.body)).toBe(200)
    const instead = await s.scan(gig, "out", c!.asset_number)
    expect(instead.status, JSON.stringify(instead.body)).toBe(200)
    expect(instead.body.scan).toMatchObject({
      in_place_of: null,
      is_out_again: false,
      counts: { asked: 2, packed: 2, out: 2, back: 0, to_go: 0 }
    })
    const items = await w.get(`${opportunity_path}/${gig.id}?include=items`)
    const kept = await w.put(`${opportunity_path}/${gig.id}/items/${gig.items[0].id}`, { quantity: "2", name: "Heads" })
    expect([items.status, kept.status, kept.body.errors]).toEqual([200, 200, undefined])
    expect((await s.scan(gig, "out", a!.asset_number)).status).toBe(422)
    for (const one of [b, c]) expect((await s.scan(gig, "in", one!.asset_number, { finalise: true })).status).toBe(200)
    expect((await s.scan(gig, "in", b!.asset_number)).status).toBe(422)
    const { pieces } = (await w.get(`${opportunity_path}/${gig.id}?include=pieces`)).body.opportunity
    expect(pieces).toMatchObject({ wanted: 2, packed: 2, out: 0, back: 2 })
  })

  it("a unit that came back from the order goes out on it again, unless it is out of service or held", async () => {
    const {
      product,
      units: [a, b]
    } = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) expect((await s.scan(gig, "out", one!.asset_number)).status).toBe(200)
    expect((await s.scan(gig, "in", a!.asset_number, { finalise: true })).status).toBe(200)
    const again = await s.scan(gig, "out", a!.asset_number)
    expect(again.status, JSON.stringify(again.body)).toBe(200)
    expect(again.body.scan).toMatchObject({ is_out_again: true, counts: { asked: 2, out: 2, back: 0, to_go: 0 } })
    expect(await s.units(gig)).toEqual([
      [a!.id, "Dispatched"],
      [b!.id, "Dispatched"]
    ])
    expect((await s.scan(gig, "in", a!.asset_number, { finalise: true })).status).toBe(200)
    expect((await w.post(`/api/v1/stock_levels/${a!.id}/quarantine`, { reason: "Smoke" })).status).toBeLessThan(300)
    const before = await app.dump()
    const refused = await s.scan(gig, "out", a!.asset_number)
    expect([refused.status, refused.body.errors.code[0]]).toEqual([422, expect.stringContaining("in quarantine")])
    expect(await app.dump()).toEqual(before)
  })

  it("another unit goes in the place of one that is allocated and out of service, and that is told", async () => {
    const {
      product,
      units: [a, b]
    } = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const item = `${opportunity_path}/${gig.id}/items/${gig.items[0].id}`
    expect((await w.post(`${item}/assets`, { stock_level_id: a!.id })).status).toBe(201)
    expect((await w.post(`/api/v1/stock_levels/${a!.id}/quarantine`, { reason: "Smoke" })).status).toBeLessThan(300)
    const instead = await s.scan(gig, "out", b!.asset_number)
    expect(instead.status, JSON.stringify(instead.body)).toBe(200)
    expect(instead.body.scan).toMatchObject({
      in_place_of: a!.asset_number,
      counts: { asked: 1, packed: 1, out: 1, to_go: 0 }
    })
    expect(await s.units(gig)).toEqual([[b!.id, "Dispatched"]])
  })

  it("a quotation allocates units, but sends none: a scan on it leaves no allocation", async () => {
    const {
      product,
      units: [a]
    } = await s.heads(1)
    const quote = await w.withLine({ subject: "Quote", ...dates() }, { name: "Line", item_id: product.id, quantity: 1 })
    await w.post(`${opportunity_path}/${quote.id}/convert_to_quotation`)
    const before = await app.dump()
    expect((await s.scan(quote, "out", a!.asset_number)).status).toBe(422)
    expect(await app.dump()).toEqual(before)
  })

  it("a unit nobody asked for, an unknown and an ambiguous code are refused with what was looked for and the nearest", async () => {
    const {
      units: [a]
    } = await s.heads(1)
    const { product: other } = await s.heads(1)
    const gig = await s.order([{ item_id: other.id, quantity: 1 }])
    expect((await s.scan(gig, "out", a!.asset_number)).body.errors.code[0]).toMatch(
      `${a!.asset_number} is not on this order: order ${Number(gig.number)} asks for no Product`
    )
    const unknown = await s.scan(gig, "out", `${a!.asset_number}Z`)
    expect(unknown.body.errors.code[0]).toMatch(
      /^no unit and no product has this code \(looked among .*\)\. The nearest: .*U-/
    )
    const barcode = `DOUBLE-${s.next()}`
    for (let n = 0; n < 2; n++) await w.unit(other.id, { asset_number: `U-${s.next()}`, barcode })
    expect((await s.scan(gig, "out", barcode)).body.errors.code[0]).toMatch(
      `"${barcode}" is the barcode of several units: U-`
    )
  })

  it("what comes back as missing is told as lost, and more out than the store holds is a warning", async () => {
    const cable = await w.product({ stock_method: 1, sku: `CABLE-${s.next()}` })
    const [level] = (await w.get(`/api/v1/stock_levels?q[product_id_eq]=${cable.id}`)).body.stock_levels
    expect((await w.put(`/api/v1/stock_levels/${level.id}`, { quantity_held: 10 })).status).toBe(200)
    const [one, other] = [
      await s.order([{ item_id: cable.id, quantity: 8 }]),
      await s.order([{ item_id: cable.id, quantity: 8 }])
    ]
    expect((await s.scan(one, "out", `${cable.sku}*8`)).body.meta).toBeUndefined()
    const beyond = await s.scan(other, "out", `${cable.sku}*8`)
    expect(beyond.body.meta.warnings).toEqual([
      expect.stringMatching(/^16 × .* are out, 6 more than .* holds \(10\)\.$/)
    ])
    const back = await s.scan(one, "in", `${cable.sku}*3`, { condition: 2 })
    expect(back.body.scan.counts).toMatchObject({ out: 8, back: 3, lost: 3 })
    expect(back.body.meta).toBeUndefined()
  })

  it("a code in other letters is the one it differs from in nothing else, and none where there are several", async () => {
    const product = await w.product()
    for (const asset_number of ["Mixed-1", "Twin-1", "TWIN-1"]) await w.unit(product.id, { asset_number })
    const at = await s.order([{ item_id: product.id, quantity: 3 }])
    const taken = await s.scan(at, "out", "mixed-1")
    expect(taken.status, JSON.stringify(taken.body)).toBe(200)
    expect(taken.body.scan.name).toBe("Mixed-1")
    const refused = await s.scan(at, "out", "twin-1")
    expect(refused.status).toBe(422)
    expect(refused.body.errors.code[0]).toMatch(/The nearest: TWIN-1, Twin-1/)
  })
  it("so many of a bulk product move at once over the lines that ask for it", async () => {
    const cable = await w.product({ stock_method: 1, sku: `CABLE-${s.next()}`, barcode: `0501234567${100 + s.next()}` })
    const gig = await s.order([
      { item_id: cable.id, quantity: 4 },
      { item_id: cable.id, quantity: 6 }
    ])
    expect((await s.scan(gig, "out", `${cable.sku}*8`)).body.scan).toMatchObject({
      kind: "bulk",
      quantity: 8,
      counts: { asked: 10, out: 8, to_go: 2 }
    })
    const more = await s.scan(gig, "out", `5 x ${cable.sku}`)
    expect(more.status).toBe(422)
    expect((await s.scan(gig, "out", `(01)0${cable.barcode}`, { quantity: 2 })).body.scan).toMatchObject({
      quantity: 2,
      counts: { to_go: 0 }
    })
    expect((await w.post("/api/v1/scan_in", { code: cable.sku })).status).toBe(422)
    expect((await s.scan(gig, "in", `${cable.sku}*10`)).body.scan.counts.back).toBe(10)
    const { product } = await s.heads(1)
    expect(
      (await s.scan(await s.order([{ item_id: product.id }]), "out", String(product.sku ?? product.name))).status
    ).toBe(422)
  })

  it("a unit in a sealed case is asked about; breaking the seal is recorded, and the case lacks it", async () => {
    const {
      product,
      units: [a, b]
    } = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const packed = await s.box([a!, b!])
    const before = await app.dump()
    const asked = await s.scan(gig, "out", a!.asset_number)
    expect(asked.status).toBe(409)
    expect(asked.body.errors.break_seal[0]).toMatch(/U-\d+ is in Box \d+, which is sealed\. .*break the seal/)
    expect(await app.dump()).toEqual(before)
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
    expect(left.items.map((one: any) => one.serialised_item_id)).toEqual([b!.id])
    // Sealed again, nothing is broken any more.
    expect((await w.post(`/api/v1/containers/${packed.id}/seal`)).body.container.unsealed_reason).toBeNull()
  })

  it("a unit in an open box is taken out of it, and that is told; booking it out otherwise breaks a seal as well", async () => {
    const {
      product,
      units: [a, b, c]
    } = await s.heads(3)
    const gig = await s.order([{ item_id: product.id, quantity: 3 }])
    const open = await s.box([a!, b!], { sealed: false })
    expect((await s.scan(gig, "out", a!.asset_number)).body.scan.taken_out_of).toEqual([
      { container_id: open.id, name: expect.any(String), seal_broken: false, left: null }
    ])
    expect(await s.containerAt(open)).toMatchObject({ status: "open", unsealed_reason: null })
    await w.post(`/api/v1/containers/${open.id}/pack`, { serialised_item_id: c!.id })
    await w.post(`/api/v1/containers/${open.id}/seal`)
    const allocated = await w.post(`${opportunity_path}/${gig.id}/quick_allocate`, {
      allocations: [{ opportunity_item_id: gig.items[0].id, stock_level_id: c!.id }]
    })
    const asset = allocated.body.opportunity.items[0].assets.find((one: any) => one.stock_level_id === c!.id)
    expect((await w.post(`${opportunity_path}/${gig.id}/quick_book_out`, { asset_ids: [asset.id] })).status).toBe(200)
    expect(await s.containerAt(open)).toMatchObject({
      status: "open",
      unsealed_reason: `unit scanned out to order ${Number(gig.number)}: ${c!.asset_number}`
    })
  })

  it("a sealed case goes out by its code with all that is in it, and comes back by it", async () => {
    const {
      product,
      units: [a, b]
    } = await s.heads(2)
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
    expect((await s.scan(gig, "out", packed.barcode)).body.errors.code[0]).toMatch(
      "is booked out on this order already"
    )
    const back = await w.post("/api/v1/scan_in", { code: packed.barcode })
    expect(back.body.scan, JSON.stringify(back.body)).toMatchObject({
      kind: "container",
      opportunity_id: gig.id,
      counts: { out: 2, back: 2 }
    })
    const there = await s.containerAt(packed)
    expect([there.status, there.items.length]).toEqual(["returned", 2])
    expect((await s.units(gig)).map(([, status]: [number, string]) => status)).toEqual(["Checked In", "Checked In"])
  })

  it("a case with something the order does not ask for stays whole; one that is open is not sent", async () => {
    const {
      product,
      units: [a]
    } = await s.heads(1)
    const {
      units: [stranger]
    } = await s.heads(1)
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const packed = await s.box([a!, stranger!])
    const before = await app.dump()
    expect((await s.scan(gig, "out", packed.barcode)).body.errors.code[0]).toMatch(
      `${stranger!.asset_number}, which is in it, is not on this order`
    )
    const open = await s.box([(await s.heads(1)).units[0]!], { sealed: false })
    const refused = await s.scan(gig, "out", open.barcode)
    expect(refused.body.errors.code[0]).toMatch(/is open; only a sealed case goes out whole/)
    expect((await app.dump())["asset_assignments"]).toEqual(before["asset_assignments"])
    expect(await s.units(gig)).toEqual([])
  })

  it("a box is back with the last unit of it that is checked in by itself", async () => {
    const {
      product,
      units: [a, b]
    } = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    const packed = await s.box([a!, b!])
    await s.scan(gig, "out", packed.barcode)
    expect((await s.scan(gig, "in", a!.asset_number)).status).toBe(200)
    expect((await s.containerAt(packed)).status).toBe("dispatched")
    expect((await s.scan(gig, "in", b!.asset_number)).status).toBe(200)
    expect((await s.containerAt(packed)).status).toBe("returned")
  })

  /** A sealed case that is let as a kit, with one unit in it. */
  const sealedKit = async () => {
    const flight = await w.product()
    await app.call("PUT", `/api/v1/products/${flight.id}/container_template`, {
      is_containerable: true,
      availability_mode: "kit"
    })
    const housing = await w.unit(flight.id, { asset_number: `K-${s.next()}` })
    const {
      units: [a],
      product
    } = await s.heads(1)
    const kit = await w.made("/api/v1/containers", { name: "Kit", serialised_item_id: housing.id }, "container")
    await w.post(`/api/v1/containers/${kit.id}/pack`, { serialised_item_id: a!.id })
    await w.post(`/api/v1/containers/${kit.id}/seal`)
    return { a, flight, housing, kit, product }
  }
  it("a kit's case goes out by its own code, as it does by the dispatch of containers", async () => {
    const { a, flight, housing, kit, product } = await sealedKit()
    const gig = await s.order([{ item_id: flight.id, quantity: 1 }])
    const other = await s.order([{ item_id: product.id, quantity: 1 }])
    // What the kit holds is taken out of it only by breaking its seal.
    expect((await s.scan(other, "out", a!.asset_number)).status).toBe(409)
    expect((await s.scan(gig, "out", housing.asset_number)).body.scan).toMatchObject({
      kind: "container",
      quantity: 1,
      counts: { asked: 1, out: 1 }
    })
    expect((await s.scan(other, "out", a!.asset_number)).body.errors.code[0]).toMatch("is in Kit, which is out")
    expect((await w.post("/api/v1/scan_in", { code: housing.asset_number })).body.scan.kind).toBe("container")
    expect((await s.containerAt(kit)).status).toBe("returned")
  })
  it("a unit that a kit holds is taken out of it where somebody breaks the seal, and is free for the order", async () => {
    const { a, kit, product } = await sealedKit()
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const out = await s.scan(gig, "out", a!.asset_number, { break_seal: true })
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    expect(await s.containerAt(kit)).toMatchObject({
      status: "open",
      unsealed_reason: `unit scanned out to order ${Number(gig.number)}: ${a!.asset_number}`,
      items: []
    })
  })

  it("a counted product of which a kit holds some is refused with how the kit is scanned", async () => {
    const kit = await w.product({ stock_method: 1, name: "Stage kit", sku: `KIT-${s.next()}` })
    const cable = await w.product({ stock_method: 1, name: "XLR", sku: `XLR-${s.next()}` })
    const part = { component_product_id: cable.id, quantity: 3 }
    await w.made(`/api/v1/products/${kit.id}/components`, part, "component")
    const gig = await s.order([
      { item_id: cable.id, quantity: 10, name: "XLR" },
      { item_id: kit.id, quantity: 2, name: "Stage kit" }
    ])
    const way = `The 6 that belong to Stage kit go with it: scan the code of Stage kit.`
    const refused = await s.scan(gig, "out", `${cable.sku}*16`)
    expect([refused.status, refused.body.errors.quantity]).toEqual([
      422,
      [`XLR: the line asks for 10, and 0 went out already. ${way}`]
    ])
    expect((await s.scan(gig, "out", `${cable.sku}*10`)).status).toBe(200)
    expect((await s.scan(gig, "out", `${kit.sku}*2`)).status).toBe(200)
    const alone = await s.order([{ item_id: kit.id, quantity: 2, name: "Stage kit" }])
    expect((await s.scan(alone, "out", `${cable.sku}*6`)).body.errors.code).toEqual([
      `XLR is not on this order (${Number(alone.number)}). ${way}`
    ])
  })
  it("a kit's serialised part is scanned onto the kit's line, once, and found again when it comes back", async () => {
    const kit = await w.product({ stock_method: 1, name: "Camera kit" })
    const {
      product: camera,
      units: [a, b, c]
    } = await s.heads(3)
    await w.made(`/api/v1/products/${kit.id}/components`, { component_product_id: camera.id, quantity: 1 }, "component")
    const gig = await s.order([{ item_id: kit.id, quantity: 2, name: "Camera kit" }])
    const free = async () =>
      (await w.get(`/api/v1/products/${camera.id}/availability?store_id=1&date=${day(3)}`)).body.availability.available
    expect(await free()).toBe(1)
    const out = await s.scan(gig, "out", a!.asset_number)
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    expect(out.body.scan).toMatchObject({
      part_of: "Camera kit",
      opportunity_item_id: gig.items[0].id,
      counts: { asked: 2, out: 1 }
    })
    expect(await free()).toBe(1)
    expect((await s.scan(gig, "out", b!.asset_number)).status).toBe(200)
    expect((await s.scan(gig, "out", c!.asset_number)).body.errors.code[0]).toBe(
      `Camera kit: its kits take 2 ${camera.name} and no more.`
    )
    expect(await free()).toBe(1)
    const back = await w.post("/api/v1/scan_in", { code: a!.asset_number, finalise: true })
    expect(back.body.scan).toMatchObject({ part_of: "Camera kit", counts: { out: 2, back: 1 } })
    expect(await free()).toBe(2)
    expect((await w.post("/api/v1/scan_in", { code: b!.asset_number, finalise: true })).status).toBe(200)
    expect(await free()).toBe(3)
  })

  it("eight devices that scan two units at once book each unit out once", async () => {
    const { product, units: made } = await s.heads(2)
    const gigs = []
    for (let n = 0; n < 4; n++)
      gigs.push(await s.order([{ item_id: product.id, quantity: 2 }], dates(1 + n * 4, 3 + n * 4)))
    const replies = await Promise.all(gigs.flatMap((gig) => made.map((unit) => s.scan(gig, "out", unit.asset_number))))
    expect(replies.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(2)
    const out = (await Promise.all(gigs.map(s.units))).flat()
    expect(out.map(([id]: [number, string]) => id).sort()).toEqual(made.map(({ id }) => id).sort())
  })
})
