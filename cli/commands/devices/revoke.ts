/** `devices revoke`. */
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import type { Flags } from "../../program.ts"
import { askForDevices, findDevice, ownDeviceId } from "./server-devices.ts"

export const revokeDevice = async (
  context: CommandContext,
  [given = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const device = await findDevice(context, given)
  const called = `${String(device["name"])} (${String(device["id"])})`
  if (flags["yes"] !== true && context.interactive) {
    const { confirm } = await import("../../prompt.ts")
    const own = device["id"] === (await ownDeviceId(context)) ? ", this very device" : ""
    if (!(await confirm(`Revoke ${called}${own}: sure?`))) throw usageError("Nothing was changed.")
  }
  await askForDevices(context, "DELETE", `/api/v1/sync/replicas/${String(device["id"])}`)
  if (context.options.json === true) context.printJson({ replica: { ...device, revoked: true } })
  else context.note(`Revoked ${called}. It loses its data at its next call; what it has not sent stays with it.`)
}
