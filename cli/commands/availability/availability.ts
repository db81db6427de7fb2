/** `availability`: what is free of a product, as numbers; its verbs show calendar, bars, reasons and plans. */
import { type Command, Option } from "commander"
import { rowIn, rowsOr } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { blocksText } from "../../output/blocks.ts"
import { column } from "../../output/table.ts"
import { formatIn } from "../../parse-time.ts"
import { type Flags, textFlag, withAction } from "../../program.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { showCalendar } from "./calendar.ts"
import { showGantt } from "./gantt.ts"
import { fit } from "./fit.ts"
import { whatIf } from "./what-if.ts"
import { as_of_text, breakdownText, page_text, pastOf, plainOr, windowed, hireWindowOf } from "./window.ts"
import { showReasons } from "./why.ts"

export const declare = (program: Command): void => {
  const availability = windowed(
    program.command("availability").description("What is free of a product at a store, over a window or at one moment")
  )
    .argument("<product>", "id, sku or barcode")
    .option("--date <date>", "one moment instead of a window")
    .option("--as-of <time>", as_of_text)
  withAction(availability, showAvailability)
  withAction(
    windowed(availability.command("calendar").description("Every product of a store, day by day"))
      .option("--products <a,b>", "only these")
      .option("--kits", "kits too, by what their parts allow")
      .option("--html <file>", page_text),
    showCalendar
  )
  withAction(
    windowed(availability.command("gantt").description("Who has a product, when"))
      .argument("<product>", "id, sku or barcode")
      .option("--kits", "of a kit, who has its parts")
      .option("--html <file>", page_text),
    showGantt
  )
  withAction(
    availability
      .command("why")
      .description("The stock and the claims behind one number")
      .argument("<product>", "id, sku or barcode")
      .option("--date <date>", "the day or moment")
      .option("--store <store>", "id or name (default: the default store)")
      .option("--as-of <time>", as_of_text),
    showReasons
  )
  declarePlans(availability)
}
const declarePlans = (availability: Command): void => {
  const listed = (command: Command): Command =>
    command
      .argument("<product[*n]...>", "products by id, sku or barcode, each with a quantity after *")
      .option("--store <store>", "id or name (default: the default store)")
  withAction(
    listed(availability.command("what-if").description("What a list nobody has ordered would do to stock"))
      .option("--from <time>", "start: a date, or a time on the store's clock")
      .option("--to <time>", "end"),
    whatIf
  )
  withAction(
    listed(availability.command("fit").description("The first window in which a whole list is free"))
      .option("--from <time>", "not before")
      .option("--until <time>", "back by then; a date counts whole")
      .option("--days <n>", "how long, in days of the store")
      .option("--minutes <n>", "how long, in minutes")
      .addOption(
        new Option("--align <where>", "where it may begin: with a slot, a day of the store, at any moment").choices([
          "slot",
          "day",
          "none"
        ])
      ),
    fit
  )
}

/** What is free over a window, slot by slot, or at one moment. */
const showAvailability = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  if (flags["date"] !== undefined && (flags["from"] !== undefined || flags["to"] !== undefined))
    throw usageError("--date is one moment: leave out --from and --to.")
  const store = await resolveStore(context, textFlag(flags, "store"))
  const when =
    flags["date"] === undefined
      ? hireWindowOf(context, flags, store)
      : [["date", plainOr(String(flags["date"]), store, "--date")] as const]
  const id = await resolveId(context, "products", product)
  const body = await context.read(`/api/v1/products/${id}/availability`, [
    ["store_id", String(store.id)],
    ...when,
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const { slots: given_slots, ...sums } = rowIn(body, "availability")
  const slots = given_slots === undefined ? undefined : rowsOr(given_slots)
  if (slots?.length === 0)
    context.note("It was never in stock there, or the window lies outside the days that are counted.")
  const columns = [
    column("slot"),
    column("total_stock", "STOCK"),
    column("total_demanded", "DEMANDED"),
    column("available"),
    column("by", "BY")
  ]
  const rows = (slots ?? []).map((slot) => ({
    ...slot,
    slot: formatIn(String(slot["slot_start"]), store.zone),
    by: breakdownText(slot["demand_breakdown"])
  }))
  const record = { ...sums, demand_breakdown: breakdownText(sums["demand_breakdown"]) }
  context.print(blocksText([{ record }, { columns, rows }], context.terminal))
}
