import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { earliestFit, type FitRequest } from "../../../../../core/orders/availability/rules/fit.ts"
import { freeUnits } from "../../../../../core/orders/availability/rules/kits.ts"
import { type Resolution, slotBounds } from "../../../../../core/orders/availability/rules/demand.ts"
import { dayOf, startOfDay, wallOf } from "../../../../../core/values/time.ts"
import { type App, engines, viewerWith } from "../../../../app.ts"
import { appHouse, errorKeys, refused } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"
import { P, at, snapshot, bulk, demand, ms, pool, product, resolutions } from "./fixtures.ts"

const day = 86_400_000
const asked = (from: string, until: string, days: number, more: Partial<FitRequest> = {}): FitRequest => ({
  lines: [{ product_id: P, quantity: 1 }],
  from: ms(from),
  until: ms(until),
  duration: { days },
  align: "slot",
  ...more
})
const lines = (...of: ReadonlyArray<readonly [product_id: number, quantity: number]>) => ({
  lines: of.map(([product_id, quantity]) => ({ product_id, quantity }))
})
const window = (starts_at: string, ends_at: string) => ({
  window: { starts_at: at(starts_at), ends_at: at(ends_at) },
  reason: null,
  bottleneck: null
})

describe("the first window in which a list of products is free", () => {
  it("is immediate if nothing is booked", () => {
    expect(earliestFit(snapshot({ stock: [bulk(1)] }), asked("07-01", "07-10", 3))).toEqual(window("07-01", "07-04"))
  })
  it("is the first gap that is long enough", () => {
    const given = snapshot({ stock: [bulk(1)], demands: [demand(1, "07-02", "07-04"), demand(1, "07-06", "07-09")] })
    expect(earliestFit(given, asked("07-01", "07-20", 1))).toEqual(window("07-01", "07-02"))
    expect(earliestFit(given, asked("07-01", "07-20", 2))).toEqual(window("07-04", "07-06"))
    expect(earliestFit(given, asked("07-01", "07-20", 3))).toEqual(window("07-09", "07-12"))
  })
  it("leaves room for each product's preparation and turnaround", () => {
    const given = snapshot({
      stock: [bulk(1)],
      products: [product(P, { before_minutes: 1440, after_minutes: 2880 })],
      demands: [demand(1, "07-02", "07-04"), demand(1, "07-08", "07-09")]
    })
    // Free from the 4th to the 8th: a day before, two days after, one day's hire on the 5th.
    expect(earliestFit(given, asked("07-01", "07-20", 1))).toEqual(window("07-05", "07-06"))
    expect(earliestFit(given, asked("07-01", "07-20", 2))).toEqual(window("07-10", "07-12"))
  })
  it("adds up the demand of several lines and kits for one product", () => {
    const kit = product(9, { is_kit: true, parts: [pool(P, 2)] })
    const given = snapshot({ stock: [bulk(5)], products: [kit, product(P)], demands: [demand(2, "07-01", "07-03")] })
    expect(earliestFit(given, asked("07-01", "07-20", 1, lines([9, 1], [P, 2])))).toEqual(window("07-03", "07-04"))
    expect(earliestFit(given, asked("07-01", "07-20", 1, lines([9, 2], [P, 2])))).toEqual({
      window: null,
      reason: "not_enough",
      bottleneck: { product_id: P, product_name: "Product 100", needed_quantity: 6, most_available: 5, lines: [0, 1] }
    })
  })
  it("has all products free at once; if there is none, the product booked longest is named", () => {
    const Q = 101
    const given = snapshot({
      stock: [bulk(1), bulk(1, { product_id: Q })],
      demands: [demand(1, "07-01", "07-04"), demand(1, "07-04", "07-10", { product_id: Q })]
    })
    const both = lines([P, 1], [Q, 1])
    expect(earliestFit(given, asked("07-01", "07-12", 2, both))).toEqual(window("07-10", "07-12"))
    expect(earliestFit(given, asked("07-01", "07-10", 2, both))).toEqual({
      window: null,
      reason: "no_common_window",
      bottleneck: { product_id: Q, product_name: null, needed_quantity: 1, most_available: 1, lines: [1] }
    })
    expect(earliestFit(given, asked("07-01", "07-08", 4, both))).toMatchObject({
      window: null,
      reason: "booked",
      bottleneck: { product_id: Q, lines: [1] }
    })
  })
  it("does not exist if the search is shorter than the hire", () => {
    expect(earliestFit(snapshot({ stock: [bulk(1)] }), asked("07-01", "07-03", 3))).toEqual({
      window: null,
      reason: "window_too_short",
      bottleneck: null
    })
    expect(
      earliestFit(snapshot({ stock: [bulk(1)] }), asked("07-01T12:00", "07-04", 3, { align: "day" }))
    ).toMatchObject({ reason: "window_too_short" })
  })
  it("never exists for a kit without parts, and is immediate for an untracked product", () => {
    const kit = product(9, { is_kit: true })
    expect(earliestFit(snapshot({ products: [kit] }), asked("07-01", "07-05", 1, lines([9, 1])))).toMatchObject({
      reason: "not_enough",
      bottleneck: { product_id: 9, most_available: 0 }
    })
    expect(
      earliestFit(snapshot({ products: [product(P, { track_availability: false })] }), asked("07-01", "07-05", 1))
    ).toEqual(window("07-01", "07-02"))
  })
  it("starts at a slot, at a day of the store or at any moment, as requested", () => {
    const given = snapshot({
      resolution: "hourly",
      zone: "Asia/Kathmandu",
      stock: [bulk(1)],
      demands: [demand(1, "07-01", "07-02T01:30")]
    })
    const start = (align: FitRequest["align"]) =>
      earliestFit(given, asked("07-01", "07-09", 1, { align, duration: { minutes: 90 } })).window?.starts_at
    // The hour from 01:00 is taken, so the first free moment is 02:00; midnight in Kathmandu is 18:15.
    expect([start("none"), start("slot"), start("day")]).toEqual([
      at("07-02T02:00"),
      at("07-02T02:00"),
      at("07-02T18:15")
    ])
    expect(
      earliestFit(
        snapshot({ stock: [bulk(1)] }),
        asked("07-01T08:20", "07-09", 1, { align: "none", duration: { minutes: 45 } })
      )
    ).toEqual(window("07-01T08:20", "07-01T09:05"))
  })
  it("counts days in the store's time zone", () => {
    const given = snapshot({ zone: "Europe/London", stock: [bulk(1)] })
    expect(earliestFit(given, asked("03-28", "04-09", 2))).toEqual(window("03-28", "03-29T23:00"))
  })

  it("equals the one found by trying every slot or day", () => {
    const zones = ["UTC", "Europe/London", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
    const hours = (max: number) => fc.integer({ min: 0, max })
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom<Resolution>(...resolutions),
        fc.constantFrom<FitRequest["align"]>("slot", "day"),
        fc.array(
          fc.record({
            of: fc.constantFrom(P, 101),
            from: hours(240),
            length: fc.integer({ min: 1, max: 60 }),
            quantity: fc.integer({ min: 1, max: 3 })
          }),
          { maxLength: 14 }
        ),
        fc.record({
          a: fc.integer({ min: 0, max: 4 }),
          b: fc.integer({ min: 1, max: 4 }),
          before: hours(5),
          after: hours(30)
        }),
        fc.oneof(
          fc.record({ minutes: fc.integer({ min: 1, max: 4_000 }) }),
          fc.record({ days: fc.integer({ min: 1, max: 4 }) })
        ),
        (zone, resolution, align, drawn, { a, after, b, before }, duration) => {
          const first = Date.parse("2026-03-26T05:00Z")
          const lines = [
            { product_id: P, quantity: 2 },
            { product_id: 101, quantity: 1 }
          ]
          const given = snapshot({
            zone,
            resolution,
            stock: [bulk(a), bulk(b, { product_id: 101 })],
            products: [product(P, { before_minutes: before * 60, after_minutes: after * 60 }), product(101)],
            demands: drawn.map(({ from, length, of, quantity }) =>
              demand(
                quantity,
                new Date(first + from * 3_600_000).toISOString(),
                new Date(first + (from + length) * 3_600_000).toISOString(),
                { product_id: of }
              )
            )
          })
          const search = { lines, from: first, until: first + 9 * day, duration, align }
          const fits = (start: number): boolean => {
            const end = endOf(start, duration, zone)
            return (
              end <= search.until &&
              lines.every(({ product_id, quantity }) => {
                const margin =
                  product_id === P ? { before: before * 3_600_000, after: after * 3_600_000 } : { before: 0, after: 0 }
                return freeUnits(
                  given,
                  product_id,
                  slotBounds(start - margin.before, end + margin.after, resolution, zone)
                )!.every((units) => units >= quantity)
              })
            )
          }
          const starts =
            align === "slot"
              ? slotBounds(search.from, search.until, resolution, zone)
              : Array.from({ length: 12 }, (_, index) => startOfDay(dayOf(first + index * day, zone), zone))
          const expected = [...new Set(starts)]
            .sort((one, other) => one - other)
            .find((start) => start >= search.from && start < search.until && fits(start))
          expect(earliestFit(given, search).window?.starts_at).toBe(
            expected === undefined ? undefined : new Date(expected).toISOString()
          )
        }
      ),
      { numRuns: 400, seed: 620 }
    )
  })
})
/** End of a hire; for days, the same wall time that many days later, found by trying every minute. */
const endOf = (start: number, duration: FitRequest["duration"], zone: string): number => {
  if ("minutes" in duration) return start + duration.minutes * 60_000
  const wall = wallOf(start, zone) + duration.days * day
  let end = start + duration.days * day - 3 * 3_600_000
  while (wallOf(end, zone) < wall) end += 60_000
  return end
}

