/** `shortages`: days on which more is promised than there is. */
import type { Command } from "commander"
import { unpagedMeta } from "../../../core/kernel/resource.ts"
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
  })
}
