/** `inbox`: the user's notifications. */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const inbox = program
    .command("inbox")
    // read has an --all of its own.
    .enablePositionalOptions()
    .description("What you were told; without a network, as it was listed last")
    .option("--all", "what was read, too")
    .option("--type <type>", "of this type only, such as invoice.overdue")
    .option("--limit <n>", "at most so many, the newest (default: 20)")
    .option("--watch", "show what comes, until stopped; with --type of this type only")
  withAction(inbox, async (context, _args, flags) => (await import("./list.ts")).showInbox(context, flags))
  withAction(
    inbox
      .command("read")
      .description("Mark as read")
      .argument("[ids...]", "as the list shows them")
      .option("--all", "everything in the inbox"),
    async (context, ids, flags) => (await import("./read.ts")).markRead(context, ids, flags)
  )
  withAction(
    inbox.command("unread").description("Mark as unread again").argument("<ids...>", "as the list shows them"),
    async (context, ids) => (await import("./read.ts")).markUnread(context, ids)
  )
  withAction(
    inbox.command("show").description("One notification, whole").argument("<id>", "as the list shows it"),
    async (context, [id = ""]) => (await import("./read.ts")).showOne(context, id)
  )
}
