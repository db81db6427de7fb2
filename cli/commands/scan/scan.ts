/** `scan out` and `scan in`: booking out and checking in by code, one commit each. */
import type { Command } from "commander"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { type Asset, findAsset, scanAll } from "../../codes.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { findIdByName } from "../../resolve-id.ts"
import { withAction } from "../../program.ts"
import { opportunityPath } from "../orders/show.ts"

export const declare = (program: Command): void => {
  const scan = program.command("scan").description("Book out and check in by code")
  withAction(
    scan
      .command("out")
      .description("Book units out to an order; a bulk product by sku or barcode, several as CODE*5")
      .argument("<order>", "id or number")
      .option("--file <file>", "read the codes from there"),
    async (context, [order = ""], flags) => {
      const path = await opportunityPath(context, order)
      return scanAll(context, flags["file"] as string | undefined, "booked_out", (code) =>
        snapshotOut(context, path, code)
      )
    }
  )
  withAction(
    scan
      .command("in")
      .description("Check units in; of a bulk product name the order")
      .argument("[order]", "id or number (default: whichever has the unit)")
      .option("--file <file>", "read the codes from there")
      .option("--finalise", "checked and good at once"),
    async (context, [order], flags) => {
      const path = order === undefined ? undefined : await opportunityPath(context, order)
      return scanAll(context, flags["file"] as string | undefined, "checked_in", (code) =>
        checkIn(context, path, code, flags["finalise"] === true)
      )
    }
  )
}

const allocated = 0,
  prepared = 1,
  dispatched = 2,
  on_hire = 3

interface Opportunity {
  readonly items: ReadonlyArray<JsonObject>
}
const opportunityAt = async (context: CommandContext, path: string): Promise<Opportunity> => {
  const { opportunity } = (await context.read(path, [["include", "items,items.assets"]])) as {
    readonly opportunity: JsonObject
  }
  return { items: rows(opportunity["items"]) }
}
const rows = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])
/** The assignment of a unit on one of the lines, in one of these states. */
const assignmentOf = ({ items }: Opportunity, asset: Asset, statuses: ReadonlyArray<number>): JsonObject | undefined =>
  items
    .flatMap((item) => rows(item["assets"]))
    .find((one) => one["stock_level_id"] === asset.id && statuses.includes(Number(one["status"])))
const lineFor = ({ items }: Opportunity, product_id: number): JsonObject | undefined => {
  const lines = items.filter((item) => (item["item_id"] ?? item["itemable_id"]) === product_id)
  return lines.find((line) => Math.ceil(Number(line["quantity"])) > rows(line["assets"]).length) ?? lines[0]
}

const snapshotOut = async (
  context: CommandContext,
  path: string,
  scanned: string
): Promise<{ readonly done: string; readonly asset_id?: number }> => {
  const { code, quantity } = countedCode(scanned)
  const opportunity = await opportunityAt(context, path)
  const asset = quantity === undefined ? await findAsset(context, code) : undefined
  if (asset === undefined) return moveBulk(context, path, opportunity, code, quantity ?? 1, "dispatch")
  let assignment = assignmentOf(opportunity, asset, [allocated, prepared])
  if (assignment === undefined) {
    if (assignmentOf(opportunity, asset, [dispatched, on_hire]) !== undefined)
      throw new CliError(exit_codes.conflict, `${asset.label} is booked out on this order already`)
    const line = lineFor(opportunity, asset.product_id)
    if (line === undefined) throw new CliError(exit_codes.conflict, `${asset.label} is not on this order`)
    await context.ask({
      method: "POST",
      path: `${path}/quick_allocate`,
      body: { allocations: [{ opportunity_item_id: line["id"]!, stock_level_id: asset.id }] }
    })
    assignment = assignmentOf(await opportunityAt(context, path), asset, [allocated, prepared])
    if (assignment === undefined)
      throw new CliError(exit_codes.failed, `${asset.label} was allocated, but its assignment is not to be seen`)
  }
  await context.ask({ method: "POST", path: `${path}/quick_book_out`, body: { asset_ids: [assignment["id"]!] } })
  return { done: asset.label, asset_id: asset.id }
}

const checkIn = async (
  context: CommandContext,
  given: string | undefined,
  scanned: string,
  finalise: boolean
): Promise<{ readonly done: string; readonly asset_id?: number }> => {
  const { code, quantity } = countedCode(scanned)
  const asset = quantity === undefined ? await findAsset(context, code) : undefined
  if (asset === undefined) {
    if (given === undefined)
      throw new CliError(
        exit_codes.not_found,
        "no unit has this code; for a bulk product name the order: scan in ORDER"
      )
    return moveBulk(context, given, await opportunityAt(context, given), code, quantity ?? 1, "return")
  }
  const path = given ?? (await orderHolding(context, asset))
  const assignment = assignmentOf(await opportunityAt(context, path), asset, [dispatched, on_hire])
  if (assignment === undefined) throw new CliError(exit_codes.conflict, `${asset.label} is not out on this order`)
  await context.ask({
    method: "POST",
    path: `${path}/quick_check_in`,
    body: { asset_ids: [assignment["id"]!], finalise }
  })
  return { done: asset.label, asset_id: asset.id }
}

/** The order that has a unit now, by the claims on its product. */
const orderHolding = async (context: CommandContext, asset: Asset): Promise<string> => {
  const { reasons } = (await context.read("/api/v1/availability/why", [
    ["product_id", String(asset.product_id)],
    ["store_id", String(asset.store_id)],
    ["date", new Date().toISOString()]
  ])) as { readonly reasons: JsonObject }
  const demand = rows(reasons["claims"]).find((one) => one["asset_id"] === asset.id && one["opportunity_id"] !== null)
  if (demand === undefined) throw new CliError(exit_codes.conflict, `${asset.label} is not out`)
  return `/api/v1/opportunities/${String(demand["opportunity_id"])}`
}

/** `CABLE*5` is five of a bulk product; a code with nothing after it is one, of whatever it names. */
const countedCode = (text: string): { readonly code: string; readonly quantity: number | undefined } => {
  const counted = /^(.+?)\s*\*\s*(\d{1,6})$/s.exec(text)
  return counted === null ? { code: text, quantity: undefined } : { code: counted[1]!, quantity: Number(counted[2]) }
}
const moveBulk = async (
  context: CommandContext,
  path: string,
  opportunity: Opportunity,
  code: string,
  quantity: number,
  action: "dispatch" | "return"
): Promise<{ readonly done: string }> => {
  const product_id = await findIdByName(context, "products", code)
  if (product_id === undefined) throw new CliError(exit_codes.not_found, "no unit and no product has this code")
  const line = lineFor(opportunity, product_id)
  if (line === undefined) throw new CliError(exit_codes.conflict, `${String(code)} is not on this order`)
  await context.ask({
    method: "PATCH",
    path: `${path}/items/${String(line["id"])}/fulfilment`,
    body: { action, quantity }
  })
  return { done: `${quantity} × ${String(line["name"])}` }
}
