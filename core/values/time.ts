/** Instants and plain dates as text. Instants have one format: `YYYY-MM-DDTHH:mm:ss.sssZ` (rules/rulings 3). */
import { parseMoment, plainDateOf } from "./moment.ts"

/** No known end: later than any hire, inside what both databases can hold (rules/availability 2.1). */
export const openEnd = "2199-01-01T00:00:00.000Z"

/** Formats epoch milliseconds as an instant. */
export const instantOf = (epochMillis: number): string => {
  let instant = told_lately.get(epochMillis)
  if (instant === undefined) {
    instant = new Date(epochMillis).toISOString()
    if (told_lately.size >= lately_max) told_lately.clear()
    told_lately.set(epochMillis, instant)
  }
  return instant
}
/** Epoch milliseconds of an instant, or of a plain date's midnight UTC. */
export const millisOf = (instant: string): number => {
  let millis = lately.get(instant)
  if (millis === undefined) {
    if (lately.size >= lately_max) lately.clear()
    lately.set(instant, (millis = Date.parse(instant)))
  }
  return millis
}
/** Caches, as thousands of rows share few distinct times. */
const lately = new Map<string, number>()
const told_lately = new Map<number, string>()
const lately_max = 2_000
export const plusMinutes = (instant: string, minutes: number): string => instantOf(millisOf(instant) + minutes * 60_000)
export const plusDays = (instant: string, days: number): string => instantOf(millisOf(instant) + days * 86_400_000)

/** Parses a plain date; of a full timestamp its date as written. Undefined if it does not exist, as in year 0. */
export const parseDate = (text: string): string | undefined => {
  const moment = parseMoment(text)
  const date = moment === undefined ? undefined : text.length === 10 ? text : plainDateOf(moment)
  return date?.startsWith("0000") === true ? undefined : date
}

/**
 * Normalises an ISO date or time from year 1 to the start of 2199 (`openEnd`); a missing zone is UTC, a bare date its
 * midnight (rules/conventions 7). Undefined for anything else.
 */
export const parseTimestamp = (text: string): string | undefined => {
  const moment = parseMoment(text)
  if (moment === undefined) return undefined
  const instant = text.length === 10 ? `${text}T00:00:00.000Z` : new Date(moment.epoch_ms).toISOString()
  return instant.length === 24 && instant >= firstInstant && instant <= openEnd ? instant : undefined
}
const firstInstant = "0001-01-01"
/** Error for a text that `parseTimestamp` cannot read, to follow its field's name. */
export const unreadTimeText = (text: string): string => {
  const moment = parseMoment(text)
  return moment === undefined
    ? "must be a date or a time (ISO 8601)."
    : moment.epoch_ms > millisOf(openEnd)
      ? `must be a time until ${openEnd.slice(0, 10)}.`
      : `must be a time from ${firstInstant} on.`
}

// Whether a time from a user or a client is in the future: one rule for money, paperwork, goods and scans.

/** Tolerated difference between machines' clocks; later times count as future. */
const clocks_apart_minutes = 5
/** Whether `at` is in the future, where nothing can be moved or issued yet. */
export const isInFuture = (at: string, now: string): boolean => at > plusMinutes(now, clocks_apart_minutes)

// Wall clocks of IANA time zones. A zone's clock changes are computed once per year and cached: no `Intl` call per
// instant.

/** A period during which a zone keeps one offset from UTC (milliseconds, half-open). */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly offset: number
}

const secondMillis = 1000
const dayMillis = 86_400_000
/** No zone changes its clock and back within a week, so weekly probes find every change. */
const probeMillis = 7 * dayMillis
/** Wider than any zone's offset: −15 h (Manila before 1845) to +15 h. */
const reachMillis = 26 * 3_600_000

const clocks = new Map<string, Intl.DateTimeFormat>()
const years = new Map<string, ReadonlyArray<Stretch>>()

/** The zone of a store or company; blank means UTC (rules/availability 4). */
export const zoneOf = (timezone: string | null | undefined): string =>
  timezone === null || timezone === undefined || timezone.trim() === "" ? "UTC" : timezone.trim()

/** Whether the name is a time zone this machine knows. The first other than UTC takes some milliseconds to look up. */
export const isZone = (name: string): boolean => {
  if (name === "UTC") return true
  try {
    clockOf(name)
    return true
  } catch {
    return false
  }
}

/** Milliseconds the zone's clock is ahead of UTC at an instant. Throws RangeError on an unknown zone. */
export const offsetAt = (instant: number, zone: string): number => {
  if (zone === "UTC") return 0
  for (const stretch of stretchesOf(utcYear(instant), zone)) if (instant < stretch.to) return stretch.offset
  return 0
}

/** Local time of the zone at an instant, as if it were UTC milliseconds. */
export const wallOf = (instant: number, zone: string): number => instant + offsetAt(instant, zone)

