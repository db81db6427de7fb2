/**
 * The schema of a database: created when new, upgraded when older, refused when newer. Projected tables are never
 * altered: if their declaration changed, they are dropped and projected again. Tables outside the journal are created
 * from their declaration if missing, and migrated if they exist.
 */
import { itemAt } from "../../values/text.ts"
import { Data, Effect, Hash, Result } from "effect"
import { changesOf, type NewEvent } from "../events/event-type.ts"
import { constraintRejection } from "../store/database-errors.ts"
import { createTable } from "../store/statement.ts"
import { allocateIds, ensureSequences, hasOwnIds, id_sequences, nextIds, number_sequences } from "./ids.ts"
import { type Catalogue, foldStored, type Slice, type StoreRead } from "../endpoints/endpoint.ts"
import { append, eventsAfter, journal, journal_tables, lastPosition } from "../events/journal.ts"
import { plainTable, type Table } from "../tables/table.ts"
import { Rejection } from "../fields/rejection.ts"
import { Store, type StoreShape } from "../store/store.ts"
import { searchTables } from "../store/search-index.ts"
import type { SqlError } from "effect/sql"
import { type Json, type JsonObject, text } from "../fields/field.ts"
import { type MigrationFailed, migrations_table, migrationsOf, type TableMigration } from "../store/table-migration.ts"

// Seeds of later releases. The journal records which seeds a database has, so backups and exports include them. Deleted
// rows are not seeded again.

/** Command id prefix of seeds: an empty database's first seeds are recorded under `seed` alone. */
const at_first = "seed"
const seedId = (slice: Slice, version: number): string => `${at_first}:${slice.name}:${version}`

/** Seed events recorded under one command id; built once the preceding seeds are projected. */
interface SeedPart {
  readonly command_id: string
  readonly events: StoreRead<ReadonlyArray<NewEvent>>
}
interface FirstSeed {
  readonly command_id: string
  readonly events: ReadonlyArray<NewEvent>
}
const firstSeeds = (catalogue: Catalogue, at: string): ReadonlyArray<FirstSeed> =>
  catalogue.slices.flatMap((slice) => {
    const events = slice.seed?.(at) ?? []
    return events.length === 0 ? [] : [{ command_id: seedId(slice, 1), events }]
  })
/** Later seeds are versions 2 and up of their slice; the first seed is version 1. */
const laterSeeds = (catalogue: Catalogue, at: string): ReadonlyArray<SeedPart> =>
  catalogue.slices.flatMap((slice) =>
    (slice.later_seeds ?? []).map((seed, index) => ({ command_id: seedId(slice, index + 2), events: seed(at) }))
  )

/** Seeds of an empty database, with the command ids they are recorded under. */
const initialSeeds = (catalogue: Catalogue, at: string, more: ReadonlyArray<NewEvent>): ReadonlyArray<SeedPart> => [
  {
    command_id: at_first,
    events: Effect.succeed([...firstSeeds(catalogue, at).flatMap((part) => part.events), ...more])
  },
  ...laterSeeds(catalogue, at)
]

/** Records missing seeds, once. Runs in the caller's transaction, which blocks other servers. */
const applySeedAdditions = Effect.fnUntraced(function* (catalogue: Catalogue, at: string) {
  const store = yield* Store
  const first_seeds = firstSeeds(catalogue, at),
    later_seeds = laterSeeds(catalogue, at)
  const ids = [...first_seeds, ...later_seeds].map((part) => part.command_id)
  const recorded = yield* Store.select(
    journal,
    // The second condition lets the partial index of commands be used.
    (sql) => sql`where command_id in ${sql.in([at_first, ...ids])} and command_id like 'seed%'`
  )
  const first_types = new Set(recorded.filter((event) => event.command_id === at_first).map((event) => event.type))
  const recorded_ids = new Set(recorded.map((event) => event.command_id))
  const due: ReadonlyArray<SeedPart> = [
    ...first_seeds
      .filter(({ events }) => !events.some((event) => first_types.has(event.type)))
      .map((part) => ({ ...part, events: Effect.succeed(part.events) })),
    ...later_seeds
  ].filter(({ command_id }) => !recorded_ids.has(command_id))
  if (due.length === 0) return
  yield* ensureSequences(catalogue.tables)
  for (const part of due) {
    const metadata = { command_id: part.command_id, actor_id: null, replica_id: null, recorded_at: at }
    for (const event of yield* withFreeIds(catalogue, yield* part.events)) {
      const given = yield* Effect.result(
        store.transaction(
          Effect.gen(function* () {
            yield* store.apply(changesOf(catalogue.projection, [event], at))
            yield* append(store, [event], metadata)
          })
        )
      )
      // A user has created the same row by hand: it is kept.
      if (Result.isFailure(given) && !(constraintRejection(given.failure, catalogue.tables) instanceof Rejection))
        return yield* given.failure
    }
  }
})

