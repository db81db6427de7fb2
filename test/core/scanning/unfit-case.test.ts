/** A case that is itself out of service does not go out, be it on a line of the order or not, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"
import { type ScanFixture, scanFixture } from "./fixture.ts"

describe.each(engines)("cases out of service on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  let s: ScanFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    s = scanFixture(w)
  })
  afterAll(() => app.close())

  it.each(["transport", "kit"])(
    "a %s case in quarantine stays here until it is released",
    async (availability_mode) => {
      const flight = await w.product()
      const template = { is_containerable: true, availability_mode }
      expect((await w.put(`/api/v1/products/${flight.id}/container_template`, template)).status).toBe(200)
      const housing = await w.unit(flight.id, { asset_number: `K-${s.next()}` })
      const { product, units } = await s.heads(1)
      const box = await w.made("/api/v1/containers", { name: "Case 7", serialised_item_id: housing.id }, "container")
      await w.post(`/api/v1/containers/${box.id}/pack`, { serialised_item_id: units[0]!.id })
      expect((await w.post(`/api/v1/containers/${box.id}/seal`)).status).toBe(200)
      const gig = await s.order([{ item_id: product.id, quantity: 1 }])
      expect((await w.post(`/api/v1/stock_levels/${housing.id}/quarantine`)).status).toBe(200)

      const text = expect.stringMatching(
        `^${housing.asset_number}, the case of Case 7, is in quarantine since .*release`
      )
      for (const code of [`container:${box.id}`, housing.asset_number]) {
        const { body, status } = await s.scan(gig, "out", code)
        expect([status, body.errors]).toEqual([422, { code: [text] }])
      }
      if (availability_mode === "kit") {
        const sent = await w.post(`/api/v1/containers/${box.id}/dispatch`, { opportunity_id: gig.id })
        expect([sent.status, sent.body.errors]).toEqual([422, { container: [text] }])
      }
      expect((await s.containerAt(box)).status).toBe("sealed")
      expect((await w.post(`/api/v1/stock_levels/${housing.id}/release`)).status).toBe(200)
      const out = await s.scan(gig, "out", `container:${box.id}`)
      expect(out.status, JSON.stringify(out.body)).toBe(200)
    }
  )
})
