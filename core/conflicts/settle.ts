/** Settling a conflict by changing what the command is about, or what it asks for, and recording it again. */
import type { Fields } from "../kernel/field.ts"
import { isJsonObject, type JsonObject } from "../kernel/json.ts"
import type { Refused } from "./about.ts"
import type { AskFacts, Given } from "./ways.ts"

export interface HireDates {
  readonly starts_at: string
  readonly ends_at: string
}
export type OrderChange =
  | { readonly reduce_to: number | "free" }
  | { readonly dates: HireDates }
  | { readonly waitlist: true }

interface SettleParts {
  /** Fields of the command's endpoint. */
  readonly fields: Fields
  readonly ask: AskFacts
  /** Records the command again; with another body where one is given. */
  readonly retry: (body?: JsonObject) => Promise<Given>
  /** Gives it up. */
  readonly drop: () => void
}
const refusal = (message: string): Given => ({ status: 422, body: { message } })

/** Each change is a command of its own, recorded before the refused one is recorded again. */
export const settleByOrder = async (parts: SettleParts, command: Refused, how: OrderChange): Promise<Given> => {
  const { fields } = parts
  const { body } = command
  if ("dates" in how && "starts_at" in fields && "ends_at" in fields) return parts.retry({ ...body, ...how.dates })
  if ("reduce_to" in how && how.reduce_to !== "free" && body["quantity"] !== undefined)
    return parts.retry({
      ...body,
      quantity: typeof body["quantity"] === "string" ? String(how.reduce_to) : how.reduce_to
    })
  const id = Number(command.params["id"])
  if (!command.name.startsWith("opportunities.") || !Number.isInteger(id))
    return refusal("This command is about no order: --set, --edit or --amend change what it asks for.")
  const path = `/api/v1/opportunities/${id}`
  if ("waitlist" in how) {
    const waits = await parts.ask({
      method: "POST",
      path: `${path}/shortages/resolve`,
      query: [],
      body: { resolution: "waitlist" }
    })
    if (waits.status < 400) parts.drop()
    return waits
  }
  if ("dates" in how) {
    const moved = await parts.ask({ method: "POST", path: `${path}/extend`, query: [], body: { ...how.dates } })
    return moved.status >= 400 ? moved : parts.retry()
  }
  return reduced(parts, path, how.reduce_to)
}

/** The lines that are short ask for what is free, or for so many where there is one such line. */
const reduced = async (parts: SettleParts, path: string, to: number | "free"): Promise<Given> => {
  const found = await parts.ask({ method: "GET", path: `${path}/shortages`, query: [], body: undefined })
  const shortages = isJsonObject(found.body) ? found.body["shortages"] : undefined
  const short = (Array.isArray(shortages) ? shortages.filter(isJsonObject) : []).filter(
    (one) => Number(one["remaining_shortfall"]) > 0
  )
  if (to !== "free" && short.length > 1)
    return refusal(`${short.length} lines are short: --reduce-to free asks for what is free of each.`)
  for (const one of short) {
    const quantity = to === "free" ? Number(one["available_quantity"]) : to
    if (quantity <= 0)
      return refusal(`Nothing of ${String(one["product_name"])} is free; take it out or move the dates.`)
    const less = await parts.ask({
      method: "PATCH",
      path: `${path}/items/${String(one["opportunity_item_id"])}`,
      query: [],
      body: { quantity: String(quantity) }
    })
    if (less.status >= 400) return less
  }
  return parts.retry()
}
