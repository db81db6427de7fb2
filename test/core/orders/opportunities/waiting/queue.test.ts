/** Rows of the table in rules/availability 9: which waiting line is notified. */
import { describe, expect, it } from "vitest"
import type { Demand } from "../../../../../core/orders/availability/rules/demand.ts"
import { lookAtQueue, type Queued, settleQueue } from "../../../../../core/orders/opportunities/waiting/decide.ts"
import type { WaitRow } from "../../../../../core/orders/opportunities/tables/lines.ts"
import { bulk, demand, product, snapshot } from "../../availability/api/fixtures.ts"

const now = "2031-05-01T09:00:00.000Z"
const june = { starts_at: "2031-06-01T09:00:00.000Z", ends_at: "2031-06-05T17:00:00.000Z" }
const july = { starts_at: "2031-07-01T09:00:00.000Z", ends_at: "2031-07-05T17:00:00.000Z" }
type Window = typeof june

const claimOf = (id: number, quantity: number, { ends_at, starts_at }: Window = june): Demand =>
  demand(quantity, starts_at, ends_at, { id, source_id: id, product_id: 5, opportunity_id: id })

interface Asked {
  readonly wants: number
  readonly as?: "order" | "quote" | "told quote"
  readonly when?: Window
  /** Quantity of the line when it began to wait. */
  readonly wanted?: number
  readonly gone?: boolean
}
const queued = (id: number, { as = "order", gone = false, wanted, wants, when = june }: Asked): Queued => {
  const row: WaitRow = {
    id,
    opportunity_id: id,
    opportunity_item_id: id,
    product_id: 5,
    store_id: 1,
    status: as === "told quote" ? "matched" : "waiting",
    quantity: wants,
    requested_quantity: wanted ?? wants,
    ...when,
    waitlisted_by: 1,
    waitlisted_at: `2031-04-01T09:00:0${id}.000Z`,
    matched_at: null,
    note: null,
    created_at: now,
    updated_at: now,
    deleted_at: null
  }
  return {
    row,
    line: gone ? undefined : { id, product_id: 5, store_id: 1, quantity: wants, ...when },
    gone: "closed",
    holds: as === "order",
    demands: gone ? [] : [claimOf(id, wants, when)]
  }
}

const look = (stock: number, others: number, all: ReadonlyArray<Asked>) => {
  const queue = all.map((one, at) => queued(at + 1, one))
  const given = snapshot({
    now,
    stock: [bulk(stock, { product_id: 5 })],
    products: [product(5)],
    demands: [
      ...(others === 0 ? [] : [claimOf(99, others)]),
      ...queue.filter(({ holds }) => holds).flatMap(({ demands }) => demands)
    ]
  })
  return lookAtQueue(new Map([[1, given]]), queue)
}
/** Type of the event for each line, by id. */
const outcome = (stock: number, others: number, all: ReadonlyArray<Asked>): { readonly [id: number]: string } =>
  Object.fromEntries(
    settleQueue(look(stock, others, all), now).map(({ event, opportunity_id }) => [
      opportunity_id,
      event.type.replace("shortage.waitlist.", "")
    ])
  )

const line = (wants: number, as: Asked["as"] = "order", more: Partial<Asked> = {}): Asked => ({ wants, as, ...more })
const cases: ReadonlyArray<readonly [number, number, ReadonlyArray<Asked>, object]> = [
  [2, 2, [line(2)], {}],
  [2, 0, [line(2)], { 1: "matched" }],
  [2, 1, [line(2)], {}],
  [1, 0, [line(1), line(1)], { 1: "matched" }],
  [2, 0, [line(1), line(1)], { 1: "matched", 2: "matched" }],
  [1, 0, [line(1, "told quote"), line(1, "quote")], {}],
  [2, 0, [line(1, "told quote"), line(1, "quote")], { 2: "matched" }],
  [1, 0, [line(1, "told quote"), line(1)], { 2: "matched" }],
  [1, 0, [line(1, "quote"), line(1)], { 2: "matched" }],
  [3, 2, [line(3), line(1)], {}],
  [3, 2, [line(3, "order", { when: july }), line(1)], { 1: "matched", 2: "matched" }],
  [3, 2, [line(3, "quote"), line(1, "quote")], {}],
  [1, 1, [line(1)], {}],
  // Lines that were changed or removed while waiting.
  [2, 0, [line(1, "order", { wanted: 3 })], { 1: "left" }],
  [2, 2, [line(1, "order", { wanted: 3 })], { 1: "changed" }],
  [2, 0, [line(9, "order", { gone: true }), line(2)], { 1: "left", 2: "matched" }]
]

describe("lines that wait for stock", () => {
  it.each(cases)(
    "are matched in queue order: with stock %i, %i reserved and queue %o, the changes are %o",
    (stock, others, all, expected) => {
      expect(outcome(stock, others, all)).toEqual(expected)
    }
  )
  it("wait for no more than the changed line requests, although more is overbooked", () => {
    const [changed] = settleQueue(look(2, 7, [line(2, "order", { wanted: 3 })]), now)
    expect(changed?.event.data).toMatchObject({ set: { requested_quantity: 2, quantity: 2 } })
  })
  it("report the available quantity of each line, in queue order", () => {
    const looked = look(3, 1, [line(1), line(4), line(1)])
    expect(looked.map(({ found }) => found?.available_for_item)).toEqual([2, 1, -3])
  })
})
