/** `shortages`: lines that are short, days on which more is promised than there is, and who waits for goods. */
import type { Command } from "commander"
import { dateAfter } from "../../../../core/values/period.ts"
import { isJsonObject } from "../../../../core/kernel/fields/json.ts"
import { unpagedMeta } from "../../../../core/kernel/endpoints/resource.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import { objectBody } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { resolveStore } from "../../../context/resolve-id.ts"
import { allRows } from "../../../context/pages.ts"
import { printAnswer } from "../../../context/print.ts"
import { textFlag, withAction } from "../../../context/program.ts"
import { parseDay } from "../../../base/parse-time.ts"
import { tellOrdersToReplace, withoutOut } from "../shared/to-replace.ts"

const days_ahead = 30

/** Days count what is promised: why there are none where drafts and provisional quotations lack something. */
const tellUnclaimed = async (context: CommandContext, span: Query): Promise<void> => {
  const { meta } = objectBody(await context.read("/api/v1/shortages", [...span, ["per_page", "1"]]))
  const count = isJsonObject(meta) ? Number(meta["total"]) : 0
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
  const shortages = program
    .command("shortages")
    .description("Every line that is short, of orders, quotations and drafts: whose, when, and by how much")
    .option("--from <date>", "first day (default: today)")
    .option("--to <date>", `last day (default: ${days_ahead} days on)`)
    .option("--store <store>", "id or name (default: every store)")
    .option("--days", "day by day what stores lack for all that is promised, whoever asked for it")
  withAction(shortages, async (context, _args, flags) => {
    const { id, zone } = await resolveStore(context, textFlag(flags, "store"))
    const from = parseDay(textFlag(flags, "from") ?? "today", "--from", zone)
    const to =
      textFlag(flags, "to") === undefined ? dateAfter(from, days_ahead) : parseDay(String(flags["to"]), "--to", zone)
    const store = flags["store"] === undefined ? [] : [["store_id", String(id)] as const]
    const [path, key] =
      flags["days"] === true ? ["/api/v1/availability/shortages", "short_days"] : ["/api/v1/shortages", "shortages"]
    const span = [["from", from], ["to", to], ...store] as const
    const rows = await allRows(context, path, span)
    const shown = context.options.json === true ? rows : withoutOut(context, rows)
    await printAnswer(context, { status: 200, body: { [key]: shown, meta: unpagedMeta(shown.length) } })
    if (flags["days"] === true) return rows.length > 0 ? undefined : tellUnclaimed(context, span)
    tellOrdersToReplace(context, rows)
    const { meta } = objectBody(
      await context.read("/api/v1/shortage_waits", [
        ["q[status_eq]", "waiting"],
        ["per_page", "1"]
      ])
    )
    const waiting = isJsonObject(meta) ? Number(meta["total"]) : 0
    if (waiting > 0)
      context.note(`${waiting} ${waiting === 1 ? "line waits" : "lines wait"}; shortages waiting lists them.`)
  })
  const waiting = shortages
    .command("waiting")
    .description("Lines that wait for goods to come free: of an order with their places in the queue, else of all")
    .argument("[order]", "id or number")
  withAction(waiting, async (context, [order]) => (await import("./waiting.ts")).showWaiting(context, order))
  const wait = shortages
    .command("wait")
    .description("Put a line that is short on the waiting list, or every one of an order")
    .argument("<order>", "id or number")
    .argument("[line]", "id or name of the line")
    .option("--note <text>", "what to remember when goods come free")
  withAction(wait, async (context, args, flags) => (await import("./waiting.ts")).waitFor(context, args, flags))
  const leave = shortages
    .command("leave")
    .description("Take a line off the waiting list, or every one of an order")
    .argument("<order>", "id or number")
    .argument("[line]", "id or name of the line")
  withAction(leave, async (context, args) => (await import("./waiting.ts")).leaveList(context, args))
}
