/** What is here again is scanned: a code that another unit had before, a unit that came without its case. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"
import { dates, day, type ScanFixture, scanFixture } from "./fixture.ts"

describe.each(engines)("what is here again, on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let s: ScanFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    s = scanFixture(w)
  })
  afterAll(() => app.close())

  it("a supplier's piece that comes a second time is scanned by its serial number", async () => {
    app.setClock(`${day(1)}T06:00:00.000Z`)
    const product = await w.product()
    const { id: supplier_id } = await w.made(
      "/api/v1/members",
      { name: "Lender", membership_type: "organisation" },
      "member"
    )
    const hired = async () => {
      const dates = { starts_at: `${day(1)}T00:00:00Z`, ends_at: `${day(9)}T00:00:00Z` }
      const order = await w.made(
        "/api/v1/purchase_orders?include=items",
        { supplier_id, store_id: 1, ...dates, items: [{ product_id: product.id, quantity: "1" }] },
        "purchase_order"
      )
      const at = `/api/v1/purchase_orders/${order.id}`
      expect((await w.post(`${at}/send`)).status).toBe(200)
      const lines = [{ item_id: order.items[0].id, quantity: "1", serial_numbers: ["SER-9"] }]
      const came = await w.post(`${at}/receive`, { lines })
      expect(came.status, JSON.stringify(came.body)).toBe(200)
      return at
    }
    const first = await hired()
    expect((await w.post(`${first}/return`)).status).toBe(200)
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    expect((await s.scan(gig, "out", "SER-9")).body.errors.code[0]).toContain("went back to its supplier")
    await hired()
    const out = await s.scan(gig, "out", "SER-9")
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    expect((await w.post("/api/v1/scan_in", { code: "SER-9" })).status).toBe(200)
  })

  it("a sold unit's label names its successor", async () => {
    const product = await w.product()
    const barcode = `LABEL-${s.next()}`
    const old = await w.unit(product.id, { asset_number: `U-${s.next()}`, barcode })
    expect((await w.post(`/api/v1/stock_levels/${old.id}/sold`)).status).toBe(200)
    const unit = await w.unit(product.id, { asset_number: `U-${s.next()}`, barcode })
    const gig = await s.order([{ item_id: product.id, quantity: 1 }])
    const { body, status } = await s.scan(gig, "out", barcode)
    expect([status, body.scan?.stock_level_id], JSON.stringify(body)).toEqual([200, unit.id])
  })

  it.each(["another", "the same"])(
    "a unit that came back without its case goes out on %s order while the case is away",
    async (order) => {
      const {
        product,
        units: [a, b]
      } = await s.heads(2)
      const gig = await s.order([{ item_id: product.id, quantity: 2 }], dates(20, 22))
      const next =
        order === "another" ? await s.order([{ item_id: product.id, quantity: 1 }], dates(25, 26)) : undefined
      const box = await s.box([a!, b!])
      const done = async (reply: ReturnType<ScanFixture["scan"]>) => {
        const { body, status } = await reply
        expect(status, JSON.stringify(body)).toBe(200)
        return body.scan
      }
      await done(s.scan(gig, "out", box.barcode))
      await done(s.scan(gig, "in", a!.asset_number))
      // Looked at by itself, too.
      await done(s.scan(gig, "in", a!.asset_number, { finalise: true }))
      expect((await done(s.scan(next ?? gig, "out", a!.asset_number))).taken_out_of).toMatchObject([
        { container_id: box.id, seal_broken: false, left: null }
      ])
      const { items, status } = await s.containerAt(box)
      expect([status, items.map((one: { serialised_item_id: number }) => one.serialised_item_id)]).toEqual([
        "dispatched",
        [b!.id]
      ])
      await done(s.scan(gig, "in", box.barcode))
      expect(await s.units(gig)).toContainEqual([a!.id, next === undefined ? "Dispatched" : "Finalised"])
    }
  )

  it("a unit that is recorded as lost and comes back says so, and what is checked as missing does not", async () => {
    const {
      product,
      units: [a, b]
    } = await s.heads(2)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) expect((await s.scan(gig, "out", one!.asset_number)).status).toBe(200)
    expect((await w.post(`/api/v1/stock_levels/${a!.id}/lost`)).status).toBe(200)
    const found = await s.scan(gig, "in", a!.asset_number, { finalise: true })
    expect(found.body.meta?.warnings).toEqual([
      `${a!.asset_number} is recorded as lost; if this is it, release it: flightcase units release unit:${a!.id}`
    ])
    expect((await s.scan(gig, "in", b!.asset_number, { condition: 2 })).body.meta).toBeUndefined()
  })
})
