/**
 * `calendar export`: activities as iCalendar, without a signed link and, from the replica, without a network.
 * `calendar links`: the signed addresses a phone or a mail program subscribes to, which only the server can sign.
 */
import type { Command } from "commander"
import { objectBody, rowsOr } from "../../answers.ts"
import { printAnswer } from "../../output/print.ts"
import { oneLine } from "../../output/text.ts"
import { textFlag, withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const calendar = program.command("calendar").description("The calendar of activities")
  const out = calendar
    .command("export")
    .description("Every activity from a year ago on, as an iCalendar file")
    .option("--user <id>", "only what this user owns")
    .option("-o, --output <file>", "write there instead of standard output")
  withAction(out, async (context, _args, flags) => {
    const user = flags["user"] === undefined ? [] : [["user_id", String(flags["user"])] as const]
    await printAnswer(
      context,
      await context.ask({ method: "GET", path: "/api/v1/calendar_feeds/export", query: user }),
      textFlag(flags, "output")
    )
  })
  const links = calendar
    .command("links")
    .description("The addresses to subscribe to from a phone or a mail program; whoever has one reads the calendar")
  withAction(links, async (context) => {
    const { body } = await context.ask({ method: "GET", path: "/api/v1/calendar_feeds", query: [] })
    if (context.options.json === true && body !== undefined) return context.printJson(body)
    for (const { name, url } of rowsOr(objectBody(body)["calendar_feeds"]))
      context.print(`${oneLine(String(name))}\n  ${oneLine(String(url))}\n`)
  })
}
