import { describe, expect, it } from "vitest"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"
import type { Demand } from "../../../../../core/orders/availability/rules/demand.ts"
import type { StockLevel } from "../../../../../core/orders/availability/rules/snapshot.ts"
import { availabilityReasons } from "../../../../../core/orders/availability/rules/reasons.ts"
import { P, S, at, snapshot, bulk, demand, ms, unit } from "./fixtures.ts"

describe("availability on a day", () => {
  it("deducts a demand of 4 over three days from 10 on the second", () => {
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
  const june = ["06-10", "06-15T17:00"] as const
  const hired = { starts_at: at("07-01"), ends_at: at("07-03") }
  const away = { phase: "on_hire", out: true } as const
  const past = ["06-25", "06-18T12:00"] as const
  // total, demanded and free; stock; demands; date asked for (default: 2 July); now (default: 18 June)
  it.each<[string, number[], StockLevel[], Demand[], string?, string?]>([
    ["counts four units without demands (A9)", [4, 0, 4], [unit(1), unit(2), unit(3), unit(4)], []],
    ["ignores a demand on another day (A11)", [10, 0, 10], [bulk(10)], [demand(5, "04-10", "04-11")], "04-20"],
    [
      "deducts the unreturned 4 of 6 once (A13)",
      [10, 4, 6],
      [bulk(10)],
      [demand(4, "04-10", "04-12", { out: true })],
      "04-11",
      "04-10"
    ],
    ["deducts an open end years ahead (A15)", [10, 3, 7], [bulk(10)], [demand(3, "06-18", null)], "2030-01-01"],
    ["is not reduced on the day a demand ends", [10, 0, 10], [bulk(10)], [demand(4, ...july)], "07-04"],
    [
      "ignores drafts and void quotations",
      [3, 0, 3],
      [bulk(3)],
      [demand(2, ...july, { phase: "draft" }), demand(2, ...july, { phase: "void" })]
    ],
    ["deducts a postponed quotation", [3, 2, 1], [bulk(3)], [demand(2, ...july, { phase: "held" })]],
    ["is negative if more is booked than owned", [3, 5, -2], [bulk(3)], [demand(5, ...july)]],
    ["rounds bulk halves away from zero, and adds units", [7, 0, 7], [bulk("4.5"), unit(1), unit(2)], []],
    ["adds decimals exactly before rounding", [18, 0, 18], [bulk("16.49"), bulk("1.01")], []],
    ["is negative after a sale beyond the quantity held", [-3, 0, -3], [bulk("-2.5")], []],
    ["omits a unit that was written off", [1, 0, 1], [unit(1), unit(2, { last_transaction_type: 6 })], []],
    ["counts a bought unit although it holds 0", [1, 0, 1], [unit(1, { last_transaction_type: 4 })], []],
    ["counts sub-hired units inside their window", [15, 0, 15], [bulk(10), bulk(5, hired)], []],
    ["omits sub-hired units after their window", [10, 0, 10], [bulk(10), bulk(5, hired)], [], "07-03"],
    [
      "ignores other stores and products",
      [10, 0, 10],
      [bulk(10), bulk(7, { store_id: 2 }), bulk(7, { product_id: 5 })],
      [demand(1, ...july, { store_id: 2 }), demand(1, ...july, { product_id: 5 })]
    ],
    ["deducts an overdue unit until it is back (B7)", [1, 1, 0], [unit(1)], [demand(1, ...june, away)], ...past],
    ["ignores a reserved quotation once past", [1, 0, 1], [unit(1)], [demand(1, ...june)], ...past],
    [
      "does not count a unit due today as overdue",
      [1, 0, 1],
      [unit(1)],
      [demand(1, "06-10", "06-18T17:00", away)],
      ...past
    ],
    ["is zero for an unknown product", [0, 0, 0], [], []]
  ])(
    "is the stock minus the demands of the day: it %s",
    (_, [total_stock, total_demanded, available], stock, demands, asked = "07-02", now = "06-18") => {
      const found = pointAvailability(snapshot({ stock, demands, now }), P, ms(asked))
      expect(found).toMatchObject({ total_stock, total_demanded, available })
    }
  )

  it("lists the sources of the day's demands in the breakdown, and no others", () => {
    const given = snapshot({
      stock: [bulk(10)],
      demands: [demand(2, "07-01", "07-04", { source_type: "quarantine" }), demand(3, "07-08", "07-09")]
    })
    expect(pointAvailability(given, P, ms("07-02")).demand_breakdown).toEqual({ quarantine: 2 })
    expect(pointAvailability(given, P, ms("07-20")).demand_breakdown).toEqual({})
  })

  it("names the store's local day, not the UTC day", () => {
    const given = snapshot({ zone: "Pacific/Auckland", stock: [bulk(1)] })
    expect(pointAvailability(given, P, ms("07-01T13:00")).date).toBe("2026-07-02")
  })
})

describe("the explanation of availability", () => {
  it("lists the stock and the counted demands, and marks the overdue one", () => {
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
