/** `availability why`. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn, rowsOr } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError } from "../../exit-codes.ts"
import { type Block, blocksText } from "../../output/blocks.ts"
import { withOrderNumbers } from "../../order-numbers.ts"
import { column } from "../../output/table.ts"
import { formatIn } from "../../parse-time.ts"
import { type Flags, textFlag } from "../../program.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { breakdownText, pastOf, plainOr } from "./window.ts"

/** The stock and the demands that one number is worked out from; of a kit its parts, of a case what it lacks. */
export const showReasons = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  if (typeof flags["date"] !== "string") throw missingFlagError("--date", "the day")
  const store = await resolveStore(context, textFlag(flags, "store"))
  const id = await resolveId(context, "products", product)
  const body = await context.read("/api/v1/availability/why", [
    ["product_id", String(id)],
    ["store_id", String(store.id)],
    ["date", plainOr(flags["date"], store, "--date")],
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const { cases, claims: demands, parts, demand_breakdown, stock_level_ids: _levels, ...sums } = rowIn(body, "reasons")
  const lacks = (one: JsonObject): string =>
    rowsOr(one["missing"])
      .map((part) => `${String(part["quantity"])}× ${String(part["product_name"])}`)
      .join(", ")
  const blocks: ReadonlyArray<Block> = [
    { record: { ...sums, demand_breakdown: breakdownText(demand_breakdown) } },
    {
      columns: [
        column("source_name", "WHO"),
        column("quantity"),
        column("phase"),
        column("from"),
        column("to"),
        column("opportunity_id", "ORDER"),
        column("asset_id", "ASSET")
      ],
      rows: (await withOrderNumbers(context, rowsOr(demands))).map((one) => ({
        ...one,
        from: formatIn(String(one["from"]), store.zone),
        to: String(one["to"]).startsWith("2199") ? "no known end" : formatIn(String(one["to"]), store.zone)
      }))
    },
    {
      columns: [
        column("product_name", "PART"),
        column("quantity", "EACH"),
        column("available"),
        column("kits", "KITS")
      ],
      rows: rowsOr(parts)
    },
    {
      columns: [
        column("stock_level_id", "CASE"),
        column("container_id", "CONTAINER"),
        column("claimed", "CLAIMED"),
        column("lacks", "LACKS")
      ],
      rows: rowsOr(cases).map((one) => ({
        ...one,
        claimed: one["is_claimed"] === true ? "yes" : "no",
        lacks: lacks(one)
      }))
    }
  ]
  context.print(blocksText(blocks, context.terminal))
}
