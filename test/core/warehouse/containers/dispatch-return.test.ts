import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { journal } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { engines } from "../../../app.ts"
import { itFoldsAgain, refused } from "../../../app-house.ts"
import { caseHouse } from "./fixtures.ts"

describe.each(engines)("containers on orders on %s", (engine) => {
  const w = caseHouse(engine)
  const dates = { starts_at: "2026-06-18T09:00:00Z", ends_at: "2026-06-22T17:00:00Z" }
  const deal = async (more: object = {}) =>
    (await w.opportunity({ subject: "Gala", store_id: w.S, ...dates, ...more })).id as number
  const addLine = async (id: number, item_id: number, quantity = 1) =>
    w.must("POST", `/opportunities/${id}/items`, { name: "Line", item_type: "product", item_id, quantity })
  /** Creates an order for the product, by default for a new bulk product. */
  const order = async (product?: number, more: object = {}) => {
    const id = await deal(more)
    await addLine(id, product ?? (await w.bulk(w.S, 1)).id)
    await w.confirm(id)
    return id
  }
  /** Creates a sealed container with one unit inside, by default a kit. */
  const sealed = async (mode: "kit" | "hybrid" | "transport" = "kit", template: object = {}) => {
    const kit = await w.container(mode, { template })
    const inside = await w.gear()
    await w.pack(kit.id, inside.unit)
    await w.act(kit.id, "seal")
    return { ...kit, inside }
  }
  const opportunity = async (id: number) => await w.show(`/opportunities/${id}`)
  const assets = async (id: number) => await w.show(`/opportunities/${id}/assets`)
  const allocate = async (id: number, ...units: ReadonlyArray<number>) => {
    const { items } = await w.show(`/opportunities/${id}?include=items`)
    expect((await w.allocate({ id, line: items[0] }, ...units)).status).toBe(200)
  }
  const out = (kit: { id: number }, opportunity_id: unknown, more: object = {}) =>
    w.act(kit.id, "dispatch", { opportunity_id, ...more })

  it("go out on their line, and return with everything inside", async () => {
    const kit = await sealed()
    const id = await order(kit.product)
    const gone = await out(kit, id, { dispatched_at: "2026-06-18T08:00:00Z" })
    expect([gone.status, gone.body.container]).toMatchObject([
      200,
      { status: "dispatched", opportunity_id: id, dispatched_at: "2026-06-18T08:00:00.000Z", returned_at: null }
    ])
    expect(await assets(id)).toMatchObject([
      { stock_level_id: kit.housing, status: 2, dispatched_at: "2026-06-18T08:00:00.000Z" }
    ])
    // The full quantity is out.
    expect((await opportunity(id)).status_name).toBe("On Hire")
    expect([await w.free(kit.product, "2026-06-20"), await w.free(kit.inside.product, "2026-06-20")]).toEqual([0, 0])
    await refused(out(kit, id), "container")
    await refused(w.act(kit.id, "dissolve"), "container")
    await refused(w.act(kit.id, "unseal"), "container")
    await refused(w.act(kit.id, "return", { returned_at: "2026-06-18T07:00:00Z" }), "returned_at")
    const back = await w.act(kit.id, "return", { returned_at: "2026-06-21T10:00:00Z" })
    expect([back.status, back.body.container]).toMatchObject([
      200,
      {
        status: "returned",
        opportunity_id: null,
        returned_at: "2026-06-21T10:00:00.000Z",
        items: [{ serialised_item_id: kit.inside.unit, unpacked_at: null }]
      }
    ])
    expect(await assets(id)).toMatchObject([
      { stock_level_id: kit.housing, status: 4, returned_at: "2026-06-21T10:00:00.000Z" }
    ])
    expect(await w.free(kit.product, "2026-06-25")).toBe(1)
    expect(await w.free(kit.inside.product, "2026-06-25")).toBe(0)
    await refused(w.act(kit.id, "return"), "container")
  })
  it("are checked at once if they are returned with a condition", async () => {
    const kit = await sealed()
    const id = await order(kit.product)
    await out(kit, id)
    await refused(w.act(kit.id, "return", { condition: 7 }), "condition")
    await w.act(kit.id, "return", { condition: 1 })
    expect(await assets(id)).toMatchObject([{ status: 5, condition_on_return: 1 }])
  })
  it("go out on the order that they are allocated to", async () => {
    const kit = await sealed()
    const id = await order(kit.product)
    await allocate(id, kit.housing)
    expect((await out(kit, id)).status).toBe(200)
    expect(await assets(id)).toMatchObject([{ stock_level_id: kit.housing, status: 2 }])
  })
  it("are reserved until their return on an order without a line for them", async () => {
    const kit = await sealed("hybrid")
    const id = await order()
    expect(await w.free(kit.product, "2026-06-20")).toBe(1)
    expect((await out(kit, id)).status).toBe(200)
    expect([
      await assets(id),
      await w.free(kit.product, "2026-06-20"),
      await w.free(kit.product, "2027-01-01")
    ]).toEqual([[], 0, 1])
    // Overdue, it is unavailable until it is back.
    w.app.setClock("2026-06-24T12:00:00.000Z")
    expect(await w.free(kit.product, "2027-01-01")).toBe(0)
    w.app.setClock("2026-06-18T12:00:00.000Z")
    await w.act(kit.id, "return")
    expect(await w.free(kit.product, "2026-06-20")).toBe(1)
  })
  it("go out as a whole only if they are sealed kits or hybrids", async () => {
    const id = await order()
    const [open, box] = [await w.container("kit"), await sealed("transport")]
    const crate = await w.create("/containers/temporary", { name: "Crate", barcode: "OUT-1", store_id: w.S })
    for (const one of [open, box, crate]) await refused(out(one, id), "container")
  })
  it("go out only on open orders at their store", async () => {
    const kit = await sealed()
    const quotation = await deal()
    await w.create(`/opportunities/${quotation}/convert_to_quotation`)
    const elsewhere = await order(undefined, { store_id: await w.store() })
    for (const id of [undefined, 99_999, await deal(), quotation, elsewhere])
      await refused(out(kit, id), "opportunity_id")
    expect((await w.box(kit.id)).status).toBe("sealed")
  })
  it("cannot go out while another order has them allocated for the same dates", async () => {
    const kit = await sealed()
    const [first, second] = [await order(kit.product), await order(kit.product)]
    await allocate(first, kit.housing)
    await refused(out(kit, second), "opportunity_id")
    await refused(out(kit, await order()), "opportunity_id")
  })
  it("can go out although a later order has them allocated", async () => {
    const kit = await sealed()
    const later = await order(kit.product, { starts_at: "2026-09-18T09:00:00Z", ends_at: "2026-09-22T17:00:00Z" })
    await allocate(later, kit.housing)
    const id = await order()
    expect((await out(kit, id)).status).toBe(200)
    expect([
      await w.free(kit.product, "2026-06-20"),
      await w.free(kit.product, "2026-08-01"),
      await w.free(kit.product, "2026-09-20")
    ]).toEqual([0, 1, 0])
    expect((await w.act(kit.id, "return")).status).toBe(200)
  })
  it.each(["kit", "transport"] as const)(
    "cannot go out on their own while packed in another container (%s)",
    async (mode) => {
      const [outer, inner] = [await w.container(mode), await sealed()]
      expect((await w.pack(outer.id, inner.housing)).status).toBe(201)
      for (const id of [await order(), await order(inner.product)]) await refused(out(inner, id), "container")
      await w.act(outer.id, "unpack", { serialised_item_id: inner.housing })
      expect((await out(inner, await order())).status).toBe(200)
    }
  )
  it("keep a unit packed in a kit from being allocated", async () => {
    const kit = await sealed()
    const id = await order(kit.inside.product)
    const [line] = (await w.show(`/opportunities/${id}?include=items`)).items
    expect((await w.allocate({ id, line }, kit.inside.unit)).status).toBe(422)
  })

  describe("booking out and checking in units", () => {
    const snapshot = async (id: number, verb: string, ...units: ReadonlyArray<number>) => {
      const rows = await assets(id)
      return w.must("POST", `/opportunities/${id}/${verb}`, {
        asset_ids: units.map((unit) => rows.find((row) => row.stock_level_id === unit)?.id)
      })
    }
    const memberships = async (container: number) =>
      (await w.show(`/containers?q[id_eq]=${container}&include=container_items`))[0].container_items

    it("takes units out of a box, and dissolves it with the last one", async () => {
      const box = await w.container("transport")
      const part = await w.units(w.S, 2)
      for (const unit of part.units) await w.pack(box.id, unit)
      const id = await deal()
      await addLine(id, part.id, 2)
      await w.confirm(id)
      await allocate(id, ...part.units)
      expect((await w.box(box.id)).items.length).toBe(2)
      await snapshot(id, "quick_book_out", part.units[0]!)
      expect((await w.box(box.id)).items.map((item) => item.serialised_item_id)).toEqual([part.units[1]])
      await snapshot(id, "quick_book_out", part.units[1]!)
      expect(await w.box(box.id)).toMatchObject({ status: "dissolved", dissolved_reason: "dispatch", items: [] })
      expect((await memberships(box.id)).map((item) => item.unpacked_reason)).toEqual(["dispatch", "dispatch"])
      expect((await w.show(`/stock_levels/${part.units[0]}`)).container_stock_level_id).toBe(null)
    })
    it("takes a sealed kit out and back with its case", async () => {
      const kit = await sealed()
      const id = await order(kit.product)
      await allocate(id, kit.housing)
      await snapshot(id, "quick_book_out", kit.housing)
      expect(await w.box(kit.id)).toMatchObject({
        status: "dispatched",
        opportunity_id: id,
        dispatched_at: "2026-06-18T12:00:00.000Z",
        items: [{ serialised_item_id: kit.inside.unit }]
      })
      await snapshot(id, "quick_check_in", kit.housing)
      expect(await w.box(kit.id)).toMatchObject({
        status: "returned",
        opportunity_id: null,
        returned_at: "2026-06-18T12:00:00.000Z"
      })
    })

    const recorded = (where: { readonly stream?: string; readonly type?: string }) =>
      w.app.run(Effect.flatMap(Store, (store) => store.find(journal, where)))
    it("processes several containers in id order", async () => {
      const [first, second] = [await w.container("transport"), await w.container("transport")]
      const { product, unit } = await w.gear()
      await w.pack(second.id, unit)
      const id = await deal()
      await addLine(id, first.product)
      await addLine(id, product)
      await w.confirm(id)
      const { items } = await w.show(`/opportunities/${id}?include=items`)
      for (const [at, stock_level] of [first.housing, unit].entries())
        expect((await w.allocate({ id, line: items[at]! }, stock_level)).status).toBe(200)
      await snapshot(id, "quick_book_out", unit, first.housing)
      const dissolved = await recorded({ type: "container.dissolved" })
      const ended = [first, second].map((one) => `container:${one.id}`)
      expect(dissolved.slice(-2).map(({ stream }) => stream)).toEqual(ended)
    })
    it("unpacks a unit once if its box is dissolved concurrently", async () => {
      for (let round = 0; round < 5; round++) {
        const box = await w.container("transport")
        const { product, unit } = await w.gear()
        await w.pack(box.id, unit)
        const id = await order(product)
        await allocate(id, unit)
        const asset_ids = (await assets(id)).map((row) => row.id)
        const replies = await Promise.all([
          w.post(`/opportunities/${id}/quick_book_out`, { asset_ids }),
          w.act(box.id, "dissolve")
        ])
        expect(replies[0]!.status).toBe(200)
        const types = (await recorded({ stream: `container:${box.id}` })).map(({ type }) => type)
        expect(types.filter((type) => type === "container.item.unpacked").length).toBe(1)
        expect(types.filter((type) => type === "container.dissolved").length).toBe(1)
      }
    })
    it("leaves a box dissolved and empty if its case goes out while a unit is being packed", async () => {
      for (let round = 0; round < 5; round++) {
        const box = await w.container("transport")
        const { unit } = await w.gear()
        const id = await order(box.product)
        await allocate(id, box.housing)
        const asset_ids = (await assets(id)).map((row) => row.id)
        const [, packing] = await Promise.all([
          w.post(`/opportunities/${id}/quick_book_out`, { asset_ids }),
          w.pack(box.id, unit)
        ])
        expect(await w.box(box.id)).toMatchObject({ status: "dissolved", items: [] })
        expect((await memberships(box.id)).length).toBe(packing.status === 201 ? 1 : 0)
      }
    })
  })

  describe("check-in of a container", () => {
    it("reports missing and unexpected units, scan by scan", async () => {
      const kit = await w.container("kit")
      const [one, two, stranger] = [await w.gear(), await w.gear(), await w.gear()]
      for (const { unit } of [one, two]) await w.pack(kit.id, unit)
      const verify = (body: object) => w.act(kit.id, "verify-checkin", body)
      await refused(verify({ scanned: [one.unit] }), "container")
      await w.act(kit.id, "seal")
      await out(kit, await order(kit.product))
      await w.act(kit.id, "return")
      await refused(verify({}), "serialised_item_id")
      await refused(verify({ serialised_item_id: 99_999 }), "serialised_item_id")
      const expected = [one.unit, two.unit]
      const scanned = [one.unit, stranger.unit]
      const first = await verify({ scanned })
      const wrong = { missing: [two.unit], unexpected: [stranger.unit], complete: false }
      expect([first.status, first.body.verification]).toEqual([200, { expected, scanned, ...wrong }])
      const second = await verify({ serialised_item_id: two.unit })
      const right = { missing: [], unexpected: [], complete: true }
      expect(second.body.verification).toEqual({ expected, scanned: expected, ...right })
      expect((await w.box(kit.id)).status).toBe("returned")
    })
    it("returns a container in individual check-in once its only unit is scanned", async () => {
      const kit = await sealed("kit", { checkin_mode: "individual" })
      const id = await order(kit.product)
      await out(kit, id)
      expect((await w.box(kit.id)).status).toBe("dispatched")
      const { body } = await w.act(kit.id, "verify-checkin", { serialised_item_id: kit.inside.unit })
      expect(body.verification.complete).toBe(true)
      expect(await w.box(kit.id)).toMatchObject({ status: "returned", opportunity_id: null })
      expect(await assets(id)).toMatchObject([{ status: 4 }])
    })
  })

  describe("repacking after a return", () => {
    it("confirms the content unit by unit", async () => {
      const kit = await sealed()
      const extra = await w.gear()
      await out(kit, await order(kit.product))
      await w.act(kit.id, "return")
      const start = await w.post("/containers/repack/start", { container_id: kit.id, name: "Case, checked" })
      expect([start.status, start.body.container]).toMatchObject([
        201,
        { id: kit.id, name: "Case, checked", status: "open", previous_container_id: null }
      ])
      const repack = (serialised_item_id: number, more: object = {}) =>
        w.act(kit.id, "repack", { serialised_item_id, ...more })
      const confirmed = await repack(kit.inside.unit, { position: "7" })
      expect([confirmed.status, confirmed.body.container_item]).toMatchObject([
        201,
        { serialised_item_id: kit.inside.unit, position: "7", unpacked_at: null }
      ])
      await refused(repack(kit.inside.unit), "serialised_item_id")
      expect((await repack(extra.unit)).status).toBe(201)
      expect(await w.free(extra.product)).toBe(0)
      expect((await w.act(kit.id, "seal")).body.container.items.length).toBe(2)
      const july = { starts_at: "2026-07-18T09:00:00Z", ends_at: "2026-07-22T17:00:00Z" }
      expect((await out(kit, await order(kit.product, july))).status).toBe(200)
    })
    it("starts automatically where the product requires it", async () => {
      const kit = await sealed("kit", { repack_on_return: true })
      await out(kit, await order(kit.product))
      expect((await w.act(kit.id, "return")).body.container).toMatchObject({
        status: "open",
        returned_at: "2026-06-18T12:00:00.000Z"
      })
      expect((await w.act(kit.id, "repack", { serialised_item_id: kit.inside.unit })).status).toBe(201)
    })
  })

  itFoldsAgain(w)
})
