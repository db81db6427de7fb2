/** A check-in is taken back where the unit can be out again, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../../app.ts"
import { type ScanFixture, scanFixture, dates, day } from "../../scanning/fixture.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

describe.each(engines)("a check-in that is taken back, on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let s: ScanFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    s = scanFixture(w)
  })
  afterAll(() => app.close())

  const done = async (reply: ReturnType<ScanFixture["scan"]>) => {
    const { body, status } = await reply
    expect(status, JSON.stringify(body)).toBe(200)
  }
  const revert = async (at: { id: number }, stock_level_id: number, status: number) => {
    const { assets } = (await w.get(`${opportunity_path}/${at.id}/assets`)).body
    const unit = assets.find((one: { stock_level_id: number }) => one.stock_level_id === stock_level_id)
    return w.patch(`${opportunity_path}/${at.id}/items/${unit.opportunity_item_id}/assets/${unit.id}`, {
      action: "revert_status",
      status
    })
  }

  it("a unit that is out with another order is not out with this one again", async () => {
    const {
      product,
      units: [unit]
    } = await s.heads(1)
    const lines = [{ item_id: product.id, quantity: 1 }]
    const [first, second] = [await s.order(lines), await s.order(lines, dates(10, 12))]
    app.setClock(`${day(2)}T12:00:00.000Z`)
    await done(s.scan(first, "out", unit!.asset_number))
    await done(s.scan(first, "in", unit!.asset_number, { finalise: true }))
    app.setClock(`${day(10)}T12:00:00.000Z`)
    await done(s.scan(second, "out", unit!.asset_number))
    for (const status of [2, 3]) {
      const refused = await revert(first, unit!.id, status)
      expect([refused.status, refused.body.errors?.status?.[0]]).toEqual([
        422,
        expect.stringMatching(`^${unit!.asset_number} is out with .*check it in there first`)
      ])
    }
    await done(revert(first, unit!.id, 4))
    await done(s.scan(second, "in", unit!.asset_number))
    await done(revert(first, unit!.id, 2))
  })

  it("a damaged unit that another one replaced is not on its line beside that one again", async () => {
    const {
      product,
      units: [a, b, c]
    } = await s.heads(3)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) await done(s.scan(gig, "out", one!.asset_number))
    await done(s.scan(gig, "in", a!.asset_number, { condition: 1 }))
    await done(revert(gig, a!.id, 2))
    await done(s.scan(gig, "in", a!.asset_number, { condition: 1 }))
    await done(s.scan(gig, "out", c!.asset_number))
    for (const status of [0, 2, 3]) {
      const refused = await revert(gig, a!.id, status)
      expect([refused.status, refused.body.errors?.status]).toEqual([
        422,
        [`${a!.asset_number} came back damaged or missing, and another one went in its place.`]
      ])
    }
    // The check alone may have been the mistake.
    await done(revert(gig, a!.id, 4))
  })
})
