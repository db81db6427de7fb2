/** `price`: what a product costs over a window, period by period. */
import { type Command, Option } from "commander"
import { objectBody, rowIn, rowsOr } from "../../answers.ts"
import { missingFlagError } from "../../exit-codes.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { blocksText } from "../../output/blocks.ts"
import { columnsOf } from "../../output/columns.ts"
import { explanationText } from "../../output/explanation.ts"
import { textFlag, withAction } from "../../program.ts"
import { formatIn, readMoment } from "../../parse-time.ts"

export const declare = (program: Command): void => {
  const price = program
    .command("price")
    .description("The rate breakdown of a product over a window")
    .argument("<product>", "id, sku or barcode")
    .option("--from <time>", "start of the hire on the store's clock: 2026-07-01T09:00, a date, today, fri 9:00")
    .option("--to <time>", "its end; a date or a day means all of it")
    .option("--quantity <n>", "how many", "1")
    .option("--store <store>", "id or name; rates of its own and its clock count")
    .option("--explain", "say in words how the price came about")
    .addOption(new Option("--transaction-type <type>", "rental, sale or service").default(undefined, "rental"))
  withAction(price, async (context, [product = ""], flags) => {
    for (const flag of ["from", "to"])
      if (flags[flag] === undefined)
        throw missingFlagError(`--${flag}`, flag === "from" ? "the start of the hire" : "the end of the hire")
    const store = await resolveStore(context, textFlag(flags, "store"))
    const id = await resolveId(context, "products", product)
    const quantity = String(flags["quantity"])
    const start = readMoment(context, String(flags["from"]), store.zone, "--from")
    const { body } = await context.ask({
      method: "POST",
      path: `/api/v1/products/${id}/calculate_rate`,
      ...(flags["explain"] === true ? { query: [["explain", "1"]] as const } : {}),
      body: {
        start,
        end: readMoment(context, String(flags["to"]), store.zone, "--to", start),
        quantity: /^\d+$/.test(quantity) ? Number(quantity) : quantity,
        store_id: flags["store"] === undefined ? null : store.id,
        ...(flags["transactionType"] === undefined ? {} : { transaction_type: String(flags["transactionType"]) })
      }
    })
    if (context.options.json === true) context.printJson(objectBody(body))
    else {
      const { line_items, applied_modifiers, ...sums } = rowIn(body, "rate_breakdown")
      const modifiers = rowsOr(applied_modifiers)
      const lines = rowsOr(line_items).map((line) => ({
        ...line,
        period_from: formatIn(String(line["period_from"]), store.zone),
        period_to: formatIn(String(line["period_to"]), store.zone)
      }))
      const record = {
        ...sums,
        ...(modifiers.length === 0
          ? {}
          : { applied_modifiers: modifiers.map((one) => String(one["description"])).join("; ") })
      }
      context.print(blocksText([{ columns: columnsOf("line_items") ?? [], rows: lines }, { record }], context.terminal))
      if (flags["explain"] === true)
        context.print(`\n${explanationText(objectBody(body)["explanation"], context.terminal)}`)
    }
    if (rowIn(body, "meta")["resolved"] !== true)
      context.note("No rate of this product holds for that store, type and date, so it is priced at zero.")
  })
}
