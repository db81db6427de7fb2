/** Reactions of one slice to another's events: in the same transaction and a fixed order, or not at all. */
import { Effect, Result, Schema } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Catalogue, catalogueOf, type Slice } from "../../../core/kernel/endpoints/endpoint.ts"
import { match, runCommand } from "../../../core/kernel/runtime/engine.ts"
import { dataOf, event } from "../../../core/kernel/events/event-type.ts"
import { reaction } from "../../../core/kernel/events/react.ts"
import { createdEvent, rowCreated, rowUpdated } from "../../../core/kernel/endpoints/crud-resource.ts"
import { invalidField, Rejection } from "../../../core/kernel/fields/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { both_engines, owner } from "../../app.ts"
import { lamps, openShop, racks, type Shop, shopSlices } from "./lamp-shop.ts"
import { words } from "../../words.ts"

/** Number of reads of facts: [for new lamps, for new racks]. */
const reads = { lamps: 0, racks: 0 }

/** Every new lamp gets a rack, numbered after the lamps that existed before the command. */
const racksOfLamps: Slice = {
  name: "racks_of_lamps",
  react: [
    reaction({
      on: [rowCreated(lamps)],
      facts: () =>
        Effect.gen(function* () {
          reads.lamps++
          return (yield* (yield* Store).find(lamps, {})).length
        }),
      decide: ({ events }, lamps_before, context) =>
        Result.succeed(
          events.map(({ data }, at) =>
            createdEvent(racks, {
              id: context.id(racks),
              name: `rack ${lamps_before + at} of ${data.name}`,
              floor: null
            })
          )
        )
    })
  ]
}
const rackCreated = rowCreated(racks)
/** Puts new racks on a floor, as a reaction to a reaction; rejects racks of lamps called "heavy". */
const floorsOfRacks: Slice = {
  name: "floors_of_racks",
  react: [
    reaction({
      on: [rackCreated],
      facts: ({ events }) =>
        Effect.sync(() => {
          reads.racks++
          return events.map(({ data }) => data.id)
        }),
      decide: ({ all }, ids) =>
        dataOf(rackCreated, all).some(({ name }) => name?.endsWith("heavy"))
          ? Result.fail(invalidField("name", `No rack holds it; ${all.length} events were decided.`))
          : Result.succeed(ids.map((id) => event(`rack:${id}`, "rack.updated", { id, floor: ids.length })))
    })
  ]
}
/** Reacts to its own events without end. */
const endless: Slice = {
  name: "endless",
  react: [
    reaction({
      on: [rowUpdated(lamps)],
      facts: () => Effect.void,
      decide: ({ events }) =>
        Result.succeed(
          events.flatMap(({ data: { id, label } }) =>
            label === "endless" ? [event(`lamp:${id}`, "lamp.updated", { id, label })] : []
          )
        )
    })
  ]
}
const catalogue = catalogueOf([floorsOfRacks, ...shopSlices, racksOfLamps, endless])

