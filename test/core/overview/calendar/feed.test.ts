import fc from "fast-check"
import ICAL from "ical.js"
import { describe, expect, it } from "vitest"
import { calendarFeed, type FeedActivity, feedStart } from "../../../../core/overview/calendar/feed.ts"
import { feedHeaders, feedName } from "../../../../core/overview/calendar/kinds.ts"
import { uidHost } from "../../../../core/overview/calendar/api.ts"
import { anyCharacters } from "../../../any-characters.ts"
import { tableRows } from "../../../words.ts"

const facts: Parameters<typeof calendarFeed>[1] = {
  generated_at: "2026-06-18T12:00:00.000Z",
  host: "hire.example",
  calendar_name: "Flightcase — All Activities",
  zone: "UTC",
  url: "https://hire.example:8443"
}
const activity = (more: Partial<FeedActivity> = {}): FeedActivity => ({
  id: 7,
  subject: "Site visit",
  location: null,
  description: null,
  starts_at: "2026-07-01T09:00:00.000Z",
  ends_at: "2026-07-01T10:30:00.000Z",
  status_id: 2001,
  time_status: 1,
  owner: null,
  ...more
})
const feed = (activities: ReadonlyArray<FeedActivity>, more: Partial<typeof facts> = {}): string =>
  calendarFeed(activities, { ...facts, ...more })
const unfolded = (text: string): ReadonlyArray<string> => text.replaceAll("\r\n ", "").split("\r\n")
const property = (text: string, name: string): ReadonlyArray<string> =>
  unfolded(text).filter((line) => line.startsWith(`${name}:`) || line.startsWith(`${name};`))
const parsed = (text: string): ReadonlyArray<ICAL.Component> =>
  new ICAL.Component(ICAL.parse(text) as ConstructorParameters<typeof ICAL.Component>[0]).getAllSubcomponents("vevent")

describe("a calendar feed", () => {
  it("writes the properties of an event in order, with every line ended by CRLF", () => {
    const text = feed([
      activity({
        location: "Hall 3, Dock B",
        description: "Bring: cable\nand tape",
        status_id: 2002,
        time_status: 0,
        owner: { name: 'Ann "Rigger" O\'Neil, Jr', email: "ann@hire.example" }
      })
    ])
    expect(text).toBe(
      [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Flightcase//Calendar//EN",
        "CALSCALE:GREGORIAN",
        "X-WR-CALNAME:Flightcase — All Activities",
        "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
        "URL:https://hire.example:8443",
        "BEGIN:VEVENT",
        "UID:activity-7@hire.example",
        "DTSTAMP:20260618T120000Z",
        "DTSTART:20260701T090000Z",
        "DTEND:20260701T103000Z",
        "SUMMARY:Site visit",
        "LOCATION:Hall 3\\, Dock B",
        "DESCRIPTION:Bring: cable\\nand tape",
        "STATUS:CONFIRMED",
        "X-COMPLETED:TRUE",
        "TRANSP:TRANSPARENT",
        'ORGANIZER;CN="Ann Rigger O\'Neil, Jr":mailto:ann@hire.example',
        "END:VEVENT",
        "END:VCALENDAR",
        ""
      ].join("\r\n")
    )
  })

  it("contains no events without activities", () => {
    expect(property(feed([]), "BEGIN")).toEqual(["BEGIN:VCALENDAR"])
    expect(parsed(feed([]))).toEqual([])
  })

  it.each([
    [2001, 1, ["STATUS:CONFIRMED", "TRANSP:OPAQUE"]],
    [2002, 1, ["STATUS:CONFIRMED", "X-COMPLETED:TRUE", "TRANSP:OPAQUE"]],
    [2003, 0, ["STATUS:CANCELLED", "TRANSP:TRANSPARENT"]],
    [2004, 0, ["STATUS:CONFIRMED", "TRANSP:TRANSPARENT"]]
  ])("maps status %d with time status %d to STATUS and TRANSP", (status_id, time_status, expected) => {
    const lines = unfolded(feed([activity({ status_id, time_status })]))
    expect(lines.filter((line) => /^(STATUS|X-COMPLETED|TRANSP)/.test(line))).toEqual(expected)
  })

  it("contains activities from a year ago on, sorted by start, and none without a start", () => {
    const text = feed([
      activity({ id: 1, starts_at: "2031-01-01T09:00:00.000Z", ends_at: null }),
      activity({ id: 2, starts_at: "2025-06-18T11:59:59.999Z" }),
      activity({ id: 3, starts_at: "2025-06-18T12:00:00.000Z" }),
      activity({ id: 4, starts_at: null, ends_at: null }),
      activity({ id: 6 }),
      activity({ id: 5 })
    ])
    expect(property(text, "UID")).toEqual([3, 5, 6, 1].map((id) => `UID:activity-${id}@hire.example`))
    expect(feedStart("2028-02-29T08:00:00.000Z")).toBe("2027-02-28T08:00:00.000Z")
    expect(feedStart("2029-02-28T08:00:00.000Z")).toBe("2028-02-28T08:00:00.000Z")
  })

  it("omits blank locations, blank texts and owners without an address", () => {
    const text = feed([activity({ location: " ", description: "", owner: { name: "Ann", email: null } })])
    expect([...property(text, "LOCATION"), ...property(text, "DESCRIPTION"), ...property(text, "ORGANIZER")]).toEqual(
      []
    )
  })

  it("quotes the organiser's name", () => {
    expect(property(feed([activity({ owner: { name: "Ann", email: "ann@hire.example" } })]), "ORGANIZER")).toEqual([
      'ORGANIZER;CN="Ann":mailto:ann@hire.example'
    ])
  })

  it("keeps hostile texts within their line", () => {
    const hostile = "x\r\nATTENDEE:mailto:evil@example.com"
    const text = feed(
      [
        activity({
          subject: hostile,
          location: hostile,
          description: hostile,
          owner: { name: hostile, email: hostile }
        })
      ],
      { calendar_name: hostile }
    )
    expect(property(text, "ATTENDEE")).toEqual([])
    expect(property(text, "SUMMARY")).toEqual(["SUMMARY:x\\nATTENDEE:mailto:evil@example.com"])
  })

  it("escapes backslashes, semicolons, commas and every kind of line end", () => {
    expect(property(feed([activity({ subject: "a\\b;c,d\r\ne\rf\ng:h\u0007" })]), "SUMMARY")).toEqual([
      "SUMMARY:a\\\\b\\;c\\,d\\ne\\nf\\ng:h"
    ])
  })
})

