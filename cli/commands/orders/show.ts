/** Quotes and orders as they are shown: a head, its lines, its sums. */
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { resolveId } from "../../resolve-id.ts"
import { columnsOf } from "../../output/columns.ts"
import { explanationText } from "../../output/explanation.ts"
import { recordText, tableText } from "../../output/table.ts"

const head = [
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
const nothing = /^-?0+(\.0+)?$/

export const opportunityPath = async (context: CommandContext, named: string): Promise<string> =>
  `/api/v1/opportunities/${await resolveId(context, "opportunities", named)}`

/** Shows a quote or order with its lines, and in words how its figures came about if asked; with --json the API's own answer. */
export const showOpportunity = async (context: CommandContext, path: string, explained = false): Promise<void> => {
  const body = await context.read(path, [
    ["include", "items,costs,member,venue,store"],
    ...(explained ? ([["explain", "1"]] as const) : [])
  ])
  if (context.options.json === true) return context.printJson(body)
  const opportunity = body["opportunity"] as JsonObject
  const chosen = (keys: ReadonlyArray<string>): JsonObject =>
    Object.fromEntries(keys.filter((key) => opportunity[key] !== undefined).map((key) => [key, opportunity[key]!]))
  context.print(recordText({ ...chosen(head), number: opportunity["number"] ?? "pending" }, context.terminal))
  const items = rows(opportunity["items"])
  const costs = rows(opportunity["costs"])
  if (context.terminal.is_tty) {
    if (items.length > 0) context.print(`\n${tableText(columnsOf("items")!, items, context.terminal)}`)
    if (costs.length > 0) context.print(`\n${tableText(columnsOf("costs") ?? [], costs, context.terminal)}`)
    context.print("\n")
  }
  context.print(
    recordText(
      Object.fromEntries(
        Object.entries(chosen(sums)).filter(
          ([key, value]) => value !== null && (!nothing.test(String(value)) || key === "charge_including_tax_total")
        )
      ),
      context.terminal
    )
  )
  if (explained) context.print(`\n${explanationText(body["explanation"], context.terminal)}`)
}
const rows = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])
