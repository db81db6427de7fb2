/**
 * Visibility of rows and columns. Permissions guard endpoints; devices hold rows, so tables declare the same. A device
 * receives the rows that an endpoint would show its user, and of other rows the columns needed by the rules and answers
 * of endpoints its user may call.
 */
import type { Field, Json } from "../fields/field.ts"
import type { Audience, Key, Table, Visibility } from "./table.ts"
import { hasOnePermission, type Viewer } from "../fields/rejection.ts"

export type { Audience, Visibility } from "./table.ts"

/** Visibility of reference data, which all kinds of responses use. */
export const visible_to_all: Visibility = { all_columns: "everyone" }
/**
 * The permission to read the action log, which is one to read everything: the log shows all events of all tables
 * (rules/conventions 12).
 */
export const full_read_permission = "action-log.view"

/** The part of a table that a user sees: full rows, some columns, or nothing. */
export type VisibleColumns = "whole" | ReadonlySet<string> | undefined

/** Whether a user has a permission, or any of an area (`members.*`). */
export const hasPermission = (viewer: Viewer, wanted: string): boolean => {
  if (!wanted.endsWith(".*")) return hasOnePermission(viewer, wanted)
  if (viewer.is_owner) return true
  const area = wanted.slice(0, -1)
  for (const one of viewer.permissions) if (one.startsWith(area) && one !== `${area}access`) return true
  return false
}
/** Whether the token has abilities besides syncing: without one its device gets no business data. */
export const hasBusinessAbility = (viewer: Viewer): boolean => {
  for (const one of viewer.abilities) if (!one.startsWith("sync:")) return true
  return false
}
const hasAnyPermission = (viewer: Viewer, holders: Audience): boolean =>
  holders === "everyone" ? hasBusinessAbility(viewer) : holders.some((one) => hasPermission(viewer, one))

/** Sent with any granted columns: creation time (ids may be reused after a restore), and whether the row is deleted. */
const always_granted = ["created_at", "deleted_at"]

/** The columns of a table that this user sees. Tables without `visibility` require `full_read_permission`. */
export const visibleColumnsOf = ({ visibility, key, columns }: Table, viewer: Viewer): VisibleColumns => {
  if (
    hasOnePermission(viewer, full_read_permission) ||
    (visibility !== undefined && hasAnyPermission(viewer, visibility.all_columns))
  )
    return "whole"
  const granted = visibility?.granted_columns?.filter(({ to }) => hasAnyPermission(viewer, to)) ?? []
  return granted.length === 0
    ? undefined
    : new Set([key, ...always_granted.filter((name) => name in columns), ...granted.flatMap((one) => one.columns)])
}

/** Whether a user sees a column of a table. */
export const columnsSeen = (table: Table, viewer: Viewer): ((column: string) => boolean) => {
  const visible = visibleColumnsOf(table, viewer)
  return visible === undefined ? () => false : visible === "whole" ? () => true : (column) => visible.has(column)
}

/** All columns but these. */
export const allColumnsExcept = (
  columns: { readonly [name: string]: Field },
  ...left_out: ReadonlyArray<string>
): ReadonlyArray<string> => Object.keys(columns).filter((name) => !left_out.includes(name))

/** Placeholder for a hidden column: null, one made of the key if it must be unique, its default, or an empty value. */
export const redactedValue = (table: Table, column: string, key: Key): Json => {
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
