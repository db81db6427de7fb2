import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlErrorReason } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import { type AddressInfo, connect, createServer } from "node:net"
import pg from "pg"
import { vi } from "vitest"
import { integer, plainTable } from "../../../core/kernel/index.ts"
import * as Pg from "../../../server/pg/client.ts"
import { listen } from "../../../server/pg/session.ts"
import { freshDatabase } from "../../postgres.ts"
import { make as makeStore } from "../../../core/kernel/store/store.ts"
import { sqlClientContract, untraced } from "../../sync/sqlite/sql-client.contract.ts"
import { textsOf } from "./sent.ts"

const databaseUrl = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => freshDatabase()),
    ({ drop }) => Effect.promise(drop)
  ),
  ({ url }) => url
)

sqlClientContract("Postgres", Layer.unwrap(Effect.map(databaseUrl, (url) => Pg.layer({ url }))))

const makeClient = Effect.flatMap(databaseUrl, (url) => Pg.make({ url }))

/** Repeats a query until its result is true, for at most 10 s. */
const eventually = <E>(question: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 500; tries++) {
      if (yield* question) return
      yield* Effect.sleep("20 millis")
    }
    assert.fail("never came true")
  })

const isRunning = (sql: SqlClient.SqlClient, text: string) =>
  Effect.map(
    sql`select 1 from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid()
      and datname = current_database() and query like ${`%${text}%`}`,
    (rows) => rows.length > 0
  )

describe("the Postgres client, reading values,", () => {
  it.live("gives times in UTC, dates and decimals as text, and JSON parsed", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient
      const rows = yield* sql`select
        timestamptz '2026-03-29 03:30:00.1239+02' as cut, timestamptz '2026-01-01 00:00:00Z' as whole,
        timestamptz 'infinity' as always, date '2026-02-28' as day, numeric '12.3400' as amount,
        '{"a":[1]}'::jsonb as doc, interval '1 day 2 hours' as span, count(*) as n, null::timestamptz as never`
      assert.deepStrictEqual(rows, [
        {
          cut: "2026-03-29T01:30:00.123Z",
          whole: "2026-01-01T00:00:00.000Z",
          always: "infinity",
          day: "2026-02-28",
          amount: "12.3400",
          doc: { a: [1] },
          span: "P1DT2H",
          n: 1,
          never: null
        }
      ])
    })
  )

  it.live("gives the elements of arrays with their types", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient
      const rows = yield* sql`select array[1, null, 9007199254740993] as large, array[numeric '1.50'] as amounts,
        array[timestamptz '2026-01-01 00:00:00Z'] as times, array[date '2026-01-02'] as days,
        array['{"a":1}'::jsonb] as docs, array[[1::bigint, 2], [3, 4]] as nested`
      assert.deepStrictEqual(rows, [
        {
          large: [1, null, 9007199254740993n],
          amounts: ["1.50"],
          times: ["2026-01-01T00:00:00.000Z"],
          days: ["2026-01-02"],
          docs: [{ a: 1 }],
          nested: [
            [1, 2],
            [3, 4]
          ]
        }
      ])
      const list = ["a", null, 'b,"c']
      assert.deepStrictEqual(yield* sql`select ${list}::text[] as list`, [{ list }])
    })
  )

  it.live("sends and reads the same values at each use of a statement, and the rows of its writes", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient
      yield* sql`create table notes (id bigint primary key, text text, at timestamptz, doc jsonb, flag boolean)`
      const at = "2026-01-01T00:00:00.000Z"
      const texts = ["plain", "", "Zoë 😀 \u2028", null, 'quoted " \\ \n', "\ud800"]
      for (const [id, text] of texts.entries()) {
        const stored = text?.toWellFormed() ?? null
        const row = { id, text: stored, at, doc: { a: [id, null] }, flag: id % 2 === 0 }
        const added = yield* sql`insert into notes values
          (${id}, ${text}, ${at}, ${JSON.stringify(row.doc)}, ${row.flag}) returning *`
        assert.deepStrictEqual(added, [row])
        const [read] =
          yield* sql`select ${2n ** 60n}::bigint as large, ${-1.5}::numeric as amount, ${null}::text as none,
          ${text}::text as text, notes.id as same, notes.flag as same from notes where id = ${id}`
        assert.deepStrictEqual(read, { large: 2n ** 60n, amount: "-1.5", none: null, text: stored, same: row.flag })
        assert.deepStrictEqual(yield* sql`select id from notes where id = ${-id - 1}`, [])
        const listed = yield* sql`select ${[id, 7]}::bigint[] as ids, ${new Uint8Array([0, id])}::bytea as bytes`
        assert.deepStrictEqual(listed, [{ ids: [id, 7], bytes: Buffer.from([0, id]) }])
        assert.deepStrictEqual(yield* sql`select ${id}::bigint as id, ${text}::text as text`.values, [[id, stored]])
        const failed = yield* Effect.flip(sql`select 1 / ${Math.min(0, id)}::integer`)
        assert.strictEqual(failed.reason._tag, "UnknownError")
        assert.deepStrictEqual(yield* sql`select ${"{"}::text as text`, [{ text: "{" }])
      }
      for (let times = 0; times < 4; times++)
        assert.deepStrictEqual<unknown>(yield* sql`update notes set flag = ${true}`.raw, {
          rows: [],
          rowCount: texts.length
        })
    })
  )

  it.live("uses UTC and ISO formats whatever the database's settings, and keeps options of the URL", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const admin = yield* Pg.make({ url })
      const database = new URL(url).pathname.slice(1)
      yield* admin.unsafe(`alter database ${database} set datestyle = 'German'`)
      yield* admin.unsafe(`alter database ${database} set timezone = 'Asia/Tokyo'`)
      const sql = yield* Pg.make({ url: `${url}&options=${encodeURIComponent("-c lock_timeout=1234")}` })
      assert.deepStrictEqual(
        yield* sql`select timestamptz '2026-01-01 00:00:00Z' as at, current_setting('lock_timeout') as lock_timeout`,
        [{ at: "2026-01-01T00:00:00.000Z", lock_timeout: "1234ms" }]
      )
    })
  )
})

