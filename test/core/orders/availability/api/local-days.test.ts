import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dayOfMoment, endOfMoment, localDays, momentOf } from "../../../../../core/values/period.ts"
import { dayOf, instantOfWall, isZone, offsetAt, startOfDay, zoneOf } from "../../../../../core/values/time.ts"
import { words } from "../../../../words.ts"

const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 16)

/** Converts instants to a zone's wall time with `Intl`; the result is that wall time as UTC. */
const clockIn = (zone: string) => {
  const clock = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit"
  })
  return (instant: number): number => Date.parse(`${clock.format(instant).replace(" ", "T")}Z`)
}

describe("the local time of a zone", () => {
  const zones = words(`
    UTC Europe/London America/New_York Australia/Lord_Howe America/Sao_Paulo Asia/Kolkata Africa/Casablanca
    America/St_Johns Pacific/Apia Asia/Tehran America/Havana Africa/Cairo Africa/Monrovia
  `)

  it.each(zones)("agrees with the platform at random seconds from 1950 to 2040 in %s", (zone) => {
    const shown = clockIn(zone)
    fc.assert(
      fc.property(fc.integer({ min: -631_152_000, max: 2_208_988_800 }), (second) => {
        expect(offsetAt(second * 1000, zone)).toBe(shown(second * 1000) - second * 1000)
      }),
      { numRuns: 150, seed: 7 }
    )
  })

  it.each(zones)("puts random seconds in %s after the start of their day and before the start of the next", (zone) => {
    fc.assert(
      fc.property(fc.integer({ min: -631_152_000, max: 2_208_988_800 }), (second) => {
        const date = dayOf(second * 1000, zone)
        const next = new Date(Date.parse(`${date}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
        expect(startOfDay(date, zone)).toBeLessThanOrEqual(second * 1000)
        expect(startOfDay(next, zone)).toBeGreaterThan(second * 1000)
      }),
      { numRuns: 150, seed: 7 }
    )
  })

  it("refers to the first of two instants when repeated, and to the end of the gap when skipped", () => {
    expect(iso(instantOfWall(Date.parse("2026-10-25T01:30Z"), "Europe/London"))).toBe("2026-10-25T00:30")
    expect(iso(instantOfWall(Date.parse("2026-03-29T01:30Z"), "Europe/London"))).toBe("2026-03-29T01:00")
  })

  it("exists for each known zone name, and is UTC for a missing or blank one", () => {
    expect([isZone("Europe/London"), isZone("Mars/Olympus")]).toEqual([true, false])
    expect([zoneOf(null), zoneOf(" "), zoneOf("Asia/Tokyo")]).toEqual(["UTC", "UTC", "Asia/Tokyo"])
  })
})

describe("a store-local day", () => {
  //  zone                   date          starts              hours
  it.each([
    ["UTC", "2026-07-01", "2026-07-01T00:00", 24],
    ["Europe/London", "2026-03-29", "2026-03-29T00:00", 23],
    ["Europe/London", "2026-10-25", "2026-10-24T23:00", 25],
    ["America/New_York", "2026-03-08", "2026-03-08T05:00", 23],
    ["America/New_York", "2026-11-01", "2026-11-01T04:00", 25],
    ["Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00", 24.5],
    ["Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30", 23.5],
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00", 23], // midnight is skipped: the day begins at 01:00
    ["America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00", 25], // 23:00 to 24:00 comes twice
    ["America/Havana", "2026-11-01", "2026-11-01T04:00", 25], // 00:00 to 01:00 comes twice
    ["Asia/Kolkata", "2026-07-01", "2026-06-30T18:30", 24],
    ["Asia/Kathmandu", "2026-07-01", "2026-06-30T18:15", 24],
    ["Pacific/Auckland", "2026-07-02", "2026-07-01T12:00", 24]
  ])("begins in %s on %s at %sZ and has %d hours", (zone, date, starts, hours) => {
    const [day] = localDays(date, date, zone)
    expect([iso(day!.from), (day!.to - day!.from) / 3_600_000]).toEqual([starts, hours])
  })

  it("does not exist if the zone skipped it", () => {
    expect(localDays("2011-12-29", "2011-12-31", "Pacific/Apia").map((day) => day.date)).toEqual([
      "2011-12-29",
      "2011-12-31"
    ])
    expect(dayOf(Date.parse("2011-12-30T10:00Z"), "Pacific/Apia")).toBe("2011-12-31")
  })

  it("includes the hour that repeats when the clock is set back a minute after midnight", () => {
    // St John's put its clocks back at 00:01, so 23:01 to 24:00 of the day before came again.
    expect(dayOf(Date.parse("2008-11-02T02:30:30Z"), "America/St_Johns")).toBe("2008-11-02")
    expect(dayOf(Date.parse("2008-11-02T03:00:00Z"), "America/St_Johns")).toBe("2008-11-02")
  })
})

describe("a date or time as text", () => {
  it.each([
    ["2026-07-02", "America/New_York", "2026-07-02T04:00", "2026-07-02"],
    ["2026-07-02", "Asia/Tokyo", "2026-07-01T15:00", "2026-07-02"],
    ["2026-07-02T01:00:00.000Z", "America/New_York", "2026-07-02T01:00", "2026-07-01"],
    ["2026-07-02T01:00:00+02:00", "UTC", "2026-07-01T23:00", "2026-07-01"]
  ])("is read in the store's zone: %s in %s is %sZ, on %s", (text, zone, instant, date) => {
    const moment = momentOf(text, zone)!
    expect([iso(moment.at), dayOfMoment(moment, zone)]).toEqual([instant, date])
  })

  it.each(["", "tomorrow", "2026-02-30", "2026-13-01", "2026-07-02T25:00:00Z", "20260702"])(
    "is rejected: %j",
    (text) => {
      expect(momentOf(text, "UTC")).toBeUndefined()
    }
  )

  it("ends a window after the full day if it is a plain date", () => {
    expect(iso(endOfMoment(momentOf("2026-07-02", "UTC")!, "UTC"))).toBe("2026-07-03T00:00")
    expect(iso(endOfMoment(momentOf("2026-07-02T10:00:00Z", "UTC")!, "UTC"))).toBe("2026-07-02T10:00")
  })
})
