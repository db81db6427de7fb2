/**
 * Concurrent requests for one purchase order over the API on Postgres: of two that exclude each other exactly one
 * succeeds.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { RentalHouse } from "../rental-house.ts"
import { houseAt } from "./calling.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

const path = "/api/v1/purchase_orders"
describe("concurrent requests for purchase orders on pg", () => {
  let server: Serving, house: RentalHouse, supplier_id: number
  beforeAll(async () => {
    server = await serve("pg")
    house = houseAt(server)
    supplier_id = await house.customer({ name: "Rig Hire" })
  })
  afterAll(() => server.close())
  const draft = () =>
    house.create("/purchase_orders", {
      ...{ supplier_id, po_type: "purchase", items: [{ name: "Truss", quantity: "4", unit_cost: "25.00" }] }
    })
  const post = (id: number, what: string, json: object = {}): Promise<Got> =>
    server.ask(`${path}/${id}/${what}`, { method: "POST", json })
  const put = (id: number, json: object): Promise<Got> => server.ask(`${path}/${id}`, { method: "PUT", json })
  const shown = async (id: number) => (await server.ask(`${path}/${id}?include=items`)).body.purchase_order
  const events = async (id: number, action: string): Promise<number> =>
    (
      await server.ask(`/api/v1/actions?q[auditable_type_eq]=purchase_order&q[auditable_id_eq]=${id}`)
    ).body.actions.filter((one) => one.action === action).length

  it("send the order once when eight requests to send it arrive at once", async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await draft()
      const replies = await Promise.all(Array.from({ length: 8 }, () => post(id, "send")))
      expect(replies.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(422)])
      expect(await events(id, "purchase_order.sent")).toBe(1)
    }
  })
  it("leave an order cancelled that is sent and cancelled at once", async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await draft()
      const [sent, cancelled] = await Promise.all([post(id, "send"), post(id, "cancel")])
      expect(cancelled.status).toBe(200)
      const end = await shown(id)
      expect([end.status, end.sent_at !== null]).toEqual(["cancelled", sent.status === 200])
      expect([200, 422]).toContain(sent.status)
    }
  })
  it("send the lines as stored when they change at the same time", async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await draft()
      const items = [{ name: "Motor", quantity: "2", unit_cost: "10.00" }]
      const [changed, sent] = await Promise.all([put(id, { items }), post(id, "send")])
      expect(sent.status).toBe(200)
      const end = await shown(id)
      expect([end.status, end.items.map((item) => item.name), end.total]).toEqual(
        changed.status === 200 ? ["sent", ["Motor"], "20.00"] : ["sent", ["Truss"], "100.00"]
      )
    }
  })
  it("either delete the order or send it, never both", async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await draft()
      const [removed, sent] = await Promise.all([server.ask(`${path}/${id}`, { method: "DELETE" }), post(id, "send")])
      expect([removed.status, sent.status]).toEqual(removed.status === 204 ? [204, 404] : [422, 200])
    }
  })
  it("number sixteen new orders without a gap, although other requests are refused", async () => {
    const before = Number((await draft()).number)
    const clients = Array.from({ length: 16 }, async () => {
      const refused = await server.ask(path, { method: "POST", json: { supplier_id, items: [{ quantity: "1" }] } })
      expect(refused.status).toBe(422)
      return Number((await draft()).number)
    })
    const numbers = (await Promise.all(clients)).toSorted((one, other) => one - other)
    expect(numbers).toEqual(Array.from({ length: 16 }, (_, at) => before + 1 + at))
  })
})