/** Seeds have fixed ids. If a table has allocated ids before, its seeds get new ones and references are adjusted. */
const withFreeIds = Effect.fnUntraced(function* (catalogue: Catalogue, events: ReadonlyArray<NewEvent>) {
  const tableOf = (event: NewEvent): Table | undefined =>
    catalogue.tables.find((table) => hasOwnIds(table) && event.type === `${table.entity}.created`)
  const drawn = new Map<string, Map<number, number>>()
  for (const table of new Set(events.map(tableOf))) {
    if (table === undefined) continue
    const ids = events.filter((event) => tableOf(event) === table).map((event) => Number(event.data["id"]))
    const [, next] = itemAt(yield* nextIds([table]), 0)
    if (next > 1)
      drawn.set(
        table.name,
        new Map((yield* allocateIds(table.name, ids.length)).map((id, at) => [itemAt(ids, at), id]))
      )
  }
  if (drawn.size === 0) return events
  return events.map((event): NewEvent => {
    const table = tableOf(event)
    if (table === undefined) return event
    const data: JsonObject = Object.fromEntries(
      Object.entries(event.data).map(([column, value]): [string, Json] => {
        const type = table.columns[column]?.type
        const ids = drawn.get(column === "id" ? table.name : type?.kind === "ref" ? type.table : "")
        return [column, typeof value === "number" ? (ids?.get(value) ?? value) : value]
      })
    )
    const entity = table.stream?.entity
    const owner = entity === undefined ? table : catalogue.tables.find((one) => one.entity === entity)
    const stream = event.stream.replace(/\d+$/, (id) => String(drawn.get(owner?.name ?? "")?.get(Number(id)) ?? id))
    return { ...event, stream, data }
  })
})

/**
 * Format version of a database. Raise it if older releases must not open the database and would not notice: releases up
 * to 0.1 do not check for unknown migrations.
 */
export const schema_version = 2

export const meta = plainTable("flightcase_meta", "key", { key: text(), value: text() }, { entity: "meta" })

export class NewerSchema extends Data.TaggedError("NewerSchema")<{ readonly message: string }> {}

type RuntimeRole = "server" | "replica"
/** Tables that a runtime of this role has outside the journal's projection. */
export const nonProjectedTables = (catalogue: Catalogue, role: RuntimeRole): ReadonlyArray<Table> => [
  meta,
  ...journal_tables,
  ...(role === "server" ? [id_sequences, number_sequences, ...catalogue.server_tables] : [])
]

/** The statements that create the projected tables. */
const createTables = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { dialect, keeps_counts }: Parameters<typeof fingerprintOf>[1]
) {
  const counts = keeps_counts ? yield* Effect.promise(() => import("../store/kept-counts.ts")) : undefined
  return catalogue.tables.flatMap((table) => [
    ...createTable(table, dialect),
    ...(counts?.countStatements(table, dialect) ?? [])
  ])
})
/** Text of the statements that create the projected tables: a database keeps the one by which it was made. */
const fingerprintOf = (catalogue: Catalogue, store: Pick<StoreShape, "dialect" | "keeps_counts">) =>
  Effect.map(createTables(catalogue, store), (statements) => statements.join(";\n"))

/** A fingerprint in short: its length, and hashes of it and of its second half. */
const digestOf = (text: string): string =>
  [text.length, Hash.string(text), Hash.string(text.slice(text.length / 2))].join(" ")
/** Digest of the tables of devices, which the build writes to `out/tables.txt`. */
export const tablesOfDevices = (catalogue: Catalogue) =>
  Effect.map(fingerprintOf(catalogue, { dialect: "sqlite", keeps_counts: false }), digestOf)

/**
 * Whether the projected tables are as this release declares them: "built" if `built` (`tablesOfDevices`, if known
 * already) is their digest.
 */
export const tablesAreCurrent = Effect.fnUntraced(function* (catalogue: Catalogue, built?: string) {
  const store = yield* Store
  const stored = yield* storedMeta(store, "tables")
  // The build's file may be of another release, so it confirms only; the declarations decide.
  if (built !== undefined && stored !== undefined && digestOf(stored) === built) return "built"
  return stored === (yield* fingerprintOf(catalogue, store)) && "declared"
})

/** Creates or upgrades everything in one transaction, or changes nothing. Returns whether the database was empty. */
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
      // Checked again under the lock: another process, perhaps of another release, may have upgraded it meanwhile.
      yield* refuseNewer(store, migrations)
      yield* bringForward(store, catalogue, role, migrations)
      const fresh = (yield* storedMeta(store, "schema_version")) === undefined
      yield* setMeta(store, "schema_version", String(schema_version))
      const fingerprint = yield* fingerprintOf(catalogue, store)
      if (!fresh && (yield* storedMeta(store, "tables")) === fingerprint) return { fresh }
      if (fresh) yield* store.run("insert into journal_head (id, position) values (1, 0)")
      else yield* dropTables(store, catalogue)
      for (const statement of yield* createTables(catalogue, store)) yield* store.run(statement)
      if (!fresh) yield* projectJournal(catalogue)
      yield* setMeta(store, "tables", fingerprint)
      return { fresh }
    })
  )
})

