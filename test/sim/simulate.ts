/** Runs one seed: random work under faults, then a full sync, then the checks. Errors name the seed. */
import { rmSync } from "node:fs"
import { Effect } from "effect"
import { loadAll } from "../../core/kernel/fields/later.ts"
import { Unreachable } from "../../sync/device/exchange/remote.ts"
import { type Random, randomOf } from "./random.ts"
import { check, type Counted } from "./checks.ts"
import { type Device, openDevice } from "./device.ts"
import { newFolder } from "./disk.ts"
import { type Faults, faultsOf, noFaults, type FaultCounts } from "./faults.ts"
import { type SimulatedServer, openServer, type Trace } from "./server.ts"
import { isCrash } from "./faulty-store.ts"
import { devices_max, fewer, type Grants, world_start } from "./template.ts"
import { dutiesOf, nextRequest } from "./work.ts"

interface SimulationOptions {
  /** 1 to 8; default: drawn from the seed. */
  readonly replicas?: number | undefined
  readonly steps?: number | undefined
  /** Called with each event, as a line of text. */
  readonly trace?: Trace
}
export type Outcome = Counted & Readonly<FaultCounts> & { readonly replicas: number; readonly steps: number }

interface Simulation {
  readonly seed: number
  readonly chance: Random
  readonly faults: Faults
  readonly house: SimulatedServer
  readonly devices: ReadonlyArray<Device>
  readonly duties: ReadonlyArray<string>
  readonly trace: Trace
  readonly pass: (millis: number) => void
  grants: Grants
  /** Whether backups are restored in this world. */
  readonly restores: boolean
}

