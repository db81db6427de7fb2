/** Activities and orders as iCalendar, which phones and mail programs subscribe to (rules/members-activities 7). */
import ICAL from "ical.js"
import { dayOf, instantOf, millisOf, startOfDay, wallOf } from "../../values/time.ts"
import { dateAfter } from "../../values/period.ts"
import { statuses, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { spokenNumber } from "../../values/text.ts"
import type { CalendarKind } from "./kinds.ts"

export interface FeedActivity {
  readonly id: number
  readonly subject: string
  readonly location: string | null
  readonly description: string | null
  /** Start; activities without one are omitted. */
  readonly starts_at: string | null
  readonly ends_at: string | null
  /** Status: 2001 Scheduled, 2002 Completed, 2003 Cancelled, 2004 Held. */
  readonly status_id: number
  /** Whether it blocks time: 0 Free, 1 Busy. */
  readonly time_status: number
  readonly owner: { readonly name: string; readonly email: string | null } | null
}

/** A calendar entry of any kind. */
export interface FeedEntry {
  /** Left-hand side of the UID, constant as long as the row exists. */
  readonly uid: string
  readonly subject: string
  readonly location: string | null
  readonly description: string | null
  readonly starts_at: string
  /** End; null for half an hour, or for a full day if the entry begins at midnight. */
  readonly ends_at: string | null
  /** Time zone that decides whether the entry fills whole days. */
  readonly zone: string
  readonly is_cancelled: boolean
  readonly is_completed: boolean
  /** Whether the entry leaves its time free. */
  readonly is_free: boolean
  readonly owner: FeedActivity["owner"]
}

interface FeedFacts {
  readonly generated_at: string
  /** Right-hand side of the UIDs (`uidHost`). */
  readonly host: string
  /** URL of the server; empty on a device that does not know it. */
  readonly url: string
  readonly calendar_name: string
  /** The company's time zone, which decides whether an activity fills whole days. */
  readonly zone: string
}

/** Start of the period a feed covers: one calendar year before `generated_at`; 29 February counts as the 28th. */
export const feedStart = (generated_at: string): string => {
  const moment = new Date(millisOf(generated_at))
  const month = moment.getUTCMonth()
  moment.setUTCFullYear(moment.getUTCFullYear() - 1)
  if (moment.getUTCMonth() !== month) moment.setUTCDate(0)
  return moment.toISOString()
}

/**
 * The complete VCALENDAR: lines of at most 75 octets, each ended by CRLF. Activities before the feed's start are left
 * out; `others` must be limited to it already.
 */
export const calendarFeed = (
  activities: ReadonlyArray<FeedActivity>,
  facts: FeedFacts,
  others: ReadonlyArray<FeedEntry> = []
): string => {
  const since = feedStart(facts.generated_at)
  const scheduled = activities
    .filter((activity): activity is ScheduledActivity => activity.starts_at !== null && activity.starts_at >= since)
    .sort((one, other) => one.id - other.id)
    .map((activity) => entryOf(activity, facts.zone))
  // The sort is stable: entries with the same start keep their order.
  const entries = [...scheduled, ...others].sort((one, other) =>
    one.starts_at < other.starts_at ? -1 : one.starts_at > other.starts_at ? 1 : 0
  )
  const lines = [
    "BEGIN:VCALENDAR",
    textLine("VERSION", "2.0"),
    textLine("PRODID", "-//Flightcase//Calendar//EN"),
    textLine("CALSCALE", "GREGORIAN"),
    textLine("X-WR-CALNAME", facts.calendar_name),
    "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
    ...(facts.url === "" ? [] : [icalLine(["url", {}, "uri", plain(facts.url)])]),
    ...entries.flatMap((entry) => eventLines(entry, facts)),
    "END:VCALENDAR"
  ]
  return lines.map((line) => `${folded(line)}\r\n`).join("")
}

type ScheduledActivity = FeedActivity & { readonly starts_at: string }

const completed = 2002,
  cancelled_status = 2003

const entryOf = (activity: ScheduledActivity, zone: string): FeedEntry => ({
  ...activity,
  uid: `activity-${activity.id}`,
  zone,
  is_cancelled: activity.status_id === cancelled_status,
  is_completed: activity.status_id === completed,
  is_free: activity.time_status === 0
})

const eventLines = (entry: FeedEntry, facts: FeedFacts): ReadonlyArray<string> => [
  "BEGIN:VEVENT",
  textLine("UID", `${entry.uid}@${facts.host}`),
  instantLine("DTSTAMP", millisOf(facts.generated_at)),
  ...timeLines(entry),
  textLine("SUMMARY", entry.subject),
  ...filledLine("LOCATION", entry.location),
  ...filledLine("DESCRIPTION", entry.description),
  textLine("STATUS", entry.is_cancelled ? "CANCELLED" : "CONFIRMED"),
  ...(entry.is_completed ? ["X-COMPLETED:TRUE"] : []),
  textLine("TRANSP", entry.is_free ? "TRANSPARENT" : "OPAQUE"),
  ...organizerLine(entry.owner),
  "END:VEVENT"
]

const halfHourMillis = 1_800_000

const timeLines = ({ ends_at, starts_at, zone }: FeedEntry): ReadonlyArray<string> => {
  const starts = wholeSecond(starts_at)
  const ends = ends_at === null ? undefined : wholeSecond(ends_at)
  const days = wholeDays(starts, ends, zone)
  if (days !== undefined) return [dateLine("DTSTART", days.first), dateLine("DTEND", days.after)]
  // The format requires an end after the start; an entry without one lasts half an hour.
  return [
    instantLine("DTSTART", starts),
    instantLine("DTEND", ends === undefined || ends <= starts ? starts + halfHourMillis : ends)
  ]
}

/** First day of an entry that fills whole local days, and the day after its last; undefined if it does not. */
const wholeDays = (
  starts: number,
  ends: number | undefined,
  zone: string
): { readonly first: string; readonly after: string } | undefined => {
  const first = dayOf(starts, zone)
  if (startOfDay(first, zone) !== starts) return undefined
  if (ends === undefined) return { first, after: dateAfter(first) }
  if (ends <= starts) return undefined
  const last = dayOf(ends, zone)
  if (startOfDay(last, zone) === ends) return { first, after: last }
  return instantOf(wallOf(ends, zone)).slice(11, 16) === "23:59" ? { first, after: dateAfter(last) } : undefined
}

const wholeSecond = (instant: string): number => Math.floor(millisOf(instant) / 1000) * 1000

const organizerLine = (owner: FeedActivity["owner"]): ReadonlyArray<string> => {
  const email = plain(owner?.email ?? "").replace(/\s/g, "")
  if (owner === null || email === "") return []
  // ical.js quotes a name only where it must; some readers fail on unquoted names, so it is always quoted.
  const name = plain(owner.name).replaceAll("\n", " ").replaceAll('"', "").replaceAll("^", "^^").trim()
  return [`ORGANIZER;CN=${ICAL.stringify.paramPropertyValue(name, true)}:mailto:${email}`]
}

const filledLine = (name: string, text: string | null): ReadonlyArray<string> =>
  text === null || plain(text).trim() === "" ? [] : [textLine(name, text)]

// Writes one line of text. ical.js encodes only the value: whole lines of unknown names, such as X-WR-CALNAME, would
// get VALUE=TEXT.
const textLine = (name: string, text: string): string =>
  `${name}:${ICAL.stringify.value(plain(text), "text", ICAL.design.icalendar, false)}`

/** Text with LF line ends, and without the control characters that the format forbids. */
const plain = (text: string): string => text.replace(/\r\n?/g, "\n").replace(unprintable, "")

const instantLine = (name: string, instant: number): string =>
  icalLine([name.toLowerCase(), {}, "date-time", `${instantOf(instant).slice(0, 19)}Z`])

const dateLine = (name: string, date: string): string => icalLine([name.toLowerCase(), {}, "date", date])

const icalLine = (property: ReadonlyArray<string | object>): string =>
  ICAL.stringify.property([...property], ICAL.design.icalendar, true)

/** Control characters other than tab and line feed. */
const unprintable = /(?![\t\n])\p{Cc}/gu

const lineOctets = 75

/**
 * Folds a line at 75 octets without splitting a character. ical.js would write lines of 76, as it does not count the
 * leading space of continuation lines.
 */
const folded = (line: string): string => {
  let text = "",
    octets = 0
  for (const character of line) {
    const size = octetsOf(character.codePointAt(0) ?? 0)
    if (octets + size > lineOctets) {
      text += "\r\n "
      octets = 1
    }
    text += character
    octets += size
  }
  return text
}

const octetsOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4

// Orders in a calendar: the hire, when it goes out and when it comes back (rules/members-activities 7).

/** Names of rows an order refers to; null if there is none, or the reader may not see it. */
interface OrderNames {
  readonly customer: string | null
  readonly venue: string | null
  readonly store: string | null
  readonly delivery_address: string | null
  readonly collection_address: string | null
  /** Time zone of its store, else the company's. */
  readonly zone: string
}
const { cancelled, checked, complete, on_hire, returned } = statuses
const gone_out: ReadonlySet<number> = new Set([on_hire, returned, checked, complete].map(({ status }) => status))
const come_back: ReadonlySet<number> = new Set([returned, checked, complete].map(({ status }) => status))

/** Calendar entries of one order, by kind; those before `since` are left out. */
export const orderEntries = (
  order: OpportunityRow,
  names: OrderNames,
  kinds: ReadonlyArray<CalendarKind>,
  since: string
): ReadonlyArray<FeedEntry> => [
  ...(kinds.includes("orders") ? hire(order, names, since) : []),
  ...(kinds.includes("dispatch") ? goingOut(order, names, since) : []),
  ...(kinds.includes("returns") ? comingBack(order, names, since) : [])
]

const hire = (order: OpportunityRow, names: OrderNames, since: string): ReadonlyArray<FeedEntry> => {
  const { ends_at, id, starts_at } = order
  if (starts_at === null || (ends_at ?? starts_at) < since) return []
  return [
    {
      ...common(order, names),
      uid: `order-${id}`,
      subject: titleOf(order, names),
      location: placeOf(names.venue, names.delivery_address),
      starts_at,
      ends_at,
      is_completed: order.status === complete.status
    }
  ]
}
/** Entry for the load or else the delivery, if planned; otherwise for the start of the hire. */
const goingOut = (order: OpportunityRow, names: OrderNames, since: string): ReadonlyArray<FeedEntry> => {
  const [starts_at, ends_at] = firstPlanned([
    [order.load_starts_at, order.load_ends_at],
    [order.deliver_starts_at, order.deliver_ends_at],
    [order.starts_at, null]
  ])
  if (starts_at === null || starts_at < since) return []
  return [
    {
      ...common(order, names),
      uid: `order-${order.id}-dispatch`,
      subject: `Out: ${titleOf(order, names)}`,
      location: order.customer_collecting ? names.store : placeOf(names.venue, names.delivery_address),
      starts_at,
      ends_at,
      is_completed: gone_out.has(order.status)
    }
  ]
}
/** Entry for the collection or else the unloading, if planned; otherwise for the end of the hire. */
const comingBack = (order: OpportunityRow, names: OrderNames, since: string): ReadonlyArray<FeedEntry> => {
  const [starts_at, ends_at] = firstPlanned([
    [order.collect_starts_at, order.collect_ends_at],
    [order.unload_starts_at, order.unload_ends_at],
    [order.ends_at === null ? null : dueBack(order.ends_at, names.zone), null]
  ])
  if (starts_at === null || starts_at < since) return []
  return [
    {
      ...common(order, names),
      uid: `order-${order.id}-return`,
      subject: `Back: ${titleOf(order, names)}`,
      location: order.customer_returning ? names.store : placeOf(names.venue, names.collection_address),
      starts_at,
      ends_at,
      is_completed: come_back.has(order.status)
    }
  ]
}
type Span = readonly [starts_at: string | null, ends_at: string | null]
const firstPlanned = (spans: ReadonlyArray<Span>): Span =>
  spans.find(([starts_at]) => starts_at !== null) ?? [null, null]

/** Due time of a hire's return. One that ends at 23:59 is due on that day, as an entry for the full day. */
const dueBack = (ends_at: string, zone: string): string => {
  const at = millisOf(ends_at)
  return instantOf(wallOf(at, zone)).slice(11, 16) === "23:59" ? instantOf(startOfDay(dayOf(at, zone), zone)) : ends_at
}

const common = (order: OpportunityRow, { customer, zone }: OrderNames) => ({
  description: [
    ...(order.number === null ? [] : [`Order ${spokenNumber(order.number)}`]),
    ...(customer === null ? [] : [`Customer: ${customer}`]),
    ...(order.reference === null || order.reference === "" ? [] : [`Reference: ${order.reference}`]),
    ...(order.customer_collecting ? ["The customer collects."] : []),
    ...(order.customer_returning ? ["The customer brings it back."] : [])
  ].join("\n"),
  zone,
  is_cancelled: order.status === cancelled.status,
  // Orders leave time free, as they do not keep people busy for the whole hire.
  is_free: true,
  owner: null
})
const titleOf = ({ number, subject }: OpportunityRow, { customer }: OrderNames): string =>
  [number === null ? "" : spokenNumber(number), subject, customer === null ? "" : `(${customer})`]
    .filter((part) => part !== "")
    .join(" ")
const placeOf = (venue: string | null, address: string | null): string | null =>
  [venue, address].filter((part) => part !== null && part !== "").join(", ") || null
