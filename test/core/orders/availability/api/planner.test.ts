import { describe, expect, it } from "vitest"
import { availabilityCalendar } from "../../../../../core/orders/availability/api/calendar.ts"
import { dayCells, dayGrid } from "../../../../../core/orders/availability/rules/days.ts"
import { availabilityGantt } from "../../../../../core/orders/availability/rules/gantt.ts"
import { shortages } from "../../../../../core/orders/availability/api/overviews.ts"
import { P, S, at, snapshot, bulk, demand, moment, product, unit } from "./fixtures.ts"

const noOpportunities = new Map<number, { subject: string | null; number: string | null }>()
const gantt = (
  given: ReturnType<typeof snapshot>,
  from: string,
  to: string,
  opportunities = noOpportunities,
  assets?: ReadonlyArray<number>
) => availabilityGantt(given, P, moment(from), moment(to), opportunities, assets)

describe("the calendar grid", () => {
  it("shows each product's lowest availability per day, by product id, first and last day included", () => {
    const given = snapshot({
      stock: [bulk(2, { product_id: 12 }), bulk(10, { product_id: 11 })],
      demands: [
        demand(3, "07-01", "07-02", { product_id: 11 }),
        demand(5, "07-02", "07-03", { product_id: 11 }),
        demand(9, "07-03", "07-04", { product_id: 11 })
      ],
      products: [product(11, { name: "PA Speaker" }), product(12, { name: "Stand" })]
    })
    expect(availabilityCalendar(given, moment("2026-07-01"), moment("2026-07-02"))).toEqual({
      store_id: S,
      from: at("07-01"),
      to: at("07-02"),
      products: [
        {
          product_id: 11,
          product_name: "PA Speaker",
          days: [
            { date: "2026-07-01", available: 7, has_shortage: false, pending_checkin: 0 },
            { date: "2026-07-02", available: 5, has_shortage: false, pending_checkin: 0 }
          ]
        },
        {
          product_id: 12,
          product_name: "Stand",
          days: [
            { date: "2026-07-01", available: 2, has_shortage: false, pending_checkin: 0 },
            { date: "2026-07-02", available: 2, has_shortage: false, pending_checkin: 0 }
          ]
        }
      ]
    })
  })

  it("shows units awaiting a check separately, without deducting them", () => {
    const waiting = [1, 2, 3].map((asset_id) =>
      demand(1, "06-01", "06-17", { asset_id, phase: "closed", pending_checkin: true, returned_at: at("06-17") })
    )
    const given = snapshot({ stock: [1, 2, 3, 4].map((id) => unit(id)), demands: waiting })
    expect(availabilityCalendar(given, moment("2026-07-01"), moment("2026-07-01")).products[0]!.days).toEqual([
      { date: "2026-07-01", available: 4, has_shortage: false, pending_checkin: 3 }
    ])
  })

  it("marks a day as short for one short hour", () => {
    const given = snapshot({
      resolution: "hourly",
      stock: [bulk(2)],
      demands: [demand(5, "05-10T09:00", "05-10T10:00")]
    })
    const grid = dayGrid(given, moment("2026-05-10"), moment("2026-05-10"))
    expect(dayCells(given, P, grid)).toEqual([
      { date: "2026-05-10", min_available: -3, max_available: 2, pending_checkin: 0 }
    ])
    expect(
      availabilityCalendar(given, moment("2026-05-10"), moment("2026-05-10")).products[0]!.days[0]!.has_shortage
    ).toBe(true)
  })

  it("assigns an hourly slot that spans midnight of a half-hour zone to the day of its demand", () => {
    // A demand from local midnight in Kolkata (18:30Z) touches the 18:00Z hour, but not the day before.
    const given = snapshot({
      zone: "Asia/Kolkata",
      resolution: "hourly",
      stock: [bulk(0)],
      demands: [demand(1, "07-01T18:30", "07-01T20:30")]
    })
    const cells = dayCells(
      given,
      P,
      dayGrid(given, moment("2026-07-01", "Asia/Kolkata"), moment("2026-07-02", "Asia/Kolkata"))
    )
    expect(cells.map((cell) => [cell.date, cell.min_available])).toEqual([
      ["2026-07-01", 0],
      ["2026-07-02", -1]
    ])
  })

  it("hides kits, kit cases, untracked products and products without stock at this store", () => {
    const stock = [11, 12, 13, 14, 15].map((product_id) => bulk(1, { product_id }))
    const given = snapshot({
      stock,
      products: [
        product(11, { is_kit: true }),
        product(12, { container_mode: "kit" }),
        product(13, { container_mode: "transport" }),
        product(14, { track_availability: false }),
        product(15),
        product(16)
      ]
    })
    const grid = availabilityCalendar(given, moment("2026-07-01"), moment("2026-07-01"))
    expect(grid.products.map((row) => row.product_id)).toEqual([13, 15])
    const narrowed = availabilityCalendar(given, moment("2026-07-01"), moment("2026-07-01"), {
      product_ids: [15, 11, 999]
    })
    expect(narrowed.products.map((row) => row.product_id)).toEqual([15])
  })

  it("omits deleted products without demands on the days shown", () => {
    const given = snapshot({
      stock: [11, 12, 13].map((product_id) => bulk(2, { product_id })),
      demands: [demand(1, "07-02", "07-03", { product_id: 12 })],
      products: [11, 12].map((id) => product(id, { name: null }))
    })
    const shown = (day: string) => availabilityCalendar(given, moment(day), moment(day)).products
    expect(shown("2026-07-02").map((row) => [row.product_id, row.product_name])).toEqual([
      [12, null],
      [13, null]
    ])
    expect(shown("2026-07-05").map((row) => row.product_id)).toEqual([13])
  })

  it("omits days beyond the horizon", () => {
    const days = (from: string, to: string) =>
      availabilityCalendar(snapshot({ stock: [bulk(1)] }), moment(from), moment(to)).products.flatMap((row) => row.days)
    expect(days("2027-06-16", "2027-06-25").map((day) => day.date)).toEqual(["2027-06-16", "2027-06-17", "2027-06-18"])
    expect(days("2030-01-01", "2030-01-31")).toEqual([])
  })
})

