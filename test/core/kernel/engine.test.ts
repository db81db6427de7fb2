import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { catalogueOf, type Slice } from "../../../core/kernel/endpoints/endpoint.ts"
import { match, runCommand } from "../../../core/kernel/runtime/engine.ts"
import { integer, text } from "../../../core/kernel/fields/field.ts"
import { journal } from "../../../core/kernel/events/journal.ts"
import { rowEvents } from "../../../core/kernel/endpoints/crud-resource.ts"
import { Rejection, type Viewer } from "../../../core/kernel/fields/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { type Table, table } from "../../../core/kernel/tables/table.ts"
import { both_engines, owner, viewerWith } from "../../app.ts"
import { lamps, openShop, openShopAt, type Place, placeOn, type Shop, shopCatalogue, shopSlices } from "./lamp-shop.ts"
import { rentalHouse } from "../../rental-house.ts"
import { words } from "../../words.ts"

const all_permissions = ["lamps.view", "lamps.create", "lamps.edit", "lamps.delete"]
const everything = viewerWith(all_permissions, ["lamps:read", "lamps:write"])

describe.each(both_engines)("commands on %s", (engine) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(engine)
  })
  afterAll(() => shop.close())
  const w = rentalHouse((method, path, body, by?: Viewer) => shop.call(method, `/api/v1${path}`, body, by))
  const lamp = async (body: object = {}): Promise<number> => (await w.create("/lamps", { name: "Lamp", ...body })).id
  const statusOf = async (method: string, path: string, body?: unknown, viewer?: Viewer): Promise<number> =>
    (await w.call(method, path, body, viewer)).status
  const events = () => shop.run(Effect.flatMap(Store, (store) => store.find(journal, {})))

  describe("refusals", () => {
    const bad = { kind: "nonsense" }
    it("report a missing row before a missing permission", async () => {
      const id = await lamp()
      const nobody = viewerWith([], [])
      for (const method of ["PUT", "DELETE"]) expect(await statusOf(method, "/lamps/999999", bad, nobody)).toBe(404)
      expect(await statusOf("GET", "/lamps/999999", undefined, { ...nobody, is_active: false })).toBe(404)
      expect(await statusOf("PUT", `/lamps/${id}`, bad, nobody)).toBe(403)
      expect(await statusOf("GET", `/lamps/${id}`, undefined, nobody)).toBe(403)
    })
    it("report an inactive user, missing permission or missing ability before an invalid body, also to the owner", async () => {
      const id = await lamp()
      expect(await statusOf("PUT", `/lamps/${id}`, bad, viewerWith(all_permissions, ["lamps:read"]))).toBe(403)
      expect(await statusOf("PUT", `/lamps/${id}`, bad, viewerWith(["lamps.view"], ["lamps:write"]))).toBe(403)
      expect(await statusOf("PUT", `/lamps/${id}`, bad, { ...owner, abilities: new Set(["lamps:read"]) })).toBe(403)
      expect(await statusOf("GET", `/lamps/${id}`, undefined, viewerWith(["lamps.view"], ["lamps:write"]))).toBe(403)
      expect(await statusOf("PUT", `/lamps/${id}`, bad, { ...everything, is_active: false })).toBe(403)
      expect(await statusOf("PUT", `/lamps/${id}`, bad, everything)).toBe(422)
      expect(await statusOf("PUT", `/lamps/${id}`, { name: "Better" }, everything)).toBe(200)
    })
    it("are 404 for malformed and out-of-range ids, and for an unknown path", async () => {
      for (const id of words(
        "0 -1 1.0 01 1e3 abc 9007199254740993 99999999999999999999 %20 %00 1%00 null __proto__ 1;drop"
      )) {
        expect([id, await statusOf("GET", `/lamps/${id}`)]).toEqual([id, 404])
      }
      expect(await statusOf("GET", "/lamps/%ff")).toBe(404)
      expect(await statusOf("GET", "/nope")).toBe(404)
    })
    it("are 405 with Allow for an unsupported method, but not for PATCH or HEAD of a row", async () => {
      const refused = await w.remove("/lamps")
      expect([refused.status, refused.headers["allow"]]).toEqual([405, "GET, POST"])
      const id = await lamp()
      expect(await statusOf("PATCH", `/lamps/${id}`, { name: "Patched" })).toBe(200)
      expect(await statusOf("HEAD", `/lamps/${id}`)).toBe(200)
    })
    it("name every invalid field, or the body if it is not an object", async () => {
      expect((await w.post("/lamps/many", { count: 1 })).status).toBe(200)
      const { status, body } = await w.post("/lamps", { kind: "x", rack_id: 77, weight: "heavy", tag_list: [1] })
      expect([status, Object.keys(body.errors).sort()]).toEqual([
        422,
        ["kind", "name", "rack_id", "tag_list.0", "weight"]
      ])
      expect(body.message).toBe(`${Object.values<string[]>(body.errors)[0]![0]} (and 4 more errors)`)
      for (const wrong of [[], "text", 5, true])
        expect((await w.post("/lamps", wrong)).body.errors).toHaveProperty("body")
    })
  })

  describe("references", () => {
    it("are rejected anywhere in the body if the row is missing or deleted", async () => {
      const [alive, gone] = [(await w.create("/racks", { name: "R" })).id, (await w.create("/racks", { name: "S" })).id]
      await w.remove(`/racks/${gone}`)
      const id = await lamp({ rack_id: alive })
      const reading = (rack: unknown) => ({ at: "2026-01-01", volts: 12, rack })
      const { body } = await w.post(`/lamps/${id}/measure`, {
        readings: [reading({ id: alive }), reading({ id: gone }), reading({ id: 98765, shelf: "high" })],
        rack_ids: [alive, 9_007_199_254_740_991, gone]
      })
      expect(Object.keys(body.errors).sort()).toEqual(
        words("rack_ids.1 rack_ids.2 readings.1.rack.id readings.2.rack.id readings.2.rack.shelf")
      )
      expect(await statusOf("PUT", `/lamps/${id}`, { rack_id: gone })).toBe(422)
      expect((await w.put(`/lamps/${id}`, { rack_id: null })).body.lamp.rack_id).toBe(null)
    })
    it("are read from nested bodies, with defaults filled in", async () => {
      const rack = (await w.create("/racks", { name: "R" })).id
      const read = await w.post(`/lamps/${await lamp()}/measure`, {
        readings: [{ at: "2026-01-01T10:00+02:00", volts: "12.5", rack: { id: String(rack) } }]
      })
      expect(read.body).toEqual({
        readings: [{ at: "2026-01-01T08:00:00.000Z", volts: "12.500", rack: { id: rack, shelf: 1 } }],
        rack_ids: []
      })
    })
  })

  describe("a command without effect", () => {
    const booking = (from: string, to: string) => ({ starts_at: `2026-07-${from}`, ends_at: `2026-07-${to}` })
    it.each<[string, (id: number) => readonly [path: string, body: unknown], number]>([
      ["an invalid body", () => ["/lamps", { name: "" }], 422],
      ["a reference to a missing row", () => ["/lamps", { name: "L", rack_id: 12345 }], 422],
      ["a number that is already used", () => ["/lamps", { name: "L", asset_number: "A-1" }], 422],
      ["a rule's refusal after it allocated many ids", () => ["/lamps/many", { count: 20, refuse: true }], 422],
      ["a rule's refusal after it drew a document number", (id) => [`/lamps/${id}/number`, { refuse: true }], 422],
      ["a refusal after recording", (id) => [`/lamps/${id}/crash`, { at: "respond_refusal" }], 422],
      ["an overlap that only the database detects", (id) => [`/lamps/${id}/book`, booking("04", "06")], 422]
    ])("leaves no row and no event after %s", async (_name, asked, status) => {
      await w.post("/lamps", { name: "First", asset_number: "A-1" })
      const id = await lamp()
      await w.post(`/lamps/${id}/book`, booking("01", "05"))
      const before = await shop.dump()
      const refused = await w.post(...asked(id))
      expect([refused.status, Object.keys(refused.body)]).toEqual([status, ["message", "errors"]])
      expect(await shop.dump()).toEqual(before)
    })
    it.each(["facts", "decide", "respond"])("leaves no row and no event after a defect in %s", async (at) => {
      const id = await lamp()
      const before = await shop.dump()
      await expect(w.post(`/lamps/${id}/crash`, { at })).rejects.toThrow("broken")
      expect(await shop.dump()).toEqual(before)
      expect(await statusOf("PUT", `/lamps/${id}`, { label: "still works" })).toBe(200)
    })
    it("leaves no gap in document numbers when rejected", async () => {
      const id = await lamp()
      const number = async (refuse: boolean) => (await w.post(`/lamps/${id}/number`, { refuse })).body.number
      const first = await number(false)
      expect([await number(true), await number(false), await number(true), await number(false)]).toEqual([
        undefined,
        first + 1,
        undefined,
        first + 2
      ])
    })
    it("records no event if it changes no value", async () => {
      const id = await lamp({ weight: "1.50", tag_list: ["a"] })
      const before = await shop.dump()
      const { body } = await w.put(`/lamps/${id}`, { name: " Lamp ", weight: 1.5, tag_list: ["a"], custom_fields: {} })
      expect(body.lamp.id).toBe(id)
      expect(await shop.dump()).toEqual(before)
    })
  })

  describe("ids", () => {
    it("are never reused after a deletion, refusal, defect or rebuild", async () => {
      const given: Array<number> = []
      const make = async () => {
        given.push(await lamp())
      }
      await make()
      await w.remove(`/lamps/${given[0]}`)
      await make()
      await w.post("/lamps/many", { count: 10, refuse: true })
      await make()
      await w.post(`/lamps/${given.at(-1)}/crash`, { at: "decide" }).catch(() => {})
      await w.remove(`/lamps/${given.at(-1)}`)
      await shop.rebuild()
      await make()
      expect(given).toEqual([...new Set(given)].sort((a, b) => a - b))
    })
    it("are unique and ascending for a command that needs 300", async () => {
      const { body } = await w.post("/lamps/many", { count: 300 })
      expect(new Set(body.ids).size).toBe(300)
      expect(body.ids).toEqual([...body.ids].sort((a, b) => a - b))
      expect(await statusOf("GET", `/lamps/${body.ids[299]}`)).toBe(200)
    })
    it("are those of the command's first decision, and more are allocated if they do not suffice", async () => {
      const found = match(shopCatalogue, "POST", "/api/v1/lamps/many")
      if (found instanceof Rejection) throw found
      const call = { ...found, viewer: owner, request: { method: "POST", path: "", query: [], body: { count: 3 } } }
      const outcome = await shop.run(runCommand(call, { command_id: "kept", ids: { lamps: [700_001, 700_002] } }))
      expect(outcome.command_id).toBe("kept")
      expect(outcome.ids["lamps"]).toHaveLength(3)
      expect(outcome.ids["lamps"]!.slice(0, 2)).toEqual([700_001, 700_002])
      expect(outcome.events.map((event) => event.data["id"])).toEqual(outcome.ids["lamps"])
    })
  })

  describe("database constraints", () => {
    it("report a uniqueness violation at its field, on create and update, until the other row is deleted", async () => {
      const id = await lamp({ asset_number: "U-1", batch: "b", count: 1 })
      const other = await lamp({ asset_number: "U-2", batch: "b", count: 2 })
      ;(await lamp(), await lamp())
      expect((await w.post("/lamps", { name: "L", asset_number: "U-1" })).body).toEqual({
        message: "The asset number has already been taken.",
        errors: { asset_number: ["The asset number has already been taken."] }
      })
      expect((await w.put(`/lamps/${other}`, { asset_number: "U-1" })).body.errors).toHaveProperty("asset_number")
      expect((await w.put(`/lamps/${other}`, { count: 1 })).body.errors).toEqual({
        batch: ["This batch has a lamp of that count."]
      })
      await w.remove(`/lamps/${id}`)
      expect(await statusOf("PUT", `/lamps/${other}`, { asset_number: "U-1" })).toBe(200)
    })
    it("accept adjoining windows of one lamp, and reject overlapping ones", async () => {
      const [one, other] = [await lamp(), await lamp()]
      const snapshot = (id: number, starts_at: string, ends_at: string) =>
        statusOf("POST", `/lamps/${id}/book`, { starts_at, ends_at })
      expect(await snapshot(one, "2026-08-02", "2026-08-04")).toBe(200)
      expect(await snapshot(one, "2026-08-04", "2026-08-05")).toBe(200)
      expect(await snapshot(one, "2026-08-01", "2026-08-02")).toBe(200)
      expect(await snapshot(other, "2026-08-02", "2026-08-04")).toBe(200)
      for (const [from, to] of [
        ["2026-08-03", "2026-08-03T01:00"],
        ["2026-08-01T23:59:59.999", "2026-08-02T00:00:00.001"],
        ["2026-07-01", "2026-09-01"],
        ["2026-08-02", "2026-08-04"]
      ] as const) {
        expect(await snapshot(one, from, to)).toBe(422)
      }
      // An empty window overlaps none.
      expect(await snapshot(one, "2026-08-03", "2026-08-03")).toBe(200)
    })
  })

  describe("the journal", () => {
    it("numbers positions from one without gaps, and versions within each stream", async () => {
      const [one, other] = [await lamp(), await lamp()]
      await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          w
            .post(`/lamps/${at % 2 === 0 ? one : other}/touch`, {
              other_id: at % 3 === 0 ? one : other,
              delay: at % 4,
              locked: at % 4 !== 0
            })
            .then(({ status }) => expect(status).toBe(200))
        )
      )
      // More events than are inserted in one statement.
      await w.post("/lamps/many", { count: 20, touch: true })
      const recorded = await events()
      expect(recorded.map((event) => event.position)).toEqual(recorded.map((_, at) => at + 1))
      const streams = new Map<string, Array<number>>()
      for (const { stream, version } of recorded) streams.set(stream, [...(streams.get(stream) ?? []), version])
      for (const [stream, versions] of streams)
        expect([stream, versions]).toEqual([stream, versions.map((_, at) => at + 1)])
      expect(streams.get(`lamp:${one}`)!.length + streams.get(`lamp:${other}`)!.length).toBe(26)
    })
    it("records the user, command and time", async () => {
      await w.post("/lamps", { name: "Signed" }, { ...everything, user_id: 7 })
      const last = (await events()).at(-1)!
      expect([last.actor_id, last.replica_id, last.type, last.data["name"]]).toEqual([
        7,
        null,
        "lamp.created",
        "Signed"
      ])
      expect(last.command_id).toMatch(/^[0-9a-f-]{36}$/)
      const [stored] = await shop.run(Effect.flatMap(Store, (store) => store.find(lamps, { name: "Signed" })))
      expect([stored!.created_at, stored!.updated_at]).toEqual([last.recorded_at, last.recorded_at])
    })
    it("projects to the same tables again", async () => {
      const before = await shop.dump()
      await shop.rebuild()
      expect(await shop.dump()).toEqual(before)
    })
  })
})

