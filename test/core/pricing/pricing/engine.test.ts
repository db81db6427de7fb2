/** Tables of prices at every boundary of rules/rates 4, calculated by hand. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { RateBreakdown } from "../../../../core/pricing/pricing/modifiers.ts"
import { calculateRate, type RateRequest } from "../../../../core/pricing/pricing/engine.ts"
import { tableRows } from "../../../words.ts"

const request = (over: Partial<RateRequest>): RateRequest => ({
  calculation_strategy: "period",
  base_period: "daily",
  strategy_config: {},
  enabled_modifiers: [],
  modifier_configs: {},
  price: 10_000,
  currency: "GBP",
  start: "2026-01-05",
  end: "2026-01-10",
  quantity: 1,
  ...over
})
const breakdown = (over: Partial<RateRequest>) => Result.getOrThrow(calculateRate(request(over)))

/** Reads `leeway_minutes=30 last_day_cutoff=09:00` as an object. */
const options = (text: string): { [key: string]: string | number } =>
  Object.fromEntries(
    text
      .split(" ")
      .filter((word) => word !== "")
      .map((word) => {
        const [key = "", value = ""] = word.split("=")
        return [key, /^\d+$/.test(value) ? Number(value) : value]
      })
  )
/** Reads `2026-01-12 09:00` as UTC; dates alone and times with an offset stay unchanged. */
const at = (text: string): string => (text.includes(" ") ? `${text.replace(" ", "T")}Z` : text)
/** Writes line items as `1-2 x1.0 @100.00 = 200.00`, joined by semicolons. */
const drawn = (lines: RateBreakdown["line_items"]): string =>
  lines
    .map((one) => `${one.period_from}-${one.period_to} x${one.multiplier} @${one.unit_price} = ${one.line_total}`)
    .join("; ")
const listed = <A>(text: string, read: (one: string) => A): ReadonlyArray<A> =>
  text === "none" ? [] : text.split(",").map(read)

