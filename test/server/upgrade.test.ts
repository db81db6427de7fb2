/**
 * Databases of earlier releases (test/fixtures/releases), and empty ones they created (test/fixtures/schema): this
 * release upgrades them to the schema of a fresh one, with all their rows.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import pg from "pg"
import { afterEach, describe, expect, it } from "vitest"
import { journal_tables } from "../../core/kernel/events/journal.ts"
import { nonProjectedTables } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Database } from "../../server/host/config.ts"
import * as Postgres from "../../server/pg/client.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { type Engine, both_engines } from "../app.ts"
import { readPacked, releases_folder, releasesIn, unpackFolder } from "../fixtures/kept/folders.ts"
import { partsOf } from "../fixtures/kept/schema.ts"
import { freshDatabase } from "../postgres.ts"
import { cleanUp, folderOfItsOwn } from "./process.ts"
import { clockAt, serve } from "./serving.ts"

const token = "owner-token-of-the-fixtures"
const schemas_folder = join(import.meta.dirname, "../fixtures/schema")
/** Responses stored for a day have not expired by then. */
const soon_after = Date.parse("2026-06-18T13:00:00.000Z")
const drops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const drop of drops.splice(0)) await drop()
  await cleanUp()
})

const emptyDatabase = async (engine: Engine): Promise<Database> => {
  if (engine === "sqlite") return { kind: "sqlite", path: join(await folderOfItsOwn(), "flightcase.sqlite") }
  const { drop, url } = await freshDatabase()
  drops.push(drop)
  return { kind: "pg", url, connections_max: 3 }
}
/** Runs an effect on a database without a server. */
const on = async <A, E>(database: Database, effect: Effect.Effect<A, E, Store>): Promise<A> => {
  const sql =
    database.kind === "pg" ? Postgres.layer({ url: database.url, max: 2 }) : Sqlite.layer({ path: database.path })
  const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sql))
  try {
    return await runtime.runPromise(effect)
  } finally {
    await runtime.dispose()
  }
}
/** Runs a script of several statements. */
const script = async (database: Database, text: string): Promise<void> => {
  if (database.kind === "pg") {
    const client = new pg.Client(database.url)
    await client.connect()
    await client.query(text).finally(() => client.end())
  } else {
    const { DatabaseSync } = await import("node:sqlite")
    const file = new DatabaseSync(database.path)
    file.exec(text)
    file.close()
  }
}
const rowsOf = (table: string) =>
  Effect.flatMap(Store, (store) => store.run<{ [column: string]: unknown }>(`select * from "${table}"`))
const tablesOf = Effect.flatMap(Store, (store) =>
  Effect.map(
    store.run<{ name: string }>(
      store.dialect === "pg"
        ? "select table_name as name from information_schema.tables where table_schema = 'public'"
        : "select name from sqlite_master where type = 'table'"
    ),
    (rows) => rows.map(({ name }) => name)
  )
)
const tablesOutside = async () => {
  const server = await serve("sqlite")
  await server.close()
  return nonProjectedTables(server.app.catalogue, "server")
}
const fresh_parts = new Map<Engine, ReadonlyArray<string>>()
const partsOfFresh = async (engine: Engine): Promise<ReadonlyArray<string>> => {
  const known = fresh_parts.get(engine)
  if (known !== undefined) return known
  const server = await serve(engine)
  const parts = await server.run(partsOf)
  await server.close()
  fresh_parts.set(engine, parts)
  return parts
}
/** Rows a server writes on its own: counters, and versions of caches. */
const goes_on = new Set(["flightcase_meta", "id_sequences", "number_sequences", "journal_head"])

describe.each(both_engines)("a database of an earlier release on %s", (engine) => {
  const left = releasesIn(releases_folder).filter(
    (release) => engine === "sqlite" || existsSync(join(releases_folder, release, "postgres.sql.gz"))
  )
  it("is in the fixtures for at least one release", () => expect(left).not.toEqual([]))

  it.each(left)("gets today's schema if it is from release %s, and keeps its rows readable", async (release) => {
    const kept = join(releases_folder, release)
    const database = await emptyDatabase(engine)
    if (database.kind === "pg") await script(database, readPacked(join(kept, "postgres.sql")).toString("utf8"))
    else unpackFolder(join(kept, "server"), join(database.path, ".."))
    const there = new Set(await on(database, tablesOf))
    const outside = (await tablesOutside()).filter(({ name }) => there.has(name))
    const before = new Map<string, ReadonlyArray<{ [column: string]: unknown }>>()
    for (const { name } of outside) before.set(name, await on(database, rowsOf(name)))
    for (const name of [
      "tokens",
      "replicas",
      "replica_verdicts",
      "id_leases",
      ...journal_tables.map((one) => one.name)
    ])
      expect(before.get(name)?.length, name).toBeGreaterThan(0)

    const server = await serve(engine, { database, owner_token: token, services: clockAt(() => soon_after) })
    expect(await server.run(partsOf)).toEqual(await partsOfFresh(engine))
    for (const table of outside.filter(({ name }) => !goes_on.has(name))) {
      const rows = before.get(table.name) ?? []
      // Older rows have no values in newer columns.
      const columns = Object.keys(rows[0] ?? {})
      const now_there = await server.run(rowsOf(table.name))
      const held = new Set(now_there.map((row) => JSON.stringify(columns.map((name) => row[name]))))
      expect(
        rows.filter((row) => !held.has(JSON.stringify(columns.map((name) => row[name])))),
        table.name
      ).toEqual([])
      expect((await server.run(Effect.flatMap(Store, (store) => store.find(table, {})))).length).toBe(now_there.length)
    }
    const { body } = await server.ask("/api/v1/tokens", { token })
    expect(body.tokens.map(({ name }) => name)).toContain("First owner")
    await server.close()
  })

  it.each(releasesIn(schemas_folder))(
    "gets today's schema if it is from release %s and has no rows",
    async (release) => {
      const database = await emptyDatabase(engine)
      const dump = readFileSync(join(schemas_folder, release, `${engine}.sql`), "utf8")
      const outside = new Set((await tablesOutside()).map(({ name }) => name))
      const folded = [...dump.matchAll(/^create table "?(\w+)"?/gim)]
        .flatMap(([, name]) => name ?? [])
        .filter((name) => !outside.has(name))
        .map((name) => `create table "${name}"`)
      await script(
        database,
        `${dump}; insert into flightcase_meta values ('schema_version', '2'), ('tables', '${folded.join(";")}'); ` +
          "insert into journal_head (id, position) values (1, 0)"
      )
      const server = await serve(engine, { database })
      expect(await server.run(partsOf)).toEqual(await partsOfFresh(engine))
      await server.close()
    }
  )
})
