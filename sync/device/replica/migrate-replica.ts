/**
 * Migration from the tables of another release. With the whole journal here they are projected from it again. A replica
 * that was filled from rows lacks the events for that: columns of the same name and type are copied, and the next sync
 * fills it anew. So it does where the journal holds redacted events, which show what the earlier release let through.
 */
import { searchTable } from "../../../core/kernel/store/search-index.ts"
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import type { Field } from "../../../core/kernel/field.ts"
import { journal, scrubEarlierEvents } from "../../../core/kernel/journal.ts"
import { Rejection } from "../../../core/kernel/rejection.ts"
import { isWithheldIn, redacted_event } from "../../../core/kernel/redacted-event.ts"
import { columnType, encodeValue, isDocument } from "../../../core/kernel/store/dialect.ts"
import { ensureSchema } from "../../../core/kernel/store/schema.ts"
import { quote } from "../../../core/kernel/store/statement.ts"
import { Store, type StoreShape } from "../../../core/kernel/store/store.ts"
import { caseFoldedName, isSearchable, type Table } from "../../../core/kernel/table.ts"
import { provisional_base, purgeLater, readMeta, writeMeta } from "./local-tables.ts"
import { dropFill } from "./fill.ts"

/**
 * Provisional changes are dropped, as images of rows have the old columns; pending commands are decided again
 * afterwards.
 */
export const migrateTables = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  const filled_from_rows = Number((yield* readMeta(store, "journal_from")) ?? 0) > 0
  const has_redacted_events =
    (yield* isThere(store, "journal")) &&
    (yield* store.run("select 1 from journal where type = ? limit 1", [redacted_event])).length > 0
  yield* store.transaction(
    Effect.gen(function* () {
      yield* dropFill
      if (yield* isThere(store, "journal"))
        yield* store.run("delete from journal where position >= ?", [provisional_base])
      yield* store.run("delete from undo")
      yield* writeMeta(store, "run_n", "0")
      if (filled_from_rows) for (const table of catalogue.tables) yield* setAside(store, table)
      yield* ensureSchema(catalogue, "replica").pipe(
        Effect.catchTag(["NewerSchema", "MigrationFailed"], (newer) =>
          Effect.fail(new Rejection({ kind: "unavailable", message: newer.message }))
        )
      )
      yield* eraseAgain(store, catalogue)
      if (!filled_from_rows && !has_redacted_events) return
      if (filled_from_rows) for (const table of catalogue.tables) yield* copyRows(store, table)
      // Only the server knows the values of other columns.
      yield* writeMeta(store, "offset", "-1")
      yield* store.run("delete from replica_meta where key = 'handle'")
    })
  )
})

/** Applies erasures again: this release may erase more of a person than the one that applied them did. */
const eraseAgain = Effect.fnUntraced(function* (store: StoreShape, { scrubs, tables }: Catalogue) {
  const erasing = (yield* store.find(
    journal,
    { type: Object.keys(scrubs) },
    { order: ["position"] }
  )) as ReadonlyArray<StoredEvent>
  yield* scrubEarlierEvents(store, scrubs, erasing, isWithheldIn(tables))
  if (erasing.length > 0) yield* purgeLater(store)
})

const isThere = (store: StoreShape, table: string) =>
  Effect.map(
    store.run("select 1 from sqlite_master where type = 'table' and name = ?", [table]),
    (rows) => rows.length > 0
  )
const asideName = (table: Table): string => `before_${table.name}`

const setAside = Effect.fnUntraced(function* (store: StoreShape, table: Table) {
  if (table.searched !== undefined) yield* store.run(`drop table if exists ${quote(searchTable(table))}`)
  if (!(yield* isThere(store, table.name))) return
  const indexes_and_triggers = yield* store.run<{ type: string; name: string }>(
    "select type, name from sqlite_master where tbl_name = ? and type in ('index', 'trigger') and sql is not null",
    [table.name]
  )
  for (const { type, name } of indexes_and_triggers) yield* store.run(`drop ${type} ${quote(name)}`)
  yield* store.run(`alter table ${quote(table.name)} rename to ${quote(asideName(table))}`)
})

const copyRows = Effect.fnUntraced(function* (store: StoreShape, table: Table) {
  // These rows were projected from a journal that begins in the middle.
  yield* store.run(`delete from ${quote(table.name)}`)
  if (!(yield* isThere(store, asideName(table)))) return
  const before = new Map(
    (yield* store.run<{ name: string; type: string }>("select name, type from pragma_table_info(?)", [
      asideName(table)
    ])).map(({ name, type }) => [name, type.toLowerCase()])
  )
  const values: Array<unknown> = []
  const columns = Object.entries(table.columns).flatMap(([name, field]) => [
    { name, field },
    ...(isSearchable(field) ? [{ name: caseFoldedName(name), field }] : [])
  ])
  const sources = columns.map(({ name, field }) => {
    if (before.get(name) === columnType(field, "sqlite")) return quote(name)
    values.push(emptyOf(field))
    return "?"
  })
  yield* store.run(
    `insert or ignore into ${quote(table.name)} (${columns.map(({ name }) => quote(name)).join(", ")}) select ${sources.join(", ")} from ${quote(asideName(table))}`,
    values
  )
  yield* store.run(`drop table ${quote(asideName(table))}`)
})
/** The value of a column that no earlier release had. */
const emptyOf = (field: Field): unknown => {
  if (field.default !== undefined && field.default !== null) return encodeValue(field, field.default, "sqlite")
  if (field.nullable) return null
  if (isDocument(field)) return field.type.kind === "list" ? "[]" : "{}"
  return columnType(field, "sqlite") === "text" ? "" : 0
}
