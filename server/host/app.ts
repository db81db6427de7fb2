/** The server without its socket: database, catalogue, the pipeline from request to response, and background work. */
import { randomUUID, randomUUIDv7 } from "node:crypto"
import { Context, Effect, Exit, Layer, Logger, ManagedRuntime, type Metric, References, Scope, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { catalogue as core } from "../../core/catalogue.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { catalogueOf, CommandRuntime, CommitNotice, make as makeStore, Store } from "../../core/kernel/index.ts"
import type { Catalogue, Failure, NewEvent } from "../../core/kernel/index.ts"
import { ensureSchema } from "../../core/kernel/runtime/schema.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { endSharedCommit, sharedCommits } from "../../sync/sqlite/shared-commits.ts"
import { filesNamed } from "../files/downloads.ts"
import { makeBodyBudget } from "../http/body.ts"
import type { Database } from "./config.ts"
import { keepUidHost } from "../overview/feeds/slice.ts"
import { claimBlobStore, openBlobStore } from "../files/open-store.ts"
import { fileUrl } from "../files/serve.ts"
import { type Health, makeHealth } from "../ports/health.ts"
import { jobKindsOf, serverSlices } from "./slices.ts"
import { jobsOnceOpen, makeJobQueues } from "../delivery/jobs/jobs.ts"
import { queueTimedWork, whatFollows } from "../delivery/jobs/timed.ts"
import { nothing_outside, type Outside } from "../ports/outside.ts"
import { secretBox } from "../ports/secret-box.ts"
import { type Jobs, ServerContext } from "../ports/server-context.ts"
import { type Log, silentLog } from "../ports/log.ts"
import * as Postgres from "../pg/client.ts"
import { makeRenderer, type Renderer } from "../print/renderer.ts"
import { makeLimits } from "../http/limits.ts"
import { listen } from "../pg/session.ts"
import type { HttpRequest, HttpResponse } from "../http/http-message.ts"
import { makePipeline } from "./pipeline.ts"
import type { ServerEndpoint, ServerSlice } from "../ports/server-slice.ts"
import { type StorageFailure, storageFailureOf } from "../ports/storage-fault.ts"
import { makeCommits, makePeerNotifier, mayChangeSettings, sendNotice } from "./caches.ts"
import { bootstrap, postgresIsKnown } from "./bootstrap.ts"

export interface ServerOptions {
  /** A Postgres, or an SQLite file; the path `:memory:` is one in memory. */
  readonly database: Database
  /** Signs URLs of feeds, boards, links and files, and encrypts stored secrets. */
  readonly key: string
  readonly public_url?: string | undefined
  readonly data_folder?: string
  readonly owner_token?: string | undefined
  /** Called with the first owner's token when it had to be generated. */
  readonly onOwnerToken?: (secret: string) => void
  /** Called if `owner_token` is given but unknown to a database that already has an owner. */
  readonly onTokenIgnored?: () => void
  /** Default requests per minute of the settings `api.rate_limit` and `api.anonymous_rate_limit`. */
  readonly rate_limit?: number | undefined
  readonly anonymous_rate_limit?: number | undefined
  /** Maximum bytes of long bodies in memory at a time; {@link makeBodyBudget} has a default. */
  readonly long_bodies_bytes_max?: number
  readonly log?: Log
  /** Its access to networks and other services; by default only its own folder. */
  readonly outside?: Outside
  /** False: calls are not metered. For benchmarks only, to measure its cost. */
  readonly metered?: boolean
  /** Slices in addition to the server's own. */
  readonly slices?: ReadonlyArray<ServerSlice>
  /** Draws documents; by default threads of this server do. */
  readonly renderer?: Renderer
  /** Replacements for the runtime's services, such as a collector of spans, or a clock in tests. */
  readonly services?: Context.Context<never>
  /** Registry of the metrics, for an exporter; by default one of its own. */
  readonly exported_metrics?: Metric.MetricRegistry | undefined
}

export interface ServerApp {
  readonly catalogue: Catalogue
  /** Answers a request; never fails. An interruption ends reads; a command runs to its end. */
  readonly answer: (asked: HttpRequest) => Effect.Effect<HttpResponse>
  /** `answer` for callers without a fiber. `giveUp` receives a function that interrupts the request. */
  readonly ask: (asked: HttpRequest, giveUp?: (stop: () => void) => void) => Promise<HttpResponse>
  /** Runs an effect with the server's store and command runtime. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Store | CommandRuntime | ServerContext>) => Promise<A>
  readonly log: Log
  /** Sets the server's URL, once it listens. */
  readonly listensAt: (url: string) => void
  /** Marks the server as stopping, and wakes requests that wait for new events. */
  readonly wake: () => void
  /** Ends background work and closes the database. */
  readonly close: () => Promise<void>
}

const channel = "flightcase_journal"
/** Values set while the server opens, listens and stops. */
interface ServerState {
  listening_at: string | undefined
  health: Health | undefined
  jobs: Jobs | undefined
  stopping: boolean
}
type RunNow = (effect: Effect.Effect<void, never, Store>) => Promise<void>
const peersOf = ({ database }: ServerOptions, run: RunNow) =>
  database.kind === "pg" ? makePeerNotifier((payload) => run(sendNotice(channel, payload))) : undefined
type Commits = ReturnType<typeof makeCommits>

const serverContextOf = (
  options: ServerOptions,
  state: ServerState,
  { authentication, onCommit, replaced, rowsWritten }: Commits,
  own: Pick<ServerContext["Service"], "blobs" | "log" | "renderer">
) =>
  ServerContext.of({
    ...own,
    key: options.key,
    data_folder: options.data_folder,
    outside: options.outside ?? nothing_outside,
    jobs: jobsOnceOpen(() => state.jobs),
    health: Effect.suspend(() => state.health?.look ?? Effect.succeed({ status: "unavailable" as const })),
    public_url: () => options.public_url ?? state.listening_at ?? "http://127.0.0.1:4480",
    isCurrent: authentication.isCurrent,
    journalReplaced: replaced,
    onCommit,
    rowsWritten,
    isStopping: () => state.stopping
  })

/** The core's command runtime with URLs, cached settings, and consequences of recorded events. */
const commandRuntimeLayer = (
  { key }: ServerOptions,
  catalogue: Catalogue,
  { announced, changesSettings, committed, settings_cache }: Commits,
  server: ServerContext["Service"]
) => {
  const slices: ReadonlyArray<ServerSlice> = catalogue.slices
  const plain = serverRuntime({ catalogue, commandId: randomUUIDv7, secrets: secretBox(key, "settings") })
  const hooked = slices.flatMap(({ concerns, recorded }) => (recorded === undefined ? [] : [{ concerns, recorded }]))
  const processes = slices.flatMap((slice) => slice.processes ?? [])
  const follows = new Set(processes.flatMap(({ on }) => on))
  const queueWhatFollows = whatFollows(processes, server.jobs)
  /** Hooks for these events, which are not stored yet; without any, their transaction commits as it stores them. */
  const hooksFor = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>) {
    const is_erasure = events.some(({ type }) => catalogue.scrubs[type] !== undefined)
    const hooks: Array<NonNullable<ServerSlice["recorded"]>> = []
    for (const { concerns, recorded } of hooked) {
      if (concerns === undefined || (concerns === "erasures" ? is_erasure : yield* concerns(events)))
        hooks.push(recorded)
    }
    if (events.some(({ type }) => follows.has(type))) hooks.push(queueWhatFollows)
    return hooks
  })
  return Layer.effect(
    CommandRuntime,
    Effect.map(CommandRuntime, (inner) => {
      const self: CommandRuntime["Service"] = CommandRuntime.of({
        ...inner,
        public_url: server.public_url,
        filesNamed,
        file_url: (uuid, now) => fileUrl(server.public_url(), key, uuid, now),
        settings: settings_cache.settingsWithin,
        append: Effect.fnUntraced(function* (events, recording, is_last) {
          if (events.length === 0) return []
          const hooks = yield* hosted(hooksFor(events))
          const stored = yield* inner.append(events, recording, is_last === true && hooks.length === 0)
          for (const hook of hooks) yield* hosted(hook(stored))
          const settingsChanged = changesSettings(stored)
          if (settingsChanged) yield* Effect.andThen(announced, endSharedCommit)
          const { sql } = yield* Store
          const notified = sql.afterCommit(Effect.sync(() => committed(settingsChanged)))
          // afterCommit copies the services it runs with; `committed` needs none of them.
          yield* Effect.updateContext<void, never, never, never>(notified, Context.pick(sql.transactionService))
          return stored
        })
      })
      // One by one, as providing a context copies all services.
      const hosted = <A>(hook: ServerEndpoint<A>) =>
        Effect.provideService(Effect.provideService(hook, ServerContext, server), CommandRuntime, self)
      return self
    })
  ).pipe(Layer.provide(plain))
}

