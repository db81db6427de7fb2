/** Lines of an opportunity and the units assigned to them, as scanning needs them. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn, rowsOr } from "../../answers.ts"
import type { Asset } from "../../codes.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { findIdByName } from "../../resolve-id.ts"

/** Statuses of an assignment (rules/opportunities). */
const allocated = 0,
  prepared = 1,
  dispatched = 2,
  on_hire = 3
export const in_store = [allocated, prepared]
export const with_customer = [dispatched, on_hire]

/** Lines of an opportunity, with the units assigned to them. */
export type Lines = ReadonlyArray<JsonObject>
export const linesAt = async (context: CommandContext, path: string): Promise<Lines> =>
  rowsOr(rowIn(await context.read(path, [["include", "items,items.assets"]]), "opportunity")["items"])
/** The assignment of a unit to one of the lines, in one of these statuses. */
export const assignmentOf = (lines: Lines, asset: Asset, statuses: ReadonlyArray<number>): JsonObject | undefined =>
  lines
    .flatMap((line) => rowsOr(line["assets"]))
    .find((one) => one["stock_level_id"] === asset.id && statuses.includes(Number(one["status"])))
/** The line of a product that still needs units, else the first of that product. */
export const lineFor = (lines: Lines, product_id: number): JsonObject | undefined => {
  const of_product = lines.filter((line) => (line["item_id"] ?? line["itemable_id"]) === product_id)
  const needsUnits = (line: JsonObject): boolean => Math.ceil(Number(line["quantity"])) > rowsOr(line["assets"]).length
  return of_product.find(needsUnits) ?? of_product[0]
}

/** `CABLE*5` is five of a bulk product. A code without a quantity is a unit, or one of a bulk product. */
export const countedCode = (text: string): { readonly code: string; readonly quantity: number | undefined } => {
  const [, code, quantity] = /^(.+?)\s*\*\s*(\d{1,6})$/s.exec(text) ?? []
  return code === undefined ? { code: text, quantity: undefined } : { code, quantity: Number(quantity) }
}
/** The line of a bulk product on which so much can still go out or come back, as two lines may be of one product. */
const bulkLineFor = (
  lines: Lines,
  product_id: number,
  action: "dispatch" | "return",
  quantity: number
): JsonObject | undefined => {
  const [from, to] =
    action === "dispatch" ? ["quantity", "dispatched_quantity"] : ["dispatched_quantity", "returned_quantity"]
  const has = (line: JsonObject): boolean => Number(line[from ?? ""]) - Number(line[to ?? ""]) >= quantity
  return lines.find((line) => (line["item_id"] ?? line["itemable_id"]) === product_id && has(line))
}
/** Dispatches or returns a quantity of a bulk product. */
export const moveBulk = async (
  context: CommandContext,
  path: string,
  lines: Lines,
  code: string,
  quantity: number,
  action: "dispatch" | "return"
): Promise<{ readonly done: string }> => {
  const product_id = await findIdByName(context, "products", code)
  if (product_id === undefined) throw new CliError(exit_codes.not_found, "no unit and no product has this code")
  const line = bulkLineFor(lines, product_id, action, quantity) ?? lineFor(lines, product_id)
  if (line === undefined) throw new CliError(exit_codes.conflict, `${String(code)} is not on this order`)
  await context.ask({
    method: "PATCH",
    path: `${path}/items/${String(line["id"])}/fulfilment`,
    body: { action, quantity }
  })
  return { done: `${quantity} × ${String(line["name"])}` }
}
