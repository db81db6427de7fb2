/** Availability of a product over a span, and shortages of opportunity lines (rules/availability 6.2, 6.8, 9). */
import { dayOf, instantOf, millisOf } from "../../../values/time.ts"
import { clipped, inOrder, openEndMillis, type Period } from "../../../values/period.ts"
import { type AvailabilitySnapshot, compositionOf, isTracked, wholeUnits } from "./snapshot.ts"
import { breakdownWithWaitingAt, freeUnits, timelineOf } from "./kits.ts"
import { type ActiveDemand, type Resolution, slotBounds, slotCeiling } from "./demand.ts"

// Availability over a span, slot by slot (rules/availability 6.2).

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
  /** When the figures were computed; null without slots and for composed products. */
  readonly calculated_at: string | null
  readonly slots: ReadonlyArray<AvailabilitySlot>
}

/**
 * Slots of [from, to) inside the horizon, including the one in progress at `from`. Empty for untracked products, for
 * products the store never had stock or demands of, and for kits without pool parts.
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

/** The minimum; null for an empty list. `Math.min(...)` would exceed the limit of arguments for a long range. */
const lowest = (figures: ReadonlyArray<number>): number | null =>
  figures.reduce<number | null>((least, figure) => (least === null || figure < least ? figure : least), null)

const highest = (figures: ReadonlyArray<number>): number | null =>
  figures.reduce<number | null>((most, figure) => (most === null || figure > most ? figure : most), null)

/** A line with a product and its window (`lineWindow`); the snapshot is of the line's store. */
export interface LineRequest {
  readonly id: number
  readonly product_id: number
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
}

export interface LineAvailability {
  readonly opportunity_item_id: number
  readonly product_id: number
  readonly store_id: number
  readonly requested_quantity: number
  /** Minimum over the window's slots; may be negative. */
  readonly available_for_item: number
  /** Missing quantity at the store with this line included, also by overbooking of others. */
  readonly shortage_quantity: number
  readonly has_shortage: boolean
  readonly from: string
  readonly to: string
}

/** The snapshot without the demands of one source, as if that line did not exist. */
const withoutSource = (
  snapshot: AvailabilitySnapshot,
  source_type: string,
  source_id: number
): AvailabilitySnapshot => ({
  ...snapshot,
  demandsOf: (product_id) =>
    snapshot
      .demandsOf(product_id)
      .filter(({ demand }) => demand.source_type !== source_type || demand.source_id !== source_id)
})

/** A product's demands by source id, and its availability over the last bounds requested. */
interface ProductSums {
  readonly by_source: ReadonlyMap<number, ReadonlyArray<ActiveDemand>>
  last?: ReturnType<typeof freeBySlot>
}
/** Kept by snapshot, which therefore may not change. */
const sums_of = new WeakMap<AvailabilitySnapshot, Map<number, ProductSums>>()
const sumsOf = (snapshot: AvailabilitySnapshot, product_id: number): ProductSums => {
  let of_products = sums_of.get(snapshot)
  if (of_products === undefined) sums_of.set(snapshot, (of_products = new Map()))
  let sums = of_products.get(product_id)
  if (sums === undefined) {
    const by_source = Map.groupBy(snapshot.demandsOf(product_id), ({ demand }) => demand.source_id)
    of_products.set(product_id, (sums = { by_source }))
  }
  return sums
}
/**
 * Availability in the window's slots without the line's own demands. Those of a plain product are added to what is
 * free, so that many lines do not each sum up the demands of all.
 */
const freeWithout = (
  snapshot: AvailabilitySnapshot,
  source_type: string,
  { id, product_id }: LineRequest,
  window: Period
): ReturnType<typeof freeBySlot> => {
  if (compositionOf(snapshot.products.get(product_id)) !== "plain")
    return freeBySlot(withoutSource(snapshot, source_type, id), product_id, window)
  const sums = sumsOf(snapshot, product_id)
  const bounds = slotsOf(snapshot, window)
  const { free } = sums.last?.bounds === bounds ? sums.last : (sums.last = freeBySlot(snapshot, product_id, window))
  const own = (sums.by_source.get(id) ?? []).filter(({ demand }) => demand.source_type === source_type)
  const { total_demanded } = timelineOf({ ...snapshot, demandsOf: () => own, stockOf: () => [] }, product_id, bounds)
  return { bounds, free: free.map((quantity, slot) => quantity + (total_demanded[slot] ?? 0)) }
}

/** One entry of `GET /opportunities/{id}/availability`. Untracked products are never short. */
export const lineAvailability = (
  snapshot: AvailabilitySnapshot,
  line: LineRequest,
  source_type = "opportunity_item"
): LineAvailability => {
  const window = inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) })
  const requested_quantity = requestedUnits(line.quantity)
  const available_for_item = lowest(freeWithout(snapshot, source_type, line, window).free) ?? 0
  const shortage_quantity = isTracked(snapshot, line.product_id)
    ? Math.max(0, requested_quantity - available_for_item)
    : 0
  return {
    opportunity_item_id: line.id,
    product_id: line.product_id,
    store_id: snapshot.store_id,
    requested_quantity,
    available_for_item,
    shortage_quantity,
    has_shortage: shortage_quantity > 0,
    from: instantOf(window.from),
    to: instantOf(window.to)
  }
}

