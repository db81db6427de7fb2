/** Goods from suppliers, from outside: rules/billing 2.3 (receive, stock intake), rulings 25, interface 4.12. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { now, refusal } from "./billing-black-box.ts"
import { everything, keyed, openYard, type Yard } from "./procurement-black-box.ts"

const day = (date: string): string => `${date}T00:00:00.000Z`

describe.each(engines)("A receipt, on %s (rules/billing 2.3)", (engine) => {
  let yard: Yard
  beforeAll(async () => {
    yard = await openYard(engine)
  })
  afterAll(() => yard.close())
  const crane = (quantity: unknown, more: object = {}): object => ({ name: "Crane", quantity, unit_cost: 1, ...more })
  const sent = (...items: ReadonlyArray<object>): Promise<any> => yard.sent({ items })
  const counts = (order: any): ReadonlyArray<unknown> => [
    order.status,
    ...order.items.map((one: any) => `${one.received_quantity} of ${one.quantity}, ${one.outstanding_quantity} to come`)
  ]

  it("of everything ends the order", async () => {
    const { id, items } = await sent(crane(2), crane(1))
    const got = await yard.receive(id, items.map(everything))
    expect([got.status, Object.keys(got.body).sort()], got.text).toEqual([200, ["meta", "purchase_order"]])
    expect(counts(got.body.purchase_order)).toEqual([
      ...["received", "2.00 of 2.00, 0.00 to come", "1.00 of 1.00, 0.00 to come"]
    ])
    expect(got.body.purchase_order).toMatchObject({ id, status_name: "Received", received_at: now })
    const { receipt } = got.body.meta
    expect([typeof receipt.id, receipt.received_at, receipt.lines.length]).toEqual(["number", now, 2])
    expect(receipt.lines).toMatchObject([
      { item_id: items[0].id, quantity: "2.00" },
      { item_id: items[1].id, quantity: "1.00" }
    ])
  })
  it("of a part leaves the rest to come, as often as it takes", async () => {
    const { id, items } = await sent(crane("2.5"), crane(1))
    const one = async (item: any, quantity: unknown) =>
      (await yard.receive(id, [{ item_id: item.id, quantity }])).body.purchase_order
    const first = await one(items[0], "1.25")
    expect(counts(first)).toEqual(["partially_received", "1.25 of 2.50, 1.25 to come", "0.00 of 1.00, 1.00 to come"])
    expect([first.received_at, first.status_name]).toEqual([null, "Partially Received"])
    const second = await one(items[1], 1)
    expect(counts(second)).toEqual(["partially_received", "1.25 of 2.50, 1.25 to come", "1.00 of 1.00, 0.00 to come"])
    yard.setClock("2026-06-19T08:00:00.000Z")
    const last = await one(items[0], "1.25")
    yard.setClock(now)
    expect([...counts(last), last.received_at]).toEqual([
      ...["received", "2.50 of 2.50, 0.00 to come", "1.00 of 1.00, 0.00 to come", "2026-06-19T08:00:00.000Z"]
    ])
  })
  it("shows the rows without being asked to", async () => {
    const { id, items } = await sent(crane(1))
    const { purchase_order } = (await yard.receive(id, items.map(everything))).body
    expect(purchase_order.items.map((one: any) => one.id)).toEqual([items[0].id])
    expect([purchase_order.supplier, purchase_order.store]).toEqual([null, null])
  })
  it("keeps when the goods came, by which paper, and what was said of them", async () => {
    const { id, items } = await sent(crane(1))
    const received_at = "2026-06-17T07:30:00.000Z"
    const lines = [{ item_id: items[0].id, quantity: 1, notes: "A scratch" }]
    const { body } = await yard.receive(id, lines, { received_at, reference: "DN 7", notes: "By lorry" })
    expect(body.meta.receipt).toMatchObject({ received_at })
    expect(body.purchase_order.received_at).toBe(received_at)
  })
  it("names a row by its longer name as well", async () => {
    const { id, items } = await sent(crane(1))
    const got = await yard.receive(id, [{ purchase_order_item_id: items[0].id, quantity: 1 }])
    expect([got.status, got.body.purchase_order?.status], got.text).toEqual([200, "received"])
  })
  it("sums up what it names twice", async () => {
    const { id, items } = await sent(crane(3))
    const twice = (a: unknown, b: unknown) =>
      yard.receive(id, [
        { item_id: items[0].id, quantity: a },
        { item_id: items[0].id, quantity: b }
      ])
    const over = await twice(2, "1.01")
    expect([over.status, Object.keys(over.body.errors)]).toEqual([
      422,
      [expect.stringMatching(/^lines\.[01]\.quantity$/)]
    ])
    expect(counts(await yard.order_of(id))).toEqual(["sent", "0.00 of 3.00, 3.00 to come"])
    expect(counts((await twice(2, 1)).body.purchase_order)).toEqual(["received", "3.00 of 3.00, 0.00 to come"])
  })

  it.each<[string, string, (item: number, other: number) => unknown]>([
    ["no lines", "lines", () => undefined],
    ["an empty list", "lines", () => []],
    ["lines that are no list", "lines", () => "all"],
    ["a line of no row", "lines.0.item_id", () => [{ quantity: 1 }]],
    ["a row that is not there", "lines.0.item_id", () => [{ item_id: 999_999, quantity: 1 }]],
    ["a row of another order", "lines.0.item_id", (_, other) => [{ item_id: other, quantity: 1 }]],
    ["no quantity", "lines.0.quantity", (item_id) => [{ item_id }]],
    ["nothing", "lines.0.quantity", (item_id) => [{ item_id, quantity: 0 }]],
    ["less than nothing", "lines.0.quantity", (item_id) => [{ item_id, quantity: -1 }]],
    ["what is no number", "lines.0.quantity", (item_id) => [{ item_id, quantity: "some" }]],
    ["a little too much", "lines.0.quantity", (item_id) => [{ item_id, quantity: "2.01" }]],
    [
      ...(["a good line and one of another order", "lines.1.item_id"] as const),
      (item_id, other) => [
        { item_id, quantity: 1 },
        { item_id: other, quantity: 1 }
      ]
    ]
  ])("of %s is refused, and nothing is received", async (_, field, lines) => {
    const [{ id, items }, other] = [await sent(crane(2)), await sent(crane(2))]
    expect(refusal(await yard.receive(id, lines(items[0].id, other.items[0].id)))).toEqual([422, field])
    for (const order of [id, other.id]) expect(counts(await yard.order_of(order))[0]).toBe("sent")
  })
  it.each<[string, string, object]>([
    ["a time that is none", "received_at", { received_at: "today" }],
    ["a reference of 256 characters", "reference", { reference: "x".repeat(256) }]
  ])("with %s is refused", async (_, field, more) => {
    const { id, items } = await sent(crane(1))
    expect(refusal(await yard.receive(id, items.map(everything), more))).toEqual([422, field])
  })
  it("says of each line that is too much that it is", async () => {
    const { id, items } = await sent(crane(1), crane(1), crane(1))
    const got = await yard.receive(
      id,
      items.map((one: any, at: number) => ({ item_id: one.id, quantity: at === 1 ? 1 : 2 }))
    )
    expect([got.status, Object.keys(got.body.errors)[0]]).toEqual([422, "lines.0.quantity"])
    expect(counts(await yard.order_of(id))[0]).toBe("sent")
  })
  it("after parts is held to what is still to come", async () => {
    const { id, items } = await sent(crane(3))
    expect((await yard.receive(id, [{ item_id: items[0].id, quantity: 2 }])).status).toBe(200)
    expect(refusal(await yard.receive(id, [{ item_id: items[0].id, quantity: 2 }]))).toEqual([422, "lines.0.quantity"])
    expect((await yard.receive(id, [{ item_id: items[0].id, quantity: 1 }])).body.purchase_order.status).toBe(
      "received"
    )
  })
  it("under an idempotency key happens once", async () => {
    const { id, items } = await sent(crane(4))
    const once = (quantity: number) => yard.receive(id, [{ item_id: items[0].id, quantity }], {}, keyed("R1"))
    const [first, again] = [await once(1), await once(1)]
    expect([first.status, again.status, again.text === first.text]).toEqual([200, 200, true])
    expect(again.headers["idempotent-replayed"]).toBe("true")
    expect((await once(2)).status).toBe(409)
    expect(counts(await yard.order_of(id))[1]).toBe("1.00 of 4.00, 3.00 to come")
  })
  it("of the same goods at the same moment happens once", async () => {
    const { id, items } = await sent(crane(1))
    const got = await Promise.all([1, 2, 3].map(() => yard.receive(id, [{ item_id: items[0].id, quantity: 1 }])))
    expect(got.map((one) => one.status).toSorted()).toEqual([200, 422, 422])
    expect(counts(await yard.order_of(id))).toEqual(["received", "1.00 of 1.00, 0.00 to come"])
  })
})

describe.each(engines)("Goods received are stock, on %s (rules/billing 2.3, rulings 25)", (engine) => {
  let yard: Yard
  let depot: number
  beforeAll(async () => {
    yard = await openYard(engine)
    depot = (await yard.made("/stores", { name: "Depot" })).id
  })
  afterAll(() => yard.close())
  const bought = { po_type: "purchase", starts_at: null, ends_at: null }
  const product = async (more: object = {}): Promise<number> =>
    (await yard.made("/products", { name: "Thing", ...more })).id
  const serialised = () => product({ stock_method: 2 })
  const levels = async (product_id: number, store_id = depot): Promise<ReadonlyArray<any>> =>
    (
      await yard.get(
        `/stock_levels?q[product_id_eq]=${product_id}&q[store_id_eq]=${store_id}&sort=created_at&per_page=100`
      )
    ).stock_levels
  const ledger = async (level: any): Promise<ReadonlyArray<any>> =>
    (await yard.get(`/products/${level.product_id}/stock_levels/${level.id}/stock_transactions`)).stock_transactions
  const ordered = (item: object, more: object = {}): Promise<any> =>
    yard.sent({ store_id: depot, items: [item], ...more })
  const all = async (order: any, more: object = {}) => {
    const got = await yard.receive(order.id, [{ ...everything(order.items[0]), ...more }])
    expect(got.status, got.text).toBe(200)
    return got.body
  }

  it("what is bought is added to what the store has, with an entry of type 4 (Buy)", async () => {
    const product_id = await product()
    await yard.made("/stock_levels", { product_id, store_id: depot, quantity_held: 10 })
    await all(await ordered({ product_id, quantity: 5, unit_cost: 1 }, bought))
    const [level, ...more] = await levels(product_id)
    expect([level.quantity_held, level.starts_at, level.ends_at, more]).toEqual(["15.00", null, null, []])
    const entries = (await ledger(level)).filter((one) => one.transaction_type === 4)
    expect(entries).toMatchObject([
      { transaction_type_name: "Buy", quantity: "5.0", quantity_move: "5.0", store_id: depot }
    ])
  })
  it("what is bought makes the store's level where it has none", async () => {
    const product_id = await product()
    const order = await ordered({ product_id, quantity: 5, unit_cost: 1 }, bought)
    for (const quantity of [2, 3])
      expect((await yard.receive(order.id, [{ item_id: order.items[0].id, quantity }])).status).toBe(200)
    const [level, ...more] = await levels(product_id)
    expect([level.quantity_held, more]).toEqual(["5.00", []])
    expect((await ledger(level)).map((one) => [one.transaction_type, Number(one.quantity)]).toSorted()).toEqual([
      ...[
        [4, 2],
        [4, 3]
      ]
    ])
    expect((await levels(product_id, 1)).map((one) => Number(one.quantity_held))).toEqual([0])
  })
  it("what is bought of a serialised product is a unit each, with its serial number", async () => {
    const product_id = await serialised()
    const order = await ordered({ product_id, quantity: 2, unit_cost: 1 }, bought)
    const { meta } = await all(order, { serial_numbers: ["B-1", "B-2"] })
    expect(meta.receipt.lines[0]).toMatchObject({ item_id: order.items[0].id, quantity: "2.00" })
    const units = await levels(product_id)
    expect(units.map((one) => [one.serial_number, one.stock_category, one.starts_at])).toEqual([
      ["B-1", 50, null],
      ["B-2", 50, null]
    ])
    for (const unit of units)
      expect((await ledger(unit)).map((one) => [one.transaction_type, Number(one.quantity)])).toContainEqual([4, 1])
  })
  it("what is sub-hired is stock beside the store's own, within the order's dates", async () => {
    const product_id = await product()
    await yard.made("/stock_levels", { product_id, store_id: depot, quantity_held: 10 })
    await all(await ordered({ product_id, quantity: 5, unit_cost: 1 }))
    const found = await levels(product_id)
    expect(found.map((one) => [one.quantity_held, one.starts_at, one.ends_at])).toEqual([
      ["10.00", null, null],
      ["5.00", day("2026-07-01"), day("2026-07-05")]
    ])
  })
  it("what is sub-hired on a row with dates of its own is stock within those", async () => {
    const product_id = await product()
    const dates = { starts_at: "2026-07-02T00:00:00Z", ends_at: "2026-07-03T00:00:00Z" }
    await all(await ordered({ product_id, quantity: 1, unit_cost: 1, ...dates }))
    expect((await levels(product_id)).map((one) => [Number(one.quantity_held), one.starts_at, one.ends_at])).toEqual([
      [1, day("2026-07-02"), day("2026-07-03")]
    ])
  })
  it("what is sub-hired of a serialised product is a unit each within the dates, with or without its number", async () => {
    const product_id = await serialised()
    await all(await ordered({ product_id, quantity: 2, unit_cost: 1 }), { serial_numbers: ["S-1", "S-2"] })
    await all(await ordered({ product_id, quantity: 1, unit_cost: 1 }))
    const units = await levels(product_id)
    expect(units.map((one) => [one.serial_number, one.starts_at, one.ends_at])).toEqual([
      ["S-1", day("2026-07-01"), day("2026-07-05")],
      ["S-2", day("2026-07-01"), day("2026-07-05")],
      [null, day("2026-07-01"), day("2026-07-05")]
    ])
  })
  it.each<[string, string, unknown, string]>([
    ["too few serial numbers", "3", ["T-1", "T-2"], "lines.0.serial_numbers"],
    ["too many", "1", ["T-1", "T-2"], "lines.0.serial_numbers"],
    ["one twice", "2", ["T-1", "T-1"], "lines.0.serial_numbers"],
    ["one that a unit has", "1", ["TAKEN"], "lines.0.serial_numbers"],
    ["numbers that are no list", "1", "T-1", "lines.0.serial_numbers"]
  ])("%s are refused, and then there is no stock of it", async (what, quantity, serial_numbers, field) => {
    const product_id = await serialised()
    if (what === "one that a unit has") {
      const other = await serialised()
      await yard.made("/stock_levels", { product_id: other, store_id: depot, serial_number: "TAKEN" })
    }
    const order = await ordered({ product_id, quantity: 3, unit_cost: 1 })
    const got = await yard.receive(order.id, [{ item_id: order.items[0].id, quantity, serial_numbers }])
    expect([got.status, Object.keys(got.body.errors ?? {})[0]?.startsWith(field)], got.text).toEqual([422, true])
    expect(await levels(product_id)).toEqual([])
    expect((await yard.order_of(order.id)).status).toBe("sent")
  })
  it("two receipts of the same number are one", async () => {
    const product_id = await serialised()
    const order = await ordered({ product_id, quantity: 2, unit_cost: 1 })
    const one = (serial: string) =>
      yard.receive(order.id, [{ item_id: order.items[0].id, quantity: 1, serial_numbers: [serial] }])
    expect([(await one("R-1")).status, (await one("R-1")).status, (await one("R-2")).status]).toEqual([200, 422, 200])
  })
  it("half a unit of a serialised product is refused", async () => {
    const product_id = await serialised()
    const order = await ordered({ product_id, quantity: 2, unit_cost: 1 })
    const got = await yard.receive(order.id, [{ item_id: order.items[0].id, quantity: "0.5" }])
    expect([got.status, Object.keys(got.body.errors ?? {})]).toEqual([422, ["lines.0.quantity"]])
  })
  it("what is no product is no stock", async () => {
    const total = async () => (await yard.get("/stock_levels")).meta.total
    const before = await total()
    await all(await ordered({ name: "A driver", quantity: 2, unit_cost: 1 }))
    expect(await total()).toBe(before)
  })
  it("a mixed delivery makes stock of each row by itself", async () => {
    const [bulk, units] = [await product(), await serialised()]
    const order = await yard.sent({
      ...{ store_id: depot, ...bought },
      items: [
        { product_id: bulk, quantity: 4, unit_cost: 1 },
        { name: "Carriage", unit_cost: 1 },
        { product_id: units, quantity: 2, unit_cost: 1 }
      ]
    })
    const [a, b, c] = order.items
    const lines = [everything(a), everything(b), { ...everything(c), serial_numbers: ["M-1", "M-2"] }]
    expect((await yard.receive(order.id, lines)).body.purchase_order.status).toBe("received")
    expect([(await levels(bulk)).length, (await levels(units)).length]).toEqual([1, 2])
  })
  it("nothing is stock before it is received, nor of an order that was cancelled", async () => {
    const product_id = await serialised()
    await yard.order({ store_id: depot, items: [{ product_id, quantity: 1 }] })
    const { id } = await ordered({ product_id, quantity: 1 })
    await yard.made(`/purchase_orders/${id}/cancel`)
    expect(await levels(product_id)).toEqual([])
  })
  it("several writers receive each piece once", async () => {
    const product_id = await product()
    const order = await ordered({ product_id, quantity: 5, unit_cost: 1 }, bought)
    const got = await Promise.all(
      Array.from({ length: 8 }, () => yard.receive(order.id, [{ item_id: order.items[0].id, quantity: 1 }]))
    )
    expect(got.map((one) => one.status).toSorted()).toEqual([200, 200, 200, 200, 200, 422, 422, 422])
    expect((await levels(product_id)).map((one) => Number(one.quantity_held))).toEqual([5])
    expect((await yard.order_of(order.id)).status).toBe("received")
  })
})
