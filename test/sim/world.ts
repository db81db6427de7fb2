/**
 * A world in one process: a server and replicas over the real core and the real sync, with virtual clocks and a network
 * that partitions, loses and repeats. Crashes are thrown between steps; databases survive them as disks would.
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { authority } from "../../core/kernel/authority.ts"
import { catalogueOf } from "../../core/kernel/catalogue.ts"
import { answer } from "../../core/kernel/dispatch.ts"
import type { Answer, Fault, Request } from "../../core/kernel/endpoint.ts"
import { drawIds } from "../../core/kernel/ids.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/rejection.ts"
import { Site } from "../../core/kernel/site.ts"
import { ensureSchema, seed } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { syncSlice } from "../../sync/ends/api.ts"
import { lease, leasedTables } from "../../sync/ends/leases.ts"
import { decidePushed } from "../../sync/ends/push.ts"
import { shapeAnswer } from "../../sync/ends/shape.ts"
import { planAnswer, rowsAnswer } from "../../sync/ends/snapshot.ts"
import { reader_grants, replicas } from "../../sync/ends/tables.ts"
import { conflictsOver } from "../../sync/replica/conflicts.ts"
import { openOutbox, type Outbox } from "../../sync/replica/outbox.ts"
import { type Asked, makeReplica, type Pulled, type Replica } from "../../sync/replica/replica.ts"
import { type Remote, Unreachable } from "../../sync/replica/remote.ts"
import { syncOnce } from "../../sync/replica/sync.ts"
import type { SnapshotPage, SnapshotPlan } from "../../sync/snapshot.ts"
import * as Sqlite from "../../sync/sqlite-client.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import { owner } from "../app.ts"
import type { Chance } from "./chance.ts"
import { nextRequest } from "./work.ts"

export const serverCatalogue = catalogueOf([...catalogue.slices, syncSlice])
export const world_start = Date.parse("2026-06-18T12:00:00.000Z")

/** A process that died between two steps. */
export class Crash extends Error { constructor(step: string) { super(`crash at: ${step}`) } }

export interface Faults {
  readonly lost_request: number
  readonly lost_reply: number
  readonly repeated: number
  readonly crash: number
  readonly skew_millis: number
  /** Asked to go on, the server says that its history began anew, as it does when somebody's rights change. */
  readonly anew: number
  /** While rows of a fill travel, somebody works on the server. */
  readonly busy: number
}
export const noFaults: Faults = { lost_request: 0, lost_reply: 0, repeated: 0, crash: 0, skew_millis: 0, anew: 0, busy: 0 }

const clockAt = (now: () => number): Clock.Clock => {
  const nanos = (): bigint => BigInt(now()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: now, currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos, currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos, monotonicTimeNanos: Effect.sync(nanos),
    sleep: () => Effect.void
  }
}

