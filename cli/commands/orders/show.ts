/** `orders show` and `quote show`: an opportunity with its lines, costs and totals. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn, rowsOr } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { resolveId } from "../../resolve-id.ts"
import { columnsOf } from "../../output/columns.ts"
import { explanationText } from "../../output/explanation.ts"
import { recordText, tableText } from "../../output/table.ts"

const header = [
  "id",
  "number",
  "subject",
  "reference",
  "state_label",
  "status_label",
  "member",
  "venue",
  "store",
  "starts_at",
  "ends_at",
  "has_shortage",
  "currency_code"
]
const sums = [
  "rental_charge_total",
  "sale_charge_total",
  "service_charge_total",
  "sub_rental_charge_total",
  "transit_charge_total",
  "loss_damage_charge_total",
  "deal_total",
  "charge_excluding_tax_total",
  "tax_total",
  "charge_including_tax_total"
]
const zero = /^-?0+(\.0+)?$/

export const opportunityPath = async (context: CommandContext, named: string): Promise<string> =>
  `/api/v1/opportunities/${await resolveId(context, "opportunities", named)}`

/** Prints an opportunity, with --json as the API gives it; `explained` adds how its figures were worked out, in words. */
export const showOpportunity = async (context: CommandContext, path: string, explained = false): Promise<void> => {
  const body = await context.read(path, [
    ["include", "items,costs,member,venue,store"],
    ...(explained ? ([["explain", "1"]] as const) : [])
  ])
  if (context.options.json === true) return context.printJson(body)
  const opportunity = rowIn(body, "opportunity")
  const chosen = (keys: ReadonlyArray<string>): JsonObject =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const value = opportunity[key]
        return value === undefined ? [] : [[key, value] as const]
      })
    )
  context.print(recordText({ ...chosen(header), number: opportunity["number"] ?? "pending" }, context.terminal))
  const items = rowsOr(opportunity["items"])
  const costs = rowsOr(opportunity["costs"])
  if (context.terminal.is_tty) {
    if (items.length > 0) context.print(`\n${tableText(columnsOf("items") ?? [], items, context.terminal)}`)
    if (costs.length > 0) context.print(`\n${tableText(columnsOf("costs") ?? [], costs, context.terminal)}`)
    context.print("\n")
  }
  context.print(
    recordText(
      Object.fromEntries(
        Object.entries(chosen(sums)).filter(
          ([key, value]) => value !== null && (!zero.test(String(value)) || key === "charge_including_tax_total")
        )
      ),
      context.terminal
    )
  )
  if (explained) context.print(`\n${explanationText(body["explanation"], context.terminal)}`)
}
