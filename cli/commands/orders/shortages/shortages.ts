/** `shortages`: short lines, overbooked days, and waiting lines. */
import type { Command } from "commander"
import { dateAfter } from "../../../../core/values/period.ts"
import { unpagedMeta } from "../../../../core/kernel/endpoints/resource.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import { totalOf } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { resolveStore } from "../../../context/resolve-id.ts"
import { allRows } from "../../../context/pages.ts"
import { printAnswer } from "../../../context/print.ts"
import { textFlag, withAction } from "../../../context/program.ts"
import { parseDay } from "../../../base/parse-time.ts"
import { tellOrdersToReplace, withoutOut } from "../shared/to-replace.ts"

const days_ahead = 30

/** Explains an empty `--days` list if only drafts or provisional quotations are short: those claim no stock. */
const tellUnclaimed = async (context: CommandContext, span: Query): Promise<void> => {
  const count = totalOf(await context.read("/api/v1/shortages", [...span, ["per_page", "1"]]))
  if (count === 0) return
  const [lines, are, claim, they_are, them] =
    count === 1
      ? ["line of a draft or a provisional quotation", "is", "claims", "it is", "it"]
      : ["lines of drafts or provisional quotations", "are", "claim", "they are", "them"]
  context.note(
    `${count} ${lines} ${are} short then, and ${claim} nothing until ${they_are} reserved or ordered: ` +
      `shortages without --days lists ${them}.`
  )
}

export const declare = (program: Command): void => {
  const command = program
    .command("shortages")
    .description("List short lines of orders, quotations and drafts, with dates and quantities")
    .option("--from <date>", "first day (default: today)")
    .option("--to <date>", `last day (default: ${days_ahead} days on)`)
    .option("--store <store>", "id or name (default: every store)")
    .option("--days", "show each store's total shortages by day instead")
  withAction(command, async (context, _args, flags) => {
    const { id, zone } = await resolveStore(context, textFlag(flags, "store"))
    const from = parseDay(textFlag(flags, "from") ?? "today", "--from", zone)
    const to =
      textFlag(flags, "to") === undefined ? dateAfter(from, days_ahead) : parseDay(String(flags.to), "--to", zone)
    const store = flags.store === undefined ? [] : [["store_id", String(id)] as const]
    const span = [["from", from], ["to", to], ...store] as const
    if (flags.days === true) {
      const short_days = await allRows(context, "/api/v1/availability/shortages", span)
      await printAnswer(context, { status: 200, body: { short_days, meta: unpagedMeta(short_days.length) } })
      return short_days.length > 0 ? undefined : tellUnclaimed(context, span)
    }
    const rows = await allRows(context, "/api/v1/shortages", span)
    const shortages = context.options.json === true ? rows : withoutOut(context, rows)
    await printAnswer(context, { status: 200, body: { shortages, meta: unpagedMeta(shortages.length) } })
    tellOrdersToReplace(context, rows)
    const query: Query = [
      ["q[status_eq]", "waiting"],
      ["per_page", "1"]
    ]
    const waiting = totalOf(await context.read("/api/v1/shortage_waits", query))
    if (waiting > 0)
      context.note(`${waiting} ${waiting === 1 ? "line waits" : "lines wait"}; shortages waiting lists them.`)
  })
  const waiting = command
    .command("waiting")
    .description("List an order's waiting lines with their queue positions, or all waiting lines")
    .argument("[order]", "id or number")
  withAction(waiting, async (context, [order]) => (await import("./waiting.ts")).showWaiting(context, order))
  const wait = command
    .command("wait")
    .description("Put a short line on the waiting list, or all of an order")
    .argument("<order>", "id or number")
    .argument("[line]", "id or name of the line")
    .option("--note <text>", "note to show when goods come free")
  withAction(wait, async (context, args, flags) => (await import("./waiting.ts")).waitFor(context, args, flags))
  const leave = command
    .command("leave")
    .description("Take a line off the waiting list, or all of an order")
    .argument("<order>", "id or number")
    .argument("[line]", "id or name of the line")
  withAction(leave, async (context, args) => (await import("./waiting.ts")).leaveList(context, args))
}
