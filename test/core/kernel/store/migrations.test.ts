/** Tables outside the journal that change between releases, with their rows. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type Catalogue, catalogueOf } from "../../../../core/kernel/endpoints/endpoint.ts"
import { integer, text } from "../../../../core/kernel/fields/field.ts"
import { ensureSchema } from "../../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { insert, plainTable } from "../../../../core/kernel/tables/table.ts"
import { addColumn, migrationsOf, type TableMigration } from "../../../../core/kernel/store/table-migration.ts"
import * as Postgres from "../../../../server/pg/client.ts"
import { startupErrorText } from "../../../../server/ports/startup-error.ts"
import * as Sqlite from "../../../../sync/sqlite/client.ts"
import { type Engine, both_engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"

const indexes = { indexes: [["bay"]], uniques: [{ columns: ["label"], field: "label", message: "Taken." }] }
const crates_1 = plainTable("crates", "key", { key: text(), label: text(), bay: text({ nullable: true }) }, indexes)
const crates_2 = plainTable(
  "crates",
  "key",
  { ...crates_1.columns, uses: integer(), weight: integer({ nullable: true }) },
  indexes
)
const crates_3 = plainTable("crates", "key", { ...crates_2.columns, colour: text() }, indexes)
const pallets = plainTable("pallets", "key", { key: text(), label: text() })

const counted: TableMigration = {
  id: 1,
  name: "uses_of_crates",
  table: crates_2,
  up: addColumn("crates", "uses", integer(), "length(label)")
}
const weighed: TableMigration = {
  id: 2,
  name: "weight_of_crates",
  table: crates_2,
  up: addColumn("crates", "weight", integer({ nullable: true }), "null")
}
const coloured: TableMigration = {
  id: 3,
  name: "colour_of_crates",
  table: crates_3,
  up: addColumn("crates", "colour", text(), "'grey'")
}
const palletised: TableMigration = {
  id: 4,
  name: "pallets_from_crates",
  table: pallets,
  from: "crates",
  up: ({ run }) => run("insert into pallets (key, label) select key, label from crates")
}
const first = catalogueOf([{ name: "depot", server_tables: [crates_1] }])
const second = catalogueOf([{ name: "depot", server_tables: [crates_2], migrations: [weighed, counted] }])
const third = catalogueOf([{ name: "depot", server_tables: [crates_3], migrations: [counted, weighed, coloured] }])
const fourth = catalogueOf([
  { name: "depot", server_tables: [crates_3], migrations: [counted, weighed, coloured] },
  { name: "yard", server_tables: [pallets], migrations: [palletised] }
])
const broken: TableMigration = {
  id: 4,
  name: "of_no_use",
  table: crates_3,
  up: (store) =>
    Effect.andThen(addColumn("crates", "half", integer(), "1")(store), store.run("update nothing set half = 2"))
}
const breaking = catalogueOf([
  { name: "depot", server_tables: [crates_3, pallets], migrations: [counted, weighed, coloured, broken] }
])

interface Place {
  readonly sql: () => Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>
  readonly drop: () => Promise<void>
}
const placeOn = async (engine: Engine): Promise<Place> => {
  if (engine === "pg") {
    const { drop, url } = await freshDatabase()
    return { sql: () => Postgres.layer({ url, max: 2 }), drop }
  }
  const folder = mkdtempSync(join(tmpdir(), "flightcase-migrations-"))
  return {
    sql: () => Sqlite.layer({ path: join(folder, "server.sqlite") }),
    drop: async () => rmSync(folder, { recursive: true })
  }
}

describe.each(both_engines)("a table outside the journal on %s", (engine) => {
  const places: Array<Place> = []
  beforeEach(async () => {
    places.push(await placeOn(engine))
  })
  afterEach(async () => {
    for (const place of places.splice(0)) await place.drop()
  })
  const run = async <A, E>(effect: Effect.Effect<A, E, Store>): Promise<A> => {
    const { sql } = places.at(-1) ?? expect.fail("no test is running")
    const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sql()))
    try {
      return await runtime.runPromise(effect)
    } finally {
      await runtime.dispose()
    }
  }
  const start = (catalogue: Catalogue) => run(ensureSchema(catalogue, "server"))
  const fill = Effect.flatMap(Store, (store) =>
    store.apply([
      insert(crates_1, { key: "a", label: "Dimmers", bay: "3" }),
      insert(crates_1, { key: "b", label: "Feet", bay: null })
    ])
  )
  const fillSecond = Effect.flatMap(Store, (store) =>
    store.apply([insert(crates_2, { key: "a", label: "Dimmers", bay: "3", uses: 9, weight: 12 })])
  )
  const rows = (table: string) =>
    Effect.flatMap(Store, (store) => store.run<any>(`select * from ${table} order by key`))
  const done = Effect.flatMap(Store, (store) =>
    Effect.map(
      store.run<{ id: number; name: string }>(
        "select migration_id as id, name from flightcase_migrations order by migration_id"
      ),
      (all) => all.map(({ id, name }) => `${Number(id)} ${name}`)
    )
  )
  /** The database's description of a table, with columns in any order. */
  const form = (table: string) =>
    Effect.flatMap(Store, (store) =>
      store.dialect === "pg"
        ? store.run<any>(
            `select column_name, data_type, collation_name, is_nullable, column_default from information_schema.columns where table_name = $1
             union all select indexdef, null, null, null, null from pg_indexes where tablename = $1 order by 1`,
            [table]
          )
        : store.run<any>(
            `select name, type, "notnull", dflt_value, pk from pragma_table_info(?1)
             union all select sql, null, null, null, null from sqlite_master where tbl_name = ?1 and type <> 'table' order by 1`,
            [table]
          )
    )

  it("is created in its present form, with its migrations marked as done", async () => {
    await start(third)
    expect(await run(done)).toEqual(["1 uses_of_crates", "2 weight_of_crates", "3 colour_of_crates"])
    expect(await run(rows("crates"))).toEqual([])
    await start(third)
    expect(await run(done)).toHaveLength(3)
  })
  it("is altered step by step across skipped releases, and equals a new one", async () => {
    await start(first)
    await run(fill)
    const as_made = await run(form("crates"))
    await start(second)
    expect(await run(rows("crates"))).toEqual([
      { key: "a", label: "Dimmers", bay: "3", uses: 7, weight: null },
      { key: "b", label: "Feet", bay: null, uses: 4, weight: null }
    ])
    await start(fourth)
    expect(await run(rows("crates"))).toEqual([
      { key: "a", label: "Dimmers", bay: "3", uses: 7, weight: null, colour: "grey" },
      { key: "b", label: "Feet", bay: null, uses: 4, weight: null, colour: "grey" }
    ])
    expect(await run(done)).toHaveLength(4)
    expect(await run(rows("pallets"))).toEqual([
      { key: "a", label: "Dimmers" },
      { key: "b", label: "Feet" }
    ])
    const upgraded = await run(form("crates"))
    places.push(await placeOn(engine))
    await start(fourth)
    expect(await run(form("crates"))).toEqual(upgraded)
    expect(upgraded.length).toBeGreaterThan(as_made.length)
    expect(await run(rows("pallets"))).toEqual([])
  })
  it("is unchanged if a migration fails, and tables that the failed start created are removed", async () => {
    await start(second)
    await run(fillSecond)
    const before = [await run(rows("crates")), await run(form("crates")), await run(done)]
    const failed = await run(Effect.flip(ensureSchema(breaking, "server")))
    expect(failed).toMatchObject({ _tag: "MigrationFailed" })
    expect(startupErrorText(failed, "the database")).toMatch(
      /^The database stays as it was: Migration 4_of_no_use failed \(.*nothing.*\)\. Nothing of it was lost; use the earlier release until this is mended\.$/
    )
    expect([await run(rows("crates")), await run(form("crates")), await run(done)]).toEqual(before)
    expect(await run(form("pallets"))).toEqual([])
    await start(second)
    await start(third)
    expect(await run(rows("crates"))).toMatchObject([{ colour: "grey" }])
  })
  it("is migrated once by processes that start together", async () => {
    await start(first)
    await run(fill)
    await Promise.all([start(third), start(third), start(third)])
    expect(await run(done)).toHaveLength(3)
    expect(await run(rows("crates"))).toMatchObject([{ uses: 7 }, { uses: 4 }])
  })
  it("is not opened by a release that lacks one of its migrations", async () => {
    await start(third)
    const refused = await run(Effect.flip(ensureSchema(second, "server")))
    expect(refused).toMatchObject({ _tag: "NewerSchema" })
    expect(refused.message).toBe(
      "A newer release altered this database (migration 3, colour_of_crates); this release knows 2. Use the newer release."
    )
    expect(await run(done)).toHaveLength(3)
  })
})

it("migrations with the same id are rejected", () => {
  expect(() => migrationsOf({ slices: [{ migrations: [counted] }, { migrations: [{ ...weighed, id: 1 }] }] })).toThrow(
    "two migrations have the id 1"
  )
})
