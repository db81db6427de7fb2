/** `devices list`. */
import { unpagedMeta } from "../../../core/kernel/resource.ts"
import type { CommandContext } from "../../context.ts"
import { column, tableText } from "../../output/table.ts"
import { allDevices, ownDeviceId } from "./server-devices.ts"

export const listDevices = async (context: CommandContext): Promise<void> => {
  const found = await allDevices(context)
  const here = await ownDeviceId(context)
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
    ? found.map((one) => ({
        ...one,
        name: one["id"] === here ? `${String(one["name"])} (this one)` : (one["name"] ?? null)
      }))
    : found
  context.print(tableText(columns, marked, context.terminal))
}
