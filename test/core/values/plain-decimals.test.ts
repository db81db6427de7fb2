/** Integer arithmetic gives the same results as exact decimals wherever it applies. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  compareDecimals,
  exact,
  multiplyDivide,
  plainDecimal,
  roundHalfAway,
  wholeUnits
} from "../../../core/values/decimal.ts"
import { parseMoment } from "../../../core/values/moment.ts"
import { allocateMoney, percentOfMoney, timesMoney, withoutPercent } from "../../../core/values/money.ts"
import { words } from "../../words.ts"

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`))
const decimal = fc
  .tuple(fc.constantFrom("", "-"), digits(9), fc.option(digits(7), { nil: "" }))
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`)
const positive = fc.tuple(digits(4), digits(4)).map(([whole, fraction]) => `${whole}.${fraction}`)
const minor = fc.integer({ min: -9_000_000_000_000, max: 9_000_000_000_000 })

describe("a plain decimal", () => {
  it("is read from digits with or without a fraction, and from nothing else", () => {
    expect(plainDecimal("12.50")).toEqual({ parts: 1250, per_one: 100 })
    expect(plainDecimal("-7")).toEqual({ parts: -7, per_one: 1 })
    expect(plainDecimal(42)).toEqual({ parts: 42, per_one: 1 })
    for (const other of [
      "",
      "-",
      ".",
      ".5",
      "5.",
      "1e3",
      "+1",
      " 1",
      "1.2.3",
      "--1",
      "1-",
      "1234567890123456",
      "0x1",
      1.5,
      2 ** 53,
      1n,
      null
    ]) {
      expect(plainDecimal(other), String(other)).toBeUndefined()
    }
  })
  it("is rounded half away from zero, and is never a negative zero", () => {
    expect(multiplyDivide(5, 1, 10)).toBe(1)
    expect(multiplyDivide(-5, 1, 10)).toBe(-1)
    expect(multiplyDivide(-4, 1, 10)).toBe(0)
    expect(multiplyDivide(4, 1, 10)).toBe(0)
  })
  it("is left to exact arithmetic if the result exceeds exact integers", () => {
    expect(multiplyDivide(2 ** 30, 2 ** 30, 7)).toBeUndefined()
    expect(multiplyDivide(0.5, 4, 1)).toBeUndefined()
  })
})

describe("plain and exact arithmetic", () => {
  const rounded = (value: ReturnType<typeof exact>): number => roundHalfAway(value).toNumber() + 0
  it("agree on a percentage of an amount, and on an amount without an included percentage", () => {
    fc.assert(
      fc.property(minor, decimal, positive, (amount, percent, rate) => {
        expect(percentOfMoney(amount, percent)).toBe(rounded(exact(amount).times(exact(percent)).dividedBy(100)))
        expect(withoutPercent(amount, rate)).toBe(rounded(exact(amount).times(100).dividedBy(exact(rate).plus(100))))
      }),
      { numRuns: 2_000 }
    )
  })
  it("agree where half a cent decides the rounding", () => {
    for (const [amount, percent] of [
      [1, "50"],
      [3, "50.00"],
      [-1, "50"],
      [199, "2.5"],
      [20, "2.5000"],
      [-20, "2.5"],
      [333, "0.1501"]
    ] as const) {
      expect(percentOfMoney(amount, percent)).toBe(rounded(exact(amount).times(exact(percent)).dividedBy(100)))
    }
  })
  it("agree on whole units, products and order", () => {
    fc.assert(
      fc.property(decimal, decimal, minor, (one, other, amount) => {
        expect(wholeUnits(one)).toBe(rounded(exact(one)))
        expect(timesMoney(amount, one)).toBe(BigInt(roundHalfAway(exact(amount).times(exact(one))).toFixed(0)))
        expect(Math.sign(compareDecimals(one, other))).toBe(exact(one).comparedTo(exact(other)) + 0)
      }),
      { numRuns: 2_000 }
    )
  })
})

/** Allocates by the largest remainder method, with integers of any size. */
const told = (total: number, weights: ReadonlyArray<number>): ReadonlyArray<number> => {
  const clamped = weights.map((weight) => BigInt(Math.max(0, weight)))
  const shares = clamped.every((weight) => weight === 0n) ? weights.map(() => 1n) : clamped
  const sum = shares.reduce((a, b) => a + b, 0n)
  const parts = shares.map((share) => (BigInt(total) * share) / sum)
  const order = shares
    .map((share, index) => ({ index, rest: (BigInt(total) * share) % sum }))
    .sort((a, b) => (a.rest > b.rest ? -1 : a.rest < b.rest ? 1 : a.index - b.index))
  const left = BigInt(total) - parts.reduce((a, b) => a + b, 0n)
  for (const { index } of order.slice(0, Number(left))) parts[index] = parts[index]! + 1n
  return parts.map(Number)
}
describe("an amount spread by weights", () => {
  it("equals the largest-remainder method, for small and large figures", () => {
    const small = fc.integer({ min: -5, max: 40 }),
      large = fc.integer({ min: 0, max: 9_000_000_000_000 })
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 0, max: 500 }), large),
        fc.oneof(fc.array(small, { minLength: 1, maxLength: 30 }), fc.array(large, { minLength: 1, maxLength: 30 })),
        (total, weights) => {
          expect(allocateMoney(total, weights)).toEqual(told(total, weights))
        }
      ),
      { numRuns: 2_000 }
    )
  })
})

describe("an ISO timestamp", () => {
  it("is read as its instant, in any year and with any offset", () => {
    const years = fc.date({
      min: new Date("0000-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59.999Z"),
      noInvalidDate: true
    })
    fc.assert(
      fc.property(years, fc.integer({ min: -1439, max: 1439 }), (date, offset) => {
        const local = new Date(date.getTime() + offset * 60_000).toISOString()
        fc.pre(local.length === 24)
        const two = (part: number): string => String(Math.trunc(part)).padStart(2, "0")
        const zone = `${offset < 0 ? "-" : "+"}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`
        expect(parseMoment(`${local.slice(0, -1)}${zone}`)).toEqual({
          epoch_ms: date.getTime(),
          offset_minutes: offset
        })
        expect(parseMoment(date.toISOString())).toEqual({ epoch_ms: date.getTime(), offset_minutes: 0 })
        const second = parseMoment(`${date.toISOString().slice(0, 19)}Z`)
        expect(second === undefined ? "" : new Date(second.epoch_ms).toISOString()).toBe(
          `${date.toISOString().slice(0, 19)}.000Z`
        )
      }),
      { numRuns: 1_000 }
    )
  })
  it("is rejected if its day, time or offset does not exist", () => {
    for (const text of words(`
      2026-02-29T00:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z 2026-01-00T00:00:00Z 2026-04-31T00:00:00.000Z
      2026-01-01T24:00:00Z 2026-01-01T23:60:00Z 2026-01-01T23:00:60Z 2026-01-01T00:00:00+24:00
      2026-01-01T00:00:00+00:60 2026-01-01T00:00:0xZ 2026-01-01T00:00:00.0x0Z 2026-01-01T00:00:00.000X
      2026-01-01T00:00:00*02:00 2100-02-29T00:00:00Z 1900-02-29T00:00:00.000+01:00
    `))
      expect(parseMoment(text), text).toBeUndefined()
    for (const text of ["2024-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z", "0000-02-29T00:00:00Z"])
      expect(parseMoment(text), text).toBeDefined()
  })
})
