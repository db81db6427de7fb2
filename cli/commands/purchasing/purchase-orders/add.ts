/** `purchase-orders add`: adds a line to a draft. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { rowIn, rowsOr } from "../../../base/answers.ts"
import { printAnswer } from "../../../context/print.ts"
import { type CommandAction, textFlag } from "../../../context/program.ts"
import { resolveId } from "../../../context/resolve-id.ts"
import { printBrief } from "../../../briefs/purchase-orders.ts"
import { parts } from "../../../briefs/purchase-orders-shown.ts"

export const addOrderLine: CommandAction = async (context, [named = "", product], flags) => {
  const path = `/api/v1/purchase_orders/${await resolveId(context, "purchase_orders", named)}`
  const { items } = rowIn(await context.read(path, [["include", "items"]]), "purchase_order")
  const given: { readonly [field: string]: string | number | undefined } = {
    product_id: product === undefined ? undefined : await resolveId(context, "products", product),
    name: textFlag(flags, "name"),
    description: textFlag(flags, "description"),
    quantity: textFlag(flags, "quantity"),
    unit_cost: textFlag(flags, "cost"),
    discount_percent: textFlag(flags, "discount")
  }
  const line: JsonObject = Object.fromEntries(
    Object.entries(given).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]))
  )
  const kept = rowsOr(items).map(({ id }): JsonObject => ({ id: id ?? null }))
  const query = [["include", parts.join(",")]] as const
  const body = { items: [...kept, line] }
  const answer = await context.ask({ method: "PUT", path, query, body })
  if (context.options.json === true || context.options.plan === true) return printAnswer(context, answer)
  printBrief(context, answer)
}
