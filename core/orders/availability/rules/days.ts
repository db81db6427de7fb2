/** Slots grouped into days of the store, for calendars, charts and sweeps (rules/availability 5, 6.5). */
import { firstOf, lastOf } from "../../../values/text.ts"
import { dayOfMoment, type LocalDay, localDays, type LocalMoment } from "../../../values/period.ts"
import { dayOf } from "../../../values/time.ts"
import type { AvailabilitySnapshot } from "./snapshot.ts"
import { freeUnits, type FreeUnitsCache, KitNestedTooDeep, timelineOf } from "./kits.ts"
import { mergedBounds, slotBounds } from "./slots.ts"

/** The days of a span inside the horizon, and the slot bounds to count over; the same for every product of a store. */
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
  const start = firstOf(days).from,
    end = lastOf(days).to
  // Where the zone is half an hour off, hourly slots cross midnight: they are cut there.
  const bounds = mergedBounds(slotBounds(start, end, snapshot.resolution, snapshot.zone), [
    ...days.map((day) => day.from),
    end
  ])
  return { days, bounds: bounds.filter((bound) => bound >= start && bound <= end) }
}

/** One cell per day of one product, from its own stock and demands. */
export const dayCells = (snapshot: AvailabilitySnapshot, product_id: number, grid: DayGrid): ReadonlyArray<DayCell> => {
  if (grid.days.length === 0) return []
  const { available, pending_checkin } = timelineOf(snapshot, product_id, grid.bounds)
  return cellsOf(grid, available, pending_checkin)
}

/**
 * One cell per day of a composed product: the lowest and highest number its parts allow in the day's slots. Undefined
 * where that cannot be computed: a catalogue kit without pool parts, or one nested too deeply.
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
