/**
 * The schema of a database: made when new, brought forward when older, refused when newer. Tables folded from the
 * journal are never altered: when their declaration changed they are dropped and folded again from what happened.
 * Tables outside it are made from their declaration where they are missing, and migrated where they are there.
 */
import { searchTable } from "./search-index.ts"
import { itemAt } from "../../values/lists.ts"
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { type Catalogue, foldStored } from "../catalogue.ts"
import { projectEvent, type NewEvent } from "../event.ts"
import { text } from "../field.ts"
import { ensureSequences, id_sequences, number_sequences } from "../ids.ts"
import { append, eventsAfter, lastPosition, journal_tables } from "../journal.ts"
import { plainTable, type Table } from "../table.ts"
import { type MigrationFailed, migrations_table, migrationsOf, type TableMigration } from "../table-migration.ts"
import { createTable } from "./dialect.ts"
import { initialSeeds, applySeedAdditions } from "./seed.ts"
import { Store, type StoreShape } from "./store.ts"

/**
 * Raised with each release whose databases an older one must not touch, beyond what refuses it anyhow: a migration that
 * it does not know (releases up to 0.1 do not look for those).
 */
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

/**
 * Makes or brings forward everything, in one transaction, and changes nothing where that fails. Says whether the
 * database was empty.
 */
export const ensureSchema = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  role: RuntimeRole
): Effect.fn.Return<{ readonly fresh: boolean }, SqlError.SqlError | NewerSchema | MigrationFailed, Store> {
  const store = yield* Store
  const migrations = role === "server" ? migrationsOf(catalogue) : []
  yield* refuseNewer(store, migrations)
  if (yield* isCurrent(store, catalogue, role, migrations)) return { fresh: false }
  return yield* store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      // Another process, of another release perhaps, may have been at it while this one waited.
      yield* refuseNewer(store, migrations)
      yield* bringForward(store, catalogue, role, migrations)
      const fresh = (yield* storedMeta(store, "schema_version")) === undefined
      yield* setMeta(store, "schema_version", String(schema_version))
      const fingerprint = fingerprintOf(catalogue, store)
      if (!fresh && (yield* storedMeta(store, "tables")) === fingerprint) return { fresh }
      if (fresh) yield* store.run("insert into journal_head (id, position) values (1, 0)")
      else yield* dropTables(store, catalogue)
      for (const table of catalogue.tables)
        for (const statement of createTable(table, store.dialect)) yield* store.run(statement)
      if (!fresh) yield* projectJournal(catalogue)
      yield* setMeta(store, "tables", fingerprint)
      return { fresh }
    })
  )
})

/** A release does not touch what it does not know the form of, be it folded or outside the journal. */
const refuseNewer = Effect.fnUntraced(function* (store: StoreShape, known: ReadonlyArray<TableMigration>) {
  const version = Number((yield* storedMeta(store, "schema_version")) ?? 0)
  if (version > schema_version) {
    return yield* new NewerSchema({
      message: `This database has schema ${version}; this release knows ${schema_version}. Use the newer release.`
    })
  }
  const last = yield* lastMigration(store)
  const known_to = known.at(-1)?.id ?? 0
  if (known.length > 0 && last.id > known_to) {
    return yield* new NewerSchema({
      message:
        `A newer release altered this database (migration ${last.id}, ${last.name}); ` +
        `this release knows ${known_to}. Use the newer release.`
    })
  }
})

const isCurrent = Effect.fnUntraced(function* (
  store: StoreShape,
  catalogue: Catalogue,
  role: RuntimeRole,
  migrations: ReadonlyArray<TableMigration>
) {
  if (Number(yield* storedMeta(store, "schema_version")) !== schema_version) return false
  if ((yield* storedMeta(store, "tables")) !== fingerprintOf(catalogue, store)) return false
  const there = yield* tablesIn(store)
  return (
    nonProjectedTables(catalogue, role).every(({ name }) => there.has(name)) &&
    (migrations.length === 0 || (yield* lastMigration(store)).id === migrations.at(-1)?.id)
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

/**
 * Makes the tables outside the journal that are not there, and migrates those that are. Runs in the caller's
 * transaction, alone on the database.
 */
const bringForward = Effect.fnUntraced(function* (
  store: StoreShape,
  catalogue: Catalogue,
  role: RuntimeRole,
  migrations: ReadonlyArray<TableMigration>
) {
  const there = yield* tablesIn(store)
  for (const table of nonProjectedTables(catalogue, role).filter(({ name }) => !there.has(name)))
    for (const statement of createTable(table, store.dialect)) yield* store.run(statement)
  if (migrations.length === 0) return
  const { migrate } = yield* Effect.promise(() => import("./migrate.ts"))
  yield* migrate(store, migrations, there)
})
const tablesIn = (store: StoreShape): Effect.Effect<ReadonlySet<string>, SqlError.SqlError> =>
  Effect.map(
    store.run<{ name: string }>(
      store.dialect === "pg"
        ? "select table_name as name from information_schema.tables where table_schema = current_schema()"
        : "select name from sqlite_master where type = 'table'"
    ),
    (rows) => new Set(rows.map(({ name }) => name))
  )
/** The last migration that was done; 0 where none was, as in databases of releases that knew none. */
const lastMigration = Effect.fnUntraced(function* (store: StoreShape) {
  if (!(yield* tablesIn(store)).has(migrations_table)) return { id: 0, name: "" }
  const [last] = yield* store.run<{ id: number; name: string }>(
    `select migration_id as id, name from ${migrations_table} order by migration_id desc limit 1`
  )
  return last ?? { id: 0, name: "" }
})
const storedMeta = Effect.fnUntraced(function* (store: StoreShape, key: string) {
  if (!(yield* tablesIn(store)).has(meta.name)) return undefined
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
  const names = new Set([...before.matchAll(/create (?:virtual )?table "([^"]+)"/g)].map((found) => found[1]!))
  for (const table of catalogue.tables) names.add(table.name)
  // After the tables: in Postgres these are indexes, gone with theirs.
  for (const table of catalogue.tables) if (table.searched !== undefined) names.add(searchTable(table))
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
