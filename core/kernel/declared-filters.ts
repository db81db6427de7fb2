/** Filters a resource declares beside its columns: on related rows, on names of values, on what follows from time. */
import { type Bindings, quote } from "./store/statement.ts"
import type { Table } from "./table.ts"

/** A filter on a related row: `q[productGroup.name_eq]`. `via` is the own column that holds the other row's id. */
export interface RelatedFilter {
  readonly via: string
  readonly table: Table
  readonly column: string
}
/** A name for values of one or several columns: the status "Reserved" is status 1 of the state quotation. */
export interface NamedFilterValue {
  readonly name: string
  readonly where: { readonly [column: string]: number | string }
}

/**
 * What answers show as true or false and no column keeps, as it follows from the clock: it is true where a column has
 * one of some values, others have theirs, and an instant is past.
 */
export interface FlagFilter {
  readonly column: string
  readonly is: ReadonlyArray<string>
  /** The column of an instant; left out where only the values count. */
  readonly past?: string
  readonly where?: { readonly [column: string]: string | null }
}

/** Undefined where the predicate compares it with something that is neither true nor false. */
export const flagSql = (
  { column, is, past, where = {} }: FlagFilter,
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
  const holds = [
    `${quote(column)} in (${is.map(bound.bind).join(", ")})`,
    ...Object.entries(where).flatMap(([name, one]) =>
      one === null ? [`${quote(name)} is null`] : [`${quote(name)} is not null`, `${quote(name)} = ${bound.bind(one)}`]
    ),
    ...(past === undefined ? [] : [`${quote(past)} is not null`, `${quote(past)} < ${bound.bind(now)}`])
  ].join(" and ")
  return wanted ? `(${holds})` : `not (${holds})`
}
