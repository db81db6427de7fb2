/**
 * The two SQL dialects: column types, value conversion, and the statements that differ; SQL with bound values, `?` on
 * SQLite and `$n` on Postgres.
 */
import { fromScaled, toScaled } from "../../values/decimal.ts"
import type { Field } from "../fields/field.ts"
import { itemAt } from "../../values/text.ts"
import { type AnyRow, caseFoldedName, caseFoldedValue, isSearchable, type Table, type Where } from "../tables/table.ts"
import { type Dialect, quote, searchIndex } from "./search-index.ts"

export { type Dialect, quote }

/** Whether the column is stored as JSON: `json` fields, lists, objects. */
export const isDocument = (field: Field): boolean =>
  field.type.kind === "json" || field.type.kind === "list" || field.type.kind === "object"

export const columnType = (field: Field, dialect: Dialect): string => {
  const type = field.type
  switch (type.kind) {
    case "integer":
    case "code":
    case "ref":
    case "money":
      return dialect === "pg" ? "bigint" : "integer"
    case "boolean":
      return "boolean"
    case "decimal":
      return dialect === "pg" ? `numeric(30,${type.scale})` : "integer"
    case "date":
      return dialect === "pg" ? "date" : "text"
    case "timestamp":
      return dialect === "pg" ? "timestamptz" : "text"
    case "text":
    case "choice":
      return dialect === "pg" ? `text collate "C"` : "text"
    case "json":
    case "list":
    case "object":
      return "jsonb"
  }
}

/** Converts an in-memory value to the driver's. */
export const encodeValue = (field: Field, value: unknown, dialect: Dialect): unknown => {
  if (value === null || value === undefined) return null
  if (isDocument(field)) return JSON.stringify(value)
  if (field.type.kind === "decimal" && dialect === "sqlite") return toScaled(String(value), field.type.scale)
  return value
}
/** Converts a driver's value to the in-memory one. Drivers decode booleans, documents and instants. */
export const decodeValue = (field: Field, value: unknown, dialect: Dialect): unknown =>
  value !== null && field.type.kind === "decimal" && dialect === "sqlite"
    ? fromScaled(value as number | bigint, field.type.scale)
    : value

/** Name of a unique constraint, cut to Postgres's limit of 63 characters. */
export const uniqueName = (table: string, columns: ReadonlyArray<string>): string =>
  `${table}_${columns.join("_")}_unique`.slice(0, 63)
const indexName = (table: string, columns: ReadonlyArray<string>): string => `${table}_${columns.join("_")}_index`

const columnsSql = (table: Table, dialect: Dialect): Array<string> =>
  Object.entries(table.columns).flatMap(([name, field]) => {
    const nothing = field.nullable || name === "deleted_at" ? "" : " not null"
    const own = `${quote(name)} ${columnType(field, dialect)}${name === table.key ? " primary key" : nothing}`
    return isSearchable(field) ? [own, `${quote(caseFoldedName(name))} ${columnType(field, dialect)}${nothing}`] : [own]
  })

const created = { sqlite: new WeakMap<Table, ReadonlyArray<string>>(), pg: new WeakMap<Table, ReadonlyArray<string>>() }
/** The statements that create a table with its indexes and constraints, in order. Cached, as each start needs them. */
export const createTable = (table: Table, dialect: Dialect): ReadonlyArray<string> => {
  const known = created[dialect].get(table) ?? createTableStatements(table, dialect)
  created[dialect].set(table, known)
  return known
}
const createTableStatements = (table: Table, dialect: Dialect): ReadonlyArray<string> => [
  `create table ${quote(table.name)} (\n  ${columnsSql(table, dialect).join(",\n  ")}\n)`,
  ...table.uniques.map(
    (unique) =>
      `create unique index ${quote(uniqueName(table.name, unique.columns))} on ${quote(table.name)} (${unique.columns.map(quote).join(", ")})` +
      (unique.where === undefined ? "" : ` where ${unique.where}`)
  ),
  ...table.indexes.map(
    (columns) =>
      `create index ${quote(indexName(table.name, columns))} on ${quote(table.name)} (${columns.map(quote).join(", ")})`
  ),
  ...table.partial_indexes.map(
    ({ columns, where }) =>
      `create index ${quote(indexName(table.name, [...new Set([...columns, where.split(" ")[0]!])]))} on ${quote(table.name)} (${columns.map(quote).join(", ")}) where ${where}`
  ),
  ...table.no_overlap.flatMap((rule) =>
    dialect === "pg" ? overlapConstraint(table, rule) : overlapTriggers(table, rule)
  ),
  ...searchIndex(table, dialect)
]

