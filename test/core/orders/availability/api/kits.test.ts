import { describe, expect, it } from "vitest"
import type { Demand } from "../../../../../core/orders/availability/rules/demand.ts"
import type { PackedContainer, StockedProduct } from "../../../../../core/orders/availability/rules/snapshot.ts"
import { KitNestedTooDeep, freeUnits } from "../../../../../core/orders/availability/rules/kits.ts"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"
import { rangeAvailability } from "../../../../../core/orders/availability/rules/line.ts"
import { availabilityReasons } from "../../../../../core/orders/availability/rules/reasons.ts"
import { S, at, snapshot, bulk, demand, fixed, ms, pool, product, unit } from "./fixtures.ts"

const A = 1,
  B = 2,
  kit = 10,
  inner = 11,
  H = 20,
  F = 21

const range = (given: ReturnType<typeof snapshot>, product_id: number, from: string, to: string) =>
  rangeAvailability(given, product_id, { from: ms(from), to: ms(to) })
const free = (given: ReturnType<typeof snapshot>, product_id: number, from = "07-01", to = "07-02") =>
  range(given, product_id, from, to).slots.map((slot) => slot.available)

describe("a catalogue kit", () => {
  const oneAndTwo = product(kit, { is_kit: true, parts: [pool(A, 1), pool(B, 2)] })

  it("has the availability of its scarcest part, day by day", () => {
    const given = snapshot({
      products: [oneAndTwo],
      stock: [bulk(5, { product_id: A }), bulk(8, { product_id: B })],
      demands: [demand(6, "07-02", "07-03", { product_id: B })]
    })
    expect(range(given, kit, "07-01", "07-03")).toEqual({
      product_id: kit,
      store_id: S,
      from: at("07-01"),
      to: at("07-03"),
      min_available: 1,
      max_available: 4,
      calculated_at: null,
      slots: [["07-01", 4] as const, ["07-02", 1] as const].map(([day, available]) => ({
        slot_start: at(day),
        total_stock: 0,
        total_demanded: 0,
        available,
        demand_breakdown: {},
        pending_checkin_quantity: 0
      }))
    })
    expect(pointAvailability(given, kit, ms("07-02"))).toMatchObject({
      date: "2026-07-02",
      total_stock: 1,
      total_demanded: 0,
      available: 1,
      demand_breakdown: {}
    })
  })

  it("divides its parts' stock through nested kits: 9 parts at 2 each make 4", () => {
    const given = snapshot({
      products: [
        product(kit, { is_kit: true, parts: [pool(inner, 1)] }),
        product(inner, { is_kit: true, parts: [pool(A, 2)] })
      ],
      stock: [bulk(9, { product_id: A })]
    })
    expect(free(given, kit)).toEqual([4])
  })

  //  parts                              stock of A, B   free
  it.each<[string, StockedProduct["parts"], number, number, ReadonlyArray<number>]>([
    ["an overbooked part", [pool(A, 1), pool(B, 1)], -2, 5, [0]],
    ["a part the store never had", [pool(A, 1), pool(99, 1)], 5, 5, [0]],
    ["a part of quantity 0", [pool(A, 1), pool(B, 0)], 5, 0, [5]],
    ["a missing fixed part", [pool(A, 1), fixed(B, 1)], 5, 0, [5]],
    ["fractional parts", [pool(A, 0.1), pool(B, 2.5)], 3, 20, [8]],
    ["three parts at a tenth each", [pool(A, 0.1)], 3, 0, [30]],
    ["only fixed parts", [fixed(A, 1)], 5, 0, []],
    ["only a part of quantity 0", [pool(A, 0)], 5, 0, []],
    ["no parts", [], 5, 0, []]
  ])("is counted by its pool parts, with %s", (_, parts, a, b, expected) => {
    const given = snapshot({
      products: [product(kit, { is_kit: true, parts })],
      stock: [bulk(a, { product_id: A }), bulk(b, { product_id: B })]
    })
    expect(free(given, kit)).toEqual(expected)
    expect(pointAvailability(given, kit, ms("07-01")).available).toBe(expected[0] ?? 0)
  })

  it("nests three levels deep, or as deep as the setting allows, and never contains itself", () => {
    const chain = (ids: ReadonlyArray<number>) =>
      ids.slice(0, -1).map((id, place) => product(id, { is_kit: true, parts: [pool(ids[place + 1]!, 1)] }))
    const stock = [bulk(5, { product_id: A })]
    expect(free(snapshot({ products: chain([31, 32, 33, A]), stock }), 31)).toEqual([5])
    expect(() => free(snapshot({ products: chain([30, 31, 32, 33, A]), stock }), 30)).toThrow(KitNestedTooDeep)
    expect(free(snapshot({ products: chain([30, 31, 32, 33, A]), stock, kit_nesting_max_depth: 4 }), 30)).toEqual([5])
    expect(() => free(snapshot({ products: chain([31, 32, 31]), stock }), 31)).toThrow(KitNestedTooDeep)
  })

  it("is explained by its parts, with the number of kits that each allows", () => {
    const given = snapshot({
      products: [oneAndTwo, product(A, { name: "Lamp" })],
      stock: [bulk(5, { product_id: A }), bulk(3, { product_id: B })]
    })
    expect(availabilityReasons(given, kit, ms("07-01"), new Map()).parts).toEqual([
      { product_id: A, product_name: "Lamp", quantity: 1, available: 5, kits: 5 },
      { product_id: B, product_name: null, quantity: 2, available: 3, kits: 1 }
    ])
  })
})

