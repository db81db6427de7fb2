/**
 * The timeline against a count by hand: every quarter of an hour of a window is looked at on the zone's own clock, read
 * straight from the platform, and every claim is held against every quarter. Slow, plain, and shares no code with it.
 */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Demand } from "../../../core/availability/demand.ts"
import { availabilityCalendar } from "../../../core/availability/calendar.ts"
import { lineAvailability } from "../../../core/availability/line.ts"
import { pointAvailability } from "../../../core/availability/point.ts"
import { rangeAvailability } from "../../../core/availability/range.ts"
import type { Resolution } from "../../../core/availability/slots.ts"
import type { StockLevel } from "../../../core/availability/stock.ts"
import { P, snapshotFixture, bulk, demandFixture, unit } from "./fixtures.ts"

const quarter = 900_000
const openEndAt = Date.parse("2199-01-01T00:00:00.000Z")
const windowQuarters = 6 * 96
const iso = (instant: number): string => new Date(instant).toISOString()

/** Windows of six days, each across a change of the zone's clock (UTC and Kolkata have none). */
const changes: ReadonlyArray<[string, string]> = [
  ["UTC", "2026-06-29T00:00Z"],
  ["Europe/London", "2026-03-27T00:00Z"],
  ["Europe/London", "2026-10-22T23:00Z"],
  ["America/New_York", "2026-03-06T05:00Z"],
  ["America/New_York", "2026-10-30T04:00Z"],
  ["Australia/Lord_Howe", "2026-04-02T13:00Z"],
  ["Australia/Lord_Howe", "2026-10-01T13:30Z"],
  ["America/Sao_Paulo", "2018-11-01T03:00Z"],
  ["America/Sao_Paulo", "2018-02-15T02:00Z"],
  ["Asia/Kolkata", "2026-06-29T18:30Z"],
  ["America/Havana", "2026-10-30T04:00Z"],
  ["Pacific/Apia", "2011-12-28T10:00Z"]
]

/** Quarters looked at before and after the window, so that the slots at its ends are seen whole. */
const margin = 2 * 96

/**
 * Which slot each quarter lies in, as the wall shows it, from `margin` before the window on: a new slot begins when the
 * wall first shows a later label.
 */
const labelsOf = (zone: string, resolution: Resolution, start: number): ReadonlyArray<string> => {
  const clock = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit"
  })
  let latest = ""
  return Array.from({ length: windowQuarters + 2 * margin }, (_, index) => {
    const instant = start + (index - margin) * quarter
    if (resolution === "hourly") return String(Math.floor(instant / 3_600_000))
    const [day, hour] = clock.format(instant).split(" ")
    const label = resolution === "daily" ? day! : `${day}/${Math.floor(Number(hour) / 6)}`
    // Where the clock goes back over a boundary, the slot once begun goes on.
    if (label > latest) latest = label
    return latest
  })
}

interface Counted {
  readonly slot_start: string
  readonly total_stock: number
  readonly total_demanded: number
  readonly pending: number
}

