import { describe, expect, it } from "vitest"
import {
  demandOfPackedUnit,
  type DemandSettings,
  demandsOfLine,
  isPackedUnitHeld,
  KitTooLarge,
  lineWindow,
  type OpportunityFacts
} from "../../../../../core/orders/availability/rules/line-demands.ts"
import { KitNestedTooDeep } from "../../../../../core/orders/availability/rules/kits.ts"
import {
  demandPhaseOf,
  holdsStock,
  phaseOf,
  takesBuffers
} from "../../../../../core/orders/availability/rules/demand.ts"
import { openEnd } from "../../../../../core/values/time.ts"
import { P, S, at, snapshot, fixed, ms, pool, product, unit } from "./fixtures.ts"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"

type LineFacts = Parameters<typeof demandsOfLine>[0]
type AllocatedUnit = LineFacts["units"][number]

const settings: DemandSettings = {
  release_point: "returned",
  demand_date_source: "operational",
  kit_nesting_max_depth: 3,
  now: at("06-18T12:00")
}
const opportunity = (more: Partial<OpportunityFacts> = {}): OpportunityFacts => ({
  id: 40,
  state: 2,
  status: 0,
  store_id: S,
  starts_at: at("08-01"),
  ends_at: at("08-05"),
  charge_starts_at: null,
  charge_ends_at: null,
  ...more
})
const line = (quantity: number, more: Partial<LineFacts> = {}): LineFacts => ({
  id: 900,
  product_id: P,
  quantity,
  dispatched_quantity: 0,
  returned_quantity: 0,
  starts_at: null,
  ends_at: null,
  dispatch_store_id: null,
  is_live: true,
  units: [],
  ...more
})
const allocated = (stock_level_id: number, status = 0, more: Partial<AllocatedUnit> = {}): AllocatedUnit => ({
  stock_level_id,
  product_id: P,
  status,
  dispatched_at: null,
  returned_at: null,
  checked_at: null,
  ...more
})
const bulkProduct = product(P)
const serialised = product(P, { is_serialised: true })
const demands = (asked: LineFacts, of = opportunity(), products = [bulkProduct], given: Partial<DemandSettings> = {}) =>
  demandsOfLine(asked, of, new Map(products.map((one) => [one.id, one])), { ...settings, ...given })

describe("the phase of an opportunity", () => {
  //  state status  phase      demands    active buffers
  it.each<[number, number, string, string, boolean, boolean]>([
    [0, 0, "draft", "draft", false, false],
    [1, 0, "draft", "draft", false, false],
    [1, 1, "reserved", "reserved", true, true],
    [1, 2, "void", "void", false, false],
    [1, 3, "void", "void", false, false],
    [1, 4, "held", "held", true, false],
    [2, 0, "reserved", "reserved", true, true],
    [2, 1, "on_hire", "on_hire", true, true],
    [2, 2, "on_hire", "on_hire", true, true],
    [2, 3, "closed", "closed", false, true],
    [2, 4, "closed", "closed", false, true],
    [2, 5, "closed", "void", false, false],
    [2, 6, "void", "void", false, false]
  ])(
    "follows from state %d and status %d: it is %s, and that of its demands is %s",
    (state, status, phase, demandPhase, active, buffered) => {
      expect(phaseOf(state, status)).toBe(phase)
      const found = demandPhaseOf(state, status)
      expect([found, holdsStock(found), takesBuffers(found)]).toEqual([demandPhase, active, buffered])
    }
  )

  it("keeps a returned order's demands on hire only if stock is released at the check", () => {
    expect((["off_hired", "returned", "checked"] as const).map((point) => demandPhaseOf(2, 3, point))).toEqual([
      "closed",
      "closed",
      "on_hire"
    ])
    expect(demandPhaseOf(2, 4, "checked")).toBe("closed")
  })

  it("cannot be derived from a status that the state does not have", () => {
    expect(() => phaseOf(0, 1)).toThrow(RangeError)
  })
})

