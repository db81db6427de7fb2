/** Scenarios of purchase orders, run on a server of either engine and on an offline device. */
import { expect } from "vitest"
import type { Answering, Look, Reply, Scenario as Told } from "./playing.ts"
import { type Calling, callingOf, type Made } from "./calling.ts"
import { orderDraftScenarios } from "./scenarios/purchase-order-drafts.ts"
import { orderLineScenarios } from "./scenarios/purchase-order-lines.ts"
import { orderStatusScenarios } from "./scenarios/purchase-order-status.ts"

export const orders = "/api/v1/purchase_orders"
export const opp = "/api/v1/opportunities"

export type Scenario = Told<number, Scene>
export const scenario = (n: number, title: string, run: Scenario["run"]): Scenario => ({ n, title, run })

export interface Scene extends Calling {
  readonly name: string
  /** Creates an organisation, taxed by default. */
  readonly supplier: (body?: object) => Promise<Made<"member">>
  readonly product: (body?: object) => Promise<Made<"product">>
  /** Creates a sub-hire, by default one line at 100.00 with a hire period. */
  readonly order: (body?: object) => Promise<Made<"purchase_order">>
  readonly sent: (body?: object) => Promise<Made<"purchase_order">>
  readonly send: (id: number, body?: object) => Promise<Reply>
  readonly shown: (id: number, include?: string) => Promise<Made<"purchase_order">>
  /** Creates an opportunity with one line. */
  readonly deal: () => Promise<{ readonly id: number; readonly subject: string; readonly line: number }>
}
export const starts_at = "2031-09-01T09:00:00.000Z"
export const ends_at = "2031-09-05T17:00:00.000Z"
export const hundred = { name: "Truss", unit_cost: "100.00" }
export const sceneOf = (n: number, by: Answering, looks: Array<Look>): Scene => {
  const name = `Order ${String(n).padStart(3, "0")}`
  let count = 0
  const calling = callingOf(by, looks)
  const { made, post } = calling
  const supplier: Scene["supplier"] = (body = {}) =>
    made(
      "/api/v1/members",
      { name: `${name} supplier ${++count}`, membership_type: "organisation", purchase_tax_class_id: 1, ...body },
      "member"
    )
  const order: Scene["order"] = async (body = {}) =>
    made(
      orders,
      {
        subject: name,
        starts_at,
        ends_at,
        items: [hundred],
        ...("supplier_id" in body ? {} : { supplier_id: (await supplier()).id }),
        ...body
      },
      "purchase_order"
    )
  const send: Scene["send"] = (id, body = {}) => post(`${orders}/${id}/send`, body)
  return {
    ...calling,
    name,
    supplier,
    order,
    send,
    product: (body = {}) =>
      made("/api/v1/products", { name: `${name} product ${++count}`, purchase_tax_class_id: 1, ...body }, "product"),
    sent: async (body) => {
      const reply = await send((await order(body)).id)
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      return reply.body.purchase_order
    },
    shown: async (id, include = "items") =>
      (await by.ask("GET", `${orders}/${id}?include=${include}`)).body.purchase_order,
    deal: async () => {
      const { id, subject } = await made(
        opp,
        { subject: `${name} deal ${++count}`, store_id: 1, starts_at, ends_at },
        "opportunity"
      )
      await made(`${opp}/${id}/items`, { name: "Line", quantity: "2", unit_price: "50.00" }, "opportunity")
      const { items } = (await by.ask("GET", `${opp}/${id}?include=items`)).body.opportunity
      return { id, subject, line: items[0].id }
    }
  }
}

export const scenarios: ReadonlyArray<Scenario> = [
  ...orderDraftScenarios(),
  ...orderLineScenarios(),
  ...orderStatusScenarios()
]
