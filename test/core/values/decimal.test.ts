import fc from "fast-check"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  compareDecimals,
  exact,
  formatDecimal,
  fromScaled,
  isPlainDecimalText,
  parseDecimal,
  toScaled,
  wholeUnits
} from "../../../core/values/decimal.ts"

describe("decimals", () => {
  it.each<[string | number, number, string]>([
    ["20", 4, "20.0000"],
    ["1.005", 2, "1.01"],
    ["-1.005", 2, "-1.01"],
    ["-0.001", 2, "0.00"],
    [0.1, 1, "0.1"],
    ["2.5", 0, "3"],
    ["1e2", 2, "100.00"]
  ])("are written by scale: %j at %d decimals is %s", (value, scale, text) => {
    expect(formatDecimal(value, scale)).toBe(text)
  })

  it.each<[string, number]>([
    ["1.5", 2],
    ["0.4", 0],
    ["2.5", 3],
    ["-1.5", -2],
    ["7", 7]
  ])("are rounded to whole units: %s is %d", (value, whole) => {
    expect(wholeUnits(value)).toBe(whole)
  })

  it("survive conversion to scaled integers and back", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        fc.integer({ min: 0, max: 10 }),
        (scaled, scale) => {
          expect(toScaled(fromScaled(scaled, scale), scale)).toBe(scaled)
        }
      )
    )
  })

  it("are written the same way whether or not they fit plain integers", () => {
    const parts = fc.tuple(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), fc.integer({ min: 0, max: 8 }))
    fc.assert(
      fc.property(parts, fc.integer({ min: 0, max: 10 }), ([scaled, of], scale) => {
        const text = fromScaled(scaled, of)
        expect(formatDecimal(text, scale)).toBe(fromScaled(toScaled(exact(text), scale), scale))
        if (Number.isSafeInteger(Number(scaled))) expect(fromScaled(Number(scaled), of)).toBe(text)
      })
    )
  })

  it("compare by value, not by text", () => {
    expect(compareDecimals("1.10", "1.1")).toBe(0)
    expect(compareDecimals("9", "10")).toBeLessThan(0)
  })

  it.each<[unknown, string]>([
    ["25", "25.00"],
    [12.5, "12.50"],
    ["0", "0.00"],
    ["100", "100.00"],
    ["100.01", "must not be greater than 100."],
    [-1, "must be at least 0."],
    ["1.234", "must have at most 2 decimals."],
    ["a", "must be a number."],
    [null, "must be a number."]
  ])("are read as percentages: %j is %j", (value, expected) => {
    expect(Result.merge(parseDecimal(value, { scale: 2, min: "0", max: "100" }))).toBe(expected)
  })

  it("are rounded on request, instead of rejected for too many digits", () => {
    expect(Result.merge(parseDecimal("1.235", { scale: 2, strict: false }))).toBe("1.24")
  })

  it.each<[string, boolean]>([
    ["1", true],
    ["0.3333", true],
    ["1.", false],
    [".5", false],
    ["-1", false],
    ["1e2", false],
    ["", false]
  ])("are plain only as digits with an optional fraction: %j is %s", (text, expected) => {
    expect(isPlainDecimalText(text)).toBe(expected)
  })
})
