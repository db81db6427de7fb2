/** A simulated device: real files, opened as by a process, with a wrong clock and processes that crash. */
import { join } from "node:path"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { CommandRuntime, Failure, Request } from "../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import { conflictsOver, type ResolutionRequest } from "../../sync/device/resolutions/conflicts.ts"
import { openOutboxAt, type Outbox } from "../../sync/device/outbox/outbox.ts"
import { RemoteError } from "../../sync/device/exchange/remote.ts"
import { type QueryResult, makeReplica, type Replica } from "../../sync/device/replica/replica.ts"
import { syncOnce } from "../../sync/device/exchange/sync.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import type { Look, Row } from "./any-command.ts"
import type { Random } from "./random.ts"
import { afterPowerCut, assertSound, copyDatabase } from "./disk.ts"
import { clockAt, type Faults, type FaultCounts, told } from "./faults.ts"
import { type SimulatedServer, ofAnotherRelease, type Trace } from "./server.ts"
import { flakyNetwork } from "./network.ts"
import { Crash, type FailureCountdown, isCrash, faultyStore } from "./faulty-store.ts"
import { type Filled, type Grants, template, userOf } from "./template.ts"

export interface Device {
  readonly id: number
  readonly outbox: () => Outbox
  readonly viewer: () => Viewer
  readonly look: Look
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  readonly ask: (request: Request) => Promise<QueryResult>
  readonly sync: () => Promise<void>
  /** Resolves one of its conflicts or held commands; does nothing if there is none. */
  readonly resolve: () => Promise<void>
  /** Ends the process if it still runs, and opens the files again. */
  readonly restart: (how?: "power cut" | "another release") => Promise<void>
  readonly online: () => boolean
  readonly setOnline: (online: boolean) => void
  /** Whether its release is older than the server supports; it still records commands. */
  readonly isOld: () => boolean
  readonly setOld: (old: boolean) => Promise<void>
  /** The next step crashes after this many statements; undefined: it does not crash. */
  readonly light: (statements: number | undefined) => void
  /** Ids of commands acknowledged to their user. */
  readonly acknowledged: ReadonlySet<string>
  readonly close: () => Promise<void>
}

interface Opening {
  readonly chance: Random
  readonly faults: Faults
  readonly folder: string
  readonly id: number
  readonly house: SimulatedServer
  readonly uuid: () => string
  readonly now: () => number
  readonly trace: Trace
  readonly tally: FaultCounts
  readonly grants: () => Grants
  /** A longer part of a new history is sent as rows. */
  readonly snapshot_beyond: number
}

