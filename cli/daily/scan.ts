/** `scan out` and `scan in`: booking out and checking in by code, one commit each. */
import type { Command } from "commander"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { type Asset, assetOf, scanAll } from "../codes.ts"
import type { Desk } from "../desk.ts"
import { Exit, exits } from "../exits.ts"
import { idByName } from "../find.ts"
import { acting } from "../program.ts"
import { dealPath } from "./deal.ts"

export const declare = (program: Command): void => {
  const scan = program.command("scan").description("Book out and check in by code")
  acting(
    scan.command("out").description("Book units out to an order; a bulk product by sku or barcode, several as CODE*5").argument("<order>", "id or number")
      .option("--file <file>", "read the codes from there"),
    async (desk, [order = ""], flags) => {
      const path = await dealPath(desk, order)
      return scanAll(desk, flags["file"] as string | undefined, "booked_out", (code) => bookOut(desk, path, code))
    })
  acting(
    scan.command("in").description("Check units in; of a bulk product name the order").argument("[order]", "id or number (default: whichever has the unit)")
      .option("--file <file>", "read the codes from there").option("--finalise", "checked and good at once"),
    async (desk, [order], flags) => {
      const path = order === undefined ? undefined : await dealPath(desk, order)
      return scanAll(desk, flags["file"] as string | undefined, "checked_in", (code) => checkIn(desk, path, code, flags["finalise"] === true))
    })
}

const allocated = 0, prepared = 1, dispatched = 2, on_hire = 3

interface Deal { readonly items: ReadonlyArray<JsonObject> }
const dealAt = async (desk: Desk, path: string): Promise<Deal> => {
  const { opportunity } = await desk.read(path, [["include", "items,items.assets"]]) as { readonly opportunity: JsonObject }
  return { items: rows(opportunity["items"]) }
}
const rows = (value: unknown): ReadonlyArray<JsonObject> => Array.isArray(value) ? value.filter(isJsonObject) : []
/** The assignment of a unit on one of the lines, in one of these states. */
const assignmentOf = ({ items }: Deal, asset: Asset, statuses: ReadonlyArray<number>): JsonObject | undefined =>
  items.flatMap((item) => rows(item["assets"])).find((one) => one["stock_level_id"] === asset.id && statuses.includes(Number(one["status"])))
const lineFor = ({ items }: Deal, product_id: number): JsonObject | undefined => {
  const lines = items.filter((item) => (item["item_id"] ?? item["itemable_id"]) === product_id)
  return lines.find((line) => Math.ceil(Number(line["quantity"])) > rows(line["assets"]).length) ?? lines[0]
}

const bookOut = async (desk: Desk, path: string, scanned: string): Promise<{ readonly done: string; readonly asset_id?: number }> => {
  const { code, quantity } = countedCode(scanned)
  const deal = await dealAt(desk, path)
  const asset = quantity === undefined ? await assetOf(desk, code) : undefined
  if (asset === undefined) return moveBulk(desk, path, deal, code, quantity ?? 1, "dispatch")
  let assignment = assignmentOf(deal, asset, [allocated, prepared])
  if (assignment === undefined) {
    if (assignmentOf(deal, asset, [dispatched, on_hire]) !== undefined) throw new Exit(exits.conflict, `${asset.label} is booked out on this order already`)
    const line = lineFor(deal, asset.product_id)
    if (line === undefined) throw new Exit(exits.conflict, `${asset.label} is not on this order`)
    await desk.ask({ method: "POST", path: `${path}/quick_allocate`, body: { allocations: [{ opportunity_item_id: line["id"]!, stock_level_id: asset.id }] } })
    assignment = assignmentOf(await dealAt(desk, path), asset, [allocated, prepared])
    if (assignment === undefined) throw new Exit(exits.failed, `${asset.label} was allocated, but its assignment is not to be seen`)
  }
  await desk.ask({ method: "POST", path: `${path}/quick_book_out`, body: { asset_ids: [assignment["id"]!] } })
  return { done: asset.label, asset_id: asset.id }
}

const checkIn = async (desk: Desk, given: string | undefined, scanned: string, finalise: boolean): Promise<{ readonly done: string; readonly asset_id?: number }> => {
  const { code, quantity } = countedCode(scanned)
  const asset = quantity === undefined ? await assetOf(desk, code) : undefined
  if (asset === undefined) {
    if (given === undefined) throw new Exit(exits.not_found, "no unit has this code; for a bulk product name the order: scan in ORDER")
    return moveBulk(desk, given, await dealAt(desk, given), code, quantity ?? 1, "return")
  }
  const path = given ?? await orderHolding(desk, asset)
  const assignment = assignmentOf(await dealAt(desk, path), asset, [dispatched, on_hire])
  if (assignment === undefined) throw new Exit(exits.conflict, `${asset.label} is not out on this order`)
  await desk.ask({ method: "POST", path: `${path}/quick_check_in`, body: { asset_ids: [assignment["id"]!], finalise } })
  return { done: asset.label, asset_id: asset.id }
}

/** The order that has a unit now, by the claims on its product. */
const orderHolding = async (desk: Desk, asset: Asset): Promise<string> => {
  const { reasons } = await desk.read("/api/v1/availability/why", [
    ["product_id", String(asset.product_id)], ["store_id", String(asset.store_id)], ["date", new Date().toISOString()]
  ]) as { readonly reasons: JsonObject }
  const claim = rows(reasons["claims"]).find((one) => one["asset_id"] === asset.id && one["opportunity_id"] !== null)
  if (claim === undefined) throw new Exit(exits.conflict, `${asset.label} is not out`)
  return `/api/v1/opportunities/${String(claim["opportunity_id"])}`
}

/** `CABLE*5` is five of a bulk product; a code with nothing after it is one, of whatever it names. */
const countedCode = (text: string): { readonly code: string; readonly quantity: number | undefined } => {
  const counted = /^(.+?)\s*\*\s*(\d{1,6})$/s.exec(text)
  return counted === null ? { code: text, quantity: undefined } : { code: counted[1]!, quantity: Number(counted[2]) }
}
const moveBulk = async (desk: Desk, path: string, deal: Deal, code: string, quantity: number, action: "dispatch" | "return"): Promise<{ readonly done: string }> => {
  const product_id = await idByName(desk, "products", code)
  if (product_id === undefined) throw new Exit(exits.not_found, "no unit and no product has this code")
  const line = lineFor(deal, product_id)
  if (line === undefined) throw new Exit(exits.conflict, `${String(code)} is not on this order`)
  await desk.ask({ method: "PATCH", path: `${path}/items/${String(line["id"])}/fulfilment`, body: { action, quantity } })
  return { done: `${quantity} × ${String(line["name"])}` }
}
