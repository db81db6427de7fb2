/**
 * A device: one profile's folder on this machine with its replica and its outbox, and the ways to ask it. Any number of
 * processes may open one folder; SQLite's lock keeps writers in line, and one sync runs at a time.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Fault, Request } from "../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/rejection.ts"
import type { Site } from "../../core/kernel/site.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { roles, users } from "../../core/users/schema.ts"
import { viewerOf } from "../../core/users/viewer.ts"
import { layer as sqliteLayer } from "../sqlite-client.ts"
import type { LeaseRange, WireCommand, WireError } from "../wire.ts"
import { examine, type Finding } from "./doctor.ts"
import { openOutboxFile, type Outbox } from "./outbox.ts"
import { type Remote, RemoteError, remoteAt, Unreachable } from "./remote.ts"
import { type Asked, makeReplica, type Replica } from "./replica.ts"
import { type Progress, syncOnce, type SyncReport } from "./sync.ts"

export { RemoteError, Unreachable }
export type { Asked, Finding, Progress, SyncReport }

export interface Profile {
  readonly name: string
  readonly url: string
  /** The address the server calls its own, which feeds and links name. */
  readonly public_url?: string
  readonly token: string
  readonly replica_id: number
  readonly device: string
  readonly user_id: number
  readonly abilities: ReadonlyArray<string>
}
export interface Conflict {
  readonly id: string
  readonly n: number
  /** The endpoint's name. */
  readonly name: string
  readonly payload: WireCommand["payload"]
  readonly issued_at: string
  /** The API's own error. */
  readonly error: WireError
  readonly ways_out: ReadonlyArray<string>
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
}
export interface PendingCommand { readonly n: number; readonly id: string; readonly name: string; readonly issued_at: string; readonly stalled: WireError | null }
export interface Device {
  readonly profile: Profile
  readonly remote: Remote
  /** Answers from the replica as the server would; refusals are answers too: status and {message, errors}. */
  readonly ask: (request: Request, options?: { readonly plan?: boolean }) => Promise<Asked>
  readonly sync: (progress?: Progress) => Promise<SyncReport>
  readonly status: () => Promise<SyncStatus>
  readonly conflicts: () => Promise<ReadonlyArray<Conflict>>
  /** Retry records the command again as a new one, amend with another body, drop gives it up; all keep the history. */
  readonly resolve: (id: string, how: { readonly retry: true } | { readonly drop: true } | { readonly amend: JsonObject }) => Promise<Asked>
  readonly pending: () => Promise<ReadonlyArray<PendingCommand>>
  readonly doctor: (repair: boolean) => Promise<ReadonlyArray<Finding>>
  readonly close: () => Promise<void>
}

/** There is no device in this folder yet. */
export class NoProfile extends Error {
  override readonly name = "NoProfile"
  constructor(folder: string) { super(`There is no profile in ${folder}; run flightcase login URL --token T first.`) }
}

const profilePath = (folder: string): string => join(folder, "profile.json")
export const hasProfile = (folder: string): boolean => existsSync(profilePath(folder))
export const readProfile = (folder: string): Profile => {
  if (!hasProfile(folder)) throw new NoProfile(folder)
  return JSON.parse(readFileSync(profilePath(folder), "utf8")) as Profile
}
/** Written beside and renamed: a crash leaves the old profile or the new one. */
const writeProfile = (folder: string, profile: Profile): void => {
  const beside = `${profilePath(folder)}.${process.pid}`
  writeFileSync(beside, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(beside, profilePath(folder))
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

export interface Enrolment { readonly name: string; readonly url: string; readonly token: string; readonly device: string }

/** Enrols this machine, keeps the leases it is given and fills the replica. An unfinished fill goes on with the next sync. */
export const enrolDevice = async (folder: string, enrolment: Enrolment, progress?: Progress): Promise<Device> => {
  if (hasProfile(folder)) throw new Error(`${folder} holds a device already; a new one needs a folder of its own.`)
  const remote = remoteAt(enrolment.url, enrolment.token)
  const answer = await remote.call("POST", "/api/v1/sync/replicas", { name: enrolment.device })
  if (answer.status >= 400) throw new RemoteError(answer.status, answer.body as { message: string })
  const { replica, lease } = answer.body as {
    replica: { id: number; user_id: number; abilities: ReadonlyArray<string>; public_url: string | null }; lease: ReadonlyArray<LeaseRange>
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  // What an enrolment left that never came to a profile: leases of a device nobody has.
  for (const name of readdirSync(folder)) if (/^(outbox|replica)\.sqlite/.test(name)) rmSync(join(folder, name))
  const outbox = openOutboxFile(join(folder, "outbox.sqlite"))
  outbox.addLease(1, lease)
  outbox.close()
  writeProfile(folder, {
    name: enrolment.name, url: enrolment.url, token: enrolment.token, replica_id: replica.id, device: enrolment.device,
    user_id: replica.user_id, abilities: replica.abilities, ...(replica.public_url === null ? {} : { public_url: replica.public_url })
  })
  const device = await openDevice(folder)
  await device.sync(progress)
  return device
}

/** Opens the folder's device: cheap, no network. What a crash left undone is done first. */
export const openDevice = async (folder: string, options: { readonly at?: (step: string) => void } = {}): Promise<Device> => {
  const profile = readProfile(folder)
  const outbox = openOutboxFile(join(folder, "outbox.sqlite"))
  const replica = makeReplica({
    catalogue, outbox, replica_id: profile.replica_id, commandId: () => uuidv7(), viewer: viewerHere(profile), public_url: () => profile.public_url ?? profile.url,
    ...(options.at === undefined ? {} : { at: options.at })
  })
  const runtime = ManagedRuntime.make(Layer.merge(
    Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "replica.sqlite") })), replica.site))
  const run = <A>(effect: Effect.Effect<A, Fault, Store | Site>): Promise<A> => runtime.runPromise(effect)
  await run(replica.open)
  return deviceOver({ folder, profile, outbox, replica, run, dispose: () => runtime.dispose() })
}

