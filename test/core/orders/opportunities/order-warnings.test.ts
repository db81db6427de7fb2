import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, refused } from "../../../app-house.ts"

const hire = { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-05T09:00:00Z" }
const on_stop = "Acme is on stop: agree with whoever keeps the account before anything is promised."

describe.each(engines)("warnings before an order, on %s", (engine) => {
  const w = appHouse(engine)

  const customer = (set: object): Promise<{ readonly id: number }> =>
    w.create("/members", { name: "Acme", membership_type: "organisation", ...set })
  const quoted = async (member_id: number, unit_price = "100.00"): Promise<number> => {
    const { id } = await w.deal({ ...hire, member_id }, { name: "Stage", quantity: 1, unit_price })
    expect((await w.post(`/opportunities/${id}/convert_to_quotation`, {})).status).toBe(200)
    return id
  }
  const converted = (id: number) => w.post(`/opportunities/${id}/convert_to_order`, {})
  const policy = (set: object) => w.put("/settings/opportunities", { settings: set })

  it("name a customer on stop at creation, quotation and change of customer; the policy may block the order", async () => {
    const { id: member_id } = await customer({ is_on_stop: true })
    const made = await w.post("/opportunities", { subject: "Gala", member_id })
    expect(made.body.meta).toEqual({ can_edit: true, can_destroy: true, warnings: [on_stop] })
    const path = `/opportunities/${made.body.opportunity.id}`
    await w.post(`${path}/items`, { name: "Stage", unit_price: 0 })
    expect((await w.post(`${path}/convert_to_quotation`, {})).body.meta.warnings).toEqual([on_stop])
    expect((await w.get(`${path}/available_actions`)).body.meta).toEqual({ warnings: [on_stop] })
    await policy({ on_stop_policy: "block" })
    const blocked = await w.post(`${path}/convert_to_order`, {})
    expect([blocked.status, blocked.body.errors]).toEqual([422, { member_id: [on_stop] }])
    await policy({ on_stop_policy: "allow" })
    expect((await w.post(`${path}/convert_to_order`, {})).body.meta.warnings).toBeUndefined()
    await policy({ on_stop_policy: "warn" })
    const other = await w.opportunity({})
    const taken = await w.put(`/opportunities/${other.id}`, { member_id })
    expect(taken.body.meta.warnings).toEqual([on_stop])
  })
  it("count open invoices, other unbilled orders and this order against the credit limit", async () => {
    const { id: member_id } = await customer({ credit_limit: "1000.00" })
    const first = await quoted(member_id)
    expect((await converted(first)).body.meta.warnings).toEqual([expect.stringMatching(/^Untaxed: /)])
    const items = [{ name: "Repair", quantity: 1, unit_price: "150.00" }]
    const { id: invoice } = await w.create("/invoices", { member_id, items })
    const second = await quoted(member_id)
    expect((await w.get(`/opportunities/${second}/available_actions`)).body.meta.warnings).toEqual([])
    await w.post(`/invoices/${invoice}/issue`, {})
    await policy({ credit_limit_policy: "block" })
    expect((await converted(second)).status).toBe(200)
    const third = await quoted(member_id, "20.00")
    const text =
      "Acme would owe 1030.00 GBP, over the limit of 1000.00 GBP: invoices 150.00 GBP, other orders 800.00 GBP, this 80.00 GBP."
    const blocked = await converted(third)
    expect([blocked.status, blocked.body.errors]).toEqual([422, { member_id: [text] }])
    await policy({ credit_limit_policy: "warn" })
    expect((await converted(third)).body.meta.warnings[0]).toBe(text)
    await policy({ credit_limit_policy: "block" })
    await refused(w.post(`/opportunities/${third}/extend`, { ends_at: "2026-09-06T09:00:00Z" }), "member_id")
    expect((await w.post(`/opportunities/${third}/extend`, { ends_at: "2026-09-04T09:00:00Z" })).status).toBe(200)
    await policy({ credit_limit_policy: "warn" })
  })
  it("name a short line, unless the store's policy is to allow shortages", async () => {
    const staff = viewerWith(["opportunities.view", "opportunities.edit"], ["*"])
    const product = await w.product({ name: "Fresnel", tax_class_id: 1 })
    const { id } = await w.opportunity({ ...hire, member_id: await w.customer({ sale_tax_class_id: 1 }) })
    const two = { item_id: product, name: "Fresnel", quantity: 2, unit_price: "5.00" }
    const add = (viewer?: typeof staff) => w.post(`/opportunities/${id}/items`, two, viewer)
    const added = await add(staff)
    expect(added.body.meta.warnings).toEqual(["Stock is short: Fresnel by 2."])
    const line = added.body.opportunity.items[0].id
    const changed = await w.patch(`/opportunities/${id}/items/${line}`, { quantity: 3 }, staff)
    expect(changed.body.meta.warnings).toEqual(["Stock is short: Fresnel by 3."])
    await w.post(`/opportunities/${id}/convert_to_quotation`, {})
    const order = await w.post(`/opportunities/${id}/convert_to_order`, {}, staff)
    expect(order.body.meta.warnings).toEqual(["Stock is short: Fresnel by 3."])
    await w.post(`/opportunities/${id}/revert_to_quotation`, {})
    await w.put("/stores/1", { shortage_policy: "block" })
    const let_through =
      "Stock is short: Fresnel by 3. The store blocks shortages; your permission to ignore them lets this one through."
    const told = await w.get(`/opportunities/${id}/available_actions`)
    expect(told.body.meta.warnings).toEqual([let_through])
    const mine = await w.post(`/opportunities/${id}/convert_to_order`, {})
    expect(mine.body.meta.warnings).toEqual([let_through])
    await w.put("/stores/1", { shortage_policy: "allow" })
    expect((await add(staff)).body.meta.warnings).toBeUndefined()
  })
})
