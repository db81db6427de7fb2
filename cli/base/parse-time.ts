/** Parses dates and times as users type them, in the time zone of the store concerned. */
import { dateAfter } from "../../core/values/period.ts"
import { dayOf, dayText, instantOfWall, isZone, offsetAt, startOfDay, wallOf } from "../../core/values/time.ts"
import { type CliError, usageError } from "./exit-codes.ts"

const minute_ms = 60_000
const second_ms = 1000
const hour_ms = 3_600_000
const written = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)([Zz]|[+-]\d{2}:?\d{2})?)?$/

const day_forms = "2026-07-01, today, tomorrow, yesterday, fri, next fri, +3d or +2w"

interface Typed {
  /** The instant, with the typed offset, else the zone's at that time. */
  readonly at: string
  /** The day, if no time was typed; its first moment is meant for a start, and its last for an end. */
  readonly day: string | undefined
  /** Whether day and time were given in full, so that nothing was inferred. */
  readonly is_exact: boolean
}

/** Names of flags and prompts for an end, where a day without a time means its last moment. */
const end_flags = /^(--)?(until|back|due-back|([a-z-]+-)?(to|ends-at))$/i
const isEndFlag = (flag: string): boolean => end_flags.test(flag)

/**
 * Parses a date, a time, or a word for one, on the zone's clock (see `noTime`). A day without a time is its first
 * moment, or its last second if the flag names an end (`--to`, `--ends-at`). A time that the clock skips is the moment
 * of the jump, a repeated one the first of the two. A weekday is the first one from today on whose time has not passed;
 * `next fri` is a week after the one of today or later. `now`: milliseconds. Exit 2 naming the flag and the forms for
 * other texts.
 */
export const typedMoment = (text: string, zone: string, flag: string, now: number = Date.now()): Typed => {
  const trimmed = text.trim()
  const [, , , offset] = written.exec(trimmed) ?? []
  if (offset !== undefined) {
    const [day = "", time = ""] = trimmed.replace(offset, "").split(/[Tt ]/)
    if (!dayExists(day) || !timeExists(time)) throw noTime(text, flag)
    return { at: trimmed.replace(" ", "T").toUpperCase(), day: undefined, is_exact: true }
  }
  const hours = /^([+-]\d{1,4})\s*(h|min)$/i.exec(trimmed)
  if (hours !== null || /^now$/i.test(trimmed)) {
    const moved = now + Number(hours?.[1] ?? 0) * (hours?.[2]?.toLowerCase() === "h" ? hour_ms : minute_ms)
    return { at: withOffset(Math.floor(moved / minute_ms) * minute_ms, zone), day: undefined, is_exact: false }
  }
  const typed = dayAndTime(trimmed, zone, now)
  if (typed === undefined) throw noTime(text, flag)
  const { day, time } = typed
  const instant =
    time !== undefined
      ? instantOfWall(Date.parse(`${day}T${time}Z`), zone)
      : isEndFlag(flag)
        ? startOfDay(dateAfter(day), zone) - second_ms
        : startOfDay(day, zone)
  return {
    at: withOffset(instant, zone),
    day: time === undefined ? day : undefined,
    is_exact: time !== undefined && written.test(trimmed)
  }
}

/**
 * Parses a time to send: `2026-07-01T09:00` gets the zone's offset at that time; a time with an offset stays as it is.
 */
export const parseMomentIn = (text: string, zone: string, flag: string, now?: number): string =>
  typedMoment(text, zone, flag, now).at

/** Parses a day, or a word for one as of `now` in the zone; a time is cut to its day. Exit 2 for other texts. */
export const parseDay = (text: string, flag: string, zone: string = "UTC", now: number = Date.now()): string => {
  const trimmed = text.trim()
  const [, day = "", time, offset] = written.exec(trimmed) ?? []
  if (offset !== undefined && dayExists(day) && timeExists(time ?? "")) return day
  const typed = dayAndTime(trimmed, zone, now)
  if (typed === undefined) throw noDay(text, flag)
  return typed.day
}

const noDay = (text: string, flag: string): CliError =>
  usageError(`${flag}: ${JSON.stringify(text)} is no date.`, `Write ${day_forms}.`)
const noTime = (text: string, flag: string): CliError =>
  usageError(
    `${flag}: ${JSON.stringify(text)} is neither a date nor a time.`,
    `Write ${day_forms}, each also with a time (fri 9:00); 9:00, now, +2h, 2026-07-01T09:00 or 2026-07-01T09:00+02:00.`
  )

