import { beforeAll, describe, expect, it } from "vitest"
import { type App, engines, viewerWith } from "../../../../app.ts"
import { appHouse, refused } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"

describe.each(engines)("planning without an order, on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const ask = (body: object, viewer?: Parameters<App["call"]>[3]) => w.post("/availability/what_if", body, viewer)
  const line = (product_id: number, quantity: number, from: string, to: string, more: object = {}) => ({
    product_id,
    quantity,
    starts_at: `2026-${from}`,
    ends_at: `2026-${to}`,
    ...more
  })

  it("adds the planned lines to existing bookings, and writes nothing", async () => {
    const P = await w.bulk(S, 10, { name: "Lamp" })
    await demandOver(w.app, P.id, S, 4, "07-01", "07-03")
    const before = await w.app.dump()
    const { body, status } = await ask({ store_id: S, lines: [line(P.id, 8, "07-02", "07-04")] })
    expect(status).toBe(200)
    expect(body.what_if.has_shortage).toBe(true)
    expect(body.what_if.lines).toEqual([
      {
        line: 0,
        product_id: P.id,
        product_name: "Lamp",
        store_id: S,
        requested_quantity: 8,
        available_for_line: 6,
        shortage_quantity: 2,
        has_shortage: true,
        starts_at: "2026-07-02T00:00:00.000Z",
        ends_at: "2026-07-04T00:00:00.000Z"
      }
    ])
    expect(body.what_if.timelines).toHaveLength(1)
    expect(body.what_if.timelines[0]).toMatchObject({
      product_id: P.id,
      store_id: S,
      min_available: -2,
      max_available: 2
    })
    expect(
      body.what_if.timelines[0].slots.map((slot) => [
        slot.slot_start.slice(0, 10),
        slot.available_before,
        slot.available,
        slot.demand_breakdown
      ])
    ).toEqual([
      ["2026-07-02", 6, -2, { opportunity_item: 4, what_if: 8 }],
      ["2026-07-03", 10, 2, { what_if: 8 }]
    ])
    expect(await w.app.dump()).toEqual(before)
  })
  it("gives the same availability as an order with the same lines", async () => {
    const P = await w.bulk(S, 5, { post_rent_unavailability: 1440, buffer_before_minutes: 60 }),
      A = await w.bulk(S, 20),
      B = await w.bulk(S, 7)
    const K = (await w.create("/products", { name: "Kit" })).id
    await w.create(`/products/${K}/components`, { component_product_id: A.id, quantity: 2 })
    await w.create(`/products/${K}/components`, { component_product_id: B.id, quantity: 3 })
    await demandOver(w.app, P.id, S, 2, "08-01", "08-10")
    const wanted = [
      [P.id, 4],
      [P.id, 2],
      [K, 2],
      [B.id, 2]
    ] as const
    const dates = { starts_at: "2026-08-03T09:00:00Z", ends_at: "2026-08-05T17:00:00Z" }
    const { body } = await ask({
      store_id: S,
      lines: wanted.map(([product_id, quantity]) => ({ product_id, quantity, ...dates }))
    })
    const { id } = await w.opportunity({ subject: "The same", store_id: S, ...dates })
    for (const [item_id, quantity] of wanted)
      await w.create(`/opportunities/${id}/items`, { name: "Line", item_type: "product", item_id, quantity })
    await w.confirm(id)
    const lines = await w.show(`/opportunities/${id}/availability`)
    expect(body.what_if.lines.map((one) => [one.product_id, one.available_for_line, one.shortage_quantity])).toEqual(
      lines.map((one) => [one.product_id, one.available_for_item, one.shortage_quantity])
    )
    for (const timeline of body.what_if.timelines) {
      const range = await w.show(
        `/availability?product_id=${timeline.product_id}&store_id=${S}&from=${timeline.from}&to=${timeline.to}`
      )
      expect(timeline.slots.map((slot) => slot.available)).toEqual(range.slots.map((slot) => slot.available))
    }
  })
  it("checks each line at its own store, with dates in that store's zone", async () => {
    const NY = await w.store({ timezone: "America/New_York" })
    const P = await w.bulk(S, 1)
    await w.create("/stock_levels", { product_id: P.id, store_id: NY, quantity_held: 3 })
    const { body } = await ask({
      store_id: S,
      lines: [line(P.id, 2, "07-01", "07-02", { store_id: NY }), line(P.id, 2, "07-01", "07-02")]
    })
    expect(body.what_if.lines.map((one) => [one.line, one.store_id, one.starts_at, one.shortage_quantity])).toEqual([
      [0, NY, "2026-07-01T04:00:00.000Z", 0],
      [1, S, "2026-07-01T00:00:00.000Z", 1]
    ])
  })
  it("checks lines beyond the horizon, although their slots are omitted", async () => {
    const P = await w.bulk(S, 1)
    const { body } = await ask({
      store_id: S,
      lines: [{ product_id: P.id, quantity: 2, starts_at: "2029-01-01", ends_at: "2029-01-02" }]
    })
    expect([body.what_if.lines[0].shortage_quantity, body.what_if.timelines[0].slots]).toEqual([1, []])
  })
  it("rejects invalid values, naming the line and the field", async () => {
    const P = await w.bulk(S, 1)
    const good = line(P.id, 1, "07-01", "07-02")
    await refused(ask({}), "lines")
    await refused(ask({ store_id: S, lines: [] }), "lines")
    await refused(ask({ store_id: S, lines: Array.from({ length: 201 }, () => good) }), "lines")
    await refused(ask({ lines: [good, { ...good, store_id: S }] }), "lines.0.store_id")
    await refused(ask({ store_id: S, lines: [{ ...good, product_id: 999_999 }] }), "lines.0.product_id")
    await refused(ask({ store_id: S, lines: [good, { ...good, ends_at: "2026-07-01" }] }), "lines.1.ends_at")
    await refused(ask({ store_id: S, lines: [good, { ...good, ends_at: "2027-07-04" }] }), "lines.1.ends_at")
    await refused(
      ask({ store_id: S, lines: [{ ...good, starts_at: "soon", quantity: 0 }] }),
      "lines.0.quantity",
      "lines.0.starts_at"
    )
    await refused(ask({ store_id: S, lines: [{ ...good, quantity: 1.5 }] }), "lines.0.quantity")
    await refused(ask({ store_id: 999_999, lines: [good] }), "store_id")
    await refused(ask({ store_id: S, lines: "all" }), "lines")
  })
  it("requires availability.view and availability:read", async () => {
    const P = await w.bulk(S, 1)
    const body = { store_id: S, lines: [line(P.id, 1, "07-01", "07-02")] }
    expect((await ask(body, viewerWith(["availability.view"], ["availability:read"]))).status).toBe(200)
    expect((await ask(body, viewerWith([], ["availability:read"]))).status).toBe(403)
    expect((await ask(body, viewerWith(["availability.view"], ["products:read"]))).status).toBe(403)
  })
})
