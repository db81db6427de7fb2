/** The simulated server: the real rules and the real ends of sync over a database that crashes, is backed up, put back and brought forward. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { authority } from "../../core/kernel/authority.ts"
import { answer } from "../../core/kernel/dispatch.ts"
import type { Answer, Fault, Request } from "../../core/kernel/endpoint.ts"
import type { Site } from "../../core/kernel/site.ts"
import { ensureSchema, NewerSchema, seed } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { Unreachable } from "../../sync/replica/remote.ts"
import * as Sqlite from "../../sync/sqlite-client.ts"
import { owner } from "../app.ts"
import type { Look, Row } from "./any-command.ts"
import type { Chance } from "./chance.ts"
import { afterPowerCut, copyDatabase } from "./disk.ts"
import { clockAt, type Faults, told } from "./faults.ts"
import { serverCatalogue } from "./pulled.ts"
import { type Fuse, isCrash, shakyStore } from "./shaky.ts"
import { template, world_start } from "./template.ts"

export type Trace = (line: string) => void
export interface House {
  /** Asks as a request over the network does, one after the other; a crash of the server is nobody answering. */
  readonly ask: (request: Request, viewer?: Viewer) => Promise<Answer>
  readonly run: <A>(effect: Effect.Effect<A, Fault, Store | Site>) => Promise<A>
  readonly look: Look
  /** Whatever is on its way is done with. */
  readonly idle: () => Promise<void>
  readonly restart: (how: "stopped" | "power cut" | "another release") => Promise<void>
  readonly backUp: () => Promise<void>
  /** Puts the last backup in place; false without one. */
  readonly putBack: () => Promise<boolean>
  readonly restored: () => number
  readonly close: () => Promise<void>
}

export const openHouse = async (parts: { readonly chance: Chance; readonly faults: Faults; readonly folder: string; readonly now: () => number; readonly uuid: () => string; readonly trace: Trace }): Promise<House> => {
  const { chance, faults, folder, trace } = parts
  let generation = 0, backups = 0, restored = 0
  const pathOf = (at: number): string => join(folder, `server-${at}.sqlite`)
  const next = (): string => pathOf(generation + 1)
  let cut = false
  const cutPower = (): void => {
    const { lost_bytes } = afterPowerCut(chance, pathOf(generation), next())
    cut = true
    trace(`  the server's power is cut; ${lost_bytes} bytes were never written`)
  }
  const fuse: Fuse = { left: undefined, blown: () => { if (chance.happens(faults.power)) cutPower() } }
  copyDatabase((await template()).server, pathOf(0))
  const open = () => ManagedRuntime.make(Layer.mergeAll(
    Layer.provide(shakyStore(fuse), Sqlite.layer({ path: pathOf(generation) })),
    authority({ catalogue: serverCatalogue, commandId: parts.uuid }), Layer.succeed(Clock.Clock, clockAt(parts.now))))
  let runtime = open()

  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <A>(body: () => Promise<A>): Promise<A> => {
    const mine = turn.then(body, body)
    turn = mine.catch(() => undefined)
    return mine
  }
  const reopen = async (change?: (path: string) => void): Promise<void> => {
    await runtime.dispose()
    if (cut) {
      cut = false
      generation++
    }
    change?.(pathOf(generation))
    runtime = open()
    // As the server starts.
    await runtime.runPromise(Effect.gen(function*() {
      yield* ensureSchema(serverCatalogue, "server").pipe(Effect.catch((error) => error instanceof NewerSchema ? Effect.die(error) : Effect.fail(error)))
      yield* seed(serverCatalogue, new Date(world_start).toISOString())
    }))
  }
  const run: House["run"] = (effect) => inTurn(async () => {
    if (chance.happens(faults.server_cut_off)) fuse.left = 1 + chance.below(80)
    try { return await runtime.runPromise(effect) } catch (error) {
      if (!isCrash(error)) throw error
      trace(`  the server crashes at ${error instanceof Error ? error.message : ""}`)
      await reopen()
      throw new Unreachable("sim", error)
    } finally { fuse.left = undefined }
  })
  const backupPath = join(folder, "backup.sqlite")
  return {
    run,
    ask: (request, viewer = owner) => run(told(answer(serverCatalogue, request, viewer))),
    look: (sql, values = []) => inTurn(() => runtime.runPromise(Effect.flatMap(Store, (store) => store.run<Row>(sql, values)))),
    idle: async () => { await turn },
    restart: (how) => inTurn(async () => {
      if (how === "power cut") cutPower()
      await reopen(how === "another release" ? (path) => ofAnotherRelease(path, chance) : undefined)
    }),
    backUp: () => inTurn(async () => {
      await runtime.runPromise(Effect.flatMap(Store, (store) => store.run("pragma wal_checkpoint(truncate)")))
      copyDatabase(pathOf(generation), backupPath)
      backups++
    }),
    putBack: () => inTurn(async () => {
      if (backups === 0) return false
      await runtime.dispose()
      generation++
      copyDatabase(backupPath, pathOf(generation))
      restored++
      await reopen()
      return true
    }),
    restored: () => restored,
    close: () => inTurn(() => runtime.dispose())
  }
}

/** Columns that had another name in the release before. */
const renamed = [["products", "weight"], ["members", "description"], ["opportunities", "external_description"], ["stock_levels", "location"]] as const
/** Makes a closed database one that another release left: a column of a folded table went by another name there. */
export const ofAnotherRelease = (path: string, chance: Chance): void => {
  const [table, column] = chance.pick(renamed)
  const db = new DatabaseSync(path)
  db.exec(`alter table "${table}" rename column "${column}" to "${column}_before"`)
  db.prepare("update flightcase_meta set value = replace(value, ?, ?) where key = 'tables'").run(`"${column}"`, `"${column}_before"`)
  db.close()
}
