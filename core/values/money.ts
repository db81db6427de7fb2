/**
 * Money: stored as an integer of minor units, in requests and responses a decimal string at the currency's scale
 * (rules/rates 7). Fractions of a minor unit are rounded half away from zero, once.
 */
import { Result } from "effect"
import { scaleOf } from "./currency.ts"
import {
  exact,
  fromScaled,
  isNumericText,
  multiplyDivide,
  type Numeric,
  plainDecimal,
  plainScaled,
  roundHalfAway
} from "./decimal.ts"

/** The largest amount a body may carry: what fits a signed 32-bit integer of minor units. */
export const MAX_MONEY_MINOR = 2_147_483_647

interface MoneyRules {
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
  if (typeof input === "number" && Number.isInteger(input)) return inRange(input, rules, undefined)
  if (rules.minor_only === true) return Result.fail("must be a whole number of minor units.")
  const text = typeof input === "number" ? String(input) : typeof input === "string" ? input.trim() : ""
  if (!isNumericText(text)) return Result.fail("must be a number.")
  const scale = scaleOf(currency)
  const plain = plainScaled(text, scale)
  if (plain !== undefined) return inRange(Number(plain), rules, currency)
  const minor = exact(text).times(exact(10).pow(scale))
  if (!minor.isInteger()) {
    return Result.fail(`must have ${scale === 0 ? "no" : `at most ${scale}`} decimals in ${currency}.`)
  }
  return inRange(minor.toNumber(), rules, currency)
}

/** `currency`: the amount was given in its major units, and errors state the limits in them. */
const inRange = (minor: number, rules: MoneyRules, currency: string | undefined): Result.Result<number, string> => {
  if (minor < 0 && rules.signed !== true) return Result.fail("must be at least 0.")
  if (Math.abs(minor) > MAX_MONEY_MINOR) {
    const most = currency === undefined ? `${MAX_MONEY_MINOR} minor units` : formatMoney(MAX_MONEY_MINOR, currency)
    return Result.fail(`must not be greater than ${most}.`)
  }
  // Adding zero turns a negative zero ("-0.00") into plain zero.
  return Result.succeed(minor + 0)
}

/**
 * Minor units as a decimal string at the currency's own scale: 12550 GBP is "125.50", 1234 KWD "1.234". Exact at any
 * size.
 */
export const formatMoney = (minor: number | bigint, currency: string): string =>
  fromScaled(BigInt(minor), scaleOf(currency))

/** `minor × factor`, rounded half away from zero to the minor unit. */
export const timesMoney = (minor: number | bigint, factor: Numeric): bigint => {
  const plain = plainDecimal(factor)
  const whole = plain === undefined ? undefined : multiplyDivide(Number(minor), plain.parts, plain.per_one)
  return whole === undefined ? BigInt(roundHalfAway(exact(minor).times(exact(factor))).toFixed(0)) : BigInt(whole)
}

/** `percent` of an amount, rounded half away from zero to the minor unit. */
export const percentOfMoney = (minor: number, percent: Numeric): number => {
  const plain = plainDecimal(percent)
  return (
    (plain === undefined ? undefined : multiplyDivide(minor, plain.parts, plain.per_one * 100)) ??
    roundHalfAway(exact(minor).times(exact(percent)).dividedBy(100)).toNumber() + 0
  )
}

/** The amount without the `percent` included in it, rounded half away from zero to the minor unit. */
export const withoutPercent = (minor: number, percent: Numeric): number => {
  const plain = plainDecimal(percent)
  return (
    (plain === undefined || plain.parts < 0
      ? undefined
      : multiplyDivide(minor, plain.per_one * 100, plain.parts + plain.per_one * 100)) ??
    roundHalfAway(exact(minor).times(100).dividedBy(exact(percent).plus(100))).toNumber() + 0
  )
}

/**
 * Splits an amount over weights by largest remainder: the parts add up to it exactly, ties go to the earlier part.
 * Weights below zero count as zero; when no weight is left the amount is split evenly. A negative amount mirrors.
 */
export const allocateMoney = (total: number, weights: ReadonlyArray<number>): ReadonlyArray<number> => {
  if (weights.length === 0) return []
  if (total < 0) return allocateMoney(-total, weights).map((part) => 0 - part)
  const clamped = weights.map((weight) => Math.max(0, weight))
  const sum = clamped.reduce((a, b) => a + b, 0)
  const shares = sum === 0 ? weights.map(() => 1) : clamped
  const divisor = sum === 0 ? weights.length : sum
  const heaviest = shares.reduce((a, b) => Math.max(a, b), 0)
  const { parts, remainders } =
    Number.isSafeInteger(divisor) && Number.isSafeInteger(total * heaviest)
      ? plainShares(total, shares, divisor)
      : wideShares(total, shares)
  handOut(parts, remainders, total - parts.reduce((a, b) => a + b, 0))
  return parts
}

/** Shares cut to whole minor units, and the remainders as fractions of one divisor. */
interface Shared<N> {
  readonly parts: Array<number>
  readonly remainders: ReadonlyArray<N>
}
const plainShares = (total: number, shares: ReadonlyArray<number>, divisor: number): Shared<number> => {
  const remainders = shares.map((share) => (total * share) % divisor)
  return { parts: shares.map((share, index) => (total * share - remainders[index]!) / divisor), remainders }
}
const wideShares = (total: number, shares: ReadonlyArray<number>): Shared<bigint> => {
  const products = shares.map((share) => BigInt(total) * BigInt(share))
  const divisor = shares.reduce((sum, share) => sum + BigInt(share), 0n)
  return {
    parts: products.map((product) => Number(product / divisor)),
    remainders: products.map((product) => product % divisor)
  }
}

const inOrder = (values: ReadonlyArray<number | bigint>): Float64Array | ReadonlyArray<number | bigint> =>
  typeof values[0] === "number"
    ? Float64Array.from(values as ReadonlyArray<number>).sort()
    : [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
/** Adds the remaining minor units, one each, to the parts with the largest remainders; ties go to the earlier part. */
const handOut = (parts: Array<number>, remainders: ReadonlyArray<number | bigint>, left: number): void => {
  if (left <= 0) return
  const sorted = inOrder(remainders)
  const least = sorted[sorted.length - left]!
  let equals = left
  for (let at = sorted.length - 1; sorted[at]! > least; at--) equals--
  remainders.forEach((remainder, index) => {
    if (remainder > least || (remainder === least && equals-- > 0)) parts[index] = (parts[index] ?? 0) + 1
  })
}
