/** Requests that scenarios of opportunities share. */
import { expect } from "vitest"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import type { App, Reply } from "../../app.ts"
import { sampleBusiness } from "../fixtures.ts"

export const opportunity_path = "/api/v1/opportunities"
/** Whole days: 4. */
export const fourDays = { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-05T17:00:00Z" }
export const lineL = { name: "Line L", quantity: "2", unit_price: "50.00" }

/** An opportunity, and the line of it a test works on. */
export interface Ordered {
  readonly id: number
  readonly line: { readonly id: number }
}
export interface OpportunityFixture {
  readonly app: App
  readonly post: (path: string, body?: unknown, viewer?: Viewer) => Promise<Reply>
  readonly put: (path: string, body?: unknown, viewer?: Viewer) => Promise<Reply>
  readonly patch: (path: string, body?: unknown, viewer?: Viewer) => Promise<Reply>
  readonly remove: (path: string, viewer?: Viewer) => Promise<Reply>
  readonly get: (path: string, viewer?: Viewer) => Promise<Reply>
  /** What the answer of a call that must succeed holds under `key`. */
  readonly made: (path: string, body: unknown, key: string) => Promise<any>
  readonly opportunity: (body?: object) => Promise<any>
  readonly withLine: (body?: object, line?: object) => Promise<any>
  readonly product: (body?: object) => Promise<any>
  readonly unit: (product_id: number, body?: object) => Promise<any>
  /** A draft made a quotation and then an order, which must succeed. */
  readonly convertToOrder: (id: number) => Promise<void>
  /** An order of so many of a product on one line, at 10.00 each. */
  readonly order: (product_id: number, quantity: number, dates: object) => Promise<Ordered>
  readonly allocate: (order: Ordered, ...unit_ids: ReadonlyArray<number>) => Promise<Reply>
}
export const opportunityFixture = (app: App): OpportunityFixture => {
  const call = (method: string) => (path: string, body?: unknown, viewer?: Viewer) =>
    app.call(method, path, body, viewer)
  const post = call("POST")
  const made: OpportunityFixture["made"] = async (path, body, key) => {
    const reply = await post(path, body)
    expect([200, 201], JSON.stringify(reply.body)).toContain(reply.status)
    return reply.body[key]
  }
  let count = 0
  const opportunity: OpportunityFixture["opportunity"] = (body = {}) =>
    sampleBusiness(app).opportunity({ store_id: 1, ...body })
  const withLine: OpportunityFixture["withLine"] = async (body = {}, line = lineL) => {
    const { id } = await opportunity(body)
    return made(`${opportunity_path}/${id}/items`, line, "opportunity")
  }
  const convertToOrder: OpportunityFixture["convertToOrder"] = async (id) => {
    await post(`${opportunity_path}/${id}/convert_to_quotation`)
    const reply = await post(`${opportunity_path}/${id}/convert_to_order`)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  }
  return {
    app,
    post,
    put: call("PUT"),
    patch: call("PATCH"),
    made,
    opportunity,
    withLine,
    convertToOrder,
    order: async (product_id, quantity, dates) => {
      const line = { name: "Unit", item_id: product_id, quantity, unit_price: "10.00" }
      const { id, items } = await withLine({ subject: `Gig ${product_id}`, ...dates }, line)
      await convertToOrder(id)
      return { id, line: items[0] }
    },
    allocate: ({ id, line }, ...unit_ids) =>
      post(`${opportunity_path}/${id}/quick_allocate`, {
        allocations: unit_ids.map((stock_level_id) => ({ opportunity_item_id: line.id, stock_level_id }))
      }),
    get: (path, viewer) => app.call("GET", path, undefined, viewer),
    remove: (path, viewer) => app.call("DELETE", path, undefined, viewer),
    product: (body = {}) =>
      made("/api/v1/products", { name: `Product ${++count}`, stock_method: 2, ...body }, "product"),
    unit: (product_id, body = {}) =>
      made("/api/v1/stock_levels", { product_id, store_id: 1, asset_number: `A-${++count}`, ...body }, "stock_level")
  }
}
