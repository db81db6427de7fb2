import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { rangeAvailability } from "../../../core/availability/range.ts"
import { type Resolution, resolutions } from "../../../core/availability/slots.ts"
import { type App, openApp } from "../../app.ts"
import { demandOver } from "../stock-demands.ts"
import { sampleBusiness } from "../fixtures.ts"
import { P, snapshotFixture, bulk, demandFixture, unit } from "./fixtures.ts"
import { countByMinutes, type CountedClaim, type CountedStock } from "./minute-count.ts"

/** Windows that begin some hours before a change of each zone's clock: forward, then back. */
const changes: ReadonlyArray<readonly [zone: string, forward: string, back: string]> = [
  ["Australia/Lord_Howe", "2026-10-03T06:20Z", "2026-04-04T04:20Z"],
  ["Asia/Kathmandu", "1985-12-31T10:00Z", "2026-07-01T10:00Z"], // by a quarter of an hour in 1986, never again
  ["America/Sao_Paulo", "2018-11-03T16:00Z", "2019-02-16T12:00Z"], // at midnight, which does not exist or comes twice
  ["America/New_York", "2026-03-07T20:00Z", "2026-10-31T20:00Z"],
  ["Europe/London", "2026-03-28T16:00Z", "2026-10-24T16:00Z"],
  ["Pacific/Auckland", "2026-09-26T02:00Z", "2026-04-04T01:00Z"],
  ["Africa/Casablanca", "2026-03-21T14:00Z", "2026-02-14T14:00Z"],
  ["Pacific/Apia", "2020-09-26T02:00Z", "2021-04-03T01:00Z"],
  ["Pacific/Apia", "2011-12-29T20:00Z", "2011-12-30T05:00Z"] // over a day that was left out
]
const minute = 60_000
const window_minutes = 36 * 60
const openEnd = Date.parse("2199-01-01T00:00:00.000Z")
const iso = (instant: number): string => new Date(instant).toISOString()

const stretch = fc.record({
  from: fc.integer({ min: -1_500, max: window_minutes }),
  length: fc.integer({ min: 1, max: 1_600 })
})
const someDemands = fc.array(
  fc.record({ hire: stretch, isOpen: fc.boolean(), quantity: fc.integer({ min: 1, max: 4 }) }),
  { maxLength: 8 }
)
const someStock = fc.array(
  fc.record({
    isUnit: fc.boolean(),
    quantity: fc.integer({ min: 0, max: 6 }),
    window: fc.option(stretch, { nil: undefined })
  }),
  { minLength: 1, maxLength: 4 }
)
type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never

/** The same claims and levels for both sides; those for the count by hand are plain instants. */
const bothOf = (start: number, drawnDemands: Drawn<typeof someDemands>, drawnStock: Drawn<typeof someStock>) => {
  const demands = drawnDemands.map(({ hire, isOpen, quantity }): CountedClaim => ({
    from: start + hire.from * minute,
    to: isOpen ? openEnd : start + (hire.from + hire.length) * minute,
    quantity
  }))
  const stock = drawnStock.map(({ isUnit, quantity, window }): CountedStock => ({
    from: window === undefined ? Number.NEGATIVE_INFINITY : start + window.from * minute,
    to: window === undefined ? openEnd : start + (window.from + window.length) * minute,
    quantity,
    is_unit: isUnit
  }))
  return { claims: demands, stock }
}