describe("units of a hire (rules/rates 4.1)", () => {
  // 12 January 2026 is a Monday.
  const table = tableRows(`
    a day of leeway is taken off once, not each day            | daily       | leeway_minutes=1440                                | 2026-01-12 00:00          | 2026-01-14 00:00          | 1
    a minute more than leeway starts the second day            | daily       | leeway_minutes=1440                                | 2026-01-12 00:00          | 2026-01-14 00:01          | 2
    one day and leeway and a minute                            | daily       | leeway_minutes=30                                  | 2026-01-12 08:00          | 2026-01-13 08:31          | 2
    a day and the leeway exactly                               | daily       | leeway_minutes=30                                  | 2026-01-12 08:00          | 2026-01-13 08:30          | 1
    no leeway by default                                       | daily       |                                                    | 2026-01-12 08:00          | 2026-01-13 08:01          | 2
    the seconds of a minute not full are dropped               | daily       |                                                    | 2026-01-12 09:00:59       | 2026-01-13 09:01:58       | 1
    the last second makes the minute full                      | daily       |                                                    | 2026-01-12 09:00:59       | 2026-01-13 09:01:59       | 2
    first day cut-off at midnight, collected at midnight       | daily       | first_day_cutoff=00:00                             | 2026-01-12 00:00          | 2026-01-13 00:00          | 1
    first day cut-off at midnight, collected a minute later    | daily       | first_day_cutoff=00:00                             | 2026-01-12 00:01          | 2026-01-13 00:01          | 2
    first day cut-off to the minute, 59 seconds do not count   | daily       | first_day_cutoff=12:00                             | 2026-01-12 12:00:59       | 2026-01-13 12:00:58       | 1
    first day cut-off exactly at the minute                    | daily       | first_day_cutoff=12:00                             | 2026-01-12 12:00          | 2026-01-13 12:00          | 1
    last day cut-off exactly at the minute changes nothing     | daily       | last_day_cutoff=09:00                              | 2026-01-12 00:00          | 2026-01-14 09:00          | 3
    last day cut-off, a second before the minute               | daily       | last_day_cutoff=09:00                              | 2026-01-12 00:00          | 2026-01-14 08:59:59       | 2
    last day cut-off at the minute, with seconds               | daily       | last_day_cutoff=09:00                              | 2026-01-12 00:00          | 2026-01-14 09:00:30       | 3
    the latest last day cut-off                                | daily       | last_day_cutoff=23:59                              | 2026-01-12 10:00          | 2026-01-13 23:58          | 1
    the latest last day cut-off, reached                       | daily       | last_day_cutoff=23:59                              | 2026-01-12 10:00          | 2026-01-13 23:59          | 2
    a last day cut-off at midnight never cuts                  | daily       | last_day_cutoff=00:00                              | 2026-01-12 10:00          | 2026-01-13 10:00          | 1
    last day cut-off before the start: still one day           | daily       | last_day_cutoff=12:00                              | 2026-01-12 09:00          | 2026-01-12 10:00          | 1
    both cut-offs on one day leave nothing, charged as one     | daily       | first_day_cutoff=08:00 last_day_cutoff=12:00       | 2026-01-12 09:00          | 2026-01-12 10:00          | 1
    a first day cut-off and leeway together                    | daily       | first_day_cutoff=12:00 leeway_minutes=60           | 2026-01-12 13:00          | 2026-01-13 01:00          | 1
    a first day cut-off and leeway, a minute over              | daily       | first_day_cutoff=12:00 leeway_minutes=60           | 2026-01-12 13:00          | 2026-01-13 01:01          | 2
    a week honours the first day cut-off                       | weekly      | first_day_cutoff=12:00                             | 2026-01-12 14:00          | 2026-01-19 13:00          | 2
    a week without cut-off                                     | weekly      |                                                    | 2026-01-12 14:00          | 2026-01-19 13:00          | 1
    a month honours the last day cut-off                       | monthly     | last_day_cutoff=09:00                              | 2026-01-01 00:00          | 2026-01-31 08:00          | 1
    a month and some hours                                     | monthly     |                                                    | 2026-01-01 00:00          | 2026-01-31 08:00          | 2
    a month of 31 days with a day of leeway                    | monthly     | leeway_minutes=1440                                | 2026-01-01 00:00          | 2026-02-01 00:00          | 1
    thirty days exactly over a month's end                     | monthly     |                                                    | 2026-01-15 06:00          | 2026-02-14 06:00          | 1
    thirty days and a minute                                   | monthly     |                                                    | 2026-01-15 06:00          | 2026-02-14 06:01          | 2
    February of a leap year is one month                       | monthly     |                                                    | 2028-02-01 00:00          | 2028-03-01 00:00          | 1
    the leap day is a day                                      | daily       |                                                    | 2028-02-28 00:00          | 2028-03-01 00:00          | 2
    no leap day in a common year                               | daily       |                                                    | 2026-02-28 00:00          | 2026-03-01 00:00          | 1
    half hours ignore both cut-offs                            | half_hourly | first_day_cutoff=08:00 last_day_cutoff=23:00       | 2026-01-12 09:00          | 2026-01-12 10:01          | 3
    half an hour exactly                                       | half_hourly |                                                    | 2026-01-12 23:45          | 2026-01-13 00:15          | 1
    an hour and leeway exactly                                 | hourly      | leeway_minutes=5                                   | 2026-01-12 09:00          | 2026-01-12 10:05          | 1
    a five day week and leeway exactly                         | weekly      | rental_days_per_week=5 leeway_minutes=60           | 2026-01-12 00:00          | 2026-01-17 01:00          | 1
    a five day week, leeway and a minute                       | weekly      | rental_days_per_week=5 leeway_minutes=60           | 2026-01-12 00:00          | 2026-01-17 01:01          | 2
    a six day week, fortnight                                  | weekly      | rental_days_per_week=6                             | 2026-01-12 00:00          | 2026-01-26 00:00          | 3
    three working days of eight hours are a day of 24          | daily       | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 09:00 | 2026-01-14 17:00 | 1
    a minute of the fourth working day                         | daily       | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 09:00 | 2026-01-15 09:01 | 2
    hours over a weekend count                                 | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-16 15:00 | 2026-01-19 11:00 | 20
    hours over Christmas and New Year count                    | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-12-24 09:00 | 2027-01-02 17:00 | 80
    back at opening time: nothing of that day                  | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 09:00 | 2026-01-13 09:00 | 8
    out at closing time: nothing of that day                   | half_hourly | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 17:00 | 2026-01-13 09:31 | 2
    whole minutes of each day, then added                      | half_hourly | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 16:44:30 | 2026-01-13 09:15:45 | 1
    equal opening and closing times: no hours                  | hourly      | day_type=business business_hours_start=09:00 business_hours_end=09:00 | 2026-01-12 00:00 | 2026-01-15 00:00 | 1
    the first day cut-off gives back the morning's hours       | daily       | day_type=business business_hours_start=09:00 business_hours_end=17:00 first_day_cutoff=11:00 | 2026-01-12 12:00 | 2026-01-15 09:01 | 2
    with no cut-off only the afternoon counts                  | daily       | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 12:00 | 2026-01-15 09:01 | 1
    a five day week of working hours is fifteen working days   | weekly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 rental_days_per_week=5 | 2026-01-05 09:00 | 2026-01-19 17:00 | 1
    fifteen working days and a minute                          | weekly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 rental_days_per_week=5 | 2026-01-05 09:00 | 2026-01-20 09:01 | 2
    hours of a clock rate are not narrowed by business hours   | hourly      | day_type=clock business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 00:00 | 2026-01-13 00:00 | 24
    dates alone are midnights of UTC                           | daily       |                                                    | 2026-01-12                | 2026-01-15                | 3
    start and end at the same time                             | daily       |                                                    | 2026-01-12 09:00          | 2026-01-12 09:00          | 1
    the night the clocks go forward, with offsets              | daily       |                                                    | 2026-03-28T09:00:00+00:00 | 2026-03-29T10:00:00+01:00 | 1
    the night the clocks go back, with offsets                 | daily       |                                                    | 2026-10-24T09:00:00+01:00 | 2026-10-25T09:00:00+00:00 | 2
    the night the clocks go back, with an hour of leeway       | daily       | leeway_minutes=60                                  | 2026-10-24T09:00:00+01:00 | 2026-10-25T09:00:00+00:00 | 1
    last day cut-off in the end's own offset                   | daily       | last_day_cutoff=09:00                              | 2026-01-13T00:00:00-05:00 | 2026-01-14T08:30:00-05:00 | 1
    the same instants in UTC are not cut                       | daily       | last_day_cutoff=09:00                              | 2026-01-13T05:00:00Z      | 2026-01-14T13:30:00Z      | 2
    first day cut-off in the start's own offset                | daily       | first_day_cutoff=12:00                             | 2026-01-12T11:00:00-05:00 | 2026-01-13T11:00:00-05:00 | 1
    the same instants in UTC begin at midnight                 | daily       | first_day_cutoff=12:00                             | 2026-01-12T16:00:00Z      | 2026-01-13T16:00:00Z      | 2
    business hours in the submitted offset                     | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-07-01T08:00:00+02:00 | 2026-07-01T12:00:00+02:00 | 3
    the same instants in UTC touch less of the day             | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-07-01T06:00:00Z | 2026-07-01T10:00:00Z | 1
    business hours when the clocks go forward on Sunday        | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-03-27T09:00:00+00:00 | 2026-03-30T17:00:00+01:00 | 32
    business hours when the clocks go back on Sunday           | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-10-23T09:00:00+01:00 | 2026-10-26T10:00:00+00:00 | 25
    a time without an offset is UTC                            | daily       | last_day_cutoff=09:00                              | 2026-01-12T00:00:00       | 2026-01-13T08:59:00       | 1
    a year that has a leap day                                 | weekly      |                                                    | 2028-01-01 00:00          | 2029-01-01 00:00          | 53
    an end before the start counts as one                      | daily       |                                                    | 2026-01-07 09:00          | 2026-01-05 09:00          | 1
    ten years by the day                                       | daily       |                                                    | 2016-01-01                | 2026-01-01                | 3653
    ten years by the hour                                      | hourly      |                                                    | 2016-01-01                | 2026-01-01                | 87672
    two days less an hour                                      | daily       |                                                    | 2026-01-05 14:00          | 2026-01-07 13:00          | 2
    an hour exactly                                            | hourly      |                                                    | 2026-01-05 09:00          | 2026-01-05 10:00          | 1
    an hour and a minute                                       | hourly      |                                                    | 2026-01-05 09:00          | 2026-01-05 10:01          | 2
    a half hour and a minute                                   | half_hourly |                                                    | 2026-01-05 09:00          | 2026-01-05 09:31          | 2
    a week exactly                                             | weekly      |                                                    | 2026-01-05                | 2026-01-12                | 1
    a week and a minute                                        | weekly      |                                                    | 2026-01-05 00:00          | 2026-01-12 00:01          | 2
    February of a common year is one month                     | monthly     |                                                    | 2026-02-01                | 2026-03-01                | 1
    sixty days are two months                                  | monthly     |                                                    | 2026-01-01                | 2026-03-02                | 2
    a first day cut-off missed by a minute                     | daily       | first_day_cutoff=12:00                             | 2026-01-05 12:01          | 2026-01-06 12:00          | 2
    each end in its own offset                                 | daily       | last_day_cutoff=07:00                              | 2026-01-05 01:00          | 2026-01-08T08:45:00+02:00 | 4
    both ends in one offset                                    | daily       | last_day_cutoff=07:00                              | 2026-01-05T03:00:00+02:00 | 2026-01-08T08:45:00+02:00 | 4
    both ends in UTC                                           | daily       | last_day_cutoff=07:00                              | 2026-01-05 01:00          | 2026-01-08 06:45          | 3
    from within a working day to within another                | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-05 10:00 | 2026-01-07 12:00 | 18
    a night between two working days is one                    | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-05 18:00 | 2026-01-06 08:00 | 1
    half an hour at each end of the night                      | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-05 16:30 | 2026-01-06 09:31 | 2
    opening hours until midnight                               | hourly      | day_type=business business_hours_start=09:00       | 2026-01-05                | 2026-01-07                | 30
    opening hours from midnight                                | hourly      | day_type=business business_hours_end=17:00         | 2026-01-05                | 2026-01-07                | 34
    hours across midnight count as none                        | hourly      | day_type=business business_hours_start=22:00 business_hours_end=06:00 | 2026-01-05 | 2026-01-12 | 1
    opening hours of ends in two offsets                       | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-05T09:00:00+05:00 | 2026-01-05 12:00 | 8
    ten years of opening hours                                 | hourly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2016-01-01 | 2026-01-01 | 29224
  `)
  it.each(table)(
    "are counted by period, cut-offs, leeway and opening hours: %s",
    (_, base_period, config = "", start = "", end = "", units) => {
      const answer = breakdown({
        base_period: base_period as RateRequest["base_period"],
        strategy_config: options(config),
        start: at(start),
        end: at(end)
      })
      const n = Number(units)
      expect({ units: answer.units, total: answer.total, lines: drawn(answer.line_items) }).toEqual({
        units: n,
        total: `${n * 100}.00`,
        lines: `1-${n} x1.0 @100.00 = ${n * 100}.00`
      })
    }
  )
})

