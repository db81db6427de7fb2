/**
 * A device: the folder of a profile on this machine, with its replica and outbox. Several processes may open it;
 * SQLite's lock serialises writers, and one sync runs at a time.
 */
import { createHash } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer, ManagedRuntime, References } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { attachments } from "../../core/office/attachments/attachables.ts"
import { Rejection, Store } from "../../core/kernel/index.ts"
import type { CommandRuntime, Failure, Request, Viewer } from "../../core/kernel/index.ts"
import { roles, type UserRow, users, viewerOf } from "../../core/people/users/permissions.ts"
import { decodeEnrolment } from "../protocol/answers.ts"
import { BundleError, newSeed, publicKeyOf } from "../protocol/bundle-format.ts"
import { layer as sqliteLayer } from "../sqlite/client.ts"
import type { Device, SyncStatus } from "./bundle.ts"
import {
  DeviceFailure,
  hasProfile,
  isDamage,
  isReplicaIntact,
  openOutboxOf,
  outboxPath,
  type Profile,
  readProfile,
  replicaDamaged,
  replicaPath,
  revokedFailure,
  writeProfile
} from "./outbox/folder.ts"
import { openOutboxAt } from "./outbox/outbox.ts"
import { acceptMissing, type MissingCommands, missingNow, refuseWhileMissing } from "./outbox/replica-tables.ts"
import { readAnswer, remoteAt, Unreachable } from "./exchange/remote.ts"
import { asAnswer, makeReplica, type QueryResult, refusalAnswer, type Replica } from "./replica/replica.ts"
import type { Conflicts } from "./resolutions/conflicts.ts"
import { reportsOf } from "./resolutions/blocked-commands.ts"
import { isEndOfDevice, openSession, type SessionParts, SyncBusy, whileLocked } from "./exchange/server-session.ts"
import { contentOf, isWaiting, keepAgain, keepFiles, pruneFiles, waitingFiles, waitingPath } from "./exchange/files.ts"
import type { Progress } from "./exchange/sync.ts"

