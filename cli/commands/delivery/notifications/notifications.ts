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
  const notifications = program.command("notifications").description("Notification types and their channels")
  withAction(
    notifications
      .command("preferences")
      .description("Show your notification preferences by type and channel")
      .option("--member <member>", "another member, by id or name"),
    async (context, _args, flags) => (await import("./tables.ts")).showPreferences(context, flags)
  )
  withAction(
    notifications.command("settings").description("Show the company's notification defaults"),
    async (context) => (await import("./tables.ts")).showSettings(context)
  )
  const set = notifications
    .command("set")
    .description("Change your notification preferences; other types and channels stay")
    .addArgument(
      withValues(
        new Argument("<types...>", "such as invoice.overdue; flightcase notifications preferences lists them"),
        { words: notificationTypes.map(({ key }) => key) }
      )
    )
  for (const [channel, words] of channels)
    set.option(`--${channel}`, `notify ${words}`).option(`--no-${channel}`, `do not notify ${words}`)
  withAction(
    set
      .option("--muted", "mute the types, but keep their channels")
      .option("--no-muted", "unmute the types")
      .option("--default", "reset channels to the company's defaults, with --house to the type's")
      .option("--member <member>", "change another member's preferences, by id or name")
      .option("--house", "change the company's defaults")
      .option("--enabled", "with --house: enable the types")
      .option("--no-enabled", "with --house: disable the types for everyone"),
    async (context, types, flags) => (await import("./set.ts")).setNotifications(context, types, flags)
  )
}
