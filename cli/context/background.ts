/**
 * Background sync, started by commands: one at a time, none while `sync --watch` runs, and none for a while after a
 * failure. Commands wait for it only before they read an old replica, and briefly.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { takeLock } from "../../sync/sqlite/file-lock.ts"
import { decoderOf, refusedText } from "../base/answers.ts"
import { minuteText } from "../output/text.ts"
import type { Device } from "../../sync/device/device.ts"
import { clocksOver } from "./clocks.ts"
import type { Environment, Written } from "../base/server-choice.ts"

export const watch_lock = "watch.lock"
export const background_lock = "background.lock"
/** Age from which a replica gets a background sync even if nothing is pending, and reads report it. */
const stale_millis = 60_000
const retry_first_millis = 15_000
const retry_max_millis = 10 * 60_000

const isHeld = (folder: string, name: string): boolean => {
  if (!existsSync(join(folder, name))) return false
  const lock = takeLock(folder, name)
  lock?.release()
  return lock === undefined
}

/** Result of the last background sync. */
interface Attempt {
  /** Time of the attempt, in milliseconds since 1970. */
  readonly tried_at: number
  readonly ok: boolean
  readonly reason?: string
  /** Number of rejected commands since the last report to the user. */
  readonly conflicts: number
  /** Number of accepted commands with another outcome than shown here since then; absent in files of older releases. */
  readonly different?: number
  /** Message about both, which the next command gives. */
  readonly arrived?: string
  /** Number of consecutive failures. */
  readonly failures: number
}
const decodeAttempt = decoderOf<Attempt>(() =>
  Schema.Struct({
    tried_at: Schema.Finite,
    ok: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String),
    conflicts: Schema.Finite,
    different: Schema.optionalKey(Schema.Finite),
    arrived: Schema.optionalKey(Schema.String),
    failures: Schema.Finite
  })
)
const attemptPath = (folder: string): string => join(folder, "background.json")
/** The last attempt; undefined if there is none, or its file is unreadable. */
export const readAttempt = (folder: string): Attempt | undefined => {
  try {
    return decodeAttempt(JSON.parse(readFileSync(attemptPath(folder), "utf8")))
  } catch {
    return undefined
  }
}
/** Stores the attempt. Losing the file does no harm, as `sync conflicts` also lists rejected commands. */
export const saveAttempt = (folder: string, attempt: Attempt): void => {
  const beside = `${attemptPath(folder)}.${process.pid}`
  writeFileSync(beside, JSON.stringify(attempt), { mode: 0o600 })
  renameSync(beside, attemptPath(folder))
}

/** Message about the results of syncs in the background, given once; undefined if there is none. */
export const arrivedText = (folder: string): string | undefined => {
  const last = readAttempt(folder)
  if (last === undefined || (last.arrived === undefined && !(last.conflicts > 0))) return undefined
  const { arrived, ...rest } = last
  saveAttempt(folder, { ...rest, conflicts: 0, different: 0 })
  // Files of older releases have only the number.
  return arrived ?? refusedText(rest.conflicts)
}

/**
 * Age of the replica, from a minute on: `As of 14:03, 12 min ago`, in a time zone; undefined if it is newer. It is
 * unknown if the last sync is later than the clock, which was set back since.
 */
