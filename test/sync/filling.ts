/** Devices over real HTTP whose fills tests look into: small pages, a hook before each, whatever the length of the journal. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/rejection.ts"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { roles, users } from "../../core/users/schema.ts"
import { viewerOf } from "../../core/users/viewer.ts"
import { openServerApp, type ServerApp } from "../../server/app.ts"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { type Device, enrolDevice } from "../../sync/device/device.ts"
import { openOutboxAt, type Outbox } from "../../sync/device/outbox/outbox.ts"
import { type Remote, remoteAt } from "../../sync/device/remote.ts"
import { type QueryResult, makeReplica, type Replica } from "../../sync/device/replica/replica.ts"
import { type Progress, syncOnce, type SyncReport } from "../../sync/device/sync.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import type { Engine } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { described, startedServer } from "../server/serving.ts"
import { type Ask, askBelow, type LetIn, type LetInWith, lettingIn, type Must, mustOf } from "./people.ts"

export const owner_token = "owner-token-of-the-tests"
export interface FillTestServer {
  readonly app: ServerApp
  readonly url: string
  readonly folder: string
  /** Paths are below /api/v1/. */
  readonly ask: Ask
  readonly must: Must
  readonly letIn: LetIn
  readonly letInWith: LetInWith
  readonly tables: () => Promise<Dump>
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store>) => Promise<A>
  readonly close: () => Promise<void>
}
export type Dump = { readonly [table: string]: ReadonlyArray<{ readonly [column: string]: unknown }> }
const dump = Effect.gen(function* () {
  const store = yield* Store
  const tables: { [name: string]: Dump[string] } = {}
  for (const table of catalogue.tables) tables[table.name] = yield* store.find(table, {}) as Effect.Effect<Dump[string]>
  return tables as Dump
})

