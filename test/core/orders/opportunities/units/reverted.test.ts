/** A check-in can be reverted only if the unit can be out again. */
import { describe, expect, it } from "vitest"
import { engines } from "../../../../app.ts"
import { appHouse } from "../../../../app-house.ts"
import { type ScanFixture, scanFixture, dates, day } from "../../../warehouse/scanning/fixture.ts"

describe.each(engines)("reverting a check-in, on %s", (engine) => {
  const w = appHouse(engine)
  const s = scanFixture(w)

  const done = async (reply: ReturnType<ScanFixture["scan"]>) => {
    const { body, status } = await reply
    expect(status, JSON.stringify(body)).toBe(200)
  }
  const revert = async (at: { id: number }, stock_level_id: number, status: number) => {
    const { assets } = (await w.get(`/opportunities/${at.id}/assets`)).body
    const unit = assets.find((one) => one.stock_level_id === stock_level_id)!
    return w.patch(`/opportunities/${at.id}/items/${unit.opportunity_item_id}/assets/${unit.id}`, {
      action: "revert_status",
      status
    })
  }

  it("is rejected while the unit is out with another order", async () => {
    const [product, unit] = await s.heads(1)
    const lines = [{ item_id: product.id, quantity: 1 }]
    const [first, second] = [await s.order(lines), await s.order(lines, dates(10, 12))]
    w.app.setClock(`${day(2)}T12:00:00.000Z`)
    await s.done(first, "out", unit!.asset_number)
    await s.done(first, "in", unit!.asset_number, { finalise: true })
    w.app.setClock(`${day(10)}T12:00:00.000Z`)
    await s.done(second, "out", unit!.asset_number)
    for (const status of [2, 3]) {
      const refused = await revert(first, unit!.id, status)
      expect([refused.status, refused.body.errors?.status?.[0]]).toEqual([
        422,
        expect.stringMatching(`^${unit!.asset_number} is out with .*check it in there first`)
      ])
    }
    await done(revert(first, unit!.id, 4))
    await s.done(second, "in", unit!.asset_number)
    await done(revert(first, unit!.id, 2))
  })

  it("is rejected for a damaged unit that was replaced on its line", async () => {
    const [product, a, b, c] = await s.heads(3)
    const gig = await s.order([{ item_id: product.id, quantity: 2 }])
    for (const one of [a, b]) await s.done(gig, "out", one!.asset_number)
    await s.done(gig, "in", a!.asset_number, { condition: 1 })
    await done(revert(gig, a!.id, 2))
    await s.done(gig, "in", a!.asset_number, { condition: 1 })
    await s.done(gig, "out", c!.asset_number)
    for (const status of [0, 2, 3]) {
      const refused = await revert(gig, a!.id, status)
      expect([refused.status, refused.body.errors?.status]).toEqual([
        422,
        [`${a!.asset_number} came back damaged or missing, and another one went in its place.`]
      ])
    }
    // Reverting only the check is allowed.
    await done(revert(gig, a!.id, 4))
  })
})
