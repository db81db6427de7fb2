/**
 * Has programs of others read our calendar feed: python3-icalendar and khal (Debian's packages), beside ical.js.
 *
 *   node test/readers/feeds.ts        exit 0 when each of them understood every event as it was meant
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import ICAL from "ical.js"
import { calendarFeed, type FeedActivity } from "../../core/overview/calendar/feed.ts"

const zone = "Europe/London"
const base: FeedActivity = {
  id: 0,
  subject: "",
  location: null,
  description: null,
  starts_at: null,
  ends_at: null,
  status_id: 2001,
  time_status: 1,
  owner: null
}
interface Case {
  readonly says: string
  readonly activity: Partial<FeedActivity>
  readonly start: string
  readonly end: string
}
const long = "Žluťoučký kůň příšerně úpěl ďábelské ódy 🎪🎸 ".repeat(12).trim()
const cases: ReadonlyArray<Case> = [
  {
    says: "an hour",
    activity: { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-01T10:00:00Z" },
    start: "2026-07-01T09:00:00Z",
    end: "2026-07-01T10:00:00Z"
  },
  {
    says: "no end",
    activity: { starts_at: "2026-07-01T09:00:00Z" },
    start: "2026-07-01T09:00:00Z",
    end: "2026-07-01T09:30:00Z"
  },
  {
    says: "over the night the clocks go back",
    activity: { starts_at: "2026-10-24T23:30:00Z", ends_at: "2026-10-25T02:30:00Z" },
    start: "2026-10-24T23:30:00Z",
    end: "2026-10-25T02:30:00Z"
  },
  {
    says: "the day of 23 hours, whole",
    activity: { starts_at: "2026-03-29T00:00:00Z", ends_at: "2026-03-29T23:00:00Z" },
    start: "2026-03-29",
    end: "2026-03-30"
  },
  {
    says: "the day of 25 hours, whole",
    activity: { starts_at: "2026-10-24T23:00:00Z", ends_at: "2026-10-26T00:00:00Z" },
    start: "2026-10-25",
    end: "2026-10-26"
  },
  {
    says: "a summer day to 23:59",
    activity: { starts_at: "2026-06-30T23:00:00Z", ends_at: "2026-07-01T22:59:00Z" },
    start: "2026-07-01",
    end: "2026-07-02"
  },
  {
    says: "a summer day without an end",
    activity: { starts_at: "2026-06-30T23:00:00Z" },
    start: "2026-07-01",
    end: "2026-07-02"
  },
  {
    says: "three days",
    activity: { starts_at: "2026-12-24T00:00:00Z", ends_at: "2026-12-27T00:00:00Z" },
    start: "2026-12-24",
    end: "2026-12-27"
  },
  // No backslash before an n: this version of python3-icalendar reads the two escaped as a line break.
  {
    says: "signs of the format",
    activity: {
      subject: 'A, b; c\\d\nline two: x="y"',
      location: "Dock 3; Hall B, left",
      description: "one\r\ntwo\\three\rfour,,;;",
      starts_at: "2026-07-02T09:00:00Z",
      ends_at: "2026-07-02T10:00:00Z"
    },
    start: "2026-07-02T09:00:00Z",
    end: "2026-07-02T10:00:00Z"
  },
  {
    says: "long text of many octets",
    activity: {
      subject: long,
      description: `${long}\n${"x".repeat(75)}\n${"é".repeat(80)}`,
      starts_at: "2026-07-03T09:00:00Z",
      ends_at: "2026-07-03T10:00:00Z"
    },
    start: "2026-07-03T09:00:00Z",
    end: "2026-07-03T10:00:00Z"
  },
  {
    says: "right to left",
    activity: {
      subject: "הובלה לחיפה (תאורה)",
      location: "القاهرة",
      starts_at: "2026-07-04T09:00:00Z",
      ends_at: "2026-07-04T10:00:00Z"
    },
    start: "2026-07-04T09:00:00Z",
    end: "2026-07-04T10:00:00Z"
  },
  {
    says: "cancelled and free",
    activity: { status_id: 2003, time_status: 0, starts_at: "2026-07-05T09:00:00Z", ends_at: "2026-07-05T10:00:00Z" },
    start: "2026-07-05T09:00:00Z",
    end: "2026-07-05T10:00:00Z"
  },
  {
    says: "completed, organised",
    activity: {
      status_id: 2002,
      owner: { name: 'Ann "Rigger" O\'Neil; Jr, MBE', email: "ann@hire.example" },
      starts_at: "2026-07-06T09:00:00Z",
      ends_at: "2026-07-06T10:00:00Z"
    },
    start: "2026-07-06T09:00:00Z",
    end: "2026-07-06T10:00:00Z"
  },
  {
    says: "in a year's time and a half",
    activity: { starts_at: "2027-12-31T23:30:00Z", ends_at: "2028-01-01T00:30:00Z" },
    start: "2027-12-31T23:30:00Z",
    end: "2028-01-01T00:30:00Z"
  }
]
const activities = cases.map(({ says, activity }, at): FeedActivity => ({
  ...base,
  id: at + 10,
  subject: says,
  ...activity
}))
const text = calendarFeed(activities, {
  url: "",
  generated_at: "2026-06-18T12:00:00.000Z",
  host: "hire.example",
  calendar_name: "Flightcase — All Activities",
  zone
})

const plain = (words: string | null): string => (words ?? "").replace(/\r\n?/g, "\n")
const meant = cases.map(({ start, end }, at) => {
  const { id, subject, location, description, status_id, time_status, owner } = activities[at]!
  return {
    uid: `activity-${id}@hire.example`,
    start,
    end,
    summary: plain(subject),
    location: plain(location),
    description: plain(description),
    status: status_id === 2003 ? "CANCELLED" : "CONFIRMED",
    transp: time_status === 0 ? "TRANSPARENT" : "OPAQUE",
    organizer: owner === null ? null : [owner.name.replaceAll('"', ""), `mailto:${owner.email}`]
  }
})
type Meant = (typeof meant)[number]

const byIcalJs = (): ReadonlyArray<Meant> =>
  new ICAL.Component(ICAL.parse(text) as ConstructorParameters<typeof ICAL.Component>[0])
    .getAllSubcomponents("vevent")
    .map((event) => {
      const word = (name: string): string => String(event.getFirstPropertyValue(name) ?? "")
      const organizer = event.getFirstProperty("organizer")
      return {
        uid: word("uid"),
        start: word("dtstart"),
        end: word("dtend"),
        summary: word("summary"),
        location: word("location"),
        description: word("description"),
        status: word("status"),
        transp: word("transp"),
        organizer: organizer === null ? null : [String(organizer.getParameter("cn")), String(organizer.getFirstValue())]
      }
    })
const folder = mkdtempSync(join(tmpdir(), "flightcase-readers-"))
const file = join(folder, "feed.ics")
const said = (command: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = process.env): string =>
  execFileSync(command, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] })
const byPython = (): ReadonlyArray<Meant> =>
  said("/usr/bin/python3", [new URL("feeds.py", import.meta.url).pathname, file])
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Meant)

/** khal prints what it read: times in its configured zone, days without a time. */
const byKhal = (): ReadonlyArray<Partial<Meant>> => {
  mkdirSync(join(folder, "calendar"))
  const config = join(folder, "khal.conf")
  writeFileSync(
    config,
    `[calendars]\n[[feed]]\npath = ${join(folder, "calendar")}\n[locale]\nlocal_timezone = UTC\ndefault_timezone = UTC\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ntimeformat = %H:%M\ndatetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\n[sqlite]\npath = ${join(folder, "khal.db")}\n[default]\ndefault_calendar = feed\n`
  )
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CACHE_HOME: folder }
  said("khal", ["-c", config, "import", "--batch", file], env)
  const [field, record] = ["\u001f", "\u001e"]
  const format =
    [
      "{uid}",
      "{start-date-full}",
      "{start-time}",
      "{end-date-full}",
      "{end-time}",
      "{title}",
      "{location}",
      "{description}",
      "{status}"
    ].join(field) + record
  const printed = said(
    "khal",
    ["-c", config, "list", "--once", "--notstarted", "--day-format", "", "--format", format, "2026-01-01", "1000d"],
    env
  )
  return printed
    .split(record)
    .map((one) => one.replace(/^\n+/, ""))
    .filter((one) => one.includes(field))
    .map((one) => {
      const [uid, start_date, start_time, end_date, end_time, summary, location, description, status] = one
        .split(field)
        .map((part) => part.replace(/\u001b\[[0-9;]*m/g, ""))
      // For whole days khal prints the last day, not the day after.
      const after = (day: string): string => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10)
      return {
        uid: uid!,
        start: start_time ? `${start_date}T${start_time}:00Z` : start_date!,
        end: end_time ? `${end_date}T${end_time}:00Z` : after(end_date!),
        summary: summary!,
        location: location!,
        description: description!,
        status: (status ?? "").trim()
      }
    })
}

let wrong = 0
const compare = (reader: string, read: ReadonlyArray<Partial<Meant>>): void => {
  const found = new Map(read.map((event) => [event.uid, event]))
  for (const event of meant) {
    const other = found.get(event.uid)
    const differing =
      other === undefined
        ? ["missing"]
        : (Object.keys(other) as Array<keyof Meant>).filter(
            (key) => JSON.stringify(other[key]) !== JSON.stringify(event[key])
          )
    for (const key of differing)
      console.log(
        `${reader}: ${event.uid} ${key}: meant ${JSON.stringify(event[key as keyof Meant])}, read ${JSON.stringify(other?.[key as keyof Meant])}`
      )
    wrong += differing.length
  }
  console.log(`${reader}: ${read.length} events read of ${meant.length}`)
  if (read.length !== meant.length) wrong++
}
try {
  writeFileSync(file, text)
  compare("ical.js", byIcalJs())
  compare("python3-icalendar", byPython())
  compare("khal", byKhal())
} finally {
  rmSync(folder, { recursive: true })
}
process.exitCode = wrong === 0 ? 0 : 1
