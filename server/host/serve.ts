/** The server as a program: starts, and shuts down in order on a signal. */
import { chmodSync, closeSync, existsSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Context, Effect, Exit, References, Schedule, type Scope, Tracer } from "effect"
import { loadAll } from "../../core/kernel/index.ts"
import { takeLock } from "../../sync/sqlite/file-lock.ts"
import { openServerApp } from "./app.ts"
import { configFrom, type Database, type ServerConfig } from "./config.ts"
import type { Environment } from "./environment.ts"
import { checkAddress, listenOn } from "./http.ts"
import { type Log, makeLog } from "../ports/log.ts"
import { StartupError, startupErrorText } from "../ports/startup-error.ts"

const patience_millis = 10_000
const lock_patience_millis = 1_000

const say = (text: string): void => {
  for (let rest = Buffer.from(text); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(2, rest))
    } catch (cause) {
      // A full pipe accepts more a moment later (EAGAIN); errors of a closed pipe are ignored, as they must not end the
      // server.
      if ((cause as NodeJS.ErrnoException).code !== "EAGAIN") return
    }
  }
}

/**
 * Runs the server until a signal ends the process. If it cannot start, writes one line with the reason and exits with
 * 1. Never settles, as the command line ends the process when a command settles.
 */
export const serve = (environment: Environment): Promise<never> => {
  limitGarbage()
  let log: Log | undefined
  let database: Database | undefined
  const program = Effect.scoped(
    Effect.gen(function* () {
      const config = yield* Effect.try({ try: () => configFrom(environment), catch: (cause) => cause })
      database = config.database
      log = makeLog({ write: say, human: process.stderr.isTTY === true, least: config.log_level })
      watchProcess(log)
      yield* started(config, log)
      return yield* Effect.never
    })
  )
  NodeRuntime.runMain(program, {
    disableErrorReporting: true,
    teardown: (exit, end) => {
      const stopped = Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
      if (stopped) log?.at("info", "stopped")
      log?.flush()
      if (!stopped)
        say(
          `flightcase: ${startupErrorText(Cause.squash(exit.cause), database === undefined ? "" : shown(database))}\n`
        )
      end(stopped ? 0 : 1)
    }
  })
  return new Promise(() => {})
}

/** Collects old objects when they are twice what was left, not up to four times: some 75 MB less at the same CPU. */
const limitGarbage = (): void => setFlagsFromString("--heap-growing-percent=100")

const watchProcess = (log: Log): void => {
  // Unexpected errors are logged and end the process: continuing could do harm, and the journal is safe.
  process.on("uncaughtException", (cause) => {
    log.at("error", "unexpected failure, ending", { error: cause })
    log.flush()
    process.exit(70)
  })
  // The starter on an older Node forwards signals, except SIGKILL: if it is killed, the server exits too.
  if (process.channel !== undefined) process.on("disconnect", () => process.exit(137))
}

const token_ignored =
  "FLIGHTCASE_TOKEN is not used: it is the owner's first token on an empty database, and this one has its owner. " +
  "For a new token of the owner: flightcase serve recover-owner"

/**
 * Resources are closed in reverse order: no new requests, then requests in progress, the database, the folder. A signal
 * does not wait for a database that is still being opened: its start is rolled back.
 */
