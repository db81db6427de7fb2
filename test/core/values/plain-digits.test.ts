import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { exact, parseDecimal, roundHalfAway, toScaled } from "../../../core/values/decimal.ts"
import { parseMoney } from "../../../core/values/money.ts"

const sign = fc.constantFrom("", "-")
const digits = (max: number) => fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: max })
const written = fc
  .tuple(sign, digits(12), fc.option(digits(8)))
  .map(([minus, whole, fraction]) => `${minus}${whole}${fraction === null ? "" : `.${fraction}`}`)
const scale = fc.integer({ min: 0, max: 6 })
const scaledExactly = (text: string, scale: number): string =>
  roundHalfAway(exact(text).times(exact(10).pow(scale))).toFixed(0)

describe("numbers written in plain digits", () => {
  it("are scaled like exact decimals", () => {
    fc.assert(
      fc.property(written, scale, (text, scale) => {
        expect(toScaled(text, scale)).toBe(BigInt(scaledExactly(text, scale)))
      }),
      { numRuns: 2_000 }
    )
  })
  it("are read as decimals only within the scale and the bounds", () => {
    fc.assert(
      fc.property(written, scale, (text, scale) => {
        const value = exact(text)
        const fits =
          value.decimalPlaces() <= scale && value.greaterThanOrEqualTo("-20") && value.lessThanOrEqualTo("1000000.5")
        const read = parseDecimal(text, { scale, min: "-20", max: "1000000.5" })
        expect(Result.isSuccess(read)).toBe(fits)
        if (Result.isSuccess(read))
          expect(
            exact(read.success).equals(value) &&
              (read.success.split(".")[1] ?? "").length === scale &&
              !/^-0*\.?0*$/.test(read.success)
          ).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })
  it("are read as money only if they are whole minor units in range", () => {
    fc.assert(
      fc.property(written, fc.constantFrom("GBP", "JPY", "KWD"), fc.boolean(), (text, currency, signed) => {
        const minor = exact(text).times({ GBP: 100, JPY: 1, KWD: 1_000 }[currency]!)
        const fits = minor.isInteger() && minor.abs().lessThanOrEqualTo(2_147_483_647) && (signed || !minor.lessThan(0))
        const read = parseMoney(text, currency, { signed })
        expect(Result.isSuccess(read) ? read.success : undefined).toBe(fits ? minor.toNumber() + 0 : undefined)
      }),
      { numRuns: 2_000 }
    )
  })
})
