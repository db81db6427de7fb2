/** What the server is told by its surroundings (surface: Server). Anything wrong is one line that names the variable. */
import { randomBytes } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { isLevel, type Level } from "./log.ts"
import { WrongStart } from "./wrong-start.ts"

export type Database =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "pg"; readonly url: string; readonly connections_max: number }

export interface ServerConfig {
  readonly host: string
  readonly port: number
  /** Where files are kept that are not in the database, and the database itself unless there is a Postgres. */
  readonly data_folder: string
  readonly database: Database
  /** Signs feeds, links and attachment addresses. */
  readonly key: string
  /** What the first owner's token is to be; generated when absent. */
  readonly owner_token: string | undefined
  /** The address people reach the server under; the listening address when absent. */
  readonly public_url: string | undefined
  /** Requests a token may make in a minute, unless the settings say otherwise. */
  readonly rate_limit: number | undefined
  readonly log_level: Level | "silent"
}
export type Environment = { readonly [name: string]: string | undefined }

const least_secret_length = 20

/** Reads the environment; makes the data folder and the key in it when they are needed and not there. */
export const configFrom = (environment: Environment): ServerConfig => {
  const given = (name: string): string | undefined => {
    const value = environment[name]?.trim()
    return value === undefined || value === "" ? undefined : value
  }
  const whole = (name: string, min: number, max: number): number | undefined => {
    const value = given(name)
    if (value === undefined) return undefined
    if (!/^\d{1,9}$/.test(value) || Number(value) < min || Number(value) > max) throw new WrongStart(`${name} must be a whole number from ${min} to ${max}.`)
    return Number(value)
  }
  const database_url = given("DATABASE_URL")
  const data_folder = resolve(given("FLIGHTCASE_DATA") ?? ".flightcase/server")
  const owner_token = given("FLIGHTCASE_TOKEN")
  if (owner_token !== undefined && owner_token.length < least_secret_length) throw new WrongStart(`FLIGHTCASE_TOKEN must have ${least_secret_length} or more characters.`)
  if (owner_token !== undefined && !/^[\x21-\x7e]+$/.test(owner_token)) throw new WrongStart("FLIGHTCASE_TOKEN must be printable ASCII without spaces: it travels in a header.")
  const log_level = given("FLIGHTCASE_LOG") ?? "info"
  if (!isLevel(log_level)) throw new WrongStart("FLIGHTCASE_LOG must be debug, info, warn, error or silent.")
  const settings = {
    host: given("FLIGHTCASE_HOST") ?? "127.0.0.1",
    port: whole("FLIGHTCASE_PORT", 0, 65_535) ?? 4480,
    data_folder, owner_token, log_level,
    public_url: publicUrl(given("FLIGHTCASE_URL")),
    rate_limit: whole("FLIGHTCASE_RATE_LIMIT", 1, 10_000),
    key: keyFrom(given("FLIGHTCASE_KEY"))
  }
  if (database_url !== undefined) {
    if (!/^postgres(ql)?:\/\//.test(database_url) || !URL.canParse(database_url)) throw new WrongStart("DATABASE_URL must be postgres://user:password@host:port/database.")
    if (settings.key === undefined) throw new WrongStart("FLIGHTCASE_KEY must be set beside DATABASE_URL: every server on that database signs with it. Any secret of 20 or more characters will do.")
    const connections_max = whole("FLIGHTCASE_DATABASE_CONNECTIONS", 1, 1_000) ?? 10
    return { ...settings, key: settings.key, database: { kind: "pg", url: database_url, connections_max } }
  }
  makeFolder(data_folder)
  return {
    ...settings, key: settings.key ?? keptKey(join(data_folder, "key")),
    database: { kind: "sqlite", path: join(data_folder, "flightcase.sqlite") }
  }
}

/** Nobody but the server's user looks into the folder. */
export const makeFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
  } catch (cause) {
    throw new WrongStart(`The data folder ${folder} cannot be made or closed to others (${codeOf(cause)}).`, cause)
  }
}

const keyFrom = (given: string | undefined): string | undefined => {
  if (given !== undefined && given.length < least_secret_length) throw new WrongStart(`FLIGHTCASE_KEY must have ${least_secret_length} or more characters.`)
  return given
}

/** The key in the data folder, made on the first start; of two servers that start at once both read the one kept. */
const keptKey = (file: string): string => {
  try {
    writeFileSync(file, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx", flush: true })
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") throw new WrongStart(`The key file ${file} cannot be written (${codeOf(cause)}).`, cause)
  }
  const key = readKey(file)
  if (key.length < least_secret_length) throw new WrongStart(`The key file ${file} holds no key; put the key back or, losing every signed link, delete the file.`)
  return key
}
const readKey = (file: string): string => {
  try { return readFileSync(file, "utf8").trim() } catch (cause) {
    throw new WrongStart(`The key file ${file} cannot be read (${codeOf(cause)}).`, cause)
  }
}

const publicUrl = (given: string | undefined): string | undefined => {
  if (given === undefined) return undefined
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) throw new WrongStart("FLIGHTCASE_URL must be the http or https address people reach this server under.")
  return given.replace(/\/+$/, "")
}
const codeOf = (cause: unknown): string => cause instanceof Error && "code" in cause ? String(cause.code) : String(cause)
