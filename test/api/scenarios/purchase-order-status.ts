/** Sending and cancelling purchase orders, permissions, visibility of costs. */
import { expect } from "vitest"
import { ends_at, hundred, orders, type Scenario, scenario, starts_at } from "../purchase-scenarios.ts"
import { refusedOn, type Made } from "../calling.ts"

const header_costs = ["exchange_rate", "subtotal", "tax_total", "total"]
const line_costs = ["unit_cost", "discount_percent", "subtotal", "tax_rate", "tax_total", "total"]
/** Cost keys in the response of an order and its lines. */
const costsIn = (order: Made<"purchase_order">): ReadonlyArray<string> => [
  ...header_costs.filter((key) => key in order),
  ...(order.items ?? []).flatMap((item) => line_costs.filter((key) => key in item))
]

export const orderStatusScenarios = (): ReadonlyArray<Scenario> => [
  scenario(41, "a draft is sent without an e-mail address", async (s) => {
    const { id } = await s.order()
    const { body, status } = await s.send(id)
    expect(status).toBe(200)
    expect(body.purchase_order).toMatchObject({ status: "sent", status_name: "Sent" })
    expect(body.purchase_order.sent_at).toMatch(/^2031-/)
    expect(body.purchase_order.items).toHaveLength(1)
  }),
  scenario(42, "an order is sent once, and then neither changed nor deleted", async (s) => {
    const { id } = await s.sent()
    refusedOn(await s.send(id), "status")
    refusedOn(await s.put(`${orders}/${id}`, { subject: "Late" }), "status")
    refusedOn(await s.put(`${orders}/${id}`, {}), "status")
    refusedOn(await s.remove(`${orders}/${id}`), "status")
  }),
  scenario(43, "an order without lines cannot be sent", async (s) => {
    refusedOn(await s.send((await s.order({ items: [] })).id), "items")
  }),
  scenario(44, "a sub-hire needs dates on the order or on each line", async (s) => {
    const none = await s.order({ starts_at: null, ends_at: null })
    refusedOn(await s.send(none.id), "starts_at", "ends_at")
    const half = await s.order({ ends_at: null })
    refusedOn(await s.send(half.id), "ends_at")
    const lines = await s.order({ starts_at: null, ends_at: null, items: [{ ...hundred, starts_at, ends_at }] })
    expect((await s.send(lines.id)).status).toBe(200)
    const some = await s.order({ starts_at: null, ends_at: null, items: [{ ...hundred, starts_at, ends_at }, hundred] })
    refusedOn(await s.send(some.id), "starts_at", "ends_at")
    const bought = await s.order({ po_type: "purchase", starts_at: null, ends_at: null })
    expect((await s.send(bought.id)).status).toBe(200)
  }),
  scenario(45, "an order to an archived or inactive supplier cannot be sent", async (s) => {
    const archived = await s.supplier()
    const order = await s.order({ supplier_id: archived.id })
    await s.remove(`/api/v1/members/${archived.id}`)
    refusedOn(await s.send(order.id), "supplier_id")
    // The draft can still be changed.
    expect((await s.put(`${orders}/${order.id}`, { subject: "Wait" })).status).toBe(200)
    const inactive = await s.supplier()
    const other = await s.order({ supplier_id: inactive.id })
    expect((await s.put(`/api/v1/members/${inactive.id}`, { is_active: false })).status).toBe(200)
    refusedOn(await s.send(other.id), "supplier_id")
  }),
  scenario(46, "recipients and texts of the mail are validated", async (s) => {
    const { id } = await s.order()
    refusedOn(await s.send(id, { email: "nobody" }), "email")
    refusedOn(await s.send(id, { message: "m".repeat(5_001) }), "message")
    expect((await s.shown(id)).status).toBe("draft")
  }),
  scenario(47, "drafts and sent orders can be cancelled, with or without a reason", async (s) => {
    const draft = await s.order()
    const { body } = await s.post(`${orders}/${draft.id}/cancel`, { reason: "No job" })
    expect(body.purchase_order).toMatchObject({
      status: "cancelled",
      status_name: "Cancelled",
      cancellation_reason: "No job"
    })
    expect(body.purchase_order.cancelled_at).toMatch(/^2031-/)
    const sent = await s.sent()
    expect((await s.post(`${orders}/${sent.id}/cancel`)).body.purchase_order).toMatchObject({
      status: "cancelled",
      cancellation_reason: null,
      sent_at: sent.sent_at
    })
    refusedOn(await s.post(`${orders}/${sent.id}/cancel`, { reason: "r".repeat(1_001) }), "reason")
  }),
  scenario(48, "a cancelled order cannot be cancelled again, sent, changed or deleted", async (s) => {
    const { id } = await s.order()
    await s.post(`${orders}/${id}/cancel`)
    refusedOn(await s.post(`${orders}/${id}/cancel`), "status")
    refusedOn(await s.send(id), "status")
    refusedOn(await s.put(`${orders}/${id}`, { subject: "Again" }), "status")
    refusedOn(await s.remove(`${orders}/${id}`), "status")
  }),
  scenario(49, "cancelled orders keep their numbers", async (s) => {
    const { id } = await s.order()
    await s.post(`${orders}/${id}/cancel`)
    s.later(async ({ ask }) => {
      const { purchase_order } = (await ask("GET", `${orders}/${id}`)).body
      expect([purchase_order.status, purchase_order.number]).toEqual(["cancelled", expect.stringMatching(/^\d{10}$/)])
    })
  }),
  scenario(53, "a store with open orders cannot be deleted", async (s) => {
    const store = await s.made("/api/v1/stores", { name: `${s.name} dock` }, "store")
    const { id } = await s.order({ store_id: store.id })
    const refused = await s.remove(`/api/v1/stores/${store.id}`)
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining("cancel it first")])
    await s.post(`${orders}/${id}/cancel`)
    expect((await s.remove(`/api/v1/stores/${store.id}`)).status).toBe(204)
    expect((await s.shown(id)).store_id).toBe(store.id)
  }),
  scenario(50, "actions on purchase orders need permissions and abilities", async (s) => {
    if (s.somebody === undefined) return
    const { id } = await s.order()
    const all = ["purchase_orders:read", "purchase_orders:write"]
    const viewer = await s.somebody(["purchase_orders.view"], all)
    expect((await viewer("GET", `${orders}/${id}`)).status).toBe(200)
    for (const [method, path] of [
      ["POST", orders],
      ["PUT", `${orders}/${id}`],
      ["DELETE", `${orders}/${id}`],
      ["POST", `${orders}/${id}/send`],
      ["POST", `${orders}/${id}/cancel`]
    ] as const)
      expect([method, path, (await viewer(method, path, {})).status]).toEqual([method, path, 403])
    const sender = await s.somebody(["purchase_orders.send"], all)
    expect((await sender("POST", `${orders}/${id}/cancel`, {})).status).toBe(403)
    expect((await sender("POST", `${orders}/${id}/send`, {})).status).toBe(200)
    const editor = await s.somebody(["purchase_orders.edit"], all)
    expect((await editor("POST", `${orders}/${id}/cancel`, {})).status).toBe(200)
    const reader = await s.somebody(["purchase_orders.view", "purchase_orders.edit"], ["purchase_orders:read"])
    expect((await reader("POST", `${orders}/${id}/cancel`, {})).status).toBe(403)
    expect((await s.nobody?.("GET", orders))?.status).toBe(401)
  }),
  scenario(51, "costs are absent from the order's responses without the permission to see them", async (s) => {
    if (s.somebody === undefined) return
    const permissions = ["view", "create", "edit", "send", "delete"].map((one) => `purchase_orders.${one}`)
    const abilities = ["purchase_orders:read", "purchase_orders:write"]
    const blind = await s.somebody(permissions, abilities)
    const buyer = await s.somebody([...permissions, "costs.view"], abilities)
    const supplier_id = (await s.supplier()).id
    const made = await blind("POST", orders, {
      supplier_id,
      subject: s.name,
      starts_at,
      ends_at,
      items: [{ ...hundred, discount_percent: "10" }]
    })
    expect(made.status).toBe(201)
    const { id, items } = made.body.purchase_order
    expect(costsIn(made.body.purchase_order)).toEqual([])
    const seen = async (ask: typeof blind) => [
      (await ask("GET", `${orders}/${id}?include=items`)).body.purchase_order,
      ...(await ask("GET", `${orders}?q[id_eq]=${id}&include=items`)).body.purchase_orders
    ]
    expect((await seen(blind)).flatMap(costsIn)).toEqual([])
    expect((await seen(buyer)).map(costsIn)).toEqual([
      [...header_costs, ...line_costs],
      [...header_costs, ...line_costs]
    ])
    // Stored, though absent from the response; omitted values stay.
    expect((await seen(buyer))[0]).toMatchObject({ total: "108.00", items: [{ unit_cost: "100.00" }] })
    const changed = await blind("PUT", `${orders}/${id}`, { items: [{ id: items[0].id, quantity: "2" }] })
    expect(costsIn(changed.body.purchase_order)).toEqual([])
    expect((await seen(buyer))[0]?.total).toBe("216.00")
    expect(costsIn((await blind("POST", `${orders}/${id}/send`, {})).body.purchase_order)).toEqual([])
    expect(costsIn((await blind("POST", `${orders}/${id}/cancel`, {})).body.purchase_order)).toEqual([])
    const free = await s.order({ subject: s.name, items: [{ name: "Truss" }] })
    expect((await blind("POST", `${orders}/${free.id}/send`, {})).body.meta.warnings).toEqual([])
  }),
  scenario(54, "sending an order warns when none of its lines has a price", async (s) => {
    const warningsOf = async (...costs: ReadonlyArray<string>) => {
      const { id } = await s.order({ items: costs.map((unit_cost) => ({ name: "Truss", unit_cost })) })
      return (await s.send(id)).body.meta.warnings
    }
    expect(await warningsOf("0.00", "0.00")).toEqual(["No line of the order has a price."])
    expect(await warningsOf("0.00", "5.00")).toEqual([])
  }),
  scenario(52, "filters and sorts by cost are ignored", async (s) => {
    const small = await s.order()
    const large = await s.order({ items: [{ name: "All", unit_cost: "500.00" }] })
    const ids = async (query: string): Promise<ReadonlyArray<number>> =>
      (await s.get(`${orders}?q[subject_eq]=${s.name}&${query}`)).body.purchase_orders.map((one) => one.id)
    for (const query of ["q[total_gt]=200.00", "q[subtotal_eq]=100.00", "sort=-total", "q[exchange_rate_gt]=2"])
      expect([query, await ids(query)]).toEqual([query, [small.id, large.id]])
  })
]
