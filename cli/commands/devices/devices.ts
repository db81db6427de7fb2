/** `devices`: the machines that hold replicas, as the server knows them. */
import type { Command } from "commander"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { unpagedMeta } from "../../../core/kernel/resource.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes, usageError } from "../../exit-codes.ts"
import { profileExists, profileFolder } from "../../profile-folder.ts"
import { column, tableText } from "../../output/table.ts"
import { withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const devices = program
    .command("devices")
    .description("The machines that hold replicas: yours, or everybody's if you manage users")
  withAction(
    devices.command("list", { isDefault: true }).description("Name, owner, when it was last seen, how far it has come"),
    list
  )
  withAction(
    devices
      .command("rename")
      .description("Call a device otherwise")
      .argument("<device>", "its id or name")
      .argument("<name>", "the new name"),
    rename
  )
  withAction(
    devices
      .command("revoke")
      .description(
        "Its token opens nothing from then on; it loses its data at its next call, but not what it has not sent"
      )
      .argument("<device>", "its id or name")
      .option("--yes", "do not ask"),
    revoke
  )
}

const list = async (context: CommandContext): Promise<void> => {
  const found = await all(context)
  const here = await thisDevice(context)
  if (context.options.json === true) return context.printJson({ replicas: [...found], meta: unpagedMeta(found.length) })
  const columns = [
    column("id", "ID"),
    column("name", "NAME"),
    column("user_name", "OWNER"),
    column("seen_at", "LAST SEEN"),
    column("last_n", "SENT"),
    column("position", "POSITION"),
    column("revoked_at", "REVOKED")
  ]
  const marked = context.terminal.is_tty
    ? found.map((one) => ({ ...one, name: one["id"] === here ? `${String(one["name"])} (this one)` : one["name"]! }))
    : found
  context.print(tableText(columns, marked, context.terminal))
}

const rename = async (context: CommandContext, [given = "", name = ""]: ReadonlyArray<string>): Promise<void> => {
  const device = await find(context, given)
  const { body } = await answered(context, "PUT", `/api/v1/sync/replicas/${device["id"] as number}`, { name })
  if (context.options.json === true) context.printJson(body ?? null)
  else context.note(`Device ${device["id"] as number} is called ${name} now.`)
}

const revoke = async (
  context: CommandContext,
  [given = ""]: ReadonlyArray<string>,
  flags: { readonly [name: string]: unknown }
): Promise<void> => {
  const device = await find(context, given)
  const called = `${String(device["name"])} (${device["id"] as number})`
  if (flags["yes"] !== true && context.interactive) {
    const { confirm } = await import("../../prompt.ts")
    if (
      !(await confirm(
        `Revoke ${called}${device["id"] === (await thisDevice(context)) ? ", this very device" : ""}: sure?`
      ))
    )
      throw usageError("Nothing was changed.")
  }
  await answered(context, "DELETE", `/api/v1/sync/replicas/${device["id"] as number}`)
  if (context.options.json === true) context.printJson({ replica: { ...device, revoked: true } })
  else context.note(`Revoked ${called}. It loses its data at its next call; what it has not sent stays with it.`)
}

const answered = async (
  context: CommandContext,
  method: string,
  path: string,
  body?: JsonObject,
  query: ReadonlyArray<readonly [string, string]> = []
) => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Devices are the server's to know, and --offline forbids to ask it.")
  const answer = await context.requestAtServer({ method, path, query, ...(body === undefined ? {} : { body }) })
  if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
  return answer
}

const all = async (context: CommandContext): Promise<ReadonlyArray<JsonObject>> => {
  const found: Array<JsonObject> = []
  for (let page = 1; ; page++) {
    const { body } = await answered(context, "GET", "/api/v1/sync/replicas", undefined, [
      ["per_page", "100"],
      ["page", String(page)]
    ])
    const { replicas, meta } = body as {
      readonly replicas: ReadonlyArray<JsonObject>
      readonly meta: { readonly total: number }
    }
    found.push(...replicas)
    if (replicas.length === 0 || found.length >= meta.total) return found
  }
}

const find = async (context: CommandContext, given: string): Promise<JsonObject> => {
  const found = await all(context)
  const byId = found.find((one) => String(one["id"]) === given)
  const byName = found.filter((one) => one["name"] === given)
  // Machines are replaced and called the same again: of several, those still in use are meant.
  const inUse = byName.filter((one) => one["revoked_at"] === null)
  const meant = byId ?? (inUse.length === 1 ? inUse[0] : byName.length === 1 ? byName[0] : undefined)
  if (meant !== undefined) return meant
  if (byName.length > 1)
    throw usageError(
      `${byName.length} devices are called ${given}.`,
      `Give an id: ${byName.map((one) => String(one["id"])).join(", ")}.`
    )
  throw new CliError(exit_codes.not_found, `There is no device ${given}.`, {
    way_out: "flightcase devices lists them."
  })
}

/** The id of the profile's own device, if somebody logged in here. */
const thisDevice = async (context: CommandContext): Promise<number | undefined> => {
  if (!profileExists(context.profile(), context.env)) return undefined
  const { readProfile } = await import("../../../sync/device/folder.ts")
  return readProfile(profileFolder(context.profile(), context.env)).replica_id
}
