/** The server without its socket: database, catalogue, the pipeline from request to response, and background work. */
import { randomUUID, randomUUIDv7 } from "node:crypto"
import { type Context, Effect, Exit, Layer, Logger, ManagedRuntime, References, Scope, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { catalogue as core } from "../../core/catalogue.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { type Catalogue, catalogueOf, CommandRuntime, type Failure } from "../../core/kernel/endpoints/endpoint.ts"
import { ensureSchema } from "../../core/kernel/runtime/schema.ts"
import { make as makeStore, Store } from "../../core/kernel/store/store.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { makeBodyBudget } from "../http/body.ts"
import type { Database } from "./config.ts"
import { keepUidHost } from "../overview/feeds/uid-host.ts"
import { filesNamed } from "../files/keep.ts"
import { claimBlobStore, openBlobStore } from "../files/open-store.ts"
import { fileUrl } from "../files/serve.ts"
import { type Health, makeHealth } from "../ports/health.ts"
import { jobKindsOf, serverSlices } from "./slices.ts"
import { jobsOnceOpen, makeJobQueues } from "../delivery/jobs/jobs.ts"
import type { Jobs } from "../ports/offers.ts"
import { queueTimedWork, whatFollows } from "../delivery/jobs/timed.ts"
import { nothing_outside, type Outside } from "../ports/outside.ts"
import { secretBox } from "../ports/secret-box.ts"
import { ServerContext } from "../ports/server-context.ts"
import { type Log, silentLog } from "../ports/log.ts"
import * as Postgres from "../pg/client.ts"
import { makeRenderer } from "../print/renderer.ts"
import { makeLimits } from "../http/limits.ts"
import { listen } from "../pg/session.ts"
import { type HttpRequest, type HttpResponse, makePipeline } from "./pipeline.ts"
import type { ServerSlice } from "../ports/server-slice.ts"
import { type StorageFailure, storageFailureOf } from "../ports/storage-fault.ts"
import type { PeerNotifier } from "./caches.ts"
import { makePeerNotifier, makeReferenceCache, makeSettingsCache, mayChangeSettings } from "./caches.ts"
import { makeAuthentication } from "../access/tokens/authenticate.ts"
import { bootstrap, postgresIsKnown } from "./bootstrap.ts"

export interface ServerOptions {
  /** A path, or `:memory:`. */
  readonly database: Database
  /** Signs feeds, links and attachment addresses. */
  readonly key: string
  readonly public_url?: string | undefined
  readonly data_folder?: string
  readonly owner_token?: string | undefined
  /** Called with the first owner's token when it had to be generated. */
  readonly onOwnerToken?: (secret: string) => void
  /** Called where `owner_token` is given and the database, which has its owner, does not know it. */
  readonly onTokenIgnored?: () => void
  /** Requests a minute, as defaults of the settings `api.rate_limit` and `api.anonymous_rate_limit`. */
  readonly rate_limit?: number | undefined
  readonly anonymous_rate_limit?: number | undefined
  /** Bytes of long bodies in memory at a time; {@link makeBodyBudget} has a default. */
  readonly long_bodies_bytes_max?: number
  readonly log?: Log
  /** Its network access; by default only its own folder. */
  readonly outside?: Outside
  /** False: calls are not metered. For benchmarks only, to measure its cost. */
  readonly metered?: boolean
  /** Slices beside those the server always has. */
  readonly slices?: ReadonlyArray<ServerSlice>
  /** Replacements for the runtime's services, such as a clock in tests. */
  readonly services?: Context.Context<never>
}

export interface ServerApp {
  readonly catalogue: Catalogue
  /** Answers a request; never fails. An interruption ends reads; a command runs to its end. */
  readonly answer: (asked: HttpRequest) => Effect.Effect<HttpResponse>
  /** The same for callers without a fiber; `giveUp` receives a function that interrupts it. */
  readonly ask: (asked: HttpRequest, giveUp?: (stop: () => void) => void) => Promise<HttpResponse>
  /** Runs an effect with the server's store and command runtime. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Store | CommandRuntime | ServerContext>) => Promise<A>
  readonly log: Log
  /** Sets the address the server listens at, once it does. */
  readonly listensAt: (url: string) => void
  /** Wakes requests that wait for new events, because the server is about to stop. */
  readonly wake: () => void
  /** Ends background work and closes the database. */
  readonly close: () => Promise<void>
}

const channel = "flightcase_journal"
/** Events after which cached users, roles, tokens and settings are read again. */
const changes_settings = /^(user|role|setting|token)/

/** Opens the database, migrates its schema and fills it when it is empty. Rejects with the reason when it cannot. */
export const openServerApp = async (options: ServerOptions): Promise<ServerApp> => {
  const log = options.log ?? silentLog
  const catalogue: Catalogue = catalogueOf(
    withRateLimits(core, options).concat(
      serverSlices(() => catalogue, options),
      options.slices ?? []
    )
  )
  const slices: ReadonlyArray<ServerSlice> = catalogue.slices
  const settings_cache = makeSettingsCache(catalogue)
  const authentication = makeAuthentication()
  const kept = makeReferenceCache(() => committed(true))
  const listeners = new Set<() => void>()
  const forget = (): void => {
    settings_cache.forget()
    authentication.forget()
    kept.forget()
  }
  const peers: PeerNotifier | undefined =
    options.database.kind !== "pg"
      ? undefined
      : makePeerNotifier((payload) =>
          runtime.runPromise(
            Store.run("select pg_notify($1, $2)", [channel, payload]).pipe(
              Effect.asVoid,
              Effect.catchCause((cause) => Effect.logWarning("other servers not told", cause))
            )
          )
        )
  const tellListeners = (): void => {
    for (const listener of [...listeners]) listener()
  }
  const committed = (settingsChanged: boolean): void => {
    health?.recorded()
    if (settingsChanged) forget()
    tellListeners()
    peers?.notify(settingsChanged)
  }

  const files = await openBlobStore(options)
  const scope = Scope.makeUnsafe()
  let listening_at: string | undefined
  let health: Health | undefined
  let jobs: Jobs | undefined
  let stopping = false
  const server = ServerContext.of({
    key: options.key,
    log,
    data_folder: options.data_folder,
    outside: options.outside ?? nothing_outside,
    blobs: files.store,
    jobs: jobsOnceOpen(() => jobs),
    renderer: Effect.runSync(Scope.provide(makeRenderer(), scope)),
    health: Effect.suspend(() => health?.look ?? Effect.succeed({ status: "unavailable" as const })),
    public_url: () => options.public_url ?? listening_at ?? "http://127.0.0.1:4480",
    journalReplaced: () => committed(true),
    onCommit: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    rowsWritten: () => {
      tellListeners()
      peers?.notify(false)
    },
    isStopping: () => stopping
  })

  const plain = serverRuntime({ catalogue, commandId: randomUUIDv7, secrets: secretBox(options.key, "settings") })
  const recordedHooks = slices.flatMap((slice) => slice.recorded ?? [])
  const queueWhatFollows = whatFollows(
    slices.flatMap((slice) => slice.processes ?? []),
    server.jobs
  )
  const site = Layer.effect(
    CommandRuntime,
    Effect.map(CommandRuntime, (inner) => {
      const self: CommandRuntime["Service"] = CommandRuntime.of({
        ...inner,
        public_url: server.public_url,
        filesNamed,
        file_url: (uuid, now) => fileUrl(server.public_url(), options.key, uuid, now),
        settings: settings_cache.settingsWithin as CommandRuntime["Service"]["settings"],
        append: (events, recording) =>
          Effect.gen(function* () {
            const stored = yield* inner.append(events, recording)
            if (stored.length === 0) return stored
            for (const hook of recordedHooks)
              yield* Effect.provideService(
                Effect.provideService(hook(stored), ServerContext, server),
                CommandRuntime,
                self
              )
            yield* queueWhatFollows(stored)
            const settingsChanged = stored.some((event) => changes_settings.test(event.type))
            yield* (yield* Store).sql.afterCommit(Effect.sync(() => committed(settingsChanged)))
            return stored
          })
      })
      return self
    })
  ).pipe(Layer.provide(plain))

  const limits = makeLimits({
    shared: options.database.kind === "pg",
    run: (effect) => runtime.runPromise(effect),
    log
  })
  const services = [
    limits.services,
    ...slices.flatMap((slice) => slice.services?.(server) ?? []),
    ...(options.services === undefined ? [] : [options.services])
  ]
  const layer = Layer.mergeAll(
    Layer.provide(
      Layer.effect(
        Store,
        Effect.map(SqlClient.SqlClient, (sql) => kept.over(makeStore(sql)))
      ),
      sqlLayer(options.database)
    ),
    site,
    Layer.succeed(ServerContext, server),
    ...services.map((context) => Layer.succeedContext(context)),
    Logger.layer([effectLogger(log)]),
    // Spans are not collected; without this each statement creates one.
    Layer.succeed(References.TracerEnabled, false)
  )
  const runtime = ManagedRuntime.make(layer)
  try {
    await runtime.runPromise(
      Effect.gen(function* () {
        yield* postgresIsKnown
        yield* ensureSchema(catalogue, "server")
        yield* bootstrap(catalogue, options)
        yield* claimBlobStore(files)
        health = yield* Scope.provide(healthOf(options.database), scope)
      })
    )
    const queues = await runtime.runPromise(
      Effect.flatMap(Store, (store) => Scope.provide(makeJobQueues(jobKindsOf(slices), store), scope))
    )
    jobs = queues.jobs
    if (options.public_url !== undefined) await runtime.runPromise(keepUidHost(options.public_url))
    const timed = slices.flatMap((slice) => slice.timed ?? [])
    const background = [
      queues.work,
      queueTimedWork(timed, queues.jobs),
      ...slices.flatMap((slice) => slice.background ?? [])
    ]
    if (options.database.kind === "pg") background.push(followOthers(options.database.url, forget, tellListeners))
    for (const work of background) {
      await runtime.runPromise(
        Effect.forkIn(
          Scope.provide(work, scope).pipe(
            Effect.catchCause((cause) => Effect.logError("background work ended", cause))
          ),
          scope,
          { startImmediately: true }
        )
      )
    }
  } catch (cause) {
    await runtime.runPromise(Scope.close(scope, Exit.void)).catch(() => {})
    await runtime.dispose().catch(() => {})
    throw cause
  }

  const context = await runtime.context()
  const noteStorage = (error: SqlError.SqlError): StorageFailure | undefined => {
    const failure = storageFailureOf(error)
    if (failure !== undefined) health?.failed(failure)
    return failure
  }
  const background_work = new Set<Promise<void>>()
  const runInBackground = (effect: Effect.Effect<void, Failure, Store>): void => {
    const watched = Effect.tapError(effect, (failure) =>
      Effect.sync(() => {
        if (failure instanceof SqlError.SqlError) noteStorage(failure)
      })
    )
    const done: Promise<void> = runtime
      .runPromise(Effect.catchCause(watched, (cause) => Effect.logWarning("aside failed", cause)))
      .finally(() => background_work.delete(done))
    background_work.add(done)
  }
  const pipeline = makePipeline({
    catalogue,
    slices,
    authentication,
    settings: settings_cache.settings,
    limits,
    log,
    newRequestId: randomUUID,
    runInBackground,
    storageFault: noteStorage,
    bodies: makeBodyBudget(options.long_bodies_bytes_max)
  })
  const answer = (asked: HttpRequest): Effect.Effect<HttpResponse> =>
    Effect.updateContext(pipeline(asked), () => context)
  return {
    catalogue,
    log,
    answer,
    ask: (asked, giveUp) =>
      new Promise((resolve, reject) => {
        const fiber = Effect.runFork(answer(asked))
        giveUp?.(() => {
          fiber.interruptUnsafe()
        })
        fiber.addObserver((exit) => (Exit.isSuccess(exit) ? resolve(exit.value) : reject(exit.cause)))
      }),
    run: (effect) => runtime.runPromise(effect),
    listensAt: (url) => {
      listening_at = url
    },
    wake: () => {
      stopping = true
      tellListeners()
    },
    close: async () => {
      await runtime.runPromise(Scope.close(scope, Exit.void))
      await Promise.allSettled(background_work)
      await peers?.sent()
      await runtime.dispose()
      files.close()
    }
  }
}

const lock_timeout_ms = 8_000
export const sqlLayer = (database: Database): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  database.kind === "pg"
    ? Postgres.layer({
        url: database.url,
        max: database.connections_max,
        lock_timeout_ms: database.lock_timeout_ms ?? lock_timeout_ms
      })
    : Sqlite.layer({ path: database.path, busy_timeout_ms: database.lock_timeout_ms ?? lock_timeout_ms })

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

/** Forwards Effect's log to the server's log. */
const effectLogger = (log: Log): Logger.Logger<unknown, void> =>
  Logger.make(({ message, logLevel, cause }) => {
    const level =
      logLevel === "Error" || logLevel === "Fatal"
        ? "error"
        : logLevel === "Warn"
          ? "warn"
          : logLevel === "Info"
            ? "info"
            : "debug"
    const parts = Array.isArray(message) ? message : [message]
    log.at(level, String(parts[0]), {
      ...(parts.length > 1 ? { more: parts.slice(1) } : {}),
      ...(cause.reasons.length === 0 ? {} : { error: new Error("cause", { cause }) })
    })
  })
