/** Transactions whose last statement travels with COMMIT and an update, and whose first one with BEGIN and a lock. */
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Exit, Fiber, ManagedRuntime } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import pg from "pg"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { integer, plainTable } from "../../../core/kernel/index.ts"
import { make as makeStore, rememberingRows, type StoreShape } from "../../../core/kernel/store/store.ts"
import * as Pg from "../../../server/pg/client.ts"
import { type FreshDatabase, freshDatabase } from "../../postgres.ts"
import { untilWaiting } from "../../lock-waits.ts"
import { sentBy } from "./sent.ts"
import { untraced } from "../../sync/sqlite/sql-client.contract.ts"

let database: FreshDatabase
let other: pg.Client
let runtime: ManagedRuntime.ManagedRuntime<SqlClient.SqlClient, SqlError.SqlError>
/** One connection for transactions: each must leave it in a clean state for the next. */
const runtimeWith = (lock_timeout_ms: number) =>
  ManagedRuntime.make(Pg.layer({ url: database.url, max: 2, lock_timeout_ms }))
beforeEach(async () => {
  database = await freshDatabase()
  other = new pg.Client(database.url)
  await other.connect()
  await other.query("create table notes (id bigint primary key, note text not null default '')")
  await other.query(
    "create table parts (id bigint primary key, note_id bigint references notes deferrable initially deferred)"
  )
  runtime = runtimeWith(60_000)
  await runtime.runPromise(Effect.void)
})
afterEach(async () => {
  vi.restoreAllMocks()
  await runtime.dispose()
  await other.end()
  await database.drop()
})
type Work<A> = (store: StoreShape) => Effect.Effect<A, SqlError.SqlError>
const inTransaction = <A>(work: Work<A>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const store = makeStore(sql)
    return untraced(store.transaction(work(store)))
  })
const run = <A>(work: Work<A>) => runtime.runPromiseExit(inTransaction(work))
/** The same on a connection that waits a quarter of a second for a lock. */
const runImpatiently = async <A>(work: Work<A>) => {
  await runtime.dispose()
  runtime = runtimeWith(250)
  return await run(work)
}
const add = (id: number) => ["insert into notes (id) values ($1) returning id", [id]] as const
const notes = async () => (await other.query("select id::int from notes order by id")).rows.map(({ id }) => id)
const faultOf = (exit: Exit.Exit<unknown, SqlError.SqlError>) =>
  Exit.isFailure(exit) ? exit.cause.reasons.map((one) => ("error" in one ? one.error.reason._tag : one._tag)) : []
const lock = "select pg_advisory_xact_lock(7)"
/** Begins of the statements sent during the work, those of one round trip joined. */
const tripsOf = async (work: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  const trips = Map.groupBy(await sentBy(work), ({ turn }) => turn).values()
  return [...trips].map((trip) => trip.map(({ text }) => text.slice(0, 13)).join(" | "))
}

