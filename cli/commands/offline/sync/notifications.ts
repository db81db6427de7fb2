/** Prints notifications during `sync --watch` and `inbox --watch`; their faults never end the sync. */
import type { WatchEvent } from "../../../../sync/device/exchange/watch.ts"
import type { FollowEnd, Notification } from "../../../../sync/notification-stream.ts"
import type { CommandContext } from "../../../context/context.ts"
import { oneLine, secondText, styled } from "../../../output/text.ts"

/** Whether to print a notification: own actions and those read elsewhere are only in the inbox. */
export const isTold = ({ is_own, read_at }: Notification): boolean => !is_own && read_at === null

/** Prints a notification as a line with the terminal's bell; with --json as an event. */
export const tellNotification = (context: CommandContext, { body, shown, title }: Notification): void => {
  const at = new Date().toISOString()
  if (context.options.json === true) return context.printJsonLine({ at, event: "notification", notification: shown })
  context.ring()
  const text = body === null ? title : `${title}: ${body}`
  const { colour, is_tty, zoneOf } = context.terminal
  context.print(`${is_tty ? styled(colour, "dim", secondText(at, zoneOf?.({}))) : at} ${oneLine(text)}\n`)
}

/**
 * Warning if the stream of notifications ended: a token without permission is reported, a server without the stream is
 * not.
 */
const warningOf = (end: FollowEnd): string | undefined =>
  end.why === "refused" && end.status === 403
    ? `Notifications are not shown here: ${end.message || "the server refuses it to this token."}`
    : undefined

/** Prints notifications until stopped, refused by the server (with a warning on 403), or if it has no stream. */
export const tellNotifications = async (
  context: CommandContext,
  { token, url }: { readonly url: string; readonly token: string },
  stop: AbortSignal,
  tell: (event: WatchEvent) => void
): Promise<void> => {
  const { followNotifications } = await import("../../../../sync/notification-stream.ts")
  const ended = await followNotifications({
    url: url.replace(/\/+$/, ""),
    token,
    stop,
    told: (notification) => {
      if (isTold(notification)) tellNotification(context, notification)
    }
  })
  const warning = warningOf(ended)
  if (warning !== undefined && !stop.aborted) tell({ event: "warning", message: warning })
}
