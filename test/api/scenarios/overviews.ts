/** Calendar, chart, shortages, free units. */
import { expect } from "vitest"
import { refusedOn, type Scenario, scenario, v1 } from "../availability-scenarios.ts"

const free = (product: number, store: number, from: string, to: string, more = ""): string =>
  `${v1}/products/${product}/available-assets?store_id=${store}&from=2026-${from}&to=2026-${to}${more}`

export const overviewScenarios = (): ReadonlyArray<Scenario> => [
  scenario("D1", "shows each product's availability by day in the calendar", async (s) => {
    const S = await s.store()
    const P1 = await s.bulk(S, 10, { name: "PA Speaker" }),
      P2 = await s.bulk(S, 2)
    await s.claim(S, P1, 3, "07-01", "07-03")
    await s.claim(S, P1, 2, "07-02", "07-03")
    const { products, store_id } = await s.calendar(S, "07-01", "07-02")
    expect([store_id, products.map((one) => one.product_id)]).toEqual([S, [P1, P2]])
    expect(products[0]).toMatchObject({
      product_name: "PA Speaker",
      days: [
        { date: "2026-07-01", available: 7, has_shortage: false },
        { date: "2026-07-02", available: 5 }
      ]
    })
    expect(products[1].days[0]).toMatchObject({ date: "2026-07-01", available: 2 })
  }),
  scenario("D3", "shows units awaiting inspection separately", async (s) => {
    const S = await s.store(),
      { id: P, units } = await s.units(S, 4)
    const order = await s.claim(S, P, 3, "06-10", "06-20")
    const asset_ids = await s.allocate(order, ...units.slice(0, 3))
    await s.move(order.id, "quick_book_out", { asset_ids, dispatched_at: "2026-06-10T08:00:00Z" })
    await s.move(order.id, "quick_check_in", { asset_ids })
    expect((await s.calendar(S, "06-18", "06-18")).products).toMatchObject([
      { product_id: P, days: [{ available: 4, has_shortage: false, pending_checkin: 3 }] }
    ])
  }),
  scenario("D5", "requires a store, a range and the ability availability:read for the calendar", async (s) => {
    refusedOn(await s.get(`${v1}/availability/calendar`), "store_id", "from", "to")
    const asked = `${v1}/availability/calendar?store_id=1&from=2026-07-01&to=2026-07-02`
    if (s.nobody !== undefined) expect((await s.nobody("GET", asked)).status).toBe(401)
    if (s.somebody !== undefined)
      expect((await (await s.somebody(["availability.view"], ["stock:read"]))("GET", asked)).status).toBe(403)
  }),
  scenario(
    "D7",
    "marks a day short if one hour is",
    async (s) => {
      const S = await s.store(),
        P = await s.bulk(S, 2)
      await s.claim(S, P, 5, "2026-05-10T09:00:00Z", "2026-05-10T10:00:00Z")
      expect(await s.range(P, S, "05-10", "05-11")).toMatchObject({ min_available: -3, max_available: 2 })
      expect((await s.calendar(S, "05-10", "05-10")).products).toMatchObject([
        { product_id: P, days: [{ available: -3, has_shortage: true }] }
      ])
    },
    "hourly"
  ),
  scenario("D9", "leaves kits out of the calendar by default", async (s) => {
    const S = await s.store(),
      part = await s.bulk(S, 5),
      kit = await s.bulk(S, 5)
    await s.made(`${v1}/products/${kit}/components`, { component_product_id: part }, "component")
    expect((await s.calendar(S, "07-01", "07-02")).products.map((one) => one.product_id)).toEqual([part])
  }),
  scenario("D11", "shows a claim with its opportunity's subject", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 5)
    await s.claim(S, P, 1, "07-01", "07-03", { subject: "Festival Main Stage" })
    expect((await s.gantt(P, S, "07-01", "07-02")).demands).toMatchObject([
      { source_type: "opportunity_item", source_name: "Festival Main Stage" }
    ])
  }),
  scenario("D13", "lists the short days of a chart", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 1)
    await s.claim(S, P, 3, "07-15", "07-16")
    expect((await s.gantt(P, S, "07-14", "07-17")).shortages).toEqual([
      { from: "2026-07-15", to: "2026-07-15", severity: 2, in_buffer_zone: false }
    ])
  }),
  scenario("D15", "marks a day that is short because of turnaround alone", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 1, { post_rent_unavailability: 1440 })
    await s.claim(S, P, 2, "07-15", "07-16")
    expect((await s.gantt(P, S, "07-14", "07-18")).shortages).toMatchObject([
      { from: "2026-07-15", in_buffer_zone: false },
      { from: "2026-07-16", in_buffer_zone: true }
    ])
  }),
  scenario("D17", "shows a packed unit with its container in the chart", async (s) => {
    const S = await s.store(),
      { id } = await s.container(S, { availability_mode: "kit" })
    const P = (await s.product({ stock_method: 2 })).id,
      serial_number = `SN of ${s.subject}`
    const unit = await s.unit(P, S, { serial_number })
    const {
      body: { container_item }
    } = await s.pack(id, unit)
    expect((await s.gantt(P, S, "06-18", "06-20")).demands).toMatchObject([
      {
        source_type: "container",
        source_name: `Containers #${container_item.id}`,
        asset_id: unit,
        asset_serial: serial_number,
        colour: "#0EA5E9"
      }
    ])
  }),
  scenario("D19", "lists shortages of the named store, or of both if none is named", async (s) => {
    const S = await s.store(),
      T = await s.store(),
      P = await s.bulk(S, 1)
    await s.made(`${v1}/stock_levels`, { product_id: P, store_id: T, quantity_held: 1 }, "stock_level")
    await s.claim(S, P, 3, "07-20", "07-21")
    await s.claim(T, P, 10, "07-20", "07-21")
    expect(await s.shortages(`from=2026-07-20&to=2026-07-20&store_id=${S}`)).toMatchObject([
      { store_id: S, product_id: P, date: "2026-07-20", available: -2, severity: 2 }
    ])
    expect(
      (await s.shortages("from=2026-07-20&to=2026-07-20"))
        .filter((one) => one.product_id === P)
        .map((one) => [one.store_id, one.available])
    ).toEqual([
      [S, -2],
      [T, -9]
    ])
  }),
  scenario("D21", "requires a range to list shortages", async (s) =>
    refusedOn(await s.get(`${v1}/availability/shortages`), "from", "to")
  ),

  scenario("E2", "lists free units by page", async (s) => {
    const S = await s.store(),
      { id: P } = await s.units(S, 2)
    const { available_assets, meta } = (await s.get(free(P, S, "07-10", "07-12", "&per_page=1"))).body
    expect([available_assets.length, meta]).toEqual([1, { total: 2, per_page: 1, page: 1 }])
  }),
  scenario("E4", "lists a unit as free after its hire", async (s) => {
    const S = await s.store(),
      { id: P, units } = await s.units(S, 1)
    await s.allocate(await s.claim(S, P, 1, "07-01", "07-03"), ...units)
    expect((await s.get(free(P, S, "07-10", "07-12"))).body.available_assets).toMatchObject([{ id: units[0] }])
    expect((await s.get(free(P, S, "07-02", "07-12"))).body.available_assets).toEqual([])
  }),
  scenario("E6", "lists no units of other stores and products", async (s) => {
    const S = await s.store(),
      T = await s.store(),
      { id: P, units } = await s.units(S, 1)
    await s.unit(P, T)
    await s.units(S, 1)
    expect((await s.get(free(P, S, "07-10", "07-12"))).body.available_assets.map((one) => one.id)).toEqual(units)
  }),
  scenario("E8", "allocates a unit to one order at a time", async (s) => {
    const S = await s.store(),
      { id: P, units } = await s.units(S, 1)
    await s.allocate(await s.claim(S, P, 1, "09-01", "09-05"), ...units)
    const second = await s.claim(S, P, 1, "09-03", "09-06")
    const allocations = [{ opportunity_item_id: second.line, stock_level_id: units[0] }]
    expect((await s.move(second.id, "quick_allocate", { allocations })).status).toBe(422)
    expect((await s.get(`${v1}/opportunities/${second.id}/assets`)).body.assets).toEqual([])
    expect(await s.allocate(await s.claim(S, P, 1, "12-01", "12-05"), ...units)).toHaveLength(1)
  })
]