describe("a transaction's last statement", () => {
  it("commits in the same round trip, before the transaction ends", async () => {
    const trips = await tripsOf(async () => {
      const exit = await run((store) =>
        Effect.gen(function* () {
          yield* store.run(...add(1))
          const rows = yield* store.runLast(...add(2))
          return [rows, yield* Effect.promise(notes)]
        })
      )
      expect(exit).toEqual(Exit.succeed([[{ id: 2 }], [1, 2]]))
    })
    expect(trips).toEqual(["BEGIN", "insert into n", "insert into n | COMMIT", "select id::in"])
  })
  it("rolls everything back if it fails, with its own error and no further statement", async () => {
    await run((store) => store.runLast(...add(2)))
    const trips = await tripsOf(async () => {
      expect(faultOf(await run((store) => Effect.andThen(store.run(...add(1)), store.runLast(...add(2)))))).toEqual([
        "UniqueViolation"
      ])
    })
    expect(trips.at(-1)).toBe("insert into n | COMMIT")
    expect(await notes()).toEqual([2])
    await run((store) => store.runLast(...add(3)))
    expect(await notes()).toEqual([2, 3])
  })
  it("fails if COMMIT does, and the next transaction succeeds", async () => {
    const exit = await run((store) =>
      Effect.andThen(store.run(...add(1)), store.runLast("insert into parts values ($1, $2)", [1, 99]))
    )
    expect(faultOf(exit)).toEqual(["ConstraintError"])
    expect(await notes()).toEqual([])
    await run((store) => store.runLast(...add(3)))
    expect(await notes()).toEqual([3])
  })
  it("fails after a failure that was handled, as Postgres then rolls back", async () => {
    const failed = (store: StoreShape) => Effect.ignore(store.run("select 1 / $1::integer", [0]))
    const exit = await run((store) => Effect.andThen(failed(store), store.runLast(...add(1))))
    expect(Exit.isFailure(exit)).toBe(true)
    expect(await notes()).toEqual([])
  })
  it("commits nothing in a savepoint: the outermost transaction does", async () => {
    const nested = (store: StoreShape) => store.transaction(store.runLast(...add(1)))
    const exit = await run((store) =>
      Effect.andThen(
        nested(store),
        Effect.flatMap(Effect.promise(notes), (seen) => Effect.die(seen))
      )
    )
    expect(Exit.isFailure(exit) && exit.cause.reasons).toMatchObject([{ defect: [] }])
    expect(await notes()).toEqual([])
    await run(nested)
    expect(await notes()).toEqual([1])
  })
  it("runs callbacks registered after it once, and none if it failed", async () => {
    const called: Array<number> = []
    const following = (id: number) => (store: StoreShape) =>
      store
        .runLast(...add(id))
        .pipe(Effect.ensuring(Effect.ignore(store.sql.afterCommit(Effect.sync(() => void called.push(id))))))
    await run(following(1))
    await run(following(1))
    await run(following(2))
    expect(called).toEqual([1, 2])
  })
  it("is neither cut off nor lost if its fiber is interrupted while it waits", async () => {
    await other.query("begin; insert into notes values (2)")
    const fiber = runtime.runFork(
      inTransaction((store) =>
        Effect.andThen(store.run(...add(1)), store.runLast("insert into notes values ($1) on conflict do nothing", [2]))
      )
    )
    await untilWaiting(other)
    const interrupted = Effect.runPromise(Fiber.interrupt(fiber))
    await other.query("rollback")
    await interrupted
    expect(await notes()).toEqual([1, 2])
    await run((store) => store.runLast(...add(3)))
    expect(await notes()).toEqual([1, 2, 3])
  })
  it("fails if its connection is killed while it waits, and writes nothing", async () => {
    await other.query("begin; insert into notes values (2)")
    const ended = run((store) => Effect.andThen(store.run(...add(1)), store.runLast(...add(2))))
    await untilWaiting(other)
    await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and wait_event_type = 'Lock' and datname = current_database()"
    )
    expect(faultOf(await ended)).toEqual(["ConnectionError"])
    await other.query("rollback")
    expect(await notes()).toEqual([])
    await run((store) => store.runLast(...add(3)))
    expect(await notes()).toEqual([3])
  })
  it("fails once it has waited too long for a lock, and writes nothing", async () => {
    await other.query("begin; insert into notes values (2)")
    const exit = await runImpatiently((store) => Effect.andThen(store.run(...add(1)), store.runLast(...add(2))))
    expect(faultOf(exit)).toEqual(["LockTimeoutError"])
    await other.query("rollback")
    expect(await notes()).toEqual([])
  })
})

describe("a statement sent ahead of the next one", () => {
  it("is complete before the next one sees the database, in the same round trip", async () => {
    await other.query("insert into notes values (1, 'before'); begin; update notes set note = 'after'")
    await other.query(lock)
    let read: Promise<unknown> = Promise.resolve()
    const trips = await tripsOf(async () => {
      read = run((store) =>
        Effect.andThen(store.runAhead(lock), store.run("select note from notes where id = $1", [1]))
      )
      await untilWaiting(other)
    })
    await other.query("commit")
    expect(await read).toEqual(Exit.succeed([{ note: "after" }]))
    expect(trips.find((trip) => trip.startsWith("BEGIN"))).toBe("BEGIN; select | select note f")
  })
  it("is not sent if nothing follows, nor is BEGIN", async () => {
    expect(await tripsOf(() => run((store) => store.runAhead(lock)))).toEqual([])
    expect(await tripsOf(() => run((store) => Effect.andThen(store.runAhead(lock), Effect.die("refused"))))).toEqual([])
    expect(await tripsOf(() => run((store) => Effect.andThen(store.run(...add(1)), store.runAhead(lock))))).toEqual([
      "BEGIN",
      "insert into n",
      "COMMIT"
    ])
  })
  it("is sent at once in a savepoint, whose release could not report its error", async () => {
    const nested = await tripsOf(() => run((store) => store.transaction(store.runAhead(lock))))
    expect(nested).toEqual(["BEGIN | SAVEPOINT eff", "select pg_adv", "RELEASE SAVEP", "COMMIT"])
  })
  it("fails the next one with its own error", async () => {
    await other.query("begin")
    await other.query(lock)
    const exit = await runImpatiently((store) => Effect.andThen(store.runAhead(lock), store.run(...add(1))))
    expect(faultOf(exit)).toEqual(["LockTimeoutError"])
    await other.query("rollback")
    expect(await notes()).toEqual([])
  })
  it("lets nothing be written if it is interrupted while it waits", async () => {
    await other.query("begin")
    await other.query(lock)
    const fiber = runtime.runFork(inTransaction((store) => Effect.andThen(store.runAhead(lock), store.run(...add(1)))))
    await untilWaiting(other)
    await Effect.runPromise(Fiber.interrupt(fiber))
    await other.query("rollback")
    expect(await notes()).toEqual([])
    await run((store) => store.runLast(...add(3)))
    expect(await notes()).toEqual([3])
  })
})

