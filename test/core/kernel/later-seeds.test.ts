/** Reference data added after a database was created: inserted once at the next start, on every installation. */
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { advanceIdSequence } from "../../../core/kernel/runtime/ids.ts"
import { createdEvent } from "../../../core/kernel/endpoints/crud-resource.ts"
import { rebuild } from "../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { currencies } from "../../../core/setup/reference-data/currencies.ts"
import { cost_groups } from "../../../core/setup/reference-data/tax.ts"
import { currencies as known } from "../../../core/values/money.ts"
import { openServerApp, type ServerApp } from "../../../server/host/app.ts"
import type { ServerSlice } from "../../../server/ports/server-slice.ts"
import { both_engines, type Engine } from "../../app.ts"
import { freshDatabase } from "../../postgres.ts"
import { type OwnDatabase, owner_token, startedDatabase, tests_key } from "../../server/serving.ts"
import { copyOfImage } from "../../sqlite-image.ts"

const later: ServerSlice = {
  name: "later",
  seed: () => [],
  later_seeds: [
    () =>
      Effect.succeed(
        ["Insurance", "Storage"].map((name, at) => createdEvent(cost_groups, { id: 900 + at, name, description: null }))
      )
  ]
}

const emptyDatabase = async (engine: Engine): Promise<OwnDatabase> => {
  if (engine === "pg") {
    const { drop, url } = await freshDatabase()
    return { database: { kind: "pg", url, connections_max: 5 }, drop }
  }
  const { path, remove } = await copyOfImage({ name: "empty", prepare: async (path) => writeFileSync(path, "") })
  return { database: { kind: "sqlite", path }, drop: async () => remove() }
}

describe.each(both_engines)("a database on %s that is older than some seed data", (engine) => {
  let own: OwnDatabase
  const apps: Array<ServerApp> = []
  beforeEach(async () => {
    own = await startedDatabase(engine)
  })
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
    await own.drop()
  })
  const start = async (slices: ReadonlyArray<ServerSlice> = []): Promise<ServerApp> => {
    const { database } = own
    const app = await openServerApp({ database, key: tests_key, owner_token, rate_limit: 1_000_000, slices })
    apps.push(app)
    return app
  }
  const stop = async (): Promise<void> => {
    for (const app of apps.splice(0)) await app.close()
  }
  const rows = (app: ServerApp, table: string) =>
    app.run(Effect.flatMap(Store, (store) => store.run<any>(`select * from ${table} order by id`)))
  const journal = (app: ServerApp) =>
    app.run(
      Effect.flatMap(Store, (store) =>
        store.run<{ stream: string; type: string; version: number }>(
          "select stream, type, version from journal order by position"
        )
      )
    )
  /** Removes the views and their events, as if a release without views had written the database. */
  const forgetViews = (app: ServerApp) =>
    app.run(
      Effect.gen(function* () {
        const store = yield* Store
        const [{ least, count }] = (yield* store.run<any>(
          "select min(position) as least, count(*) as count from journal where type = 'custom_view.created'"
        )) as [any]
        yield* store.run("delete from journal where type = 'custom_view.created'")
        yield* store.run(`update journal set position = -(position - ${count}) where position >= ${least}`)
        yield* store.run("update journal set position = -position where position < 0")
        yield* store.run(`update journal_head set position = position - ${count}`)
        yield* rebuild(app.catalogue)
        yield* store.run(
          engine === "pg"
            ? "select setval('ids_custom_views', 1, false)"
            : "update id_sequences set next = 1 where name = 'custom_views'"
        )
      })
    )

  it("gets the system views at its next start with their fixed ids, and only once", async () => {
    const first = await start()
    const before = await rows(first, "custom_views")
    expect(before.length).toBeGreaterThan(10)
    await forgetViews(first)
    expect(await rows(first, "custom_views")).toEqual([])
    await stop()
    const second = await start()
    const after = await rows(second, "custom_views")
    expect(after.map(({ id, name, entity_type, visibility }) => ({ id, name, entity_type, visibility }))).toEqual(
      before.map(({ id, name, entity_type, visibility }) => ({ id, name, entity_type, visibility }))
    )
    const events = await journal(second)
    await stop()
    const third = await start()
    expect(await journal(third)).toEqual(events)
    await third.run(rebuild(third.catalogue))
    expect(await rows(third, "custom_views")).toEqual(after)
  })

  it("gives the system views later ids if their fixed ids are taken", async () => {
    const first = await start()
    const names = (await rows(first, "custom_views")).map((view) => view.name)
    await forgetViews(first)
    // Three ids used by users or leased to devices.
    await first.run(advanceIdSequence("custom_views", 4))
    await stop()
    const second = await start()
    const after = await rows(second, "custom_views")
    expect(after.map((view) => view.name)).toEqual(names)
    expect(after[0].id).toBe(4)
    expect(
      (await journal(second)).filter((event) => event.type === "custom_view.created").map((event) => event.stream)
    ).toEqual(after.map((view) => `custom_view:${view.id}`))
  })

  it("gets a later release's seed rows once, even if two servers start together, and not again once deleted", async () => {
    await start()
    await stop()
    const both = await Promise.all(engine === "pg" ? [start([later]), start([later])] : [start([later])])
    const added = async () =>
      (await rows(both[0]!, "cost_groups")).filter((group) => ["Insurance", "Storage"].includes(group.name))
    expect((await added()).map((group) => group.name)).toEqual(["Insurance", "Storage"])
    const [insurance] = await added()
    // Free ids, not those of the seed in an empty database.
    expect(insurance.id).toBeLessThan(900)
    const deleted = await both[0]!.ask({
      method: "DELETE",
      target: `/api/v1/cost_groups/${insurance.id}`,
      headers: { authorization: "Bearer owner-token-of-the-tests" },
      remote_address: "127.0.0.1",
      body: () => Promise.resolve(new Uint8Array())
    })
    expect(deleted.status).toBe(204)
    await stop()
    both[0] = await start([later])
    expect((await added()).filter((group) => group.deleted_at === null).map((group) => group.name)).toEqual(["Storage"])
  })

  it("gets all seed data at once if it is empty", async () => {
    await own.drop()
    own = await emptyDatabase(engine)
    const app = await start([later])
    expect(
      (await rows(app, "cost_groups")).filter((group) => group.id >= 900).map((group) => [group.id, group.name])
    ).toEqual([
      [900, "Insurance"],
      [901, "Storage"]
    ])
    const events = await journal(app)
    await stop()
    expect(await journal(await start([later]))).toEqual(events)
  })

  it("keeps an existing row that has the code of a seed row", async () => {
    const later_currencies: ServerSlice = {
      name: "later_currencies",
      later_seeds: [
        () =>
          Effect.succeed([
            createdEvent(currencies, { ...known[0]!, id: 800, code: "GBP", name: "Twice" }),
            createdEvent(currencies, { ...known[0]!, id: 801, code: "XTS", name: "Test" })
          ])
      ]
    }
    await start()
    await stop()
    const app = await start([later_currencies])
    expect(
      (await rows(app, "currencies")).filter((one) => ["GBP", "XTS"].includes(one.code)).map((one) => one.name)
    ).toEqual([expect.stringMatching(/Pound/i), "Test"])
  })
})