/**
 * The first instant at which the zone's clock shows `wall` or later: of a repeated hour the first, of a skipped hour
 * the moment the clock jumps. Never decreases as `wall` grows, so boundaries made of it are always in order.
 */
export const instantOfWall = (wall: number, zone: string): number => {
  if (zone === "UTC") return wall
  for (let year = utcYear(wall - reachMillis); year <= utcYear(wall + reachMillis); year++) {
    for (const { from, offset, to } of stretchesOf(year, zone)) {
      if (to > wall - reachMillis && to + offset > wall) return Math.max(from, wall - offset)
    }
  }
  return wall
}

/** The instant a store-local day (`YYYY-MM-DD`) begins; 01:00 on the wall where clocks jump at midnight. */
export const startOfDay = (date: string, zone: string): number => instantOfWall(millisOf(date), zone)

/**
 * The store-local day that contains an instant: the latest one begun. Days follow each other without gaps or overlaps,
 * even if the clock repeats an hour.
 */
export const dayOf = (instant: number, zone: string): string => {
  const wall = wallOf(instant, zone)
  // The day on the wall clock has begun; so has the next one if the clock went back over midnight.
  const midnight = Math.floor(wall / dayMillis) * dayMillis
  const next = midnight + dayMillis
  return dateOf(instantOfWall(next, zone) <= instant ? next : midnight)
}

const dateOf = (midnight: number): string => instantOf(midnight).slice(0, 10)
const utcYear = (instant: number): number => new Date(instant).getUTCFullYear()
const yearStart = (year: number): number => utcOf(year, 1, 1)
/** UTC milliseconds for any year, including those before 1 and after 9999, which have no plain text form. */
const utcOf = (year: number, month: number, day: number, hour = 0, minute = 0, second = 0): number => {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.setUTCHours(hour, minute, second)
}

const clockOf = (zone: string): Intl.DateTimeFormat => {
  let clock = clocks.get(zone)
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit"
    })
    clocks.set(zone, clock)
  }
  return clock
}

const measuredOffset = (instant: number, zone: string): number => {
  const part: Record<string, string> = {}
  for (const { type, value } of clockOf(zone).formatToParts(instant)) part[type] = value
  const number = (name: string): number => Number(part[name])
  // The year before year 1 is 0, which calendars call 1 BC.
  const year = part["era"] === "BC" ? 1 - number("year") : number("year")
  const wall = utcOf(year, number("month"), number("day"), number("hour"), number("minute"), number("second"))
  return wall - Math.floor(instant / secondMillis) * secondMillis
}

const stretchesOf = (year: number, zone: string): ReadonlyArray<Stretch> => {
  const key = `${zone}/${year}`
  const known = years.get(key)
  if (known !== undefined) return known
  const stretches: Array<Stretch> = []
  const end = yearStart(year + 1)
  let from = yearStart(year)
  let offset = measuredOffset(from, zone)
  for (let seen = from; seen < end;) {
    const next = Math.min(seen + probeMillis, end)
    if (measuredOffset(next, zone) === offset) {
      seen = next
      continue
    }
    const change = firstChange(seen, next, offset, zone)
    stretches.push({ from, to: change, offset })
    from = change
    seen = change
    offset = measuredOffset(change, zone)
  }
  if (from < end) stretches.push({ from, to: end, offset })
  years.set(key, stretches)
  return stretches
}

/** The whole second at which the zone leaves `offset`, which applies at `before` but not at `after`. */
const firstChange = (before: number, after: number, offset: number, zone: string): number => {
  let low = before,
    high = after
  while (high - low > secondMillis) {
    const middle = Math.floor((low + high) / 2 / secondMillis) * secondMillis
    if (measuredOffset(middle, zone) === offset) low = middle
    else high = middle
  }
  return high
}

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** `Fri 4 Dec`. */
export const dayText = (date: string): string => {
  const at = new Date(`${date}T00:00:00Z`)
  return `${weekdays[at.getUTCDay()]} ${at.getUTCDate()} ${months[at.getUTCMonth()]}`
}
/** `09:00` on the day itself, `Fri 4 Dec 09:00` on another, by a zone's clock. */
export const clockText = (instant: string | null, zone: string, date: string): string => {
  if (instant === null) return ""
  const millis = millisOf(instant)
  const time = instantOf(wallOf(millis, zone)).slice(11, 16)
  const day = dayOf(millis, zone)
  return day === date ? time : `${dayText(day)} ${time}`
}

/** `clockText` without the day of the month, for wall displays: `Sun 13:57`. */
export const wallText = (instant: string | null, zone: string, date: string): string =>
  clockText(instant, zone, date).replace(/^([A-Z][a-z]{2}) \d+ [A-Z][a-z]{2} /, "$1 ")
