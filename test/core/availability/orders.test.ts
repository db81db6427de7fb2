import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

/** The scenarios whose claims come from real orders. */
describe.each(engines)("availability under orders on %s", (engine) => {
  let app: App, business: SampleBusiness, S: number
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-03-01T12:00:00.000Z")
    business = sampleBusiness(app)
    S = await business.store()
  })
  afterAll(() => app.close())
  const opportunity = async (
    starts_at: string,
    ends_at: string | null,
    ...lines: ReadonlyArray<readonly [product: number, quantity: number]>
  ) => {
    const { id } = await business.opportunity({ subject: "Festival Main Stage", store_id: S, starts_at, ends_at })
    const items: Array<number> = []
    for (const [item_id, quantity] of lines) {
      items.push(
        (
          await business.post(`/opportunities/${id}/items`, { name: "Line", item_type: "product", item_id, quantity })
        ).opportunity.items.at(-1).id
      )
    }
    return { id: id as number, items }
  }
  const order = async (...given: Parameters<typeof opportunity>) => {
    const made = await opportunity(...given)
    await business.post(`/opportunities/${made.id}/convert_to_quotation`)
    await business.post(`/opportunities/${made.id}/convert_to_order`)
    return made
  }
  const point = async (product: number, date: string) =>
    (await app.call("GET", `/api/v1/availability?product_id=${product}&store_id=${S}&date=${date}`)).body.availability
  const lines = async (id: number) =>
    (await app.call("GET", `/api/v1/opportunities/${id}/availability`)).body.availability
  const gantt = async (product: number, from: string, to: string) =>
    (await app.call("GET", `/api/v1/availability/${product}/gantt?store_id=${S}&from=${from}&to=${to}`)).body.gantt

  it("B1, D11: the chart shows the product's buffers and the subject of the order", async () => {
    const P = await business.bulk(S, 4, { post_rent_unavailability: 240, buffer_before_minutes: 120 })
    await order("2026-08-01T09:00:00Z", "2026-08-05T17:00:00Z", [P.id, 1])
    expect((await gantt(P.id, "2026-08-01", "2026-08-10")).demands).toMatchObject([
      {
        source_name: "Festival Main Stage",
        phase: "reserved",
        period_start: "2026-08-01T07:00:00.000Z",
        buffer_before_end: "2026-08-01T09:00:00.000Z",
        starts_at: "2026-08-01T09:00:00.000Z",
        ends_at: "2026-08-05T17:00:00.000Z",
        buffer_after_start: "2026-08-05T17:00:00.000Z",
        period_end: "2026-08-05T21:00:00.000Z"
      }
    ])
  })
  it("B3: a turnaround within the day blocks that day and no other", async () => {
    const P = await business.bulk(S, 4, { post_rent_unavailability: 240 })
    await order("2026-04-13", "2026-04-15T17:00:00Z", [P.id, 4])
    const { body } = await app.call(
      "GET",
      `/api/v1/availability?product_id=${P.id}&store_id=${S}&from=2026-04-13&to=2026-04-17`
    )
    expect(body.availability.slots.map((slot: any) => slot.available)).toEqual([0, 0, 0, 4])
  })
  it("B5: the turnaround of others counts for my line", async () => {
    const P = await business.bulk(S, 3, { post_rent_unavailability: 1440 })
    await order("2026-04-13", "2026-04-15", [P.id, 3])
    const mine = await opportunity("2026-04-15", "2026-04-16", [P.id, 1])
    expect(await lines(mine.id)).toMatchObject([
      { requested_quantity: 1, available_for_item: 0, shortage_quantity: 1, has_shortage: true }
    ])
  })
  it("F1: my line is measured against all others and not against itself", async () => {
    const P = await business.bulk(S, 5)
    await order("2026-08-01T09:00:00Z", "2026-08-03T17:00:00Z", [P.id, 4])
    const mine = await order("2026-08-01T09:00:00Z", "2026-08-03T17:00:00Z", [P.id, 3])
    expect(await lines(mine.id)).toEqual([
      {
        opportunity_item_id: mine.items[0],
        product_id: P.id,
        store_id: S,
        requested_quantity: 3,
        available_for_item: 1,
        shortage_quantity: 2,
        has_shortage: true,
        shortfall: 2,
        product_name: expect.any(String),
        from: "2026-08-01T09:00:00.000Z",
        to: "2026-08-03T17:00:00.000Z"
      }
    ])
    expect(await point(P.id, "2026-08-02")).toMatchObject({ total_demanded: 7, available: -2 })
  })
  it("F5: a draft and a provisional quotation take nothing, an order does", async () => {
    const P = await business.bulk(S, 5)
    const { id } = await opportunity("2026-08-01", "2026-08-03", [P.id, 2])
    expect((await point(P.id, "2026-08-02")).available).toBe(5)
    await business.post(`/opportunities/${id}/convert_to_quotation`)
    expect((await point(P.id, "2026-08-02")).available).toBe(5)
    await business.post(`/opportunities/${id}/convert_to_order`)
    expect((await point(P.id, "2026-08-02")).available).toBe(3)
  })
  it("F7: allocated units claim themselves", async () => {
    const P = await business.units(S, 2)
    const { id, items } = await order("2026-08-01", "2026-08-03", [P.id, 2])
    await business.post(`/opportunities/${id}/quick_allocate`, {
      allocations: P.units.map((stock_level_id) => ({ opportunity_item_id: items[0], stock_level_id }))
    })
    expect(
      (await gantt(P.id, "2026-08-01", "2026-08-02")).demands.map((one: any) => [one.asset_id, one.quantity])
    ).toEqual(P.units.map((unit) => [unit, 1]))
    expect(await point(P.id, "2026-08-01")).toMatchObject({ total_demanded: 2, available: 0 })
  })
  it("E8: one unit cannot serve two orders at once; in December it can", async () => {
    const P = await business.units(S, 1)
    const allocate = async ({ id, items }: { id: number; items: ReadonlyArray<number> }) =>
      (
        await app.call("POST", `/api/v1/opportunities/${id}/quick_allocate`, {
          allocations: [{ opportunity_item_id: items[0], stock_level_id: P.units[0] }]
        })
      ).status
    expect(await allocate(await order("2026-09-01", "2026-09-05", [P.id, 1]))).toBe(200)
    expect(await allocate(await order("2026-09-03", "2026-09-06", [P.id, 1]))).toBe(422)
    expect(await allocate(await order("2026-12-03", "2026-12-06", [P.id, 1]))).toBe(200)
  })
  it("G15: a line of a kit claims its parts", async () => {
    const A = await business.bulk(S, 20),
      B = await business.bulk(S, 20)
    const K = (await business.post("/products", { name: "Kit" })).product.id
    await business.post(`/products/${K}/components`, { component_product_id: A.id, quantity: 2 })
    await business.post(`/products/${K}/components`, { component_product_id: B.id, quantity: 3 })
    const { id } = await order("2026-08-01", "2026-08-03", [K, 4])
    expect([
      (await point(A.id, "2026-08-01")).total_demanded,
      (await point(B.id, "2026-08-01")).total_demanded
    ]).toEqual([8, 12])
    expect((await gantt(K, "2026-08-01", "2026-08-02")).demands).toEqual([])
    expect((await point(K, "2026-08-01")).available).toBe(2)
    expect(await lines(id)).toMatchObject([
      { product_id: K, requested_quantity: 4, available_for_item: 6, has_shortage: false }
    ])
  })
  it("G17: a line of a hybrid claims its cases and the pool parts", async () => {
    const H = await business.units(S, 3),
      A = await business.bulk(S, 20)
    await app.call("PUT", `/api/v1/products/${H.id}/container_template`, {
      is_containerable: true,
      availability_mode: "hybrid"
    })
    await business.post(`/products/${H.id}/components`, { component_product_id: A.id, quantity: 2 })
    await order("2026-08-01", "2026-08-03", [H.id, 2])
    expect([
      (await point(A.id, "2026-08-01")).total_demanded,
      (await gantt(H.id, "2026-08-01", "2026-08-02")).demands[0].quantity
    ]).toEqual([4, 2])
    expect((await point(H.id, "2026-08-01")).available).toBe(1)
  })
  it("a unit that came back and was not checked waits from that day", async () => {
    const P = await business.units(S, 1)
    const { id, items } = await order("2026-03-01", "2026-03-09", [P.id, 1])
    const assets = (
      await business.post(`/opportunities/${id}/quick_allocate`, {
        allocations: [{ opportunity_item_id: items[0], stock_level_id: P.units[0] }]
      })
    ).opportunity.items[0].assets
    await business.post(`/opportunities/${id}/quick_book_out`, { asset_ids: [assets[0].id] })
    expect(await point(P.id, "2026-03-20")).toMatchObject({ available: 1 })
    app.setClock("2026-03-15T12:00:00.000Z")
    // Overdue: nobody knows when it comes.
    expect(await point(P.id, "2026-03-20")).toMatchObject({ total_demanded: 1, available: 0 })
    await business.post(`/opportunities/${id}/quick_check_in`, { asset_ids: [assets[0].id] })
    expect(await point(P.id, "2026-03-20")).toMatchObject({ total_demanded: 0, available: 1 })
    const { body } = await app.call(
      "GET",
      `/api/v1/availability/calendar?store_id=${S}&from=2026-03-14&to=2026-03-16&product_ids[]=${P.id}`
    )
    expect(body.calendar.products[0].days.map((day: any) => day.pending_checkin)).toEqual([0, 1, 1])
  })
})