/** All services of the server. */
const layerOf = (
  options: ServerOptions,
  catalogue: Catalogue,
  commits: Commits,
  server: ServerContext["Service"],
  limits: Context.Context<never>
) => {
  const services = [
    limits,
    ...catalogue.slices.flatMap((slice: ServerSlice) => slice.services?.(server) ?? []),
    Context.make(References.TracerEnabled, false), // Otherwise each statement makes a span, collected or not.
    Context.make(CommitNotice, (events) => ({ channel, payload: commits.payloadOf(commits.changesSettings(events)) })),
    ...(options.services === undefined ? [] : [options.services])
  ]
  return Layer.mergeAll(
    Layer.provide(
      Layer.effect(
        Store,
        Effect.map(SqlClient.SqlClient, (sql) => commits.kept.over(makeStore(sql, true)))
      ),
      sqlLayer(options.database)
    ),
    commandRuntimeLayer(options, catalogue, commits, server),
    Layer.succeed(ServerContext, server),
    ...services.map((context) => Layer.succeedContext(context)),
    Logger.layer([effectLogger(server.log)])
  )
}

/** Prepares the database and starts background work, which ends with the scope. */
const startUp = Effect.fnUntraced(function* (
  options: ServerOptions,
  catalogue: Catalogue,
  files: Parameters<typeof claimBlobStore>[0],
  state: ServerState,
  { forget, tellListeners }: Commits
) {
  const slices: ReadonlyArray<ServerSlice> = catalogue.slices
  yield* postgresIsKnown
  yield* ensureSchema(catalogue, "server")
  yield* bootstrap(catalogue, options)
  yield* claimBlobStore(files)
  state.health = yield* healthOf(options.database)
  const queues = yield* makeJobQueues(jobKindsOf(slices), yield* Store)
  state.jobs = queues.jobs
  if (options.public_url !== undefined) yield* keepUidHost(options.public_url)
  const timed = slices.flatMap((slice) => slice.timed ?? [])
  const background = [
    queues.work,
    queueTimedWork(timed, queues.jobs),
    ...slices.flatMap((slice) => slice.background ?? [])
  ]
  if (options.database.kind === "pg") background.push(followOthers(options.database.url, forget, tellListeners))
  for (const work of background)
    yield* Effect.forkScoped(
      Effect.catchCause(work, (cause) => Effect.logError("background work ended", cause)),
      { startImmediately: true }
    )
})

