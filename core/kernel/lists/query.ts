/**
 * List queries: `q[<field>_<predicate>]=<value>`, sort, page, include, compiled to SQL for all resources
 * (rules/conventions 2 to 5). Unsupported fields, sorts and includes are ignored; a value of the wrong type matches
 * nothing.
 */
import { exact, isNumericText } from "../../values/decimal.ts"
import { itemAt } from "../../values/text.ts"
import { parseDate, parseTimestamp } from "../../values/time.ts"
import { codeLabelled, type Field, sameJson } from "../fields/field.ts"
import type { CustomColumn, FilterTarget, FlagFilter, NamedFilterValue, RelatedFilter } from "./filter-target.ts"
import { documentColumn, flagSql, moneySql, plainColumn } from "./filter-target.ts"
import { isStorableText, wholeNumberOf } from "../fields/input.ts"
import { type Bindings, type Dialect, quote } from "../store/statement.ts"
import { foldCase, type Table } from "../tables/table.ts"

// Decimal filters for SQLite.

/**
 * SQLite keeps decimals as integers scaled by a power of ten: a value between two of them is represented as n + 0.5.
 */
const besideScaled = (value: string, scale: number): bigint | number => {
  const scaled = exact(value).times(exact(10).pow(scale))
  if (scaled.abs().greaterThan(9e18)) return scaled.isNegative() ? -1e19 : 1e19
  return scaled.isInteger() ? BigInt(scaled.toFixed(0)) : scaled.floor().toNumber() + 0.5
}

export type { CustomColumn } from "./filter-target.ts"
export type { FlagFilter, NamedFilterValue, RelatedFilter } from "./filter-target.ts"

/** Query parameters as sent, in order. */
export type Query = ReadonlyArray<readonly [name: string, value: string]>

/** The 18 predicates; longest first, so that `status_not_cont` is read as `status` + `not_cont`. */
export const predicates = [
  "not_null",
  "not_cont",
  "present",
  "not_eq",
  "not_in",
  "blank",
  "start",
  "false",
  "null",
  "true",
  "lteq",
  "gteq",
  "cont",
  "end",
  "eq",
  "lt",
  "gt",
  "in"
] as const
export type Predicate = (typeof predicates)[number]

export interface Listing {
  readonly table: Table
  readonly filters: ReadonlyArray<string>
  readonly sorts: ReadonlyArray<string>
  /** Columns by names in responses or of older clients. */
  readonly aliases: { readonly [name: string]: string }
  readonly related: { readonly [name: string]: RelatedFilter }
  /** Columns with named values: `eq`, `not_eq`, `in` and `not_in` accept the names, too. */
  readonly value_names: { readonly [column: string]: ReadonlyArray<NamedFilterValue> }
  readonly flags: { readonly [name: string]: FlagFilter }
  /** The instant at which flags are evaluated. */
  readonly now: string
  readonly base_currency: string
  /** Whether all rows' currencies have as many decimals as the base currency. */
  readonly is_one_scale?: boolean
  /** Searchable custom fields by name and by id (as text), with the key their value is stored under and its kind. */
  readonly custom_fields: ReadonlyMap<string, CustomColumn>
}
/** `values`: all that were sent; predicates other than `in` and `not_in` use the last one. */
export interface Condition {
  readonly name: string
  readonly predicate: Predicate
  readonly values: ReadonlyArray<string>
}

const isNamed = (key: string, name: string): boolean =>
  key === name || (key.length === name.length + 2 && key.endsWith("[]") && key.startsWith(name))
const valuesOf = (query: Query, name: string): ReadonlyArray<string> =>
  query.filter(([key]) => isNamed(key, name)).map(([, value]) => value)
export const valueOf = (query: Query, name: string): string | undefined =>
  query.findLast(([key]) => isNamed(key, name))?.[1]

/** Splits `status_not_eq` into field and predicate; undefined if it has no predicate or no field. */
export const splitPredicate = (key: string): { readonly name: string; readonly predicate: Predicate } | undefined => {
  for (const [predicate, ending] of predicate_endings)
    if (key.endsWith(ending))
      return key.length === ending.length ? undefined : { name: key.slice(0, -ending.length), predicate }
  return undefined
}
const predicate_endings = predicates.map((predicate) => [predicate, `_${predicate}`] as const)

export const takesSeveral = (predicate: Predicate): boolean => predicate === "in" || predicate === "not_in"