/** Day, and time as `hh:mm` or `hh:mm:ss` if given; undefined for other texts. */
const dayAndTime = (
  text: string,
  zone: string,
  now: number
): { readonly day: string; readonly time: string | undefined } | undefined => {
  const words = text.toLowerCase().replace(/^(\d{4}-\d{2}-\d{2})t/, "$1 ")
  const [, named = "", clock] = /^(.*?)\s*((?<=^|\s)\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)?$/.exec(words) ?? []
  const time = clock?.padStart(clock.replace(/:.*/, "").length === 1 ? clock.length + 1 : clock.length, "0")
  if (time !== undefined && !timeExists(time)) return undefined
  if (named === "" && time === undefined) return undefined
  const day = dayNamed(named.replace(/\s+at$/, ""), time, zone, now)
  return day === undefined ? undefined : { day, time }
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
const weekday_words = /^(next\s+)?(sun|mon|tue|wed|thu|fri|sat)(day|s|sday|nesday|r|rs|rsday|urday)?$/
const dayNamed = (name: string, time: string | undefined, zone: string, now: number): string | undefined => {
  const today = dayOf(now, zone)
  if (name === "" || name === "today") return today
  if (name === "tomorrow") return dateAfter(today)
  if (name === "yesterday") return dateAfter(today, -1)
  const moved = /^([+-]\d{1,4})\s*(d|w)$/.exec(name)
  if (moved !== null) return dateAfter(today, Number(moved[1]) * (moved[2] === "w" ? 7 : 1))
  const weekday = weekday_words.exec(name)
  if (weekday !== null) {
    const ahead = (weekdays.indexOf(weekday[2] ?? "") - weekdayOf(today) + 7) % 7
    if (weekday[1] !== undefined) return dateAfter(today, ahead + 7)
    const has_passed = ahead === 0 && time !== undefined && instantOfWall(Date.parse(`${today}T${time}Z`), zone) < now
    return dateAfter(today, has_passed ? 7 : ahead)
  }
  return /^\d{4}-\d{2}-\d{2}$/.test(name) && dayExists(name) ? name : undefined
}
/**
 * Time from which a weekday is counted, in milliseconds: for an end, the start if that is later, so that `--from fri
 * --to mon` is always a weekend. For `next mon` and other texts it is now.
 */
export const countedFrom = (text: string, begins: string | undefined, now: number = Date.now()): number => {
  const [word = ""] = text.trim().toLowerCase().split(/\s/)
  const is_weekday = weekday_words.test(word)
  return begins === undefined || !is_weekday ? now : Math.max(now, Date.parse(begins) || now)
}
const weekdayOf = (day: string): number => new Date(`${day}T00:00:00Z`).getUTCDay()

const withOffset = (instant: number, zone: string): string => {
  const offset = Math.round(offsetAt(instant, zone) / minute_ms)
  const wall = new Date(instant + offset * minute_ms).toISOString().slice(0, 19)
  const size = Math.abs(offset)
  return `${wall}${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`
}
/** An instant with the zone's offset: `2026-07-01T09:00:00+02:00`; unchanged if it has milliseconds or is no time. */
export const offsetIn = (instant: string, zone: string): string => {
  const at = Date.parse(instant)
  return Number.isNaN(at) || at % second_ms !== 0 ? instant : withOffset(at, zone)
}
const two = (value: number): string => String(value).padStart(2, "0")
const dayExists = (day: string): boolean => {
  const at = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)
}
const timeExists = (time: string): boolean => /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$/.test(time)

/** Formats an instant in a zone: `2026-07-01 09:00`; days and other texts are unchanged. */
export const formatIn = (instant: string, zone: string): string => {
  const at = Date.parse(instant)
  return Number.isNaN(at) || !instant.includes("T")
    ? instant
    : new Date(at + offsetAt(at, zone)).toISOString().slice(0, 16).replace("T", " ")
}
/** Formats a day for people: `Thu 3 Dec 2026`. */
export const datedText = (day: string): string => `${dayText(day)} ${day.slice(0, 4)}`
/** Formats an instant for people, in a zone: `Thu 3 Dec 2026 09:00`. */
const momentText = (instant: string, zone: string): string => {
  const wall = new Date(wallOf(Date.parse(instant), zone)).toISOString()
  return `${datedText(wall.slice(0, 10))} ${wall.slice(11, 16)}`
}

/**
 * Describes how a typed time was understood: `until Thu 3 Dec 2026, end of day, Europe/London`; undefined for exact
 * ones.
 */
export const understood = (typed: Typed, zone: string, flag: string): string | undefined => {
  if (typed.is_exact) return undefined
  const word = isEndFlag(flag) ? "until" : "from"
  if (typed.day === undefined) return `${word} ${momentText(typed.at, zone)}, ${zone}`
  return isEndFlag(flag)
    ? `${word} ${datedText(typed.day)}, end of day, ${zone}`
    : `${word} ${momentText(typed.at, zone)}, ${zone}`
}
/** `parseMomentIn`, which also reports inferred times on standard error. `begins`: for an end, the start, as sent. */
export const readMoment = (
  context: { readonly note: (text: string) => void },
  text: string,
  zone: string,
  flag: string,
  begins?: string
): string => {
  const typed = typedMoment(text, zone, flag, countedFrom(text, begins))
  const words = understood(typed, zone, flag)
  if (words !== undefined) context.note(`${flag}: ${words}`)
  return typed.at
}

export const zoneOr = (timezone: unknown, otherwise: string): string =>
  typeof timezone === "string" && timezone !== "" && isZone(timezone) ? timezone : otherwise