describe("a case hired with its contents", () => {
  const caseOf = (mode: "kit" | "hybrid", parts: StockedProduct["parts"]) =>
    product(H, { is_serialised: true, is_kit: true, container_mode: mode, parts })
  /** Container of case `housing_id` with the given units, packed on 1 June by default. */
  const packed = (housing_id: number, contents: ReadonlyArray<number>, since = "06-01"): PackedContainer => ({
    id: housing_id + 1000,
    product_id: H,
    housing_id,
    items: contents.map((stock_level_id) => ({
      container_item_id: stock_level_id + 5000,
      stock_level_id,
      product_id: F,
      packed_at: at(since),
      unpacked_at: null
    }))
  })
  const packingDemand = (asset_id: number, since = "06-01") =>
    demand(1, since, null, { product_id: F, asset_id, source_type: "container", source_id: asset_id + 5000 })
  const cases = (count: number) => Array.from({ length: count }, (_, place) => unit(201 + place, { product_id: H }))
  const units = (...ids: ReadonlyArray<number>) => ids.map((id) => unit(id, { product_id: F }))

  it("is free once its fixed slots are filled", () => {
    const products = [caseOf("kit", [fixed(F, 2)])]
    const stock = [...cases(1), ...units(301, 302)]
    const full = snapshot({
      products,
      stock,
      containers: [packed(201, [301, 302])],
      demands: [packingDemand(301), packingDemand(302)]
    })
    const half = snapshot({ products, stock, containers: [packed(201, [301])], demands: [packingDemand(301)] })
    expect([free(full, H), free(half, H), free(snapshot({ products, stock }), H)]).toEqual([[1], [0], [0]])
  })

  /** Snapshot of `count` cases with one fixed part: the first hold `contents`; `claims` are other demands. */
  const filled = (count: number, contents: ReadonlyArray<ReadonlyArray<number>>, ...claims: ReadonlyArray<Demand>) =>
    snapshot({
      products: [caseOf("kit", [fixed(F, 1)])],
      stock: [...cases(count), ...units(...contents.flat())],
      containers: contents.map((of, place) => packed(201 + place, of)),
      demands: [...contents.flat().map((id) => packingDemand(id)), ...claims]
    })
  const booked = (quantity: number, more: object = {}) => demand(quantity, "07-01", "07-02", { product_id: H, ...more })
  //  case                                                                    given                        free on two days
  it.each<[string, ReturnType<typeof snapshot>, ReadonlyArray<number>]>([
    ["is not free once its own housing is booked", filled(2, [[301], [302]], booked(1)), [1, 2]],
    ["is counted by its own contents", filled(3, [[301, 302], []]), [1, 1]],
    ["is not deducted twice if unfilled and booked", filled(2, [[301]], booked(1, { asset_id: 202 })), [1, 1]],
    ["is overbooked if more are booked than are filled", filled(2, [[301]], booked(2)), [-1, 1]]
  ])("is available by its housings and contents: it %s", (_, given, expected) =>
    expect(free(given, H, "07-01", "07-03")).toEqual(expected)
  )

  it("is free while other units of its part's product are booked, but not while the unit packed in it is", () => {
    const base = {
      products: [caseOf("kit", [fixed(F, 1)])],
      stock: [...cases(1), ...units(301, 302)],
      containers: [packed(201, [301])]
    }
    const other = [
      packingDemand(301),
      demand(1, "07-01", "07-02", { product_id: F, asset_id: 302 }),
      demand(1, "07-01", "07-02", { product_id: F })
    ]
    expect(free(snapshot({ ...base, demands: other }), H, "07-01", "07-03")).toEqual([1, 1])
    const own = [packingDemand(301), demand(1, "07-01", "07-02", { product_id: F, asset_id: 301 })]
    expect(free(snapshot({ ...base, demands: own }), H, "07-01", "07-03")).toEqual([0, 1])
  })

  it("is blocked while any of its contents is booked", () => {
    const base = {
      products: [caseOf("kit", [fixed(F, 1)])],
      stock: [...cases(1), ...units(301)],
      containers: [packed(201, [301])]
    }
    const taken = (from: string, to: string, source_id = 1) =>
      demand(1, from, to, { product_id: F, asset_id: 301, source_id })
    const both = [packingDemand(301), taken("07-01", "07-04"), taken("07-02", "07-03")]
    expect(free(snapshot({ ...base, demands: both }), H, "06-30", "07-06")).toEqual([1, 0, 0, 0, 1, 1])
    // A line with the same id as the packing is another demand.
    expect(free(snapshot({ ...base, demands: [packingDemand(301), taken("07-01", "07-02", 5301)] }), H)).toEqual([0])
  })

  it("is free from the day it is packed", () => {
    const given = snapshot({
      products: [caseOf("kit", [fixed(F, 1)])],
      stock: [...cases(1), ...units(301)],
      containers: [packed(201, [301], "07-02T15:00")],
      demands: [packingDemand(301, "07-02T15:00")]
    })
    expect(free(given, H, "07-01", "07-04")).toEqual([0, 1, 1])
  })

  it("is limited by its pool parts as well if it is a hybrid", () => {
    const five = { stock: cases(5), containers: [201, 202, 203, 204, 205].map((id) => packed(id, [id + 100])) }
    const contents = units(301, 302, 303, 304, 305)
    const demands = [301, 302, 303, 304, 305].map((id) => packingDemand(id))
    const parts = [fixed(F, 1), pool(A, 2)]
    const given = (spare: number) =>
      snapshot({
        products: [caseOf("hybrid", parts)],
        containers: five.containers,
        demands,
        stock: [...five.stock, ...contents, bulk(spare, { product_id: A })]
      })
    expect([free(given(6), H), free(given(1), H)]).toEqual([[3], [0]])
    const without = snapshot({ products: [caseOf("hybrid", [])], stock: cases(3) })
    expect(free(without, H)).toEqual([3])
    const gone = snapshot({
      products: [caseOf("hybrid", [pool(A, 2)])],
      stock: [...cases(3), bulk(6, { product_id: A, ends_at: at("07-02") })]
    })
    expect(free(gone, H, "07-01", "07-03")).toEqual([3, 0])
  })

  it("counts as a plain product if it is a transport box", () => {
    const given = snapshot({ products: [product(H, { container_mode: "transport" })], stock: cases(2) })
    expect(range(given, H, "07-01", "07-02").slots).toMatchObject([{ total_stock: 2, available: 2 }])
    // Parts change nothing: the contents of a transport box are reserved separately.
    const listed = snapshot({
      products: [product(H, { container_mode: "transport", is_kit: true, parts: [pool(A, 1)] })],
      stock: cases(2)
    })
    expect(range(listed, H, "07-01", "07-02").slots).toMatchObject([{ total_stock: 2, available: 2 }])
  })

  it("is explained case by case: booked, filled or not, and the parts that are missing", () => {
    const given = snapshot({
      products: [caseOf("kit", [fixed(F, 2)]), product(F)],
      stock: [...cases(3), ...units(301, 302, 303)],
      containers: [packed(201, [301, 302]), packed(202, [303])],
      demands: [
        ...[301, 302, 303].map((id) => packingDemand(id)),
        demand(1, "07-01", "07-02", { product_id: H, asset_id: 201 })
      ]
    })
    const { available, cases: told } = availabilityReasons(given, H, ms("07-01"), new Map())
    expect(available).toBe(0)
    expect(told).toEqual([
      { stock_level_id: 201, container_id: 1201, is_claimed: true, is_filled: true, missing: [] },
      {
        stock_level_id: 202,
        container_id: 1202,
        is_claimed: false,
        is_filled: false,
        missing: [{ product_id: F, product_name: "Product 21", quantity: 1 }]
      },
      {
        stock_level_id: 203,
        container_id: null,
        is_claimed: false,
        is_filled: false,
        missing: [{ product_id: F, product_name: "Product 21", quantity: 2 }]
      }
    ])
    expect(availabilityReasons(given, F, ms("07-01"), new Map()).cases).toEqual([])
  })

  it("can be part of a catalogue kit", () => {
    const given = snapshot({
      products: [caseOf("kit", [fixed(F, 1)]), product(kit, { is_kit: true, parts: [pool(H, 1), pool(A, 4)] })],
      stock: [...cases(2), ...units(301), bulk(40, { product_id: A })],
      containers: [packed(201, [301])],
      demands: [packingDemand(301)]
    })
    expect(freeUnits(given, kit, [ms("07-01"), ms("07-02")])).toEqual([1])
  })
})
