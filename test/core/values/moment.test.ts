import { describe, expect, it } from "vitest"
import {
  isPlainDate,
  minuteOfDay,
  parseMoment,
  parseTimeOfDay,
  plainDateOf,
  startOfDay
} from "../../../core/values/moment.ts"

const read = (text: string) => {
  const moment = parseMoment(text)
  return moment === undefined ? undefined : new Date(moment.epoch_ms).toISOString()
}

describe("a moment", () => {
  it.each([
    ["2026-01-05", "2026-01-05T00:00:00.000Z"],
    ["2026-01-05T09:30", "2026-01-05T09:30:00.000Z"],
    ["2026-01-05 09:30:15", "2026-01-05T09:30:15.000Z"],
    ["2026-01-05T09:30:15.123456Z", "2026-01-05T09:30:15.123Z"],
    ["2026-01-05T09:30:15.5Z", "2026-01-05T09:30:15.500Z"],
    ["2026-07-01T00:30:00+02:00", "2026-06-30T22:30:00.000Z"],
    ["2026-07-01T00:30:00-0530", "2026-07-01T06:00:00.000Z"],
    ["2026-07-01T00:30:00+02", "2026-06-30T22:30:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"]
  ])("is read from %s as %s", (text, instant) => {
    expect(read(text)).toBe(instant)
  })

  it.each([
    "",
    "soon",
    "2026-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-01-05T24:00",
    "2026-01-05T09:60",
    "2026-01-05T09:30+25:00",
    "05/01/2026",
    "2026-1-5"
  ])("is not read from %j", (text) => {
    expect(parseMoment(text)).toBeUndefined()
  })

  it("has its day and time of day in its own offset", () => {
    const moment = parseMoment("2026-07-01T00:30:59+02:00")
    if (moment === undefined) throw new Error("not read")
    expect(plainDateOf(moment)).toBe("2026-07-01")
    expect(minuteOfDay(moment)).toBe(30)
    expect(new Date(startOfDay(moment).epoch_ms).toISOString()).toBe("2026-06-30T22:00:00.000Z")
  })

  it("counts days before 1970 as well", () => {
    const moment = parseMoment("1969-12-31T23:15:00Z")
    if (moment === undefined) throw new Error("not read")
    expect(minuteOfDay(moment)).toBe(23 * 60 + 15)
    expect(plainDateOf(startOfDay(moment))).toBe("1969-12-31")
  })

  it("is a plain date only as an existing day without a time", () => {
    expect([isPlainDate("2026-06-30"), isPlainDate("2026-06-31"), isPlainDate("2026-06-30T00:00")]).toEqual([
      true,
      false,
      false
    ])
  })
})

describe("a time of day", () => {
  it.each<[unknown, number | undefined]>([
    ["00:00", 0],
    ["09:00", 540],
    ["23:59", 1439],
    ["24:00", undefined],
    ["9:00", undefined],
    ["09:00:00", undefined],
    ["", undefined],
    [900, undefined]
  ])("is read from %j as minute %j", (text, minute) => {
    expect(parseTimeOfDay(text)).toBe(minute)
  })
})
