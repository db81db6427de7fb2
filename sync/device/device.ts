/**
 * A device: one profile's folder on this machine with its replica and its outbox, and the ways to ask it. Any number of
 * processes may open one folder; SQLite's lock keeps writers in line, and one sync runs at a time.
 */
import { chmodSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Failure, Request } from "../../core/kernel/endpoint.ts"
import { deactivated_message } from "../../core/kernel/engine.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/rejection.ts"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { roles, users } from "../../core/users/schema.ts"
import { viewerOf } from "../../core/users/viewer.ts"
import { layer as sqliteLayer } from "../sqlite/client.ts"
import { BundleError } from "../protocol/bundle-format.ts"
import { decodeEnrolment } from "../protocol/answers.ts"
import { newSeed, publicKeyOf } from "../protocol/signature.ts"
import type { WireError } from "../protocol/wire.ts"
import { type ExportedBundle, importBundle, exportBundle, type ImportedBundle } from "./bundle.ts"
import { reclaimForgottenLeases } from "./recovery/reclaim-leases.ts"
import {
  type Conflict,
  conflictsOver,
  type FreeUnit,
  type ResolutionResult,
  type ResolutionRequest,
  type CommandReport
} from "./resolutions/conflicts.ts"
import { examineDevice, type Finding } from "./recovery/doctor.ts"
import {
  DeviceFailure,
  deleteReplica,
  hasProfile,
  isDamage,
  NoProfile,
  openOutboxOf,
  outboxPath,
  type Profile,
  readProfile,
  replicaDamaged,
  isReplicaIntact,
  replicaPath,
  revokedFailure,
  sqliteCodeIn,
  writeProfile
} from "./folder.ts"
import { copiedFailure, handshake } from "./handshake.ts"
import { acceptMissing, type MissingCommands, missingFailure, missingNow } from "./recovery/missing-commands.ts"
import { openOutboxAt, type Outbox } from "./outbox/outbox.ts"
import { readAnswer, type Remote, RemoteError, remoteAt, Unreachable } from "./remote.ts"
import { type QueryResult, makeReplica, type Replica } from "./replica/replica.ts"
import { type Progress, syncOnce, type SyncReport } from "./sync.ts"

export { BundleError, DeviceFailure, hasProfile, NoProfile, readProfile, RemoteError, Unreachable }
export type {
  QueryResult,
  ExportedBundle,
  Conflict,
  Finding,
  FreeUnit,
  Profile,
  Progress,
  ResolutionResult,
  ResolutionRequest,
  SyncReport,
  CommandReport,
  ImportedBundle
}

export interface SyncStatus {
  readonly server: string
  readonly replica_id: number
  readonly position: number
  readonly synced_at: string | null
  readonly pending: number
  readonly oldest_pending_at: string | null
  /** Pending commands that no longer hold here. */
  readonly stalled: number
  readonly conflicts: number
  /** Commands that wait for a conflict to be settled. */
  readonly held: number
}
export interface PendingCommand {
  readonly n: number
  readonly id: string
  readonly name: string
  readonly issued_at: string
  readonly stalled: WireError | null
}
export interface SyncOptions {
  /** How long to wait while another process syncs; 30,000 by default. */
  readonly patience_millis?: number
}
/** Another process syncs this profile at the moment. */
export class SyncBusy extends Error {
  override readonly name = "SyncBusy"
}
export interface Device {
  readonly profile: Profile
  readonly remote: Remote
  /** Answers from the replica as the server would; refusals are answers too: status and {message, errors}. */
  readonly ask: (request: Request, options?: { readonly plan?: boolean }) => Promise<QueryResult>
  readonly sync: (
    progress?: Progress,
    options?: SyncOptions
  ) => Promise<SyncReport & { readonly warnings: ReadonlyArray<string> }>
  /** Where the replica stands in the server's shape, and when it last was up to date. */
  readonly place: () => Promise<{
    readonly offset: string
    readonly handle: string | undefined
    readonly synced_at: string | null
  }>
  /** The highest number pending; 0 when none is. Cheap. */
  readonly lastPending: () => number
  /** Sync by hand: what is pending as a signed file, and what the server answered to it taken in. */
  readonly bundleOut: () => Promise<ExportedBundle>
  readonly bundleIn: (text: string) => Promise<ImportedBundle>
  readonly status: () => Promise<SyncStatus>
  readonly conflicts: () => Promise<ReadonlyArray<Conflict>>
  /** Settles a conflict, or a held command by itself; every way keeps the history. */
  readonly resolve: (id: string, how: ResolutionRequest) => Promise<ResolutionResult>
  /** Units that could take the place of the one a command was refused for. */
  readonly freeUnits: (id: string) => Promise<ReadonlyArray<FreeUnit>>
  /** Accepted commands with something to tell: values they put aside, outcomes that are not what was shown here. */
  readonly told: (all: boolean) => ReadonlyArray<CommandReport>
  /** The person has seen what was told up to this command. */
  readonly seen: (n: number) => void
  readonly pending: () => Promise<ReadonlyArray<PendingCommand>>
  readonly doctor: (repair: boolean, options?: { readonly offline?: boolean }) => Promise<ReadonlyArray<Finding>>
  /** Commands acknowledged here that the outbox has lost; nothing is recorded or synced while there are any. */
  readonly missing: () => Promise<MissingCommands | undefined>
  /** Goes on without them; says which they were. */
  readonly acceptLoss: () => Promise<MissingCommands | undefined>
  readonly close: () => Promise<void>
}

