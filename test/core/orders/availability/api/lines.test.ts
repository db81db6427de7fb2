import { describe, expect, it } from "vitest"
import { availableAssets } from "../../../../../core/orders/availability/rules/days.ts"
import { lineAvailability, lineShortage } from "../../../../../core/orders/availability/rules/line.ts"
import { P, S, at, snapshot, bulk, demand, ms, pool, product, resolutions, unit } from "./fixtures.ts"

const line = (quantity: number, from: string, to: string, more: { id?: number; product_id?: number } = {}) => ({
  id: 900,
  product_id: P,
  quantity,
  starts_at: at(from),
  ends_at: at(to),
  ...more
})

describe("availability for a line", () => {
  it("excludes the line's own demand: with 4 of 5 booked, a line of 3 is short by 2", () => {
    const given = snapshot({
      stock: [bulk(5)],
      demands: [demand(4, "08-01T09:00", "08-03T17:00"), demand(3, "08-01T09:00", "08-03T17:00", { source_id: 900 })]
    })
    expect(lineAvailability(given, line(3, "08-01T09:00", "08-03T17:00"))).toEqual({
      opportunity_item_id: 900,
      product_id: P,
      store_id: S,
      requested_quantity: 3,
      available_for_item: 1,
      shortage_quantity: 2,
      has_shortage: true,
      from: at("08-01T09:00"),
      to: at("08-03T17:00")
    })
  })

  it.each(resolutions)("of each of many lines equals that without the line's demands, in %s slots", (resolution) => {
    const day = (at: number): string => `07-${String((at % 27) + 1).padStart(2, "0")}`
    const demands = Array.from({ length: 60 }, (_, at) =>
      demand(at % 7, day(at * 5), at % 11 === 0 ? null : `08-${String((at % 9) + 1).padStart(2, "0")}`, {
        source_id: 900 + (at % 20),
        source_type: at % 13 === 0 ? "container" : "opportunity_item",
        is_active: at % 6 !== 0,
        out: at % 4 === 0
      })
    )
    const given = { resolution, now: "07-20", stock: [bulk("40.5"), unit(1), bulk(9, { starts_at: at("07-09") })] }
    const whole = snapshot({ ...given, demands })
    for (let id = 900; id < 921; id++) {
      const others = demands.filter((one) => one.source_id !== id || one.source_type !== "opportunity_item")
      for (const [from, to] of [[day(id), "08-02"] as const, ["07-11", "07-13"] as const]) {
        const asked = line(3, from, to, { id })
        const alone = snapshot({ ...given, demands: others })
        expect(lineAvailability(whole, asked)).toEqual(lineAvailability(alone, asked))
        const order = { opportunity_id: 1, is_order: true }
        expect(lineShortage(whole, asked, order)).toEqual(lineShortage(alone, asked, order))
      }
    }
  })
  it("sums up a product's demands once for all its lines", () => {
    const given = snapshot({
      stock: [bulk(5)],
      demands: Array.from({ length: 50 }, (_, id) => demand(1, "07-01", "07-05", { source_id: id }))
    })
    let read = 0
    const counting = { ...given, demandsOf: (product_id: number) => (read++, given.demandsOf(product_id)) }
    const order = { opportunity_id: 1, is_order: true }
    for (let id = 0; id < 50; id++)
      expect(lineShortage(counting, line(1, "07-01", "07-05", { id }), order)?.available).toBe(5 - 49)
    expect(read).toBe(2)
  })

  it("is reduced by another order's turnaround on the day after", () => {
    const other = demand(3, "04-13", "04-15", { buffers: { before_minutes: 0, after_minutes: 1440 } })
    const given = snapshot({ stock: [bulk(3)], demands: [other], now: "04-01" })
    expect(lineAvailability(given, line(1, "04-15", "04-16")).available_for_item).toBe(0)
    expect(lineAvailability(given, line(1, "04-16", "04-17")).available_for_item).toBe(3)
  })

  //  case                                   stock claimed                quantity  from     to            requested free short
  it.each<[string, number, ReturnType<typeof demand>, number, string, string, number, number, number]>([
    ["is the lowest of all slots", 5, demand(4, "07-03", "07-04"), 2, "07-01", "07-06", 2, 1, 1],
    ["may be negative", 5, demand(7, "07-03", "07-04"), 2, "07-01", "07-06", 2, -2, 4],
    ["swaps dates in the wrong order", 5, demand(4, "07-03", "07-04"), 2, "07-06", "07-01", 2, 1, 1],
    ["is requested for at least one", 5, demand(5, "07-03", "07-04"), 0, "07-03", "07-04", 1, 0, 1],
    ["rounds halves up", 5, demand(1, "07-03", "07-04"), 2.5, "07-03", "07-04", 3, 4, 0],
    ["covers an end beyond the horizon", 5, demand(4, "07-03", null), 2, "07-01", "2199-01-01", 2, 1, 1],
    ["covers open dates beyond the horizon", 5, demand(4, "07-03", null), 2, "2040-01-01", "2199-01-01", 2, 1, 1],
    [
      "covers closed dates beyond the horizon",
      5,
      demand(4, "2040-01-03", null),
      2,
      "2040-01-01",
      "2040-01-05",
      2,
      1,
      1
    ],
    ["ignores a demand that only touches its dates", 5, demand(4, "07-03", "07-04"), 2, "07-04", "07-05", 2, 5, 0]
  ])(
    "is the lowest free quantity during its dates: it %s",
    (_, stock, other, quantity, from, to, requested_quantity, available_for_item, shortage_quantity) => {
      expect(
        lineAvailability(snapshot({ stock: [bulk(stock)], demands: [other] }), line(quantity, from, to))
      ).toMatchObject({
        requested_quantity,
        available_for_item,
        shortage_quantity,
        has_shortage: shortage_quantity > 0
      })
    }
  )

  it("is computed for an open-ended hourly line over a horizon of twenty years, by its first years", () => {
    const horizon = { past_days: 3650, future_days: 3650 }
    const given = snapshot({ stock: [bulk(5)], demands: [demand(4, "07-03", "07-04")], resolution: "hourly", horizon })
    expect(lineAvailability(given, line(2, "07-01", "2199-01-01"))).toMatchObject({ available_for_item: 1 })
  })
  it("is computed for an open-ended hourly line, and for one that ends in 2198", () => {
    const given = snapshot({ stock: [bulk(5)], demands: [demand(4, "07-03", "07-04")], resolution: "hourly" })
    expect(lineAvailability(given, line(2, "2019-01-01", "2199-01-01")).available_for_item).toBe(1)
    expect(lineAvailability(given, line(2, "2019-01-01", "2198-01-01")).available_for_item).toBe(1)
  })

  it("is the kit's for a kit line, without the line's own demands", () => {
    const given = snapshot({
      products: [product(10, { is_kit: true, parts: [pool(P, 2)] })],
      stock: [bulk(10)],
      demands: [demand(8, "07-01", "07-04", { source_id: 900 }), demand(3, "07-02", "07-03")]
    })
    expect(lineAvailability(given, line(4, "07-01", "07-04", { product_id: 10 }))).toMatchObject({
      requested_quantity: 4,
      available_for_item: 3,
      shortage_quantity: 1
    })
  })

  it("is never short for an untracked product", () => {
    const given = snapshot({ products: [product(P, { track_availability: false })], stock: [bulk(1)] })
    expect(lineAvailability(given, line(5, "07-01", "07-04"))).toMatchObject({
      available_for_item: 1,
      shortage_quantity: 0,
      has_shortage: false
    })
  })

  it("reports a shortage's shortfall and severity, and the rest that goods on order do not cover", () => {
    const given = snapshot({
      products: [product(P, { name: "Wedge", is_serialised: true })],
      stock: [unit(1), unit(2)],
      demands: [demand(3, "07-01", "07-04")]
    })
    const order = { opportunity_id: 44, is_order: true }
    expect(lineShortage(given, line(2, "07-01", "07-04"), order, 1)).toEqual({
      opportunity_item_id: 900,
      opportunity_id: 44,
      product_id: P,
      product_name: "Wedge",
      store_id: S,
      date: "2026-07-01",
      last_date: "2026-07-03",
      requested_quantity: 2,
      available: -1,
      available_quantity: 0,
      shortfall: 2,
      severity: 3,
      remaining_shortfall: 1,
      on_order_quantity: 1,
      tracking_type: "serialised",
      starts_at: at("07-01"),
      ends_at: at("07-04"),
      is_critical: true
    })
    expect(lineShortage(given, line(1, "08-01", "08-04"), order)).toBeUndefined()
  })
})

