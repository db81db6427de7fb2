/** Slots gathered into store-local days, for calendars, charts and sweeps (rules/availability 5, 6.5). */
import { type LocalDay, type LocalMoment, dayOfMoment, localDays } from "../values/period.ts"
import { dayOf } from "../values/zone.ts"
import type { AvailabilitySnapshot } from "./snapshot.ts"
import { freeUnits, KitNestedTooDeep, type FreeUnitsCache } from "./kits.ts"
import { mergedBounds, slotBounds } from "./slots.ts"
import { timelineOf } from "./timeline.ts"

/** The days of a span inside the horizon, and the bounds to count over. Made once, used for every product. */
export interface DayGrid {
  readonly days: ReadonlyArray<LocalDay>
  readonly bounds: ReadonlyArray<number>
}

export interface DayCell {
  readonly date: string
  readonly min_available: number
  readonly max_available: number
  /** The day's peak. */
  readonly pending_checkin: number
}

/** Days from `from` to `to`, both included. */
export const dayGrid = (snapshot: AvailabilitySnapshot, from: LocalMoment, to: LocalMoment): DayGrid => {
  const first = latest(dayOfMoment(from, snapshot.zone), dayOf(snapshot.horizon.from, snapshot.zone))
  const last = earliest(dayOfMoment(to, snapshot.zone), dayOf(snapshot.horizon.to - 1, snapshot.zone))
  const days = localDays(first, last, snapshot.zone)
  if (days.length === 0) return { days, bounds: [] }
  const start = days[0]!.from,
    end = days[days.length - 1]!.to
  // Hourly slots straddle midnight where the zone is half an hour off; a day is judged by its own part of them.
  const bounds = mergedBounds(slotBounds(start, end, snapshot.resolution, snapshot.zone), [
    ...days.map((day) => day.from),
    end
  ])
  return { days, bounds: bounds.filter((bound) => bound >= start && bound <= end) }
}

/** One cell per day for one product, counted from its own stock. */
export const dayCells = (snapshot: AvailabilitySnapshot, product_id: number, grid: DayGrid): ReadonlyArray<DayCell> => {
  if (grid.days.length === 0) return []
  const { available, pending_checkin } = timelineOf(snapshot, product_id, grid.bounds)
  return cellsOf(grid, available, pending_checkin)
}

/**
 * One cell per day of a composed product: the day's lowest of what its parts allow slot by slot. Undefined when nothing
 * can be said: a catalogue kit without pool parts, or one nested more deeply than it may be.
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

/** Figures per slot gathered into the days of the grid. */
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
    for (; slot < available.length && bounds[slot]! < to; slot++) {
      min_available = Math.min(min_available, available[slot]!)
      max_available = Math.max(max_available, available[slot]!)
      pending_checkin = Math.max(pending_checkin, pending[slot]!)
    }
    return { date, min_available, max_available, pending_checkin }
  })
}

const latest = (one: string, other: string): string => (one > other ? one : other)
const earliest = (one: string, other: string): string => (one < other ? one : other)
