/**
 * Databases copied for each world: a server with data and enrolled devices, and replicas filled from rows, from events,
 * or not at all.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { answer } from "../../core/kernel/runtime/engine.ts"
import type { Answer, CommandRuntime, Failure, Request } from "../../core/kernel/endpoints/endpoint.ts"
import { ensureSchema, seed } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import { openOutboxAt } from "../../sync/device/outbox/outbox.ts"
import { makeReplica, type Replica } from "../../sync/device/replica/replica.ts"
import type { SnapshotPlan } from "../../sync/protocol/snapshot.ts"
import { pull } from "../../sync/device/exchange/sync.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import type { LeaseRange } from "../../sync/protocol/wire.ts"
import { owner } from "../app.ts"
import { copyDatabase, newFolder, sweep } from "./disk.ts"
import { clockAt } from "./faults.ts"
import { seed_data } from "./seed-data.ts"
import { pullFrom, rowsFrom, serverCatalogue } from "./pull.ts"

export const world_start = Date.parse("2026-06-18T12:00:00.000Z")
export const devices_max = 8

/** A user with all of the owner's permissions, until removed. */
const crew: Viewer = {
  ...owner,
  user_id: 2,
  name: "Crew",
  is_owner: false,
  permissions: new Set(catalogue.permissions.map(({ key }) => key))
}
const without = (...areas: ReadonlyArray<string>): Viewer => ({
  ...crew,
  permissions: new Set(
    [...crew.permissions].filter(
      (key) => key !== "action-log.view" && key !== "costs.view" && !areas.includes(key.split(".")[0]!)
    )
  )
})
/** Permissions of the users; with fewer, more is withheld from their devices. */
const rights = {
  all: crew,
  counter: without("activities", "members", "roles", "settings", "users"),
  warehouse: without("activities", "opportunities", "pricing", "products", "users")
}
export type Grants = keyof typeof rights
export const fewer: ReadonlyArray<Grants> = ["counter", "warehouse"]
/** Devices with odd numbers belong to the owner, those with even ones to another user. */
export const userOf = (replica_id: number, grants: Grants): Viewer => (replica_id % 2 === 1 ? owner : rights[grants])

export type Filled = "events" | "rows" | "empty"
export interface Template {
  readonly server: string
  /** File of a device's replica, with its own cursor in the shape. */
  readonly replica: (replica_id: number, filled: Filled) => string
  readonly outbox: (replica_id: number) => string
}

let made: Promise<Template> | undefined
export const template = (): Promise<Template> => (made ??= make())

const make = async (): Promise<Template> => {
  sweep()
  const folder = newFolder("template")
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const server = join(folder, "server.sqlite")
  let made_ids = 0
  const clock = Layer.succeed(
    Clock.Clock,
    clockAt(() => world_start)
  )
  const house = ManagedRuntime.make(
    Layer.mergeAll(
      Layer.provide(Store.layer, Sqlite.layer({ path: server, synchronous: "normal" })),
      serverRuntime({ catalogue: serverCatalogue, commandId: () => `furniture-${++made_ids}` }),
      clock
    )
  )
  const ask = (request: Request, viewer: Viewer): Promise<Answer> =>
    house.runPromise(answer(serverCatalogue, request, viewer))
  await house.runPromise(
    Effect.gen(function* () {
      yield* ensureSchema(serverCatalogue, "server")
      yield* seed(serverCatalogue, new Date(world_start).toISOString())
    })
  )
  const fallen: Array<string> = []
  for (const request of seed_data)
    await ask(request, owner).catch((error: unknown) =>
      fallen.push(`${request.method} ${request.path} ${JSON.stringify(request.body)}: ${JSON.stringify(error)}`)
    )
  if (fallen.length > 0) throw new Error(`the furniture does not stand: ${fallen.join("\n")}`)
  const outboxPath = (replica_id: number): string => join(folder, `outbox-${replica_id}.sqlite`)
  const handles = new Map<number, string>()
  for (let index = 1; index <= devices_max; index++) {
    const viewer = userOf(index, "all")
    const enrolled = (
      await ask({ method: "POST", path: "/api/v1/sync/replicas", query: [], body: { name: `Device ${index}` } }, viewer)
    ).body as unknown as { replica: { id: number }; lease: ReadonlyArray<LeaseRange> }
    const outbox = openOutboxAt(outboxPath(enrolled.replica.id))
    outbox.addLease(1, enrolled.lease)
    outbox.close()
    const planned = await ask(
      {
        method: "GET",
        path: "/api/v1/sync/snapshot",
        query: [["replica_id", String(enrolled.replica.id)]],
        body: undefined
      },
      viewer
    )
    handles.set(enrolled.replica.id, (planned.body as unknown as { snapshot: SnapshotPlan }).snapshot.handle)
  }
  const path = (filled: Filled): string => join(folder, `replica-${filled}.sqlite`)
  for (const [filled, snapshot_beyond] of [
    ["events", Number.POSITIVE_INFINITY],
    ["rows", 0],
    ["empty", undefined]
  ] as const) {
    const outbox = openOutboxAt(outboxPath(1))
    const replica: Replica = makeReplica({
      catalogue,
      outbox,
      replica_id: 1,
      commandId: () => "none",
      viewer: Effect.succeed(owner)
    })
    const here = ManagedRuntime.make(
      Layer.mergeAll(
        Layer.provide(Store.layer, Sqlite.layer({ path: path(filled), synchronous: "normal" })),
        replica.runtime,
        clock
      )
    )
    const run = <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>): Promise<A> => here.runPromise(effect)
    await run(replica.open)
    if (snapshot_beyond !== undefined)
      await pull({
        profile: { replica_id: 1 },
        outbox,
        replica,
        run,
        snapshot_beyond,
        remote: { ...unheard, ...quietRemote((effect) => house.runPromise(effect), ask) }
      })
    await here.dispose()
    outbox.close()
  }
  await house.dispose()
  const owned = new Set<string>()
  const replica: Template["replica"] = (replica_id, filled) => {
    const own = join(folder, `replica-${filled}-${replica_id}.sqlite`)
    if (!owned.has(own)) {
      copyDatabase(path(filled), own)
      if (filled !== "empty") makeOwn(own, handles.get(replica_id)!)
      owned.add(own)
    }
    return own
  }
  return { server, replica, outbox: outboxPath }
}

const unheard = { push: () => Promise.resolve([]), lease: () => Promise.resolve([]) }
const quietRemote = (
  run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>,
  ask: (request: Request, viewer: Viewer) => Promise<Answer>
) => ({
  plan: async () =>
    (
      (
        await ask(
          { method: "GET", path: "/api/v1/sync/snapshot", query: [["replica_id", "1"]], body: undefined },
          owner
        )
      ).body as unknown as { snapshot: SnapshotPlan }
    ).snapshot,
  rows: rowsFrom({ run, viewer: () => owner, rows_per_page: () => 2_000, events_per_page: () => 2_000 }),
  pull: pullFrom({ run, viewer: () => owner, events_per_chunk: () => 2_000 })
})

/** Gives the copied replica this device's own handle of the shape. */
const makeOwn = (path: string, handle: string): void => {
  const db = new DatabaseSync(path)
  db.prepare("update replica_meta set value = ? where key = 'handle'").run(handle)
  db.close()
}
