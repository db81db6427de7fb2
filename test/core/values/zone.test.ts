import { expect, it } from "vitest"
import { dayOf, offsetAt, startOfDay } from "../../../core/values/time.ts"

it.each(["UTC", "Europe/London", "America/New_York", "Pacific/Auckland"])(
  "the first and last days that can be stored begin and end correctly in %s",
  (zone) => {
    for (const [day, next] of [
      ["0000-12-31", "0001-01-01"],
      ["0001-01-01", "0001-01-02"],
      ["1969-12-31", "1970-01-01"],
      ["2198-12-31", "2199-01-01"]
    ] as const) {
      expect([dayOf(startOfDay(day, zone), zone), dayOf(startOfDay(next, zone) - 1, zone)]).toEqual([day, day])
      expect(startOfDay(next, zone) - startOfDay(day, zone)).toBe(86_400_000)
    }
  }
)

it("a zone has offsets before year 0 and after year 9999", () => {
  const hours = 3_600_000
  expect(offsetAt(Date.parse("0000-01-01T05:00:00Z"), "Etc/GMT+12")).toBe(-12 * hours)
  expect(offsetAt(Date.parse("-000001-06-01T00:00:00Z"), "Etc/GMT+12")).toBe(-12 * hours)
  expect(offsetAt(Date.parse("9999-12-31T23:00:00Z"), "Asia/Tokyo")).toBe(9 * hours)
  expect(offsetAt(Date.parse("+010000-01-01T00:00:00Z"), "Asia/Tokyo")).toBe(9 * hours)
})
