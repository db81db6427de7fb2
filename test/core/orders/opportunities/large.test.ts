/** Large opportunities: commands read only the active version's lines, and write only changed rows, in one event. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { demands } from "../../../../core/orders/demands/schema.ts"
import { journal } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { loadDecisionState } from "../../../../core/orders/opportunities/state/load.ts"
import { opportunity_items } from "../../../../core/orders/opportunities/tables/lines.ts"
import { opportunities } from "../../../../core/orders/opportunities/tables/opportunities.ts"
import { opportunityStream } from "../../../../core/orders/opportunities/events/event-families.ts"
import { engines } from "../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../app-house.ts"
import { hire_dates, fifty_each } from "../../../rental-house.ts"

describe.each(engines)("opportunities of several lines and versions on %s", (engine) => {
  const w = appHouse(engine)
  const events = async (id: number, type: string) =>
    (
      await w.app.run(Effect.flatMap(Store, (store) => store.find(journal, { stream: opportunityStream(id), type })))
    ).map((event) => event.data as any)
  const stored = (id: number) =>
    w.app.run(Effect.flatMap(Store, (store) => store.find(opportunity_items, { opportunity_id: id })))

  it("are loaded with the active version's lines, or with the lines of all versions, as requested", async () => {
    const { id } = await w.deal(hire_dates)
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    await w.create(`/opportunities/${id}/versions`, {})
    await w.create(`/opportunities/${id}/versions`, {})
    const read = (live_only: boolean) =>
      w.app.run(
        Effect.gen(function* () {
          const header = (yield* (yield* Store).get(opportunities, id))!
          const { opportunity } = yield* loadDecisionState(
            header,
            { now: "2026-06-18T12:00:00.000Z", settings: {} },
            { live_only }
          )
          return opportunity.lines.map((line) => line.is_live)
        })
      )
    expect(await read(true)).toEqual([true])
    expect((await read(false)).toSorted()).toEqual([false, true])
  })
  it("keep the other version's total when a line is added to the active version", async () => {
    const { id } = await w.deal(hire_dates)
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    const first = await w.create(`/opportunities/${id}/versions`, {})
    await w.create(`/opportunities/${id}/versions`, {})
    const { opportunity } = (await w.post(`/opportunities/${id}/items`, fifty_each)).body
    // Two lines of 2 × 50.00 × 4 days; the first version keeps its one.
    expect(opportunity).toMatchObject({ charge_total: "800.00", items: [{ total: "400.00" }, { total: "400.00" }] })
    await w.post(`/opportunities/${id}/versions/${first.id}/activate`)
    expect(await w.show(`/opportunities/${id}?include=items`)).toMatchObject({
      charge_total: "400.00",
      items: [{ total: "400.00" }]
    })
  })
  describe("with thirty lines", () => {
    const dates = (from: number, to: number) => ({
      starts_at: `2026-07-${from}T09:00:00Z`,
      ends_at: `2026-07-${to}T09:00:00Z`
    })
    const lastLine = async (id: number, line: object): Promise<number> =>
      (
        await w.must("POST", `/opportunities/${id}/items`, { name: "Line", quantity: "1", ...line })
      ).opportunity.items.at(-1)!.id
    /** A draft of thirty lamps, and the five stands, which another order has from the 20th on. */
    const longOrder = async (place: { readonly store_id?: number } = { store_id: 1 }) => {
      const [lamps, stands] = [await w.product(), await w.product()]
      await w.hold(lamps, 100)
      await w.hold(stands, 5)
      const other = await w.create("/opportunities", { subject: "Gala", store_id: 1, ...dates(20, 24) })
      await lastLine(other.id, { item_id: stands, quantity: "5" })
      await w.confirm(other.id)
      const { id } = await w.create("/opportunities", { subject: "Tour", ...place, ...dates(10, 14) })
      for (let at = 0; at < 30; at++) await lastLine(id, { item_id: lamps })
      return { id, lamps, stands }
    }
    it("judge a product exchanged on a line with days of its own in those days", async () => {
      const { id, lamps, stands } = await longOrder()
      const line = await lastLine(id, { item_id: lamps, quantity: "3", ...dates(20, 22) })
      const { opportunity } = await w.must("PATCH", `/opportunities/${id}/items/${line}`, { item_id: stands })
      expect(opportunity.has_shortage).toBe(true)
      expect(await w.show(`/opportunities/${id}/shortages`)).toMatchObject([{ product_id: stands, shortfall: 3 }])
    })
    it("judge an accessory in the order's days, which are its own whatever was sent", async () => {
      const { id, lamps, stands } = await longOrder()
      await w.must("PUT", `/opportunities/${id}`, dates(20, 24))
      const principal_item_id = await lastLine(id, { item_id: lamps })
      const accessory = { name: "Stand", item_type: "accessory", item_id: stands, quantity: "3", principal_item_id }
      const added = await w.must("POST", `/opportunities/${id}/items`, { ...accessory, ...dates(28, 30) })
      expect(added.opportunity.has_shortage).toBe(true)
    })
    it("judge a line that leaves from another store by that store's stock", async () => {
      const { id, lamps, stands } = await longOrder({})
      const { id: store_id } = await w.create("/stores", { name: "Two" })
      for (const [product_id, quantity_held] of [
        [lamps, "100"],
        [stands, "1"]
      ])
        await w.create("/stock_levels", { product_id, store_id, quantity_held })
      const { id: amp } = await w.create("/products", { name: "Amp", stock_method: 2 })
      const { id: stock_level_id } = await w.create("/stock_levels", { product_id: amp, store_id, asset_number: "X1" })
      const line = await lastLine(id, { item_id: amp })
      const path = `/opportunities/${id}`
      await w.must("POST", `${path}/quick_allocate`, { allocations: [{ opportunity_item_id: line, stock_level_id }] })
      await w.must("PUT", path, { store_id: 1 })
      const { items } = await w.show(`${path}?include=items.assets`)
      const [asset] = items.find((one: { id: number }) => one.id === line).assets
      await w.must("DELETE", `${path}/items/${line}/assets/${asset.id}`)
      const isShort = async (item_id: number, quantity: string): Promise<boolean> =>
        (await w.must("PATCH", `${path}/items/${line}`, { item_id, quantity })).opportunity.has_shortage
      expect([await isShort(stands, "3"), await isShort(lamps, "90")]).toEqual([true, false])
      expect([await isShort(lamps, "101"), await isShort(stands, "1")]).toEqual([true, false])
    })
  })
  it("are short from the first unit on that one of their products lacks", async () => {
    const [lamps, stands] = [await w.product(), await w.product()]
    await w.hold(lamps, 43)
    await w.hold(stands, 5)
    const { id } = await w.opportunity(hire_dates)
    const added = async (item_id: number, quantity: string) =>
      (await w.must("POST", `/opportunities/${id}/items`, { ...fifty_each, item_id, quantity })).opportunity
    for (let at = 0; at < 20; at++) await added(lamps, "2")
    await w.confirm(id)
    const withStands = await added(stands, "5")
    const line = withStands.items.at(-1)!.id
    const changed = async (quantity: string) =>
      (await w.must("PATCH", `/opportunities/${id}/items/${line}`, { quantity })).opportunity.has_shortage
    expect([withStands.has_shortage, await changed("6"), await changed("5")]).toEqual([false, true, false])
    const last = await added(lamps, "3")
    const short = await added(lamps, "1")
    expect([last.has_shortage, short.has_shortage]).toEqual([false, true])
    const removed = await w.must("DELETE", `/opportunities/${id}/items/${short.items.at(-1)!.id}`)
    expect(removed.opportunity.has_shortage).toBe(false)
    await w.hold(stands, 4)
    const free = await w.product()
    await w.hold(free, 1)
    expect((await added(free, "1")).has_shortage).toBe(true)
  })
  it("write only moved lines when reordered, and record the complete order", async () => {
    const { id } = await w.deal(hire_dates)
    for (const name of ["B", "C"]) await w.post(`/opportunities/${id}/items`, { ...fifty_each, name })
    const before = (await stored(id)).toSorted((one, other) => (one.path < other.path ? -1 : 1))
    w.app.setClock("2026-06-18T13:00:00.000Z")
    const nodes = [before[0]!, before[2]!, before[1]!].map((line) => ({ id: line.id, depth: 1 }))
    expect((await w.patch(`/opportunities/${id}/items/tree`, { nodes })).status).toBe(200)
    const after = new Map((await stored(id)).map((line) => [line.id, line]))
    expect(nodes.map((node) => after.get(node.id)!.path)).toEqual(["0001", "0002", "0003"])
    expect(after.get(before[0]!.id)!.updated_at).toBe(before[0]!.updated_at)
    expect(after.get(before[1]!.id)!.updated_at).toBe("2026-06-18T13:00:00.000Z")
    expect((await events(id, "opportunity.items_restructured")).at(-1)).toMatchObject({
      paths: nodes.map((node, at) => ({ id: node.id, path: `000${at + 1}` })),
      moved: [nodes[1]!.id, nodes[2]!.id]
    })
  })
  it("record a common change of phase once for all lines", async () => {
    const [bulk, serial] = [await w.product(), await w.serialised()]
    const unit = await w.unit(serial)
    const { id } = await w.deal(hire_dates, { name: "Head", item_id: serial, quantity: "1", unit_price: "1.00" })
    for (const name of ["B", "C"])
      await w.post(`/opportunities/${id}/items`, { name, item_id: bulk, quantity: "2", unit_price: "1.00" })
    await w.confirm(id)
    const [head, ...others] = (await w.show(`/opportunities/${id}?include=items`)).items
    await w.post(`/opportunities/${id}/quick_allocate`, {
      allocations: [{ opportunity_item_id: head.id, stock_level_id: unit }]
    })
    const [asset] = await w.show(`/opportunities/${id}/assets`)
    const demandsOf = () =>
      w.app.run(
        Effect.flatMap(Store, (store) =>
          store.find(demands, { opportunity_id: id, source_id: others.map((line) => line.id) })
        )
      )
    const before = await demandsOf()
    expect(before.map((demand) => [demand.phase, demand.quantity])).toEqual([
      ["reserved", 2],
      ["reserved", 2]
    ])
    const told = (await events(id, "claims.phased")).length
    expect((await w.post(`/opportunities/${id}/quick_book_out`, { asset_ids: [asset.id] })).status).toBe(200)
    const after = await demandsOf()
    expect(after.map((demand) => demand.phase)).toEqual(["on_hire", "on_hire"])
    expect(after.map(({ phase: _p, updated_at: _u, ...rest }) => rest)).toEqual(
      before.map(({ phase: _p, updated_at: _u, ...rest }) => rest)
    )
    expect((await events(id, "claims.phased")).slice(told)).toEqual([
      { source_type: "opportunity_item", source_ids: others.map((line) => line.id), phase: "on_hire" }
    ])
  })
  itFoldsAgain(w)
})
