import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { StockedProduct, StockLevel } from "../../../../../core/orders/availability/rules/snapshot.ts"
import { type Demand, type Resolution, slotBounds } from "../../../../../core/orders/availability/rules/demand.ts"
import { earliestFit } from "../../../../../core/orders/availability/rules/fit.ts"
import { lineAvailability, rangeAvailability } from "../../../../../core/orders/availability/rules/line.ts"
import { planAnswers } from "../../../../../core/orders/availability/rules/planned.ts"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"
import { wallOf } from "../../../../../core/values/time.ts"
import { P, snapshot, bulk, demand, fixed, pool, product, resolutions, unit } from "./fixtures.ts"
import { words } from "../../../../words.ts"

/** Laws for random demands and sub-hired goods in any zone: plain products, catalogue kits, cases and hybrids. */
const zones = words(`
  Australia/Lord_Howe Asia/Kathmandu America/Sao_Paulo America/New_York Europe/London Pacific/Auckland
  Africa/Casablanca Pacific/Apia
`)
const minute = 60_000,
  day = 86_400_000
const start = Date.parse("2026-06-29T05:13Z"),
  end = start + 4 * day
const iso = (instant: number): string => new Date(instant).toISOString()

const Q = 101,
  kit = 110,
  nested = 111,
  H = 120,
  hybrid = 121,
  F = 122
const products: ReadonlyArray<StockedProduct> = [
  product(P),
  product(Q, { before_minutes: 90 }),
  product(kit, { is_kit: true, parts: [pool(P, 2), pool(Q, 1)] }),
  product(nested, { is_kit: true, parts: [pool(kit, 2), pool(P, 1)] }),
  product(F),
  product(H, { is_kit: true, container_mode: "kit", is_serialised: true, parts: [fixed(F, 1)] }),
  product(hybrid, { is_kit: true, container_mode: "hybrid", is_serialised: true, parts: [pool(P, 3)] })
]
const all = products.map(({ id }) => id)
const stock: ReadonlyArray<StockLevel> = [
  bulk(17),
  bulk(9, { product_id: Q }),
  ...[1, 2, 3].map((id) => unit(id, { product_id: H })),
  ...[4, 5].map((id) => unit(id, { product_id: hybrid })),
  ...[6, 7].map((id) => unit(id, { product_id: F }))
]
const containers = [1, 2].map((housing_id) => ({
  id: housing_id,
  product_id: H,
  housing_id,
  items: [
    {
      container_item_id: housing_id,
      stock_level_id: housing_id + 5,
      product_id: F,
      packed_at: "2026-06-01T00:00:00.000Z",
      unpacked_at: null
    }
  ]
}))
const packed = [6, 7].map((asset_id) =>
  demand(1, "06-01", null, { product_id: F, asset_id, source_type: "container", source_id: asset_id - 5 })
)

const someDemand = fc
  .record({
    product_id: fc.constantFrom(P, P, Q, H, hybrid, F),
    from: fc.integer({ min: -2_000, max: 5_500 }),
    length: fc.integer({ min: 1, max: 3_000 }),
    quantity: fc.integer({ min: 1, max: 3 }),
    unit: fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined })
  })
  .map(({ from, length, product_id, quantity, unit }): Demand => {
    const asset_id =
      unit === undefined || product_id === P || product_id === Q
        ? null
        : (product_id === H ? 1 : product_id === hybrid ? 4 : 6) + unit
    return demand(asset_id === null ? quantity : 1, iso(start + from * minute), iso(start + (from + length) * minute), {
      product_id,
      asset_id
    })
  })
const someDemands = fc.array(someDemand, { maxLength: 12 })
/** Sub-hired goods next to own ones: bulk, units, cases and their contents, each with its own window. */
const someHired = fc.array(
  fc
    .record({
      product_id: fc.constantFrom(P, Q, H, hybrid, F),
      from: fc.integer({ min: -2_000, max: 5_500 }),
      length: fc.integer({ min: 0, max: 3_000 }),
      quantity: fc.integer({ min: 1, max: 4 })
    })
    .map(({ from, length, product_id, quantity }) => ({
      product_id,
      quantity,
      starts_at: iso(start + from * minute),
      ends_at: iso(start + (from + length) * minute)
    })),
  { maxLength: 6 }
)
type Hired = typeof someHired extends fc.Arbitrary<infer T> ? T : never
const hiredLevels = (hired: Hired, first = 1_000): ReadonlyArray<StockLevel> =>
  hired.map(({ quantity, ...more }, at) =>
    more.product_id === P || more.product_id === Q
      ? bulk(quantity, { ...more, id: first + at })
      : unit(first + at, more)
  )
