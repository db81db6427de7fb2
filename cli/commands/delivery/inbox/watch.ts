/** `inbox --watch`: shows new notifications until stopped. */
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { isTold, tellNotification } from "../../offline/sync/notifications.ts"
import { stopOnSignals } from "../../../base/stop-signals.ts"

export const watchInbox = async (context: CommandContext, type: string | undefined): Promise<number> => {
  const { token, url } = await context.server()
  const { followNotifications } = await import("../../../../sync/notification-stream.ts")
  const { code, stop } = stopOnSignals()
  const ended = await followNotifications({
    url,
    token,
    stop: stop.signal,
    told: (notification) => {
      const is_wanted = type === undefined || notification.shown.notification_type === type
      if (is_wanted && isTold(notification)) tellNotification(context, notification)
    }
  })
  if (ended.why === "stopped") return code()
  if (ended.why === "unknown")
    throw new CliError(exit_codes.not_found, "This server does not tell what happens as it comes.", {
      way_out: "Update it; flightcase inbox lists what it told."
    })
  throw new CliError(
    exit_codes.not_allowed,
    ended.message === "" ? "The server refuses it to this token." : ended.message
  )
}
