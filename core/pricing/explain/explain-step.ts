/** Steps of an explanation: how a figure came about, in words (rules/rates 4, 5, 9). */
import { text } from "../../kernel/fields/field.ts"
import { scaleOf } from "../../values/currency.ts"
import { exact, type Numeric } from "../../values/decimal.ts"

/** A step as answers show it. */
export const stepShown = { figure: text(), rule: text(), words: text(), from: text({ nullable: true }), to: text() }
export interface Step {
  /** The figure it leads to, named as the answer names it: `units`, `items.12.total`, `tax_total`. */
  readonly figure: string
  /**
   * The rule that applied: `highest_priority`, `leeway`, `factor`, `tax_group`. For machines; the words are for people.
   */
  readonly rule: string
  readonly words: string
  /** The value before, as text; null where there was none. */
  readonly from: string | null
  /** The value after. */
  readonly to: string
}

/**
 * The end of a sentence about an amount that was rounded to its minor unit; empty where nothing was. `minor` is exact,
 * in minor units.
 */
export const roundingWords = (minor: Numeric, currency: string): string => {
  const value = exact(minor)
  if (value.isInteger()) return ""
  return `, rounded half away from zero from ${value.dividedBy(exact(10).pow(scaleOf(currency))).toFixed()}`
}
export const countText = (count: number | bigint, one: string, many: string = `${one}s`): string =>
  `${String(count)} ${count === 1 || count === 1n ? one : many}`
