/** A small rental house for tests: stores, products and units by one call each. */
import type { App } from "../app.ts"

export interface SampleBusiness {
  readonly store: (more?: object) => Promise<number>
  /** A bulk product with so many units at the store; the level is `level`. */
  readonly bulk: (
    store_id: number,
    quantity: number,
    more?: object
  ) => Promise<{ readonly id: number; readonly level: number }>
  /** A serialised product with so many units at the store. */
  readonly units: (
    store_id: number,
    count: number,
    more?: object
  ) => Promise<{ readonly id: number; readonly units: ReadonlyArray<number> }>
  readonly unit: (product_id: number, store_id: number, more?: object) => Promise<number>
  /** One called "A job" unless named otherwise. */
  readonly opportunity: (body?: object) => Promise<any>
  readonly post: (path: string, body?: object) => Promise<any>
}
let serial = 0

export const sampleBusiness = (app: App): SampleBusiness => {
  const post = async (path: string, body: object = {}) => {
    const reply = await app.call("POST", `/api/v1${path}`, body)
    if (reply.status !== 201 && reply.status !== 200)
      throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const unit = async (product_id: number, store_id: number, more: object = {}) =>
    (await post("/stock_levels", { product_id, store_id, serial_number: `SN-${++serial}`, ...more })).stock_level
      .id as number
  return {
    post,
    unit,
    opportunity: async (body = {}) => (await post("/opportunities", { subject: "A job", ...body })).opportunity,
    store: async (more = {}) => (await post("/stores", { name: `Store ${++serial}`, ...more })).store.id,
    bulk: async (store_id, quantity, more = {}) => {
      const id = (await post("/products", { name: `Bulk ${++serial}`, ...more })).product.id as number
      return {
        id,
        level: (await post("/stock_levels", { product_id: id, store_id, quantity_held: quantity })).stock_level.id
      }
    },
    units: async (store_id, count, more = {}) => {
      const id = (await post("/products", { name: `Units ${++serial}`, stock_method: 2, ...more })).product.id as number
      const units: Array<number> = []
      for (let at = 0; at < count; at++) units.push(await unit(id, store_id))
      return { id, units }
    }
  }
}
