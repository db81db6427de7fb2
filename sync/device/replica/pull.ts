/** Applies data from the server: confirmed events and verdicts, in one transaction with their cursor. */
import { dropDeletedTexts, searchTables } from "../../../core/kernel/store/search-index.ts"
import { Clock, Effect } from "effect"
import { caseFoldedName, columnType, encodeValue, foldStored, isDocument } from "../../../core/kernel/index.ts"
import { isSearchable, isWithheldIn, journal, quote, redacted_event, Rejection } from "../../../core/kernel/index.ts"
import { scrubEarlierEvents, scrubsOf, Store } from "../../../core/kernel/index.ts"
import type { Catalogue, CommandRuntime, Field, StoredEvent, StoreShape, Table } from "../../../core/kernel/index.ts"
import { ensureSchema } from "../../../core/kernel/runtime/schema.ts"
import type { FillState } from "../outbox/replica-tables.ts"
import { decodeIncoming, provisional_base, readMeta, revertProvisional, writeMeta } from "../outbox/replica-tables.ts"
import { currentFill, dropFill, type StagedPage, stagePage, swapTables } from "./fill.ts"
import { instantOf } from "../../../core/values/time.ts"
import { merge, type SettledCommand } from "../../protocol/merge.ts"
import type { SnapshotPage } from "../../protocol/snapshot.ts"
import { replicaStream } from "../../protocol/wire.ts"
import { recordOutcomes, recordOutcomesOfRows } from "../outcomes/record.ts"
import { type PulledEvents, redecide, type ReplicaParts, unsettled } from "./replica-parts.ts"

// Migrates the tables of another release. A complete journal is projected again. A replica filled from rows lacks the
// earlier events: columns of equal name and type are copied, and the next sync refills it; likewise if the journal has
// events redacted for an earlier release.

/**
 * Recreates the tables. Drops provisional changes, whose images have the old columns; pending commands are decided
 * again afterwards.
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
      // The next sync refills the replica, as only the server knows the values of new columns.
      yield* writeMeta(store, "offset", "-1")
      yield* store.run("delete from replica_meta where key = 'handle'")
    })
  )
})

/** Requests that the write-ahead log be emptied after the commit, as it still contains earlier data. */
const purgeLater = (store: StoreShape) => writeMeta(store, "purge", "yes")

/** Applies erasures again, as this release may erase more than the one that applied them. */
const eraseAgain = Effect.fnUntraced(function* (store: StoreShape, { scrubs, tables }: Catalogue) {
  const erasing = yield* store.find(journal, { type: Object.keys(scrubs) }, { order: ["position"] })
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
  for (const name of searchTables(table)) yield* store.run(`drop table if exists ${quote(name)}`)
  if (!(yield* isThere(store, table.name))) return
  const indexes_and_triggers = yield* store.run<{ type: string; name: string }>(
    "select type, name from sqlite_master where tbl_name = ? and type in ('index', 'trigger') and sql is not null",
    [table.name]
  )
  for (const { type, name } of indexes_and_triggers) yield* store.run(`drop ${type} ${quote(name)}`)
  yield* store.run(`alter table ${quote(table.name)} rename to ${quote(asideName(table))}`)
})

const copyRows = Effect.fnUntraced(function* (store: StoreShape, table: Table) {
  // These rows came from a journal that begins in the middle.
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
/** Value of a column that is new in this release. */
const emptyOf = (field: Field): unknown => {
  if (field.default !== undefined && field.default !== null) return encodeValue(field, field.default, "sqlite")
  if (field.nullable) return null
  if (isDocument(field)) return field.type.kind === "list" ? "[]" : "{}"
  return columnType(field, "sqlite") === "text" ? "" : 0
}

/** Result of applying events. `settled`: commands that got a verdict. */
interface Applied {
  readonly applied: number
  readonly settled: number
}

const projectEvents = Effect.fnUntraced(function* (catalogue: Catalogue, events: ReadonlyArray<StoredEvent>) {
  const store = yield* Store
  yield* store.apply(events.flatMap((event) => foldStored(catalogue, event, event)))
  yield* store.apply(events.map((row) => ({ op: "insert" as const, table: journal, row: { ...row } })))
  // Applies erasures on the server to earlier events here.
  yield* scrubEarlierEvents(store, catalogue.scrubs, events, isWithheldIn(catalogue.tables))
  if (scrubsOf(catalogue.scrubs, events).length > 0) yield* purgeLater(store)
})
export const saveVerdicts = Effect.fnUntraced(function* (settled: ReadonlyArray<SettledCommand>) {
  for (const { n, status, error } of settled) {
    yield* Store.run("insert or replace into verdicts (n, status, error) values (?, ?, ?)", [
      n,
      status,
      error === undefined ? null : JSON.stringify(error)
    ])
  }
})
const saveCursor = Effect.fnUntraced(function* (
  pulled: Pick<PulledEvents, "offset" | "handle" | "up_to_date">,
  position: number
) {
  const store = yield* Store
  yield* writeMeta(store, "position", String(position))
  yield* writeMeta(store, "offset", pulled.offset)
  yield* writeMeta(store, "handle", pulled.handle)
  if (pulled.up_to_date) yield* writeMeta(store, "synced_at", instantOf(yield* Clock.currentTimeMillis))
})

const hasProvisional = Effect.gen(function* () {
  const rows = yield* Store.run("select 1 from undo limit 1")
  return (
    rows.length > 0 ||
    (yield* Store.run("select 1 from journal where position >= ? limit 1", [provisional_base])).length > 0
  )
})

/** Applies events that follow those in the replica. */
export const applyHere = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  pulled: PulledEvents
): CommandRuntime.Reads<Applied> {
  const { at, catalogue, outbox, replica_id } = parts
  const store = yield* Store
  const pending = yield* unsettled(outbox)
  const position = Number((yield* readMeta(store, "position")) ?? 0)
  const verdict = merge({ replica_id, position, provisional: yield* hasProvisional, pending }, pulled)
  if (verdict.kind === "reject")
    return yield* Effect.die(new Error(`The server's journal is out of order: ${verdict.reason}.`))
  const events = verdict.kind === "stay" ? [] : verdict.events
  yield* saveCursor(pulled, events.at(-1)?.position ?? position)
  if (verdict.kind === "stay") return { applied: 0, settled: 0 }
  yield* revertProvisional(catalogue)
  yield* writeMeta(store, "run_n", "0")
  yield* projectEvents(catalogue, events)
  yield* saveVerdicts(verdict.settled)
  yield* recordOutcomes({ catalogue, outbox, replica_id }, events)
  yield* redecide(
    parts,
    pending.filter((command) => verdict.redo.includes(command.n))
  )
  at("applied")
  return { applied: events.length, settled: verdict.settled.length }
})