describe("modifiers (rules/rates 4.4, 4.5)", () => {
  const tiers = (...all: ReadonlyArray<string>) => ({
    multiplier: { tiers: all.map((multiplier) => ({ multiplier })) }
  })
  // price, multipliers, factors (from-to:factor, the first match in list order), days, quantity, per item, in all, lines
  const table = tableRows(`
    tiers written differently do not share a line                    | 10000 | 1.0,1,1   |                    | 3 | 1    | 300.00 | 300.00    | 1-1 x1.0 @100.00 = 100.00; 2-3 x1 @100.00 = 200.00
    half a penny rounds up for each day, then is multiplied          | 333   | 0.5       |                    | 3 | 1    | 5.01   | 5.01      | 1-3 x0.5 @1.67 = 5.01
    0.5 of a penny is a penny                                        | 1     | 0.5       |                    | 2 | 1    | 0.02   | 0.02      | 1-2 x0.5 @0.01 = 0.02
    0.49 of a penny is nothing                                       | 1     | 0.49      |                    | 2 | 1    | 0.00   | 0.00      | 1-2 x0.49 @0.00 = 0.00
    1.005 of a pound is 1.01, no binary fraction                     | 100   | 1.005     |                    | 1 | 1    | 1.01   | 1.01      | 1-1 x1.005 @1.01 = 1.01
    tiers beyond the hire are not used                               | 10000 | 2,0.1     |                    | 1 | 1    | 200.00 | 200.00    | 1-1 x2 @200.00 = 200.00
    the last tier continues                                          | 10000 | 1.0,1.0,0.5 |                  | 5 | 1    | 350.00 | 350.00    | 1-2 x1.0 @100.00 = 200.00; 3-5 x0.5 @50.00 = 150.00
    equal tiers that are apart have lines of their own               | 10000 | 0.5,1.0,0.5 |                  | 4 | 1    | 250.00 | 250.00    | 1-1 x0.5 @50.00 = 50.00; 2-2 x1.0 @100.00 = 100.00; 3-4 x0.5 @50.00 = 100.00
    a free day in the middle                                         | 10000 | 1,0,1     |                    | 4 | 1    | 300.00 | 300.00    | 1-1 x1 @100.00 = 100.00; 2-2 x0 @0.00 = 0.00; 3-4 x1 @100.00 = 200.00
    free from the second day on                                      | 10000 | 1,0       |                    | 9 | 1    | 100.00 | 100.00    | 1-1 x1 @100.00 = 100.00; 2-9 x0 @0.00 = 0.00
    all free                                                         | 10000 | 0         |                    | 2 | 3    | 0.00   | 0.00      | 1-2 x0 @0.00 = 0.00
    a price of zero stays zero                                       | 0     | 3         |                    | 2 | 3    | 0.00   | 0.00      | 1-2 x3 @0.00 = 0.00
    no tiers at all                                                  | 10000 | none      |                    | 3 | 1    | 300.00 | 300.00    | 1-3 x1.0 @100.00 = 300.00
    the last range is open                                           | 10000 |           | 1-9:1,10-:0.5      | 2 | 1000 | 100.00 | 100000.00 | 1-2 x1.0 @100.00 = 200.00
    a range of one quantity                                          | 10000 |           | 3-3:0.5            | 1 | 3    | 50.00  | 150.00    | 1-1 x1.0 @100.00 = 100.00
    a gap below the first range                                      | 10000 |           | 3-:0.5             | 1 | 2    | 100.00 | 200.00    | 1-1 x1.0 @100.00 = 100.00
    beyond the last closed range                                     | 10000 |           | 1-3:0.5            | 1 | 4    | 100.00 | 400.00    | 1-1 x1.0 @100.00 = 100.00
    overlapping ranges: the first in the list                        | 10000 |           | 6-:0.8,1-10:0.5    | 1 | 7    | 80.00  | 560.00    | 1-1 x1.0 @100.00 = 100.00
    overlapping ranges: only the second covers five                  | 10000 |           | 6-:0.8,1-10:0.5    | 1 | 5    | 50.00  | 250.00    | 1-1 x1.0 @100.00 = 100.00
    the same range twice: the first in the list                      | 10000 |           | 1-5:0.7,1-5:0.1    | 1 | 3    | 70.00  | 210.00    | 1-1 x1.0 @100.00 = 100.00
    a factor rounds the sum of one item once, before the quantity    | 333   |           | 1-:0.5             | 1 | 3    | 1.67   | 5.01      | 1-1 x1.0 @3.33 = 3.33
    a tenth of 0.15 rounds up                                        | 15    |           | 1-:0.1             | 1 | 2    | 0.02   | 0.04      | 1-1 x1.0 @0.15 = 0.15
    a factor of zero                                                 | 10000 |           | 1-:0               | 1 | 3    | 0.00   | 0.00      | 1-1 x1.0 @100.00 = 100.00
    a factor above one                                               | 10000 |           | 1-:1.25            | 2 | 1    | 250.00 | 250.00    | 1-2 x1.0 @100.00 = 200.00
    1.005 as a factor                                                | 100   |           | 1-:1.005           | 1 | 1    | 1.01   | 1.01      | 1-1 x1.0 @1.00 = 1.00
    multiplier first, then factor on its sum: 0.17 x 2 = 0.34, x 0.5 | 33    | 0.5       | 1-:0.5             | 2 | 2    | 0.17   | 0.34      | 1-2 x0.5 @0.17 = 0.34
  `)
  it.each(table)(
    "change the price of each unit: %s",
    (_, price, multipliers = "", factors = "", days, quantity, each, total, lines) => {
      const modifier_configs = {
        ...(multipliers === "" ? {} : tiers(...listed(multipliers, (one) => one))),
        ...(factors === ""
          ? {}
          : {
              factor: {
                ranges: listed(factors, (one) => {
                  const [, from, to, factor = ""] = /^(\d+)-(\d*):(.+)$/.exec(one)!
                  return { from: Number(from), to: to === "" ? null : Number(to), factor }
                })
              }
            })
      }
      const answer = breakdown({
        price: Number(price),
        quantity: Number(quantity),
        end: `2026-01-${String(5 + Number(days)).padStart(2, "0")}`,
        enabled_modifiers: Object.keys(modifier_configs) as RateRequest["enabled_modifiers"],
        modifier_configs
      })
      expect({
        each: answer.per_unit_subtotal,
        total: answer.total,
        lines: drawn(answer.line_items),
        quantity: answer.quantity,
        unit_price: answer.unit_price
      }).toEqual({ each, total, lines, quantity: Number(quantity), unit_price: (Number(price) / 100).toFixed(2) })
    }
  )
  it("run once each, in order, and report the price before and after for one item", () => {
    const answer = breakdown({
      end: "2026-01-07",
      quantity: 2,
      enabled_modifiers: ["factor", "multiplier", "factor"],
      modifier_configs: { factor: { ranges: [{ from: 1, to: null, factor: "0.9" }] }, ...tiers("0.5") }
    })
    expect(answer.applied_modifiers).toEqual([
      { key: "multiplier", label: "Multiplier", description: expect.any(String), before: "200.00", after: "100.00" },
      { key: "factor", label: "Factor", description: expect.any(String), before: "100.00", after: "90.00" }
    ])
    expect(answer).toMatchObject({ unit_price: "100.00", per_unit_subtotal: "90.00", total: "180.00" })
  })
  it("multiply a fixed rate by its factor", () => {
    const answer = breakdown({
      calculation_strategy: "fixed",
      base_period: null,
      price: 7500,
      quantity: 10,
      end: "2026-01-25",
      enabled_modifiers: ["factor"],
      modifier_configs: { factor: { ranges: [{ from: 10, to: null, factor: "0.9" }] } }
    })
    expect(answer).toMatchObject({ units: 1, unit_label: "fixed", per_unit_subtotal: "67.50", total: "675.00" })
    expect(drawn(answer.line_items)).toBe("1-1 x1.0 @75.00 = 75.00")
  })
  it.each([
    ["JPY", 999, "500", "1500"],
    ["KWD", 1001, "0.501", "1.503"],
    ["GBP", 1001, "5.01", "15.03"]
  ])("round at the minor unit of %s", (currency, price, each, total) => {
    const answer = breakdown({
      price,
      currency,
      quantity: 3,
      end: "2026-01-06",
      enabled_modifiers: ["multiplier"],
      modifier_configs: tiers("0.5")
    })
    expect(answer).toMatchObject({ currency, per_unit_subtotal: each, total })
  })
})

