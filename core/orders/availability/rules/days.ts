/** Groups slots into days of the store, for calendars, charts and sweeps (rules/availability 5, 6.5). */
import { firstOf, lastOf } from "../../../values/text.ts"
import { dayOfMoment, type LocalDay, localDays, type LocalMoment, meets, type Period } from "../../../values/period.ts"
import { dayOf } from "../../../values/time.ts"
import { type AvailabilitySnapshot, compositionOf } from "./snapshot.ts"
import { breakdownAt, freeUnits, type FreeUnitsCache, KitNestedTooDeep, timelineOf } from "./kits.ts"
import { type ActiveDemand, type Buffers, noBuffers, slotBounds } from "./demand.ts"

/**
 * The days of a span that are inside the horizon, and the bounds of their slots; the same for all products of a store.
 */
export interface DayGrid {
  readonly days: ReadonlyArray<LocalDay>
  readonly bounds: ReadonlyArray<number>
}

export interface DayCell {
  readonly date: string
  readonly min_available: number
  readonly max_available: number
  /** The day's maximum. */
  readonly pending_checkin: number
}

/** Merges two ascending lists of bounds, without duplicates. */
const mergedBounds = (one: ReadonlyArray<number>, other: ReadonlyArray<number>): ReadonlyArray<number> =>
  [...new Set([...one, ...other])].sort((left, right) => left - right)

/** Days from `from` to `to`, both included. */
export const dayGrid = (
  { horizon, resolution, zone }: AvailabilitySnapshot,
  from: LocalMoment,
  to: LocalMoment
): DayGrid => {
  const first = latest(dayOfMoment(from, zone), dayOf(horizon.from, zone))
  const last = earliest(dayOfMoment(to, zone), dayOf(horizon.to - 1, zone))
  const key = `${first} ${last} ${resolution} ${zone}`
  if (last_grid?.key !== key) last_grid = { key, grid: gridOf(localDays(first, last, zone), resolution, zone) }
  return last_grid.grid
}
/** Cache of the last grid: charts of a kit's parts, and of one product after another, mostly cover the same days. */
let last_grid: { readonly key: string; readonly grid: DayGrid } | undefined

const gridOf = (days: DayGrid["days"], resolution: AvailabilitySnapshot["resolution"], zone: string): DayGrid => {
  if (days.length === 0) return { days, bounds: [] }
  const start = firstOf(days).from,
    end = lastOf(days).to
  const midnights = [...days.map((day) => day.from), end]
  if (resolution === "daily") return { days, bounds: midnights }
  // In zones with half-hour offsets hourly slots cross midnight: they are split there.
  const bounds = mergedBounds(slotBounds(start, end, resolution, zone), midnights)
  return { days, bounds: bounds.filter((bound) => bound >= start && bound <= end) }
}

/** One cell per day of one product, from its own stock and demands. */
export const dayCells = (snapshot: AvailabilitySnapshot, product_id: number, grid: DayGrid): ReadonlyArray<DayCell> => {
  if (grid.days.length === 0) return []
  const { available, pending_checkin } = timelineOf(snapshot, product_id, grid.bounds)
  return cellsOf(grid, available, pending_checkin)
}

/**
 * One cell per day of a composed product: minimum and maximum number its parts allow. Undefined if that cannot be
 * computed: a catalogue kit without pool parts, or one nested too deeply.
 */
export const kitCells = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  grid: DayGrid,
  known: FreeUnitsCache = new Map()
): ReadonlyArray<DayCell> | undefined => {
  if (grid.days.length === 0) return []
  const available = freeUnlessTooDeep(snapshot, product_id, grid.bounds, known)
  return available === undefined
    ? undefined
    : cellsOf(grid, available, timelineOf(snapshot, product_id, grid.bounds).pending_checkin)
}
const freeUnlessTooDeep = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  bounds: ReadonlyArray<number>,
  known: FreeUnitsCache
): ReadonlyArray<number> | undefined => {
  try {
    return freeUnits(snapshot, product_id, bounds, known)
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep) return undefined
    throw thrown
  }
}

/** Groups figures per slot into the days of the grid. */
const cellsOf = (
  { bounds, days }: DayGrid,
  available: ReadonlyArray<number>,
  pending: ReadonlyArray<number>
): ReadonlyArray<DayCell> => {
  let slot = 0
  return days.map(({ date, to }) => {
    let min_available = Number.POSITIVE_INFINITY,
      max_available = Number.NEGATIVE_INFINITY,
      pending_checkin = 0
    for (; slot < available.length && (bounds[slot] ?? to) < to; slot++) {
      min_available = Math.min(min_available, available[slot] ?? 0)
      max_available = Math.max(max_available, available[slot] ?? 0)
      pending_checkin = Math.max(pending_checkin, pending[slot] ?? 0)
    }
    return { date, min_available, max_available, pending_checkin }
  })
}

const latest = (one: string, other: string): string => (one > other ? one : other)
const earliest = (one: string, other: string): string => (one < other ? one : other)

// Availability at one moment (rules/availability 6.1).

export interface PointAvailability {
  readonly product_id: number
  readonly store_id: number
  /** Store-local day of the slot. */
  readonly date: string
  readonly total_stock: number
  readonly total_demanded: number
  /** Negative for a shortage. */
  readonly available: number
  readonly demand_breakdown: { readonly [source_type: string]: number }
}

/** Availability in the slot that contains `at` (ms), also beyond the horizon. Throws KitNestedTooDeep. */
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

// Serialised units that are free in a window, and the demands on the others (rules/availability 6.4).

export interface AvailableAsset {
  readonly id: number
  readonly item_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  readonly location: string | null
}

/**
 * Units of the product without a demand in the window, by id; empty for bulk products. The product's buffers widen the
 * window, so listed units can be allocated. Demands on quantities exclude no unit.
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