export const tracking_types = { bulk: "Bulk", serialised: "Serialised" } as const
export interface LineShortage {
  readonly opportunity_item_id: number
  readonly opportunity_id: number
  readonly product_id: number
  readonly product_name: string | null
  readonly store_id: number
  /** First day of the store on which the line is not fully available; `last_date`: the last one. */
  readonly date: string
  readonly last_date: string
  readonly requested_quantity: number
  /** Minimum over the window's slots, without the line's own demands; negative if others are overbooked. */
  readonly available: number
  /** `available`, or 0 if negative. */
  readonly available_quantity: number
  /** Unavailable quantity of this line; at most the full line. */
  readonly shortfall: number
  /** Missing quantity at the store on the worst day with this line included, as in the sweep's day. */
  readonly severity: number
  /** Part of the shortfall not covered by resolutions in progress. */
  readonly remaining_shortfall: number
  /** Quantity on order from suppliers, not yet received, that the line can count on. */
  readonly on_order_quantity: number
  readonly tracking_type: "bulk" | "serialised"
  readonly starts_at: string
  readonly ends_at: string
  /** Whether the opportunity is an order. */
  readonly is_critical: boolean
}

/**
 * The shortage of a line; undefined without one. The only definition of a shortage (rules/availability 9): the
 * opportunity's flag, the lists and the gates use it.
 */
export const lineShortage = (
  snapshot: AvailabilitySnapshot,
  line: LineRequest,
  opportunity: { readonly opportunity_id: number; readonly is_order: boolean },
  resolved_quantity = 0
): LineShortage | undefined => {
  const found = lineAvailability(snapshot, line)
  if (!found.has_shortage) return undefined
  const product = snapshot.products.get(line.product_id)
  const available_quantity = Math.max(0, found.available_for_item)
  const shortfall = found.requested_quantity - available_quantity
  return {
    opportunity_item_id: line.id,
    opportunity_id: opportunity.opportunity_id,
    product_id: line.product_id,
    product_name: product?.name ?? null,
    store_id: snapshot.store_id,
    ...shortDays(snapshot, line, found),
    requested_quantity: found.requested_quantity,
    available: found.available_for_item,
    available_quantity,
    shortfall,
    severity: found.shortage_quantity,
    remaining_shortfall: Math.max(0, shortfall - resolved_quantity),
    on_order_quantity: resolved_quantity,
    tracking_type: product?.is_serialised === true ? "serialised" : "bulk",
    starts_at: found.from,
    ends_at: found.to,
    is_critical: opportunity.is_order
  }
}

/** Days of the first and the last slot with less than requested. */
const shortDays = (
  snapshot: AvailabilitySnapshot,
  line: LineRequest,
  { from, requested_quantity, to }: LineAvailability
): Pick<LineShortage, "date" | "last_date"> => {
  const window = { from: millisOf(from), to: millisOf(to) }
  const { bounds, free } = freeWithout(snapshot, "opportunity_item", line, window)
  const short = free.flatMap((quantity, slot) => (quantity < requested_quantity ? [bounds[slot] ?? window.from] : []))
  // A slot may begin before the hire, and an uncountable kit has no slots.
  const day = (at: number): string => dayOf(Math.max(at, window.from), snapshot.zone)
  return { date: day(short[0] ?? window.from), last_date: day(short.at(-1) ?? window.from) }
}

/** Whole units that a line requests, at least one; halves round up. */
export const requestedUnits = (quantity: number): number => Math.max(1, wholeUnits(Math.round(quantity * 10_000)))

/** Minimum available units of a product in the window's slots; 0 for an uncountable kit. */
export const lowestFree = (snapshot: AvailabilitySnapshot, product_id: number, window: Period): number =>
  lowest(freeBySlot(snapshot, product_id, window).free) ?? 0

/** Availability in the slots that the window meets, with their bounds; no slots for an uncountable kit. */
const freeBySlot = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  window: Period
): { readonly bounds: ReadonlyArray<number>; readonly free: ReadonlyArray<number> } => {
  const bounds = slotsOf(snapshot, window)
  return { bounds, free: freeUnits(snapshot, product_id, bounds) ?? [] }
}
const slotsOf = (snapshot: AvailabilitySnapshot, window: Period): ReadonlyArray<number> => {
  const { from, to } = countable(snapshot, window)
  return slotBounds(from, to, snapshot.resolution, snapshot.zone)
}

const slotMillis: { readonly [R in Resolution]: number } = {
  daily: 86_400_000,
  half_daily: 21_600_000,
  hourly: 3_600_000
}

/** Cuts open and too long windows to the horizon; one that starts beyond it is judged by its first slot. */
const countable = ({ horizon, resolution }: AvailabilitySnapshot, { from, to }: Period): Period => {
  // Days may have 23 hours: with 10 % margin, clock changes cannot exceed the ceiling.
  const longest = slotMillis[resolution] * slotCeiling * 0.9
  if (to < openEndMillis && to - from <= longest) return { from, to }
  if (from >= horizon.to) return { from, to: from }
  const start = Math.max(from, horizon.from)
  // A horizon of many years has too many hourly slots.
  return { from: start, to: Math.min(horizon.to, start + longest) }
}
