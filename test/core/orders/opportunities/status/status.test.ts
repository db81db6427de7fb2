import { describe, expect, it } from "vitest"
import { engines } from "../../../../app.ts"
import { appHouse, errorKeys, itFoldsAgain, refused } from "../../../../app-house.ts"
import { hire_dates, fifty_each } from "../../../../rental-house.ts"

describe.each(engines)("opportunities on %s", (engine) => {
  const w = appHouse(engine)

  const move = (id: number, name: string, body: object = {}) => w.post(`/opportunities/${id}/${name}`, body)
  const quotation = async (line = fifty_each) => {
    const { id } = await w.deal(hire_dates, line)
    await move(id, "convert_to_quotation")
    return id as number
  }
  const order = async () => {
    const id = await quotation()
    expect((await move(id, "convert_to_order")).status).toBe(200)
    return id
  }
  /** Sends a move and returns `state.status` afterwards, or the error keys. */
  const outcome = async (id: number, name: string, body: object = {}) => {
    const reply = await move(id, name, body)
    return reply.status === 200
      ? `${reply.body.opportunity.state}.${reply.body.opportunity.status}`
      : Object.keys(reply.body.errors).join()
  }
  it("reject changes of header, lines, costs and deal price once cancelled", async () => {
    const id = await order()
    const line = (await w.show(`/opportunities/${id}?include=items`)).items[0].id
    const cost = (await w.create(`/opportunities/${id}/costs`, { description: "Van", amount: "10.00" })).costs[0].id
    await move(id, "change_status", { status: 6 })
    const replies = [
      await w.put(`/opportunities/${id}`, { subject: "x" }),
      await w.post(`/opportunities/${id}/items`, fifty_each),
      await w.patch(`/opportunities/${id}/items/${line}`, { quantity: 3 }),
      await w.remove(`/opportunities/${id}/items/${line}`),
      await w.post(`/opportunities/${id}/costs`, { description: "x" }),
      await w.patch(`/opportunities/${id}/costs/${cost}`, { amount: 1 }),
      await w.remove(`/opportunities/${id}/costs/${cost}`),
      await w.post(`/opportunities/${id}/deal_price`, { deal_total: 1 }),
      await w.remove(`/opportunities/${id}/deal_price`),
      await w.patch(`/opportunities/${id}/items/tree`, { nodes: [{ id: line, depth: 1 }] })
    ]
    for (const reply of replies) expect(errorKeys(reply)).toEqual([422, ["state"]])
    expect((await w.get(`/opportunities/${id}`)).body.meta).toEqual({ can_edit: false, can_destroy: true })
  })
  it("can have a deal price or locks, not both", async () => {
    const { id } = await w.deal(hire_dates)
    const opportunity = await w.post(`/opportunities/${id}/deal_price`, { deal_total: "75.00" })
    expect(opportunity.body.opportunity).toMatchObject({
      charge_total: "75.00",
      deal_total: "75.00",
      charge_excluding_tax_total: "75.00",
      rental_charge_total: "400.00"
    })
    expect(await outcome(id, "lock_locks")).toBe("opportunity")
    expect((await w.remove(`/opportunities/${id}/deal_price`)).body.opportunity).toMatchObject({
      charge_total: "400.00",
      deal_total: null
    })
    expect((await w.remove(`/opportunities/${id}/deal_price`)).status).toBe(200)
    expect(await outcome(id, "lock_locks")).toBe("0.0")
    expect(await outcome(id, "lock_locks")).toBe("state")
    await refused(w.post(`/opportunities/${id}/deal_price`, { deal_total: "123.45" }), "opportunity")
    expect(await outcome(id, "unlock_locks")).toBe("0.0")
    expect(await outcome(id, "unlock_locks")).toBe("state")
    expect((await w.create(`/opportunities/${id}/deal_price`, { deal_total: "123.45" })).charge_total).toBe("123.45")
    expect((await w.post(`/opportunities/${id}/deal_price`, {})).status).toBe(422)
  })
  describe("closed while one of their units went to another order", () => {
    /** Two orders for a unit each on the same days: the first is closed, then its unit is allocated to the second. */
    const twoOrders = async (close: (id: number) => Promise<unknown>) => {
      const S = await w.store()
      const { id: product, units } = await w.units(S, 2)
      const line = { name: "Desk", item_id: product, itemable_type: "product", quantity: "1" }
      const made = async (subject: string) => {
        const { id, items } = await w.deal({ ...hire_dates, store_id: S, subject }, line)
        await w.confirm(id)
        return { id: id as number, item: items[0].id as number }
      }
      const [one, other] = [await made("Desk A"), await made("Desk B")]
      const allocate = ({ id, item }: typeof one, unit = units[0]!) =>
        w.create(`/opportunities/${id}/items/${item}/assets`, { stock_level_id: unit })
      await allocate(one)
      await close(one.id)
      await allocate(other)
      const assets = async () =>
        (await w.show(`/opportunities/${one.id}?include=items.assets`)).items[0].assets.map(
          (asset: { readonly stock_level_id: number }) => asset.stock_level_id
        )
      return { ...one, assets, again: () => allocate(one, units[1]), unit: units[0]! }
    }
    const warning = expect.stringMatching(
      /is held by "Desk B" \(order .*\) from .* to .*\. It is no longer allocated to "Desk A" \(order .*\); allocate another\./
    )
    it("are reinstated without the unit, and can have another", async () => {
      const { again, assets, id, unit } = await twoOrders((one) => move(one, "change_status", { status: 6 }))
      const { body } = await move(id, "reinstate")
      expect(body.meta?.warnings).toEqual([warning])
      expect(body.opportunity).toMatchObject({ state: 2, status: 0, has_shortage: false })
      expect(await assets()).toEqual([])
      expect((await w.show(`/stock_levels/${unit}`)).quantity_allocated).toBe("1.00")
      await again()
    })
    it("are restored and reopened without the unit", async () => {
      const deleted = await twoOrders((one) => w.remove(`/opportunities/${one}`))
      expect((await move(deleted.id, "restore")).body.meta.warnings).toEqual([warning])
      const complete = await twoOrders((one) => move(one, "change_status", { status: 5 }))
      expect((await move(complete.id, "reopen")).body.meta.warnings).toEqual([warning])
      expect(await complete.assets()).toEqual([])
    })
    it("keep the unit as a quotation, which holds no stock", async () => {
      const { assets, id, unit } = await twoOrders(async (one) => {
        await move(one, "revert_to_quotation")
        await move(one, "change_status", { status: 2 })
      })
      expect((await move(id, "reinstate")).body.meta.warnings).toBeUndefined()
      expect(await assets()).toEqual([unit])
    })
  })
  itFoldsAgain(w)
})
