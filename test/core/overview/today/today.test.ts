/** The day: dispatches, returns, overdue and short orders, unpaid invoices, and counts of pieces. */
import { beforeAll, describe, expect, it } from "vitest"
import { type App, engines, viewerWith } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"

describe.each(engines)("the day's work, on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z", "2026-06-18T12:00:00.000Z")
  let product: number
  beforeAll(async () => {
    await w.put("/stores/1", { timezone: "Europe/London" })
    product = await w.product()
    await w.hold(product, 1_000)
  }, 60_000)

  const orderOf = async (item_id: number, quantity: number, header: object) => {
    const made = await w.deal(header, { name: "Line", item_id, quantity })
    await w.confirm(made.id)
    return { id: made.id as number, line: made.items[0].id as number }
  }
  const order = (subject: string, starts_at: string, ends_at: string, more: object = {}) =>
    orderOf(product, 12, { subject, starts_at, ends_at, ...more })
  const bookOut = async ({ id, line }: { id: number; line: number }, quantity: number) => {
    await w.must("PATCH", `/opportunities/${id}/items/${line}/fulfilment`, { action: "dispatch", quantity })
  }
  const today = async (query = "", viewer?: Parameters<App["call"]>[3]) => {
    return (await w.must("GET", `/today${query}`, undefined, viewer)).today
  }
  const subjects = (list: { orders: ReadonlyArray<{ subject: string }> }) => list.orders.map(({ subject }) => subject)

  it("lists today's dispatches in the store's time zone, with the packed quantity", async () => {
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
  it("counts a kit as one piece, dispatched once all of its serialised parts are", async () => {
    const [camera, lens] = [await w.serialised(), await w.serialised()]
    const kit = await w.product()
    for (const part of [camera, lens])
      await w.post(`/products/${kit}/components`, { component_product_id: part, quantity: "1" })
    const units: Array<number> = []
    for (const [at, part] of [camera, lens].entries())
      units.push((await w.create("/stock_levels", { product_id: part, store_id: 1, asset_number: `KIT-${at}` })).id)
    const made = await w.deal(
      { subject: "kit", starts_at: "2026-06-18T20:00:00Z", ends_at: "2026-06-20T12:00:00Z", store_id: 1 },
      { name: "Camera kit", item_id: kit, quantity: 1 }
    )
    await w.confirm(made.id)
    const scan = async (code: string, direction: string) =>
      expect((await w.post(`/opportunities/${made.id}/scan`, { code, direction })).status).toBe(200)
    const kitIn = (list: { orders: ReadonlyArray<{ subject: string }> }) =>
      list.orders.find(({ subject }) => subject === "kit")
    const pieces = async () => (await w.show(`/opportunities/${made.id}?include=pieces`)).pieces
    await scan("KIT-0", "out")
    expect(kitIn((await today()).going_out)).toMatchObject({ wanted: 1, packed: 0, out: 0, back: 0 })
    await scan("KIT-1", "out")
    expect(await pieces()).toEqual({ wanted: 1, packed: 1, out: 1, back: 0 })
    expect(kitIn((await today()).going_out)).toBeUndefined()
    expect(kitIn((await today("?date=2026-06-20")).coming_back)).toMatchObject({ wanted: 1, out: 1, back: 0 })
    for (const code of ["KIT-0", "KIT-1"]) await scan(code, "in")
    expect(await pieces()).toEqual({ wanted: 1, packed: 1, out: 0, back: 1 })
    expect(await w.show(`/opportunities/${made.id}`)).not.toHaveProperty("pieces")
  })
  it("lists overdue dispatches, and orders loaded today for a later hire", async () => {
    await order("forgotten", "2026-06-17T08:00:00Z", "2026-06-25T12:00:00Z")
    await order("over", "2026-06-15T08:00:00Z", "2026-06-16T12:00:00Z")
    await order("loads today", "2026-06-19T08:00:00Z", "2026-06-25T12:00:00Z", {
      load_starts_at: "2026-06-18T14:00:00Z"
    })
    const { going_out } = await today()
    expect(subjects(going_out)).toEqual(["forgotten", "loads today", "tonight"])
    expect(going_out.orders.map(({ is_late }) => is_late)).toEqual([true, false, false])
  })
  it("lists for a later day the returns due on it, and none due earlier", async () => {
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
  it("lists due returns separately from overdue ones, and drops them once returned", async () => {
    const due = await order("due at five", "2026-06-16T08:00:00Z", "2026-06-18T16:00:00Z")
    const late = await order("due at noon", "2026-06-16T08:00:00Z", "2026-06-18T11:00:00Z")
    const open = await order("open", "2026-06-16T08:00:00Z", "2026-06-17T11:00:00Z", { open_ended_rental: true })
    for (const one of [due, late, open]) await bookOut(one, 12)
    const before = await today()
    expect(subjects(before.coming_back)).toEqual(["due at five"])
    expect(subjects(before.late)).toEqual(["due at noon"])
    await w.patch(`/opportunities/${late.id}/items/${late.line}/fulfilment`, { action: "return", quantity: 12 })
    expect(subjects((await today()).late)).toEqual([])
  })
  it("is rejected for days before 1900 and after 9998, and for texts that are no day", async () => {
    for (const date of ["0001-01-01", "9999-12-31"]) {
      const answer = await w.get(`/today?date=${date}`)
      expect(answer.status, JSON.stringify(answer.body)).toBe(422)
      expect(answer.body.errors.date).toEqual(["The date must be a day from 1900-01-01 to 9998-12-31."])
    }
    expect((await w.get("/today?date=soon")).body.errors).toHaveProperty("date")
    expect((await today("?date=1900-01-01")).date).toBe("1900-01-01")
    expect((await today("?date=9998-12-31")).date).toBe("9998-12-31")
  })
  it("lists an order short within a week, until its goods are dispatched", async () => {
    const scarce = await w.product()
    await w.deal(
      { subject: "quoted", starts_at: "2026-07-20T08:00:00Z", ends_at: "2026-07-21T08:00:00Z" },
      { name: "Rare", item_id: scarce, quantity: 3 }
    )
    const hire = { starts_at: "2026-06-21T08:00:00Z", ends_at: "2026-06-22T08:00:00Z" }
    const soon = await orderOf(scarce, 3, { subject: "lacking", ...hire })
    expect(subjects((await today()).short)).toEqual(["lacking"])
    // A partly dispatched order lacks the rest; a fully dispatched one lacks nothing, even if overbooked.
    await bookOut(soon, 1)
    expect(subjects((await today()).short)).toEqual(["lacking"])
    await bookOut(soon, 2)
    expect(subjects((await today()).short)).toEqual([])
    const { shortages } = (await w.get(`/opportunities/${soon.id}/shortages`)).body
    expect(shortages).toMatchObject([{ shortfall: 3, is_out: true }])
  })
  it("hides money and purchase orders from users who may not list them", async () => {
    const shown = await today("", viewerWith(["opportunities.view"], ["*"]))
    expect(shown).toMatchObject({ unpaid: null, sub_hire_back: null, sub_hire_in: null })
    expect(shown.going_out.orders[0]).not.toHaveProperty("charge_total")
    expect(await today()).toMatchObject({ unpaid: { count: 0, invoices: [] }, sub_hire_in: { count: 0 } })
    expect((await w.get("/today", viewerWith(["members.view"], ["*"]))).status).toBe(403)
  })
  it("lists due invoices, oldest first, with the outstanding total, without proformas", async () => {
    w.app.setClock("2026-06-09T12:00:00.000Z")
    const member_id = await w.customer({ name: "Acme" })
    for (const [subject, due_at, unit_price, more] of [
      ["today", "2026-06-18T10:00:00Z", "50.00", {}],
      ["long since", "2026-06-10T10:00:00Z", "10.00", {}],
      ["not yet", "2026-06-30T10:00:00Z", "99.00", {}],
      ["not owed", "2026-06-12T10:00:00Z", "50.00", { type: "proforma" }],
      ["paid in part", "2026-06-12T10:00:00Z", "50.00", {}]
    ] as const) {
      const items = [{ name: "Lamp", quantity: "1", unit_price }]
      const invoice = await w.create("/invoices", { member_id, due_at, subject, items, ...more })
      await w.create(`/invoices/${invoice.id}/issue`, { due_at })
      if (subject === "paid in part") await w.create(`/invoices/${invoice.id}/payments`, { amount: "20.00" })
    }
    w.app.setClock("2026-06-18T12:00:00.000Z")
    expect((await today()).unpaid).toMatchObject({
      count: 3,
      totals: [{ currency_code: "GBP", count: 3, outstanding: "90.00" }],
      invoices: [
        { subject: "long since", outstanding: "10.00", days_late: 8, member_name: "Acme" },
        { subject: "paid in part", outstanding: "30.00", days_late: 6 },
        { subject: "today", outstanding: "50.00" }
      ]
    })
  })

  it("counts units as packed once prepared or dispatched, not while only allocated", async () => {
    const product = await w.serialised()
    const units = [await w.labelled(product), await w.labelled(product), await w.labelled(product)]
    const evening = { starts_at: "2026-06-18T16:00:00Z", ends_at: "2026-06-18T20:00:00Z" }
    const gig = await orderOf(product, 3, { subject: "units", ...evening })
    const path = `/opportunities/${gig.id}`
    const allocated = await w.allocate({ id: gig.id, line: { id: gig.line } }, ...units.map(({ id }) => id))
    const [a, b] = allocated.body.opportunity.items[0].assets.map(({ id }) => id)
    const piecesIn = async (list: "going_out" | "coming_back" | "to_prepare") => {
      const found = (await today())[list].orders.find((one) => one.id === gig.id)
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
  it("lists no order as due back once all dispatched units are back, even if some never left", async () => {
    const product = await w.serialised()
    const units = [await w.labelled(product), await w.labelled(product)]
    const dates = { starts_at: "2026-06-17T08:00:00Z", ends_at: "2026-06-18T11:00:00Z" }
    const gig = await orderOf(product, 2, { subject: "half", ...dates })
    const path = `/opportunities/${gig.id}`
    const allocated = await w.allocate({ id: gig.id, line: { id: gig.line } }, ...units.map(({ id }) => id))
    const [went] = allocated.body.opportunity.items[0].assets.map(({ id }) => id)
    await w.post(`${path}/quick_book_out`, { asset_ids: [went] })
    expect(subjects((await today()).late)).toContain("half")
    await w.post(`${path}/quick_check_in`, { asset_ids: [went], finalise: true })
    expect(subjects((await today()).late)).not.toContain("half")
    w.app.setClock("2026-06-18T10:00:00.000Z")
    expect(subjects((await today()).coming_back)).not.toContain("half")
    w.app.setClock("2026-06-18T12:00:00.000Z")
  })
  it("lists an order as late that was marked on hire by hand, although nothing was dispatched", async () => {
    const product = await w.product()
    const dates = { starts_at: "2026-06-17T08:00:00Z", ends_at: "2026-06-18T11:00:00Z" }
    const { id } = await orderOf(product, 2, { subject: "by hand", ...dates })
    expect((await w.post(`/opportunities/${id}/change_status`, { status: 2 })).status).toBe(200)
    expect(subjects((await today()).late)).toContain("by hand")
  })
  it("omits shortages more than a week away", async () => {
    const scarce = await w.product()
    await orderOf(scarce, 3, { subject: "soon", starts_at: "2026-06-24T08:00:00Z", ends_at: "2026-06-24T18:00:00Z" })
    await orderOf(scarce, 3, { subject: "far", starts_at: "2026-06-26T08:00:00Z", ends_at: "2026-06-26T18:00:00Z" })
    expect(subjects((await today()).short)).toEqual(["soon"])
  })
  it("counts expected deliveries and returns to suppliers in pieces", async () => {
    const supplier_id = await w.customer()
    const ordered = async (subject: string, dates: object, received?: string) => {
      const made = await w.create("/purchase_orders", {
        supplier_id,
        store_id: 1,
        subject,
        po_type: "sub_hire",
        items: [{ name: "Truss", quantity: "5", unit_cost: "10.00" }],
        ...dates
      })
      await w.create(`/purchase_orders/${made.id}/send`, {})
      if (received !== undefined)
        await w.create(`/purchase_orders/${made.id}/receive`, {
          lines: [{ item_id: made.items[0].id, quantity: received }]
        })
    }
    await ordered("due", { starts_at: "2026-06-16T08:00:00Z", ends_at: "2026-06-18T15:00:00Z" }, "3")
    await ordered("overdue", { starts_at: "2026-06-10T08:00:00Z", ends_at: "2026-06-17T15:00:00Z" }, "5")
    await ordered("later", { starts_at: "2026-06-16T08:00:00Z", ends_at: "2026-06-20T15:00:00Z" }, "5")
    await ordered("next month", { starts_at: "2026-07-16T08:00:00Z", ends_at: "2026-07-20T15:00:00Z" })
    const { sub_hire_back, sub_hire_in } = await today()
    const told = (part: typeof sub_hire_in) =>
      part?.purchase_orders.map(({ is_late, pieces, subject }) => [subject, pieces, is_late])
    expect(told(sub_hire_back)).toEqual([
      ["overdue", 5, true],
      ["due", 3, false]
    ])
    expect(told(sub_hire_in)).toEqual([["due", 2, true]])
  })
})