/** A UUID v7: a 48-bit timestamp in milliseconds, so that ids sort by time, then the random bits of a version 4. */
const uuidv7 = (now = Date.now()): string => {
  const time = now.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`
}

export { BundleError, DeviceFailure, hasProfile, isEndOfDevice, readProfile, SyncBusy, Unreachable, uuidv7 }
export type { Device } from "./bundle.ts"
export type { Profile } from "./outbox/folder.ts"
export type { Finding } from "./recovery.ts"
export type { QueryResult } from "./replica/replica.ts"
export type { Conflict, NamedReport, ResolutionRequest, ResolutionResult } from "./resolutions/conflicts.ts"
export type { Progress } from "./exchange/sync.ts"

interface EnrolmentOptions {
  readonly name: string
  readonly url: string
  readonly token: string
  readonly device: string
}

/** Enrols this machine, stores its leases and fills the replica. An interrupted fill is continued by the next sync. */
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
  // Removes files of an interrupted enrolment, which wrote no profile yet: their leases belong to another device id.
  for (const name of readdirSync(folder)) if (/^(outbox|replica)\.sqlite/.test(name)) rmSync(join(folder, name))
  const outbox = openOutboxAt(outboxPath(folder))
  outbox.addLease(1, lease)
  outbox.close()
  writeProfile(folder, {
    // The device uses its own token, which ends with it; the token used to log in stays the user's.
    name: enrolment.name,
    url: enrolment.url,
    token: token?.secret ?? enrolment.token,
    replica_id: replica.id,
    device: enrolment.device,
    user_id: replica.user_id,
    abilities: replica.abilities,
    key,
    logged_in_with: createHash("sha256").update(enrolment.token).digest("hex"),
    ...(typeof replica.public_url === "string" ? { public_url: replica.public_url } : {}),
    ...(typeof server?.public_key === "string" ? { server_key: server.public_key } : {})
  })
  const device = await openDevice(folder)
  await device.sync(progress)
  return device
}

/** Opens the folder's device. Cheap, without network. Completes work that a crash interrupted. */
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
  let run_id: string | undefined
  // Made for the first command: Node loads what gives random bytes on first use.
  const runId = (): string => (run_id ??= uuidv7())
  const replica = makeReplica({
    catalogue,
    tables: existsSync(built_tables) ? readFileSync(built_tables, "utf8") : undefined,
    outbox,
    replica_id: profile.replica_id,
    commandId: () => uuidv7(),
    viewer: viewerHere(profile),
    run: runId,
    public_url: () => profile.public_url ?? profile.url,
    ...(options.at === undefined ? {} : { at: options.at })
  })
  const runtime = ManagedRuntime.make(
    Layer.mergeAll(
      Layer.provide(Store.layer, sqliteLayer({ path: replicaPath(folder) })),
      replica.runtime,
      // Otherwise each statement makes a span.
      Layer.succeedContext(Context.make(References.TracerEnabled, false))
    )
  )
  const run = <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>): Promise<A> => runtime.runPromise(effect)
  try {
    await run(replica.open)
  } catch (error) {
    await runtime.dispose().catch(() => {})
    outbox.close()
    throw openingFailure(folder, error)
  }
  return deviceOver({ folder, profile, outbox, replica, run, runId, dispose: () => runtime.dispose() })
}

/** The error to report if the folder's replica cannot be opened. */
const openingFailure = (folder: string, error: unknown): unknown => {
  if (error instanceof DeviceFailure) return error
  if (isDamage(error)) return replicaDamaged(folder, error)
  if (!(error instanceof Rejection && error.kind === "unavailable")) return error
  return new DeviceFailure(
    "newer schema",
    `The replica in ${folder} was written by a newer release. ${error.message}`,
    "Update Flightcase on this machine; nothing recorded is lost.",
    error
  )
}

interface DeviceParts extends SessionParts {
  readonly replica: Replica
  readonly runId: () => string
  readonly dispose: () => Promise<void>
}
/** Default time to wait while another process syncs this profile. */
const lock_patience_millis = 30_000
/** Size up to which opening reads the replica's log faster than closing moves it to the file and waits for the disk. */
const log_bytes_max = 256 * 1024
/** Written by the build; not there when this runs from its sources. */
const built_tables = new URL("../tables.txt", import.meta.url)

const missingIn = ({ outbox, run }: DeviceParts): Promise<MissingCommands | undefined> => run(missingNow(outbox))
/** Fails while the outbox has lost commands: a pull reverts provisional changes, the last traces of them. */
const requireComplete = ({ outbox, run }: DeviceParts): Promise<void> => run(Effect.asVoid(refuseWhileMissing(outbox)))

/** Operations that send or receive, over the network or by bundle. */
const exchangeOver = (
  parts: DeviceParts,
  session: ReturnType<typeof openSession>,
  conflicts: () => Promise<Conflicts>,
  files: ReturnType<typeof waitingFiles>
): Pick<Device, "sync" | "take" | "bundleOut" | "bundleIn" | "fetch" | "doctor"> => {
  const { folder, outbox, replica, run } = parts
  const syncParts = () => ({ profile: session.profile(), outbox, replica, run, remote: session.remote, files })
  return {
    sync: (progress, { patience_millis = lock_patience_millis } = {}) =>
      whileLocked(folder, patience_millis, async () => {
        try {
          await requireComplete(parts)
          const warnings = await session.begin()
          await (await conflicts()).release()
          const { syncOnce } = await import("./exchange/sync.ts")
          return { ...(await syncOnce({ ...syncParts(), ...(progress === undefined ? {} : { progress }) })), warnings }
        } catch (error) {
          throw session.failureHere(error)
        }
      }),
    bundleOut: async (content_bytes_max) => {
      await requireComplete(parts)
      // Bundled commands count as sent, so the lock keeps other processes from withdrawing commands meanwhile.
      const bundled = { ...syncParts(), contentOf: (sha256: string) => contentOf(folder, sha256) }
      return whileLocked(folder, lock_patience_millis, async () =>
        (await import("./bundle.ts")).exportBundle(bundled, new Date().toISOString(), content_bytes_max)
      )
    },
    bundleIn: async (text) => {
      await requireComplete(parts)
      return whileLocked(folder, lock_patience_millis, async () => {
        const imported = await (await import("./bundle.ts")).importBundle(syncParts(), text)
        files.prune()
        return imported
      })
    },
    take: (news) =>
      whileLocked(folder, 0, async () => {
        await requireComplete(parts)
        return (await import("./exchange/sync.ts")).takeNews(syncParts(), news)
      }),
    fetch: async (patience_millis) => {
      await requireComplete(parts)
      const { fetchNews } = await import("./exchange/sync.ts")
      return whileLocked(folder, lock_patience_millis, () => fetchNews(syncParts(), session.profile(), patience_millis))
    },
    doctor: (repair, { offline = false } = {}) =>
      whileLocked(folder, lock_patience_millis, async () => {
        const { examineDevice } = await import("./recovery.ts")
        return examineDevice(syncParts(), repair, offline)
      })
  }
}

const deviceOver = (parts: DeviceParts): Device => {
  const { dispose, folder, outbox, profile, replica, run } = parts
  const session = openSession(parts)
  const conflicts = conflictsOf(parts)
  const files = waitingFiles({ folder, outbox, remote: session.remote, replica_id: profile.replica_id })
  return {
    get profile() {
      return session.profile()
    },
    remote: session.remote,
    ask: askOver(parts),
    plan: (requests) => run(replica.plan(requests)),
    read: (reading) => run(Effect.flatMap(viewerHere(profile), reading)),
    ...exchangeOver(parts, session, conflicts, files),
    place: () => run(replica.position),
    lastPending: () => outbox.lastPending(),
    status: () => statusOver(parts, session.profile()),
    conflicts: async (facts) => (await conflicts()).list(facts),
    resolve: async (id, how, options) => {
      const result = await (await conflicts()).resolve(id, how, options?.plan ?? false)
      files.prune()
      return result
    },
    waitingFile: (sha256) => (isWaiting(folder, sha256) ? waitingPath(folder, sha256) : undefined),
    attachment: (id) => run(Store.get(attachments, id)),
    alternatives: async (id) => (await conflicts()).alternatives(id),
    ...reportsOf(outbox),
    named: async (reports) => (await conflicts()).named(reports),
    seen: (n) => outbox.seen(n),
    undo: undoOf(parts),
    pending: async () => {
      const stalled = new Map((await run(replica.stalled)).map((one) => [one.n, one.error]))
      return outbox
        .pending()
        .map(({ n, id, name, issued_at }) => ({ n, id, name, issued_at, stalled: stalled.get(n) ?? null }))
    },
    missing: () => missingIn(parts),
    acceptLoss: async () => {
      const lost = await missingIn(parts)
      if (lost === undefined) return undefined
      await run(acceptMissing(catalogue, outbox))
      await run(replica.open)
      return lost
    },
    close: async (process_ends = false) => {
      const log = statSync(`${replicaPath(folder)}-wal`, { throwIfNoEntry: false })
      if (!process_ends || (log?.size ?? 0) > log_bytes_max) await dispose()
      outbox.close()
    }
  }
}

/**
 * Answers requests from the replica. A failure after the command reached the outbox has its number (`recorded_n`):
 * repeating the request would record it twice.
 */
const askOver =
  ({ folder, outbox, profile, replica, run }: DeviceParts): Device["ask"] =>
  async ({ files: sources, ...request }, options) => {
    const before = outbox.lastAppended()
    const ask = async (whole: Request): Promise<QueryResult> => {
      const answer = await run(asAnswer(replica.ask(whole, options?.plan ?? false)))
      if (answer.events === undefined) return answer
      const { wishOfRequest } = await import("./resolutions/ways-out.ts")
      const wish = await run(wishOfRequest(whole, profile.user_id, new Date().toISOString()))
      return wish === undefined ? answer : { ...answer, wish }
    }
    try {
      if (sources === undefined) return await ask(request)
      const files = keepFiles(folder, sources)
      try {
        const answer = await ask({ ...request, files })
        if (answer.command !== undefined) keepAgain(folder, sources, files)
        return answer
      } finally {
        pruneFiles(
          folder,
          outbox,
          Object.values(files).map(({ sha256 }) => sha256)
        )
      }
    } catch (error) {
      if (error instanceof Rejection) return refusalAnswer(error)
      const last = outbox.lastAppended()
      throw last !== undefined && last !== before && error instanceof Error
        ? Object.assign(error, { recorded_n: last.n })
        : error
    }
  }

/** Conflict resolution, loaded on first use. */
const conflictsOf = ({ outbox, profile, replica, run }: DeviceParts): (() => Promise<Conflicts>) => {
  let loaded: Promise<Conflicts> | undefined
  return () =>
    (loaded ??= import("./resolutions/conflicts.ts").then(({ conflictsOver }) =>
      conflictsOver({
        outbox,
        ask: (request, plan, again) => run(asAnswer(replica.ask(request, plan, again))),
        plan: (requests, ids) => run(replica.plan(requests, ids)),
        runDue: () => run(replica.open),
        base: async () => (await run(replica.position)).position,
        commandId: () => uuidv7(),
        now: () => new Date().toISOString(),
        read: run,
        user_id: () => profile.user_id
      })
    ))
}

/** Undo, loaded on first use. Nothing is sent while a command is being undone. */
const undoOf = ({ folder, outbox, profile, replica, run, runId }: DeviceParts): Device["undo"] => {
  const withUndo = <A>(work: (undo: Device["undo"]) => Promise<A>): Promise<A> =>
    whileLocked(folder, lock_patience_millis, async () => {
      const { undoOver } = await import("./undo/undo.ts")
      const viewer = viewerHere(profile)
      const result = await work(
        undoOver({ catalogue, replica_id: profile.replica_id, outbox, replica, viewer, run, run_id: runId() })
      )
      pruneFiles(folder, outbox, [])
      return result
    })
  return {
    list: (limit) => withUndo((undo) => undo.list(limit)),
    plan: (given) => withUndo((undo) => undo.plan(given)),
    undo: (...asked) => withUndo((undo) => undo.undo(...asked)),
    redo: (given) => withUndo((undo) => undo.redo(given))
  }
}

const statusOver = async ({ outbox, replica, run }: DeviceParts, profile: Profile): Promise<SyncStatus> => {
  const { position, synced_at } = await run(replica.position)
  const pending = outbox.pending()
  return {
    server: profile.url,
    replica_id: profile.replica_id,
    position,
    synced_at,
    pending: pending.length,
    oldest_pending_at: pending[0]?.issued_at ?? null,
    stalled: (await run(replica.stalled)).length,
    conflicts: outbox.byState("rejected").length,
    held: outbox.byState("held").length
  }
}

/** The device's user, as stored in the replica. Fails before the first fill. */
const viewerHere = (profile: Profile): Effect.Effect<Viewer, Failure, Store> => {
  let last:
    | { readonly user: UserRow; readonly all: Parameters<typeof viewerOf>[1]; readonly viewer: Viewer }
    | undefined
  return Effect.gen(function* () {
    const user = yield* Store.get(users, profile.user_id)
    if (user === undefined)
      return yield* new Rejection({
        kind: "unavailable",
        message: "The replica is not filled yet; run flightcase sync."
      })
    const all = yield* Store.find(roles, {})
    // The same rows, if they were kept from the last command.
    if (last?.user !== user || last.all !== all)
      last = { user, all, viewer: viewerOf(user, all, { id: 0, abilities: profile.abilities }) }
    return last.viewer
  })
}
