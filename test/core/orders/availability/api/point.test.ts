import { describe, expect, it } from "vitest"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"
import type { Demand } from "../../../../../core/orders/availability/rules/demand.ts"
import type { StockLevel } from "../../../../../core/orders/availability/rules/snapshot.ts"
import { availabilityReasons } from "../../../../../core/orders/availability/rules/reasons.ts"
import { P, S, at, snapshot, bulk, demand, ms, unit } from "./fixtures.ts"

describe("availability on a day", () => {
  it("A1: a claim of 4 over three days leaves 6 of 10 on the second", () => {
    const given = snapshot({ stock: [bulk("10.00")], demands: [demand(4, "07-01", "07-04")] })
    expect(pointAvailability(given, P, ms("07-02"))).toEqual({
      product_id: P,
      store_id: S,
      date: "2026-07-02",
      total_stock: 10,
      total_demanded: 4,
      available: 6,
      demand_breakdown: { opportunity_item: 4 }
    })
  })

  const july = ["07-01", "07-04"] as const
  const hired = { starts_at: at("07-01"), ends_at: at("07-03") }
  const away = { phase: "on_hire", out: true } as const
  // total, demanded and free; rows; quantity and day (default: 2 July and 18 June)
  it.each<[string, number[], StockLevel[], Demand[], string?, string?]>([
    ["A9: four units, no claim", [4, 0, 4], [unit(1), unit(2), unit(3), unit(4)], []],
    ["A11: a claim of another day", [10, 0, 10], [bulk(10)], [demand(5, "04-10", "04-11")], "04-20"],
    [
      "A13: 2 of 6 returned, subtracted once",
      [10, 4, 6],
      [bulk(10)],
      [demand(4, "04-10", "04-12", { out: true })],
      "04-11",
      "04-10"
    ],
    ["A15: an open-ended order, years ahead", [10, 3, 7], [bulk(10)], [demand(3, "06-18", null)], "2030-01-01"],
    ["the day a claim ends is free", [10, 0, 10], [bulk(10)], [demand(4, ...july)], "07-04"],
    [
      "a draft and a dead deal claim nothing",
      [3, 0, 3],
      [bulk(3)],
      [demand(2, ...july, { phase: "draft" }), demand(2, ...july, { phase: "void" })]
    ],
    ["a postponed quotation still holds", [3, 2, 1], [bulk(3)], [demand(2, ...july, { phase: "held" })]],
    ["more promised than owned", [3, 5, -2], [bulk(3)], [demand(5, ...july)]],
    ["bulk halves round away from zero, units add", [7, 0, 7], [bulk("4.5"), unit(1), unit(2)], []],
    ["decimals add up exactly before rounding", [18, 0, 18], [bulk("16.49"), bulk("1.01")], []],
    ["a sale beyond the quantity held is negative", [-3, 0, -3], [bulk("-2.5")], []],
    ["a unit written off no longer counts", [1, 0, 1], [unit(1), unit(2, { last_transaction_type: 6 })], []],
    ["a unit bought counts although it holds 0", [1, 0, 1], [unit(1, { last_transaction_type: 4 })], []],
    ["sub-hired units count inside their window", [15, 0, 15], [bulk(10), bulk(5, hired)], []],
    ["and not after it", [10, 0, 10], [bulk(10), bulk(5, hired)], [], "07-03"],
    [
      "other stores and products do not matter",
      [10, 0, 10],
      [bulk(10), bulk(7, { store_id: 2 }), bulk(7, { product_id: 5 })],
      [demand(1, ...july, { store_id: 2 }), demand(1, ...july, { product_id: 5 })]
    ],
    [
      "B7: out and overdue counts until it is back",
      [1, 1, 0],
      [unit(1)],
      [demand(1, "06-10", "06-15T17:00", { asset_id: 1, ...away })],
      "06-25",
      "06-18T12:00"
    ],
    [
      "a reserved quotation whose dates passed blocks nothing",
      [1, 0, 1],
      [unit(1)],
      [demand(1, "06-10", "06-15T17:00")],
      "06-25",
      "06-18T12:00"
    ],
    [
      "due back later today is not overdue",
      [1, 0, 1],
      [unit(1)],
      [demand(1, "06-10", "06-18T17:00", away)],
      "06-25",
      "06-18T12:00"
    ],
    ["nothing known of the product", [0, 0, 0], [], []]
  ])("%s", (_, [total_stock, total_demanded, available], stock, demands, asked = "07-02", now = "06-18") => {
    const found = pointAvailability(snapshot({ stock, demands, now }), P, ms(asked))
    expect(found).toMatchObject({ total_stock, total_demanded, available })
  })

  it("names unregistered sources in the breakdown and leaves out those without claims", () => {
    const given = snapshot({
      stock: [bulk(10)],
      demands: [demand(2, "07-01", "07-04", { source_type: "quarantine" }), demand(3, "07-08", "07-09")]
    })
    expect(pointAvailability(given, P, ms("07-02")).demand_breakdown).toEqual({ quarantine: 2 })
    expect(pointAvailability(given, P, ms("07-20")).demand_breakdown).toEqual({})
  })

  it("answers with the store-local day, not the UTC one", () => {
    const given = snapshot({ zone: "Pacific/Auckland", stock: [bulk(1)] })
    expect(pointAvailability(given, P, ms("07-01T13:00")).date).toBe("2026-07-02")
  })
})

describe("the reasons behind a number", () => {
  it("lists the stock and the claims that were counted, and marks the overdue one", () => {
    const late = demand(1, "06-10", "06-15", { id: 71, asset_id: 1, phase: "on_hire", out: true, opportunity_id: 9 })
    const booked = demand(1, "07-01", "07-04", { id: 72, source_id: 5 })
    const elsewhere = demand(1, "08-01", "08-04", { id: 73 })
    const reasons = availabilityReasons(
      snapshot({ stock: [unit(1), unit(2)], demands: [booked, elsewhere, late] }),
      P,
      ms("07-02"),
      new Map([[9, { subject: "Festival Main Stage", number: "R-9" }]])
    )
    expect(reasons).toMatchObject({
      available: 0,
      slot_start: at("07-02"),
      slot_end: at("07-03"),
      stock_level_ids: [1, 2],
      parts: [],
      claims: [
        { claim_id: 71, source_name: "Festival Main Stage", is_overdue: true, to: "2199-01-01T00:00:00.000Z" },
        { claim_id: 72, source_name: "Bookings #5", is_overdue: false, from: at("07-01"), to: at("07-04") }
      ]
    })
  })
})