export const openFillTestServer = async (engine: Engine): Promise<FillTestServer> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-fill-"))
  const database = engine === "pg" ? await freshDatabase(startedServer) : undefined
  const app = described(
    await openServerApp({
      database:
        database === undefined
          ? { kind: "sqlite", path: join(folder, "server.sqlite") }
          : { kind: "pg", url: database.url, connections_max: 5 },
      key: "key-of-the-tests-which-is-long",
      owner_token,
      rate_limit: 1_000_000
    })
  )
  const listening: Listening = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: app.answer })
  const ask = askBelow(() => `${listening.url}/api/v1/`, owner_token)
  return {
    app,
    folder,
    url: listening.url,
    run: app.run,
    ask,
    must: mustOf(ask),
    ...lettingIn(ask),
    tables: () => app.run(dump),
    close: async () => {
      await listening.stop(1_000)
      await app.close()
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

export interface Hooks {
  /** Rows per page. */
  readonly limit?: number
  readonly snapshot_beyond?: number
  /** Called before each page is asked for; what it throws is what the network throws. */
  before_page?: (asked: { readonly after: string; readonly offset: string }) => void | Promise<void>
  /** Called before commands are sent; what it throws is what the network throws. */
  before_push?: () => void
  /** Called between steps that a crash may separate. */
  at?: (step: string) => void
  progress?: Progress
}
export interface Filled {
  readonly outbox: Outbox
  readonly id: number
  readonly folder: string
  readonly replica: () => Replica
  readonly remote: Remote
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  readonly ask: (method: string, path: string, body?: object) => Promise<QueryResult & { readonly body?: any }>
  /** What it would answer; nothing is recorded. */
  readonly plan: Filled["ask"]
  readonly sync: () => Promise<SyncReport>
  readonly tables: () => Promise<Dump>
  /** Closes the process's files and opens them again. */
  readonly restart: () => Promise<void>
  /** How often each page was asked for, and how many events and rows have arrived. */
  readonly counted: { pages: Array<string>; rows: number; events: number; plans: number }
  /** Whether any file of the replica, or of the outbox too, holds these bytes. */
  readonly holds: (bytes: string | Buffer, files?: "replica" | "") => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** A device as people have it; {@link enrolled} gives one whose steps a test can look into. */
export const enrolledDevice = (
  { folder, url }: Pick<FillTestServer, "folder" | "url">,
  name: string,
  token = owner_token
): Promise<Device> => enrolDevice(join(folder, name), { name, url, token, device: name })

/** Enrols a device of the token's user. */
export const enrolled = async (
  business: FillTestServer,
  name: string,
  hooks: Hooks = {},
  token = owner_token
): Promise<Filled> => {
  const remote = remoteAt(business.url, token)
  const {
    replica: { id, user_id, abilities },
    lease
  } = (await business.ask("POST", "sync/replicas", { name }, token)).body
  const folder = join(business.folder, name)
  mkdirSync(folder)
  const outbox = openOutboxAt(join(folder, "outbox.sqlite"))
  outbox.addLease(1, lease)
  let made = 0
  const boot = () => {
    const replica = makeReplica({
      catalogue,
      outbox,
      replica_id: id,
      commandId: () => `${name}-${Date.now()}-${++made}`,
      at: (step) => hooks.at?.(step),
      viewer: Effect.gen(function* () {
        const store = yield* Store
        const user = yield* store.get(users, user_id)
        if (user === undefined) return yield* new Rejection({ kind: "unavailable", message: "Not filled yet." })
        return viewerOf(user, yield* store.find(roles, {}), { id: 0, abilities })
      })
    })
    const runtime = ManagedRuntime.make(
      Layer.merge(Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "replica.sqlite") })), replica.runtime)
    )
    return { replica, runtime }
  }
  let { replica, runtime } = boot()
  const run = <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>): Promise<A> => runtime.runPromise(effect)
  await run(replica.open)
  const counted: Filled["counted"] = { pages: [], rows: 0, events: 0, plans: 0 }
  const counting: Remote = {
    ...remote,
    push: async (...asked) => {
      hooks.before_push?.()
      return await remote.push(...asked)
    },
    plan: (...asked) => {
      counted.plans++
      return remote.plan(...asked)
    },
    rows: async (replica_id, place) => {
      await hooks.before_page?.(place)
      counted.pages.push(place.after)
      const page = await remote.rows(replica_id, { ...place, limit: hooks.limit ?? 50 })
      if (page !== "anew") {
        counted.events += page.events.length
        for (const section of page.sections) counted.rows += section.rows.length
      }
      return page
    },
    pull: (replica_id, from, take) =>
      remote.pull(replica_id, from, {
        ...take,
        chunk: (chunk) => {
          counted.events += chunk.events.length
          return take.chunk(chunk)
        }
      })
  }
  const ask = (plan: boolean, method: string, path: string, body?: object): Promise<QueryResult> =>
    run(
      replica
        .ask(
          {
            method,
            path: `/api/v1/${path.split("?")[0]!}`,
            query: [...new URLSearchParams(path.split("?")[1] ?? "")],
            body: body as JsonObject | undefined
          },
          plan
        )
        .pipe(
          Effect.catch((failure): Effect.Effect<QueryResult, Failure> =>
            failure instanceof Rejection
              ? Effect.succeed({ status: statusOf[failure.kind], body: bodyOf(failure) as unknown as JsonObject })
              : Effect.fail(failure)
          )
        )
    )
  return {
    id,
    outbox,
    folder,
    remote,
    run,
    counted,
    replica: () => replica,
    ask: (method, path, body) => ask(false, method, path, body),
    plan: (method, path, body) => ask(true, method, path, body),
    sync: () =>
      syncOnce({
        profile: { replica_id: id },
        outbox,
        replica,
        remote: counting,
        run,
        snapshot_beyond: hooks.snapshot_beyond ?? 0,
        ...(hooks.progress === undefined ? {} : { progress: hooks.progress })
      }),
    tables: () => run(dump),
    restart: async () => {
      await runtime.dispose()
      ;({ replica, runtime } = boot())
      await run(replica.open)
    },
    holds: (bytes, files = "replica") =>
      readdirSync(folder).filter(
        (file) =>
          file.startsWith(files) && existsSync(join(folder, file)) && readFileSync(join(folder, file)).includes(bytes)
      ),
    close: async () => {
      await runtime.dispose()
      outbox.close()
    }
  }
}
