/** Availability at one moment (rules/availability 6.1). */
import { firstOf } from "../../../values/text.ts"
import { type AvailabilitySnapshot, compositionOf } from "./snapshot.ts"
import { breakdownAt, freeUnits, timelineOf } from "./kits.ts"
import { slotBounds } from "./slots.ts"
import { dayOf } from "../../../values/time.ts"

export interface PointAvailability {
  readonly product_id: number
  readonly store_id: number
  /** The store-local day of the slot. */
  readonly date: string
  readonly total_stock: number
  readonly total_demanded: number
  /** May be negative: a shortage. */
  readonly available: number
  readonly demand_breakdown: { readonly [source_type: string]: number }
}

/** The slot that holds `at` (milliseconds), at any date, beyond the horizon too. */
export const pointAvailability = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  at: number
): PointAvailability => {
  const bounds = slotBounds(at, at, snapshot.resolution, snapshot.zone)
  const where = { product_id, store_id: snapshot.store_id, date: dayOf(firstOf(bounds), snapshot.zone) }
  if (compositionOf(snapshot.products.get(product_id)) !== "plain") {
    const available = freeUnits(snapshot, product_id, bounds)?.[0] ?? 0
    return { ...where, total_stock: available, total_demanded: 0, available, demand_breakdown: {} }
  }
  const line = timelineOf(snapshot, product_id, bounds)
  return {
    ...where,
    total_stock: firstOf(line.total_stock),
    total_demanded: firstOf(line.total_demanded),
    available: firstOf(line.available),
    demand_breakdown: breakdownAt(line, 0)
  }
}
