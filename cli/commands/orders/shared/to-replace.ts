/** Allocated units that are out of service when they are to go, with those that are free instead. */
import { isJsonObject, type JsonObject } from "../../../../core/kernel/fields/json.ts"
import { objectBody, rowsOr, textOrNull } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { numberText } from "../../../../core/values/text.ts"

/** A line for each. */
export const tellToReplace = (context: CommandContext, body: JsonObject): void => {
  for (const { says } of rowsOr(body["to_replace"])) context.note(`! ${String(says)}`)
}
/** For each order of a list of shortages, once. */
export const tellOrdersToReplace = (context: CommandContext, rows: ReadonlyArray<JsonObject>): void => {
  const orders = new Map(rows.map(({ opportunity }) => objectBody(opportunity ?? {})).map((one) => [one["id"], one]))
  for (const { id, number, to_replace } of orders.values()) {
    const count = Number(to_replace ?? 0)
    const named = `Order ${numberText(textOrNull(number), Number(id))}`
    const are = count === 1 ? "allocated unit is" : "allocated units are"
    if (count > 0)
      context.note(`! ${named}: ${count} ${are} out of service; orders shortages ${String(id)} names them.`)
  }
}
/** Without lines of which all is out: they have what they need, and are told in one sentence. */
export const withoutOut = (context: CommandContext, rows: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const left = rows.filter(({ is_out }) => is_out !== true)
  const out = rows.length - left.length
  const are = out === 1 ? "line that is overbooked is" : "lines that are overbooked are"
  if (out > 0) context.note(`${out} ${are} out already and not shown; --json has all.`)
  return left
}
/** The same where an order with units is shown, to whoever may see shortages. */
export const noteToReplace = async (context: CommandContext, path: string, order: JsonObject): Promise<void> => {
  const units = rowsOr(order["items"]).flatMap((line) => rowsOr(line["assets"]))
  if (units.length === 0) return
  const answer = await context.request({ method: "GET", path: `${path}/shortages` })
  if (answer.status === 200 && isJsonObject(answer.body)) tellToReplace(context, answer.body)
}
