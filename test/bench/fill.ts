/**
 * Filling a replica from rows and catching up from events, against bare `node:sqlite` that inserts the same rows into
 * the same tables with the same indexes, many rows per statement. The longer fill has FILL_EVENTS events, by default
 * 1,000,000; 0 skips it.
 */
import { copyFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Context, Effect, Layer, ManagedRuntime, References } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openOutbox } from "../../sync/device/outbox/outbox.ts"
import { makeReplica } from "../../sync/device/replica/replica.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { owner, writtenJournal } from "./journal.ts"
import { inTurns, print, type Side } from "./measure.ts"
import { longJournal, serverCatalogue, type ServerStore } from "./long-journal.ts"
import { temporaryFolder } from "./processes.ts"
import { planAnswer, rowsAnswer } from "../../sync/server/snapshot-api.ts"
import type { SnapshotPage, SnapshotPlan } from "../../sync/protocol/snapshot.ts"

const least = 50_000
const per_chunk = 2_000
const rounds = 5
const usual = 100_000
const long = Number(process.env["FILL_EVENTS"] ?? 1_000_000)
/** Each takes up to a minute. */
const long_rounds = 2

const openReplica = async (path: string) => {
  const replica = makeReplica({
    catalogue,
    outbox: openOutbox(new DatabaseSync(":memory:")),
    replica_id: 1,
    commandId: () => "",
    viewer: Effect.succeed(owner)
  })
  const runtime = ManagedRuntime.make(
    Layer.mergeAll(
      Layer.provide(Store.layer, Sqlite.layer({ path })),
      replica.runtime,
      // As devices do.
      Layer.succeedContext(Context.make(References.TracerEnabled, false))
    )
  )
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
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<SQLInputValue>>
}
/** All rows of a filled replica, as values to bind. */
const rowsOf = (path: string): ReadonlyArray<Rows> => {
  const db = new DatabaseSync(path, { readOnly: true })
  const tables = [...catalogue.tables, journal].map(({ name }): Rows => {
    const select = db.prepare(`select * from "${name}"`)
    const columns = select.columns().map((column) => `"${column.name}"`)
    select.setReturnArrays(true)
    // After setReturnArrays(true), which the driver's types ignore.
    const rows = select.all() as unknown as ReadonlyArray<ReadonlyArray<SQLInputValue>>
    return { name, columns, rows }
  })
  db.close()
  return tables.filter(({ rows }) => rows.length > 0)
}
const rows_bound = 128
/** Inserts rows of a table by prepared statements, many rows at a time. */
const preparedInsert = (db: DatabaseSync, { columns, name, rows }: Rows) => {
  const values = `(${columns.map(() => "?").join(", ")})`
  const preparedFor = (count: number) =>
    db.prepare(`insert into "${name}" (${columns.join(", ")}) values ${Array(count).fill(values).join(", ")}`)
  const [one, many] = [preparedFor(1), preparedFor(rows_bound)]
  return (from: number, until: number): void => {
    let at = from
    for (; at + rows_bound <= until; at += rows_bound) many.run(...rows.slice(at, at + rows_bound).flat())
    for (; at < until; at++) one.run(...rows[at]!)
  }
}
/**
 * Inserts the same rows in a number of transactions, each with its share of every table (as from a journal), or one
 * table after another; returns the seconds.
 */