describe.each(both_engines)("the schema on %s", (engine) => {
  let place: Place
  let folder: string
  const opened: Array<Shop> = []
  const open = async (catalogue = shopCatalogue): Promise<Shop> => {
    const shop = await openShopAt(place, catalogue)
    opened.push(shop)
    return shop
  }
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-schema-"))
    place = await placeOn(engine, join(folder, "shop.sqlite"))
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((shop) => shop.close()))
    await place.gone()
    rmSync(folder, { recursive: true })
  })
  const columnsOf = (shop: Shop, table: string): Promise<ReadonlyArray<string>> =>
    shop.run(
      Effect.flatMap(Store, (store) =>
        Effect.map(
          store.dialect === "pg"
            ? store.run<{ name: string }>(
                "select column_name as name from information_schema.columns where table_name = $1 order by ordinal_position",
                [table]
              )
            : store.run<{ name: string }>("select name from pragma_table_info(?)", [table]),
          (rows) => rows.map((row) => row.name)
        )
      )
    )

  it("is created once if several processes open it together", async () => {
    const shops = await Promise.all([open(), open(), open()])
    await shops[0]!.call("POST", "/api/v1/lamps", { name: "One" })
    const again = await open()
    await again.call("POST", "/api/v1/lamps", { name: "Two" })
    expect((await shops[2]!.call("GET", "/api/v1/lamps")).body.lamps.map((lamp: any) => [lamp.id, lamp.name])).toEqual([
      [1, "One"],
      [2, "Two"]
    ])
  })
  it("is not opened if a newer release wrote it", async () => {
    const shop = await open()
    await shop.call("POST", "/api/v1/lamps", { name: "Kept" })
    await shop.run(
      Effect.flatMap(Store, (store) =>
        store.run("update flightcase_meta set value = '99' where key = 'schema_version'")
      )
    )
    const before = await shop.dump()
    const changed = catalogueOf([{ name: "other", tables: [table("others", { name: text() })] }])
    for (const catalogue of [shopCatalogue, changed]) await expect(open(catalogue)).rejects.toThrow("schema 99")
    expect(await shop.dump()).toEqual(before)
  })
  it("is migrated from an older release and back by projecting the journal", async () => {
    const first = await open()
    const ids = await Promise.all(
      ["a", "b", "c"].map(
        async (name) => (await first.call("POST", "/api/v1/lamps", { name, label: "Ä" })).body.lamp.id
      )
    )
    await first.call("DELETE", `/api/v1/lamps/${Math.max(...ids)}`)
    const before = await first.dump()
    await first.close()
    opened.splice(0)

    // The next release adds ratings to lamps, removes their batches and the racks, and adds shelves.
    const { batch: _batch, ...kept } = lamps.columns
    const changed: Table = {
      ...lamps,
      columns: { ...kept, rating: integer({ default: 3 }) },
      uniques: [],
      indexes: [["rating"]]
    }
    const shelves = table("shelves", { name: text({ nullable: true }) })
    const slices = shopSlices
      .filter((slice) => slice.name !== "racks")
      .map((slice): Slice =>
        slice.name !== "lamps"
          ? slice
          : { name: "lamps", tables: [changed, ...slice.tables!.slice(1)], events: rowEvents(changed) }
      )
    const next = await open(catalogueOf([...slices, { name: "shelves", tables: [shelves] }]))
    expect(await columnsOf(next, "lamps")).toEqual(expect.arrayContaining(["rating", "label", "label_folded"]))
    expect(await columnsOf(next, "lamps")).not.toContain("batch")
    expect(await columnsOf(next, "racks")).toEqual([])
    expect(await columnsOf(next, "shelves")).toContain("name")
    const lampsNow = await next.run(
      Effect.flatMap(Store, (store) =>
        store.run<{ id: number; rating: number; label_folded: string }>(
          "select id, rating, label_folded from lamps order by id"
        )
      )
    )
    expect(lampsNow).toEqual(
      ids
        .sort((a, b) => a - b)
        .slice(0, 2)
        .map((id) => ({ id, rating: 3, label_folded: "ä" }))
    )
    await next.close()
    opened.splice(0)

    const back = await open()
    expect(await back.dump()).toEqual(before)
    expect((await back.call("POST", "/api/v1/lamps", { name: "d" })).body.lamp.id).toBeGreaterThan(Math.max(...ids))
  })
})
