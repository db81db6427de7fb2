/** Availability of one moment, buffers and returns, ranges. */
import { expect } from "vitest"
import { refusedOn, type Scenario, scenario, type Scene, v1 } from "../availability-scenarios.ts"
import { itIs } from "../playing.ts"

/** Creates an order with the one unit of a product at a store allocated. */
const unitOnOrder = async (s: Scene, from: string, to: string) => {
  const S = await s.store()
  const { id: P, units } = await s.units(S, 1)
  const order = await s.claim(S, P, 1, from, to)
  const asset_ids = await s.allocate(order, ...units)
  return {
    S,
    P,
    order,
    quick: (name: string, body: object = {}) => s.move(order.id, `quick_${name}`, { asset_ids, ...body })
  }
}

export const readingScenarios = (): ReadonlyArray<Scenario> => [
  scenario("A1", "a claim reduces availability by its quantity", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    await s.claim(S, P, 4, "07-01", "07-04")
    expect(await s.point(P, S, "07-02")).toEqual({
      product_id: P,
      store_id: S,
      date: "2026-07-02",
      total_stock: 10,
      total_demanded: 4,
      available: 6,
      demand_breakdown: { opportunity_item: 4 }
    })
  }),
  scenario("A3", "availability needs a token", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    if (s.nobody === undefined) return
    expect((await s.nobody("GET", `${v1}/availability?product_id=${P}&store_id=${S}&date=2026-07-02`)).status).toBe(401)
  }),
  scenario("A5", "availability needs a product and a store", async (s) =>
    refusedOn(await s.get(`${v1}/availability?date=2026-07-02`), "product_id", "store_id")
  ),
  scenario("A7", "availability needs a moment or a range", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    refusedOn(await s.get(`${v1}/availability?product_id=${P}&store_id=${S}`), "date")
  }),
  scenario("A9", "each unit of a serialised product counts as one", async (s) => {
    const S = await s.store()
    expect(await s.point((await s.units(S, 4)).id, S, "07-02")).toMatchObject({
      total_stock: 4,
      total_demanded: 0,
      available: 4
    })
  }),
  scenario("A11", "a claim that has ended does not reduce later availability", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    await s.claim(S, P, 5, "04-10", "04-11")
    expect(await s.point(P, S, "04-20")).toMatchObject({ total_demanded: 0, available: 10 })
  }),
  scenario("A13", "a returned quantity is subtracted once", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    const { id, line } = await s.claim(S, P, 6, "04-10", "04-12")
    const fulfil = (body: object) => s.patch(`${v1}/opportunities/${id}/items/${line}/fulfilment`, body)
    await fulfil({ action: "dispatch", quantity: 6 })
    await fulfil({ action: "return", quantity: 2 })
    expect(await s.point(P, S, "04-11")).toMatchObject({ total_demanded: 4, available: 6 })
  }),
  scenario("A15", "an open-ended claim reduces availability years later", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    await s.claim(S, P, 3, "06-18", null)
    expect(await s.point(P, S, "2030-01-01")).toMatchObject({ total_demanded: 3, available: 7 })
  }),
  scenario(
    "A17",
    "a moment at 14:30 is in the six-hour slot from 12 to 18 hours",
    async (s) => {
      const S = await s.store(),
        P = await s.bulk(S, 10)
      await s.claim(S, P, 1, "2026-03-02T12:00:00Z", "2026-03-02T18:00:00Z")
      const { reasons } = (
        await s.get(`${v1}/availability/why?product_id=${P}&store_id=${S}&date=2026-03-02T14:30:00Z`)
      ).body
      expect(reasons).toMatchObject({
        slot_start: "2026-03-02T12:00:00.000Z",
        slot_end: "2026-03-02T18:00:00.000Z",
        available: 9
      })
      expect((await s.point(P, S, "2026-03-02T11:59:00Z")).available).toBe(10)
      expect((await s.point(P, S, "2026-03-02T18:00:00Z")).available).toBe(10)
    },
    "half_daily"
  ),

  scenario("B1", "the chart of a product shows its buffers before and after the hire", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10, { post_rent_unavailability: 240, buffer_before_minutes: 120 })
    await s.claim(S, P, 1, "2026-08-01T09:00:00Z", "2026-08-05T17:00:00Z")
    expect((await s.gantt(P, S, "08-01", "08-06")).demands).toMatchObject([
      {
        period_start: "2026-08-01T07:00:00.000Z",
        buffer_before_end: "2026-08-01T09:00:00.000Z",
        starts_at: "2026-08-01T09:00:00.000Z",
        ends_at: "2026-08-05T17:00:00.000Z",
        buffer_after_start: "2026-08-05T17:00:00.000Z",
        period_end: "2026-08-05T21:00:00.000Z"
      }
    ])
  }),
  scenario("B3", "a turnaround makes its day unavailable, and the day after is free", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 4, { post_rent_unavailability: 1440 })
    await s.claim(S, P, 4, "04-13", "04-15")
    const { slots } = await s.range(P, S, "04-13", "04-17")
    expect(slots.map((slot) => [slot.slot_start.slice(5, 10), slot.available])).toEqual([
      ["04-13", 0],
      ["04-14", 0],
      ["04-15", 0],
      ["04-16", 4]
    ])
  }),
  scenario("B5", "another order's turnaround makes a line short", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 3, { post_rent_unavailability: 1440 })
    await s.claim(S, P, 3, "04-13", "04-15")
    const { id } = await s.draft(S, P, 1, "04-15", "04-16")
    expect((await s.get(`${v1}/opportunities/${id}/availability`)).body.availability).toMatchObject([
      { available_for_item: 0, shortage_quantity: 1 }
    ])
  }),
  scenario("B7", "an overdue unit is unavailable", async (s) => {
    const { P, S, quick } = await unitOnOrder(s, "06-10", "2026-06-15T17:00:00Z")
    expect((await quick("book_out", { dispatched_at: "2026-06-10T08:00:00Z" })).status).toBe(200)
    expect(await s.point(P, S, "06-25")).toMatchObject({ total_stock: 1, total_demanded: 1, available: 0 })
  }),
  scenario("B9", "each overdue line counts once, also when read twice", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    for (const quantity of [1, 2]) {
      const { id, line } = await s.claim(S, P, quantity, "06-10", "06-15")
      await s.patch(`${v1}/opportunities/${id}/items/${line}/fulfilment`, { action: "dispatch", quantity })
    }
    for (let time = 0; time < 2; time++)
      expect(await s.point(P, S, "06-25")).toMatchObject({ total_demanded: 3, available: 7 })
    expect((await s.gantt(P, S, "06-18", "06-19")).demands.map((one) => one.ends_at)).toEqual(
      Array(2).fill("2199-01-01T00:00:00.000Z")
    )
  }),
  scenario("B11", "a unit returned early waits for its check", async (s) => {
    const { P, S, quick } = await unitOnOrder(s, "2026-08-01T09:00:00Z", "2026-08-05T17:00:00Z")
    itIs("2026-08-01T09:00:00Z")
    expect((await quick("book_out")).status).toBe(200)
    itIs("2026-08-02T10:00:00Z")
    expect((await quick("check_in")).status).toBe(200)
    const { slots } = await s.range(P, S, "08-01", "08-05")
    expect(slots.map((slot) => [slot.total_demanded, slot.available])).toEqual(Array(4).fill([0, 1]))
    expect(slots.slice(1).map((slot) => slot.pending_checkin_quantity)).toEqual([1, 1, 1])
    expect((await s.gantt(P, S, "08-01", "08-05")).demands).toEqual([])
  }),
  scenario("B13", "an allocated unit that was not dispatched does not wait for a check", async (s) => {
    const { P, S } = await unitOnOrder(s, "07-01", "07-03")
    for (const slot of (await s.range(P, S, "07-01", "07-04")).slots) {
      expect(slot.pending_checkin_quantity).toBe(0)
      expect(slot.demand_breakdown).not.toHaveProperty("returned_not_checked")
    }
  }),

  scenario("C2", "the first slot of a range has the figures of a moment in it", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 7)
    await s.claim(S, P, 2, "08-10", "08-12")
    const range = await s.range(P, S, "08-10", "08-12")
    expect([range.slots.length, range.min_available]).toEqual([2, 5])
    const { available, demand_breakdown, total_demanded, total_stock } = await s.point(P, S, "2026-08-10T06:00:00Z")
    expect(range.slots[0]).toMatchObject({
      slot_start: "2026-08-10T00:00:00.000Z",
      available,
      demand_breakdown,
      total_demanded,
      total_stock
    })
  }),
  scenario("C4", "a range includes stock without claims", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 12)
    const { slots } = await s.range(P, S, "06-18", "06-21")
    expect(slots).toHaveLength(3)
    expect(slots[0]).toMatchObject({ total_stock: 12, available: 12, demand_breakdown: {} })
  }),
  scenario("C6", "a shelf location changes no figure", async (s) => {
    const S = await s.store(),
      { id } = await s.product()
    const level = await s.made(`${v1}/stock_levels`, { product_id: id, store_id: S, quantity_held: 5 }, "stock_level")
    const before = await s.range(id, S, "06-18", "06-25")
    expect((await s.put(`${v1}/stock_levels/${level.id}`, { location: "Aisle 4" })).status).toBe(200)
    expect(await s.range(id, S, "06-18", "06-25")).toEqual(before)
  }),
  scenario("C8", "a cancelled order releases its stock", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    const { id } = await s.claim(S, P, 4, "06-20", "06-21")
    expect(await s.point(P, S, "06-20")).toMatchObject({ total_demanded: 4, available: 6 })
    expect((await s.move(id, "change_status", { status: 6 })).status).toBe(200)
    expect(await s.point(P, S, "06-20")).toMatchObject({ total_demanded: 0, available: 10 })
  }),
  scenario(
    "C10",
    "a day has four six-hour slots",
    async (s) => {
      itIs("2026-05-01T12:00:00Z")
      const S = await s.store(),
        P = await s.bulk(S, 10)
      const { slots } = await s.range(P, S, "03-02", "03-03")
      expect(slots.map((slot) => slot.slot_start)).toEqual(
        ["00", "06", "12", "18"].map((hour) => `2026-03-02T${hour}:00:00.000Z`)
      )
    },
    "half_daily"
  ),
  scenario("C12", "a range ends at the horizon", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    await s.claim(S, P, 3, "06-18", null)
    const { slots } = await s.range(P, S, "2025-01-01", "2030-01-01")
    expect(slots.length).toBeGreaterThan(300)
    expect(slots.length).toBeLessThan(500)
    expect(slots.at(-1)!.slot_start < "2028-01-01").toBe(true)
  })
]
