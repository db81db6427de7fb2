/** A device's session with its server: starts a sync, and applies refusals of the device to its folder. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { sqliteCodeIn } from "../outbox/device-failure.ts"
import type { Effect } from "effect"
import { deactivated_message, isJsonObject, sameJson } from "../../../core/kernel/index.ts"
import type { CommandRuntime, Failure, Json, Store } from "../../../core/kernel/index.ts"
import { schema_version } from "../../../core/kernel/runtime/schema.ts"
import { decodeGreeting } from "../../protocol/answers.ts"
import { newSeed, type PublicKey, publicKeyOf } from "../../protocol/bundle-format.ts"
import { commands_per_push_max } from "../../protocol/wire.ts"
import type { reclaimForgottenLeases } from "./sync.ts"
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
import type { Outbox } from "../outbox/outbox.ts"
import { readAnswer, type Remote, remoteAt, RemoteError } from "./remote.ts"
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

// The first request of each sync: sends the device's position and pending command numbers; the answer reports obstacles
// before anything is sent.

/**
 * Clock difference in seconds above which users are warned: the server's order is not affected, but times recorded here
 * will look wrong.
 */
export const skew_warning_seconds = 300

interface HandshakeResult {
  /** Warnings for the user; the sync continues. */
  readonly warnings: ReadonlyArray<string>
  /** Difference of the server's clock to this one in seconds; positive if this one is slow, null if unknown. */
  readonly skew_seconds: number | null
  readonly server_key: PublicKey | undefined
  /** The device's name at the server, which may have been changed there. */
  readonly device: string | undefined
  /** The server's record of the device's id blocks and commands. */
  readonly server_memory: Parameters<typeof reclaimForgottenLeases>[1] | undefined
}
interface HandshakeParts {
  readonly profile: Profile
  readonly outbox: Pick<Outbox, "lastN" | "pending">
  readonly remote: Pick<Remote, "call">
  readonly position: number
  readonly public_key: PublicKey | undefined
  /** Current time in milliseconds since 1970. */
  readonly clock?: () => number
}
/**
 * Performs the handshake. Throws a RemoteError if the server refuses the device, a DeviceFailure if another folder
 * sends as this device.
 */
const handshake = async ({
  profile,
  outbox,
  remote,
  position,
  public_key,
  clock = Date.now
}: HandshakeParts): Promise<HandshakeResult> => {
  const pending = outbox
    .pending()
    .slice(0, commands_per_push_max)
    .map(({ n, id }) => ({ n, id }))
  const asked_at = clock()
  const answer = await remote.call("POST", `/api/v1/sync/replicas/${profile.replica_id}/hello`, {
    schema_version,
    position,
    last_n: outbox.lastN(),
    pending,
    ...(public_key === undefined ? {} : { public_key })
  })
  const skew_seconds = skewOf(answer.headers.get("date"), asked_at, clock())
  const warnings =
    skew_seconds !== null && Math.abs(skew_seconds) > skew_warning_seconds ? [skewText(skew_seconds)] : []
  // A server without this endpoint is of a release that has no handshake.
  if (answer.status === 404)
    return { warnings, skew_seconds, server_key: undefined, device: undefined, server_memory: undefined }
  const { replica, server, copied, push, leases } = readAnswer(profile.url, answer, decodeGreeting)
  if (copied) throw copiedFailure(profile)
  if (!push)
    warnings.push(
      `This release (schema ${schema_version}) is too old to send what it records: the server takes commands from schema ${server.client_schema_min} on. News still arrives; commands stay here until Flightcase is updated.`
    )
  else if (server.schema_version > schema_version)
    warnings.push(
      `The server runs a newer release (schema ${server.schema_version}, this is ${schema_version}); what only it knows is not shown here until Flightcase is updated.`
    )
  if (server.schema_version < schema_version)
    warnings.push(
      `The server runs an older release (schema ${server.schema_version}, this is ${schema_version}); commands it does not know are refused and can be tried again once it is updated.`
    )
  return {
    warnings,
    skew_seconds,
    server_key: server.public_key ?? undefined,
    device: replica.name,
    server_memory: { blocks: leases, last_n: replica.last_n }
  }
}

const copiedFailure = (profile: Profile, cause?: unknown): DeviceFailure =>
  new DeviceFailure(
    "copied",
    `This folder is a copy: another one has sent commands as the same device (${profile.device}, replica ${profile.replica_id}). Nothing was sent.`,
    "flightcase login URL --token T makes this machine a device of its own and takes its unsent commands along.",
    cause
  )

/**
 * Seconds by which this machine's clock is slow. The Date header has whole seconds and was written between the request
 * (`asked_at`) and the response (`heard_at`), in milliseconds. Null if the header is missing.
 */
export const skewOf = (date: string | null, asked_at: number, heard_at: number): number | null => {
  const server_time = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(server_time)) return null
  const early = server_time - heard_at,
    late = server_time + 1_000 - asked_at
  return early > 0 ? Math.round(early / 1_000) : late < 0 ? Math.round(late / 1_000) : 0
}
export const skewText = (seconds: number): string =>
  `This machine's clock is ${durationText(Math.abs(seconds))} ${seconds > 0 ? "behind" : "ahead of"} the server's. Times recorded here are kept as they are; set the clock.`
const durationText = (seconds: number): string => {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60
  ]
  const parts = (
    [
      [days, "day"],
      [hours, "hour"],
      [minutes, "minute"]
    ] as const
  )
    .filter(([count]) => count > 0)
    .slice(0, 2)
  return parts.map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`).join(" and ")
}
