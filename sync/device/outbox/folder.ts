/**
 * A device's folder: its profile, its replica, which can be refilled at any time, and its outbox, which cannot. Faults
 * throw a DeviceFailure with advice.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { wholeNumber } from "../../../core/kernel/index.ts"
import { DecodeFailure, decoderOf } from "../../protocol/wire.ts"
import { DeviceFailure, isDamage, outboxDamaged, whatIsWrong } from "./device-failure.ts"
import { openOutboxAt, type Outbox } from "./outbox.ts"

export { DeviceFailure, isDamage } from "./device-failure.ts"

/** Content of `profile.json`. Unknown keys of later releases are kept when it is rewritten. */
const profileSchema = () =>
  Schema.StructWithRest(
    Schema.Struct({
      name: Schema.String,
      url: Schema.String,
      /** The server's public URL, for feeds and links. */
      public_url: Schema.optionalKey(Schema.String),
      token: Schema.String,
      replica_id: wholeNumber,
      device: Schema.String,
      user_id: wholeNumber,
      abilities: Schema.Array(Schema.String),
      /**
       * Secret with which the device signs bundles (`Seed`); absent in profiles of earlier releases until a sync.
       */
      key: Schema.optionalKey(Schema.String),
      /** SHA-256, in hex, of the token used to log in, which is not the device's own. */
      logged_in_with: Schema.optionalKey(Schema.String),
      /** The server's public key for verifying its bundles (`PublicKey`). */
      server_key: Schema.optionalKey(Schema.String),
      /** Time at which the server reported another folder with this device id; logging in makes a new device. */
      copied_at: Schema.optionalKey(Schema.String),
      /** Time at which the server reported the revocation; the replica was deleted, the outbox was not. */
      revoked_at: Schema.optionalKey(Schema.String)
    }),
    [Schema.Record(Schema.String, Schema.Unknown)]
  )
export type Profile = ReturnType<typeof profileSchema>["Type"]
const decodeProfile = decoderOf("the profile", profileSchema)

/** Error if the folder has no device yet. */
class NoProfile extends Error {
  override readonly name = "NoProfile"
  constructor(folder: string) {
    super(`There is no profile in ${folder}; run flightcase login URL --token T first.`)
  }
}

const profilePath = (folder: string): string => join(folder, "profile.json")
export const outboxPath = (folder: string): string => join(folder, "outbox.sqlite")
export const replicaPath = (folder: string): string => join(folder, "replica.sqlite")

export const hasProfile = (folder: string): boolean => existsSync(profilePath(folder))
export const readProfile = (folder: string): Profile => {
  if (!hasProfile(folder)) throw new NoProfile(folder)
  const text = readFileSync(profilePath(folder), "utf8")
  try {
    return decodeProfile(JSON.parse(text))
  } catch (error) {
    throw profileDamaged(folder, error)
  }
}
const profileDamaged = (folder: string, cause: unknown): DeviceFailure =>
  new DeviceFailure(
    "profile damaged",
    `The profile ${profilePath(folder)} cannot be read: it is damaged${cause instanceof DecodeFailure ? ` (${cause.message})` : ""}.`,
    "Unsent commands are safe in outbox.sqlite beside it: flightcase sync export-pending FILE writes them out. Then flightcase login URL --token T --set-aside begins anew.",
    cause
  )

/** Writes the profile by renaming a temporary file: after a crash it is the old or the new one. */
export const writeProfile = (folder: string, profile: Profile): void => {
  const beside = `${profilePath(folder)}.${process.pid}`
  writeFileSync(beside, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(beside, profilePath(folder))
}

const sqlite_header = "SQLite format 3\0"
/** State of a file, checked before SQLite opens it, as SQLite would create a database in an empty file. */
const stateOf = (path: string): "missing" | "empty" | "foreign" | "database" => {
  if (!existsSync(path)) return "missing"
  if (statSync(path).size === 0) return "empty"
  const head = Buffer.alloc(sqlite_header.length)
  const file = openSync(path, "r")
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return head.toString("latin1") === sqlite_header ? "database" : "foreign"
}

/**
 * Opens the existing outbox. Throws if it is missing, instead of creating a new one, as commands may be lost with it.
 */
export const openOutboxOf = (folder: string): Outbox => {
  const path = outboxPath(folder)
  const state = stateOf(path)
  if (state === "missing" || state === "empty") {
    throw new DeviceFailure(
      "outbox missing",
      `The outbox ${path} is ${state}: commands recorded here and not sent yet were in it.`,
      "Put it back from a backup. Without one, flightcase login URL --token T --set-aside begins anew and keeps this folder beside the new one."
    )
  }
  if (state === "foreign") throw outboxDamaged(path)
  try {
    return openOutboxAt(path)
  } catch (error) {
    throw isDamage(error) && !(error instanceof DeviceFailure) ? outboxDamaged(path, error) : error
  }
}
const nothing_unsent_lost = "Nothing unsent is lost: that is kept in the outbox."
export const replicaDamaged = (folder: string, cause?: unknown): DeviceFailure =>
  new DeviceFailure(
    "replica damaged",
    `The replica ${replicaPath(folder)} is damaged. ${nothing_unsent_lost}${whatIsWrong(cause)}`,
    "flightcase doctor --repair sets it aside and fills a new one from the server.",
    cause
  )
/** Whether the replica can be opened or filled: it is a database, empty or missing. */
export const isReplicaIntact = (folder: string): boolean => stateOf(replicaPath(folder)) !== "foreign"

const replica_files = ["", "-wal", "-shm", "-journal"]
/** Renames the replica's files for later inspection; returns the new path. */
export const moveReplicaAside = (folder: string, stamp: string): string => {
  const aside = `${replicaPath(folder)}.damaged-${stamp}`
  for (const suffix of replica_files)
    if (existsSync(replicaPath(folder) + suffix)) renameSync(replicaPath(folder) + suffix, aside + suffix)
  return aside
}
/** Marks the profile as revoked and deletes the replica; the outbox stays. */
export const deleteReplica = (folder: string, profile: Profile, now: string): void => {
  writeProfile(folder, { ...profile, revoked_at: now })
  for (const suffix of replica_files) rmSync(replicaPath(folder) + suffix, { force: true })
}
export const revokedFailure = (profile: Profile, unsent: number): DeviceFailure =>
  new DeviceFailure(
    "revoked",
    `This device (${profile.device}) has been revoked; its data were taken away${unsent === 0 ? "" : `, its ${unsent} unsent ${unsent === 1 ? "command is" : "commands are"} kept`}.`,
    `${unsent === 0 ? "" : "flightcase sync export-pending FILE writes them out for review. "}flightcase login URL --token T makes this machine a new device${unsent === 0 ? "" : " and takes them along"}.`
  )
