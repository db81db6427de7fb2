/**
 * Units that go to the next order without coming back first, on documents and at both scans (rules/opportunities 9.7).
 */
import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"
import { paperOf, rowsOf, said, sketch } from "../../documents/content/house.ts"

const first_hire = { starts_at: "2026-09-01T09:00:00.000Z", ends_at: "2026-09-03T09:00:00.000Z" }
const next_hire = { starts_at: "2026-09-04T09:00:00.000Z", ends_at: "2026-09-06T09:00:00.000Z" }

describe.each(engines)("a unit that goes from one order to the next on %s", (engine) => {
  const w = appHouse(engine, "2026-09-03T10:00:00.000Z")
  /** Creates a unit that is out with the order Gala and allocated to a later one, Fair. */
  const betweenOrders = async () => {
    const product = await w.units(1, 1, { name: "Head" })
    const [unit = 0] = product.units
    const [gala, fair] = [
      await w.order(product.id, 1, { ...first_hire, subject: "Gala" }),
      await w.order(product.id, 1, { ...next_hire, subject: "Fair" })
    ]
    for (const order of [gala, fair]) await w.allocate(order, unit)
    await w.must("POST", `/opportunities/${gala.id}/scan`, {
      stock_level_id: unit,
      direction: "out",
      scanned_at: first_hire.starts_at
    })
    const numberOf = async (id: number): Promise<string | null> => (await w.show(`/opportunities/${id}`)).number
    return {
      unit,
      gala: gala.id,
      fair: fair.id,
      gala_number: await numberOf(gala.id),
      fair_number: await numberOf(fair.id)
    }
  }
  const scan = (order: number, body: object, by?: ReturnType<typeof viewerWith>) =>
    w.must("POST", `/opportunities/${order}/scan`, body, by)

  it("is listed with the next order on the return note, and with the previous order on the pick list", async () => {
    const { fair, fair_number, gala, gala_number } = await betweenOrders()
    const rows = async (order: number, kind: "return_note" | "pick_list" | "delivery_note") =>
      rowsOf(await paperOf(w.app, order, kind)).map(({ cells }) => cells.map(said).join(" · "))
    expect((await rows(gala, "return_note")).join()).toMatch(`Goes on to ${fair_number} Fair, `)
    expect((await rows(fair, "pick_list")).join()).toMatch(`Comes from ${gala_number} Gala, `)
    expect(sketch(await paperOf(w.app, fair, "delivery_note"))).not.toContain("Gala")
  })
  it("gives a warning with the other order at both scans, by number alone for users who may not see orders", async () => {
    const { fair, fair_number, gala, gala_number, unit } = await betweenOrders()
    const fulfils = viewerWith(["opportunities.fulfil"], ["*"])
    const back = await scan(gala, { stock_level_id: unit, direction: "in", finalise: true })
    expect(back.meta.warnings).toEqual([
      expect.stringMatching(`goes on to "Fair" \\(order ${Number(fair_number)}\\), from ${next_hire.starts_at}\\.$`)
    ])
    const out = await scan(fair, { stock_level_id: unit, direction: "out" }, fulfils)
    expect(out.meta.warnings).toEqual([expect.stringMatching(`comes from order ${Number(gala_number)}\\.$`)])
  })
  it("gives no warning if it is checked in before it is allocated again, or has no other order", async () => {
    const product = await w.units(1, 1, { name: "Head" })
    const order = await w.order(product.id, 1, { ...first_hire, subject: "Gala" })
    const [stock_level_id = 0] = product.units
    await scan(order.id, { stock_level_id, direction: "out", scanned_at: first_hire.starts_at })
    const body = { stock_level_id, direction: "in", finalise: true, scanned_at: first_hire.ends_at }
    expect((await scan(order.id, body)).meta).toBeUndefined()
    const later = await w.order(product.id, 1, { ...next_hire, subject: "Fair" })
    expect((await scan(later.id, { stock_level_id, direction: "out" })).meta).toBeUndefined()
  })
})