/** A UUID v7: 48 bits of milliseconds, so that ids sort by the time they were made, then chance. */
export const uuidv7 = (now = Date.now()): string => {
  const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(16)).buffer)
  bytes.writeUIntBE(now, 0, 6)
  bytes[6] = (bytes[6]! & 0x0f) | 0x70
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export interface EnrolmentOptions {
  readonly name: string
  readonly url: string
  readonly token: string
  readonly device: string
}

/** Enrols this machine, keeps the leases it is given and fills the replica. An unfinished fill goes on with the next sync. */
export const enrolDevice = async (
  folder: string,
  enrolment: EnrolmentOptions,
  progress?: Progress
): Promise<Device> => {
  if (hasProfile(folder)) throw new Error(`${folder} holds a device already; a new one needs a folder of its own.`)
  const remote = remoteAt(enrolment.url, enrolment.token)
  const key = newSeed()
  const answer = await remote.call("POST", "/api/v1/sync/replicas", {
    name: enrolment.device,
    public_key: publicKeyOf(key)
  })
  const { replica, lease, token, server } = readAnswer(enrolment.url, answer, decodeEnrolment)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  // What an enrolment left that never came to a profile: leases of a device nobody has.
  for (const name of readdirSync(folder)) if (/^(outbox|replica)\.sqlite/.test(name)) rmSync(join(folder, name))
  const outbox = openOutboxAt(outboxPath(folder))
  outbox.addLease(1, lease)
  outbox.close()
  writeProfile(folder, {
    // The token somebody logged in with stays theirs: the device keeps one of its own, which ends with it.
    name: enrolment.name,
    url: enrolment.url,
    token: token?.secret ?? enrolment.token,
    replica_id: replica.id,
    device: enrolment.device,
    user_id: replica.user_id,
    abilities: replica.abilities,
    key,
    ...(typeof replica.public_url === "string" ? { public_url: replica.public_url } : {}),
    ...(typeof server?.public_key === "string" ? { server_key: server.public_key } : {})
  })
  const device = await openDevice(folder)
  await device.sync(progress)
  return device
}