type Rule = Table["no_overlap"][number]
const overlapConstraint = (table: Table, rule: Rule): ReadonlyArray<string> => [
  `create extension if not exists btree_gist`,
  `alter table ${quote(table.name)} add constraint ${quote(rule.name)} exclude using gist (` +
    `${quote(rule.key)} with =, tstzrange(${quote(rule.from)}, ${quote(rule.to)}, '[)') with &&) ` +
    `where (${quote(rule.active)} and ${quote(rule.key)} is not null and ${quote(rule.from)} < ${quote(rule.to)})`
]
const overlapTriggers = (table: Table, rule: Rule): ReadonlyArray<string> =>
  (["insert", "update"] as const).map(
    (verb) =>
      `create trigger ${quote(`${rule.name}_${verb}`)} before ${verb} on ${quote(table.name)} ` +
      `when new.${quote(rule.active)} and new.${quote(rule.key)} is not null and new.${quote(rule.from)} < new.${quote(rule.to)} begin ` +
      `select raise(abort, '${rule.name}') where exists (select 1 from ${quote(table.name)} other ` +
      `where other.${quote(rule.key)} = new.${quote(rule.key)} and other.${quote(rule.active)} and other.${quote(table.key)} <> new.${quote(table.key)} ` +
      `and other.${quote(rule.from)} < other.${quote(rule.to)} ` +
      `and other.${quote(rule.from)} < new.${quote(rule.to)} and other.${quote(rule.to)} > new.${quote(rule.from)}); end`
  )

/** Column names and bound values of a change, case-folded columns included. */
export const encodeRow = (
  table: Table,
  row: { readonly [column: string]: unknown },
  dialect: Dialect
): { [column: string]: unknown } => {
  const bound: { [column: string]: unknown } = {}
  for (const name of Object.keys(row)) {
    const field = table.columns[name]
    if (field === undefined) throw new Error(`table ${table.name} has no column ${name}`)
    const value = row[name]
    bound[name] = encodeValue(field, value, dialect)
    if (isSearchable(field))
      bound[caseFoldedName(name)] =
        value === null || value === undefined ? null : encodeValue(field, caseFoldedValue(field, value), dialect)
  }
  return bound
}

/**
 * Builds a decoder of a table's rows or some of their columns: it changes the row given, drops case-folded columns and
 * restores decimals.
 */
export const rowDecoder = (table: Table, dialect: Dialect): ((row: { [column: string]: unknown }) => AnyRow) => {
  const twins = Object.entries(table.columns)
    .filter(([, field]) => isSearchable(field))
    .map(([name]) => caseFoldedName(name))
  const decimals =
    dialect === "sqlite" ? Object.entries(table.columns).filter(([, field]) => field.type.kind === "decimal") : []
  return (row) => {
    for (const duplicate of twins) if (duplicate in row) delete row[duplicate]
    // Rows may contain only some columns.
    for (const [name, field] of decimals) if (name in row) row[name] = decodeValue(field, row[name], dialect)
    // Safe: what the drivers decode is JSON.
    return row as AnyRow
  }
}

