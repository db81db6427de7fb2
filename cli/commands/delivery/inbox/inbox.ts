/** `inbox`: the user's notifications. */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const inbox = program
    .command("inbox")
    // `inbox read` has its own --all.
    .enablePositionalOptions()
    .description("Your notifications; offline, as last listed")
    .option("--all", "include read notifications")
    .option("--type <type>", "only this type, such as invoice.overdue")
    .option("--limit <n>", "number to show, newest first (default: 20)")
    .option("--watch", "print notifications as they arrive, until stopped")
  withAction(inbox, async (context, _args, flags) => (await import("./list.ts")).showInbox(context, flags))
  withAction(
    inbox
      .command("read")
      .description("Mark as read")
      .argument("[ids...]", "ids from the list")
      .option("--all", "all notifications"),
    async (context, ids, flags) => (await import("./read.ts")).markRead(context, ids, flags)
  )
  withAction(
    inbox.command("unread").description("Mark as unread again").argument("<ids...>", "ids from the list"),
    async (context, ids, flags) => (await import("./read.ts")).markUnread(context, ids, flags)
  )
  withAction(
    inbox.command("show").description("Show a notification in full").argument("<id>", "id from the list"),
    async (context, [id = ""]) => (await import("./read.ts")).showOne(context, id)
  )
}
