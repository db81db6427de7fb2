/** Custom fields of kind "Auto Number", which only the server assigns, when a record is created. */
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../../core/catalogue.ts"
import { serverOfSuite } from "../../../sync/opening.ts"
import { engines } from "../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../app-house.ts"

/** For each module, the path and body that create a record, and the key of the record in the response. */
const makers: { readonly [module: string]: readonly [path: string, key: string, body: object] } = {
  Member: ["members", "member", { name: "M", membership_type: "organisation" }],
  Product: ["products", "product", { name: "P", stock_method: 2 }],
  ProductGroup: ["product_groups", "product_group", { name: "G" }],
  StockLevel: ["stock_levels", "stock_level", { product_id: 1, store_id: 1 }],
  Activity: ["activities", "activity", { subject: "A" }],
  Store: ["stores", "store", { name: "S" }],
  Vehicle: ["vehicles", "vehicle", { name: "V" }],
  Invoice: ["invoices", "invoice", { member_id: 1 }],
  PurchaseOrder: ["purchase_orders", "purchase_order", { supplier_id: 2, store_id: 1 }],
  Opportunity: ["opportunities", "opportunity", { subject: "O" }]
}

describe.each(engines)("auto numbers on %s", (engine) => {
  const w = appHouse(engine)
  beforeAll(async () => {
    await w.post("/products", { name: "Unit", stock_method: 2 })
  })
  const define = async (module_type: string, name: string, more: object = {}) =>
    await w.post("/custom_fields", { module_type, name, field_type: 11, is_searchable: true, ...more })
  const make = async (module: string, more: object = {}) => {
    const [path, key, body] = makers[module]!
    return (await w.must("POST", `/${path}`, { ...body, ...more }))[key]
  }

  it("have a test for every module that has custom fields", () => {
    const shown = new Set(catalogue.resources.flatMap((one) => one.custom_module ?? []))
    expect([...shown].toSorted()).toEqual(Object.keys(makers).toSorted())
  })
  it.each(Object.entries(makers))("start at 1 for a new %s, and never change", async (module, [path, key]) => {
    expect((await define(module, "serial")).status).toBe(201)
    const [first, second] = [await make(module), await make(module, { custom_fields: { serial: "mine" } })]
    expect([first.custom_fields.serial, second.custom_fields.serial]).toEqual(["1", "2"])
    const changed = await w.put(`/${path}/${first.id}`, { custom_fields: { serial: "mine" } })
    expect([changed.status, changed.body[key].custom_fields.serial]).toEqual([200, "1"])
    expect(
      (await w.put(`/${path}/${first.id}`, { custom_fields: { serial: null } })).body[key].custom_fields.serial
    ).toBe("1")
    const listed = await w.get(`/${path}?q[cf.serial_eq]=2`)
    expect(
      Object.values(listed.body as { [plural: string]: ReadonlyArray<{ id: number }> })[0]!.map((one) => one.id)
    ).toEqual([second.id])
  })
  it("follow the field's settings, and count separately for each field", async () => {
    const prefixed = (await define("Product", "asset_code", { settings: { prefix: "AV-", pad: 5, start: 100 } })).body
      .custom_field
    expect((await make("Product")).custom_fields).toMatchObject({ asset_code: "AV-00100", serial: "3" })
    await w.put(`/custom_fields/${prefixed.id}`, { is_active: false })
    expect((await make("Product")).custom_fields).not.toHaveProperty("asset_code")
    await w.put(`/custom_fields/${prefixed.id}`, {
      is_active: true,
      is_required: true,
      settings: { pad: 2, start: 100 }
    })
    expect((await make("Product")).custom_fields).toMatchObject({ asset_code: "101", serial: "5" })
    // With another start, some numbers would be assigned twice.
    for (const settings of [{ start: 99 }, null]) {
      const other = await w.put(`/custom_fields/${prefixed.id}`, { settings })
      expect([other.status, Object.keys(other.body.errors)]).toEqual([422, ["settings"]])
    }
  })
  it.each([
    [{ prefix: 7 }],
    [{ prefix: "x".repeat(51) }],
    [{ pad: -1 }],
    [{ pad: 21 }],
    [{ pad: "3" }],
    [{ start: 0 }],
    [{ start: 1.5 }]
  ])("cannot be defined with the settings %j", async (settings) => {
    const refused = await define("Product", "bad", { settings })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["settings"]])
  })
  it("are given to rows created along with others: first levels, invited users' members, imported rows", async () => {
    const {
      product: { id }
    } = (await w.post("/products", { name: "Bulk" })).body
    expect((await w.show(`/stock_levels?q[product_id_eq]=${id}`))[0].custom_fields.serial).toBe("3")
    const { user } = (await w.post("/users", { name: "Kim", email: "kim@example.com" })).body
    expect((await w.show(`/members/${user.member_id}`)).custom_fields.serial).toBe("3")
    await w.must("POST", "/products/import", {
      rows: [
        { sku: "I-1", name: "One", stock: 1 },
        { sku: "I-2", name: "Two", stock: 2 }
      ]
    })
    const rows = await w.show("/products?q[sku_start]=I-&include=stock_levels")
    expect(
      rows.map((one) => [one.custom_fields.serial, one.stock_levels.map((level) => level.custom_fields.serial)])
    ).toEqual([
      ["7", ["4"]],
      ["8", ["5"]]
    ])
  })
  it("continue on a clone, which does not copy its original's", async () => {
    const source = await make("Opportunity")
    const clone = await w.create(`/opportunities/${source.id}/clone`)
    expect([source.custom_fields.serial, clone.custom_fields.serial]).toEqual(["3", "4"])
  })
  it("are not used up by rejected commands, and have no gap after concurrent commands", async () => {
    expect((await w.post("/members", { name: "" })).status).toBe(422)
    const numbers = await Promise.all(
      Array.from({ length: 8 }, async () => (await make("Member")).custom_fields.serial)
    )
    expect(numbers.map(Number).toSorted((one, other) => one - other)).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
  })
  itFoldsAgain(w)
})

describe("auto numbers offline", () => {
  const server = serverOfSuite()
  it("are empty until the server assigns them, and are reported like a document number", async () => {
    const field = { module_type: "Member", name: "serial", field_type: 11, settings: { prefix: "C", pad: 3 } }
    await server.create("/custom_fields", field)
    const device = await server.filled()
    const made = await device.create("/members", { name: "Walk-in", membership_type: "contact" })
    expect(made.custom_fields).toEqual({ serial: null })
    await server.contact()
    const path = `/members/${made.id}`
    await device.put(path, { ...made, description: "Met at the counter" })
    await device.sync()
    await device.sync()
    const numbered = { description: "Met at the counter", custom_fields: { serial: "C002" } }
    expect(await device.show(path)).toMatchObject(numbered)
    expect(device.outbox.counts()["rejected"] ?? 0).toBe(0)
    expect(device.outbox.told(true).map(({ account, name }) => [name, account])).toMatchObject([
      ["members.create", { differences: [{ row: { table: "members", name: "Walk-in" }, field: "custom_fields" }] }]
    ])
    expect((await device.tables())["members"]).toEqual((await server.tables())["members"])
  })
})
