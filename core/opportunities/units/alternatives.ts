/** Which other units may take the place of one that cannot be allocated: what a refused command is offered instead. */
import { Effect } from "effect"
import type { Alternative, Alternatives, AskEndpoint, RefusedReference } from "../../kernel/endpoint.ts"
import { wholeNumber } from "../../kernel/input.ts"
import { isJsonObject, type Json, type JsonObject } from "../../kernel/json.ts"

const objectsIn = (value: Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
const objectIn = (body: JsonObject | undefined, key: string): JsonObject | undefined => {
  const value = body?.[key]
  return isJsonObject(value) ? value : undefined
}

/** The line the refused unit was meant for: the body names it beside the unit, or the path does. */
const lineOf = (opportunity: JsonObject, { body, field, params }: RefusedReference): JsonObject | undefined => {
  const around = field
    .split(".")
    .slice(0, -1)
    .reduce<Json | undefined>(
      (at, step) => (Array.isArray(at) ? at[Number(step)] : isJsonObject(at) ? at[step] : undefined),
      body
    )
  const id = wholeNumber((isJsonObject(around) ? around["opportunity_item_id"] : undefined) ?? params["item"])
  return objectsIn(opportunity["items"]).find((line) => line["id"] === id)
}

const unitShown = (unit: JsonObject): ReadonlyArray<Alternative> => {
  const { asset_number, barcode, id, item_name, location, serial_number } = unit
  if (typeof id !== "number") return []
  const name = asset_number ?? serial_number ?? barcode ?? item_name
  return [
    {
      id,
      name: typeof name === "string" ? name : `unit ${id}`,
      location: typeof location === "string" ? location : null
    }
  ]
}

/** Units of the same product that are free while the line is out. */
const find = Effect.fnUntraced(function* (refused: RefusedReference, ask: AskEndpoint) {
  const opportunity = objectIn(
    yield* ask(`/api/v1/opportunities/${refused.params["id"] ?? 0}`, [["include", "items"]]),
    "opportunity"
  )
  const line = opportunity === undefined ? undefined : lineOf(opportunity, refused)
  const product_id =
    line?.["item_id"] ?? objectIn(yield* ask(`/api/v1/stock_levels/${refused.id}`), "stock_level")?.["product_id"]
  const from = line?.["starts_at"] ?? opportunity?.["starts_at"]
  const to = line?.["ends_at"] ?? opportunity?.["ends_at"]
  if (typeof product_id !== "number" || typeof from !== "string" || typeof to !== "string") return []
  const store_id = line?.["dispatch_store_id"] ?? opportunity?.["store_id"]
  const found = yield* ask(`/api/v1/products/${product_id}/available-assets`, [
    ["from", from],
    ["to", to],
    ["per_page", "100"],
    ...(typeof store_id === "number" ? [["store_id", String(store_id)] as const] : [])
  ])
  return objectsIn(found?.["available_assets"]).flatMap(unitShown)
})

export const unitAlternatives: Alternatives = {
  field: "stock_level_id",
  none: "No other unit of the product is free in that time.",
  find
}
