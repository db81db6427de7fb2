/**
 * `today`: prints dispatches, returns, overdue and short orders, preparations, unpaid invoices and suppliers'
 * deliveries.
 */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const today = program
    .command("today")
    .description("Show the day's work: out, back, late, short, to prepare, unpaid, due to and from suppliers")
    .option("--store <store>", "id or name (default: every store)")
    .option("--date <day>", "day to show, on the store's clock (default: today)")
    .option("--watch", "refresh on every change, until stopped")
  withAction(today, async (context, _args, flags) =>
    flags.watch === true
      ? (await import("./watch.ts")).watchToday(context, flags)
      : (await import("./show.ts")).showToday(context, flags)
  )
}