/** Opens the folder's device: cheap, no network. What a crash left undone is done first. */
export const openDevice = async (
  folder: string,
  options: { readonly at?: (step: string) => void } = {}
): Promise<Device> => {
  const profile = readProfile(folder)
  const outbox = openOutboxOf(folder)
  if (profile.revoked_at !== undefined) {
    const unsent = outbox.pending().length
    outbox.close()
    throw revokedFailure(profile, unsent)
  }
  if (!isReplicaIntact(folder)) {
    outbox.close()
    throw replicaDamaged(folder)
  }
  const replica = makeReplica({
    catalogue,
    outbox,
    replica_id: profile.replica_id,
    commandId: () => uuidv7(),
    viewer: viewerHere(profile),
    public_url: () => profile.public_url ?? profile.url,
    ...(options.at === undefined ? {} : { at: options.at })
  })
  const runtime = ManagedRuntime.make(
    Layer.merge(Layer.provide(Store.layer, sqliteLayer({ path: replicaPath(folder) })), replica.runtime)
  )
  const run = <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>): Promise<A> => runtime.runPromise(effect)
  try {
    await run(replica.open)
  } catch (error) {
    await runtime.dispose().catch(() => {})
    outbox.close()
    throw error instanceof DeviceFailure
      ? error
      : isDamage(error)
        ? replicaDamaged(folder, error)
        : error instanceof Rejection && error.kind === "unavailable"
          ? new DeviceFailure(
              "newer schema",
              `The replica in ${folder} was written by a newer release. ${error.message}`,
              "Update Flightcase on this machine; nothing recorded is lost.",
              error
            )
          : error
  }
  return deviceOver({ folder, profile, outbox, replica, run, dispose: () => runtime.dispose() })
}

interface Parts {
  readonly folder: string
  readonly profile: Profile
  readonly outbox: Outbox
  readonly replica: Replica
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  readonly dispose: () => Promise<void>
}

const deviceOver = ({ folder, outbox, replica, run, dispose, ...parts }: Parts): Device => {
  let { profile } = parts
  const remote = remoteAt(profile.url, profile.token)
  const ask: Device["ask"] = async (request, options) => {
    const before = request.method === "GET" ? undefined : outbox.lastN()
    // What fails after the outbox has a command is told with its number: it is recorded, and would be recorded twice.
    try {
      return await run(asAnswer(replica.ask(request, options?.plan ?? false)))
    } catch (error) {
      throw before !== undefined && error instanceof Error ? withNumber(error, before) : error
    }
  }
  const withNumber = (error: Error, before: number): Error => {
    const n = outbox.lastN()
    return n > before ? Object.assign(error, { recorded_n: n }) : error
  }
  const missing = (): Promise<MissingCommands | undefined> => run(missingNow(outbox))
  /** A pull takes back what is provisional, and with it what is still known here of commands the outbox has lost. */
  const nothingMissing = async (): Promise<void> => {
    const lost = await missing()
    if (lost !== undefined) throw missingFailure(lost)
  }
  const conflicts = conflictsOver({
    outbox,
    ask: (request, plan, again) => run(asAnswer(replica.ask(request, plan, again))),
    runDue: () => run(replica.open),
    base: async () => (await run(replica.position)).position,
    commandId: () => uuidv7(),
    now: () => new Date().toISOString()
  })
  /** Greets the server and keeps what it told of itself. */
  const met = async (): Promise<ReadonlyArray<string>> => {
    const key = profile.key ?? newSeed()
    const { position } = await run(replica.position)
    const { warnings, server_key, device, server_memory } = await handshake({
      profile,
      outbox,
      remote,
      position,
      public_key: publicKeyOf(key)
    })
    const told: Profile = {
      ...profile,
      key,
      ...(server_key === undefined ? {} : { server_key }),
      ...(device === undefined ? {} : { device })
    }
    if (told.key !== profile.key || told.server_key !== profile.server_key || told.device !== profile.device)
      writeProfile(folder, told)
    profile = told
    if (server_memory !== undefined) await reclaimForgottenLeases(profile.replica_id, server_memory, outbox, remote)
    return warnings
  }
  const isCopy = (failure: DeviceFailure): DeviceFailure => {
    writeProfile(folder, (profile = { ...profile, copied_at: new Date().toISOString() }))
    return failure
  }
  /** What the server's refusal means for this folder. A device that was revoked holds its data no longer, nor does that of somebody who has no account any more. */
  const toldHere = (error: unknown): unknown => {
    if (error instanceof DeviceFailure) return error.kind === "copied" ? isCopy(error) : error
    if (!(error instanceof RemoteError)) return isDamage(error) ? replicaDamaged(folder, error) : error
    if (
      error.status === 403 &&
      (error.body.errors?.["replica"]?.includes("revoked") === true || error.body.message === deactivated_message)
    ) {
      deleteReplica(folder, profile, new Date().toISOString())
      return revokedFailure(profile, outbox.pending().length)
    }
    return error.status === 422 && error.body.errors?.["n"] !== undefined
      ? isCopy(copiedFailure(profile, error))
      : error
  }
  return {
    get profile() {
      return profile
    },
    remote,
    ask,
    sync: async (progress, options) => {
      const release = lockSync(folder, options?.patience_millis ?? 30_000)
      try {
        await nothingMissing()
        const warnings = await met()
        await conflicts.release()
        return {
          ...(await syncOnce({
            profile,
            outbox,
            replica,
            remote,
            run,
            ...(progress === undefined ? {} : { progress })
          })),
          warnings
        }
      } catch (error) {
        throw toldHere(error)
      } finally {
        release()
      }
    },
    place: () => run(replica.position),
    lastPending: () => outbox.lastPending(),
    bundleOut: async () => {
      await nothingMissing()
      return exportBundle({ profile, outbox, replica, run }, new Date().toISOString())
    },
    bundleIn: async (text) => {
      await nothingMissing()
      const release = lockSync(folder, 30_000)
      try {
        return await importBundle({ profile, outbox, replica, run }, text)
      } finally {
        release()
      }
    },
    status: async () => {
      const position = await run(replica.position)
      const pending = outbox.pending()
      return {
        server: profile.url,
        replica_id: profile.replica_id,
        position: position.position,
        synced_at: position.synced_at,
        pending: pending.length,
        oldest_pending_at: pending[0]?.issued_at ?? null,
        stalled: (await run(replica.stalled)).length,
        conflicts: outbox.byState("rejected").length,
        held: outbox.byState("held").length
      }
    },
    conflicts: conflicts.list,
    resolve: conflicts.resolve,
    freeUnits: conflicts.free,
    told: conflicts.told,
    seen: conflicts.seen,
    pending: async () => {
      const stalled = new Map((await run(replica.stalled)).map((one) => [one.n, one.error]))
      return outbox
        .pending()
        .map(({ n, id, name, issued_at }) => ({ n, id, name, issued_at, stalled: stalled.get(n) ?? null }))
    },
    doctor: async (repair, { offline = false } = {}) => {
      const release = lockSync(folder, 30_000)
      try {
        return await examineDevice({ profile, outbox, replica, run, remote }, repair, offline)
      } finally {
        release()
      }
    },
    missing,
    acceptLoss: async () => {
      const lost = await missing()
      if (lost === undefined) return undefined
      await run(acceptMissing(catalogue, outbox))
      await run(replica.open)
      return lost
    },
    close: async () => {
      await dispose()
      outbox.close()
    }
  }
}

