/** A working day of each default role: allowed and forbidden requests, at the server and on the user's own device. */
import { beforeAll, describe, expect, it } from "vitest"
import { systemRoles } from "../../core/people/users/decide.ts"
import { engines } from "../app.ts"
import type { InspectedDevice } from "./inspected-device.ts"
import { serverOfSuite } from "./opening.ts"

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
const order = (rest: string) => (made: Made) => `/opportunities/${made.order}${rest}`
const unit = (made: Made) => `/opportunities/${made.order}/items/${made.line}/assets/${made.asset}`
const window = "from=2026-12-01&to=2026-12-03&store_id=1"
const day: ReadonlyArray<Asked> = [
  ["list orders", everybody, "GET", at("/opportunities?include=member,items")],
  ["see an order", everybody, "GET", order("?include=items,items.assets")],
  ["see an order's shortages", everybody, "GET", order("/shortages")],
  ["query availability", everybody, "GET", (made) => `/availability?product_id=${made.product}&${window}`],
  ["see the availability calendar", everybody, "GET", at(`/availability/calendar?${window}`)],
  ["see which units are free", everybody, "GET", (made) => `/products/${made.product}/available-assets?${window}`],
  ["see the stock", everybody, "GET", at("/stock_levels")],
  ["see the products", everybody, "GET", at("/products")],
  ["see kits' parts", everybody, "GET", (made) => `/products/${made.product}/components`],
  ["see the containers", everybody, "GET", at("/containers")],
  ["see the customers", everybody, "GET", at("/members")],
  ["see the activities", everybody, "GET", at("/activities")],
  ["see the stores", everybody, "GET", at("/stores")],
  ["see the vehicles", everybody, "GET", at("/vehicles")],
  ["see a store's shortages", everybody, "GET", at(`/availability/shortages?${window}`)],
  [
    "calculate a price",
    everybody,
    "POST",
    (made) => `/products/${made.product}/calculate_rate`,
    () => ({ start: "2026-12-01T09:00:00Z", end: "2026-12-02T09:00:00Z", quantity: 1 })
  ],
  ["see the invoices", [...sellers, "Read Only"], "GET", at("/invoices")],
  ["see purchase orders", [...movers, "Read Only"], "GET", at("/purchase_orders")],
  ["see the users", ["Owner", "Admin", "Read Only"], "GET", at("/users")],
  ["create an order", sellers, "POST", at("/opportunities"), () => ({ subject: "Gala" })],
  ["change an order's reference", sellers, "PUT", order(""), () => ({ reference: "PO-7" })],
  ["add a line to an order", sellers, "POST", order("/items"), () => ({ name: "Crew", unit_price: "10.00" })],
  [
    "change a line's price",
    sellers,
    "PATCH",
    (made) => `/opportunities/${made.order}/items/${made.line}`,
    () => ({ unit_price: "1.00" })
  ],
  ["add a cost to an order", sellers, "POST", order("/costs"), () => ({ description: "Fuel", amount: "5.00" })],
  ["revert an order to a quotation", sellers, "POST", order("/revert_to_quotation"), () => ({})],
  ["delete an order", sellers, "DELETE", order("")],
  [
    "change a line's quantity",
    sellers,
    "PATCH",
    (made) => `/opportunities/${made.order}/items/${made.bulk_line}/fulfilment`,
    () => ({ action: "adjust", new_quantity: "2" })
  ],
  ["unlock prices", office, "POST", order("/unlock_locks"), () => ({})],
  ["create a customer", sellers, "POST", at("/members"), () => ({ name: "New", membership_type: "organisation" })],
  ["plan a call", sellers, "POST", at("/activities"), () => ({ subject: "Call" })],
  ["create an invoice", sellers, "POST", at("/invoices"), (made) => ({ member_id: made.member, type: "standard" })],
  [
    "allocate a unit",
    staff,
    "POST",
    (made) => `/opportunities/${made.order}/items/${made.line}/assets`,
    (made) => ({ stock_level_id: made.units[1] })
  ],
  [
    "allocate several units",
    staff,
    "POST",
    order("/quick_allocate"),
    (made) => ({ allocations: [{ opportunity_item_id: made.line, stock_level_id: made.units[1] }] })
  ],
  ["prepare a unit", staff, "POST", order("/quick_prepare"), (made) => ({ asset_ids: [made.asset] })],
  ["book out a unit", staff, "POST", order("/quick_book_out"), (made) => ({ asset_ids: [made.asset] })],
  ["substitute a unit", staff, "PATCH", unit, (made) => ({ action: "substitute", stock_level_id: made.units[2] })],
  ["remove a unit", staff, "DELETE", unit],
  [
    "dispatch a bulk quantity",
    staff,
    "PATCH",
    (made) => `/opportunities/${made.order}/items/${made.bulk_line}/fulfilment`,
    () => ({ action: "dispatch", quantity: "1" })
  ],
  ["create a case", movers, "POST", at("/containers"), () => ({ name: "Case 1", store_id: 1, is_temporary: true })],
  ["create a product", movers, "POST", at("/products"), () => ({ name: "New" })],
  [
    "add a unit to the stock",
    movers,
    "POST",
    at("/stock_levels"),
    (made) => ({ product_id: made.product, store_id: 1, asset_number: "N" })
  ],
  ["add a vehicle", movers, "POST", at("/vehicles"), () => ({ name: "Van" })],
  ["create a role", ["Owner", "Admin"], "POST", at("/roles"), () => ({ name: "Helper" })],
  ["change company settings", ["Owner", "Admin"], "PUT", at("/settings/company"), () => ({ settings: {} })]
]