describe("the demands of a line", () => {
  it("are one demand for bulk stock, with the hire's dates and store and the product's buffers", () => {
    const buffered = product(P, { before_minutes: 120, after_minutes: 240 })
    expect(demands(line(4), opportunity(), [buffered])).toEqual([
      {
        product_id: P,
        store_id: S,
        asset_id: null,
        quantity: 4,
        starts_at: at("08-01"),
        ends_at: at("08-05"),
        buffered_starts_at: at("07-31T22:00"),
        buffered_ends_at: at("08-05T04:00"),
        source_type: "opportunity_item",
        source_id: 900,
        phase: "reserved",
        is_active: true,
        out: false,
        pending_checkin: false,
        returned_at: null,
        checked_at: null,
        opportunity_id: 40,
        container_id: null
      }
    ])
  })

  it("are inactive for drafts and provisional quotations, and without buffers if postponed", () => {
    const buffered = [product(P, { before_minutes: 120, after_minutes: 240 })]
    const as = (state: number, status: number) =>
      demands(line(1), opportunity({ state, status }), buffered).map((row) => [
        row.phase,
        row.is_active,
        row.buffered_starts_at
      ])
    expect([as(0, 0), as(1, 0), as(2, 0), as(1, 4)]).toEqual([
      [["draft", false, at("08-01")]],
      [["draft", false, at("08-01")]],
      [["reserved", true, at("07-31T22:00")]],
      [["held", true, at("08-01")]]
    ])
  })

  //  case                     quantity dispatched returned  claimed
  it.each<[string, number, number, number, ReadonlyArray<[number, boolean]>]>([
    ["40 of 60 dispatched are back", 100, 60, 40, [[60, true]]],
    ["2 of 6 are back", 6, 6, 2, [[4, true]]],
    ["all are back", 6, 6, 6, []],
    ["a fraction is rounded", 2.5, 0, 0, [[3, false]]],
    ["a fraction is all back", 2.5, 2.5, 2.5, []],
    ["at least one", 0.2, 0, 0, [[1, false]]]
  ])("have the quantity not yet returned: %s", (_, quantity, dispatched_quantity, returned_quantity, claimed) => {
    const found = demands(line(quantity, { dispatched_quantity, returned_quantity }), opportunity({ status: 2 }))
    expect(found.map((row) => [row.quantity, row.out])).toEqual(claimed)
  })

  it("require a product and a store; the line's dispatch store takes precedence", () => {
    expect(demands(line(1, { product_id: null }))).toEqual([])
    expect(demands(line(1), opportunity({ store_id: null }))).toEqual([])
    expect(
      demands(line(1, { dispatch_store_id: 3 }), opportunity({ store_id: null })).map((row) => row.store_id)
    ).toEqual([3])
    expect(demands(line(1, { dispatch_store_id: 3 })).map((row) => row.store_id)).toEqual([3])
  })

  it("are void for a line of an inactive version", () => {
    expect(demands(line(1, { is_live: false })).map((row) => [row.phase, row.is_active])).toEqual([["void", false]])
  })

  it("are one for each allocated unit and one for the unallocated quantity", () => {
    const rows = (quantity: number, units: ReadonlyArray<AllocatedUnit>) =>
      demands(line(quantity, { units }), opportunity(), [serialised]).map((row) => [row.asset_id, row.quantity])
    expect(rows(2, [])).toEqual([[null, 2]])
    expect(rows(2, [allocated(1), allocated(2)])).toEqual([
      [1, 1],
      [2, 1]
    ])
    expect(rows(5, [allocated(1), allocated(2)])).toEqual([
      [1, 1],
      [2, 1],
      [null, 3]
    ])
    const taken = demands(line(2, { units: [allocated(1), allocated(2)] }), opportunity(), [serialised])
    const given = snapshot({ stock: [unit(1), unit(2)], demands: taken.map((row, id) => ({ ...row, id })) })
    expect(pointAvailability(given, P, ms("08-02")).available).toBe(0)
  })

  const days = (from: string, to: string) => ({ starts_at: at(from), ends_at: at(to) })
  const back = (returned: string, more: object = {}) => allocated(1, 4, { returned_at: at(returned), ...more })
  it.each<[string, AllocatedUnit, object]>([
    ["allocated", allocated(1), { ...days("08-01", "08-05"), out: false, is_active: true }],
    [
      "dispatched early",
      allocated(1, 2, { dispatched_at: at("07-30T15:00") }),
      { ...days("07-30T15:00", "08-05"), out: true }
    ],
    ["dispatched late", allocated(1, 3, { dispatched_at: at("08-02") }), { starts_at: at("08-01"), out: true }],
    [
      "checked in",
      back("08-02T10:00"),
      { phase: "closed", is_active: false, ends_at: at("08-02T10:00"), pending_checkin: true, out: false }
    ],
    ["returned late", back("08-09"), { ends_at: at("08-09"), is_active: false }],
    ["returned before the start", back("07-31"), { ...days("07-31", "07-31"), is_active: false }],
    ["out and back before the start", back("07-31", { dispatched_at: at("07-29") }), days("07-29", "07-31")],
    [
      "checked",
      back("08-02", { checked_at: at("08-03") }),
      { pending_checkin: false, checked_at: at("08-03"), is_active: false }
    ],
    [
      "finalised",
      allocated(1, 5, { returned_at: at("08-02") }),
      { pending_checkin: false, ends_at: at("08-02"), is_active: false }
    ]
  ])("have the dates and the phase of a unit that is %s", (_, held, expected) => {
    const [found, ...rest] = demands(line(1, { units: [held] }), opportunity({ status: 2 }), [serialised])
    expect(found).toMatchObject({ asset_id: 1, quantity: 1, ...expected })
    expect(rest).toEqual([])
  })

  it("hold a returned unit until its check if stock is released at the check", () => {
    const back = line(1, { units: [allocated(1, 4, { returned_at: at("08-02") })] })
    const [found] = demands(back, opportunity({ status: 3 }), [serialised], { release_point: "checked" })
    expect(found).toMatchObject({ phase: "on_hire", is_active: true, out: true, pending_checkin: true })
    const checked = line(1, { units: [allocated(1, 4, { returned_at: at("08-02"), checked_at: at("08-03") })] })
    expect(demands(checked, opportunity({ status: 3 }), [serialised], { release_point: "checked" })[0]).toMatchObject({
      is_active: false
    })
  })

  it("are those of a kit's pool parts, not of the kit", () => {
    const products = [
      product(P, { is_kit: true, parts: [pool(1, 2), pool(2, 3), fixed(3, 1)] }),
      product(1, { before_minutes: 60 }),
      product(2),
      product(3)
    ]
    expect(
      demands(line(4), opportunity(), products).map((row) => [row.product_id, row.quantity, row.buffered_starts_at])
    ).toEqual([
      [1, 8, at("07-31T23:00")],
      [2, 12, at("08-01")]
    ])
  })

  it("multiply through nested kits, skip deleted parts, and round once at the leaf", () => {
    const products = [
      product(P, { is_kit: true, parts: [pool(11, 3), pool(98, 1)] }),
      product(11, { is_kit: true, parts: [pool(1, 2), pool(2, 1.1)] }),
      product(1),
      product(2)
    ]
    expect(demands(line(1), opportunity(), products).map((row) => [row.product_id, row.quantity])).toEqual([
      [1, 6],
      [2, 4]
    ])
    expect(demands(line(10), opportunity(), products).map((row) => [row.product_id, row.quantity])).toEqual([
      [1, 60],
      [2, 33]
    ])
    expect(
      demands(line(100), opportunity(), [product(P, { is_kit: true, parts: [pool(1, 1.1)] }), product(1)])[0]!.quantity
    ).toBe(110)
    expect(
      demands(line(10, { dispatched_quantity: 10, returned_quantity: 4 }), opportunity({ status: 2 }), products).map(
        (row) => [row.quantity, row.out]
      )
    ).toEqual([
      [36, true],
      [20, true]
    ])
    expect(
      demands(line(10, { dispatched_quantity: 10, returned_quantity: 10 }), opportunity({ status: 2 }), products)
    ).toEqual([])
  })

  it("are the case and its pool parts for a hybrid, and the case alone for a kit case", () => {
    const of = (container_mode: "kit" | "hybrid") =>
      demands(line(2), opportunity(), [
        product(P, { is_kit: true, is_serialised: true, container_mode, parts: [pool(1, 2), fixed(2, 1)] }),
        product(1),
        product(2)
      ]).map((row) => [row.product_id, row.quantity])
    expect([of("hybrid"), of("kit")]).toEqual([
      [
        [P, 2],
        [1, 4]
      ],
      [[P, 2]]
    ])
  })

  /** Levels of kits, each with two of every kit of the next level; those of the last level contain one leaf. */
  const woven = (levels: number, width: number, leaf = product(9_000)) => [
    product(P, { is_kit: true, parts: Array.from({ length: width }, (_, at) => pool(1_000 + at, 2)) }),
    ...Array.from({ length: levels - 1 }, (_, level) =>
      Array.from({ length: width }, (_, at) =>
        product((level + 1) * 1_000 + at, {
          is_kit: true,
          parts:
            level === levels - 2
              ? [pool(leaf.id, 1)]
              : Array.from({ length: width }, (_, next) => pool((level + 2) * 1_000 + next, 2))
        })
      )
    ).flat(),
    leaf
  ]

  it("add up a product's quantity over all paths to it through nested kits", () => {
    // 30 kits of 30 kits: 900 paths to the leaf, with a quantity of two at each level.
    expect(demands(line(1), opportunity(), woven(3, 30)).map((one) => [one.product_id, one.quantity])).toEqual([
      [9_000, 3_600]
    ])
    // 30 to the power of 7 paths are not walked one by one.
    expect(
      demands(line(1), opportunity(), woven(8, 30), { kit_nesting_max_depth: 20 }).map((one) => one.quantity)
    ).toEqual([60 ** 7])
  })
  it("count an allocated unit once, although its product is in two nested kits", () => {
    const leaf = product(9_000, { is_serialised: true })
    const units = [allocated(7, 0, { product_id: leaf.id })]
    expect(
      demands(line(1, { units }), opportunity(), woven(2, 2, leaf)).map((one) => [one.asset_id, one.quantity])
    ).toEqual([
      [7, 1],
      [null, 3]
    ])
  })
  it("cannot be computed if the longest path to a nested kit exceeds the limit; within it, all paths add up", () => {
    const products = [
      product(P, { is_kit: true, parts: [pool(2, 1), pool(3, 1)] }),
      product(2, { is_kit: true, parts: [pool(9, 1)] }),
      product(3, { is_kit: true, parts: [pool(4, 1)] }),
      product(4, { is_kit: true, parts: [pool(2, 1)] }),
      product(9)
    ]
    expect(() => demands(line(1), opportunity(), products)).toThrow(KitNestedTooDeep)
    expect(demands(line(1), opportunity(), products, { kit_nesting_max_depth: 4 }).map((one) => one.quantity)).toEqual([
      2
    ])
  })
  it("cannot be computed for a kit of more than 2,000 different products", () => {
    const leaves = (count: number) => Array.from({ length: count }, (_, at) => product(10_000 + at))
    const kit = (count: number) => [
      product(P, { is_kit: true, parts: leaves(count).map((leaf) => pool(leaf.id, 1)) }),
      ...leaves(count)
    ]
    expect(demands(line(1), opportunity(), kit(2_000))).toHaveLength(2_000)
    expect(() => demands(line(1), opportunity(), kit(2_001))).toThrow(KitTooLarge)
  })
  it("cannot be computed for a kit nested in itself", () => {
    expect(() => demands(line(1), opportunity(), [product(P, { is_kit: true, parts: [pool(P, 1)] })])).toThrow(
      KitNestedTooDeep
    )
  })
})

