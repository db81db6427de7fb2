import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as Sqlite from "../../../sync/sqlite/client.ts"
import { sqlClientContract } from "./sql-client.contract.ts"

/** A test of files with the real clock. */
const live = (title: string, body: () => Generator<Effect.Effect<unknown, unknown, Scope>, void, never>) =>
  it.live(title, () => Effect.gen(body))
const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "flightcase-sqlite-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)
const newFile = Effect.map(folder, (path) => join(path, "replica.db"))
const fileLayer = Layer.unwrap(Effect.map(newFile, (path) => Sqlite.layer({ path })))

sqlClientContract("SQLite in memory", Sqlite.layer({ path: ":memory:" }))
sqlClientContract("SQLite in a file", fileLayer)

describe("SQLite", () => {
  live("uses a write-ahead log, syncs commits to disk, and enforces foreign keys", function* () {
    const path = yield* newFile
    const settingsOf = (sql: SqlClient.SqlClient) =>
      Effect.forEach(["journal_mode", "synchronous", "foreign_keys"], (name) =>
        Effect.map(sql.unsafe(`pragma ${name}`).values, (rows) => rows[0]?.[0])
      )
    const [FULL, NORMAL] = [2, 1]
    assert.deepStrictEqual(yield* settingsOf(yield* Sqlite.make({ path })), ["wal", FULL, 1])
    assert.deepStrictEqual(yield* settingsOf(yield* Sqlite.make({ path, synchronous: "normal" })), ["wal", NORMAL, 1])
  })
  live("refuses a text with two statements instead of running the first", function* () {
    const sql = yield* Sqlite.make({ path: ":memory:" })
    const { reason } = yield* Effect.flip(sql.unsafe("create table a (id integer); create table b (id integer)"))
    assert.strictEqual(reason._tag, "UnknownError")
    yield* sql.unsafe("create table a (id integer); -- and nothing more")
    yield* sql.unsafe("create table b (id integer); create table c (id integer);").raw
    assert.deepStrictEqual(yield* sql`select name from sqlite_schema order by name`, [
      { name: "a" },
      { name: "b" },
      { name: "c" }
    ])
  })
  live("reads but never writes a file opened read-only, and does not create one", function* () {
    const path = yield* newFile
    const missing = yield* Effect.flip(Sqlite.make({ path, readOnly: true }))
    assert.strictEqual(missing.reason._tag, "ConnectionError")
    const writer = yield* Sqlite.make({ path })
    yield* writer`create table t (id integer)`
    yield* writer`insert into t ${writer.insert({ id: 1 })}`
    const reader = yield* Sqlite.make({ path, readOnly: true })
    assert.deepStrictEqual(yield* reader.withTransaction(reader`select id from t`), [{ id: 1 }])
    yield* Effect.flip(reader`insert into t ${reader.insert({ id: 2 })}`)
    assert.deepStrictEqual(yield* reader`select id from t`, [{ id: 1 }])
  })
  live("reports a file that is not a database", function* () {
    const path = yield* newFile
    writeFileSync(path, "Dear diary, ".repeat(100))
    const { reason } = yield* Effect.flip(Sqlite.make({ path }))
    assert.strictEqual(reason._tag, "ConnectionError")
  })
  live("closes the file with its scope", function* () {
    const path = yield* newFile
    const sql = yield* Effect.scoped(Sqlite.make({ path }))
    const { reason } = yield* Effect.flip(sql`select 1`)
    assert.match(reason.message ?? "", /not open/)
  })
})

/** Two clients of one file, as two processes have: the first holds a transaction until `leave` completes. */
const heldFile = Effect.gen(function* () {
  const path = yield* newFile
  const first = yield* Sqlite.make({ path })
  yield* first`create table t (id integer primary key)`
  const inside = yield* Deferred.make<void>()
  const leave = yield* Deferred.make<void>()
  const holding = first.withTransaction(
    Effect.gen(function* () {
      yield* first`insert into t ${first.insert({ id: 1 })}`
      yield* Deferred.succeed(inside, undefined)
      yield* Deferred.await(leave)
    })
  )
  const holder = yield* Effect.forkChild(holding)
  yield* Deferred.await(inside)
  return { path, holder, leave: Deferred.succeed(leave, undefined) }
})

