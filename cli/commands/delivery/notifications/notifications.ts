/** `notifications`: types of notifications and their channels, as tables. The verbs of the API's noun are added. */
import { Argument, type Command } from "commander"
import { notificationTypes } from "../../../../core/office/notifications/types.ts"
import { withValues } from "../../../output/program.ts"
import { withAction } from "../../../context/program.ts"

const channels = [
  ["database", "in the inbox"],
  ["email", "by e-mail"],
  ["broadcast", "at once, where sync --watch runs"]
] as const

export const declare = (program: Command): void => {
  const notifications = program.command("notifications").description("What people are told of, and by which channels")
  withAction(
    notifications
      .command("preferences")
      .description("What you are told of, and by which channels")
      .option("--member <member>", "somebody else: id or name"),
    async (context, _args, flags) => (await import("./tables.ts")).showPreferences(context, flags)
  )
  withAction(
    notifications.command("settings").description("What the house tells those who say nothing themselves"),
    async (context) => (await import("./tables.ts")).showSettings(context)
  )
  const set = notifications
    .command("set")
    .description("Change what you are told of; what is not named stays as it is")
    .addArgument(
      withValues(
        new Argument(
          "<types...>",
          "invoice.overdue, activity.assigned …: flightcase notifications preferences lists them"
        ),
        { words: notificationTypes.map(({ key }) => key) }
      )
    )
  for (const [channel, words] of channels)
    set.option(`--${channel}`, `tell of it ${words}`).option(`--no-${channel}`, `not ${words}`)
  withAction(
    set
      .option("--muted", "tell nothing of it, and keep the channels")
      .option("--no-muted", "tell of it again")
      .option("--default", "drop the choice of channels: as the house does, or with --house as the type does")
      .option("--member <member>", "for somebody else: id or name")
      .option("--house", "for everybody who says nothing themselves")
      .option("--enabled", "with --house: tell people of it")
      .option("--no-enabled", "with --house: tell nobody of it"),
    async (context, types, flags) => (await import("./set.ts")).setNotifications(context, types, flags)
  )
}
