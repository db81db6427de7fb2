/** The lines of an order that are short, and what each may have: those of one product share what there is of it. */
import { demandPhaseOf } from "../availability/phase.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import type { AskFacts, Given } from "./about.ts"

export interface ShortLine {
  readonly opportunity_item_id: number
  readonly product_name: string
  /** What is free for it, were it alone. */
  readonly available: number
  /** What is free for it once the lines before it have theirs. */
  readonly quantity: number
  /** What the other lines of its product have then. */
  readonly beside: number
}
export interface ShortLines {
  readonly lines: ReadonlyArray<ShortLine>
  /** What is short even were each line alone: that can be waited for. */
  readonly alone: ReadonlyArray<ShortLine>
  /** The order with its lines. */
  readonly shown: JsonObject | undefined
}
/** Is something left for the line, or can it be done without, as others of its product have theirs? */
export const canBeReduced = ({ available, quantity }: ShortLine): boolean => quantity > 0 || available > 0

export const objectOf = ({ body, status }: Given): JsonObject => (status < 400 && isJsonObject(body) ? body : {})
export const objectsIn = (value: Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const shortLines = async (facts: AskFacts, id: number): Promise<ShortLines> => {
  const path = `/api/v1/opportunities/${id}`
  const read = async (below: string, query: ReadonlyArray<readonly [string, string]> = []): Promise<JsonObject> =>
    objectOf(await facts({ method: "GET", path: `${path}${below}`, query, body: undefined }))
  const told = objectsIn((await read("/shortages"))["shortages"])
  const alone = told
    .filter((one) => Number(one["remaining_shortfall"]) > 0)
    .map((one): ShortLine => {
      const available = Number(one["available_quantity"])
      const product_name = String(one["product_name"])
      const opportunity_item_id = Number(one["opportunity_item_id"])
      return { opportunity_item_id, product_name, available, quantity: available, beside: 0 }
    })
  const opportunity = (await read("", [["include", "items"]]))["opportunity"]
  const shown = isJsonObject(opportunity) ? opportunity : undefined
  if (shown === undefined || !isWithoutDemands(shown)) return { lines: alone, alone, shown }
  const on_order = new Map(told.map((one) => [Number(one["opportunity_item_id"]), Number(one["on_order_quantity"])]))
  const asking = objectsIn((await read("/availability"))["availability"])
    .map(entryOf)
    .map((one) => ({ ...one, on_order: on_order.get(one.opportunity_item_id) ?? 0 }))
  const groups = [...Map.groupBy(asking, (one) => `${one.store_id}/${one.product_id}`).values()]
  const shared: Array<ShortLine> = []
  for (const group of groups)
    if (group.length > 1 && (await isTracked(facts, group[0]?.product_id))) shared.push(...sharedOut(group))
  const ids = new Set(shared.map((one) => one.opportunity_item_id))
  return { lines: [...alone.filter((one) => !ids.has(one.opportunity_item_id)), ...shared], alone, shown }
}
/** What takes no stock yet is not short of what it takes itself: its lines do not see each other. */
const isWithoutDemands = ({ state, status }: JsonObject): boolean =>
  typeof state === "number" && typeof status === "number" && demandPhaseOf(state, status) === "draft"
const isTracked = async (facts: AskFacts, product_id: number | undefined): Promise<boolean> => {
  const asked = { method: "GET", path: `/api/v1/products/${product_id}`, query: [], body: undefined } as const
  const product = objectOf(await facts(asked))["product"]
  return isJsonObject(product) && product["track_availability"] !== false
}

interface Entry {
  readonly opportunity_item_id: number
  readonly product_id: number
  readonly product_name: string
  readonly store_id: number
  readonly requested: number
  readonly available: number
  readonly from: number
  readonly to: number
}
const entryOf = (one: JsonObject): Entry => ({
  opportunity_item_id: Number(one["opportunity_item_id"]),
  product_id: Number(one["product_id"]),
  product_name: String(one["product_name"]),
  store_id: Number(one["store_id"]),
  requested: Number(one["requested_quantity"]),
  available: Math.max(0, Number(one["available_for_item"])),
  from: Date.parse(String(one["from"])),
  to: Date.parse(String(one["to"]))
})
/** In the order of the lines each takes what those before it leave; those that get less than they ask for. */
const sharedOut = (lines: ReadonlyArray<Entry & { readonly on_order: number }>): ReadonlyArray<ShortLine> => {
  const given: Array<Entry & { readonly quantity: number; readonly of_stock: number }> = []
  for (const line of lines) {
    const taken = given
      .filter(({ from, to }) => from < line.to && line.from < to)
      .reduce((sum, { of_stock }) => sum + of_stock, 0)
    const of_stock = Math.min(line.requested, Math.max(0, line.available - taken))
    // What is on order for a line is not taken from the others.
    given.push({ ...line, of_stock, quantity: Math.min(line.requested, of_stock + line.on_order) })
  }
  const all = given.reduce((sum, { quantity }) => sum + quantity, 0)
  return given
    .filter(({ quantity, requested }) => quantity < requested)
    .map(({ available, opportunity_item_id, product_name, quantity }) => ({
      opportunity_item_id,
      product_name,
      available,
      quantity,
      beside: all - quantity
    }))
}
