/** Targets of filters, as SQL: a column, or a custom field's value inside its document. */
import { currencies, scaleOf } from "../../values/money.ts"
import { type Bindings, type Dialect, quote } from "../store/statement.ts"
import { caseFoldedName, isSearchable, type Table } from "../tables/table.ts"
import { exact, isNumericText } from "../../values/decimal.ts"
import type { Field } from "../fields/field.ts"

// Filters a resource declares besides its columns: on related rows, on value names, on computed flags.

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
 * A computed flag in responses: true if `column` has one of the values, the columns in `where` have theirs, and the
 * instant in `past`, if given, is past.
 */
export interface FlagFilter {
  readonly column: string
  readonly is: ReadonlyArray<string>
  /** Column of the instant; absent if only values count. */
  readonly past?: string
  readonly where?: { readonly [column: string]: string | null }
}

/** SQL of a flag filter; undefined if the predicate or value is not boolean. */
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
  // Never null, so that negating it selects all other rows.
  const holds = [
    `${quote(column)} in (${is.map(bound.bind).join(", ")})`,
    ...Object.entries(where).flatMap(([name, one]) =>
      one === null ? [`${quote(name)} is null`] : [`${quote(name)} is not null`, `${quote(name)} = ${bound.bind(one)}`]
    ),
    ...(past === undefined ? [] : [`${quote(past)} is not null`, `${quote(past)} < ${bound.bind(now)}`])
  ].join(" and ")
  return wanted ? `(${holds})` : `not (${holds})`
}

// Money filters as SQL: values are major units, compared at the decimals of each row's currency.

type MoneyPredicate = "eq" | "not_eq" | "lt" | "lteq" | "gt" | "gteq" | "in" | "not_in"
const operators = { eq: "=", not_eq: "<>", lt: "<", lteq: "<=", gt: ">", gteq: ">=" } as const
const nothing = "1 = 0"
/** Above any storable amount. */
const beyond = 9_007_199_254_740_991

/** Currency codes by their decimals, for currencies whose decimals differ from the base currency's. */
export const otherScales = (base_currency: string): ReadonlyMap<number, ReadonlyArray<string>> => {
  const scales = new Map<number, Array<string>>()
  for (const { code, decimal_places } of currencies)
    if (decimal_places !== scaleOf(base_currency))
      scales.set(decimal_places, [...(scales.get(decimal_places) ?? []), code])
  return scales
}

/**
 * `currency`: the column with a row's currency code; undefined if all rows' currencies have as many decimals as the
 * base currency. The filter can then use an index on the column alone.
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

/** Minor units are integers: a value between two of them is above the lower and below the higher. */
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

export interface CustomColumn {
  readonly key: string
  readonly field: Field
  /** Ids of list values by folded name: filters accept a value's name as well as its id. */
  readonly names?: ReadonlyMap<string, number>
  /** Whether the field holds several values. */
  readonly many?: boolean
}
export interface FilterTarget {
  readonly field: Field
  readonly sql: string
  readonly folded: string
  /** Whether `folded` is a real column, which can be indexed. */
  readonly keeps_folded?: boolean
  readonly names?: ReadonlyMap<string, number>
  /** Name of the currency column, for money. */
  readonly currency?: string
  /** SQL of the array, if the field holds several values. */
  readonly items?: string
}
export const plainColumn = (table: Table, name: string): FilterTarget => {
  const field = table.columns[name]!
  return {
    field,
    sql: quote(name),
    folded: isSearchable(field)
      ? quote(caseFoldedName(name))
      : field.type.kind === "text" && field.type.folded === true
        ? quote(name)
        : `lower(${quote(name)})`,
    keeps_folded: isSearchable(field) && field.type.kind === "text",
    ...(field.type.kind === "money" && table.columns[field.type.currency ?? ""] !== undefined
      ? { currency: field.type.currency ?? "" }
      : {}),
    ...(field.type.kind === "list" ? { items: quote(name) } : {})
  }
}
/** A custom field's value inside the `custom_fields` document, as a column of its kind would hold it. */
export const documentColumn = ({ field, key, names, many }: CustomColumn, dialect: Dialect): FilterTarget => {
  const quoted = `'${key.replaceAll("'", "''")}'`
  const path = `("custom_fields" ->> ${quoted})`
  return {
    field,
    sql: documentValue(path, field, dialect),
    folded: `(${quote(caseFoldedName("custom_fields"))} ->> ${quoted})`,
    ...(names === undefined ? {} : { names }),
    ...(many === true ? { items: `("custom_fields" -> ${quoted})` } : {})
  }
}
const documentValue = (path: string, { type }: Field, dialect: Dialect): string => {
  switch (type.kind) {
    case "integer":
    case "ref":
      return `cast(${path} as ${dialect === "pg" ? "bigint" : "integer"})`
    case "decimal":
      return dialect === "pg"
        ? `cast(${path} as numeric)`
        : `cast(round(cast(${path} as real) * ${10 ** type.scale}) as integer)`
    case "boolean":
      return dialect === "pg" ? `cast(${path} as boolean)` : path
    default:
      return dialect === "pg" ? `(${path} collate "C")` : path
  }
}
