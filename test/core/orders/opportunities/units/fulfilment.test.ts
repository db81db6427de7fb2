import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../../app-house.ts"

const may = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }

describe.each(engines)("dispatch and return on %s", (engine) => {
  const w = appHouse(engine)

  /** Creates an order of one line with `units` units allocated; `at` is the line's path. */
  const orderWith = async (units: number, quantity = units) => {
    const product = await w.serialised()
    const ids: Array<number> = []
    for (let at = 0; at < Math.max(units, quantity); at++) ids.push(await w.unit(product))
    const { id, line } = await w.deal(may, { name: "Unit", item_id: product, quantity })
    await w.confirm(id)
    const allocated = await w.allocate({ id, line }, ...ids.slice(0, units))
    const assets = (units === 0 ? [] : allocated.body.opportunity.items[0].assets) as ReadonlyArray<{
      id: number
      stock_level_id: number
    }>
    const asset_ids = assets.map((one) => one.id)
    return { id, line, product, ids, assets, asset_ids, at: `/opportunities/${id}/items/${line.id}` }
  }
  const bulkOrder = async (quantity: number) => {
    const product = await w.product()
    await w.hold(product, quantity)
    const { id, line } = await w.deal(may, { name: "Cable", item_id: product, quantity, unit_price: "1.00" })
    await w.confirm(id)
    return { id, fulfil: (sent: object) => w.patch(`/opportunities/${id}/items/${line.id}/fulfilment`, sent) }
  }
  const quick = (id: number, name: string, body: object) => w.post(`/opportunities/${id}/quick_${name}`, body)
  const statusOf = async (id: number) => (await w.show(`/opportunities/${id}`)).status

  it("begin with preparing units of the order, each listed once", async () => {
    const { id, asset_ids } = await orderWith(2)
    const prepared_at = "2031-04-30T08:00:00.000Z"
    const reply = await quick(id, "prepare", { asset_ids, prepared_at })
    expect(reply.body.opportunity.items[0].assets[0]).toMatchObject({ status_label: "Prepared", prepared_at })
    const other = await orderWith(1)
    expect((await quick(id, "prepare", { asset_ids: other.asset_ids })).status).toBe(404)
    expect((await quick(id, "prepare", { asset_ids: [999_999] })).status).toBe(422)
    expect((await quick(id, "prepare", { asset_ids: [asset_ids[0], asset_ids[0]] })).status).toBe(422)
    expect((await quick(id, "prepare", {})).status).toBe(422)
  })
  it("make an order Returned, then Checked, as its units come back, and allow it to be Complete", async () => {
    const { id, asset_ids, at, assets } = await orderWith(2)
    expect((await quick(id, "book_out", { asset_ids })).body.opportunity.availability_phase).toBe("on_hire")
    expect((await quick(id, "check_in", { asset_ids })).body.opportunity.status).toBe(3)
    expect(await w.heldBy(id)).toBe(0)
    expect((await w.show(`/stock_levels/${assets[0]!.stock_level_id}`)).quantity_allocated).toBe("0.00")
    for (const asset of asset_ids)
      await w.patch(`${at}/assets/${asset}`, { action: "check", condition: 1, damage_notes: "scratched" })
    expect(await statusOf(id)).toBe(4)
    expect((await w.show(`/opportunities/${id}/assets`))[0]).toMatchObject({
      status: 5,
      status_label: "Finalised",
      condition_on_return: 1,
      condition_on_return_label: "Damaged",
      notes: "scratched"
    })
    expect((await w.post(`/opportunities/${id}/change_status`, { status: 5 })).status).toBe(200)
  })
  it("leave units that are not yet dispatched free to be replaced, put in a case, and deallocated", async () => {
    const { id, ids, asset_ids, at } = await orderWith(2, 3)
    const act = (body: object) => w.patch(`${at}/assets/${asset_ids[0]}`, body)
    await refused(act({ action: "substitute" }), "stock_level_id")
    expect((await act({ action: "substitute", stock_level_id: ids[1] })).status).toBe(422)
    expect((await act({ action: "substitute", stock_level_id: ids[2] })).body.asset).toMatchObject({
      stock_level_id: ids[2],
      status: 0
    })
    expect((await w.show(`/stock_levels/${ids[0]}`)).quantity_allocated).toBe("0.00")
    expect((await act({ action: "clear_container" })).status).toBe(422)
    expect((await act({ action: "set_container", container_stock_level_id: ids[2] })).status).toBe(422)
    expect(
      (await act({ action: "set_container", container_stock_level_id: ids[0] })).body.asset.container_stock_level_id
    ).toBe(ids[0])
    expect((await act({ action: "prepare" })).body.asset.status).toBe(1)
    expect((await act({ action: "revert" })).body.asset).toMatchObject({ status: 0, prepared_at: null })
    await refused(act({ action: "teleport" }), "action")
    expect((await w.remove(`${at}/assets/${asset_ids[0]}`)).status).toBe(204)
    expect((await w.get(`/opportunities/${id}/assets`)).body.meta.total).toBe(1)
    await quick(id, "book_out", { asset_ids: [asset_ids[1]] })
    expect((await w.remove(`${at}/assets/${asset_ids[1]}`)).status).toBe(422)
    const other = await orderWith(1)
    expect((await w.patch(`${at}/assets/${other.asset_ids[0]}`, { action: "prepare" })).status).toBe(404)
  })
  it("start from lines with units, which reject removal, another product and a quantity below the units", async () => {
    const { at } = await orderWith(2)
    await refused(w.patch(at, { quantity: 1 }), "quantity")
    await refused(w.patch(at, { item_id: null }), "item_id")
    await refused(w.remove(at), "item")
  })
  it("are limited to a bulk line's quantity, which can be adjusted and then changes the price", async () => {
    const { fulfil } = await bulkOrder(50)
    await fulfil({ action: "dispatch", quantity: 30 })
    await refused(fulfil({ action: "dispatch", quantity: 21 }), "quantity")
    await fulfil({ action: "return", quantity: "10" })
    expect((await fulfil({ action: "return", quantity: 21 })).status).toBe(422)
    expect((await fulfil({ action: "adjust", new_quantity: 40 })).body.item.total).toBe("160.00")
    await refused(fulfil({ action: "dispatch" }), "quantity")
    expect((await fulfil({ action: "dispatch", quantity: "0.001" })).status).toBe(422)
    await refused(fulfil({}), "action")
  })
  it("make an order Checked once the dispatched quantity of its bulk line is back", async () => {
    const { id, fulfil } = await bulkOrder(100)
    await fulfil({ action: "dispatch", quantity: 60 })
    await fulfil({ action: "return", quantity: 60 })
    expect(await statusOf(id)).toBe(4)
  })
  it("reject quantities for serialised lines, and are 404 for another opportunity's line", async () => {
    const { at, line } = await orderWith(0, 1)
    await refused(w.patch(`${at}/fulfilment`, { action: "dispatch", quantity: 1 }), "item")
    const { id } = await w.opportunity()
    const elsewhere = `/opportunities/${id}/items/${line.id}/fulfilment`
    expect((await w.patch(elsewhere, { action: "dispatch", quantity: 1 })).status).toBe(404)
  })
  it("are 403 without opportunities.fulfil", async () => {
    const { id, asset_ids, at } = await orderWith(1)
    const viewer = viewerWith(["opportunities.view"], ["*"])
    for (const reply of [
      await w.post(`/opportunities/${id}/quick_prepare`, { asset_ids }, viewer),
      await w.post(`/opportunities/${id}/quick_allocate`, {}, viewer),
      await w.patch(`${at}/assets/${asset_ids[0]}`, { action: "prepare" }, viewer),
      await w.patch(`${at}/fulfilment`, {}, viewer)
    ])
      expect(reply.status).toBe(403)
  })
  it("count a unit once if it is checked in and allocated to another order concurrently", async () => {
    const { id, asset_ids, product, ids } = await orderWith(1)
    await quick(id, "book_out", { asset_ids })
    const later = await w.deal({ starts_at: "2031-07-01", ends_at: "2031-07-03" }, { name: "Unit", item_id: product })
    const replies = await Promise.all([
      quick(id, "check_in", { asset_ids }),
      w.post(`/opportunities/${later.id}/items/${later.items[0].id}/assets`, { stock_level_id: ids[0] })
    ])
    expect(replies.map(({ status }) => status)).toEqual([200, 201])
    expect((await w.show(`/stock_levels/${ids[0]}`)).quantity_allocated).toBe("1.00")
  })
  itFoldsAgain(w)
})
