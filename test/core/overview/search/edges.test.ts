/** Search with accents and special characters, deleted rows, and locations of units as text. */
import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { insert } from "../../../../core/kernel/tables/table.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { members } from "../../../../core/people/members/schema.ts"
import { products } from "../../../../core/products/products/schema.ts"
import { candidates_max } from "../../../../core/overview/search/find.ts"
import { placeOf, type Whereabouts } from "../../../../core/overview/search/where.ts"
import { whereText } from "../../../../core/overview/search/answer.ts"
import { type App, engines, viewerWith } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"

const now = "2026-06-18T12:00:00.000Z"

describe.each(engines)("search in edge cases, on %s", (engine) => {
  const w = appHouse(engine, now, now)
  beforeAll(async () => {
    await w.put("/stores/1", { timezone: "Europe/London" })
  }, 60_000)

  const search = async (words: string, more = "", viewer?: Parameters<App["call"]>[3]) => {
    return (await w.must("GET", `/search?q=${encodeURIComponent(words)}${more}`, undefined, viewer)).search
  }
  const ids = (rows: ReadonlyArray<{ readonly id: number }>) => rows.map(({ id }) => id)
  const member = (name: string) => w.customer({ name })
  const where = async (code: string, viewer?: Parameters<App["call"]>[3]) =>
    (await search(code, "&kinds[]=units", viewer)).units[0]?.where

  it.each([
    ["Åkerlund Ljud", ["akerlund", "ÅKER", "ljud åk"]],
    ["Straße & Söhne", ["strasse", "sohne", "STRASSE"]],
    ["Łódź Światło", ["swiat", "łódź"]],
    ["Ελληνικό Θέατρο", ["θεατρο", "ΕΛΛΗΝ"]],
    ["İstanbul Işık", ["istanbul", "isik"]],
    ["Новый Йорк Ёлка", ["новый", "новыи", "елка", "ЙОРК"]],
    ["Сцена ѝ Ӯзбек Тоҷикӣ", ["сцена ѝ", "ӯзбек", "УЗБЕК", "тоҷики", "Тоҷикӣ"]],
    ["Ӑнлав Пӗрлӗх Пӧрт", ["ӑнлав", "анлав", "перлех", "порт"]],
    ["Helsingør Ǿrsted Lyd", ["ǿrsted", "orsted"]],
    ["Ἡ Ὁδός τοῦ Θεάτρου", ["ὁδός", "Ὁδός τοῦ", "θεάτρου"]],
    ["한국 무대", ["한국", "한국 무대"]],
    ["ガラス舞台", ["ガラス", "ラス舞"]],
    ["हिन्दी मंच", ["हिन्दी", "मंच"]],
    ["Smørrebrød Lys", ["smorrebrod", "SMØR"]],
    ['Nord-Süd 100% "Ton" (West)', ["100%", '"ton"', "(west)", "nord-sud", "süd ton"]],
    ["O'Brien_Lights", ["o'brien", "brien_l", "obrien_lights".slice(2)]]
  ])("finds %s by parts of the name, ignoring case and accents", async (name, typed) => {
    const id = await member(name)
    for (const words of typed) expect(ids((await search(words)).members), words).toContain(id)
  })
  it("finds a unit by parts of its codes, and treats search operators as text", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product, 1, { asset_number: "RACK-7781-B", serial_number: "SN/0099-XQ" })
    for (const words of ["781", "7781-b", "rack", "099-xq", "/0099"])
      expect(ids((await search(words)).units), words).toContain(unit)
    for (const words of ["rack OR nothing", "NEAR(rack xq)", "rack NOT xq", "r*ck", "rack^", "%781%", "_781"])
      expect(ids((await search(words)).units), words).toEqual([])
  })
  it('finds a quotation mark, as of a 19" rack', async () => {
    const marked = await w.product({ name: 'Rack 19" steel' })
    await w.product({ name: "Rack 19 steel" })
    for (const words of ['19"', 'rack 19"', '19" steel']) expect(ids((await search(words)).products)).toEqual([marked])
    expect((await search('a"OR"b')).products).toEqual([])
  })
  it("finds names by their first one or two letters, and complete codes of two characters", async () => {
    const xu = await member("Xu & Partners")
    const product = await w.serialised({ sku: "Q7" })
    expect(ids((await search("x")).members)).toContain(xu)
    expect(ids((await search("xu")).members)).toContain(xu)
    expect(ids((await search("q7")).products)).toEqual([product])
    expect((await search("q7")).products[0].is_exact).toBe(true)
  })
  it("finds a row among more deleted rows than one search examines", async () => {
    const kept = await member("Verdigris Stages")
    const row = await w.app.run(Effect.flatMap(Store, (store) => store.get(members, kept)))
    if (row === undefined) throw new Error("the member is not there")
    const deleted = Array.from({ length: candidates_max + 1 }, (_, at) =>
      insert(members, { ...row, id: 9_000_000 + at, deleted_at: "2026-01-01T00:00:00.000Z" })
    )
    await w.app.run(Effect.flatMap(Store, (store) => store.apply(deleted)))
    const answer = await search("erdigri", "&kinds[]=members")
    expect(ids(answer.members)).toEqual([kept])
    expect(answer.more).toEqual([])
  })
  it("finds a renamed product by its new name alone, beside more rows than one search examines", async () => {
    const id = await w.serialised({ name: "Vermilion" })
    const row = await w.app.run(Effect.flatMap(Store, (store) => store.get(products, id)))
    if (row === undefined) throw new Error("the product is not there")
    const others = Array.from({ length: candidates_max }, (_, at) => insert(products, { ...row, id: 9_000_000 + at }))
    await w.app.run(Effect.flatMap(Store, (store) => store.apply(others)))
    await w.put(`/products/${id}`, { name: "Cobalt" })
    const [renamed, before] = [await search("cobalt", "&kinds[]=products"), await search("vermil", "&kinds[]=products")]
    expect([ids(renamed.products), renamed.more]).toEqual([[id], []])
    expect([ids(before.products).includes(id), before.more]).toEqual([false, ["products"]])
  })
  it("returns the requested number of rows with the exact match first, and reports that there are more", async () => {
    for (let n = 0; n < 20; n++) await w.post("/members", { name: `Bulk Crowd ${n}`, membership_type: "contact" })
    const exact = await member("Crowd")
    const answer = await search("crowd", "&limit=7")
    expect(answer.members).toHaveLength(7)
    expect(answer.members[0]).toMatchObject({ id: exact, is_exact: true })
    expect(answer.more).toContain("members")
    expect((await search("crowd", "&limit=100")).members).toHaveLength(21)
    for (const limit of ["0", "101", "x"])
      expect((await w.get(`/search?q=crowd&limit=${limit}`)).body.errors, limit).toHaveProperty("limit")
  })
  it("finds no deleted product and no erased member, also after a rebuild", async () => {
    const [erased, kept] = [await member("Forgettable Person"), await member("Memorable Person")]
    const product = await w.serialised({ name: "Obsolete Widget" })
    expect(ids((await search("widget")).products)).toEqual([product])
    expect((await w.post(`/members/${erased}/anonymise`, {})).status).toBe(200)
    expect((await w.remove(`/products/${product}`)).status).toBe(204)
    expect(ids((await search("forgettable")).members)).toEqual([])
    expect(ids((await search("person")).members)).toEqual([kept])
    expect(ids((await search("widget")).products)).toEqual([])
    await w.app.rebuild()
    expect(ids((await search("forgettable")).members)).toEqual([])
    expect(ids((await search("widget")).products)).toEqual([])
  })
  it("shows whether a unit is in quarantine (with reason and end), in repair, lost, found or sold", async () => {
    const product = await w.serialised({ name: "Fresnel" })
    const unit = await w.unit(product, 1, { asset_number: "FR-1", location: "Rack 3" })
    const move = async (name: string, body: object = {}) => {
      await w.must("POST", `/stock_levels/${unit}/${name}`, body)
    }
    expect((await where("fr-1")).text).toBe("Main Warehouse, Rack 3")
    await move("quarantine", { reason: "hot smell", expected_back_at: "2026-06-20T08:00:00Z" })
    expect(await where("fr-1")).toMatchObject({
      place: "quarantine",
      text: "in quarantine (hot smell), expected back Sat 20 Jun 09:00, Main Warehouse, Rack 3",
      service: [{ state: "quarantine", quantity: 1, reason: "hot smell" }]
    })
    // Users who may see stock also see the reason.
    expect((await where("fr-1", viewerWith(["stock.view", "opportunities.view"], ["*"]))).service[0].reason).toBe(
      "hot smell"
    )
    await move("repair", { reason: "lamp holder" })
    expect(await where("fr-1")).toMatchObject({ place: "in_repair" })
    await move("lost", {})
    expect(await where("fr-1")).toMatchObject({ place: "lost" })
    await move("release", {})
    expect(await where("fr-1")).toMatchObject({ place: "in_store", service: [] })
    await move("sold", {})
    expect(await where("fr-1")).toMatchObject({ place: "sold", text: "sold" })
  })
  it("shows how much of a bulk quantity is out of service", async () => {
    const product = await w.product({ name: "Clamp" })
    const level = await w.hold(product, 40)
    await w.put(`/stock_levels/${level}`, { barcode: "CLAMPS" })
    await w.post(`/stock_levels/${level}/quarantine`, { quantity: 3, reason: "bent" })
    expect(await where("clamps")).toMatchObject({ place: "in_store", text: "Main Warehouse, 3 in quarantine (bent)" })
  })
  it("shows the supplier and return date of a sub-hired unit to users who see purchases", async () => {
    const supplier_id = await member("Rig Hire")
    const product = await w.serialised({ name: "Hoist" })
    const { id, items } = await w.create("/purchase_orders?include=items", {
      supplier_id,
      store_id: 1,
      starts_at: "2026-06-18T08:00:00Z",
      ends_at: "2026-06-25T08:00:00Z",
      items: [{ product_id: product, quantity: "1" }]
    })
    const path = `/purchase_orders/${id}`
    await w.post(`${path}/send`)
    const lines = [{ item_id: items[0].id, quantity: "1", serial_numbers: ["HOIST-9"] }]
    await w.must("POST", `${path}/receive`, { lines })
    expect(await where("hoist-9")).toMatchObject({
      place: "in_store",
      text: "Main Warehouse, sub-hired from Rig Hire, due back Thu 25 Jun 09:00",
      supplier: { name: "Rig Hire", purchase_order: { id } }
    })
    expect((await where("hoist-9", viewerWith(["stock.view"], ["*"]))).supplier).toBeNull()
    expect((await w.post(`${path}/return`)).status).toBe(200)
    expect((await search("hoist-9")).units).toMatchObject([
      { where: { place: "given_back", text: "given back to Rig Hire" } }
    ])
  })
  it("shows a unit returned damaged in quarantine, with its order", async () => {
    const product = await w.serialised({ name: "Projector" })
    const unit = await w.unit(product, 1, { asset_number: "PJ-1" })
    const hire = { subject: "Fair", starts_at: "2026-06-18T09:00:00Z", ends_at: "2026-06-19T17:00:00Z" }
    const made = await w.deal(hire, { name: "Projector", item_id: product, quantity: 1 })
    const path = `/opportunities/${made.id}`
    await w.confirm(made.id)
    expect((await w.post(`${path}/scan`, { direction: "out", code: "PJ-1" })).status).toBe(200)
    expect(await where("pj-1")).toMatchObject({ place: "out", order: { id: made.id } })
    const [asset] = await w.show(`${path}/assets`)
    const back = await w.post(`${path}/quick_check_in`, {
      asset_ids: [asset.id],
      condition: 1,
      damage_notes: "lens cracked"
    })
    expect(back.status, JSON.stringify(back.body)).toBe(200)
    const found = await where("pj-1")
    expect(found).toMatchObject({ place: "quarantine", order: { id: made.id } })
    expect(found.text).toMatch(/^in quarantine \(Checked in damaged\), Main Warehouse, back from order \d+ Fair/)
    expect(unit).toBeGreaterThan(0)
  })
})

