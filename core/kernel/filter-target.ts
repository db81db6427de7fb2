/** What filters compare: a column, or a custom field's value inside its document, as SQL. */
import type { Field } from "./field.ts"
import type { Dialect } from "./store/dialect.ts"
import { quote } from "./store/statement.ts"
import { caseFoldedName, isSearchable, type Table } from "./table.ts"

export interface CustomColumn {
  readonly key: string
  readonly field: Field
  /** Values of its list by folded name: filters take a value's name as well as its id. */
  readonly names?: ReadonlyMap<string, number>
  /** Several values at once. */
  readonly many?: boolean
}
export interface FilterTarget {
  readonly field: Field
  readonly sql: string
  readonly folded: string
  /** Whether `folded` is a column of its own, which indexes hold. */
  readonly keeps_folded?: boolean
  readonly names?: ReadonlyMap<string, number>
  /** The column with the currency of its money. */
  readonly currency?: string
  /** The array it is, when it holds several values. */
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
