/** Half-open periods in epoch milliseconds, and the store-local days of plain dates. */
import { dayOf, instantOf, instantOfWall, millisOf, openEnd, parseTimestamp, startOfDay } from "./time.ts"

/** A period that includes `from` and excludes `to`. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** `openEnd` (no known end) in milliseconds. */
export const openEndMillis = millisOf(openEnd)

/** Half-open overlap: periods that only touch do not meet (rules/availability 4). */
export const overlaps = (one: Period, other: Period): boolean => one.from < other.to && one.to > other.from

/** Whether a period meets a window; a window without length is an instant, not nothing (rules/availability 6.4). */
export const meets = (period: Period, window: Period): boolean =>
  window.from === window.to ? period.from <= window.from && window.from < period.to : overlaps(period, window)

/** The period, with its bounds swapped if they are reversed. */
export const inOrder = (period: Period): Period =>
  period.from <= period.to ? period : { from: period.to, to: period.from }

/** The part of `period` inside `limits`, or undefined when there is none. */
export const clipped = (period: Period, limits: Period): Period | undefined => {
  const from = Math.max(period.from, limits.from),
    to = Math.min(period.to, limits.to)
  if (from > to || from >= limits.to) return undefined
  return from < to || period.from === period.to ? { from, to } : undefined
}

/** The shortest period that includes both. */
export const hull = (one: Period, other: Period): Period => ({
  from: Math.min(one.from, other.from),
  to: Math.max(one.to, other.to)
})

/** A plain date, `days` later. */
export const dateAfter = (date: string, days = 1): string => instantOf(millisOf(date) + days * 86_400_000).slice(0, 10)

/** Days of a span counted inclusively; 0 or less when `last` is before `first`. */
export const daysInclusive = (first: string, last: string): number =>
  Math.round((millisOf(last) - millisOf(first)) / 86_400_000) + 1

/** A store-local day as a period, shorter or longer than 24 hours when clocks change. */
export interface LocalDay extends Period {
  readonly date: string
}

/** Every local day of a span, both ends included; a day the zone skipped (Samoa, 30 December 2011) is absent. */
export const localDays = (first: string, last: string, zone: string): ReadonlyArray<LocalDay> => {
  const days: Array<LocalDay> = []
  let wall = Date.parse(`${first}T00:00:00Z`)
  let from = instantOfWall(wall, zone)
  for (let date = first; date <= last; date = instantOf(wall).slice(0, 10)) {
    wall += 86_400_000
    const to = instantOfWall(wall, zone)
    if (to > from) days.push({ date, from, to })
    from = to
  }
  return days
}

/** A moment in a request: the instant, and the plain date if it was given as one. */
export interface LocalMoment {
  readonly at: number
  readonly date: string | undefined
}

/**
 * Parses `YYYY-MM-DD` as that store-local day, and anything longer as an instant (rules/availability 4). Undefined if
 * it is neither.
 */
export const momentOf = (text: string, zone: string): LocalMoment | undefined => {
  const trimmed = text.trim()
  if (/^\d{4}-\d{2}-\d{2}$/.test(trimmed)) {
    return parseTimestamp(trimmed) === undefined ? undefined : { at: startOfDay(trimmed, zone), date: trimmed }
  }
  const instant = parseTimestamp(trimmed)
  return instant === undefined ? undefined : { at: millisOf(instant), date: undefined }
}

/** The local day a moment falls on. */
export const dayOfMoment = (moment: LocalMoment, zone: string): string => moment.date ?? dayOf(moment.at, zone)

/** The exclusive end of a window: a plain date is included as a whole day. */
export const endOfMoment = (moment: LocalMoment, zone: string): number =>
  moment.date === undefined ? moment.at : startOfDay(dateAfter(moment.date), zone)