/** Stages events of a new history page by page in `incoming`; once complete, they replace everything in one step. */
export const applyStaged = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  pulled: PulledEvents
): CommandRuntime.Reads<Applied> {
  const { at, catalogue, outbox, replica_id } = parts
  const store = yield* Store
  for (const event of pulled.events)
    yield* store.run("insert or replace into incoming (position, event) values (?, ?)", [
      event.position,
      JSON.stringify(event)
    ])
  yield* writeMeta(store, "offset", pulled.offset)
  yield* writeMeta(store, "handle", pulled.handle)
  if (!pulled.up_to_date) return { applied: pulled.events.length, settled: 0 }
  yield* revertProvisional(catalogue)
  for (const table of [...catalogue.tables, journal]) yield* store.run(`delete from "${table.name}"`)
  const { position, settled } = yield* projectIncoming(parts)
  for (const statement of catalogue.tables.flatMap(dropDeletedTexts)) yield* store.run(statement)
  yield* saveVerdicts(settled)
  yield* recordOutcomes(
    { catalogue, outbox, replica_id },
    yield* store.find(journal, { stream: replicaStream(replica_id) }, { order: ["position"] })
  )
  yield* saveCursor(pulled, position)
  yield* store.run("delete from incoming")
  yield* writeMeta(store, "anew", "no")
  yield* writeMeta(store, "run_n", "0")
  yield* writeMeta(store, "journal_from", "0")
  yield* purgeLater(store)
  yield* redecide(parts, yield* unsettled(outbox))
  at("applied")
  return { applied: pulled.events.length, settled: settled.length }
})
/** Projects the staged events; returns the last position and the settled commands. */
const projectIncoming = Effect.fnUntraced(function* ({ catalogue, outbox, replica_id }: ReplicaParts) {
  const pending = yield* unsettled(outbox)
  let position = 0
  const settled: Array<SettledCommand> = []
  for (;;) {
    const page = yield* Store.run<{ event: string }>(
      "select event from incoming where position > ? order by position limit 2000",
      [position]
    )
    const events = page.map((row) => decodeIncoming(row.event))
    const last = events.at(-1)
    if (last === undefined) return { position, settled }
    const verdict = merge({ replica_id, position, provisional: false, pending }, { events, up_to_date: false })
    if (verdict.kind === "advance") settled.push(...verdict.settled)
    yield* projectEvents(catalogue, events)
    position = last.position
  }
})

/** Stages a page of a fill; with the last page, replaces the tables in use and returns undefined. */
export const applyPage = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  requested: StagedPage["requested"],
  page: SnapshotPage
): CommandRuntime.Reads<FillState | undefined> {
  const { at, catalogue, outbox, replica_id } = parts
  const store = yield* Store
  const staged = yield* stagePage(catalogue, { replica_id, pending: yield* unsettled(outbox), requested, page })
  if (staged === undefined) return yield* currentFill(store)
  at("page laid down")
  if (page.next !== null) return staged
  yield* swapTables(catalogue, staged)
  yield* saveVerdicts(staged.settled.filter((one) => outbox.pending().some(({ n }) => n === one.n)))
  yield* recordOutcomesOfRows({ catalogue, outbox, replica_id }, staged.settled)
  yield* saveCursor({ offset: staged.offset, handle: staged.handle, up_to_date: false }, staged.position)
  yield* purgeLater(store)
  yield* redecide(parts, yield* unsettled(outbox))
  at("rows taken over")
  return undefined
})
