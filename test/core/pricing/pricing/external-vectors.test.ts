/**
 * The worked examples that Current RMS publishes for its rental charging engines, calculated by hand, to show where an
 * import gives the same figures and where it does not. Addresses are of the articles with the examples, read as stored
 * copies; "…" is https://help.current-rms.com.
 *
 *   D  …/en/articles/1043441-daily-rate-engine                          H  …/en/articles/1043664-hourly-rate-engine
 *   M  …/en/articles/1041187-daily-multiplier-and-factor-rate-engine    X  …/en/articles/1043658-hourly-multiplier-and-factor-rate-engine
 *   R  …/en/articles/1041106-what-is-rental-charging                    T  …/en/articles/1043669-monthly-rate-engine
 *   S  …/rental-charging/rental-charging-engines/fixed-rate-and-subs-days
 *
 * No article with figures was found for the weekly engine alone; "weeks and days" (…/en/articles/1043706) charges days as
 * a percentage of a week and has no counterpart among the twelve engines that are imported.
 *
 * Where figures differ, and why:
 *  1. Their multiplier list holds the number of days charged once the hire reaches a day: "day 10: 6" is six times the
 *     price altogether. Ours holds the multiplier of each day, and the days are added up (rules/rates 4.4). The same charge
 *     needs the list of differences: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, … for their three day week. The vectors use it.
 *  2. Their factor depends on the length of the hire, ours on the quantity (rules/rates 4.5): the ten percent they take
 *     off from two weeks on needs multipliers of the later days here, or a discount rule.
 *  3. Their subs days are a percentage of the fixed rate, ours a price: ten percent of 100 is entered as 10.00.
 *  4. Their "calendar day" type has no equal here: a day is 24 hours elapsed (rules/rates 4.1), their "24 hour clock". The two
 *     calendar days of their example are charged here with a first day cut-off before 11:00.
 *  5. Their leeway forgives an excess of less than the leeway; ours takes it off the whole. The same figures result.
 *  6. Their monthly article multiplies 1000 by 2 pieces and by 4 and calls it two months: 1000 × 2 × 2 is 4000, which is
 *     the total it gives and the figure here.
 */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { calculateRate, type RateMethod } from "../../../../core/pricing/pricing/engine.ts"

const method = (
  calculation_strategy: RateMethod["calculation_strategy"],
  base_period: RateMethod["base_period"],
  strategy_config = {}
): RateMethod => ({ calculation_strategy, base_period, strategy_config, enabled_modifiers: [], modifier_configs: {} })
const multiplied = (base: RateMethod, charged: ReadonlyArray<number>): RateMethod => ({
  ...base,
  enabled_modifiers: ["multiplier"],
  modifier_configs: {
    multiplier: { tiers: charged.map((days, at) => ({ multiplier: String(days - (charged[at - 1] ?? 0)) })) }
  }
})
/** Their published three day week: the number of days charged for a hire of 1 to 21 days. */
const three_day_week = [1, 2, 3, 3, 3, 3, 3, 4, 5, 6, 6, 6, 6, 6, 7, 8, 9, 9, 9, 9, 9]

const methods: { readonly [name: string]: RateMethod } = {
  daily: method("period", "daily"),
  "daily+60": method("period", "daily", { leeway_minutes: 60 }),
  "daily<10": method("period", "daily", { first_day_cutoff: "10:00" }),
  "3-day-week": multiplied(method("period", "daily"), three_day_week),
  hourly: method("period", "hourly"),
  "hourly+15": method("period", "hourly", { leeway_minutes: 15 }),
  monthly: method("period", "monthly"),
  fixed: method("fixed", null),
  "subs-4": method("hybrid", "daily", { fixed_charge: 10_000, fixed_period_units: 4 })
}

