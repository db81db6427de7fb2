import { beforeAll, describe, expect, it } from "vitest"
import { type App, both_engines, viewerWith } from "../../../app.ts"
import { appHouse, refused } from "../../../app-house.ts"
import { words } from "../../../words.ts"

const all_lists = words(`
  members.view opportunities.view products.view stock.view containers.view invoices.view purchase_orders.view
`)

describe.each(both_engines)("search by words and codes, on %s", (engine) => {
  const w = appHouse(engine)
  const made: { [name: string]: number } = {}
  const find = async (words: string, viewer?: Parameters<App["call"]>[3]) =>
    (await w.get(`/search?q=${encodeURIComponent(words)}`, viewer)).body.search
  const ids = (rows: ReadonlyArray<{ readonly id: number }>) => rows.map(({ id }) => id)

  beforeAll(async () => {
    made.acme = await w.customer({ name: "Zürcher Bühnentechnik AG" })
    made.ann = await w.contact({ name: "Ann Lee" })
    await w.create(`/members/${made.ann}/emails`, { address: "Ann.Lee@Example.com" })
    await w.create(`/members/${made.ann}/phones`, { number: "07700 900-123" })
    made.camera = await w.serialised({ name: "Sony FX9 Kamera", sku: "CAM-FX9", product_type: "rental" })
    const labels = { asset_number: "A-0042", serial_number: "SN-771-004" }
    made.unit = await w.unit(made.camera, 1, { ...labels, location: "Rack 3" })
    const dates = { starts_at: "2026-06-20T08:00:00Z", ends_at: "2026-06-22T18:00:00Z" }
    made.order = (await w.opportunity({ subject: "Sommer Festival", member_id: made.acme, ...dates })).id
  }, 60_000)

  it("finds members by words in any order, ignoring case and accents", async () => {
    for (const words of ["zurcher", "ZÜRCHER", "technik zür", "buhnen"])
      expect(ids((await find(words)).members), words).toEqual([made.acme])
  })
  it("finds members by e-mail address, and by telephone number in any format", async () => {
    for (const words of ["ann.lee@example", "07700900123", "+44 7700 900123", "900-123"])
      expect(ids((await find(words)).members), words).toEqual([made.ann])
  })
  it("finds a member by account number as an exact code", async () => {
    const id = await w.customer({ name: "Numbered Ltd", account_number: "10001" })
    expect((await find("10001")).members).toMatchObject([{ id, is_exact: true }])
    expect(ids(await w.show("/members?q[account_number_eq]=10001"))).toEqual([id])
  })
  it("ranks whole words before parts, active products before inactive ones, and goods before cases", async () => {
    const lamp = await w.product({ name: "Quasar Aura", stock_method: 2 })
    const old = await w.product({ name: "Quasar Beam", is_active: false })
    const part = await w.product({ name: "Quasarian lens" })
    const case_product = await w.product({ name: "Quasar flight case", stock_method: 2 })
    await w.must("PUT", `/products/${case_product}/container_template`, { is_containerable: true, slots: [] })
    expect(ids((await find("quasar")).products)).toEqual([lamp, case_product, old, part])
    const unit = (product_id: number, asset_number: string) => w.unit(product_id, 1, { asset_number })
    const [one, box] = [await unit(lamp, "QUASAR-1"), await unit(case_product, "QUASAR-2")]
    expect(ids((await find("quasar")).units)).toEqual([one, box])
  })
  it("finds nothing if one of the words has no match", async () => {
    expect((await find("zurcher nowhere")).total).toBe(0)
  })
  it("finds a product by a part of its name, and lists the product with the exact code first", async () => {
    const other = await w.product({ name: "Case for CAM-FX9", sku: "CASE-FX9" })
    expect(ids((await find("amer")).products)).toContain(made.camera)
    const { products } = await find("cam-fx9")
    expect(ids(products)).toEqual([made.camera, other])
    expect(products.map((one: { is_exact: boolean }) => one.is_exact)).toEqual([true, false])
  })
  it("finds an order by its number with or without leading zeros, by its subject and by its customer", async () => {
    await w.post(`/opportunities/${made.order}/items`, { item_id: made.camera, name: "FX9", quantity: "1" })
    await w.confirm(made.order!)
    const number = String((await w.show(`/opportunities/${made.order}`)).number)
    expect(number).toMatch(/^0+\d+$/)
    for (const words of [number, number.replace(/^0+/, ""), number.replace(/^0+/, "#"), "festi som", "zurcher"])
      expect(ids((await find(words)).orders), words).toContain(made.order)
  })
  it("shows a unit on its shelf, then out with its order and customer", async () => {
    const [before] = (await find("a-0042")).units
    expect(before).toMatchObject({
      id: made.unit,
      is_exact: true,
      product_name: "Sony FX9 Kamera",
      where: { place: "in_store", store_name: "Main Warehouse", location: "Rack 3", order: null }
    })
    const path = `/opportunities/${made.order}`
    const { items } = await w.show(`${path}?include=items`)
    const allocations = [{ opportunity_item_id: items[0].id, stock_level_id: made.unit }]
    const allocated = await w.post(`${path}/quick_allocate`, { allocations })
    const [asset] = allocated.body.opportunity.items[0].assets
    await w.must("POST", `${path}/quick_book_out`, { asset_ids: [asset.id] })
    const [after] = (await find("SN-771")).units
    expect(after.where).toMatchObject({
      place: "out",
      order: { id: made.order, subject: "Sommer Festival", member_name: "Zürcher Bühnentechnik AG" }
    })
  })
  it("finds a unit by the text of its label: a link, or a code with a prefix", async () => {
    for (const label of ["https://example.com/c/A-0042", "(21)SN-771-004", "]C1A-0042"])
      expect(ids((await find(label)).units), label).toEqual([made.unit])
  })
  it("finds a renamed member by its new name only, also after a rebuild, and no longer once it is deleted", async () => {
    const id = await w.contact({ name: "Passing Stranger" })
    await w.put(`/members/${id}`, { name: "Quokka Rentals" })
    expect(ids((await find("stranger")).members)).toEqual([])
    expect(ids((await find("quokka")).members)).toEqual([id])
    await w.app.rebuild()
    expect(ids((await find("quokka")).members)).toEqual([id])
    expect(ids((await find("zurcher")).members)).toEqual([made.acme])
    await w.remove(`/members/${id}`)
    for (const words of ["quokka", "qu", "Quokka Rentals"]) expect(ids((await find(words)).members)).toEqual([])
  })
  it("finds only rows that the user may list", async () => {
    const sees = async (permissions: ReadonlyArray<string>, abilities = ["*"]) =>
      Object.entries(await find("zurcher", viewerWith(permissions, abilities))).flatMap(([kind, rows]) =>
        Array.isArray(rows) && rows.length > 0 ? [kind] : []
      )
    expect(await sees(all_lists)).toEqual(["orders", "members"])
    expect(await sees(["opportunities.view"])).toEqual([])
    expect(await sees(["members.view"])).toEqual(["members"])
    expect(await sees(all_lists, ["orders:read"])).toEqual([])
  })
  it("finds a product by the first two letters of its name, and rejects an empty search", async () => {
    expect(ids((await find("so")).products)).toContain(made.camera)
    await refused(w.get("/search?q=%20"), "q")
  })
  it("accepts the database's special characters, and finds nothing for %%%", async () => {
    for (const words of ['"', "%%%", "___", "a' or '1'='1", "NEAR(", "*abc*", "\\\\\\", "-fx9 AND"])
      expect((await w.get(`/search?q=${encodeURIComponent(words)}`)).status, words).toBe(200)
    expect((await find("%%%")).total).toBe(0)
  })
})