describe("the location of a unit in search results", () => {
  const unit = { given_back_at: null, is_gone: false, starts_at: null, stock_category: 50, service_state: "in_service" }
  const place = (set: object, state?: "quarantine" | "in_repair" | "lost", status?: number) =>
    placeOf({ ...unit, ...set } as never, state, status === undefined ? undefined : { status }, undefined, now)
  it("is the most important state: sold before gone, lost before out, out before in repair", () => {
    expect(place({})).toBe("in_store")
    expect(place({ service_state: "sold", is_gone: true })).toBe("sold")
    expect(place({ is_gone: true })).toBe("gone")
    expect(place({ is_gone: true, given_back_at: now })).toBe("given_back")
    expect(place({}, "lost", 2)).toBe("lost")
    // A unit that is out counts as out, even if it is due for repair.
    expect(place({}, "in_repair", 2)).toBe("out")
    expect(place({}, "quarantine", 4)).toBe("quarantine")
    expect(place({}, undefined, 4)).toBe("returned")
    expect(place({}, undefined, 1)).toBe("prepared")
    expect(place({ starts_at: "2026-07-01T00:00:00.000Z" })).toBe("not_here_yet")
  })
  it("includes the return time in the store's time zone, without the date on the same day", () => {
    const at: Whereabouts = {
      place: "out",
      store_id: 1,
      store_name: "Auckland",
      timezone: "Pacific/Auckland",
      location: null,
      container: { id: 1, name: "Case 4" },
      order: { id: 9, number: "0000000009", subject: "Gala", member_name: "Acme", until: "2026-06-18T23:00:00.000Z" },
      service: [],
      supplier: null
    }
    expect(whereText(at, "2026-06-18")).toBe("in Case 4, out on order 9 Gala with Acme until Fri 19 Jun 11:00")
    expect(whereText(at, "2026-06-19")).toBe("in Case 4, out on order 9 Gala with Acme until 11:00")
    expect(whereText({ ...at, order: null }, "2026-06-19")).toBe("in Case 4, out")
  })
})
