import { expect, it } from "vitest"
import { dayOf, startOfDay } from "../../../core/values/zone.ts"

it.each(["UTC", "Europe/London", "America/New_York", "Pacific/Auckland"])("the first and last days there are begin and end in %s as any other", (zone) => {
  for (const [day, next] of [["0000-12-31", "0001-01-01"], ["0001-01-01", "0001-01-02"], ["1969-12-31", "1970-01-01"], ["2198-12-31", "2199-01-01"]] as const) {
    expect([dayOf(startOfDay(day, zone), zone), dayOf(startOfDay(next, zone) - 1, zone)]).toEqual([day, day])
    expect(startOfDay(next, zone) - startOfDay(day, zone)).toBe(86_400_000)
  }
})
