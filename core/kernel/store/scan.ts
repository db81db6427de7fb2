/** Reads a table in key order, page by page; the order is the same in both databases. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { AnyRow, Key, Table } from "../tables/table.ts"
import { Store } from "./store.ts"

const rows_per_page = 2_000

/** Rows after a key, or from the first without one; an empty page is the end. One index look-up per page. */
export const rowsAfter = Effect.fnUntraced(function* (
  table: Table,
  after: Key | undefined
): Effect.fn.Return<ReadonlyArray<AnyRow>, SqlError.SqlError, Store> {
  return yield* Store.select(table, (sql) => {
    const from = after === undefined ? sql.literal("") : sql`where ${sql(table.key)} > ${after}`
    return sql`${from} order by ${sql(table.key)} limit ${rows_per_page}`
  })
})
