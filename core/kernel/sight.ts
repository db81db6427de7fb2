/**
 * Who may see what of a table's rows. The interface guards endpoints; a device that holds the rows themselves needs the
 * same said of tables: rows go to whom an endpoint would show them, and of other rows what the rules and answers of the
 * endpoints a person may call need, column by column.
 */
import type { Key } from "./change.ts"
import type { Field } from "./field.ts"
import type { AnyRow, Table } from "./table.ts"
import { can, type Viewer } from "./viewer.ts"

/** Any one of these permissions is enough; `members.*` is any of an area but `access`, which opens a page and no data. */
export type Holders = "everyone" | ReadonlyArray<string>
export interface Lent { readonly to: Holders; readonly columns: ReadonlyArray<string> }
export interface Sight {
  /** To whom endpoints show whole rows, or answer with them. */
  readonly whole: Holders
  /** Columns that rules and answers about other things need, beside the key, when it was made and whether it is deleted. */
  readonly lent?: ReadonlyArray<Lent>
  /** Rows that are a person's own, or not for them, by their key. */
  readonly by_key?: (key: Key, viewer: Viewer) => "whole" | "none" | undefined
  /**
   * Answers about other things show single rows of this table to people who are not given the table: those answers are
   * the server's to give, as which rows they show follows from rows elsewhere.
   */
  readonly named_elsewhere?: true
  /** Rows that say themselves for whom they are: all or nothing. Events of such tables carry whole rows. */
  readonly by_row?: (row: AnyRow, viewer: Viewer) => boolean
}
/** Reference data that answers of every kind are made with. */
export const open_to_all: Sight = { whole: "everyone" }
/** Whoever may read the action log may read everything in it: it tells every event of every table (conventions 12). */
export const reads_everything = "action-log.view"

/** What a person sees of a table: all of its rows; these columns of them; or nothing. */
export type Seen = "whole" | ReadonlySet<string> | undefined

/** One permission, or any of an area. */
export const holds = (viewer: Viewer, wanted: string): boolean => {
  if (!wanted.endsWith(".*")) return can(viewer, wanted)
  if (viewer.is_owner) return true
  const area = wanted.slice(0, -1)
  for (const one of viewer.permissions) if (one.startsWith(area) && one !== `${area}access`) return true
  return false
}
/** A token that may sync and nothing else shows its device nothing of the business. */
export const asksAnything = (viewer: Viewer): boolean => {
  for (const one of viewer.abilities) if (!one.startsWith("sync:")) return true
  return false
}
const holdsAny = (viewer: Viewer, holders: Holders): boolean =>
  holders === "everyone" ? asksAnything(viewer) : holders.some((one) => holds(viewer, one))

/** Which row it is, after all that may have happened to the server, and whether it is there. */
const lent_always = ["created_at", "deleted_at"]

/** A table that says nothing is seen by whoever reads everything. */
export const seenOf = ({ sight, key, columns }: Table, viewer: Viewer): Seen => {
  if (can(viewer, reads_everything) || (sight !== undefined && holdsAny(viewer, sight.whole))) return "whole"
  const lent = sight?.lent?.filter(({ to }) => holdsAny(viewer, to)) ?? []
  return lent.length === 0 ? undefined
    : new Set([key, ...lent_always.filter((name) => name in columns), ...lent.flatMap((one) => one.columns)])
}

/** All columns but these. */
export const allBut = (columns: { readonly [name: string]: Field }, ...left_out: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.keys(columns).filter((name) => !left_out.includes(name))

/** What stands in a column that is not for the reader: its default, or nothing; where that must be unique, the row's key in another guise. */
export const blankOf = (table: Table, column: string, key: Key): unknown => {
  const field = table.columns[column]!
  const { nullable, shape } = field
  if (nullable) return null
  if (table.uniques.some(({ columns }) => columns.includes(column) || columns.includes(`${column}_folded`))) return shape.kind === "text" ? `withheld ${key}` : -Number(key)
  if (field.default !== undefined) return field.default
  switch (shape.kind) {
    case "text": return ""
    case "boolean": return false
    case "decimal": return shape.scale === 0 ? "0" : `0.${"0".repeat(shape.scale)}`
    case "date": return "1970-01-01"
    case "timestamp": return "1970-01-01T00:00:00.000Z"
    case "choice": return Object.keys(shape.labels)[0] ?? ""
    case "code": return Number(Object.keys(shape.labels)[0] ?? 0)
    case "json": return shape.form === "array" ? [] : {}
    case "list": return []
    case "object": return {}
    default: return 0
  }
}