export interface Bindings {
  readonly values: Array<unknown>
  /** Binds a value and returns its placeholder. */
  readonly bind: (value: unknown) => string
  /** Binds the values of `in (…)` and returns their placeholders. */
  readonly list: (values: ReadonlyArray<unknown>) => string
}
export const bindings = (dialect: Dialect): Bindings => {
  const values: Array<unknown> = []
  const bind = (value: unknown): string => {
    values.push(value)
    return dialect === "sqlite" ? "?" : `$${values.length}`
  }
  return { values, bind, list: (some) => (dialect === "sqlite" ? padded(some) : some).map(bind).join(", ") }
}
/** A list with its last value repeated, so that few lengths occur: SQLite compiles a statement for each. */
const padded = (list: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const step = Math.min(64, Math.max(1, 2 ** (Math.ceil(Math.log2(list.length)) - 2)))
  const length = list.length > 4_096 ? list.length : Math.ceil(list.length / step) * step
  return Array.from({ length }, (_, at) => list[Math.min(at, list.length - 1)])
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
    if (wanted.length === 1) return `${quote(name)} = ${bound.bind(encodeValue(field, wanted[0], dialect))}`
    return `${quote(name)} in (${bound.list(wanted.map((one) => encodeValue(field, one, dialect)))})`
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

/** A statement with its bound values. */
export interface BoundSql {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}
/** Rows per statement on SQLite: below its 32,766 bound values for the widest table. */
const rows_bound_max = 128
/** Rows per statement on Postgres, which are one parameter: a few megabytes at most. */
const rows_sent_max = 2_000

/** Makes what SQLite's driver binds for a column's value. The column's type makes whole numbers integers again. */
const cellOf = (field: Field): ((value: unknown) => unknown) => {
  const { kind } = field.type
  if (kind === "boolean") return (value) => (typeof value === "boolean" ? Number(value) : value)
  if (kind === "decimal" || isDocument(field)) return (value) => encodeValue(field, value, "sqlite")
  const is_text = columnType(field, "sqlite") === "text"
  return (value) => {
    if (typeof value !== "number") return value
    if (!Number.isFinite(value)) throw new TypeError(`SQLite cannot bind ${value}`)
    return is_text ? String(value) : value
  }
}

/** Returns a row's value of a column, the nth of its table. */
type ValueIn<Row> = (row: Row, column: string, nth: number) => unknown
/** Statements that insert rows of one table, in order. Missing columns get their default. */
type Inserter = <Row>(rows: ReadonlyArray<Row>, valueIn: ValueIn<Row>) => ReadonlyArray<BoundSql>

export const makeInserter = (table: Table, dialect: Dialect): Inserter => {
  const fields = Object.entries(table.columns).map(([name, field], nth) => ({
    name,
    field,
    nth,
    cell: dialect === "sqlite" ? cellOf(field) : (value: unknown) => encodeValue(field, value, "pg"),
    twin: isSearchable(field) ? caseFoldedName(name) : undefined,
    stored: (given: unknown) =>
      given === undefined || (given === null && !field.nullable) ? (field.default ?? null) : given
  }))
  const columns = fields.flatMap(({ name, twin }) => (twin === undefined ? [name] : [name, twin]))
  const tail = table.on_conflict_ignore ? " on conflict do nothing" : ""
  const head = `insert into ${quote(table.name)} (${columns.map(quote).join(", ")})`

  const texts = new Map<number, string>()
  const boundText = (rows: number): string => {
    const { bind } = bindings(dialect)
    const marks = Array.from({ length: rows }, () => `(${columns.map(bind).join(", ")})`)
    return `${head} values ${marks.join(", ")}${tail}`
  }
  const bound = <Row>(rows: ReadonlyArray<Row>, valueIn: ValueIn<Row>): BoundSql => {
    // Made at its length: growing to thousands of values copies them several times.
    const values = Array<unknown>(rows.length * columns.length)
    let at = 0
    for (const row of rows) {
      for (const { cell, field, name, nth, stored, twin } of fields) {
        const value = stored(valueIn(row, name, nth))
        values[at++] = cell(value)
        if (twin !== undefined)
          values[at++] = value === null ? null : encodeValue(field, caseFoldedValue(field, value), dialect)
      }
    }
    const text = texts.get(rows.length) ?? boundText(rows.length)
    texts.set(rows.length, text)
    return { text, values }
  }

  const sent_texts = new Map<string, string>()
  const sent = <Row>(rows: ReadonlyArray<Row>, valueIn: ValueIn<Row>): BoundSql => {
    const { forms, from, value, values } = givenRows(
      fields.map(({ field, name, nth, stored }) => ({
        name,
        field,
        values: rows.map((row) => stored(valueIn(row, name, nth)))
      })),
      (asked) => rows.length >= alike_from && (sent_texts.has(asked) || sent_texts.size < alike_texts_max)
    )
    const text = sent_texts.get(forms) ?? `${head} select ${columns.map(value).join(", ")} from ${from()}${tail}`
    sent_texts.set(forms, text)
    return { text, values }
  }
  return (rows, valueIn) => {
    if (dialect === "pg" && rows.length > 1) return chunked(rows, rows_sent_max).map((some) => sent(some, valueIn))
    return inPowersOfTwo(rows, rows_bound_max).map((some) => bound(some, valueIn))
  }
}

interface GivenColumn {
  readonly name: string
  readonly field: Field
  /** In the order of the rows. */
  readonly values: ReadonlyArray<unknown>
}
/** The column, and the case-folded one that goes with it. */
const withFolded = (one: GivenColumn): ReadonlyArray<GivenColumn> => {
  const { field, name, values } = one
  const folded = (value: unknown): unknown => (value === null ? null : caseFoldedValue(field, value))
  return isSearchable(field) ? [one, { name: caseFoldedName(name), field, values: values.map(folded) }] : [one]
}

/** Columns with one value are sent as that value from this many rows on. */
const alike_from = 64
/** Texts of a table that differ in such columns, as Postgres keeps the plan of each. */
const alike_texts_max = 4
/** Between documents: JSON contains it escaped only. */
const separator = "\u001e"
/**
 * Rows as one parameter per column, on Postgres: the text is the same for any number of rows, so it is planned once.
 * Postgres reads arrays in half the time of JSON objects, separated documents in less. If `mayDiffer` accepts the
 * text's `forms`, a column whose rows have one value is sent as that value, except the first.
 */
export const givenRows = (given: ReadonlyArray<GivenColumn>, mayDiffer: (forms: string) => boolean = () => false) => {
  const columns = given.flatMap(withFolded)
  const encoded = columns.map(({ field, values }) =>
    isDocument(field) ? values.map((one) => encodeValue(field, one, "pg")) : values
  )
  const alike = encoded.map((values, at) => at > 0 && values.every((one) => one === values[0]))
  const formsOf = (areAlike: boolean): string => alike.map((one) => (areAlike && one ? "v" : "a")).join("")
  const forms = mayDiffer(formsOf(true)) ? formsOf(true) : formsOf(false)
  const typeOf = (field: Field): string => columnType(field, "pg").replace(/ collate .*/, "")
  const isList = (at: number): boolean => forms[at] === "a"
  const lists = columns.map(({ field }, at) =>
    isDocument(field) ? `string_to_array($${at + 1}, chr(30), '')` : `$${at + 1}::${typeOf(field)}[]`
  )
  return {
    forms,
    names: columns.map(({ name }) => name),
    from: (): string =>
      `unnest(${lists.filter((_, at) => isList(at)).join(", ")}) as given ` +
      `(${columns
        .filter((_, at) => isList(at))
        .map(({ name }) => quote(name))
        .join(", ")})`,
    /** SQL of a column's value. */
    value: (name: string): string => {
      const at = columns.findIndex((one) => one.name === name)
      const { field } = itemAt(columns, at)
      return isList(at) ? `given.${quote(name)}${isDocument(field) ? "::jsonb" : ""}` : `$${at + 1}::${typeOf(field)}`
    },
    values: columns.map(({ field }, at): unknown => {
      const values = itemAt(encoded, at)
      if (!isList(at)) return values[0]
      return isDocument(field)
        ? values.map((one) => (one === null ? "" : String(one))).join(separator)
        : arrayLiteral(values)
    })
  }
}
/** A Postgres array. Its texts are quoted as in JSON, apart from escapes such as `\n`. */
const arrayLiteral = (values: ReadonlyArray<unknown>): string => {
  const json = JSON.stringify(values).slice(1, -1)
  return /\\[^\\"]/.test(json)
    ? `{${values.map((one) => (typeof one === "string" ? `"${one.replace(/[\\"]/g, "\\$&")}"` : String(one))).join(",")}}`
    : `{${json}}`
}
