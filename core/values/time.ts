/** Instants and plain dates as text. One form for all instants: `YYYY-MM-DDTHH:mm:ss.sssZ` (rules/rulings 3). */
import { formatTimestamp, isPlainDate, parseMoment, plainDateOf } from "./moment.ts"

/** No known end: later than any hire, inside what both databases can hold (rules/availability 2.1). */
export const openEnd = "2199-01-01T00:00:00.000Z"

/** Milliseconds since 1970 → the one form of an instant. */
export const instantOf = (epochMillis: number): string => {
  let instant = told_lately.get(epochMillis)
  if (instant === undefined) {
    instant = new Date(epochMillis).toISOString()
    if (told_lately.size >= lately_max) told_lately.clear()
    told_lately.set(epochMillis, instant)
  }
  return instant
}
/** The one form of an instant (or a plain date: its midnight UTC) → milliseconds since 1970. */
export const millisOf = (instant: string): number => {
  let millis = lately.get(instant)
  if (millis === undefined) {
    if (lately.size >= lately_max) lately.clear()
    lately.set(instant, (millis = Date.parse(instant)))
  }
  return millis
}
/** Cached, as thousands of rows have few different times. */
const lately = new Map<string, number>()
const told_lately = new Map<number, string>()
const lately_max = 2_000
export const plusMinutes = (instant: string, minutes: number): string => instantOf(millisOf(instant) + minutes * 60_000)
export const plusDays = (instant: string, days: number): string => instantOf(millisOf(instant) + days * 86_400_000)

/** A plain date; of a full time its date as written. Undefined when it is none that exists: there was no year 0. */
export const parseDate = (text: string): string | undefined => {
  const moment = isPlainDate(text) ? undefined : parseMoment(text)
  const date = isPlainDate(text) ? text : moment === undefined ? undefined : plainDateOf(moment)
  return date?.startsWith("0000") === true ? undefined : date
}

/**
 * Any ISO date or time in the one form; a missing zone is UTC, a bare date its midnight (rules/conventions 7). Years 1
 * to 2199.
 */
export const parseTimestamp = (text: string): string | undefined => {
  const moment = parseMoment(text)
  if (moment === undefined) return undefined
  const instant = formatTimestamp(moment)
  return instant.length === 24 && instant >= firstInstant && instant <= openEnd ? instant : undefined
}
const firstInstant = "0001-01-01"
/** Problem of a text that `parseTimestamp` cannot read, as the end of a sentence about its field. */
export const unreadTimeText = (text: string): string => {
  const moment = parseMoment(text)
  return moment === undefined
    ? "must be a date or a time (ISO 8601)."
    : moment.epoch_ms > millisOf(openEnd)
      ? `must be a time until ${openEnd.slice(0, 10)}.`
      : `must be a time from ${firstInstant} on.`
}

// Whether a moment that a person or another program names has come: one rule for money, papers, goods and scans.

/** Clocks of machines differ by this much at most; what is said to be later than that has not happened yet. */
const clocks_apart_minutes = 5
/** Nothing moves, and nothing is issued, in the future. */
export const isInFuture = (at: string, now: string): boolean => at > plusMinutes(now, clocks_apart_minutes)
