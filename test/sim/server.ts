/**
 * The simulated server: the real rules and sync code over a database that crashes, is backed up, restored and upgraded.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { DeviceFiles } from "../../sync/server/tables.ts"
import { files_of_simulation } from "./files.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { answer } from "../../core/kernel/runtime/engine.ts"
import type { Answer, CommandRuntime, Failure, Request } from "../../core/kernel/endpoints/endpoint.ts"
import { Rejection, type Viewer } from "../../core/kernel/fields/rejection.ts"
import { ensureSchema, NewerSchema, seed } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { Unreachable } from "../../sync/device/exchange/remote.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { owner } from "../app.ts"
import type { Look, Row } from "./any-command.ts"
import type { Random } from "./random.ts"
import { afterPowerCut, assertSound, copyDatabase } from "./disk.ts"
import { clockAt, type Faults, type FaultCounts, told } from "./faults.ts"
import { serverCatalogue } from "./pull.ts"
import { type FailureCountdown, isCrash, faultyStore } from "./faulty-store.ts"
import { template, world_start } from "./template.ts"
import { makeInFlightRequests } from "./in-flight.ts"

export type Trace = (line: string) => void
export interface SimulatedServer {
  /** Sends a request like the network; several may be in flight. After a crash of the server there is no response. */
  readonly ask: (request: Request, viewer?: Viewer) => Promise<Answer>
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Awaits a request and ignores its response. */
  readonly unheard: (request: Promise<unknown>) => Promise<void>
  readonly look: Look
  /** Resolves when no request is in flight; throws if something failed unexpectedly. */
  readonly idle: () => Promise<void>
  readonly restart: (how: "stopped" | "power cut" | "another release") => Promise<void>
  readonly backUp: () => Promise<void>
  /** Restores the last backup; false without one. */
  readonly putBack: () => Promise<boolean>
  readonly restored: () => number
  readonly close: () => Promise<void>
}

interface Parts {
  readonly chance: Random
  readonly faults: Faults
  readonly folder: string
  readonly now: () => number
  readonly uuid: () => string
  readonly trace: Trace
  readonly tally: FaultCounts
}

