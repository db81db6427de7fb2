/**
 * Money: an integer of minor units inside, a decimal string at the currency's own scale outside (rates 7).
 * Every fraction of a minor unit is rounded half away from zero, once.
 */
import { Result } from "effect"
import { scaleOf } from "./currency.ts"
import { exact, formatDecimal, fromScaled, isNumericText, type Numeric, plainScaled, roundHalfAway } from "./decimal.ts"

/** The largest amount a body may carry: what fits a signed 32-bit integer of minor units. */
export const MAX_MONEY_MINOR = 2_147_483_647

export interface MoneyRules {
  /** Allow amounts below zero (deductions on an invoice). */
  readonly signed?: boolean
  /** Take whole JSON numbers of minor units only, no decimal strings (plain columns such as a member's day cost). */
  readonly minor_only?: boolean
}

/**
 * Reads money from a body: a whole JSON number is minor units; a string, or a number with a fraction, is major units
 * at the currency's scale. The failure is a text that continues a field's name: "must be a number."
 */
export const parseMoney = (input: unknown, currency: string, rules: MoneyRules = {}): Result.Result<number, string> => {
  if (typeof input === "number" && Number.isInteger(input)) return inRange(input, rules)
  if (rules.minor_only === true) return Result.fail("must be a whole number of minor units.")
  const text = typeof input === "number" ? String(input) : typeof input === "string" ? input.trim() : ""
  if (!isNumericText(text)) return Result.fail("must be a number.")
  const scale = scaleOf(currency)
  const plain = plainScaled(text, scale)
  if (plain !== undefined) return inRange(Number(plain), rules)
  const minor = exact(text).times(exact(10).pow(scale))
  if (!minor.isInteger()) {
    return Result.fail(`must have ${scale === 0 ? "no" : `at most ${scale}`} decimals in ${currency}.`)
  }
  return inRange(minor.toNumber(), rules)
}

const inRange = (minor: number, rules: MoneyRules): Result.Result<number, string> => {
  if (minor < 0 && rules.signed !== true) return Result.fail("must be at least 0.")
  if (Math.abs(minor) > MAX_MONEY_MINOR) return Result.fail(`must not be greater than ${MAX_MONEY_MINOR} minor units.`)
  // Adding zero turns a negative zero ("-0.00") into plain zero.
  return Result.succeed(minor + 0)
}

/** Minor units as a decimal string at the currency's own scale: 12550 GBP is "125.50", 1234 KWD "1.234". Exact at any size. */
export const formatMoney = (minor: number | bigint, currency: string): string => fromScaled(BigInt(minor), scaleOf(currency))

/** The same for a nullable amount. */
export const formatMoneyOrNull = (minor: number | bigint | null, currency: string): string | null =>
  minor === null ? null : formatMoney(minor, currency)

/** `minor × factor`, rounded half away from zero to the minor unit. */
export const timesMoney = (minor: number | bigint, factor: Numeric): bigint =>
  BigInt(roundHalfAway(exact(minor).times(exact(factor))).toFixed(0))

/** `percent` of an amount, rounded half away from zero to the minor unit. */
export const percentOfMoney = (minor: number, percent: Numeric): number =>
  roundHalfAway(exact(minor).times(exact(percent)).dividedBy(100)).toNumber() + 0

/** A percentage as stored: "20.0000" at scale 4, "25.00" at scale 2. */
export const formatPercentage = (percent: Numeric, scale: number): string => formatDecimal(percent, scale)

/**
 * Splits an amount over weights by largest remainder: the parts add up to it exactly, ties go to the earlier part.
 * Weights below zero count as zero; when no weight is left the amount is split evenly. A negative amount mirrors.
 */
export const allocateMoney = (total: number, weights: ReadonlyArray<number>): ReadonlyArray<number> => {
  if (weights.length === 0) return []
  if (total < 0) return allocateMoney(-total, weights).map((part) => 0 - part)
  const clamped = weights.map((weight) => BigInt(Math.max(0, weight)))
  const sum = clamped.reduce((a, b) => a + b, 0n)
  const shares = sum === 0n ? weights.map(() => 1n) : clamped
  const divisor = sum === 0n ? BigInt(weights.length) : sum
  const parts = shares.map((share) => Number((BigInt(total) * share) / divisor))
  const byRemainder = shares
    .map((share, index) => ({ index, remainder: (BigInt(total) * share) % divisor }))
    .sort((a, b) => (a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1))
  const left = total - parts.reduce((a, b) => a + b, 0)
  for (const { index } of byRemainder.slice(0, left)) parts[index] = (parts[index] ?? 0) + 1
  return parts
}
