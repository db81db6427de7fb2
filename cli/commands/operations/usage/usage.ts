/** `usage`: calls of the API, by whom and for what, and their weight. Only the server knows it. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

/** Which calls: the same for the table and for the file. */
const withWindow = (command: Command): Command =>
  command
    .option("--window <window>", "24h, 7d, 30d or custom (default: 7d; custom where --from or --to is given)")
    .option("--from <date>", "first day, UTC")
    .option("--to <date>", "last day, UTC (default: today)")
    .option("--channel <channel>", "api, webhook_sent or webhook_received (default: all)")
    .option("--by <dimension>", "token, endpoint, resource, day or status (default: endpoint)")
    .option("--token <token>", "what this token asked: its id or name")

export const declare = (program: Command): void => {
  const usage = withWindow(program.command("usage").description("What the API was asked, by whom and for what"))
  withAction(usage, async (context, _args, flags) => (await import("./show.ts")).showUsage(context, flags))
  withAction(
    withWindow(usage.command("export").description("The same as a CSV file, made by a job of the server")).option(
      "-o, --output <file>",
      "where it goes (default: its own name, here); - for standard output"
    ),
    async (context, _args, flags) => (await import("./export.ts")).exportUsage(context, flags)
  )
  withAction(
    usage
      .command("logs")
      .description("Single calls, the newest first")
      .option("--route <name>", "of this endpoint: members.list")
      .option("--status <code>", "that were answered so: 422")
      .option("--token <token>", "what this token asked: its id or name")
      .option("--channel <channel>", "api, webhook_sent or webhook_received")
      .option("--from <time>", "since this day or time, UTC")
      .option("--to <time>", "until this time, or the end of this day, UTC")
      .addOption(repeatable("-q, --q <name=value>", "another filter; may be given again"))
      .option("--sort <field>", "created_at (newest first), -created_at, status_code or route_name")
      .option("--page <number>")
      .option("--per-page <number>", "rows of a page, at most 100")
      .option("--all", "all pages"),
    async (context, _args, flags) => (await import("./show.ts")).showLogs(context, flags)
  )
}
