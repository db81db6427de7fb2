/**
 * The schema of a database: made when new, brought forward when older, refused when newer. Tables folded from the
 * journal are never altered: when their declaration changed they are dropped and folded again from what happened.
 */
import { itemAt } from "../../values/lists.ts"
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { type Catalogue, foldStored } from "../catalogue.ts"
import { projectEvent, type NewEvent } from "../event.ts"
import { text } from "../field.ts"
import { ensureSequences, id_sequences, number_sequences } from "../ids.ts"
import { append, eventsAfter, lastPosition, journal_tables } from "../journal.ts"
import { plainTable, type Table } from "../table.ts"
import { createTable } from "./dialect.ts"
import { initialSeeds, applySeedAdditions } from "./seed.ts"
import { quote } from "./statement.ts"
import { Store, type StoreShape } from "./store.ts"

/** Raised with each release whose databases an older one must not touch. */
export const schema_version = 2

export const meta = plainTable("flightcase_meta", "key", { key: text(), value: text() }, { entity: "meta" })

export class NewerSchema extends Data.TaggedError("NewerSchema")<{ readonly message: string }> {}

export type RuntimeRole = "server" | "replica"
/** Tables of a runtime that are not folded from the journal. */
export const nonProjectedTables = (catalogue: Catalogue, role: RuntimeRole): ReadonlyArray<Table> => [
  meta,
  ...journal_tables,
  ...(role === "server" ? [id_sequences, number_sequences, ...catalogue.server_tables] : [])
]

const fingerprintOf = (catalogue: Catalogue, store: StoreShape): string =>
  catalogue.tables.flatMap((table) => createTable(table, store.dialect)).join(";\n")

/** Whether the folded tables are as this release declares them. */
export const tablesAreCurrent = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  return (yield* storedMeta(store, "tables")) === fingerprintOf(catalogue, store)
})

/** Makes or brings forward everything, in one transaction. Says whether the database was empty. */
export const ensureSchema = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  role: RuntimeRole
): Effect.fn.Return<{ readonly fresh: boolean }, SqlError.SqlError | NewerSchema, Store> {
  const store = yield* Store
  const version = yield* storedMeta(store, "schema_version")
  if (version !== undefined && Number(version) > schema_version) {
    return yield* new NewerSchema({
      message: `This database has schema ${version}; this release knows ${schema_version}. Use the newer release.`
    })
  }
  const fingerprint = fingerprintOf(catalogue, store)
  if (version !== undefined && (yield* storedMeta(store, "tables")) === fingerprint) {
    if ((yield* missingOf(store, nonProjectedTables(catalogue, role))).length > 0)
      yield* store.transaction(addMissing(store, catalogue, role))
    return { fresh: false }
  }
  return yield* store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      yield* addMissing(store, catalogue, role)
      const fresh = (yield* storedMeta(store, "schema_version")) === undefined
      // Another process may have done it while this one waited.
      if (!fresh && (yield* storedMeta(store, "tables")) === fingerprint) return { fresh }
      if (fresh) yield* store.run("insert into journal_head (id, position) values (1, 0)")
      else yield* dropTables(store, catalogue)
      for (const table of catalogue.tables)
        for (const statement of createTable(table, store.dialect)) yield* store.run(statement)
      if (!fresh) yield* projectJournal(catalogue)
      yield* setMeta(store, "schema_version", String(schema_version))
      yield* setMeta(store, "tables", fingerprint)
      return { fresh }
    })
  )
})

/**
 * The rest of the caller's transaction waits for locks and works as long as it takes: a database is brought forward
 * whole or not at all.
 */
export const withoutTimeouts: Effect.Effect<void, SqlError.SqlError, Store> = Effect.flatMap(Store, (store) =>
  store.dialect === "pg"
    ? Effect.asVoid(store.run("set local lock_timeout = 0; set local statement_timeout = 0"))
    : Effect.void
)
/** The same, one process after the other. */
export const lockDatabase: Effect.Effect<void, SqlError.SqlError, Store> = Effect.flatMap(Store, (store) =>
  store.dialect === "pg"
    ? Effect.andThen(withoutTimeouts, Effect.asVoid(store.run("select pg_advisory_xact_lock(4480)")))
    : Effect.void
)

const missingOf = (store: StoreShape, tables: ReadonlyArray<Table>) =>
  Effect.filter(tables, (table) => Effect.map(columnsIn(store, table.name), (columns) => columns.length === 0))

