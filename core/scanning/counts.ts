/** How far an order is, as whoever scans reads it: whole pieces, those that are back among those that went out. */
import { Effect } from "effect"
import type { Failure } from "../kernel/failure.ts"
import type { Settings } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { type LinePieces, loadLinePieces } from "../opportunities/pieces.ts"
import { opportunity_items } from "../opportunities/lines/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { asset_assignments, missing } from "../opportunities/units/schema.ts"
import { demands } from "../demands/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { stores } from "../stores/stores.ts"
import { service_records } from "../workshop/schema.ts"
import { unitCode } from "./read-code.ts"
import type { count_fields, Scanned } from "./result.ts"

export type Counts = { readonly [K in keyof typeof count_fields]: number }

const sumOf = (lines: ReadonlyArray<LinePieces>, lost: number): Counts => {
  const total = { asked: 0, packed: 0, out: 0, back: 0, lost, to_go: 0 }
  for (const line of lines) {
    const [asked, out] = [Math.ceil(line.wanted), Math.floor(line.gone)]
    total.asked += asked
    total.packed += Math.floor(line.packed)
    total.out += out
    total.back += Math.floor(line.back)
    total.to_go += Math.max(0, asked - out)
  }
  return total
}

/** The counts of an order as it is stored: six queries. */
export const loadCounts = Effect.fnUntraced(function* (
  opportunity_id: number,
  settings: Settings
): Effect.fn.Return<Counts, Failure, Store> {
  const piecesOf = yield* loadLinePieces([opportunity_id], settings)
  const records = yield* (yield* Store).find(service_records, { opportunity_id, state: "lost", ended_at: null })
  // Checks of lines make records that name the line; what somebody reports lost meanwhile is not back.
  const checked_in = records.filter((record) => record.opportunity_item_id !== null)
  return sumOf(
    piecesOf(opportunity_id),
    checked_in.reduce((sum, { quantity }) => sum + quantity, 0)
  )
})

/** What there is of a bulk product at a store, where more of it is out with orders than that; otherwise undefined. */
export const beyondStock = Effect.fnUntraced(function* (
  product_id: number,
  store_id: number
): Effect.fn.Return<{ readonly held: number; readonly out: number } | undefined, Failure, Store> {
  const store = yield* Store
  const levels = yield* store.pick(stock_levels, ["quantity_held"], { product_id, store_id })
  const claims = yield* store.pick(demands, ["source_type", "source_id"], { product_id, store_id, is_active: true })
  const lines = yield* store.pickMany(
    opportunity_items,
    ["id", "dispatched_quantity", "returned_quantity"],
    [...new Set(claims.flatMap((one) => (one.source_type === "opportunity_item" ? [one.source_id] : [])))]
  )
  const held = levels.reduce((sum, level) => sum + Number(level.quantity_held), 0)
  const out = lines.reduce((sum, line) => sum + Number(line.dispatched_quantity) - Number(line.returned_quantity), 0)
  return out > held ? { held, out } : undefined
})

/** A unit that is here again, and that somebody recorded as lost: whether it was found is for a person to say. */
const foundText = Effect.fnUntraced(function* ({
  name,
  opportunity_id,
  stock_level_id
}: Scanned): Effect.fn.Return<ReadonlyArray<string>, Failure, Store> {
  const store = yield* Store
  const level = stock_level_id === null ? undefined : yield* store.get(stock_levels, stock_level_id)
  if (level?.service_state !== "lost" || opportunity_id === null) return []
  const as_missing = { stock_level_id: level.id, opportunity_id, condition_on_return: missing }
  if (yield* store.exists(asset_assignments, as_missing)) return []
  return [`${name} is recorded as lost; if this is it, release it: flightcase units release ${unitCode(level.id)}`]
})

/** What to know of a unit that came back, and of a bulk product that was booked out. */
export const warningsOf = Effect.fnUntraced(function* (
  scanned: Scanned
): Effect.fn.Return<ReadonlyArray<string>, Failure, Store> {
  const { direction, kind, name, opportunity_id, opportunity_item_id, product_id } = scanned
  if (direction === "in" && kind === "unit") return yield* foundText(scanned)
  if (direction !== "out" || kind !== "bulk" || product_id === null || opportunity_id === null) return []
  const store = yield* Store
  const line = opportunity_item_id === null ? undefined : yield* store.get(opportunity_items, opportunity_item_id)
  const store_id = line?.dispatch_store_id ?? (yield* store.get(opportunities, opportunity_id))?.store_id ?? null
  if (store_id === null) return []
  const beyond = yield* beyondStock(product_id, store_id)
  if (beyond === undefined) return []
  const { held, out } = beyond
  const place = (yield* store.get(stores, store_id))?.name ?? "the store"
  return [`${out} × ${name} are out, ${out - held} more than ${place} holds (${held}).`]
})