/** A table with two rows, and an update that locks one of them. */
const twoRows = Effect.gen(function* () {
  const sql = yield* makeClient
  yield* sql`create table t (id integer primary key, n integer not null)`
  yield* sql`insert into t ${sql.insert([
    { id: 1, n: 0 },
    { id: 2, n: 0 }
  ])}`
  const touch = (id: number) => sql`update t set n = n + ${1} where id = ${id}`
  return { sql, touch }
})

describe("the Postgres client, on errors,", () => {
  it.live("reports a connection error when no server listens or the database is missing", () =>
    Effect.gen(function* () {
      const url = new URL(yield* databaseUrl)
      url.pathname = "/nowhere"
      const missing = yield* Effect.flip(Effect.scoped(Pg.make({ url: url.href })))
      assert.strictEqual(missing.reason._tag, "ConnectionError")
      const nobody = yield* Effect.flip(Effect.scoped(Pg.make({ url: "postgres://postgres@localhost:1/postgres" })))
      assert.strictEqual(nobody.reason._tag, "ConnectionError")
      assert.match(nobody.reason.message ?? "", /ECONNREFUSED/)
    })
  )

  it.live("marks one of two deadlocked transactions as retryable", () =>
    Effect.gen(function* () {
      const { sql, touch } = yield* twoRows
      const ready = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
      const crossing = (own: 0 | 1, other: 0 | 1) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              yield* touch(own + 1)
              yield* Deferred.succeed(ready[own], undefined)
              yield* Deferred.await(ready[other])
              yield* touch(other + 1)
              return "committed"
            })
          )
          .pipe(Effect.catch((error) => Effect.succeed(shape(error.reason))))
      const outcomes = yield* Effect.all([crossing(0, 1), crossing(1, 0)], { concurrency: 2 })
      assert.sameDeepMembers(outcomes, ["committed", { _tag: "DeadlockError", isRetryable: true }])
    })
  )

  it.live("marks a serialization failure as retryable", () =>
    Effect.gen(function* () {
      const { sql, touch } = yield* twoRows
      const overtaken = sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`select n from t where id = ${1}`
            const other = yield* sql.reserve
            yield* other.execute("update t set n = n + 1 where id = 1", [], undefined)
            yield* touch(1)
          })
        )
        .pipe(Effect.provideService(SqlClient.BeginTransaction, "BEGIN ISOLATION LEVEL REPEATABLE READ"))
      const { reason } = yield* Effect.flip(Effect.scoped(overtaken))
      assert.deepStrictEqual(shape(reason), { _tag: "SerializationError", isRetryable: true })
    })
  )

  it.live("marks an unavailable lock as retryable", () =>
    Effect.gen(function* () {
      const { sql, touch } = yield* twoRows
      const locked = sql.withTransaction(
        Effect.gen(function* () {
          yield* touch(1)
          const other = yield* sql.reserve
          yield* other.execute("select n from t where id = 1 for update nowait", [], undefined)
        })
      )
      const { reason } = yield* Effect.flip(Effect.scoped(locked))
      assert.deepStrictEqual(shape(reason), { _tag: "LockTimeoutError", isRetryable: true })
    })
  )

  it.live("fails a commit that Postgres turned into a rollback", () =>
    Effect.gen(function* () {
      const { sql, touch } = yield* twoRows
      const swallowing = sql.withTransaction(Effect.andThen(touch(1), Effect.ignore(sql`insert into t values (1, 1)`)))
      assert.match((yield* Effect.flip(swallowing)).message, /rolled back at commit/)
      assert.deepStrictEqual(yield* sql`select n from t where id = ${1}`, [{ n: 0 }])
    })
  )

  it.live("recognises a statement timeout", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient
      const slow = sql.withTransaction(Effect.andThen(sql`set local statement_timeout = 20`, sql`select pg_sleep(20)`))
      assert.strictEqual((yield* Effect.flip(slow)).reason._tag, "StatementTimeoutError")
    })
  )
})

