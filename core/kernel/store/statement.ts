/** Building SQL text with bound values, for both dialects: `?` on SQLite, `$n` on Postgres. */
import type { Where } from "../tables/row-change.ts"
import type { Table } from "../tables/table.ts"
import { type Dialect, encodeValue } from "./dialect.ts"

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

export interface Bindings {
  readonly values: Array<unknown>
  /** Binds a value and gives its placeholder. */
  readonly bind: (value: unknown) => string
}
export const bindings = (dialect: Dialect): Bindings => {
  const values: Array<unknown> = []
  return {
    values,
    bind:
      dialect === "sqlite"
        ? (value) => {
            values.push(value)
            return "?"
          }
        : (value) => {
            values.push(value)
            return `$${values.length}`
          }
  }
}

const columnLists = new WeakMap<Table, string>()
/** The stored columns of a table, without case-folded ones, ready for a select. */
export const columnList = (table: Table, alias?: string): string => {
  if (alias !== undefined)
    return Object.keys(table.columns)
      .map((name) => `${alias}.${quote(name)}`)
      .join(", ")
  let list = columnLists.get(table)
  if (list === undefined) columnLists.set(table, (list = Object.keys(table.columns).map(quote).join(", ")))
  return list
}

/** Some columns of a table, ready for a select. */
export const columnsNamed = (names: ReadonlyArray<string>): string => names.map(quote).join(", ")

/**
 * An order as SQL: `-name` is descending, nulls come last (descending: first), and the key comes last, so that the
 * order is unique. `as` names the column to sort by instead.
 */
export const orderSql = (
  table: Table,
  order: ReadonlyArray<string>,
  as: (column: string) => string = (column) => column
): string => {
  const term = (name: string): string => {
    const descending = name.startsWith("-")
    const column = descending ? name.slice(1) : name
    const nulls = table.columns[column]?.nullable === true ? (descending ? " nulls first" : " nulls last") : ""
    return `${quote(as(column))}${descending ? " desc" : ""}${nulls}`
  }
  const ended = order.some((name) => name.replace(/^-/, "") === table.key) ? order : [...order, table.key]
  return ended.map(term).join(", ")
}

/** Equality, membership and null tests on declared columns; an empty list matches nothing. */
export const whereSql = (table: Table, where: Where, dialect: Dialect, bound: Bindings): string => {
  const parts = Object.entries(where).map(([name, wanted]) => {
    const field = table.columns[name]
    if (field === undefined) throw new Error(`table ${table.name} has no column ${name}`)
    if (wanted === null) return `${quote(name)} is null`
    if (typeof wanted !== "object") return `${quote(name)} = ${bound.bind(encodeValue(field, wanted, dialect))}`
    if (wanted.length === 0) return "1 = 0"
    return `${quote(name)} in (${wanted.map((one) => bound.bind(encodeValue(field, one, dialect))).join(", ")})`
  })
  return parts.length === 0 ? "1 = 1" : parts.join(" and ")
}

/** The list in parts of at most `size`. */
export const chunked = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> => {
  if (items.length <= size) return items.length === 0 ? [] : [items]
  const parts: Array<ReadonlyArray<A>> = []
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size))
  return parts
}

/** 300 rows, 128 at most → 128, 128, 32, 8, 4: few lengths, so that the statements are few and stay prepared. */
export const inPowersOfTwo = <A>(items: ReadonlyArray<A>, size_max: number): ReadonlyArray<ReadonlyArray<A>> => {
  const parts: Array<ReadonlyArray<A>> = []
  for (let at = 0; at < items.length;) {
    const size = Math.min(size_max, 2 ** Math.floor(Math.log2(items.length - at)))
    parts.push(items.slice(at, at + size))
    at += size
  }
  return parts
}
