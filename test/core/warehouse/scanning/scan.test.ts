/** Scanning: one verdict per code, the chosen line and unit, and no change after a refused scan. */
import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { appHouse, refused } from "../../../app-house.ts"
import { dates, day, scanFixture } from "./fixture.ts"

describe.each(engines)("scanning on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)

  it("allocates, prepares and dispatches a unit by one code, and checks it in without the order", async () => {
    const [product, a] = await s.heads(1)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    expect(await s.done(gig, "out", ` ${a!.asset_number} `)).toMatchObject({
      kind: "unit",
      name: a!.asset_number,
      stock_level_id: a!.id,
      counts: { asked: 2, packed: 1, out: 1, back: 0, lost: 0, to_go: 1 }
    })
    const { assets } = (await w.get(`/opportunities/${gig.id}/assets`)).body
    expect(assets[0].prepared_at).not.toBeNull()
    expect(await s.refusal(gig, "out", a!.asset_number)).toBe(`${a!.asset_number} is booked out on this order already`)
    const back = await w.post("/scan_in", { code: a!.asset_number, finalise: true })
    expect(back.body.scan).toMatchObject({ opportunity_id: gig.id, counts: { out: 1, back: 1 } })
    expect(await s.units(gig)).toEqual([[a!.id, "Finalised"]])
    expect((await w.post("/scan_in", { code: a!.asset_number })).body.errors.code).toEqual([
      `${a!.asset_number} is not out`
    ])
  })

  it("checks a returned unit if finalise or a condition is sent, and asks for one of the two if neither is", async () => {
    const [product, ...made] = await s.heads(2)
    const at = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const { asset_number } of made)
      for (const direction of ["out", "in"] as const)
        expect((await s.scan(at, direction, asset_number)).status).toBe(200)
    const { code } = await refused(w.post("/scan_in", { code: made[0]!.asset_number }), "code")
    expect(code[0]).toContain("is not checked; scan it in once more with finalise or a condition")
    expect((await w.post("/scan_in", { code: made[0]!.asset_number, finalise: true })).status).toBe(200)
    await s.done(at, "in", made[1]!.asset_number, { condition: 1, damage_notes: "Bent" })
    expect((await s.units(at)).map(([, status]) => status)).toEqual(["Finalised", "Finalised"])
    const [level] = await w.show(`/stock_levels?q[id_eq]=${made[1]!.id}`)
    expect(level.service_state).toBe("quarantine")
    expect((await w.post("/scan_in", { code: made[0]!.asset_number, finalise: true })).status).toBe(422)
  })

  it("changes nothing if rejected, not even the unit's allocation", async () => {
    const [product, a] = await s.heads(1)
    const [first, second] = [
      await s.order([{ item_id: product.id, quantity: 1 }], dates(1, 5)),
      await s.order([{ item_id: product.id, quantity: 1 }], dates(10, 12))
    ]
    await s.done(first, "out", a!.asset_number)
    const before = await w.app.dump()
    expect(await s.refusal(second, "out", a!.asset_number)).toMatch(
      new RegExp(`^${a!.asset_number} is out with "Gig .*order ${Number(first.number)}\\); check it in there first\\.$`)
    )
    expect(await s.refusal(second, "in", a!.asset_number)).toMatch(
      new RegExp(
        `^${a!.asset_number} is not out on this order; it is out with "Gig .*order ${Number(first.number)}\\)[.] Check it in there[.]$`
      )
    )
    expect(await w.app.dump()).toEqual(before)
    expect(await s.units(second)).toEqual([])
  })

  it("dispatches another unit in place of a damaged return, with the line's counts correct", async () => {
    const [product, a, b, c] = await s.heads(3)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) await s.done(gig, "out", one!.asset_number)
    expect(await s.refusal(gig, "out", c!.asset_number)).toContain("asks for 2 and takes no more units")
    await s.done(gig, "in", a!.asset_number, { finalise: true, condition: 1, damage_notes: "No light" })
    expect(await s.done(gig, "out", c!.asset_number)).toMatchObject({
      in_place_of: null,
      is_out_again: false,
      counts: { asked: 2, packed: 2, out: 2, back: 0, to_go: 0 }
    })
    const items = await w.get(`/opportunities/${gig.id}?include=items`)
    const kept = await w.put(`/opportunities/${gig.id}/items/${gig.items[0].id}`, { quantity: "2", name: "Heads" })
    expect([items.status, kept.status, kept.body.errors]).toEqual([200, 200, undefined])
    expect((await s.scan(gig, "out", a!.asset_number)).status).toBe(422)
    for (const one of [b, c]) await s.done(gig, "in", one!.asset_number, { finalise: true })
    expect((await s.scan(gig, "in", b!.asset_number)).status).toBe(422)
    const { pieces } = await w.show(`/opportunities/${gig.id}?include=pieces`)
    expect(pieces).toMatchObject({ wanted: 2, packed: 2, out: 0, back: 2 })
  })

  it("sends a returned unit out again, unless it is out of service", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) await s.done(gig, "out", one!.asset_number)
    await s.done(gig, "in", a!.asset_number, { finalise: true })
    expect(await s.done(gig, "out", a!.asset_number)).toMatchObject({
      is_out_again: true,
      counts: { asked: 2, out: 2, back: 0, to_go: 0 }
    })
    expect(await s.units(gig)).toEqual([
      [a!.id, "Dispatched"],
      [b!.id, "Dispatched"]
    ])
    await s.done(gig, "in", a!.asset_number, { finalise: true })
    expect((await w.post(`/stock_levels/${a!.id}/quarantine`, { reason: "Smoke" })).status).toBeLessThan(300)
    const before = await w.app.dump()
    expect(await s.refusal(gig, "out", a!.asset_number)).toContain("in quarantine")
    expect(await w.app.dump()).toEqual(before)
  })

  it("replaces an allocated unit that is out of service, with a message", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const item = `/opportunities/${gig.id}/items/${gig.items[0].id}`
    expect((await w.post(`${item}/assets`, { stock_level_id: a!.id })).status).toBe(201)
    expect((await w.post(`/stock_levels/${a!.id}/quarantine`, { reason: "Smoke" })).status).toBeLessThan(300)
    expect(await s.done(gig, "out", b!.asset_number)).toMatchObject({
      in_place_of: a!.asset_number,
      counts: { asked: 1, packed: 1, out: 1, to_go: 0 }
    })
    expect(await s.units(gig)).toEqual([[b!.id, "Dispatched"]])
  })

  it("rejects a dispatch on a quotation, and leaves no allocation", async () => {
    const [product, a] = await s.heads(1)
    const quote = await w.deal({ subject: "Quote", ...dates() }, { name: "Line", item_id: product.id, quantity: 1 })
    await w.post(`/opportunities/${quote.id}/convert_to_quotation`)
    const before = await w.app.dump()
    expect((await s.scan(quote, "out", a!.asset_number)).status).toBe(422)
    expect(await w.app.dump()).toEqual(before)
  })

  it("rejects a unit not on the order, an unknown code with the nearest match, and an ambiguous code", async () => {
    const [, a] = await s.heads(1)
    const [other] = await s.heads(1)
    const gig = await s.order([{ item_id: other.id, quantity: 1 }])
    expect(await s.refusal(gig, "out", a!.asset_number)).toMatch(
      `${a!.asset_number} is not on this order: order ${Number(gig.number)} asks for no Product`
    )
    expect(await s.refusal(gig, "out", `${a!.asset_number}Z`)).toMatch(
      /^no unit and no product has this code \(looked among .*\)\. The nearest: .*U-/
    )
    const barcode = `DOUBLE-${s.next()}`
    for (let n = 0; n < 2; n++) await w.unit(other.id, 1, { asset_number: `U-${s.next()}`, barcode })
    expect(await s.refusal(gig, "out", barcode)).toMatch(`"${barcode}" is the barcode of several units: U-`)
  })

  it("reports a missing return as lost, and warns if more is out than the store holds", async () => {
    const sku = `CABLE-${s.next()}`
    const cable = await w.product({ sku })
    await w.hold(cable, 10)
    const [one, other] = [
      await s.order([{ item_id: cable, quantity: 8 }]),
      await s.order([{ item_id: cable, quantity: 8 }])
    ]
    expect((await s.scan(one, "out", `${sku}*8`)).body.meta).toBeUndefined()
    const beyond = await s.scan(other, "out", `${sku}*8`)
    expect(beyond.body.meta.warnings).toEqual([
      expect.stringMatching(/^16 × .* are out, 6 more than .* holds \(10\)\.$/)
    ])
    const back = await s.scan(one, "in", `${sku}*3`, { condition: 2 })
    expect(back.body.scan.counts).toMatchObject({ out: 8, back: 3, lost: 3 })
    expect(back.body.meta).toBeUndefined()
  })

  it("finds a code in another letter case only if it belongs to one unit", async () => {
    const product = await w.serialised()
    for (const asset_number of ["Mixed-1", "Twin-1", "TWIN-1"]) await w.unit(product, 1, { asset_number })
    const at = await s.order([{ item_id: product, quantity: 3 }])
    expect((await s.done(at, "out", "mixed-1")).name).toBe("Mixed-1")
    expect(await s.refusal(at, "out", "twin-1")).toMatch(/The nearest: TWIN-1, Twin-1/)
  })

  it("spreads a bulk quantity over the lines that need it", async () => {
    const cable = await w.show(
      `/products/${await w.product({ sku: `CABLE-${s.next()}`, barcode: `0501234567${100 + s.next()}` })}`
    )
    const gig = await s.order([
      { item_id: cable.id, quantity: 4 },
      { item_id: cable.id, quantity: 6 }
    ])
    expect((await s.scan(gig, "out", `${cable.sku}*8`)).body.scan).toMatchObject({
      kind: "bulk",
      quantity: 8,
      counts: { asked: 10, out: 8, to_go: 2 }
    })
    expect((await s.scan(gig, "out", `5 x ${cable.sku}`)).status).toBe(422)
    expect((await s.scan(gig, "out", `(01)0${cable.barcode}`, { quantity: 2 })).body.scan).toMatchObject({
      quantity: 2,
      counts: { to_go: 0 }
    })
    expect((await w.post("/scan_in", { code: cable.sku })).status).toBe(422)
    expect((await s.scan(gig, "in", `${cable.sku}*10`)).body.scan.counts.back).toBe(10)
    const [product] = await s.heads(1)
    const heads = await s.order([{ item_id: product.id }])
    expect((await s.scan(heads, "out", String(product.sku ?? product.name))).status).toBe(422)
  })

  it("rejects bulk pieces that belong to a kit, naming how to scan the kit", async () => {
    const [kit_sku, sku] = [`KIT-${s.next()}`, `XLR-${s.next()}`]
    const [kit, cable] = [await w.product({ name: "Stage kit", sku: kit_sku }), await w.product({ name: "XLR", sku })]
    const part = { component_product_id: cable, quantity: 3 }
    await w.create(`/products/${kit}/components`, part)
    const gig = await s.order([
      { item_id: cable, quantity: 10, name: "XLR" },
      { item_id: kit, quantity: 2, name: "Stage kit" }
    ])
    const way = `The 6 that belong to Stage kit go with it: scan the code of Stage kit.`
    expect(await refused(s.scan(gig, "out", `${sku}*16`), "quantity")).toEqual({
      quantity: [`XLR: the line asks for 10, and 0 went out already. ${way}`]
    })
    await s.done(gig, "out", `${sku}*10`)
    await s.done(gig, "out", `${kit_sku}*2`)
    const alone = await s.order([{ item_id: kit, quantity: 2, name: "Stage kit" }])
    expect(await s.refusal(alone, "out", `${sku}*6`)).toBe(`XLR is not on this order (${Number(alone.number)}). ${way}`)
  })

  it("counts a kit's serialised part on the kit's line once, and finds it again on return", async () => {
    const kit = await w.product({ name: "Camera kit" })
    const [camera, a, b, c] = await s.heads(3)
    await w.create(`/products/${kit}/components`, { component_product_id: camera.id, quantity: 1 })
    const gig = await s.order([{ item_id: kit, quantity: 2, name: "Camera kit" }])
    const free = async () => (await w.show(`/products/${camera.id}/availability?store_id=1&date=${day(3)}`)).available
    expect(await free()).toBe(1)
    expect(await s.done(gig, "out", a!.asset_number)).toMatchObject({
      part_of: "Camera kit",
      opportunity_item_id: gig.items[0].id,
      counts: { asked: 2, out: 1 }
    })
    expect(await free()).toBe(1)
    await s.done(gig, "out", b!.asset_number)
    expect(await s.refusal(gig, "out", c!.asset_number)).toBe(`Camera kit: its kits take 2 ${camera.name} and no more.`)
    expect(await free()).toBe(1)
    const back = await w.post("/scan_in", { code: a!.asset_number, finalise: true })
    expect(back.body.scan).toMatchObject({ part_of: "Camera kit", counts: { out: 2, back: 1 } })
    expect(await free()).toBe(2)
    expect((await w.post("/scan_in", { code: b!.asset_number, finalise: true })).status).toBe(200)
    expect(await free()).toBe(3)
  })

  it("books each of two units out once in eight concurrent scans", async () => {
    const [product, ...made] = await s.heads(2)
    const gigs = []
    for (let n = 0; n < 4; n++)
      gigs.push(await s.order([{ item_id: product.id, quantity: 2 }], dates(1 + n * 4, 3 + n * 4)))
    const replies = await Promise.all(gigs.flatMap((gig) => made.map((unit) => s.scan(gig, "out", unit.asset_number))))
    expect(replies.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(2)
    const out = (await Promise.all(gigs.map(s.units))).flat()
    expect(out.map(([id]) => id).sort()).toEqual(made.map(({ id }) => id).sort())
  })

  it("assigns a unit to the first line that needs one, and rejects it once all are complete", async () => {
    const [product, ...units] = await s.heads(3)
    const gig = await s.order([1, 1].map((quantity) => ({ item_id: product.id, quantity })))
    const went = []
    for (const { asset_number } of units) {
      const { body, status } = await s.scan(gig, "out", asset_number)
      went.push(status === 200 ? body.scan.opportunity_item_id : status)
    }
    expect(went).toEqual([...gig.items.map(({ id }) => id), 422])
  })

  it("rejects a quantity with a unit's code in any letter case, and finds the unit without one", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product, 1, { asset_number: "a-11" })
    const gig = await s.order([{ item_id: product, quantity: 5 }])
    for (const code of ["a-11*5", "A-11*5", "5 x A-11"])
      expect((await s.scan(gig, "out", code)).body.errors).toEqual({
        code: [expect.stringMatching(/^no unit and no product has this code .*with a quantity it must be a product's/)]
      })
    expect((await s.scan(gig, "out", "A-11")).body.scan).toMatchObject({ stock_level_id: unit })
    for (const path of ["/scan_in", `/opportunities/${gig.id}/scan`]) {
      const back = await w.post(path, { direction: "in", code: "A-11", quantity: 5 })
      expect([back.status, back.body.errors]).toEqual([422, { quantity: ["a-11 is one piece."] }])
    }
  })

  it("reads a code with a quantity as the bulk product's in any letter case, even if a unit has it as well", async () => {
    const cable = await w.product({ sku: "cab-9" })
    await w.unit(await w.serialised(), 1, { asset_number: "Cab-9" })
    const gig = await s.order([{ item_id: cable, quantity: 5 }])
    expect((await s.scan(gig, "out", "CAB-9*5")).body.scan).toMatchObject({ kind: "bulk", quantity: 5 })
  })

  it("finds the new unit by a label that a sold unit had before", async () => {
    const product = await w.serialised()
    const barcode = `LABEL-${s.next()}`
    const old = await w.unit(product, 1, { asset_number: `U-${s.next()}`, barcode })
    expect((await w.post(`/stock_levels/${old}/sold`)).status).toBe(200)
    const unit = await w.unit(product, 1, { asset_number: `U-${s.next()}`, barcode })
    const gig = await s.order([{ item_id: product, quantity: 1 }])
    const { body, status } = await s.scan(gig, "out", barcode)
    expect([status, body.scan?.stock_level_id], JSON.stringify(body)).toEqual([200, unit])
  })

  it("warns of a returned unit recorded as lost, but not of one checked as missing", async () => {
    const [product, a, b] = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) await s.done(gig, "out", one!.asset_number)
    expect((await w.post(`/stock_levels/${a!.id}/lost`)).status).toBe(200)
    const found = await s.scan(gig, "in", a!.asset_number, { finalise: true })
    expect(found.body.meta?.warnings).toEqual([
      `${a!.asset_number} is recorded as lost; if this is it, release it: flightcase units release unit:${a!.id}`
    ])
    expect((await s.scan(gig, "in", b!.asset_number, { condition: 2 })).body.meta).toBeUndefined()
  })

  it("finds a unit by its serial number after it is hired from a supplier again", async () => {
    w.app.setClock(`${day(1)}T06:00:00.000Z`)
    const product = await w.serialised()
    const { id: supplier_id } = await w.create("/members", { name: "Lender", membership_type: "organisation" })
    const hired = async () => {
      const dates = { starts_at: `${day(1)}T00:00:00Z`, ends_at: `${day(9)}T00:00:00Z` }
      const order = await w.create("/purchase_orders?include=items", {
        supplier_id,
        store_id: 1,
        ...dates,
        items: [{ product_id: product, quantity: "1" }]
      })
      const at = `/purchase_orders/${order.id}`
      expect((await w.post(`${at}/send`)).status).toBe(200)
      const lines = [{ item_id: order.items[0].id, quantity: "1", serial_numbers: ["SER-9"] }]
      await w.must("POST", `${at}/receive`, { lines })
      return at
    }
    const first = await hired()
    expect((await w.post(`${first}/return`)).status).toBe(200)
    const gig = await s.order([{ item_id: product, quantity: 1 }])
    expect((await s.scan(gig, "out", "SER-9")).body.errors.code[0]).toContain("went back to its supplier")
    await hired()
    await s.done(gig, "out", "SER-9")
    expect((await w.post("/scan_in", { code: "SER-9" })).status).toBe(200)
    w.app.setClock()
  })
})
