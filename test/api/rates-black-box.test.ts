/** The rate engine from outside: every expectation worked out by hand from rules/rates 4 and 10. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { drawn, options, type PriceList, priceList, rows } from "./price-list.ts"

let list: PriceList
beforeAll(async () => {
  list = await priceList()
})
afterAll(() => list.close())

const at = (text: string): string =>
  text.includes("T") ? text : text.replace(" ", "T") + (/^\d{4}-\d\d-\d\d$/.test(text) ? "" : "Z")

describe("Units of a hire (rules/rates 4.1)", () => {
  // 12 January 2026 is a Monday.
  const table = rows(`
    a day of leeway is taken off once, not each day            | daily       | leeway_minutes=1440                                | 2026-01-12 00:00          | 2026-01-14 00:00          | 1
    a minute more than leeway starts the second day            | daily       | leeway_minutes=1440                                | 2026-01-12 00:00          | 2026-01-14 00:01          | 2
    one day and leeway and a minute                            | daily       | leeway_minutes=30                                  | 2026-01-12 08:00          | 2026-01-13 08:31          | 2
    a day and the leeway exactly                               | daily       | leeway_minutes=30                                  | 2026-01-12 08:00          | 2026-01-13 08:30          | 1
    no leeway unless told                                      | daily       |                                                    | 2026-01-12 08:00          | 2026-01-13 08:01          | 2
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
    open and close at once: no hours at all                    | hourly      | day_type=business business_hours_start=09:00 business_hours_end=09:00 | 2026-01-12 00:00 | 2026-01-15 00:00 | 1
    the first day cut-off gives back the morning's hours       | daily       | day_type=business business_hours_start=09:00 business_hours_end=17:00 first_day_cutoff=11:00 | 2026-01-12 12:00 | 2026-01-15 09:01 | 2
    without it, the afternoon alone counts                     | daily       | day_type=business business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 12:00 | 2026-01-15 09:01 | 1
    a five day week of working hours is fifteen working days   | weekly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 rental_days_per_week=5 | 2026-01-05 09:00 | 2026-01-19 17:00 | 1
    and a minute                                               | weekly      | day_type=business business_hours_start=09:00 business_hours_end=17:00 rental_days_per_week=5 | 2026-01-05 09:00 | 2026-01-20 09:01 | 2
    hours of a clock rate are not narrowed by business hours   | hourly      | day_type=clock business_hours_start=09:00 business_hours_end=17:00 | 2026-01-12 00:00 | 2026-01-13 00:00 | 24
    dates alone are midnights of UTC                           | daily       |                                                    | 2026-01-12                | 2026-01-15                | 3
    start and end at once                                      | daily       |                                                    | 2026-01-12 09:00          | 2026-01-12 09:00          | 1
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
    without an offset it is UTC                                | daily       | last_day_cutoff=09:00                              | 2026-01-12T00:00:00       | 2026-01-13T08:59:00       | 1
    a year that has a leap day                                 | weekly      |                                                    | 2028-01-01 00:00          | 2029-01-01 00:00          | 53
  `)
  it.each(table.map((row) => row as [string, string, string, string, string, string]))(
    "%s",
    async (_, base_period, config, start, end, units) => {
      const id = await list.priced(10_000, {}, { base_period, strategy_config: options(config) })
      const got = await list.calculate(id, { quantity: 1, start: at(start), end: at(end) })
      expect(got.status, got.text).toBe(200)
      const n = Number(units)
      expect({
        units: got.body.rate_breakdown.units,
        total: got.body.rate_breakdown.total,
        lines: drawn(got.body.rate_breakdown.line_items)
      }).toEqual({ units: n, total: `${n * 100}.00`, lines: `1-${n} x1.0 @100.00 = ${n * 100}.00` })
    }
  )
})

describe("Modifiers (rules/rates 4.4, 4.5)", () => {
  const tiers = (...all: ReadonlyArray<string | number>): object => ({
    multiplier: { tiers: all.map((multiplier) => ({ multiplier })) }
  })
  const ranges = (...all: ReadonlyArray<readonly [number, number | null, string | number]>): object => ({
    factor: { ranges: all.map(([from, to, factor]) => ({ from, to, factor })) }
  })
  // price, modifiers, days, quantity → per item, in all, lines
  const cases: ReadonlyArray<readonly [string, number, object, number, number, string, string, string]> = [
    [
      "tiers written differently do not share a line",
      10_000,
      tiers("1.0", "1", "1"),
      3,
      1,
      "300.00",
      "300.00",
      "1-1 x1.0 @100.00 = 100.00; 2-3 x1 @100.00 = 200.00"
    ],
    [
      "a number sent as 0.5 is the text 0.5, and 1.0 is the text 1",
      10_000,
      tiers(1.0, 0.5),
      3,
      1,
      "200.00",
      "200.00",
      "1-1 x1 @100.00 = 100.00; 2-3 x0.5 @50.00 = 100.00"
    ],
    [
      "half a penny rounds up for each day, then is multiplied",
      333,
      tiers("0.5"),
      3,
      1,
      "5.01",
      "5.01",
      "1-3 x0.5 @1.67 = 5.01"
    ],
    ["0.5 of a penny is a penny", 1, tiers("0.5"), 2, 1, "0.02", "0.02", "1-2 x0.5 @0.01 = 0.02"],
    ["0.49 of a penny is nothing", 1, tiers("0.49"), 2, 1, "0.00", "0.00", "1-2 x0.49 @0.00 = 0.00"],
    [
      "1.005 of a pound is 1.01, no binary fraction",
      100,
      tiers("1.005"),
      1,
      1,
      "1.01",
      "1.01",
      "1-1 x1.005 @1.01 = 1.01"
    ],
    [
      "tiers beyond the hire are not used",
      10_000,
      tiers("2", "0.1"),
      1,
      1,
      "200.00",
      "200.00",
      "1-1 x2 @200.00 = 200.00"
    ],
    [
      "a free day in the middle",
      10_000,
      tiers("1", "0", "1"),
      4,
      1,
      "300.00",
      "300.00",
      "1-1 x1 @100.00 = 100.00; 2-2 x0 @0.00 = 0.00; 3-4 x1 @100.00 = 200.00"
    ],
    ["all free", 10_000, tiers("0"), 2, 3, "0.00", "0.00", "1-2 x0 @0.00 = 0.00"],
    ["a price of nothing stays nothing", 0, tiers("3"), 2, 3, "0.00", "0.00", "1-2 x3 @0.00 = 0.00"],
    [
      "the last range is open",
      10_000,
      ranges([1, 9, "1"], [10, null, "0.5"]),
      2,
      1000,
      "100.00",
      "100000.00",
      "1-2 x1.0 @100.00 = 200.00"
    ],
    ["a range of one quantity", 10_000, ranges([3, 3, "0.5"]), 1, 3, "50.00", "150.00", "1-1 x1.0 @100.00 = 100.00"],
    [
      "a gap below the first range",
      10_000,
      ranges([3, null, "0.5"]),
      1,
      2,
      "100.00",
      "200.00",
      "1-1 x1.0 @100.00 = 100.00"
    ],
    [
      "beyond the last closed range",
      10_000,
      ranges([1, 3, "0.5"]),
      1,
      4,
      "100.00",
      "400.00",
      "1-1 x1.0 @100.00 = 100.00"
    ],
    [
      "overlapping ranges: the first in the list",
      10_000,
      ranges([6, null, "0.8"], [1, 10, "0.5"]),
      1,
      7,
      "80.00",
      "560.00",
      "1-1 x1.0 @100.00 = 100.00"
    ],
    [
      "overlapping ranges: only the second covers five",
      10_000,
      ranges([6, null, "0.8"], [1, 10, "0.5"]),
      1,
      5,
      "50.00",
      "250.00",
      "1-1 x1.0 @100.00 = 100.00"
    ],
    [
      "a factor rounds the sum of one item once, before the quantity",
      333,
      ranges([1, null, "0.5"]),
      1,
      3,
      "1.67",
      "5.01",
      "1-1 x1.0 @3.33 = 3.33"
    ],
    ["a factor above one", 10_000, ranges([1, null, "1.25"]), 2, 1, "250.00", "250.00", "1-2 x1.0 @100.00 = 200.00"],
    ["1.005 as a factor", 100, ranges([1, null, "1.005"]), 1, 1, "1.01", "1.01", "1-1 x1.0 @1.00 = 1.00"],
    [
      "multiplier first, then factor on its sum: 0.17 x 2 = 0.34, x 0.5 = 0.17",
      33,
      { ...tiers("0.5"), ...ranges([1, null, "0.5"]) },
      2,
      2,
      "0.17",
      "0.34",
      "1-2 x0.5 @0.17 = 0.34"
    ]
  ]
  it.each(cases)("%s", async (_, price, modifier_configs, days, quantity, each, total, lines) => {
    const id = await list.priced(price, {}, { enabled_modifiers: Object.keys(modifier_configs), modifier_configs })
    const got = await list.calculate(id, {
      quantity,
      start: "2026-01-05T00:00:00Z",
      end: `2026-01-0${5 + days}T00:00:00Z`
    })
    const { rate_breakdown: answer } = got.body
    expect({
      each: answer.per_unit_subtotal,
      total: answer.total,
      lines: drawn(answer.line_items),
      quantity: answer.quantity
    }).toEqual({ each, total, lines, quantity })
  })
  it("run once each, in their own order, and tell before and after for one item", async () => {
    const id = await list.priced(
      10_000,
      {},
      {
        enabled_modifiers: ["factor", "multiplier", "factor"],
        modifier_configs: { ...ranges([1, null, "0.9"]), ...tiers("0.5") }
      }
    )
    const { rate_breakdown: answer } = (
      await list.calculate(id, { quantity: 2, start: "2026-01-05", end: "2026-01-07" })
    ).body
    expect(answer.applied_modifiers).toEqual([
      { key: "multiplier", label: "Multiplier", description: expect.any(String), before: "200.00", after: "100.00" },
      { key: "factor", label: "Factor", description: expect.any(String), before: "100.00", after: "90.00" }
    ])
    expect(answer).toMatchObject({ unit_price: "100.00", per_unit_subtotal: "90.00", total: "180.00" })
  })
  it("multiply a fixed rate's factor only", async () => {
    const id = await list.priced(
      7500,
      {},
      {
        calculation_strategy: "fixed",
        base_period: "daily",
        enabled_modifiers: ["factor"],
        modifier_configs: ranges([10, null, "0.9"])
      }
    )
    const { rate_breakdown: answer } = (
      await list.calculate(id, { quantity: 10, start: "2026-01-05", end: "2026-01-25" })
    ).body
    expect(answer).toMatchObject({ units: 1, unit_label: "fixed", per_unit_subtotal: "67.50", total: "675.00" })
    expect(drawn(answer.line_items)).toBe("1-1 x1.0 @75.00 = 75.00")
  })
  it.each([
    ["JPY", 999, "500", "1500"],
    ["KWD", 1001, "0.501", "1.503"],
    ["GBP", 1001, "5.01", "15.03"]
  ])("round at the minor unit of %s", async (currency, price, each, total) => {
    const id = await list.priced(
      price,
      { currency },
      { enabled_modifiers: ["multiplier"], modifier_configs: tiers("0.5") }
    )
    const { rate_breakdown: answer } = (
      await list.calculate(id, { quantity: 3, start: "2026-01-05", end: "2026-01-06" })
    ).body
    expect({ currency: answer.currency, each: answer.per_unit_subtotal, total: answer.total }).toEqual({
      currency,
      each,
      total
    })
  })
})

describe("A hybrid's block and what is left over (rules/rates 4.3)", () => {
  const table = rows(`
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
  `)
  it.each(table.map((row) => row as [string, string, string, string, string, string, string, string, string, string]))(
    "%s",
    async (_, base_period, config, start, end, quantity, units, each, total, lines) => {
      const id = await list.priced(
        4000,
        {},
        { calculation_strategy: "hybrid", base_period, strategy_config: options(config) }
      )
      const { rate_breakdown: answer } = (
        await list.calculate(id, { quantity: Number(quantity), start: at(start), end: at(end) })
      ).body
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

describe("Very long hires (rules/rates 10)", () => {
  it("and very many pieces are counted to the penny", async () => {
    const id = await list.priced(2_147_483_647)
    const { rate_breakdown: answer } = (
      await list.calculate(id, { quantity: 1_000_000_003, start: "2026-01-01", end: "2026-01-03" })
    ).body
    // 4294967294 pence for one: 4294967294000000000 for a thousand million, 12884901882 for three.
    expect([answer.per_unit_subtotal, answer.total]).toEqual(["42949672.94", "42949673068849018.82"])
  })
  it("count up to 100000 half hours, and are refused beyond", async () => {
    const id = await list.priced(100, {}, { base_period: "half_hourly" })
    const full = await list.calculate(id, { quantity: 1, start: "2026-01-01T00:00:00Z", end: "2031-09-15T08:00:00Z" })
    expect([full.status, full.body.rate_breakdown.units, full.body.rate_breakdown.total]).toEqual([
      200,
      100_000,
      "100000.00"
    ])
    expect(
      (await list.calculate(id, { quantity: 1, start: "2026-01-01T00:00:00Z", end: "2031-09-15T08:01:00Z" })).status
    ).toBe(422)
  })
})
