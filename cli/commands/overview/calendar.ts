/**
 * `calendar export`: activities and, by choice, orders as iCalendar, without a signed link and, from the replica,
 * without a network.
 * `calendar links`: the signed addresses a phone or a mail program subscribes to, which only the server can sign.
 */
import type { Command } from "commander"
import { rowsIn } from "../../base/answers.ts"
import { queryOf } from "../../context/pages.ts"
import { printAnswer } from "../../context/print.ts"
import { oneLine } from "../../output/text.ts"
import { textFlag, verb } from "../../context/program.ts"

const with_text = "kinds of entries, separated by commas: activities, orders, dispatch, returns (default: activities)"
export const declare = (program: Command): void => {
  const calendar = program.command("calendar").description("The calendar of activities and orders")
  verb(calendar, "export", {
    about: "Export activities, orders, dispatches or returns from a year ago on as iCalendar",
    "--user <id>": "only entries that this user owns",
    "--with <kinds>": with_text,
    "-o, --output <file>": "output file (default: standard output)",
    run: async (context, _args, flags) => {
      const query = queryOf({ user_id: textFlag(flags, "user"), with: textFlag(flags, "with") })
      const answer = await context.ask({ method: "GET", path: "/api/v1/calendar_feeds/export", query })
      await printAnswer(context, answer, textFlag(flags, "output"))
      if (flags.with === undefined && !String(answer.content?.text ?? "").includes("BEGIN:VEVENT"))
        context.note("There are no activities in it; --with orders,dispatch,returns puts orders in.")
    }
  })
  verb(calendar, "links", {
    about: "List feed links for phones and calendar apps; a link opens the calendar without a login",
    "--with <kinds>": with_text,
    run: async (context, _args, flags) => {
      const body = await context.read("/api/v1/calendar_feeds", queryOf({ with: textFlag(flags, "with") }))
      if (context.options.json === true) return context.printJson(body)
      for (const { name, url } of rowsIn(body, "calendar_feeds"))
        context.print(`${oneLine(String(name))}\n  ${oneLine(String(url))}\n`)
    }
  })
}