/** Filter conditions of a query string; other keys are ignored. */
export const conditionsOf = (query: Query): ReadonlyArray<Condition> => {
  const found = new Map<string, { name: string; predicate: Predicate; values: Array<string> }>()
  for (const [key, value] of query) {
    const inner = /^q\[([^[\]]+)\](\[\d*\])?$/.exec(key)
    const name = inner?.[1]
    const split = name === undefined ? undefined : splitPredicate(name)
    if (name === undefined || split === undefined) continue
    const key_alone = inner?.[2] === undefined
    // A plain text may hold several values separated by commas; array elements are one value each, commas included.
    const values = key_alone && takesSeveral(split.predicate) ? value.split(",") : [value]
    const same = found.get(name)
    if (same === undefined) found.set(name, { ...split, values })
    // Repeated plain keys: values of `in` add up, as with `[]` keys; for other predicates the last one counts.
    else if (key_alone && !takesSeveral(split.predicate)) same.values = values
    else same.values.push(...values)
  }
  return [...found.values()]
}

/** Parses `sort=-name` or `q[s]=name desc`; undefined if the list does not support it. */
export const sortOf = (
  query: Query,
  listing: Pick<Listing, "aliases" | "sorts">
): { readonly column: string; readonly descending: boolean } | undefined => {
  const named = valueOf(query, "sort")
  const alternative = query.find(([key]) => key === "q[s]" || key === "q[s][]" || key === "q[s][0]")?.[1]
  const [name, descending] =
    named !== undefined
      ? [named.replace(/^-/, ""), named.startsWith("-")]
      : [alternative?.split(" ")[0] ?? "", /\sdesc$/i.test(alternative ?? "")]
  const column = ownProperty(listing.aliases, name) ?? name
  return listing.sorts.includes(column) ? { column, descending } : undefined
}

/** Page 1 of 20 rows by default; sizes are clamped to 1..100, never refused (rules/conventions 2). */
export const pageOf = (query: Query, size = 20): { readonly page: number; readonly per_page: number } => {
  const page = integerFrom(valueOf(query, "page"))
  const per_page = integerFrom(valueOf(query, "per_page"))
  return {
    page: Math.min(Math.max(1, page ?? 1), 1_000_000_000),
    per_page: per_page === undefined ? size : Math.min(Math.max(1, per_page), 100)
  }
}

/** Any number of digits is accepted, as the value is clamped. */
const integerFrom = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*-?\d+\s*$/.test(text) ? Number(text) : undefined