const countByHand = (
  labels: ReadonlyArray<string>,
  start: number,
  demands: ReadonlyArray<Demand>,
  stock: ReadonlyArray<StockLevel>,
  now: number
): ReadonlyArray<Counted> => {
  const slots = new Map<string, { start: number; claims: Set<number>; waiting: Set<number>; stock: Set<number> }>()
  labels.forEach((label, index) => {
    const instant = start + (index - margin) * quarter
    const slot = slots.get(label) ?? { start: instant, claims: new Set(), waiting: new Set(), stock: new Set() }
    slots.set(label, slot)
    demands.forEach((row, place) => {
      const isOverdue = row.out && Date.parse(row.ends_at) < now
      const ends = isOverdue ? openEndAt : Date.parse(row.buffered_ends_at!)
      if (row.is_active && Date.parse(row.buffered_starts_at!) <= instant && instant < ends) slot.claims.add(place)
      if (row.asset_id !== null && row.pending_checkin && Date.parse(row.returned_at!) <= instant)
        slot.waiting.add(place)
    })
    stock.forEach((row, place) => {
      if (Date.parse(row.starts_at ?? "0001-01-01") <= instant && instant < Date.parse(row.ends_at ?? "2199-01-01"))
        slot.stock.add(place)
    })
  })
  const asked = new Set(labels.slice(margin, margin + windowQuarters))
  return [...slots]
    .filter(([label]) => asked.has(label))
    .map(([, slot]) => {
      const rows = [...slot.stock].map((place) => stock[place]!)
      const held =
        rows.filter((row) => row.stock_category === 10).reduce((sum, row) => sum + Number(row.quantity_held) * 2, 0) / 2
      return {
        slot_start: iso(slot.start),
        total_stock: Math.floor(held + 0.5) + rows.filter((row) => row.stock_category === 50).length,
        total_demanded: [...slot.claims].reduce((sum, place) => sum + demands[place]!.quantity, 0),
        pending: slot.waiting.size
      }
    })
}

/** A stretch of quarters, from two days before the window to two days after it, at least one quarter long. */
const stretch = fc.record({
  from: fc.integer({ min: -192, max: windowQuarters + 96 }),
  length: fc.integer({ min: 1, max: 400 })
})

const someDemands = fc.array(
  fc.record({
    hire: stretch,
    quantity: fc.integer({ min: 1, max: 5 }),
    before: fc.integer({ min: 0, max: 12 }),
    after: fc.integer({ min: 0, max: 12 }),
    phase: fc.constantFrom("draft", "held", "reserved", "on_hire", "closed"),
    out: fc.boolean(),
    isOpen: fc.boolean(),
    source_type: fc.constantFrom("opportunity_item", "container", "quarantine"),
    isUnit: fc.boolean()
  }),
  { maxLength: 12 }
)

const someStock = fc.array(
  fc.record({
    halves: fc.integer({ min: 0, max: 20 }),
    isUnit: fc.boolean(),
    window: fc.option(stretch, { nil: undefined })
  }),
  { minLength: 1, maxLength: 6 }
)

type Drawn = {
  claims: typeof someDemands extends fc.Arbitrary<infer C> ? C : never
  stock: typeof someStock extends fc.Arbitrary<infer C> ? C : never
}

const rowsOf = (start: number, drawn: Drawn) => {
  const instant = (quarters: number): string => iso(start + quarters * quarter)
  return {
    claims: drawn.claims.map(({ after, before, hire, isOpen, isUnit, out, phase, quantity, source_type }): Demand => {
      const ends = hire.from + hire.length
      const isBack = phase === "closed"
      return demandFixture(isUnit ? 1 : quantity, instant(hire.from), isOpen && !isBack ? null : instant(ends), {
        phase,
        source_type,
        out: out && phase === "on_hire",
        asset_id: isUnit ? 9 : null,
        pending_checkin: isBack,
        returned_at: isBack ? instant(ends) : null,
        buffers: { before_minutes: before * 15, after_minutes: after * 15 }
      })
    }),
    stock: drawn.stock.map(({ halves, isUnit, window }, place) =>
      (isUnit ? unit : bulk)(
        isUnit ? place + 1 : place, // the builders take an id and a quantity
        {
          id: place + 1,
          quantity_held: isUnit ? 0 : halves / 2,
          starts_at: window === undefined ? null : instant(window.from),
          ends_at: window === undefined ? null : instant(window.from + window.length)
        }
      )
    )
  }
}

