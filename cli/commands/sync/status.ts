/** `sync status`. */
import type { CommandContext } from "../../context.ts"
import { printRecord } from "../../output/print.ts"
import { column, tableText } from "../../output/table.ts"

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
  printRecord(context, status)
  if (pending.length > 0 && context.terminal.is_tty) {
    context.print(
      `\n${tableText(
        [
          column("n", "NO"),
          column("name", "COMMAND"),
          column("issued_at", "ISSUED"),
          column("stalled", "NO LONGER HOLDS BECAUSE")
        ],
        pending.map((one) => ({
          n: one.n,
          name: one.name,
          issued_at: one.issued_at,
          stalled: one.stalled?.message ?? null
        })),
        context.terminal
      )}`
    )
  }
}
