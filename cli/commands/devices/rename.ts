/** `devices rename`. */
import type { CommandContext } from "../../context.ts"
import { askForDevices, findDevice } from "./server-devices.ts"

export const renameDevice = async (
  context: CommandContext,
  [given = "", name = ""]: ReadonlyArray<string>
): Promise<void> => {
  const device = await findDevice(context, given)
  const { body } = await askForDevices(context, "PUT", `/api/v1/sync/replicas/${String(device["id"])}`, { name })
  if (context.options.json === true) context.printJson(body ?? null)
  else context.note(`Device ${String(device["id"])} is called ${name} now.`)
}