describe("the window of a line", () => {
  const charged = opportunity({ charge_starts_at: at("08-02"), charge_ends_at: null })
  const undated = opportunity({ starts_at: null, ends_at: null })
  const own = { starts_at: at("08-03"), ends_at: at("08-04") }
  it.each<[string, Partial<LineFacts>, OpportunityFacts, DemandSettings["demand_date_source"], string, string]>([
    ["its own dates", own, opportunity(), "operational", at("08-03"), at("08-04")],
    ["the hire's dates otherwise", {}, opportunity(), "operational", at("08-01"), at("08-05")],
    ["from now without end if undated", {}, undated, "operational", settings.now, openEnd],
    ["the charge dates by setting", { starts_at: at("08-03") }, charged, "charge", at("08-02"), at("08-05")]
  ])("comes from the line, the hire or the setting: %s", (_, asked, of, demand_date_source, starts_at, ends_at) => {
    expect(lineWindow(line(1, asked), of, { demand_date_source, now: settings.now })).toEqual({ starts_at, ends_at })
  })

  it("has no buffer after an open end", () => {
    const [found] = demands(line(1), opportunity({ ends_at: null }), [product(P, { after_minutes: 240 })])
    expect([found!.ends_at, found!.buffered_ends_at]).toEqual([openEnd, openEnd])
  })
})

