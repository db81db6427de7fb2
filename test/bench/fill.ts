/** Filling a replica: the product applies a journal; bare `node:sqlite` inserts the rows that come of it, and the journal's. */
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import { journal } from "../../core/kernel/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openOutbox } from "../../sync/replica/outbox.ts"
import { makeReplica } from "../../sync/replica/replica.ts"
import * as Sqlite from "../../sync/sqlite-client.ts"
import { owner, writtenJournal } from "./journal.ts"
import { inTurns, print } from "./measure.ts"
import { temporaryFolder } from "./processes.ts"

const least = 50_000
const per_chunk = 2_000
const rounds = 7

const openReplica = async (path: string) => {
  const replica = makeReplica({
    catalogue, outbox: openOutbox(new DatabaseSync(":memory:")), replica_id: 1, commandId: () => "", viewer: Effect.succeed(owner)
  })
  const runtime = ManagedRuntime.make(Layer.merge(Layer.provide(Store.layer, Sqlite.layer({ path })), replica.site))
  await runtime.runPromise(replica.open)
  return { replica, runtime }
}

const chunked = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))

/** Seconds from the first chunk to the last commit. */
const applied = async (path: string, events: ReadonlyArray<StoredEvent>): Promise<number> => {
  const { replica, runtime } = await openReplica(path)
  const chunks = chunked(events, per_chunk)
  const started = performance.now()
  for (const [at, chunk] of chunks.entries()) {
    await runtime.runPromise(replica.apply({ events: chunk, offset: `${chunk.at(-1)!.position}_0`, handle: "bench", up_to_date: at === chunks.length - 1 }))
  }
  const seconds = (performance.now() - started) / 1000
  await runtime.dispose()
  return seconds
}

interface Rows { readonly insert: string; readonly rows: ReadonlyArray<ReadonlyArray<SQLInputValue>> }
/** Every row of a filled replica, ready to be bound. */
const rowsOf = (path: string): ReadonlyArray<Rows> => {
  const db = new DatabaseSync(path, { readOnly: true })
  const tables = [...catalogue.tables, journal].map(({ name }): Rows => {
    const select = db.prepare(`select * from "${name}"`)
    const columns = select.columns().map((column) => `"${column.name}"`)
    select.setReturnArrays(true)
    // setReturnArrays(true), which the driver's types do not follow
    const rows = select.all() as unknown as ReadonlyArray<ReadonlyArray<SQLInputValue>>
    return { insert: `insert into "${name}" (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`, rows }
  })
  db.close()
  return tables.filter(({ rows }) => rows.length > 0)
}
/** The same rows in as many transactions, each with its share of every table. */
const inserted = (path: string, tables: ReadonlyArray<Rows>, transactions: number): number => {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: true })
  db.exec("pragma journal_mode = wal; pragma synchronous = full")
  const prepared = tables.map(({ insert, rows }) => ({ rows, statement: db.prepare(insert) }))
  const started = performance.now()
  for (let turn = 0; turn < transactions; turn++) {
    db.exec("begin immediate")
    for (const { rows, statement } of prepared) {
      const until = Math.floor((turn + 1) * rows.length / transactions)
      for (let at = Math.floor(turn * rows.length / transactions); at < until; at++) statement.run(...rows[at]!)
    }
    db.exec("commit")
  }
  const seconds = (performance.now() - started) / 1000
  db.close()
  return seconds
}

export const fill = async (): Promise<void> => {
  const events = await writtenJournal(least)
  const folder = temporaryFolder()
  const empty = join(folder, "empty.sqlite")
  await (await openReplica(empty)).runtime.dispose()
  let made = 0
  const fresh = (): string => {
    const path = join(folder, `${++made}.sqlite`)
    copyFileSync(empty, path)
    return path
  }
  const filled = fresh()
  await applied(filled, events)
  const tables = rowsOf(filled)
  const count = events.length
  const transactions = Math.ceil(count / per_chunk)
  const rows = tables.reduce((sum, table) => sum + table.rows.length, 0)
  const taken = await inTurns([
    { name: "flightcase", round: async () => ({ seconds: await applied(fresh(), events), count }) },
    { name: "node:sqlite inserts", round: async () => ({ seconds: inserted(fresh(), tables, transactions), count }) }
  ], rounds)
  print(`fill: ${count.toLocaleString("en")} events (${rows.toLocaleString("en")} rows with the journal's), ${transactions} durable transactions, SQLite file`, taken, { unit: "events", as: "rate" })
}