describe("free units", () => {
  const window = (from: string, to: string) => ({ from: ms(from), to: ms(to) })
  const listed = (given: ReturnType<typeof snapshot>, from: string, to: string) =>
    availableAssets(given, P, window(from, to)).map((asset) => asset.id)

  it("are this store's units of the product without demands in the window, sorted by id", () => {
    const given = snapshot({
      stock: [
        unit(3, { item_name: "Blue", barcode: "B3", asset_number: "A3", location: "Rack 2" }),
        unit(2),
        unit(4, { store_id: 2 }),
        unit(5, { product_id: 7 }),
        unit(6, { last_transaction_type: 7 }),
        bulk(4)
      ],
      demands: [demand(1, "07-01", "07-03", { asset_id: 3 })]
    })
    expect(availableAssets(given, P, window("07-10", "07-12"))).toEqual([
      { id: 2, item_name: null, asset_number: null, serial_number: "SN-2", barcode: null, location: null },
      { id: 3, item_name: "Blue", asset_number: "A3", serial_number: "SN-3", barcode: "B3", location: "Rack 2" }
    ])
  })

  const booked = (more: Parameters<typeof demand>[3] = {}, to: string | null = "07-05") =>
    demand(1, "07-02", to, { asset_id: 1, ...more })
  const turnaround = { buffers: { before_minutes: 0, after_minutes: 60 } }
  it.each<[string, ReturnType<typeof demand>, string, string, ReadonlyArray<number>]>([
    ["held by a booking", booked(), "07-04", "07-06", [2]],
    ["free where the booking ends", booked(), "07-05", "07-06", [1, 2]],
    ["held through the turnaround", booked(turnaround), "07-05", "07-06", [2]],
    ["held for good once packed", booked({ source_type: "container" }, null), "2030-01-01", "2030-01-02", [2]],
    [
      "held while overdue",
      demand(1, "06-01", "06-05", { asset_id: 1, phase: "on_hire", out: true }),
      "07-04",
      "07-06",
      [2]
    ],
    ["not held by a quantity", demand(2, "07-02", "07-05"), "07-04", "07-06", [1, 2]],
    ["not held by a draft", booked({ phase: "draft" }), "07-04", "07-06", [1, 2]],
    ["held at an instant of the booking", booked(), "07-02", "07-02", [2]],
    ["free at the instant of its end", booked(), "07-05", "07-05", [1, 2]]
  ])("include a unit while no demand holds it: it is %s", (_, held, from, to, expected) => {
    expect(listed(snapshot({ stock: [unit(1), unit(2)], demands: [held] }), from, to)).toEqual(expected)
  })

  it("exclude a unit whose booking overlaps the new hire's preparation", () => {
    const given = snapshot({
      products: [product(P, { before_minutes: 120, after_minutes: 60 })],
      stock: [unit(1), unit(2)],
      demands: [demand(1, "07-01", "07-02T09:00", { asset_id: 1 }), demand(1, "07-05T12:30", "07-06", { asset_id: 2 })]
    })
    expect(listed(given, "07-02T10:00", "07-05T10:00")).toEqual([2])
    expect(listed(given, "07-02T11:00", "07-05T11:30")).toEqual([1, 2])
    expect(listed(given, "07-02T11:00", "07-05T12:00")).toEqual([1])
  })

  it("include a sub-hired unit only for hires inside its window", () => {
    const given = snapshot({ stock: [unit(1, { starts_at: at("07-01"), ends_at: at("07-08") })] })
    expect([listed(given, "07-01", "07-08"), listed(given, "07-05", "07-09")]).toEqual([[1], []])
  })
})
