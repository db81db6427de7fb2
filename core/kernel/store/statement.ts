/** Builds SQL with bound values, `?` on SQLite and `$n` on Postgres. */
import { type AnyRow, caseFoldedName, caseFoldedValue, isSearchable, type Table, type Where } from "../tables/table.ts"
import { type Dialect, encodeValue } from "./dialect.ts"

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

export interface Bindings {
  readonly values: Array<unknown>
  /** Binds a value and returns its placeholder. */
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

/** Name of the table with a table's kept counts. */
export const countsTable = ({ name }: Pick<Table, "name">): string => `${name}_counts`

const columnLists = new WeakMap<Table, string>()
/** The select list of a table's stored columns, without case-folded ones. */
export const columnList = (table: Table, alias?: string): string => {
  if (alias !== undefined)
    return Object.keys(table.columns)
      .map((name) => `${alias}.${quote(name)}`)
      .join(", ")
  let list = columnLists.get(table)
  if (list === undefined) columnLists.set(table, (list = Object.keys(table.columns).map(quote).join(", ")))
  return list
}

/** The select list of these columns. */
export const columnsNamed = (names: ReadonlyArray<string>): string => names.map(quote).join(", ")

/**
 * SQL of an order: `-name` is descending; nulls come last (descending: first). The key is appended, which makes the
 * order unique. `as` renames the sort columns.
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

/** SQL of equality, membership and null tests on declared columns; an empty list matches nothing. */
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

/** Splits 300 rows, 128 at most, into 128, 128, 32, 8, 4: few lengths mean few statements, which stay prepared. */
export const inPowersOfTwo = <A>(items: ReadonlyArray<A>, size_max: number): ReadonlyArray<ReadonlyArray<A>> => {
  const parts: Array<ReadonlyArray<A>> = []
  for (let at = 0; at < items.length;) {
    const size = Math.min(size_max, 2 ** Math.floor(Math.log2(items.length - at)))
    parts.push(items.slice(at, at + size))
    at += size
  }
  return parts
}

// Inserts full rows: a cached plan per table, and few statements for any number of rows.

export interface Insert {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}
/** Statements that insert rows of one table, in order. Missing columns get their default. */
export type Inserter = (rows: ReadonlyArray<AnyRow>) => ReadonlyArray<Insert>

/** Rows per statement on SQLite: below its 32,766 bound values for the widest table. */
const rows_bound_max = 128
/** Rows per statement on Postgres, which are one parameter: a few megabytes at most. */
const rows_sent_max = 2_000

export const makeInserter = (table: Table, dialect: Dialect): Inserter => {
  const fields = Object.entries(table.columns).map(([name, field]) => ({
    name,
    field,
    otherwise: field.default ?? null,
    twin: isSearchable(field) ? caseFoldedName(name) : undefined
  }))
  const columns = fields.flatMap(({ name, twin: duplicate }) => (duplicate === undefined ? [name] : [name, duplicate]))
  const named = columns.map(quote).join(", ")
  const tail = table.on_conflict_ignore ? " on conflict do nothing" : ""
  const head = `insert into ${quote(table.name)} (${named})`
  const valueOf = (row: AnyRow, { name, field, otherwise }: (typeof fields)[number]): unknown => {
    const given = row[name]
    return given === undefined || (given === null && !field.nullable) ? otherwise : given
  }

  const texts = new Map<number, string>()
  const boundText = (rows: number): string => {
    let text = texts.get(rows)
    if (text === undefined) {
      const { bind } = bindings(dialect)
      texts.set(
        rows,
        (text = `${head} values ${Array.from({ length: rows }, () => `(${columns.map(bind).join(", ")})`).join(", ")}${tail}`)
      )
    }
    return text
  }
  const bound = (rows: ReadonlyArray<AnyRow>): Insert => {
    const values: Array<unknown> = []
    for (const row of rows) {
      for (const one of fields) {
        const value = valueOf(row, one)
        values.push(encodeValue(one.field, value, dialect))
        if (one.twin !== undefined)
          values.push(value === null ? null : encodeValue(one.field, caseFoldedValue(one.field, value), dialect))
      }
    }
    return { text: boundText(rows.length), values }
  }

  // One JSON parameter and the same text for any number of rows: Postgres plans it once.
  const sentText = `${head} select ${named} from json_populate_recordset(null::${quote(table.name)}, $1::json)${tail}`
  const sent = (rows: ReadonlyArray<AnyRow>): Insert => ({
    text: sentText,
    values: [
      JSON.stringify(
        rows.map((row) => {
          const whole: { [column: string]: unknown } = {}
          for (const one of fields) {
            const value = (whole[one.name] = valueOf(row, one))
            if (one.twin !== undefined) whole[one.twin] = value === null ? null : caseFoldedValue(one.field, value)
          }
          return whole
        })
      )
    ]
  })
  return dialect === "sqlite"
    ? (rows) => inPowersOfTwo(rows, rows_bound_max).map(bound)
    : (rows) => (rows.length === 1 ? [bound(rows)] : chunked(rows, rows_sent_max).map(sent))
}
