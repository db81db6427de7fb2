import { describe, expect, it } from "vitest"
import {
  type Resolution,
  slotBounds,
  slotsTouched,
  TooManySlots
} from "../../../../../core/orders/availability/rules/demand.ts"

const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 16)
const ms = (text: string): number => Date.parse(text.length === 10 ? `${text}T00:00Z` : text)

describe("the slot of an instant", () => {
  it.each<[Resolution, string, string, string]>([
    ["daily", "America/New_York", "2026-03-02T02:00Z", "2026-03-01T05:00"],
    ["half_daily", "UTC", "2026-03-02T14:30Z", "2026-03-02T12:00"], // A17
    ["hourly", "UTC", "2026-03-02T14:37:12Z", "2026-03-02T14:00"],
    ["hourly", "Asia/Kolkata", "2026-03-02T14:37:12Z", "2026-03-02T14:00"], // the UTC hour, whatever the zone
    ["half_daily", "America/New_York", "2026-03-08T08:30Z", "2026-03-08T05:00"], // the 5 hours before 06:00
    ["half_daily", "America/New_York", "2026-03-08T10:00Z", "2026-03-08T10:00"],
    ["half_daily", "Australia/Lord_Howe", "2026-04-04T19:15Z", "2026-04-04T13:00"], // 05:45 local time
    ["daily", "America/Sao_Paulo", "2018-11-04T02:59Z", "2018-11-03T03:00"],
    ["daily", "America/Sao_Paulo", "2018-11-04T03:00Z", "2018-11-04T03:00"],
    ["daily", "UTC", "1969-12-31T23:59Z", "1969-12-31T00:00"]
  ])(
    "starts at the zone's half-day or day, or the UTC hour: with %s slots in %s, %s is in that from %sZ",
    (resolution, zone, instant, start) => {
      expect(slotBounds(ms(instant), ms(instant), resolution, zone).slice(0, 1).map(iso)).toEqual([start])
    }
  )
})

describe("the slots of a window", () => {
  it.each<[string, Resolution, string, string, string, ReadonlyArray<number>]>([
    ["clocks forward", "daily", "Europe/London", "2026-03-28T00:00Z", "2026-03-30T23:00Z", [24, 23, 24]],
    ["clocks back", "daily", "Europe/London", "2026-10-23T23:00Z", "2026-10-27T00:00Z", [24, 25, 24]],
    ["clocks forward", "half_daily", "Europe/London", "2026-03-29T00:00Z", "2026-03-29T23:00Z", [5, 6, 6, 6]],
    ["clocks back", "half_daily", "America/New_York", "2026-11-01T04:00Z", "2026-11-02T05:00Z", [7, 6, 6, 6]],
    [
      "half an hour back",
      "half_daily",
      "Australia/Lord_Howe",
      "2026-04-04T13:00Z",
      "2026-04-05T13:30Z",
      [6.5, 6, 6, 6]
    ],
    ["midnight skipped", "half_daily", "America/Sao_Paulo", "2018-11-04T03:00Z", "2018-11-05T02:00Z", [5, 6, 6, 6]],
    ["a whole day skipped", "daily", "Pacific/Apia", "2011-12-29T10:00Z", "2011-12-31T10:00Z", [24, 24]],
    ["hours stay hours", "hourly", "Europe/London", "2026-03-29T00:00Z", "2026-03-29T03:00Z", [1, 1, 1]],
    ["empty window, one slot", "daily", "UTC", "2026-07-01T12:00Z", "2026-07-01T12:00Z", [24]],
    ["empty window on a bound", "daily", "UTC", "2026-07-01T00:00Z", "2026-07-01T00:00Z", [24]],
    ["an end inside a slot", "daily", "UTC", "2026-07-01T23:00Z", "2026-07-02T00:01Z", [24, 24]]
  ])("have the hours of the local clock: %s, %s in %s", (_, resolution, zone, from, to, hours) => {
    const bounds = slotBounds(ms(from), ms(to), resolution, zone)
    expect(bounds.slice(1).map((bound, slot) => (bound - bounds[slot]!) / 3_600_000)).toEqual(hours)
    expect(bounds[0]!).toBeLessThanOrEqual(ms(from))
    expect(bounds.at(-1)!).toBeGreaterThanOrEqual(ms(to))
  })

  it("stay on local midnight over five years of clock changes", () => {
    const bounds = slotBounds(ms("2024-01-01T05:00Z"), ms("2029-01-01T05:00Z"), "daily", "America/New_York")
    expect(bounds).toHaveLength(1827 + 1)
    const hours = new Set(bounds.map((bound) => new Date(bound).getUTCHours()))
    expect(hours).toEqual(new Set([4, 5]))
  })

  it("are limited to 50,000", () => {
    const from = ms("2026-01-01")
    expect(slotBounds(from, from + 50_000 * 3_600_000, "hourly", "UTC")).toHaveLength(50_001)
    expect(() => slotBounds(from, from + 50_001 * 3_600_000, "hourly", "UTC")).toThrow(TooManySlots)
    expect(() => slotBounds(ms("0001-01-01"), ms("2199-01-01"), "daily", "Europe/London")).toThrow(TooManySlots)
  })
})

describe("the slots a period touches", () => {
  const bounds = [0, 10, 20, 30]
  it.each<[number, number, ReadonlyArray<number>]>([
    [0, 10, [0]],
    [0, 11, [0, 1]],
    [9, 10, [0]],
    [10, 20, [1]],
    [-5, 0, []],
    [-5, 1, [0]],
    [30, 40, []],
    [29, 90, [2]],
    [-9, 99, [0, 1, 2]],
    [5, 5, [0]],
    [10, 10, []]
  ])("are the slots it overlaps, its end excluded: from %d to %d they are %j", (from, to, touched) => {
    const { first, last } = slotsTouched(bounds, from, to)
    expect([0, 1, 2].filter((slot) => first <= slot && slot <= last)).toEqual(touched)
  })
})
