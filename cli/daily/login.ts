/** `login`: makes this machine a device of the server, with a replica of its own. */
import { hostname } from "node:os"
import type { Command } from "commander"
import { Exit, exits, missingFlag } from "../exits.ts"
import { privately } from "../desk.ts"
import { standardInput } from "../input.ts"
import { homeFolder, privateFolder, profileFolder, profileName } from "../home.ts"
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
    privateFolder(homeFolder(desk.env), "profiles")
    const { enrolDevice } = await import("../../sync/replica/device.ts")
    const progress = progressOf(desk)
    const device = await privately(() => enrolDevice(profileFolder(name, desk.env),
      { name, url: address, token, device: typeof flags["name"] === "string" ? flags["name"] : hostname() },
      ({ phase, done, total }) => progress.at(phase === "lease" ? "Taking ids" : "Fetching", done, total)))
    try {
      const status = await device.status()
      progress.end()
      const { replica_id, device: called, user_id, url: server } = device.profile
      if (desk.options.json === true) desk.printJson({ profile: { name, server, device: called, replica_id, user_id, position: status.position } })
      else desk.note(`Logged in to ${server} as ${called} (replica ${replica_id}); everything up to event ${status.position} is here.`)
    } finally { await device.close() }
  })
}
