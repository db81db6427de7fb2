/**
 * Lists: `q[<field>_<predicate>]=<value>`, sort, page, include, compiled to SQL once for all resources (conventions 2-5).
 * Fields, sorts and includes a list does not offer are ignored; a value that cannot be of the field's kind matches nothing.
 */
import { Result } from "effect"
import { isNumericText, toScaled } from "../values/decimal.ts"
import { parseMoney } from "../values/money.ts"
import { parseDate, parseTimestamp } from "../values/time.ts"
import type { Field } from "./field.ts"
import { storableText, wholeNumber } from "./input.ts"
import type { Dialect } from "./store/dialect.ts"
import { type Bindings, quote } from "./store/statement.ts"
import { fold, foldedName, isSearchable, type Table } from "./table.ts"

/** A query string as it came, in order. */
export type Query = ReadonlyArray<readonly [name: string, value: string]>

/** The 18 predicates; longest first, so that `status_not_cont` is read as `status` + `not_cont`. */
export const predicates = [
  "not_null", "not_cont", "present", "not_eq", "not_in", "blank", "start", "false", "null", "true", "lteq", "gteq",
  "cont", "end", "eq", "lt", "gt", "in"
] as const
export type Predicate = (typeof predicates)[number]

/** A filter on a related row: `q[productGroup.name_eq]`. `via` is the own column that holds the other row's id. */
export interface RelatedFilter { readonly via: string; readonly table: Table; readonly column: string }
export interface Listing {
  readonly table: Table
  /** Columns that may be filtered. */
  readonly filters: ReadonlyArray<string>
  readonly sorts: ReadonlyArray<string>
  /** Names answers or older clients use → column. */
  readonly aliases: { readonly [name: string]: string }
  readonly related: { readonly [name: string]: RelatedFilter }
  readonly base_currency: string
  /** Searchable custom fields by name and by id (as text): the key their value is stored under, and its kind. */
  readonly custom_fields: ReadonlyMap<string, CustomColumn>
}
export interface CustomColumn {
  readonly key: string
  readonly field: Field
  /** Values of its list by folded name: filters take a value's name as well as its id. */
  readonly names?: ReadonlyMap<string, number>
  /** Several values at once. */
  readonly many?: boolean
}
export interface Condition { readonly name: string; readonly predicate: Predicate; readonly values: ReadonlyArray<string> }

export const valuesOf = (query: Query, name: string): ReadonlyArray<string> =>
  query.filter(([key]) => key === name || key === `${name}[]`).map(([, value]) => value)
export const valueOf = (query: Query, name: string): string | undefined => valuesOf(query, name).at(-1)

/** `status_not_eq` → field and predicate; undefined when it names no predicate or nothing else. */
export const splitPredicate = (key: string): { readonly name: string; readonly predicate: Predicate } | undefined => {
  const predicate = predicates.find((one) => key.endsWith(`_${one}`))
  return predicate === undefined || key.length === predicate.length + 1 ? undefined
    : { name: key.slice(0, -predicate.length - 1), predicate }
}

/** The conditions of a query string; keys that are no filters are passed over. */
export const conditionsOf = (query: Query): ReadonlyArray<Condition> => {
  const found = new Map<string, { name: string; predicate: Predicate; values: Array<string> }>()
  for (const [key, value] of query) {
    const inner = /^q\[([^\[\]]+)\](\[\d*\])?$/.exec(key)
    const split = inner === null ? undefined : splitPredicate(inner[1]!)
    if (split === undefined) continue
    const same = found.get(inner![1]!)
    if (same === undefined) found.set(inner![1]!, { ...split, values: [value] })
    // A repeated plain key: the last one counts; only `[]` keys add up.
    else if (inner![2] === undefined) same.values = [value]
    else same.values.push(value)
  }
  return [...found.values()]
}

/** `sort=-name`, or `q[s]=name desc`; undefined when the list does not offer it. */
export const sortOf = (query: Query, listing: Listing): { readonly column: string; readonly descending: boolean } | undefined => {
  const named = valueOf(query, "sort")
  const alternative = query.find(([key]) => key === "q[s]" || key === "q[s][]" || key === "q[s][0]")?.[1]
  const [name, descending] = named !== undefined
    ? [named.replace(/^-/, ""), named.startsWith("-")]
    : [alternative?.split(" ")[0] ?? "", /\sdesc$/i.test(alternative ?? "")]
  const column = ownOf(listing.aliases, name) ?? name
  return listing.sorts.includes(column) ? { column, descending } : undefined
}

