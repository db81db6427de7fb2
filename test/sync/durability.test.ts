/** What a power cut may take from a replica: never more than the outbox gives back. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { Effect, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { afterEach, describe, expect, it } from "vitest"
import { openDevice } from "../../sync/device/device.ts"
import { Durability, layer } from "../../sync/sqlite/client.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

const [FULL, NORMAL] = [2, 1]

describe("a transaction of a SQLite client", () => {
  const within = async <A>(effect: Effect.Effect<A, unknown, SqlClient.SqlClient>): Promise<A> => {
    const folder = mkdtempSync(join(tmpdir(), "flightcase-durability-"))
    const runtime = ManagedRuntime.make(layer({ path: join(folder, "some.sqlite") }))
    try {
      return await runtime.runPromise(effect)
    } finally {
      await runtime.dispose()
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const level = Effect.gen(function* () {
    return (yield* (yield* SqlClient.SqlClient).unsafe<{ synchronous: number }>("pragma synchronous"))[0]!.synchronous
  })
  it("that may be lost in a power cut is so alone: what comes before and after is on disk", async () => {
    const seen = await within(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const unhurried = Effect.provideService(Durability, "normal")
        const before = yield* level
        const inside = yield* unhurried(sql.withTransaction(level))
        const next = yield* sql.withTransaction(level)
        yield* unhurried(sql.withTransaction(Effect.andThen(level, Effect.fail("given up")))).pipe(Effect.ignore)
        return { before, inside, next, after_failing: yield* level }
      })
    )
    expect(seen).toEqual({ before: FULL, inside: NORMAL, next: FULL, after_failing: FULL })
  })
})

describe("a replica that lost its last commits in a power cut", () => {
  let test_server: DeviceTestServer | undefined
  afterEach(async () => {
    await test_server?.close()
    test_server = undefined
  })
  /** Files of one kind as a power cut leaves them: what SQLite shares between processes is gone with the memory. */
  const leftOf = (kind: string, folder: string, to: string): void => {
    for (const name of readdirSync(folder))
      if (name.startsWith(kind) && !name.endsWith("-shm")) copyFileSync(join(folder, name), join(to, name))
  }

  it("runs what the outbox acknowledged again on opening, and reconciles as if nothing had been", async () => {
    test_server = await openDeviceTestServer()
    const device = await test_server.enrol("van")
    const folder = join(test_server.folder, "van"),
      left = mkdtempSync(join(test_server.folder, "left-"))
    await test_server.stop()
    const told = (name: string) =>
      device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name } })
    await told("Before")
    leftOf("replica.sqlite", folder, left)
    const made = await told("Lamps")
    const { product_group } = made.body as { readonly product_group: { readonly id: number } }
    await device.ask({
      method: "PUT",
      path: `/api/v1/product_groups/${product_group.id}`,
      query: [],
      body: { name: "Moving lamps" }
    })
    for (const kind of ["outbox.sqlite", "profile.json"]) leftOf(kind, folder, left)

    const again = test_server.keep(await openDevice(left))
    const shown = await again.ask({
      method: "GET",
      path: `/api/v1/product_groups/${product_group.id}`,
      query: [],
      body: undefined
    })
    expect(shown.body).toMatchObject({ product_group: { name: "Moving lamps" } })
    await test_server.start()
    expect(await again.sync()).toMatchObject({ accepted: 3, rejected: 0, pending: 0 })
    expect(await test_server.replicaTables(basename(left))).toEqual(await test_server.serverTables())
  })
})
