import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { availabilityCalendar } from "../../../../../core/orders/availability/api/calendar.ts"
import { lineAvailability, rangeAvailability } from "../../../../../core/orders/availability/rules/line.ts"
import { pointAvailability } from "../../../../../core/orders/availability/rules/days.ts"
import type { Resolution } from "../../../../../core/orders/availability/rules/demand.ts"
import { type App, openApp } from "../../../../app.ts"
import { houseOn } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"
import { P, snapshot, bulk, demand, resolutions, unit } from "./fixtures.ts"
import { countByMinutes, type CountedClaim } from "./minute-count.ts"

/** Window starts some hours before each zone's clock changes, forward and back; the last zones have one start. */
const changes: ReadonlyArray<readonly [zone: string, forward: string, back?: string]> = [
  ["Australia/Lord_Howe", "2026-10-03T06:20Z", "2026-04-04T04:20Z"],
  ["Asia/Kathmandu", "1985-12-31T10:00Z", "2026-07-01T10:00Z"], // by a quarter of an hour, in 1986 only
  ["America/Sao_Paulo", "2018-11-03T16:00Z", "2019-02-16T12:00Z"], // at midnight, which does not exist or comes twice
  ["America/New_York", "2026-03-07T20:00Z", "2026-10-31T20:00Z"],
  ["Europe/London", "2026-03-28T16:00Z", "2026-10-24T16:00Z"],
  ["Pacific/Auckland", "2026-09-26T02:00Z", "2026-04-04T01:00Z"],
  ["Africa/Casablanca", "2026-03-21T14:00Z", "2026-02-14T14:00Z"],
  ["Pacific/Apia", "2020-09-26T02:00Z", "2021-04-03T01:00Z"],
  ["Pacific/Apia", "2011-12-29T20:00Z", "2011-12-30T05:00Z"], // over the skipped day
  ["America/Havana", "2026-10-31T16:00Z"],
  ["Asia/Kolkata", "2026-06-29T18:30Z"],
  ["UTC", "2026-06-29T00:00Z"]
]
const minute = 60_000
const window_minutes = 36 * 60
const openEnd = Date.parse("2199-01-01T00:00:00.000Z")
const iso = (instant: number): string => new Date(instant).toISOString()

/** Minutes from the window's start. */
const stretch = fc.record({
  from: fc.integer({ min: -1_500, max: window_minutes }),
  length: fc.integer({ min: 1, max: 1_600 })
})
const someDemands = fc.array(
  fc.record({
    hire: stretch,
    quantity: fc.integer({ min: 1, max: 5 }),
    before_minutes: fc.constantFrom(0, 0, 15, 90),
    after_minutes: fc.constantFrom(0, 0, 15, 180),
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
    isUnit: fc.boolean(),
    halves: fc.integer({ min: 0, max: 20 }),
    window: fc.option(stretch, { nil: undefined })
  }),
  { minLength: 1, maxLength: 6 }
)
const drawn = fc.record({ claims: someDemands, levels: someStock, late: fc.integer({ min: 0, max: 700 }) })
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

/** Stored rows of the generated model. */
const rowsOf = (start: number, { claims, levels }: Drawn) => {
  const instant = (minutes: number): string => iso(start + minutes * minute)
  return {
    demands: claims.map(
      ({ after_minutes, before_minutes, hire, isOpen, isUnit, out, phase, quantity, source_type }) => {
        const ends = instant(hire.from + hire.length)
        const isBack = phase === "closed"
        return demand(isUnit ? 1 : quantity, instant(hire.from), isOpen && !isBack ? null : ends, {
          phase,
          source_type,
          out: out && phase === "on_hire",
          asset_id: isUnit ? 9 : null,
          pending_checkin: isBack,
          returned_at: isBack ? ends : null,
          buffers: { before_minutes, after_minutes }
        })
      }
    ),
    stock: levels.map(({ halves, isUnit, window }, place) => {
      const starts_at = window === undefined ? null : instant(window.from)
      const ends_at = window === undefined ? null : instant(window.from + window.length)
      return isUnit ? unit(place + 1, { starts_at, ends_at }) : bulk(halves / 2, { starts_at, ends_at })
    })
  }
}
/** The same rows as instants for the count by minutes: active demands, returns awaiting a check, and stock levels. */
const countedOf = (now: number, { demands, stock }: ReturnType<typeof rowsOf>) => ({
  claims: demands
    .filter((row) => row.is_active)
    .map((row) => ({
      from: Date.parse(row.buffered_starts_at!),
      to: row.out && Date.parse(row.ends_at) < now ? openEnd : Date.parse(row.buffered_ends_at!),
      quantity: row.quantity
    })),
  waiting: demands
    .filter((row) => row.asset_id !== null && row.pending_checkin)
    .map((row) => ({ from: Date.parse(row.returned_at!), to: openEnd, quantity: 1 })),
  levels: stock.map((row) => ({
    from: Date.parse(row.starts_at ?? "0001-01-01"),
    to: row.ends_at === null ? openEnd : Date.parse(row.ends_at),
    quantity: Number(row.quantity_held),
    is_unit: row.stock_category === 50
  }))
})