interface Parts {
  readonly folder: string
  readonly profile: Profile
  readonly outbox: Outbox
  readonly replica: Replica
  readonly run: <A>(effect: Effect.Effect<A, Fault, Store | Site>) => Promise<A>
  readonly dispose: () => Promise<void>
}

const deviceOver = ({ folder, profile, outbox, replica, run, dispose }: Parts): Device => {
  const remote = remoteAt(profile.url, profile.token)
  const ask: Device["ask"] = (request, options) => run(asAnswer(replica.ask(request, options?.plan ?? false)))
  const again = (command: WireCommand, body: JsonObject): Promise<Asked> => {
    const endpoint = catalogue.endpoint(command.name)
    if (endpoint === undefined) return Promise.resolve({ status: 422, body: { message: `This release knows no command ${command.name}.` } })
    const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(command.payload.params[name] ?? ""))
    return ask({ method: endpoint.method, path, query: [], body })
  }
  return {
    profile, remote, ask,
    sync: async (progress) => {
      const release = lockSync(folder)
      try { return await syncOnce({ profile, outbox, replica, remote, run, ...(progress === undefined ? {} : { progress }) }) } finally { release() }
    },
    status: async () => {
      const standing = await run(replica.standing)
      const pending = outbox.pending()
      return {
        server: profile.url, replica_id: profile.replica_id, position: standing.position, synced_at: standing.synced_at, pending: pending.length,
        oldest_pending_at: pending[0]?.issued_at ?? null, stalled: (await run(replica.stalled)).length, conflicts: outbox.byState("rejected").length
      }
    },
    conflicts: async () => outbox.byState("rejected").map((command): Conflict => ({
      id: command.id, n: command.n, name: command.name, payload: command.payload, issued_at: command.issued_at,
      error: command.error ?? { status: 422, message: "Refused." },
      ways_out: [
        `flightcase sync resolve ${command.id} --retry`, `flightcase sync resolve ${command.id} --amend '${JSON.stringify(command.payload.body)}'`,
        `flightcase sync resolve ${command.id} --drop`
      ]
    })),
    resolve: async (id, how) => {
      const command = outbox.find(id)
      if (command === undefined || command.state !== "rejected") return { status: 404, body: { message: `There is no unresolved conflict ${id}.` } }
      if ("drop" in how) {
        outbox.resolve(id, "dropped")
        return { status: 200, body: { conflict: { id, state: "dropped" } } }
      }
      const answer = await again(command, "amend" in how ? how.amend : command.payload.body)
      if (answer.status < 400) outbox.resolve(id, "amend" in how ? "amended" : "retried")
      return answer
    },
    pending: async () => {
      const stalled = new Map((await run(replica.stalled)).map((one) => [one.n, one.error]))
      return outbox.pending().map(({ n, id, name, issued_at }) => ({ n, id, name, issued_at, stalled: stalled.get(n) ?? null }))
    },
    doctor: (repair) => examine({ folder, profile, outbox, replica, run, remote }, repair),
    close: async () => {
      await dispose()
      outbox.close()
    }
  }
}

const asAnswer = <R>(effect: Effect.Effect<Asked, Fault, R>): Effect.Effect<Asked, Fault, R> =>
  Effect.catch(effect, (fault): Effect.Effect<Asked, Fault, R> => fault instanceof Rejection
    ? Effect.succeed({ status: statusOf[fault.kind], body: bodyOf(fault) as unknown as JsonObject, ...(fault.headers === undefined ? {} : { headers: fault.headers }) })
    : Effect.fail(fault))

/** The device's user as the replica knows them now; before the first fill, somebody who may nothing. */
const viewerHere = (profile: Profile): Effect.Effect<Viewer, Fault, Store> => Effect.gen(function*() {
  const store = yield* Store
  const user = yield* store.get(users, profile.user_id)
  if (user === undefined) return yield* new Rejection({ kind: "unavailable", message: "The replica is not filled yet; run flightcase sync." })
  return viewerOf(user, yield* store.find(roles, {}), { id: 0, abilities: profile.abilities })
})

/** One sync at a time: an operating-system lock that dies with its holder. */
const lockSync = (folder: string): () => void => {
  const lock = new DatabaseSync(join(folder, "sync.lock"), { timeout: 30_000 })
  try { lock.exec("begin exclusive") } catch (error) {
    lock.close()
    throw new Error("Another sync of this profile is running.", { cause: error })
  }
  return () => lock.close()
}
