/** Filters of money as SQL: values are major units, and each row is compared at the decimals of its own currency. */
import { currencies, scaleOf } from "../values/currency.ts"
import { exact, isNumericText } from "../values/decimal.ts"
import { type Bindings, quote } from "./store/statement.ts"

export type MoneyPredicate = "eq" | "not_eq" | "lt" | "lteq" | "gt" | "gteq" | "in" | "not_in"
const operators = { eq: "=", not_eq: "<>", lt: "<", lteq: "<=", gt: ">", gteq: ">=" } as const
const nothing = "1 = 0"
/** More than any amount may be. */
const beyond = 9_007_199_254_740_991

/** Codes of currencies with other decimals than this one, by their decimals. */
export const otherScales = (base_currency: string): ReadonlyMap<number, ReadonlyArray<string>> => {
  const scales = new Map<number, Array<string>>()
  for (const { code, decimal_places } of currencies)
    if (decimal_places !== scaleOf(base_currency))
      scales.set(decimal_places, [...(scales.get(decimal_places) ?? []), code])
  return scales
}

/**
 * `currency`: the column with the code of a row's currency; undefined where every row is in the base currency, or in
 * one with as many decimals. An index on the column alone then serves the filter.
 */
export const moneySql = (
  column: string,
  currency: string | undefined,
  predicate: MoneyPredicate,
  given: ReadonlyArray<string>,
  base_currency: string,
  bound: Bindings
): string => {
  const values = given.map((value) => value.trim()).filter(isNumericText)
  if (values.length === 0) return nothing
  const at = (scale: number): string => comparedAt(scale, column, predicate, values, bound)
  const base = at(scaleOf(base_currency))
  if (currency === undefined) return base
  const others = [...otherScales(base_currency)]
  const listed = (codes: ReadonlyArray<string>): string => codes.map((code) => `'${code}'`).join(", ")
  const own = others.map(([scale, codes]) => `(${quote(currency)} in (${listed(codes)}) and ${at(scale)})`)
  const foreign = listed(others.flatMap(([, codes]) => codes))
  return `((${quote(currency)} not in (${foreign}) and ${base}) or ${own.join(" or ")})`
}

/** Minor units are whole: what lies between two of them is more than the one and less than the other. */
const comparedAt = (
  scale: number,
  column: string,
  predicate: MoneyPredicate,
  values: ReadonlyArray<string>,
  bound: Bindings
): string => {
  const anything = `${column} is not null`
  const scaled = values.map((value) => exact(value).times(exact(10).pow(scale)))
  const whole = scaled.filter((one) => one.isInteger() && one.abs().lessThan(beyond)).map((one) => one.toNumber() + 0)
  if (predicate === "in" || predicate === "not_in" || predicate === "eq" || predicate === "not_eq") {
    const is_not = predicate === "not_eq" || predicate === "not_in"
    if (whole.length === 0) return is_not ? anything : nothing
    return `${column} ${is_not ? "not in" : "in"} (${whole.map(bound.bind).join(", ")})`
  }
  const [one] = scaled
  if (one === undefined) return nothing
  const [exactly] = whole
  if (exactly !== undefined) return `${column} ${operators[predicate]} ${bound.bind(exactly)}`
  const is_more = predicate === "gt" || predicate === "gteq"
  if (one.abs().greaterThanOrEqualTo(beyond)) return one.isNegative() === is_more ? anything : nothing
  return is_more
    ? `${column} >= ${bound.bind(one.ceil().toNumber() + 0)}`
    : `${column} <= ${bound.bind(one.floor().toNumber() + 0)}`
}
