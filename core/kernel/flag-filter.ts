/** Filters on what answers show as true or false and no column keeps, as it follows from the clock. */
import { type Bindings, quote } from "./store/statement.ts"

/** It is true where a column has one of some values and an instant is past. */
export interface FlagFilter {
  readonly column: string
  readonly is: ReadonlyArray<string>
  readonly past: string
}

/** Undefined where the predicate compares it with something that is neither true nor false. */
export const flagSql = (
  { column, is, past }: FlagFilter,
  predicate: string,
  value: string | undefined,
  now: string,
  bound: Bindings
): string | undefined => {
  const given = value?.trim().toLowerCase() ?? ""
  const asked = ["true", "t", "1"].includes(given) ? true : ["false", "f", "0"].includes(given) ? false : undefined
  const wanted =
    predicate === "true" || predicate === "false"
      ? predicate === "true"
      : predicate === "eq"
        ? asked
        : predicate === "not_eq" && asked !== undefined
          ? !asked
          : undefined
  if (wanted === undefined) return undefined
  // Never null, so that its opposite holds for all others.
  const holds =
    `(${quote(column)} in (${is.map(bound.bind).join(", ")}) and ` +
    `${quote(past)} is not null and ${quote(past)} < ${bound.bind(now)})`
  return wanted ? holds : `not ${holds}`
}
