import { describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { errorKeys, itFoldsAgain, refused } from "../../../app-house.ts"
import { demandOver } from "../../stock-demands.ts"
import { caseHouse } from "./fixtures.ts"

describe.each(engines)("packing on %s", (engine) => {
  const w = caseHouse(engine)
  const level = async (id: number) => await w.show(`/stock_levels/${id}`)

  describe("containers", () => {
    it("are listed with their content, product and store if the request includes them", async () => {
      const kit = await w.container("kit")
      const { unit } = await w.gear()
      await w.pack(kit.id, unit)
      const list = async (more = "") => (await w.get(`/containers?q[product_id_eq]=${kit.product}${more}`)).body
      const plain = await list()
      const ids = { serialised_item_id: kit.housing, product_id: kit.product, store_id: w.S, opportunity_id: null }
      expect(plain.containers).toMatchObject([{ ...ids, parent_container_id: null, product: null, store: null }])
      expect(Object.hasOwn(plain.containers[0], "items")).toBe(false)
      expect(plain.containers[0].uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      const full = (await list("&include=activeItems,product,store")).containers[0]
      expect(full.items).toMatchObject([{ serialised_item_id: unit }])
      expect(full).toMatchObject({ product: { id: kit.product }, store: { id: w.S } })
      expect((await w.box(kit.id)).items).toMatchObject([{ serialised_item_id: unit }])
    })
    it("take the store of their case, and strict scanning if its product has a template", async () => {
      const { product } = await w.gear()
      const kit = await w.container("kit", { template: { slots: [{ product_id: product }] } })
      expect(await w.box(kit.id)).toMatchObject({ scan_mode: "strict", store_id: w.S, items: [] })
    })
    it("require as housing a serialised unit of a case product at their store", async () => {
      const { product, unit } = await w.gear()
      const [other, elsewhere] = [await w.caseProduct(), await w.store()]
      const make = async (body: object) => errorKeys(await w.post("/containers", { name: "C", ...body }))
      expect(await make({ product_id: product })).toEqual([422, ["product_id"]])
      expect(await make({ serialised_item_id: unit })).toEqual([422, ["serialised_item_id"]])
      expect(await make({ product_id: other, serialised_item_id: unit })).toEqual([422, ["serialised_item_id"]])
      const housing = await w.unit(other, w.S)
      expect(await make({ serialised_item_id: housing, store_id: elsewhere })).toEqual([422, ["serialised_item_id"]])
      const bulk = await w.bulk(w.S, 3)
      await w.put(`/products/${bulk.id}/container_template`, { is_containerable: true })
      expect(await make({ product_id: bulk.id, serialised_item_id: bulk.level })).toEqual([422, ["serialised_item_id"]])
      expect(await make({ product_id: other, serialised_item_id: housing })).toEqual([201, []])
    })
    it("are rejected with an error at each invalid field", async () => {
      await refused(w.post("/containers", {}), "name")
      await refused(
        w.post("/containers", { name: "x".repeat(256), product_id: 99_999, store_id: "x", scan_mode: "individual" }),
        "name",
        "product_id",
        "scan_mode",
        "store_id"
      )
      await refused(w.post("/containers/temporary", {}), "barcode", "name", "store_id")
    })
    it("have a unique barcode while in use, if temporary", async () => {
      const make = () =>
        w.post("/containers/temporary", { name: "Crate", barcode: "T-1", store_id: w.S, notes: "blue" })
      const made = await make()
      expect(made.body.container).toMatchObject({ is_temporary: true, scan_mode: "free", serialised_item_id: null })
      await refused(make(), "barcode")
      await w.act(made.body.container.id, "dissolve")
      expect((await make()).status).toBe(201)
    })
    it("can be renamed until they are dissolved; the scan mode changes only while they are open", async () => {
      const kit = await w.container("kit")
      const patch = (body: object) => w.patch(`/containers/${kit.id}`, body)
      expect(
        (await patch({ name: "Truss box", barcode: "B1", notes: "n", scan_mode: "strict", status: "sealed" })).body
          .container
      ).toMatchObject({ name: "Truss box", barcode: "B1", notes: "n", scan_mode: "strict", status: "open" })
      expect((await patch({ notes: "", barcode: null })).body.container).toMatchObject({ notes: null, barcode: "B1" })
      const { unit } = await w.gear()
      await w.pack(kit.id, unit)
      await w.act(kit.id, "seal")
      await refused(patch({ scan_mode: "free" }), "container")
      expect((await patch({ name: "Sealed box" })).status).toBe(200)
      await w.act(kit.id, "dissolve")
      await refused(patch({ name: "Gone" }), "container")
    })
  })

  describe("pack and unpack", () => {
    it("reserves a unit in a kit from packing until unpacking", async () => {
      const kit = await w.container("kit")
      const { product, unit } = await w.gear()
      expect(await w.free(product)).toBe(1)
      const packed = await w.pack(kit.id, unit, { notes: "top" })
      const by = { packed_at: "2026-06-18T12:00:00.000Z", packed_by_user_id: 1 }
      expect(packed.body.container_item).toMatchObject({ product_id: product, notes: "top", ...by })
      expect([await w.free(product), await w.free(product, "2026-06-17"), await w.free(product, "2030-01-01")]).toEqual(
        [0, 1, 0]
      )
      for (let cycle = 0; cycle < 2; cycle++) {
        const out = await w.act(kit.id, "unpack", { serialised_item_id: unit, reason: "lost" })
        expect([out.status, out.body.container_item]).toMatchObject([
          200,
          { serialised_item_id: unit, unpacked_at: "2026-06-18T12:00:00.000Z", unpacked_reason: "manual" }
        ])
        expect(await w.free(product)).toBe(1)
        await w.pack(kit.id, unit)
        expect(await w.free(product)).toBe(0)
      }
    })
    it("ignores demands without a unit, in the past or of drafts, but rejects an overdue unit", async () => {
      const kit = await w.container("kit")
      const { product, unit } = await w.gear()
      await demandOver(w.app, product, w.S, 1, "07-01", "07-03")
      await demandOver(w.app, product, w.S, 1, "06-01", "06-03", { asset_id: unit })
      await demandOver(w.app, product, w.S, 1, "07-01", "07-03", { asset_id: unit, phase: "draft" })
      expect((await w.pack(kit.id, unit)).status).toBe(201)
      const late = await w.gear()
      await demandOver(w.app, late.product, w.S, 1, "06-01", "06-03", { asset_id: late.unit, out: true })
      for (const { id } of [kit, await w.container("transport")])
        await refused(w.pack(id, late.unit), "serialised_item_id")
    })
    it("rejects a container that is not open before it checks the unit", async () => {
      const kit = await w.container("kit")
      const [first, elsewhere] = [await w.gear(), await w.gear(await w.store())]
      await w.pack(kit.id, first.unit)
      await w.act(kit.id, "seal")
      await refused(w.pack(kit.id, elsewhere.unit), "container")
      await refused(w.act(kit.id, "unpack", { serialised_item_id: elsewhere.unit }), "container")
    })
    it("rejects units of other stores, bulk levels, and units packed or written off", async () => {
      const [kit, other] = [await w.container("kit"), await w.container("transport")]
      const [elsewhere, bulk] = [await w.gear(await w.store()), await w.bulk(w.S, 4)]
      const [inside, gone] = [await w.gear(), await w.gear()]
      await w.pack(other.id, inside.unit)
      const ledger = `/products/${gone.product}/stock_levels/${gone.unit}/stock_transactions`
      await w.create(ledger, { transaction_type: 7, quantity: 1 })
      for (const unit of [elsewhere.unit, bulk.level, inside.unit, gone.unit]) {
        await refused(w.pack(kit.id, unit), "serialised_item_id")
      }
      await refused(w.pack(other.id, inside.unit), "serialised_item_id")
    })
    it.each([
      ["an empty body", {}, ["serialised_item_id"]],
      ["an unknown unit", { serialised_item_id: 99_999 }, ["serialised_item_id"]],
      [
        "words as ids",
        { serialised_item_id: "x", position: "p".repeat(256), notes: 5 },
        ["notes", "position", "serialised_item_id"]
      ]
    ])("rejects %s, naming every invalid field", async (_, body, keys) => {
      const kit = await w.container("kit")
      expect(errorKeys(await w.act(kit.id, "pack", body))).toEqual([422, keys])
    })
    it("rejects making packed units fixed parts or a kit's content while they are booked elsewhere", async () => {
      const hybrid = await w.container("hybrid")
      const part = await w.gear()
      const pool = { component_product_id: part.product, binding: "pool" }
      const { id } = await w.create(`/products/${hybrid.product}/components`, pool)
      await w.pack(hybrid.id, part.unit)
      await demandOver(w.app, part.product, w.S, 1, "07-01", "07-03", { asset_id: part.unit })
      await refused(w.patch(`/products/${hybrid.product}/components/${id}`, { binding: "fixed" }), "binding")
      const template = `/products/${hybrid.product}/container_template`
      await refused(w.put(template, { availability_mode: "kit" }), "availability_mode")
      expect((await w.show(`/products/${hybrid.product}/components`))[0].binding).toBe("pool")
    })
    it("reserves the content of a box that becomes a kit", async () => {
      const box = await w.container("transport")
      const { product, unit } = await w.gear()
      await w.pack(box.id, unit)
      const seen = async () => [await w.free(product), (await level(unit)).container_mode]
      expect(await seen()).toEqual([1, "transport"])
      await w.put(`/products/${box.product}/container_template`, { availability_mode: "kit" })
      expect(await seen()).toEqual([0, "kit"])
    })
    it("rejects deleting a packed unit or its case, and moving either to another store", async () => {
      const kit = await w.container("kit")
      const { unit } = await w.gear()
      await w.pack(kit.id, unit)
      const other = await w.store()
      for (const id of [unit, kit.housing]) {
        await refused(w.remove(`/stock_levels/${id}`), "stock_level")
        await refused(w.put(`/stock_levels/${id}`, { store_id: other }), "store_id")
      }
    })
    it("fills a strict container only up to its template", async () => {
      const part = await w.units(w.S, 2)
      const kit = await w.container("kit", { template: { slots: [{ product_id: part.id }], max_items: 1 } })
      await w.pack(kit.id, part.units[0]!)
      await refused(w.pack(kit.id, part.units[1]!), "container")
    })
  })

  describe("nesting", () => {
    it("allows two levels and not three, and records the parent", async () => {
      const [outer, middle, inner] = [await w.container("kit"), await w.container("kit"), await w.container("kit")]
      expect((await w.pack(outer.id, middle.housing)).status).toBe(201)
      expect((await w.box(middle.id)).parent_container_id).toBe(outer.id)
      await refused(w.pack(middle.id, inner.housing), "serialised_item_id")
      await w.act(outer.id, "unpack", { serialised_item_id: middle.housing })
      expect((await w.box(middle.id)).parent_container_id).toBe(null)
      expect((await w.pack(middle.id, inner.housing)).status).toBe(201)
      // The contents count as well: middle already has a level of its own.
      await refused(w.pack(outer.id, middle.housing), "serialised_item_id")
    })
    it("allows three levels and not four with a limit of three", async () => {
      const deep = await w.container("kit", { template: { max_nesting_depth: 3 } })
      const [one, two, three] = [await w.container("kit"), await w.container("kit"), await w.container("kit")] as const
      expect((await w.pack(deep.id, one.housing)).status).toBe(201)
      expect((await w.pack(one.id, two.housing)).status).toBe(201)
      await refused(w.pack(two.id, three.housing), "serialised_item_id")
    })
    it("rejects a case in itself and in its own content", async () => {
      const deep = { template: { max_nesting_depth: 5 } }
      const [outer, inner] = [await w.container("transport", deep), await w.container("transport", deep)]
      await refused(w.pack(outer.id, outer.housing), "serialised_item_id")
      await w.pack(outer.id, inner.housing)
      await refused(w.pack(inner.id, outer.housing), "serialised_item_id")
    })
  })

  it("packs a unit once in three concurrent attempts", async () => {
    const cases = [await w.container("kit"), await w.container("transport"), await w.container("kit")]
    const { unit } = await w.gear()
    const replies = await Promise.all(cases.map((one) => w.pack(one.id, unit)))
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 422, 422])
  })
  it("packs one of two cases into the other if both are tried concurrently", async () => {
    const [one, two] = [await w.container("transport"), await w.container("transport")]
    const replies = await Promise.all([w.pack(one.id, two.housing), w.pack(two.id, one.housing)])
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 422])
  })
  it("packs or allocates a unit, never both, if both are tried concurrently", async () => {
    const kit = await w.container("kit")
    const { product, unit } = await w.gear()
    const july = { store_id: w.S, starts_at: "2026-07-01", ends_at: "2026-07-03" }
    const order = await w.order(product, 1, july)
    const replies = await Promise.all([w.pack(kit.id, unit), w.allocate(order, unit)])
    expect(replies.filter((reply) => reply.status === 422).length).toBe(1)
    expect(replies.filter((reply) => reply.status < 300).length).toBe(1)
  })

  itFoldsAgain(w)

  describe("a container that is no unit", () => {
    const box = async (name: string, store = w.S): Promise<number> =>
      (await w.create("/containers", { name, store_id: store })).id
    const nest = (id: number, parent_container_id: number | null) => w.act(id, "nest", { parent_container_id })

    it("can be nested in another, must be sealed before it, and can be taken out while it is open", async () => {
      const [outer, inner] = [await box("Outer"), await box("Inner")]
      await w.pack(inner, (await w.gear()).unit)
      expect((await nest(inner, outer)).body.container).toMatchObject({ parent_container_id: outer })
      expect((await w.get(`/containers?q[parent_container_id_eq]=${outer}`)).body.containers).toMatchObject([
        { id: inner }
      ])
      await refused(w.act(outer, "seal"), "container")
      await w.act(inner, "seal")
      expect((await w.act(outer, "seal")).status).toBe(200)
      await refused(nest(inner, null), "container")
      await w.act(outer, "unseal")
      expect((await nest(inner, null)).body.container).toMatchObject({ parent_container_id: null })
      await refused(w.act(outer, "seal"), "container")
    })
    it("nests, unlike a case, but not in itself, its content, two containers, another store or a third level", async () => {
      const [outer, middle, inner, other] = [await box("A"), await box("B"), await box("C"), await box("D")]
      const kit = await w.container("transport")
      await refused(nest(kit.id, outer), "container")
      await refused(nest(outer, outer), "parent_container_id")
      await refused(nest(inner, await box("Far", await w.store())), "parent_container_id")
      await nest(middle, outer)
      await refused(nest(outer, middle), "parent_container_id")
      await refused(nest(middle, outer), "parent_container_id")
      await refused(nest(middle, other), "parent_container_id")
      // Two levels at most.
      await refused(nest(inner, middle), "parent_container_id")
    })
    it("becomes independent when the container around it is dissolved", async () => {
      const [outer, inner] = [await box("Outer"), await box("Inner")]
      await nest(inner, outer)
      const { body } = await w.act(outer, "dissolve")
      expect(body.meta.warnings).toEqual([`The container Inner (${inner}) was packed in it and stands on its own now.`])
      expect(await w.box(inner)).toMatchObject({ status: "open", parent_container_id: null })
    })
  })
})
