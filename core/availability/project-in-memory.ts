/** Projects events onto tables held in memory, for answers about an earlier time. */
import type { RowChange, Where } from "../kernel/row-change.ts"
import { type Catalogue, foldStored } from "../kernel/catalogue.ts"
import type { StoredEvent } from "../kernel/event.ts"
import type { AnyRow, RowOf, Table } from "../kernel/table.ts"

export interface ProjectedTables {
  /** The rows of one of the tables, in the order they were first written. */
  readonly rows: <T extends Table>(table: T) => ReadonlyArray<RowOf<T>>
}

/** Projects events in their order onto these tables; changes of other tables are ignored. */
export const projectInMemory = (
  catalogue: Pick<Catalogue, "events" | "projection">,
  tables: ReadonlyArray<Table>,
  events: ReadonlyArray<StoredEvent>
): ProjectedTables => {
  const by_table = new Map<string, Map<unknown, AnyRow>>(tables.map((table) => [table.name, new Map()]))
  for (const event of events) {
    for (const change of foldStored(catalogue, event, event)) {
      const rows = by_table.get(change.table.name)
      if (rows !== undefined) carryOut(rows, change)
    }
  }
  // Rows of a table hold what the projections of that table wrote.
  return {
    rows: <T extends Table>(table: T) =>
      [...(by_table.get(table.name)?.values() ?? [])] as ReadonlyArray<unknown> as ReadonlyArray<RowOf<T>>
  }
}

const carryOut = (rows: Map<unknown, AnyRow>, change: RowChange): void => {
  const key = change.table.key
  switch (change.op) {
    case "insert":
      rows.set(change.row[key], { ...defaultsOf(change.table), ...change.row })
      return
    case "update": {
      const row = rows.get(change.key)
      if (row !== undefined) rows.set(change.key, { ...row, ...change.set })
      return
    }
    case "delete":
      rows.delete(change.key)
      return
    case "update_where":
      for (const [at, row] of rows) if (meets(row, change.where)) rows.set(at, { ...row, ...change.set })
      return
    case "delete_where":
      for (const [at, row] of rows) if (meets(row, change.where)) rows.delete(at)
  }
}

const defaultsOf = (table: Table): AnyRow =>
  Object.fromEntries(Object.entries(table.columns).map(([name, field]) => [name, field.default ?? null]))

const meets = (row: AnyRow, where: Where): boolean =>
  Object.entries(where).every(([column, wanted]) => {
    const value = row[column] ?? null
    return Array.isArray(wanted) ? wanted.includes(value as string | number) : value === wanted
  })
