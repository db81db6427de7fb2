/** A case that came back is to go out once more: each refusal names the step that leads on, and those steps do. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type App, openApp } from "../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"

let app: App
let w: OpportunityFixture
beforeAll(async () => {
  app = await openApp("sqlite")
  w = opportunityFixture(app)
})
afterAll(() => app.close())

it("a case that came back goes out again by the steps that its refusals name", async () => {
  const product = await w.product()
  const unit = await w.unit(product.id, { asset_number: "U-1" })
  const box = await w.made("/api/v1/containers/temporary", { name: "Case 9", barcode: "C9", store_id: 1 }, "container")
  const at = `/api/v1/containers/${box.id}`
  await w.post(`${at}/pack`, { serialised_item_id: unit.id })
  await w.post(`${at}/seal`)
  const { id } = await w.opportunity({
    subject: "Gig",
    starts_at: "2031-05-01T09:00:00Z",
    ends_at: "2031-05-05T17:00:00Z"
  })
  await w.post(`${opportunity_path}/${id}/items`, { name: "Line", item_id: product.id, quantity: 1 })
  await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
  await w.post(`${opportunity_path}/${id}/convert_to_order`)
  const scan = (direction: "out" | "in") => w.post(`${opportunity_path}/${id}/scan`, { direction, code: "C9" })
  expect((await scan("out")).status).toBe(200)
  expect((await scan("in")).status).toBe(200)

  const repack = new RegExp(`flightcase containers repack start --container-id ${box.id}\\b`)
  expect((await scan("out")).body.errors.code[0]).toMatch(repack)
  expect((await w.post(`${at}/seal`)).body.errors.container[0]).toMatch(repack)
  expect((await w.post(`${at}/pack`, { serialised_item_id: unit.id })).body.errors.container[0]).toMatch(repack)
  expect((await w.post("/api/v1/containers/repack/start", { container_id: box.id })).status).toBe(201)
  expect((await w.post(`${at}/seal`)).status).toBe(200)

  const [, line, asset] =
    /orders items assets move \d+ (\d+) (\d+) --action revert_status --status 0$/.exec(
      (await scan("out")).body.errors.code[0]
    ) ?? expect.fail("the refusal names no way")
  const reverted = await app.call("PATCH", `${opportunity_path}/${id}/items/${line}/assets/${asset}`, {
    action: "revert_status",
    status: 0
  })
  expect(reverted.status, JSON.stringify(reverted.body)).toBe(200)
  const again = await scan("out")
  expect(again.status, JSON.stringify(again.body)).toBe(200)
})
