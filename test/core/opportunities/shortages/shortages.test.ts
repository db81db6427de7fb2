import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }

describe.each(engines)("shortages of one opportunity on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  /** 5 held, 4 committed elsewhere, a line wants 3. */
  const shortOpportunity = async () => {
    const product = await w.product({ stock_method: 1 })
    const [level] = (await w.get(`/api/v1/products/${product.id}?include=stock_levels`)).body.product.stock_levels
    await w.put(`/api/v1/stock_levels/${level.id}`, { quantity_held: 5 })
    const other = await w.withLine(june, { name: "Cable", item_id: product.id, quantity: 4 } as never)
    await w.post(`${opportunity_path}/${other.id}/convert_to_quotation`)
    await w.post(`${opportunity_path}/${other.id}/convert_to_order`)
    const opportunity = await w.withLine(june, { name: "Cable", item_id: product.id, quantity: 3 } as never)
    return { ...opportunity, product }
  }

  it("are told in every state, a draft's too", async () => {
    const {
      id,
      product,
      items: [line]
    } = await shortOpportunity()
    const draft = (await w.get(`${opportunity_path}/${id}/shortages`)).body
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
      meta: { total: 1, per_page: 1, page: 1 }
    })
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    await w.post(`${opportunity_path}/${id}/convert_to_order`)
    expect((await w.get(`${opportunity_path}/${id}/shortages`)).body.shortages).toMatchObject([
      { shortfall: 2, is_critical: true }
    ])
    const enough = await w.opportunity()
    expect((await w.get(`${opportunity_path}/${enough.id}/shortages`)).body).toEqual({
      shortages: [],
      waiting: [],
      to_replace: [],
      meta: { total: 0, per_page: 0, page: 1 }
    })
  })
  it("are acknowledged with a snapshot, and only where there are any", async () => {
    const { id } = await shortOpportunity()
    const made = await w.post(`${opportunity_path}/${id}/shortages/acknowledge`, { notes: "Borrowing two" })
    expect(made.status).toBe(201)
    expect(made.body.acknowledgement).toMatchObject({
      opportunity_id: id,
      user_id: 1,
      policy_at_time: "warn",
      permission_used: false,
      notes: "Borrowing two",
      shortages_snapshot: [{ shortfall: 2 }]
    })
    const [entry] = (await w.get(`${opportunity_path}/${id}/activity`)).body.activity
    expect(entry).toMatchObject({
      action: "shortage.acknowledged",
      new_values: { policy_at_time: "warn", permission_used: false, shortage_count: 1 }
    })
    const enough = await w.withLine()
    expect((await w.post(`${opportunity_path}/${enough.id}/shortages/acknowledge`)).body.errors).toHaveProperty(
      "shortages"
    )
    expect(
      (await w.post(`${opportunity_path}/${id}/shortages/acknowledge`, { notes: "x".repeat(2001) })).body.errors
    ).toHaveProperty("notes")
    expect((await w.post(`${opportunity_path}/99999/shortages/acknowledge`)).status).toBe(404)
  })
  it("are flagged on a copy from its first moment (rules/availability 6.8)", async () => {
    const { id, product } = await shortOpportunity()
    const copy = (await w.post(`${opportunity_path}/${id}/clone`)).body.opportunity
    expect(copy).toMatchObject({ state: 0, has_shortage: true })
    expect((await w.get(`${opportunity_path}/${copy.id}/shortages`)).body.shortages).toMatchObject([
      { product_id: product.id, shortfall: 2 }
    ])
    expect((await w.post(`${opportunity_path}/${(await w.withLine()).id}/clone`)).body.opportunity.has_shortage).toBe(
      false
    )
    // A deal that is over asks for nothing; its copy does.
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    const lost = (await w.post(`${opportunity_path}/${id}/change_status`, { status: 3 })).body.opportunity
    expect(lost.has_shortage).toBe(false)
    expect((await w.post(`${opportunity_path}/${id}/clone`)).body.opportunity.has_shortage).toBe(true)
  })
  it("are flagged anew where the header's store or dates change what is asked, and nothing is claimed otherwise (rules/opportunities 4)", async () => {
    const { id, product } = await shortOpportunity()
    const claimed = async () => (await app.dump())["claims"]
    const before = await claimed()
    const elsewhere = await w.made("/api/v1/stores", { name: "Elsewhere" }, "store")
    const header = async (body: object) => {
      const flag = (await w.put(`${opportunity_path}/${id}`, body)).body.opportunity.has_shortage
      expect((await w.get(`${opportunity_path}/${id}/shortages`)).body.shortages.length > 0).toBe(flag)
      return flag
    }
    expect((await w.get(`${opportunity_path}/${id}`)).body.opportunity.has_shortage).toBe(true)
    expect(await header({ subject: "Another name" })).toBe(true)
    await w.made(
      "/api/v1/stock_levels",
      { product_id: product.id, store_id: elsewhere.id, quantity_held: 9 },
      "stock_level"
    )
    expect(await header({ store_id: elsewhere.id })).toBe(false)
    expect(await header({ store_id: 1 })).toBe(true)
    expect(await claimed()).toEqual(before)
  })
  it("need the right to see them and the right to deal with them", async () => {
    const { id } = await shortOpportunity()
    const sees = viewerWith(["shortages.view"], ["opportunities:read", "opportunities:write"])
    expect((await w.get(`${opportunity_path}/${id}/shortages`, sees)).status).toBe(200)
    expect((await w.post(`${opportunity_path}/${id}/shortages/acknowledge`, {}, sees)).status).toBe(403)
    expect(
      (await w.get(`${opportunity_path}/${id}/shortages`, viewerWith(["opportunities.view"], ["opportunities:read"])))
        .status
    ).toBe(403)
  })
  it("fold again from the journal to the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
