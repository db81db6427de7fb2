import { assert, layer } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as References from "effect/References"
import { make as makeStore } from "../../../core/kernel/store/store.ts"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError, SqlErrorReason } from "effect/sql/SqlError"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"

const reasonOf = <A, R>(statement: Effect.Effect<A, SqlError, R>): Effect.Effect<SqlErrorReason, A, R> =>
  Effect.map(Effect.flip(statement), (error) => error.reason)

/** Name of the violated constraint, if it is not a unique one; equal on both databases. */
const constraintOf = (reason: SqlErrorReason): unknown =>
  typeof reason.cause === "object" && reason.cause !== null && "constraint" in reason.cause
    ? reason.cause.constraint
    : undefined

/** Asset 7 reserved from day 1 to 5, protected against overlaps by each database's means. */
const claims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = "id integer primary key, asset integer not null, from_day integer not null, to_day integer not null"
  yield* sql.onDialectOrElse({
    orElse: () => Effect.void,
    pg: () =>
      Effect.gen(function* () {
        yield* sql`create extension if not exists btree_gist`
        yield* sql.unsafe(`create table claim (${columns}, constraint claim_overlap
          exclude using gist (asset with =, int4range(from_day, to_day) with &&))`)
      }),
    sqlite: () =>
      Effect.gen(function* () {
        yield* sql.unsafe(`create table claim (${columns})`)
        yield* sql.unsafe(`create trigger claim_overlap_insert before insert on claim begin
          select raise(abort, 'claim_overlap') where exists (select 1 from claim c where c.asset = new.asset
            and c.from_day < new.to_day and c.to_day > new.from_day); end`)
      })
  })
  yield* sql`insert into claim ${sql.insert({ id: 1, asset: 7, from_day: 1, to_day: 5 })}`
})

/** Runs as servers do: without spans, so that stores run statements directly. */
export const untraced = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, References.TracerEnabled, false)

