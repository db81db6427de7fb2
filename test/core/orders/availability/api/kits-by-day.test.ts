import { describe, expect, it } from "vitest"
import { engines } from "../../../../app.ts"
import { appHouse, refused } from "../../../../app-house.ts"
import { demandOver } from "../../../stock-demands.ts"
import type { Body } from "../../../../answers.ts"

describe.each(engines)("kits in calendars and charts on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  const calendar = async (store: number, more = "") =>
    await w.show(`/availability/calendar?store_id=${store}&from=2026-07-01&to=2026-07-03${more}`)
  const figures = (grid: Body["calendar"]) =>
    grid.products.map((one) => [one.product_id, one.is_kit, ...one.days.map((day) => day.available)])
  /** Creates a kit with a quantity of each component and returns its id. */
  const kitOf = async (...parts: ReadonlyArray<readonly [part: number, quantity: number]>) => {
    const K = (await w.create("/products", { name: "Kit" })).id as number
    for (const [component_product_id, quantity] of parts)
      await w.create(`/products/${K}/components`, { component_product_id, quantity })
    return K
  }

  it("appear on request, with the lowest quantity that their parts allow each day", async () => {
    const T = await w.store()
    const [A, B] = [await w.bulk(T, 6), await w.bulk(T, 9)]
    const K = await kitOf([A.id, 2], [B.id, 3])
    await demandOver(w.app, A.id, T, 3, "07-02", "07-03")
    await demandOver(w.app, B.id, T, 9, "07-03", "07-04")
    expect(figures(await calendar(T))).toEqual([
      [A.id, undefined, 6, 3, 6],
      [B.id, undefined, 9, 9, 0]
    ])
    expect(figures(await calendar(T, "&include_kits=1"))).toEqual([
      [A.id, false, 6, 3, 6],
      [B.id, false, 9, 9, 0],
      [K, true, 3, 1, 0]
    ])
    expect(figures(await calendar(T, "&include_kits=0"))).toEqual(figures(await calendar(T)))
    expect(figures(await calendar(T, `&include_kits=1&product_ids[]=${K}`))).toEqual([[K, true, 3, 1, 0]])
  })
  it("are judged slot by slot: shortages of different parts on different days do not add up", async () => {
    const T = await w.store()
    const [A, B] = [await w.bulk(T, 1), await w.bulk(T, 1)]
    const K = await kitOf([A.id, 1], [B.id, 1])
    await demandOver(w.app, A.id, T, 1, "07-01", "07-02")
    await demandOver(w.app, B.id, T, 2, "07-03", "07-04")
    const grid = await calendar(T, `&include_kits=1&product_ids[]=${K}`)
    expect(grid.products[0].days).toEqual([
      { date: "2026-07-01", available: 0, has_shortage: false, pending_checkin: 0 },
      { date: "2026-07-02", available: 1, has_shortage: false, pending_checkin: 0 },
      { date: "2026-07-03", available: 0, has_shortage: false, pending_checkin: 0 }
    ])
  })
  it("appear where their nested parts are in stock, and nowhere else", async () => {
    const [T, elsewhere] = [await w.store(), await w.store()]
    const A = await w.bulk(T, 9)
    const inner = await kitOf([A.id, 2])
    const outer = await kitOf([inner, 2])
    expect(figures(await calendar(T, "&include_kits=1"))).toEqual([
      [A.id, false, 9, 9, 9],
      [inner, true, 4, 4, 4],
      [outer, true, 2, 2, 2]
    ])
    expect(figures(await calendar(elsewhere, "&include_kits=1"))).toEqual([])
  })
  it("include a hybrid case product, limited by its units and pool parts, and no kit without pool parts", async () => {
    const T = await w.store()
    const [H, A] = [await w.units(T, 2), await w.bulk(T, 5)]
    await w.put(`/products/${H.id}/container_template`, { is_containerable: true, availability_mode: "hybrid" })
    await w.create(`/products/${H.id}/components`, { component_product_id: A.id, quantity: 5 })
    const K = (await w.create("/products", { name: "Fixed parts only" })).id
    await w.create(`/products/${K}/components`, { component_product_id: A.id, binding: "fixed" })
    expect(figures(await calendar(T, "&include_kits=1"))).toEqual([
      [H.id, true, 1, 1, 1],
      [A.id, false, 5, 5, 5]
    ])
  })
  it("require include_kits to be true or false", async () => {
    const T = await w.store()
    await refused(
      w.get(`/availability/calendar?store_id=${T}&from=2026-07-01&to=2026-07-03&include_kits=perhaps`),
      "include_kits"
    )
  })

  it("show on request the quantity their parts allow each day, with each part's demands and shortages", async () => {
    const T = await w.store()
    const [A, B] = [await w.bulk(T, 6, { name: "Lamp" }), await w.bulk(T, 4, { name: "Stand" })]
    const inner = await kitOf([B.id, 1])
    const K = await kitOf([A.id, 2], [inner, 2])
    await demandOver(w.app, A.id, T, 7, "07-02", "07-03")
    const chart = async (product: number, more = "") =>
      await w.show(`/availability/${product}/gantt?store_id=${T}&from=2026-07-01&to=2026-07-03${more}`)
    expect(Object.keys(await chart(K))).not.toContain("parts")
    const { days, demands, parts } = await chart(K, "&include_kits=1")
    expect(demands).toEqual([])
    expect(days).toEqual([
      { date: "2026-07-01", available: 2 },
      { date: "2026-07-02", available: 0 },
      { date: "2026-07-03", available: 2 }
    ])
    expect(parts).toMatchObject([
      {
        product_id: A.id,
        product_name: "Lamp",
        quantity: 2,
        binding: "pool",
        total_stock: 6,
        demands: [{ quantity: 7 }],
        shortages: [{ from: "2026-07-02", to: "2026-07-02", severity: 1 }]
      },
      {
        product_id: B.id,
        product_name: "Stand",
        quantity: 2,
        binding: "pool",
        total_stock: 4,
        demands: [],
        shortages: []
      }
    ])
    const plain = await chart(A.id, "&include_kits=1")
    expect([plain.parts, plain.days[1]]).toEqual([[], { date: "2026-07-02", available: -1 }])
  })
})
