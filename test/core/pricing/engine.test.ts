/** Prices as fixed-width tables: every boundary of rules/rates 4 with its figure worked out by hand. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { calculateRate, type RateRequest } from "../../../core/pricing/engine.ts"

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

const table = (text: string): ReadonlyArray<[string, ReadonlyArray<string>]> =>
  text
    .trim()
    .split("\n")
    .map((row) => [row.trim(), row.trim().split(/\s+/)])
const cell = (row: ReadonlyArray<string>, index: number): string => row[index] ?? ""

describe("units of a window", () => {
  // period     start              end                leeway units
  it.each(
    table(`
    daily        2026-01-05T09:00   2026-01-06T09:00        0     1
    daily        2026-01-05T09:00   2026-01-06T09:01        0     2
    daily        2026-01-05T09:00   2026-01-06T09:30       30     1
    daily        2026-01-05T09:00   2026-01-06T09:31       30     2
    daily        2026-01-05T14:00   2026-01-07T13:00        0     2
    daily        2026-01-05T09:00   2026-01-05T09:00        0     1
    daily        2026-01-07T09:00   2026-01-05T09:00        0     1
    daily        2026-02-01T09:00   2026-02-06T17:00        0     6
    daily        2016-01-01T00:00   2026-01-01T00:00        0  3653
    weekly       2026-01-05T00:00   2026-01-12T00:00        0     1
    weekly       2026-01-05T00:00   2026-01-12T00:01        0     2
    monthly      2026-01-01T00:00   2026-01-31T00:00        0     1
    monthly      2026-02-01T00:00   2026-03-01T00:00        0     1
    monthly      2026-01-01T00:00   2026-03-02T00:00        0     2
    hourly       2026-01-05T09:00   2026-01-05T10:00        0     1
    hourly       2026-01-05T09:00   2026-01-05T10:01        0     2
    half_hourly  2026-01-05T09:00   2026-01-05T09:31        0     2
    hourly       2016-01-01T00:00   2026-01-01T00:00        0 87672
  `)
  )("%s", (_, row) => {
    const base_period = cell(row, 0) as RateRequest["base_period"]
    const answer = breakdown({
      base_period,
      start: cell(row, 1),
      end: cell(row, 2),
      strategy_config: { leeway_minutes: Number(cell(row, 3)) }
    })
    expect(answer.units).toBe(Number(cell(row, 4)))
  })
})

describe("cut-offs are read on the clock each end was written in", () => {
  // start                     end                        first last  units
  it.each(
    table(`
    2026-01-05T12:00:59Z       2026-01-06T12:00:00Z       12:00 -     1
    2026-01-05T12:01:00Z       2026-01-06T12:00:00Z       12:00 -     2
    2026-01-05T00:00:00Z       2026-01-07T09:00:00Z       -     09:00 3
    2026-01-05T00:00:00Z       2026-01-07T08:59:59Z       -     09:00 2
    2026-01-05T03:00:00+02:00  2026-01-08T08:45:00+02:00  -     07:00 4
    2026-01-05T01:00:00Z       2026-01-08T06:45:00Z       -     07:00 3
    2026-01-05T01:00:00Z       2026-01-08T08:45:00+02:00  -     07:00 4
  `)
  )("%s", (_, row) => {
    const strategy_config = Object.fromEntries(
      [
        ["first_day_cutoff", cell(row, 2)],
        ["last_day_cutoff", cell(row, 3)]
      ].filter(([, time]) => time !== "-")
    )
    expect(breakdown({ start: cell(row, 0), end: cell(row, 1), strategy_config }).units).toBe(Number(cell(row, 4)))
  })
})

describe("business hours count only opening minutes", () => {
  // open  close start                end                  hours
  it.each(
    table(`
    09:00 17:00 2026-01-05T09:00Z    2026-01-06T17:00Z       16
    09:00 17:00 2026-01-05T10:00Z    2026-01-07T12:00Z       18
    09:00 17:00 2026-01-05T18:00Z    2026-01-06T08:00Z        1
    09:00 17:00 2026-01-05T16:30Z    2026-01-06T09:31Z        2
    09:00 -     2026-01-05T00:00Z    2026-01-07T00:00Z       30
    -     17:00 2026-01-05T00:00Z    2026-01-07T00:00Z       34
    22:00 06:00 2026-01-05T00:00Z    2026-01-12T00:00Z        1
    09:00 17:00 2026-01-05T09:00+05:00 2026-01-05T12:00Z      8
    09:00 17:00 2016-01-01T00:00Z    2026-01-01T00:00Z    29224
  `)
  )("%s", (_, row) => {
    const hours = [
      ["business_hours_start", cell(row, 0)],
      ["business_hours_end", cell(row, 1)]
    ].filter(([, time]) => time !== "-")
    const strategy_config = { day_type: "business", ...Object.fromEntries(hours) }
    const answer = breakdown({ base_period: "hourly", strategy_config, start: cell(row, 2), end: cell(row, 3) })
    expect(answer.units).toBe(Number(cell(row, 4)))
  })
})

describe("multipliers by position", () => {
  // price days tiers            lines (from-to@multiplier=total)              subtotal
  it.each(
    table(`
    10000 5  1.0,1.0,0.5         1-2@1.0=200.00,3-5@0.5=150.00                   350.00
    10000 2  1.0,1.0,0.5         1-2@1.0=200.00                                  200.00
    10000 3  1.0,1               1-1@1.0=100.00,2-3@1=200.00                     300.00
    10000 4  0.5,1.0,0.5         1-1@0.5=50.00,2-2@1.0=100.00,3-4@0.5=100.00     250.00
    10000 9  1,0                 1-1@1=100.00,2-9@0=0.00                         100.00
      333 3  0.5                 1-3@0.5=5.01                                      5.01
        1 4  0.5                 1-4@0.5=0.04                                      0.04
    10000 3  -                   1-3@1.0=300.00                                  300.00
  `)
  )("%s", (_, row) => {
    const tiers =
      cell(row, 2) === "-"
        ? {}
        : {
            tiers: cell(row, 2)
              .split(",")
              .map((multiplier) => ({ multiplier }))
          }
    const answer = breakdown({
      price: Number(cell(row, 0)),
      start: "2026-01-01",
      end: `2026-01-${String(Number(cell(row, 1)) + 1).padStart(2, "0")}`,
      enabled_modifiers: ["multiplier"],
      modifier_configs: { multiplier: tiers }
    })
    const lines = answer.line_items.map(
      (line) => `${line.period_from}-${line.period_to}@${line.multiplier}=${line.line_total}`
    )
    expect([lines.join(","), answer.per_unit_subtotal, answer.unit_price]).toEqual([
      cell(row, 3),
      cell(row, 4),
      (Number(cell(row, 0)) / 100).toFixed(2)
    ])
  })
})

describe("factors by quantity", () => {
  // price quantity ranges (from-to:factor, first match in list order)  per unit   total
  it.each(
    table(`
    10000  5  1-5:1.0,6-20:0.9,21-:0.8    100.00    500.00
    10000  6  1-5:1.0,6-20:0.9,21-:0.8     90.00    540.00
    10000 20  1-5:1.0,6-20:0.9,21-:0.8     90.00   1800.00
    10000 21  1-5:1.0,6-20:0.9,21-:0.8     80.00   1680.00
    10000  7  1-5:1.0,10-:0.8             100.00    700.00
    10000  3  1-5:0.7,1-5:0.1              70.00    210.00
    10000  3  1-:0                          0.00      0.00
       15  2  1-:0.1                        0.02      0.04
  `)
  )("%s", (_, row) => {
    const ranges = cell(row, 2)
      .split(",")
      .map((text) => {
        const [band = "", factor = ""] = text.split(":")
        const [from, to] = band.split("-")
        return { from: Number(from), to: to === "" ? null : Number(to), factor }
      })
    const answer = breakdown({
      calculation_strategy: "fixed",
      base_period: null,
      price: Number(cell(row, 0)),
      quantity: Number(cell(row, 1)),
      enabled_modifiers: ["factor"],
      modifier_configs: { factor: { ranges } }
    })
    expect([answer.per_unit_subtotal, answer.total, answer.unit_label, answer.units]).toEqual([
      cell(row, 3),
      cell(row, 4),
      "fixed",
      1
    ])
  })
})

describe("hybrid: a block for one charge, then the price", () => {
  // days block charge  lines                                     subtotal
  it.each(
    table(`
    2     3   20000   1-2=200.00                                  200.00
    3     3   20000   1-3=200.00                                  200.00
    7     3   20000   1-3=200.00,4-7=160.00                       360.00
    3     0   20000   1-3=120.00                                  320.00
    3     0       0   1-3=120.00                                  120.00
  `)
  )("%s", (_, row) => {
    const answer = breakdown({
      calculation_strategy: "hybrid",
      price: 4000,
      start: "2026-01-01",
      end: `2026-01-0${Number(cell(row, 0)) + 1}`,
      strategy_config: { fixed_period_units: Number(cell(row, 1)), fixed_charge: Number(cell(row, 2)) }
    })
    const lines = answer.line_items.map((line) => `${line.period_from}-${line.period_to}=${line.line_total}`)
    expect([lines.join(","), answer.per_unit_subtotal, answer.unit_price]).toEqual([
      cell(row, 3),
      cell(row, 4),
      "40.00"
    ])
  })

  it("charges only the price when no block is configured: the form's default of one unit is not a stored value", () => {
    const answer = breakdown({ calculation_strategy: "hybrid", price: 4000, start: "2026-01-01", end: "2026-01-03" })
    expect([answer.line_items.length, answer.total]).toEqual([1, "80.00"])
  })
})

describe("limits", () => {
  it("refuse an hourly hire beyond 100000 units, and count one that just fits", () => {
    const start = "2026-01-01T00:00Z"
    expect(breakdown({ base_period: "hourly", start, end: "2037-05-29T16:00Z" }).units).toBe(100_000)
    expect(Result.merge(calculateRate(request({ base_period: "hourly", start, end: "2037-05-29T16:01Z" })))).toEqual({
      end: ["The hire is longer than 100000 hours."]
    })
    expect(
      Result.isFailure(calculateRate(request({ base_period: "half_hourly", start, end: "2037-05-29T16:00Z" })))
    ).toBe(true)
  })

  it("do not stop daily hires, whose work does not grow with them", () => {
    const answer = breakdown({
      start: "1000-01-01",
      end: "9000-01-01",
      enabled_modifiers: ["multiplier"],
      modifier_configs: { multiplier: { tiers: [{ multiplier: "1.0" }, { multiplier: "0.5" }] } }
    })
    expect(answer.line_items.length).toBe(2)
    expect(answer.units).toBe(2_921_940)
  })

  it("keep totals exact beyond what a number holds", () => {
    const answer = breakdown({ price: 2_147_483_647, quantity: 2_147_483_647, start: "2026-01-01", end: "2026-01-04" })
    expect(answer.total).toBe("138350580423972618.27")
  })

  it("name the field of what cannot be priced", () => {
    expect(Result.merge(calculateRate(request({ start: "tomorrow" })))).toHaveProperty("start")
    expect(Result.merge(calculateRate(request({ end: "2026-02-30" })))).toHaveProperty("end")
    expect(Result.merge(calculateRate(request({ currency: "XXZ" })))).toHaveProperty("currency")
    expect(Result.merge(calculateRate(request({ base_period: null })))).toHaveProperty("base_period")
  })
})
