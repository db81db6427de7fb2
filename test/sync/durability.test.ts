/** Data is on disk before the acknowledgement; a power cut loses only what the outbox restores. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { DatabaseSync, StatementSync } from "node:sqlite"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { openOutboxAt } from "../../sync/device/outbox/outbox.ts"
import { Durability, layer } from "../../sync/sqlite/client.ts"
import type { Hooks } from "./inspected-device.ts"
import { serverOfSuite } from "./opening.ts"

const server = serverOfSuite()
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-durable-"))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

// Mode of a connection at a commit: 2 waits for the disk, 1 does not (sqlite.org/pragma.html, synchronous).
const [full, normal] = [2, 1]

it("an outbox is opened with synchronous commits and with freed pages overwritten", () => {
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const outbox = openOutboxAt(join(folder, "outbox.sqlite"))
  const db = executed.mock.contexts[0] as DatabaseSync
  const pragma = (name: string) => Object.values(db.prepare(`pragma ${name}`).get()!)[0]
  expect([pragma("journal_mode"), pragma("synchronous"), pragma("secure_delete")]).toEqual(["wal", full, 1])
  outbox.close()
})

it("a transaction with relaxed durability leaves later transactions durable, even if it fails", async () => {
  const commits = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const now = Effect.map(sql.unsafe<{ synchronous: number }>("pragma synchronous"), (rows) => rows[0]!.synchronous)
    const transacted = sql.withTransaction(now)
    const unhurried = Effect.provideService(Durability, "normal")
    const seen = [yield* now, yield* transacted, yield* unhurried(transacted), yield* transacted]
    yield* unhurried(sql.withTransaction(Effect.andThen(now, Effect.fail("given up")))).pipe(Effect.ignore)
    return [...seen, yield* now, yield* unhurried(transacted), yield* now]
  })
  expect(await Effect.runPromise(Effect.provide(commits, layer({ path: join(folder, "replica.sqlite") })))).toEqual([
    ...[full, full, normal, full],
    ...[full, normal, full]
  ])
})

it("the replica commits synchronously when commands are settled, but not when one is recorded", async () => {
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const hooks: Hooks = { snapshot_beyond: Number.POSITIVE_INFINITY }
  const device = await server.inspected(hooks)
  const files = [...new Set(executed.mock.contexts as ReadonlyArray<DatabaseSync>)].filter(
    (db) => db.isOpen && db.location() === join(device.folder, "replica.sqlite")
  )
  expect(files).toHaveLength(1)
  const seen: { [step: string]: unknown } = {}
  hooks.at = (step) => {
    if (step !== "committed") seen[step] ??= files[0]!.prepare("pragma synchronous").get()!["synchronous"]
  }
  await device.sync()
  // The outbox holds the command, so the replica's copy may be lost until it is decided.
  await device.create("/product_groups", { name: "Lighting" })
  delete seen["applied"]
  await device.sync()
  expect(device.outbox.counts()).toEqual({ accepted: 1 })
  expect(seen).toMatchObject({ "in the outbox": normal, applied: full })
})

it("a fill waits for the disk when its rows are taken over, but not for each page", async () => {
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const hooks: Hooks = { limit: 100 }
  const device = await server.inspected(hooks)
  const file = (executed.mock.contexts as ReadonlyArray<DatabaseSync>).find(
    (db) => db.isOpen && db.location() === join(device.folder, "replica.sqlite")
  )!
  const seen: Array<unknown> = []
  hooks.at = (step) => {
    if (step === "page laid down" || step === "rows taken over")
      seen.push(file.prepare("pragma synchronous").get()!["synchronous"])
  }
  await device.sync()
  expect(seen.length).toBeGreaterThan(3)
  expect(seen).toEqual([...seen.slice(2).map(() => normal), full, full])
})

/** Number of statements of a command that a device records, which waits for the disk once. */
const statementsOf = async (command: () => Promise<unknown>): Promise<number> => {
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const run = [vi.spyOn(StatementSync.prototype, "all"), vi.spyOn(StatementSync.prototype, "run")]
  for (const spy of [executed, ...run]) spy.mockClear()
  await command()
  const scripts = executed.mock.calls.map(([sql]) => sql)
  // Durable commits other than the outbox's would set the mode to full.
  expect(scripts.filter((sql) => /^commit|synchronous = full/.test(sql))).toEqual(["commit"])
  return scripts.length + run.reduce((sum, { mock }) => sum + mock.calls.length, 0)
}
it("renaming a product offline runs at most 18 statements, and waits for the disk once", async () => {
  const device = await server.enrol()
  const { id } = await device.create("/products", { name: "Speaker" })
  await device.update(`/products/${id}`, { name: "Speaker 1" })
  expect(await statementsOf(() => device.update(`/products/${id}`, { name: "Speaker 2" }))).toBeLessThanOrEqual(18)
})
it("adding a line offline runs at most 43 statements, and waits for the disk once", async () => {
  const device = await server.enrol()
  const { id: item_id } = await device.create("/products", { name: "Speaker" })
  const [starts_at, ends_at] = ["2027-07-01T09:00:00Z", "2027-07-04T17:00:00Z"]
  const quote = await device.create("/opportunities", { subject: "Gala", store_id: 1, starts_at, ends_at })
  const add = () => device.create(`/opportunities/${quote.id}/items`, { name: "Speaker", item_id, quantity: 1 })
  await add()
  expect(await statementsOf(add)).toBeLessThanOrEqual(43)
})

it("a replica that lost its last commits applies acknowledged commands again", async () => {
  const device = await server.enrol()
  const left = mkdtempSync(join(server.folder, "left-"))
  /** Copies files as a power cut leaves them, without the memory that SQLite's processes share. */
  const keep = (kind: string): void => {
    for (const name of readdirSync(device.folder))
      if (name.startsWith(kind) && !name.endsWith("-shm")) copyFileSync(join(device.folder, name), join(left, name))
  }
  await device.create("/product_groups", { name: "Before" })
  keep("replica.sqlite")
  const { id } = await device.create("/product_groups", { name: "Lamps" })
  await device.update(`/product_groups/${id}`, { name: "Moving lamps" })
  for (const kind of ["outbox.sqlite", "profile.json"]) keep(kind)
  const again = await server.reopen(basename(left))
  expect(await again.show(`/product_groups/${id}`)).toMatchObject({ name: "Moving lamps" })
  expect(await again.sync()).toMatchObject({ accepted: 3, rejected: 0, pending: 0 })
  await server.sameOn(again)
})
