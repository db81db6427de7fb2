import { describe, expect, it } from "vitest"
import { rangeAvailability } from "../../../../../core/orders/availability/rules/line.ts"
import { availabilityReasons } from "../../../../../core/orders/availability/rules/reasons.ts"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"
import { P, S, at, snapshot, bulk, demand, ms, product } from "./fixtures.ts"

const range = (given: ReturnType<typeof snapshot>, from: string, to: string) =>
  rangeAvailability(given, P, { from: ms(from), to: ms(to) })

describe("availability over a range", () => {
  it("has a slot for each day, the first equal to the availability on its morning", () => {
    const given = snapshot({ stock: [bulk(7)], demands: [demand(2, "08-10", "08-12")] })
    const found = range(given, "08-10", "08-12")
    expect(found).toEqual({
      product_id: P,
      store_id: S,
      from: at("08-10"),
      to: at("08-12"),
      min_available: 5,
      max_available: 5,
      calculated_at: at("06-18T12:00"),
      slots: ["08-10", "08-11"].map((day) => ({
        slot_start: at(day),
        total_stock: 7,
        total_demanded: 2,
        available: 5,
        demand_breakdown: { opportunity_item: 2 },
        pending_checkin_quantity: 0
      }))
    })
    expect(pointAvailability(given, P, ms("08-10T06:00")).available).toBe(found.slots[0]!.available)
  })

  it("has slots from today on for stock that was never booked", () => {
    const found = range(snapshot({ stock: [bulk(12)] }), "06-18", "06-21")
    expect(found.slots.map((slot) => [slot.slot_start, slot.total_stock, slot.available])).toEqual([
      [at("06-18"), 12, 12],
      [at("06-19"), 12, 12],
      [at("06-20"), 12, 12]
    ])
  })

  it("has half-daily slots at 00:00, 06:00, 12:00 and 18:00", () => {
    const found = range(snapshot({ stock: [bulk(1)], resolution: "half_daily", now: "03-01" }), "03-02", "03-03")
    expect(found.slots.map((slot) => slot.slot_start)).toEqual([
      at("03-02"),
      at("03-02T06:00"),
      at("03-02T12:00"),
      at("03-02T18:00")
    ])
  })

  it("has no slots beyond the horizon for an open-ended demand", () => {
    const found = range(snapshot({ stock: [bulk(5)], demands: [demand(1, "06-01", null)] }), "2020-01-01", "2040-01-01")
    expect(found.slots[0]!.slot_start).toBe(at("03-20"))
    expect(found.slots.at(-1)!.slot_start).toBe(at("2027-06-18"))
    expect(found.slots).toHaveLength(90 + 1 + 365)
    expect(found).toMatchObject({ from: at("2020-01-01"), to: at("2040-01-01"), min_available: 4, max_available: 5 })
  })

  it("deducts a turnaround of four hours on the day of the return, not on the next", () => {
    const hire = demand(4, "04-13T09:00", "04-15T17:00", { buffers: { before_minutes: 120, after_minutes: 240 } })
    const found = range(snapshot({ stock: [bulk(4)], demands: [hire], now: "04-01" }), "04-13", "04-17")
    expect(found.slots.map((slot) => slot.available)).toEqual([0, 0, 0, 4])
  })

  //  case                                      checked          waiting on the four days
  it.each<[string, string | null, ReadonlyArray<number>]>([
    ["awaits its check from the day of its return", null, [0, 1, 1, 1]],
    ["awaited its check until it was made", "08-03T09:00", [0, 1, 1, 0]],
    ["was checked on its return", "08-02T10:00", [0, 0, 0, 0]]
  ])("counts a returned unit as free, and reports whether it %s", (_, checked, waiting) => {
    const back = demand(1, "08-01", "08-02T10:00", {
      asset_id: 3,
      phase: "closed",
      pending_checkin: checked === null,
      returned_at: at("08-02T10:00"),
      checked_at: checked === null ? null : at(checked)
    })
    const given = snapshot({ stock: [bulk(1)], demands: [back], now: "08-10" })
    const breakdowns = waiting.map((count) => (count === 0 ? {} : { returned_not_checked: count }))
    expect(
      range(given, "08-01", "08-05").slots.map((slot) => [
        slot.pending_checkin_quantity,
        slot.available,
        slot.total_demanded,
        slot.demand_breakdown
      ])
    ).toEqual(waiting.map((count, day) => [count, 1, 0, breakdowns[day]]))
    expect(pointAvailability(given, P, ms("08-03")).demand_breakdown).toEqual({})
    const reasons = availabilityReasons(given, P, ms("08-03"), new Map())
    expect([reasons.available, reasons.demand_breakdown]).toEqual([1, breakdowns[2]])
  })

  it("does not count active demands and bulk returns as awaiting a check", () => {
    const demands = [
      demand(1, "08-01", "08-04", { asset_id: 3, phase: "on_hire", out: true }),
      demand(6, "08-01", "08-04", { returned_at: at("08-02"), pending_checkin: true })
    ]
    const found = range(snapshot({ stock: [bulk(9)], demands }), "08-01", "08-04")
    expect(found.slots.map((slot) => [slot.pending_checkin_quantity, slot.demand_breakdown])).toEqual([
      [0, { opportunity_item: 7 }],
      [0, { opportunity_item: 7 }],
      [0, { opportunity_item: 7 }]
    ])
  })

  it.each([
    ["stops before the end of the range", "07-01", "07-04", ["07-01", "07-02", "07-03"]],
    ["includes the slot in progress at the start", "07-01T15:00", "07-03", ["07-01", "07-02"]],
    ["is one slot for an empty range", "07-01", "07-01", ["07-01"]],
    ["has nothing beyond the horizon", "2030-07-01", "2030-07-04", []],
    ["has nothing before the horizon", "2020-07-01", "2020-07-04", []]
  ])("has the slots of the range that are within the horizon: it %s", (_, from, to, starts) => {
    const found = range(snapshot({ stock: [bulk(1)] }), from, to)
    expect(found.slots.map((slot) => slot.slot_start)).toEqual(starts.map(at))
    if (starts.length === 0) {
      expect(found).toMatchObject({ min_available: null, max_available: null, calculated_at: null })
    }
  })

  it("is empty for an untracked product and for a product that this store never had", () => {
    expect(range(snapshot({}), "07-01", "07-04")).toMatchObject({ slots: [], min_available: null, calculated_at: null })
    const untracked = snapshot({ stock: [bulk(4)], products: [product(P, { track_availability: false })] })
    expect(range(untracked, "07-01", "07-04")).toMatchObject({ slots: [], calculated_at: null })
    expect(pointAvailability(untracked, P, ms("07-01")).available).toBe(4)
  })

  it("is computed for 20,000 demands over 300 days, hour by hour", () => {
    const day = (index: number) => new Date(ms("06-29") + index * 86_400_000).toISOString()
    const demands = Array.from({ length: 20_000 }, (_, index) => demand(1, day(index % 300), day((index % 300) + 20)))
    const given = snapshot({ demands, stock: [bulk(2000)], resolution: "hourly", now: "06-29" })
    const { min_available, slots } = range(given, "06-29", day(300))
    expect([slots.length, min_available]).toEqual([7200, 2000 - Math.ceil(20_000 / 300) * 20])
  })
})
