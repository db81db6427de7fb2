/** `scan in`. */
import { rowIn, rowsOr } from "../../answers.ts"
import { type Asset, findAsset, type ScanResult } from "../../codes.ts"
import { attachPhotos } from "../attach/attach.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { assignmentOf, countedCode, linesAt, moveBulk, with_customer } from "./lines.ts"

/** Checks the scanned unit in: on the order given, else on the one that has it. */
export const checkIn = async (
  context: CommandContext,
  given: string | undefined,
  scanned: string,
  { finalise, photos }: { readonly finalise: boolean; readonly photos: ReadonlyArray<string> }
): Promise<ScanResult> => {
  const { code, quantity } = countedCode(scanned)
  const asset = quantity === undefined ? await findAsset(context, code) : undefined
  if (asset === undefined) {
    if (given === undefined)
      throw new CliError(
        exit_codes.not_found,
        "no unit has this code; for a bulk product name the order: scan in ORDER"
      )
    if (photos.length > 0)
      throw new CliError(exit_codes.usage, "photos are of units; check this one in without --photo")
    return moveBulk(context, given, await linesAt(context, given), code, quantity ?? 1, "return")
  }
  const path = given ?? (await orderHolding(context, asset))
  const assignment = assignmentOf(await linesAt(context, path), asset, with_customer)
  if (assignment === undefined) throw new CliError(exit_codes.conflict, `${asset.label} is not out on this order`)
  await context.ask({
    method: "POST",
    path: `${path}/quick_check_in`,
    body: { asset_ids: [Number(assignment["id"])], finalise }
  })
  try {
    await attachPhotos(context, asset.id, photos)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    throw new CliError(error.code, `${asset.label} is checked in, but its photo was not attached: ${error.message}`)
  }
  const pictured = photos.length === 0 ? "" : `, ${photos.length} ${photos.length === 1 ? "photo" : "photos"}`
  return { done: `${asset.label}${pictured}`, asset_id: asset.id }
}

/** The order that has a unit now, from the demands on its product. */
const orderHolding = async (context: CommandContext, asset: Asset): Promise<string> => {
  const body = await context.read("/api/v1/availability/why", [
    ["product_id", String(asset.product_id)],
    ["store_id", String(asset.store_id)],
    ["date", new Date().toISOString()]
  ])
  const demand = rowsOr(rowIn(body, "reasons")["claims"]).find(
    (one) => one["asset_id"] === asset.id && one["opportunity_id"] !== null
  )
  if (demand === undefined) throw new CliError(exit_codes.conflict, `${asset.label} is not out`)
  return `/api/v1/opportunities/${String(demand["opportunity_id"])}`
}