const asAnswer = <R>(effect: Effect.Effect<QueryResult, Failure, R>): Effect.Effect<QueryResult, Failure, R> =>
  Effect.catch(effect, (failure): Effect.Effect<QueryResult, Failure, R> =>
    failure instanceof Rejection
      ? Effect.succeed({
          status: statusOf[failure.kind],
          body: bodyOf(failure) as unknown as JsonObject,
          ...(failure.headers === undefined ? {} : { headers: failure.headers })
        })
      : Effect.fail(failure)
  )

/** The device's user as the replica knows them now; before the first fill, somebody who may nothing. */
const viewerHere = (profile: Profile): Effect.Effect<Viewer, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const user = yield* store.get(users, profile.user_id)
    if (user === undefined)
      return yield* new Rejection({
        kind: "unavailable",
        message: "The replica is not filled yet; run flightcase sync."
      })
    return viewerOf(user, yield* store.find(roles, {}), { id: 0, abilities: profile.abilities })
  })

/** One sync at a time: an operating-system lock that dies with its holder. */
const lockSync = (folder: string, patience_millis: number): (() => void) => {
  const lock = new DatabaseSync(join(folder, "sync.lock"), { timeout: patience_millis })
  try {
    lock.exec("begin exclusive")
  } catch (error) {
    lock.close()
    throw sqliteCodeIn(error) === 5 ? new SyncBusy("Another sync of this profile is running.", { cause: error }) : error
  }
  return () => lock.close()
}
