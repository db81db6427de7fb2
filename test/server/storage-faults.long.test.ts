/** A locked or full database: reads are answered, and writes wait or are refused with the reason. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import { Effect } from "effect"
import { Store } from "../../core/kernel/store/store.ts"
import { pgError } from "../../server/pg/connection.ts"
import { storageFailureOf } from "../../server/ports/storage-fault.ts"
import type { Database } from "../../server/host/config.ts"
import { type Engine, engines } from "../app.ts"
import { type FreshDatabase, freshDatabase } from "../postgres.ts"
import { cleanUp, folderOfItsOwn } from "./process.ts"
import { type Got, serve, type Serving } from "./serving.ts"
import { share } from "../share.ts"

afterAll(cleanUp)

interface Held {
  readonly server: Serving
  /** Locks what every writer needs, as from a database console; returns the function that unlocks it. */
  readonly hold: () => Promise<() => Promise<void>>
  readonly database: FreshDatabase | undefined
}
const opened = async (engine: Engine, lock_timeout_ms: number): Promise<Held> => {
  if (engine === "pg") {
    const database = await freshDatabase()
    onTestFinished(() => database.drop())
    const server = await serve("sqlite", {
      database: { kind: "pg", url: database.url, connections_max: 4, lock_timeout_ms }
    })
    onTestFinished(() => server.close())
    return {
      server,
      database,
      hold: () => holding(database, "select position from journal_head where id = 1 for update")
    }
  }
  const path = join(await folderOfItsOwn(), "held.sqlite")
  const server = await serve("sqlite", { database: { kind: "sqlite", path, lock_timeout_ms } })
  onTestFinished(() => server.close())
  return {
    server,
    database: undefined,
    hold: async () => {
      const other = new DatabaseSync(path)
      other.exec("begin immediate")
      return async () => other.close()
    }
  }
}
const holding = async (database: FreshDatabase, statement: string): Promise<() => Promise<void>> => {
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query("begin")
  await client.query(statement)
  return () => client.end()
}
const health = (server: Serving): Promise<Got> => server.ask("/api/v1/system/health", { token: null })
const makeProduct = (server: Serving, name: string): Promise<Got> => server.ask("/api/v1/products", { json: { name } })

describe.each(share(engines))("a lock held by another connection on %s", (engine) => {
  it("keeps writers waiting, but neither readers nor health", async () => {
    const { server, hold } = await opened(engine, 600_000)
    await makeProduct(server, "Lamp")
    const letGo = await hold()
    let answered = 0
    // More requests than connections.
    const writing = Array.from({ length: 12 }, (_, at) =>
      makeProduct(server, `Held ${at}`).finally(() => {
        answered++
      })
    )
    // Longer than caches are used without asking the database.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    for (let times = 0; times < 6; times++) {
      expect(await server.ask("/api/v1/products")).toMatchObject({ status: 200, body: { meta: { total: 1 } } })
      expect(await health(server)).toMatchObject({ status: 200, body: { health: { status: "ok" } } })
    }
    expect(answered).toBe(0)
    await letGo()
    expect((await Promise.all(writing)).map(({ status }) => status)).toEqual(writing.map(() => 201))
  })
  it("makes a write answer 503 without recording it, and the same request succeeds once the lock is released", async () => {
    const { server, hold } = await opened(engine, 100)
    const letGo = await hold()
    const sent = { json: { name: "Lamp" }, headers: { "idempotency-key": "one" } }
    for (const request of [{ json: { name: "Lamp" } }, sent]) {
      const refused = await server.ask("/api/v1/products", request)
      expect(refused).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^\d+$/) } })
    }
    await letGo()
    expect((await server.ask("/api/v1/products", sent)).status).toBe(201)
    expect((await server.ask("/api/v1/products")).body.meta.total).toBe(1)
  })
})

