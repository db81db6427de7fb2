/**
 * Moments as submitted: an instant together with the offset it was written in, because cut-offs, business hours and
 * validity dates are read on the sender's clock (rates 4.2). A missing zone is UTC, a bare date is its midnight.
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

/** Reads ISO 8601 text; undefined when it is not one or names a day or time that does not exist. */
export const parseMoment = (text: string): Moment | undefined => {
  const match = written.exec(text.trim())
  if (match === null) return undefined
  const part = (index: number): number => Number(match[index] ?? "0")
  const day = epochDay(part(1), part(2), part(3))
  if (day === undefined || part(4) > 23 || part(5) > 59 || part(6) > 59 || part(10) > 23 || part(11) > 59) return undefined
  const offset_minutes = (match[9] === "-" ? -1 : 1) * (part(10) * 60 + part(11)) + 0
  const milliseconds = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3))
  const minutes = day * DAY_MINUTES + part(4) * 60 + part(5) - offset_minutes
  return { epoch_ms: minutes * MINUTE_MS + part(6) * 1000 + milliseconds, offset_minutes }
}

const epochDay = (year: number, month: number, day: number): number | undefined => {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return exists ? date.getTime() / DAY_MS : undefined
}

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

/** The one form timestamps have outside: `YYYY-MM-DDTHH:mm:ss.sssZ`. */
export const formatTimestamp = (moment: Moment): string => new Date(moment.epoch_ms).toISOString()

/** Minutes since midnight of `HH:MM` (00:00..23:59); undefined for anything else, also 9:00, 24:00 and 09:00:00. */
export const parseTimeOfDay = (text: unknown): number | undefined => {
  if (typeof text !== "string" || !/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) return undefined
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}
