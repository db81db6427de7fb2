/** Availability of sub-hired goods within their hire period, and hires whose end moves. */
import { expect } from "vitest"
import { from, orders, type Scenario, type Scene, scenario, to } from "../receiving-scenarios.ts"

const api = "/api/v1"
const opp = `${api}/opportunities`
const shown = async (s: Scene, path: string) => {
  const { body, status } = await s.get(`${api}/${path}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const flag = async (s: Scene, id: number): Promise<boolean> =>
  (await shown(s, `opportunities/${id}`)).opportunity.has_shortage
/** Hires and receives a quantity of a product, by default for `from` to `to`. */
const hired = async (s: Scene, product_id: number, quantity: number, set: object = {}) => {
  const order = await s.sent(set, { product_id, quantity: String(quantity) })
  const reply = await s.receive(order.id, [{ item_id: order.items[0].id, quantity: String(quantity) }])
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body.purchase_order
}
const extend = (s: Scene, id: number, body: object) => s.post(`${orders}/${id}/extend?include=items`, body)
const later = "2026-06-28T00:00:00.000Z"
const daily = "from=2026-06-18&to=2026-06-28&store_id=1"
/** Expected quantities for 18 to 27 June, with this quantity during the hire. */
const inside = (quantity: number): ReadonlyArray<number> => [0, 0, ...Array<number>(5).fill(quantity), 0, 0, 0]

export const hireWindowScenarios: ReadonlyArray<Scenario> = [
  scenario("w1", "counts sub-hired bulk and units on the days of their hire, and on no others", async (s) => {
    for (const product_id of [await s.product(), await s.units()]) {
      await hired(s, product_id, 3)
      const { availability } = await shown(s, `availability?product_id=${product_id}&${daily}`)
      expect(availability.slots.map((one) => one.total_stock)).toEqual(inside(3))
      expect(availability.slots.map((one) => one.available)).toEqual(inside(3))
    }
  }),
  scenario("w2", "shows shortages on the days before and after the hire in calendar and chart", async (s) => {
    const product_id = await s.units()
    await hired(s, product_id, 2)
    const job = await s.job(product_id, 1, { starts_at: "2026-06-19T00:00:00Z", ends_at: "2026-06-26T00:00:00Z" })
    await s.post(`${opp}/${job.id}/convert_to_quotation`)
    await s.post(`${opp}/${job.id}/convert_to_order`)
    const { calendar } = await shown(s, `availability/calendar?product_ids[]=${product_id}&${daily}`)
    expect(calendar.products[0].days.slice(0, 10).map((one) => one.available)).toEqual([0, -1, 1, 1, 1, 1, 1, -1, 0, 0])
    const { gantt } = await shown(s, `availability/${product_id}/gantt?${daily}`)
    expect(gantt.shortages.map((one) => [one.from, one.severity])).toEqual([
      ["2026-06-19", 1],
      ["2026-06-25", 1]
    ])
  }),
  scenario("w3", "explains availability by the stock levels that count at that time", async (s) => {
    const product_id = await s.units()
    await hired(s, product_id, 2)
    const ids = (await s.levels(product_id)).map((one) => one.id)
    const why = async (day: string) =>
      (await shown(s, `availability/why?product_id=${product_id}&store_id=1&date=${day}`)).reasons
    for (const day of ["2026-06-20", "2026-06-24"])
      expect(await why(day)).toMatchObject({ total_stock: 2, available: 2, stock_level_ids: ids })
    for (const day of ["2026-06-19", "2026-06-25"])
      expect(await why(day)).toMatchObject({ total_stock: 0, available: 0, stock_level_ids: [] })
  }),
  scenario("w4", "counts sub-hired stock within its hire for the earliest fit and for plans", async (s) => {
    const product_id = await s.product()
    await hired(s, product_id, 2)
    const fit = async (days: number) =>
      (
        await s.post(`${api}/availability/earliest_fit`, {
          store_id: 1,
          lines: [{ product_id, quantity: 2 }],
          from: "2026-06-18",
          until: "2026-06-28",
          duration_days: days
        })
      ).body.earliest_fit
    expect((await fit(5)).window, JSON.stringify(await fit(5))).toEqual({ starts_at: from, ends_at: to })
    expect((await fit(6)).window).toBeNull()
    const plan = async (starts_at: string, ends_at: string) =>
      (
        await s.post(`${api}/availability/what_if`, {
          store_id: 1,
          lines: [{ product_id, quantity: 2, starts_at, ends_at }]
        })
      ).body.what_if.lines[0].shortage_quantity
    expect([await plan("2026-06-20", "2026-06-25"), await plan("2026-06-20", "2026-06-26")]).toEqual([0, 2])
  }),
  scenario("w5", "reports a line that ends after the hire as short of its whole quantity", async (s) => {
    const product_id = await s.product()
    await hired(s, product_id, 3)
    const within = await s.job(product_id, 3)
    const beyond = await s.job(product_id, 2, { starts_at: "2026-06-23T08:00:00Z", ends_at: "2026-06-25T08:00:00Z" })
    expect([await flag(s, within.id), await flag(s, beyond.id)]).toEqual([false, true])
    expect((await shown(s, `opportunities/${beyond.id}/shortages`)).shortages).toMatchObject([{ shortfall: 2 }])
  }),
  scenario("w10", "counts a hire until its new end after it is extended or shortened", async (s) => {
    const [cables, heads] = [await s.product(), await s.units()]
    const { id, items } = await s.sent({}, { product_id: cables, quantity: "4" }, { product_id: heads, quantity: "2" })
    await s.receive(id, [
      { item_id: items[0].id, quantity: "3" },
      { item_id: items[1].id, quantity: "2" }
    ])
    expect([await s.total(cables, "2026-06-26"), await s.total(heads, "2026-06-26")]).toEqual([0, 0])
    const { body, status } = await extend(s, id, { ends_at: later, reason: "the show goes on" })
    expect([status, body.purchase_order.ends_at], JSON.stringify(body)).toEqual([200, later])
    expect([await s.total(cables, "2026-06-26"), await s.total(heads, "2026-06-26")]).toEqual([3, 2])
    // Later hire periods keep their length.
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    expect([
      await s.total(cables, "2026-06-26"),
      (await s.levels(cables)).filter((one) => one.is_sub_hired).length
    ]).toEqual([4, 1])
    await extend(s, id, { ends_at: "2026-06-23T00:00:00Z" })
    expect([await s.total(cables, "2026-06-22"), await s.total(cables, "2026-06-23")]).toEqual([4, 0])
    expect(await s.total(heads, "2026-06-23")).toBe(0)
  }),
  scenario("w11", "does not count returned goods when the rest is extended", async (s) => {
    const product_id = await s.units()
    const { id, items } = await s.sent({}, { product_id, quantity: "2" })
    await s.receive(id, [{ item_id: items[0].id, quantity: "2", serial_numbers: ["W11-A", "W11-B"] }])
    await s.giveBack(id, { lines: [{ item_id: items[0].id, serial_numbers: ["W11-A"] }] })
    expect((await extend(s, id, { ends_at: later })).status).toBe(200)
    expect([await s.total(product_id, "2026-06-21"), await s.total(product_id, "2026-06-26")]).toEqual([1, 1])
  }),
  scenario(
    "w12",
    "refuses a new end before the start, and for drafts, purchases, and returned or cancelled hires",
    async (s) => {
      const product_id = await s.product()
      const draft = await s.draft({}, { product_id, quantity: "1" })
      await s.refused(extend(s, draft.id, { ends_at: later }), "status", /draft/)
      const bought = await s.sent({ po_type: "purchase" }, { product_id, quantity: "1" })
      await s.refused(extend(s, bought.id, { ends_at: later }), "po_type", /purchase/)
      const { id, items } = await s.sent({}, { product_id, quantity: "1" })
      await s.refused(extend(s, id, { ends_at: from }), "ends_at", /after starts at/)
      await s.refused(extend(s, id, { ends_at: later, item_ids: [draft.items[0].id] }), "item_ids.0", /no row/)
      await s.refused(extend(s, id, {}), "ends_at")
      await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
      await s.giveBack(id)
      await s.refused(extend(s, id, { ends_at: later }), "status", /went back/)
      const cancelled = await s.sent({}, { product_id, quantity: "1" })
      await s.post(`${orders}/${cancelled.id}/cancel`)
      await s.refused(extend(s, cancelled.id, { ends_at: later }), "status", /cancelled/)
    }
  ),
  scenario("w13", "refuses to shorten the hire of a unit that is allocated beyond it", async (s) => {
    const product_id = await s.units()
    await hired(s, product_id, 1)
    const [{ id: asset_id, purchase_order_item_id }] = await s.levels(product_id)
    expect(purchase_order_item_id).not.toBeNull()
    const job = await s.job(product_id, 1)
    await s.post(`${opp}/${job.id}/convert_to_quotation`)
    await s.post(`${opp}/${job.id}/convert_to_order`)
    const allocated = await s.post(`${opp}/${job.id}/items/${job.line.id}/assets`, { stock_level_id: asset_id })
    expect([200, 201], JSON.stringify(allocated.body)).toContain(allocated.status)
    const [order] = (await shown(s, "purchase_orders?q[subject_eq]=Scenario%20w13")).purchase_orders
    await s.refused(extend(s, order.id, { ends_at: "2026-06-22T00:00:00Z" }), "ends_at", /Job of w13/)
    expect((await extend(s, order.id, { ends_at: "2026-06-24T00:00:00Z" })).status).toBe(200)
    expect((await extend(s, order.id, { ends_at: "2026-06-24T00:00:00Z" })).status).toBe(200)
  }),
  scenario("w14", "updates an order's shortage flag when the hire's end changes", async (s) => {
    const product_id = await s.product()
    const { id } = await hired(s, product_id, 2)
    const window = { starts_at: "2026-06-26T08:00:00Z", ends_at: "2026-06-27T18:00:00Z" }
    const job = await s.job(product_id, 2, window)
    expect(await flag(s, job.id)).toBe(true)
    await extend(s, id, { ends_at: later })
    expect(await flag(s, job.id)).toBe(false)
    await extend(s, id, { ends_at: to })
    expect(await flag(s, job.id)).toBe(true)
  }),
  scenario("w15", "changes the end of one line of a purchase order", async (s) => {
    const [one, other] = [await s.product(), await s.product({ name: "Stand of w15" })]
    const { id, items } = await s.sent({}, { product_id: one, quantity: "1" }, { product_id: other, quantity: "1" })
    await s.receive(
      id,
      items.map((item) => ({ item_id: item.id, quantity: "1" }))
    )
    const { body } = await extend(s, id, { ends_at: later, item_ids: [items[1].id] })
    expect(body.purchase_order).toMatchObject({ ends_at: to, items: [{}, { ends_at: later }] })
    expect([await s.total(one, "2026-06-26"), await s.total(other, "2026-06-26")]).toEqual([0, 1])
  }),
  scenario("w16", "lists orders due back, without those not yet received, bought or returned", async (s) => {
    const product_id = await s.product()
    const { id } = await hired(s, product_id, 1)
    const overdue = await hired(s, product_id, 1, {
      starts_at: "2026-06-10T00:00:00Z",
      ends_at: "2026-06-15T00:00:00Z"
    })
    await s.sent({}, { product_id, quantity: "1" })
    await hired(s, product_id, 1, { po_type: "purchase" })
    const back = await hired(s, product_id, 1)
    await s.giveBack(back.id)
    const listed = async (filter: string) =>
      (await shown(s, `purchase_orders?q[subject_eq]=Scenario%20w16&${filter}&sort=ends_at`)).purchase_orders
    expect((await listed("q[is_due_back_true]=1")).map((one) => one.id)).toEqual([overdue.id, id])
    expect((await listed("q[is_overdue_true]=1")).map((one) => [one.id, one.is_overdue])).toEqual([[overdue.id, true]])
    expect(await listed("q[is_due_back_false]=1")).toHaveLength(3)
  }),
  scenario("w17", "turns lines that are hired in full into sub-rentals at their price", async (s) => {
    const [whole, part] = [await s.product(), await s.product({ name: "Stand of w17" })]
    const [level] = await s.levels(part)
    await s.ask("PUT", `${api}/stock_levels/${level.id}`, { quantity_held: "1" })
    const job = await s.job(whole, 2)
    await s.ask("PATCH", `${opp}/${job.id}/items/${job.line.id}`, { unit_price: "40.00" })
    const two = { name: "Stands", item_id: part, quantity: "3", unit_price: "10.00" }
    const { body } = await s.post(`${opp}/${job.id}/items`, two)
    const before = body.opportunity
    const reply = await s.post(`${opp}/${job.id}/shortages/resolve`, {
      resolution: "subhire",
      supplier_id: await s.supplier(),
      sub_rental: true
    })
    expect(reply.status, JSON.stringify(reply.body)).toBe(201)
    const { opportunity } = await shown(s, `opportunities/${job.id}?include=items`)
    expect(opportunity.items.map((one) => one.transaction_type)).toEqual([3, 0])
    expect(opportunity.items.map((one) => one.total)).toEqual(before.items.map((one) => one.total))
    expect(opportunity.sub_rental_charge_total).toBe(opportunity.items[0].total)
    expect([opportunity.charge_total, opportunity.has_shortage]).toEqual([before.charge_total, false])
    await s.refused(
      s.post(`${opp}/${(await s.job(whole, 9)).id}/shortages/resolve`, {
        resolution: "purchase",
        supplier_id: await s.supplier(),
        sub_rental: true
      }),
      "sub_rental"
    )
  })
]