/** The effect of `ensureSchema` on a server: pending migrations and projection; undefined for an empty database. */
export const pendingUpgrade = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  const migrations = migrationsOf(catalogue)
  yield* refuseNewer(store, migrations)
  const { id } = yield* lastMigration(store)
  if (!(yield* tablesIn(store)).has("journal_head")) return undefined
  return {
    migrations: migrations.filter((one) => one.id > id).map(({ name }) => name),
    projects_again: !(yield* tablesAreCurrent(catalogue)),
    events: yield* lastPosition(store)
  }
})

/** Refuses databases of newer releases, whose tables may have unknown columns. */
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
  if ((yield* storedMeta(store, "tables")) !== (yield* fingerprintOf(catalogue, store))) return false
  const there = yield* tablesIn(store)
  return (
    nonProjectedTables(catalogue, role).every(({ name }) => there.has(name)) &&
    (migrations.length === 0 || (yield* lastMigration(store)).id === migrations.at(-1)?.id)
  )
})

/** Disables time limits for the rest of the caller's transaction: an upgrade must not stop halfway. */
export const withoutTimeouts: Effect.Effect<void, SqlError.SqlError, Store> = Effect.flatMap(Store, (store) =>
  store.dialect === "pg"
    ? Effect.asVoid(store.run("set local lock_timeout = 0; set local statement_timeout = 0"))
    : Effect.void
)
/** Disables time limits and locks the database: one process at a time upgrades it. */
export const lockDatabase: Effect.Effect<void, SqlError.SqlError, Store> = Effect.flatMap(Store, (store) =>
  store.dialect === "pg"
    ? Effect.andThen(withoutTimeouts, Effect.asVoid(store.run("select pg_advisory_xact_lock(4480)")))
    : Effect.void
)

/** Creates missing tables outside the journal and migrates existing ones. Needs the caller's exclusive transaction. */
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
/** The last migration applied; 0 if none, as in databases of releases without migrations. */
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
/** Id of this journal; replicas of another epoch sync from the start. */
export const epochOf = (store: StoreShape): Effect.Effect<string, SqlError.SqlError> =>
  Effect.map(store.get(meta, "epoch"), (row) => row?.value ?? "0")
/** Starts a new epoch: all replicas sync from the start. */
export const beginEpoch = (store: StoreShape, at: string): Effect.Effect<void, SqlError.SqlError> =>
  setMeta(store, "epoch", at.replace(/[^0-9]/g, ""))
const setMeta = (store: StoreShape, key: string, value: string): Effect.Effect<void, SqlError.SqlError> =>
  store.apply([
    { op: "delete", table: meta, key },
    { op: "insert", table: meta, row: { key, value } }
  ])

const dropTables = Effect.fnUntraced(function* (store: StoreShape, catalogue: Catalogue) {
  // Tables of an earlier release may have other names: drop those that its fingerprint lists.
  const before = (yield* storedMeta(store, "tables")) ?? ""
  const names = new Set([...before.matchAll(/create (?:virtual )?table "([^"]+)"/g)].flatMap((found) => found[1] ?? []))
  for (const table of catalogue.tables) names.add(table.name)
  // After their tables, as in Postgres these are indexes that are dropped with the table.
  for (const name of catalogue.tables.flatMap(searchTables)) names.add(name)
  for (const name of names) yield* store.run(`drop table if exists "${name}"`)
})

/** Projects the entire journal into empty tables, page by page. */
export const projectJournal = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  for (let position = 0; ;) {
    const events = yield* eventsAfter(store, position, 2_000)
    if (events.length === 0) return
    yield* store.apply(events.flatMap((event) => foldStored(catalogue, event, event)))
    position = itemAt(events, -1).position
  }
})

/** Empties the projected tables and projects the journal again, which must give the same rows. */
export const rebuild = Effect.fnUntraced(function* (catalogue: Catalogue) {
  yield* Store.transaction(
    Effect.gen(function* () {
      yield* withoutTimeouts
      for (const table of catalogue.tables) yield* Store.run(`delete from "${table.name}"`)
      yield* projectJournal(catalogue)
    })
  )
})

/**
 * Records the reference data of an empty database, or seeds that an existing one lacks. Ids in seeds are fixed;
 * sequences continue after them.
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
          yield* store.apply(changesOf(catalogue.projection, events, at))
          if (events.length > 0) yield* append(store, events, metadata)
        }
      }
      // The epoch identifies this journal; a new one forces a full sync of every replica.
      if ((yield* storedMeta(store, "epoch")) === undefined) yield* beginEpoch(store, at)
      yield* ensureSequences([...catalogue.tables, ...catalogue.server_tables])
    })
  )
})
