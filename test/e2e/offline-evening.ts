/**
 * An evening without a network: two command lines and a user at the server change the same records while any process
 * may be killed; then the network returns and all reconcile, with more kills. `node test/e2e/offline-evening.ts
 * [--commands 500] [--seed 1]` runs the full length with the built programs on its own Postgres, and prints the
 * figures.
 */
import { setTimeout as pause } from "node:timers/promises"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { freePort } from "../free-port.ts"
import { type Random, randomOf } from "../sim/random.ts"
import { type Network, networkTo } from "./network.ts"
import { type Reckoning, reckon, recordedIn } from "./offline-evening-reckoning.ts"
import { type Deed, rival, worker } from "./offline-evening-work.ts"
import { createEveningData, type EveningWorld } from "./offline-evening-world.ts"
import {
  asOwner,
  clockAhead,
  type CommandLine,
  commandLine,
  type Ran,
  type RunningServer,
  startServer,
  token
} from "./processes.ts"
import { bodyRead } from "../answers.ts"

/** Length of the evening by all clocks. */
const hours = 5
const kill_share = 0.1
const resolve_most = 12

interface EveningOptions {
  readonly commands: number
  readonly seed: number
  readonly database: string
  readonly say?: (line: string) => void
}
interface Figures extends Reckoning {
  /** Killed processes: during commands, during a sync, the server. */
  readonly kills: { readonly working: number; readonly syncing: number; readonly server: number }
  readonly refused_here: number
  readonly resolved: number
  readonly strikes: number
  readonly seconds: { readonly working: number; readonly reconciling: number }
}

interface Hand {
  readonly name: string
  readonly home: string
  readonly profile: string
  readonly chance: Random
  readonly acknowledged: Set<number>
  /** The command line with its clock at a part of the evening: 0 is its start, 1 its end. */
  readonly at: (progress: number) => CommandLine
  /** Usual duration of its commands, within which they are killed. */
  usual_millis: number
}
interface Tally {
  working: number
  syncing: number
  server: number
  refused_here: number
  resolved: number
  strikes: number
}

const handOf = (name: string, folder: string, seed: number): Hand => {
  const home = join(folder, name)
  return {
    name,
    home,
    profile: join(home, "profiles", "default"),
    chance: randomOf(seed),
    acknowledged: new Set(),
    usual_millis: 500,
    at: (progress) => commandLine(home, clockAhead((progress - 1) * hours * 3_600_000))
  }
}

/** Runs a command; with `killed`, kills it at some moment within its usual duration. */
const ran = async (
  hand: Hand,
  cli: CommandLine,
  { words, stdin }: Deed,
  killed: boolean
): Promise<Ran & { readonly was_killed: boolean }> => {
  const begun = performance.now()
  const { child, done } = cli.start(words, stdin)
  if (killed) {
    const moment = hand.chance.next() * 1.05 * hand.usual_millis
    await Promise.race([pause(moment), done])
    child.kill("SIGKILL")
  }
  const over = await done.catch((error: unknown) => {
    if (killed) return { code: null, out: "", err: "", json: bodyRead(undefined) }
    throw error
  })
  if (!killed) hand.usual_millis = 0.8 * hand.usual_millis + 0.2 * (performance.now() - begun)
  for (const [, n] of over.err.matchAll(/Recorded here as command (\d+)/g)) hand.acknowledged.add(Number(n))
  return { ...over, was_killed: over.code === null }
}
/** Expected exit codes: done, or refused with reasons. */
const orderly = [0, 3, 5, 6]

const work = async (hand: Hand, world: EveningWorld, commands: number, tally: Tally): Promise<void> => {
  const { next, quoted } = worker(hand.chance, hand.name, world)
  for (let turn = 0; turn < 4 * commands; turn++) {
    const recorded = recordedIn(hand.profile)
    if (recorded >= commands) return
    const deed = next()
    const { code, err, out, json, was_killed } = await ran(
      hand,
      hand.at(recorded / commands),
      deed,
      hand.chance.happens(kill_share)
    )
    if (was_killed) {
      tally.working++
      continue
    }
    if (!orderly.includes(code!))
      throw new Error(`${hand.name}: ${deed.words.join(" ")} ended with ${code}: ${err}${out}`)
    if (code !== 0) tally.refused_here++
    if (deed.words[1] === "new" && code === 0) quoted(json.opportunity.id)
  }
  throw new Error(`${hand.name} recorded ${recordedIn(hand.profile)} of ${commands} commands only`)
}

/** Sends the rival's requests to the server, spread over the evening. */
const struck = async (
  ask: ReturnType<typeof asOwner>,
  chance: Random,
  world: EveningWorld,
  until: () => boolean,
  most: number,
  tally: Tally
): Promise<void> => {
  const next = rival(chance, world)
  for (let made = 0; made < most && !until(); made++) {
    const { method, path, body } = next()
    const { status } = await ask(method, `/api/v1${path}`, body)
    if (status >= 500) throw new Error(`${method} ${path} answered ${status}`)
    if (status < 300) tally.strikes++
    await pause(500 + chance.below(500))
  }
}

