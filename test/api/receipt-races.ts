/** Concurrent requests for one delivery over the API on Postgres: each piece is received once. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Body, Listed } from "../answers.ts"
import { houseAt } from "./calling.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

const path = "/api/v1/purchase_orders"
interface Quay {
  readonly server: Serving
  readonly product: (set?: object) => Promise<number>
  /** Creates a sent purchase order of these lines. */
  readonly sent: (set: object, ...items: ReadonlyArray<object>) => Promise<Body["purchase_order"]>
  readonly post: (id: number, what: string, json?: object) => Promise<Got>
  readonly shown: (id: number) => Promise<Body["purchase_order"]>
  readonly levels: (product_id: number) => Promise<Body["stock_levels"]>
}
const quayAt = async (server: Serving): Promise<Quay> => {
  const house = houseAt(server)
  const supplier_id = await house.customer({ name: "Lender" })
  const post: Quay["post"] = (id, what, json = {}) => server.ask(`${path}/${id}/${what}`, { method: "POST", json })
  const shown: Quay["shown"] = async (id) => (await server.ask(`${path}/${id}?include=items`)).body.purchase_order
  return {
    server,
    post,
    shown,
    product: (set = {}) => house.product({ stock_method: 1, ...set }),
    sent: async (set, ...items) => {
      const hire = { starts_at: "2030-07-01T00:00:00Z", ends_at: "2030-07-09T00:00:00Z" }
      const { id } = await house.create("/purchase_orders", { supplier_id, ...hire, items, ...set })
      expect((await post(id, "send")).status).toBe(200)
      return shown(id)
    },
    levels: async (product_id) =>
      (await server.ask(`/api/v1/stock_levels?q[product_id_eq]=${product_id}&per_page=100`)).body.stock_levels
  }
}
const accepted = (replies: ReadonlyArray<Got>): number => {
  for (const { status, text } of replies) expect([200, 422], text).toContain(status)
  return replies.filter(({ status }) => status === 200).length
}
const held = (levels: ReadonlyArray<Listed<"stock_levels">>): number =>
  levels.reduce((sum, one) => sum + Number(one.stock_category === 50 ? 1 : one.quantity_held), 0)

/** Eight people each receive one of five pieces, of a bulk and of a serialised line; sub-hired and bought by turns. */
const piecesComeOnce = async (quay: Quay, round: number): Promise<void> => {
  const [cables, heads] = [await quay.product(), await quay.product({ stock_method: 2 })]
  const { id, items } = await quay.sent(
    { po_type: round % 2 === 0 ? "sub_hire" : "purchase" },
    { product_id: cables, quantity: "5" },
    { product_id: heads, quantity: "5" }
  )
  for (const [at, product_id] of [cables, heads].entries()) {
    const lines = [{ item_id: items[at]!.id, quantity: "1" }]
    const replies = await Promise.all(Array.from({ length: 8 }, () => quay.post(id, "receive", { lines })))
    expect(accepted(replies)).toBe(5)
    expect((await quay.shown(id)).items[at]!.received_quantity).toBe("5.00")
    expect(held(await quay.levels(product_id))).toBe(5)
  }
  expect((await quay.shown(id)).status).toBe("received")
}
/** Four orders of the same bought product, each received twice at once: one stock level holds the pieces of all. */
const ordersShareALevel = async (quay: Quay): Promise<void> => {
  const product_id = await quay.product()
  const orders = await Promise.all(
    Array.from({ length: 4 }, () => quay.sent({ po_type: "purchase" }, { product_id, quantity: "3" }))
  )
  const replies = await Promise.all(
    orders.flatMap(({ id, items }) =>
      [1, 2].map(() => quay.post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "3" }] }))
    )
  )
  expect(accepted(replies)).toBe(4)
  expect((await quay.levels(product_id)).map((one) => one.quantity_held)).toEqual(["12.00"])
}
/** A serial number scanned by several people at once ends on one unit. */
const serialsAreOnce = async (quay: Quay, round: number): Promise<void> => {
  const product_id = await quay.product({ stock_method: 2 })
  const orders = await Promise.all([1, 2, 3, 4].map(() => quay.sent({}, { product_id, quantity: "2" })))
  const replies = await Promise.all(
    orders.map(({ id, items }) =>
      quay.post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "1", serial_numbers: [`RACE-${round}`] }] })
    )
  )
  expect(accepted(replies)).toBe(1)
  expect(await quay.levels(product_id)).toHaveLength(1)
}
/** Goods are returned once, while more of them arrive. */
const goBackOnce = async (quay: Quay): Promise<void> => {
  const product_id = await quay.product()
  const { id, items } = await quay.sent({}, { product_id, quantity: "8" })
  const item_id = items[0].id
  await quay.post(id, "receive", { lines: [{ item_id, quantity: "4" }] })
  const replies = await Promise.all([
    ...Array.from({ length: 6 }, () => quay.post(id, "return", { lines: [{ item_id, quantity: "2" }] })),
    quay.post(id, "receive", { lines: [{ item_id, quantity: "1" }] }),
    quay.post(id, "receive", { lines: [{ item_id, quantity: "1" }] })
  ])
  accepted(replies)
  const [item] = (await quay.shown(id)).items
  expect(item.received_quantity).toBe("6.00")
  expect(["4.00", "6.00"]).toContain(item.returned_quantity)
  const levels = (await quay.levels(product_id)).filter((one) => one.is_sub_hired)
  expect(held(levels)).toBe(6)
  expect(held(levels.filter((one) => one.given_back_at === null))).toBe(6 - Number(item.returned_quantity))
}

