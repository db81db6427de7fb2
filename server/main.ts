/** Starts the server, and stops it in order. */
import { closeSync, existsSync, openSync, writeSync } from "node:fs"
import { chmodSync } from "node:fs"
import { openServerApp } from "./app.ts"
import { configFrom, type ServerConfig } from "./config.ts"
import { listenOn } from "./http.ts"
import { makeLog } from "./log.ts"
import { reasonFor, WrongStart } from "./wrong-start.ts"

const patience_millis = 10_000

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

const config = ((): ServerConfig => {
  try { return configFrom(process.env) } catch (cause) { return fail(reasonFor(cause, "")) }
})()
const { database } = config
const shown_database = database.kind === "pg" ? `the database at ${withoutPassword(database.url)}` : `the database ${database.path}`
const log = makeLog({ write: say, human: process.stderr.isTTY === true, least: config.log_level })

const start = async (): Promise<void> => {
  if (database.kind === "sqlite") makePrivate(database.path)
  const app = await openServerApp({
    ...config, log,
    onOwnerToken: (secret) => say(`The owner's token, told this once: ${secret}\n`)
  })
  const http = await listenOn({ ...config, log, ask: app.ask }).catch(async (cause: unknown) => {
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
    finish("stopped")
  }
  const finish = (event: string): never => {
    log.at("info", event)
    log.flush()
    process.exit(0)
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
  // Ready: what waits for this line may ask at once.
  log.at("info", "listening", { url: http.url, database: database.kind === "pg" ? "postgres" : "sqlite", pid: process.pid })
}

/** The file exists, closed to others, before SQLite opens it; its journal files take the same rights. */
function makePrivate(file: string): void {
  try {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600))
    chmodSync(file, 0o600)
  } catch (cause) {
    throw new WrongStart(`The database ${file} cannot be opened (${(cause as NodeJS.ErrnoException).code}).`, cause)
  }
}
function withoutPassword(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

// What nobody expected is logged and ends the process: going on could do harm, and the journal is safe.
process.on("uncaughtException", (cause) => {
  log.at("error", "unexpected failure, ending", { error: cause })
  log.flush()
  process.exit(70)
})
start().catch((cause: unknown) => {
  log.flush()
  fail(reasonFor(cause, shown_database))
})
