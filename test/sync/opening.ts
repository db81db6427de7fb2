/** A server on a socket and devices enrolled with it, for tests of sync. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer, ManagedRuntime } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest"
import type { Json, JsonObject } from "../../core/kernel/fields/field.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openServerApp, type ServerApp, type ServerOptions } from "../../server/host/app.ts"
import type { Database } from "../../server/host/config.ts"
import type { importBundle } from "../../sync/device/bundle.ts"
import { type Device, enrolDevice, openDevice } from "../../sync/device/device.ts"
import type { WireCommand } from "../../sync/protocol/wire.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import type { Engine } from "../app.ts"
import { bodyRead } from "../answers.ts"
import { type Answer, type Person, rentalHouse, type RentalHouse } from "../rental-house.ts"
import {
  askOf,
  described,
  type Listening,
  openListener,
  owner_token,
  sharedRenderer,
  startedDatabase,
  tests_key
} from "../server/serving.ts"
import {
  type DeviceAnswer,
  type Dump,
  dump,
  type Hooks,
  type InspectedDevice,
  inspectedDevice
} from "./inspected-device.ts"

export const token = owner_token

/** A command in the form a device sends. */
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
  /** Parent folder of the devices' folders. */
  readonly folder: string
  readonly url: () => string
  readonly app: () => ServerApp
  readonly run: ServerApp["run"]
  /** Its database. */
  readonly database: Database
  readonly tables: () => Promise<Dump>
  /** Stops the server; `start` opens it at the same address with all its data. */
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  /** Replaces the permissions of the user's role. */
  readonly grant: (person: Person, permissions: ReadonlyArray<string>) => Promise<unknown>
  readonly enrol: (name?: string, as?: string) => Promise<TestDevice>
  /** Opens a device's folder, as another process would. */
  readonly reopen: (name: string) => Promise<TestDevice>
  /** Enrols a device with hooks between its steps; it is still empty. */
  readonly inspected: (hooks?: Hooks, as?: string, name?: string) => Promise<InspectedDevice>
  /** Enrols such a device and syncs it. */
  readonly filled: TestServer["inspected"]
  /** Expects these devices to hold what the server holds. */
  readonly sameOn: (...devices: ReadonlyArray<Pick<TestDevice, "tables">>) => Promise<void>
  /** Syncs them first. */
  readonly syncedAlike: (
    ...devices: ReadonlyArray<Pick<TestDevice, "tables"> & { readonly sync: () => Promise<unknown> }>
  ) => Promise<void>
  /** Carries the device's bundle to the server, and the answer back. */
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
  /** Closes it with the server, unless a test has closed it. */
  const keep = <D extends Pick<Device, "close">>(device: D): D => {
    const { close } = device
    opened.add(close)
    return Object.assign(device, {
      close: async (process_ends?: boolean) => void (opened.delete(close) && (await close(process_ends)))
    })
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
    listening = await openListener(app.answer, { port })
    port = Number(new URL(listening.url).port)
  }
  const stop = async (): Promise<void> => {
    await listening?.stop(1_000)
    await app?.close()
    listening = app = undefined
    // Lets clients notice that their kept-alive connections were closed.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await start()
  const url = (): string => `http://127.0.0.1:${port}`
  // Called without the socket, which devices use.
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
    // Methods may be read before the server opens; they call the server that is open then.
    return new Proxy({} as TestServer, {
      get: (_, name: keyof TestServer) =>
        open === undefined || typeof open[name] === "function"
          ? (...args: ReadonlyArray<unknown>) => Reflect.apply(open![name] as never, open, args)
          : open[name]
    })
  }
/** One server for all tests of a suite, which create their own products and orders. */
export const serverOfSuite = opening(beforeAll, afterAll)
/** A server for each test, for tests that change settings or read whole lists. */
export const serverOfEachTest = opening(beforeEach, afterEach)
