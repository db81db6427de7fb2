/** Shortages resolved by a transfer from another store, on both engines (rules/transfers 8). */
import { beforeEach, describe, expect, it } from "vitest"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { engines, viewerWith } from "../../../app.ts"

const at = (date: number): string => `2026-06-${String(date).padStart(2, "0")}T12:00:00.000Z`
const day = (date: number): string => at(date).slice(0, 10)

describe.each(engines)("resolving a shortage by a transfer on %s", (engine) => {
  const w = appHouse(engine)
  beforeEach(() => w.app.setClock(at(10)))

  /** Creates a store with an order short of cables, and another store that has some. */
  const short = async (held: number, wanted: number) => {
    const [to, from, empty] = [await w.store(), await w.store(), await w.store()]
    const { id: cable } = await w.bulk(from, held)
    await w.bulk(empty, 1)
    const { id, line } = await w.order(cable, wanted, { store_id: to, starts_at: at(14), ends_at: at(16) })
    const path = `/opportunities/${id}/shortages`
    const resolve = (body: object) => w.post(`${path}/resolve`, { resolution: "transfer", ...body })
    return { id, line: line.id, from, to, empty, cable, path, resolve }
  }
  const isShort = async (id: number) => (await w.show(`/opportunities/${id}`)).has_shortage

  it("plans a draft for the order and its time, and cancelling it opens the shortage again", async () => {
    const { cable, from, id, resolve, to } = await short(10, 4)
    expect(await isShort(id)).toBe(true)
    const { body, status } = await resolve({})
    expect([status, body.meta]).toEqual([201, undefined])
    expect(body.transfer).toMatchObject({
      status: "draft",
      opportunity_id: id,
      from_store_id: from,
      to_store_id: to,
      starts_at: at(14),
      arrives_at: at(14),
      ends_at: at(16)
    })
    const { items } = await w.show(`/transfers/${body.transfer.id}?include=items`)
    expect(items).toMatchObject([{ product_id: cable, quantity: 4 }])
    expect(await isShort(id)).toBe(false)
    await refused(resolve({}), "shortages")
    await w.must("POST", `/transfers/${body.transfer.id}/cancel`, {})
    expect(await isShort(id)).toBe(true)
    expect((await resolve({ starts_at: at(12), arrives_at: at(13) })).body.transfer).toMatchObject({
      starts_at: at(12),
      arrives_at: at(13),
      ends_at: at(16)
    })
  })

  it("plans as much as the other store has, or a requested quantity up to that", async () => {
    const { cable, line, path, resolve } = await short(3, 5)
    await refused(resolve({ lines: [{ opportunity_item_id: line, quantity: "4" }] }), "lines.0.quantity")
    await refused(resolve({ lines: [{ opportunity_item_id: line + 1_000_000 }] }), "lines.0.opportunity_item_id")
    const some = await resolve({ lines: [{ opportunity_item_id: line, quantity: "1" }] })
    expect(some.body.transfer.items).toMatchObject([{ product_id: cable, quantity: 1 }])
    expect((await w.get(path)).body.shortages).toMatchObject([{ shortfall: 4 }])
    expect((await resolve({})).body.transfer.items).toMatchObject([{ quantity: 2 }])
    expect((await w.get(path)).body).toMatchObject({ shortages: [{ shortfall: 2 }], elsewhere: [] })
    await refused(resolve({}), "shortages")
  })

  it("names the first day from which another store has the goods free, up to the end of the line", async () => {
    const { cable, from, path } = await short(4, 4)
    const readyOn = async () => (await w.get(path)).body.elsewhere.map(({ ready_on }: { ready_on: string }) => ready_on)
    expect(await readyOn()).toEqual([day(10)])
    await w.order(cable, 2, { store_id: from, starts_at: at(11), ends_at: at(12) })
    expect(await readyOn()).toEqual([day(13)])
    await w.order(cable, 2, { store_id: from, starts_at: at(11), ends_at: at(14) })
    expect((await w.get(path)).body.elsewhere).toMatchObject([{ available: 2, ready_on: day(13) }])
  })

  it("rejects a line for which the other store has nothing, and skips it if no lines are named", async () => {
    const { cable, from, id, line, resolve } = await short(3, 2)
    await w.order(cable, 3, { store_id: from, starts_at: at(20), ends_at: at(22) })
    const later = { item_id: cable, item_type: "Product", quantity: "2", starts_at: at(20), ends_at: at(22) }
    const { items } = await w.create(`/opportunities/${id}/items`, { name: "Later", unit_price: "10.00", ...later })
    const other = items.find((one: { id: number }) => one.id !== line).id
    const both = [line, other].map((opportunity_item_id) => ({ opportunity_item_id, quantity: "1" }))
    await refused(resolve({ lines: both }), "lines.0.quantity", "lines.1.quantity")
    const { body } = await resolve({})
    expect(body.transfer).toMatchObject({ ends_at: at(16), items: [{ product_id: cable, quantity: 2 }] })
  })

  it("rejects a transfer that arrives once the goods are no longer needed", async () => {
    const { resolve } = await short(4, 4)
    await refused(resolve({ starts_at: at(16) }), "arrives_at")
    await refused(resolve({ arrives_at: at(17) }), "arrives_at")
    expect((await resolve({ arrives_at: at(15) })).body.transfer).toMatchObject({ ends_at: at(16) })
  })

  it("rejects stores without the goods and fields of other resolutions, and requires stock.transfer", async () => {
    const { empty, from, id, resolve } = await short(4, 4)
    await refused(resolve({ from_store_id: empty }), "from_store_id")
    await refused(resolve({ supplier_id: 1 }), "supplier_id")
    await refused(resolve({ note: "soon" }), "note")
    await refused(resolve({ resolution: "waitlist", from_store_id: from }), "from_store_id")
    const path = `/opportunities/${id}/shortages/resolve`
    const may = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      (await w.post(path, { resolution: "transfer" }, viewerWith([...permissions], [...abilities]))).status
    const held = ["opportunities.view", "shortages.resolve"]
    for (const resolution of ["Transfer", " transfer", "trans-fer", "trans_fer"])
      expect(
        (await w.post(path, { resolution }, viewerWith([...held, "purchase_orders.create"], ["*"]))).status,
        resolution
      ).toBe(403)
    expect((await w.post(path, { resolution: "wait-list" }, viewerWith(held, ["*"]))).status).toBe(201)
    expect(await may([...held, "purchase_orders.create"], ["*"])).toBe(403)
    expect(await may([...held, "stock.transfer"], ["purchase_orders:write"])).toBe(403)
    expect(await may([...held, "stock.transfer"], ["purchase_orders:write", "stock:write"])).toBe(201)
  })

  itFoldsAgain(w)
})