/** Contract of our `SqlClient`s on any database, which starts empty. */
export const sqlClientContract = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>): void =>
  layer(database, { excludeTestServices: true })(`${name} as a SQL client`, (it) => {
    const spec = (
      title: string,
      body: (
        sql: SqlClient.SqlClient
      ) => Generator<Effect.Effect<unknown, unknown, SqlClient.SqlClient | Scope>, void, never>
    ) => it.effect(title, () => Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.gen(() => body(sql))))
    spec("returns many rows as it returns few", function* (sql) {
      yield* sql`create table row_kept (id integer primary key, "is so" boolean, doc jsonb, big bigint, "__proto__" text)`
      for (let id = 1; id <= 80; id++)
        yield* sql`insert into row_kept ${sql.insert({
          id,
          "is so": id % 3 === 0 ? null : id % 2 === 0,
          doc: id % 5 === 0 ? null : JSON.stringify({ id, list: [null, "é"] }),
          big: id % 7 === 0 ? null : id * 1_000_000_000_000
        })}`
      for (const columns of ["*", 'id, "is so", doc, big', "id, id as id, doc", "max(id) as id"]) {
        const read = (where: string) =>
          sql.unsafe(`select ${columns} from row_kept where ${where} group by row_kept.id order by 1`)
        const all = yield* read("true")
        assert.strictEqual(all.length, 80)
        for (const [at, row] of all.entries()) {
          const [alone] = yield* read(`row_kept.id = ${at + 1}`)
          assert.deepStrictEqual({ ...row }, { ...alone })
          assert.deepStrictEqual(Object.keys(row), Object.keys(alone ?? {}))
        }
      }
      yield* sql`drop table row_kept`
    })
    spec("runs a store's statements in the fiber's own transaction, and in none of another fiber's", function* (sql) {
      yield* sql`create table guest (id integer primary key)`
      const store = makeStore(sql)
      const ids = untraced(store.run(`select id from guest where id < ${store.dialect === "pg" ? "$1" : "?"}`, [9]))
      const [written, leave] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const taken_back = Effect.gen(function* () {
        yield* sql`insert into guest values (1)`
        assert.deepStrictEqual(yield* ids, [{ id: 1 }])
        yield* Deferred.succeed(written, undefined)
        yield* Deferred.await(leave)
        return yield* Effect.fail("no")
      })
      const writer = yield* Effect.forkChild(sql.withTransaction(taken_back))
      yield* Deferred.await(written)
      const reader = yield* Effect.forkChild(ids)
      yield* Effect.yieldNow
      yield* Deferred.succeed(leave, undefined)
      assert.deepStrictEqual(yield* Fiber.join(reader), [])
      yield* Fiber.await(writer)
      assert.deepStrictEqual(yield* ids, [])
    })
    spec("returns inserted rows as plain objects with typed values", function* (sql) {
      yield* sql`create table item (id integer primary key, name text, hidden boolean, doc jsonb, cents bigint)`
      const one = { id: 1, name: "Speaker", hidden: true, doc: JSON.stringify({ tags: ["audio"] }), cents: 12_50 }
      assert.deepStrictEqual(yield* sql`insert into item ${sql.insert(one).returning("*")}`, [
        { id: 1, name: "Speaker", hidden: true, doc: { tags: ["audio"] }, cents: 12_50 }
      ])
      const second = { ...one, id: 2, hidden: false }
      const third = { ...one, id: 3, name: null, doc: null }
      assert.deepStrictEqual(yield* sql`insert into item ${sql.insert([second, third])} returning id, hidden`, [
        { id: 2, hidden: false },
        { id: 3, hidden: true }
      ])
      assert.deepStrictEqual(yield* sql`select name, hidden as h, doc from item where id = ${3}`, [
        { name: null, h: true, doc: null }
      ])
      assert.deepStrictEqual(yield* sql`select id, hidden, doc from item where id = ${2}`.values, [
        [2, false, { tags: ["audio"] }]
      ])
    })
    spec("returns every kind of JSON document as it was stored", function* (sql) {
      yield* sql`create table document (id integer primary key, doc jsonb)`
      const documents = [{ a: [1, { b: null }] }, [], "12", "", 12, 1.5, 0, -3, true, false, "true", 'ä"\\']
      for (const [id, doc] of documents.entries()) {
        yield* sql`insert into document ${sql.insert({ id, doc: JSON.stringify(doc) })}`
      }
      const rows = yield* sql<{ doc: unknown }>`select doc from document order by id`
      assert.deepStrictEqual(
        rows.map((row) => row.doc),
        documents
      )
    })
    spec("upserts, and ignores a conflict on request", function* (sql) {
      yield* sql`create table stock (code text primary key, n integer not null)`
      const add = (n: number) => sql`insert into stock ${sql.insert({ code: "A", n })}`
      const upsert = (n: number) =>
        sql`insert into stock ${sql.insert({ code: "A", n })}
          on conflict (code) do update set n = stock.n + excluded.n returning n`
      yield* add(2)
      assert.deepStrictEqual(yield* upsert(3), [{ n: 5 }])
      assert.deepStrictEqual(
        yield* sql`insert into stock ${sql.insert({ code: "A", n: 9 })} on conflict do nothing returning n`,
        []
      )
    })
    spec("finds rows in a list, none in an empty one", function* (sql) {
      yield* sql`create table bin (id integer primary key)`
      yield* sql`insert into bin ${sql.insert([{ id: 1 }, { id: 2 }, { id: 3 }])}`
      assert.deepStrictEqual(yield* sql`select id from bin where ${sql.in("id", [3, 1])} order by id`, [
        { id: 1 },
        { id: 3 }
      ])
      assert.deepStrictEqual(yield* sql`select id from bin where ${sql.in("id", [])}`, [])
    })
    spec("reports how many rows a raw statement returned or changed", function* (sql) {
      yield* sql`create table shelf (id integer primary key, n integer)`
      yield* sql`insert into shelf ${sql.insert([
        { id: 1, n: 0 },
        { id: 2, n: 0 }
      ])}`
      assert.deepInclude(yield* sql`update shelf set n = ${1}`.raw, { rowCount: 2 })
      assert.deepInclude(yield* sql`delete from shelf where id = ${5}`.raw, { rowCount: 0 })
      assert.deepInclude(yield* sql`select id from shelf where id = ${2}`.raw, { rows: [{ id: 2 }], rowCount: 1 })
    })
    spec("keeps integers beyond 2^53 exact, and returns numbers below", function* (sql) {
      yield* sql`create table large (id integer primary key, n bigint)`
      const values = [2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n, 42n]
      const read = [9007199254740993n, -9223372036854775808n, 9223372036854775807n, 42]
      for (const [id, n] of values.entries()) {
        assert.deepStrictEqual(yield* sql`insert into large ${sql.insert({ id, n })} returning n`, [{ n: read[id] }])
      }
      // The small number comes first, so that the same statement meets a large one later.
      for (const id of [3, 0, 1, 2, 3]) {
        assert.deepStrictEqual(yield* sql`select n from large where id = ${id}`, [{ n: read[id] }])
      }
    })
    spec("binds undefined as null, and integers as integers", function* (sql) {
      yield* sql`create table note (id integer primary key, body text)`
      yield* sql`insert into note ${sql.insert({ id: 1, body: undefined })}`
      assert.deepStrictEqual(yield* sql`select body from note`, [{ body: null }])
      assert.deepStrictEqual(yield* sql`select cast(${7} as integer) / ${2} as half`, [{ half: 3 }])
    })
    spec("refuses to bind values that the databases would read differently", function* (sql) {
      yield* sql`create table strict (id integer primary key, body text)`
      for (const value of [new Date(0), { a: 1 }, NaN, Infinity]) {
        const reason = yield* reasonOf(sql`insert into strict (id, body) values (1, cast(${value} as text))`)
        assert.strictEqual(reason._tag, "UnknownError")
        assert.instanceOf(reason.cause, TypeError)
      }
      assert.deepStrictEqual(yield* sql`select * from strict`, [])
    })
    spec("names the column of a unique or primary key violation", function* (sql) {
      yield* sql`create table product (id integer primary key, code text unique)`
      yield* sql`insert into product ${sql.insert({ id: 1, code: "A" })}`
      const names = sql.onDialectOrElse({
        orElse: () => ["product.code", "product.id"],
        pg: () => ["product_code_key", "product_pkey"]
      })
      const code = yield* reasonOf(sql`insert into product ${sql.insert({ id: 2, code: "A" })}`)
      const id = yield* reasonOf(sql`insert into product ${sql.insert({ id: 1, code: "B" })}`)
      assert.deepStrictEqual([code._tag, id._tag], ["UniqueViolation", "UniqueViolation"])
      assert.deepStrictEqual(
        [code, id].map((reason) => "constraint" in reason && reason.constraint),
        names
      )
    })
    spec("reports check, not-null and foreign-key violations as constraint errors", function* (sql) {
      yield* sql`create table parent (id integer primary key)`
      yield* sql`create table child (id integer primary key, parent integer references parent (id),
        days integer not null, constraint child_days check (days > 0))`
      const check = yield* reasonOf(sql`insert into child ${sql.insert({ id: 1, parent: null, days: 0 })}`)
      const notNull = yield* reasonOf(sql`insert into child ${sql.insert({ id: 1, parent: null, days: null })}`)
      const foreign = yield* reasonOf(sql`insert into child ${sql.insert({ id: 1, parent: 9, days: 1 })}`)
      assert.deepStrictEqual(
        [check, notNull, foreign].map((reason) => reason._tag),
        ["ConstraintError", "ConstraintError", "ConstraintError"]
      )
      assert.strictEqual(constraintOf(check), "child_days")
    })
    spec("names the constraint that forbids overlapping claims on an asset", function* (sql) {
      yield* claims
      yield* sql`insert into claim ${sql.insert({ id: 2, asset: 7, from_day: 5, to_day: 6 })}`
      const overlapping = { id: 3, asset: 7, from_day: 4, to_day: 6 }
      const reason = yield* reasonOf(sql`insert into claim ${sql.insert(overlapping)}`)
      assert.strictEqual(reason._tag, "ConstraintError")
      assert.strictEqual(constraintOf(reason), "claim_overlap")
    })
    spec("reports invalid SQL, and a missing table, as syntax errors", function* (sql) {
      assert.strictEqual((yield* reasonOf(sql`selekt 1`))._tag, "SqlSyntaxError")
      assert.strictEqual((yield* reasonOf(sql`select * from nowhere`))._tag, "SqlSyntaxError")
    })
    spec("decodes a column by its new type after a schema change", function* (sql) {
      const read = sql`select * from van where id = ${1}`
      yield* sql`create table van (id integer primary key)`
      yield* sql`insert into van ${sql.insert({ id: 1 })}`
      for (let i = 0; i < 3; i++) assert.deepStrictEqual(yield* read, [{ id: 1 }])
      const altered = sql`alter table van add column ready boolean not null default true`
      const rolledBack = Effect.gen(function* () {
        yield* altered
        assert.deepStrictEqual(yield* read, [{ id: 1, ready: true }])
        return yield* Effect.fail("no")
      })
      yield* Effect.flip(sql.withTransaction(rolledBack))
      assert.deepStrictEqual(yield* read, [{ id: 1 }])
      yield* altered
      assert.deepStrictEqual(yield* read, [{ id: 1, ready: true }])
    })
    spec("streams more rows than fit one fetch, in order, and stops when its reader does", function* (sql) {
      yield* sql`create table line (id integer primary key, open boolean)`
      const lines = Arr.makeBy(1_203, (id) => ({ id, open: true }))
      yield* sql`insert into line ${sql.insert(lines)}`
      const stream = sql`select * from line where id >= ${0} order by id`.stream
      assert.deepStrictEqual(yield* Stream.runCollect(stream), lines)
      assert.deepStrictEqual(yield* sql.withTransaction(Stream.runCollect(stream)), lines)
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(stream, 2)), lines.slice(0, 2))
      const failure = yield* Effect.flip(Stream.runCollect(sql`select * from nowhere`.stream))
      assert.strictEqual(failure.reason._tag, "SqlSyntaxError")
      assert.deepStrictEqual(yield* sql`select count(*) as n from line`, [{ n: 1_203 }])
    })
    spec("rolls back a transaction that fails, dies or is interrupted", function* (sql) {
      yield* sql`create table entry (id integer primary key)`
      const write = (id: number) => sql`insert into entry ${sql.insert({ id })}`
      yield* Effect.exit(sql.withTransaction(Effect.andThen(write(1), Effect.fail("no"))))
      yield* Effect.exit(sql.withTransaction(Effect.andThen(write(2), Effect.die("bug"))))
      const written = yield* Deferred.make<void>()
      const hanging = Effect.andThen(write(3), Effect.andThen(Deferred.succeed(written, undefined), Effect.never))
      const fiber = yield* Effect.forkChild(sql.withTransaction(hanging))
      yield* Deferred.await(written)
      yield* Fiber.interrupt(fiber)
      yield* sql.withTransaction(write(4))
      assert.deepStrictEqual(yield* sql`select id from entry`, [{ id: 4 }])
    })
    spec("continues after a failed nested transaction, keeping the statements before and after", function* (sql) {
      yield* sql`create table step (id integer primary key)`
      const write = (id: number) => sql`insert into step ${sql.insert({ id })}`
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* write(1)
          const duplicate = sql.withTransaction(Effect.andThen(write(2), write(1)))
          assert.strictEqual((yield* reasonOf(duplicate))._tag, "UniqueViolation")
          yield* sql.withTransaction(write(3))
          yield* Effect.exit(sql.withTransaction(Effect.andThen(write(4), Effect.fail("no"))))
        })
      )
      assert.deepStrictEqual(yield* sql`select id from step order by id`, [{ id: 1 }, { id: 3 }])
    })
    spec("runs commit hooks only after a commit", function* (sql) {
      const said: Array<string> = []
      const say = (word: string) => sql.afterCommit(Effect.sync(() => said.push(word)))
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* say("kept")
          yield* Effect.exit(sql.withTransaction(Effect.andThen(say("taken back"), Effect.fail("no"))))
          assert.deepStrictEqual(said, [])
        })
      )
      yield* Effect.exit(sql.withTransaction(Effect.andThen(say("never"), Effect.fail("no"))))
      assert.deepStrictEqual(said, ["kept"])
    })
    spec("lets a fiber abandon its wait for a transaction, and admits the next one", function* (sql) {
      yield* sql`create table door (id integer primary key)`
      const inside = yield* Deferred.make<void>()
      const leave = yield* Deferred.make<void>()
      const busy = Effect.andThen(Deferred.succeed(inside, undefined), Deferred.await(leave))
      const tenTimes = Array.from({ length: 10 }, () => sql.withTransaction(busy))
      const holders = yield* Effect.forkChild(Effect.all(tenTimes, { concurrency: "unbounded" }))
      yield* Deferred.await(inside)
      const waiting = yield* Effect.forkChild(sql.withTransaction(sql`insert into door ${sql.insert({ id: 1 })}`))
      yield* Effect.yieldNow
      assert.isTrue(Exit.hasInterrupts(yield* Effect.andThen(Fiber.interrupt(waiting), Fiber.await(waiting))))
      yield* Deferred.succeed(leave, undefined)
      yield* Fiber.join(holders)
      yield* sql.withTransaction(sql`insert into door ${sql.insert({ id: 2 })}`)
      assert.deepStrictEqual(yield* sql`select id from door`, [{ id: 2 }])
    })
    spec("runs the statements of one transaction's fibers in sequence", function* (sql) {
      yield* sql`create table batch (id integer primary key)`
      const writes = Array.from({ length: 50 }, (_, id) => sql`insert into batch ${sql.insert({ id })}`)
      yield* sql.withTransaction(Effect.all(writes, { concurrency: "unbounded" }))
      assert.deepStrictEqual(yield* sql`select count(*) as n from batch`, [{ n: 50 }])
    })
    spec("loses no update of 200 transactions on 32 fibers", function* (sql) {
      yield* sql`create table counter (id integer primary key, n integer not null)`
      yield* sql`insert into counter ${sql.insert({ id: 1, n: 0 })}`
      const lock = sql.onDialectOrElse({ orElse: () => sql``, pg: () => sql`for update` })
      const add = (amount: number) =>
        sql.withTransaction(
          Effect.gen(function* () {
            const [row] = yield* sql<{ n: number }>`select n from counter where id = ${1} ${lock}`
            yield* Effect.yieldNow
            yield* sql`update counter set n = ${(row?.n ?? NaN) + amount} where id = ${1}`
          })
        )
      yield* Effect.forEach(
        Array.from({ length: 200 }, (_, i) => i + 1),
        add,
        { concurrency: 32 }
      )
      assert.deepStrictEqual(yield* sql`select n from counter`, [{ n: 20_100 }])
    })
  })
