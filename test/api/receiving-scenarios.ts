/** Deliveries from and returns to suppliers, run on every runtime (see `playing.ts`). */
import { expect } from "vitest"
import type { Answering, Look, Reply, Scenario as Told } from "./playing.ts"
import { type Calling, callingOf, type Made } from "./calling.ts"
import type { Body } from "../answers.ts"
import type { Order } from "../rental-house.ts"

export const orders = "/api/v1/purchase_orders"
export const now = "2026-06-18T12:00:00.000Z"
/** Start of the hire of five days. */
export const from = "2026-06-20T00:00:00.000Z"
export const to = "2026-06-25T00:00:00.000Z"
export type Scenario = Told<string, Scene>
export const scenario = (n: string, title: string, run: Scenario["run"]): Scenario => ({ n, title, run })

export interface Scene extends Calling {
  readonly supplier: () => Promise<number>
  readonly product: (set?: object) => Promise<number>
  /** Creates a serialised product. */
  readonly units: (set?: object) => Promise<number>
  /** Creates a draft of these lines, by default sub-hired for the five days. */
  readonly draft: (set: object, ...items: ReadonlyArray<object>) => Promise<Made<"purchase_order">>
  /** Creates and sends such a draft. */
  readonly sent: (set: object, ...items: ReadonlyArray<object>) => Promise<Made<"purchase_order">>
  readonly receive: (id: number, lines: ReadonlyArray<object>, more?: object) => Promise<Reply>
  readonly giveBack: (id: number, body?: object) => Promise<Reply>
  readonly shown: (id: number) => Promise<Made<"purchase_order">>
  /** Stock of a product at the store on a day. */
  readonly total: (product_id: number, day: string) => Promise<number>
  readonly levels: (product_id: number) => Promise<Body["stock_levels"]>
  /** Creates an opportunity for the five days with one line of this product. */
  readonly job: (product_id: number, quantity: number, set?: object) => Promise<Order>
  readonly refused: (reply: Promise<Reply>, field: string, words?: RegExp) => Promise<void>
}

export const sceneOf = (n: string, by: Answering, looks: Array<Look>): Scene => {
  const calling = callingOf(by, looks)
  const { get, made, post } = calling
  const supplier: Scene["supplier"] = async () =>
    (await made("/api/v1/members", { name: `Supplier of ${n}`, membership_type: "organisation" }, "member")).id
  const product: Scene["product"] = async (set = {}) =>
    (await made("/api/v1/products", { name: `Cable of ${n}`, stock_method: 1, ...set }, "product")).id
  const draft: Scene["draft"] = async (set, ...items) =>
    made(
      `${orders}?include=items`,
      { supplier_id: await supplier(), subject: `Scenario ${n}`, starts_at: from, ends_at: to, items, ...set },
      "purchase_order"
    )
  return {
    ...calling,
    supplier,
    product,
    units: (set = {}) => product({ name: `Head of ${n}`, stock_method: 2, ...set }),
    draft,
    sent: async (set, ...items) => {
      const { id } = await draft(set, ...items)
      return made(`${orders}/${id}/send?include=items`, {}, "purchase_order")
    },
    receive: (id, lines, more = {}) => post(`${orders}/${id}/receive`, { lines, ...more }),
    giveBack: (id, body = {}) => post(`${orders}/${id}/return`, body),
    shown: async (id) => (await get(`${orders}/${id}?include=items`)).body.purchase_order,
    total: async (product_id, day) =>
      (await get(`/api/v1/availability?product_id=${product_id}&store_id=1&date=${day}`)).body.availability.total_stock,
    levels: async (product_id) =>
      (await get(`/api/v1/stock_levels?q[product_id_eq]=${product_id}&per_page=100&sort=id`)).body.stock_levels,
    job: async (product_id, quantity, set = {}) => {
      const opportunity = await made(
        "/api/v1/opportunities",
        {
          subject: `Job of ${n}`,
          store_id: 1,
          starts_at: "2026-06-21T08:00:00.000Z",
          ends_at: "2026-06-23T18:00:00.000Z",
          ...set
        },
        "opportunity"
      )
      const after = await made(
        `/api/v1/opportunities/${opportunity.id}/items`,
        { name: "Line", item_id: product_id, quantity: String(quantity) },
        "opportunity"
      )
      return { ...after, line: after.items[0] }
    },
    refused: async (reply, field, words = /./) => {
      const { body, status } = await reply
      expect([status, Object.keys(body.errors ?? {})], JSON.stringify(body)).toEqual([422, [field]])
      expect(body.errors[field][0]).toMatch(words)
    }
  }
}
