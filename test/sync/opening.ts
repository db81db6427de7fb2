/** A server on a socket and the devices enrolled with it: what tests of sync open, and what they ask of both. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer, ManagedRuntime } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest"
import type { Json, JsonObject } from "../../core/kernel/fields/field.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/host/app.ts"
import type { Database } from "../../server/host/config.ts"
import { type Listening, listenOn } from "../../server/host/http.ts"
import { silentLog } from "../../server/ports/log.ts"
import type { importBundle } from "../../sync/device/bundle.ts"
import { type Device, enrolDevice, openDevice } from "../../sync/device/device.ts"
import type { WireCommand } from "../../sync/protocol/wire.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import type { Engine } from "../app.ts"
import { bodyRead } from "../answers.ts"
import { type Answer, type Person, rentalHouse, type RentalHouse } from "../rental-house.ts"
import { askOf, described, owner_token, sharedRenderer, startedDatabase, tests_key } from "../server/serving.ts"
import {
  type DeviceAnswer,
  type Dump,
  dump,
  type Hooks,
  type InspectedDevice,
  inspectedDevice
} from "./inspected-device.ts"

export const token = owner_token

/** A command as a device sends it. */
export const wireCommand = (
  n: number,
  id: string,
  name: string,
  body: object,
  { files, params = {}, ...more }: Partial<WireCommand> & Partial<Pick<WireCommand["payload"], "files" | "params">> = {}
): WireCommand => ({
  ...{ n, id, name, ids: {}, issued_at: "2026-06-18T12:00:00.000Z" },
  payload: { params, body: body as JsonObject, ...(files === undefined ? {} : { files }) },
  ...more
})

/** A real device, called like a server: `device.post("/products", {…})`. */
export type TestDevice = Device &
  Omit<RentalHouse<unknown, DeviceAnswer>, keyof Device> & {
    readonly folder: string
    readonly tables: () => Promise<Dump>
  }

/** The server, called by default as the owner. */
export interface TestServer extends RentalHouse<string> {
  /** Holds the devices' folders. */
  readonly folder: string
  readonly url: () => string
  readonly app: () => ServerApp
  readonly run: ServerApp["run"]
  /** Where its rows are. */
  readonly database: Database
  readonly tables: () => Promise<Dump>
  /** The server goes away, and comes back at the same address with all it had. */
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  /** The person's role permits just this from now on. */
  readonly grant: (person: Person, permissions: ReadonlyArray<string>) => Promise<unknown>
  readonly enrol: (name?: string, as?: string) => Promise<TestDevice>
  /** Opens the folder of a device, as another process does. */
  readonly reopen: (name: string) => Promise<TestDevice>
  /** A device whose steps a test can look into; it knows nothing yet. */
  readonly inspected: (hooks?: Hooks, as?: string, name?: string) => Promise<InspectedDevice>
  /** The same, synced. */
  readonly filled: TestServer["inspected"]
  /** Expects that these devices hold what the server holds. */
  readonly sameOn: (...devices: ReadonlyArray<Pick<TestDevice, "tables">>) => Promise<void>
  /** The same after a sync. */
  readonly syncedAlike: (
    ...devices: ReadonlyArray<Pick<TestDevice, "tables"> & { readonly sync: () => Promise<unknown> }>
  ) => Promise<void>
  /** The device's bundle carried to the server, and the answer back. */
  readonly carry: (device: Device) => ReturnType<typeof importBundle>
  readonly close: () => Promise<void>
}

