/** A device over real HTTP with small pages, hooks between its steps, and access to its outbox and files. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { CommandRuntime, Failure } from "../../core/kernel/endpoints/endpoint.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/fields/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { roles, users, viewerOf } from "../../core/people/users/permissions.ts"
import { decodeEnrolment } from "../../sync/protocol/answers.ts"
import { openOutboxAt, type Outbox } from "../../sync/device/outbox/outbox.ts"
import { examineDevice, type Finding } from "../../sync/device/recovery.ts"
import { readAnswer, type Remote, remoteAt } from "../../sync/device/exchange/remote.ts"
import { makeReplica, type QueryResult, type Replica } from "../../sync/device/replica/replica.ts"
import { type Progress, syncOnce, type SyncReport } from "../../sync/device/exchange/sync.ts"
import { type DeviceUndo, undoOver } from "../../sync/device/undo/undo.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import { bodyRead } from "../answers.ts"
import { type Answer, type Call, rentalHouse, type RentalHouse } from "../rental-house.ts"

/** All rows of all tables. */
export type Dump = { readonly [table: string]: ReadonlyArray<{ readonly [column: string]: any }> }
export const dump = Effect.gen(function* () {
  const store = yield* Store
  const tables: { [name: string]: Dump[string] } = {}
  for (const table of catalogue.tables) tables[table.name] = yield* store.find(table, {}) as Effect.Effect<Dump[string]>
  return tables as Dump
})

/** Runs statements on a database directly. */
export const sql = (...statements: ReadonlyArray<string>) =>
  Effect.flatMap(Store, (store) =>
    store.transaction(Effect.forEach(statements, (one) => store.run(one), { discard: true }))
  )

export interface Hooks {
  /** Rows per page. */
  readonly limit?: number
  /** Fills from rows above this number of events; 0: always from rows, infinity: from events. */
  readonly snapshot_beyond?: number
  /** Digest of the tables, as the built program has it. */
  tables?: string
  catalogue?: typeof catalogue
  /** Called before each page request; throws like the network. */
  before_page?: (asked: { readonly after: string; readonly offset: string }) => void | Promise<void>
  /** Called before commands are sent; may throw like the network. */
  before_push?: () => void
  /** Called between steps that a crash may separate. */
  at?: (step: string) => void
  progress?: Progress
}
/** The two ways a device is filled, for `it.each`. */
export const fills = [
  ["from rows", 0],
  ["from events", Number.POSITIVE_INFINITY]
] as const

/** An answer with the recorded command. */
export type DeviceAnswer = Omit<QueryResult, "body"> & Answer

