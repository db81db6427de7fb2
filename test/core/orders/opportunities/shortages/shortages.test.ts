import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../../app-house.ts"

const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }

describe.each(engines)("shortages of one opportunity on %s", (engine) => {
  const w = appHouse(engine)

  /** Opportunity with a line for 3 of a product with 5 held, of which another order reserves 4. */
  const shortOpportunity = async () => {
    const product = await w.create("/products", { name: "Cable" })
    await w.hold(product.id, 5)
    const other = await w.deal(june, { name: "Cable", item_id: product.id, quantity: 4 })
    await w.confirm(other.id)
    const opportunity = await w.deal(june, { name: "Cable", item_id: product.id, quantity: 3 })
    return { ...opportunity, product }
  }

  it("are reported for drafts and orders, and are empty for an opportunity without lines", async () => {
    const { id, product, line } = await shortOpportunity()
    const draft = (await w.get(`/opportunities/${id}/shortages`)).body
    expect(draft).toEqual({
      shortages: [
        {
          opportunity_item_id: line.id,
          opportunity_id: id,
          product_id: product.id,
          product_name: product.name,
          store_id: 1,
          opportunity: {
            id,
            number: expect.any(String),
            name: "A job",
            state_name: "Draft",
            to_replace: 0,
            member: null
          },
          date: "2031-06-01",
          last_date: "2031-06-05",
          requested_quantity: 3,
          available: 1,
          available_quantity: 1,
          shortfall: 2,
          severity: 2,
          remaining_shortfall: 2,
          on_order_quantity: 0,
          tracking_type: "bulk",
          starts_at: "2031-06-01T09:00:00.000Z",
          ends_at: "2031-06-05T17:00:00.000Z",
          is_critical: false,
          is_out: false
        }
      ],
      waiting: [],
      to_replace: [],
      elsewhere: [],
      meta: { total: 1, per_page: 1, page: 1 }
    })
    await w.confirm(id)
    expect(await w.show(`/opportunities/${id}/shortages`)).toMatchObject([{ shortfall: 2, is_critical: true }])
    const enough = await w.opportunity()
    expect((await w.get(`/opportunities/${enough.id}/shortages`)).body).toEqual({
      shortages: [],
      waiting: [],
      to_replace: [],
      elsewhere: [],
      meta: { total: 0, per_page: 0, page: 1 }
    })
  })
  it("are acknowledged with a snapshot of the short lines, and cannot be if no line is short", async () => {
    const { id } = await shortOpportunity()
    const made = await w.post(`/opportunities/${id}/shortages/acknowledge`, { notes: "Borrowing two" })
    expect(made.status).toBe(201)
    expect(made.body.acknowledgement).toMatchObject({
      opportunity_id: id,
      user_id: 1,
      policy_at_time: "warn",
      permission_used: false,
      notes: "Borrowing two",
      shortages_snapshot: [{ shortfall: 2 }]
    })
    const [entry] = await w.show(`/opportunities/${id}/activity`)
    expect(entry).toMatchObject({
      action: "shortage.acknowledged",
      new_values: { policy_at_time: "warn", permission_used: false, shortage_count: 1 }
    })
    const enough = await w.deal()
    await refused(w.post(`/opportunities/${enough.id}/shortages/acknowledge`), "shortages")
    await refused(w.post(`/opportunities/${id}/shortages/acknowledge`, { notes: "x".repeat(2001) }), "notes")
    expect((await w.post(`/opportunities/99999/shortages/acknowledge`)).status).toBe(404)
  })
  it("are flagged on a clone at once (rules/availability 6.8)", async () => {
    const { id, product } = await shortOpportunity()
    const copy = await w.create(`/opportunities/${id}/clone`)
    expect(copy).toMatchObject({ state: 0, has_shortage: true })
    expect(await w.show(`/opportunities/${copy.id}/shortages`)).toMatchObject([
      { product_id: product.id, shortfall: 2 }
    ])
    expect((await w.create(`/opportunities/${(await w.deal()).id}/clone`)).has_shortage).toBe(false)
    // A closed quotation needs no stock, but its clone does.
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    const lost = await w.create(`/opportunities/${id}/change_status`, { status: 3 })
    expect(lost.has_shortage).toBe(false)
    expect((await w.create(`/opportunities/${id}/clone`)).has_shortage).toBe(true)
  })
  it("follow a change of the opportunity's store, which leaves demands unchanged (rules/opportunities 4)", async () => {
    const { id, product } = await shortOpportunity()
    const claimed = async () => (await w.app.dump())["claims"]
    const before = await claimed()
    const elsewhere = await w.create("/stores", { name: "Elsewhere" })
    const header = async (body: object) => {
      const flag = (await w.update(`/opportunities/${id}`, body)).has_shortage
      expect((await w.show(`/opportunities/${id}/shortages`)).length > 0).toBe(flag)
      return flag
    }
    expect((await w.show(`/opportunities/${id}`)).has_shortage).toBe(true)
    expect(await header({ subject: "Another name" })).toBe(true)
    await w.create("/stock_levels", { product_id: product.id, store_id: elsewhere.id, quantity_held: 9 })
    expect(await header({ store_id: elsewhere.id })).toBe(false)
    expect(await header({ store_id: 1 })).toBe(true)
    expect(await claimed()).toEqual(before)
  })
  it("require shortages.view to read, and shortages.resolve to acknowledge", async () => {
    const { id } = await shortOpportunity()
    const sees = viewerWith(["shortages.view"], ["opportunities:read", "opportunities:write"])
    expect((await w.get(`/opportunities/${id}/shortages`, sees)).status).toBe(200)
    expect((await w.post(`/opportunities/${id}/shortages/acknowledge`, {}, sees)).status).toBe(403)
    expect(
      (await w.get(`/opportunities/${id}/shortages`, viewerWith(["opportunities.view"], ["opportunities:read"]))).status
    ).toBe(403)
  })
  it("refuse an order at a blocking store to users without shortages.ignore", async () => {
    const store = await w.create("/stores", { name: "Strict", shortage_policy: "block" })
    const product = await w.product()
    await w.create("/stock_levels", { product_id: product, store_id: store.id, quantity_held: 5 })
    const ordered = async (quantity: number, viewer = viewerWith(["opportunities.edit"], ["*"])) => {
      const opportunity = await w.deal({ ...june, store_id: store.id }, { name: "Cable", item_id: product, quantity })
      await w.post(`/opportunities/${opportunity.id}/convert_to_quotation`)
      return {
        id: opportunity.id,
        reply: await w.post(`/opportunities/${opportunity.id}/convert_to_order`, {}, viewer)
      }
    }
    expect((await ordered(4)).reply.body.opportunity).toMatchObject({ state: 2, has_shortage: false })
    const blocked = await ordered(3)
    expect([blocked.reply.status, Object.keys(blocked.reply.body.errors)]).toEqual([422, ["shortages"]])
    const ignoring = await ordered(3, viewerWith(["opportunities.edit", "shortages.ignore"], ["*"]))
    expect(ignoring.reply.body.opportunity).toMatchObject({ state: 2, has_shortage: true })
    await w.post(`/opportunities/${ignoring.id}/change_status`, { status: 6 })
    expect((await w.show(`/opportunities/${ignoring.id}`)).has_shortage).toBe(false)
  })
  itFoldsAgain(w)
})
