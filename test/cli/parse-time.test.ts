import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { countedFrom, parseDay, parseMomentIn, readMoment, typedMoment, understood } from "../../cli/base/parse-time.ts"
import { CliError } from "../../cli/base/exit-codes.ts"
import { dayOf } from "../../core/values/time.ts"

const london = "Europe/London"
/** A Wednesday, 13:30 in London. */
const wednesday = Date.parse("2026-11-25T13:30:20Z")

describe("an explicit time", () => {
  it.each([
    ["2026-07-01T09:00", london, "2026-07-01T09:00:00+01:00"],
    ["2026-01-01T09:00", london, "2026-01-01T09:00:00+00:00"],
    ["2026-07-01", "America/New_York", "2026-07-01T00:00:00-04:00"],
    ["2026-07-01 09:00", "Asia/Kolkata", "2026-07-01T09:00:00+05:30"],
    ["2026-07-01 9:00", "Asia/Kolkata", "2026-07-01T09:00:00+05:30"],
    ["2026-07-01T09:00Z", london, "2026-07-01T09:00Z"],
    ["2026-07-01T09:00+02:00", london, "2026-07-01T09:00+02:00"],
    ["2026-07-01T09:00:30.5", london, "2026-07-01T09:00:30+01:00"]
  ])("%s on the clock of %s is read as %s", (text, zone, expected) =>
    expect(parseMomentIn(text, zone, "--from")).toBe(expected)
  )
})

describe("a time in words, on a Wednesday at 13:30", () => {
  it.each([
    ["now", "2026-11-25T13:30:00+00:00"],
    ["today", "2026-11-25T00:00:00+00:00"],
    ["Today 17:00", "2026-11-25T17:00:00+00:00"],
    ["tomorrow", "2026-11-26T00:00:00+00:00"],
    ["tomorrow at 9:00", "2026-11-26T09:00:00+00:00"],
    ["yesterday 18:45", "2026-11-24T18:45:00+00:00"],
    ["9:00", "2026-11-25T09:00:00+00:00"],
    ["17:05", "2026-11-25T17:05:00+00:00"],
    ["+2h", "2026-11-25T15:30:00+00:00"],
    ["+90min", "2026-11-25T15:00:00+00:00"],
    ["-1h", "2026-11-25T12:30:00+00:00"],
    ["+3d", "2026-11-28T00:00:00+00:00"],
    ["+3d 9:00", "2026-11-28T09:00:00+00:00"],
    ["+2w", "2026-12-09T00:00:00+00:00"],
    ["fri", "2026-11-27T00:00:00+00:00"],
    ["FRIDAY 9:00", "2026-11-27T09:00:00+00:00"],
    ["next fri", "2026-12-04T00:00:00+00:00"],
    ["tue", "2026-12-01T00:00:00+00:00"],
    ["wed", "2026-11-25T00:00:00+00:00"],
    ["wed 17:00", "2026-11-25T17:00:00+00:00"],
    // 9:00 has passed today.
    ["wed 9:00", "2026-12-02T09:00:00+00:00"],
    ["next wednesday 9:00", "2026-12-02T09:00:00+00:00"],
    ["thurs", "2026-11-26T00:00:00+00:00"]
  ])("%s is read as %s", (text, expected) => expect(parseMomentIn(text, london, "--from", wednesday)).toBe(expected))

  it("counts from the store's day, not the machine's", () => {
    expect(parseMomentIn("today", "Pacific/Auckland", "--from", wednesday)).toBe("2026-11-26T00:00:00+13:00")
    expect(parseMomentIn("fri 9:00", "America/New_York", "--from", wednesday)).toBe("2026-11-27T09:00:00-05:00")
    expect(parseDay("tomorrow", "--date", "Pacific/Auckland", wednesday)).toBe("2026-11-27")
    expect(parseDay("fri 9:00", "--date", london, wednesday)).toBe("2026-11-27")
  })
})