/** Returns the storage failure behind a database error, if any, and reports it to health. */
const storageNoter =
  (state: ServerState) =>
  (error: SqlError.SqlError): StorageFailure | undefined => {
    const failure = storageFailureOf(error)
    if (failure !== undefined) state.health?.failed(failure)
    return failure
  }

/** Starts effects in the background, which no response waits for; `settled` resolves once all current ones ended. */
const makeBackground = (run: RunNow, noteStorage: (error: SqlError.SqlError) => unknown) => {
  const working = new Set<Promise<void>>()
  const start = (effect: Effect.Effect<void, Failure, Store>): void => {
    const watched = Effect.tapError(effect, (failure) =>
      Effect.sync(() => {
        if (failure instanceof SqlError.SqlError) noteStorage(failure)
      })
    )
    const done: Promise<void> = run(
      Effect.catchCause(watched, (cause) => Effect.logWarning("aside failed", cause))
    ).finally(() => working.delete(done))
    working.add(done)
  }
  return { start, settled: () => Promise.allSettled(working) }
}

/** Runs an effect for callers without a fiber. `giveUp` receives a function that interrupts it. */
const promised = <A>(work: Effect.Effect<A>, giveUp?: (stop: () => void) => void): Promise<A> =>
  new Promise((resolve, reject) => {
    const fiber = Effect.runFork(work)
    giveUp?.(() => {
      fiber.interruptUnsafe()
    })
    fiber.addObserver((exit) => (Exit.isSuccess(exit) ? resolve(exit.value) : reject(exit.cause)))
  })