describe("the timeline equals a count by hand", () => {
  for (const [zone, from] of changes) {
    it.each<Resolution>(["daily", "half_daily", "hourly"])(`${zone} from ${from}, %s`, (resolution) => {
      const start = Date.parse(from)
      const end = start + windowQuarters * quarter
      const now = start + 200 * quarter
      const labels = labelsOf(zone, resolution, start)
      fc.assert(
        fc.property(someDemands, someStock, (drawnDemands, drawnStock) => {
          const { claims: demands, stock } = rowsOf(start, { claims: drawnDemands, stock: drawnStock })
          const given = snapshotFixture({ zone, resolution, now: iso(now), demands, stock })
          const found = rangeAvailability(given, P, { from: start, to: end })
          expect(
            found.slots.map((slot) => ({
              slot_start: slot.slot_start,
              total_stock: slot.total_stock,
              total_demanded: slot.total_demanded,
              pending: slot.pending_checkin_quantity
            }))
          ).toEqual(countByHand(labels, start, demands, stock, now))
          const first = found.slots[0]!
          expect(found.slots.every((slot) => slot.available === slot.total_stock - slot.total_demanded)).toBe(true)
          const parts = found.slots.map(({ demand_breakdown: { returned_not_checked = 0, ...demanded } }) => ({
            returned_not_checked,
            demanded
          }))
          expect(parts.map(({ demanded }) => Object.values(demanded).reduce((sum, part) => sum + part, 0))).toEqual(
            found.slots.map((slot) => slot.total_demanded)
          )
          expect(parts.map(({ returned_not_checked }) => returned_not_checked)).toEqual(
            found.slots.map((slot) => slot.pending_checkin_quantity)
          )
          expect(pointAvailability(given, P, start + quarter - 1)).toMatchObject({
            total_stock: first.total_stock,
            total_demanded: first.total_demanded,
            available: first.available,
            demand_breakdown: parts[0]!.demanded
          })
          expect(found.min_available).toBe(Math.min(...found.slots.map((slot) => slot.available)))
          expect(
            lineAvailability(given, { id: -1, product_id: P, quantity: 1, starts_at: iso(start), ends_at: iso(end) })
              .available_for_item
          ).toBe(found.min_available)
        }),
        { numRuns: 20, seed: 20_260_618 }
      )
    })
  }
})

