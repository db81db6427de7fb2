import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"

const all_lists = [
  "members.view",
  "opportunities.view",
  "products.view",
  "stock.view",
  "containers.view",
  "invoices.view",
  "purchase_orders.view"
]

describe.each(engines)("looking for things by words and codes, on %s", (engine) => {
  let app: App
  const made: { [name: string]: number } = {}
  const make = async (path: string, body: object, noun: string): Promise<number> => {
    const answer = await app.call("POST", `/api/v1/${path}`, body)
    expect(answer.body, JSON.stringify(answer.body)).toHaveProperty(noun)
    return answer.body[noun].id
  }
  const find = async (words: string, viewer?: Parameters<App["call"]>[3]) =>
    (await app.call("GET", `/api/v1/search?q=${encodeURIComponent(words)}`, undefined, viewer)).body.search
  const ids = (rows: ReadonlyArray<{ readonly id: number }>) => rows.map(({ id }) => id)

  beforeAll(async () => {
    app = await openApp(engine)
    made.acme = await make("members", { name: "Zürcher Bühnentechnik AG", membership_type: "organisation" }, "member")
    made.ann = await make("members", { name: "Ann Lee", membership_type: "contact" }, "member")
    await make(`members/${made.ann}/emails`, { address: "Ann.Lee@Example.com" }, "email")
    await make(`members/${made.ann}/phones`, { number: "07700 900-123" }, "phone")
    made.camera = await make(
      "products",
      { name: "Sony FX9 Kamera", sku: "CAM-FX9", stock_method: 2, product_type: "rental" },
      "product"
    )
    made.unit = await make(
      "stock_levels",
      { product_id: made.camera, store_id: 1, asset_number: "A-0042", serial_number: "SN-771-004", location: "Rack 3" },
      "stock_level"
    )
    made.order = await make(
      "opportunities",
      {
        subject: "Sommer Festival",
        member_id: made.acme,
        store_id: 1,
        starts_at: "2026-06-20T08:00:00Z",
        ends_at: "2026-06-22T18:00:00Z"
      },
      "opportunity"
    )
  }, 60_000)
  afterAll(() => app.close())

  it("finds members by words in any order, without case and accents", async () => {
    for (const words of ["zurcher", "ZÜRCHER", "technik zür", "buhnen"])
      expect(ids((await find(words)).members), words).toEqual([made.acme])
  })
  it("finds members by their address and telephone number, however it is written", async () => {
    for (const words of ["ann.lee@example", "07700900123", "+44 7700 900123", "900-123"])
      expect(ids((await find(words)).members), words).toEqual([made.ann])
  })
  it("finds nothing where one of the words is nowhere", async () => {
    expect((await find("zurcher nowhere")).total).toBe(0)
  })
  it("finds products by part of a name and by code, and the exact code first", async () => {
    const other = await make("products", { name: "Case for CAM-FX9", sku: "CASE-FX9" }, "product")
    expect(ids((await find("amer")).products)).toContain(made.camera)
    const { products } = await find("cam-fx9")
    expect(ids(products)).toEqual([made.camera, other])
    expect(products.map((one: { is_exact: boolean }) => one.is_exact)).toEqual([true, false])
  })
  it("finds orders by number with zeros and without, by subject, and by their customer while they are open", async () => {
    await app.call("POST", `/api/v1/opportunities/${made.order}/items`, {
      item_id: made.camera,
      name: "FX9",
      quantity: "1"
    })
    await app.call("POST", `/api/v1/opportunities/${made.order}/convert_to_quotation`, {})
    await app.call("POST", `/api/v1/opportunities/${made.order}/convert_to_order`, {})
    const { number } = (await app.call("GET", `/api/v1/opportunities/${made.order}`)).body.opportunity
    expect(number).toMatch(/^0+\d+$/)
    for (const words of [number, number.replace(/^0+/, ""), number.replace(/^0+/, "#"), "festi som", "zurcher"])
      expect(ids((await find(words)).orders), words).toContain(made.order)
  })
  it("tells where a unit is: on its shelf, then out with whom and until when", async () => {
    const [before] = (await find("a-0042")).units
    expect(before).toMatchObject({
      id: made.unit,
      is_exact: true,
      product_name: "Sony FX9 Kamera",
      where: { place: "in_store", store_name: "Main Warehouse", location: "Rack 3", order: null }
    })
    const path = `/api/v1/opportunities/${made.order}`
    const { items } = (await app.call("GET", `${path}?include=items`)).body.opportunity
    const allocations = [{ opportunity_item_id: items[0].id, stock_level_id: made.unit }]
    const allocated = await app.call("POST", `${path}/quick_allocate`, { allocations })
    const [asset] = allocated.body.opportunity.items[0].assets
    const out = await app.call("POST", `${path}/quick_book_out`, { asset_ids: [asset.id] })
    expect(out.status, JSON.stringify(out.body)).toBe(200)
    const [after] = (await find("SN-771")).units
    expect(after.where).toMatchObject({
      place: "out",
      order: { id: made.order, subject: "Sommer Festival", member_name: "Zürcher Bühnentechnik AG" }
    })
  })
  it("finds what a label says by the code in it", async () => {
    for (const label of ["https://example.com/c/A-0042", "(21)SN-771-004", "]C1A-0042"])
      expect(ids((await find(label)).units), label).toEqual([made.unit])
  })
  it("follows a change of name, a deletion and an erasure at once, and a rebuild finds the same", async () => {
    const id = await make("members", { name: "Passing Stranger", membership_type: "contact" }, "member")
    await app.call("PUT", `/api/v1/members/${id}`, { name: "Quokka Rentals" })
    expect(ids((await find("stranger")).members)).toEqual([])
    expect(ids((await find("quokka")).members)).toEqual([id])
    await app.rebuild()
    expect(ids((await find("quokka")).members)).toEqual([id])
    expect(ids((await find("zurcher")).members)).toEqual([made.acme])
    await app.call("DELETE", `/api/v1/members/${id}`)
    for (const words of ["quokka", "qu", "Quokka Rentals"]) expect(ids((await find(words)).members)).toEqual([])
  })
  it("finds what may be listed by whoever asks, and nothing else", async () => {
    const sees = async (permissions: ReadonlyArray<string>, abilities = ["*"]) =>
      Object.entries(await find("zurcher", viewerWith(permissions, abilities))).flatMap(([kind, rows]) =>
        Array.isArray(rows) && rows.length > 0 ? [kind] : []
      )
    expect(await sees(all_lists)).toEqual(["orders", "members"])
    expect(await sees(["opportunities.view"])).toEqual([])
    expect(await sees(["members.view"])).toEqual(["members"])
    expect(await sees(all_lists, ["orders:read"])).toEqual([])
  })
  it("finds short words at the beginning of a name, and refuses to look for nothing", async () => {
    expect(ids((await find("so")).products)).toContain(made.camera)
    const refused = await app.call("GET", "/api/v1/search?q=%20")
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toHaveProperty("q")
  })
  it("takes signs that mean something to a database as they are", async () => {
    for (const words of ['"', "%%%", "___", "a' or '1'='1", "NEAR(", "*abc*", "\\\\\\", "-fx9 AND"])
      expect((await app.call("GET", `/api/v1/search?q=${encodeURIComponent(words)}`)).status, words).toBe(200)
    expect((await find("%%%")).total).toBe(0)
  })
})