describe("health on Postgres", () => {
  it("answers while every connection waits for a table", async () => {
    const { server, database } = await opened("pg", 600_000)
    const letGo = await holding(database!, "lock table products in access exclusive mode")
    const waiting = Array.from({ length: 12 }, () => server.ask("/api/v1/products"))
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect(await health(server)).toMatchObject({ status: 200, body: { health: { status: "ok" } } })
    await letGo()
    for (const got of await Promise.all(waiting)) expect(got.status).toBe(200)
  })
  it("reports a database whose journal head is locked as unavailable, and its return", async () => {
    const { server, database } = await opened("pg", 600_000)
    const letGo = await holding(database!, "lock table journal_head in access exclusive mode")
    expect(await health(server)).toMatchObject({
      status: 503,
      body: { health: { status: "unavailable", reason: "database" } }
    })
    await letGo()
    expect(await health(server)).toMatchObject({ status: 200, body: { health: { status: "ok" } } })
  })
  it("reports a read-only database, and reads continue", async () => {
    const { server, database } = await opened("pg", 600_000)
    const name = new URL(database!.url).pathname.slice(1)
    const admin = new pg.Client(database!.url)
    await admin.connect()
    const setReadOnly = async (value: "on" | "off"): Promise<void> => {
      await admin.query(`alter database ${name} set default_transaction_read_only = ${value}`)
      // Existing connections keep their earlier setting.
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
      )
    }
    await setReadOnly("on")
    // A closed connection is noticed on its next use.
    await expect
      .poll(() => makeProduct(server, "Refused"), { timeout: 20_000 })
      .toMatchObject({
        status: 503,
        headers: { "retry-after": "30" },
        body: { message: expect.stringMatching(/read-only/) }
      })
    expect(await health(server)).toMatchObject({
      status: 503,
      body: { health: { status: "degraded", reason: "read_only" } }
    })
    expect((await server.ask("/api/v1/products")).status).toBe(200)
    await admin.query("set default_transaction_read_only = off")
    await setReadOnly("off")
    await admin.end()
    await expect.poll(async () => (await health(server)).body.health.status, { timeout: 20_000 }).toBe("ok")
    expect((await makeProduct(server, "Lamp")).status).toBe(201)
  })
  it.each([
    ["53100", "full"],
    ["25006", "read_only"],
    ["58030", "failing"],
    ["23505", undefined],
    ["57014", undefined]
  ])("classifies SQLSTATE %s as %s", (code, failure) => {
    const cause = Object.assign(new pg.DatabaseError("said", 4, "error"), { code })
    expect(storageFailureOf(pgError(cause, "query"))).toBe(failure)
  })
})

describe("a server whose SQLite disk is full", () => {
  const full = async (): Promise<{
    readonly server: Serving
    readonly setPages: (count: number) => Promise<void>
    readonly path: string
  }> => {
    const path = join(await folderOfItsOwn(), "full.sqlite")
    const database: Database = { kind: "sqlite", path }
    const server = await serve("sqlite", { database })
    onTestFinished(() => server.close())
    // Limits the file's size, which SQLite reports like a full disk.
    const setPages = (count: number): Promise<void> =>
      server.run(Effect.flatMap(Store, (store) => Effect.asVoid(store.run(`pragma max_page_count = ${count}`))))
    return { server, setPages, path }
  }
  it("refuses writes with 503 and the reason, keeps acknowledged ones, and accepts writes once there is space", async () => {
    const { server, setPages, path } = await full()
    const acknowledged: Array<string> = []
    await setPages(1)
    let refused: Got | undefined
    for (let at = 0; refused === undefined && at < 5_000; at++) {
      const name = `Lamp ${at} ${"x".repeat(200)}`
      const got = await makeProduct(server, name)
      if (got.status === 201) acknowledged.push(name)
      else refused = got
    }
    expect(refused).toMatchObject({
      status: 503,
      headers: { "retry-after": "30" },
      body: { message: expect.stringMatching(/disk .*full/) }
    })
    expect(await health(server)).toMatchObject({
      status: 503,
      body: {
        message: expect.stringMatching(/full/),
        health: { status: "degraded", reason: "full", database: "sqlite" }
      }
    })
    const listed = await server.ask("/api/v1/products?per_page=1")
    expect([listed.status, listed.body.meta.total]).toEqual([200, acknowledged.length])
    await setPages(1_000_000)
    expect(await health(server)).toMatchObject({ status: 200, body: { health: { status: "ok" } } })
    const last = await makeProduct(server, "The last lamp")
    expect(last.status).toBe(201)
    const other = new DatabaseSync(path, { readOnly: true })
    const kept = other
      .prepare("select name from products order by id")
      .all()
      .map((row) => row["name"])
    other.close()
    expect(kept).toEqual([...acknowledged, "The last lamp"])
  })
  it("reports healthy after the first successful write", async () => {
    const { server, setPages } = await full()
    await setPages(1)
    while ((await makeProduct(server, "x".repeat(200))).status === 201);
    await setPages(1_000_000)
    expect((await makeProduct(server, "Lamp")).status).toBe(201)
    expect((await health(server)).status).toBe(200)
  })
})