describe("SQLite while another process holds the lock", () => {
  live("waits for a transaction or a single write without blocking the process", function* () {
    const { path, holder, leave } = yield* heldFile
    const second = yield* Sqlite.make({ path })
    const third = yield* Sqlite.make({ path })
    const write = yield* Effect.forkChild(second`insert into t ${second.insert({ id: 2 })}`)
    const inThird = third.withTransaction(third`insert into t ${third.insert({ id: 3 })}`)
    const transaction = yield* Effect.forkChild(inThird)
    // If waiting blocked the event loop, this sleep and the lock would end only afterwards.
    yield* Effect.sleep("100 millis")
    assert.isUndefined(write.pollUnsafe())
    assert.isUndefined(transaction.pollUnsafe())
    yield* leave
    yield* Fiber.joinAll([holder, write, transaction])
    assert.deepStrictEqual(yield* second`select id from t order by id`, [{ id: 1 }, { id: 2 }, { id: 3 }])
  })
  live("answers readers while its writers wait", function* () {
    const { path, holder, leave } = yield* heldFile
    const second = yield* Sqlite.make({ path, busy_timeout_ms: 600_000 })
    const write = second`insert into t ${second.insert({ id: 2 })}`
    const waiting = yield* Effect.forEach([write, second.withTransaction(write)], (one) =>
      Effect.forkChild(Effect.exit(one))
    )
    yield* Effect.sleep("50 millis")
    // The lock is released only after these reads.
    assert.deepStrictEqual(yield* second`select id from t order by id`, [])
    assert.deepStrictEqual(yield* second`select 1 as one`, [{ one: 1 }])
    yield* leave
    yield* Fiber.join(holder)
    const ends = yield* Fiber.joinAll(waiting)
    // Both want the same id, and one gets it.
    assert.sameMembers(
      ends.map((end) => end._tag),
      ["Success", "Failure"]
    )
    assert.deepStrictEqual(yield* second`select id from t order by id`, [{ id: 1 }, { id: 2 }])
  })
  live("fails with a lock timeout, and is usable afterwards", function* () {
    const { path, holder, leave } = yield* heldFile
    const second = yield* Sqlite.make({ path, busy_timeout_ms: 30 })
    const write = second`insert into t ${second.insert({ id: 2 })}`
    for (const attempt of [write, second.withTransaction(write)]) {
      const { reason } = yield* Effect.flip(attempt)
      assert.strictEqual(reason._tag, "LockTimeoutError")
      assert.isTrue(reason.isRetryable)
    }
    yield* leave
    yield* Fiber.join(holder)
    yield* second.withTransaction(write)
  })
  live("can be interrupted while it waits", function* () {
    const { path, holder, leave } = yield* heldFile
    const second = yield* Sqlite.make({ path, busy_timeout_ms: 600_000 })
    const waiting = yield* Effect.forkChild(second.withTransaction(second`insert into t ${second.insert({ id: 2 })}`))
    yield* Effect.sleep("30 millis")
    // Before the lock is free: an uninterruptible wait would hang here.
    yield* Fiber.interrupt(waiting)
    yield* leave
    yield* Fiber.join(holder)
    yield* second.withTransaction(second`insert into t ${second.insert({ id: 3 })}`)
    assert.deepStrictEqual(yield* second`select id from t order by id`, [{ id: 1 }, { id: 3 }])
  })
  it.effect("waits in real time even if a test's clock is frozen", () =>
    Effect.gen(function* () {
      const { path, holder, leave } = yield* heldFile
      const second = yield* Sqlite.make({ path })
      const write = yield* Effect.forkChild(second`insert into t ${second.insert({ id: 2 })}`)
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 30)))
      yield* leave
      yield* Fiber.joinAll([holder, write])
    })
  )

  live("loses nothing when two processes create one file concurrently", function* () {
    const path = yield* newFile
    const write = (writer: string) =>
      Effect.promise(() =>
        promisify(execFile)(process.execPath, [join(import.meta.dirname, "writer.ts"), path, writer, "100"])
      )
    yield* Effect.all([write("a"), write("b")], { concurrency: "unbounded" })
    const db = new DatabaseSync(path)
    const [counted] = db.prepare("select n from tally").all()
    const written = db.prepare("select writer, count(*) as n from entry group by writer order by writer")
    assert.deepEqual({ ...counted }, { n: 200 })
    assert.deepEqual(
      written.all().map((row) => ({ ...row })),
      [
        { writer: "a", n: 100 },
        { writer: "b", n: 100 }
      ]
    )
    db.close()
  })
})
