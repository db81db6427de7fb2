/** Row changes as data: produced by projections, applied in one place, reverted by replicas. */
import type { AnyRow, Key, RowOf, Table } from "./table.ts"

export type { Key } from "./table.ts"
export type Where = { readonly [column: string]: string | number | boolean | null | ReadonlyArray<string | number> }
export type RowChange =
  | { readonly op: "insert"; readonly table: Table; readonly row: AnyRow }
  | { readonly op: "update"; readonly table: Table; readonly key: Key; readonly set: AnyRow }
  | { readonly op: "delete"; readonly table: Table; readonly key: Key }
  | { readonly op: "update_where"; readonly table: Table; readonly where: Where; readonly set: AnyRow }
  | { readonly op: "delete_where"; readonly table: Table; readonly where: Where }

export const insert = <T extends Table>(table: T, row: RowOf<T>): RowChange => ({ op: "insert", table, row })
export const update = <T extends Table>(table: T, key: Key, set: Partial<RowOf<T>>): RowChange => ({
  op: "update",
  table,
  key,
  set
})
/** Inserts a row made at `at`. */
export const insertRow = (table: Table, row: AnyRow, at: string): RowChange => ({
  op: "insert",
  table,
  row: { ...row, created_at: at, updated_at: at, deleted_at: null }
})
/** Sets columns of a row at `at`. */
export const updateRow = (table: Table, key: Key, set: AnyRow, at: string): RowChange =>
  update(table, key, { ...set, updated_at: at })
export const remove = (table: Table, key: Key): RowChange => ({ op: "delete", table, key })
export const updateWhere = <T extends Table>(table: T, where: Where, set: Partial<RowOf<T>>): RowChange => ({
  op: "update_where",
  table,
  where,
  set
})
export const removeWhere = (table: Table, where: Where): RowChange => ({ op: "delete_where", table, where })
