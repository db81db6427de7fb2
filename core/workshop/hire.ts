/** The hire that damage or a loss is said to be of: what was never with it is not charged to its customer. */
import { Effect } from "effect"
import type { Failure } from "../kernel/endpoint.ts"
import { isJsonObject } from "../kernel/json.ts"
import { journal } from "../kernel/journal.ts"
import { invalidField } from "../kernel/rejection.ts"
import { Store } from "../kernel/store/store.ts"
import { product_components } from "../kits/schema.ts"
import { opportunityStream } from "../opportunities/event-families.ts"
import { opportunity_items } from "../opportunities/lines/schema.ts"
import { opportunityName } from "../opportunities/called.ts"
import { opportunities } from "../opportunities/schema.ts"
import { asset_assignments } from "../opportunities/units/schema.ts"
import { container_items, containers } from "../packing/schema.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import { isUnit, levelName } from "./decide.ts"

/** Kits within kits: more levels than any setting allows. */
const nested_max = 25

/** The product and every kit that it is a part of. */
const asPartOf = Effect.fnUntraced(function* (product_id: number): Effect.fn.Return<Array<number>, Failure, Store> {
  const store = yield* Store
  const found = new Set([product_id])
  let level = [product_id]
  for (let depth = 0; depth < nested_max && level.length > 0; depth++) {
    const kits = (yield* store.find(product_components, { component_product_id: level })).map((one) => one.product_id)
    level = [...new Set(kits)].filter((id) => !found.has(id))
    for (const id of level) found.add(id)
  }
  return [...found]
})

/** The unit itself and the cases it travelled in, and whether one of these went with the order. */
const travelled = Effect.fnUntraced(function* (unit_id: number, opportunity_id: number) {
  const store = yield* Store
  const packings = yield* store.find(container_items, { serialised_item_id: unit_id })
  const cases = yield* store.getMany(containers, [...new Set(packings.map((one) => one.container_id))])
  const outer = yield* store.getMany(containers, [...new Set(cases.flatMap((one) => one.parent_container_id ?? []))])
  const all = [...cases, ...outer]
  return {
    ids: [unit_id, ...all.flatMap((one) => one.serialised_item_id ?? [])],
    went:
      all.some((one) => one.opportunity_id === opportunity_id) ||
      packings.some((one) => one.returned_from_opportunity_id === opportunity_id)
  }
})
/** A unit that broke on site and was exchanged stands on no line any more. */
const wasExchanged = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, opportunity_id: number) {
  const events = yield* (yield* Store).find(journal, {
    stream: opportunityStream(opportunity_id),
    type: "opportunity.asset_substituted"
  })
  return events.some(({ data }) => {
    const was = isJsonObject(data) ? data["was"] : undefined
    return isJsonObject(was) && ids.includes(Number(was["stock_level_id"]))
  })
})

const wasOn = Effect.fnUntraced(function* (level: StockLevelRow, opportunity_id: number) {
  const store = yield* Store
  if (!isUnit(level)) {
    const asked = yield* store.first(opportunity_items, { opportunity_id, item_id: yield* asPartOf(level.product_id) })
    return asked !== undefined
  }
  const { ids, went } = yield* travelled(level.id, opportunity_id)
  if (went || (yield* store.first(asset_assignments, { opportunity_id, stock_level_id: ids })) !== undefined)
    return true
  return yield* wasExchanged(ids, opportunity_id)
})

/**
 * 422 on `opportunity_id` for a unit that was never with it, naming the hire it was with last, and for a bulk product
 * that no line of it asks for.
 */
export const requireHire = Effect.fnUntraced(function* (
  level: StockLevelRow,
  opportunity_id: number | null | undefined
): Effect.fn.Return<void, Failure, Store> {
  if (opportunity_id == null || (yield* wasOn(level, opportunity_id))) return
  const store = yield* Store
  const nameOf = Effect.fnUntraced(function* (id: number) {
    return opportunityName(id, yield* store.get(opportunities, id))
  })
  const name = yield* nameOf(opportunity_id)
  if (!isUnit(level))
    return yield* invalidField("opportunity_id", `No line of ${name} asks for ${levelName(level)}; name another hire.`)
  const [last] = yield* store.find(asset_assignments, { stock_level_id: level.id }, { order: ["-id"], limit: 1 })
  const way_out =
    last === undefined ? "it was on no hire yet" : `it was last on ${yield* nameOf(last.opportunity_id)}; name that one`
  return yield* invalidField("opportunity_id", `${levelName(level)} was never on ${name}: ${way_out}.`)
})
