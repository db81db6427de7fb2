/**
 * Filling a replica from rows and catching up from events, against bare `node:sqlite` that inserts the same rows into the
 * same tables. `FILL_EVENTS=1000000 npm run bench -- fill` fills from a journal of that length, once.
 */
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openOutbox } from "../../sync/device/outbox/outbox.ts"
import { makeReplica } from "../../sync/device/replica/replica.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { owner, writtenJournal } from "./journal.ts"
import { inTurns, print } from "./measure.ts"
import { longJournal, serverCatalogue, type ServerStore } from "./long-journal.ts"
import { temporaryFolder } from "./processes.ts"
import { planAnswer, rowsAnswer } from "../../sync/server/snapshot-api.ts"
import type { SnapshotPage, SnapshotPlan } from "../../sync/protocol/snapshot.ts"

const least = 50_000
const per_chunk = 2_000
const rounds = 5
/** Beyond this one fill takes minutes: it is done once, and catching up is left out. */
const longest_in_turns = 300_000
const long = Number(process.env["FILL_EVENTS"] ?? 100_000)

const openReplica = async (path: string) => {
  const replica = makeReplica({
    catalogue,
    outbox: openOutbox(new DatabaseSync(":memory:")),
    replica_id: 1,
    commandId: () => "",
    viewer: Effect.succeed(owner)
  })
  const runtime = ManagedRuntime.make(Layer.merge(Layer.provide(Store.layer, Sqlite.layer({ path })), replica.runtime))
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
    await runtime.runPromise(
      replica.apply({
        events: chunk,
        offset: `${chunk.at(-1)!.position}_0`,
        handle: "bench",
        up_to_date: at === chunks.length - 1
      })
    )
  }
  const seconds = (performance.now() - started) / 1000
  await runtime.dispose()
  return seconds
}

interface Rows {
  readonly insert: string
  readonly rows: ReadonlyArray<ReadonlyArray<SQLInputValue>>
}
/** Every row of a filled replica, ready to be bound. */
const rowsOf = (path: string): ReadonlyArray<Rows> => {
  const db = new DatabaseSync(path, { readOnly: true })
  const tables = [...catalogue.tables, journal].map(({ name }): Rows => {
    const select = db.prepare(`select * from "${name}"`)
    const columns = select.columns().map((column) => `"${column.name}"`)
    select.setReturnArrays(true)
    // setReturnArrays(true), which the driver's types do not follow
    const rows = select.all() as unknown as ReadonlyArray<ReadonlyArray<SQLInputValue>>
    return {
      insert: `insert into "${name}" (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`,
      rows
    }
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
      const until = Math.floor(((turn + 1) * rows.length) / transactions)
      for (let at = Math.floor((turn * rows.length) / transactions); at < until; at++) statement.run(...rows[at]!)
    }
    db.exec("commit")
  }
  const seconds = (performance.now() - started) / 1000
  db.close()
  return seconds
}

interface Pages {
  readonly plan: SnapshotPlan
  readonly pages: ReadonlyArray<string>
  readonly rows: number
  readonly seconds: number
  readonly bytes: number
}
/** Every page as it leaves the server: queried, redacted, written as JSON. */
const pagesOf = async (server: ServerStore): Promise<Pages> => {
  const started = performance.now()
  const { snapshot: plan } = (
    await server.runPromise(planAnswer(serverCatalogue, { viewer: owner, replica_id: 1, pending_from: 0 }))
  ).body as unknown as { snapshot: SnapshotPlan }
  const pages: Array<string> = []
  let bytes = 0,
    rows = 0
  for (let after: string | null = "", { offset } = plan; after !== null;) {
    const { page } = (
      await server.runPromise(
        rowsAnswer(serverCatalogue, { viewer: owner, replica_id: 1, handle: plan.handle, offset, after })
      )
    ).body as unknown as { page: SnapshotPage }
    const text = JSON.stringify(page)
    pages.push(text)
    bytes += text.length
    rows += page.sections.reduce((sum, section) => sum + section.rows.length, 0)
    offset = page.offset
    after = page.next
  }
  return { plan, pages, rows, bytes, seconds: (performance.now() - started) / 1000 }
}
/** Seconds from the first page's text to the rows in place. */
const laidDown = async (path: string, { plan, pages }: Pages): Promise<number> => {
  const { replica, runtime } = await openReplica(path)
  const started = performance.now()
  await runtime.runPromise(replica.fill.begin(plan))
  for (const text of pages) {
    const asked = (await runtime.runPromise(replica.fill.now))!
    await runtime.runPromise(replica.fill.lay(asked, JSON.parse(text) as SnapshotPage))
  }
  const seconds = (performance.now() - started) / 1000
  await runtime.dispose()
  return seconds
}

const fromRows = async (folder: string, fresh: () => string, written: ReadonlyArray<StoredEvent>): Promise<void> => {
  const server = await longJournal(join(folder, "server.sqlite"), written, long)
  const pages = await pagesOf(server)
  await server.dispose()
  const filled = fresh()
  await laidDown(filled, pages)
  const tables = rowsOf(filled)
  const count = pages.rows
  const times = long > longest_in_turns ? 1 : rounds
  const taken = await inTurns(
    [
      { name: "flightcase", round: async () => ({ seconds: await laidDown(fresh(), pages), count }) },
      {
        name: "node:sqlite inserts",
        round: async () => ({ seconds: inserted(fresh(), tables, pages.pages.length), count })
      }
    ],
    times,
    times === 1 ? 0 : 1
  )
  print(
    `fill from rows: a journal of ${pages.plan.position.toLocaleString("en")} events, ${count.toLocaleString("en")} rows, ${pages.pages.length} durable pages, SQLite file`,
    taken,
    { unit: "rows", as: "rate" }
  )
  console.log(
    `  the server's part: ${pages.seconds.toFixed(2)} s for ${(pages.bytes / 1e6).toFixed(0)} MB of JSON, once`
  )
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
  await fromRows(folder, fresh, events)
  if (long > longest_in_turns) return
  const filled = fresh()
  await applied(filled, events)
  const tables = rowsOf(filled)
  const count = events.length
  const transactions = Math.ceil(count / per_chunk)
  const rows = tables.reduce((sum, table) => sum + table.rows.length, 0)
  const taken = await inTurns(
    [
      { name: "flightcase", round: async () => ({ seconds: await applied(fresh(), events), count }) },
      { name: "node:sqlite inserts", round: async () => ({ seconds: inserted(fresh(), tables, transactions), count }) }
    ],
    rounds
  )
  print(
    `catch-up: ${count.toLocaleString("en")} events (${rows.toLocaleString("en")} rows with the journal's), ${transactions} durable transactions, SQLite file`,
    taken,
    { unit: "events", as: "rate" }
  )
}
