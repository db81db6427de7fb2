/**
 * Who may see what of a table's rows. The interface guards endpoints; a device that holds the rows themselves needs the
 * same said of tables: rows go to whom an endpoint would show them, and of other rows what the rules and answers of the
 * endpoints a person may call need, column by column.
 */
import type { Field } from "./field.ts"
import type { Audience, Key, Table, Visibility } from "./table.ts"
import { hasOnePermission, type Viewer } from "./viewer.ts"

export type { Audience, GrantedColumns, Visibility } from "./table.ts"

/** Reference data that answers of every kind are made with. */
export const visible_to_all: Visibility = { all_columns: "everyone" }
/**
 * Whoever may read the action log may read everything in it: it tells every event of every table (rules/conventions 12).
 */
export const full_read_permission = "action-log.view"

/** What a person sees of a table: all of its rows; these columns of them; or nothing. */
export type VisibleColumns = "whole" | ReadonlySet<string> | undefined

/** One permission, or any of an area. */
export const hasPermission = (viewer: Viewer, wanted: string): boolean => {
  if (!wanted.endsWith(".*")) return hasOnePermission(viewer, wanted)
  if (viewer.is_owner) return true
  const area = wanted.slice(0, -1)
  for (const one of viewer.permissions) if (one.startsWith(area) && one !== `${area}access`) return true
  return false
}
/** A token that may sync and nothing else shows its device nothing of the business. */
export const hasBusinessAbility = (viewer: Viewer): boolean => {
  for (const one of viewer.abilities) if (!one.startsWith("sync:")) return true
  return false
}
const hasAnyPermission = (viewer: Viewer, holders: Audience): boolean =>
  holders === "everyone" ? hasBusinessAbility(viewer) : holders.some((one) => hasPermission(viewer, one))

/** Which row it is, after all that may have happened to the server, and whether it is there. */
const always_granted = ["created_at", "deleted_at"]

/** A table that says nothing is seen by whoever reads everything. */
export const visibleColumnsOf = ({ visibility, key, columns }: Table, viewer: Viewer): VisibleColumns => {
  if (
    hasOnePermission(viewer, full_read_permission) ||
    (visibility !== undefined && hasAnyPermission(viewer, visibility.all_columns))
  )
    return "whole"
  const lent = visibility?.granted_columns?.filter(({ to }) => hasAnyPermission(viewer, to)) ?? []
  return lent.length === 0
    ? undefined
    : new Set([key, ...always_granted.filter((name) => name in columns), ...lent.flatMap((one) => one.columns)])
}

/** All columns but these. */
export const allColumnsExcept = (
  columns: { readonly [name: string]: Field },
  ...left_out: ReadonlyArray<string>
): ReadonlyArray<string> => Object.keys(columns).filter((name) => !left_out.includes(name))

/** What stands in a column that is not for the reader: its default, or nothing; where that must be unique, the row's key in another guise. */
export const redactedValue = (table: Table, column: string, key: Key): unknown => {
  const field = table.columns[column]!
  const { nullable, type } = field
  if (nullable) return null
  if (table.uniques.some(({ columns }) => columns.includes(column) || columns.includes(`${column}_folded`)))
    return type.kind === "text" ? `withheld ${key}` : -Number(key)
  if (field.default !== undefined) return field.default
  switch (type.kind) {
    case "text":
      return ""
    case "boolean":
      return false
    case "decimal":
      return type.scale === 0 ? "0" : `0.${"0".repeat(type.scale)}`
    case "date":
      return "1970-01-01"
    case "timestamp":
      return "1970-01-01T00:00:00.000Z"
    case "choice":
      return Object.keys(type.labels)[0] ?? ""
    case "code":
      return Number(Object.keys(type.labels)[0] ?? 0)
    case "json":
      return type.form === "array" ? [] : {}
    case "list":
      return []
    case "object":
      return {}
    default:
      return 0
  }
}
