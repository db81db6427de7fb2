/** What a day's lists count and leave out: pieces by unit, far shortages, proformas, goods of suppliers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"

describe.each(engines)("what a day counts, on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-06-18T12:00:00.000Z")
    w = opportunityFixture(app)
  }, 60_000)
  afterAll(() => app.close())

  const order = async (subject: string, product_id: number, quantity: number, dates: object) => {
    const made = await w.withLine({ subject, ...dates }, { name: "Line", item_id: product_id, quantity } as never)
    await w.post(`${opportunity_path}/${made.id}/convert_to_quotation`)
    expect((await w.post(`${opportunity_path}/${made.id}/convert_to_order`)).status).toBe(200)
    return { id: made.id as number, line: made.items[0].id as number }
  }
  const today = async () => (await app.call("GET", "/api/v1/today")).body.today
  const subjects = (list: { orders: ReadonlyArray<{ subject: string }> }) => list.orders.map(({ subject }) => subject)

  it("counts units by how far each is: what is only allocated is not packed", async () => {
    const product = await w.product()
    const units = [await w.unit(product.id), await w.unit(product.id), await w.unit(product.id)]
    const gig = await order("units", product.id, 3, {
      starts_at: "2026-06-18T16:00:00Z",
      ends_at: "2026-06-18T20:00:00Z"
    })
    const path = `${opportunity_path}/${gig.id}`
    const allocated = await w.post(`${path}/quick_allocate`, {
      allocations: units.map(({ id }) => ({ opportunity_item_id: gig.line, stock_level_id: id }))
    })
    const [a, b] = allocated.body.opportunity.items[0].assets.map(({ id }: { readonly id: number }) => id)
    const piecesIn = async (list: "going_out" | "coming_back" | "to_prepare") => {
      const found = (await today())[list].orders.find((one: { readonly id: number }) => one.id === gig.id)
      return found === undefined ? undefined : [found.wanted, found.packed, found.out, found.back]
    }
    expect(await piecesIn("going_out")).toEqual([3, 0, 0, 0])
    await w.post(`${path}/quick_prepare`, { asset_ids: [a, b] })
    expect(await piecesIn("to_prepare")).toEqual([3, 2, 0, 0])
    await w.post(`${path}/quick_book_out`, { asset_ids: [a, b] })
    expect(await piecesIn("going_out")).toEqual([3, 2, 2, 0])
    await w.post(`${path}/quick_check_in`, { asset_ids: [a], finalise: true })
    expect(await piecesIn("coming_back")).toEqual([3, 2, 1, 1])
  })
  it("has nothing late or coming back of an order once all that went is back, though some of it never goes", async () => {
    const product = await w.product()
    const units = [await w.unit(product.id), await w.unit(product.id)]
    const gig = await order("half", product.id, 2, {
      starts_at: "2026-06-17T08:00:00Z",
      ends_at: "2026-06-18T11:00:00Z"
    })
    const path = `${opportunity_path}/${gig.id}`
    const allocations = units.map(({ id }) => ({ opportunity_item_id: gig.line, stock_level_id: id }))
    const allocated = await w.post(`${path}/quick_allocate`, { allocations })
    const [went] = allocated.body.opportunity.items[0].assets.map(({ id }: { readonly id: number }) => id)
    await w.post(`${path}/quick_book_out`, { asset_ids: [went] })
    expect(subjects((await today()).late)).toContain("half")
    await w.post(`${path}/quick_check_in`, { asset_ids: [went], finalise: true })
    expect(subjects((await today()).late)).not.toContain("half")
    app.setClock("2026-06-18T10:00:00.000Z")
    expect(subjects((await today()).coming_back)).not.toContain("half")
    app.setClock("2026-06-18T12:00:00.000Z")
  })
  it("believes whoever says by hand that an order is on hire, where nothing of it was counted out", async () => {
    const product = await w.product({ stock_method: 1 })
    const dates = { starts_at: "2026-06-17T08:00:00Z", ends_at: "2026-06-18T11:00:00Z" }
    const { id } = await order("by hand", product.id, 2, dates)
    expect((await w.post(`${opportunity_path}/${id}/change_status`, { status: 2 })).status).toBe(200)
    expect(subjects((await today()).late)).toContain("by hand")
  })
  it("leaves out shortages that are more than a week away", async () => {
    const scarce = await w.product({ stock_method: 1 })
    await order("soon", scarce.id, 3, { starts_at: "2026-06-24T08:00:00Z", ends_at: "2026-06-24T18:00:00Z" })
    await order("far", scarce.id, 3, { starts_at: "2026-06-26T08:00:00Z", ends_at: "2026-06-26T18:00:00Z" })
    expect(subjects((await today()).short)).toEqual(["soon"])
  })
  it("counts no proforma as unpaid, nor what was paid of an invoice", async () => {
    app.setClock("2026-06-09T12:00:00.000Z")
    const member = await w.made("/api/v1/members", { name: "Acme", membership_type: "organisation" }, "member")
    const due_at = "2026-06-12T10:00:00Z"
    for (const [type, subject] of [
      ["proforma", "not owed"],
      ["standard", "owed"]
    ]) {
      const items = [{ name: "Lamp", quantity: "1", unit_price: "50.00" }]
      const invoice = await w.made(
        "/api/v1/invoices",
        { member_id: member.id, type, due_at, subject, items },
        "invoice"
      )
      await w.made(`/api/v1/invoices/${invoice.id}/issue`, { due_at }, "invoice")
      if (type === "standard")
        expect((await w.post(`/api/v1/invoices/${invoice.id}/payments`, { amount: "20.00" })).status).toBe(201)
    }
    app.setClock("2026-06-18T12:00:00.000Z")
    const { unpaid } = await today()
    expect(unpaid).toMatchObject({
      count: 1,
      totals: [{ currency_code: "GBP", count: 1, outstanding: "30.00" }],
      invoices: [{ subject: "owed", outstanding: "30.00", days_late: 6 }]
    })
  })
  it("tells what suppliers are to bring and what they are owed back, in pieces", async () => {
    const supplier = await w.made("/api/v1/members", { name: "Rig Hire", membership_type: "organisation" }, "member")
    const ordered = async (subject: string, dates: object, received?: string) => {
      const made = await w.made(
        "/api/v1/purchase_orders",
        {
          supplier_id: supplier.id,
          store_id: 1,
          subject,
          po_type: "sub_hire",
          items: [{ name: "Truss", quantity: "5", unit_cost: "10.00" }],
          ...dates
        },
        "purchase_order"
      )
      await w.made(`/api/v1/purchase_orders/${made.id}/send`, {}, "purchase_order")
      if (received !== undefined)
        await w.made(
          `/api/v1/purchase_orders/${made.id}/receive`,
          { lines: [{ item_id: made.items[0].id, quantity: received }] },
          "purchase_order"
        )
    }
    await ordered("due", { starts_at: "2026-06-16T08:00:00Z", ends_at: "2026-06-18T15:00:00Z" }, "3")
    await ordered("overdue", { starts_at: "2026-06-10T08:00:00Z", ends_at: "2026-06-17T15:00:00Z" }, "5")
    await ordered("later", { starts_at: "2026-06-16T08:00:00Z", ends_at: "2026-06-20T15:00:00Z" }, "5")
    await ordered("next month", { starts_at: "2026-07-16T08:00:00Z", ends_at: "2026-07-20T15:00:00Z" })
    const { sub_hire_back, sub_hire_in } = await today()
    const told = ({ purchase_orders }: { readonly purchase_orders: ReadonlyArray<any> }) =>
      purchase_orders.map(({ is_late, pieces, subject }) => [subject, pieces, is_late])
    expect(told(sub_hire_back)).toEqual([
      ["overdue", 5, true],
      ["due", 3, false]
    ])
    expect(told(sub_hire_in)).toEqual([["due", 2, true]])
  })
})
