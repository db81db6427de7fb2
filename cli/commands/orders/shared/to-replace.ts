/** Notes allocated units that will be out of service, with free replacements. */
import { isJsonObject, type JsonObject } from "../../../../core/kernel/fields/field.ts"
import { type Row, type RowOfList, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { numberText } from "../../../../core/values/text.ts"

/** Notes each unit of a response in a line. */
export const tellToReplace = (context: CommandContext, body: JsonObject): void => {
  for (const { says } of rowsIn(body, "to_replace")) context.note(`! ${String(says)}`)
}
/** Notes units of the orders in a list of shortages, once per order. */
export const tellOrdersToReplace = (context: CommandContext, rows: ReadonlyArray<RowOfList<"shortages">>): void => {
  const orders = new Map(rows.map(({ opportunity }) => [opportunity.id, opportunity]))
  for (const { id, number, to_replace } of orders.values()) {
    const named = `Order ${numberText(number, id)}`
    const are = to_replace === 1 ? "allocated unit is" : "allocated units are"
    if (to_replace > 0)
      context.note(`! ${named}: ${to_replace} ${are} out of service; orders shortages ${id} names them.`)
  }
}
/** Rows without fully dispatched lines, which are noted in one sentence. */
export const withoutOut = (
  context: CommandContext,
  rows: ReadonlyArray<RowOfList<"shortages">>
): ReadonlyArray<RowOfList<"shortages">> => {
  const left = rows.filter(({ is_out }) => !is_out)
  const out = rows.length - left.length
  const are = out === 1 ? "line that is overbooked is" : "lines that are overbooked are"
  if (out > 0) context.note(`${out} ${are} out already and not shown; --json has all.`)
  return left
}
/** Notes units of one order, for users who may see shortages. */
export const noteToReplace = async (
  context: CommandContext,
  path: string,
  order: Row<"opportunity">
): Promise<void> => {
  const units = (order.items ?? []).flatMap((line) => line.assets ?? [])
  if (units.length === 0) return
  const answer = await context.request({ method: "GET", path: `${path}/shortages` })
  if (answer.status === 200 && isJsonObject(answer.body)) tellToReplace(context, answer.body)
}
