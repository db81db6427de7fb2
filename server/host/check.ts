/**
 * `serve --check`: finds faults in the configuration that would prevent starting or working. It reads settings and
 * folders, and contacts other machines, but changes nothing.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { connect } from "node:net"
import { dirname, join, resolve } from "node:path"
import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { parseSmtpUrl } from "../../core/values/mail-address.ts"
import type { Finding } from "../../sync/device/device.ts"
import { takeLock } from "../../sync/sqlite/file-lock.ts"
import { startupErrorText } from "../ports/startup-error.ts"
import { least_room_bytes, mebibytes } from "../ports/storage-fault.ts"
import { sqlLayer } from "./app.ts"
import { bucketKeys } from "./config.ts"
import { type Environment, readVariables, type Values } from "./environment.ts"
import { checkAddress } from "./http.ts"

const patience_millis = 5_000
const least_postgres = 150_000

export const checkConfiguration = async (environment: Environment): Promise<ReadonlyArray<Finding>> => {
  const settings = await finding("settings", () => readVariables(environment))
  if (settings.value === undefined) return [settings.finding]
  const given = settings.value
  const folder = resolve(given.FLIGHTCASE_DATA)
  const is_running = isServed(folder)
  const checks: ReadonlyArray<readonly [check: string, look: () => unknown]> = [
    ["key", () => keyIn(given)],
    ["data folder", () => writable(folder)],
    ["disk", () => room(folder)],
    ["address", () => (is_running ? "a server runs on this folder" : address(given))],
    ["public address", () => publicAddress(given)],
    ["database", () => database(given, folder)],
    ...(given.FLIGHTCASE_DATABASE_REPLICA_URL === undefined ? [] : [["replica", () => replica(given)] as const]),
    ["upgrade", () => upgrade(given, folder)],
    ["mail", () => mail(given)],
    ["files", () => files(given)]
  ]
  return Promise.all(checks.map(async ([check, look]) => (await finding(check, look)).finding))
}

/** Runs a check; returns its value, and a finding with its text or the reason of the failure. */
const finding = async <A>(
  check: string,
  look: () => A | Promise<A>
): Promise<{ readonly finding: Finding; readonly value?: A }> => {
  try {
    const value = await look()
    return { value, finding: { check, ok: true, detail: typeof value === "string" ? value : "valid" } }
  } catch (cause) {
    return {
      finding: { check, ok: false, detail: startupErrorText(cause, `the ${check}`).replace(/^cannot start: /, "") }
    }
  }
}

const keyIn = ({ DATABASE_URL, FLIGHTCASE_KEY }: Values): string => {
  if (FLIGHTCASE_KEY !== undefined) return "set"
  if (DATABASE_URL === undefined) return "kept in the data folder"
  throw new Error("FLIGHTCASE_KEY must be set beside DATABASE_URL: 20 characters or more, the same for every server.")
}
/** The folder, or its nearest existing parent. */
const existing = (folder: string): string => (existsSync(folder) ? folder : existing(dirname(folder)))
const writable = (folder: string): string => {
  const there = existing(folder)
  try {
    accessSync(there, constants.W_OK | constants.X_OK)
  } catch {
    throw new Error(`${there} cannot be written by this user; FLIGHTCASE_DATA names another folder.`)
  }
  return there === folder ? folder : `${folder}, to be made`
}
const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
const room = (folder: string): string => {
  const free_bytes = freeBytes(existing(folder))
  const text = `${mebibytes(free_bytes)} free`
  if (free_bytes < least_room_bytes) throw new Error(`${text}; the server wants 1,024 or more`)
  return text
}
const isServed = (folder: string): boolean => {
  if (!existsSync(join(folder, "server.lock"))) return false
  const lock = takeLock(folder, "server.lock")
  lock?.release()
  return lock === undefined
}
const address = async ({ DATABASE_URL, FLIGHTCASE_HOST: host, FLIGHTCASE_PORT: port }: Values): Promise<string> => {
  try {
    await checkAddress(host, port)
  } catch (cause) {
    const served = isInUse(cause) ? await servedDatabase(host, port) : undefined
    if (served === undefined) throw cause
    const is_other = served.database !== "postgres" || DATABASE_URL === undefined
    if (!is_other && (await mayServe(DATABASE_URL, served.journal_position)))
      return `${host} port ${port} is in use: a Flightcase server on Postgres runs there`
    throw new Error(
      `Port ${port} on ${host} is in use: a Flightcase server with another database runs there; ` +
        "FLIGHTCASE_PORT chooses another."
    )
  }
  return `${host} port ${port} is free`
}
const isInUse = (cause: unknown): boolean =>
  cause instanceof Error && cause.cause instanceof Error && "code" in cause.cause && cause.cause.code === "EADDRINUSE"