describe("every slot is what its minutes add up to", () => {
  for (const [zone, forward, back] of changes) {
    for (const [way, from] of [
      ["forward", forward],
      ["back", back]
    ] as const) {
      it.each<Resolution>([...resolutions])(`${zone}, clocks ${way}, %s`, (resolution) => {
        const start = Date.parse(from),
          end = start + window_minutes * minute
        fc.assert(
          fc.property(someDemands, someStock, fc.integer({ min: 0, max: 700 }), (drawnDemands, drawnStock, late) => {
            const { claims: demands, stock } = bothOf(start, drawnDemands, drawnStock)
            const given = snapshotFixture({
              zone,
              resolution,
              now: iso(start),
              demands: demands.map((one) =>
                demandFixture(one.quantity, iso(one.from), one.to === openEnd ? null : iso(one.to))
              ),
              stock: stock.map((one, place) => {
                const window =
                  one.from === Number.NEGATIVE_INFINITY ? {} : { starts_at: iso(one.from), ends_at: iso(one.to) }
                return one.is_unit ? unit(place + 1, window) : bulk(one.quantity, window)
              })
            })
            const asked = { from: start + late * minute, to: end }
            expect(
              rangeAvailability(given, P, asked).slots.map(
                ({ available, slot_start, total_demanded, total_stock }) => ({
                  slot_start,
                  total_stock,
                  total_demanded,
                  available
                })
              )
            ).toEqual(countByMinutes(zone, resolution, asked.from, asked.to, demands, stock))
          }),
          { numRuns: 5, seed: 20_260_618 }
        )
      })
    }
  }
})

describe.each<Resolution>([...resolutions])("asked of a whole app, %s", (resolution) => {
  const opened: Array<App> = []
  afterAll(async () => {
    for (const app of opened) await app.close()
  })

  it("stores in eight zones answer what their minutes add up to, a day's lowest in the calendar", async () => {
    const app = await openApp("sqlite")
    opened.push(app)
    app.setClock("2026-06-18T12:00:00.000Z")
    const business = sampleBusiness(app)
    const settled = await app.call("PUT", "/api/v1/settings/availability", { settings: { resolution } })
    expect(settled.status).toBe(200)
    const near = changes
      .slice(0, 8)
      .map(([zone, forward, back]) => [zone, Math.max(Date.parse(forward), Date.parse(back))] as const)
      .map(
        ([zone, at]) =>
          [
            zone,
            at > Date.parse("2026-03-25") && at < Date.parse("2027-01-01") ? at : Date.parse("2026-07-01T07:10Z")
          ] as const
      )
    for (const [zone, start] of near) {
      const store = await business.store({ timezone: zone })
      const product = await business.bulk(store, 9)
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
      for (const one of demands) await demandOver(app, product.id, store, one.quantity, iso(one.from), iso(one.to))
      const to = start + window_minutes * minute
      const counted = countByMinutes(zone, resolution, start, to, demands, [
        { from: Number.NEGATIVE_INFINITY, to: openEnd, quantity: 9, is_unit: false }
      ])
      const asked = `store_id=${store}&from=${iso(start)}&to=${iso(to)}`
      const { availability } = (await app.call("GET", `/api/v1/products/${product.id}/availability?${asked}`)).body
      expect(
        availability.slots.map((slot: any) => [slot.slot_start, slot.total_stock, slot.total_demanded, slot.available])
      ).toEqual(counted.map((slot) => [slot.slot_start, slot.total_stock, slot.total_demanded, slot.available]))
      const middle = counted[Math.floor(counted.length / 2)]!
      expect(
        (
          await app.call(
            "GET",
            `/api/v1/products/${product.id}/availability?store_id=${store}&date=${middle.slot_start}`
          )
        ).body.availability
      ).toMatchObject({ total_demanded: middle.total_demanded, available: middle.available })
      const { calendar } = (await app.call("GET", `/api/v1/availability/calendar?${asked}`)).body
      // Days are judged whole, so only those wholly inside the window can be read off its slots.
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
        const cell = calendar.products[0].days.find((one: any) => one.date === label)
        if (until <= iso(to))
          expect([zone, label, cell.available]).toEqual([
            zone,
            label,
            9 - Math.max(...whole.map((slot) => slot.total_demanded))
          ])
      }
    }
  })
})
/** The part of a claim inside a day: a slot that straddles midnight is judged by its part of each day. */
const cut = (one: CountedClaim, from: number, to: number): ReadonlyArray<CountedClaim> =>
  one.from < to && one.to > from ? [{ ...one, from: Math.max(one.from, from), to: Math.min(one.to, to) }] : []