export const openServer = async (parts: Parts): Promise<SimulatedServer> => {
  const { chance: random, faults, folder, tally, trace } = parts
  let generation = 0,
    backups = 0,
    restored = 0
  const pathOf = (at: number): string => join(folder, `server-${at}.sqlite`)
  const next = (): string => pathOf(generation + 1)
  let cut = false
  const cutPower = (): void => {
    const { lost_bytes, torn_pages } = afterPowerCut(random, pathOf(generation), next())
    cut = true
    tally.torn_pages += torn_pages
    trace(`  the server's power is cut; ${lost_bytes} bytes were never written, ${torn_pages} pages are torn`)
  }
  /** One process of the server: its requests in flight die with it. */
  let life = { died: false, end: new AbortController() }
  const fuse: FailureCountdown = {
    left: undefined,
    blown: () => {
      life.died = true
      if (random.happens(faults.power)) cutPower()
    }
  }
  const underway = makeInFlightRequests(random, tally)
  copyDatabase((await template()).server, pathOf(0))
  const open = () =>
    ManagedRuntime.make(
      Layer.mergeAll(
        Layer.provide(faultyStore(fuse, underway.turn), Sqlite.layer({ path: pathOf(generation) })),
        serverRuntime({ catalogue: serverCatalogue, commandId: parts.uuid }),
        Layer.succeed(DeviceFiles, files_of_simulation),
        Layer.succeed(Clock.Clock, clockAt(parts.now))
      )
    )
  let runtime = open()

  const reopen = async (change?: (path: string) => void): Promise<void> => {
    await runtime.dispose()
    if (cut) {
      cut = false
      generation++
      assertSound(pathOf(generation))
    }
    change?.(pathOf(generation))
    fuse.left = undefined
    life = { died: false, end: new AbortController() }
    runtime = open()
    // Work of a server's start.
    await runtime.runPromise(
      Effect.gen(function* () {
        yield* ensureSchema(serverCatalogue, "server").pipe(
          Effect.catch((error) => (error instanceof NewerSchema ? Effect.die(error) : Effect.fail(error)))
        )
        yield* seed(serverCatalogue, new Date(world_start).toISOString())
      })
    )
  }
  let reopening: Promise<void> | undefined
  /** Ends the process with all requests in flight, and starts another one. */
  const startAnew = (died: typeof life, why: unknown): Promise<void> =>
    (reopening ??= (async () => {
      trace(`  the server crashes at ${why instanceof Error ? why.message : ""}`)
      died.end.abort()
      await underway.settled()
      await reopen()
      reopening = undefined
    })())
  const within = async <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>): Promise<A> => {
    const mine = life
    const asked = runtime.runPromise(effect, { signal: mine.end.signal })
    underway.begin(asked)
    try {
      const answer = await asked
      if (!mine.died) return answer
    } catch (error) {
      if (!mine.died) {
        if (!(error instanceof Rejection)) underway.failed(error)
        throw error
      }
      if (isCrash(error)) await startAnew(mine, error)
    } finally {
      underway.end(asked)
      if (underway.isEmpty()) fuse.left = undefined
    }
    await reopening
    throw new Unreachable("sim", new Error("the server has crashed"))
  }
  const run: SimulatedServer["run"] = async (effect) => {
    // No await in between, as a restart would miss this request.
    while (reopening !== undefined) await reopening
    if (random.happens(faults.server_cut_off)) fuse.left ??= 1 + random.below(80)
    return within(effect)
  }
  const idle = async (): Promise<void> => {
    while (!underway.isEmpty() || reopening !== undefined) await Promise.all([underway.settled(), reopening])
    underway.assertSound()
  }
  const alone = async <A>(body: () => Promise<A>): Promise<A> => {
    await idle()
    const doing = body()
    // Work between two requests waits until the server is back.
    const done = doing.then(
      () => {},
      () => {}
    )
    reopening = done
    try {
      return await doing
    } finally {
      if (reopening === done) reopening = undefined
    }
  }
  const backupPath = join(folder, "backup.sqlite")
  return {
    run,
    ask: (request, viewer = owner) => run(told(answer(serverCatalogue, request, viewer))),
    unheard: (request) =>
      request.then(
        () => undefined,
        () => undefined
      ),
    look: async (sql, values = []) => {
      while (reopening !== undefined) await reopening
      return within(Effect.flatMap(Store, (store) => store.run<Row>(sql, values)))
    },
    idle,
    restart: (how) =>
      alone(async () => {
        if (how === "power cut") cutPower()
        await reopen(how === "another release" ? (path) => ofAnotherRelease(path, random) : undefined)
      }),
    backUp: () =>
      alone(async () => {
        await runtime.runPromise(Effect.flatMap(Store, (store) => store.run("pragma wal_checkpoint(truncate)")))
        copyDatabase(pathOf(generation), backupPath)
        backups++
      }),
    putBack: () =>
      alone(async () => {
        if (backups === 0) return false
        await runtime.dispose()
        generation++
        copyDatabase(backupPath, pathOf(generation))
        restored++
        await reopen()
        return true
      }),
    restored: () => restored,
    close: () => alone(() => runtime.dispose())
  }
}

/** Columns that had another name in an earlier release. */
const renamed = [
  ["products", "weight"],
  ["members", "description"],
  ["opportunities", "external_description"],
  ["stock_levels", "location"]
] as const
/** Turns a closed database into one of an earlier release, with another name of a column. */
export const ofAnotherRelease = (path: string, random: Random): void => {
  const [table, column] = random.pick(renamed)
  const db = new DatabaseSync(path)
  db.exec(`alter table "${table}" rename column "${column}" to "${column}_before"`)
  db.prepare("update flightcase_meta set value = replace(value, ?, ?) where key = 'tables'").run(
    `"${column}"`,
    `"${column}_before"`
  )
  db.close()
}
