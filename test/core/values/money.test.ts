import fc from "fast-check"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  allocateMoney,
  currencies,
  currencyOf,
  formatMoney,
  MAX_MONEY_MINOR,
  normaliseCurrency,
  parseMoney,
  percentOfMoney,
  timesMoney
} from "../../../core/values/money.ts"

describe("money in a body", () => {
  // JSON value, currency, minor units or error (rules/rates 7)
  it.each<[unknown, string, number | string]>([
    [12550, "GBP", 12550],
    [0, "GBP", 0],
    [125.5, "GBP", 12550],
    ["125", "GBP", 12500],
    ["125.5", "GBP", 12550],
    ["1.500", "GBP", 150],
    ["1e3", "GBP", 100_000],
    ["  12.00 ", "GBP", 1200],
    ["125", "JPY", 125],
    ["1.234", "KWD", 1234],
    [1.234, "KWD", 1234],
    [MAX_MONEY_MINOR, "GBP", MAX_MONEY_MINOR],
    ["21474836.47", "GBP", MAX_MONEY_MINOR],
    ["-0.00", "GBP", 0],
    ["1.234", "GBP", "must have at most 2 decimals in GBP."],
    [0.001, "GBP", "must have at most 2 decimals in GBP."],
    ["1.5", "JPY", "must have no decimals in JPY."],
    ["21474836.48", "GBP", "must not be greater than 21474836.47."],
    ["2147483648", "JPY", "must not be greater than 2147483647."],
    [MAX_MONEY_MINOR + 1, "GBP", "must not be greater than 2147483647 minor units."],
    [-1, "GBP", "must be at least 0."],
    ["-1.00", "GBP", "must be at least 0."],
    ["ten", "GBP", "must be a number."],
    ["", "GBP", "must be a number."],
    ["1,000", "GBP", "must be a number."],
    ["Infinity", "GBP", "must be a number."],
    [Number.NaN, "GBP", "must be a number."],
    [null, "GBP", "must be a number."],
    [true, "GBP", "must be a number."],
    [["1"], "GBP", "must be a number."]
  ])("is read from %j in the currency %s as %j", (value, currency, expected) => {
    expect(Result.merge(parseMoney(value, currency))).toBe(expected)
  })

  it("may be negative where deductions are allowed", () => {
    expect(Result.merge(parseMoney("-10.00", "GBP", { signed: true }))).toBe(-1000)
    expect(Result.merge(parseMoney("-30000000.00", "GBP", { signed: true }))).toBe(
      "must not be greater than 21474836.47."
    )
  })

  it("is a whole number where a column takes minor units only", () => {
    expect(Result.merge(parseMoney(250, "GBP", { minor_only: true }))).toBe(250)
    expect(Result.merge(parseMoney("2.50", "GBP", { minor_only: true }))).toBe("must be a whole number of minor units.")
  })

  it("is read back as it was written", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: MAX_MONEY_MINOR }),
        fc.constantFrom("GBP", "JPY", "KWD"),
        (minor, currency) => {
          expect(Result.merge(parseMoney(formatMoney(minor, currency), currency))).toBe(minor)
        }
      )
    )
  })
})

describe("money as text", () => {
  it.each<[number | bigint, string, string]>([
    [0, "GBP", "0.00"],
    [5, "GBP", "0.05"],
    [-5, "GBP", "-0.05"],
    [-12550, "GBP", "-125.50"],
    [0, "JPY", "0"],
    [5, "KWD", "0.005"],
    [123_456_789_012_345_678_901n, "GBP", "1234567890123456789.01"]
  ])("is written with the currency's decimals: %s minor units of %s as %s", (minor, currency, text) => {
    expect(formatMoney(minor, currency)).toBe(text)
  })
})

describe("rounding", () => {
  it.each<[number, string, number]>([
    [250, "17.5", 44],
    [10, "5", 1],
    [-10, "5", -1],
    [10, "4.9", 0],
    [-10, "4.9", 0],
    [100, "33.335", 33],
    [1, "50", 1]
  ])("is half away from zero: %d at %s percent is %d", (minor, percent, expected) => {
    expect(percentOfMoney(minor, percent)).toBe(expected)
  })

  it("is exact where binary fractions are not", () => {
    expect(timesMoney(105, "0.1")).toBe(11n)
    expect(timesMoney(9_007_199_254_740_993n, "1.0")).toBe(9_007_199_254_740_993n)
  })
})

describe("splitting an amount by largest remainder", () => {
  it.each<[number, ReadonlyArray<number>, ReadonlyArray<number>]>([
    [100, [1, 1, 1], [34, 33, 33]],
    [1000, [6667, 3333], [667, 333]],
    [5, [0, 0], [3, 2]],
    [5, [0, 10], [0, 5]],
    [-100, [1, 1, 1], [-34, -33, -33]],
    [0, [3, 4], [0, 0]],
    [7, [], []]
  ])("splits %d over the weights %j into %j", (total, weights, parts) => {
    expect(allocateMoney(total, weights)).toEqual(parts)
  })

  const amount = fc.integer({ min: 0, max: MAX_MONEY_MINOR })
  it("adds up to the amount, with each part within one unit of its exact share", () => {
    fc.assert(
      fc.property(amount, fc.array(amount, { minLength: 1, maxLength: 30 }), (total, weights) => {
        const parts = allocateMoney(total, weights)
        const sum = weights.reduce((a, b) => a + b, 0)
        expect(parts.reduce((a, b) => a + b, 0)).toBe(total)
        if (sum > 0) {
          parts.forEach((part, index) => {
            expect(Math.abs(part - (total * (weights[index] ?? 0)) / sum)).toBeLessThan(1.001)
          })
        }
      })
    )
  })

  it("never gives a part more than its weight if the amount fits the weights", () => {
    fc.assert(
      fc.property(
        fc.array(amount, { minLength: 1, maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (weights, share) => {
          const total = Math.floor(weights.reduce((a, b) => a + b, 0) * share)
          allocateMoney(total, weights).forEach((part, index) => expect(part).toBeLessThanOrEqual(weights[index] ?? 0))
        }
      )
    )
  })
})

describe("currencies", () => {
  it("are at least thirty with unique codes, of which pounds, dollars and euros are enabled", () => {
    expect(currencies.length).toBeGreaterThanOrEqual(30)
    expect(new Set(currencies.map(({ code }) => code)).size).toBe(currencies.length)
    expect(
      currencies
        .filter(({ is_enabled }) => is_enabled)
        .map(({ code }) => code)
        .sort()
    ).toEqual(["EUR", "GBP", "USD"])
  })

  it("have a decimal separator that differs from their group separator", () => {
    for (const row of currencies) expect(row.thousand_separator).not.toBe(row.decimal_separator)
    expect(currencyOf("GBP")).toEqual({
      code: "GBP",
      name: "Pound Sterling",
      symbol: "£",
      decimal_places: 2,
      symbol_position: "before",
      thousand_separator: ",",
      decimal_separator: ".",
      is_enabled: true
    })
    expect(currencyOf("SEK")).toMatchObject({
      symbol_position: "after",
      thousand_separator: " ",
      decimal_separator: ","
    })
  })

  it("are read in any letter case, and rejected if unknown", () => {
    expect(normaliseCurrency(" eur ")).toBe("EUR")
    expect(normaliseCurrency("XXZ")).toBeUndefined()
    expect(normaliseCurrency(978)).toBeUndefined()
  })
})