export const openTestServer = async (
  engine: Engine = "sqlite",
  options: Partial<ServerOptions> = {}
): Promise<TestServer> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-sync-"))
  const { database, drop } = await startedDatabase(engine)
  let app: ServerApp | undefined,
    listening: Listening | undefined,
    port = 0,
    enrolments = 0
  const opened = new Set<() => Promise<void>>()
  /** Closed with the server, unless a test has closed it. */
  const keep = <D extends { readonly close: () => Promise<void> }>(device: D): D => {
    const { close } = device
    opened.add(close)
    return Object.assign(device, { close: async () => void (opened.delete(close) && (await close())) })
  }
  const start = async (): Promise<void> => {
    app = described(
      await openServerApp({
        database,
        key: tests_key,
        owner_token,
        rate_limit: 1_000_000,
        renderer: sharedRenderer(),
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
    // Clients that keep their connections learn that these were closed.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await start()
  const url = (): string => `http://127.0.0.1:${port}`
  // Without the socket, which is the devices'.
  const house = rentalHouse<Answer, string>((method, path, body, as = token) =>
    askOf(app!, `/api/v1${path}`, { method, json: body, token: as })
  )
  const inspected: TestServer["inspected"] = async (hooks = {}, as = token, name = `device-${++enrolments}`) =>
    keep(await inspectedDevice({ url: url(), folder: join(folder, name), name, token: as }, hooks))
  const server: TestServer = {
    ...house,
    folder,
    url,
    stop,
    start,
    database,
    app: () => app!,
    run: (effect) => app!.run(effect),
    tables: () => app!.run(dump),
    grant: ({ role_id }, permissions) => house.must("PUT", `/roles/${role_id}`, { permissions }),
    enrol: async (name = `device-${++enrolments}`, as = token) =>
      keep(
        testDevice(
          join(folder, name),
          await enrolDevice(join(folder, name), { name, url: url(), token: as, device: name })
        )
      ),
    reopen: async (name) => keep(testDevice(join(folder, name), await openDevice(join(folder, name)))),
    inspected,
    filled: async (...asked) => {
      const device = await inspected(...asked)
      await device.sync()
      return device
    },
    sameOn: async (...devices) => {
      const truth = await server.tables()
      for (const device of devices) expect(await device.tables()).toEqual(truth)
    },
    syncedAlike: async (...devices) => {
      for (const device of devices) await device.sync()
      await server.sameOn(...devices)
    },
    carry: async (device) => {
      const { text } = await device.bundleOut()
      const { bundle } = await house.must("POST", "/sync/bundles", { bundle: JSON.parse(text) })
      return device.bundleIn(JSON.stringify(bundle))
    },
    close: async () => {
      for (const close of opened) await close()
      await stop()
      await drop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return server
}

const testDevice = (folder: string, device: Device): TestDevice => {
  const house = rentalHouse<DeviceAnswer, unknown>(async (method, path, body) => {
    const [bare = "", search = ""] = path.split("?")
    const query = [...new URLSearchParams(search)]
    const answer = await device.ask({ method, path: `/api/v1${bare}`, query, body: body as Json | undefined })
    return { ...answer, body: bodyRead(answer.body) }
  })
  const more = Object.fromEntries(Object.entries(house).filter(([name]) => !(name in device)))
  return Object.assign(device, more as typeof house, {
    folder,
    tables: async () => {
      const replica = sqliteLayer({ path: join(folder, "replica.sqlite") })
      const runtime = ManagedRuntime.make(Layer.provide(Store.layer, replica))
      try {
        return await runtime.runPromise(dump)
      } finally {
        await runtime.dispose()
      }
    }
  })
}

type Opening = (engine?: Engine, options?: Partial<ServerOptions>) => TestServer
const opening =
  (before: typeof beforeAll, after: typeof afterAll): Opening =>
  (...asked) => {
    let open: TestServer | undefined
    before(async () => void (open = await openTestServer(...asked)))
    after(async () => {
      await open?.close()
      open = undefined
    })
    // Properties read before it is open are those of the opened one.
    return new Proxy({} as TestServer, {
      get: (_, name: keyof TestServer) =>
        open === undefined || typeof open[name] === "function"
          ? (...args: ReadonlyArray<unknown>) => Reflect.apply(open![name] as never, open, args)
          : open[name]
    })
  }
/** A server for the tests of a suite, which make products and orders of their own. */
export const serverOfSuite = opening(beforeAll, afterAll)
/** A server for each test, where they change settings or look at whole lists. */
export const serverOfEachTest = opening(beforeEach, afterEach)
