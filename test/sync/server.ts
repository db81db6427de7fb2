/** A server on a socket with devices of its own, for tests of what goes on between them. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { catalogue } from "../../core/catalogue.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/app.ts"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { type Device, enrolDevice } from "../../sync/device/device.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import type { Engine } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { Effect, Layer, ManagedRuntime } from "effect"
import { described, startedServer } from "../server/serving.ts"
import { type Ask, askBelow, type LetIn, type LetInWith, lettingIn } from "./people.ts"

export const token = "owner-token-of-the-tests"
export const server_key = "key-of-the-tests-which-is-long"

export interface DeviceTestServer {
  /** Holds the devices' folders. */
  readonly folder: string
  readonly url: () => string
  readonly app: () => ServerApp
  /** The server goes away, and comes back at the same address with all it had. */
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  readonly enrol: (name: string, as?: string) => Promise<Device>
  /** Closed with the grounds. */
  readonly keep: (device: Device) => Device
  /** Asks the server over HTTP, as the owner unless said. */
  readonly ask: Ask
  readonly letIn: LetIn
  readonly letInWith: LetInWith
  readonly serverTables: () => Promise<unknown>
  readonly replicaTables: (name: string) => Promise<unknown>
  readonly close: () => Promise<void>
}

export const openDeviceTestServer = async (
  engine: Engine = "sqlite",
  options: Partial<ServerOptions> = {}
): Promise<DeviceTestServer> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-grounds-"))
  const database = engine === "pg" ? await freshDatabase(startedServer) : undefined
  let app: ServerApp | undefined,
    listening: Listening | undefined,
    port = 0
  const devices: Array<Device> = []
  const start = async (): Promise<void> => {
    app = described(
      await openServerApp({
        database:
          database === undefined
            ? { kind: "sqlite", path: join(folder, "server.sqlite") }
            : { kind: "pg", url: database.url, connections_max: 5 },
        key: server_key,
        owner_token: token,
        rate_limit: 1_000_000,
        ...options
      })
    )
    listening = await listenOn({ host: "127.0.0.1", port, log: silentLog, answer: app.answer })
    port = Number(new URL(listening.url).port)
  }
  const stop = async (): Promise<void> => {
    await listening?.stop(1_000)
    await app?.close()
    listening = app = undefined
  }
  await start()
  const url = (): string => `http://127.0.0.1:${port}`
  const dump = Effect.gen(function* () {
    const store = yield* Store
    const tables: { [table: string]: unknown } = {}
    for (const table of catalogue.tables) tables[table.name] = yield* store.find(table, {})
    return tables
  })
  const keep = (device: Device): Device => {
    devices.push(device)
    return device
  }
  const ask = askBelow(url, token)
  return {
    folder,
    url,
    stop,
    start,
    keep,
    app: () => app!,
    enrol: async (name, as = token) =>
      keep(await enrolDevice(join(folder, name), { name, url: url(), token: as, device: name })),
    ask,
    ...lettingIn((method, path, ...rest) => ask(method, `/api/v1/${path}`, ...rest)),
    serverTables: () => app!.run(dump),
    replicaTables: async (name) => {
      const runtime = ManagedRuntime.make(
        Layer.provide(Store.layer, sqliteLayer({ path: join(folder, name, "replica.sqlite") }))
      )
      try {
        return await runtime.runPromise(dump)
      } finally {
        await runtime.dispose()
      }
    },
    close: async () => {
      for (const device of devices) await device.close()
      await stop()
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
