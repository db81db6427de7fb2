/** `price`: what a product costs over a window, period by period. */
import { type Command, Option } from "commander"
import type { JsonObject } from "../../core/kernel/json.ts"
import { missingFlag } from "../exits.ts"
import { idOf, storeAt } from "../find.ts"
import { columnsOf } from "../output/columns.ts"
import { explanationText } from "../output/explanation.ts"
import { recordText, tableText } from "../output/table.ts"
import { acting } from "../program.ts"
import { momentIn, shownIn } from "../when.ts"

interface Priced {
  readonly rate_breakdown: JsonObject & { readonly line_items: ReadonlyArray<JsonObject>; readonly applied_modifiers: ReadonlyArray<JsonObject> }
  readonly meta: { readonly resolved: boolean }
}

export const declare = (program: Command): void => {
  const price = program.command("price").description("The rate breakdown of a product over a window")
    .argument("<product>", "id, sku or barcode")
    .option("--from <time>", "start of the hire: 2026-07-01T09:00 on the store's clock, or a date")
    .option("--to <time>", "its end")
    .option("--quantity <n>", "how many", "1")
    .option("--store <store>", "id or name; rates of its own and its clock count")
    .option("--explain", "say in words how the price came about")
    .addOption(new Option("--transaction-type <type>", "rental, sale or service").default(undefined, "rental"))
  acting(price, async (desk, [product = ""], flags) => {
    for (const flag of ["from", "to"]) if (flags[flag] === undefined) throw missingFlag(`--${flag}`, flag === "from" ? "the start of the hire" : "the end of the hire")
    const store = await storeAt(desk, flags["store"] as string | undefined)
    const id = await idOf(desk, "products", product)
    const quantity = String(flags["quantity"])
    const { body } = await desk.ask({
      method: "POST", path: `/api/v1/products/${id}/calculate_rate`,
      ...(flags["explain"] === true ? { query: [["explain", "1"]] as const } : {}),
      body: {
        start: momentIn(String(flags["from"]), store.zone, "--from"), end: momentIn(String(flags["to"]), store.zone, "--to"),
        quantity: /^\d+$/.test(quantity) ? Number(quantity) : quantity, store_id: flags["store"] === undefined ? null : store.id,
        ...(flags["transactionType"] === undefined ? {} : { transaction_type: String(flags["transactionType"]) })
      }
    })
    if (desk.options.json === true) desk.printJson(body as JsonObject)
    else {
      const { rate_breakdown } = body as unknown as Priced
      const { line_items, applied_modifiers, ...sums } = rate_breakdown
      const shown = line_items.map((line) => ({ ...line, period_from: shownIn(String(line["period_from"]), store.zone), period_to: shownIn(String(line["period_to"]), store.zone) }))
      if (desk.terminal.seen && line_items.length > 0) desk.print(`${tableText(columnsOf("line_items")!, shown, desk.terminal)}\n`)
      desk.print(recordText({ ...sums, ...(applied_modifiers.length === 0 ? {} : { applied_modifiers: applied_modifiers.map((one) => String(one["description"])).join("; ") }) }, desk.terminal))
      if (flags["explain"] === true) desk.print(`\n${explanationText((body as JsonObject)["explanation"], desk.terminal)}`)
    }
    if (!(body as unknown as Priced).meta.resolved) desk.note("No rate of this product holds for that store, type and date, so it is priced at zero.")
  })
}