describe("availability", () => {
  const zones = changes.flatMap(([zone, ...starts]) => starts.map((from) => [zone, from!] as const))
  const cases = zones.flatMap(([zone, from]) => resolutions.map((resolution) => [zone, from, resolution] as const))
  it.each(cases)("equals a count minute by minute in every slot: in %s from %s, %s slots", (zone, from, resolution) => {
    const start = Date.parse(from),
      end = start + window_minutes * minute,
      now = start + 720 * minute
    fc.assert(
      fc.property(drawn, (drawn) => {
        const rows = rowsOf(start, drawn)
        const { claims, levels, waiting } = countedOf(now, rows)
        const given = snapshot({ zone, resolution, now: iso(now), ...rows })
        const asked = { from: start + drawn.late * minute, to: end }
        const counted = countByMinutes(zone, resolution, asked.from, asked.to, claims, levels)
        const pending = countByMinutes(zone, resolution, asked.from, asked.to, waiting, [])
        const { min_available, slots } = rangeAvailability(given, P, asked)
        expect(
          slots.map((slot) => {
            const { demand_breakdown, pending_checkin_quantity, ...figures } = slot
            const { returned_not_checked = 0, ...demanded } = demand_breakdown
            expect(Object.values(demanded).reduce((sum, part) => sum + part, 0)).toBe(slot.total_demanded)
            expect(returned_not_checked).toBe(pending_checkin_quantity)
            return { ...figures, pending_checkin_quantity }
          })
        ).toEqual(counted.map((slot, at) => ({ ...slot, pending_checkin_quantity: pending[at]!.total_demanded })))
        const { demand_breakdown, pending_checkin_quantity: _pending, slot_start: _start, ...first } = slots[0]!
        const { returned_not_checked: _returned, ...demanded } = demand_breakdown
        expect(pointAvailability(given, P, asked.from)).toMatchObject({ ...first, demand_breakdown: demanded })
        expect(min_available).toBe(Math.min(...slots.map((slot) => slot.available)))
        const line = { id: -1, product_id: P, quantity: 1, starts_at: iso(asked.from), ends_at: iso(end) }
        expect(lineAvailability(given, line).available_for_item).toBe(min_available)
      }),
      { numRuns: 7, seed: 20_260_618 }
    )
  })

  it("is the day's lowest slot in the calendar", () => {
    const start = Date.parse("2026-06-29T00:00Z")
    const moment = (date: string) => ({ at: start, date })
    fc.assert(
      fc.property(drawn, (drawn) => {
        const zone = "Europe/London"
        const given = snapshot({ ...rowsOf(start, drawn), zone, resolution: "hourly", now: iso(start) })
        const [row] = availabilityCalendar(given, moment("2026-06-29"), moment("2026-07-01")).products
        for (const day of row!.days) {
          const from = Date.parse(`${day.date}T00:00:00+01:00`)
          const slots = rangeAvailability(given, P, { from, to: from + 86_400_000 }).slots
          expect(slots).toHaveLength(24)
          expect(day.available).toBe(Math.min(...slots.map((slot) => slot.available)))
          expect(day.pending_checkin).toBe(Math.max(...slots.map((slot) => slot.pending_checkin_quantity)))
        }
        expect(row!.days.map((day) => day.date)).toEqual(["2026-06-29", "2026-06-30", "2026-07-01"])
      }),
      { numRuns: 60, seed: 11 }
    )
  })
})

