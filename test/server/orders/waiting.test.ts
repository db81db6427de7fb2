/** Lines waiting for goods, and their notifications (rules/availability 9). */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { journal } from "../../../core/kernel/events/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { waitingSweep } from "../../../server/orders/waiting.ts"
import { engines } from "../../app.ts"
import { house, type House } from "../delivery/webhooks/house.ts"
import { ranOnce } from "../delivery/jobs/words.ts"

const soon = { timeout: 30_000, interval: 20 }
const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }
const july = { starts_at: "2031-07-01T09:00:00Z", ends_at: "2031-07-05T17:00:00Z" }
const outer = { starts_at: "2031-05-20T09:00:00Z", ends_at: "2031-07-20T17:00:00Z" }

interface Deal {
  readonly id: number
  readonly line: number
}

describe.each(engines)("the waiting list on %s", (engine) => {
  let w: House
  beforeAll(async () => {
    w = await house(engine)
  })
  afterAll(() => w.close())

  const product = async (quantity: number) => {
    const id = await w.product({ name: "Hazer", stock_method: 1 })
    return { id, level: await w.hold(id, quantity) }
  }
  const quote = async (product_id: number, quantity: number, when: object = june): Promise<Deal> => {
    const { id, items } = await w.withLine(when, { name: "Hazer", item_id: product_id, quantity, unit_price: null })
    return { id, line: items[0].id }
  }
  const book = ({ id }: Deal) => w.confirm(id)
  const ordered = async (product_id: number, quantity: number, when: object = june): Promise<Deal> => {
    const deal = await quote(product_id, quantity, when)
    await book(deal)
    return deal
  }
  const wait = (deal: Deal, more: object = {}) =>
    w.did(201, "POST", `/opportunities/${deal.id}/shortages/resolve`, { resolution: "waitlist", ...more })
  const shown = async ({ id }: Deal) => (await w.did(200, "GET", `/opportunities/${id}/shortages`)).waiting
  const cancel = ({ id }: Deal) => w.did(200, "POST", `/opportunities/${id}/change_status`, { status: 6 })
  const told = async ({ id }: Deal) =>
    w.run(
      Effect.gen(function* () {
        const store = yield* Store
        return (yield* store.find(
          journal,
          { stream: `opportunity:${id}`, type: ["shortage.waitlist.matched", "shortage.waitlist.left"] },
          { order: ["position"] }
        )).map(({ data, type }) => ({ type: type.replace("shortage.waitlist.", ""), data }))
      })
    )
  const settled = () =>
    expect
      .poll(
        async () =>
          (await w.did(200, "GET", "/system/jobs?q[kind_eq]=opportunities.waiting&q[status_not_eq]=done")).jobs.length,
        soon
      )
      .toBe(0)
  /** Per deal, once no check is pending: each notification as `matched`, or why its line left the list. */
  const outcome = async (...deals: ReadonlyArray<Deal>) => {
    await settled()
    return Promise.all(deals.map(async (deal) => (await told(deal)).map(({ data, type }) => data.reason ?? type)))
  }

  it("adds a short line, and notifies it when a cancelled order frees stock", async () => {
    const { id } = await product(5)
    const other = await ordered(id, 4)
    const deal = await ordered(id, 3)
    const { waiting } = await wait(deal, { note: "Mrs Ito would take them" })
    expect(waiting).toMatchObject([
      {
        opportunity_item_id: deal.line,
        product_id: id,
        quantity: 2,
        requested_quantity: 3,
        free_quantity: 1,
        position: 1,
        waitlisted_by: 1,
        note: "Mrs Ito would take them"
      }
    ])
    expect(await shown(deal)).toEqual(waiting)
    await cancel(other)
    await expect
      .poll(() => told(deal), soon)
      .toMatchObject([
        {
          type: "matched",
          data: {
            opportunity_id: deal.id,
            opportunity_item_id: deal.line,
            product_id: id,
            quantity: 2,
            waitlisted_by: 1,
            waitlisted_at: waiting[0].waitlisted_at
          }
        }
      ])
    expect(await shown(deal)).toEqual([])
    const actions = (await w.did(200, "GET", `/opportunities/${deal.id}/activity`)).activity.map(
      (one: Record<"action", unknown>) => one.action
    )
    expect(actions).toEqual(expect.arrayContaining(["shortage.waitlist.joined", "shortage.waitlist.matched"]))
  })

  /** Changes while a line waits for the 2 that `other` holds, and whether the line is notified. */
  const freeing: ReadonlyArray<
    readonly [string, (given: { other: Deal; level: number; product_id: number }) => Promise<unknown>, boolean]
  > = [
    ["another order is cancelled", ({ other }) => cancel(other), true],
    [
      "another order moves to other dates",
      ({ other }) => w.did(200, "PATCH", `/opportunities/${other.id}/items/${other.line}`, july),
      true
    ],
    [
      "another order's line is deleted",
      ({ other }) => w.did(200, "DELETE", `/opportunities/${other.id}/items/${other.line}`),
      true
    ],
    [
      "another order needs one less",
      ({ other }) => w.did(200, "PATCH", `/opportunities/${other.id}/items/${other.line}`, { quantity: 1 }),
      false
    ],
    [
      "another order moves to earlier dates",
      ({ other }) =>
        w.did(200, "PATCH", `/opportunities/${other.id}/items/${other.line}`, {
          starts_at: "2031-05-20T09:00:00Z",
          ends_at: "2031-05-25T09:00:00Z"
        }),
      true
    ],
    ["enough stock arrives", ({ level }) => w.did(200, "PUT", `/stock_levels/${level}`, { quantity_held: 4 }), true],
    [
      "too little stock arrives",
      ({ level }) => w.did(200, "PUT", `/stock_levels/${level}`, { quantity_held: 3 }),
      false
    ],
    [
      "stock arrives at another store",
      async ({ product_id }) => {
        const { store } = await w.did(201, "POST", "/stores", { name: "Elsewhere" })
        await w.did(201, "POST", "/stock_levels", { product_id, store_id: store.id, quantity_held: 9 })
      },
      false
    ]
  ]
  it.each(freeing)("notifies a line if its store then has enough free stock: %s", async (_case, frees, is_told) => {
    const { id, level } = await product(2)
    const other = await ordered(id, 2)
    const deal = await ordered(id, 2)
    await wait(deal)
    await frees({ other, level, product_id: id })
    expect(await outcome(deal)).toEqual([is_told ? ["matched"] : []])
  })

  it("sends nothing for stock that becomes free on other dates", async () => {
    const { id } = await product(2)
    const [other, later] = [await ordered(id, 2), await ordered(id, 2, july)]
    const deal = await ordered(id, 2)
    await wait(deal)
    await cancel(later)
    expect(await outcome(deal)).toEqual([[]])
    await cancel(other)
    expect(await outcome(deal)).toEqual([["matched"]])
  })

  describe("with several lines", () => {
    it("notifies the first line, and the next once there is enough for both", async () => {
      const { id, level } = await product(1)
      const other = await ordered(id, 1)
      const [first, second] = [await ordered(id, 1), await ordered(id, 1)]
      await wait(first)
      await wait(second)
      expect([(await shown(first))[0].position, (await shown(second))[0].position]).toEqual([1, 2])
      await cancel(other)
      expect(await outcome(first, second)).toEqual([["matched"], []])
      expect((await shown(second))[0].position).toBe(1)
      await w.did(200, "PUT", `/stock_levels/${level}`, { quantity_held: 2 })
      expect(await outcome(first, second)).toEqual([["matched"], ["matched"]])
    })
    it("keeps a notified quotation's position while it is open, and releases it when it is lost", async () => {
      const { id } = await product(1)
      const other = await ordered(id, 1)
      const [first, second] = [await quote(id, 1), await quote(id, 1)]
      await wait(first)
      await wait(second)
      await cancel(other)
      expect(await outcome(first, second)).toEqual([["matched"], []])
      await w.did(200, "PUT", `/opportunities/${second.id}`, { subject: "Again" })
      expect(await outcome(second)).toEqual([[]])
      await w.did(200, "POST", `/opportunities/${first.id}/convert_to_quotation`)
      await w.did(200, "POST", `/opportunities/${first.id}/change_status`, { status: 2 })
      expect(await outcome(first, second)).toEqual([["matched", "closed"], ["matched"]])
    })
    it("puts an order before a quotation that came first", async () => {
      const { id } = await product(1)
      const other = await ordered(id, 1)
      const [offer, promised] = [await quote(id, 1), await ordered(id, 1)]
      await wait(offer)
      await wait(promised)
      expect((await shown(offer))[0].position).toBe(2)
      await cancel(other)
      expect(await outcome(offer, promised)).toEqual([[], ["matched"]])
    })
    it("notifies no line behind one that waits for more, except for other dates", async () => {
      const { id } = await product(3)
      const [one, other] = [await ordered(id, 1, outer), await ordered(id, 2, outer)]
      const [large, small, later] = [await ordered(id, 3), await ordered(id, 1), await ordered(id, 1, july)]
      for (const deal of [large, small, later]) await wait(deal)
      await cancel(one)
      expect(await outcome(large, small, later)).toEqual([[], [], ["matched"]])
      expect((await shown(large))[0]).toMatchObject({ requested_quantity: 3, free_quantity: 1 })
      await cancel(other)
      expect(await outcome(large, small, later)).toEqual([["matched"], [], ["matched"]])
    })
    it("notifies the next line when the one before it is removed, if there is enough", async () => {
      const { id } = await product(2)
      const other = await ordered(id, 2)
      const [first, second] = [await quote(id, 2), await quote(id, 1)]
      await wait(first)
      await wait(second)
      await w.did(200, "PATCH", `/opportunities/${other.id}/items/${other.line}`, { quantity: 1 })
      expect(await outcome(first, second)).toEqual([[], []])
      await w.did(200, "POST", `/opportunities/${first.id}/shortages/leave`, {})
      expect(await outcome(first, second)).toEqual([["asked"], ["matched"]])
    })
  })

  /** Actions that remove the line from the list, or keep it there. */
  const ends: ReadonlyArray<readonly [string, (deal: Deal) => Promise<unknown>, ReadonlyArray<string>, number]> = [
    [
      "a user removes it",
      ({ id, line }) => w.did(200, "POST", `/opportunities/${id}/shortages/leave`, { opportunity_item_ids: [line] }),
      ["asked"],
      0
    ],
    ["the line is deleted", ({ id, line }) => w.did(200, "DELETE", `/opportunities/${id}/items/${line}`), [], 0],
    ["the order is cancelled", cancel, ["closed"], 0],
    [
      "the opportunity is archived",
      async (deal) => {
        await cancel(deal)
        await w.did(204, "DELETE", `/opportunities/${deal.id}`)
      },
      ["closed"],
      0
    ],
    [
      "the dates change to ones with enough stock",
      ({ id, line }) => w.did(200, "PATCH", `/opportunities/${id}/items/${line}`, july),
      ["changed"],
      0
    ],
    [
      "fewer are needed than are free",
      ({ id, line }) => w.did(200, "PATCH", `/opportunities/${id}/items/${line}`, { quantity: 1 }),
      ["changed"],
      0
    ],
    [
      "more are needed",
      ({ id, line }) => w.did(200, "PATCH", `/opportunities/${id}/items/${line}`, { quantity: 9 }),
      [],
      1
    ],
    [
      "the line is renamed",
      ({ id, line }) => w.did(200, "PATCH", `/opportunities/${id}/items/${line}`, { name: "Fog" }),
      [],
      1
    ]
  ]
  it.each(ends)("keeps or removes a line when %s", async (_case, happens, left, waits) => {
    const { id } = await product(3)
    await ordered(id, 2)
    const deal = await ordered(id, 3)
    await wait(deal)
    await happens(deal)
    expect(await outcome(deal)).toEqual([left])
    const rows = await w.sql(`select * from shortage_waits where opportunity_id = ${deal.id}`)
    expect(rows.length).toBe(waits)
  })
  it("keeps a changed line that is still short, and notifies it later", async () => {
    const { id } = await product(3)
    const other = await ordered(id, 2, outer)
    const deal = await ordered(id, 2)
    await wait(deal)
    await w.did(200, "PATCH", `/opportunities/${deal.id}/items/${deal.line}`, july)
    await settled()
    expect((await shown(deal))[0]).toMatchObject({ quantity: 1, starts_at: "2031-07-01T09:00:00.000Z" })
    await cancel(other)
    expect(await outcome(deal)).toEqual([["matched"]])
  })
  it("puts a notified line that waits again at the end", async () => {
    const { id, level } = await product(0)
    const [first, second] = [await ordered(id, 1), await ordered(id, 1)]
    await wait(first)
    await wait(second)
    await w.did(200, "PUT", `/stock_levels/${level}`, { quantity_held: 1 })
    expect(await outcome(first, second)).toEqual([["matched"], []])
    await w.did(200, "PUT", `/stock_levels/${level}`, { quantity_held: 0 })
    await wait(first)
    expect([(await shown(first))[0].position, (await shown(second))[0].position]).toEqual([2, 1])
  })

  it("notifies a line once when two orders are cancelled at once", async () => {
    const { id } = await product(2)
    const [one, other] = [await ordered(id, 1), await ordered(id, 1)]
    const deal = await ordered(id, 2)
    await wait(deal)
    await Promise.all([cancel(one), cancel(other)])
    expect(await outcome(deal)).toEqual([["matched"]])
  })
  it("leaves no line waiting that is added while the stock becomes free", async () => {
    for (const _round of [1, 2, 3]) {
      const { id } = await product(2)
      const other = await ordered(id, 2)
      const deal = await quote(id, 2)
      await Promise.all([
        cancel(other),
        w.ask(`/api/v1/opportunities/${deal.id}/shortages/resolve`, { json: { resolution: "waitlist" } })
      ])
      await settled()
      expect(await shown(deal)).toEqual([])
    }
  })
  it("is checked by the hourly sweep, if stock grew without an event", async () => {
    const { id } = await product(1)
    await ordered(id, 1)
    const deal = await ordered(id, 1)
    await wait(deal)
    await settled()
    // Stock grows without an event, as if a server had stopped before it checked the line.
    await w.sql(`update stock_levels set quantity_held = quantity_held * 2 where product_id = ${id}`)
    for (const hour of ["00", "01"])
      await w.run(ranOnce(waitingSweep.kind, { due_at: `2026-06-18T${hour}:27:00.000Z` }))
    expect(await outcome(deal)).toEqual([["matched"]])
  })

  it.each([
    [{ supplier_id: 1 }, "supplier_id"],
    [{ sub_rental: true }, "sub_rental"],
    [{ lines: [{ opportunity_item_id: 999_999 }] }, "lines.0.opportunity_item_id"],
    [{ currency: "EUR" }, "currency"]
  ])("refuses to add a line with %o", async (more, field) => {
    const { id } = await product(0)
    const deal = await quote(id, 1)
    const path = `/opportunities/${deal.id}/shortages/resolve`
    expect((await w.did(422, "POST", path, { resolution: "waitlist", ...more })).errors).toHaveProperty([field])
  })
  it("refuses a duplicate line, lines that are not short, and removing a line not on the list", async () => {
    const { id, level } = await product(0)
    const deal = await quote(id, 1)
    const path = `/opportunities/${deal.id}/shortages`
    const lines = [{ opportunity_item_id: deal.line }]
    expect((await w.did(422, "POST", `${path}/leave`, {})).errors).toHaveProperty("opportunity_item_ids")
    await wait(deal, { lines })
    for (const [more, field] of [
      [{ lines }, "lines.0.opportunity_item_id"],
      [{}, "shortages"]
    ] as const)
      expect((await w.did(422, "POST", `${path}/resolve`, { resolution: "waitlist", ...more })).errors).toHaveProperty([
        field
      ])
    await w.did(200, "PUT", `/stock_levels/${level}`, { quantity_held: 1 })
    await settled()
    expect((await w.did(422, "POST", `${path}/resolve`, { resolution: "waitlist" })).errors).toHaveProperty("shortages")
    expect((await w.did(422, "POST", `${path}/leave`, { opportunity_item_ids: [deal.line] })).errors).toHaveProperty([
      "opportunity_item_ids.0"
    ])
  })
})
