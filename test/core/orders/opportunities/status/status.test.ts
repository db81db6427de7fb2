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
  itFoldsAgain(w)
})
