/**
 * Each role through its day: what people with the roles that come with a database ask for, at the server and on their
 * own device, and what they are refused.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { systemRoles } from "../../core/users/permissions.ts"
import { engines } from "../app.ts"
import { enrolled, type Filled, type FillTestServer, openFillTestServer } from "./filling.ts"

const people = ["Owner", ...systemRoles.map(({ name }) => name)] as const
type Person = (typeof people)[number]
const everybody = people,
  office: ReadonlyArray<Person> = ["Owner", "Admin", "Operations Manager"],
  sellers: ReadonlyArray<Person> = [...office, "Sales"],
  movers: ReadonlyArray<Person> = [...office, "Warehouse"],
  staff: ReadonlyArray<Person> = [...sellers, "Warehouse"]

interface Made {
  readonly product: number
  readonly units: ReadonlyArray<number>
  readonly member: number
  readonly order: number
  readonly line: number
  readonly bulk_line: number
  readonly asset: number
}
type Asked = readonly [
  what: string,
  who: ReadonlyArray<Person>,
  method: string,
  path: (made: Made) => string,
  body?: (made: Made) => object
]
const at = (path: string) => () => path
const order = (rest: string) => (made: Made) => `opportunities/${made.order}${rest}`
const unit = (made: Made) => `opportunities/${made.order}/items/${made.line}/assets/${made.asset}`
const window = "from=2026-12-01&to=2026-12-03&store_id=1"
const day: ReadonlyArray<Asked> = [
  ["see the orders", everybody, "GET", at("opportunities?include=member,items")],
  ["see an order", everybody, "GET", order("?include=items,items.assets")],
  ["see what an order is short of", everybody, "GET", order("/shortages")],
  ["ask what is free", everybody, "GET", (made) => `availability?product_id=${made.product}&${window}`],
  ["look at the calendar of stock", everybody, "GET", at(`availability/calendar?${window}`)],
  ["see which units are free", everybody, "GET", (made) => `products/${made.product}/available-assets?${window}`],
  ["see the stock", everybody, "GET", at("stock_levels")],
  ["see the products", everybody, "GET", at("products")],
  ["see kits' parts", everybody, "GET", (made) => `products/${made.product}/components`],
  ["see the containers", everybody, "GET", at("containers")],
  ["see the customers", everybody, "GET", at("members")],
  ["see the activities", everybody, "GET", at("activities")],
  ["see the stores", everybody, "GET", at("stores")],
  ["see the vehicles", everybody, "GET", at("vehicles")],
  ["see where stock is short", everybody, "GET", at(`availability/shortages?${window}`)],
  [
    "ask for a price",
    everybody,
    "POST",
    (made) => `products/${made.product}/calculate_rate`,
    () => ({ start: "2026-12-01T09:00:00Z", end: "2026-12-02T09:00:00Z", quantity: 1 })
  ],
  ["see the invoices", [...sellers, "Read Only"], "GET", at("invoices")],
  ["see orders to suppliers", [...movers, "Read Only"], "GET", at("purchase_orders")],
  ["see the users", ["Owner", "Admin", "Read Only"], "GET", at("users")],
  ["make an order", sellers, "POST", at("opportunities"), () => ({ subject: "Gala" })],
  ["change the header", sellers, "PUT", order(""), () => ({ reference: "PO-7" })],
  ["put a line on it", sellers, "POST", order("/items"), () => ({ name: "Crew", unit_price: "10.00" })],
  [
    "change a price",
    sellers,
    "PATCH",
    (made) => `opportunities/${made.order}/items/${made.line}`,
    () => ({ unit_price: "1.00" })
  ],
  ["put a cost on it", sellers, "POST", order("/costs"), () => ({ description: "Fuel", amount: "5.00" })],
  ["make it a quotation again", sellers, "POST", order("/revert_to_quotation"), () => ({})],
  ["delete it", sellers, "DELETE", order("")],
  [
    "change how many of a line are ordered",
    sellers,
    "PATCH",
    (made) => `opportunities/${made.order}/items/${made.bulk_line}/fulfilment`,
    () => ({ action: "adjust", new_quantity: "2" })
  ],
  ["release the locks on prices", office, "POST", order("/unlock_locks"), () => ({})],
  ["make a customer", sellers, "POST", at("members"), () => ({ name: "New", membership_type: "organisation" })],
  ["plan a call", sellers, "POST", at("activities"), () => ({ subject: "Call" })],
  ["make an invoice", sellers, "POST", at("invoices"), (made) => ({ member_id: made.member, type: "standard" })],
  [
    "allocate a unit",
    staff,
    "POST",
    (made) => `opportunities/${made.order}/items/${made.line}/assets`,
    (made) => ({ stock_level_id: made.units[1] })
  ],
  [
    "allocate many",
    staff,
    "POST",
    order("/quick_allocate"),
    (made) => ({ allocations: [{ opportunity_item_id: made.line, stock_level_id: made.units[1] }] })
  ],
  ["prepare", staff, "POST", order("/quick_prepare"), (made) => ({ asset_ids: [made.asset] })],
  ["book out", staff, "POST", order("/quick_book_out"), (made) => ({ asset_ids: [made.asset] })],
  [
    "put another unit in its place",
    staff,
    "PATCH",
    unit,
    (made) => ({ action: "substitute", stock_level_id: made.units[2] })
  ],
  ["take a unit off", staff, "DELETE", unit],
  [
    "send what is counted in bulk",
    staff,
    "PATCH",
    (made) => `opportunities/${made.order}/items/${made.bulk_line}/fulfilment`,
    () => ({ action: "dispatch", quantity: "1" })
  ],
  ["make a case", movers, "POST", at("containers"), () => ({ name: "Case 1", store_id: 1, is_temporary: true })],
  ["make a product", movers, "POST", at("products"), () => ({ name: "New" })],
  [
    "enter a unit",
    movers,
    "POST",
    at("stock_levels"),
    (made) => ({ product_id: made.product, store_id: 1, asset_number: "N" })
  ],
  ["enter a vehicle", movers, "POST", at("vehicles"), () => ({ name: "Van" })],
  ["make a role", ["Owner", "Admin"], "POST", at("roles"), () => ({ name: "Helper" })],
  ["change the company", ["Owner", "Admin"], "PUT", at("settings/company"), () => ({ settings: {} })]
]

describe.each(engines)("the roles that come with a database, on %s", (engine) => {
  let server: FillTestServer
  let made: Made
  const devices = new Map<Person, Filled>()
  const tokens = new Map<Person, string | undefined>()
  const create = async (path: string, body: object): Promise<any> => {
    const [made] = Object.values(await server.must("POST", path, body))
    return made
  }
  beforeAll(async () => {
    server = await openFillTestServer(engine)
    const product = await create("products", { name: "Camera", stock_method: 2 })
    const bulk = await create("products", { name: "Cable" })
    const held = (await server.ask("GET", `stock_levels?q[product_id_eq]=${bulk.id}`)).body.stock_levels
    await server.ask("PUT", `stock_levels/${held[0].id}`, { quantity_held: "10" })
    const units: Array<number> = []
    for (const asset_number of ["C1", "C2", "C3"])
      units.push((await create("stock_levels", { product_id: product.id, store_id: 1, asset_number })).id)
    const member = await create("members", { name: "Acme", membership_type: "organisation" })
    const { id } = await create("opportunities", {
      subject: "Gala",
      store_id: 1,
      member_id: member.id,
      starts_at: "2026-12-01T09:00:00Z",
      ends_at: "2026-12-03T09:00:00Z"
    })
    await create(`opportunities/${id}/items`, { name: "Camera", item_id: product.id, quantity: "2" })
    const { items } = await create(`opportunities/${id}/items`, { name: "Cable", item_id: bulk.id, quantity: "3" })
    for (const move of ["convert_to_quotation", "convert_to_order"]) await create(`opportunities/${id}/${move}`, {})
    const asset = await create(`opportunities/${id}/items/${items[0].id}/assets`, { stock_level_id: units[0] })
    made = {
      product: product.id,
      units,
      member: member.id,
      order: id,
      line: items[0].id,
      bulk_line: items[1].id,
      asset: asset.id
    }
    for (const name of people) {
      tokens.set(name, name === "Owner" ? undefined : (await server.letIn({ name, roles: [name] })).token)
      const device = await enrolled(server, `${name}'s`, {}, tokens.get(name))
      await device.sync()
      devices.set(name, device)
    }
  })
  afterAll(async () => {
    for (const device of devices.values()) await device.close()
    await server?.close()
  })

  it.each(day.map((asked) => [asked[0], asked] as const))(
    "%s: whoever may, and nobody else",
    async (_name, [, who, method, path, body]) => {
      const may = { server: [] as Array<Person>, device: [] as Array<Person> }
      const wrong: Array<string> = []
      for (const name of people) {
        // Planned on the device, so that everybody meets the same rows; at the server what is allowed is taken back.
        const here = await devices.get(name)!.plan(method, path(made), body?.(made))
        if (here.status !== 403) may.device.push(name)
        if (here.status !== 403 && here.status >= 300)
          wrong.push(`${name}'s device: ${here.status} ${JSON.stringify(here.body)}`)
      }
      for (const name of people) {
        const refused = !who.includes(name)
        if (method !== "GET" && !refused) continue
        const there = await server.ask(method, path(made), body?.(made), tokens.get(name))
        if (there.status !== 403) may.server.push(name)
        if (!refused && there.status >= 300)
          wrong.push(`${name} at the server: ${there.status} ${JSON.stringify(there.body)}`)
      }
      expect(wrong).toEqual([])
      expect(may.device).toEqual(people.filter((name) => who.includes(name)))
      expect(may.server).toEqual(method === "GET" ? may.device : [])
    }
  )

  it("a warehouse sees of goods and orders to suppliers no costs, and of orders what everybody sees who may see them", async () => {
    const device = devices.get("Warehouse")!
    const { body } = await device.ask("GET", `products/${made.product}`)
    expect(Object.keys(body.product)).not.toContain("purchase_price")
    const { opportunity } = (await device.ask("GET", `opportunities/${made.order}`)).body
    const there = (await server.ask("GET", `opportunities/${made.order}`, undefined, tokens.get("Warehouse"))).body
    expect(opportunity).toEqual(there.opportunity)
  })

  it("a warehouse works through an order without a network, and the server takes all of it", async () => {
    const device = devices.get("Warehouse")!
    const on = async (method: string, path: string, body?: object): Promise<any> => {
      const got = await device.ask(method, `opportunities/${made.order}${path}`, body)
      expect(got.status, JSON.stringify(got.body)).toBeLessThan(300)
      return got.body
    }
    const before = (await server.ask("GET", `opportunities/${made.order}?include=costs`)).body.opportunity
    const { asset } = await on("POST", `/items/${made.line}/assets`, { stock_level_id: made.units[1] })
    await on("PATCH", `/items/${made.line}/assets/${asset.id}`, { action: "substitute", stock_level_id: made.units[2] })
    const asset_ids = [made.asset, asset.id]
    await on("POST", "/quick_prepare", { asset_ids })
    await on("POST", "/quick_book_out", { asset_ids })
    await on("PATCH", `/items/${made.bulk_line}/fulfilment`, { action: "dispatch", quantity: "3" })
    await on("PATCH", `/items/${made.bulk_line}/fulfilment`, { action: "return", quantity: "3" })
    await on("POST", "/quick_check_in", { asset_ids, finalise: true })
    expect(await device.sync()).toMatchObject({ conflicts: 0, pending: 0 })
    const after = (await server.ask("GET", `opportunities/${made.order}?include=costs`)).body.opportunity
    const money = (row: any) =>
      Object.fromEntries(Object.entries(row).filter(([key]) => /total|costs|currency|deal|rate/.test(key)))
    expect(money(after)).toEqual(money(before))
    expect(after.status_label).toBe("Checked")
    const { available_actions } = (
      await server.ask("GET", `opportunities/${made.order}/available_actions`, undefined, tokens.get("Warehouse"))
    ).body
    const dispatching = available_actions.find(({ key }: any) => key === "dispatch")
    expect(dispatching.code).not.toBe("permission_denied")
    expect(available_actions.find(({ key }: any) => key === "change_status").code).toBe("permission_denied")
    for (const [method, path, body] of [
      ["POST", "/deal_price", { deal_total: "5.00" }],
      ["DELETE", "/deal_price", undefined],
      ["POST", "/change_status", { status: 6 }]
    ] as const)
      expect(
        [
          path,
          (await device.plan(method, `opportunities/${made.order}${path}`, body)).status,
          (await server.ask(method, `opportunities/${made.order}${path}`, body, tokens.get("Warehouse"))).status
        ],
        method
      ).toEqual([path, 403, 403])
  })

  it("a token of the warehouse for fulfilling alone opens that and no change of an order", async () => {
    const me = (await server.ask("GET", "users?q[name_eq]=Warehouse")).body.users[0].id
    const { secret } = await create("tokens", { name: "Scanner", abilities: ["opportunities:fulfil"], user_id: me })
    const body = { asset_ids: [made.asset] }
    expect((await server.ask("POST", `opportunities/${made.order}/quick_prepare`, body, secret)).status).not.toBe(403)
    for (const [method, path] of [
      ["GET", "opportunities"],
      ["PUT", `opportunities/${made.order}`],
      ["GET", "stock_levels"]
    ] as const)
      expect([path, (await server.ask(method, path, method === "GET" ? undefined : {}, secret)).status]).toEqual([
        path,
        403
      ])
  })

  it("what a new database's roles hold is what the roles of an earlier one are given at its next start", async () => {
    const { roles } = (await server.ask("GET", "roles?per_page=100")).body
    const holds = (name: string): ReadonlyArray<string> => roles.find((one: any) => one.name === name).permissions
    expect(holds("Sales")).toEqual(
      expect.arrayContaining(["availability.view", "stock.view", "kits.view", "containers.view"])
    )
    expect(holds("Warehouse")).toEqual(
      expect.arrayContaining(["opportunities.view", "opportunities.fulfil", "activities.view"])
    )
    expect(holds("Read Only")).not.toContain("opportunities.fulfil")
  })
})
