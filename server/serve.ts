/** Starts the server, and stops it in order. */
import { chmodSync, closeSync, existsSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { type FileLock, takeLock } from "../sync/file-lock.ts"
import { openServerApp } from "./app.ts"
import { configFrom, type Database, type ServerConfig } from "./config.ts"
import type { Environment } from "./environment.ts"
import { listenOn } from "./http.ts"
import { type Log, makeLog } from "./log.ts"
import { reasonFor, WrongStart } from "./wrong-start.ts"

const patience_millis = 10_000
const lock_patience_millis = 1_000

const say = (text: string): void => {
  for (let rest = Buffer.from(text); rest.length > 0;) {
    try { rest = rest.subarray(writeSync(2, rest)) } catch (cause) {
      // A full pipe takes more in a moment; a closed one never again, which must not end the server.
      if ((cause as NodeJS.ErrnoException).code !== "EAGAIN") return
    }
  }
}
const fail = (line: string): never => {
  say(`flightcase: ${line}\n`)
  process.exit(1)
}

/** Serves as the environment says, until a signal ends it; ends the process, with one line where it cannot start. */
export const serve = async (environment: Environment): Promise<never> => {
  const config = ((): ServerConfig => {
    try { return configFrom(environment) } catch (cause) { return fail(reasonFor(cause, "")) }
  })()
  const log = makeLog({ write: say, human: process.stderr.isTTY === true, least: config.log_level })
  // What nobody expected is logged and ends the process: going on could do harm, and the journal is safe.
  process.on("uncaughtException", (cause) => {
    log.at("error", "unexpected failure, ending", { error: cause })
    log.flush()
    process.exit(70)
  })
  try { await start(config, log) } catch (cause) {
    log.flush()
    fail(reasonFor(cause, shown(config.database)))
  }
  return new Promise(() => {})
}

const start = async (config: ServerConfig, log: Log): Promise<void> => {
  const { database } = config
  if (database.kind === "sqlite") {
    held = holdFolder(config.data_folder)
    makePrivate(database.path)
  }
  const app = await openServerApp({
    ...config, log,
    onOwnerToken: (secret) => say(`The owner's token, told this once: ${secret}\n`)
  })
  const http = await listenOn({ ...config, log, answer: app.answer }).catch(async (cause: unknown) => {
    await app.close()
    throw cause
  })
  app.listensAt(http.url)

  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    log.at("info", "stopping", { signal })
    // Whatever hangs, the process ends.
    setTimeout(() => finish("stopped, some work was cut off"), patience_millis).unref()
    const stopped = http.stop(patience_millis - 1_000)
    app.wake()
    await stopped
    await app.close()
    held?.release()
    finish("stopped")
  }
  const finish = (event: string): never => {
    log.at("info", event)
    log.flush()
    process.exit(0)
  }
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, stop)
  // The starter on an older Node passes signals on, but for the one it cannot: killed outright, its server goes as well.
  if (process.channel !== undefined) process.on("disconnect", () => process.exit(137))
  // Ready: what waits for this line may ask at once.
  log.at("info", "listening", { url: http.url, database: database.kind === "pg" ? "postgres" : "sqlite", pid: process.pid })
}

const shown = (database: Database): string =>
  database.kind === "pg" ? `the database at ${withoutPassword(database.url)}` : `the database ${database.path}`

/** Held by this name until the process ends: forgotten, it would be let go. */
let held: FileLock | undefined
/** Two servers on one SQLite folder would each believe what they keep in memory, whatever the other has changed. */
const holdFolder = (folder: string): FileLock => {
  const name = "server.lock"
  makePrivate(join(folder, name))
  // A server that is just being replaced has a moment to go.
  const lock = takeLock(folder, name, lock_patience_millis)
  if (lock !== undefined) return lock
  throw new WrongStart(`In the folder ${folder} another Flightcase server is at work; stop that one, or choose another folder with FLIGHTCASE_DATA.`)
}

/** The file exists, closed to others, before SQLite opens it; its journal files take the same rights. */
function makePrivate(file: string): void {
  try {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600))
    chmodSync(file, 0o600)
  } catch (cause) {
    throw new WrongStart(`${file} cannot be opened (${(cause as NodeJS.ErrnoException).code}).`, cause)
  }
}
function withoutPassword(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