describe("an end given as a date or weekday", () => {
  it.each([
    ["--to", "2026-12-03", "2026-12-03T23:59:59+00:00"],
    ["--until", "fri", "2026-11-27T23:59:59+00:00"],
    ["--ends-at", "+3d", "2026-11-28T23:59:59+00:00"],
    ["--charge-ends-at", "today", "2026-11-25T23:59:59+00:00"],
    ["--back", "tomorrow", "2026-11-26T23:59:59+00:00"],
    ["To", "2026-12-03", "2026-12-03T23:59:59+00:00"],
    ["--to", "2026-12-03T00:00", "2026-12-03T00:00:00+00:00"],
    ["--to", "fri 9:00", "2026-11-27T09:00:00+00:00"]
  ])("%s %s is read as %s", (flag, text, expected) =>
    expect(parseMomentIn(text, london, flag, wednesday)).toBe(expected)
  )

  it.each([
    ["mon", "2026-11-27T00:00:00+00:00", "2026-11-30T23:59:59+00:00"],
    ["wed 9:00", "2026-11-27T09:00:00+00:00", "2026-12-02T09:00:00+00:00"],
    ["fri", "2026-11-27T09:00:00+00:00", "2026-11-27T23:59:59+00:00"],
    ["next mon", "2026-12-04T00:00:00+00:00", "2026-12-07T23:59:59+00:00"],
    ["tomorrow", "2026-12-04T00:00:00+00:00", "2026-11-26T23:59:59+00:00"],
    ["fri", "2026-11-20T00:00:00+00:00", "2026-11-27T23:59:59+00:00"]
  ])("%s of a hire starting %s is read as %s: a weekday counts from a future start", (text, begins, expected) =>
    expect(parseMomentIn(text, london, "--to", countedFrom(text, begins, wednesday))).toBe(expected)
  )

  it("covers the full day despite clock changes, and nothing of the next", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(london, "America/New_York", "Asia/Beirut", "America/Sao_Paulo", "Pacific/Apia", "UTC"),
        fc.date({ min: new Date("2010-01-01"), max: new Date("2035-12-31"), noInvalidDate: true }),
        (zone, date) => {
          const day = date.toISOString().slice(0, 10)
          if (zone === "Pacific/Apia" && day === "2011-12-30") return
          const from = Date.parse(parseMomentIn(day, zone, "--from")),
            to = Date.parse(parseMomentIn(day, zone, "--to"))
          expect([dayOf(from, zone), dayOf(from - 1, zone) < day]).toEqual([day, true])
          expect([dayOf(to, zone), dayOf(to + 1000, zone) > day]).toEqual([day, true])
        }
      )
    )
  })
})

describe("days on which the clocks change", () => {
  it.each([
    // A skipped time is the moment of the clock change, a repeated one its first occurrence.
    ["2026-03-29T01:30", london, "--from", "2026-03-29T02:00:00+01:00"],
    ["2026-10-25T01:30", london, "--from", "2026-10-25T01:30:00+01:00"],
    ["2026-03-29", london, "--to", "2026-03-29T23:59:59+01:00"],
    ["2026-10-25", london, "--to", "2026-10-25T23:59:59+00:00"],
    // Beirut's clock jumps from 00:00 to 01:00.
    ["2026-03-29", "Asia/Beirut", "--from", "2026-03-29T01:00:00+03:00"],
    ["2026-03-28", "Asia/Beirut", "--to", "2026-03-28T23:59:59+02:00"]
  ])("%s in %s given by %s is read as %s", (text, zone, flag, expected) =>
    expect(parseMomentIn(text, zone, flag)).toBe(expected)
  )
  it("are one day long for +1d, while +5h counts elapsed hours", () => {
    const evening = Date.parse("2026-10-24T20:00:00Z")
    expect(parseMomentIn("+1d 9:00", london, "--from", evening)).toBe("2026-10-25T09:00:00+00:00")
    expect(parseMomentIn("+5h", london, "--from", evening)).toBe("2026-10-25T01:00:00+00:00")
    expect(parseMomentIn("+4h", london, "--from", evening)).toBe("2026-10-25T01:00:00+01:00")
  })
})

describe("times given in words", () => {
  const said = (text: string, flag: string): string | undefined =>
    understood(typedMoment(text, london, flag, wednesday), london, flag)
  it("are printed as understood, unlike exact times", () => {
    expect(said("2026-12-03", "--to")).toBe("until Thu 3 Dec 2026, end of day, Europe/London")
    expect(said("2026-12-01", "--from")).toBe("from Tue 1 Dec 2026 00:00, Europe/London")
    expect(said("fri 9:00", "--to")).toBe("until Fri 27 Nov 2026 09:00, Europe/London")
    expect(said("2026-12-03T09:00", "--to")).toBeUndefined()
    expect(said("2026-12-03T09:00Z", "--to")).toBeUndefined()
  })
  it("are printed with the name of the flag", () => {
    const notes: Array<string> = []
    readMoment({ note: (text) => notes.push(text) }, "2026-12-03", london, "--to")
    readMoment({ note: (text) => notes.push(text) }, "2026-12-03T09:00", london, "--to")
    expect(notes).toEqual(["--to: until Thu 3 Dec 2026, end of day, Europe/London"])
  })
})

describe("an unreadable time", () => {
  it.each([
    "someday",
    "2026-02-30",
    "2026-07-01T25:00",
    "2026-02-30T09:00Z",
    "2026-07-01T09:60+01:00",
    "01.07.2026",
    "",
    "next",
    "next today",
    "fri 24:00",
    "9:60",
    "fri9:00",
    "+3",
    "d"
  ])("is refused, naming the flag and the valid forms: %j", (text) => {
    for (const read of [
      () => parseMomentIn(text, "UTC", "--from", wednesday),
      () => parseDay(text, "--from", "UTC", wednesday)
    ]) {
      let refused: unknown
      try {
        read()
      } catch (error) {
        refused = error
      }
      expect(refused).toBeInstanceOf(CliError)
      if (!(refused instanceof CliError)) continue
      expect(refused.code).toBe(2)
      expect(refused.message).toContain("--from: ")
      expect(refused.way_out).toMatch(/2026-07-01.*tomorrow.*next fri.*\+3d/)
    }
  })
})
