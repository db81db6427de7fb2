/** Dates and times as people type them: on the clock of the store they are about, sent with its offset. */
import { instantOfWall, isZone, offsetAt, startOfDay } from "../core/values/zone.ts"
import { usageError } from "./exit-codes.ts"

const minute_ms = 60_000
const written = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)([Zz]|[+-]\d{2}:?\d{2})?)?$/

/**
 * `2026-07-01` → that day's midnight in the zone, `2026-07-01T09:00` → that time on the zone's clock, both with the
 * offset the zone has then; a time with an offset of its own stays as it is. Exit 2 naming the flag when it is neither.
 */
export const parseMomentIn = (text: string, zone: string, flag: string): string => {
  const match = written.exec(text.trim())
  const [, day = "", time, offset] = match ?? []
  if (match === null || !dayExists(day) || (time !== undefined && !timeExists(time))) {
    throw usageError(`${flag}: ${JSON.stringify(text)} is neither a date (2026-07-01) nor a time (2026-07-01T09:00).`)
  }
  if (offset !== undefined) return text.trim().replace(" ", "T").toUpperCase()
  const instant = time === undefined ? startOfDay(day, zone) : instantOfWall(Date.parse(`${day}T${time}Z`), zone)
  return withOffset(instant, zone)
}
/** A plain date; a time is cut to its day. */
export const parseDay = (text: string, flag: string): string => {
  const match = written.exec(text.trim())
  const [, day = "", time] = match ?? []
  if (!dayExists(day) || (time !== undefined && !timeExists(time)))
    throw usageError(`${flag}: ${JSON.stringify(text)} is no date (2026-07-01).`)
  return day
}

const withOffset = (instant: number, zone: string): string => {
  const offset = Math.round(offsetAt(instant, zone) / minute_ms)
  const wall = new Date(instant + offset * minute_ms).toISOString().slice(0, 19)
  const size = Math.abs(offset)
  return `${wall}${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`
}
const two = (value: number): string => String(value).padStart(2, "0")
const dayExists = (day: string): boolean => {
  const at = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)
}
const timeExists = (time: string): boolean => /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$/.test(time)

/** An instant on a zone's clock: `2026-07-01 09:00`. */
export const formatIn = (instant: string, zone: string): string => {
  const at = Date.parse(instant)
  return Number.isNaN(at) || !instant.includes("T")
    ? instant
    : new Date(at + offsetAt(at, zone)).toISOString().slice(0, 16).replace("T", " ")
}
export const zoneOr = (timezone: unknown, otherwise: string): string =>
  typeof timezone === "string" && timezone !== "" && isZone(timezone) ? timezone : otherwise