describe("the demand of a packed unit", () => {
  it("starts at packing, without buffers or end", () => {
    const packed = { container_id: 3, container_item_id: 31, stock_level_id: 7, product_id: P, packed_at: at("07-01") }
    expect(demandOfPackedUnit(packed, S)).toMatchObject({
      asset_id: 7,
      quantity: 1,
      source_type: "container",
      source_id: 31,
      phase: "reserved",
      is_active: true,
      starts_at: at("07-01"),
      buffered_starts_at: at("07-01"),
      ends_at: openEnd,
      buffered_ends_at: openEnd,
      container_id: 3
    })
  })

  it("exists in a kit case, for fixed parts in a hybrid case, and never in a transport box", () => {
    const hybrid = { container_mode: "hybrid" as const, parts: [fixed(1, 1), pool(2, 1)] }
    expect([
      isPackedUnitHeld({ container_mode: "kit", parts: [] }, 9),
      isPackedUnitHeld(hybrid, 1),
      isPackedUnitHeld(hybrid, 2),
      isPackedUnitHeld(hybrid, 9),
      isPackedUnitHeld({ container_mode: "transport", parts: [] }, 9),
      isPackedUnitHeld({ container_mode: null, parts: [] }, 9),
      isPackedUnitHeld(undefined, 9)
    ]).toEqual([true, true, false, false, false, false, false])
  })
})