export const includesOf = (query: Query): ReadonlyArray<string> =>
  valuesOf(query, "include")
    .flatMap((value) => value.split(","))
    .map((name) => snakeCase(name.trim()))
    .filter((name) => name !== "")
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const nothing = "1 = 0"
/** The declaration under a requested name; names that every object has, such as `constructor`, are ignored. */
const ownProperty = <A>(declared: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(declared, name) ? declared[name] : undefined

/** Whether a list supports a filter on this name. */
export const offersFilter = (asked: string, listing: Listing): boolean => {
  const name = ownProperty(listing.aliases, asked) ?? asked
  if (name.startsWith("cf.")) return listing.custom_fields.has(name.slice(3))
  return (
    relatedFilter(name, listing) !== undefined ||
    Object.hasOwn(listing.flags, name) ||
    (listing.filters.includes(name) && listing.table.columns[name] !== undefined)
  )
}
const relatedFilter = (name: string, { related }: Listing): RelatedFilter | undefined =>
  ownProperty(related, name) ?? ownProperty(related, snakeCase(name))

/** Whether conditions of a list, its own and requested ones, compare only columns that its table is counted by. */
export const isKept = (own: object, requested: ReadonlyArray<Condition>, listing: Listing): boolean => {
  const columns = requested.flatMap((one) => {
    const name = ownProperty(listing.aliases, one.name) ?? one.name
    if (relatedFilter(name, listing) !== undefined || Object.hasOwn(listing.flags, name)) return [""]
    return [name, ...(ownProperty(listing.value_names, name) ?? []).flatMap(({ where }) => Object.keys(where))]
  })
  return [...Object.keys(own), ...columns].every((name) => listing.table.counted_by.includes(name))
}

/** One condition as SQL; undefined if the list does not support its field. */
export const conditionSql = (
  condition: Condition,
  listing: Listing,
  dialect: Dialect,
  bound: Bindings
): string | undefined => {
  const name = ownProperty(listing.aliases, condition.name) ?? condition.name
  if (name.startsWith("cf.")) {
    const custom = listing.custom_fields.get(name.slice(3))
    if (custom === undefined) return undefined
    return testSql(documentColumn(custom, dialect), condition, listing, dialect, bound)
  }
  const related = relatedFilter(name, listing)
  if (related !== undefined) {
    const elsewhere = { ...listing, is_one_scale: false }
    const inner = testSql(plainColumn(related.table, related.column), condition, elsewhere, dialect, bound)
    return `${quote(related.via)} in (select "id" from ${quote(related.table.name)} where ${inner})`
  }
  const flag = ownProperty(listing.flags, name)
  if (flag !== undefined)
    return flagSql(flag, condition.predicate, condition.values.at(-1), listing.now, bound) ?? nothing
  const field = listing.table.columns[name]
  if (!listing.filters.includes(name) || field === undefined) return undefined
  const named = ownProperty(listing.value_names, name)
  if (named !== undefined && isMembership(condition.predicate)) return namedSql(name, field, named, condition, bound)
  return testSql(plainColumn(listing.table, name), condition, listing, dialect, bound)
}

const isMembership = (predicate: Predicate): predicate is "eq" | "not_eq" | "in" | "not_in" =>
  ["eq", "not_eq", "in", "not_in"].includes(predicate)
/** SQL for named values: names are resolved; a value that is neither a name nor a number matches nothing. */
const namedSql = (
  column: string,
  { type }: Field,
  names: ReadonlyArray<NamedFilterValue>,
  { predicate, values }: Condition,
  bound: Bindings
): string => {
  const given = valuesAsked(predicate, values)
  const isChoice = type.kind === "choice"
  const numbers = isChoice ? [] : given.map(wholeNumberOf).filter((value) => value !== undefined)
  const asked = new Set(given.map(caseName))
  const any = [
    // One list: SQLite limits the depth of expressions to 1,000, which a chain of "or" could exceed.
    ...(numbers.length === 0 ? [] : [`${quote(column)} in (${numbers.map(bound.bind).join(", ")})`]),
    // Values with two names are compared once: an "or" would keep databases from using the index for sorting.
    ...names
      .filter(({ name }) => asked.has(caseName(name)))
      .filter(({ where }, at, all) => all.findIndex((one) => sameJson(one.where, where)) === at)
      .map(
        ({ where }) =>
          `(${Object.entries(where)
            .map(([one, wanted]) => `${quote(one)} = ${bound.bind(wanted)}`)
            .join(" and ")})`
      )
  ]
  return any.length === 0 ? nothing : `${predicate.startsWith("not_") ? "not " : ""}(${any.join(" or ")})`
}

const testSql = (
  column: FilterTarget,
  { predicate, values }: Condition,
  listing: Listing,
  dialect: Dialect,
  bound: Bindings
): string => {
  const { field, sql } = column
  // Text that no database can store matches no row.
  const given = valuesAsked(predicate, values).filter(isStorableText)
  if (column.items !== undefined) return itemsSql(column.items, column, predicate, given, dialect, bound)
  const isText = field.type.kind === "text"
  switch (predicate) {
    case "null":
      return `${sql} is null`
    case "not_null":
      return `${sql} is not null`
    case "blank":
      return isText ? `(${sql} is null or ${sql} = '')` : `${sql} is null`
    case "present":
      return isText ? `(${sql} is not null and ${sql} <> '')` : `${sql} is not null`
    case "true":
      return field.type.kind === "boolean" ? sql : nothing
    case "false":
      return field.type.kind === "boolean" ? `not ${sql}` : nothing
    case "cont":
    case "not_cont":
    case "start":
    case "end":
      return given.length === 0 ? nothing : likeSql(column, predicate, itemAt(given, 0), bound)
  }
  if (field.type.kind === "money")
    return moneySql(
      sql,
      listing.is_one_scale ? undefined : column.currency,
      predicate,
      given,
      listing.base_currency,
      bound
    )
  const parsed = given.map((value) => operand(column, value, dialect)).filter((value) => value !== undefined)
  return parsed.length === 0 ? nothing : comparedSql(column, predicate, parsed, bound)
}
const operators = { eq: "=", not_eq: "<>", lt: "<", lteq: "<=", gt: ">", gteq: ">=" } as const
/** Lists are compared with all their values, other predicates with the last. */
const valuesAsked = (predicate: Predicate, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  takesSeveral(predicate) ? [...new Set(values)] : values.slice(-1)

const comparedSql = (
  column: FilterTarget,
  predicate: "in" | "not_in" | keyof typeof operators,
  parsed: ReadonlyArray<unknown>,
  bound: Bindings
): string => {
  const compared =
    predicate === "in" || predicate === "not_in"
      ? `${column.sql} ${predicate === "in" ? "in" : "not in"} (${parsed.map(bound.bind).join(", ")})`
      : `${column.sql} ${operators[predicate]} ${bound.bind(parsed[0])}`
  if (column.keeps_folded !== true || (predicate !== "eq" && predicate !== "in")) return compared
  // Also compares the folded text, as indexes of searchable columns are on the folded column.
  const folded = new Set(parsed.map((value) => foldCase(String(value))))
  return `(${compared} and ${column.folded} in (${[...folded].map(bound.bind).join(", ")}))`
}

/** In characters: SQLite accepts patterns of at most 50,000 bytes. No text counts as containing a longer one. */
const pattern_length_max = 16_000
const likeSql = (
  { field, folded }: FilterTarget,
  predicate: "cont" | "not_cont" | "start" | "end",
  value: string,
  bound: Bindings
): string => {
  if (field.type.kind !== "text" && field.type.kind !== "choice") return nothing
  const escaped = foldCase(value).replace(/[\\%_]/g, (found) => `\\${found}`)
  if (escaped.length > pattern_length_max) return predicate === "not_cont" ? `${folded} is not null` : nothing
  const pattern = `${predicate === "start" ? "" : "%"}${escaped}${predicate === "end" ? "" : "%"}`
  return `${folded} ${predicate === "not_cont" ? "not like" : "like"} ${bound.bind(pattern)} escape '\\'`
}

/**
 * Predicates on arrays (tags; ids of list values, also by name): contains, any of, none of, empty and their opposites;
 * all others match every row.
 */
const itemsSql = (
  items: string,
  { names }: FilterTarget,
  predicate: Predicate,
  given: ReadonlyArray<string>,
  dialect: Dialect,
  bound: Bindings
): string => {
  const filled = `coalesce(${items}, '[]') not in ('[]', 'null')`
  switch (predicate) {
    case "null":
    case "blank":
      return `not ${filled}`
    case "not_null":
    case "present":
      return filled
  }
  if (!/^(not_)?(eq|cont|in)$/.test(predicate)) return "1 = 1"
  const wanted =
    names === undefined ? given : given.map((value) => listedId(value, names)).filter((id) => id !== undefined)
  if (wanted.length === 0) return nothing
  const any =
    dialect === "pg"
      ? `coalesce(${items} @> any(cast(${bound.bind(wanted.map((one) => JSON.stringify([one])))} as jsonb[])), false)`
      : `exists (select 1 from json_each(${items}) where value in (${wanted.map(bound.bind).join(", ")}))`
  return predicate.startsWith("not_") ? `not ${any}` : any
}
const listedId = (value: string, names: FilterTarget["names"]): number | undefined =>
  wholeNumberOf(value) ?? names?.get(foldCase(value.trim()))

/** A filter's value in the column's stored form; undefined if it is invalid for the column. */
const operand = ({ field, names }: FilterTarget, raw: string, dialect: Dialect): unknown => {
  const type = field.type
  const value = raw.trim()
  switch (type.kind) {
    case "integer":
    case "ref":
      return listedId(value, names)
    case "code": {
      const number = wholeNumberOf(value)
      if (number !== undefined) return Object.hasOwn(type.labels, String(number)) ? number : undefined
      return codeLabelled(type.labels, value)
    }
    case "choice":
      return (
        Object.keys(type.labels).find((one) => caseName(one) === caseName(value)) ??
        Object.entries(type.labels).find(([, label]) => caseName(label) === caseName(value))?.[0]
      )
    case "boolean":
      return ["true", "t", "1"].includes(value) ? true : ["false", "f", "0"].includes(value) ? false : undefined
    case "decimal":
      return !isNumericText(value) ? undefined : dialect === "pg" ? value : besideScaled(value, type.scale)
    case "date":
      return parseDate(value)
    case "timestamp":
      return parseTimestamp(value)
    case "text":
      return raw
    default:
      return undefined
  }
}
const caseName = (value: string): string => value.toLowerCase().replace(/[^a-z0-9]/g, "")