const shape = ({ _tag, isRetryable }: SqlErrorReason) => ({ _tag, isRetryable })

describe("the Postgres client, managing connections,", () => {
  it.live("cancels an interrupted query on the server, inside and outside a transaction", () =>
    Effect.gen(function* () {
      const { sql, touch } = yield* twoRows
      const endless = sql`select pg_sleep(60)`
      const direct = untraced(makeStore(sql).run("select pg_sleep(60) where 1 = $1", [1]))
      const slow = { text: "select pg_sleep(60) where 1 = $1", values: [1] }
      const together = untraced(makeStore(sql).readAll([slow, slow]))
      for (const hanging of [endless, direct, together, sql.withTransaction(Effect.andThen(touch(1), endless))]) {
        const fiber = yield* Effect.forkChild(hanging)
        yield* eventually(isRunning(sql, "pg_sleep(60)"))
        yield* Fiber.interrupt(fiber)
        yield* eventually(Effect.map(isRunning(sql, "pg_sleep(60)"), (running) => !running))
        yield* sql.withTransaction(touch(2))
      }
      assert.deepStrictEqual(yield* sql`select n from t order by id`, [{ n: 0 }, { n: 4 }])
    })
  )

  it.live("answers several statements in one round trip, inside and outside a transaction", () =>
    Effect.gen(function* () {
      const { sql, touch } = yield* twoRows
      const { readAll } = makeStore(sql)
      const row = (id: number) => ({ text: "select * from t where id = $1", values: [id] })
      const both = untraced(readAll([row(1), { text: "select count(*) as rows from t", values: [] }, row(2)]))
      const none = untraced(readAll([]))
      assert.deepStrictEqual([yield* none, yield* sql.withTransaction(none)], [[], []])
      const zero = [[{ id: 1, n: 0 }], [{ rows: 2 }], [{ id: 2, n: 0 }]]
      for (let round = 0; round < 3; round++) assert.deepStrictEqual(yield* both, zero)
      const written = yield* Effect.flip(
        sql.withTransaction(Effect.flatMap(Effect.andThen(touch(1), both), Effect.fail))
      )
      assert.deepStrictEqual(written, [[{ id: 1, n: 1 }], [{ rows: 2 }], [{ id: 2, n: 0 }]])
      assert.deepStrictEqual(yield* sql.withTransaction(both), zero)
      const failing = untraced(readAll([row(1), { text: "select 1 / $1::integer", values: [0] }, row(2)]))
      for (const tried of [failing, sql.withTransaction(failing)])
        assert.match((yield* Effect.flip(tried)).reason.message, /division by zero/)
      assert.deepStrictEqual(yield* both, zero)
      // The plans of `select *` are stale now.
      yield* sql.unsafe("alter table t add column more integer")
      assert.deepStrictEqual((yield* both)[0], [{ id: 1, n: 0, more: null }])
    })
  )

  it.live("sends statements that are prepared as one query, which fails or is cancelled as a whole", () =>
    Effect.gen(function* () {
      const { sql } = yield* twoRows
      const { readAll } = makeStore(sql)
      const asked = (seconds: number, divisor: number) =>
        untraced(
          readAll([
            { text: "select n, id from t where id = $1", values: [1] },
            { text: "select 6 / $1::integer as sixth from t", values: [divisor] },
            { text: "select id from t, pg_sleep($1) order by id", values: [seconds] }
          ])
        )
      const found = [[{ n: 0, id: 1 }], [{ sixth: 3 }, { sixth: 3 }], [{ id: 1 }, { id: 2 }]]
      const query = vi.spyOn(pg.Client.prototype, "query")
      const calls: Array<number> = []
      for (let round = 0; round < 3; round++) {
        assert.deepStrictEqual(yield* asked(0, 2), found)
        calls.push(query.mock.calls.length)
        query.mockClear()
      }
      query.mockRestore()
      assert.deepStrictEqual(calls, [3, 3, 1])
      for (const tried of [asked(0, 0), sql.withTransaction(asked(0, 0))]) {
        assert.match((yield* Effect.flip(tried)).reason.message, /division by zero/)
        assert.deepStrictEqual(yield* asked(0, 2), found)
      }
      const hanging = yield* Effect.forkChild(asked(60, 2))
      yield* eventually(isRunning(sql, "select id from t, pg_sleep"))
      yield* Fiber.interrupt(hanging)
      yield* eventually(Effect.map(isRunning(sql, "select id from t, pg_sleep"), (running) => !running))
      assert.deepStrictEqual(yield* asked(0, 2), found)
    })
  )

  it.live("sends rows that several fibers read by key together, and fails or interrupts each by itself", () =>
    Effect.gen(function* () {
      const { sql } = yield* twoRows
      const numbers = plainTable("t", "id", { id: integer(), n: integer() })
      const read = (id: number, table = numbers) => untraced(makeStore(sql).get(table, id))
      const unknown = Effect.exit(read(1, plainTable("unknown", "id", numbers.columns)))
      const query = vi.spyOn(pg.Client.prototype, "query")
      try {
        for (let round = 0; round < 3; round++) {
          const all = yield* Effect.all([read(1), unknown, read(2), read(3)], { concurrency: "unbounded" })
          assert.deepStrictEqual([all[0], all[2], all[3]], [{ id: 1, n: 0 }, { id: 2, n: 0 }, undefined])
          assert.isTrue(Exit.isFailure(all[1]))
          const [first, interrupted, last] = yield* Effect.all([
            Effect.forkChild(read(1)),
            Effect.forkChild(read(2)),
            Effect.forkChild(read(2))
          ])
          yield* Effect.yieldNow
          yield* Fiber.interrupt(interrupted)
          assert.deepStrictEqual(
            [yield* Fiber.join(first), yield* Fiber.join(last)],
            [
              { id: 1, n: 0 },
              { id: 2, n: 0 }
            ]
          )
        }
        assert.strictEqual(new Set(query.mock.contexts).size, 2)
      } finally {
        query.mockRestore()
      }
    })
  )

  it.live("reads other tables while one is locked", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient
      for (const name of ["held", "free"]) {
        yield* sql.unsafe(`create table ${name} (id integer primary key)`)
        yield* sql.unsafe(`insert into ${name} values (1)`)
      }
      const store = makeStore(sql)
      const read = (name: string) => untraced(store.get(plainTable(name, "id", { id: integer() }), 1))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const holder = yield* sql.reserve
          for (const text of ["begin", "lock table held in access exclusive mode"])
            yield* holder.execute(text, [], undefined)
          const [held, free] = yield* Effect.forEach(["held", "free"], (name) => Effect.forkChild(read(name)))
          assert.deepStrictEqual(yield* Fiber.join(free!), { id: 1 })
          assert.isUndefined(held!.pollUnsafe())
          yield* holder.execute("rollback", [], undefined)
          assert.deepStrictEqual(yield* Fiber.join(held!), { id: 1 })
        })
      )
    })
  )
  it.live("sends BEGIN alone ahead of a statement that writes, which would commit if BEGIN were cancelled", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient
      yield* sql`create table first (id integer primary key)`
      const sent: Array<readonly [turn: number, text: string]> = []
      let turn = 0
      const plain = pg.Client.prototype.query as (...given: ReadonlyArray<unknown>) => unknown
      const query = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
        this: unknown,
        ...given: ReadonlyArray<unknown>
      ) {
        const [one] = given
        for (const text of textsOf(one)) sent.push([turn, text.slice(0, 6)])
        queueMicrotask(() => void turn++)
        return plain.apply(this, [...given])
      } as never)
      const turnsOf = (text: string) =>
        Effect.map(sql.withTransaction(sql.unsafe(text)), () => {
          const all = sent.splice(0).filter(([, one]) => one !== "COMMIT")
          return [all.map(([, one]) => one), new Set(all.map(([at]) => at)).size]
        })
      const turns = [yield* turnsOf("insert into first values (1)"), yield* turnsOf("select 1")]
      query.mockRestore()
      assert.deepStrictEqual(turns, [
        [["BEGIN", "insert"], 2],
        [["BEGIN", "select"], 1]
      ])
    })
  )
  it.live("closes connections that stop answering once all their readers were interrupted", () =>
    Effect.gen(function* () {
      const url = new URL(yield* databaseUrl)
      const socket_folder = url.searchParams.get("host") ?? ""
      const silence: Array<() => void> = []
      const proxy = createServer((client) => {
        const server = connect(`${socket_folder}/.s.PGSQL.${url.port}`)
        let is_silent = false
        silence.push(() => void (is_silent = true))
        for (const one of [client, server]) one.on("error", () => {})
        client.on("data", (bytes) => void (is_silent || server.write(bytes)))
        server.on("data", (bytes) => void (is_silent || client.write(bytes)))
        client.on("close", () => server.destroy())
      })
      yield* Effect.promise(() => new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => proxy.close()))
      const behind = new URL(url)
      behind.searchParams.delete("host")
      behind.hostname = "127.0.0.1"
      behind.port = String((proxy.address() as AddressInfo).port)
      const sql = yield* Pg.make({ url: behind.href, connection_timeout_ms: 5_000 })
      yield* sql`create table kept (id integer primary key)`
      const read = untraced(makeStore(sql).get(plainTable("kept", "id", { id: integer() }), 1))
      yield* read
      for (const one of silence) one()
      const stuck = yield* Effect.forkChild(read)
      yield* Effect.sleep("50 millis")
      yield* Fiber.interrupt(stuck)
      yield* eventually(Effect.map(Effect.timeoutOption(Effect.exit(read), "2 seconds"), (one) => one._tag === "Some"))
    })
  )
  it.live("returns every connection to the pool, even if its request was interrupted", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, max: 1, connection_timeout_ms: 5_000 })
      const direct = untraced(makeStore(sql).run("select $1::integer as one", [1]))
      const one = { text: "select $1::integer as one", values: [1] }
      const together = untraced(makeStore(sql).readAll([one, one]))
      for (let round = 0; round < 20; round++) {
        const fibers = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (at) =>
          Effect.forkChild(at > 6 ? Effect.asVoid(together) : at > 4 ? direct : sql.withTransaction(sql`select 1`))
        )
        yield* Effect.yieldNow
        yield* Effect.forEach(fibers, (fiber, i) => (i % 2 === round % 2 ? Fiber.interrupt(fiber) : Effect.void))
        yield* Fiber.awaitAll(fibers)
      }
      assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
      assert.deepStrictEqual(yield* direct, [{ one: 1 }])
    })
  )

  it.live("fails with a connection error when the pool stays empty", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, max: 1, connection_timeout_ms: 1_000 })
      const held = Effect.scoped(Effect.andThen(sql.reserve, sql.withTransaction(sql`select 1`)))
      assert.strictEqual((yield* Effect.flip(held)).reason._tag, "ConnectionError")
      assert.deepStrictEqual(yield* sql.withTransaction(sql`select 1 as one`), [{ one: 1 }])
    })
  )

  it.live("serves readers while every connection for transactions is in use", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, max: 4, connection_timeout_ms: 600_000 })
      const release = yield* Deferred.make<void>()
      const writing = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () =>
        Effect.forkChild(sql.withTransaction(Effect.andThen(sql`select 'writer'`, Deferred.await(release))))
      )
      yield* eventually(
        Effect.map(
          sql`select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
          (rows) => rows.length === 2
        )
      )
      assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.awaitAll(writing)
    })
  )

  it.live("aborts statements that wait for a lock, or run, too long", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, lock_timeout_ms: 50 })
      yield* sql`create table t (id integer primary key, n integer not null)`
      yield* sql`insert into t values (1, 0)`
      const touch = sql`update t set n = n + 1 where id = 1`
      yield* Effect.scoped(
        Effect.gen(function* () {
          const holder = yield* sql.reserve
          for (const text of ["begin", "select 1 from t where id = 1 for update"])
            yield* holder.execute(text, [], undefined)
          for (const waiting of [touch, sql.withTransaction(touch)])
            assert.strictEqual((yield* Effect.flip(waiting)).reason._tag, "LockTimeoutError")
        })
      )
      yield* eventually(Effect.isSuccess(touch))
      const hurried = yield* Pg.make({ url, statement_timeout_ms: 50 })
      assert.strictEqual((yield* Effect.flip(hurried`select pg_sleep(60)`)).reason._tag, "StatementTimeoutError")
    })
  )

  it.live("survives the server closing idle and busy connections", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, max: 2 })
      const admin = yield* Pg.make({ url })
      const closeOthers = admin`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
      yield* sql`select 1`
      yield* closeOthers
      yield* eventually(Effect.isSuccess(sql`select 1`))
      for (const ending of [Effect.void, Effect.fail("no")]) {
        const hanging = sql.withTransaction(Effect.andThen(sql`select pg_sleep(61)`, ending))
        const busy = yield* Effect.forkChild(Effect.flip(hanging))
        yield* eventually(isRunning(admin, "pg_sleep(61)"))
        yield* closeOthers
        const error = yield* Fiber.join(busy)
        assert.strictEqual(typeof error === "string" ? error : error.reason._tag, "ConnectionError")
        yield* eventually(Effect.isSuccess(sql`select 1`))
      }
    })
  )

  it.live("reports the error inside a transaction, not the connection lost at the rollback", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url })
      const failing = sql.withTransaction(
        Effect.gen(function* () {
          const [row] = yield* sql<{ pid: number }>`select pg_backend_pid() as pid`
          const other = yield* sql.reserve
          yield* other.execute("select pg_terminate_backend($1)", [row?.pid], undefined)
          return yield* Effect.fail("out of stock")
        })
      )
      assert.strictEqual(yield* Effect.flip(Effect.scoped(failing)), "out of stock")
    })
  )

  it.live("prepares statements again when another process changes the schema", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, max: 1 })
      const other = yield* Pg.make({ url })
      yield* other`create table t (id integer primary key)`
      yield* other`insert into t values (1)`
      const read = sql`select * from t where id = ${1}`
      for (let i = 0; i < 5; i++) assert.deepStrictEqual(yield* read, [{ id: 1 }])
      yield* other`alter table t add column open boolean not null default true`
      assert.deepStrictEqual(yield* read, [{ id: 1, open: true }])
      yield* other`alter table t add column n integer not null default 7`
      yield* Effect.repeat(sql.withTransaction(read), { times: 2 })
      yield* other`alter table t drop column n`
      // Inside a transaction the caller must repeat all of it; the error says so.
      const refused = yield* Effect.flip(sql.withTransaction(read))
      assert.deepInclude(shape(refused.reason), { _tag: "SerializationError", isRetryable: true })
      assert.deepStrictEqual(yield* sql.withTransaction(read), [{ id: 1, open: true }])
    })
  )

  it.live("prepares a statement from its second use on, under one name", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url, max: 1 })
      const prepared = Effect.map(sql<{ statement: string }>`select statement from pg_prepared_statements`, (rows) =>
        rows.map((row) => row.statement)
      )
      yield* sql`select ${1}::integer as once`
      yield* Effect.repeat(sql`select ${2}::integer as often`, { times: 5 })
      assert.deepStrictEqual(yield* prepared, ["select $1::integer as often"])
    })
  )
})

