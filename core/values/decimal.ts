/**
 * Decimals: exact arithmetic, and rounding half away from zero. Input and output are strings at a stated scale; sums
 * use integers scaled by a power of ten.
 */
import { Decimal } from "decimal.js"
import { Result } from "effect"

// Fast path for figures that fit plain integers, as nearly all do. Functions return undefined for the others, which
// take the slower `Decimal` path to the same result.

/** A decimal as an integer ratio: "12.50" is 1250 `parts`, 100 `per_one`. */
interface PlainDecimal {
  readonly parts: number
  readonly per_one: number
}

const digits_max = 15
const powers = Array.from({ length: digits_max + 1 }, (_, exponent) => 10 ** exponent)
const minus = 45,
  point = 46,
  zero = 48

/**
 * Parses an integer, or text of at most 15 digits with an optional fraction ("-12.50"); undefined for anything else.
 */
export const plainDecimal = (value: unknown): PlainDecimal | undefined => {
  if (typeof value === "number") return Number.isSafeInteger(value) ? { parts: value, per_one: 1 } : undefined
  if (typeof value !== "string") return undefined
  const negative = value.charCodeAt(0) === minus
  const begin = negative ? 1 : 0
  let parts = 0,
    point_at = -1
  for (let at = begin; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if (code === point && point_at < 0 && at > begin) point_at = at
    else if (code >= zero && code <= zero + 9) parts = parts * 10 + code - zero
    else return undefined
  }
  const fraction = point_at < 0 ? 0 : value.length - point_at - 1
  const digits = value.length - begin - (point_at < 0 ? 0 : 1)
  if (digits < 1 || digits > digits_max || (point_at >= 0 && fraction === 0)) return undefined
  return { parts: negative ? -parts : parts, per_one: powers[fraction]! }
}

/**
 * `one × other ÷ divisor`, rounded half away from zero; whole numbers, the divisor above zero. Undefined beyond 2^53.
 */
export const multiplyDivide = (one: number, other: number, divisor: number): number | undefined => {
  const product = one * other
  if (!Number.isSafeInteger(product) || !Number.isSafeInteger(one) || !Number.isSafeInteger(divisor)) return undefined
  const size = Math.abs(product)
  const rest = size % divisor
  const whole = (size - rest) / divisor + (rest >= divisor - rest ? 1 : 0)
  // Turns -0 into 0.
  return product < 0 ? 0 - whole : whole
}

/** Enough digits that no product of a price, a rate and a quantity this system accepts is ever rounded on the way. */
const Exact = Decimal.clone({ precision: 100, rounding: Decimal.ROUND_HALF_UP, toExpNeg: -200, toExpPos: 200 })
export type ExactNumber = InstanceType<typeof Exact>
export type Numeric = string | number | bigint | ExactNumber

/** An exact number. Throws on text that is not a number: check input with `parseDecimal` or `isNumericText` first. */
export const exact = (value: Numeric): ExactNumber => new Exact(value)

const plain = /^\d{1,20}(\.\d{1,20})?$/
const numeric = /^[+-]?(\d{1,60}\.?\d{0,60}|\.\d{1,60})([eE][+-]?\d{1,3})?$/

/** Whether the text is a number in digits, with optional sign, fraction and exponent. */
export const isNumericText = (text: string): boolean => numeric.test(text)

/** Rounds half away from zero to `scale` decimals (0 = whole). */
export const roundHalfAway = (value: Numeric, scale = 0): ExactNumber =>
  exact(value).toDecimalPlaces(scale, Decimal.ROUND_HALF_UP)

/** Cuts towards zero at `scale` decimals: exchange rates are cut, not rounded (rules/rates 9.5). */
export const truncateAt = (value: Numeric, scale: number): ExactNumber =>
  exact(value).toDecimalPlaces(scale, Decimal.ROUND_DOWN)

/** Rounds to an integer, half away from zero. */
export const wholeUnits = (value: Numeric): number => {
  const plain = plainDecimal(value)
  return (
    (plain === undefined ? undefined : multiplyDivide(plain.parts, 1, plain.per_one)) ??
    roundHalfAway(value).toNumber() + 0
  )
}

