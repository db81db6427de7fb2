/**
 * Exact arithmetic in plain integers, for figures small enough to be counted so, as nearly all are. What is not answers
 * undefined, and takes the longer way of `decimal.ts` to the same result.
 */

/** A decimal as a whole number of parts: "12.50" is 1250 parts of which 100 make one. */
export interface PlainDecimal {
  readonly parts: number
  readonly per_one: number
}

const digits_max = 15
const powers = Array.from({ length: digits_max + 1 }, (_, exponent) => 10 ** exponent)
const minus = 45,
  point = 46,
  zero = 48

/** A whole number, or text of at most 15 digits with a fraction or without ("-12.50"); undefined for all else. */
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
  // Never a negative zero.
  return product < 0 ? 0 - whole : whole
}
