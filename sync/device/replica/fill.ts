/**
 * Fills a replica from rows (see sync/protocol/snapshot.ts). Rows are staged in separate tables, each page in one
 * transaction with its cursor; once complete, the staged tables replace those in use, which serve the device until
 * then.
 */
import { itemAt } from "../../../core/values/text.ts"
import { createTable, foldStored, insert, isWithheldIn, journal, keyOf, quote } from "../../../core/kernel/index.ts"
import { scrubEarlierEvents, Store } from "../../../core/kernel/index.ts"
import type { Catalogue, Key, StoreShape, Table } from "../../../core/kernel/index.ts"
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

const createStatement = /^create (table|(?:unique )?index) "([^"]+)"/
/**
 * A fill's staging tables. Each is created when its first rows come, and its indexes after its last ones, which takes
 * less than keeping them meanwhile.
 */
const stagedTables = Effect.fnUntraced(function* (catalogue: Catalogue, generation: number) {
  const store = yield* Store
  const there = yield* store.run<{ name: string }>(
    `select name from sqlite_master where name glob 'fill${generation}_*' and type in ('table', 'index')`
  )
  const names = new Set(there.map(({ name }) => name))
  const create = Effect.fnUntraced(function* (staged: Table, isWhole: boolean) {
    for (const statement of createTable(staged, "sqlite")) {
      const [, kind, name = ""] = createStatement.exec(statement) ?? []
      if (names.has(name) || (kind !== "table" && !isWhole)) continue
      yield* store.run(statement)
      names.add(name)
    }
  })
  return {
    aside: asideOf(catalogue, generation),
    has: (staged: Table): boolean => names.has(staged.name),
    create: (staged: Table) => create(staged, false),
    /** Creates the indexes, and the table if it is missing. */
    complete: (staged: Table) => create(staged, true)
  }
})
type StagedTables = Effect.Success<ReturnType<typeof stagedTables>>

/** Stores the fill's starting point, with the verdicts recorded before it. */
export const beginFill = Effect.fnUntraced(function* (plan: SnapshotPlan) {
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* dropFill
      const generation = 1 + Number((yield* readMeta(store, "fill_generation")) ?? 0)
      yield* writeMeta(store, "fill_generation", String(generation))
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
 * Stages a page in the caller's transaction: applies its events to the rows staged so far, then adds its rows.
 * Undefined if another process restarted the fill or staged this page.
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
  const tables = yield* stagedTables(catalogue, filling.generation)
  const events = page.events.filter((event) => event.position > filling.position)
  yield* stageEvents(catalogue, tables, filling, events)
  for (const section of page.sections) yield* stageRows(catalogue, tables, section)
  const verdict = merge(
    { replica_id, position: filling.position, provisional: false, pending },
    { events, up_to_date: false }
  )
  const settled =
    verdict.kind === "advance"
      ? [...filling.settled.filter((one) => !verdict.settled.some(({ n }) => n === one.n)), ...verdict.settled]
      : filling.settled
  const rows = page.sections.reduce((sum, section) => sum + section.rows.length, filling.rows)
  const next: FillState = {
    ...filling,
    position: page.position,
    offset: page.offset,
    after: page.next ?? "",
    done: filling.done.concat(page.sections.filter(({ done }) => done).map(({ table }) => table)),
    rows,
    rows_total: Math.max(rows, filling.rows_total),
    settled
  }
  yield* keep(store, next)
  return next
})
/** Applies events to the rows staged so far. Inserts of rows on later pages are skipped. */
const stageEvents = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { aside, complete, create }: StagedTables,
  filling: FillState,
  events: SnapshotPage["events"]
) {
  const changes = events
    .flatMap((event) => foldStored(catalogue, event, event))
    .filter((change) => change.op !== "insert" || isThere(filling, change.table, keyOf(change.table, change.row)))
    .concat(events.map((event) => insert(journal, { ...event })))
    .map((change) => ({ ...change, table: aside.get(change.table)! }))
  for (const table of new Set(changes.map((change) => change.table))) yield* create(table)
  // Rows are looked for by other columns than the key.
  for (const table of new Set(changes.flatMap((change) => ("where" in change ? [change.table] : []))))
    yield* complete(table)
  yield* Store.apply(changes)
})
/** Adds rows of a page, and the indexes after the last ones of a table that will not be copied. */
const stageRows = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { aside, complete, create, has }: StagedTables,
  { columns, done, rows, table: name }: SnapshotPage["sections"][number]
) {
  const store = yield* Store
  const table = catalogue.tables.find((one) => one.name === name)
  const staged = table === undefined ? undefined : aside.get(table)
  // A server of a later release may have tables that this one does not know.
  if (staged === undefined) return
  if (rows.length > 0) {
    yield* create(staged)
    yield* store.insertValues(staged, columns, rows)
  }
  if (done && has(staged) && (yield* countRows(store, [staged]))(staged) > copied_rows_max) yield* complete(staged)
})
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

/** Numbers of rows by table, counted up to one more than are copied. */
const countRows = Effect.fnUntraced(function* (store: StoreShape, tables: ReadonlyArray<Table>) {
  const counts = tables.map(
    ({ name }) => `(select count(*) from (select 1 from ${quote(name)} limit ${copied_rows_max + 1})) as ${quote(name)}`
  )
  const [row] = counts.length === 0 ? [] : yield* store.run<Record<string, number>>(`select ${counts.join(", ")}`)
  return ({ name }: Table): number => row?.[name] ?? 0
})
/** SQL definition of each table from its name on, by table name. */
const tableDefinitions = (store: StoreShape) =>
  Effect.map(
    store.run<{ name: string; sql: string }>("select name, sql from sqlite_master where type = 'table'"),
    (rows) => new Map(rows.map(({ name, sql }) => [name, sql.slice("create table ".length)]))
  )

/** Replaces the rows in use by the staged ones, if there are any. Triggers update the search index. */
const copyStagedRows = Effect.fnUntraced(function* (store: StoreShape, table: Table, staged: Table | undefined) {
  yield* store.run(`delete from ${quote(table.name)}`)
  if (staged !== undefined) {
    yield* store.run(`insert into ${quote(table.name)} select * from ${quote(staged.name)}`)
    yield* store.run(`drop table ${quote(staged.name)}`)
  }
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
  const tables = yield* stagedTables(catalogue, filling.generation)
  const isCurrent = (table: Table): boolean =>
    definitions.get(table.name) === itemAt(createTable(table, "sqlite"), 0).slice("create table ".length)
  const counted = yield* countRows(
    store,
    [...tables.aside].flatMap(([table, staged]) => [table].filter(isCurrent).concat([staged].filter(tables.has)))
  )
  const renamed: Array<Staged> = []
  for (const [table, staged] of tables.aside) {
    if (isCurrent(table) && counted(table) <= copied_rows_max && counted(staged) <= copied_rows_max)
      yield* copyStagedRows(store, table, tables.has(staged) ? staged : undefined)
    else renamed.push([table, staged])
  }
  for (const [, staged] of renamed) yield* tables.complete(staged)
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