describe("a hybrid's block and its remainder (rules/rates 4.3)", () => {
  const table = tableRows(`
    exactly the block                       | daily   | fixed_charge=20000 fixed_period_units=3                        | 2026-01-05 00:00 | 2026-01-08 00:00 | 1 | 3 | 200.00 | 200.00  | 1-3 x1.0 @200.00 = 200.00
    one minute past the block               | daily   | fixed_charge=20000 fixed_period_units=3                        | 2026-01-05 00:00 | 2026-01-08 00:01 | 2 | 4 | 240.00 | 480.00  | 1-3 x1.0 @200.00 = 200.00; 4-4 x1.0 @40.00 = 40.00
    shorter than a day                      | daily   | fixed_charge=20000 fixed_period_units=3                        | 2026-01-05 00:00 | 2026-01-05 01:00 | 1 | 1 | 200.00 | 200.00  | 1-1 x1.0 @200.00 = 200.00
    no options: every day at the price      | daily   |                                                                | 2026-01-05 00:00 | 2026-01-08 00:00 | 1 | 3 | 120.00 | 120.00  | 1-3 x1.0 @40.00 = 120.00
    a block without a charge is free        | daily   | fixed_period_units=2                                           | 2026-01-05 00:00 | 2026-01-10 00:00 | 1 | 5 | 120.00 | 120.00  | 1-2 x1.0 @0.00 = 0.00; 3-5 x1.0 @40.00 = 120.00
    a charge without a block is in no line  | daily   | fixed_charge=500                                               | 2026-01-05 00:00 | 2026-01-06 00:00 | 3 | 1 | 45.00  | 135.00  | 1-1 x1.0 @40.00 = 40.00
    weeks of five days                      | weekly  | fixed_charge=20000 fixed_period_units=2 rental_days_per_week=5 | 2026-01-05 00:00 | 2026-01-16 00:00 | 1 | 3 | 240.00 | 240.00  | 1-2 x1.0 @200.00 = 200.00; 3-3 x1.0 @40.00 = 40.00
    the last day cut-off keeps to the block | daily   | fixed_charge=20000 fixed_period_units=3 last_day_cutoff=09:00  | 2026-01-05 00:00 | 2026-01-08 08:59 | 1 | 3 | 200.00 | 200.00  | 1-3 x1.0 @200.00 = 200.00
    months of thirty days                   | monthly | fixed_charge=20000 fixed_period_units=1                        | 2026-01-01 00:00 | 2026-01-31 00:00 | 2 | 1 | 200.00 | 400.00  | 1-1 x1.0 @200.00 = 200.00
    business hours of nine days             | daily   | fixed_charge=20000 fixed_period_units=2 day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-05 09:00 | 2026-01-13 17:00 | 1 | 3 | 240.00 | 240.00 | 1-2 x1.0 @200.00 = 200.00; 3-3 x1.0 @40.00 = 40.00
    shorter than the block                  | daily   | fixed_charge=20000 fixed_period_units=3                        | 2026-01-01 | 2026-01-03 | 1 | 2 | 200.00 | 200.00 | 1-2 x1.0 @200.00 = 200.00
    longer than the block                   | daily   | fixed_charge=20000 fixed_period_units=3                        | 2026-01-01 | 2026-01-08 | 1 | 7 | 360.00 | 360.00 | 1-3 x1.0 @200.00 = 200.00; 4-7 x1.0 @40.00 = 160.00
    a charge and a block of zero units      | daily   | fixed_charge=20000 fixed_period_units=0                        | 2026-01-01 | 2026-01-04 | 1 | 3 | 320.00 | 320.00 | 1-3 x1.0 @40.00 = 120.00
    no charge and a block of zero units     | daily   | fixed_charge=0 fixed_period_units=0                            | 2026-01-01 | 2026-01-04 | 1 | 3 | 120.00 | 120.00 | 1-3 x1.0 @40.00 = 120.00
  `)
  it.each(table)(
    "add up to the price: %s",
    (_, base_period, config = "", start = "", end = "", quantity, units, each, total, lines) => {
      const answer = breakdown({
        calculation_strategy: "hybrid",
        base_period: base_period as RateRequest["base_period"],
        strategy_config: options(config),
        price: 4000,
        quantity: Number(quantity),
        start: at(start),
        end: at(end)
      })
      expect({
        price: answer.unit_price,
        units: answer.units,
        each: answer.per_unit_subtotal,
        total: answer.total,
        lines: drawn(answer.line_items)
      }).toEqual({ price: "40.00", units: Number(units), each, total, lines })
    }
  )
})

