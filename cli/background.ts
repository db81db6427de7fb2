/**
 * Syncing beside what people do: a command that has answered starts a sync of its own accord and does not wait for it.
 * One at a time, none while a watcher runs, none for a while after the network was seen to be away.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { takeLock } from "../sync/sqlite/file-lock.ts"
import type { Environment } from "./profile-folder.ts"

export const watch_lock = "watch.lock"
export const background_lock = "background.lock"
/** A replica older than this is worth a look at the server. */
const stale_millis = 10 * 60_000
const retry_first_millis = 15_000
const retry_max_millis = 10 * 60_000

const isHeld = (folder: string, name: string): boolean => {
  if (!existsSync(join(folder, name))) return false
  const lock = takeLock(folder, name)
  lock?.release()
  return lock === undefined
}

/** What the last sync in the background came to. */
export interface Attempt {
  /** Milliseconds since 1970. */
  readonly tried_at: number
  readonly ok: boolean
  readonly reason?: string
  /** Commands refused since somebody was last told. */
  readonly conflicts: number
  /** In a row. */
  readonly failures: number
}
const attemptPath = (folder: string): string => join(folder, "background.json")
export const readAttempt = (folder: string): Attempt | undefined => {
  try {
    return JSON.parse(readFileSync(attemptPath(folder), "utf8")) as Attempt
  } catch {
    return undefined
  }
}
/** A note that may be lost: at worst somebody is told later, by sync conflicts. */
export const saveAttempt = (folder: string, attempt: Attempt): void => {
  const beside = `${attemptPath(folder)}.${process.pid}`
  writeFileSync(beside, JSON.stringify(attempt), { mode: 0o600 })
  renameSync(beside, attemptPath(folder))
}

/** The line about commands refused in the background, once. */
export const arrivedText = (folder: string): string | undefined => {
  const last = readAttempt(folder)
  if (last === undefined || !(last.conflicts > 0)) return undefined
  saveAttempt(folder, { ...last, conflicts: 0 })
  return `${last.conflicts} ${last.conflicts === 1 ? "command was" : "commands were"} refused: flightcase sync conflicts`
}

const isSet = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false"

export interface SyncOccasion {
  readonly folder: string
  readonly profile: string
  readonly env: Environment
  readonly offline: boolean
  readonly pending: boolean
  readonly synced_at: string | null
}
/** Is this an occasion to sync? */
export const shouldSync = ({ folder, env, offline, pending, synced_at }: SyncOccasion, now: number): boolean => {
  if (offline || isSet(env["FLIGHTCASE_NO_BACKGROUND"])) return false
  const age = synced_at === null ? Number.POSITIVE_INFINITY : now - Date.parse(synced_at)
  if (!pending && age < stale_millis) return false
  const last = readAttempt(folder)
  const rested =
    last === undefined ||
    last.ok ||
    Math.abs(now - last.tried_at) >=
      Math.min(retry_max_millis, retry_first_millis * 2 ** Math.min(10, last.failures - 1))
  return rested && !isHeld(folder, watch_lock) && !isHeld(folder, background_lock)
}

/** Starts it and forgets it: it has no terminal, holds no pipe of ours, and outlives us. */
export const startBackgroundSync = async ({ profile, env }: SyncOccasion): Promise<void> => {
  const [{ spawn }, { realpathSync }] = await Promise.all([import("node:child_process"), import("node:fs")])
  const script = process.argv[1]
  if (script === undefined) return
  const child = spawn(
    process.execPath,
    [...process.execArgv, realpathSync(script), "sync", "--quiet", "--profile", profile],
    { detached: true, stdio: "ignore", env: { ...env, FLIGHTCASE_NO_BACKGROUND: "1" } }
  )
  child.on("error", () => {})
  child.unref()
}
