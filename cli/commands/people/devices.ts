/** `devices`: lists, renames and revokes machines with replicas, on the server. */
import { unpagedMeta, type JsonObject } from "../../../core/kernel/index.ts"
import { type RowOfList, rowsIn, totalOf } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { profileExists, profileFolder } from "../../base/server-choice.ts"
import { columnsNamed, tableText } from "../../output/table.ts"
import { type CommandAction, verb, withAction } from "../../context/program.ts"
import type { Command } from "commander"

// Reads devices from the server.

/** Sends a request about devices to the server; throws error responses. Exit 7 with --offline. */
const askForDevices = async (
  context: CommandContext,
  method: string,
  path: string,
  body?: JsonObject,
  query: ReadonlyArray<readonly [string, string]> = []
) => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Devices are the server's to know, and --offline forbids to ask it.")
  return context.askServer({ method, path, query, body })
}

type Device = RowOfList<"replicas">
/** All devices the user may see, from all pages. */
const allDevices = async (context: CommandContext): Promise<ReadonlyArray<Device>> => {
  const found: Array<Device> = []
  for (let page = 1; ; page++) {
    const { body } = await askForDevices(context, "GET", "/api/v1/sync/replicas", undefined, [
      ["per_page", "100"],
      ["page", String(page)]
    ])
    const replicas = rowsIn(body, "replicas")
    found.push(...replicas)
    if (replicas.length === 0 || found.length >= totalOf(body)) return found
  }
}

/** The device with an id or name. Exit 2 if several match, 3 if none. */
const findDevice = async (context: CommandContext, given: string): Promise<Device> => {
  const found = await allDevices(context)
  const byId = found.find((one) => String(one.id) === given)
  const byName = found.filter((one) => one.name === given)
  // Replacement machines often get the old name: of several, the only active one is meant.
  const inUse = byName.filter((one) => one.revoked_at === null)
  const meant = byId ?? (inUse.length === 1 ? inUse[0] : byName.length === 1 ? byName[0] : undefined)
  if (meant !== undefined) return meant
  if (byName.length > 1)
    throw usageError(
      `${byName.length} devices are called ${given}.`,
      `Give an id: ${byName.map((one) => String(one.id)).join(", ")}.`
    )
  throw new CliError(exit_codes.not_found, `There is no device ${given}.`, {
    way_out: "flightcase devices lists them."
  })
}

/** Id of this profile's device; undefined before a login. */
const ownDeviceId = async (context: CommandContext): Promise<number | undefined> => {
  if (!profileExists(context.profile(), context.env)) return undefined
  const { readProfile } = await import("../../../sync/device/outbox/folder.ts")
  return readProfile(profileFolder(context.profile(), context.env)).replica_id
}

// `devices list`.

const listDevices = async (context: CommandContext): Promise<void> => {
  const found = await allDevices(context)
  const here = await ownDeviceId(context)
  if (context.options.json === true) return context.printJson({ replicas: [...found], meta: unpagedMeta(found.length) })
  const columns = columnsNamed(
    "id=ID, name=NAME, user_name=OWNER, seen_at=LAST SEEN, last_n=SENT, position=POSITION, revoked_at=REVOKED"
  )
  const marked = context.terminal.is_tty
    ? found.map((one) => ({ ...one, name: one.id === here ? `${one.name} (this one)` : one.name }))
    : found
  context.print(tableText(columns, marked, context.terminal))
}

// `devices rename`.

const renameDevice: CommandAction = async (context, [given = "", name = ""]) => {
  const device = await findDevice(context, given)
  const { body } = await askForDevices(context, "PUT", `/api/v1/sync/replicas/${device.id}`, { name })
  if (context.options.json === true) context.printJson(body ?? null)
  else context.note(`Device ${device.id} is called ${name} now.`)
}

// `devices revoke`.

const revokeDevice: CommandAction = async (context, [given = ""], flags) => {
  const device = await findDevice(context, given)
  const called = `${device.name} (${device.id})`
  // A damaged profile names no device.
  const own = device.id === (await ownDeviceId(context).catch(() => undefined)) ? ", this very device" : ""
  await context.agree(`Revoke ${called}${own}: sure?`, flags)
  await askForDevices(context, "DELETE", `/api/v1/sync/replicas/${device.id}`)
  if (context.options.json === true) context.printJson({ replica: { ...device, revoked: true } })
  else context.note(`Revoked ${called}. It loses its data at its next call; what it has not sent stays with it.`)
}

export const declare = (program: Command): void => {
  const devices = program
    .command("devices")
    .description("Devices with replicas: yours, or everyone's if you manage users")
  withAction(
    devices.command("list", { isDefault: true }).description("List devices: name, owner, last seen, sync position"),
    listDevices
  )
  verb(devices, "rename", {
    about: "Rename a device",
    "<device>": "device, by id or name",
    "<name>": "new name of the device",
    run: renameDevice
  })
  verb(devices, "revoke", {
    about: "Revoke a device: its token stops working and its data is deleted at its next call, except unsent commands",
    "<device>": "device, by id or name",
    "-y, --yes": "skip the confirmation",
    run: revokeDevice
  })
}
