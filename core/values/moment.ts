/**
 * Moments as submitted: an instant together with the offset it was written in, because cut-offs, business hours and
 * validity dates are read on the sender's clock (rules/rates 4.2). A missing zone is UTC, a bare date is its midnight.
 */

export interface Moment {
  readonly epoch_ms: number
  readonly offset_minutes: number
}

export const MINUTE_MS = 60_000
export const DAY_MINUTES = 1_440
export const DAY_MS = DAY_MINUTES * MINUTE_MS

const written =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2})?)?)?$/

/** Parses ISO 8601 text; undefined if it is malformed or names a date or time that does not exist. */
export const parseMoment = (text: string): Moment | undefined => {
  const plain = plainMoment(text)
  if (plain !== undefined) return plain
  const match = written.exec(text.trim())
  if (match === null) return undefined
  const part = (index: number): number => Number(match[index] ?? "0")
  const milliseconds = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3))
  const offset_minutes = (match[9] === "-" ? -1 : 1) * (part(10) * 60 + part(11)) + 0
  return part(10) > 23 || part(11) > 59
    ? undefined
    : momentOf(part(1), part(2), part(3), part(4), part(5), part(6), milliseconds, offset_minutes)
}

/** Fast path for days, and for `2026-07-01T08:00:00` with or without `.000`, in `Z` or `+02:00`, as programs write. */
const plainMoment = (text: string): Moment | undefined => {
  const { length } = text
  if (length === 10) return plainDay(text)
  if (length !== 20 && length !== 24 && length !== 25 && length !== 29) return undefined
  const fraction = length === 24 || length === 29
  const zone_at = fraction ? 23 : 19
  const offset = zone_at + 1 === length ? (text.charCodeAt(zone_at) === 90 ? 0 : none) : offsetAt(text, zone_at)
  const apart =
    text.charCodeAt(4) === 45 &&
    text.charCodeAt(7) === 45 &&
    text.charCodeAt(10) === 84 &&
    text.charCodeAt(13) === 58 &&
    text.charCodeAt(16) === 58 &&
    (!fraction || text.charCodeAt(19) === 46)
  const milliseconds = fraction ? twoDigits(text, 20) * 10 + digit(text, 22) : 0
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  return apart && offset !== none
    ? momentOf(
        year,
        twoDigits(text, 5),
        twoDigits(text, 8),
        twoDigits(text, 11),
        twoDigits(text, 14),
        twoDigits(text, 17),
        milliseconds,
        offset
      )
    : undefined
}
const plainDay = (text: string): Moment | undefined =>
  text.charCodeAt(4) === 45 && text.charCodeAt(7) === 45
    ? momentOf(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8), 0, 0, 0, 0, 0)
    : undefined
/** Result for a character that is no digit: so far below zero that adding other digits leaves it negative. */
const none = -1_000_000
const digit = (text: string, at: number): number => {
  const value = text.charCodeAt(at) - 48
  return value >= 0 && value <= 9 ? value : none
}
const twoDigits = (text: string, at: number): number => digit(text, at) * 10 + digit(text, at + 1)
const offsetAt = (text: string, at: number): number => {
  const sign = text.charCodeAt(at)
  const hours = twoDigits(text, at + 1),
    minutes = twoDigits(text, at + 4)
  return (sign !== 43 && sign !== 45) ||
    text.charCodeAt(at + 3) !== 58 ||
    hours < 0 ||
    hours > 23 ||
    minutes < 0 ||
    minutes > 59
    ? none
    : sign === 45
      ? 0 - hours * 60 - minutes
      : hours * 60 + minutes
}

const momentOf = (
  year: number,
  month: number,
  day: number,
  hours: number,
  minutes: number,
  seconds: number,
  milliseconds: number,
  offset_minutes: number
): Moment | undefined => {
  const exists =
    year >= 0 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysOf(year, month) &&
    hours >= 0 &&
    hours <= 23 &&
    minutes >= 0 &&
    minutes <= 59 &&
    seconds >= 0 &&
    seconds <= 59 &&
    milliseconds >= 0
  if (!exists) return undefined
  const whole_minutes = epochDay(year, month, day) * DAY_MINUTES + hours * 60 + minutes - offset_minutes
  return { epoch_ms: whole_minutes * MINUTE_MS + seconds * 1000 + milliseconds, offset_minutes }
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const daysOf = (year: number, month: number): number => (month === 2 && isLeap(year) ? 29 : monthDays[month - 1]!)

/** Days since 1970. Years are counted from March, so that a leap day comes last. */
const epochDay = (year: number, month: number, day: number): number => {
  const from_march = month > 2 ? year : year - 1
  const before = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5)
  const leaps = Math.floor(from_march / 4) - Math.floor(from_march / 100) + Math.floor(from_march / 400)
  return from_march * 365 + leaps + before + day - epoch_from_march
}
/** Days from 1 March of year 0 to 1970, plus one, as days of a month begin with 1. */
const epoch_from_march = 719_469

/** A calendar day `YYYY-MM-DD` that exists. */
export const isPlainDate = (text: string): boolean => text.length === 10 && parseMoment(text) !== undefined

/** Milliseconds on the wall clock of the moment's own offset, counted as if that clock were UTC. */
export const wallClockMs = (moment: Moment): number => moment.epoch_ms + moment.offset_minutes * MINUTE_MS

/** Minute of the day (0..1439) on the moment's own clock. */
export const minuteOfDay = (moment: Moment): number => {
  const ms = wallClockMs(moment)
  return Math.floor((ms - Math.floor(ms / DAY_MS) * DAY_MS) / MINUTE_MS)
}

/** 00:00 of the moment's day on its own clock. */
export const startOfDay = (moment: Moment): Moment => {
  const ms = wallClockMs(moment)
  return { ...moment, epoch_ms: moment.epoch_ms - (ms - Math.floor(ms / DAY_MS) * DAY_MS) }
}

/** The calendar day `YYYY-MM-DD` on the moment's own clock. */
export const plainDateOf = (moment: Moment): string => new Date(wallClockMs(moment)).toISOString().slice(0, 10)

/** Minutes since midnight of `HH:MM` (00:00..23:59); undefined for anything else, also 9:00, 24:00 and 09:00:00. */
export const parseTimeOfDay = (text: unknown): number | undefined => {
  if (typeof text !== "string" || !/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) return undefined
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}
