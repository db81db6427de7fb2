/** Steps of an explanation, each with the reason for one amount or count (rules/rates 4, 5, 9). */
import { text } from "../../kernel/index.ts"
import { exact, type Numeric } from "../../values/decimal.ts"
import { scaleOf } from "../../values/money.ts"

export const stepShown = { figure: text(), rule: text(), words: text(), from: text({ nullable: true }), to: text() }
export interface Step {
  /** Name of the explained value, as in responses: `units`, `items.12.total`, `tax_total`. */
  readonly figure: string
  /**
   * Applied rule, for programs: `highest_priority`, `leeway`, `factor`, `tax_group`. `words` has the text for people.
   */
  readonly rule: string
  readonly words: string
  /** Value before the step, as text; null if there was none. */
  readonly from: string | null
  /** Value after the step, as text. */
  readonly to: string
}

/** End of a sentence about a rounded amount; "" if nothing was rounded. `minor`: exact amount in minor units. */
export const roundingWords = (minor: Numeric, currency: string): string => {
  const value = exact(minor)
  if (value.isInteger()) return ""
  return `, rounded half away from zero from ${value.dividedBy(exact(10).pow(scaleOf(currency))).toFixed()}`
}
export const countText = (count: number | bigint, one: string, many: string = `${one}s`): string =>
  `${String(count)} ${count === 1 || count === 1n ? one : many}`