export const asOfText = (synced_at: string | null, now: number, zone: string | undefined): string | undefined => {
  if (synced_at === null || !isStale(synced_at, now)) return undefined
  const wallParts = (at: number): ReadonlyArray<string> => minuteText(new Date(at).toISOString(), zone).split(" ")
  const [day = "", time = ""] = wallParts(Date.parse(synced_at))
  const [today] = wallParts(now)
  const minutes = Math.floor((now - Date.parse(synced_at)) / 60_000)
  const hours = Math.floor(minutes / 60)
  const age = minutes < 120 ? `${minutes} min` : hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`
  return `As of ${day === today ? "" : `${day} `}${time}, ${minutes < 0 ? "later than this clock" : `${age} ago`}`
}
/** Whether the replica is so old that reads report its age, or of unknown age, as the clock was set back since. */
const isStale = (synced_at: string | null, now: number): boolean =>
  synced_at !== null && Math.abs(now - Date.parse(synced_at)) >= stale_millis

const isSet = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false"

interface SyncOccasion {
  readonly folder: string
  readonly profile: string
  readonly env: Environment
  readonly offline: boolean
  readonly pending: boolean
  readonly synced_at: string | null
}
/** Whether a background sync is due. `now` in milliseconds since 1970. */
export const shouldSync = ({ folder, env, offline, pending, synced_at }: SyncOccasion, now: number): boolean => {
  if (offline || isSet(env["FLIGHTCASE_NO_BACKGROUND"])) return false
  if (!pending && synced_at !== null && !isStale(synced_at, now)) return false
  const last = readAttempt(folder)
  const may_retry =
    last === undefined ||
    last.ok ||
    Math.abs(now - last.tried_at) >=
      Math.min(retry_max_millis, retry_first_millis * 2 ** Math.min(10, last.failures - 1))
  return may_retry && !isHeld(folder, watch_lock) && !isHeld(folder, background_lock)
}

/** Command line that starts this program: Node with options and script, or the single executable. */
export const ownCommand = (): ReadonlyArray<string> => {
  if (process.getBuiltinModule("node:sea").isSea()) return [process.execPath]
  const script = process.getBuiltinModule("node:fs").realpathSync(process.argv[1] ?? "")
  return [process.execPath, ...process.execArgv, script]
}

/**
 * Starts a sync as a separate process without terminal or pipes, which may outlive this one. Returns whether it ended
 * within `patience_millis`.
 */
const startBackgroundSync = async ({ profile, env }: SyncOccasion, patience_millis = 0): Promise<boolean> => {
  const { spawn } = await import("node:child_process")
  const [program = "", ...words] = ownCommand()
  const child = spawn(program, [...words, "sync", "--quiet", "--profile", profile], {
    detached: true,
    stdio: "ignore",
    env: { ...env, FLIGHTCASE_NO_BACKGROUND: "1" }
  })
  child.unref()
  return new Promise((resolve) => {
    const waiting = setTimeout(() => resolve(false), patience_millis)
    const ended = (is_done: boolean): void => {
      clearTimeout(waiting)
      resolve(is_done)
    }
    child.on("error", () => ended(false))
    child.on("exit", () => ended(true))
  })
}

/** Maximum time a read waits for the sync of an old replica, within which a nearby server responds. */
const refresh_patience_millis = 1_500
/**
 * Refreshes a replica that is a minute old before a read, for a limited time. Does nothing offline, just after a
 * network failure, or during another sync. Returns whether the refresh continues.
 */
export const refreshFirst = async (
  occasion: SyncOccasion,
  now: number,
  start: (occasion: SyncOccasion, patience_millis: number) => Promise<boolean> = startBackgroundSync
): Promise<boolean> => {
  const { synced_at } = occasion
  return isStale(synced_at, now) && shouldSync(occasion, now) && !(await start(occasion, refresh_patience_millis))
}

// Age of the replica that answers: refreshed before a read, reported after it.

interface Place {
  readonly env: Environment
  readonly offline: boolean
  readonly folder: () => string
  readonly profile: () => string
  readonly note: (text: string) => void
  readonly written: Written
}
const occasionOf = async (device: Device, { env, folder, offline, profile }: Place): Promise<SyncOccasion> => {
  const { synced_at } = await device.place()
  return { folder: folder(), profile: profile(), env, offline, pending: device.lastPending() > 0, synced_at }
}
/** Notes rejected commands and an old replica's age, and starts a background sync if due; faults are ignored. */
export const afterAnswering = async (device: Device, place: Place, is_refreshing: boolean): Promise<void> => {
  const { folder, note, written } = place
  try {
    const arrived = arrivedText(folder())
    if (arrived !== undefined) note(arrived)
    const occasion = await occasionOf(device, place)
    const refreshes = shouldSync(occasion, Date.now())
    const is_old = written.was_read && isStale(occasion.synced_at, Date.now())
    const as_of = is_old ? asOfText(occasion.synced_at, Date.now(), await zoneHere(device)) : undefined
    if (as_of !== undefined) note(`${as_of}${refreshes || is_refreshing ? "; it is being refreshed" : ""}.`)
    if (refreshes) await startBackgroundSync(occasion)
  } catch {
    /* The command succeeded; the next sync reports the fault. */
  }
}

const zoneHere = async (device: Device): Promise<string | undefined> => {
  const clocks = clocksOver((asking) => device.ask({ ...asking, body: undefined }))
  await clocks.look()
  return clocks.zoneHere()
}

/** Refreshes an old replica for a limited time, and returns whether that continues; false if it fails. */
export const refreshBefore = async (device: Device, place: Place): Promise<boolean> =>
  occasionOf(device, place)
    .then((occasion) => refreshFirst(occasion, Date.now()))
    .catch(() => false)
