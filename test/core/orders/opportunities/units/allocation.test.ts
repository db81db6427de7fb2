import { describe, expect, it } from "vitest"
import { demands } from "../../../../../core/orders/demands/schema.ts"
import { Store } from "../../../../../core/kernel/store/store.ts"
import { Effect } from "effect"
import { both_engines, engines } from "../../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../../app-house.ts"

/** In the future for any clock that the tests use. */
const may = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }

describe.each(engines)("allocating units on %s", (engine) => {
  const w = appHouse(engine)

  const order = (product_id: number, quantity = 2, dates: object = may) => w.order(product_id, quantity, dates)
  const demandsOf = (opportunity: { id: number }) =>
    w.app.run(Effect.flatMap(Store, (store) => store.find(demands, { opportunity_id: opportunity.id })))

  it("lets a kit's unit be dispatched with one order at a time, although only its parts are reserved", async () => {
    const [kit, part] = [await w.serialised(), await w.product()]
    const unit = await w.labelled(kit)
    const dates = (day: string) => ({ starts_at: `2031-06-${day}T09:00:00Z`, ends_at: `2031-06-${day}T17:00:00Z` })
    const [first, second] = [await order(kit, 1, dates("10")), await order(kit, 1, dates("01"))]
    await w.create(`/products/${kit}/components`, { component_product_id: part, quantity: 1 })
    const [one, other] = [await w.allocate(first, unit.id), await w.allocate(second, unit.id)]
    const assetOf = (reply: typeof one) => reply.body.opportunity.items[0].assets[0].id
    const bookOut = (opportunity: { id: number }, asset_id: number) =>
      w.post(`/opportunities/${opportunity.id}/quick_book_out`, { asset_ids: [asset_id] })
    expect((await bookOut(first, assetOf(one))).status).toBe(200)
    const errors = await refused(bookOut(second, assetOf(other)), "asset_ids.0")
    const [text] = errors["asset_ids.0"]
    expect(text).toMatch(new RegExp(`^${unit.asset_number} is out with "Gig ${kit}" .*; check it in there first\\.$`))
    await w.post(`/opportunities/${first.id}/quick_check_in`, { asset_ids: [assetOf(one)] })
    expect((await bookOut(second, assetOf(other))).status).toBe(200)
  })
  it("gives each unit a demand of its own, and the rest of the line one demand", async () => {
    const product = await w.serialised()
    const [a, b] = [await w.labelled(product), await w.labelled(product)]
    const opportunity = await order(product, 3)
    expect(await demandsOf(opportunity)).toMatchObject([
      { asset_id: null, quantity: 3, phase: "reserved", is_active: true }
    ])
    const reply = await w.allocate(opportunity, a.id, b.id)
    expect(reply.status).toBe(200)
    expect(reply.body.opportunity.items[0].assets).toMatchObject([
      {
        stock_level_id: a.id,
        status: 0,
        status_label: "Allocated",
        dispatched_at: null,
        stock_level: { id: a.id, name: a.asset_number }
      },
      { stock_level_id: b.id }
    ])
    const own = await demandsOf(opportunity)
    expect(own.map((demand) => [demand.asset_id, demand.quantity]).sort()).toEqual(
      [
        [a.id, 1],
        [b.id, 1],
        [null, 1]
      ].sort()
    )
    expect((await w.show(`/stock_levels/${a.id}`)).quantity_allocated).toBe("1.00")
    const listed = await w.get(`/opportunities/${opportunity.id}/assets?q[stock_level_id_eq]=${a.id}`)
    expect(listed.body).toMatchObject({ assets: [{ stock_level_id: a.id }], meta: { total: 1 } })
  })
  it("is rejected for a unit reserved for overlapping dates, naming the unit and the order", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product, 1, { item_name: "Desk 1" })
    await w.unit(product)
    const first = await order(product, 1)
    await w.put(`/opportunities/${first.id}`, { subject: "Summer Gala" })
    expect((await w.allocate(first, unit)).status).toBe(200)
    const second = await order(product, 1, { starts_at: "2031-05-05T10:00:00Z", ends_at: "2031-05-09T10:00:00Z" })
    const said = Object.values(await refused(w.allocate(second, unit), "allocations.0.stock_level_id")).join()
    expect(said).toContain("Desk 1")
    expect(said).toContain("Summer Gala")
    const later = await order(product, 1, { starts_at: "2031-05-05T17:00:00Z", ends_at: "2031-05-09T10:00:00Z" })
    expect((await w.allocate(later, unit)).status).toBe(200)
  })
  it("is rejected as a whole for too many, foreign, bulk or duplicate units", async () => {
    const [product, other] = [await w.serialised(), await w.serialised()]
    const bulk = await w.product()
    const [a, b, c] = [await w.unit(product), await w.unit(product), await w.unit(product)]
    const foreign = await w.unit(other)
    const bulk_level = (await w.show(`/products/${bulk}?include=stock_levels`)).stock_levels[0]
    const opportunity = await order(product, 2)
    const keys = async (...ids: ReadonlyArray<number>) =>
      Object.keys((await w.allocate(opportunity, ...ids)).body.errors ?? {})
    expect(await keys(a, b, c)).toEqual(["allocations"])
    expect(await keys(a, foreign)).toEqual(["allocations.1.stock_level_id"])
    expect(await keys(bulk_level.id)).toEqual(["allocations.0.stock_level_id"])
    expect(await keys(a, a)).toEqual(["allocations.1.stock_level_id"])
    expect(await keys(999_999)).toEqual(["allocations.0.stock_level_id"])
    expect(await keys()).toEqual(["allocations"])
    expect((await w.get(`/opportunities/${opportunity.id}/assets`)).body.meta.total).toBe(0)
    const elsewhere = await order(product, 1)
    expect((await w.allocate({ id: opportunity.id, line: elsewhere.line }, a)).status).toBe(404)
    expect((await w.allocate(opportunity, a)).status).toBe(200)
    expect(await keys(a)).toEqual(["allocations.0.stock_level_id"])
  })
  it("is possible on a draft, which cannot become an order once another order has the unit", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    await w.unit(product)
    const draft = await w.deal(may, { name: "Unit", item_id: product, quantity: 1 })
    expect((await w.allocate({ id: draft.id, line: draft.items[0] }, unit)).status).toBe(200)
    const winner = await order(product, 1)
    expect((await w.allocate(winner, unit)).status).toBe(200)
    await w.post(`/opportunities/${draft.id}/convert_to_quotation`)
    await refused(w.post(`/opportunities/${draft.id}/convert_to_order`), "state")
  })
  it("gives the demand of an opportunity without a store the store of the allocated unit", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    const opportunity = await w.deal({ ...may, store_id: null }, { name: "Unit", item_id: product })
    expect((await w.allocate({ id: opportunity.id, line: opportunity.items[0] }, unit)).status).toBe(200)
    expect(await demandsOf(opportunity)).toMatchObject([{ asset_id: unit, store_id: 1 }])
  })
  itFoldsAgain(w)
})

describe.each(both_engines)("concurrent allocation on %s", (engine) => {
  const w = appHouse(engine)

  it("succeeds once per unit, and is rejected for the other order with the holder's name", async () => {
    const product = await w.serialised()
    const unit = await w.unit(product)
    await w.unit(product)
    const [one, other] = [await w.order(product, 1, may), await w.order(product, 1, may)]
    const replies = await Promise.all([w.allocate(one, unit), w.allocate(other, unit)])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 422])
    expect(replies.find(({ status }) => status === 422)!.body.message).toContain(`Gig ${product}`)
    expect((await w.show(`/stock_levels/${unit}`)).quantity_allocated).toBe("1.00")
  })
})
