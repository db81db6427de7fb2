import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../../app.ts"
import { fourDays, lineL, opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

describe.each(engines)("moves of opportunities on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  const move = (id: number, name: string, body: object = {}) => w.post(`${opportunity_path}/${id}/${name}`, body)
  const quotation = async (line = lineL) => {
    const { id } = await w.withLine(fourDays, line)
    await move(id, "convert_to_quotation")
    return id as number
  }
  const order = async () => {
    const id = await quotation()
    expect((await move(id, "convert_to_order")).status).toBe(200)
    return id
  }
  /** Status, state.status afterwards, or the keys of the refusal. */
  const outcome = async (id: number, name: string, body: object = {}) => {
    const reply = await move(id, name, body)
    return reply.status === 200
      ? `${reply.body.opportunity.state}.${reply.body.opportunity.status}`
      : Object.keys(reply.body.errors).join()
  }

  it("a draft becomes a quotation once (scenario 31)", async () => {
    const { id } = await w.opportunity()
    expect(await outcome(id, "convert_to_quotation")).toBe("1.0")
    expect(await outcome(id, "convert_to_quotation")).toBe("state")
  })
  it("a quotation becomes an order, its rates are locked and the moment is kept (scenario 33)", async () => {
    const id = await quotation()
    const reply = await move(id, "convert_to_order", { shortage_notes: "ok" })
    expect(reply.status).toBe(200)
    expect(reply.body.opportunity).toMatchObject({
      state: 2,
      status: 0,
      status_label: "Active",
      availability_phase: "reserved",
      exchange_rate_locked: true,
      tax_locked: true,
      pricing_locked: true,
      items: null
    })
    expect(reply.body.opportunity.ordered_at).toMatch(/^\d{4}-\d\d-\d\dT/)
  })
  it("an order needs a line; a draft is no quotation", async () => {
    const { id } = await w.opportunity()
    expect(await outcome(id, "convert_to_order")).toBe("state")
    await move(id, "convert_to_quotation")
    expect(await outcome(id, "convert_to_order")).toBe("state")
  })
  it("a quotation is reserved, lost and reinstated (scenarios 35, 37)", async () => {
    const id = await quotation()
    const reserved = await move(id, "change_status", { status: 1 })
    expect(reserved.body.opportunity).toMatchObject({
      status: 1,
      status_label: "Reserved",
      availability_phase: "reserved"
    })
    expect(await outcome(id, "revert_to_draft")).toBe("state")
    expect(await outcome(id, "change_status", { status: 1 })).toBe("1.1")
    expect(await outcome(id, "change_status", { status: 2 })).toBe("1.2")
    expect(await outcome(id, "change_status", { status: 1 })).toBe("state")
    expect(await outcome(id, "change_status", { status: 7 })).toBe("status")
    expect(await outcome(id, "change_status")).toBe("status")
    expect(await outcome(id, "reinstate", { reason: "second thoughts" })).toBe("1.0")
    expect(await outcome(id, "change_status", { status: 4 })).toBe("1.4")
    expect(await outcome(id, "reinstate")).toBe("1.0")
    expect(await outcome(id, "revert_to_draft")).toBe("0.0")
  })
  it("only a complete order is reopened (scenario 39)", async () => {
    const id = await order()
    expect(await outcome(id, "reopen")).toBe("state")
    expect(await outcome(id, "change_status", { status: 5 })).toBe("2.5")
    expect(await outcome(id, "reopen")).toBe("2.0")
    expect(await outcome(id, "change_status", { status: 6 })).toBe("2.6")
    expect(await outcome(id, "reopen")).toBe("state")
    expect(await outcome(id, "reinstate")).toBe("2.0")
  })
  it("an order goes back to a quotation and its locks are released", async () => {
    const id = await order()
    const reply = await move(id, "revert_to_quotation", { reason: "changed their mind" })
    expect(reply.body.opportunity).toMatchObject({ state: 1, status: 0, pricing_locked: false })
    expect(await outcome(id, "revert_to_quotation")).toBe("state")
  })
  it("closed opportunities refuse edits, lines and costs (scenarios 29, 59, 89)", async () => {
    const id = await order()
    const line = (await w.get(`${opportunity_path}/${id}?include=items`)).body.opportunity.items[0].id
    const cost = (await w.post(`${opportunity_path}/${id}/costs`, { description: "Van", amount: "10.00" })).body
      .opportunity.costs[0].id
    await move(id, "change_status", { status: 6 })
    const refused = [
      await w.put(`${opportunity_path}/${id}`, { subject: "x" }),
      await w.post(`${opportunity_path}/${id}/items`, lineL),
      await w.patch(`${opportunity_path}/${id}/items/${line}`, { quantity: 3 }),
      await w.remove(`${opportunity_path}/${id}/items/${line}`),
      await w.post(`${opportunity_path}/${id}/costs`, { description: "x" }),
      await w.patch(`${opportunity_path}/${id}/costs/${cost}`, { amount: 1 }),
      await w.remove(`${opportunity_path}/${id}/costs/${cost}`),
      await w.post(`${opportunity_path}/${id}/deal_price`, { deal_total: 1 }),
      await w.remove(`${opportunity_path}/${id}/deal_price`),
      await w.patch(`${opportunity_path}/${id}/items/tree`, { nodes: [{ id: line, depth: 1 }] })
    ]
    expect(refused.map(({ status, body }) => [status, Object.keys(body.errors)])).toEqual(
      refused.map(() => [422, ["state"]])
    )
    expect((await w.get(`${opportunity_path}/${id}`)).body.meta).toEqual({ can_edit: false, can_destroy: true })
  })
  it("a viewer and a read token move nothing (scenario 45)", async () => {
    const id = await quotation()
    const moves = [
      "convert_to_order",
      "change_status",
      "reinstate",
      "reopen",
      "revert_to_draft",
      "revert_to_quotation",
      "lock_locks"
    ]
    const viewer = viewerWith(["opportunities.view"], ["opportunities:write"])
    const reader = viewerWith(["opportunities.edit", "opportunities.unlock_rates"], ["opportunities:read"])
    for (const name of moves) {
      expect((await w.post(`${opportunity_path}/${id}/${name}`, {}, viewer)).status).toBe(403)
      expect((await w.post(`${opportunity_path}/${id}/${name}`, {}, reader)).status).toBe(403)
    }
  })
  it("deal price and locks keep each other out (scenarios 61, 63)", async () => {
    const { id } = await w.withLine(fourDays)
    const opportunity = await w.post(`${opportunity_path}/${id}/deal_price`, { deal_total: "75.00" })
    expect(opportunity.body.opportunity).toMatchObject({
      charge_total: "75.00",
      deal_total: "75.00",
      charge_excluding_tax_total: "75.00",
      rental_charge_total: "400.00"
    })
    expect(await outcome(id, "lock_locks")).toBe("opportunity")
    expect((await w.remove(`${opportunity_path}/${id}/deal_price`)).body.opportunity).toMatchObject({
      charge_total: "400.00",
      deal_total: null
    })
    expect((await w.remove(`${opportunity_path}/${id}/deal_price`)).status).toBe(200)
    expect(await outcome(id, "lock_locks")).toBe("0.0")
    expect(await outcome(id, "lock_locks")).toBe("state")
    expect(
      Object.keys((await w.post(`${opportunity_path}/${id}/deal_price`, { deal_total: "123.45" })).body.errors)
    ).toEqual(["opportunity"])
    expect(await outcome(id, "unlock_locks")).toBe("0.0")
    expect(await outcome(id, "unlock_locks")).toBe("state")
    expect(
      (await w.post(`${opportunity_path}/${id}/deal_price`, { deal_total: "123.45" })).body.opportunity.charge_total
    ).toBe("123.45")
    expect((await w.post(`${opportunity_path}/${id}/deal_price`, {})).status).toBe(422)
  })
  it("a locked order keeps its tax while its nets move (scenario 65)", async () => {
    const member = await w.made(
      "/api/v1/members",
      { name: "Taxed", membership_type: "organisation", sale_tax_class_id: 1 },
      "member"
    )
    const product = await w.product({ stock_method: 1, tax_class_id: 1 })
    const {
      id,
      items: [line]
    } = await w.withLine({ ...fourDays, member_id: member.id }, { ...lineL, item_id: product.id } as never)
    await move(id, "convert_to_quotation")
    expect((await move(id, "convert_to_order")).body.opportunity).toMatchObject({
      charge_total: "400.00",
      tax_total: "80.00"
    })
    const dearer = (await w.patch(`${opportunity_path}/${id}/items/${line.id}`, { unit_price: "75.00" })).body
      .opportunity
    expect(dearer).toMatchObject({ charge_total: "600.00", tax_total: "80.00", charge_including_tax_total: "680.00" })
    expect(dearer.items[0].total).toBe("600.00")
  })
  it("a deleted opportunity is gone until it is restored (scenario 55)", async () => {
    const { id } = await w.withLine(fourDays)
    expect((await w.remove(`${opportunity_path}/${id}`)).status).toBe(204)
    expect((await w.get(`${opportunity_path}/${id}`)).status).toBe(404)
    expect((await move(id, "convert_to_quotation")).status).toBe(404)
    expect((await w.get(`${opportunity_path}?q[id_eq]=${id}`)).body.meta.total).toBe(0)
    expect((await move(id, "restore")).body.opportunity.id).toBe(id)
    expect((await w.get(`${opportunity_path}?q[id_eq]=${id}`)).body.meta.total).toBe(1)
    expect((await move(id, "restore")).status).toBe(200)
    expect((await move(99_999, "restore")).status).toBe(404)
    expect(
      (
        await w.post(
          `${opportunity_path}/${id}/restore`,
          {},
          viewerWith(["opportunities.edit"], ["opportunities:write"])
        )
      ).status
    ).toBe(403)
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
