/** Quotes and orders as they are shown: a head, its lines, its sums. */
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import type { Desk } from "../desk.ts"
import { idOf } from "../find.ts"
import { columnsOf } from "../output/columns.ts"
import { explanationText } from "../output/explanation.ts"
import { recordText, tableText } from "../output/table.ts"

const head = ["id", "number", "subject", "reference", "state_label", "status_label", "member", "venue", "store", "starts_at", "ends_at", "has_shortage", "currency_code"]
const sums = [
  "rental_charge_total", "sale_charge_total", "service_charge_total", "sub_rental_charge_total", "transit_charge_total", "loss_damage_charge_total",
  "deal_total", "charge_excluding_tax_total", "tax_total", "charge_including_tax_total"
]
const nothing = /^-?0+(\.0+)?$/

export const dealPath = async (desk: Desk, named: string): Promise<string> => `/api/v1/opportunities/${await idOf(desk, "opportunities", named)}`

/** Shows a quote or order with its lines, and in words how its figures came about if asked; with --json the API's own answer. */
export const showDeal = async (desk: Desk, path: string, explained = false): Promise<void> => {
  const body = await desk.read(path, [["include", "items,costs,member,venue,store"], ...(explained ? [["explain", "1"]] as const : [])])
  if (desk.options.json === true) return desk.printJson(body)
  const deal = body["opportunity"] as JsonObject
  const chosen = (keys: ReadonlyArray<string>): JsonObject => Object.fromEntries(keys.filter((key) => deal[key] !== undefined).map((key) => [key, deal[key]!]))
  desk.print(recordText({ ...chosen(head), number: deal["number"] ?? "pending" }, desk.terminal))
  const items = rows(deal["items"])
  const costs = rows(deal["costs"])
  if (desk.terminal.seen) {
    if (items.length > 0) desk.print(`\n${tableText(columnsOf("items")!, items, desk.terminal)}`)
    if (costs.length > 0) desk.print(`\n${tableText(columnsOf("costs") ?? [], costs, desk.terminal)}`)
    desk.print("\n")
  }
  desk.print(recordText(Object.fromEntries(Object.entries(chosen(sums)).filter(([key, value]) => value !== null && (!nothing.test(String(value)) || key === "charge_including_tax_total"))), desk.terminal))
  if (explained) desk.print(`\n${explanationText(body["explanation"], desk.terminal)}`)
}
const rows = (value: unknown): ReadonlyArray<JsonObject> => Array.isArray(value) ? value.filter(isJsonObject) : []
