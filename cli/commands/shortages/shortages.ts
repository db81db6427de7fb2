/** `shortages`: days on which more is promised than there is, and who waits for goods to come free. */
import type { Command } from "commander"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { unpagedMeta } from "../../../core/kernel/resource.ts"
import { objectBody } from "../../answers.ts"
import { resolveStore } from "../../resolve-id.ts"
import { allRows } from "../../pages.ts"
import { printAnswer } from "../../output/print.ts"
import { withAction } from "../../program.ts"
import { parseDay } from "../../parse-time.ts"

const days_ahead = 30
const day_ms = 86_400_000

export const declare = (program: Command): void => {
  const shortages = program
    .command("shortages")
    .description("Where more is promised than there is, day by day")
    .option("--from <date>", "first day (default: today)")
    .option("--to <date>", `last day (default: ${days_ahead} days on)`)
    .option("--store <store>", "id or name (default: every store)")
  withAction(shortages, async (context, _args, flags) => {
    const from =
      typeof flags["from"] === "string" ? parseDay(flags["from"], "--from") : new Date().toISOString().slice(0, 10)
    const to =
      typeof flags["to"] === "string"
        ? parseDay(flags["to"], "--to")
        : new Date(Date.parse(`${from}T00:00:00Z`) + days_ahead * day_ms).toISOString().slice(0, 10)
    const store =
      flags["store"] === undefined
        ? []
        : [["store_id", String((await resolveStore(context, String(flags["store"]))).id)] as const]
    const rows = await allRows(context, "/api/v1/availability/shortages", [["from", from], ["to", to], ...store])
    await printAnswer(context, { status: 200, body: { shortages: rows, meta: unpagedMeta(rows.length) } })
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
