/**
 * Values a device holds that its user may not see, judged only by declared visibility (`visibility`, `visible_to`), row
 * by row and column by column, independent of the code that redacts.
 */
import { isDeepStrictEqual } from "node:util"
import { catalogue } from "../../core/catalogue.ts"
import { redactedValue, type VisibleColumns, visibleColumnsOf } from "../../core/kernel/tables/visibility.ts"
import type { AnyRow, Key, Table } from "../../core/kernel/tables/table.ts"
import { hasOnePermission, type Viewer } from "../../core/kernel/fields/rejection.ts"
import type { Dump } from "./inspected-device.ts"

const seenRow = (table: Table, row: AnyRow, viewer: Viewer): VisibleColumns => {
  const seen = visibleColumnsOf(table, viewer)
  if (seen === "whole") return seen
  const own =
    table.visibility?.by_key?.(row[table.key] as Key, viewer) ??
    (table.visibility?.by_row?.(row, viewer) === true ? "whole" : undefined)
  return own === "none" ? undefined : (own ?? seen)
}

/** Every hidden value as `table/key.column`; hidden rows as `table/key`. */
export const beyondVisibility = (viewer: Viewer, held: Dump): ReadonlyArray<string> =>
  catalogue.tables.flatMap((table) =>
    (held[table.name] ?? []).flatMap((row) => {
      const seen = seenRow(table, row, viewer)
      const key = row[table.key] as Key
      if (seen === undefined) return [`${table.name}/${key}`]
      return Object.entries(table.columns).flatMap(([column, { visible_to }]) => {
        if (
          (seen === "whole" || seen.has(column)) &&
          (visible_to === undefined || hasOnePermission(viewer, visible_to))
        )
          return []
        const value = row[column]
        return value === null ||
          value === undefined ||
          isDeepStrictEqual(value, table.columns[column]!.default) ||
          isDeepStrictEqual(value, redactedValue(table, column, key))
          ? []
          : [`${table.name}/${key}.${column}`]
      })
    })
  )
