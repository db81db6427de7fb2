/** One seed: a schedule of work and faults, then peace, then the checks. Throws an error that names the seed. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { journal } from "../../core/kernel/journal.ts"
import { rebuild } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { command_states } from "../../sync/replica/outbox.ts"
import { Unreachable } from "../../sync/replica/remote.ts"
import { replica_commands } from "../../sync/ends/tables.ts"
import { chanceOf, type Chance } from "./chance.ts"
import { nextRequest } from "./work.ts"
import { type Dump, type Faults, isCrash, noFaults, openWorld, serverCatalogue, type SimReplica, type World } from "./world.ts"

export interface SimulationOptions {
  readonly replicas: number
  readonly steps: number
}
export interface Outcome { readonly submitted: number; readonly accepted: number; readonly rejected: number }

export const simulate = async (seed: number, options: SimulationOptions): Promise<Outcome> => {
  const chance = chanceOf(seed)
  const faults: Faults = {
    lost_request: chance.next() * 0.2, lost_reply: chance.next() * 0.2, repeated: chance.next() * 0.3,
    crash: chance.next() * 0.1, skew_millis: chance.pick([0, 0, 60_000, 3 * 86_400_000]),
    anew: chance.next() * 0.3, busy: chance.next() * 0.5
  }
  const live: Faults = { ...noFaults, skew_millis: faults.skew_millis, busy: faults.busy }
  const world = await openWorld(chance, options.replicas, live)
  try {
    for (const replica of world.replicas) await replica.sync()
    Object.assign(live, faults)
    for (let step = 0; step < options.steps; step++) await takeStep(chance, world)
    Object.assign(live, noFaults)
    await settle(world)
    return await check(world)
  } catch (error) {
    throw new Error(`seed ${seed} (${options.replicas} replicas, ${options.steps} steps): ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    await world.close()
  }
}

const takeStep = async (chance: Chance, world: World): Promise<void> => {
  world.pass(chance.below(600_000))
  const roll = chance.next()
  if (roll < 0.12) {
    // Somebody works on the server directly.
    await world.server.ask(await nextRequest(chance, world.server.ask))
    return
  }
  const replica = chance.pick(world.replicas)
  if (roll < 0.2) return replica.setOnline(!replica.online)
  if (roll < 0.23) return replica.restart()
  await surviving(replica, async () => {
    if (roll < 0.4) await replica.sync()
    else if (roll < 0.46) await replica.resolve()
    else await replica.ask(await nextRequest(chance, replica.ask))
  })
}

/** A lost network ends the step; a crash ends the process, and another one opens the files. */
const surviving = async (replica: SimReplica, step: () => Promise<void>): Promise<void> => {
  try { await step() } catch (error) {
    if (isCrash(error)) await replica.restart()
    else if (!(error instanceof Unreachable)) throw error
  }
}

const settle = async (world: World): Promise<void> => {
  for (const replica of world.replicas) {
    replica.setOnline(true)
    await replica.restart()
  }
  // Twice: the second round brings each replica what the others sent in the first.
  for (let round = 0; round < 2; round++) for (const replica of world.replicas) await replica.sync()
}

const check = async (world: World): Promise<Outcome> => {
  const truth = await world.server.tables()
  let submitted = 0, accepted = 0, rejected = 0
  for (const replica of world.replicas) {
    const counts: { readonly [state: string]: number } = replica.outbox.counts()
    const total = Object.values(counts).reduce((sum, n) => sum + n, 0)
    submitted += total
    accepted += counts["accepted"] ?? 0
    const refused = command_states.filter((state) => state !== "pending" && state !== "accepted").reduce((sum, state) => sum + (counts[state] ?? 0), 0)
    rejected += refused
    if ((counts["pending"] ?? 0) !== 0) fail(`replica ${replica.id} still has ${counts["pending"]} pending commands`)
    if (total !== (counts["accepted"] ?? 0) + refused) fail(`replica ${replica.id}: commands went missing: ${JSON.stringify(counts)}`)
    for (const state of ["amended", "substituted", "split", "released"] as const) {
      for (const one of replica.outbox.byState(state)) {
        const changed_nothing = state === "amended" || state === "released"
        if (!changed_nothing && replica.outbox.successors(one.id).length === 0) fail(`replica ${replica.id}: command ${one.n} was ${state}, and nothing came in its place`)
      }
    }
    for (const held of replica.outbox.byState("held")) {
      const cause = replica.outbox.find(held.cause ?? "")
      if (cause?.state !== "rejected" || cause.n >= held.n) fail(`replica ${replica.id}: command ${held.n} is held by ${held.cause}, which is no refused command before it`)
    }
    for (const id of replica.acknowledged) if (replica.outbox.find(id) === undefined) fail(`replica ${replica.id} lost the acknowledged command ${id}`)
    equalTables(truth, await replica.tables(), `replica ${replica.id}`)
  }
  const stored = await world.server.run(Effect.gen(function*() {
    const store = yield* Store
    return { verdicts: yield* store.find(replica_commands, {}), events: yield* store.find(journal, {}) }
  }))
  if (stored.verdicts.length !== submitted) fail(`${submitted} commands were submitted, the server decided ${stored.verdicts.length}`)
  for (const verdict of stored.verdicts) {
    // Refused commands leave nothing behind but their verdict.
    const left = stored.events.filter((event) => event.command_id === verdict.id).length
    if (!verdict.accepted && left !== 1) fail(`the refused command ${verdict.id} left ${left - 1} events`)
  }
  noAssetTwice(truth)
  await world.server.run(rebuild(serverCatalogue))
  equalTables(truth, await world.server.tables(), "the journal folded again")
  return { submitted, accepted, rejected }
}

const equalTables = (truth: Dump, other: Dump, name: string): void => {
  for (const table of Object.keys(truth)) {
    if (isDeepStrictEqual(truth[table], other[table])) continue
    const at = truth[table]!.findIndex((row, index) => !isDeepStrictEqual(row, other[table]![index]))
    fail(`${name} differs in ${table}: ${truth[table]!.length} rows against ${other[table]!.length}; ` +
      `first at ${at}: ${JSON.stringify(truth[table]![at])} against ${JSON.stringify(other[table]![at])}`)
  }
}

/** No unit is claimed twice at a time, judged here once more without the database's help. */
const noAssetTwice = (truth: Dump): void => {
  const claims = (truth["claims"] ?? []) as ReadonlyArray<{ id: number; asset_id: number | null; is_active: boolean; buffered_starts_at: string; buffered_ends_at: string }>
  const active = claims.filter((claim) => claim.is_active && claim.asset_id !== null)
  for (const one of active) {
    const other = active.find((two) => two.id > one.id && two.asset_id === one.asset_id &&
      two.buffered_starts_at < one.buffered_ends_at && two.buffered_ends_at > one.buffered_starts_at)
    if (other !== undefined) fail(`asset ${one.asset_id} is claimed twice: claims ${one.id} and ${other.id}`)
  }
}

const fail = (text: string): never => { throw new Error(text) }
