/** `today`: dispatches, returns, overdue and short orders, preparations, unpaid invoices and suppliers' deliveries. */
import type { Command } from "commander"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const today = program
    .command("today")
    .description("What is to be done today: out, back, late, short, to prepare, unpaid, due at suppliers")
    .option("--store <store>", "id or name (default: every store)")
    .option("--date <day>", "another day, on the store's clock")
    .option("--watch", "show it again whenever something changes, until stopped")
  withAction(today, async (context, _args, flags) =>
    flags.watch === true
      ? (await import("./watch.ts")).watchToday(context, flags)
      : (await import("./show.ts")).showToday(context, flags)
  )
}
