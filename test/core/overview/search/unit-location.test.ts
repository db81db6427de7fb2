/** Search results about a unit for users with partial access, and the location of units in cases. */
import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"
import { dates, scanFixture } from "../../warehouse/scanning/fixture.ts"

describe.each(engines)("the location of a found unit, on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)
  let gala: number
  beforeAll(async () => {
    const member_id = await w.customer({ name: "Acme" })
    const product = await w.serialised({ name: "Camera" })
    await w.labelled(product, { asset_number: "CAM-ALONE" })
    const packed = await w.labelled(product, { asset_number: "CAM-PACKED" })
    const gig = await s.order([{ item_id: product, quantity: 2 }], { subject: "Gala", member_id, ...dates() })
    gala = gig.id
    await s.box([packed], { name: "Box", barcode: "BOX-1" })
    for (const code of ["CAM-ALONE", "BOX-1"]) await s.done(gig, "out", code)
  }, 60_000)

  const whereIs = async (code: string, permissions: ReadonlyArray<string>) => {
    const { units } = (await w.get(`/search?q=${code}`, viewerWith(permissions, ["*"]))).body.search
    expect(units, code).toHaveLength(1)
    return units[0].where
  }

  it("names the order to users who see orders or availability, and its customer to users who see members", async () => {
    expect(await whereIs("CAM-ALONE", ["stock.view", "opportunities.view", "members.view"])).toMatchObject({
      place: "out",
      order: { id: gala, subject: "Gala", member_name: "Acme" }
    })
    // `availability.view` also shows an order's subject and dates.
    expect(await whereIs("CAM-ALONE", ["stock.view", "availability.view"])).toMatchObject({
      place: "out",
      order: { id: gala, subject: "Gala", member_name: null }
    })
  })
  it("names no order to users without access to orders", async () => {
    const where = await whereIs("CAM-ALONE", ["stock.view"])
    expect(where).toMatchObject({ place: "out", order: null })
    expect(where.text).not.toContain("Gala")
  })
  it("names the order that the unit is out with, even if another order has it allocated", async () => {
    const product = await w.serialised({ name: "Tripod" })
    const unit = await w.unit(product, 1, { asset_number: "TRI-1" })
    const ordered = (subject: string, month: string) => {
      const hire = { starts_at: `2031-${month}-01T09:00:00Z`, ends_at: `2031-${month}-05T17:00:00Z` }
      return s.order([{ item_id: product, quantity: 1 }], { subject, ...hire })
    }
    const [next, first] = [await ordered("Next", "08"), await ordered("First", "07")]
    expect((await w.allocate({ id: next.id, line: next.items[0] }, unit)).status).toBe(200)
    const rights = ["stock.view", "opportunities.view"]
    expect(await whereIs("TRI-1", rights)).toMatchObject({ place: "in_store", order: { subject: "Next" } })
    await s.done(first, "out", "TRI-1")
    expect(await whereIs("TRI-1", rights)).toMatchObject({ place: "out", order: { subject: "First" } })
  })
  it("names the open order that a unit is put aside for, of several the one that starts first", async () => {
    const product = await w.serialised({ name: "Desk" })
    const unit = await w.unit(product, 1, { asset_number: "DSK-1" })
    const aside = async (subject: string, month: string) => {
      const hire = { starts_at: `2031-${month}-01T09:00:00Z`, ends_at: `2031-${month}-05T17:00:00Z` }
      const { id, items } = await s.order([{ item_id: product, quantity: 1 }], { subject, ...hire })
      expect((await w.allocate({ id, line: items[0] }, unit)).status).toBe(200)
      return id
    }
    const cancelled = await aside("Cancelled", "06")
    expect((await w.post(`/opportunities/${cancelled}/change_status`, { status: 6 })).status).toBe(200)
    const rights = ["stock.view", "opportunities.view"]
    expect(await whereIs("DSK-1", rights)).toMatchObject({ place: "in_store", order: null })
    await aside("Later", "08")
    const sooner = await aside("Sooner", "06")
    expect(await whereIs("DSK-1", rights)).toMatchObject({ place: "in_store", order: { subject: "Sooner" } })
    expect((await w.remove(`/opportunities/${sooner}`)).status).toBe(204)
    expect(await whereIs("DSK-1", rights)).toMatchObject({ place: "in_store", order: { subject: "Later" } })
  })
  it("names the order that a unit's kit is out with, although only the kit is on the order", async () => {
    const { flight } = await flightCase("kit", "KIT-1", "LENS-1", "Kit 1")
    const gig = await onOrder("Shoot", flight, 1)
    expect(await whereIs("LENS-1", ["stock.view"])).toMatchObject({ place: "in_case", container: { name: "Kit 1" } })
    await s.done(gig, "out", "KIT-1")
    expect(await whereIs("LENS-1", ["stock.view", "opportunities.view"])).toMatchObject({
      place: "out",
      container: { name: "Kit 1" },
      order: { subject: "Shoot" }
    })
  })
  it("names the case of a packed unit, out or returned", async () => {
    expect(await whereIs("CAM-PACKED", ["stock.view", "opportunities.view"])).toMatchObject({
      place: "out",
      container: { name: "Box" },
      order: { subject: "Gala" }
    })
    expect((await w.post("/scan_in", { code: "BOX-1" })).status).toBe(200)
    expect(await whereIs("CAM-PACKED", ["stock.view"])).toMatchObject({ place: "returned", container: { name: "Box" } })
  })

  const everything = ["stock.view", "opportunities.view", "members.view", "containers.view"]
  const onOrder = (subject: string, item_id: number, quantity: number) =>
    s.order([{ item_id, quantity }], { subject, ...dates() })
  /** Creates a sealed case of a new product, with one unit in it. */
  const flightCase = async (availability_mode: string, asset_number: string, packed: string, name: string) => {
    const [flight, product] = [await w.serialised(), await w.serialised()]
    await w.put(`/products/${flight}/container_template`, { is_containerable: true, availability_mode })
    const housing = await w.unit(flight, 1, { asset_number })
    const unit = await w.unit(product, 1, { asset_number: packed })
    const { id } = await w.create("/containers", { name, serialised_item_id: housing })
    expect((await w.post(`/containers/${id}/pack`, { serialised_item_id: unit })).status).toBe(201)
    expect((await w.post(`/containers/${id}/seal`)).status).toBe(200)
    return { id: id as number, flight, housing, product }
  }
  it("is the store once the latest order's return is checked, even if an earlier return never was", async () => {
    const product = await w.serialised({ name: "Hazer" })
    const unit = await w.unit(product, 1, { asset_number: "HAZ-1" })
    for (const [subject, more] of [
      ["First", {}],
      ["Last", { finalise: true }]
    ] as const) {
      const gig = await onOrder(subject, product, 1)
      await s.done(gig, "out", "HAZ-1")
      await s.done(gig, "in", "HAZ-1", more)
      const of_first = { place: "returned", order: { subject: "First" } }
      expect(await whereIs("HAZ-1", everything)).toMatchObject(subject === "First" ? of_first : { place: "in_store" })
    }
    const third = await onOrder("Third", product, 1)
    for (const direction of ["out", "in"] as const) await s.done(third, direction, "HAZ-1")
    expect((await w.post(`/stock_levels/${unit}/quarantine`, { reason: "Leaks" })).status).toBe(200)
    expect(await whereIs("HAZ-1", everything)).toMatchObject({ place: "quarantine", order: { subject: "Third" } })
  })
  it("names the order that a case is out with, although a later order has the case allocated", async () => {
    const { flight, housing, id, product } = await flightCase("transport", "TRU-1", "FAD-1", "Trunk")
    const goes = await onOrder("Goes", product, 1)
    const hire = { starts_at: "2031-09-01T09:00:00Z", ends_at: "2031-09-05T17:00:00Z" }
    const later = await s.order([{ item_id: flight, quantity: 1 }], { subject: "Later", ...hire })
    const put_aside = await w.allocate({ id: later.id, line: later.items[0] }, housing)
    expect(put_aside.status, JSON.stringify(put_aside.body)).toBe(200)
    await s.done(goes, "out", `container:${id}`)
    expect(await whereIs("TRU-1", everything)).toMatchObject({ place: "out", order: { subject: "Goes" } })
    await s.done(goes, "in", `container:${id}`)
    // A returned case names no order: it has not returned from the order it is allocated to.
    expect(await whereIs("TRU-1", everything)).toMatchObject({ place: "returned", order: null })
  })
  it("names no order that a unit in quarantine is only allocated to", async () => {
    const product = await w.serialised({ name: "Dimmer" })
    const unit = await w.unit(product, 1, { asset_number: "DIM-1" })
    const { id, items } = await onOrder("Planned", product, 1)
    const assets = `/opportunities/${id}/items/${items[0].id}/assets`
    expect((await w.post(assets, { stock_level_id: unit })).status).toBe(201)
    expect((await w.post(`/stock_levels/${unit}/quarantine`, { reason: "Hums" })).status).toBe(200)
    const where = await whereIs("DIM-1", everything)
    expect(where).toMatchObject({ place: "quarantine", order: null })
    expect(where.text).not.toContain("back from")
  })
  it("is in its case for a unit that was checked, while the case is back and not opened", async () => {
    const product = await w.serialised({ name: "Strobes" })
    const strobes = [
      await w.labelled(product, { asset_number: "STR-1" }),
      await w.labelled(product, { asset_number: "STR-2" })
    ]
    await s.box(strobes, { name: "Case 9", barcode: "CASE-9" })
    const order = await onOrder("Rave", product, 2)
    await s.done(order, "out", "CASE-9")
    await s.done(order, "in", "CASE-9")
    await s.done(order, "in", "STR-1", { finalise: true })
    expect(await whereIs("STR-1", everything)).toMatchObject({
      place: "in_case",
      container: { name: "Case 9" },
      text: "in Case 9, Main Warehouse"
    })
    expect(await whereIs("STR-2", everything)).toMatchObject({ place: "returned", container: { name: "Case 9" } })
  })
  it("is outside the case for a unit returned alone, while the case is out with its other unit", async () => {
    const product = await w.serialised({ name: "Movers" })
    const movers = [
      await w.labelled(product, { asset_number: "MOV-1" }),
      await w.labelled(product, { asset_number: "MOV-2" })
    ]
    const box = await s.box(movers, { name: "Case 8", barcode: "CASE-8" })
    const caseIs = async (permissions: ReadonlyArray<string>) =>
      (await w.get("/search?q=CASE-8", viewerWith(permissions, ["*"]))).body.search.containers[0].where
    expect(await caseIs(everything)).toEqual({ text: "Main Warehouse", is_out: false, inside: null, order: null })
    const order = await onOrder("Tour", product, 2)
    await s.done(order, "out", "CASE-8")
    expect(await caseIs(everything)).toMatchObject({
      text: expect.stringMatching(/^out on order \d+ Tour until/),
      is_out: true,
      order: { subject: "Tour" }
    })
    await s.done(order, "in", "MOV-1")
    expect(await whereIs("MOV-1", everything)).toMatchObject({
      place: "returned",
      container: null,
      order: { subject: "Tour" }
    })
    expect(await whereIs("MOV-2", everything)).toMatchObject({ place: "out", container: { name: "Case 8" } })
    const { compliance } = (await w.get(`/containers/${box.id}/compliance`)).body
    expect(compliance.is_compliant).toBe(false)
    expect(
      compliance.items.map((one: { asset_number: string; returned_at: string | null }) => [
        one.asset_number,
        one.returned_at === null
      ])
    ).toEqual([
      ["MOV-1", false],
      ["MOV-2", true]
    ])
  })
})
