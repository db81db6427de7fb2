/** `orders show` and `quote show`: an opportunity with its lines, costs and totals. */
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { rowIn, rowsOr } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { resolveId } from "../../resolve-id.ts"
import { blocksText } from "../../output/blocks.ts"
import { columnsOf } from "../../output/columns.ts"
import { spokenNumber } from "../../../core/values/short-text.ts"
import { onClockOf } from "../../output/table.ts"
import { explanationText } from "../../output/explanation.ts"

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
/** What was agreed before the hire was extended, where it was. */
const original = ["original_starts_at", "original_ends_at"]
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

const piecesIn = ({ pieces }: JsonObject): JsonObject =>
  isJsonObject(pieces) ? { packed: pieces["packed"] ?? 0, out: pieces["out"] ?? 0, back: pieces["back"] ?? 0 } : {}

/** Prints an opportunity, with --json as the API gives it; `explained` adds how its figures were worked out, in words. */
export const showOpportunity = async (context: CommandContext, path: string, explained = false): Promise<void> => {
  const included = "items,costs,member,venue,store"
  const body = await context.read(path, [
    ["include", context.options.json === true ? included : `${included},items.assets,pieces`],
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
  const agreed = Object.fromEntries(Object.entries(chosen(original)).filter(([, value]) => value !== null))
  const totals = Object.fromEntries(
    Object.entries(chosen(sums)).filter(
      ([key, value]) => value !== null && (!zero.test(String(value)) || key === "charge_including_tax_total")
    )
  )
  context.print(
    blocksText(
      [
        {
          record: {
            ...chosen(header),
            number: typeof opportunity["number"] === "string" ? spokenNumber(opportunity["number"]) : "pending",
            ...agreed,
            ...piecesIn(opportunity)
          }
        },
        { columns: columnsOf("items") ?? [], rows: rowsOr(opportunity["items"]) },
        { columns: columnsOf("costs") ?? [], rows: rowsOr(opportunity["costs"]) },
        { record: totals }
      ],
      onClockOf(context.terminal, opportunity)
    )
  )
  if (explained) context.print(`\n${explanationText(body["explanation"], context.terminal)}`)
  const { noteToReplace } = await import("../shortages/to-replace.ts")
  await noteToReplace(context, path, opportunity)
}