const started = Effect.fnUntraced(function* (
  config: ServerConfig,
  log: Log
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const { database } = config
  if (database.kind === "sqlite") {
    yield* Effect.acquireRelease(
      attempt(() => holdFolder(config.data_folder)),
      (lock) => Effect.sync(() => lock.release())
    )
    yield* attempt(() => makePrivate(database.path))
  }
  // Checked first, so that the owner's token, printed once, is not printed by a start that then fails.
  yield* attempt(() => checkAddress(config.host, config.port))
  const exporters = config.exporting === undefined ? {} : yield* exportersOf(config.exporting)
  const app = yield* Effect.acquireRelease(
    attempt(() =>
      openServerApp({
        ...config,
        ...exporters,
        log,
        onOwnerToken: (secret) => say(`The owner's token, told this once: ${secret}\n`),
        onTokenIgnored: () => log.at("warn", "token ignored", { says: token_ignored })
      })
    ),
    (app) => Effect.promise(() => app.close()),
    { interruptible: true }
  )
  const http = yield* Effect.acquireRelease(
    attempt(() => listenOn({ ...config, log, answer: app.answer })),
    (http) =>
      Effect.promise(() => {
        const stopped = http.stop(patience_millis - 1_000)
        app.wake()
        return stopped
      })
  )
  app.listensAt(http.url)
  yield* Effect.addFinalizer(() => Effect.sync(() => cutOffLater(log)))
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.prependOnceListener(signal, () => log.at("info", "stopping", { signal }))
  // Ready: programs waiting for this line may send requests at once.
  log.at("info", "listening", {
    url: http.url,
    database: database.kind === "pg" ? "postgres" : "sqlite",
    data_folder: config.data_folder,
    pid: process.pid
  })
  yield* reportToSystemd
  yield* loadAll
})

/** Opens the export of spans and metrics; what is left is sent when the server has stopped. */
const exportersOf = Effect.fnUntraced(function* (environment: Environment) {
  const { exported_metrics, tracer } = yield* Effect.acquireRelease(
    Effect.promise(async () => (await import("../operations/system/telemetry.ts")).openTelemetry(environment)),
    ({ close }) => Effect.promise(close)
  )
  if (tracer === undefined) return { exported_metrics }
  const services = Context.make(Tracer.Tracer, tracer).pipe(Context.add(References.TracerEnabled, true))
  return { exported_metrics, services }
})

/**
 * Notifies systemd, if it started this server, when it is ready, alive (twice per watchdog interval) and stopping. Runs
 * systemd's own program, as Node has no datagram sockets.
 */
const reportToSystemd: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const { NOTIFY_SOCKET, WATCHDOG_USEC } = process.env
  if (NOTIFY_SOCKET === undefined) return
  const { execFile } = yield* Effect.promise(() => import("node:child_process"))
  const report = (...words: ReadonlyArray<string>) =>
    Effect.sync(() => void execFile("systemd-notify", words, () => {}))
  yield* report("--ready")
  yield* Effect.addFinalizer(() => report("--stopping"))
  const watched_millis = Number(WATCHDOG_USEC ?? 0) / 1_000
  if (watched_millis > 0)
    yield* Effect.forkScoped(Effect.repeat(report("WATCHDOG=1"), Schedule.spaced(watched_millis / 2)))
})
const attempt = <A>(body: () => A | Promise<A>): Effect.Effect<A, unknown> =>
  Effect.tryPromise({ try: async () => body(), catch: (cause) => cause })

/** Ends the process after {@link patience_millis}, whatever hangs. */
const cutOffLater = (log: Log): void => {
  setTimeout(() => {
    log.at("info", "stopped, some work was cut off")
    log.flush()
    process.exit(0)
  }, patience_millis).unref()
}

const shown = (database: Database): string =>
  database.kind === "pg" ? `the database at ${withoutPassword(database.url)}` : `the database ${database.path}`

/** Locks the folder: two servers on one SQLite file would miss each other's changes in their caches. */
const holdFolder = (folder: string): NonNullable<ReturnType<typeof takeLock>> => {
  const name = "server.lock"
  makePrivate(join(folder, name))
  // A server being replaced gets a moment to exit.
  const lock = takeLock(folder, name, lock_patience_millis)
  if (lock !== undefined) return lock
  throw new StartupError(
    `In the folder ${folder} another Flightcase server is at work; stop that one, or choose another folder with FLIGHTCASE_DATA.`
  )
}

/** Creates the file for the server's account only, before SQLite opens it; its journal files inherit the mode. */
function makePrivate(file: string): void {
  try {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600))
    chmodSync(file, 0o600)
  } catch (cause) {
    throw new StartupError(`${file} cannot be opened (${(cause as NodeJS.ErrnoException).code}).`, cause)
  }
}
function withoutPassword(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
