/**
 * The server's configuration from environment variables. Faults throw a one-line StartupError that names the variable.
 */
import { randomBytes } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { type Environment, least_secret_length, readVariables, type Values } from "./environment.ts"
import type { Credentials, Outside } from "../ports/outside.ts"
import type { Level } from "../ports/log.ts"
import { StartupError } from "../ports/startup-error.ts"

export type Database =
  | { readonly kind: "sqlite"; readonly path: string; readonly lock_timeout_ms?: number }
  | {
      readonly kind: "pg"
      readonly url: string
      /** A streaming replica that answers reads. */
      readonly replica_url?: string | undefined
      readonly connections_max: number
      readonly lock_timeout_ms?: number
    }

export interface ServerConfig {
  readonly host: string
  readonly port: number
  /** Folder for files outside the database, and for the SQLite database if there is no Postgres. */
  readonly data_folder: string
  readonly database: Database
  /** Signs URLs of feeds, boards, links and files, and encrypts stored secrets. */
  readonly key: string
  /** The first owner's token on an empty database; generated when absent. */
  readonly owner_token: string | undefined
  /** Public URL of the server; by default the address it listens at. */
  readonly public_url: string | undefined
  /** Requests per minute of a token; the settings override it. */
  readonly rate_limit: number | undefined
  /** Requests per minute of an address without a valid token; the settings override it. */
  readonly anonymous_rate_limit: number | undefined
  /** Number of proxies in front of the server whose X-Forwarded-For is trusted. */
  readonly trusted_proxies: number
  readonly log_level: Level | "silent"
  readonly outside: Outside
  /** OpenTelemetry's variables, if traces and metrics are exported. */
  readonly exporting: Environment | undefined
}

/** Reads the environment; creates the data folder and its key if they are needed and missing. */
export const configFrom = (environment: Environment): ServerConfig => {
  const given = readVariables(environment)
  const data_folder = resolve(given.FLIGHTCASE_DATA)
  const settings = {
    host: given.FLIGHTCASE_HOST,
    port: given.FLIGHTCASE_PORT,
    data_folder,
    log_level: given.FLIGHTCASE_LOG,
    owner_token: given.FLIGHTCASE_TOKEN,
    public_url: given.FLIGHTCASE_URL?.replace(/\/+$/, ""),
    rate_limit: given.FLIGHTCASE_RATE_LIMIT,
    anonymous_rate_limit: given.FLIGHTCASE_ANONYMOUS_RATE_LIMIT,
    exporting:
      given.OTEL_EXPORTER_OTLP_ENDPOINT === undefined || given.OTEL_SDK_DISABLED === "true" ? undefined : environment,
    trusted_proxies: given.FLIGHTCASE_TRUST_PROXY,
    outside: {
      smtp_url: given.FLIGHTCASE_SMTP_URL,
      blobs: given.FLIGHTCASE_BLOBS,
      aws: bucketKeys(given),
      webhooks_private: given.FLIGHTCASE_WEBHOOKS_PRIVATE === 1,
      backups: given.FLIGHTCASE_BACKUPS,
      backup_passphrase: given.FLIGHTCASE_BACKUP_PASSPHRASE,
      webhooks_waits_seconds: given.FLIGHTCASE_WEBHOOKS_WAITS?.split(",").map(Number)
    }
  }
  const { DATABASE_URL: url, FLIGHTCASE_DATABASE_REPLICA_URL: replica_url, FLIGHTCASE_KEY: key } = given
  if (url !== undefined) {
    if (key === undefined)
      throw new StartupError(
        "FLIGHTCASE_KEY must be set beside DATABASE_URL: every server on that database signs with it. Any secret of 20 or more characters will do."
      )
    const connections_max = given.FLIGHTCASE_DATABASE_CONNECTIONS
    return { ...settings, key, database: { kind: "pg", url, replica_url, connections_max } }
  }
  if (replica_url !== undefined)
    throw new StartupError("DATABASE_URL must be set beside FLIGHTCASE_DATABASE_REPLICA_URL: it names the primary.")
  makeFolder(data_folder)
  return {
    ...settings,
    key: key ?? keptKey(join(data_folder, "key")),
    database: { kind: "sqlite", path: join(data_folder, "flightcase.sqlite") }
  }
}

/** Keys of the buckets for files and backups; undefined if one is missing, but throws if FLIGHTCASE_BLOBS is set. */
export const bucketKeys = (given: Values): Credentials | undefined => {
  const { AWS_ACCESS_KEY_ID: access_key_id, AWS_SECRET_ACCESS_KEY: secret_access_key } = given
  if (access_key_id === undefined || secret_access_key === undefined) {
    if (given.FLIGHTCASE_BLOBS === undefined) return undefined
    throw new StartupError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set beside FLIGHTCASE_BLOBS.")
  }
  return { access_key_id, secret_access_key, session_token: given.AWS_SESSION_TOKEN, region: given.AWS_REGION }
}

/** Creates the folder, accessible to the server's account only. */
const makeFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
  } catch (cause) {
    throw new StartupError(`The data folder ${folder} cannot be made or closed to others (${codeOf(cause)}).`, cause)
  }
}

/** The key in the data folder, created on the first start. Concurrent starts read the same key. */
const keptKey = (file: string): string => {
  try {
    writeFileSync(file, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx", flush: true })
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST")
      throw new StartupError(`The key file ${file} cannot be written (${codeOf(cause)}).`, cause)
  }
  const key = readKey(file)
  if (key.length < least_secret_length)
    throw new StartupError(
      `The key file ${file} holds no key; put the key back or, losing every signed link, delete the file.`
    )
  return key
}
const readKey = (file: string): string => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch (cause) {
    throw new StartupError(`The key file ${file} cannot be read (${codeOf(cause)}).`, cause)
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause ? String(cause.code) : String(cause)