/** Opens the database, migrates its schema, and fills an empty one. Rejects with the reason if it cannot. */
export const openServerApp = async (options: ServerOptions): Promise<ServerApp> => {
  const log = options.log ?? silentLog
  const catalogue: Catalogue = catalogueOf(
    withRateLimits(core, options).concat(
      serverSlices(() => catalogue, options),
      options.slices ?? []
    )
  )
  const slices: ReadonlyArray<ServerSlice> = catalogue.slices
  const state: ServerState = { listening_at: undefined, health: undefined, jobs: undefined, stopping: false }
  const peers = peersOf(options, (effect) => run(effect))
  const commits = makeCommits(catalogue, peers, () => state.health?.recorded())
  const files = await openBlobStore(options)
  const scope = Scope.makeUnsafe()
  const renderer = options.renderer ?? Effect.runSync(Scope.provide(makeRenderer(), scope))
  const server = serverContextOf(options, state, commits, { log, blobs: files.store, renderer })
  const run: ServerApp["run"] = (effect) => runtime.runPromise(effect)
  const limits = makeLimits({ shared: options.database.kind === "pg", run, log })
  const runtime = ManagedRuntime.make(layerOf(options, catalogue, commits, server, limits.services))
  try {
    await runtime.runPromise(Scope.provide(startUp(options, catalogue, files, state, commits), scope))
  } catch (cause) {
    await runtime.runPromise(Scope.close(scope, Exit.void)).catch(() => {})
    await runtime.dispose().catch(() => {})
    throw cause
  }

  const context = await runtime.context()
  const noteStorage = storageNoter(state)
  const background = makeBackground(run, noteStorage)
  const pipeline = makePipeline({
    catalogue,
    slices,
    authentication: commits.authentication,
    settings: commits.settings_cache.settings,
    limits,
    log,
    newRequestId: randomUUID,
    runInBackground: background.start,
    storageFault: noteStorage,
    bodies: makeBodyBudget(options.long_bodies_bytes_max)
  })
  const answer = (asked: HttpRequest): Effect.Effect<HttpResponse> =>
    Effect.updateContext(pipeline(asked), () => context)
  return {
    catalogue,
    log,
    answer,
    ask: (asked, giveUp) => promised(answer(asked), giveUp),
    run,
    listensAt: (url) => {
      state.listening_at = url
    },
    wake: () => {
      state.stopping = true
      commits.tellListeners()
    },
    close: async () => {
      await runtime.runPromise(Scope.close(scope, Exit.void))
      await background.settled()
      await peers?.sent()
      await runtime.dispose()
      files.close()
    }
  }
}

export const sqlLayer = (database: Database): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> => {
  const { lock_timeout_ms = 8_000 } = database
  return database.kind === "pg"
    ? Postgres.layer({ url: database.url, max: database.connections_max, lock_timeout_ms })
    : Sqlite.layer({ path: database.path, busy_timeout_ms: lock_timeout_ms, share: sharedCommits })
}

/** Health checks use a connection of their own, except on a database in memory, which has only one. */
const healthOf = Effect.fnUntraced(function* (database: Database) {
  if (database.kind === "pg") {
    const alone = {
      max: 1,
      keep: true,
      connection_timeout_ms: 2_000,
      lock_timeout_ms: 1_000,
      statement_timeout_ms: 2_000
    }
    return makeHealth(makeStore(yield* Postgres.make({ url: database.url, ...alone })), undefined)
  }
  if (database.path === ":memory:") return makeHealth(yield* Store, undefined)
  return makeHealth(makeStore(yield* Sqlite.make({ path: database.path, readOnly: true })), database.path)
})

const withRateLimits = (
  { settings, slices }: Catalogue,
  options: Pick<ServerOptions, "rate_limit" | "anonymous_rate_limit">
): ReadonlyArray<ServerSlice> => {
  const given = (["rate_limit", "anonymous_rate_limit"] as const).flatMap((key) => {
    const field = settings["api"]?.[key],
      limit = options[key]
    return field === undefined || limit === undefined ? [] : [[key, { ...field, default: limit }] as const]
  })
  return given.length === 0
    ? slices
    : [...slices, { name: "rate_limits", settings: { api: { ...settings["api"], ...Object.fromEntries(given) } } }]
}

/** Follows the commits of other servers on the same Postgres: clears caches and wakes waiting readers. */
const followOthers = (url: string, forget: () => void, tellListeners: () => void) =>
  Stream.runForEach(listen({ url, channel }), (notice) =>
    Effect.sync(() => {
      if (notice._tag === "Listening" || mayChangeSettings(notice.payload)) forget()
      tellListeners()
    })
  )

const log_levels: { readonly [level: string]: "error" | "warn" | "info" } = {
  Error: "error",
  Fatal: "error",
  Warn: "warn",
  Info: "info"
}
/** Forwards Effect's log to the server's log. */
const effectLogger = (log: Log): Logger.Logger<unknown, void> =>
  Logger.make(({ message, logLevel, cause }) => {
    const parts = Array.isArray(message) ? message : [message]
    log.at(log_levels[logLevel] ?? "debug", String(parts[0]), {
      ...(parts.length > 1 ? { more: parts.slice(1) } : {}),
      ...(cause.reasons.length === 0 ? {} : { error: new Error("cause", { cause }) })
    })
  })
