/** Shortages resolved by purchase orders (rules/availability 9). */
import { expect } from "vitest"
import { orders, type Scenario, type Scene, scenario } from "../receiving-scenarios.ts"

const opp = "/api/v1/opportunities"
const short = async (s: Scene, id: number) => (await s.get(`${opp}/${id}/shortages`)).body.shortages
const flag = async (s: Scene, id: number): Promise<boolean> =>
  (await s.get(`${opp}/${id}`)).body.opportunity.has_shortage
const resolve = (s: Scene, id: number, body: object) => s.post(`${opp}/${id}/shortages/resolve`, body)

export const resolutionScenarios: ReadonlyArray<Scenario> = [
  scenario("s1", "closes a shortage with a sub-hire from draft to delivery", async (s) => {
    const product_id = await s.product({
      sub_rental_price: 1250,
      buffer_before_minutes: 120,
      post_rent_unavailability: 60
    })
    const job = await s.job(product_id, 3)
    expect([await flag(s, job.id), (await short(s, job.id)).map((one) => one.remaining_shortfall)]).toEqual([true, [3]])
    const { body, status } = await resolve(s, job.id, { resolution: "subhire", supplier_id: await s.supplier() })
    expect(status, JSON.stringify(body)).toBe(201)
    expect(body.purchase_order).toMatchObject({
      po_type: "sub_hire",
      status: "draft",
      opportunity_id: job.id,
      store_id: 1,
      subject: "Job of s1",
      starts_at: "2026-06-21T06:00:00.000Z",
      ends_at: "2026-06-23T19:00:00.000Z",
      subtotal: "37.50",
      items: [{ product_id, quantity: "3.00", opportunity_item_id: job.line.id, unit_cost: "12.50" }]
    })
    expect(await short(s, job.id)).toMatchObject([{ shortfall: 3, remaining_shortfall: 0, on_order_quantity: 3 }])
    expect(await flag(s, job.id)).toBe(false)
    const { id, items } = body.purchase_order
    await s.post(`${orders}/${id}/send`)
    await s.receive(id, [{ item_id: items[0].id, quantity: "2" }])
    expect(await short(s, job.id)).toMatchObject([{ shortfall: 1, remaining_shortfall: 0, on_order_quantity: 1 }])
    await s.receive(id, [{ item_id: items[0].id, quantity: "1" }])
    expect([await short(s, job.id), await flag(s, job.id)]).toEqual([[], false])
    await s.giveBack(id)
    expect([(await short(s, job.id)).length, await flag(s, job.id)]).toEqual([1, true])
  }),
  scenario("s2", "reopens the shortage when the order is cancelled", async (s) => {
    const product_id = await s.product()
    const job = await s.job(product_id, 2)
    const { body } = await resolve(s, job.id, { resolution: "sub_hire", supplier_id: await s.supplier() })
    expect(await flag(s, job.id)).toBe(false)
    await s.post(`${orders}/${body.purchase_order.id}/cancel`)
    expect([await flag(s, job.id), (await short(s, job.id))[0].remaining_shortfall]).toEqual([true, 2])
    const again = await resolve(s, job.id, { resolution: "purchase", supplier_id: await s.supplier() })
    expect(again.body.purchase_order).toMatchObject({ po_type: "purchase", starts_at: null, ends_at: null })
    await s.ask("DELETE", `${orders}/${again.body.purchase_order.id}`)
    expect(await flag(s, job.id)).toBe(true)
  }),
  scenario(
    "s10",
    "counts nothing on order once a part of the goods came and went back at the hire's end",
    async (s) => {
      const product_id = await s.product()
      const job = await s.job(product_id, 5)
      const { body } = await resolve(s, job.id, { resolution: "sub_hire", supplier_id: await s.supplier() })
      const { id, items } = body.purchase_order
      const hire = { starts_at: "2026-06-15T00:00:00Z", ends_at: "2026-06-19T08:00:00Z" }
      await s.ask("PUT", `${orders}/${id}`, hire)
      await s.post(`${orders}/${id}/send`)
      await s.receive(id, [{ item_id: items[0].id, quantity: "2" }], { received_at: "2026-06-15T08:00:00Z" })
      expect(await short(s, job.id)).toMatchObject([{ on_order_quantity: 3 }])
      expect((await s.giveBack(id)).body.purchase_order.status).toBe("received")
      expect(await short(s, job.id)).toMatchObject([{ shortfall: 5, remaining_shortfall: 5, on_order_quantity: 0 }])
      expect(await flag(s, job.id)).toBe(true)
    }
  ),
  scenario("s3", "sub-hires a named line in part at an agreed price, and no other line", async (s) => {
    const [cables, heads] = [await s.product(), await s.units()]
    const job = await s.job(cables, 4)
    const after = await s.post(`${opp}/${job.id}/items`, { name: "Heads", item_id: heads, quantity: "2" })
    const line = after.body.opportunity.items.find((one) => one.item_id === heads)!
    const { body } = await resolve(s, job.id, {
      resolution: "sub_hire",
      supplier_id: await s.supplier(),
      lines: [{ opportunity_item_id: line.id, quantity: "1", unit_cost: "99.00" }]
    })
    expect(body.purchase_order.items).toMatchObject([{ product_id: heads, quantity: "1.00", unit_cost: "99.00" }])
    expect(
      (await short(s, job.id)).map((one) => [one.product_id, one.remaining_shortfall, one.on_order_quantity])
    ).toEqual([
      [cables, 4, 0],
      [heads, 1, 1]
    ])
    expect(await flag(s, job.id)).toBe(true)
  }),
  scenario(
    "s4",
    "adds short lines to a draft purchase order of the same type, and to no other opportunity's",
    async (s) => {
      const [cables, heads] = [await s.product(), await s.units()]
      const draft = await s.draft({}, { name: "Transport", quantity: "1", unit_cost: "40.00" })
      const job = await s.job(cables, 1)
      await s.post(`${opp}/${job.id}/items`, { name: "Heads", item_id: heads, quantity: "2" })
      const { body, status } = await resolve(s, job.id, { resolution: "sub_hire", purchase_order_id: draft.id })
      expect(status, JSON.stringify(body)).toBe(201)
      expect(body.purchase_order).toMatchObject({ id: draft.id, opportunity_id: job.id })
      expect(body.purchase_order.items.map((one) => [one.name, one.quantity])).toEqual([
        ["Transport", "1.00"],
        ["Cable of s4", "1.00"],
        ["Head of s4", "2.00"]
      ])
      await s.refused(
        resolve(s, job.id, { resolution: "sub_hire", purchase_order_id: draft.id }),
        "shortages",
        /on order/
      )
      const other = await s.job(cables, 2)
      await s.refused(
        resolve(s, other.id, { resolution: "sub_hire", purchase_order_id: draft.id }),
        "purchase_order_id",
        /another opportunity/
      )
      const bought = await s.draft({ po_type: "purchase" })
      await s.refused(
        resolve(s, other.id, { resolution: "sub_hire", purchase_order_id: bought.id }),
        "purchase_order_id",
        /another type/
      )
      const sent = await s.sent({}, { name: "Transport" })
      await s.refused(resolve(s, other.id, { resolution: "sub_hire", purchase_order_id: sent.id }), "status")
    }
  ),
  scenario("s5", "refuses lines that are not short, and a new order without a supplier", async (s) => {
    const product_id = await s.product()
    const job = await s.job(product_id, 1)
    await s.refused(resolve(s, job.id, { resolution: "sub_hire" }), "supplier_id", /required for a new order/)
    await s.refused(resolve(s, job.id, { supplier_id: 1 }), "resolution")
    const supplier_id = await s.supplier()
    await s.refused(
      resolve(s, job.id, { resolution: "sub_hire", supplier_id, lines: [{ opportunity_item_id: 999999 }] }),
      "lines.0.opportunity_item_id",
      /not short/
    )
    const [level] = await s.levels(product_id)
    await s.ask("PUT", `/api/v1/stock_levels/${level.id}`, { quantity_held: "5" })
    expect(await flag(s, job.id)).toBe(false)
    await s.refused(resolve(s, job.id, { resolution: "sub_hire", supplier_id }), "shortages", /Nothing is short/)
    await s.ask("PUT", `/api/v1/stock_levels/${level.id}`, { quantity_held: "0" })
    expect(await flag(s, job.id)).toBe(true)
  }),
  scenario("s6", "counts the shortage of two lines of one product at the same time once", async (s) => {
    const product_id = await s.product()
    const [level] = await s.levels(product_id)
    await s.ask("PUT", `/api/v1/stock_levels/${level.id}`, { quantity_held: "4" })
    const job = await s.job(product_id, 3)
    await s.post(`${opp}/${job.id}/items`, { name: "More", item_id: product_id, quantity: "3" })
    await s.post(`${opp}/${job.id}/convert_to_quotation`)
    await s.post(`${opp}/${job.id}/convert_to_order`)
    expect((await short(s, job.id)).map((one) => one.remaining_shortfall)).toEqual([2, 2])
    const { body } = await resolve(s, job.id, { resolution: "sub_hire", supplier_id: await s.supplier() })
    expect(body.purchase_order.items.map((one) => one.quantity)).toEqual(["2.00"])
    expect((await short(s, job.id)).map((one) => one.remaining_shortfall)).toEqual([0, 0])
    expect(await flag(s, job.id)).toBe(false)
  }),
  scenario("s8", "sums the costs of an opportunity's purchase orders, without cancelled ones", async (s) => {
    const product_id = await s.product({ sub_rental_price: 1000, purchase_price: 5000 })
    const job = await s.job(product_id, 3)
    const costs = async () => (await s.get(`${opp}/${job.id}/supply_costs`)).body.supply_costs
    expect(await costs()).toMatchObject({ cost_total: "0.00", purchase_orders: [] })
    const supplier_id = await s.supplier()
    const lines = [{ opportunity_item_id: job.line.id, quantity: "2" }]
    await resolve(s, job.id, { resolution: "sub_hire", supplier_id, lines })
    const bought = await resolve(s, job.id, { resolution: "purchase", supplier_id })
    expect(await costs()).toMatchObject({
      sub_hire_cost_total: "20.00",
      purchase_cost_total: "50.00",
      cost_total: "70.00",
      purchase_orders: [{ base_subtotal: "20.00" }, { base_subtotal: "50.00" }]
    })
    await s.post(`${orders}/${bought.body.purchase_order.id}/cancel`)
    expect(await costs()).toMatchObject({ cost_total: "20.00", purchase_orders: [{ po_type: "sub_hire" }] })
  }),
  scenario("s7", "does not count the purchase orders of an opportunity for its copy", async (s) => {
    const product_id = await s.product()
    const job = await s.job(product_id, 1)
    await resolve(s, job.id, { resolution: "sub_hire", supplier_id: await s.supplier() })
    const copy = (await s.post(`${opp}/${job.id}/clone`)).body.opportunity
    expect(await short(s, copy.id)).toMatchObject([{ on_order_quantity: 0, remaining_shortfall: 1 }])
  })
]
