/** What a find tells of a unit to people who see only part of what is about it, and where a unit in a case is. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"

describe.each(engines)("where a found unit is, on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let order_id: number
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    const customer = await w.made("/api/v1/members", { name: "Acme", membership_type: "organisation" }, "member")
    const product = await w.product({ name: "Camera" })
    const [alone, packed] = [
      await w.unit(product.id, { asset_number: "CAM-ALONE" }),
      await w.unit(product.id, { asset_number: "CAM-PACKED" })
    ]
    const made = await w.withLine(
      { subject: "Gala", member_id: customer.id, starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" },
      { name: "Camera", item_id: product.id, quantity: 2 } as never
    )
    order_id = made.id
    for (const move of ["convert_to_quotation", "convert_to_order"])
      expect((await w.post(`${opportunity_path}/${order_id}/${move}`)).status).toBe(200)
    const path = "/api/v1/containers"
    const box = await w.made(`${path}/temporary`, { name: "Box", barcode: "BOX-1", store_id: 1 }, "container")
    expect((await w.post(`${path}/${box.id}/pack`, { serialised_item_id: packed.id })).status).toBe(201)
    expect((await w.post(`${path}/${box.id}/seal`)).status).toBe(200)
    for (const code of [alone.asset_number, "BOX-1"])
      expect((await w.post(`${opportunity_path}/${order_id}/scan`, { direction: "out", code })).status, code).toBe(200)
  }, 60_000)
  afterAll(() => app.close())

  const whereIs = async (code: string, permissions: ReadonlyArray<string>) => {
    const { units } = (await app.call("GET", `/api/v1/search?q=${code}`, undefined, viewerWith(permissions, ["*"])))
      .body.search
    expect(units, code).toHaveLength(1)
    return units[0].where
  }

  it("names the order to those who see orders, and its customer to those who see that", async () => {
    expect(await whereIs("CAM-ALONE", ["stock.view", "opportunities.view", "members.view"])).toMatchObject({
      place: "out",
      order: { id: order_id, subject: "Gala", member_name: "Acme" }
    })
    // Whoever asks what is free sees of an order its subject and its dates.
    expect(await whereIs("CAM-ALONE", ["stock.view", "availability.view"])).toMatchObject({
      place: "out",
      order: { id: order_id, subject: "Gala", member_name: null }
    })
  })
  it("says that it is out, and no more, to those who see no orders", async () => {
    const where = await whereIs("CAM-ALONE", ["stock.view"])
    expect(where).toMatchObject({ place: "out", order: null })
    expect(where.text).not.toContain("Gala")
  })
  it("is where its furthest step says: out with one order, though another has it put aside", async () => {
    const product = await w.product({ name: "Tripod" })
    const unit = await w.unit(product.id, { asset_number: "TRI-1" })
    const ordered = async (subject: string, month: string) => {
      const made = await w.withLine(
        { subject, starts_at: `2031-${month}-01T09:00:00Z`, ends_at: `2031-${month}-05T17:00:00Z` },
        { name: "Tripod", item_id: product.id, quantity: 1 } as never
      )
      for (const move of ["convert_to_quotation", "convert_to_order"])
        await w.post(`${opportunity_path}/${made.id}/${move}`)
      return { id: made.id as number, line: made.items[0].id as number }
    }
    const [next, first] = [await ordered("Next", "08"), await ordered("First", "07")]
    const allocations = [{ opportunity_item_id: next.line, stock_level_id: unit.id }]
    expect((await w.post(`${opportunity_path}/${next.id}/quick_allocate`, { allocations })).status).toBe(200)
    const rights = ["stock.view", "opportunities.view"]
    expect(await whereIs("TRI-1", rights)).toMatchObject({ place: "in_store", order: { subject: "Next" } })
    const out = await w.post(`${opportunity_path}/${first.id}/scan`, { direction: "out", code: "TRI-1" })
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    expect(await whereIs("TRI-1", rights)).toMatchObject({ place: "out", order: { subject: "First" } })
  })
  it("is out with the kit that holds it, though only the kit is on an order", async () => {
    const [kit, part] = [await w.product({ name: "Flight" }), await w.product({ name: "Lens" })]
    const template = { is_containerable: true, availability_mode: "kit" }
    await w.put(`/api/v1/products/${kit.id}/container_template`, template)
    const housing = await w.unit(kit.id, { asset_number: "KIT-1" })
    const lens = await w.unit(part.id, { asset_number: "LENS-1" })
    const path = "/api/v1/containers"
    const container = await w.made(path, { name: "Kit 1", serialised_item_id: housing.id }, "container")
    await w.post(`${path}/${container.id}/pack`, { serialised_item_id: lens.id })
    await w.post(`${path}/${container.id}/seal`)
    const gig = await w.withLine(
      { subject: "Shoot", starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" },
      { name: "Kit", item_id: kit.id, quantity: 1 } as never
    )
    for (const move of ["convert_to_quotation", "convert_to_order"])
      await w.post(`${opportunity_path}/${gig.id}/${move}`)
    expect(await whereIs("LENS-1", ["stock.view"])).toMatchObject({ place: "in_case", container: { name: "Kit 1" } })
    const out = await w.post(`${opportunity_path}/${gig.id}/scan`, { direction: "out", code: "KIT-1" })
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    expect(await whereIs("LENS-1", ["stock.view", "opportunities.view"])).toMatchObject({
      place: "out",
      container: { name: "Kit 1" },
      order: { subject: "Shoot" }
    })
  })
  it("is in its case wherever that is", async () => {
    expect(await whereIs("CAM-PACKED", ["stock.view", "opportunities.view"])).toMatchObject({
      place: "out",
      container: { name: "Box" },
      order: { subject: "Gala" }
    })
    expect((await w.post("/api/v1/scan_in", { code: "BOX-1" })).status).toBe(200)
    expect(await whereIs("CAM-PACKED", ["stock.view"])).toMatchObject({ place: "returned", container: { name: "Box" } })
  })

  const everything = ["stock.view", "opportunities.view", "members.view", "containers.view"]
  const onOrder = async (subject: string, item_id: number, quantity: number): Promise<string> => {
    const dates = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }
    const made = await w.withLine({ subject, ...dates }, { name: subject, item_id, quantity } as never)
    const path = `${opportunity_path}/${made.id}`
    for (const move of ["convert_to_quotation", "convert_to_order"])
      expect((await w.post(`${path}/${move}`)).status).toBe(200)
    return path
  }
  const scan = async (path: string, body: object) => {
    const answer = await w.post(`${path}/scan`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  it("is back from the order it came from last, though nobody checked it after an earlier one", async () => {
    const product = await w.product({ name: "Hazer" })
    const unit = await w.unit(product.id, { asset_number: "HAZ-1" })
    for (const [subject, more] of [
      ["First", {}],
      ["Last", { finalise: true }]
    ] as const) {
      const path = await onOrder(subject, product.id, 1)
      await scan(path, { direction: "out", code: "HAZ-1" })
      await scan(path, { direction: "in", code: "HAZ-1", ...more })
      const of_first = { place: "returned", order: { subject: "First" } }
      expect(await whereIs("HAZ-1", everything)).toMatchObject(subject === "First" ? of_first : { place: "in_store" })
    }
    const path = await onOrder("Third", product.id, 1)
    await scan(path, { direction: "out", code: "HAZ-1" })
    await scan(path, { direction: "in", code: "HAZ-1" })
    expect((await w.post(`/api/v1/stock_levels/${unit.id}/quarantine`, { reason: "Leaks" })).status).toBe(200)
    expect(await whereIs("HAZ-1", everything)).toMatchObject({ place: "quarantine", order: { subject: "Third" } })
  })
  it("is out with the order its case went to, though the case itself is put aside for a later one", async () => {
    const [product, trunks] = [await w.product({ name: "Fader" }), await w.product({ name: "Trunk" })]
    const [housing, fader] = [
      await w.unit(trunks.id, { asset_number: "TRU-1" }),
      await w.unit(product.id, { asset_number: "FAD-1" })
    ]
    await w.put(`/api/v1/products/${trunks.id}/container_template`, {
      is_containerable: true,
      availability_mode: "transport"
    })
    const cases = "/api/v1/containers"
    const trunk = await w.made(cases, { name: "Trunk", serialised_item_id: housing.id }, "container")
    expect((await w.post(`${cases}/${trunk.id}/pack`, { serialised_item_id: fader.id })).status).toBe(201)
    expect((await w.post(`${cases}/${trunk.id}/seal`)).status).toBe(200)
    const goes = await onOrder("Goes", product.id, 1)
    const made = await w.withLine(
      { subject: "Later", starts_at: "2031-09-01T09:00:00Z", ends_at: "2031-09-05T17:00:00Z" },
      { name: "Trunk", item_id: trunks.id, quantity: 1 } as never
    )
    await w.convertToOrder(made.id)
    const put_aside = await w.allocate({ id: made.id, line: made.items[0] }, housing.id)
    expect(put_aside.status, JSON.stringify(put_aside.body)).toBe(200)
    await scan(goes, { direction: "out", code: `container:${trunk.id}` })
    expect(await whereIs("TRU-1", everything)).toMatchObject({ place: "out", order: { subject: "Goes" } })
    await scan(goes, { direction: "in", code: `container:${trunk.id}` })
    // A case that is back keeps no order; it has not come back from the one it is put aside for.
    expect(await whereIs("TRU-1", everything)).toMatchObject({ place: "returned", order: null })
  })
  it("is back from no order that it is only allocated to", async () => {
    const product = await w.product({ name: "Dimmer" })
    const unit = await w.unit(product.id, { asset_number: "DIM-1" })
    const path = await onOrder("Planned", product.id, 1)
    const [line] = (await w.get(`${path}?include=items`)).body.opportunity.items
    expect((await w.post(`${path}/items/${line.id}/assets`, { stock_level_id: unit.id })).status).toBe(201)
    expect((await w.post(`/api/v1/stock_levels/${unit.id}/quarantine`, { reason: "Hums" })).status).toBe(200)
    const where = await whereIs("DIM-1", everything)
    expect(where).toMatchObject({ place: "quarantine", order: null })
    expect(where.text).not.toContain("back from")
  })
  it("is here once it came back by itself, while its case is out with the rest, and the case says with whom", async () => {
    const product = await w.product({ name: "Movers" })
    const path = "/api/v1/containers"
    const box = await w.made(`${path}/temporary`, { name: "Case 8", barcode: "CASE-8", store_id: 1 }, "container")
    for (const asset_number of ["MOV-1", "MOV-2"]) {
      const { id } = await w.unit(product.id, { asset_number })
      expect((await w.post(`${path}/${box.id}/pack`, { serialised_item_id: id })).status).toBe(201)
    }
    expect((await w.post(`${path}/${box.id}/seal`)).status).toBe(200)
    const caseIs = async (permissions: ReadonlyArray<string>) =>
      (await app.call("GET", "/api/v1/search?q=CASE-8", undefined, viewerWith(permissions, ["*"]))).body.search
        .containers[0].where
    expect(await caseIs(everything)).toEqual({ text: "Main Warehouse", is_out: false, inside: null, order: null })
    const order = await onOrder("Tour", product.id, 2)
    await scan(order, { direction: "out", code: "CASE-8" })
    expect(await caseIs(everything)).toMatchObject({
      text: expect.stringMatching(/^out on order \d+ Tour until/),
      is_out: true,
      order: { subject: "Tour" }
    })
    await scan(order, { direction: "in", code: "MOV-1" })
    expect(await whereIs("MOV-1", everything)).toMatchObject({
      place: "returned",
      container: null,
      order: { subject: "Tour" }
    })
    expect(await whereIs("MOV-2", everything)).toMatchObject({ place: "out", container: { name: "Case 8" } })
    const { compliance } = (await w.get(`${path}/${box.id}/compliance`)).body
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