const synced = async (hand: Hand): Promise<void> => {
  let last: Ran | undefined
  for (let tries = 0; tries < 8; tries++) {
    last = await hand.at(1)("sync", "--json")
    if ((last.code === 0 || last.code === 8) && last.json.sync.pending === 0) return
  }
  throw new Error(`${hand.name} does not come to an end: ${last?.code} ${last?.err}`)
}

/** Resolves some refused commands, with another unit or otherwise; leaves the rest. */
const settle = async (hand: Hand, tally: Tally): Promise<void> => {
  const cli = hand.at(1)
  const { conflicts } = (await cli("sync", "conflicts", "--json")).json
  const ways = [["--drop", "--with-dependants"], ["--retry"], ["--drop"]] as const
  for (const [at, { id, ways_out }] of conflicts.slice(0, resolve_most).entries()) {
    const way = ways_out.some((one: { readonly way: string }) => one.way === "substitute")
      ? ["--substitute"]
      : ways[at % ways.length]!
    const { code, err } = await ran(hand, cli, { words: ["sync", "resolve", id, ...way, "--json"] }, false)
    if (!orderly.includes(code!)) throw new Error(`${hand.name}: resolve ${way[0]} ended with ${code}: ${err}`)
    if (code === 0) tally.resolved++
  }
}

export const spendEvening = async ({ commands, seed, database, say = () => {} }: EveningOptions): Promise<Figures> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-evening-"))
  const port = await freePort()
  const start = (progress: number): Promise<RunningServer> =>
    startServer({
      port,
      data: join(folder, "server"),
      database,
      environment: clockAhead((progress - 1) * hours * 3_600_000)
    })
  const tally: Tally = { working: 0, syncing: 0, server: 0, refused_here: 0, resolved: 0, strikes: 0 }
  let server = await start(0)
  let network: Network | undefined
  try {
    network = await networkTo(port)
    const ask = asOwner(server.url)
    const world = await createEveningData(ask, commands)
    const hands = ["Ada", "Ben"].map((name, at) => handOf(name, folder, seed * 10 + at))
    for (const { name, at } of hands) {
      const login = await at(0)("login", network.url, "--token", token, "--name", name)
      if (login.code !== 0) throw new Error(`${name} cannot log in: ${login.err}`)
    }
    network.cut()
    say(`cut off; ${commands} commands each`)
    const begun = performance.now()
    let over = false
    const rivalry = struck(ask, randomOf(seed * 10 + 7), world, () => over, commands, tally)
    // When the work fails the server stops, and the rival's errors do not matter.
    rivalry.catch(() => {})
    try {
      await Promise.all(hands.map((hand) => work(hand, world, commands, tally)))
    } finally {
      over = true
    }
    await rivalry
    for (const hand of hands) {
      const { code } = await hand.at(1)("sync", "--json")
      if (code !== 7) throw new Error(`${hand.name}'s sync ended with ${code} and no network`)
    }
    say(`worked for ${Math.round((performance.now() - begun) / 1000)} s, ${tally.working} processes killed`)
    const reconciling = performance.now()
    await server.stop()
    server = await start(1)
    network.mend()
    for (const hand of hands) hand.usual_millis = Math.max(1_500, commands * 15)
    const chance = randomOf(seed * 10 + 8)
    for (let turn = 0; turn < (commands >= 200 ? 8 : 4); turn++) {
      // In turns, the server is killed or the network is cut.
      const plug =
        turn % 2 === 1
          ? pause(chance.below(1_500)).then(async () => {
              if (turn % 4 === 3) {
                network!.cut()
                network!.mend()
                return
              }
              await server.kill()
              tally.server++
              server = await start(1)
            })
          : undefined
      const over = await Promise.all(hands.map((hand) => ran(hand, hand.at(1), { words: ["sync"] }, true)))
      tally.syncing += over.filter(({ was_killed }) => was_killed).length
      await plug
    }
    for (const hand of hands) await synced(hand)
    for (const hand of hands) await settle(hand, tally)
    for (const hand of [...hands, ...hands]) await synced(hand)
    const doctors = await Promise.all(hands.map((hand) => hand.at(1)("doctor", "--json")))
    const { working, syncing, server: plugs, ...counted } = tally
    const devices = hands.map(({ name, profile, acknowledged }) => ({
      name,
      profile,
      acknowledged,
      replica_id: Number(JSON.parse(readFileSync(join(profile, "profile.json"), "utf8")).replica_id)
    }))
    const reckoning = await reckon({ database, devices })
    const unwell = doctors.flatMap(({ code, out }, at) => (code === 0 ? [] : [`${hands[at]!.name}'s doctor: ${out}`]))
    return {
      ...reckoning,
      ...counted,
      kills: { working, syncing, server: plugs },
      faults: [...reckoning.faults, ...unwell],
      seconds: { working: (reconciling - begun) / 1000, reconciling: (performance.now() - reconciling) / 1000 }
    }
  } finally {
    network?.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { commands: { type: "string", default: "500" }, seed: { type: "string", default: "1" } }
  })
  const { startPostgres } = await import("../postgres-server.ts")
  const postgres = await startPostgres()
  try {
    const figures = await spendEvening({
      commands: Number(values.commands),
      seed: Number(values.seed),
      database: postgres.url,
      say: console.log
    })
    console.log(JSON.stringify(figures, null, 2))
    process.exitCode = figures.faults.length === 0 ? 0 : 1
  } finally {
    await postgres.stop()
  }
}