/**
 * Units arrive and go back while jobs reserve them: nothing fails, no unit is reserved twice, and each job's flag
 * agrees with its shortages.
 */
const comeWhileJobsTakeThem = async (quay: Quay): Promise<void> => {
  const opportunities = "/api/v1/opportunities"
  const send = (path: string, json: object = {}) => quay.server.ask(path, { method: "POST", json })
  const product_id = await quay.product({ stock_method: 2 })
  const { id, items } = await quay.sent({}, { product_id, quantity: "4" })
  const lines = [{ item_id: items[0].id, quantity: "1" }]
  for (const _ of [1, 2]) await quay.post(id, "receive", { lines })
  const units = await quay.levels(product_id)
  const window = { starts_at: "2030-07-02T08:00:00Z", ends_at: "2030-07-03T08:00:00Z" }
  const jobs = await Promise.all(
    [1, 2].map(async (): Promise<{ id: number; line: number }> => {
      const made = await send(opportunities, { subject: "Job", store_id: units[0].store_id, ...window })
      const job: number = made.body.opportunity.id
      const line = { name: "Line", item_id: product_id, quantity: "2" }
      const added = await send(`${opportunities}/${job}/items`, line)
      for (const move of ["convert_to_quotation", "convert_to_order"]) await send(`${opportunities}/${job}/${move}`)
      return { id: job, line: added.body.opportunity.items[0].id }
    })
  )
  const take = (job: { id: number; line: number }, unit: Record<"id", unknown>) =>
    send(`${opportunities}/${job.id}/items/${job.line}/assets`, { stock_level_id: unit.id })
  const replies = await Promise.all([
    ...[1, 2].map(() => quay.post(id, "receive", { lines })),
    ...jobs.flatMap((job) => units.map((unit) => take(job, unit))),
    quay.post(id, "return", { lines: [{ item_id: items[0].id, stock_level_ids: [units[0].id] }] }),
    quay.post(id, "extend", { ends_at: "2030-07-12T00:00:00Z" })
  ])
  for (const { status, text } of replies) expect([200, 201, 422], text).toContain(status)
  for (const job of jobs) {
    const shown = (await quay.server.ask(`${opportunities}/${job.id}`)).body.opportunity
    const { shortages } = (await quay.server.ask(`${opportunities}/${job.id}/shortages`)).body
    expect(shown.has_shortage).toBe(shortages.some((one) => one.remaining_shortfall > 0))
  }
  const [item] = (await quay.shown(id)).items
  const left = (await quay.levels(product_id)).filter((one) => one.is_sub_hired && one.given_back_at === null)
  expect(left).toHaveLength(Number(item.received_quantity) - Number(item.returned_quantity))
}

/** Declares the races, each repeated `rounds` times. */
export const receiptRaces = (rounds: number): void => {
  describe(`concurrent receipts on pg, ${rounds} times`, () => {
    let server: Serving, quay: Quay
    beforeAll(async () => {
      server = await serve("pg")
      quay = await quayAt(server)
    })
    afterAll(() => server.close())
    const again = (race: (quay: Quay, round: number) => Promise<void>) => async () => {
      for (let round = 1; round <= rounds; round++) await race(quay, round)
    }

    it("receive five pieces once each from eight requests for one piece", again(piecesComeOnce))
    it("add up in one stock level across several orders", again(ordersShareALevel))
    it("create one unit for one serial number", again(serialsAreOnce))
    it("return no more goods than were received, while more arrive", again(goBackOnce))
    it(
      "keep units and shortage flags consistent while units are received, returned and allocated",
      again(comeWhileJobsTakeThem)
    )
  })
}