describe.each(engines)("the default roles, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, show } = server
  let made: Made
  const devices = new Map<Person, InspectedDevice>()
  const tokens = new Map<Person, string | undefined>()
  beforeAll(async () => {
    const { id: product, units } = await server.units(1, 3)
    const bulk = await server.product()
    await server.hold(bulk, 10)
    const member = await server.customer()
    const dates = { starts_at: "2026-12-01T09:00:00Z", ends_at: "2026-12-03T09:00:00Z" }
    const { id: order } = await server.withLine({ member_id: member, ...dates }, { item_id: product })
    const { items } = await create(`/opportunities/${order}/items`, { name: "Cable", item_id: bulk, quantity: "3" })
    const [line, bulk_line] = items.map(({ id }: { readonly id: number }) => id)
    await server.confirm(order)
    const asset = await create(`/opportunities/${order}/items/${line}/assets`, { stock_level_id: units[0] })
    made = { product, units, member, order, line, bulk_line, asset: asset.id }
    for (const name of people) {
      tokens.set(name, name === "Owner" ? undefined : (await server.person({ name, roles: [name] })).secret)
      devices.set(name, await server.filled({}, tokens.get(name)))
    }
  })

  it.each(day.map((asked) => [asked[0], asked] as const))(
    "permit only the listed roles to %s",
    async (_name, [, who, method, path, body]) => {
      const may = { server: [] as Array<Person>, device: [] as Array<Person> }
      const wrong: Array<string> = []
      for (const name of people) {
        // Planned on the device and undone at the server, so that every role finds the same rows.
        const here = await devices.get(name)!.plan(method, path(made), body?.(made))
        if (here.status !== 403) may.device.push(name)
        if (here.status !== 403 && here.status >= 300)
          wrong.push(`${name}'s device: ${here.status} ${JSON.stringify(here.body)}`)
      }
      for (const name of people) {
        const refused = !who.includes(name)
        if (method !== "GET" && !refused) continue
        const there = await server.call(method, path(made), body?.(made), tokens.get(name))
        if (there.status !== 403) may.server.push(name)
        if (!refused && there.status >= 300)
          wrong.push(`${name} at the server: ${there.status} ${JSON.stringify(there.body)}`)
      }
      expect(wrong).toEqual([])
      expect(may.device).toEqual(people.filter((name) => who.includes(name)))
      expect(may.server).toEqual(method === "GET" ? may.device : [])
    }
  )

  it("hide purchase prices from Warehouse, whose device shows an order like the server", async () => {
    const device = devices.get("Warehouse")!
    expect(Object.keys(await device.show(`/products/${made.product}`))).not.toContain("purchase_price")
    const path = `/opportunities/${made.order}`
    expect((await device.get(path)).body).toEqual((await server.get(path, tokens.get("Warehouse"))).body)
  })

  it("let Warehouse fulfil an order offline, but not change its prices or status", async () => {
    const device = devices.get("Warehouse")!
    const order = `/opportunities/${made.order}`
    const on = (method: string, path: string, body: object) => device.must(method, order + path, body)
    const before = await show(`${order}?include=costs`)
    const { asset } = await on("POST", `/items/${made.line}/assets`, { stock_level_id: made.units[1] })
    await on("PATCH", `/items/${made.line}/assets/${asset.id}`, { action: "substitute", stock_level_id: made.units[2] })
    const asset_ids = [made.asset, asset.id]
    for (const what of ["prepare", "book_out"]) await on("POST", `/quick_${what}`, { asset_ids })
    for (const action of ["dispatch", "return"])
      await on("PATCH", `/items/${made.bulk_line}/fulfilment`, { action, quantity: "3" })
    await on("POST", "/quick_check_in", { asset_ids, finalise: true })
    expect(await device.sync()).toMatchObject({ conflicts: 0, pending: 0 })
    const after = await show(`${order}?include=costs`)
    const money = (row: object) =>
      Object.fromEntries(Object.entries(row).filter(([key]) => /total|costs|currency|deal|rate/.test(key)))
    expect(money(after)).toEqual(money(before))
    expect(after.status_label).toBe("Checked")
    const token = tokens.get("Warehouse")
    const { available_actions } = (await server.get(`${order}/available_actions`, token)).body
    const code = (of: string) => available_actions.find(({ key }) => key === of)?.code
    expect(code("dispatch")).not.toBe("permission_denied")
    expect(code("change_status")).toBe("permission_denied")
    for (const [method, path, body] of [
      ["POST", "/deal_price", { deal_total: "5.00" }],
      ["DELETE", "/deal_price", undefined],
      ["POST", "/change_status", { status: 6 }]
    ] as const) {
      const here = await device.plan(method, order + path, body)
      const there = await server.call(method, order + path, body, token)
      expect([path, here.status, there.status], method).toEqual([path, 403, 403])
    }
  })

  it("let a Warehouse token with only opportunities:fulfil prepare units, but not list or change orders", async () => {
    const [{ id }] = await show("/users?q[name_eq]=Warehouse")
    const { secret } = await create("/tokens", { name: "Scanner", abilities: ["opportunities:fulfil"], user_id: id })
    const { id: item_id, units } = await server.units(1, 1)
    const { id: order_id, items } = await server.withLine({ member_id: made.member }, { item_id })
    const order = `/opportunities/${order_id}`
    await server.confirm(order_id)
    const asset = await create(`${order}/items/${items[0].id}/assets`, { stock_level_id: units[0] })
    expect((await server.post(`${order}/quick_prepare`, { asset_ids: [asset.id] }, secret)).status).toBe(200)
    for (const path of ["/opportunities", "/stock_levels"]) expect((await server.get(path, secret)).status).toBe(403)
    expect((await server.put(order, {}, secret)).status).toBe(403)
  })

  it("let Sales see stock and containers, and let Warehouse but not Read Only fulfil orders", async () => {
    const roles = await show("/roles?per_page=100")
    const holds = (name: string): ReadonlyArray<string> => roles.find((one) => one.name === name)!.permissions
    expect(holds("Sales")).toEqual(
      expect.arrayContaining(["availability.view", "stock.view", "kits.view", "containers.view"])
    )
    expect(holds("Warehouse")).toEqual(
      expect.arrayContaining(["opportunities.view", "opportunities.fulfil", "activities.view"])
    )
    expect(holds("Read Only")).not.toContain("opportunities.fulfil")
  })
})