export const openDevice = async (opening: Opening): Promise<Device> => {
  const { chance: random, faults, folder, id, house: server } = opening
  const trace: Trace = (line) =>
    opening.trace(line.startsWith("  ") ? `  device ${id}:${line.slice(1)}` : `device ${id}: ${line}`)
  const made = await template()
  const filled = random.pick<Filled>([
    "events",
    "events",
    "events",
    "events",
    "rows",
    "rows",
    random.happens(0.2) ? "empty" : "events"
  ])
  // Besides the product's setting, one that may lose the end of the replica, which can be fetched again.
  const synchronous = random.pick(["full", "full", "normal"] as const)
  let generation = 0
  const replicaAt = (at: number): string => join(folder, `replica-${id}-${at}.sqlite`)
  const outboxAt = (at: number): string => join(folder, `outbox-${id}-${at}.sqlite`)
  copyDatabase(made.replica(id, filled), replicaAt(0))
  copyDatabase(made.outbox(id), outboxAt(0))
  trace(`filled from ${filled}, synchronous ${synchronous}`)

  let cut = false,
    online = true,
    old = false,
    skew = 0
  const cutPower = (): void => {
    const replica = afterPowerCut(random, replicaAt(generation), replicaAt(generation + 1))
    const outbox = afterPowerCut(random, outboxAt(generation), outboxAt(generation + 1))
    cut = true
    opening.tally.torn_pages += replica.torn_pages + outbox.torn_pages
    trace(
      `  the power is cut; ${replica.lost_bytes} bytes of the replica and ${outbox.lost_bytes} of the outbox were never written, ${replica.torn_pages} and ${outbox.torn_pages} pages are torn`
    )
  }
  const fuse: FailureCountdown = {
    left: undefined,
    blown: () => {
      if (random.happens(faults.power)) cutPower()
    }
  }
  const drawSkew = (): void => {
    skew = faults.skew_millis === 0 ? 0 : Math.round((random.next() * 2 - 1) * faults.skew_millis)
  }
  const viewer = (): Viewer => userOf(id, opening.grants())
  const acknowledged = new Set<string>()
  const hear = <A extends QueryResult>(answer: A): A => {
    if (answer.command !== undefined) acknowledged.add(answer.command.id)
    return answer
  }

  const openFiles = () => {
    const outbox = openOutboxAt(outboxAt(generation))
    const runtime = ManagedRuntime.make(
      Layer.mergeAll(
        Layer.provide(faultyStore(fuse), Sqlite.layer({ path: replicaAt(generation), synchronous })),
        Layer.succeed(
          Clock.Clock,
          clockAt(() => opening.now() + skew)
        )
      )
    )
    return { outbox, runtime }
  }
  const boot = ({ outbox, runtime }: ReturnType<typeof openFiles>) => {
    const replica: Replica = makeReplica({
      catalogue,
      outbox,
      replica_id: id,
      commandId: opening.uuid,
      viewer: Effect.sync(viewer),
      at: (step) => {
        if (!random.happens(faults.crash)) return
        if (random.happens(faults.power)) cutPower()
        throw new Crash(step)
      }
    })
    const run = <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>): Promise<A> =>
      runtime.runPromise(Effect.provide(effect, replica.runtime))
    const conflicts = conflictsOver({
      outbox,
      ask: (request, plan, again) => run(told(replica.ask(request, plan, again))),
      plan: (requests, ids) => run(replica.plan(requests, ids)),
      runDue: () => run(replica.open),
      base: async () => (await run(replica.position)).position,
      commandId: opening.uuid,
      now: () => new Date(opening.now() + skew).toISOString(),
      read: run,
      user_id: () => viewer().user_id
    })
    return { outbox, runtime, replica, run, conflicts }
  }
  drawSkew()
  let process = boot(openFiles())
  /** Continues on a disk with what a power cut left, which holds at least what was acknowledged. */
  const afterCut = (): void => {
    generation++
    cut = false
    assertSound(outboxAt(generation))
    assertSound(replicaAt(generation))
  }
  const nothingLost = (): void => {
    const lost = [...acknowledged].find((command) => process.outbox.find(command) === undefined)
    if (lost !== undefined) throw new Error(`device ${id} lost the acknowledged command ${lost}`)
  }
  const closeFiles = async (): Promise<void> => {
    await process.runtime.dispose()
    process.outbox.close()
  }
  const network = flakyNetwork({ chance: random, faults, house: server, viewer, online: () => online, trace })

  const self: Device = {
    id,
    viewer,
    acknowledged,
    outbox: () => process.outbox,
    online: () => online,
    setOnline: (value) => {
      online = value
    },
    isOld: () => old,
    setOld: async (value) => {
      old = value
      await server.run(
        Effect.flatMap(Store, (store) =>
          store.transaction(
            Effect.asVoid(store.run("update replicas set schema_version = ? where id = ?", [value ? 0 : 1, id]))
          )
        )
      )
    },
    light: (statements) => {
      fuse.left = statements
    },
    run: (effect) => process.run(effect),
    look: (sql, values = []) => process.run(Effect.flatMap(Store, (store) => store.run<Row>(sql, values))),
    ask: async (request) => hear(await process.run(told(process.replica.ask(request, false)))),
    sync: async () => {
      await process.conflicts.release()
      try {
        await syncOnce({
          profile: { replica_id: id },
          outbox: process.outbox,
          replica: process.replica,
          remote: network,
          files: {
            send: async (named) => {
              for (const sha256 of await network.wantedFiles(id, named)) await network.sendFile(id, sha256, "")
              return []
            },
            prune: () => {}
          },
          run: process.run,
          snapshot_beyond: opening.snapshot_beyond
        })
      } catch (error) {
        if (!(error instanceof RemoteError) || error.status !== 426 || !old) throw error
        trace("  is too old to send")
      }
    },
    resolve: async () => {
      const open = [...process.outbox.byState("rejected"), ...process.outbox.byState("held")]
      if (open.length === 0) return
      const { id: command, n, payload } = random.pick(open)
      const how = random.pick<ResolutionRequest>([
        { retry: true },
        { drop: true },
        { drop: true, with_dependants: true },
        { substitute: true },
        { split: true },
        {
          amend: {
            ...payload.body,
            ...(random.happens(0.5) ? { asset_number: `A-${random.below(40)}` } : {}),
            ...(random.happens(0.5) ? { name: "Amended" } : {})
          }
        }
      ])
      const { status } = hear(await process.conflicts.resolve(command, how, false))
      trace(`  settles command ${n} by ${JSON.stringify(how)}: ${status}`)
    },
    restart: async (how) => {
      fuse.left = undefined
      if (how === "power cut") cutPower()
      drawSkew()
      if (cut || how === "another release") {
        await closeFiles()
        if (cut) afterCut()
        if (how === "another release") ofAnotherRelease(replicaAt(generation), random)
        process = boot(openFiles())
        nothingLost()
      } else process = boot(process)
      for (;;) {
        // Opening may crash as well; the next opening must still come through.
        try {
          return await process.run(process.replica.open)
        } catch (error) {
          if (!isCrash(error)) throw error
          if (!cut) continue
          await closeFiles()
          afterCut()
          process = boot(openFiles())
          nothingLost()
        }
      }
    },
    close: closeFiles
  }
  return self
}
