/** `price`: prints the price of a product over a window, by period. */
import { type Command, Option } from "commander"
import { metaIn, objectBody, rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { missingFlagError } from "../../base/exit-codes.ts"
import { resolveId, resolveStore } from "../../context/resolve-id.ts"
import { blocksText } from "../../output/table.ts"
import { columnsOf } from "../../output/columns.ts"
import { explanationText } from "../../output/explanation.ts"
import { textFlag, verb } from "../../context/program.ts"
import { formatIn, readMoment } from "../../base/parse-time.ts"

export const declare = (program: Command): void => {
  verb(program, "price", {
    about: "Price a product over a window, with the rate breakdown",
    "<product>": "product, by id, SKU or barcode",
    "--from <time>": "start, on the store's clock (for sales: now): 2026-07-01T09:00, a date, today, fri 9:00",
    "--to <time>": "end; a date or weekday includes the whole day",
    "--quantity <n>": (typed) => new Option(typed, "number of pieces").default("1"),
    "--store <store>": "store, by id or name; its rates and clock apply",
    "--explain": "explain the price in words",
    "--transaction-type <type>": (typed) =>
      new Option(typed, "rental, sale or service").default(undefined, "by the product's type"),
    run: async (context, [product = ""], flags) => {
      const [from, to] = [textFlag(flags, "from"), textFlag(flags, "to")]
      const missingFlag = () =>
        from === undefined
          ? missingFlagError("--from", "the start of the hire")
          : missingFlagError("--to", "the end of the hire")
      if ((from === undefined) !== (to === undefined)) throw missingFlag()
      const id = await resolveId(context, "products", product)
      // Sale prices do not depend on time, so they need no start.
      if (from === undefined && (flags.transactionType ?? (await typeOf(context, id))) !== "sale") throw missingFlag()
      const store = await resolveStore(context, textFlag(flags, "store"))
      const quantity = String(flags.quantity)
      const start = readMoment(context, from ?? "now", store.zone, "--from")
      const { body } = await context.ask({
        method: "POST",
        path: `/api/v1/products/${id}/calculate_rate`,
        ...(flags.explain === true ? { query: [["explain", "1"]] as const } : {}),
        body: {
          start,
          end: readMoment(context, to ?? "now", store.zone, "--to", start),
          quantity: /^\d+$/.test(quantity) ? Number(quantity) : quantity,
          store_id: flags.store === undefined ? null : store.id,
          ...(flags.transactionType === undefined ? {} : { transaction_type: String(flags.transactionType) })
        }
      })
      if (context.options.json === true) context.printJson(objectBody(body))
      else {
        const { line_items, applied_modifiers, ...sums } = rowIn(body, "rate_breakdown")
        const lines = line_items.map((line) => ({
          ...line,
          period_from: formatIn(String(line.period_from), store.zone),
          period_to: formatIn(String(line.period_to), store.zone)
        }))
        const record = {
          ...sums,
          ...(applied_modifiers.length === 0
            ? {}
            : { applied_modifiers: applied_modifiers.map((one) => one.description).join("; ") })
        }
        context.print(
          blocksText([{ columns: columnsOf("line_items") ?? [], rows: lines }, { record }], context.terminal)
        )
        if (flags.explain === true)
          context.print(`\n${explanationText(objectBody(body).explanation, context.terminal)}`)
      }
      if (metaIn(body).resolved !== true)
        context.note("No rate of this product holds for that store, type and date, so it is priced at zero.")
    }
  })
}

const typeOf = async (context: CommandContext, id: number) =>
  rowIn(await context.read(`/api/v1/products/${id}`), "product").product_type
