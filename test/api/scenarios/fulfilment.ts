/** Dispatch and return, shortages, demands, versions, activity. */
import { expect } from "vitest"
import { fourDays, opp, type Scenario, scenario, type Scene } from "../opportunity-scenarios.ts"
import { refusedOn } from "../calling.ts"

/** Creates an order of one line with units allocated to it. */
const orderWith = async (s: Scene, units: number, quantity = units) => {
  const product = await s.product()
  const ids: Array<number> = []
  for (let at = 0; at < quantity; at++) ids.push((await s.unit(product.id)).id)
  const {
    id,
    items: [line]
  } = await s.withLine(fourDays, { name: "Unit", item_id: product.id, quantity })
  expect((await s.ordered(id)).status).toBe(200)
  const allocated = await s.post(`${opp}/${id}/quick_allocate`, {
    allocations: ids.slice(0, units).map((stock_level_id) => ({ opportunity_item_id: line.id, stock_level_id }))
  })
  const assets =
    units === 0 ? [] : (allocated.body.opportunity.items[0].assets.map((one) => one.id) as ReadonlyArray<number>)
  const quick = (name: string, asset_ids = assets) => s.post(`${opp}/${id}/quick_${name}`, { asset_ids })
  return { id, line, product, ids, assets, quick, at: `${opp}/${id}/items/${line.id}/assets` }
}
const statusOf = async (s: Scene, id: number) => (await s.get(`${opp}/${id}`)).body.opportunity.status
/** Creates a store with 5 in stock (or `held`) and 4 reserved, and an order for 3, which is short by 2. */
const shortOrder = async (s: Scene, policies: object, held = 5) => {
  const store = await s.made(
    "/api/v1/stores",
    { name: `${s.subject} ${JSON.stringify(policies)} ${held}`, ...policies },
    "store"
  )
  const product = await s.product({ stock_method: 1 })
  await s.made(
    "/api/v1/stock_levels",
    { product_id: product.id, store_id: store.id, quantity_held: held },
    "stock_level"
  )
  const quote = (quantity: number) =>
    s.withLine({ ...fourDays, store_id: store.id }, { name: "Cable", item_id: product.id, quantity })
  await s.ordered((await quote(4)).id)
  const {
    id,
    items: [line]
  } = await quote(3)
  const reply = await s.ordered(id)
  return {
    id,
    line,
    reply,
    dispatch: () => s.patch(`${opp}/${id}/items/${line.id}/fulfilment`, { action: "dispatch", quantity: 1 })
  }
}
const bulkOrder = async (s: Scene, quantity: number) => {
  const store = await s.made("/api/v1/stores", { name: `Store of ${s.subject}` }, "store")
  const product = await s.product({ stock_method: 1 })
  await s.made(
    "/api/v1/stock_levels",
    { product_id: product.id, store_id: store.id, quantity_held: quantity },
    "stock_level"
  )
  const {
    id,
    items: [line]
  } = await s.withLine({ ...fourDays, store_id: store.id }, { name: "Cable", item_id: product.id, quantity })
  await s.ordered(id)
  return { id, fulfil: (body: object) => s.patch(`${opp}/${id}/items/${line.id}/fulfilment`, body) }
}

