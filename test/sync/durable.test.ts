import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { openOutboxAt } from "../../sync/device/outbox/outbox.ts"
import { Durability, layer } from "../../sync/sqlite/client.ts"
import { enrolled, type Hooks, openFillTestServer } from "./filling.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-durable-"))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

// What a connection does at a commit: 2 waits for the disk, 1 does not (sqlite.org/pragma.html, synchronous).
const [full, normal] = [2, 1]

it("an outbox's file is on the disk before a command is acknowledged, and writes over what it frees", () => {
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const outbox = openOutboxAt(join(folder, "outbox.sqlite"))
  const db = executed.mock.contexts[0] as DatabaseSync
  const pragma = (name: string) => Object.values(db.prepare(`pragma ${name}`).get()!)[0]
  expect([pragma("journal_mode"), pragma("synchronous"), pragma("secure_delete")]).toEqual(["wal", full, 1])
  outbox.close()
})

it("a transaction that need not wait for the disk leaves those after it waiting as ever", async () => {
  const commits = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const now = Effect.map(sql.unsafe<{ synchronous: number }>("pragma synchronous"), (rows) => rows[0]!.synchronous)
    const transacted = sql.withTransaction(now)
    return [
      yield* transacted,
      yield* Effect.provideService(transacted, Durability, "normal"),
      yield* transacted,
      yield* Effect.provideService(transacted, Durability, "normal"),
      yield* now
    ]
  })
  expect(await Effect.runPromise(Effect.provide(commits, layer({ path: join(folder, "replica.sqlite") })))).toEqual([
    full,
    normal,
    full,
    normal,
    full
  ])
})

it("what settles commands is on the replica's disk before the outbox forgets them", async () => {
  const business = await openFillTestServer("sqlite")
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const hooks: Hooks = { snapshot_beyond: Number.POSITIVE_INFINITY }
  const device = await enrolled(business, "one", hooks)
  try {
    const files = [...new Set(executed.mock.contexts as ReadonlyArray<DatabaseSync>)].filter(
      (db) => db.isOpen && db.location()?.endsWith("replica.sqlite") === true
    )
    expect(files).toHaveLength(1)
    const seen: { [step: string]: unknown } = {}
    hooks.at = (step) => {
      if (step !== "committed") seen[step] ??= files[0]!.prepare("pragma synchronous").get()!["synchronous"]
    }
    await device.sync()
    // The outbox has the command; until it is settled the replica's copy of it may be lost.
    expect((await device.ask("POST", "product_groups", { name: "Lighting" })).status).toBe(201)
    delete seen["applied"]
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1 })
    expect(seen).toMatchObject({ "in the outbox": normal, applied: full })
  } finally {
    await device.close()
    await business.close()
  }
})