describe.each(engines)("the first free window on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store({ timezone: "America/New_York" })
  })
  const ask = (body: object, viewer?: Parameters<App["call"]>[3]) => w.post("/availability/earliest_fit", body, viewer)

  it("is found in the store's time zone, and planning it shows no shortage", async () => {
    const [P, Q] = [await w.bulk(S, 2), await w.bulk(S, 1)]
    await demandOver(w.app, P.id, S, 1, "07-01T04:00", "07-03T04:00")
    await demandOver(w.app, Q.id, S, 1, "07-04T04:00", "07-06T04:00")
    const lines = [{ product_id: P.id, quantity: 2 }, { product_id: Q.id }]
    const until = (day: string, more: object = {}) =>
      ask({ store_id: S, lines, from: "2026-07-01", until: day, duration_days: 2, ...more })
    const { body, status } = await until("2026-07-10", { align: "day" })
    expect([status, body.earliest_fit]).toEqual([
      200,
      {
        store_id: S,
        window: { starts_at: "2026-07-06T04:00:00.000Z", ends_at: "2026-07-08T04:00:00.000Z" },
        reason: null,
        bottleneck: null
      }
    ])
    const plan = await w.post("/availability/what_if", {
      store_id: S,
      lines: lines.map((line) => ({ ...line, ...body.earliest_fit.window }))
    })
    expect(plan.body.what_if.has_shortage).toBe(false)
    // `until` as a plain date includes that day.
    expect((await until("2026-07-07")).body.earliest_fit.window.ends_at).toBe("2026-07-08T04:00:00.000Z")
    const { bottleneck, reason, window } = (await until("2026-07-06")).body.earliest_fit
    expect([window, reason, bottleneck.product_id]).toEqual([null, "no_common_window", P.id])
  })
  it("cannot be requested with invalid values, named by field, or without permission", async () => {
    const P = await w.bulk(S, 1)
    const good = {
      store_id: S,
      lines: [{ product_id: P.id }],
      from: "2026-07-01",
      until: "2026-07-10",
      duration_days: 1
    }
    const { duration_days: _d, ...endless } = good
    expect(errorKeys(await ask(good))).toEqual([200, []])
    await refused(ask(endless), "duration_days")
    await refused(ask({ ...good, duration_minutes: 60 }), "duration_days")
    await refused(ask({ ...endless, duration_minutes: 0 }), "duration_minutes")
    await refused(ask({ ...good, until: "2026-06-30" }), "until")
    await refused(ask({ ...good, until: "2027-07-10" }), "until")
    await refused(ask({ ...good, lines: [{ quantity: 1 }] }), "lines.0.product_id")
    await refused(ask({ ...good, align: "week" }), "align")
    await refused(ask({}), "duration_days", "from", "lines", "store_id", "until")
    expect((await ask(good, viewerWith([], ["availability:read"]))).status).toBe(403)
  })
})