const inserted = (
  path: string,
  tables: ReadonlyArray<Rows>,
  transactions: number,
  order: "together" | "in turn"
): number => {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: true })
  // A fill waits for the disk at its last page.
  db.exec(`pragma journal_mode = wal; pragma synchronous = ${order === "together" ? "full" : "normal"}`)
  let total = 0
  const prepared = tables.map((table) => {
    const [before, count] = [total, table.rows.length]
    total += count
    return { before, count, insert: preparedInsert(db, table) }
  })
  const started = performance.now()
  for (let turn = 0; turn < transactions; turn++) {
    if (turn === transactions - 1) db.exec("pragma synchronous = full")
    db.exec("begin immediate")
    for (const { before, count, insert } of prepared) {
      const doneBy = (turns: number): number =>
        order === "together"
          ? Math.floor((turns * count) / transactions)
          : Math.min(count, Math.max(0, Math.floor((turns * total) / transactions) - before))
      insert(doneBy(turn), doneBy(turn + 1))
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
/** All pages as sent by the server: queried, redacted and written as JSON. */
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
/** Seconds from parsing the first page until all rows are in place. */
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

interface Bench {
  readonly folder: string
  readonly written: ReadonlyArray<StoredEvent>
  /** A side whose fill of an empty replica returns the seconds that count. */
  readonly filling: (name: string, count: number, fill: (path: string) => Promise<number>) => Side
  /** Rows of a replica after this fill. */
  readonly rowsAfter: (fill: (path: string) => Promise<unknown>) => Promise<ReadonlyArray<Rows>>
}

const open = async (): Promise<Bench> => {
  const written = await writtenJournal(least)
  const folder = temporaryFolder()
  const empty = join(folder, "empty.sqlite")
  await (await openReplica(empty)).runtime.dispose()
  const path = join(folder, "filled.sqlite")
  const fresh = (): string => {
    for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true })
    copyFileSync(empty, path)
    return path
  }
  return {
    folder,
    written,
    filling: (name, count, filled) => ({
      name,
      round: async () => {
        const before = process.cpuUsage()
        const seconds = await filled(fresh())
        const { system, user } = process.cpuUsage(before)
        return { seconds, count, cpu_seconds: (system + user) / 1e6 }
      }
    }),
    rowsAfter: async (filled) => {
      await filled(fresh())
      return rowsOf(path)
    }
  }
}

const fromRows = async ({ filling, folder, rowsAfter, written }: Bench, events: number): Promise<void> => {
  const server = await longJournal(join(folder, `server-${events}.sqlite`), written, events)
  const pages = await pagesOf(server)
  await server.dispose()
  const tables = await rowsAfter((path) => laidDown(path, pages))
  const count = pages.rows
  const sides = [
    filling("flightcase", count, (path) => laidDown(path, pages)),
    filling("node:sqlite inserts", count, async (path) => inserted(path, tables, pages.pages.length, "in turn"))
  ]
  const taken = await (events > usual ? inTurns(sides, long_rounds, 0) : inTurns(sides, rounds))
  const [journal_length, rows] = [pages.plan.position, count].map((size) => size.toLocaleString("en"))
  const title = `fill from rows: a journal of ${journal_length} events, ${rows} rows, ${pages.pages.length} pages`
  print(`${title}, SQLite file`, taken, { unit: "rows", as: "rate" })
  console.log(
    `  the server's part: ${pages.seconds.toFixed(2)} s for ${(pages.bytes / 1e6).toFixed(0)} MB of JSON, once`
  )
}

const catchingUp = async ({ filling, rowsAfter, written }: Bench): Promise<void> => {
  const tables = await rowsAfter((path) => applied(path, written))
  const count = written.length
  const transactions = Math.ceil(count / per_chunk)
  const taken = await inTurns(
    [
      filling("flightcase", count, (path) => applied(path, written)),
      filling("node:sqlite inserts", count, async (path) => inserted(path, tables, transactions, "together"))
    ],
    rounds
  )
  const rows = tables.reduce((sum, table) => sum + table.rows.length, 0)
  print(
    `catch-up: ${count.toLocaleString("en")} events (${rows.toLocaleString("en")} rows with the journal's), ${transactions} durable transactions, SQLite file`,
    taken,
    { unit: "events", as: "rate" }
  )
}

export const fill = async (): Promise<void> => {
  const bench = await open()
  await fromRows(bench, usual)
  await catchingUp(bench)
  if (long > 0) await fromRows(bench, long)
}