const digits = /^-?\d{1,60}(?:\.\d{1,60})?$/

/** The scaled integer of a number text with at most `scale` decimals; undefined for anything else. */
export const plainScaled = (text: string, scale: number): bigint | undefined => {
  const known = plainDecimal(text)
  if (known !== undefined) {
    const per_one = powers[scale] ?? 0
    const scaled = known.parts * (per_one / known.per_one)
    if (known.per_one <= per_one && Number.isSafeInteger(scaled)) return BigInt(scaled)
  }
  if (!digits.test(text)) return undefined
  const [whole = "", fraction = ""] = text.split(".")
  const missing = scale - fraction.length
  return missing < 0 ? undefined : BigInt(whole + fraction + "0".repeat(missing))
}

/** `value × 10^scale` as an integer, rounded half away from zero: "2.5" at scale 1 is 25n. */
export const toScaled = (value: Numeric, scale: number): bigint =>
  (typeof value === "string" ? plainScaled(value, scale) : undefined) ??
  BigInt(exact(value).toFixed(scale, Decimal.ROUND_HALF_UP).replace(".", ""))

/** The decimal string of an integer scaled by `10^scale`: 25n at scale 1 is "2.5". Exact at any size. */
export const fromScaled = (scaled: bigint | number, scale: number): string => {
  const digits = (scaled < 0 ? -scaled : scaled).toString().padStart(scale + 1, "0")
  const sign = scaled < 0 ? "-" : ""
  if (scale === 0) return sign + digits
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** A number as a decimal string with exactly `scale` decimals, rounded half away from zero; never "-0". */
export const formatDecimal = (value: Numeric, scale: number): string => {
  const plain = plainDecimal(value)
  const scaled =
    plain === undefined ? undefined : multiplyDivide(plain.parts, powers[scale] ?? Number.NaN, plain.per_one)
  return fromScaled(scaled ?? toScaled(value, scale), scale)
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export const compareDecimals = (a: Numeric, b: Numeric): number => {
  const one = plainDecimal(a),
    other = plainDecimal(b)
  return one !== undefined && other !== undefined && one.per_one === other.per_one
    ? Math.sign(one.parts - other.parts)
    : exact(a).comparedTo(exact(b))
}

interface DecimalRules {
  readonly scale: number
  readonly min?: string
  readonly max?: string
  /** Refuse more decimals than the scale instead of rounding them away. Default true. */
  readonly strict?: boolean
}

/**
 * Parses a decimal from a body (number or string) into a string at the scale. The error continues a field's name: "must
 * be a number."
 */
export const parseDecimal = (input: unknown, rules: DecimalRules): Result.Result<string, string> => {
  const text = typeof input === "number" ? String(input) : typeof input === "string" ? input.trim() : ""
  const scaled = plainScaled(text, rules.scale)
  const [min, max] = [rules.min, rules.max].map((bound) =>
    bound === undefined ? undefined : plainScaled(bound, rules.scale)
  )
  // Fast path for plain digits within the scale and the bounds, as nearly all input is.
  if (
    scaled !== undefined &&
    (rules.min === undefined || (min !== undefined && scaled >= min)) &&
    (rules.max === undefined || (max !== undefined && scaled <= max))
  ) {
    return Result.succeed(fromScaled(scaled, rules.scale))
  }
  if (!isNumericText(text)) return Result.fail("must be a number.")
  const value = exact(text)
  if ((rules.strict ?? true) && value.decimalPlaces() > rules.scale) {
    return Result.fail(rules.scale === 0 ? "must be a whole number." : `must have at most ${rules.scale} decimals.`)
  }
  if (rules.min !== undefined && value.lessThan(rules.min)) return Result.fail(`must be at least ${rules.min}.`)
  if (rules.max !== undefined && value.greaterThan(rules.max))
    return Result.fail(`must not be greater than ${rules.max}.`)
  return Result.succeed(formatDecimal(value, rules.scale))
}

/** Whether the text is digits with an optional fraction (multipliers, factors): no sign, exponent or bare point. */
export const isPlainDecimalText = (text: string): boolean => plain.test(text)
