/** `scan out`. */
import { findAsset, type ScanResult } from "../../codes.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { assignmentOf, countedCode, in_store, lineFor, linesAt, moveBulk, with_customer } from "./lines.ts"

/** Books the scanned unit out to an order; allocates it first where the order has not got it yet. */
export const bookOut = async (context: CommandContext, path: string, scanned: string): Promise<ScanResult> => {
  const { code, quantity } = countedCode(scanned)
  const lines = await linesAt(context, path)
  const asset = quantity === undefined ? await findAsset(context, code) : undefined
  if (asset === undefined) return moveBulk(context, path, lines, code, quantity ?? 1, "dispatch")
  let assignment = assignmentOf(lines, asset, in_store)
  if (assignment === undefined) {
    if (assignmentOf(lines, asset, with_customer) !== undefined)
      throw new CliError(exit_codes.conflict, `${asset.label} is booked out on this order already`)
    const line = lineFor(lines, asset.product_id)
    if (line === undefined) throw new CliError(exit_codes.conflict, `${asset.label} is not on this order`)
    await context.ask({
      method: "POST",
      path: `${path}/quick_allocate`,
      body: { allocations: [{ opportunity_item_id: Number(line["id"]), stock_level_id: asset.id }] }
    })
    assignment = assignmentOf(await linesAt(context, path), asset, in_store)
    if (assignment === undefined)
      throw new CliError(exit_codes.failed, `${asset.label} was allocated, but its assignment is not to be seen`)
  }
  await context.ask({ method: "POST", path: `${path}/quick_book_out`, body: { asset_ids: [Number(assignment["id"])] } })
  return { done: asset.label, asset_id: asset.id }
}