/** Makes the tables outside the journal that are not there. Runs in the caller's transaction, alone on the database. */
const addMissing = Effect.fnUntraced(function* (store: StoreShape, catalogue: Catalogue, role: RuntimeRole) {
  const missing = yield* missingOf(store, nonProjectedTables(catalogue, role))
  for (const table of missing) for (const statement of createTable(table, store.dialect)) yield* store.run(statement)
  for (const { table, from, columns } of catalogue.slices.flatMap((slice) => slice.successions ?? [])) {
    if (!missing.includes(table) || (yield* columnsIn(store, from)).length === 0) continue
    const names = Object.keys(columns).map(quote).join(", ")
    yield* store.run(
      `insert into ${quote(table.name)} (${names}) select ${Object.values(columns).join(", ")} from ${quote(from)}`
    )
  }
})
const columnsIn = (store: StoreShape, table: string): Effect.Effect<ReadonlyArray<string>, SqlError.SqlError> =>
  Effect.map(
    store.dialect === "pg"
      ? store.run<{ name: string }>(
          "select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = $1",
          [table]
        )
      : store.run<{ name: string }>("select name from pragma_table_info(?)", [table]),
    (rows) => rows.map((row) => row.name)
  )

const storedMeta = Effect.fnUntraced(function* (store: StoreShape, key: string) {
  if ((yield* columnsIn(store, meta.name)).length === 0) return undefined
  return (yield* store.get(meta, key))?.value
})
/** Identifies this journal; a replica of another epoch syncs from the start. */
export const epochOf = (store: StoreShape): Effect.Effect<string, SqlError.SqlError> =>
  Effect.map(store.get(meta, "epoch"), (row) => row?.value ?? "0")
/** Makes it a new journal: replicas sync again from the start. */
export const beginEpoch = (store: StoreShape, at: string): Effect.Effect<void, SqlError.SqlError> =>
  setMeta(store, "epoch", at.replace(/[^0-9]/g, ""))
const setMeta = (store: StoreShape, key: string, value: string): Effect.Effect<void, SqlError.SqlError> =>
  store.apply([
    { op: "delete", table: meta, key },
    { op: "insert", table: meta, row: { key, value } }
  ])

const dropTables = Effect.fnUntraced(function* (store: StoreShape, catalogue: Catalogue) {
  // Tables of an earlier release may have other names: what the fingerprint created is what is dropped.
  const before = (yield* storedMeta(store, "tables")) ?? ""
  const names = new Set([...before.matchAll(/create table "([^"]+)"/g)].map((found) => found[1]!))
  for (const table of catalogue.tables) names.add(table.name)
  for (const name of names) yield* store.run(`drop table if exists "${name}"`)
})

/** Projects the whole journal into the (empty) tables, page by page. */
export const projectJournal = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  for (let position = 0; ;) {
    const events = yield* eventsAfter(store, position, 2_000)
    if (events.length === 0) return
    yield* store.apply(events.flatMap((event) => foldStored(catalogue, event, event)))
    position = itemAt(events, -1).position
  }
})

/** Empties every projected table and projects the journal again: the same rows must come out. */
export const rebuild = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* withoutTimeouts
      for (const table of catalogue.tables) yield* store.run(`delete from "${table.name}"`)
      yield* projectJournal(catalogue)
    })
  )
})

/**
 * Writes the reference data of an empty database as events, and into any other what later releases brought; each once.
 * Ids in seeds are fixed; sequences go on after them.
 */
export const seed = Effect.fnUntraced(function* (catalogue: Catalogue, at: string, more: ReadonlyArray<NewEvent> = []) {
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      if ((yield* lastPosition(store)) > 0) yield* applySeedAdditions(catalogue, at)
      else {
        for (const { command_id, events: built } of initialSeeds(catalogue, at, more)) {
          const events = yield* built
          const metadata = { command_id, actor_id: null, replica_id: null, recorded_at: at }
          yield* store.apply(
            events.flatMap((event) => projectEvent(catalogue.projection, event, { ...metadata, position: 0 }))
          )
          if (events.length > 0) yield* append(store, events, metadata)
        }
      }
      // The epoch identifies this journal; a new one forces a full sync of every replica.
      if ((yield* storedMeta(store, "epoch")) === undefined) yield* beginEpoch(store, at)
      yield* ensureSequences([...catalogue.tables, ...catalogue.server_tables])
    })
  )
})