describe("the time of an event", () => {
  // for, zone, starts, ends, DTSTART and DTEND
  const table = tableRows(`
    a timed activity                     | UTC              | 2026-07-01T09:00:00Z     | 2026-07-01T10:30:00Z     | :20260701T090000Z    | :20260701T103000Z
    no end, as half an hour              | UTC              | 2026-07-01T09:00:00Z     | -                        | :20260701T090000Z    | :20260701T093000Z
    an end equal to the start            | UTC              | 2026-07-01T09:00:00Z     | 2026-07-01T09:00:00Z     | :20260701T090000Z    | :20260701T093000Z
    fractions of a second, which are cut | UTC              | 2026-07-01T09:00:00.700Z | 2026-07-01T10:00:00.200Z | :20260701T090000Z    | :20260701T100000Z
    a day without an end                 | UTC              | 2026-07-01T00:00:00Z     | -                        | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260702
    a day to midnight                    | UTC              | 2026-07-01T00:00:00Z     | 2026-07-02T00:00:00Z     | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260702
    a day to 23:59                       | UTC              | 2026-07-01T00:00:00Z     | 2026-07-01T23:59:00Z     | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260702
    a day to 23:59:59                    | UTC              | 2026-07-01T00:00:00Z     | 2026-07-01T23:59:59Z     | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260702
    three days to midnight               | UTC              | 2026-07-01T00:00:00Z     | 2026-07-04T00:00:00Z     | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260704
    three days to 23:59                  | UTC              | 2026-07-01T00:00:00Z     | 2026-07-03T23:59:00Z     | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260704
    the last day of a year               | UTC              | 2026-12-31T00:00:00Z     | -                        | ;VALUE=DATE:20261231 | ;VALUE=DATE:20270101
    midnight to noon, as timed           | UTC              | 2026-07-01T00:00:00Z     | 2026-07-01T12:00:00Z     | :20260701T000000Z    | :20260701T120000Z
    a start a second late, as timed      | UTC              | 2026-07-01T00:00:01Z     | 2026-07-02T00:00:00Z     | :20260701T000001Z    | :20260702T000000Z
    a summer day in London               | Europe/London    | 2026-06-30T23:00:00Z     | 2026-07-01T22:59:00Z     | ;VALUE=DATE:20260701 | ;VALUE=DATE:20260702
    the same day in UTC, as timed        | UTC              | 2026-06-30T23:00:00Z     | 2026-07-01T22:59:00Z     | :20260630T230000Z    | :20260701T225900Z
    a day of 23 hours                    | America/New_York | 2026-03-08T05:00:00Z     | 2026-03-09T04:00:00Z     | ;VALUE=DATE:20260308 | ;VALUE=DATE:20260309
    a day that begins at 01:00           | America/Santiago | 2026-09-06T04:00:00Z     | 2026-09-07T03:00:00Z     | ;VALUE=DATE:20260906 | ;VALUE=DATE:20260907
  `)
  it.each(table)(
    "is written as a time or as whole days for %s",
    (_, zone = "UTC", starts_at = "", ends_at = "", start, end) => {
      const text = feed([activity({ starts_at, ends_at: ends_at === "-" ? null : ends_at })], { zone })
      expect([...property(text, "DTSTART"), ...property(text, "DTEND")]).toEqual([`DTSTART${start}`, `DTEND${end}`])
    }
  )
})