describe("laws of availability", () => {
  const start = Date.parse("2026-06-29T00:00Z")
  const window = { from: start, to: start + windowQuarters * quarter }
  const week = 7 * 86_400_000
  const figures = (
    rows: { claims: ReadonlyArray<Demand>; stock: ReadonlyArray<StockLevel> },
    shift = 0,
    zone = "UTC"
  ) =>
    rangeAvailability(snapshotFixture({ ...rows, zone, now: iso(start + 200 * quarter + shift) }), P, {
      from: window.from + shift,
      to: window.to + shift
    }).slots.map(({ slot_start, ...slot }) => ({ ...slot, after: Date.parse(slot_start) - shift }))
  const drawn = fc.record({ claims: someDemands, stock: someStock })
  const law = (holds: (drawn: Drawn) => void) => fc.assert(fc.property(drawn, holds), { numRuns: 60, seed: 11 })

  it("everything a week later is the same a week later", () => {
    const later = (instant: string | null): string | null =>
      instant === null || instant.startsWith("2199") ? instant : iso(Date.parse(instant) + week)
    law((rows) => {
      const { claims: demands, stock } = rowsOf(start, rows)
      const moved = {
        claims: demands.map((row) => ({
          ...row,
          starts_at: later(row.starts_at)!,
          ends_at: later(row.ends_at)!,
          returned_at: later(row.returned_at),
          buffered_starts_at: later(row.buffered_starts_at),
          buffered_ends_at: later(row.buffered_ends_at)
        })),
        stock: stock.map((row) => ({ ...row, starts_at: later(row.starts_at), ends_at: later(row.ends_at) }))
      }
      for (const zone of ["UTC", "Asia/Kolkata"])
        expect(figures(moved, week, zone)).toEqual(figures({ claims: demands, stock }, 0, zone))
    })
  })

  it("a claim split into single units weighs the same", () => {
    law((rows) => {
      const { claims: demands, stock } = rowsOf(start, rows)
      const split = demands.flatMap((row) => Array.from({ length: row.quantity }, () => ({ ...row, quantity: 1 })))
      expect(figures({ claims: split, stock })).toEqual(figures({ claims: demands, stock }))
    })
  })

  it("a claim cut at midnight weighs the same", () => {
    law((rows) => {
      const { stock } = rowsOf(start, rows)
      const demands = rowsOf(start, rows).claims.map((row) => ({ ...row, out: false, pending_checkin: false }))
      const midnight = iso(start + 3 * 86_400_000)
      const cut = demands.flatMap((row) =>
        row.buffered_starts_at! < midnight && midnight < row.buffered_ends_at!
          ? [
              { ...row, buffered_ends_at: midnight },
              { ...row, buffered_starts_at: midnight }
            ]
          : [row]
      )
      expect(figures({ claims: cut, stock })).toEqual(figures({ claims: demands, stock }))
    })
  })

  it("two stores that swap their rows swap their figures", () => {
    law((rows) => {
      const { claims: demands, stock } = rowsOf(start, rows)
      const other = { claims: [demandFixture(3, iso(start), null, { store_id: 2 })], stock: [bulk(4, { store_id: 2 })] }
      const swap = <Row extends { readonly store_id: number }>(row: Row): Row => ({
        ...row,
        store_id: 3 - row.store_id
      })
      const all = { claims: [...demands, ...other.claims], stock: [...stock, ...other.stock] }
      const swapped = { claims: all.claims.map(swap), stock: all.stock.map(swap) }
      const at = (store_id: number, given: typeof all) =>
        rangeAvailability(snapshotFixture({ ...given, store_id, now: iso(start) }), P, window).slots
      expect(at(2, swapped)).toEqual(at(1, all))
      expect(at(1, swapped)).toEqual(at(2, all))
    })
  })

  it("the order of the rows does not matter", () => {
    law((rows) => {
      const { claims: demands, stock } = rowsOf(start, rows)
      expect(figures({ claims: [...demands].reverse(), stock: [...stock].reverse() })).toEqual(
        figures({ claims: demands, stock })
      )
    })
  })

  it("a calendar day is the lowest of its slots", () => {
    law((rows) => {
      const given = snapshotFixture({
        ...rowsOf(start, rows),
        zone: "Europe/London",
        resolution: "hourly",
        now: iso(start)
      })
      const [row] = availabilityCalendar(
        given,
        { at: start, date: "2026-06-30" },
        { at: start, date: "2026-07-02" }
      ).products
      for (const day of row!.days) {
        const from = Date.parse(`${day.date}T00:00:00+01:00`)
        const slots = rangeAvailability(given, P, { from, to: from + 86_400_000 }).slots
        expect(slots).toHaveLength(24)
        expect(day.available).toBe(Math.min(...slots.map((slot) => slot.available)))
        expect(day.pending_checkin).toBe(Math.max(...slots.map((slot) => slot.pending_checkin_quantity)))
      }
      expect(row!.days.map((day) => day.date)).toEqual(["2026-06-30", "2026-07-01", "2026-07-02"])
    })
  })

  it("twenty thousand claims over three hundred days add up, hour by hour", () => {
    const demands = Array.from({ length: 20_000 }, (_, index) =>
      demandFixture(1, iso(start + (index % 300) * 86_400_000), iso(start + ((index % 300) + 20) * 86_400_000))
    )
    const found = rangeAvailability(
      snapshotFixture({ demands, stock: [bulk(2000)], resolution: "hourly", now: iso(start) }),
      P,
      { from: start, to: start + 300 * 86_400_000 }
    )
    expect(found.slots).toHaveLength(7200)
    expect(found.min_available).toBe(2000 - Math.ceil(20_000 / 300) * 20)
  })
})
