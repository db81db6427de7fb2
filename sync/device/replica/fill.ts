/**
 * Fills a replica from rows (see sync/protocol/snapshot.ts). Rows are staged in separate tables, each page in one
 * transaction with its cursor; once complete, the staged tables replace those in use, which serve the device until
 * then.
 */
import { itemAt } from "../../../core/values/text.ts"
import { createTable, foldStored, insert, isWithheldIn, journal, keyOf, quote } from "../../../core/kernel/index.ts"
import { scrubEarlierEvents, Store } from "../../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Json, Key, RowChange, StoreShape, Table } from "../../../core/kernel/index.ts"
import { Effect } from "effect"
import { dropDeletedTexts, searchIndexAnew } from "../../../core/kernel/store/search-index.ts"
import { merge } from "../../protocol/merge.ts"
import { type SnapshotPage, type SnapshotPlan, splitCursor } from "../../protocol/snapshot.ts"
import { decodeFillState, type FillState, readMeta, writeMeta } from "../outbox/replica-tables.ts"

export const currentFill = (store: StoreShape) =>
  Effect.map(readMeta(store, "filling"), (text) => (text === undefined ? undefined : decodeFillState(text)))
const keep = (store: StoreShape, filling: FillState) => writeMeta(store, "filling", JSON.stringify(filling))

/** Staging tables by catalogue and number of the fill: copies under other names, without triggers. */
const asides = new WeakMap<Catalogue, Map<number, ReadonlyMap<Table, Table>>>()
const asideOf = (catalogue: Catalogue, generation: number): ReadonlyMap<Table, Table> => {
  let known = asides.get(catalogue)
  if (known === undefined) asides.set(catalogue, (known = new Map()))
  let aside = known.get(generation)
  if (aside === undefined) {
    known.clear()
    known.set(
      generation,
      (aside = new Map(
        [...catalogue.tables, journal].map((table) => [
          table,
          { ...table, name: `fill${generation}_${table.name}`, no_overlap: [], searched: undefined }
        ])
      ))
    )
  }
  return aside
}

/** Drops the tables of an earlier fill, in the caller's transaction. */
export const dropFill = Effect.gen(function* () {
  const rows = yield* Store.run<{ name: string }>(
    "select name from sqlite_master where type = 'table' and name glob 'fill[0-9]*_*'"
  )
  for (const { name } of rows) yield* Store.run(`drop table ${quote(name)}`)
  yield* Store.run("delete from replica_meta where key = 'filling'")
})

/** Creates the staging tables and stores the fill's starting point, with the verdicts recorded before it. */
export const beginFill = Effect.fnUntraced(function* (catalogue: Catalogue, plan: SnapshotPlan) {
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* dropFill
      const generation = 1 + Number((yield* readMeta(store, "fill_generation")) ?? 0)
      yield* writeMeta(store, "fill_generation", String(generation))
      for (const table of asideOf(catalogue, generation).values())
        for (const statement of createTable(table, "sqlite")) yield* store.run(statement)
      yield* keep(store, {
        generation,
        handle: plan.handle,
        position: plan.position,
        offset: plan.offset,
        after: "",
        done: [],
        from: plan.position,
        rows: 0,
        rows_total: plan.rows,
        ...(plan.erased === undefined || plan.erased.length === 0 ? {} : { erased: plan.erased }),
        settled: plan.decided.map(({ n, status, error }) => ({ n, status, ...(error === undefined ? {} : { error }) }))
      })
    })
  )
})

export interface StagedPage {
  readonly replica_id: number
  /** Unsettled commands. */
  readonly pending: ReadonlyArray<{ readonly n: number; readonly id: string }>
  /** Cursor the page was requested with. */
  readonly requested: Pick<FillState, "handle" | "offset" | "after">
  readonly page: SnapshotPage
}
/**
 * Stages a page in the caller's transaction: applies its events to the rows staged so far, then adds its rows. Inserts
 * of rows on later pages are skipped. Undefined if another process restarted the fill or staged this page.
 */
