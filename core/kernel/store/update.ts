/** Changing many rows by their keys: those that get the same columns travel in one statement. */
import { itemAt } from "../../values/lists.ts"
import type { AnyRow, Table } from "../table.ts"
import { caseFoldedName, caseFoldedValue, isSearchable } from "../table.ts"
import { type Dialect, encodeRow } from "./dialect.ts"
import type { Insert } from "./insert.ts"
import { bindings, chunked, inPowersOfTwo, quote } from "./statement.ts"

export interface KeyedSet {
  readonly key: unknown
  readonly set: AnyRow
}

const constrained = new WeakMap<Table, ReadonlySet<string>>()
/** Does a change of these columns meet a constraint between rows, so that the order of changes counts? */
export const isConstrained = (table: Table, set: AnyRow): boolean => {
  let columns = constrained.get(table)
  if (columns === undefined) {
    constrained.set(
      table,
      (columns = new Set([
        ...table.uniques.flatMap((unique) => [
          ...unique.columns,
          ...Object.keys(table.columns).filter((name) => unique.where?.includes(name) === true)
        ]),
        ...table.no_overlap.flatMap(({ active, from, key, to }) => [active, from, key, to]),
        table.key
      ]))
    )
  }
  for (const name of Object.keys(set)) if (columns.has(name)) return true
  return false
}

/** Rows per statement on SQLite, well below its 32,766 bound values. */
const rows_bound_max = 64
const rows_sent_max = 2_000

/** The statements that change rows of one table; each row is named once. */
export const updatesOf = (table: Table, rows: ReadonlyArray<KeyedSet>, dialect: Dialect): ReadonlyArray<Insert> =>
  [...Map.groupBy(rows, ({ set }) => Object.keys(set).join()).values()].flatMap((alike) =>
    alike.length === 1
      ? [updateOne(table, itemAt(alike, 0), dialect)]
      : dialect === "pg"
        ? chunked(alike, rows_sent_max).map((some) => sent(table, some))
        : inPowersOfTwo(alike, rows_bound_max).map((some) =>
            some.length === 1 ? updateOne(table, itemAt(some, 0), dialect) : bound(table, some)
          )
  )

export const updateOne = (table: Table, { key, set }: KeyedSet, dialect: Dialect): Insert => {
  const { bind, values } = bindings(dialect)
  const columns = Object.entries(encodeRow(table, set, dialect))
    .map(([name, value]) => `${quote(name)} = ${bind(value)}`)
    .join(", ")
  return { text: `update ${quote(table.name)} set ${columns} where ${quote(table.key)} = ${bind(key)}`, values }
}

const setting = (columns: ReadonlyArray<string>): string =>
  columns.map((name) => `${quote(name)} = given.${quote(name)}`).join(", ")

const bound = (table: Table, rows: ReadonlyArray<KeyedSet>): Insert => {
  const encoded = rows.map(({ key, set }) => ({ key, set: encodeRow(table, set, "sqlite") }))
  const columns = Object.keys(itemAt(encoded, 0).set)
  const row = `(${Array.from({ length: columns.length + 1 }, () => "?").join(", ")})`
  return {
    text:
      `with given (given_key, ${columns.map(quote).join(", ")}) as (values ${encoded.map(() => row).join(", ")}) ` +
      `update ${quote(table.name)} set ${setting(columns)} from given where ${quote(table.name)}.${quote(table.key)} = given.given_key`,
    values: encoded.flatMap(({ key, set }) => [key, ...columns.map((name) => set[name])])
  }
}

/** One value for all rows, and one text whatever their number. */
const sent = (table: Table, rows: ReadonlyArray<KeyedSet>): Insert => {
  const whole = rows.map(({ key, set }) => {
    const row: { [column: string]: unknown } = { [table.key]: key }
    for (const [name, value] of Object.entries(set)) {
      const field = table.columns[name]
      if (field === undefined) throw new Error(`table ${table.name} has no column ${name}`)
      row[name] = value ?? null
      if (isSearchable(field))
        row[caseFoldedName(name)] = value === null || value === undefined ? null : caseFoldedValue(field, value)
    }
    return row
  })
  const columns = Object.keys(itemAt(whole, 0)).filter((name) => name !== table.key)
  return {
    text:
      `update ${quote(table.name)} set ${setting(columns)} from json_populate_recordset(null::${quote(table.name)}, $1::json) as given ` +
      `where ${quote(table.name)}.${quote(table.key)} = given.${quote(table.key)}`,
    values: [JSON.stringify(whole)]
  }
}
