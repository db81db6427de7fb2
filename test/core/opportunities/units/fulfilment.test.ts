import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { demands } from "../../../../core/demands/schema.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { type App, engines, openApp, viewerWith } from "../../../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

const may = { starts_at: "2031-05-01T09:00:00Z", ends_at: "2031-05-05T17:00:00Z" }

describe.each(engines)("gear out and back on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  /** An order of one line with `units` units allocated; `at` is the path of the line. */
  const orderWith = async (units: number, quantity = units) => {
    const product = await w.product()
    const ids: Array<number> = []
    for (let at = 0; at < Math.max(units, quantity); at++) ids.push((await w.unit(product.id)).id)
    const {
      id,
      items: [line]
    } = await w.withLine(may, { name: "Unit", item_id: product.id, quantity })
    await w.convertToOrder(id)
    const allocated = await w.allocate({ id, line }, ...ids.slice(0, units))
    const assets = (units === 0 ? [] : allocated.body.opportunity.items[0].assets) as ReadonlyArray<{
      id: number
      stock_level_id: number
    }>
    return {
      id,
      line,
      product,
      ids,
      assets,
      asset_ids: assets.map((one) => one.id),
      at: `${opportunity_path}/${id}/items/${line.id}`
    }
  }
  const bulkOrder = async (quantity: number, body: object = {}, held = quantity) => {
    const product = await w.product({ stock_method: 1 })
    const [level] = (await w.get(`/api/v1/products/${product.id}?include=stock_levels`)).body.product.stock_levels
    await w.put(`/api/v1/stock_levels/${level.id}`, { quantity_held: held })
    const {
      id,
      items: [line]
    } = await w.withLine({ ...may, ...body }, { name: "Cable", item_id: product.id, quantity, unit_price: "1.00" })
    await w.convertToOrder(id)
    return {
      id,
      line,
      product,
      fulfil: (sent: object) => w.patch(`${opportunity_path}/${id}/items/${line.id}/fulfilment`, sent)
    }
  }
  const quick = (id: number, name: string, body: object) => w.post(`${opportunity_path}/${id}/quick_${name}`, body)
  const statusOf = async (id: number) => (await w.get(`${opportunity_path}/${id}`)).body.opportunity.status
  const heldBy = async (id: number) =>
    (await app.run(Effect.flatMap(Store, (store) => store.find(demands, { opportunity_id: id }))))
      .filter((demand) => demand.is_active)
      .reduce((sum, demand) => sum + demand.quantity, 0)

  it("units are prepared once (scenario 101)", async () => {
    const { id, asset_ids } = await orderWith(2)
    const reply = await quick(id, "prepare", { asset_ids, prepared_at: "2031-04-30T08:00:00Z" })
    expect(reply.status).toBe(200)
    expect(reply.body.opportunity.items[0].assets[0]).toMatchObject({
      status: 1,
      status_label: "Prepared",
      prepared_at: "2031-04-30T08:00:00.000Z"
    })
    expect(Object.keys((await quick(id, "prepare", { asset_ids })).body.errors)).toEqual(["asset_ids.0"])
    const other = await orderWith(1)
    expect((await quick(id, "prepare", { asset_ids: other.asset_ids })).status).toBe(404)
    expect((await quick(id, "prepare", { asset_ids: [999_999] })).status).toBe(422)
    expect((await quick(id, "prepare", { asset_ids: [asset_ids[0], asset_ids[0]] })).status).toBe(422)
    expect((await quick(id, "prepare", {})).status).toBe(422)
  })
  it("an order is dispatched while units are to go, on hire once all are out, returned, then checked (scenario 103)", async () => {
    const { id, asset_ids, at, assets } = await orderWith(2)
    await quick(id, "book_out", { asset_ids: [asset_ids[0]] })
    expect(await statusOf(id)).toBe(1)
    expect((await quick(id, "book_out", { asset_ids: [asset_ids[1]] })).body.opportunity).toMatchObject({
      status: 2,
      availability_phase: "on_hire"
    })
    expect((await w.post(`${opportunity_path}/${id}/revert_to_quotation`)).body.errors.state).toHaveLength(1)
    expect((await w.post(`${opportunity_path}/${id}/change_status`, { status: 6 })).status).toBe(422)
    expect((await w.post(`${opportunity_path}/${id}/change_status`, { status: 5 })).status).toBe(422)
    expect((await w.remove(`${opportunity_path}/${id}`)).status).toBe(422)
    expect((await quick(id, "check_in", { asset_ids })).body.opportunity.status).toBe(3)
    expect(await heldBy(id)).toBe(0)
    expect((await w.get(`/api/v1/stock_levels/${assets[0]!.stock_level_id}`)).body.stock_level.quantity_allocated).toBe(
      "0.00"
    )
    for (const asset of asset_ids)
      await w.patch(`${at}/assets/${asset}`, { action: "check", condition: 1, damage_notes: "scratched" })
    expect(await statusOf(id)).toBe(4)
    expect((await w.get(`${opportunity_path}/${id}/assets`)).body.assets[0]).toMatchObject({
      status: 5,
      status_label: "Finalised",
      condition_on_return: 1,
      condition_on_return_label: "Damaged",
      notes: "scratched"
    })
    expect((await w.post(`${opportunity_path}/${id}/change_status`, { status: 5 })).status).toBe(200)
  })
  it("finalising at check-in checks in the same breath", async () => {
    const { id, asset_ids } = await orderWith(1)
    await quick(id, "book_out", { asset_ids })
    const back = await quick(id, "check_in", { asset_ids, finalise: true, return_store_id: 1 })
    expect(back.body.opportunity).toMatchObject({ status: 4 })
    expect(back.body.opportunity.items[0].assets[0]).toMatchObject({ status: 5, condition_on_return: 0 })
  })
  it("a quotation dispatches nothing, and nothing returns that is not out (scenarios 105, 107)", async () => {
    const product = await w.product()
    const unit = await w.unit(product.id)
    const {
      id,
      items: [line]
    } = await w.withLine(may, { name: "Unit", item_id: product.id })
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    await w.post(`${opportunity_path}/${id}/change_status`, { status: 1 })
    const asset = (await w.post(`${opportunity_path}/${id}/items/${line.id}/assets`, { stock_level_id: unit.id })).body
      .asset
    expect(asset).toMatchObject({ status: 0, stock_level_id: unit.id, opportunity_item_id: line.id })
    expect((await quick(id, "book_out", { asset_ids: [asset.id] })).body.errors.state).toHaveLength(1)
    expect((await quick(id, "check_in", { asset_ids: [asset.id] })).status).toBe(422)
  })
  it("a check-in recorded by mistake is taken back (scenario 109)", async () => {
    const { id, asset_ids, at, assets } = await orderWith(1)
    const act = (body: object) => w.patch(`${at}/assets/${asset_ids[0]}`, body)
    expect((await act({ action: "dispatch" })).body.asset.status).toBe(2)
    expect((await act({ action: "on_hire" })).body.asset.status).toBe(3)
    expect((await act({ action: "return" })).body.asset).toMatchObject({ status: 4 })
    const reverted = await act({ action: "revert_status", status: 3 })
    expect(reverted.body.asset).toMatchObject({ status: 3, returned_at: null })
    expect(await statusOf(id)).toBe(2)
    expect((await w.get(`/api/v1/stock_levels/${assets[0]!.stock_level_id}`)).body.stock_level.quantity_allocated).toBe(
      "1.00"
    )
    expect((await act({ action: "revert_status", status: 4 })).status).toBe(422)
    expect((await act({ action: "revert_status", status: 0 })).body.asset).toMatchObject({
      status: 0,
      dispatched_at: null
    })
    expect(await statusOf(id)).toBe(0)
  })
  it("a unit is taken off, swapped and put in a case; each only as it may be", async () => {
    const { id, ids, asset_ids, at } = await orderWith(2, 3)
    const act = (body: object) => w.patch(`${at}/assets/${asset_ids[0]}`, body)
    expect((await act({ action: "substitute" })).body.errors.stock_level_id).toHaveLength(1)
    expect((await act({ action: "substitute", stock_level_id: ids[1] })).status).toBe(422)
    expect((await act({ action: "substitute", stock_level_id: ids[2] })).body.asset).toMatchObject({
      stock_level_id: ids[2],
      status: 0
    })
    expect((await w.get(`/api/v1/stock_levels/${ids[0]}`)).body.stock_level.quantity_allocated).toBe("0.00")
    expect((await act({ action: "clear_container" })).status).toBe(422)
    expect((await act({ action: "set_container", container_stock_level_id: ids[2] })).status).toBe(422)
    expect(
      (await act({ action: "set_container", container_stock_level_id: ids[0] })).body.asset.container_stock_level_id
    ).toBe(ids[0])
    expect((await act({ action: "prepare" })).body.asset.status).toBe(1)
    expect((await act({ action: "revert" })).body.asset).toMatchObject({ status: 0, prepared_at: null })
    expect((await act({ action: "teleport" })).body.errors.action).toHaveLength(1)
    expect((await w.remove(`${at}/assets/${asset_ids[0]}`)).status).toBe(204)
    expect((await w.get(`${opportunity_path}/${id}/assets`)).body.meta.total).toBe(1)
    await quick(id, "book_out", { asset_ids: [asset_ids[1]] })
    expect((await w.remove(`${at}/assets/${asset_ids[1]}`)).status).toBe(422)
    const other = await orderWith(1)
    expect((await w.patch(`${at}/assets/${other.asset_ids[0]}`, { action: "prepare" })).status).toBe(404)
  })
  it("lines with units cannot lose their quantity, their product or themselves", async () => {
    const { at } = await orderWith(2)
    expect((await w.patch(at, { quantity: 1 })).body.errors.quantity).toHaveLength(1)
    expect((await w.patch(at, { item_id: null })).body.errors.item_id).toHaveLength(1)
    expect((await w.remove(at)).body.errors.item).toHaveLength(1)
  })
  it("a bulk line goes out and comes back in parts (scenario 111)", async () => {
    const { fulfil } = await bulkOrder(50)
    expect((await fulfil({ action: "dispatch", quantity: 30 })).body.item).toMatchObject({
      dispatched_quantity: "30.00",
      quantity: "50.00"
    })
    expect((await fulfil({ action: "dispatch", quantity: 21 })).body.errors.quantity).toHaveLength(1)
    expect((await fulfil({ action: "return", quantity: "10" })).body.item).toMatchObject({ returned_quantity: "10.00" })
    expect((await fulfil({ action: "return", quantity: 21 })).status).toBe(422)
    expect((await fulfil({ action: "adjust", new_quantity: 40 })).body.item).toMatchObject({
      quantity: "40.00",
      total: "160.00"
    })
    expect((await fulfil({ action: "adjust", new_quantity: 20 })).body.errors.new_quantity).toHaveLength(1)
    expect((await fulfil({ action: "teleport" })).status).toBe(422)
    expect((await fulfil({ action: "dispatch" })).body.errors.quantity).toHaveLength(1)
    expect((await fulfil({ action: "dispatch", quantity: "0.001" })).status).toBe(422)
    expect((await fulfil({})).body.errors.action).toHaveLength(1)
  })
  it("what is back is claimed no longer; all back means checked (scenario 113)", async () => {
    const { id, fulfil } = await bulkOrder(100)
    await fulfil({ action: "dispatch", quantity: 60 })
    expect(await statusOf(id)).toBe(2)
    await fulfil({ action: "return", quantity: 40 })
    expect(await heldBy(id)).toBe(60)
    await fulfil({ action: "return", quantity: 20 })
    expect(await statusOf(id)).toBe(4)
  })
  it("serialised lines are not moved by quantity; foreign lines are not found", async () => {
    const { at, line } = await orderWith(0, 1)
    expect((await w.patch(`${at}/fulfilment`, { action: "dispatch", quantity: 1 })).body.errors.item).toHaveLength(1)
    const { id } = await w.opportunity()
    expect(
      (await w.patch(`${opportunity_path}/${id}/items/${line.id}/fulfilment`, { action: "dispatch", quantity: 1 }))
        .status
    ).toBe(404)
  })
  it("a store may hold back what is short, send it with a word, or without (scenario 117)", async () => {
    const short = async (policy: string) => {
      const store = await w.made("/api/v1/stores", { name: policy, shortage_dispatch_policy: policy }, "store")
      const product = await w.product({ stock_method: 1 })
      await w.made(
        "/api/v1/stock_levels",
        { product_id: product.id, store_id: store.id, quantity_held: 5 },
        "stock_level"
      )
      const order = async (quantity: number) => {
        const {
          id,
          items: [line]
        } = await w.withLine({ ...may, store_id: store.id }, { name: "Cable", item_id: product.id, quantity })
        await w.convertToOrder(id)
        return `${opportunity_path}/${id}/items/${line.id}/fulfilment`
      }
      await order(4)
      const path = await order(3)
      const actions = (await w.get(`${path.split("/items")[0]}/available_actions`)).body.available_actions
      const dispatch = actions.find((one: { key: string }) => one.key === "dispatch")
      return { dispatch, reply: await w.patch(path, { action: "dispatch", quantity: 1 }) }
    }
    const blocked = await short("block")
    expect(blocked.reply.status).toBe(422)
    expect(blocked.reply.body.errors.code).toContain("dispatch_block")
    expect(blocked.dispatch).toMatchObject({ allowed: false, code: "dispatch_block" })
    const warned = await short("warn_partial")
    expect(warned.reply.body).toMatchObject({
      item: { dispatched_quantity: "1.00" },
      _meta: {
        dispatch_policy: "warn_partial",
        held_items: [{ requested_quantity: 3, available_quantity: 1, shortfall: 2 }]
      }
    })
    expect(warned.dispatch).toMatchObject({ allowed: true, code: null })
    const silent = await short("allow_partial")
    expect(silent.reply.status).toBe(200)
    expect(silent.reply.body).not.toHaveProperty("_meta")
  })
  it("where stock is released by its check, a returned order still holds it (scenario 119)", async () => {
    await w.put("/api/v1/settings/availability", { settings: { release_point: "checked" } })
    const { id, asset_ids, at } = await orderWith(1)
    await quick(id, "book_out", { asset_ids })
    await quick(id, "check_in", { asset_ids })
    expect(await statusOf(id)).toBe(3)
    expect(await heldBy(id)).toBe(1)
    await w.patch(`${at}/assets/${asset_ids[0]}`, { action: "check", condition: 0 })
    expect(await heldBy(id)).toBe(0)
    await w.put("/api/v1/settings/availability", { settings: { release_point: "returned" } })
  })
  it("without the permission nothing moves", async () => {
    const { id, asset_ids, at } = await orderWith(1)
    const viewer = viewerWith(["opportunities.view"], ["*"])
    for (const reply of [
      await w.post(`${opportunity_path}/${id}/quick_prepare`, { asset_ids }, viewer),
      await w.post(`${opportunity_path}/${id}/quick_allocate`, {}, viewer),
      await w.patch(`${at}/assets/${asset_ids[0]}`, { action: "prepare" }, viewer),
      await w.patch(`${at}/fulfilment`, {}, viewer)
    ])
      expect(reply.status).toBe(403)
  })
  it("two who check one unit in and allocate it elsewhere at once leave its count right", async () => {
    const { id, asset_ids, product, ids } = await orderWith(1)
    await quick(id, "book_out", { asset_ids })
    const later = await w.withLine(
      { starts_at: "2031-07-01", ends_at: "2031-07-03" },
      { name: "Unit", item_id: product.id }
    )
    const replies = await Promise.all([
      quick(id, "check_in", { asset_ids }),
      w.post(`${opportunity_path}/${later.id}/items/${later.items[0].id}/assets`, { stock_level_id: ids[0] })
    ])
    expect(replies.map(({ status }) => status)).toEqual([200, 201])
    expect((await w.get(`/api/v1/stock_levels/${ids[0]}`)).body.stock_level.quantity_allocated).toBe("1.00")
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
