/** Extensions combined with previews, cases, suppliers, invoices and clock changes. */
import { describe, expect, it, vi } from "vitest"
import { engines } from "../../../../app.ts"
import { appHouse } from "../../../../app-house.ts"
import { buildWorld, type Choose, randomFrom, step, windowOf } from "../shortages/worlds.ts"

vi.setConfig({ testTimeout: 300_000 })

const hire = { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-05T09:00:00Z" }
const later = "2026-09-08T09:00:00.000Z"

describe.each(engines)("extensions on %s", (engine) => {
  const w = appHouse(engine)

  const ordered = async (line: object, header: object = hire) => {
    const { id, items } = await w.deal(header, line)
    await w.confirm(id)
    return { id: Number(id), line: Number(items[0].id), path: `/opportunities/${id}` }
  }
  const extend = (path: string, body: object) => w.post(`${path}/extend`, body)

  it.each(engine === "sqlite" ? [301, 302, 303] : [304])(
    "match their preview, rejections included, in random world %i",
    async (seed) => {
      const random = randomFrom(seed)
      const choose: Choose = (choices) => choices[Math.floor(random() * choices.length)]!
      const world = await buildWorld(w)
      for (let made = 0; made < 4; made++) world.deals.push((await w.opportunity(windowOf(choose))).id)
      const outcomes = { extended: 0, refused: 0, short: 0 }
      for (let count = 0; count < 40; count++) {
        await step(w, world, choose)
        await w.put("/stores/1", { shortage_policy: choose(["warn", "block"]) })
        const path = `/opportunities/${choose(world.deals)}`
        const shown = (await w.get(`${path}?include=items`)).body.opportunity
        if (shown === undefined) continue
        const { ends_at, starts_at } = windowOf(choose)
        const lines = choose(["follow", "keep", shown.items.slice(0, 1).map((one) => one.id)])
        const body = { ...choose([{ ends_at }, { ends_at }, { starts_at, ends_at }, { starts_at }]), lines }
        const planned = await w.post(`${path}/extend/preview`, body)
        expect(await w.show(`${path}?include=items`)).toEqual(shown)
        const run = await extend(path, body)
        expect(run.status, JSON.stringify(run.body)).toBe(planned.status)
        if (run.status >= 400) {
          expect(run.body).toEqual(planned.body)
          outcomes.refused++
          continue
        }
        expect(run.body.extension).toEqual(planned.body.extension)
        expect(run.body.meta?.warnings ?? []).toEqual(planned.body.meta.warnings)
        const { after } = run.body.extension
        const { charge_total, has_shortage } = run.body.opportunity
        expect({ charge_total, has_shortage }).toEqual({
          charge_total: after.charge_total,
          has_shortage: after.has_shortage
        })
        outcomes.extended++
        outcomes.short += after.shortages.length
      }
      expect(Math.min(outcomes.extended, outcomes.refused, outcomes.short), JSON.stringify(outcomes)).toBeGreaterThan(0)
    }
  )

  it("leave a sealed case sealed, and keep its units for the longer hire", async () => {
    const product_id = await w.serialised({ name: "Mic" })
    const unit = await w.unit(product_id)
    const container = await w.create("/containers/temporary", { name: "Case", barcode: `CASE-${engine}`, store_id: 1 })
    await w.create(`/containers/${container.id}/pack`, { serialised_item_id: unit })
    await w.create(`/containers/${container.id}/seal`, {})
    const order = await ordered({ name: "Mic", item_id: product_id, quantity: 1 })
    await w.create(`${order.path}/items/${order.line}/assets`, { stock_level_id: unit })
    expect((await extend(order.path, { ends_at: later })).status).toBe(200)
    expect((await w.show(`/containers/${container.id}`)).status).toBe("sealed")
    const next = await ordered(
      { name: "Mic", item_id: product_id, quantity: 1 },
      { starts_at: "2026-09-06T09:00:00Z", ends_at: "2026-09-07T09:00:00Z" }
    )
    const refused = await w.post(`${next.path}/items/${next.line}/assets`, { stock_level_id: unit })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toMatch(/is held by "A job"/)
  })

  it("warn that the supplier's hire ends earlier, and leave the purchase order unchanged", async () => {
    const product_id = await w.product({ name: "Truss" })
    const supplier = await w.create("/members", { name: "Rental Partner", membership_type: "organisation" })
    const order = await ordered({ name: "Truss", item_id: product_id, quantity: 2 })
    const resolved = await w.post(`${order.path}/shortages/resolve`, {
      resolution: "sub_hire",
      supplier_id: supplier.id
    })
    expect(resolved.status, JSON.stringify(resolved.body)).toBeLessThan(300)
    const before = await w.show("/purchase_orders?per_page=100")
    const { body } = await extend(order.path, { ends_at: later })
    expect(body.meta.warnings).toContainEqual(
      expect.stringMatching(/^On order from suppliers .*: Truss; extend the purchase order, too/)
    )
    expect(await w.show("/purchase_orders?per_page=100")).toEqual(before)
  })

  it("warn that the difference of an invoiced order is not billed yet", async () => {
    const member = await w.create("/members", { name: "Acme", membership_type: "organisation" })
    const order = await ordered({ name: "Lamp", quantity: 1, unit_price: "10.00" }, { ...hire, member_id: member.id })
    const invoice = await w.create("/invoices", {
      member_id: member.id,
      opportunity_id: order.id,
      items: [{ name: "Lamp", quantity: 1, unit_price: "40.00" }]
    })
    await w.create(`/invoices/${invoice.id}/issue`, {})
    const { body } = await extend(order.path, { ends_at: later })
    expect(body.meta?.warnings ?? []).toContainEqual(
      "It is invoiced already: what changes is on no invoice yet. Make another invoice, or a credit note."
    )
    const after = await w.show(`/invoices/${invoice.id}`)
    expect(after.total).toBe(invoice.total)
  })

  // A line is charged for full periods of 24 hours, at least one (rules/rates), so clock changes do not matter.
  it.each([
    ["25 hours in autumn", "2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z", "2026-10-26T08:00:00.000Z", "20.00"],
    ["23 hours in spring", "2027-03-27T08:00:00Z", "2027-03-28T07:00:00Z", "2027-03-29T07:00:00.000Z", "10.00"],
    ["24 hours", "2026-11-03T08:00:00Z", "2026-11-04T08:00:00Z", "2026-11-05T08:00:00.000Z", "20.00"]
  ])(
    "charge elapsed days of 24 hours even if a day of the store has %s",
    async (what, starts_at, ends_at, longer, charge_total) => {
      const store = await w.create("/stores", { name: `Berlin ${what}`, timezone: "Europe/Berlin" })
      const order = await ordered(
        { name: "Lamp", quantity: 1, unit_price: "10.00" },
        { starts_at, ends_at, store_id: store.id }
      )
      const { after, before } = (await extend(order.path, { ends_at: longer })).body.extension
      expect([before.charge_total, after.charge_total]).toEqual(["10.00", charge_total])
    }
  )
})
