/** A device's session with its server: starts a sync, and applies refusals of the device to its folder. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { sqliteCodeIn } from "../outbox/device-failure.ts"
import type { Effect } from "effect"
import { deactivated_message, isJsonObject, sameJson } from "../../../core/kernel/index.ts"
import type { CommandRuntime, Failure, Json, Store } from "../../../core/kernel/index.ts"
import { newSeed, publicKeyOf } from "../../protocol/bundle-format.ts"
import {
  deleteReplica,
  DeviceFailure,
  isDamage,
  type Profile,
  replicaDamaged,
  revokedFailure,
  writeProfile
} from "../outbox/folder.ts"
import { pruneFiles } from "./files.ts"
import { copiedFailure, handshake } from "./handshake.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { type Remote, remoteAt, RemoteError } from "./remote.ts"
import type { Replica } from "../replica/replica.ts"

// Runs one sync per profile at a time, across processes.

/** Error if another process is syncing this profile. */
export class SyncBusy extends Error {
  override readonly name = "SyncBusy"
}

/**
 * Takes the sync lock and returns the function that releases it; it ends with the process at the latest. Throws
 * SyncBusy if another process holds it.
 */
const lockSync = (folder: string, patience_millis: number): (() => void) => {
  const lock = new DatabaseSync(join(folder, "sync.lock"), { timeout: patience_millis })
  // Nothing is ever written, and a journal in a file would be created and deleted each time.
  try {
    lock.exec("pragma journal_mode = memory; begin exclusive")
  } catch (error) {
    lock.close()
    throw sqliteCodeIn(error) === 5 ? new SyncBusy("Another sync of this profile is running.", { cause: error }) : error
  }
  return () => lock.close()
}
/** Runs `work` while no other process syncs this profile. */
export const whileLocked = async <A>(folder: string, patience_millis: number, work: () => Promise<A>): Promise<A> => {
  const release = lockSync(folder, patience_millis)
  try {
    return await work()
  } finally {
    release()
  }
}

export interface SessionParts {
  readonly folder: string
  readonly profile: Profile
  readonly outbox: Outbox
  readonly replica: Pick<Replica, "position">
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
}
interface ServerSession {
  readonly remote: Remote
  /** The current profile, with the server's information. */
  readonly profile: () => Profile
  /** Performs the handshake and returns warnings for the user. Throws RemoteError, Unreachable and DeviceFailure. */
  readonly begin: () => Promise<ReadonlyArray<string>>
  /**
   * The failure to report for an error during a sync. Deletes the replica if the device is revoked or its user
   * deactivated; marks a copied folder in its profile.
   */
  readonly failureHere: (error: unknown) => unknown
}

export const openSession = ({ folder, outbox, replica, run, ...parts }: SessionParts): ServerSession => {
  let { profile } = parts
  const remote = remoteAt(profile.url, profile.token)
  const markCopied = (failure: DeviceFailure): DeviceFailure => {
    writeProfile(folder, (profile = { ...profile, copied_at: new Date().toISOString() }))
    return failure
  }
  return {
    remote,
    profile: () => profile,
    begin: async () => {
      const key = profile.key ?? newSeed()
      const { position } = await run(replica.position)
      const { warnings, server_key, device, server_memory } = await handshake({
        profile,
        outbox,
        remote,
        position,
        public_key: publicKeyOf(key)
      })
      const next: Profile = {
        ...profile,
        key,
        ...(server_key === undefined ? {} : { server_key }),
        ...(device === undefined ? {} : { device })
      }
      if (next.key !== profile.key || next.server_key !== profile.server_key || next.device !== profile.device)
        writeProfile(folder, next)
      profile = next
      if (server_memory !== undefined) {
        const { reclaimForgottenLeases } = await import("./sync.ts")
        await reclaimForgottenLeases(profile.replica_id, server_memory, outbox, remote)
      }
      return warnings
    },
    failureHere: (error) => {
      if (error instanceof DeviceFailure) return error.kind === "copied" ? markCopied(error) : error
      if (!(error instanceof RemoteError)) return isDamage(error) ? replicaDamaged(folder, error) : error
      if (isEndOfDevice(error)) {
        deleteReplica(folder, profile, new Date().toISOString())
        // Files of unsent commands stay, as the outbox does.
        pruneFiles(folder, outbox)
        return revokedFailure(profile, outbox.pending().length)
      }
      return error.status === 422 && error.body.errors?.["n"] !== undefined
        ? markCopied(copiedFailure(profile, error))
        : error
    }
  }
}
/** Whether an answer says that the device was revoked or its user deactivated, so that it must delete its data. */
export const isEndOfDevice = ({
  body,
  status
}: {
  readonly status: number
  readonly body?: Json | undefined
}): boolean => {
  if (status !== 403 || !isJsonObject(body)) return false
  const { errors, message } = body
  return message === deactivated_message || (isJsonObject(errors) && sameJson(errors["replica"] ?? null, ["revoked"]))
}
