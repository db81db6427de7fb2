/** The two SQL dialects: column types, value conversion, and the statements that differ. */
import { fromScaled, toScaled } from "../../values/decimal.ts"
import type { Field } from "../fields/field.ts"
import { caseFoldedName, caseFoldedValue, isSearchable, type Table } from "../tables/table.ts"
import { searchIndex } from "./search-index.ts"

export type Dialect = "sqlite" | "pg"

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
    ? fromScaled(BigInt(value as number | bigint), field.type.scale)
    : value

const quote = (name: string): string => `"${name}"`
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
 * Decoder of a table's rows or some of their columns: drops case-folded columns, restores decimals. Compiled once per
 * table and dialect.
 */
export const rowDecoder = (
  table: Table,
  dialect: Dialect
): ((row: { [column: string]: unknown }) => { [column: string]: unknown }) => {
  const twins = Object.entries(table.columns)
    .filter(([, field]) => isSearchable(field))
    .map(([name]) => caseFoldedName(name))
  const decimals =
    dialect === "sqlite" ? Object.entries(table.columns).filter(([, field]) => field.type.kind === "decimal") : []
  return (row) => {
    for (const duplicate of twins) delete row[duplicate]
    // Rows may contain only some columns.
    for (const [name, field] of decimals) if (name in row) row[name] = decodeValue(field, row[name], dialect)
    return row
  }
}