/** Page 1 and 20 rows unless asked; clamped to 1..100, never an error (conventions 2). */
export const pageOf = (query: Query, options: { readonly default?: number; readonly max?: number } = {}): { readonly page: number; readonly per_page: number } => {
  const max = options.max ?? 100
  const page = wholeNumber(valueOf(query, "page"))
  const per_page = wholeNumber(valueOf(query, "per_page"))
  return {
    page: Math.min(Math.max(1, page ?? 1), 1_000_000_000),
    per_page: per_page === undefined ? options.default ?? 20 : Math.min(Math.max(1, per_page), max)
  }
}

export const includesOf = (query: Query): ReadonlyArray<string> =>
  valuesOf(query, "include").flatMap((value) => value.split(",")).map((name) => snakeCase(name.trim())).filter((name) => name !== "")
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const nothing = "1 = 0"
/** What is declared under a name somebody sent, which may be `constructor`. */
const ownOf = <A>(declared: { readonly [name: string]: A }, name: string): A | undefined => Object.hasOwn(declared, name) ? declared[name] : undefined

/** One condition as SQL; undefined when the list does not offer its field. */
export const conditionSql = (condition: Condition, listing: Listing, dialect: Dialect, bound: Bindings): string | undefined => {
  const name = ownOf(listing.aliases, condition.name) ?? condition.name
  if (name.startsWith("cf.")) {
    const custom = listing.custom_fields.get(name.slice(3))
    if (custom === undefined) return undefined
    return testSql(documentColumn(custom, dialect), condition, listing, dialect, bound)
  }
  const related = ownOf(listing.related, name) ?? ownOf(listing.related, snakeCase(name))
  if (related !== undefined) {
    const inner = testSql(plainColumn(related.table, related.column), condition, listing, dialect, bound)
    return `${quote(related.via)} in (select "id" from ${quote(related.table.name)} where ${inner})`
  }
  if (!listing.filters.includes(name) || listing.table.columns[name] === undefined) return undefined
  return testSql(plainColumn(listing.table, name), condition, listing, dialect, bound)
}

interface Tested {
  readonly field: Field
  readonly sql: string
  readonly folded: string
  readonly document: boolean
  readonly names?: ReadonlyMap<string, number>
  /** The array of ids a field of several values holds. */
  readonly ids?: string
}
const plainColumn = (table: Table, name: string): Tested => {
  const field = table.columns[name]!
  return { field, sql: quote(name), folded: isSearchable(field) ? quote(foldedName(name)) : quote(name), document: false }
}
/** A custom field's value inside the `custom_fields` document. Numbers are compared as numbers on both engines. */
const documentColumn = ({ field, key, names, many }: CustomColumn, dialect: Dialect): Tested => {
  const quoted = `'${key.replaceAll("'", "''")}'`
  const path = `"custom_fields" ->> ${quoted}`
  const kind = field.shape.kind
  const sql = kind === "decimal" || kind === "integer" || kind === "ref"
    ? `cast(${path} as ${dialect === "pg" ? "numeric" : "real"})`
    : kind === "boolean" && dialect === "pg" ? `cast(${path} as boolean)` : `(${path})`
  return {
    field, sql, folded: `lower(${path})`, document: true,
    ...(names === undefined ? {} : { names }), ...(many === true ? { ids: `("custom_fields" -> ${quoted})` } : {})
  }
}

const testSql = (column: Tested, { predicate, values }: Condition, listing: Listing, dialect: Dialect, bound: Bindings): string => {
  const { field, sql } = column
  const isText = field.shape.kind === "text"
  switch (predicate) {
    case "null": return `${sql} is null`
    case "not_null": return field.shape.kind === "list" ? filledList(sql, dialect) : `${sql} is not null`
    case "blank": return isText ? `(${sql} is null or ${sql} = '')` : field.shape.kind === "list" ? `not ${filledList(sql, dialect)}` : `${sql} is null`
    case "present": return isText ? `(${sql} is not null and ${sql} <> '')` : field.shape.kind === "list" ? filledList(sql, dialect) : `${sql} is not null`
    case "true": return field.shape.kind === "boolean" ? sql : nothing
    case "false": return field.shape.kind === "boolean" ? `not ${sql}` : nothing
  }
  const given = predicate === "in" || predicate === "not_in" ? values.flatMap((value) => value.split(",")) : [values.at(-1) ?? ""]
  if (!given.every(storableText)) return nothing
  if (column.ids !== undefined) return idsSql(column, column.ids, predicate, given, dialect, bound)
  if (field.shape.kind === "list") return listSql(sql, predicate, given, dialect, bound)
  switch (predicate) {
    case "cont": return likeSql(column, `%${escapeLike(given[0]!)}%`, false, bound)
    case "not_cont": return likeSql(column, `%${escapeLike(given[0]!)}%`, true, bound)
    case "start": return likeSql(column, `${escapeLike(given[0]!)}%`, false, bound)
    case "end": return likeSql(column, `%${escapeLike(given[0]!)}`, false, bound)
  }
  const parsed = given.map((value) => operand(column, value, listing, dialect)).filter((value) => value !== undefined)
  switch (predicate) {
    case "in": return parsed.length === 0 ? nothing : `${sql} in (${parsed.map(bound.bind).join(", ")})`
    case "not_in": return parsed.length === 0 ? `${sql} is not null` : `${sql} not in (${parsed.map(bound.bind).join(", ")})`
    default: return parsed.length === 0 ? (predicate === "not_eq" ? `${sql} is not null` : nothing) : `${sql} ${operators[predicate]} ${bound.bind(parsed[0])}`
  }
}
const operators = { eq: "=", not_eq: "<>", lt: "<", lteq: "<=", gt: ">", gteq: ">=" } as const