//   from           method      price  qty  start             end               units total    differs
const table = `
     D              daily         10.00  2  2026-01-02T09:00  2026-01-07T09:00    5   100.00   -
     D              daily          1.00  1  2026-01-02T11:00  2026-01-03T09:00    1     1.00   -
     D-calendar     daily<10       1.00  1  2026-01-02T11:00  2026-01-03T09:00    2     2.00   4
     D              daily          1.00  1  2026-01-02T11:00  2026-01-03T11:30    2     2.00   -
     D-leeway       daily+60       1.00  1  2026-01-02T11:00  2026-01-03T11:30    1     1.00   5
     R              daily         10.00  2  2026-01-02T09:00  2026-01-07T09:00    5   100.00   -
     R-3-day-week   3-day-week    10.00  2  2026-01-02T09:00  2026-01-07T09:00    5    60.00   1
     R-fixed        fixed         10.00  2  2026-01-02T09:00  2026-01-07T09:00    1    20.00   -
     M-day-7        3-day-week     1.00  1  2026-01-02T09:00  2026-01-09T09:00    7     3.00   1
     M-day-8        3-day-week     1.00  1  2026-01-02T09:00  2026-01-10T09:00    8     4.00   1
     M-day-10       3-day-week     1.00  1  2026-01-02T09:00  2026-01-12T09:00   10     6.00   1
     M-day-16       3-day-week     1.00  1  2026-01-02T09:00  2026-01-18T09:00   16     8.00   1
     M-beyond       3-day-week     1.00  1  2026-01-02T09:00  2026-01-27T09:00   25     9.00   1
     H              hourly        10.00  2  2026-01-02T09:00  2026-01-02T14:00    5   100.00   -
     H              hourly         1.00  1  2026-01-02T11:00  2026-01-02T12:10    2     2.00   -
     H-leeway       hourly+15      1.00  1  2026-01-02T11:00  2026-01-02T12:10    1     1.00   5
     X-leeway       hourly+15      1.00  1  2026-01-02T11:00  2026-01-02T12:10    1     1.00   5
     T              monthly     1000.00  2  2026-01-02T09:00  2026-03-03T09:00    2  4000.00   6
     S              subs-4        10.00  1  2026-01-02T09:00  2026-01-08T09:00    6   120.00   3
     S-within       subs-4        10.00  1  2026-01-02T09:00  2026-01-06T09:00    4   100.00   3
     S-fixed        fixed         10.00  2  2026-01-02T09:00  2026-01-07T09:00    1    20.00   -
`
  .trim()
  .split("\n")
  .map((row) => row.trim().split(/\s+/))

describe("prices published by rental software that rates are imported from", () => {
  it.each(table)(
    "are reproduced: %s, %s at %s × %s from %s to %s is %s units, %s",
    (_source, name, price, quantity, start, end, units, total) => {
      const request = {
        ...methods[name!]!,
        price: Number(price!.replace(".", "")),
        currency: "USD",
        quantity: Number(quantity),
        start: `${start}:00Z`,
        end: `${end}:00Z`
      }
      expect(Result.getOrThrow(calculateRate(request))).toMatchObject({ units: Number(units), total })
    }
  )
  it("are reproduced for a three-day week on each of 21 days", () => {
    three_day_week.forEach((days, at) => {
      const request = {
        ...methods["3-day-week"]!,
        price: 100,
        currency: "USD",
        quantity: 1,
        start: "2026-01-01T09:00:00Z",
        end: new Date(Date.UTC(2026, 0, 2 + at, 9)).toISOString()
      }
      expect([at + 1, Result.getOrThrow(calculateRate(request)).total]).toEqual([at + 1, `${days}.00`])
    })
  })
  it("are not reproduced for factors, which depend on the days there and on the quantity here", () => {
    const request = {
      ...method("period", "daily"),
      price: 100,
      currency: "USD",
      quantity: 1,
      start: "2026-01-01T09:00:00Z",
      end: "2026-01-15T09:00:00Z",
      enabled_modifiers: ["factor"],
      modifier_configs: {
        factor: {
          ranges: [
            { from: 1, to: 13, factor: "1" },
            { from: 14, to: null, factor: "0.9" }
          ]
        }
      }
    }
    expect(Result.getOrThrow(calculateRate(request)).total).toBe("14.00")
    expect(Result.getOrThrow(calculateRate({ ...request, quantity: 14 })).per_unit_subtotal).toBe("12.60")
  })
})
