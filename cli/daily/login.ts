/** `login`: makes this machine a device of the server, with a replica of its own. */
import { renameSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import type { Command } from "commander"
import type { Profile } from "../../sync/replica/device.ts"
import { Exit, exits, missingFlag } from "../exits.ts"
import { type Desk, privately } from "../desk.ts"
import { standardInput } from "../input.ts"
import { homeFolder, privateFolder, profileExists, profileFolder, profileName } from "../home.ts"
import { progressOf } from "../output/progress.ts"
import { acting } from "../program.ts"
import { serverUrl } from "../remote.ts"

export const declare = (program: Command): void => {
  const login = program.command("login").description("Make this machine's replica of a server, and fill it")
    .argument("<url>", "the server's address")
    .option("--token <token>", "a token of yours; - reads it from standard input")
    .option("--name <device>", "what this machine is called (default: its host name)")
  acting(login, async (desk, [url = ""], flags) => {
    const address = serverUrl(url)
    // FLIGHTCASE_TOKEN keeps the secret out of the list of processes, as standard input does.
    const given = flags["token"] ?? desk.env["FLIGHTCASE_TOKEN"]
    const token = given === "-" ? (await standardInput()).trim() : given
    if (typeof token !== "string" || token === "") throw missingFlag("--token", "the token")
    if (desk.offline) throw new Exit(exits.network, "Logging in needs the server, and --offline forbids to ask it.")
    const name = profileName(desk.options.profile, desk.env)
    const profiles = privateFolder(homeFolder(desk.env), "profiles")
    const folder = profileFolder(name, desk.env)
    const before = profileExists(name, desk.env) ? await settled(desk) : undefined
    // Logging in again begins a new device beside the old one, which stays whole until the new one is filled.
    const filling = before === undefined ? folder : join(profiles, `.${name}.new`)
    if (before !== undefined) rmSync(filling, { recursive: true, force: true })
    const { enrolDevice, openDevice } = await import("../../sync/replica/device.ts")
    const progress = progressOf(desk)
    const called = typeof flags["name"] === "string" ? flags["name"] : before?.device ?? hostname()
    let device = await privately(() => enrolDevice(filling, { name, url: address, token, device: called },
      ({ phase, done, total }) => progress.at(phase === "lease" ? "Taking ids" : "Fetching", done, total)))
    if (before !== undefined) {
      await device.close()
      const old = join(profiles, `.${name}.old`)
      rmSync(old, { recursive: true, force: true })
      renameSync(folder, old)
      renameSync(filling, folder)
      rmSync(old, { recursive: true, force: true })
      device = await privately(() => openDevice(folder))
      // The server forgets the device that is no more; when it cannot be told, nothing is lost.
      if (before.url === address) await device.remote.call("DELETE", `/api/v1/sync/replicas/${before.replica_id}`).catch(() => undefined)
    }
    try {
      const status = await device.status()
      progress.end()
      const { replica_id, user_id, url: server } = device.profile
      if (desk.options.json === true) desk.printJson({ profile: { name, server, device: called, replica_id, user_id, position: status.position } })
      else desk.note(`Logged in to ${server} as ${called} (replica ${replica_id}); everything up to event ${status.position} is here.`)
    } finally { await device.close() }
  })
}

/** The device there is, when nothing of it would be lost: everything sent, no conflict open. */
const settled = async (desk: Desk): Promise<Profile> => {
  const device = await desk.device()
  const { pending, conflicts } = await device.status()
  if (pending + conflicts === 0) return device.profile
  throw new Exit(exits.conflict, `This profile still holds ${pending} unsent commands and ${conflicts} conflicts.`, {
    way_out: "flightcase sync sends them, flightcase sync conflicts settles them; or log in under another --profile."
  })
}
