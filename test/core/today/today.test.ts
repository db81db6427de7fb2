import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"

describe.each(engines)("what is to be done today, on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let product: { readonly id: number }
  beforeAll(async () => {
    // A Thursday in summer: 13:00 in London.
    app = await openApp(engine, "2026-06-18T12:00:00.000Z")
    app.setClock("2026-06-18T12:00:00.000Z")
    w = opportunityFixture(app)
    await app.call("PUT", "/api/v1/stores/1", { timezone: "Europe/London" })
    product = await w.product({ stock_method: 1 })
    const [level] = (await app.call("GET", `/api/v1/stock_levels?q[product_id_eq]=${product.id}`)).body.stock_levels
    await app.call("PUT", `/api/v1/stock_levels/${level.id}`, { quantity_held: "1000" })
  }, 60_000)
  afterAll(() => app.close())

  const order = async (subject: string, starts_at: string, ends_at: string, more: object = {}) => {
    const made = await w.withLine({ subject, starts_at, ends_at, store_id: 1, ...more }, {
      name: "Cable",
      item_id: product.id,
      quantity: 12
    } as never)
    await w.post(`${opportunity_path}/${made.id}/convert_to_quotation`)
    expect((await w.post(`${opportunity_path}/${made.id}/convert_to_order`)).status).toBe(200)
    return { id: made.id as number, line: made.items[0].id as number }
  }
  const bookOut = async ({ id, line }: { id: number; line: number }, quantity: number) => {
    const answer = await w.patch(`${opportunity_path}/${id}/items/${line}/fulfilment`, { action: "dispatch", quantity })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  const today = async (query = "", viewer?: Parameters<App["call"]>[3]) => {
    const answer = await app.call("GET", `/api/v1/today${query}`, undefined, viewer)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.today
  }
  const subjects = (list: { orders: ReadonlyArray<{ subject: string }> }) => list.orders.map(({ subject }) => subject)

  it("lists what leaves today by the store's clock, with what of it is packed", async () => {
    // 00:30 on Friday in London, and 23:30 on Thursday there.
    await order("tomorrow", "2026-06-18T23:30:00Z", "2026-06-20T12:00:00Z")
    const late = await order("tonight", "2026-06-18T22:30:00Z", "2026-06-20T12:00:00Z")
    await bookOut(late, 7)
    const { date, going_out, store, to_prepare } = await today("?store_id=1")
    expect({ date, store }).toEqual({
      date: "2026-06-18",
      store: { id: 1, name: "Main Warehouse", timezone: "Europe/London" }
    })
    expect(subjects(going_out)).toEqual(["tonight"])
    expect(going_out.orders[0]).toMatchObject({
      wanted: 12,
      packed: 7,
      out: 7,
      is_late: false,
      store_name: "Main Warehouse"
    })
    expect(subjects(to_prepare)).toEqual(["tonight", "tomorrow"])
    expect(subjects((await today("?store_id=1&date=2026-06-19")).going_out)).toEqual(["tonight", "tomorrow"])
  })
  it("counts a kit as one piece, gone once all of its single parts are, as the order's own pieces do", async () => {
    const [camera, lens] = [await w.product({ stock_method: 2 }), await w.product({ stock_method: 2 })]
    const kit = await w.product({ stock_method: 1 })
    for (const part of [camera, lens])
      await w.post(`/api/v1/products/${kit.id}/components`, { component_product_id: part.id, quantity: "1" })
    const units: Array<number> = []
    for (const [at, part] of [camera, lens].entries())
      units.push(
        (await w.post("/api/v1/stock_levels", { product_id: part.id, store_id: 1, asset_number: `KIT-${at}` })).body
          .stock_level.id
      )
    const made = await w.withLine(
      { subject: "kit", starts_at: "2026-06-18T20:00:00Z", ends_at: "2026-06-20T12:00:00Z", store_id: 1 },
      { name: "Camera kit", item_id: kit.id, quantity: 1 } as never
    )
    await w.post(`${opportunity_path}/${made.id}/convert_to_quotation`)
    expect((await w.post(`${opportunity_path}/${made.id}/convert_to_order`)).status).toBe(200)
    const scan = async (code: string, direction: string) =>
      expect((await w.post(`${opportunity_path}/${made.id}/scan`, { code, direction })).status).toBe(200)
    const kitIn = (list: { orders: ReadonlyArray<{ subject: string }> }) =>
      list.orders.find(({ subject }) => subject === "kit")
    const pieces = async () =>
      (await app.call("GET", `${opportunity_path}/${made.id}?include=pieces`)).body.opportunity.pieces
    await scan("KIT-0", "out")
    expect(kitIn((await today()).going_out)).toMatchObject({ wanted: 1, packed: 0, out: 0, back: 0 })
    await scan("KIT-1", "out")
    expect(await pieces()).toEqual({ wanted: 1, packed: 1, out: 1, back: 0 })
    expect(kitIn((await today()).going_out)).toBeUndefined()
    expect(kitIn((await today("?date=2026-06-20")).coming_back)).toMatchObject({ wanted: 1, out: 1, back: 0 })
    for (const code of ["KIT-0", "KIT-1"]) await scan(code, "in")
    expect(await pieces()).toEqual({ wanted: 1, packed: 1, out: 0, back: 1 })
    expect((await app.call("GET", `${opportunity_path}/${made.id}`)).body.opportunity).not.toHaveProperty("pieces")
  })
  it("lists what should have left and has not, and loads before the hire begins", async () => {
    await order("forgotten", "2026-06-17T08:00:00Z", "2026-06-25T12:00:00Z")
    await order("over", "2026-06-15T08:00:00Z", "2026-06-16T12:00:00Z")
    await order("loads today", "2026-06-19T08:00:00Z", "2026-06-25T12:00:00Z", {
      load_starts_at: "2026-06-18T14:00:00Z"
    })
    const { going_out } = await today()
    expect(subjects(going_out)).toEqual(["forgotten", "loads today", "tonight"])
    expect(going_out.orders.map(({ is_late }: { is_late: boolean }) => is_late)).toEqual([true, false, false])
  })
  it("lists of a later day what is due back on it, not what is due before", async () => {
    const before = await order("due on the 21st", "2026-06-16T08:00:00Z", "2026-06-21T16:00:00Z")
    const on = await order("due on the 22nd", "2026-06-16T08:00:00Z", "2026-06-22T16:00:00Z")
    for (const one of [before, on]) await bookOut(one, 12)
    const due = async (date: string) => subjects((await today(`?date=${date}`)).coming_back)
    expect([await due("2026-06-21"), await due("2026-06-22"), await due("2026-06-23")]).toEqual([
      ["due on the 21st"],
      ["due on the 22nd"],
      []
    ])
  })
  it("tells what is due back apart from what is late, and forgets both once they are back", async () => {
    const due = await order("due at five", "2026-06-16T08:00:00Z", "2026-06-18T16:00:00Z")
    const late = await order("due at noon", "2026-06-16T08:00:00Z", "2026-06-18T11:00:00Z")
    const open = await order("open", "2026-06-16T08:00:00Z", "2026-06-17T11:00:00Z", { open_ended_rental: true })
    for (const one of [due, late, open]) await bookOut(one, 12)
    const before = await today()
    expect(subjects(before.coming_back)).toEqual(["due at five"])
    expect(subjects(before.late)).toEqual(["due at noon"])
    await w.patch(`${opportunity_path}/${late.id}/items/${late.line}/fulfilment`, { action: "return", quantity: 12 })
    expect(subjects((await today()).late)).toEqual([])
  })
  it("refuses days that no calendar of the trade reaches, naming the field", async () => {
    for (const date of ["0001-01-01", "9999-12-31"]) {
      const answer = await app.call("GET", `/api/v1/today?date=${date}`)
      expect(answer.status, JSON.stringify(answer.body)).toBe(422)
      expect(answer.body.errors.date).toEqual(["The date must be a day from 1900-01-01 to 9998-12-31."])
    }
    expect((await today("?date=1900-01-01")).date).toBe("1900-01-01")
    expect((await today("?date=9998-12-31")).date).toBe("9998-12-31")
  })
  it("lists what is short within a week", async () => {
    const scarce = await w.product({ stock_method: 1 })
    await w.withLine(
      { subject: "far", starts_at: "2026-07-20T08:00:00Z", ends_at: "2026-07-21T08:00:00Z", store_id: 1 },
      { name: "Rare", item_id: scarce.id, quantity: 3 } as never
    )
    const soon = await w.withLine(
      { subject: "lacking", starts_at: "2026-06-21T08:00:00Z", ends_at: "2026-06-22T08:00:00Z", store_id: 1 },
      { name: "Rare", item_id: scarce.id, quantity: 3 } as never
    )
    await w.post(`${opportunity_path}/${soon.id}/convert_to_quotation`)
    await w.post(`${opportunity_path}/${soon.id}/convert_to_order`)
    expect(subjects((await today()).short)).toEqual(["lacking"])
    // Partly out it lacks the rest; wholly out it lacks nothing, however many were promised.
    const line = { id: soon.id, line: soon.items[0].id }
    await bookOut(line, 1)
    expect(subjects((await today()).short)).toEqual(["lacking"])
    await bookOut(line, 2)
    expect(subjects((await today()).short)).toEqual([])
    const { shortages } = (await app.call("GET", `${opportunity_path}/${soon.id}/shortages`)).body
    expect(shortages).toMatchObject([{ shortfall: 3, is_out: true }])
  })
  it("shows money and orders to suppliers to nobody who may not list them", async () => {
    const shown = await today("", viewerWith(["opportunities.view"], ["*"]))
    expect(shown).toMatchObject({ unpaid: null, sub_hire_back: null, sub_hire_in: null })
    expect(shown.going_out.orders[0]).not.toHaveProperty("charge_total")
    expect(await today()).toMatchObject({ unpaid: { count: 0, invoices: [] }, sub_hire_in: { count: 0 } })
    expect((await app.call("GET", "/api/v1/today", undefined, viewerWith(["members.view"], ["*"]))).status).toBe(403)
  })
  it("lists invoices that are due, oldest first, with what is owed in all", async () => {
    app.setClock("2026-06-09T12:00:00.000Z")
    const member = (await app.call("POST", "/api/v1/members", { name: "Acme", membership_type: "organisation" })).body
      .member
    for (const [due_at, amount] of [
      ["2026-06-18T10:00:00Z", "50.00"],
      ["2026-06-10T10:00:00Z", "10.00"],
      ["2026-06-30T10:00:00Z", "99.00"]
    ]) {
      const items = [{ name: "Lamp", quantity: "1", unit_price: amount }]
      const { invoice } = (
        await app.call("POST", "/api/v1/invoices", { member_id: member.id, due_at, subject: amount, items })
      ).body
      const issued = await app.call("POST", `/api/v1/invoices/${invoice.id}/issue`, { due_at })
      expect(issued.status, JSON.stringify(issued.body)).toBe(200)
    }
    app.setClock("2026-06-18T12:00:00.000Z")
    const { unpaid } = await today()
    expect(unpaid.invoices.map(({ subject }: { subject: string }) => subject)).toEqual(["10.00", "50.00"])
    expect(unpaid).toMatchObject({ count: 2, totals: [{ currency_code: "GBP", count: 2 }] })
    expect(unpaid.invoices[0]).toMatchObject({ days_late: 8, member_name: "Acme" })
  })
  it("names the field where the day is none", async () => {
    const refused = await app.call("GET", "/api/v1/today?date=soon")
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toHaveProperty("date")
  })
})