describe("the chart of a product's demands", () => {
  it("draws preparation and turnaround around the hire", () => {
    const hire = demand(4, "08-01T09:00", "08-05T17:00", {
      id: 5,
      source_id: 8,
      buffers: { before_minutes: 120, after_minutes: 240 }
    })
    expect(gantt(snapshot({ stock: [bulk(4)], demands: [hire] }), "2026-08-01", "2026-08-31")).toEqual({
      product_id: P,
      store_id: S,
      from: at("08-01"),
      to: at("08-31"),
      total_stock: 4,
      supplies: [],
      shortages: [],
      demands: [
        {
          demand_id: 5,
          asset_id: null,
          asset_serial: null,
          quantity: 4,
          source_type: "opportunity_item",
          source_id: 8,
          source_name: "Bookings #8",
          colour: "#3B82F6",
          phase: "reserved",
          period_start: at("08-01T07:00"),
          buffer_before_end: at("08-01T09:00"),
          buffer_after_start: at("08-05T17:00"),
          period_end: at("08-05T21:00"),
          starts_at: at("08-01T09:00"),
          ends_at: at("08-05T17:00")
        }
      ]
    })
  })

  it("names the opportunity by its subject, else by its number", () => {
    const demands = [
      demand(1, "07-01", "07-04", { opportunity_id: 1 }),
      demand(1, "07-02", "07-04", { opportunity_id: 2 })
    ]
    const opportunities = new Map([
      [1, { subject: "Festival Main Stage", number: "R-1" }],
      [2, { subject: "", number: "R-2" }]
    ])
    expect(
      gantt(snapshot({ stock: [bulk(4)], demands }), "2026-07-01", "2026-07-31", opportunities).demands.map(
        (row) => row.source_name
      )
    ).toEqual(["Festival Main Stage", "R-2"])
  })

  it("names a packed unit's container and serial number", () => {
    const packed = demand(1, "07-01", null, { asset_id: 7, source_type: "container", source_id: 31, container_id: 3 })
    const stray = demand(1, "07-01", "07-02", { source_type: "quarantine", source_id: 4 })
    const demands = gantt(snapshot({ stock: [unit(7)], demands: [stray, packed] }), "2026-07-01", "2026-07-31").demands
    expect(demands).toMatchObject([
      {
        asset_id: 7,
        asset_serial: "SN-7",
        source_name: "Containers #31",
        colour: "#0EA5E9",
        ends_at: "2199-01-01T00:00:00.000Z"
      },
      { asset_id: null, asset_serial: null, source_name: "quarantine #4", colour: null }
    ])
  })

  it("shows the asset number of a unit without a serial number, and filters by unit", () => {
    const demands = [
      demand(1, "07-05", "07-06", { asset_id: 8 }),
      demand(1, "07-01", "07-02", { asset_id: 9 }),
      demand(2, "07-01", "07-02")
    ]
    const given = snapshot({ stock: [unit(8, { serial_number: null, asset_number: "A8" }), unit(9)], demands })
    expect(gantt(given, "2026-07-01", "2026-07-31").demands.map((row) => row.asset_serial)).toEqual([
      "A8",
      "SN-9",
      null
    ])
    expect(gantt(given, "2026-07-01", "2026-07-31", noOpportunities, [9]).demands.map((row) => row.asset_id)).toEqual([
      9
    ])
  })

  it("shows active demands in the window, and overdue ones without end", () => {
    const claims = [
      demand(1, "06-25", "07-01", { id: 1 }),
      demand(1, "06-25", "07-01T01:00", { id: 2 }),
      demand(1, "07-31T08:00", "08-04", { id: 3 }),
      demand(1, "08-01", "08-04", { id: 4 }),
      demand(1, "07-05", "07-06", { id: 5, phase: "draft" }),
      demand(1, "06-01", "06-05", { id: 6, phase: "on_hire", out: true })
    ]
    const demands = gantt(snapshot({ stock: [bulk(9)], demands: claims }), "2026-07-01", "2026-07-31").demands
    expect(demands.map((row) => row.demand_id)).toEqual([6, 2, 3])
    expect(demands[0]).toMatchObject({
      starts_at: at("06-01"),
      ends_at: "2199-01-01T00:00:00.000Z",
      period_end: "2199-01-01T00:00:00.000Z"
    })
    const byInstant = gantt(
      snapshot({ stock: [bulk(9)], demands: claims }),
      "2026-07-01T00:00:00Z",
      "2026-07-31T00:00:00Z"
    ).demands
    expect(byInstant.map((row) => row.demand_id)).toEqual([6, 2])
  })

  it("lists a short day once, and separately a day that is short by turnaround alone", () => {
    const buffers = { before_minutes: 0, after_minutes: 1440 }
    const demands = [
      demand(3, "07-14", "07-15", { buffers }),
      demand(1, "07-20T09:00", "07-20T17:00"),
      demand(1, "07-20", "07-21")
    ]
    expect(gantt(snapshot({ stock: [bulk(1)], demands }), "2026-07-01", "2026-07-31").shortages).toEqual([
      { from: "2026-07-14", to: "2026-07-14", severity: 2, in_buffer_zone: false },
      { from: "2026-07-15", to: "2026-07-15", severity: 2, in_buffer_zone: true },
      { from: "2026-07-20", to: "2026-07-20", severity: 1, in_buffer_zone: false }
    ])
  })
})

