/** Inserts full rows: a plan per table, built once, and few statements for any number of rows. */
import { type AnyRow, caseFoldedName, caseFoldedValue, isSearchable, type Table } from "../tables/table.ts"
import { type Dialect, encodeValue } from "./dialect.ts"
import { bindings, chunked, inPowersOfTwo, quote } from "./statement.ts"

export interface Insert {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}
/** Statements that insert rows of one table, in order. Missing columns get their default. */
export type Inserter = (rows: ReadonlyArray<AnyRow>) => ReadonlyArray<Insert>

/** Rows per statement on SQLite; with the longest table still below its 32,766 bound values. */
const rows_bound_max = 128
/** Rows per statement on Postgres, where all are one value: a few megabytes at most. */
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

  // One value for all rows, and one text whatever their number: Postgres plans it once, the driver writes it at once.
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
