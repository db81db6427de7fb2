import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

/** Rules of demand seen from outside: what a deal does to stock as it goes its way (rules/availability 2.3 to 2.8). */
describe.each(engines)("what deals take from stock on %s", (engine) => {
  let app: App, business: SampleBusiness, S: number
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-03-01T12:00:00.000Z")
    business = sampleBusiness(app)
    S = await business.store()
  })
  afterAll(() => app.close())
  const done = async (method: string, path: string, body: object = {}) => {
    const reply = await app.call(method, `/api/v1${path}`, body)
    if (reply.status >= 300)
      throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const draft = async (
    starts_at: string,
    ends_at: string | null,
    product: number,
    quantity: number,
    more: object = {},
    line: object = {}
  ) => {
    const { id } = await business.opportunity({ subject: "Tour", store_id: S, starts_at, ends_at, ...more })
    const { items } = (
      await business.post(`/opportunities/${id}/items`, {
        name: "Line",
        item_type: "product",
        item_id: product,
        quantity,
        ...line
      })
    ).opportunity
    return { id: id as number, item: items.at(-1).id as number, items }
  }
  const quotation = async (...given: Parameters<typeof draft>) => {
    const made = await draft(...given)
    await business.post(`/opportunities/${made.id}/convert_to_quotation`)
    return made
  }
  const order = async (...given: Parameters<typeof draft>) => {
    const made = await quotation(...given)
    await business.post(`/opportunities/${made.id}/convert_to_order`)
    return made
  }
  const status = (id: number, status: number) => business.post(`/opportunities/${id}/change_status`, { status })
  const free = async (product: number, date: string, store = S) =>
    (await app.call("GET", `/api/v1/availability?product_id=${product}&store_id=${store}&date=${date}`)).body
      .availability.available
  const demands = async (product: number, from: string, to: string) =>
    (await app.call("GET", `/api/v1/availability/${product}/gantt?store_id=${S}&from=${from}&to=${to}`)).body.gantt
      .demands

  it("a postponed quotation holds its stock without buffers, a reserved one with them, a lost one nothing", async () => {
    const P = await business.bulk(S, 5, { buffer_before_minutes: 1440, post_rent_unavailability: 1440 })
    const { id } = await quotation("2026-04-10", "2026-04-12", P.id, 2)
    const days = async () => Promise.all(["2026-04-09", "2026-04-10", "2026-04-12"].map((day) => free(P.id, day)))
    expect(await days()).toEqual([5, 5, 5])
    await status(id, 4)
    expect([await days(), (await demands(P.id, "2026-04-01", "2026-04-30"))[0].phase]).toEqual([[5, 3, 5], "held"])
    await status(id, 1)
    expect([await days(), (await demands(P.id, "2026-04-01", "2026-04-30"))[0].phase]).toEqual([[3, 3, 3], "reserved"])
    await status(id, 2)
    expect([await days(), await demands(P.id, "2026-04-01", "2026-04-30")]).toEqual([[5, 5, 5], []])
  })
  it("a quotation or an order nobody dispatched blocks nothing once its dates have passed", async () => {
    const P = await business.bulk(S, 2)
    const reserved = await quotation("2026-03-02", "2026-03-04", P.id, 1)
    await status(reserved.id, 1)
    await order("2026-03-02", "2026-03-04", P.id, 1)
    app.setClock("2026-03-10T12:00:00.000Z")
    expect([await free(P.id, "2026-03-03"), await free(P.id, "2026-03-10"), await free(P.id, "2026-03-20")]).toEqual([
      0, 2, 2
    ])
    app.setClock("2026-03-01T12:00:00.000Z")
  })
  it("bulk overdue stays away until it comes back, all of the line until the last of it", async () => {
    const P = await business.bulk(S, 10)
    const { id, item } = await order("2026-03-02", "2026-03-04", P.id, 6)
    const moved = (action: string, quantity: number) =>
      done("PATCH", `/opportunities/${id}/items/${item}/fulfilment`, { action, quantity })
    await moved("dispatch", 6)
    app.setClock("2026-03-10T12:00:00.000Z")
    expect(await free(P.id, "2026-05-01")).toBe(4)
    expect((await demands(P.id, "2026-05-01", "2026-05-02"))[0]).toMatchObject({
      quantity: 6,
      ends_at: "2199-01-01T00:00:00.000Z",
      period_end: "2199-01-01T00:00:00.000Z"
    })
    await moved("return", 4)
    expect(await free(P.id, "2026-05-01")).toBe(8)
    await moved("return", 2)
    expect(await free(P.id, "2026-05-01")).toBe(10)
    app.setClock("2026-03-01T12:00:00.000Z")
  })
  it("an optional line claims as any other", async () => {
    const P = await business.bulk(S, 5)
    await order("2026-04-10", "2026-04-12", P.id, 2, {}, { is_optional: true })
    expect(await free(P.id, "2026-04-10")).toBe(3)
  })
  it("an included accessory claims with its product", async () => {
    const P = await business.bulk(S, 5),
      cable = await business.bulk(S, 20)
    await business.post(`/products/${P.id}/accessories`, {
      accessory_product_id: cable.id,
      quantity: 2,
      included: true
    })
    await order("2026-04-10", "2026-04-12", P.id, 3)
    expect(await free(cable.id, "2026-04-10")).toBe(14)
  })
  it("a line's own dates come before the deal's", async () => {
    const P = await business.bulk(S, 5)
    await order(
      "2026-04-10",
      "2026-04-20",
      P.id,
      2,
      {},
      { starts_at: "2026-04-12T00:00:00Z", ends_at: "2026-04-13T00:00:00Z" }
    )
    expect([await free(P.id, "2026-04-11"), await free(P.id, "2026-04-12"), await free(P.id, "2026-04-13")]).toEqual([
      5, 3, 5
    ])
  })
  it("half a unit is a unit: 2.5 takes 3, 0.4 takes 1", async () => {
    const P = await business.bulk(S, 10),
      Q = await business.bulk(S, 10)
    await order("2026-04-10", "2026-04-12", P.id, 2.5)
    await order("2026-04-10", "2026-04-12", Q.id, 0.4)
    expect([await free(P.id, "2026-04-10"), await free(Q.id, "2026-04-10")]).toEqual([7, 9])
  })
  it("a unit that left early is away from then; back before the planned start, it never blocks the dates planned", async () => {
    const P = await business.units(S, 1)
    const { id, item } = await order("2026-04-10", "2026-04-12", P.id, 1)
    const { opportunity } = await business.post(`/opportunities/${id}/quick_allocate`, {
      allocations: [{ opportunity_item_id: item, stock_level_id: P.units[0] }]
    })
    const asset_ids = opportunity.items.find((one: any) => one.id === item).assets.map((one: any) => one.id)
    app.setClock("2026-04-08T09:00:00.000Z")
    await business.post(`/opportunities/${id}/quick_book_out`, { asset_ids })
    expect([await free(P.id, "2026-04-07"), await free(P.id, "2026-04-08"), await free(P.id, "2026-04-09")]).toEqual([
      1, 0, 0
    ])
    app.setClock("2026-04-09T09:00:00.000Z")
    await business.post(`/opportunities/${id}/quick_check_in`, { asset_ids })
    expect([await free(P.id, "2026-04-09"), await free(P.id, "2026-04-11")]).toEqual([1, 1])
    const { calendar } = (
      await app.call(
        "GET",
        `/api/v1/availability/calendar?store_id=${S}&from=2026-04-08&to=2026-04-12&product_ids[]=${P.id}`
      )
    ).body
    expect(calendar.products[0].days.map((day: any) => day.pending_checkin)).toEqual([0, 1, 1, 1, 1])
    app.setClock("2026-03-01T12:00:00.000Z")
  })
  it("later changes of a product's buffers leave what is booked as it was", async () => {
    const P = await business.bulk(S, 5)
    await order("2026-04-10", "2026-04-12", P.id, 2)
    await done("PUT", `/products/${P.id}`, { buffer_before_minutes: 2880 })
    expect([await free(P.id, "2026-04-09"), await free(P.id, "2026-04-10")]).toEqual([5, 3])
  })
  it("what is written off, sold or bought counts at once; quarantine is not taken off", async () => {
    const P = await business.bulk(S, 10),
      U = await business.units(S, 2)
    const move = (product: number, level: number, transaction_type: number, quantity: number) =>
      business.post(`/products/${product}/stock_levels/${level}/stock_transactions`, { transaction_type, quantity })
    await move(P.id, P.level, 6, 3)
    await move(P.id, P.level, 4, 5)
    await move(U.id, U.units[0]!, 7, 1)
    await done("PUT", `/stock_levels/${P.level}`, { quantity_unavailable: 4 })
    expect([await free(P.id, "2026-04-10"), await free(U.id, "2026-04-10")]).toEqual([12, 1])
  })
  it("by the dates charged for, when the setting says so", async () => {
    const P = await business.bulk(S, 5)
    await done("PUT", "/settings/availability", { settings: { demand_date_source: "charge" } })
    await order("2026-04-10", "2026-04-12", P.id, 2, {
      charge_starts_at: "2026-04-15T00:00:00Z",
      charge_ends_at: "2026-04-16T00:00:00Z"
    })
    await order("2026-04-20", "2026-04-22", P.id, 1, { charge_ends_at: "2026-04-21T00:00:00Z" })
    await done("PUT", "/settings/availability", { settings: { demand_date_source: "operational" } })
    expect(
      await Promise.all(["2026-04-10", "2026-04-15", "2026-04-20", "2026-04-21"].map((day) => free(P.id, day)))
    ).toEqual([5, 3, 4, 5])
  })
  it("a deleted opportunity gives back what it held, a restored one takes it again", async () => {
    const P = await business.bulk(S, 5)
    const { id } = await order("2026-04-10", "2026-04-12", P.id, 2)
    await done("DELETE", `/opportunities/${id}`)
    expect(await free(P.id, "2026-04-10")).toBe(5)
    await business.post(`/opportunities/${id}/restore`)
    expect(await free(P.id, "2026-04-10")).toBe(3)
  })
  it("a line of a kit is judged by the kit, in the opportunity's own list too", async () => {
    const A = await business.bulk(S, 7),
      K = (await business.post("/products", { name: "Kit" })).product.id
    await business.post(`/products/${K}/components`, { component_product_id: A.id, quantity: 2 })
    await order("2026-04-10", "2026-04-12", A.id, 2)
    const { id } = await order("2026-04-10", "2026-04-12", K, 3)
    expect((await app.call("GET", `/api/v1/opportunities/${id}/availability`)).body.availability).toMatchObject([
      { requested_quantity: 3, available_for_item: 2, shortage_quantity: 1, has_shortage: true }
    ])
    expect((await app.call("GET", `/api/v1/opportunities/${id}`)).body.opportunity.has_shortage).toBe(true)
    // Its parts are short by one, which the sweep tells of the part, never of the kit.
    const sweep = (await app.call("GET", `/api/v1/availability/shortages?store_id=${S}&from=2026-04-10&to=2026-04-10`))
      .body.shortages
    expect(
      sweep
        .filter((one: any) => one.product_id === A.id || one.product_id === K)
        .map((one: any) => [one.product_id, one.severity])
    ).toEqual([[A.id, 1]])
  })
  it("a draft is measured too, though it takes nothing", async () => {
    const P = await business.bulk(S, 5)
    await order("2026-04-10", "2026-04-12", P.id, 4)
    const { id } = await draft("2026-04-10", "2026-04-12", P.id, 3)
    expect((await app.call("GET", `/api/v1/opportunities/${id}/availability`)).body.availability).toMatchObject([
      { requested_quantity: 3, available_for_item: 1, shortage_quantity: 2 }
    ])
    expect((await app.call("GET", `/api/v1/opportunities/${id}`)).body.opportunity.has_shortage).toBe(true)
    expect(await free(P.id, "2026-04-10")).toBe(1)
    await business.post(`/opportunities/${id}/convert_to_quotation`)
    expect((await app.call("GET", `/api/v1/opportunities/${id}`)).body.opportunity.has_shortage).toBe(true)
    await status(id, 2)
    expect((await app.call("GET", `/api/v1/opportunities/${id}`)).body.opportunity.has_shortage).toBe(false)
  })
  it("each line of a draft is measured against what others hold, not against its own siblings", async () => {
    const P = await business.bulk(S, 5)
    const { id, item } = await draft("2026-04-10", "2026-04-12", P.id, 3)
    const { opportunity } = await business.post(`/opportunities/${id}/items`, {
      name: "More",
      item_type: "product",
      item_id: P.id,
      quantity: 3
    })
    expect(opportunity.has_shortage).toBe(false)
    await business.post(`/opportunities/${id}/convert_to_quotation`)
    expect((await business.post(`/opportunities/${id}/convert_to_order`)).opportunity.has_shortage).toBe(true)
    expect((await business.post(`/opportunities/${id}/revert_to_quotation`)).opportunity.has_shortage).toBe(false)
    expect((await done("PATCH", `/opportunities/${id}/items/${item}`, { quantity: 6 })).opportunity.has_shortage).toBe(
      true
    )
    expect((await done("DELETE", `/opportunities/${id}/items/${item}`)).opportunity.has_shortage).toBe(false)
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