describe.each<Resolution>([...resolutions])("availability through the API, %s", (resolution) => {
  const opened: Array<App> = []
  afterAll(async () => {
    for (const app of opened) await app.close()
  })

  it("equals a count minute by minute at stores in eight zones, and is the day's lowest slot in the calendar", async () => {
    const app = await openApp("sqlite")
    opened.push(app)
    app.setClock("2026-06-18T12:00:00.000Z")
    const w = houseOn(app)
    const settled = await w.put("/settings/availability", { settings: { resolution } })
    expect(settled.status).toBe(200)
    const near = changes
      .slice(0, 8)
      .map(([zone, forward, back]) => [zone, Math.max(Date.parse(forward), Date.parse(back!))] as const)
      .map(
        ([zone, at]) =>
          [
            zone,
            at > Date.parse("2026-03-25") && at < Date.parse("2027-01-01") ? at : Date.parse("2026-07-01T07:10Z")
          ] as const
      )
    for (const [zone, start] of near) {
      const store = await w.store({ timezone: zone })
      const product = await w.bulk(store, 9)
      const [sample] = fc.sample(
        fc.array(fc.record({ hire: stretch, quantity: fc.integer({ min: 1, max: 3 }) }), {
          minLength: 6,
          maxLength: 6
        }),
        { numRuns: 1, seed: start % 10_007 }
      )
      const demands = sample!.map(({ hire, quantity }): CountedClaim => ({
        from: start + hire.from * minute,
        to: start + (hire.from + hire.length) * minute,
        quantity
      }))
      for (const one of demands) await demandOver(w.app, product.id, store, one.quantity, iso(one.from), iso(one.to))
      const to = start + window_minutes * minute
      const counted = countByMinutes(zone, resolution, start, to, demands, [
        { from: Number.NEGATIVE_INFINITY, to: openEnd, quantity: 9, is_unit: false }
      ])
      const asked = `store_id=${store}&from=${iso(start)}&to=${iso(to)}`
      const { availability } = (await w.get(`/products/${product.id}/availability?${asked}`)).body
      expect(
        availability.slots.map((slot) => [slot.slot_start, slot.total_stock, slot.total_demanded, slot.available])
      ).toEqual(counted.map((slot) => [slot.slot_start, slot.total_stock, slot.total_demanded, slot.available]))
      const middle = counted[Math.floor(counted.length / 2)]!
      expect(
        await w.show(`/products/${product.id}/availability?store_id=${store}&date=${middle.slot_start}`)
      ).toMatchObject({ total_demanded: middle.total_demanded, available: middle.available })
      const { calendar } = (await w.get(`/availability/calendar?${asked}`)).body
      // The calendar judges whole days, so only days entirely inside the window are compared.
      const days = countByMinutes(zone, "daily", start, to, demands, []).map(
        (day, at, all) => [day.slot_start, all[at + 1]?.slot_start ?? iso(to + 86_400_000)] as const
      )
      for (const [from, until] of days) {
        const whole = countByMinutes(
          zone,
          resolution,
          Date.parse(from),
          Date.parse(until),
          demands.flatMap((one) => cut(one, Date.parse(from), Date.parse(until))),
          []
        )
        const label = new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(Date.parse(from) + 43_200_000)
        const cell = calendar.products[0].days.find((one) => one.date === label)
        if (until <= iso(to))
          expect([zone, label, cell?.available]).toEqual([
            zone,
            label,
            9 - Math.max(...whole.map((slot) => slot.total_demanded))
          ])
      }
    }
  })
})
/** Part of a demand inside a day: a slot across midnight counts for each day only the demands of that day. */
const cut = (one: CountedClaim, from: number, to: number): ReadonlyArray<CountedClaim> =>
  one.from < to && one.to > from ? [{ ...one, from: Math.max(one.from, from), to: Math.min(one.to, to) }] : []