describe("a LISTEN connection to Postgres", () => {
  it.live("receives notifications at commit, and is opened again after it breaks", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url })
      const notices = yield* Stream.toQueue(listen({ url, channel: "journal", reconnect_after_ms: 10 }), {
        capacity: "unbounded"
      })
      const notify = (payload: string) => sql`select pg_notify('journal', ${payload})`
      assert.deepStrictEqual(yield* Queue.take(notices), { _tag: "Listening" })
      yield* Effect.exit(sql.withTransaction(Effect.andThen(notify("taken back"), Effect.fail("no"))))
      yield* sql.withTransaction(notify("42"))
      assert.deepStrictEqual(yield* Queue.take(notices), { _tag: "Notified", payload: "42" })
      yield* sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like 'LISTEN%'`
      assert.deepStrictEqual(yield* Queue.take(notices), { _tag: "Listening" })
      yield* notify("43")
      assert.deepStrictEqual(yield* Queue.take(notices), { _tag: "Notified", payload: "43" })
    })
  )

  it.live("is closed when its reader stops", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl
      const sql = yield* Pg.make({ url })
      const listeners = Effect.map(
        sql`select 1 from pg_stat_activity where datname = current_database() and query like 'LISTEN%'`,
        (rows) => rows.length
      )
      const heard = yield* Stream.runCollect(Stream.take(listen({ url, channel: 'Odd "name"' }), 1))
      assert.deepStrictEqual(heard, [{ _tag: "Listening" }])
      yield* eventually(Effect.map(listeners, (n) => n === 0))
    })
  )
})
