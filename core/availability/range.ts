/** What is free over a span, slot by slot (rules/availability 6.2). */
import { instantOf } from "../values/time.ts"
import { type Period, clipped } from "../values/period.ts"
import { type AvailabilitySnapshot, compositionOf, isTracked } from "./snapshot.ts"
import { freeUnits } from "./kits.ts"
import { slotBounds } from "./slots.ts"
import { breakdownWithWaitingAt, timelineOf } from "./timeline.ts"

export interface AvailabilitySlot {
  readonly slot_start: string
  readonly total_stock: number
  readonly total_demanded: number
  readonly available: number
  readonly demand_breakdown: { readonly [source_type: string]: number }
  readonly pending_checkin_quantity: number
}

export interface RangeAvailability {
  readonly product_id: number
  readonly store_id: number
  readonly from: string
  readonly to: string
  readonly min_available: number | null
  readonly max_available: number | null
  /** When the figures were computed; null without slots, and for composed products. */
  readonly calculated_at: string | null
  readonly slots: ReadonlyArray<AvailabilitySlot>
}

/**
 * Slots of [from, to) inside the horizon, the one in progress at `from` included. No slots for a product that is not
 * tracked or that the store never had stock of or demands on, nor for a kit without pool parts.
 */
export const rangeAvailability = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  window: Period
): RangeAvailability => {
  const isComposed = compositionOf(snapshot.products.get(product_id)) !== "plain"
  const inside = clipped(window, snapshot.horizon)
  const slots =
    inside === undefined || !isTracked(snapshot, product_id)
      ? []
      : isComposed
        ? composedSlots(snapshot, product_id, inside)
        : snapshot.known.includes(product_id)
          ? ownSlots(snapshot, product_id, inside)
          : []
  const free = slots.map((slot) => slot.available)
  return {
    product_id,
    store_id: snapshot.store_id,
    from: instantOf(window.from),
    to: instantOf(window.to),
    min_available: lowest(free),
    max_available: highest(free),
    calculated_at: slots.length === 0 || isComposed ? null : instantOf(snapshot.now),
    slots
  }
}

const ownSlots = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  { from, to }: Period
): ReadonlyArray<AvailabilitySlot> => {
  const bounds = slotBounds(from, to, snapshot.resolution, snapshot.zone)
  const line = timelineOf(snapshot, product_id, bounds)
  return line.available.map((available, slot) => {
    return {
      slot_start: instantOf(bounds[slot] ?? from),
      total_stock: line.total_stock[slot] ?? 0,
      total_demanded: line.total_demanded[slot] ?? 0,
      available,
      demand_breakdown: breakdownWithWaitingAt(line, slot),
      pending_checkin_quantity: line.pending_checkin[slot] ?? 0
    }
  })
}

const composedSlots = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  { from, to }: Period
): ReadonlyArray<AvailabilitySlot> => {
  const bounds = slotBounds(from, to, snapshot.resolution, snapshot.zone)
  return (freeUnits(snapshot, product_id, bounds) ?? []).map((available, slot) => ({
    slot_start: instantOf(bounds[slot] ?? from),
    total_stock: 0,
    total_demanded: 0,
    available,
    demand_breakdown: {},
    pending_checkin_quantity: 0
  }))
}

/** The lowest figure, null of none. `Math.min(...)` would fail for the number of arguments of a long range. */
export const lowest = (figures: ReadonlyArray<number>): number | null =>
  figures.reduce<number | null>((least, figure) => (least === null || figure < least ? figure : least), null)

export const highest = (figures: ReadonlyArray<number>): number | null =>
  figures.reduce<number | null>((most, figure) => (most === null || figure > most ? figure : most), null)