describe.each(both_engines)("reactions on %s", (engine) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(engine, catalogue)
  })
  afterAll(() => shop.close())
  beforeEach(() => {
    reads.lamps = 0
    reads.racks = 0
  })
  const newest = async (count: number) =>
    ((await shop.dump())["journal"] as ReadonlyArray<{ type: string; command_id: string; data: { id: number } }>).slice(
      -count
    )
  const many = (count: number, ids: { readonly [table: string]: ReadonlyArray<number> } = {}) => {
    const found = match(catalogue, "POST", "/api/v1/lamps/many")
    if (found instanceof Rejection) throw found
    return shop.run(
      runCommand(
        { ...found, viewer: owner, request: { method: "POST", path: "", query: [], body: { count } } },
        { ids }
      )
    )
  }

  it("run round by round in the command's transaction", async () => {
    const before = (await shop.dump())["lamps"]!.length
    const { body, status } = await shop.call("POST", "/api/v1/lamps", { name: "Desk" })
    expect(status).toBe(201)
    const events = await newest(3)
    expect(events.map(({ type }) => type)).toEqual(["lamp.created", "rack.created", "rack.updated"])
    expect(new Set(events.map(({ command_id }) => command_id)).size).toBe(1)
    expect(events[0]!.data.id).toBe(body.lamp.id)
    expect((await shop.call("GET", `/api/v1/racks/${events[1]!.data.id}`)).body.rack).toMatchObject({
      name: `rack ${before} of Desk`,
      floor: 1
    })
  })
  it("load their facts once for three events, and report the ids they allocate", async () => {
    const { events, ids } = await many(3)
    expect(reads).toEqual({ lamps: 1, racks: 1 })
    expect(events.map(({ type }) => type)).toEqual(
      words(`
      lamp.created lamp.created lamp.created rack.created rack.created rack.created rack.updated rack.updated
      rack.updated
    `)
    )
    expect(ids["racks"]).toEqual(events.slice(3, 6).map(({ data }) => data["id"]))
    expect(events.slice(6).map(({ data }) => data)).toEqual(ids["racks"]!.map((id) => ({ id, floor: 3 })))
  })
  it("reuse the ids allocated when the command was first decided", async () => {
    const { events } = await many(2, { lamps: [800_001, 800_002], racks: [800_011, 800_012] })
    expect(events.map(({ data }) => data["id"])).toEqual([800_001, 800_002, 800_011, 800_012, 800_011, 800_012])
  })
  it("can reject the whole command, given every event decided so far", async () => {
    const before = await shop.dump()
    const { body, status } = await shop.call("POST", "/api/v1/lamps", { name: "heavy" })
    expect([status, body.errors]).toEqual([422, { name: ["No rack holds it; 2 events were decided."] }])
    const { number_sequences: _drawn, ...after } = await shop.dump()
    const { number_sequences: _before, ...kept } = before
    expect(after).toEqual(kept)
  })
  it("load their facts only for events that they subscribe to", async () => {
    const { body } = await shop.call("POST", "/api/v1/racks", { name: "Alone" })
    expect(reads).toEqual({ lamps: 0, racks: 1 })
    reads.racks = 0
    expect((await shop.call("PUT", `/api/v1/racks/${body.rack.id}`, { name: "Renamed" })).status).toBe(200)
    expect(reads).toEqual({ lamps: 0, racks: 0 })
  })
  it("fail as a defect if one triggers itself endlessly", async () => {
    const { body } = await shop.call("POST", "/api/v1/lamps", { name: "Round" })
    await expect(shop.call("PUT", `/api/v1/lamps/${body.lamp.id}`, { label: "endless" })).rejects.toThrow(
      "reactions to lamp.updated come to no end"
    )
    expect((await shop.call("GET", `/api/v1/lamps/${body.lamp.id}`)).body.lamp.label).toBeNull()
  })
})

describe("includes declared by another slice", () => {
  it("are composed per catalogue and leave the declarations unchanged", () => {
    const include = { kind: "brief", via: "rack_id", table: racks } as const
    const plain = catalogueOf(shopSlices)
    const adding = catalogueOf([...shopSlices, { name: "one", includes: { lamps: { shelf: include } } }])
    const lampsOf = (one: Catalogue) => one.resources.find(({ plural }) => plural === "lamps")
    const shown = (one: Catalogue) => JSON.stringify(Schema.toJsonSchemaDocument(one.endpoint("lamps.show")!.answer!))
    expect(lampsOf(adding)?.includes["shelf"]).toBe(include)
    expect(lampsOf(plain)?.includes).not.toHaveProperty("shelf")
    expect(adding.composed(lampsOf(plain)!)).toBe(lampsOf(adding))
    expect(plain.composed(lampsOf(plain)!)).toBe(lampsOf(plain))
    expect(shown(adding)).toContain("Returned with include=shelf")
    expect(shown(plain)).not.toContain("include=shelf")
  })
  it("are rejected for an unknown resource and for a name used twice", () => {
    const include = () => ({ kind: "brief", via: "rack_id", table: racks }) as const
    expect(() => catalogueOf([...shopSlices, { name: "one", includes: { lampz: { shelf: include() } } }])).toThrow(
      "no resource lampz"
    )
    expect(() => catalogueOf([...shopSlices, { name: "one", includes: { lamps: { rack: include() } } }])).toThrow(
      "two slices include rack in lamps"
    )
  })
})