describe("limits of the rate engine", () => {
  it("reject an hourly hire beyond 100000 units, and count one of exactly 100000", () => {
    const start = "2026-01-01T00:00Z"
    expect(breakdown({ base_period: "hourly", start, end: "2037-05-29T16:00Z" }).units).toBe(100_000)
    expect(Result.merge(calculateRate(request({ base_period: "hourly", start, end: "2037-05-29T16:01Z" })))).toEqual({
      end: ["The hire is longer than 100000 hours."]
    })
    const half_hours = { base_period: "half_hourly", price: 100, start } as const
    expect(breakdown({ ...half_hours, end: "2031-09-15T08:00Z" })).toMatchObject({ units: 100_000, total: "100000.00" })
    expect(Result.isFailure(calculateRate(request({ ...half_hours, end: "2031-09-15T08:01Z" })))).toBe(true)
  })

  it("do not apply to daily hires, which have one line per tier at any length", () => {
    const answer = breakdown({
      start: "1000-01-01",
      end: "9000-01-01",
      enabled_modifiers: ["multiplier"],
      modifier_configs: { multiplier: { tiers: [{ multiplier: "1.0" }, { multiplier: "0.5" }] } }
    })
    expect(answer.line_items.length).toBe(2)
    expect(answer.units).toBe(2_921_940)
  })

  it("do not apply to totals, which are exact beyond the range of a number", () => {
    const answer = breakdown({ price: 2_147_483_647, quantity: 2_147_483_647, start: "2026-01-01", end: "2026-01-04" })
    expect(answer.total).toBe("138350580423972618.27")
    // 4294967294 pence for one: 4294967294000000000 for a thousand million, 12884901882 for three.
    expect(breakdown({ price: 2_147_483_647, quantity: 1_000_000_003, end: "2026-01-07" })).toMatchObject({
      per_unit_subtotal: "42949672.94",
      total: "42949673068849018.82"
    })
  })

  it("require a valid start, end, currency and period, and name the invalid field", () => {
    expect(Result.merge(calculateRate(request({ start: "tomorrow" })))).toHaveProperty("start")
    expect(Result.merge(calculateRate(request({ end: "2026-02-30" })))).toHaveProperty("end")
    expect(Result.merge(calculateRate(request({ currency: "XXZ" })))).toHaveProperty("currency")
    expect(Result.merge(calculateRate(request({ base_period: null })))).toHaveProperty("base_period")
  })
})
