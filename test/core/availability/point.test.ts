import { describe, expect, it } from "vitest"
import { pointAvailability } from "../../../core/availability/point.ts"
import { availabilityReasons } from "../../../core/availability/reasons.ts"
import { P, S, at, snapshotFixture, bulk, demandFixture, ms, unit } from "./fixtures.ts"

describe("what is free on a day", () => {
  it("A1: a claim of 4 over three days leaves 6 of 10 on the second", () => {
    const given = snapshotFixture({ stock: [bulk("10.00")], demands: [demandFixture(4, "07-01", "07-04")] })
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

  //  case  stock                                     claims                                                    now             asked         total demanded free
  const rows: ReadonlyArray<
    [
      string,
      ReadonlyArray<ReturnType<typeof bulk>>,
      ReadonlyArray<ReturnType<typeof demandFixture>>,
      string,
      string,
      number,
      number,
      number
    ]
  > = [
    ["A9  four units, no claim", [unit(1), unit(2), unit(3), unit(4)], [], "06-18", "07-02", 4, 0, 4],
    ["A11 a claim of another day", [bulk(10)], [demandFixture(5, "04-10", "04-11")], "06-18", "04-20", 10, 0, 10],
    [
      "A13 2 of 6 returned, subtracted once",
      [bulk(10)],
      [demandFixture(4, "04-10", "04-12", { out: true })],
      "04-10",
      "04-11",
      10,
      4,
      6
    ],
    [
      "A15 an open-ended order, years ahead",
      [bulk(10)],
      [demandFixture(3, "06-18", null)],
      "06-18",
      "2030-01-01",
      10,
      3,
      7
    ],
    ["    the day a claim ends is free", [bulk(10)], [demandFixture(4, "07-01", "07-04")], "06-18", "07-04", 10, 0, 10],
    [
      "    a draft and a dead deal claim nothing",
      [bulk(3)],
      [demandFixture(2, "07-01", "07-04", { phase: "draft" }), demandFixture(2, "07-01", "07-04", { phase: "void" })],
      "06-18",
      "07-02",
      3,
      0,
      3
    ],
    [
      "    a postponed quotation still holds",
      [bulk(3)],
      [demandFixture(2, "07-01", "07-04", { phase: "held" })],
      "06-18",
      "07-02",
      3,
      2,
      1
    ],
    ["    more promised than owned", [bulk(3)], [demandFixture(5, "07-01", "07-04")], "06-18", "07-02", 3, 5, -2],
    ["    bulk halves round away from zero, units add", [bulk("4.5"), unit(1), unit(2)], [], "06-18", "07-02", 7, 0, 7],
    ["    decimals add up exactly before rounding", [bulk("16.49"), bulk("1.01")], [], "06-18", "07-02", 18, 0, 18],
    ["    a sale beyond the quantity held is negative", [bulk("-2.5")], [], "06-18", "07-02", -3, 0, -3],
    [
      "    a unit written off no longer counts",
      [unit(1), unit(2, { last_transaction_type: 6 })],
      [],
      "06-18",
      "07-02",
      1,
      0,
      1
    ],
    [
      "    a unit bought counts although it holds 0",
      [unit(1, { last_transaction_type: 4 })],
      [],
      "06-18",
      "07-02",
      1,
      0,
      1
    ],
    [
      "    sub-hired units count inside their window",
      [bulk(10), bulk(5, { starts_at: at("07-01"), ends_at: at("07-03") })],
      [],
      "06-18",
      "07-02",
      15,
      0,
      15
    ],
    [
      "    and not after it",
      [bulk(10), bulk(5, { starts_at: at("07-01"), ends_at: at("07-03") })],
      [],
      "06-18",
      "07-03",
      10,
      0,
      10
    ],
    [
      "    other stores and products do not matter",
      [bulk(10), bulk(7, { store_id: 2 }), bulk(7, { product_id: 5 })],
      [demandFixture(1, "07-01", "07-04", { store_id: 2 }), demandFixture(1, "07-01", "07-04", { product_id: 5 })],
      "06-18",
      "07-02",
      10,
      0,
      10
    ],
    [
      "B7  out and overdue counts until it is back",
      [unit(1)],
      [demandFixture(1, "06-10", "06-15T17:00", { asset_id: 1, phase: "on_hire", out: true })],
      "06-18T12:00",
      "06-25",
      1,
      1,
      0
    ],
    [
      "    a reserved quotation whose dates passed blocks nothing",
      [unit(1)],
      [demandFixture(1, "06-10", "06-15T17:00")],
      "06-18T12:00",
      "06-25",
      1,
      0,
      1
    ],
    [
      "    due back later today is not overdue",
      [unit(1)],
      [demandFixture(1, "06-10", "06-18T17:00", { phase: "on_hire", out: true })],
      "06-18T12:00",
      "06-25",
      1,
      0,
      1
    ],
    ["    nothing known of the product", [], [], "06-18", "07-02", 0, 0, 0]
  ]
  it.each(rows)("%s", (_, stock, demands, now, asked, total_stock, total_demanded, available) => {
    expect(pointAvailability(snapshotFixture({ stock, demands, now }), P, ms(asked))).toMatchObject({
      total_stock,
      total_demanded,
      available
    })
  })

  it("names unregistered sources in the breakdown and leaves out those that claim nothing", () => {
    const given = snapshotFixture({
      stock: [bulk(10)],
      demands: [demandFixture(2, "07-01", "07-04", { source_type: "quarantine" }), demandFixture(3, "07-08", "07-09")]
    })
    expect(pointAvailability(given, P, ms("07-02")).demand_breakdown).toEqual({ quarantine: 2 })
    expect(pointAvailability(given, P, ms("07-20")).demand_breakdown).toEqual({})
  })

  it("answers with the store-local day, not the UTC one", () => {
    const given = snapshotFixture({ zone: "Pacific/Auckland", stock: [bulk(1)] })
    expect(pointAvailability(given, P, ms("07-01T13:00")).date).toBe("2026-07-02")
  })
})

describe("the reasons behind a number", () => {
  it("lists the stock and the claims that were counted, and marks the overdue one", () => {
    const late = demandFixture(1, "06-10", "06-15", {
      id: 71,
      asset_id: 1,
      phase: "on_hire",
      out: true,
      opportunity_id: 9
    })
    const booked = demandFixture(1, "07-01", "07-04", { id: 72, source_id: 5 })
    const elsewhere = demandFixture(1, "08-01", "08-04", { id: 73 })
    const reasons = availabilityReasons(
      snapshotFixture({ stock: [unit(1), unit(2)], demands: [booked, elsewhere, late] }),
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
