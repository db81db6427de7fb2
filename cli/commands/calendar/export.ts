/**
 * `calendar export`: the activities as iCalendar, without a signed link and, from the replica, without a network.
 * `calendar links`: the signed addresses a phone or a mail program subscribes to, which only the server can sign.
 */
import type { Command } from "commander"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { printAnswer } from "../../output/print.ts"
import { oneLine } from "../../output/text.ts"
import { withAction } from "../../program.ts"

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
      flags["output"] as string | undefined
    )
  })
  const links = calendar
    .command("links")
    .description("The addresses to subscribe to from a phone or a mail program; whoever has one reads the calendar")
  withAction(links, async (context) => {
    const { body } = await context.ask({ method: "GET", path: "/api/v1/calendar_feeds", query: [] })
    if (context.options.json === true && body !== undefined) return context.printJson(body)
    const feeds =
      isJsonObject(body) && Array.isArray(body["calendar_feeds"]) ? body["calendar_feeds"].filter(isJsonObject) : []
    for (const { name, url } of feeds) context.print(`${oneLine(String(name))}\n  ${oneLine(String(url))}\n`)
  })
}