export const simulate = async (seed: number, options: SimulationOptions = {}): Promise<Outcome> => {
  // Otherwise modules loading at first use would change the interleaving of a process's first world.
  await Effect.runPromise(loadAll)
  const random = randomOf(seed)
  const trace = options.trace ?? (() => {})
  const replicas = options.replicas ?? random.pick([1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5 + random.below(devices_max - 4)])
  const steps = options.steps ?? 6 + random.below(8) + replicas * (2 + random.below(3))
  const faults: Faults = { ...noFaults }
  const tally: FaultCounts = { met: 0, torn_pages: 0 }
  const folder = newFolder("world")
  let now = world_start,
    ids = 0
  const clock = (): number => now
  const uuid = (): string => `sim-${String(++ids).padStart(8, "0")}`
  const server = await openServer({ chance: random, faults, folder, now: clock, uuid, trace, tally })
  const devices: Array<Device> = []
  const world: Simulation = {
    seed,
    chance: random,
    faults,
    house: server,
    devices,
    trace,
    duties: dutiesOf(seed),
    pass: (millis) => {
      now += millis
    },
    grants: "all",
    restores: random.happens(0.12)
  }
  try {
    const snapshot_beyond = random.happens(0.08) ? 0 : Number.POSITIVE_INFINITY
    for (let id = 1; id <= replicas; id++) {
      const device = await openDevice({
        chance: random,
        faults,
        folder,
        id,
        house: server,
        uuid,
        now: clock,
        trace,
        tally,
        grants: () => world.grants,
        snapshot_beyond
      })
      devices.push(device)
      await device.restart()
    }
    Object.assign(faults, faultsOf(random))
    trace(`faults ${JSON.stringify(faults)}`)
    for (let step = 1; step <= steps; step++) {
      trace(`step ${step}`)
      await takeStep(world)
      await server.idle()
    }
    Object.assign(faults, noFaults)
    trace("peace")
    await settle(world)
    return { ...(await check(server, devices, seed % 8 === 0)), ...tally, replicas, steps }
  } catch (error) {
    throw new Error(
      `seed ${seed} (${replicas} replicas, ${steps} steps): ${error instanceof Error ? error.message : String(error)}\n${replayOf(seed, options)}`,
      { cause: error }
    )
  } finally {
    for (const device of devices) await device.close().catch(() => undefined)
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Probability of several users acting at once. */
const at_once = 0.15

/** A user works on the server directly. */
const workAtServer = async ({ chance: random, duties, house: server, trace }: Simulation): Promise<void> => {
  try {
    const request = await nextRequest(random, server.look, duties)
    const { status } = await server.ask(request)
    trace(`at the server: ${request.method} ${request.path} ${JSON.stringify(request.body)}: ${status}`)
  } catch (error) {
    unreachable(error)
  }
}

/** A user works on a device. */
const record = async ({ chance: random, duties, trace }: Simulation, device: Device): Promise<void> => {
  const request = await nextRequest(random, device.look, duties)
  const { status, command } = await device.ask(request)
  trace(
    `device ${device.id}: ${request.method} ${request.path} ${JSON.stringify(request.body)}: ${status}${command === undefined ? "" : `, command ${command.n}`}`
  )
}

/** A client without a response may retry at once, while the server still works on its request. */
const sync = async ({ chance: random, trace }: Simulation, device: Device): Promise<void> => {
  trace(`device ${device.id} syncs`)
  try {
    await device.sync()
  } catch (error) {
    if (!(error instanceof Unreachable) || random.happens(0.5)) throw error
    trace(`device ${device.id} tries again`)
    await device.sync()
  }
}

/** Several devices record and sync at once, perhaps with a user on the server, so that their requests interleave. */
const severalAtOnce = async (world: Simulation): Promise<void> => {
  const { chance: random, devices, faults, trace } = world
  const some = devices.filter(() => random.happens(0.7))
  trace(`at once: ${some.map(({ id }) => `device ${id}`).join(", ") || "nobody"}`)
  const works = Array.from({ length: random.below(3) }, () => workAtServer(world))
  await Promise.all([
    ...works,
    ...some.map(async (device) => {
      if (random.happens(faults.cut_off)) device.light(1 + random.below(120))
      await surviving(world, device, async () => {
        if (random.happens(0.7)) await record(world, device)
        await sync(world, device)
      })
      device.light(undefined)
    })
  ])
}

/** Seeds are only valid for the code that draws from them: replay a failure at the commit that found it. */
const replayOf = (seed: number, { replicas, steps }: SimulationOptions): string =>
  `At this commit it happens again, step by step: npm run sim -- --seed ${seed}${replicas === undefined ? "" : ` --replicas ${replicas}`}${steps === undefined ? "" : ` --steps ${steps}`} --trace`

const takeStep = async (world: Simulation): Promise<void> => {
  const { chance: random, house: server, trace, faults } = world
  world.pass(random.below(900_000))
  const device = random.pick(world.devices)
  const roll = random.below(1_000)
  if (roll < 90) return workAtServer(world)
  if (random.happens(at_once)) return severalAtOnce(world)
  if (roll < 130) {
    device.setOnline(!device.online())
    return trace(`device ${device.id} is ${device.online() ? "back on the network" : "cut off from the network"}`)
  }
  if (roll < 160)
    return surviving(world, device, async () => {
      trace(`device ${device.id} starts again`)
      await device.restart()
    })
  if (roll < 175)
    return surviving(world, device, async () => {
      trace(`device ${device.id} loses its power`)
      await device.restart("power cut")
    })
  if (roll < 185)
    return surviving(world, device, async () => {
      trace(`device ${device.id} is brought forward to another release`)
      await device.restart("another release")
      if (device.isOld()) await device.setOld(false)
    })
  if (roll < 192) {
    trace(`device ${device.id} is of a release too old to send from`)
    return device.setOld(true).catch(unreachable)
  }
  if (roll < 205) {
    const how = random.pick(["stopped", "power cut", "another release"] as const)
    trace(`the server starts again: ${how}`)
    return server.restart(how)
  }
  if (roll < 220) {
    world.grants = world.grants === "all" ? random.pick(fewer) : "all"
    return trace(`the other person may see ${world.grants}`)
  }
  if (roll < 245) {
    if (!world.restores) return
    if (server.restored() > 0 || random.happens(0.5)) {
      trace("the server is backed up")
      return server.backUp()
    }
    if (await server.putBack()) trace("the last backup is put in place")
    return
  }
  if (random.happens(faults.cut_off)) device.light(1 + random.below(120))
  await surviving(world, device, async () => {
    if (roll < 400) await sync(world, device)
    else if (roll < 460) {
      trace(`device ${device.id} settles a conflict`)
      await device.resolve()
    } else await record(world, device)
  })
  device.light(undefined)
}

const unreachable = (error: unknown): void => {
  if (!(error instanceof Unreachable)) throw error
}
/** A lost network ends the step; after a crash another process opens the files. */
const surviving = async ({ trace }: Simulation, device: Device, step: () => Promise<void>): Promise<void> => {
  try {
    await step()
  } catch (error) {
    if (isCrash(error) && !(error instanceof Unreachable)) {
      trace(`device ${device.id} crashes: ${error instanceof Error ? error.message : ""}`)
      await device.restart()
    } else unreachable(error)
  }
}

const settle = async (world: Simulation): Promise<void> => {
  const { chance: random, devices } = world
  // Half of the worlds that reduced permissions restore them at the end.
  if (random.happens(0.5)) world.grants = "all"
  for (const device of devices) {
    device.setOnline(true)
    if (device.isOld()) await device.setOld(false)
    if (random.happens(0.4)) await device.restart()
  }
  // Twice: the second round brings each device what others sent in the first; after a restore a third is needed.
  for (let round = 0; round < (world.house.restored() > 0 ? 3 : 2); round++)
    for (const device of devices) await device.sync()
}
