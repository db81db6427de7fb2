/** Orders, units and cases that scans of tests are about. */
import { expect } from "vitest"
import { opportunity_path, type OpportunityFixture } from "../opportunities/fixtures.ts"

export const day = (at: number): string => `2031-05-${String(at).padStart(2, "0")}`
export const dates = (from = 1, to = 5) => ({ starts_at: `${day(from)}T09:00:00Z`, ends_at: `${day(to)}T17:00:00Z` })

export type ScanFixture = ReturnType<typeof scanFixture>
export const scanFixture = (w: OpportunityFixture) => {
  let count = 0
  const order = async (lines: ReadonlyArray<object>, on = dates()) => {
    const opportunity = await w.opportunity({ subject: `Gig ${++count}`, ...on })
    let body = opportunity
    for (const line of lines)
      body = await w.made(
        `${opportunity_path}/${opportunity.id}/items`,
        { name: "Line", unit_price: "10.00", ...line },
        "opportunity"
      )
    await w.post(`${opportunity_path}/${opportunity.id}/convert_to_quotation`)
    const made = await w.post(`${opportunity_path}/${opportunity.id}/convert_to_order`)
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    return {
      id: opportunity.id as number,
      number: made.body.opportunity.number as string,
      items: body.items as ReadonlyArray<any>
    }
  }
  const scan = (at: { id: number }, direction: "out" | "in", code: string, more: object = {}) =>
    w.post(`${opportunity_path}/${at.id}/scan`, { direction, code, ...more })
  const units = async (at: { id: number }) =>
    (await w.get(`${opportunity_path}/${at.id}/assets`)).body.assets.map((one: any) => [
      one.stock_level_id,
      one.status_label
    ])
  const box = async (items: ReadonlyArray<{ id: number }>, more: { sealed?: boolean } = {}) => {
    const barcode = `BOX-${++count}`
    const container = await w.made(
      "/api/v1/containers/temporary",
      { name: `Box ${count}`, barcode, store_id: 1 },
      "container"
    )
    for (const { id } of items)
      expect((await w.post(`/api/v1/containers/${container.id}/pack`, { serialised_item_id: id })).status).toBe(201)
    if (more.sealed !== false) expect((await w.post(`/api/v1/containers/${container.id}/seal`)).status).toBe(200)
    return { id: container.id as number, barcode }
  }
  const containerAt = async ({ id }: { id: number }) => (await w.get(`/api/v1/containers/${id}`)).body.container
  const heads = async (many: number) => {
    const product = await w.product()
    const made = []
    for (let n = 0; n < many; n++) made.push(await w.unit(product.id, { asset_number: `U-${++count}` }))
    return { product, units: made as ReadonlyArray<{ id: number; asset_number: string }> }
  }
  return { order, scan, units, box, containerAt, heads, next: () => ++count }
}