const escapeLike = (value: string): string => fold(value).replace(/[\\%_]/g, (found) => `\\${found}`)
const likeSql = ({ field, folded }: Tested, pattern: string, not: boolean, bound: Bindings): string =>
  field.shape.kind === "text" || field.shape.kind === "choice"
    ? `${folded} ${not ? "not " : ""}like ${bound.bind(pattern)} escape '\\'`
    : nothing

const filledList = (sql: string, dialect: Dialect): string =>
  `(${sql} is not null and ${dialect === "pg" ? `jsonb_array_length(${sql})` : `json_array_length(${sql})`} > 0)`
/** Arrays of text (tags): contains, does not contain, any of, none of. */
const listSql = (sql: string, predicate: Predicate, given: ReadonlyArray<string>, dialect: Dialect, bound: Bindings): string => {
  const has = (value: string): string => dialect === "pg"
    ? `coalesce(${sql} @> cast(${bound.bind(JSON.stringify([value]))} as jsonb), false)`
    : `exists (select 1 from json_each(${sql}) where value = ${bound.bind(value)})`
  const any = `(${given.map(has).join(" or ")})`
  return predicate === "eq" || predicate === "cont" || predicate === "in" ? any
    : predicate === "not_eq" || predicate === "not_cont" || predicate === "not_in" ? `not ${any}`
    : "1 = 1"
}

/** Arrays of list value ids, asked for by id or by name. */
const idsSql = (
  { names }: Tested, ids: string, predicate: Predicate, given: ReadonlyArray<string>, dialect: Dialect, bound: Bindings
): string => {
  const wanted = given.map((value) => listedId(value, names)).filter((id) => id !== undefined)
  const has = (id: number): string => dialect === "pg"
    ? `coalesce(${ids} @> cast(${bound.bind(JSON.stringify([id]))} as jsonb), false)`
    : `exists (select 1 from json_each(${ids}) where value = ${bound.bind(id)})`
  const any = wanted.length === 0 ? nothing : `(${wanted.map(has).join(" or ")})`
  return predicate === "eq" || predicate === "cont" || predicate === "in" ? any
    : predicate === "not_eq" || predicate === "not_cont" || predicate === "not_in" ? `not ${any}`
    : nothing
}
const listedId = (value: string, names: Tested["names"]): number | undefined => wholeNumber(value) ?? names?.get(fold(value.trim()))

/** A filter's value as the column holds it; undefined when it can be no value of that column. */
const operand = ({ field, document, names }: Tested, raw: string, listing: Listing, dialect: Dialect): unknown => {
  const shape = field.shape
  const value = raw.trim()
  switch (shape.kind) {
    case "integer": case "ref": return listedId(value, names)
    case "code": {
      const number = wholeNumber(value)
      if (number !== undefined) return Object.hasOwn(shape.labels, String(number)) ? number : undefined
      const found = Object.entries(shape.labels).find(([, label]) => caseName(label) === caseName(value))
      return found === undefined ? undefined : Number(found[0])
    }
    case "choice": return Object.keys(shape.labels).find((one) => caseName(one) === caseName(value)) ??
      Object.entries(shape.labels).find(([, label]) => caseName(label) === caseName(value))?.[0]
    case "boolean": {
      const known = ["true", "t", "1"].includes(value) ? true : ["false", "f", "0"].includes(value) ? false : undefined
      return document && dialect === "sqlite" && known !== undefined ? (known ? 1 : 0) : known
    }
    case "decimal": return !isNumericText(value) ? undefined
      : document ? Number(value)
      : dialect === "pg" ? value
      : Number(value) * 10 ** shape.scale === Number(toScaled(value, shape.scale)) ? toScaled(value, shape.scale) : Number(value) * 10 ** shape.scale
    case "money": {
      const minor = parseMoney(value, listing.base_currency, { signed: true })
      return Result.isSuccess(minor) ? minor.success : undefined
    }
    case "date": return parseDate(value)
    case "timestamp": return parseTimestamp(value)
    case "text": return raw
    default: return undefined
  }
}
const caseName = (value: string): string => value.toLowerCase().replace(/[^a-z0-9]/g, "")