describe("an update sent ahead of the next statement", () => {
  const boxes = plainTable("boxes", "id", { id: integer(), size: integer(), weight: integer() })
  const before = { id: 1, size: 1, weight: 1 }
  beforeEach(async () => {
    await other.query("create table boxes (id bigint primary key, size bigint check (size < 9), weight bigint)")
    await other.query("insert into boxes values (1, 1, 1)")
  })
  const box = async () => (await other.query("select size::int, weight::int from boxes")).rows[0]
  const begun = (store: StoreShape) => store.run("select id from notes where id = $1", [1])
  const resized = (store: StoreShape, size: number) =>
    store.updateAhead({ op: "update", table: boxes, key: 1, set: { size } }, before)
  /** Work after an update; returns the row before and after it was sent, and whether it is as expected. */
  const around = (store: StoreShape, size: number, work: Effect.Effect<unknown, SqlError.SqlError>) =>
    rememberingRows(
      Effect.gen(function* () {
        yield* begun(store)
        const isAsExpected = yield* resized(store, size)
        const early = yield* store.get(boxes, 1)
        yield* work
        return [early, isAsExpected(), yield* store.get(boxes, 1)]
      })
    )

  it("travels with the last one and COMMIT, while reads by key find the row as it should become", async () => {
    const trips = await tripsOf(async () => {
      const exit = await run((store) => around(store, 2, store.runLast(...add(2))))
      expect(exit).toEqual(Exit.succeed([{ ...before, size: 2 }, true, { ...before, size: 2 }]))
    })
    expect(trips).toEqual(["BEGIN | select id fro", 'update "boxes | insert into n | COMMIT'])
    expect([await box(), await notes()]).toEqual([{ size: 2, weight: 1 }, [2]])
  })
  it("notices what others changed of the row meanwhile, and keeps the row as stored", async () => {
    await other.query("update boxes set weight = 7")
    const exit = await run((store) => around(store, 2, store.runLast(...add(2))))
    expect(exit).toEqual(Exit.succeed([{ ...before, size: 2 }, false, { id: 1, size: 2, weight: 7 }]))
    expect(await box()).toEqual({ size: 2, weight: 7 })
  })
  it("comes before a read in the same round trip, and is committed without a last one", async () => {
    const trips = await tripsOf(async () => {
      const exit = await run((store) => around(store, 3, store.run("select size from boxes where id = $1", [1])))
      expect(exit).toEqual(Exit.succeed([{ ...before, size: 3 }, true, { ...before, size: 3 }]))
    })
    expect(trips.slice(1)).toEqual(['update "boxes | select size f', "COMMIT"])
    await run((store) => Effect.andThen(begun(store), rememberingRows(resized(store, 4))))
    expect(await box()).toEqual({ size: 4, weight: 1 })
  })
  it("rolls back what it travels with if it fails, with its own error", async () => {
    const exit = await run((store) => around(store, 9, store.runLast(...add(2))))
    expect(faultOf(exit)).toEqual(["ConstraintError"])
    expect([await box(), await notes()]).toEqual([{ size: 1, weight: 1 }, []])
    await run((store) => store.runLast(...add(3)))
    expect(await notes()).toEqual([3])
  })
  it("is not sent if the work after it fails", async () => {
    const trips = await tripsOf(() => run((store) => around(store, 2, Effect.die("refused"))))
    expect(trips).toEqual(["BEGIN | select id fro", "ROLLBACK"])
    expect(await box()).toEqual({ size: 1, weight: 1 })
  })
  it("is sent at once in a savepoint, and where the transaction has not begun", async () => {
    const nested = await tripsOf(() =>
      run((store) => Effect.andThen(begun(store), store.transaction(around(store, 2, Effect.die("refused")))))
    )
    expect(nested.slice(1, 3)).toEqual(["SAVEPOINT eff", "select id fro"])
    expect(nested[3]).toBe('update "boxes')
    expect(await box()).toEqual({ size: 1, weight: 1 })
    const first = await tripsOf(() =>
      run((store) => rememberingRows(Effect.andThen(resized(store, 5), store.runLast(...add(2)))))
    )
    expect(first).toEqual(["BEGIN", 'update "boxes', "insert into n | COMMIT"])
  })
})

describe("a URL with a query_timeout", () => {
  const at = (millis: number) =>
    ManagedRuntime.make(Pg.layer({ url: `${database.url}&query_timeout=${millis}`, max: 1 }))
  const backend = inTransaction((store) => store.run("select pg_backend_pid() as pid where 1 = $1", [1]))
  it("keeps the connection of queries that ended in time", async () => {
    const limited = at(2_000)
    const first = await limited.runPromise(backend)
    await pause(2_200)
    expect(await limited.runPromise(backend)).toEqual(first)
    await limited.dispose()
  })
  it("ends a query that takes longer", async () => {
    const limited = at(1_000)
    await limited.runPromise(backend)
    const slow = inTransaction((store) => store.run("select pg_sleep(30) where 1 = $1", [1]))
    expect(Exit.isFailure(await limited.runPromiseExit(slow))).toBe(true)
    await limited.dispose()
  })
})
