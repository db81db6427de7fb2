/** Decimals of filters as SQLite compares them. */
import { exact } from "../values/decimal.ts"

/**
 * SQLite keeps decimals as integers scaled by a power of ten: a value between two of them is represented as n + 0.5.
 */
export const besideScaled = (value: string, scale: number): bigint | number => {
  const scaled = exact(value).times(exact(10).pow(scale))
  if (scaled.abs().greaterThan(9e18)) return scaled.isNegative() ? -1e19 : 1e19
  return scaled.isInteger() ? BigInt(scaled.toFixed(0)) : scaled.floor().toNumber() + 0.5
}
