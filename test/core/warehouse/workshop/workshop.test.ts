/** Stock out of service (rules/availability 13): moves, availability, allocation, cases, check-ins and charges. */
import { beforeEach, describe, expect, it } from "vitest"
import { type App, engines, type Reply, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { scanFixture } from "../scanning/fixture.ts"

const hire = { starts_at: "2026-07-10T09:00:00.000Z", ends_at: "2026-07-14T17:00:00.000Z" }

describe.each(engines)("the workshop on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)
  beforeEach(() => w.app.setClock("2026-06-18T12:00:00.000Z"))

  const move = (id: number, name: string, body: object = {}) => w.post(`/stock_levels/${id}/${name}`, body)
  const level = async (id: number) => await w.show(`/stock_levels/${id}`)
  const recordsOf = async (id: number) => await w.show(`/service_records?q[stock_level_id_eq]=${id}&sort=starts_at`)
  const point = async (product_id: number, date: string) =>
    await w.show(`/availability?product_id=${product_id}&store_id=1&date=${date}`)
  const order = (product_id: number, quantity = 1, dates: object = hire) => w.order(product_id, quantity, dates)
  const assetsOf = (reply: Reply): ReadonlyArray<number> => reply.body.opportunity.items[0].assets.map(({ id }) => id)
  const headerOf = async (id: number) => await w.show(`/opportunities/${id}`)
  const shortage = async (id: number) => (await w.show(`/opportunities/${id}`)).has_shortage
  /** Dispatches a unit with an order, and checks it in if a condition is given. */
  const out = async (condition?: number) => {
    const product = await w.serialised({ replacement_charge: "900.00" })
    const unit = await w.labelled(product)
    const opportunity = await order(product, 1, { starts_at: "2026-06-18T09:00:00Z", ends_at: "2026-06-20T17:00:00Z" })
    const [asset] = assetsOf(await w.allocate(opportunity, unit.id))
    await w.post(`/opportunities/${opportunity.id}/quick_book_out`, { asset_ids: [asset] })
    const returned = { asset_ids: [asset], condition, damage_notes: "lens cracked" }
    const back =
      condition === undefined ? undefined : await w.post(`/opportunities/${opportunity.id}/quick_check_in`, returned)
    return { product, unit, opportunity, asset, back }
  }

  it("takes a unit out of rentable stock until it is released, and keeps the history", async () => {
    const product = await w.serialised()
    const [unit] = [await w.labelled(product), await w.labelled(product)]
    const moved = await move(unit.id, "quarantine", { reason: "Hums", note: "channel 2" })
    expect(moved.status, JSON.stringify(moved.body)).toBe(200)
    expect(moved.body).toMatchObject({
      stock_level: { service_state: "quarantine" },
      service_record: { state: "quarantine", reason: "Hums", note: "channel 2", is_open: true, created_by_user_id: 1 },
      meta: { conflicts: [] }
    })
    expect(await point(product, "2026-07-11")).toMatchObject({
      total_stock: 2,
      total_demanded: 1,
      available: 1,
      demand_breakdown: { quarantine: 1 }
    })
    w.app.setClock("2026-06-19T12:00:00.000Z")
    expect((await move(unit.id, "repair", { expected_back_at: "2026-07-01T00:00:00Z" })).status).toBe(200)
    expect((await level(unit.id)).service_state).toBe("in_repair")
    w.app.setClock("2026-06-22T12:00:00.000Z")
    expect((await move(unit.id, "release", { note: "new fuse", cost: "35.00" })).status).toBe(200)
    expect(await level(unit.id)).toMatchObject({ service_state: "in_service", out_of_service: [] })
    expect((await point(product, "2026-07-11")).available).toBe(2)
    expect(await recordsOf(unit.id)).toMatchObject([
      { state: "quarantine", starts_at: "2026-06-18T12:00:00.000Z", ended_at: "2026-06-19T12:00:00.000Z" },
      { state: "in_repair", reason: "Hums", ended_at: "2026-06-22T12:00:00.000Z", end_note: "new fuse", cost: "35.00" }
    ])
    await refused(move(unit.id, "release"), "stock_level")
  })
  it("shows the cost of a repair only to users who see costs, although others may enter it", async () => {
    const unit = await w.unit(await w.serialised())
    const mechanic = viewerWith(["stock.view", "stock.service"], ["*"])
    const repair = { reason: "Hums", cost: "35.00" }
    const sent = await w.post(`/stock_levels/${unit}/repair`, repair, mechanic)
    expect([sent.status, "cost" in sent.body.service_record]).toEqual([200, false])
    const query = `/service_records?q[stock_level_id_eq]=${unit}`
    const shownTo = async (...permissions: ReadonlyArray<string>) =>
      (await w.get(query, viewerWith(["stock.view", ...permissions], ["*"]))).body.service_records[0].cost
    expect(await shownTo()).toBeUndefined()
    expect(await shownTo("costs.view")).toBe("35.00")
  })

  it("counts a unit again from the day it is expected back, unless that day has passed", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    await move(unit, "repair", { expected_back_at: "2026-07-10T00:00:00Z" })
    expect((await point(product, "2026-07-09")).available).toBe(0)
    expect((await point(product, "2026-07-10")).available).toBe(1)
    w.app.setClock("2026-07-11T12:00:00.000Z")
    expect((await point(product, "2026-07-20")).available).toBe(0)
    const why = await w.get(`/availability/why?product_id=${product}&store_id=1&date=2026-07-20`)
    expect(why.body.reasons.claims).toMatchObject([{ source_type: "in_repair", asset_id: unit, is_overdue: true }])
    // Repeated, it keeps the record and changes its date.
    await move(unit, "repair", { expected_back_at: "2026-07-15T00:00:00Z" })
    expect((await point(product, "2026-07-20")).available).toBe(1)
    expect(await recordsOf(unit)).toHaveLength(1)
  })

  it("keeps a unit from allocation and dispatch, and names the order it leaves short", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    const gig = await order(product)
    const [asset] = assetsOf(await w.allocate(gig, unit))
    expect(await shortage(gig.id)).toBe(false)
    const moved = await move(unit, "quarantine")
    expect(moved.body.meta.conflicts).toMatchObject([{ opportunity_id: gig.id, subject: `Gig ${product}` }])
    expect(await shortage(gig.id)).toBe(true)
    const errors = await refused(
      w.post(`/opportunities/${gig.id}/quick_book_out`, { asset_ids: [asset] }),
      "asset_ids.0"
    )
    expect(errors["asset_ids.0"][0]).toContain("is in quarantine since 2026-06-18")
    const other = await order(product, 1, { starts_at: "2026-08-01T09:00:00Z", ends_at: "2026-08-02T09:00:00Z" })
    await refused(w.allocate(other, unit), "allocations.0.stock_level_id")
    const free = await w.get(`/products/${product}/available-assets?store_id=1&from=2026-08-01&to=2026-08-03`)
    expect(free.body.available_assets).toEqual([])
    await move(unit, "release")
    expect(await shortage(gig.id)).toBe(false)
    expect((await w.allocate(other, unit)).status).toBe(200)
    expect((await w.post(`/opportunities/${gig.id}/quick_book_out`, { asset_ids: [asset] })).status).toBe(200)
  })

  it("records damaged returns as quarantined and missing ones as lost, in the same command", async () => {
    const damaged = await out(1)
    expect(damaged.back?.status, JSON.stringify(damaged.back?.body)).toBe(200)
    expect((await level(damaged.unit.id)).service_state).toBe("quarantine")
    expect(await recordsOf(damaged.unit.id)).toMatchObject([
      { state: "quarantine", note: "lens cracked", opportunity_id: damaged.opportunity.id }
    ])
    const asset = `/opportunities/${damaged.opportunity.id}/items/${damaged.opportunity.line.id}/assets/${damaged.asset}`
    await w.must("PATCH", asset, { action: "revert_status", status: 4 })
    expect((await level(damaged.unit.id)).service_state).toBe("in_service")
    const missing = await out(2)
    expect((await level(missing.unit.id)).service_state).toBe("lost")
    expect((await point(missing.product, "2026-07-11")).available).toBe(0)
    const good = await out(0)
    expect((await level(good.unit.id)).service_state).toBe("in_service")
  })

  it("deducts a unit damaged on hire from stock once, during the hire and after it", async () => {
    const { product, unit } = await out()
    await w.unit(product)
    await move(unit.id, "quarantine", { reason: "Damaged on site" })
    expect((await point(product, "2026-06-19")).available).toBe(1)
    expect((await point(product, "2026-06-25")).available).toBe(1)
  })

  it("takes part of a bulk quantity out of service, and releases, sells and writes off parts of it", async () => {
    const product = await w.product()
    const id = await w.hold(product, 20)
    const gig = await order(product, 18)
    const taken = await move(id, "quarantine", { quantity: 3, reason: "Cracked" })
    expect(taken.body.stock_level.service_state).toBe("in_service")
    expect(await shortage(gig.id)).toBe(true)
    expect(await point(product, "2026-07-11")).toMatchObject({ available: -1, demand_breakdown: { quarantine: 3 } })
    await refused(move(id, "repair", { quantity: 18 }), "quantity")
    const record = taken.body.service_record.id
    await move(id, "repair", { quantity: 1, service_record_id: record })
    await refused(move(id, "release"), "service_record_id")
    await move(id, "release", { service_record_id: record, quantity: 1 })
    expect(await shortage(gig.id)).toBe(false)
    await move(id, "lost", { service_record_id: record, write_off: true })
    expect(await level(id)).toMatchObject({ quantity_held: "19.00" })
    expect(await point(product, "2026-07-11")).toMatchObject({ total_stock: 19, demand_breakdown: { in_repair: 1 } })
    await move(id, "sold", { quantity: 2 })
    expect((await point(product, "2026-07-11")).total_stock).toBe(17)
    expect((await recordsOf(id)).reduce((sum, one) => sum + (one.is_open ? one.quantity : 0), 0)).toBe(1)
  })

  it("takes a sold unit out of stock, and ends its service state by later ledger entries", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    expect((await move(unit, "sold", { note: "to Ann" })).status).toBe(200)
    expect((await level(unit)).service_state).toBe("sold")
    expect((await point(product, "2026-07-11")).total_stock).toBe(0)
    await refused(move(unit, "quarantine"), "stock_level")
    const ledger = `/products/${product}/stock_levels/${unit}/stock_transactions`
    expect((await w.post(ledger, { transaction_type: 5, quantity: 1 })).status).toBe(201)
    expect((await level(unit)).service_state).toBe("in_service")
    await move(unit, "quarantine")
    expect((await w.post(ledger, { transaction_type: 6, quantity: 1 })).status).toBe(201)
    expect((await recordsOf(unit)).filter((one) => one.is_open)).toEqual([])
    expect(await point(product, "2026-07-11")).toMatchObject({ total_stock: 0, available: 0 })
  })

  it("charges a lost unit's replacement charge once per record, and not for users without the permission", async () => {
    const { opportunity, unit } = await out(2)
    const totalOf = async () => (await w.show(`/opportunities/${opportunity.id}`)).charge_total
    const before = Number(await totalOf())
    const [record] = await recordsOf(unit.id)
    const charge = (body: object, viewer?: Parameters<App["call"]>[3]) =>
      w.post(`/service_records/${record.id}/charge`, body, viewer)
    expect((await charge({}, viewerWith(["stock.service", "stock.view"], ["*"]))).status).toBe(403)
    expect(Number(await totalOf())).toBe(before)
    const charged = await charge({})
    expect(charged.status, JSON.stringify(charged.body)).toBe(201)
    expect(Number(await totalOf())).toBe(before + 900)
    await refused(charge({ amount: "1.00" }), "service_record")
    const damage = await out(1)
    const [second] = await recordsOf(damage.unit.id)
    await refused(w.post(`/service_records/${second.id}/charge`, {}), "amount")
  })

  it("rejects a service record for a hire that the unit was never on, and names its last hire", async () => {
    const { opportunity, unit } = await out()
    const other = await order(await w.serialised())
    const before = await w.app.dump()
    const called = async (id: number): Promise<string> => {
      const { number, subject } = await headerOf(id)
      return `"${subject}" (order ${Number(number)})`
    }
    const [name, never] = [await called(opportunity.id), await called(other.id)]
    for (const way of ["quarantine", "repair", "lost"])
      expect((await move(unit.id, way, { opportunity_id: other.id })).body.errors).toEqual({
        opportunity_id: [`${unit.asset_number} was never on ${never}: it was last on ${name}; name that one.`]
      })
    expect(await w.app.dump()).toEqual(before)
    const fresh = await w.labelled(await w.serialised())
    expect((await move(fresh.id, "lost", { opportunity_id: other.id })).body.errors).toEqual({
      opportunity_id: [`${fresh.asset_number} was never on ${never}: it was on no hire yet.`]
    })
    expect((await move(fresh.id, "lost")).status).toBe(200)
    const [record] = await recordsOf(fresh.id)
    const charged = { amount: "10.00", opportunity_id: other.id }
    await refused(w.post(`/service_records/${record.id}/charge`, charged), "opportunity_id")
    expect((await move(unit.id, "lost", { opportunity_id: opportunity.id })).status).toBe(200)
  })

  it("accepts a service record for the hire of an exchanged unit, of its case or of a kit that contains it", async () => {
    const { asset, opportunity, product, unit } = await out()
    const second = await w.unit(product)
    const item = opportunity.line.id
    await w.must("PATCH", `/opportunities/${opportunity.id}/items/${item}/assets/${asset}`, {
      action: "substitute",
      stock_level_id: second
    })
    expect((await move(unit.id, "repair", { opportunity_id: opportunity.id })).status).toBe(200)

    const flight = await w.serialised()
    await w.put(`/products/${flight}/container_template`, { is_containerable: true, availability_mode: "kit" })
    const housing = await w.unit(flight)
    const lens = await w.unit(await w.serialised())
    const kit = await w.create("/containers", { name: "Kit", serialised_item_id: housing })
    await w.post(`/containers/${kit.id}/pack`, { serialised_item_id: lens })
    const gig = await order(flight)
    await refused(move(lens, "lost", { opportunity_id: gig.id }), "opportunity_id")
    expect((await w.allocate(gig, housing)).status).toBe(200)
    expect((await move(lens, "lost", { opportunity_id: gig.id })).status).toBe(200)

    const cable = await w.product()
    const bulk = (await w.show(`/stock_levels?q[product_id_eq]=${cable}`))[0]
    await w.put(`/stock_levels/${bulk.id}`, { quantity_held: 10 })
    await refused(move(bulk.id, "lost", { opportunity_id: gig.id }), "opportunity_id")
    const kit_product = await w.product()
    await w.create(`/products/${kit_product}/components`, { component_product_id: cable, quantity: 2 })
    const with_kit = await order(kit_product)
    expect((await move(bulk.id, "lost", { opportunity_id: with_kit.id })).status).toBe(200)
  })

  it("responds 404 to a charge by users without stock.view, as for an unknown record", async () => {
    const { back, opportunity } = await out(1)
    const [record] = await recordsOf(back!.body.opportunity.items[0].assets[0].stock_level_id)
    const blind = viewerWith(["opportunities.view", "opportunities.edit"], ["*"])
    const charge = (id: number) =>
      w.post(`/service_records/${id}/charge`, { amount: "1.00", opportunity_id: opportunity.id }, blind)
    const [there, nowhere] = [await charge(record.id), await charge(999_999)]
    expect(there).toEqual(nowhere)
    expect(there).toMatchObject({ status: 404, body: { message: "No such service record." } })
    expect(await recordsOf(record.stock_level_id)).toEqual([record])
  })

  it("rejects times before 1900, naming the field", async () => {
    const unit = await w.unit(await w.serialised())
    const days = "must be a time from 1900-01-01 on."
    for (const name of ["quarantine", "repair", "lost", "sold"])
      expect((await move(unit, name, { starts_at: "0001-01-01T00:00:00Z" })).body.errors).toEqual({
        starts_at: [`The starts at field ${days}`]
      })
    for (const name of ["quarantine", "repair", "lost"])
      expect((await move(unit, name, { expected_back_at: "1899-12-31T23:59:59Z" })).body.errors).toEqual({
        expected_back_at: [`The expected back at field ${days}`]
      })
    expect(await recordsOf(unit)).toEqual([])
  })
  it("requires stock.service for quarantine and release, and stock.adjust for lost and sold units", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    const by = (permission: string, name: string) =>
      w.post(`/stock_levels/${unit}/${name}`, {}, viewerWith(["stock.view", permission], ["*"]))
    expect((await by("stock.view", "quarantine")).status).toBe(403)
    expect((await by("stock.service", "lost")).status).toBe(403)
    expect((await by("stock.service", "quarantine")).status).toBe(200)
    expect((await by("stock.service", "release")).status).toBe(200)
    expect((await by("stock.adjust", "sold")).status).toBe(200)
  })

  it("takes all damaged pieces of one scan on two lines out of service", async () => {
    const sku = `CAB-${s.next()}`
    const cable = await w.product({ sku })
    const held = await w.hold(cable, 10)
    const gig = await s.order([3, 2].map((quantity) => ({ item_id: cable, quantity })))
    await s.done(gig, "out", `${sku}*5`)
    await s.done(gig, "in", `${sku}*5`, { condition: 1 })

    expect((await level(held)).out_of_service).toMatchObject([{ quantity: 3 }, { quantity: 2 }])
    expect(await point(cable, "2031-07-01")).toMatchObject({ total_stock: 10, available: 5 })
  })

  /** An order that has all pieces of a bulk product. */
  const allOut = async (pieces: number) => {
    const sku = `CAB-${s.next()}`
    const product = await w.product({ sku })
    const held = await w.hold(product, pieces)
    const gig = await s.order([{ item_id: product, quantity: pieces }])
    await s.done(gig, "out", `${sku}*${pieces}`)
    return { sku, product, held, gig, item: gig.items[0].id }
  }
  it("says how many of the damaged pieces of a scan could not be taken out of service", async () => {
    const { gig, held, sku } = await allOut(5)
    await move(held, "lost", { quantity: 3 })
    const { body } = await s.scan(gig, "in", `${sku}*4`, { condition: 1 })
    expect(body.meta.warnings).toEqual([
      "Only 2 of the 4 × Line could be taken out of service: no more of it is in service here."
    ])
    expect((await s.scan(gig, "in", `${sku}*1`)).body.meta).toBeUndefined()
  })
  it("keeps the note on damaged pieces in their record and in the order's activity", async () => {
    const { gig, item, product, sku } = await allOut(5)
    await s.done(gig, "in", `${sku}*1`, { condition: 1, damage_notes: "bent" })
    const counted = { action: "return", quantity: 1, condition: 2, damage_notes: "fell off the truck" }
    await w.must("PATCH", `/opportunities/${gig.id}/items/${item}/fulfilment`, counted)
    w.app.setClock("2031-05-02T12:00:00.000Z")
    const early = { items: [{ opportunity_item_id: item, quantity: 1 }], condition: 1, damage_notes: "wet" }
    await w.must("POST", `/opportunities/${gig.id}/return_early`, early)
    const notes = ["bent", "fell off the truck", "wet"]
    const records = await w.show(`/service_records?q[product_id_eq]=${product}&sort=id`)
    expect(records.map(({ note }) => note)).toEqual(notes)
    const activity = await w.show(`/opportunities/${gig.id}/activity`)
    const noted = activity.flatMap(({ new_values }) => new_values?.["damage_notes"] ?? [])
    expect(noted.toSorted()).toEqual(notes)
  })

  describe("count a lost bulk piece once", () => {
    const gone = async () => {
      const sku = `CAB-${s.next()}`
      const cable = await w.product({ sku })
      const id = await w.hold(cable, 10)
      const gig = await s.order([{ item_id: cable, quantity: 4 }])
      await s.done(gig, "out", `${sku}*4`)
      await s.done(gig, "in", `${sku}*3`)
      const lose = () => move(id, "lost", { quantity: 1, opportunity_id: gig.id, write_off: true })
      const scanMissing = () => s.done(gig, "in", sku, { condition: 2 })
      const figures = async () => ({
        held: (await level(id)).quantity_held,
        available: (await point(cable, "2031-07-01")).available
      })
      return { id, gig, sku, lose, scanMissing, figures }
    }

    it("that the warehouse recorded before the office does", async () => {
      const { figures, id, lose, scanMissing } = await gone()
      await scanMissing()
      expect(await figures()).toEqual({ held: "10.00", available: 9 })
      expect((await lose()).status).toBe(200)
      expect(await figures()).toEqual({ held: "9.00", available: 9 })
      expect((await recordsOf(id)).filter((one) => one.is_open)).toEqual([])
      // A piece that came back and is lost later is another one.
      expect((await lose()).status).toBe(200)
      expect(await figures()).toEqual({ held: "8.00", available: 8 })
    })

    it("that is still out on its order when the office records it", async () => {
      const { figures, gig, lose, scanMissing, sku } = await gone()
      const errors = await refused(lose(), "opportunity_id")
      expect(errors.opportunity_id[0]).toContain(`flightcase scan in ${gig.number} ${sku} --missing`)
      await scanMissing()
      expect((await lose()).status).toBe(200)
      expect(await figures()).toEqual({ held: "9.00", available: 9 })
    })
  })

  it("releases quarantined pieces when their return is reverted", async () => {
    const sku = `CAB-${s.next()}`
    const cable = await w.product({ sku })
    const held = await w.hold(cable, 10)
    const gig = await s.order([{ item_id: cable, quantity: 5 }])
    await s.scan(gig, "out", `${sku}*5`)
    for (const quantity of [2, 3]) await s.scan(gig, "in", `${sku}*${quantity}`, { condition: 1 })
    const open = async () => {
      const { out_of_service } = await level(held)
      return out_of_service.map((one) => one.quantity)
    }
    expect(await open()).toEqual([2, 3])
    const revert = (quantity: number) =>
      w.patch(`/opportunities/${gig.id}/items/${gig.items[0].id}/fulfilment`, { action: "revert_return", quantity })
    expect((await revert(4)).status).toBe(200)
    expect(await open()).toEqual([1])
    expect((await revert(1)).status).toBe(200)
    expect(await open()).toEqual([])
  })

  itFoldsAgain(w)
})
