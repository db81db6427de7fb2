/** A code in other letters than it was recorded in, with a quantity, on both engines: no piece is passed over. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"
import { type ScanFixture, scanFixture } from "./fixture.ts"

describe.each(engines)("codes with a quantity on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let s: ScanFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    s = scanFixture(w)
  })
  afterAll(() => app.close())

  it("a unit's code in other letters is no product's, and five of it move nothing", async () => {
    const product = await w.product()
    const unit = await w.unit(product.id, { asset_number: "a-11" })
    const gig = await s.order([{ item_id: product.id, quantity: 5 }])
    for (const code of ["a-11*5", "A-11*5", "5 x A-11"])
      expect((await s.scan(gig, "out", code)).body.errors).toEqual({
        code: [expect.stringMatching(/^no unit and no product has this code .*with a quantity it must be a product's/)]
      })
    expect((await s.scan(gig, "out", "A-11")).body.scan).toMatchObject({ stock_level_id: unit.id })
    for (const path of ["/api/v1/scan_in", `/api/v1/opportunities/${gig.id}/scan`]) {
      const back = await w.post(path, { direction: "in", code: "A-11", quantity: 5 })
      expect([back.status, back.body.errors]).toEqual([422, { quantity: ["a-11 is one piece."] }])
    }
  })

  it("five of a counted product are five in other letters, too, though a unit's code is nearer", async () => {
    const cable = await w.product({ stock_method: 1, sku: "cab-9" })
    await w.unit((await w.product()).id, { asset_number: "Cab-9" })
    const gig = await s.order([{ item_id: cable.id, quantity: 5 }])
    expect((await s.scan(gig, "out", "CAB-9*5")).body.scan).toMatchObject({ kind: "bulk", quantity: 5 })
  })
})
