/** Events are stored for ever: their declarations may only grow, and are listed in docs/events.json. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { catalogueOf } from "../../core/kernel/endpoints/endpoint.ts"
import { brokenPromises, eventList, eventsPage } from "./event-description.ts"
import { decodeData, eventType, follow } from "../../core/kernel/events/event-type.ts"
import { recordedCatalogue } from "../recorded-catalogue.ts"

type EventList = ReturnType<typeof eventList>

const update = "UPDATE_EVENTS=1 npx vitest run test/core/events.test.ts"
const page_file = fileURLToPath(new URL("../../docs/EVENTS.md", import.meta.url))
const list_file = fileURLToPath(new URL("../../docs/events.json", import.meta.url))
const kinds = [...recordedCatalogue.events.values()]
const now = eventList(kinds, recordedCatalogue.tables)

if (process.env["UPDATE_EVENTS"] === "1") {
  const kept = JSON.parse(readFileSync(list_file, "utf8")) as EventList
  const broken = brokenPromises(kept, now)
  if (broken.length === 0) {
    writeFileSync(list_file, `${JSON.stringify(now, null, 1)}\n`)
    writeFileSync(page_file, eventsPage(kinds, recordedCatalogue.tables))
  }
}

describe("the stored list of events", () => {
  const kept = JSON.parse(readFileSync(list_file, "utf8")) as EventList
  it("is compatible with the events declared today", () => expect(brokenPromises(kept, now)).toEqual([]))
  it("contains every declared event and field", () => expect(kept, update).toEqual(now))
  it("is rendered up to date in docs/EVENTS.md", () =>
    expect(readFileSync(page_file, "utf8"), update).toBe(eventsPage(kinds, recordedCatalogue.tables)))

  it("is incompatible with changed fields, removed events and new required fields", () => {
    const before: EventList = {
      events: { "lamp.lit": { id: "integer", watts: "integer" }, "lamp.out": { id: "integer" } },
      columns: { lamps: { name: "text" } }
    }
    const after: EventList = {
      events: { "lamp.lit": { id: "integer", watts: "text", colour: "text", "hue?": "text" } },
      columns: { lamps: { name: "text", size: "integer" } }
    }
    expect(brokenPromises(before, after)).toEqual([
      "events lamp.lit: watts held integer, and holds text",
      "events lamp.lit: colour was added and must be optional",
      "events lamp.out is gone"
    ])
    expect(brokenPromises(before, before)).toEqual([])
  })
  it("is compatible with new values of a choice, but not with removed ones", () => {
    const lamps = (kind: string): EventList => ({ events: {}, columns: { lamps: { kind } } })
    expect(brokenPromises(lamps('"spot" or "wash"'), lamps('"spot" or "beam" or "wash"'))).toEqual([])
    expect(brokenPromises(lamps('"spot" or "wash"'), lamps('"spot"'))).toEqual([
      'columns lamps: kind held "spot" or "wash", and holds "spot"'
    ])
    expect(brokenPromises(lamps('"spot"'), lamps("text"))).toHaveLength(1)
  })
})

describe("a declared event", () => {
  it("is described in one sentence of at most 160 characters", () => {
    for (const { meaning, type } of kinds) expect(meaning, type).toMatch(/^[A-Z][^\n]{8,160}\.$/)
  })
  it("is rejected if another event has its type", () => {
    const twice = { name: "twice", events: [kinds[0]!, kinds[0]!] }
    expect(() => catalogueOf([twice]).events).toThrow(`two events share a type: ${kinds[0]!.type}`)
  })

  const lit = eventType("lamp.lit", {
    meaning: "A lamp was lit.",
    project: "changes_no_table",
    data: () => Schema.Struct({ id: Schema.Int, watts: Schema.Int, by: Schema.optionalKey(Schema.String) }),
    // Release 0 wrote kilowatts.
    upcast: ({ kilowatts, ...data }) => (typeof kilowatts === "number" ? { ...data, watts: kilowatts * 1_000 } : data)
  })
  it("belongs to the stream of its subject", () =>
    expect(lit.make({ id: 7, watts: 60 })).toEqual({ stream: "lamp:7", type: "lamp.lit", data: { id: 7, watts: 60 } }))
  it("is converted to its present form when read from an earlier release", () =>
    expect(decodeData(lit, { id: 7, kilowatts: 2 })).toEqual({ id: 7, watts: 2_000 }))
  it("is read without fields of a later release", () =>
    expect(decodeData(lit, { id: 7, watts: 60, colour: "red" })).toEqual({ id: 7, watts: 60 }))
  it("is rejected if its data does not match, naming the event and the field", () => {
    expect(() => decodeData(lit, { id: 7, watts: "60" })).toThrow(/stored lamp\.lit.*watts/s)
    expect(() => decodeData(lit, { watts: 60 })).toThrow(/id/)
  })
  it("is decoded for a follower with only the fields that the follower declares", () => {
    const follower = follow(
      "lamp.lit",
      () => Schema.Struct({ watts: Schema.Int }),
      (data) => [data as never]
    )
    expect(follower.fold({ id: 7, watts: 60 }, { recorded_at: "" })).toEqual([{ watts: 60 }])
  })
})
