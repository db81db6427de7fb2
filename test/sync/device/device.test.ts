/** Devices over real HTTP: enrolled, cut off, working, reconciled. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp } from "../../../server/app.ts"
import { type Listening, listenOn } from "../../../server/http.ts"
import { enrolDevice, openDevice, type Device, Unreachable } from "../../../sync/device/device.ts"
import { type Engine, engines } from "../../app.ts"
import { freshDatabase } from "../../postgres.ts"
import { Effect, Layer, ManagedRuntime } from "effect"
import { layer as sqliteLayer } from "../../../sync/sqlite/client.ts"
import { silentLog } from "../../../server/log.ts"
import { described, startedServer } from "../../server/serving.ts"

const token = "owner-token-of-the-tests"

interface Server {
  readonly app: ServerApp
  readonly url: string
  readonly stop: () => Promise<void>
}
const startServer = async (engine: Engine, folder: string, database: string | undefined, port = 0): Promise<Server> => {
  const app = described(
    await openServerApp({
      database:
        database === undefined
          ? { kind: "sqlite", path: join(folder, "server.sqlite") }
          : { kind: "pg", url: database, connections_max: 5 },
      key: "key-of-the-tests-which-is-long",
      owner_token: token,
      rate_limit: 1_000_000
    })
  )
  const listening: Listening = await listenOn({ host: "127.0.0.1", port, log: silentLog, answer: app.answer })
  return {
    app,
    url: listening.url,
    stop: async () => {
      await listening.stop(1_000)
      await app.close()
    }
  }
}

describe.each(engines)("a device and a server on %s", (engine) => {
  let folder: string, server: Server, database: Awaited<ReturnType<typeof freshDatabase>> | undefined
  const devices: Array<Device> = []
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-device-"))
    database = engine === "pg" ? await freshDatabase(startedServer) : undefined
    server = await startServer(engine, folder, database?.url)
  })
  afterEach(async () => {
    for (const device of devices.splice(0)) await device.close()
    await server.stop()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })
  const enrol = async (name: string): Promise<Device> => {
    const device = await enrolDevice(join(folder, name), { name, url: server.url, token, device: name })
    devices.push(device)
    return device
  }
  const onServer = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> => {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }
  const tablesOf = async (run: <A>(effect: Effect.Effect<A, unknown, Store>) => Promise<A>) =>
    run(
      Effect.gen(function* () {
        const store = yield* Store
        const dump: { [table: string]: unknown } = {}
        for (const table of catalogue.tables) dump[table.name] = yield* store.find(table, {})
        return dump
      })
    )
  const replicaTables = async (name: string) => {
    const runtime = ManagedRuntime.make(
      Layer.provide(Store.layer, sqliteLayer({ path: join(folder, name, "replica.sqlite") }))
    )
    try {
      return await tablesOf((effect) => runtime.runPromise(effect))
    } finally {
      await runtime.dispose()
    }
  }

  it("holds the same rows as the server once enrolled", async () => {
    await onServer("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    const device = await enrol("one")
    const found = await device.ask({
      method: "GET",
      path: "/api/v1/products",
      query: [["q[sku_eq]", "SP-1"]],
      body: undefined
    })
    expect(found.body).toMatchObject({ products: [{ name: "Speaker" }], meta: { total: 1 } })
    expect(await replicaTables("one")).toEqual(await tablesOf(server.app.run))
  })

  it("works while the server is gone; what can stand is accepted, what cannot is shown with the API's own error", async () => {
    const {
      body: { product }
    } = await onServer("POST", "/api/v1/products", { name: "Moving head", stock_method: 2 })
    const device = await enrol("one")
    const url = new URL(server.url)
    await server.stop()
    const write = (method: string, path: string, body: any) => device.ask({ method, path, query: [], body })
    const mine = await write("POST", "/api/v1/stock_levels", {
      product_id: product.id,
      store_id: 1,
      asset_number: "MH-1"
    })
    expect(mine).toMatchObject({ status: 201 })
    expect(mine.command?.n).toBe(1)
    const group = await write("POST", "/api/v1/product_groups", { name: "Lighting" })
    const groupId = (group.body as any).product_group.id
    expect(
      (await write("PUT", `/api/v1/products/${product.id}`, { product_group_id: groupId, name: "Moving head 250" }))
        .status
    ).toBe(200)
    expect((await write("POST", "/api/v1/products", { name: "" })).status).toBe(422)
    await expect(device.sync()).rejects.toBeInstanceOf(Unreachable)
    expect(await device.status()).toMatchObject({ pending: 3, conflicts: 0 })
    expect(
      (await device.ask({ method: "GET", path: `/api/v1/products/${product.id}`, query: [], body: undefined })).body
    ).toMatchObject({ product: { name: "Moving head 250", product_group_name: "Lighting" } })

    server = await startServer(engine, folder, database?.url, Number(url.port))
    await onServer("POST", "/api/v1/stock_levels", { product_id: product.id, store_id: 1, asset_number: "MH-1" })
    const report = await device.sync()
    expect(report).toMatchObject({ sent: 3, accepted: 2, rejected: 1, pending: 0, conflicts: 1 })
    const [conflict] = await device.conflicts()
    expect(conflict).toMatchObject({
      name: "stock_levels.create",
      error: { status: 422, errors: { asset_number: [expect.any(String)] } }
    })
    expect((await onServer("GET", `/api/v1/products/${product.id}`)).body.product).toMatchObject({
      name: "Moving head 250",
      product_group_id: groupId
    })
    expect(await replicaTables("one")).toEqual(await tablesOf(server.app.run))

    const amended = await device.resolve(conflict!.id, {
      amend: { product_id: product.id, store_id: 1, asset_number: "MH-2" }
    })
    expect(amended.status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: 1, rejected: 0, conflicts: 0 })
    expect(await replicaTables("one")).toEqual(await tablesOf(server.app.run))
  })

  it("a second enrolment into one folder is refused, and what an unfinished one left is cleared away", async () => {
    const device = await enrol("one")
    await expect(
      enrolDevice(join(folder, "one"), { name: "one", url: server.url, token, device: "again" })
    ).rejects.toThrow("holds a device already")
    await device.close()
    devices.splice(0)
    rmSync(join(folder, "one", "profile.json"))
    const again = await enrol("one")
    expect(
      (await again.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name: "Audio" } })).status
    ).toBe(201)
    expect(await again.sync()).toMatchObject({ accepted: 1, rejected: 0 })
  })

  it("a revoked device is told so, and keeps its unsent commands", async () => {
    const device = await enrol("one")
    await device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name: "Audio" } })
    expect((await onServer("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`)).status).toBe(204)
    await expect(device.sync()).rejects.toMatchObject({ status: 403 })
    expect(await device.status()).toMatchObject({ pending: 1 })
  })

  it("two processes on one folder lose no command of either", async () => {
    const first = await enrol("one")
    const second = await openDevice(join(folder, "one"))
    devices.push(second)
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? first : second).ask({
          method: "POST",
          path: "/api/v1/product_groups",
          query: [],
          body: { name: `Group ${at}` }
        })
      )
    )
    expect(await first.sync()).toMatchObject({ sent: 20, accepted: 20, rejected: 0, pending: 0 })
    expect((await onServer("GET", "/api/v1/product_groups")).body.meta.total).toBe(20)
    expect(await replicaTables("one")).toEqual(await tablesOf(server.app.run))
  })

  it("examination finds a tampered row and folds it again", async () => {
    const device = await enrol("one")
    const runtime = ManagedRuntime.make(
      Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "one", "replica.sqlite") }))
    )
    await runtime.runPromise(Effect.flatMap(Store, (store) => store.run("update stores set name = 'Tampered'")))
    await runtime.dispose()
    expect((await device.doctor(false)).find((one) => one.check === "tables against journal")).toMatchObject({
      ok: false
    })
    expect((await device.doctor(true)).find((one) => one.check === "tables against journal")).toMatchObject({
      ok: false
    })
    expect((await device.doctor(false)).every((one) => one.ok)).toBe(true)
  })
})
