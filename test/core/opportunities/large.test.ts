/** Large opportunities: only lines of the active version are read, only what changed is written, in one event. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { demands } from "../../../core/demands/schema.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { loadDecisionState } from "../../../core/opportunities/load.ts"
import { opportunity_items } from "../../../core/opportunities/lines/schema.ts"
import { opportunities } from "../../../core/opportunities/schema.ts"
import { opportunityStream } from "../../../core/opportunities/event-families.ts"
import { type App, engines, openApp } from "../../app.ts"
import { fourDays, lineL, opportunity_path, opportunityFixture, type OpportunityFixture } from "./fixtures.ts"

describe.each(engines)("large deals on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())
  const events = async (id: number, type: string) =>
    (await app.run(Effect.flatMap(Store, (store) => store.find(journal, { stream: opportunityStream(id), type })))).map(
      (event) => event.data as any
    )
  const stored = (id: number) =>
    app.run(Effect.flatMap(Store, (store) => store.find(opportunity_items, { opportunity_id: id })))

  it("a change of lines reads those of the active version only, and one of versions all of them", async () => {
    const { id } = await w.withLine(fourDays)
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    await w.made(`${opportunity_path}/${id}/versions`, {}, "version")
    await w.made(`${opportunity_path}/${id}/versions`, {}, "version")
    const read = (live_only: boolean) =>
      app.run(
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
  it("lines, sums and the other version stay right when a line is added to one version", async () => {
    const { id } = await w.withLine(fourDays)
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    const first = await w.made(`${opportunity_path}/${id}/versions`, {}, "version")
    await w.made(`${opportunity_path}/${id}/versions`, {}, "version")
    const { opportunity } = (await w.post(`${opportunity_path}/${id}/items`, lineL)).body
    // Two lines of 2 × 50.00 × 4 days; the first version keeps its one.
    expect(opportunity).toMatchObject({ charge_total: "800.00", items: [{ total: "400.00" }, { total: "400.00" }] })
    await w.post(`${opportunity_path}/${id}/versions/${first.id}/activate`)
    expect((await w.get(`${opportunity_path}/${id}?include=items`)).body.opportunity).toMatchObject({
      charge_total: "400.00",
      items: [{ total: "400.00" }]
    })
  })
  it("another order of lines writes those that moved, and tells the whole order", async () => {
    const { id } = await w.withLine(fourDays)
    for (const name of ["B", "C"]) await w.post(`${opportunity_path}/${id}/items`, { ...lineL, name })
    const before = (await stored(id)).toSorted((one, other) => (one.path < other.path ? -1 : 1))
    app.setClock("2026-06-18T13:00:00.000Z")
    const nodes = [before[0]!, before[2]!, before[1]!].map((line) => ({ id: line.id, depth: 1 }))
    expect((await w.patch(`${opportunity_path}/${id}/items/tree`, { nodes })).status).toBe(200)
    const after = new Map((await stored(id)).map((line) => [line.id, line]))
    expect(nodes.map((node) => after.get(node.id)!.path)).toEqual(["0001", "0002", "0003"])
    expect(after.get(before[0]!.id)!.updated_at).toBe(before[0]!.updated_at)
    expect(after.get(before[1]!.id)!.updated_at).toBe("2026-06-18T13:00:00.000Z")
    expect((await events(id, "opportunity.items_restructured")).at(-1)).toMatchObject({
      paths: nodes.map((node, at) => ({ id: node.id, path: `000${at + 1}` })),
      moved: [nodes[1]!.id, nodes[2]!.id]
    })
  })
  it("claims that only enter another phase are said once for all lines, and stay as they are otherwise", async () => {
    const bulk = await w.product({ stock_method: 1 }),
      serial = await w.product()
    const unit = await w.unit(serial.id)
    const { id } = await w.withLine(fourDays, {
      name: "Head",
      item_id: serial.id,
      quantity: "1",
      unit_price: "1.00"
    } as never)
    for (const name of ["B", "C"])
      await w.post(`${opportunity_path}/${id}/items`, { name, item_id: bulk.id, quantity: "2", unit_price: "1.00" })
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    expect((await w.post(`${opportunity_path}/${id}/convert_to_order`)).status).toBe(200)
    const [head, ...others] = (await w.get(`${opportunity_path}/${id}?include=items`)).body.opportunity.items
    await w.post(`${opportunity_path}/${id}/quick_allocate`, {
      allocations: [{ opportunity_item_id: head.id, stock_level_id: unit.id }]
    })
    const [asset] = (await w.get(`${opportunity_path}/${id}/assets`)).body.assets
    const demandsOf = () =>
      app.run(
        Effect.flatMap(Store, (store) =>
          store.find(demands, { opportunity_id: id, source_id: others.map((line: any) => line.id) })
        )
      )
    const before = await demandsOf()
    expect(before.map((demand) => [demand.phase, demand.quantity])).toEqual([
      ["reserved", 2],
      ["reserved", 2]
    ])
    const told = (await events(id, "claims.phased")).length
    expect((await w.post(`${opportunity_path}/${id}/quick_book_out`, { asset_ids: [asset.id] })).status).toBe(200)
    const after = await demandsOf()
    expect(after.map((demand) => demand.phase)).toEqual(["on_hire", "on_hire"])
    expect(after.map(({ phase: _p, updated_at: _u, ...rest }) => rest)).toEqual(
      before.map(({ phase: _p, updated_at: _u, ...rest }) => rest)
    )
    expect((await events(id, "claims.phased")).slice(told)).toEqual([
      { source_type: "opportunity_item", source_ids: others.map((line: any) => line.id), phase: "on_hire" }
    ])
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