export interface InspectedDevice extends RentalHouse<unknown, DeviceAnswer> {
  readonly outbox: Outbox
  readonly id: number
  readonly folder: string
  readonly replica: () => Replica
  readonly remote: Remote
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  readonly undo: () => DeviceUndo
  /** The planned response; nothing is recorded. */
  readonly plan: Call<DeviceAnswer, unknown>
  /** Its parts, optionally with another remote. */
  readonly parts: (remote?: Remote) => Parameters<typeof examineDevice>[0]
  readonly sync: () => Promise<SyncReport>
  /** Faults found by the doctor. */
  readonly problems: (repair?: boolean) => Promise<ReadonlyArray<Finding>>
  readonly tables: () => Promise<Dump>
  /** Closes the process's files and opens them again. */
  readonly restart: () => Promise<void>
  /** Requested pages, and counts of received events and rows. */
  readonly counted: { pages: Array<string>; rows: number; events: number; plans: number }
  /** Files of the replica, or of all databases, that contain these bytes. */
  readonly holds: (bytes: string | Buffer, files?: "replica" | "") => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

export const inspectedDevice = async (
  { folder, name, token, url }: { readonly [what in "folder" | "name" | "token" | "url"]: string },
  hooks: Hooks
): Promise<InspectedDevice> => {
  const remote = remoteAt(url, token)
  const enrolment = readAnswer(url, await remote.call("POST", "/api/v1/sync/replicas", { name }), decodeEnrolment)
  const { abilities, id, user_id } = enrolment.replica
  mkdirSync(folder)
  const outbox = openOutboxAt(join(folder, "outbox.sqlite"))
  outbox.addLease(1, enrolment.lease)
  let made = 0
  const viewer = Effect.gen(function* () {
    const store = yield* Store
    const user = yield* store.get(users, user_id)
    if (user === undefined) return yield* new Rejection({ kind: "unavailable", message: "Not filled yet." })
    return viewerOf(user, yield* store.find(roles, {}), { id: 0, abilities })
  })
  const boot = () => {
    const replica = makeReplica({
      catalogue: hooks.catalogue ?? catalogue,
      outbox,
      replica_id: id,
      commandId: () => `${name}-${Date.now()}-${++made}`,
      at: (step) => hooks.at?.(step),
      tables: hooks.tables,
      viewer
    })
    const database = Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "replica.sqlite") }))
    return { replica, runtime: ManagedRuntime.make(Layer.merge(database, replica.runtime)) }
  }
  let { replica, runtime } = boot()
  const run: InspectedDevice["run"] = (effect) => runtime.runPromise(effect)
  await run(replica.open)
  const counted: InspectedDevice["counted"] = { pages: [], rows: 0, events: 0, plans: 0 }
  const counting: Remote = {
    ...remote,
    push: async (...asked) => {
      hooks.before_push?.()
      return await remote.push(...asked)
    },
    plan: (...asked) => {
      counted.plans++
      return remote.plan(...asked)
    },
    rows: async (replica_id, place) => {
      await hooks.before_page?.(place)
      counted.pages.push(place.after)
      const page = await remote.rows(replica_id, { ...place, limit: hooks.limit ?? 50 })
      if (page !== "anew") {
        counted.events += page.events.length
        for (const section of page.sections) counted.rows += section.rows.length
      }
      return page
    },
    pull: (replica_id, from, take) =>
      remote.pull(replica_id, from, {
        ...take,
        chunk: (chunk) => {
          counted.events += chunk.events.length
          return take.chunk(chunk)
        }
      })
  }
  const asking =
    (plan: boolean): Call<DeviceAnswer, unknown> =>
    (method, path, given) => {
      const [bare = "", search = ""] = path.split("?")
      const body = given as JsonObject | undefined
      const request = { method, path: `/api/v1${bare}`, query: [...new URLSearchParams(search)], body }
      const answer = Effect.catch(replica.ask(request, plan), (failure): Effect.Effect<QueryResult, Failure> =>
        failure instanceof Rejection
          ? Effect.succeed({ status: statusOf[failure.kind], body: { ...bodyOf(failure) } })
          : Effect.fail(failure)
      )
      return run(Effect.map(answer, (reply) => ({ ...reply, body: bodyRead(reply.body) })))
    }
  const parts: InspectedDevice["parts"] = (through = remote) => ({
    profile: { replica_id: id },
    outbox,
    replica,
    remote: through,
    run,
    snapshot_beyond: hooks.snapshot_beyond ?? 0
  })
  return {
    ...rentalHouse(asking(false)),
    id,
    outbox,
    folder,
    remote,
    run,
    counted,
    parts,
    replica: () => replica,
    undo: () => undoOver({ catalogue, replica_id: id, outbox, replica, viewer, run }),
    plan: asking(true),
    sync: () => syncOnce({ ...parts(counting), ...(hooks.progress === undefined ? {} : { progress: hooks.progress }) }),
    problems: async (repair = false) => (await examineDevice(parts(), repair)).filter((one) => !one.ok),
    tables: () => run(dump),
    restart: async () => {
      await runtime.dispose()
      ;({ replica, runtime } = boot())
      await run(replica.open)
    },
    holds: (bytes, files = "replica") =>
      readdirSync(folder).filter((file) => file.startsWith(files) && readFileSync(join(folder, file)).includes(bytes)),
    close: async () => {
      await runtime.dispose()
      outbox.close()
    }
  }
}