describe("the lines of a feed", () => {
  const octets = (line: string): number => new TextEncoder().encode(line).length

  it("are folded at 75 octets at most, between characters", () => {
    const lines = feed([activity({ subject: "x".repeat(200), description: "é".repeat(100) })]).split("\r\n")
    const start = lines.findIndex((line) => line.startsWith("SUMMARY"))
    expect(lines.slice(start, start + 3).map(octets)).toEqual([75, 75, 8 + 200 - 75 - 74 + 1])
    const accented = lines.findIndex((line) => line.startsWith("DESCRIPTION"))
    expect(lines.slice(accented, accented + 3).map(octets)).toEqual([74, 75, 12 + 200 - 74 - 74 + 1])
  })

  it("are parsed back into the written text without its control characters, and never split a character", () => {
    const text = anyCharacters({ maxLength: 300 })
    fc.assert(
      fc.property(text, text, text, (subject, location, description) => {
        const written = feed([
          activity({ subject, location, description, owner: { name: subject, email: "ann@hire.example" } })
        ])
        for (const line of written.split("\r\n")) {
          expect(octets(line)).toBeLessThanOrEqual(75)
          expect(new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode(line))).toBe(line)
        }
        const readable = (asked: string): string => asked.replace(/\r\n?/g, "\n").replace(/(?![\t\n])\p{Cc}/gu, "")
        const [event] = parsed(written)
        expect(event!.getFirstPropertyValue("summary")).toBe(readable(subject))
        if (readable(location).trim() !== "") expect(event!.getFirstPropertyValue("location")).toBe(readable(location))
        if (readable(description).trim() !== "")
          expect(event!.getFirstPropertyValue("description")).toBe(readable(description))
      }),
      { numRuns: 200, seed: 3 }
    )
  })

  it("are parsed by a calendar library into the same events", () => {
    const events = parsed(
      feed([
        activity({ id: 1, owner: { name: 'Zoë ^n "Z"', email: "zoe@hire.example" } }),
        activity({ id: 2, starts_at: "2026-07-02T00:00:00.000Z", ends_at: null })
      ])
    ).map((component) => new ICAL.Event(component))
    expect(
      events.map((event) => [event.uid, event.summary, event.startDate.toString(), event.endDate.toString()])
    ).toEqual([
      ["activity-1@hire.example", "Site visit", "2026-07-01T09:00:00Z", "2026-07-01T10:30:00Z"],
      ["activity-2@hire.example", "Site visit", "2026-07-02", "2026-07-03"]
    ])
    expect(events[0]!.component.getFirstProperty("organizer")!.getFirstParameter("cn")).toBe("Zoë ^n Z")
    expect(events[0]!.organizer).toBe("mailto:zoe@hire.example")
  })
})

describe("the feed of a person or of everybody", () => {
  it("is named after the person, or All Activities, and is sent as an iCalendar file", () => {
    expect([feedName(null), feedName("Ann O'Neil")]).toEqual(["Flightcase — All Activities", "Flightcase — Ann O'Neil"])
    expect(feedHeaders).toEqual({
      "content-type": "text/calendar; charset=utf-8",
      "content-disposition": "inline; filename=flightcase-calendar.ics"
    })
  })

  it('has UIDs with the host of the configured address, or with "flightcase" without a valid one', () => {
    expect([uidHost("https://hire.example:8443/app"), uidHost("not an address"), uidHost("")]).toEqual([
      "hire.example",
      "flightcase",
      "flightcase"
    ])
  })
})