export const stagePage = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { replica_id, pending, requested, page }: StagedPage
) {
  const store = yield* Store
  const filling = yield* currentFill(store)
  if (
    filling === undefined ||
    filling.handle !== requested.handle ||
    filling.offset !== requested.offset ||
    filling.after !== requested.after
  )
    return undefined
  const aside = asideOf(catalogue, filling.generation)
  const events = page.events.filter((event) => event.position > filling.position)
  yield* store.apply([
    ...events
      .flatMap((event) => foldStored(catalogue, event, event))
      .flatMap((change): ReadonlyArray<RowChange> =>
        change.op === "insert" && !isThere(filling, change.table, keyOf(change.table, change.row))
          ? []
          : [{ ...change, table: aside.get(change.table)! }]
      ),
    ...events.map((event) => insert(aside.get(journal)!, { ...event }))
  ])
  let rows = filling.rows
  const done = [...filling.done]
  for (const section of page.sections) {
    const table = catalogue.tables.find((one) => one.name === section.table)
    // A server of a later release may have tables that this one does not know.
    if (table !== undefined) {
      const columns = section.columns.map((name) => (table.columns[name] === undefined ? undefined : name))
      const rowOf = rowsOf(columns)
      yield* store.apply(section.rows.map((values) => insert(aside.get(table)!, rowOf(values))))
    }
    rows += section.rows.length
    if (section.done) done.push(section.table)
  }
  const verdict = merge(
    { replica_id, position: filling.position, provisional: false, pending },
    { events, up_to_date: false }
  )
  const settled =
    verdict.kind === "advance"
      ? [...filling.settled.filter((one) => !verdict.settled.some(({ n }) => n === one.n)), ...verdict.settled]
      : filling.settled
  const next: FillState = {
    ...filling,
    position: page.position,
    offset: page.offset,
    after: page.next ?? "",
    done,
    rows,
    rows_total: Math.max(rows, filling.rows_total),
    settled
  }
  yield* keep(store, next)
  return next
})
/** Makes rows from the values of these columns: a copy that has all keys is filled faster than an empty object. */
const rowsOf = (columns: ReadonlyArray<string | undefined>): ((values: ReadonlyArray<Json>) => AnyRow) => {
  const known = columns.flatMap((name, at) => (name === undefined ? [] : [{ name, at }]))
  const empty: AnyRow = Object.fromEntries(known.map(({ name }) => [name, null]))
  return (values) => {
    const row: { [column: string]: Json } = { ...empty }
    for (const { at, name } of known) row[name] = values[at] ?? null
    return row
  }
}
/** Whether the pages so far include the position of this key. */
const isThere = ({ done, after }: FillState, table: Table, key: Key): boolean => {
  if (done.includes(table.name)) return true
  const place = splitCursor(after)
  return (
    place.table === table.name &&
    place.key !== "" &&
    (typeof key === "number" ? key <= Number(place.key) : compareBytes(key, place.key) <= 0)
  )
}
/** Compares text keys as both databases sort them. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Maximum number of rows to copy. Renaming is slow even for empty tables, as SQLite parses the whole schema again. */
const copied_rows_max = 2_000

const isAtMost = (store: StoreShape, table: Table, rows_max: number) =>
  Effect.map(
    store.run<{ rows: number }>(
      `select count(*) as rows from (select 1 from ${quote(table.name)} limit ${rows_max + 1})`
    ),
    (counted) => itemAt(counted, 0).rows <= rows_max
  )
/** SQL definition of each table from its name on, by table name. */
const tableDefinitions = (store: StoreShape) =>
  Effect.map(
    store.run<{ name: string; sql: string }>("select name, sql from sqlite_master where type = 'table'"),
    (rows) => new Map(rows.map(({ name, sql }) => [name, sql.slice("create table ".length)]))
  )

/** Replaces the rows in use by the staged ones. Triggers update the search index. */
const copyStagedRows = Effect.fnUntraced(function* (store: StoreShape, table: Table, staged: Table) {
  yield* store.run(`delete from ${quote(table.name)}`)
  yield* store.run(`insert into ${quote(table.name)} select * from ${quote(staged.name)}`)
  yield* store.run(`drop table ${quote(staged.name)}`)
  for (const statement of dropDeletedTexts(table)) yield* store.run(statement)
})
type Staged = readonly [table: Table, staged: Table]
/** Renames staged tables, without any triggers meanwhile: SQLite parses all of them again for each rename. */
const renameStagedTables = Effect.fnUntraced(function* (store: StoreShape, renamed: ReadonlyArray<Staged>) {
  if (renamed.length === 0) return
  for (const [table] of renamed) yield* store.run(`drop table if exists ${quote(table.name)}`)
  const triggers = yield* store.run<{ name: string; sql: string }>(
    "select name, sql from sqlite_master where type = 'trigger'"
  )
  for (const { name } of triggers) yield* store.run(`drop trigger ${quote(name)}`)
  for (const [table, staged] of renamed)
    yield* store.run(`alter table ${quote(staged.name)} rename to ${quote(table.name)}`)
  for (const { sql } of triggers) yield* store.run(sql)
  for (const [table] of renamed) {
    for (const statement of createTable({ ...table, searched: undefined }, "sqlite"))
      if (statement.startsWith("create trigger")) yield* store.run(statement)
    for (const statement of searchIndexAnew(table)) yield* store.run(statement)
  }
})

/** Replaces the tables in use by the staged ones, in the caller's transaction. */
export const swapTables = Effect.fnUntraced(function* (catalogue: Catalogue, filling: FillState) {
  const store = yield* Store
  const definitions = yield* tableDefinitions(store)
  const renamed: Array<Staged> = []
  for (const [table, staged] of asideOf(catalogue, filling.generation)) {
    const create = itemAt(createTable(table, "sqlite"), 0)
    const isCopied =
      definitions.get(table.name) === create.slice("create table ".length) &&
      (yield* isAtMost(store, staged, copied_rows_max)) &&
      (yield* isAtMost(store, table, copied_rows_max))
    if (isCopied) yield* copyStagedRows(store, table, staged)
    else renamed.push([table, staged])
  }
  yield* renameStagedTables(store, renamed)
  for (const local of ["undo", "stalled", "incoming"]) yield* store.run(`delete from ${local}`)
  yield* store.run("delete from replica_meta where key = 'filling'")
  yield* writeMeta(store, "journal_from", String(filling.from))
  yield* writeMeta(store, "anew", "no")
  yield* writeMeta(store, "run_n", "0")
  yield* writeMeta(store, "erased", JSON.stringify(filling.erased ?? []))
  // Applies erasures that happened while pages arrived.
  const scrubbing = yield* store.find(journal, { type: Object.keys(catalogue.scrubs) })
  yield* scrubEarlierEvents(store, catalogue.scrubs, scrubbing, isWithheldIn(catalogue.tables))
})
