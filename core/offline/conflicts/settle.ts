/** Resolves a conflict by changing the command or its order and recording it again, or by waiting for the goods. */
import type { Fields, JsonObject } from "../../kernel/index.ts"
import { type AskFacts, canBeReduced, type Given, type Refused, refused, shortLines } from "./short-lines.ts"

export interface HireDates {
  readonly starts_at: string
  readonly ends_at: string
}
type OrderChange = { readonly reduce_to: number | "free" } | { readonly dates: HireDates } | { readonly waitlist: true }

interface SettleParts {
  readonly fields: Fields
  readonly ask: AskFacts
  /** Records the command again, with another body if given. */
  readonly retry: (body?: JsonObject) => Promise<Given>
  /** Drops the command. */
  readonly drop: () => void
}

/** Changes the refused command, or the order by commands of their own, and retries it; `waitlist` drops it. */
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
    return refused("This command is about no order: --set, --edit or --amend change what it asks for.")
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
  return reduced(parts, path, id, how.reduce_to)
}

/** Reduces the short lines to the available quantity, or to `to` if there is one such line. */
const reduced = async (parts: SettleParts, path: string, id: number, to: number | "free"): Promise<Given> => {
  const { lines } = await shortLines(parts.ask, id)
  if (to !== "free" && lines.length > 1)
    return refused(`${lines.length} lines are short: --reduce-to free asks for what is free of each.`)
  for (const one of lines) {
    if (to === "free" && !canBeReduced(one))
      return refused(`Nothing of ${one.product_name} is free; take it out or move the dates.`)
    const quantity = to === "free" ? one.quantity : to
    const line = { path: `${path}/items/${one.opportunity_item_id}`, query: [] }
    const less = await parts.ask(
      quantity === 0
        ? { ...line, method: "DELETE", body: undefined }
        : { ...line, method: "PATCH", body: { quantity: String(quantity) } }
    )
    if (less.status >= 400) return less
  }
  return parts.retry()
}
