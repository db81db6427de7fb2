/** `usage`: API calls and their weight by token, endpoint, resource, day or status; always from the server. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

/** Adds the flags that select calls, for tables and files. */
const withWindow = (command: Command): Command =>
  command
    .option("--window <window>", "24h, 7d, 30d or custom (default: 7d; custom where --from or --to is given)")
    .option("--from <date>", "first day, UTC")
    .option("--to <date>", "last day, UTC (default: today)")
    .option("--channel <channel>", "api, webhook_sent or webhook_received (default: all)")
    .option("--by <dimension>", "token, endpoint, resource, day or status (default: endpoint)")
    .option("--token <token>", "only this token, by id or name")

export const declare = (program: Command): void => {
  const usage = withWindow(
    program.command("usage").description("API usage by token, endpoint, resource, day or status")
  )
  withAction(usage, async (context, _args, flags) => (await import("./show.ts")).showUsage(context, flags))
  withAction(
    withWindow(usage.command("export").description("Export usage as a CSV file")).option(
      "-o, --output <file>",
      "output file (default: its own name, in this folder); - for standard output"
    ),
    async (context, _args, flags) => (await import("./export.ts")).exportUsage(context, flags)
  )
  withAction(
    usage
      .command("logs")
      .description("List single calls, newest first")
      .option("--route <name>", "only this endpoint, such as members.list")
      .option("--status <code>", "only this response status, such as 422")
      .option("--token <token>", "only this token, by id or name")
      .option("--channel <channel>", "api, webhook_sent or webhook_received")
      .option("--from <time>", "since this day or time, UTC")
      .option("--to <time>", "until this time, or the end of this day, UTC")
      .addOption(repeatable("-q, --q <name=value>", "additional filter; repeatable"))
      .option("--sort <field>", "created_at (newest first), -created_at, status_code or route_name")
      .option("--page <number>")
      .option("--per-page <number>", "rows per page, at most 100")
      .option("--all", "fetch all pages"),
    async (context, _args, flags) => (await import("./show.ts")).showLogs(context, flags)
  )
}