export const fulfilmentScenarios = (): ReadonlyArray<Scenario> => [
  scenario(41, "an order with dispatched goods cannot become a quotation", async (s) => {
    const { id, quick } = await orderWith(s, 1)
    await quick("book_out")
    refusedOn(await s.move(id, "revert_to_quotation"), "state")
    expect((await s.shown(id)).state).toBe(2)
  }),
  scenario(43, "an order cannot be cancelled while goods are out", async (s) => {
    const { id, quick } = await orderWith(s, 1)
    await quick("book_out")
    expect((await s.move(id, "change_status", { status: 6 })).status).toBe(422)
    const other = await orderWith(s, 1)
    expect((await s.move(other.id, "change_status", { status: 6 })).body.opportunity.status).toBe(6)
  }),
  scenario(53, "dispatch is offered unless the policy blocks it because of a shortage", async (s) => {
    expect(
      (await s.actions((await shortOrder(s, { shortage_dispatch_policy: "block" })).id))["dispatch"]
    ).toMatchObject({ allowed: false, code: "dispatch_block" })
    expect(
      (await s.actions((await shortOrder(s, { shortage_dispatch_policy: "block" }, 50)).id))["dispatch"]
    ).toMatchObject({ allowed: true, code: null })
  }),
  scenario(99, "units beyond the quantity, units of other orders and bulk stock cannot be allocated", async (s) => {
    const { id, ids, line, product } = await orderWith(s, 2)
    const allocate = (opportunity: number, item: number, ...levels: ReadonlyArray<number>) =>
      s.post(`${opp}/${opportunity}/quick_allocate`, {
        allocations: levels.map((stock_level_id) => ({ opportunity_item_id: item, stock_level_id }))
      })
    const third = await s.unit(product.id)
    expect((await allocate(id, line.id, third.id)).status).toBe(422)
    const other = await orderWith(s, 0, 1)
    const overlapping = await s.withLine(fourDays, { name: "Unit", item_id: product.id, quantity: 2 })
    await s.ordered(overlapping.id)
    const [mine] = overlapping.items
    expect((await allocate(overlapping.id, mine.id, ids[0]!)).status).toBe(422)
    const bulk = await s.product({ stock_method: 1 })
    const level = (await s.get(`/api/v1/products/${bulk.id}?include=stock_levels`)).body.product.stock_levels[0]
    expect((await allocate(overlapping.id, mine.id, level.id)).status).toBe(422)
    expect((await allocate(overlapping.id, other.line.id, third.id)).status).toBe(404)
    expect((await allocate(overlapping.id, mine.id, third.id, ids[0]!)).status).toBe(422)
    expect((await s.get(`${opp}/${overlapping.id}/assets`)).body.meta.total).toBe(0)
  }),
  scenario(101, "a unit is prepared once", async (s) => {
    const { quick } = await orderWith(s, 1)
    expect((await quick("prepare")).body.opportunity.items[0].assets[0]).toMatchObject({
      status: 1,
      prepared_at: expect.any(String)
    })
    expect((await quick("prepare")).status).toBe(422)
  }),
  scenario(103, "units are dispatched in parts", async (s) => {
    const { assets, id, quick } = await orderWith(s, 2)
    await quick("book_out", [assets[0]!])
    expect(await statusOf(s, id)).toBe(1)
    await quick("book_out", [assets[1]!])
    expect(await statusOf(s, id)).toBe(2)
  }),
  scenario(105, "a quotation dispatches nothing", async (s) => {
    const product = await s.product()
    const unit = await s.unit(product.id)
    const {
      id,
      items: [line]
    } = await s.withLine(fourDays, { name: "Unit", item_id: product.id })
    await s.quoted(id)
    await s.move(id, "change_status", { status: 1 })
    const { id: asset } = await s.made(`${opp}/${id}/items/${line.id}/assets`, { stock_level_id: unit.id }, "asset")
    expect((await s.post(`${opp}/${id}/quick_book_out`, { asset_ids: [asset] })).status).toBe(422)
  }),
  scenario(107, "a unit that was not dispatched cannot be returned", async (s) =>
    expect((await (await orderWith(s, 1)).quick("check_in")).status).toBe(422)
  ),
  scenario(109, "a check-in is reverted", async (s) => {
    const { assets, at, id, ids, quick } = await orderWith(s, 1)
    const act = (body: object) => s.patch(`${at}/${assets[0]}`, body)
    await quick("book_out")
    await act({ action: "on_hire" })
    await quick("check_in")
    expect((await act({ action: "revert_status", status: 3 })).body.asset).toMatchObject({
      status: 3,
      returned_at: null
    })
    expect((await s.get(`/api/v1/stock_levels/${ids[0]}`)).body.stock_level.quantity_allocated).toBe("1.00")
    expect(await statusOf(s, id)).toBe(2)
    expect((await act({ action: "revert_status", status: 4 })).status).toBe(422)
  }),
  scenario(111, "a bulk line is dispatched, returned and adjusted, but not below what was dispatched", async (s) => {
    const { fulfil } = await bulkOrder(s, 50)
    expect((await fulfil({ action: "dispatch", quantity: 30 })).body.item.dispatched_quantity).toBe("30.00")
    expect((await fulfil({ action: "return", quantity: 10 })).body.item.returned_quantity).toBe("10.00")
    expect((await fulfil({ action: "adjust", new_quantity: 40 })).body.item.quantity).toBe("40.00")
    expect((await fulfil({ action: "adjust", new_quantity: 20 })).status).toBe(422)
    expect((await fulfil({ action: "teleport" })).status).toBe(422)
  }),
  scenario(
    113,
    "a bulk order is On Hire once part of it is dispatched, and claims what was not returned",
    async (s) => {
      const { fulfil, id } = await bulkOrder(s, 100)
      await fulfil({ action: "dispatch", quantity: 60 })
      expect(await statusOf(s, id)).toBe(2)
      await fulfil({ action: "return", quantity: 40 })
      s.later(async ({ held }) => expect(await held(id)).toBe(60))
    }
  ),
  scenario(115, "an order is confirmed despite a shortage by a user who may ignore shortages", async (s) => {
    const { id, reply } = await shortOrder(s, { shortage_policy: "block" })
    expect(reply.status).toBe(200)
    s.later(async ({ ask }) => {
      const entry = (await ask("GET", `${opp}/${id}/activity`)).body.activity.find(
        (one: Record<"action", unknown>) => one.action === "shortage.acknowledged"
      )
      expect(entry.new_values).toEqual({ policy_at_time: "block", permission_used: true, shortage_count: 1 })
    })
  }),
  scenario(117, "a short dispatch is refused, warned of or allowed by the store's policy", async (s) => {
    const blocked = await shortOrder(s, { shortage_dispatch_policy: "block" })
    const refused = await blocked.dispatch()
    expect([refused.status, refused.body.errors.code]).toEqual([422, ["dispatch_block"]])
    expect((await s.shown(blocked.id)).items[0].dispatched_quantity).toBe("0.00")
    const warned = await (await shortOrder(s, { shortage_dispatch_policy: "warn_partial" })).dispatch()
    expect(warned.body).toMatchObject({
      item: { dispatched_quantity: "1.00" },
      _meta: { dispatch_policy: "warn_partial", held_items: [{ shortfall: 2 }] }
    })
    const allowed = await (await shortOrder(s, { shortage_dispatch_policy: "allow_partial" })).dispatch()
    expect([allowed.status, allowed.body._meta]).toEqual([200, undefined])
  }),
  scenario(119, "a returned unit stays claimed until its check if the setting says so", async (s) => {
    const point = (release_point: string) => s.put("/api/v1/settings/availability", { settings: { release_point } })
    expect((await point("checked")).status).toBe(200)
    const { id, quick } = await orderWith(s, 1)
    await quick("book_out")
    await quick("check_in")
    expect(await statusOf(s, id)).toBe(3)
    s.later(async ({ held }) => expect(await held(id)).toBe(1))
    await point("returned")
  }),
  scenario(121, "a new version supersedes the last as a revision, or stands beside it as an alternative", async (s) => {
    const make = (id: number, version_type: number) => s.made(`${opp}/${id}/versions`, { version_type }, "version")
    const one = await s.withLine()
    await s.quoted(one.id)
    const [v1, v2] = [await make(one.id, 0), await make(one.id, 0)]
    expect((await s.shown(one.id, "versions")).versions).toMatchObject([
      { id: v1.id, status: 4, superseded_by_version_id: v2.id },
      { id: v2.id, parent_version_id: v1.id }
    ])
    const other = await s.withLine()
    await s.quoted(other.id)
    const [a1, a2] = [await make(other.id, 0), await make(other.id, 1)]
    expect(await s.shown(other.id, "versions")).toMatchObject({
      has_alternatives: true,
      versions: [
        { id: a1.id, status: 0 },
        { id: a2.id, parent_version_id: null }
      ]
    })
  }),
  scenario(123, "the accepted version becomes the active one", async (s) => {
    const { id } = await s.withLine()
    await s.quoted(id)
    const v1 = await s.made(`${opp}/${id}/versions`, {}, "version")
    const v2 = await s.made(`${opp}/${id}/versions`, { version_type: 1 }, "version")
    expect((await s.shown(id)).active_version_id).toBe(v2.id)
    await s.post(`${opp}/${id}/versions/${v1.id}/accept`)
    expect((await s.move(id, "convert_to_order")).body.opportunity.active_version_id).toBe(v1.id)
    expect((await s.get(`${opp}/${id}/versions/${v2.id}`)).body.version.status).toBe(4)
  }),
  scenario(125, "activity is listed newest first, and hidden from tokens with opportunities:read alone", async (s) => {
    const { id } = await s.deal()
    await s.deal()
    await s.put(`${opp}/${id}`, { reference: "later" })
    s.later(async ({ ask }) => {
      const { activity, meta } = (await ask("GET", `${opp}/${id}/activity`)).body
      expect([meta.total, activity.map((one: Record<"action", unknown>) => one.action)]).toEqual([
        2,
        ["opportunity.updated", "opportunity.created"]
      ])
    })
    if (s.somebody === undefined) return
    expect(
      (
        await (
          await s.somebody(["opportunities.view", "action-log.view"], ["opportunities:read"])
        )("GET", `${opp}/${id}/activity`)
      ).status
    ).toBe(403)
  })
]
