/** `sync status`. */
import type { CommandContext } from "../../context.ts"
import { blocksText } from "../../output/blocks.ts"
import { column } from "../../output/table.ts"

/** Prints what is pending and how fresh the replica is. */
export const showStatus = async (context: CommandContext): Promise<void> => {
  const device = await context.device()
  const status = { profile: device.profile.name, device: device.profile.device, ...(await device.status()) }
  const pending = await device.pending()
  if (context.options.json === true)
    return context.printJson({
      sync_status: status,
      pending: pending.map((one) => ({
        ...one,
        stalled: one.stalled === null ? null : { ...one.stalled, errors: one.stalled.errors ?? {} }
      }))
    })
  const columns = [
    column("n", "NO"),
    column("name", "COMMAND"),
    column("issued_at", "ISSUED"),
    column("stalled", "NO LONGER HOLDS BECAUSE")
  ]
  const rows = pending.map(({ issued_at, n, name, stalled }) => ({
    n,
    name,
    issued_at,
    stalled: stalled?.message ?? null
  }))
  context.print(blocksText([{ record: status }, { columns, rows }], context.terminal))
}
