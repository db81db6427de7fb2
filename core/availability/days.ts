/** Slots gathered into store-local days, for calendars, charts and sweeps (availability 5, 6.5). */
import { type LocalDay, type Moment, dayOfMoment, localDays } from "../values/period.ts"
import { dayOf } from "../values/zone.ts"
import type { Book } from "./book.ts"
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
export const dayGrid = (book: Book, from: Moment, to: Moment): DayGrid => {
  const first = latest(dayOfMoment(from, book.zone), dayOf(book.horizon.from, book.zone))
  const last = earliest(dayOfMoment(to, book.zone), dayOf(book.horizon.to - 1, book.zone))
  const days = localDays(first, last, book.zone)
  if (days.length === 0) return { days, bounds: [] }
  const start = days[0]!.from, end = days[days.length - 1]!.to
  // Hourly slots straddle midnight where the zone is half an hour off; a day is judged by its own part of them.
  const bounds = mergedBounds(
    slotBounds(start, end, book.resolution, book.zone),
    [...days.map((day) => day.from), end]
  )
  return { days, bounds: bounds.filter((bound) => bound >= start && bound <= end) }
}

/** One cell per day for one product, counted from its own stock. */
export const dayCells = (book: Book, product_id: number, { bounds, days }: DayGrid): ReadonlyArray<DayCell> => {
  if (days.length === 0) return []
  const line = timelineOf(book, product_id, bounds)
  let slot = 0
  return days.map(({ date, to }) => {
    let min_available = Number.POSITIVE_INFINITY, max_available = Number.NEGATIVE_INFINITY, pending_checkin = 0
    for (; slot < line.available.length && bounds[slot]! < to; slot++) {
      min_available = Math.min(min_available, line.available[slot]!)
      max_available = Math.max(max_available, line.available[slot]!)
      pending_checkin = Math.max(pending_checkin, line.pending_checkin[slot]!)
    }
    return { date, min_available, max_available, pending_checkin }
  })
}

const latest = (one: string, other: string): string => one > other ? one : other
const earliest = (one: string, other: string): string => one < other ? one : other
