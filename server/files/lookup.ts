/** Which uuid is what file: the rows of every table that names files. */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { bindings, quote } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { FileColumns, Table } from "../../core/kernel/table.ts"

export interface NamedFile {
  readonly sha256: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: number
}
export interface FileTable {
  readonly table: Table
  readonly file: FileColumns
}
type Tables = Pick<Catalogue, "tables" | "server_tables">
export const fileTables = ({ tables, server_tables }: Tables): ReadonlyArray<FileTable> =>
  [...tables, ...server_tables].flatMap((table) => (table.file === undefined ? [] : [{ table, file: table.file }]))

/** A row that is marked as deleted names nothing any more. */
export const isCurrent = (table: Table): string => ("deleted_at" in table.columns ? "deleted_at is null" : "1 = 1")

/** The file of this uuid, or undefined where no row names it. */
export const fileOf = Effect.fnUntraced(function* (
  catalogue: Tables,
  uuid: string,
  now: string
): Effect.fn.Return<NamedFile | undefined, Failure, Store> {
  const store = yield* Store
  for (const { table, file } of fileTables(catalogue)) {
    const { bind, values } = bindings(store.dialect)
    const columns = [file.sha256, file.name, file.mime_type, file.size_bytes]
    const [found] = yield* store.run<{ sha256: string; name: string; mime_type: string; size_bytes: number | string }>(
      `select ${columns.map((column, at) => `${quote(column)} as ${["sha256", "name", "mime_type", "size_bytes"][at]}`).join(", ")} ` +
        `from ${quote(table.name)} where ${quote(file.uuid)} = ${bind(uuid)} and ${isCurrent(table)}` +
        ("expires_at" in table.columns ? ` and expires_at > ${bind(now)}` : ""),
      values
    )
    if (found !== undefined) return { ...found, size_bytes: Number(found.size_bytes) }
  }
  return undefined
})