const setting = fc.record({ zone: fc.constantFrom(...zones), resolution: fc.constantFrom<Resolution>(...resolutions) })

interface Where {
  readonly zone: string
  readonly resolution: Resolution
}
const snapshotWith = (
  demands: ReadonlyArray<Demand>,
  where: Where,
  more: Partial<Parameters<typeof snapshot>[0]> = {}
) => snapshot({ ...where, products, stock, containers, now: iso(start), ...more, demands: [...packed, ...demands] })
const figures = (demands: ReadonlyArray<Demand>, where: Where, more?: Partial<Parameters<typeof snapshot>[0]>) => {
  const given = snapshotWith(demands, where, more)
  return all.map((id) =>
    rangeAvailability(given, id, { from: start, to: end }).slots.map(({ available, slot_start, total_demanded }) => ({
      slot_start,
      total_demanded,
      available
    }))
  )
}
const law = <A>(drawn: fc.Arbitrary<A>, holds: (drawn: A, where: Where) => void) =>
  fc.assert(fc.property(drawn, setting, holds), { numRuns: 80, seed: 620 })

describe("laws of availability, kits and cases included", () => {
  it("another demand never increases availability, and reduces a plain product's by at most its quantity", () => {
    law(fc.tuple(someDemands, someDemand), ([demands, one], where) => {
      const before = figures(demands, where),
        after = figures([...demands, one], where)
      after.forEach((slots, product) =>
        slots.forEach((slot, at) => {
          expect(slot.available).toBeLessThanOrEqual(before[product]![at]!.available)
          if (all[product] === P || all[product] === Q)
            expect(before[product]![at]!.available - slot.available).toBeLessThanOrEqual(one.quantity)
        })
      )
    })
  })
  it("availability does not depend on the order of demands and stock", () => {
    law(
      someDemands.chain((demands) =>
        fc.tuple(fc.constant(demands), fc.shuffledSubarray(demands, { minLength: demands.length }))
      ),
      ([demands, shuffled], where) => {
        expect(figures(shuffled, where, { stock: [...stock].reverse(), products: [...products].reverse() })).toEqual(
          figures(demands, where)
        )
      }
    )
  })
  it("a demand split at the start of a slot counts the same", () => {
    law(someDemands, (demands, where) => {
      const bounds = slotBounds(start, end, where.resolution, where.zone)
      const at = iso(bounds[Math.floor(bounds.length / 2)]!)
      const cut = demands.flatMap((one) =>
        one.starts_at < at && at < one.ends_at
          ? [
              { ...one, ends_at: at, buffered_ends_at: at },
              { ...one, starts_at: at, buffered_starts_at: at }
            ]
          : [one]
      )
      expect(figures(cut, where)).toEqual(figures(demands, where))
    })
  })
  it("the same demands a week later give the same availability", () => {
    const week = 7 * day
    law(someDemands, (demands, where) => {
      // None of the zones changes its clock between mid-June and mid-July.
      const later = demands.map((one) => {
        const [starts_at, ends_at] = [iso(Date.parse(one.starts_at) + week), iso(Date.parse(one.ends_at) + week)]
        return { ...one, starts_at, ends_at, buffered_starts_at: starts_at, buffered_ends_at: ends_at }
      })
      const moved = snapshotWith(later, where, { now: iso(start + week) })
      const shifted = all.map((id) =>
        rangeAvailability(moved, id, { from: start + week, to: end + week }).slots.map(
          ({ available, slot_start, total_demanded }) => ({
            slot_start: iso(Date.parse(slot_start) - week),
            total_demanded,
            available
          })
        )
      )
      expect(shifted).toEqual(figures(demands, where))
    })
  })
  it("two stores that swap their stock and demands swap their availability", () => {
    law(fc.tuple(someDemands, someDemands), ([here, there], where) => {
      const at = <Row extends { readonly store_id: number }>(store_id: number, rows: ReadonlyArray<Row>) =>
        rows.map((row) => ({ ...row, store_id }))
      const elsewhere = stock.map((row) => ({ ...row, quantity_held: Number(row.quantity_held) + 2 }))
      const answers = (one: number, other: number) =>
        [one, other].map((store_id) => {
          const given = snapshot({
            ...where,
            products,
            containers,
            now: iso(start),
            store_id,
            demands: [...at(one, [...packed, ...here]), ...at(other, there)],
            stock: [...at(one, stock), ...at(other, elsewhere)]
          })
          return all.map((id) => rangeAvailability(given, id, { from: start, to: end }).slots)
        })
      expect(answers(2, 1)).toEqual(answers(1, 2))
    })
  })
  it("the first free window has no shortage, and a longer or larger request never finds an earlier one", () => {
    law(
      fc.tuple(someDemands, someHired, fc.constantFrom(...all), fc.integer({ min: 1, max: 5 })),
      ([demands, hired, product_id, quantity], where) => {
        const given = snapshotWith(demands, where, { stock: [...stock, ...hiredLevels(hired)] })
        const fit = (wanted: number, days: number) =>
          earliestFit(given, {
            lines: [{ product_id, quantity: wanted }],
            from: start,
            until: start + 9 * day,
            duration: { days },
            align: "slot"
          }).window
        const found = fit(quantity, 1)
        for (const harder of [fit(quantity + 1, 1), fit(quantity, 2)]) {
          if (harder !== null) expect(found !== null && found.starts_at <= harder.starts_at).toBe(true)
        }
        if (found === null) return
        const [from, to] = [Date.parse(found.starts_at), Date.parse(found.ends_at)]
        expect(wallOf(to, where.zone) - wallOf(from, where.zone)).toBe(day)
        expect(
          planAnswers(given, [{ line: 0, product_id, quantity, store_id: 1, from, to }]).lines[0]!.has_shortage
        ).toBe(false)
      }
    )
  })

  it("sub-hired goods never reduce availability, and change no slot outside their window", () => {
    law(fc.tuple(someDemands, someHired), ([demands, hired], where) => {
      const before = figures(demands, where),
        after = figures(demands, where, { stock: [...stock, ...hiredLevels(hired)] })
      const bounds = slotBounds(start, end, where.resolution, where.zone)
      after.forEach((slots, product) =>
        slots.forEach((slot, at) => {
          const earlier = before[product]![at]!.available
          expect(slot.available).toBeGreaterThanOrEqual(earlier)
          const [from, to] = [iso(bounds[at]!), iso(bounds[at + 1] ?? end + day)]
          const is_touched = hired.some((one) => one.starts_at < to && one.ends_at > from)
          if (!is_touched) expect(slot.available).toBe(earlier)
        })
      )
    })
  })
  it("sub-hired bulk stock split at a slot's start counts the same; goods with an empty window count nothing", () => {
    law(fc.tuple(someDemands, someHired), ([demands, hired], where) => {
      const bounds = slotBounds(start, end, where.resolution, where.zone)
      const at = iso(bounds[Math.floor(bounds.length / 2)]!)
      // Units cannot be split: only bulk stock can be two levels, one after the other.
      const bulks = hired.filter(({ product_id }) => product_id === P || product_id === Q)
      const cut = bulks.flatMap((one) =>
        one.starts_at < at && at < one.ends_at
          ? [
              { ...one, ends_at: at },
              { ...one, starts_at: at }
            ]
          : [one]
      )
      const nothing = hired.map((one) => ({ ...one, ends_at: one.starts_at }))
      expect(figures(demands, where, { stock: [...stock, ...hiredLevels(cut)] })).toEqual(
        figures(demands, where, { stock: [...stock, ...hiredLevels(bulks)] })
      )
      expect(figures(demands, where, { stock: [...stock, ...hiredLevels(nothing)] })).toEqual(figures(demands, where))
    })
  })
  it("a planned line has the same shortage as the line has once it is ordered", () => {
    law(
      fc.tuple(someDemands, someHired, fc.constantFrom(...all), fc.integer({ min: 1, max: 8 })),
      ([demands, hired, product_id, quantity], where) => {
        const given = snapshotWith(demands, where, { stock: [...stock, ...hiredLevels(hired)] })
        const ask = { line: 0, product_id, quantity, store_id: 1 }
        const planned = planAnswers(given, [{ ...ask, from: start, to: start + day }]).lines[0]!
        const line = lineAvailability(given, { ...ask, id: 99, starts_at: iso(start), ends_at: iso(start + day) })
        expect([planned.available_for_line, planned.shortage_quantity]).toEqual([
          line.available_for_item,
          line.shortage_quantity
        ])
      }
    )
  })
  it("a slot within a range equals the same slot requested alone", () => {
    law(fc.tuple(someDemands, someHired), ([demands, hired], where) => {
      const given = snapshotWith(demands, where, { stock: [...stock, ...hiredLevels(hired)] })
      for (const product_id of all)
        for (const slot of rangeAvailability(given, product_id, { from: start, to: end }).slots) {
          const at = Math.max(Date.parse(slot.slot_start), start)
          expect([product_id, pointAvailability(given, product_id, at).available]).toEqual([product_id, slot.available])
        }
    })
  })
})
