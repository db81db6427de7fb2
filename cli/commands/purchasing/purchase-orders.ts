/** `purchase-orders`: showing an order and adding lines; the verbs derived from the API are added. */
import type { Command } from "commander"
import { type CommandAction, textFlag, verb } from "../../context/program.ts"
import type { JsonObject } from "../../../core/kernel/index.ts"
import { rowIn, rowsOr } from "../../base/answers.ts"
import { present } from "../../context/pages.ts"
import { printAnswer } from "../../context/print.ts"
import { resolveId } from "../../context/resolve-id.ts"
import { parts, printBrief, showPurchaseOrder } from "../../briefs/purchase-orders.ts"

export const declare = (program: Command): void => {
  const orders = program
    .command("purchase-orders")
    .description("Purchase orders by id or number, and what is outstanding")
  verb(orders, "show", {
    about: "Show a purchase order with ordered, received and outstanding quantities",
    "<purchase-order>": "purchase order, by id or number",
    "--include <a,b>": "related records to include, with --json",
    run: async (context, [named = ""], flags) => showPurchaseOrder(context, named, flags)
  })
  verb(orders, "add", {
    about: "Add a line to a draft: a product, or with --name any other item",
    "<purchase-order>": "purchase order, by id or number",
    "[product]": "product, by id, SKU or barcode",
    "--quantity <number>": "number of pieces (default: 1)",
    "--cost <amount>": "cost of one piece, for a sub-hire over its whole time (default: the product's)",
    "--discount <percent>": "supplier's discount",
    "--name <text>": "name of the line (default: the product's)",
    "--description <text>": "text below the name",
    run: addOrderLine
  })
}

const addOrderLine: CommandAction = async (context, [named = "", product], flags) => {
  const path = `/api/v1/purchase_orders/${await resolveId(context, "purchase_orders", named)}`
  const { items } = rowIn(await context.read(path, [["include", "items"]]), "purchase_order")
  const line = present({
    product_id: product === undefined ? undefined : await resolveId(context, "products", product),
    name: textFlag(flags, "name"),
    description: textFlag(flags, "description"),
    quantity: textFlag(flags, "quantity"),
    unit_cost: textFlag(flags, "cost"),
    discount_percent: textFlag(flags, "discount")
  })
  const kept = rowsOr(items).map(({ id }): JsonObject => ({ id: id ?? null }))
  const query = [["include", parts.join(",")]] as const
  const body = { items: [...kept, line] }
  const answer = await context.ask({ method: "PUT", path, query, body })
  if (context.options.json === true || context.options.plan === true) return printAnswer(context, answer)
  printBrief(context, answer)
}
