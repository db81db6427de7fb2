/** One seed: a schedule of work and faults, then peace, then the checks. Throws an error that names the seed. */
import { rmSync } from "node:fs"
import { Unreachable } from "../../sync/replica/remote.ts"
import { type Chance, chanceOf } from "./chance.ts"
import { check, type Counted } from "./checks.ts"
import { type Device, openDevice } from "./device.ts"
import { newFolder } from "./disk.ts"
import { type Faults, faultsOf, noFaults } from "./faults.ts"
import { type House, openHouse, type Trace } from "./house.ts"
import { isCrash } from "./shaky.ts"
import { devices_max, fewer, type Grants, world_start } from "./template.ts"
import { dutiesOf, nextRequest } from "./work.ts"

export interface SimulationOptions {
  /** 1 to 8; drawn by the seed without it. */
  readonly replicas?: number | undefined
  readonly steps?: number | undefined
  /** Told what happens, line by line. */
  readonly trace?: Trace
}
export type Outcome = Counted & { readonly replicas: number; readonly steps: number }

interface World {
  readonly seed: number
  readonly chance: Chance
  readonly faults: Faults
  readonly house: House
  readonly devices: ReadonlyArray<Device>
  readonly duties: ReadonlyArray<string>
  readonly trace: Trace
  readonly pass: (millis: number) => void
  grants: Grants
  /** Whether backups are put in place in this world. */
  readonly restores: boolean
}

export const simulate = async (seed: number, options: SimulationOptions = {}): Promise<Outcome> => {
  const chance = chanceOf(seed)
  const trace = options.trace ?? (() => {})
  const replicas = options.replicas ?? chance.pick([1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5 + chance.below(devices_max - 4)])
  const steps = options.steps ?? 6 + chance.below(8) + replicas * (2 + chance.below(3))
  const faults: Faults = { ...noFaults }
  const folder = newFolder("world")
  let now = world_start, ids = 0
  const clock = (): number => now
  const uuid = (): string => `sim-${String(++ids).padStart(8, "0")}`
  const house = await openHouse({ chance, faults, folder, now: clock, uuid, trace })
  const devices: Array<Device> = []
  const world: World = {
    seed, chance, faults, house, devices, trace, duties: dutiesOf(seed), pass: (millis) => { now += millis }, grants: "all", restores: chance.happens(0.12)
  }
  try {
    const snapshot_beyond = chance.happens(0.08) ? 0 : Number.POSITIVE_INFINITY
    for (let id = 1; id <= replicas; id++) {
      const device = await openDevice({ chance, faults, folder, id, house, uuid, now: clock, trace, grants: () => world.grants, snapshot_beyond })
      devices.push(device)
      await device.restart()
    }
    Object.assign(faults, faultsOf(chance))
    trace(`faults ${JSON.stringify(faults)}`)
    for (let step = 1; step <= steps; step++) {
      trace(`step ${step}`)
      await takeStep(world)
      await house.idle()
    }
    Object.assign(faults, noFaults)
    trace("peace")
    await settle(world)
    return { ...await check(house, devices, seed % 8 === 0), replicas, steps }
  } catch (error) {
    throw new Error(`seed ${seed} (${replicas} replicas, ${steps} steps): ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    for (const device of devices) await device.close().catch(() => undefined)
    await house.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const takeStep = async (world: World): Promise<void> => {
  const { chance, house, trace, faults } = world
  world.pass(chance.below(900_000))
  const device = chance.pick(world.devices)
  const roll = chance.below(1_000)
  if (roll < 90) {
    // Somebody works on the server directly.
    const request = await nextRequest(chance, house.look, world.duties)
    try {
      const { status } = await house.ask(request)
      return trace(`at the server: ${request.method} ${request.path} ${JSON.stringify(request.body)}: ${status}`)
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      return
    }
  }
  if (roll < 130) {
    device.setOnline(!device.online())
    return trace(`device ${device.id} is ${device.online() ? "back on the network" : "cut off from the network"}`)
  }
  if (roll < 160) return surviving(world, device, async () => { trace(`device ${device.id} starts again`); await device.restart() })
  if (roll < 175) return surviving(world, device, async () => { trace(`device ${device.id} loses its power`); await device.restart("power cut") })
  if (roll < 185) return surviving(world, device, async () => {
    trace(`device ${device.id} is brought forward to another release`)
    await device.restart("another release")
    if (device.isOld()) await device.setOld(false)
  })
  if (roll < 192) {
    trace(`device ${device.id} is of a release too old to send from`)
    return device.setOld(true).catch(unreachable)
  }
  if (roll < 205) {
    const how = chance.pick(["stopped", "power cut", "another release"] as const)
    trace(`the server starts again: ${how}`)
    return house.restart(how)
  }
  if (roll < 220) {
    world.grants = world.grants === "all" ? chance.pick(fewer) : "all"
    return trace(`the other person may see ${world.grants}`)
  }
  if (roll < 245) {
    if (!world.restores) return
    if (house.restored() > 0 || chance.happens(0.5)) { trace("the server is backed up"); return house.backUp() }
    if (await house.putBack()) trace("the last backup is put in place")
    return
  }
  if (chance.happens(faults.cut_off)) device.light(1 + chance.below(120))
  await surviving(world, device, async () => {
    if (roll < 400) { trace(`device ${device.id} syncs`); await device.sync() }
    else if (roll < 460) { trace(`device ${device.id} settles a conflict`); await device.resolve() }
    else {
      const request = await nextRequest(chance, device.look, world.duties)
      const { status, command } = await device.ask(request)
      trace(`device ${device.id}: ${request.method} ${request.path} ${JSON.stringify(request.body)}: ${status}${command === undefined ? "" : `, command ${command.n}`}`)
    }
  })
  device.light(undefined)
}

const unreachable = (error: unknown): void => { if (!(error instanceof Unreachable)) throw error }
/** A lost network ends the step; a crash ends the process, and another one opens the files. */
const surviving = async ({ house, trace }: World, device: Device, step: () => Promise<void>): Promise<void> => {
  try { await step() } catch (error) {
    if (isCrash(error) && !(error instanceof Unreachable)) {
      trace(`device ${device.id} crashes: ${error instanceof Error ? error.message : ""}`)
      await house.idle()
      await device.restart()
    } else unreachable(error)
  }
}

const settle = async (world: World): Promise<void> => {
  const { chance, devices } = world
  // Half of the worlds in which rights were taken away end with them back.
  if (chance.happens(0.5)) world.grants = "all"
  for (const device of devices) {
    device.setOnline(true)
    if (device.isOld()) await device.setOld(false)
    if (chance.happens(0.4)) await device.restart()
  }
  // Twice: the second round brings each device what the others sent in the first; what a backup forgot takes one more.
  for (let round = 0; round < (world.house.restored() > 0 ? 3 : 2); round++) for (const device of devices) await device.sync()
}
