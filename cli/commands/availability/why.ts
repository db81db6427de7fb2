/** `availability why`. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn, rowsOr } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError } from "../../exit-codes.ts"
import { column, recordText, tableText } from "../../output/table.ts"
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
  if (context.terminal.is_tty)
    context.print(`${recordText({ ...sums, demand_breakdown: breakdownText(demand_breakdown) }, context.terminal)}\n`)
  context.print(
    tableText(
      [
        column("source_name", "WHO"),
        column("quantity"),
        column("phase"),
        column("from"),
        column("to"),
        column("opportunity_id", "ORDER"),
        column("asset_id", "ASSET")
      ],
      rowsOr(demands).map((one) => ({
        ...one,
        from: formatIn(String(one["from"]), store.zone),
        to: String(one["to"]).startsWith("2199") ? "no known end" : formatIn(String(one["to"]), store.zone)
      })),
      context.terminal
    )
  )
  const kit_parts = rowsOr(parts)
  if (kit_parts.length > 0) {
    context.print(
      `${context.terminal.is_tty ? "\n" : ""}${tableText([column("product_name", "PART"), column("quantity", "EACH"), column("available"), column("kits", "KITS")], kit_parts, context.terminal)}`
    )
  }
  const units = rowsOr(cases)
  if (units.length > 0) {
    const lacks = (one: JsonObject): string =>
      rowsOr(one["missing"])
        .map((part) => `${String(part["quantity"])}× ${String(part["product_name"])}`)
        .join(", ")
    context.print(
      `${context.terminal.is_tty ? "\n" : ""}${tableText(
        [
          column("stock_level_id", "CASE"),
          column("container_id", "CONTAINER"),
          column("claimed", "CLAIMED"),
          column("lacks", "LACKS")
        ],
        units.map((one) => ({ ...one, claimed: one["is_claimed"] === true ? "yes" : "no", lacks: lacks(one) })),
        context.terminal
      )}`
    )
  }
}
