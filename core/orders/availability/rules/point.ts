/** Availability at one moment (rules/availability 6.1). */
import { firstOf } from "../../../values/text.ts"
import { type AvailabilitySnapshot, compositionOf } from "./snapshot.ts"
import { breakdownAt, freeUnits, timelineOf } from "./kits.ts"
import { slotBounds } from "./slots.ts"
import { dayOf } from "../../../values/time.ts"
import { meets, type Period } from "../../../values/period.ts"
import { type ActiveDemand, type Buffers, noBuffers } from "./demand.ts"

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

// Which serialised units are free in a window, and which demands hold those that are not (rules/availability 6.4).

export interface AvailableAsset {
  readonly id: number
  readonly item_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  readonly location: string | null
}

/**
 * Units of the product with no active demand of their own in the window, by id. The product's own buffers widen the
 * window, so a unit listed here can be allocated without its preparation time colliding. Quantity demands exclude no
 * unit; a bulk product has none.
 */
export const availableAssets = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  window: Period
): ReadonlyArray<AvailableAsset> => {
  const window_with_buffers = widened(window, snapshot.products.get(product_id) ?? noBuffers)
  const held = new Set(
    holdersIn(snapshot.demandsOf(product_id), window_with_buffers).map(({ demand }) => demand.asset_id)
  )
  return snapshot
    .stockOf(product_id)
    .filter((row) => row.is_unit && row.from <= window.from && row.to >= window.to && !held.has(row.level.id))
    .map(({ level }) => ({
      id: level.id,
      item_name: level.item_name,
      asset_number: level.asset_number,
      serial_number: level.serial_number,
      barcode: level.barcode,
      location: level.location
    }))
    .sort((one, other) => one.id - other.id)
}

const holdersIn = (demands: ReadonlyArray<ActiveDemand>, window: Period): ReadonlyArray<ActiveDemand> =>
  demands.filter((demand) => demand.demand.is_active && demand.demand.asset_id !== null && meets(demand, window))

const widened = (window: Period, buffers: Buffers): Period => ({
  from: window.from - buffers.before_minutes * 60_000,
  to: window.to + buffers.after_minutes * 60_000
})