const healthAnswer = Schema.Struct({
  health: Schema.Struct({ database: Schema.String, journal_position: Schema.optionalKey(Schema.NullOr(Schema.Finite)) })
})
type Served = (typeof healthAnswer)["Type"]["health"]
/** Database of the Flightcase server that answers at an address; undefined if none does. */
const servedDatabase = async (host: string, port: number): Promise<Served | undefined> => {
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}/api/v1/system/health`
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(patience_millis) })
    return Schema.decodeUnknownSync(healthAnswer)(await answer.json()).health
  } catch {
    return undefined
  }
}
/** Whether a server at this position of its journal may have this database: true if that cannot be looked up. */
const mayServe = async (url: string, position: number | null | undefined): Promise<boolean> => {
  const ask = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [there] = yield* sql<{ readonly is_empty: boolean }>`select to_regclass('journal_head') is null as is_empty`
    if (there?.is_empty !== false) return false
    // The server may have read its position up to a minute ago.
    const [row] = yield* sql<{ readonly last: string; readonly settled: string | null }>`
      select position as last, (select position from journal where recorded_at < now() - interval '1 minute'
        order by recorded_at desc, position desc limit 1) as settled
      from journal_head where id = 1`
    return typeof position !== "number" || (position <= Number(row?.last) && position >= Number(row?.settled ?? 0))
  })
  const layer = sqlLayer({ kind: "pg", url, connections_max: 1 })
  return Effect.runPromise(Effect.timeout(Effect.provide(ask, layer), patience_millis)).catch(() => true)
}
const isLoopback = (host: string): boolean => /^(localhost|127\.|::1$)/.test(host)
const publicAddress = ({ FLIGHTCASE_HOST, FLIGHTCASE_TRUST_PROXY, FLIGHTCASE_URL }: Values): string => {
  if (FLIGHTCASE_URL === undefined) {
    if (isLoopback(FLIGHTCASE_HOST)) return "this machine alone reaches the server"
    throw new Error("FLIGHTCASE_URL is not set: links in mail and calendars would name the listening address.")
  }
  if (FLIGHTCASE_URL.startsWith("https:") && FLIGHTCASE_TRUST_PROXY === 0)
    throw new Error(
      "FLIGHTCASE_URL is https, so a proxy is in front, and FLIGHTCASE_TRUST_PROXY is 0: " +
        "all clients would share the limits of one address. Set it to 1."
    )
  return FLIGHTCASE_URL
}

const database = async ({ DATABASE_URL: url }: Values, folder: string): Promise<string> => {
  const path = join(folder, "flightcase.sqlite")
  if (url === undefined) return existsSync(path) ? path : `${path}, to be made`
  const ask = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{
      readonly version: string
      readonly may_create: boolean
      readonly name: string
      readonly encoding: string
    }>`
      select current_setting('server_version_num') as version, current_database() as name,
        has_schema_privilege('public', 'create') as may_create, current_setting('server_encoding') as encoding`
    return row
  })
  const row = await Effect.runPromise(
    Effect.timeout(Effect.provide(ask, sqlLayer({ kind: "pg", url, connections_max: 1 })), patience_millis)
  )
  if (Number(row?.version) < least_postgres) throw new Error("This Postgres is older than 15.")
  if (row?.may_create !== true) throw new Error("Its user may not create tables in the schema public.")
  if (row.encoding !== "UTF8")
    throw new Error(
      `Its encoding is ${row.encoding}; make the database with the encoding UTF8 and the template template0.`
    )
  return `${row.name} on Postgres ${Math.floor(Number(row.version) / 10_000)}`
}

const replica = async ({
  DATABASE_URL: url,
  FLIGHTCASE_DATABASE_REPLICA_URL: replica_url
}: Values): Promise<string> => {
  if (url === undefined || replica_url === undefined)
    throw new Error("DATABASE_URL must be set beside FLIGHTCASE_DATABASE_REPLICA_URL: it names the primary.")
  const { checkReplica } = await import("../pg/replica.ts")
  const { behind_bytes, fault } = await Effect.runPromise(
    Effect.timeout(checkReplica(url, replica_url), patience_millis)
  )
  if (fault !== undefined) throw new Error(`FLIGHTCASE_DATABASE_REPLICA_URL: ${fault}.`)
  return behind_bytes === 0 ? "has what was committed" : `${behind_bytes.toLocaleString("en")} bytes behind`
}

/** Assumed number of events projected in a second, on the low side. Not measured. */
const projected_in_a_second = 1_000
/** The effect of this release's first start on the database, with the time and room it needs. Changes nothing. */
const upgrade = async ({ DATABASE_URL: url }: Values, folder: string): Promise<string> => {
  const path = join(folder, "flightcase.sqlite")
  if (url === undefined && !existsSync(path)) return "the database is to be made"
  const { catalogue } = await import("../../core/catalogue.ts")
  const { catalogueOf } = await import("../../core/kernel/endpoints/endpoint.ts")
  const { pendingUpgrade } = await import("../../core/kernel/runtime/schema.ts")
  const { make: makeStore, Store } = await import("../../core/kernel/store/store.ts")
  const { serverSlices } = await import("./slices.ts")
  const whole = catalogueOf([...catalogue.slices, ...serverSlices(() => whole)])
  const at = sqlLayer(url === undefined ? { kind: "sqlite", path } : { kind: "pg", url, connections_max: 1 })
  const pending = await Effect.runPromise(
    pendingUpgrade(whole).pipe(
      Effect.provideServiceEffect(
        Store,
        Effect.map(SqlClient.SqlClient, (sql) => makeStore(sql, true))
      ),
      Effect.provide(at)
    )
  )
  if (pending === undefined) return "the tables are to be made"
  const { events, migrations, projects_again } = pending
  const parts = [
    ...(migrations.length === 0 ? [] : [`migrations: ${migrations.join(", ")}`]),
    ...(projects_again ? [`tables are projected again from ${events.toLocaleString("en")} events`] : [])
  ]
  if (parts.length === 0) return "nothing is pending"
  const seconds = 1 + Math.ceil((projects_again ? events : 0) / projected_in_a_second)
  const size = url === undefined ? statSync(path).size : undefined
  const needed = size === undefined ? "as much room again as the database has" : `${mebibytes(size)} of room`
  const text = `${parts.join("; ")}; at most ${seconds} s and ${needed}, at the next start`
  if (size !== undefined && freeBytes(folder) < size)
    throw new Error(`${text}, of which ${mebibytes(freeBytes(folder))} are free`)
  return text
}

/** Rejects unless a TCP connection to the address succeeds. */
const reach = (host: string, port: number): Promise<void> =>
  new Promise((done, fail) => {
    const socket = connect({ host, port, timeout: patience_millis })
    const end = (cause?: Error): void => {
      socket.destroy()
      if (cause === undefined) done()
      else fail(new Error(`${host} port ${port} cannot be reached (${cause.message}).`))
    }
    socket.once("connect", () => end())
    socket.once("timeout", () => end(new Error("no answer")))
    socket.once("error", end)
  })
const mail = async ({ FLIGHTCASE_SMTP_URL: url }: Values): Promise<string> => {
  if (url === undefined) return "by the setting mail.smtp_url, else written to outbox/"
  const { host, port } = Result.getOrThrow(parseSmtpUrl(url))
  await reach(host, port)
  return `${host} port ${port} answers`
}
const files = async (given: Values): Promise<string> => {
  if (given.FLIGHTCASE_BLOBS === undefined) return "kept in blobs/ of the data folder"
  bucketKeys(given)
  const endpoint = new URL(given.FLIGHTCASE_BLOBS).searchParams.get("endpoint")
  if (endpoint === null) return given.FLIGHTCASE_BLOBS
  const { hostname, port, protocol } = new URL(endpoint)
  await reach(hostname, Number(port) || (protocol === "https:" ? 443 : 80))
  return `${hostname} answers`
}
