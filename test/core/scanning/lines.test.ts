/** Which line and which order a scanned unit or case is for, where more than one might take it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../opportunities/fixtures.ts"

describe.each(engines)("scanning where several lines or orders might be meant, on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  const order = async (subject: string, product_id: number, ...quantities: ReadonlyArray<number>) => {
    const { id } = await w.opportunity({ subject, starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" })
    let items: ReadonlyArray<any> = []
    for (const quantity of quantities)
      ({ items } = await w.made(
        `${opportunity_path}/${id}/items`,
        { name: "Camera", item_id: product_id, quantity },
        "opportunity"
      ))
    for (const move of ["convert_to_quotation", "convert_to_order"])
      expect((await w.post(`${opportunity_path}/${id}/${move}`)).status).toBe(200)
    return { id: id as number, lines: items.map((one) => one.id as number) }
  }
  const scan = (at: { id: number }, direction: "out" | "in", code: string) =>
    w.post(`${opportunity_path}/${at.id}/scan`, { direction, code })

  it("a unit goes to the first line that still takes one, and is refused once all have theirs", async () => {
    const product = await w.product()
    const units = [await w.unit(product.id), await w.unit(product.id), await w.unit(product.id)]
    const gig = await order("Two lines", product.id, 1, 1)
    const went = []
    for (const { asset_number } of units) {
      const { body, status } = await scan(gig, "out", asset_number)
      went.push(status === 200 ? body.scan.opportunity_item_id : status)
    }
    expect(went).toEqual([...gig.lines, 422])
  })
  it("a case that is out with one order is not checked in on another", async () => {
    const product = await w.product()
    const unit = await w.unit(product.id)
    const [first, second] = [await order("Has it", product.id, 1), await order("Has it not", product.id, 1)]
    const path = "/api/v1/containers"
    const box = await w.made(`${path}/temporary`, { name: "Box", barcode: "BOX-A", store_id: 1 }, "container")
    await w.post(`${path}/${box.id}/pack`, { serialised_item_id: unit.id })
    await w.post(`${path}/${box.id}/seal`)
    expect((await scan(first, "out", "BOX-A")).status).toBe(200)
    const refused = await scan(second, "in", "BOX-A")
    expect([refused.status, refused.body.errors?.code]).toEqual([
      422,
      [`Box is out with another order (id ${first.id}).`]
    ])
    expect((await scan(first, "in", "BOX-A")).status).toBe(200)
  })
})
