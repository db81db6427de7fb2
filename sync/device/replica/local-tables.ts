/** What a replica keeps beside the tables every site has: where it stands, and how to take provisional changes back. */
import { Effect } from "effect"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import { Store, type StoreShape } from "../../../core/kernel/store/store.ts"

/** Provisional events stand in the journal behind every confirmed one. */
export const provisional_base = 2 ** 50

const statements = [
  `create table if not exists replica_meta (key text primary key, value text not null)`,
  // Images of rows as they were before provisional changes, newest taken back first.
  `create table if not exists undo (seq integer primary key, table_name text not null, row_key text not null, before text)`,
  // Pending commands that no longer hold here: likely to be refused.
  `create table if not exists stalled (n integer primary key, error text not null)`,
  // Verdicts found in the journal; the outbox is told after the commit, and again on opening.
  `create table if not exists verdicts (n integer primary key, status text not null, error text)`,
  // What became of commands, in a person's words; told to the outbox with the verdicts.
  `create table if not exists accounts (n integer primary key, account text not null)`,
  // Events of a fresh start, kept aside until they are complete.
  `create table if not exists incoming (position integer primary key, event text not null)`
]
const names = statements.map((statement) => /exists (\w+)/.exec(statement)![1]!)
export const ensureLocalTables = Effect.gen(function* () {
  const store = yield* Store
  // Declaring tables that are there already would have every statement compiled anew.
  const [there] = yield* store.run<{ tables: number }>(
    `select count(*) as tables from sqlite_master where type = 'table' and name in (${names.map((name) => `'${name}'`).join(", ")})`
  )
  if (there!.tables < names.length) for (const statement of statements) yield* store.run(statement)
})

/** Asks for the write-ahead log to be emptied once the transaction is committed: it still holds what was there before. */
export const purgeLater = (store: StoreShape) => writeMeta(store, "purge", "yes")
/** Empties the log where that is due, and the outbox of what may be seen no more. While another process reads, it stays due. */
export const purge = Effect.fnUntraced(function* (cutOutbox: Effect.Effect<boolean, Failure, Store>) {
  const store = yield* Store
  if ((yield* readMeta(store, "purge")) !== "yes") return
  const cut = yield* cutOutbox
  const [done] = yield* store.run<{ busy: number }>("pragma wal_checkpoint(truncate)")
  if (cut && done?.busy === 0) yield* store.run("delete from replica_meta where key = 'purge'")
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