let template: { readonly folder: string; readonly server: string; readonly replica: string } | undefined
const made = async (): Promise<NonNullable<typeof template>> => {
  if (template !== undefined) return template
  const folder = mkdtempSync(join(tmpdir(), "flightcase-sim-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const server = join(folder, "server.sqlite"), replica = join(folder, "replica.sqlite")
  await once(server, Effect.gen(function*() {
    yield* ensureSchema(serverCatalogue, "server")
    yield* seed(serverCatalogue, new Date(world_start).toISOString())
    yield* Effect.forEach(furniture, (request) => answer(serverCatalogue, request, owner), { discard: true })
  }))
  await once(replica, Effect.asVoid(ensureSchema(catalogue, "replica")))
  return template = { folder, server, replica }
}
const once = async <E>(path: string, effect: Effect.Effect<void, E, Store | Site>): Promise<void> => {
  const runtime = ManagedRuntime.make(Layer.merge(
    Layer.provide(Store.layer, Sqlite.layer({ path, synchronous: "normal" })), authority({ catalogue: serverCatalogue, commandId: () => "furniture" })))
  await runtime.runPromise(effect)
  await runtime.dispose()
}

const write = (path: string, body: JsonObject): Request => ({ method: "POST", path: `/api/v1/${path}`, query: [], body })
const times = <A>(count: number, make: (at: number) => A): ReadonlyArray<A> => Array.from({ length: count }, (_, at) => make(at + 1))
/** What every world begins with: little enough stock that people get into each other's way. Ids are 1, 2, 3 … of each kind. */
const furniture: ReadonlyArray<Request> = [
  ...times(3, (at) => write("products", { name: `Moving head ${at}`, stock_method: 2, post_rent_unavailability: 60 })),
  ...times(2, (at) => write("products", { name: `Cable ${at}` })),
  ...times(6, (at) => write("stock_levels", { product_id: 1 + at % 3, store_id: 1, asset_number: `MH-${at}` })),
  ...times(2, (at) => write("members", { name: `Client ${at}`, membership_type: "organisation" })),
  ...times(5, (at) => write("opportunities", { subject: `Job ${at}`, store_id: 1, starts_at: "2026-07-01T09:00:00Z", ends_at: `2026-07-0${at + 2}T09:00:00Z` })),
  ...times(5, (at) => write(`opportunities/${at}/items`, { name: "Heads", item_id: 1 + at % 3, quantity: 2, unit_price: 5_000 })),
  ...times(5, (at) => write(`opportunities/${at}/convert_to_quotation`, {})),
  ...times(3, (at) => write(`opportunities/${at}/convert_to_order`, {}))
]

export interface SimReplica {
  readonly id: number
  readonly outbox: Outbox
  readonly ask: (request: Request) => Promise<Asked>
  readonly sync: () => Promise<void>
  /** Settles one of its conflicts, or a held command, in one way or another; nothing where there is none. */
  readonly resolve: () => Promise<void>
  /** Closes the process and opens it again over the same files. */
  readonly restart: () => Promise<void>
  readonly online: boolean
  setOnline: (online: boolean) => void
  readonly tables: () => Promise<Dump>
  /** Numbers of commands this device's person was told are saved. */
  readonly acknowledged: Set<string>
}
export type Dump = { readonly [table: string]: ReadonlyArray<unknown> }
export interface World {
  readonly server: {
    readonly ask: (request: Request) => Promise<Answer>
    readonly tables: () => Promise<Dump>
    readonly run: <A>(effect: Effect.Effect<A, Fault, Store | Site>) => Promise<A>
  }
  readonly replicas: ReadonlyArray<SimReplica>
  readonly pass: (millis: number) => void
  readonly close: () => Promise<void>
}

export const openWorld = async (chance: Chance, count: number, faults: Faults): Promise<World> => {
  const files = await made()
  const folder = mkdtempSync(join(tmpdir(), "flightcase-world-"))
  let now = world_start
  copyFileSync(files.server, join(folder, "server.sqlite"))
  let made_ids = 0
  const uuid = (): string => `sim-${String(++made_ids).padStart(8, "0")}`
  const clock = Layer.succeed(Clock.Clock, clockAt(() => now))
  const runtime = ManagedRuntime.make(Layer.mergeAll(
    Layer.provide(Store.layer, Sqlite.layer({ path: join(folder, "server.sqlite"), synchronous: "normal" })),
    authority({ catalogue: serverCatalogue, commandId: uuid }), clock))
  const run = <A>(effect: Effect.Effect<A, Fault, Store | Site>): Promise<A> => runtime.runPromise(effect)
  const server: World["server"] = {
    run,
    ask: (request) => run(told(answer(serverCatalogue, request, owner))),
    tables: () => run(dumpOf)
  }
  const world_replicas: Array<SimReplica> = []
  for (let index = 0; index < count; index++) {
    const skew = faults.skew_millis === 0 ? 0 : Math.round((chance.next() * 2 - 1) * faults.skew_millis)
    world_replicas.push(await openReplica({ chance, faults, folder, index, run, template: files.replica, uuid, now: () => now + skew }))
  }
  return {
    server, replicas: world_replicas,
    pass: (millis) => { now += millis },
    close: async () => {
      await runtime.dispose()
      for (const replica of world_replicas) await (replica as SimReplica & { close: () => Promise<void> }).close()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

interface Opening {
  readonly chance: Chance
  readonly faults: Faults
  readonly folder: string
  readonly index: number
  readonly template: string
  readonly uuid: () => string
  readonly now: () => number
  readonly run: <A>(effect: Effect.Effect<A, Fault, Store | Site>) => Promise<A>
}

const openReplica = async (opening: Opening): Promise<SimReplica & { close: () => Promise<void> }> => {
  const { chance, faults, run } = opening
  const path = join(opening.folder, `replica-${opening.index}.sqlite`)
  copyFileSync(opening.template, path)
  const outbox = openOutbox(new DatabaseSync(":memory:"))
  const id = await run(enrol(`device ${opening.index}`, outbox))
  const runtime = ManagedRuntime.make(Layer.mergeAll(
    Layer.provide(Store.layer, Sqlite.layer({ path, synchronous: "normal" })), Layer.succeed(Clock.Clock, clockAt(opening.now))))
  const boot = (): Replica => makeReplica({
    catalogue, outbox, replica_id: id, commandId: opening.uuid, viewer: Effect.succeed(owner),
    at: (step) => { if (chance.happens(faults.crash)) throw new Crash(step) }
  })
  let replica = boot()
  let online = true
  const here = <A>(effect: Effect.Effect<A, Fault, Store | Site>): Promise<A> => runtime.runPromise(Effect.provide(effect, replica.site))
  const remote = flakyRemote(opening, id, () => online)
  // Some devices are filled from rows, some from events.
  const snapshot_beyond = chance.pick([0, Number.POSITIVE_INFINITY])
  const acknowledged = new Set<string>()
  const conflicts = conflictsOver({
    outbox, ask: (request, plan, again) => here(told(replica.ask(request, plan, again))), runDue: () => here(replica.open),
    base: async () => (await here(replica.standing)).position, commandId: opening.uuid, now: () => new Date(opening.now()).toISOString()
  })
  const self: SimReplica & { close: () => Promise<void> } = {
    id, outbox, acknowledged,
    get online() { return online },
    setOnline: (value) => { online = value },
    ask: async (request) => {
      const answer = await here(told(replica.ask(request, false)))
      if (answer.command !== undefined) acknowledged.add(answer.command.id)
      return answer
    },
    sync: async () => {
      await conflicts.release()
      await syncOnce({ profile: { replica_id: id }, outbox, replica, remote, run: here, snapshot_beyond })
    },
    resolve: async () => {
      const open = [...outbox.byState("rejected"), ...outbox.byState("held")]
      if (open.length === 0) return
      const { id, payload } = chance.pick(open)
      const answer = await conflicts.resolve(id, chance.pick([
        { retry: true }, { drop: true }, { drop: true, with_dependants: true }, { substitute: true }, { split: true },
        { amend: { ...payload.body, ...(chance.happens(0.5) ? { asset_number: `A-${chance.below(40)}` } : {}), ...(chance.happens(0.5) ? { name: "Amended" } : {}) } }
      ]))
      if (answer.command !== undefined) acknowledged.add(answer.command.id)
    },
    restart: async () => {
      replica = boot()
      for (;;) {
        // Opening may crash as well; the next opening must still come through.
        try { await here(replica.open); return } catch (error) { if (!isCrash(error)) throw error }
      }
    },
    tables: () => here(dumpOf),
    close: async () => {
      await runtime.dispose()
      outbox.close()
    }
  }
  await self.restart()
  return self
}

const enrol = (name: string, outbox: Outbox) => Effect.gen(function*() {
  const store = yield* Store
  return yield* store.transaction(Effect.gen(function*() {
    const [id] = yield* drawIds("replicas", 1)
    const at = new Date(world_start).toISOString()
    yield* store.apply([{
      op: "insert", table: replicas,
      row: { id: id!, user_id: owner.user_id, name, schema_version: 1, last_n: 0, seen_at: null, revoked_at: null, created_at: at, updated_at: at, deleted_at: null }
    }])
    const ranges = yield* Effect.forEach(leasedTables(serverCatalogue), (entity) => lease(id!, entity, 1))
    outbox.addLease(1, ranges.flat())
    return id!
  }))
})

const flakyRemote = ({ chance, faults, run }: Opening, id: number, online: () => boolean): Pick<Remote, "push" | "pull" | "lease" | "plan" | "rows"> => {
  const ask = (request: Request): Promise<Answer> => run(told(answer(serverCatalogue, request, owner)))
  const beginAnew = (): Promise<void> => run(Effect.flatMap(Store, (store) => store.transaction(Effect.asVoid(
    store.run(`update ${reader_grants.name} set version = version + 1`)))))
  const over = async <A>(request: () => Promise<A>): Promise<A> => {
    if (!online() || chance.happens(faults.lost_request)) throw new Unreachable("sim", new Error("the request was lost"))
    if (chance.happens(faults.repeated)) await request()
    const reply = await request()
    if (!online() || chance.happens(faults.lost_reply)) throw new Unreachable("sim", new Error("the reply was lost"))
    return reply
  }
  return {
    push: (replica_id, commands) => over(() => run(Effect.forEach(commands, (command) => decidePushed(replica_id, command, owner)))),
    lease: (replica_id, entity, request_no) => over(() => run(Effect.flatMap(Store, (store) => store.transaction(lease(replica_id, entity, request_no))))),
    plan: (replica_id, pending_from) => over(async () =>
      ((await run(planAnswer(serverCatalogue, { viewer: owner, replica_id, pending_from }))).body as unknown as { snapshot: SnapshotPlan }).snapshot),
    rows: async (replica_id, place) => {
      if (chance.happens(faults.anew)) await beginAnew()
      while (chance.happens(faults.busy)) await ask(await nextRequest(chance, ask))
      const answered = await over(() => run(rowsAnswer(serverCatalogue, {
        viewer: owner, replica_id, ...place, rows_per_page: 1 + chance.below(60), events_per_page: 1 + chance.below(20)
      })))
      return answered.status === 409 ? "anew" : (answered.body as unknown as { page: SnapshotPage }).page
    },
    pull: async (_replica_id, from, take) => {
      let { offset, handle } = from
      if (chance.happens(faults.anew)) await beginAnew()
      for (;;) {
        const place: ReadonlyArray<[string, string]> = handle === undefined ? [["offset", "-1"]] : [["offset", offset], ["handle", handle]]
        const query: ReadonlyArray<[string, string]> = [["table", "journal"], ...place]
        const answer = await over(() => run(shapeAnswer(serverCatalogue, { viewer: owner, replica_id: id, query, events_per_chunk: 1 + chance.below(40) })))
        if (answer.status === 409) {
          if (await take.refetch() === "stop") return
          offset = "-1"
          handle = undefined
          continue
        }
        const chunk = pulledFrom(answer)
        await take.chunk(chunk)
        if (chunk.up_to_date) return
        offset = chunk.offset
        handle = chunk.handle
      }
    }
  }
}

const pulledFrom = (answer: Answer): Pulled => {
  const messages = answer.body as unknown as ReadonlyArray<{ readonly value?: Record<string, string | null>; readonly headers: { readonly control?: string } }>
  const integer = (value: string | null | undefined): number | null => value === null || value === undefined ? null : Number(value)
  const events = messages.flatMap(({ value }): ReadonlyArray<StoredEvent> => value === undefined ? [] : [{
    position: Number(value["position"]), stream: value["stream"]!, version: Number(value["version"]), type: value["type"]!, data: JSON.parse(value["data"]!),
    command_id: value["command_id"]!, actor_id: integer(value["actor_id"]), replica_id: integer(value["replica_id"]), recorded_at: value["recorded_at"]!
  }])
  return {
    events, offset: answer.headers!["electric-offset"]!, handle: answer.headers!["electric-handle"]!,
    up_to_date: messages.some((message) => message.headers.control === "up-to-date")
  }
}

/** Refusals are answers. */
const told = <R>(effect: Effect.Effect<Asked, Fault, R>): Effect.Effect<Asked, Fault, R> =>
  Effect.catch(effect, (fault): Effect.Effect<Asked, Fault, R> => fault instanceof Rejection
    ? Effect.succeed({ status: statusOf[fault.kind], body: bodyOf(fault) as never }) : Effect.fail(fault))

const dumpOf = Effect.gen(function*() {
  const store = yield* Store
  const dump: { [table: string]: ReadonlyArray<unknown> } = {}
  for (const table of catalogue.tables) dump[table.name] = yield* store.find(table, {})
  return dump as Dump
})

export const isCrash = (error: unknown): boolean =>
  error instanceof Crash || (error instanceof Error && (error.message.startsWith("crash at:") || isCrash(error.cause)))
