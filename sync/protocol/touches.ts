/** What events change, row by row and column by column: read alike by a device and by its server. */
import { type Catalogue, foldStored } from "../../core/kernel/catalogue.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Key, RowChange } from "../../core/kernel/row-change.ts"
import { settings_table } from "../../core/kernel/settings.ts"
import type { AnyRow, Table } from "../../core/kernel/table.ts"

/**
 * What an event makes of one row: `columns` are all of a new row, the changed ones of another, none of a deleted one.
 */
export interface RowTouch {
  readonly table: Table
  readonly key: Key
  readonly op: "insert" | "update" | "delete"
  readonly columns: AnyRow
}
/** `products/7`: identifies the row among those of all tables. */
export const rowKey = ({ table, key }: { readonly table: Table; readonly key: Key }): string => `${table.name}/${key}`

export const touchesOf = (
  { catalogue }: { readonly catalogue: Catalogue },
  event: { readonly stream: string; readonly type: string; readonly data: JsonObject },
  recorded_at: string
): ReadonlyArray<RowTouch> =>
  foldStored(catalogue, event, { recorded_at, actor_id: null, position: 0 }).flatMap(
    (change: RowChange): ReadonlyArray<RowTouch> => {
      const { table } = change
      // Rows without an id of their own are indexes of other rows; settings alone mean something to people.
      if (table.key !== "id" && table !== settings_table) return []
      if (change.op === "insert")
        return [{ table, key: change.row[table.key] as Key, op: "insert", columns: change.row }]
      if (change.op === "update") return [{ table, key: change.key, op: "update", columns: change.set }]
      return change.op === "delete" ? [{ table, key: change.key, op: "delete", columns: {} }] : []
    }
  )
