/** Tables only a replica has: its cursor, images of rows to revert provisional changes, and what awaits the outbox. */
import { Effect } from "effect"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import { Store, type StoreShape } from "../../../core/kernel/store/store.ts"

/** Positions of provisional events begin here: behind every confirmed event. */
export const provisional_base = 2 ** 50

const statements = [
  `create table if not exists replica_meta (key text primary key, value text not null)`,
  // Images of rows before provisional changes; reverted newest first.
  `create table if not exists undo (seq integer primary key, table_name text not null, row_key text not null, before text)`,
  // Pending commands that no longer hold here: likely to be refused.
  `create table if not exists stalled (n integer primary key, error text not null)`,
  // Verdicts found in the journal; passed on to the outbox after the commit, and again on opening.
  `create table if not exists verdicts (n integer primary key, status text not null, error text)`,
  // Outcomes of commands (`outcomes/outcome.ts`); passed on to the outbox with the verdicts.
  `create table if not exists accounts (n integer primary key, account text not null)`,
  // Events of a new history, staged until they are complete.
  `create table if not exists incoming (position integer primary key, event text not null)`
]
const names = statements.map((statement) => /exists (\w+)/.exec(statement)![1]!)
export const ensureLocalTables = Effect.gen(function* () {
  const store = yield* Store
  // Only when one is missing: creating tables, even existing ones, makes SQLite compile every statement again.
  const [there] = yield* store.run<{ tables: number }>(
    `select count(*) as tables from sqlite_master where type = 'table' and name in (${names.map((name) => `'${name}'`).join(", ")})`
  )
  if (there!.tables < names.length) for (const statement of statements) yield* store.run(statement)
})

/** Asks for the write-ahead log to be emptied after the commit: it still holds the data from before. */
export const purgeLater = (store: StoreShape) => writeMeta(store, "purge", "yes")
/**
 * Redacts the outbox and empties the log where that was asked for. While another process reads, it is left for the next
 * time.
 */
export const purge = Effect.fnUntraced(function* (redactOutbox: Effect.Effect<boolean, Failure, Store>) {
  const store = yield* Store
  if ((yield* readMeta(store, "purge")) !== "yes") return
  const is_redacted = yield* redactOutbox
  const [done] = yield* store.run<{ busy: number }>("pragma wal_checkpoint(truncate)")
  if (is_redacted && done?.busy === 0) yield* store.run("delete from replica_meta where key = 'purge'")
})

export const readMeta = (store: StoreShape, key: string) =>
  Effect.map(
    store.run<{ value: string }>("select value from replica_meta where key = ?", [key]),
    (rows) => rows[0]?.value
  )
export const writeMeta = (store: StoreShape, key: string, value: string) =>
  Effect.asVoid(
    store.run(
      "insert into replica_meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
      [key, value]
    )
  )