describe("the list of shortages", () => {
  const short = (store_id: number) => ({
    stock: [bulk(0, { store_id }), bulk(0, { store_id, product_id: 7 })],
    demands: [
      demand(store_id === S ? 2 : 9, "07-15", "07-16", { store_id }),
      demand(1, "07-14", "07-16", { store_id, product_id: 7 })
    ],
    products: [product(P, { name: "Truss" }), product(7, { name: "Motor" })]
  })

  it("has a row for each short product of the store, with availability and severity", () => {
    expect(shortages([snapshot(short(S))], moment("2026-07-15"), moment("2026-07-15"))).toEqual([
      {
        product_id: 7,
        product_name: "Motor",
        store_id: S,
        date: "2026-07-15",
        available: -1,
        severity: 1,
        calculated_at: at("06-18T12:00")
      },
      {
        product_id: P,
        product_name: "Truss",
        store_id: S,
        date: "2026-07-15",
        available: -2,
        severity: 2,
        calculated_at: at("06-18T12:00")
      }
    ])
  })

  it("is sorted by date, product and store", () => {
    const rows = shortages(
      [snapshot({ ...short(2), store_id: 2 }), snapshot(short(S))],
      moment("2026-07-01"),
      moment("2026-07-31")
    )
    expect(rows.map((row) => [row.date.slice(5), row.product_id, row.store_id, row.severity])).toEqual([
      ["07-14", 7, 1, 1],
      ["07-14", 7, 2, 1],
      ["07-15", 7, 1, 1],
      ["07-15", 7, 2, 1],
      ["07-15", P, 1, 2],
      ["07-15", P, 2, 9]
    ])
  })

  it("counts two overdue lines once each", () => {
    const demands = [1, 2].map(() => demand(1, "06-10", "06-15", { phase: "on_hire", out: true }))
    const given = snapshot({ stock: [bulk(1)], demands })
    const rows = shortages([given], moment("2026-06-20"), moment("2026-06-21"))
    expect(rows.map((row) => row.severity)).toEqual([1, 1])
    expect(shortages([given], moment("2026-06-20"), moment("2026-06-21"))).toEqual(rows)
  })

  it("omits untracked products", () => {
    const given = snapshot({
      stock: [bulk(0)],
      demands: [demand(1, "07-01", "07-02")],
      products: [product(P, { track_availability: false })]
    })
    expect(shortages([given], moment("2026-07-01"), moment("2026-07-01"))).toEqual([])
  })
})
