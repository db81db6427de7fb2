/** Deliveries from suppliers, returns to them, and hire periods. */
import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../app.ts"
import { appHouse, refused } from "../../app-house.ts"
import { scanFixture } from "../warehouse/scanning/fixture.ts"

const now = "2026-06-18T12:00:00.000Z"
const hire = { starts_at: "2026-06-20T00:00:00.000Z", ends_at: "2026-06-25T00:00:00.000Z" }
const later = "2026-06-28T00:00:00.000Z"
const days = ["2026-06-19", "2026-06-20", "2026-06-24", "2026-06-25", "2026-06-27", "2026-06-28"]

describe.each(engines)("goods from suppliers on %s", (engine) => {
  const w = appHouse(engine, now)
  const s = scanFixture(w)
  let supplier_id: number
  beforeAll(async () => {
    supplier_id = await w.customer()
  })

  const product = (stock_method: 1 | 2) => w.product({ stock_method })
  const ordered = async (...items: ReadonlyArray<object>) => {
    const order = await w.create("/purchase_orders?include=items", { supplier_id, ...hire, items })
    await w.create(`/purchase_orders/${order.id}/send`)
    return order
  }
  const post = (id: number, what: string, body: object = {}) => w.post(`/purchase_orders/${id}/${what}`, body)
  const shown = (id: number) => w.show(`/purchase_orders/${id}?include=items`)
  const levels = (product_id: number) => w.show(`/stock_levels?q[product_id_eq]=${product_id}&per_page=100&sort=id`)
  const totals = async (product_id: number): Promise<ReadonlyArray<number>> => {
    const found: Array<number> = []
    for (const day of days)
      found.push((await w.show(`/availability?product_id=${product_id}&store_id=1&date=${day}`)).total_stock)
    return found
  }
  it("cannot be received beyond the ordered quantity", async () => {
    const { id, items } = await ordered({ product_id: await product(1), quantity: "3" })
    const item_id = items[0].id
    expect((await post(id, "receive", { lines: [{ item_id, quantity: "2" }] })).status).toBe(200)
    await refused(post(id, "receive", { lines: [{ item_id, quantity: "2" }] }), "lines.0.quantity")
    const twice = [1, 2].map(() => ({ item_id, quantity: "1" }))
    await refused(post(id, "receive", { lines: twice }), "lines.1.quantity")
  })
  it("are rejected with a serial number that is taken or given twice", async () => {
    const product_id = await product(2)
    const { id, items } = await ordered({ product_id, quantity: "3" })
    const take = (quantity: string, ...serial_numbers: ReadonlyArray<string>) =>
      post(id, "receive", { lines: [{ item_id: items[0].id, quantity, serial_numbers }] })
    expect((await take("1", "ONE")).status).toBe(200)
    await refused(take("1", "ONE"), "lines.0.serial_numbers")
    await refused(take("2", "TWO", "TWO"), "lines.0.serial_numbers")
  })
  it("are rejected with the code of a unit that is here, or of a case in use, as their serial number", async () => {
    const product_id = await product(2)
    const own = await w.labelled(product_id, { barcode: "LABEL-1", asset_number: "OWN-1" })
    const gone = await w.labelled(product_id, { asset_number: "GONE-1" })
    await w.must("POST", `/stock_levels/${gone.id}/sold`)
    const box = await w.create("/containers/temporary", { name: "Case 7", barcode: "CASE-7", store_id: 1 })
    const { id, items } = await ordered({ product_id, quantity: "9" })
    const take = (serial: string) =>
      post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "1", serial_numbers: [serial] }] })
    for (const [serial, what] of [
      ["LABEL-1", `the barcode of stock level ${own.id}`],
      ["OWN-1", `the asset number of stock level ${own.id}`],
      ["CASE-7", `the code of container ${box.id}, which is in use,`]
    ] as const)
      expect(await refused(take(serial), "lines.0.serial_numbers")).toEqual({
        "lines.0.serial_numbers": [`Serial number ${serial} is ${what} already; look at the piece again.`]
      })
    await w.must("POST", `/containers/${box.id}/dissolve`, { reason: "manual" })
    expect((await take("CASE-7")).status).toBe(200)
    expect((await take("GONE-1")).status).toBe(200)
  })
  it("count as stock during their hire, until its new end if it is extended", async () => {
    for (const stock_method of [1, 2] as const) {
      const product_id = await product(stock_method)
      const { id, items } = await ordered({ product_id, quantity: "2" })
      await post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "2" }] })
      expect(await totals(product_id)).toEqual([0, 2, 2, 0, 0, 0])
      expect((await post(id, "extend", { ends_at: later })).status).toBe(200)
      expect(await totals(product_id)).toEqual([0, 2, 2, 2, 2, 0])
    }
  })
  /** An order that has own pieces of a bulk product, and as many as came from suppliers, each until a day later. */
  const allOut = async (own: number, ...hired: ReadonlyArray<number>) => {
    const sku = `CAB-${s.next()}`
    const product_id = await w.product({ sku })
    const own_level = await w.hold(product_id, own)
    const orders: Array<{ readonly id: number; readonly item_id: number; readonly level: number }> = []
    for (const [at, quantity] of hired.entries()) {
      const { id, items } = await ordered({ product_id, quantity, ends_at: `2026-06-2${5 + at}T00:00:00Z` })
      await post(id, "receive", { lines: [{ item_id: items[0].id, quantity }] })
      orders.push({ id, item_id: items[0].id, level: (await levels(product_id)).at(-1)!.id })
    }
    const quantity = own + hired.reduce((sum, one) => sum + one, 0)
    const gig = await s.order([{ item_id: product_id, quantity }], hire)
    await s.done(gig, "out", `${sku}*${quantity}`)
    const open = async () =>
      (await w.show(`/service_records?q[product_id_eq]=${product_id}&q[ended_at_null]=1&sort=id`)).map((one) => [
        one.stock_level_id,
        one.quantity,
        one.state
      ])
    return { sku, product_id, own_level, orders, gig, open }
  }
  it("go out of service where they come back damaged or missing: own pieces first, then the longest hire", async () => {
    const { gig, open, orders, own_level, product_id, sku } = await allOut(2, 3, 4)
    const [first, second] = orders.map(({ level }) => level)
    await s.done(gig, "in", `${sku}*7`, { condition: 1 })
    const own = [own_level, 2, "quarantine"]
    expect(await open()).toEqual([own, [second, 4, "quarantine"], [first, 1, "quarantine"]])
    await s.done(gig, "in", `${sku}*1`, { condition: 2 })
    expect(await open()).toEqual([own, [second, 4, "quarantine"], [first, 1, "quarantine"], [first, 1, "lost"]])
    await s.done(gig, "in", `${sku}*1`)
    const at = `/availability?product_id=${product_id}&store_id=1&date=2026-06-24`
    expect(await w.show(at)).toMatchObject({ total_stock: 9, available: 1 })
    const reverted = { action: "revert_return", quantity: 4 }
    await w.must("PATCH", `/opportunities/${gig.id}/items/${gig.items[0].id}/fulfilment`, reverted)
    expect(await open()).toEqual([own, [second, 3, "quarantine"]])
  })
  it("leave the workshop when they go back, and of a part no more stays there than is left", async () => {
    const { gig, open, orders, product_id, sku } = await allOut(0, 5)
    const [order] = orders
    await s.done(gig, "in", `${sku}*3`, { condition: 1 })
    await s.done(gig, "in", `${sku}*2`)
    await w.must("POST", `/purchase_orders/${order!.id}/return`, { lines: [{ item_id: order!.item_id, quantity: 3 }] })
    expect(await open()).toEqual([[order!.level, 2, "quarantine"]])
    expect((await levels(product_id)).map((one) => [one.quantity_held, one.out_of_service.length])).toEqual([
      ["0.00", 0],
      ["2.00", 1],
      ["3.00", 0]
    ])
    await w.must("POST", `/purchase_orders/${order!.id}/return`)
    expect(await open()).toEqual([])

    const unit_of = await product(2)
    const { id, items } = await ordered({ product_id: unit_of, quantity: "1" })
    await post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "1" }] })
    const [unit] = await levels(unit_of)
    await w.must("POST", `/stock_levels/${unit!.id}/quarantine`, { reason: "Hums" })
    await w.must("POST", `/purchase_orders/${id}/return`)
    expect(await w.show(`/service_records?q[stock_level_id_eq]=${unit!.id}`)).toMatchObject([
      { ended_at: now, end_note: "Given back to, or settled with, the supplier" }
    ])
    expect(await w.show(`/stock_levels/${unit!.id}`)).toMatchObject({ service_state: "in_service", out_of_service: [] })
  })
  it("leave the workshop before those that are lost, which never came back", async () => {
    const { gig, open, orders, sku } = await allOut(0, 5)
    const [order] = orders
    await s.done(gig, "in", `${sku}*2`, { condition: 2 })
    await s.done(gig, "in", `${sku}*3`, { condition: 1 })
    await w.must("POST", `/purchase_orders/${order!.id}/return`, { lines: [{ item_id: order!.item_id, quantity: 3 }] })
    expect(await open()).toEqual([[order!.level, 2, "lost"]])
  })
  it("cannot be returned while they are packed", async () => {
    const product_id = await product(2)
    const { id, items } = await ordered({ product_id, quantity: "1" })
    await post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "1" }] })
    const [unit] = await levels(product_id)
    const box = await w.create("/containers/temporary", { name: "Box", barcode: `B-${unit.id}`, store_id: 1 })
    await w.create(`/containers/${box.id}/pack`, { serialised_item_id: unit.id })
    await refused(post(id, "return"), "lines.0.serial_numbers")
  })
  it.each([
    ["receive", "purchase_orders.receive", { lines: [{ item_id: 1, quantity: "1" }] }],
    ["return", "purchase_orders.receive", {}],
    ["extend", "purchase_orders.edit", { ends_at: later }]
  ] as const)("require a permission and the write ability: %s requires %s", async (what, permission, body) => {
    const { id, items } = await ordered({ product_id: await product(1), quantity: "1" })
    const sent = "lines" in body ? { lines: [{ ...body.lines[0], item_id: items[0].id }] } : body
    if (what === "return") await post(id, "receive", { lines: [{ item_id: items[0].id, quantity: "1" }] })
    const all = ["view", "create", "edit", "delete", "send", "receive"].map((one) => `purchase_orders.${one}`)
    const by = (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      w.post(`/purchase_orders/${id}/${what}`, sent, viewerWith(permissions, abilities))
    const able = ["purchase_orders:read", "purchase_orders:write"]
    const before = await w.app.dump()
    const others = all.filter((one) => one !== permission)
    expect((await by(others, able)).status).toBe(403)
    expect((await by(all, ["purchase_orders:read"])).status).toBe(403)
    expect(await w.app.dump()).toEqual(before)
    expect((await by(all, able)).status).toBe(200)
  })
  it.each([
    ["shortages.resolve", false],
    ["purchase_orders.create", false],
    ["opportunities.edit", true]
  ])("cannot be hired for a shortage without %s", async (permission, sub_rental) => {
    const product_id = await product(1)
    const window = { starts_at: "2026-06-21T08:00:00Z", ends_at: "2026-06-22T08:00:00Z" }
    const { id } = await w.deal(window, { name: "Line", item_id: product_id, quantity: "2" })
    const all = ["shortages.resolve", "shortages.view", "purchase_orders.create", "purchase_orders.view"]
    const mine = [...all, "opportunities.view", "opportunities.edit"]
    const by = (permissions: ReadonlyArray<string>) =>
      w.post(
        `/opportunities/${id}/shortages/resolve`,
        { resolution: "sub_hire", supplier_id, sub_rental },
        viewerWith(permissions, ["purchase_orders:read", "purchase_orders:write"])
      )
    const before = await w.app.dump()
    expect((await by(mine.filter((one) => one !== permission))).status).toBe(403)
    expect(await w.app.dump()).toEqual(before)
    expect((await by(mine)).status).toBe(201)
  })

  const step = fc.oneof(
    fc.record({ does: fc.constant("receive" as const), at: fc.nat(1), quantity: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ does: fc.constant("receive" as const), at: fc.nat(1), quantity: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ does: fc.constant("give" as const), at: fc.nat(1), quantity: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ does: fc.constant("return" as const) }),
    fc.record({ does: fc.constant("cancel" as const) }),
    fc.record({ does: fc.constant("extend" as const), ends_at: fc.constantFrom(hire.ends_at, later) })
  )
  it("become stock as received, never more than ordered, and none once returned, in any sequence", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
        const ids = [await product(1), await product(2)]
        const own = await Promise.all(ids.map(totals))
        const { id, items } = await ordered(...ids.map((product_id) => ({ product_id, quantity: "5" })))
        const lawful = async () => {
          const order = await shown(id)
          for (const [at, product_id] of ids.entries()) {
            const item = order.items[at]!
            const stock = (await levels(product_id)).filter((one) => one.is_sub_hired)
            const sum = (some: typeof stock) => some.reduce((all, one) => all + Number(one.quantity_held), 0)
            const [came, back] = [Number(item.received_quantity), Number(item.returned_quantity)]
            expect(came).toBeLessThanOrEqual(Number(item.quantity))
            expect(back).toBeLessThanOrEqual(came)
            expect(sum(stock)).toBe(came)
            expect(sum(stock.filter((one) => one.given_back_at !== null))).toBe(back)
            const end = order.ends_at
            expect(await totals(product_id)).toEqual(
              days.map((day) =>
                `${day}T00:00:00.000Z` >= hire.starts_at && `${day}T00:00:00.000Z` < end! ? came - back : 0
              )
            )
          }
          return order
        }
        for (const one of steps) {
          const item_id = items["at" in one ? one.at : 0].id
          const lines = (quantity: number) => [{ item_id, quantity: String(quantity) }]
          if (one.does === "receive") await post(id, "receive", { lines: lines(one.quantity) })
          else if (one.does === "extend") await post(id, "extend", { ends_at: one.ends_at })
          else if (one.does === "give") {
            const here = (await levels(ids[1]!)).filter((level) => level.given_back_at === null)
            const units = { stock_level_ids: here.slice(0, one.quantity).map((level) => level.id) }
            await post(id, "return", {
              lines: one.at === 0 ? lines(one.quantity) : [{ item_id, ...(here.length > 0 ? units : {}) }]
            })
          } else await post(id, one.does)
          await lawful()
        }
        await post(id, "return")
        await lawful()
        expect(await Promise.all(ids.map(totals))).toEqual(own)
      }),
      { numRuns: 8, seed: 1_522 }
    )
  })
})
