import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { itFoldsAgain, refused } from "../../../app-house.ts"
import { demandOver } from "../../stock-demands.ts"
import { caseHouse } from "./fixtures.ts"

describe.each(engines)("states of containers on %s", (engine) => {
  const w = caseHouse(engine)
  describe("seal and unseal", () => {
    it("seals a strict container only if it matches its template, and a free one with any content", async () => {
      const [part, stray] = [await w.units(w.S, 3), await w.gear()]
      const kit = await w.container("kit", { template: { slots: [{ product_id: part.id, quantity: 2 }] } })
      const seal = () => w.act(kit.id, "seal")
      await w.pack(kit.id, part.units[0]!)
      await refused(seal(), "container")
      for (const unit of [part.units[1]!, stray.unit]) await w.pack(kit.id, unit)
      await refused(seal(), "container")
      await w.amend(`/containers/${kit.id}`, { scan_mode: "free" })
      expect((await seal()).status).toBe(200)
    })
    it("seals the inner container first, and opens it last", async () => {
      const [outer, inner] = [await w.container("kit"), await w.container("kit")]
      const { unit } = await w.gear()
      await w.pack(outer.id, inner.housing)
      await w.pack(inner.id, unit)
      await refused(w.act(outer.id, "seal"), "container")
      await w.act(inner.id, "seal")
      expect((await w.act(outer.id, "seal")).status).toBe(200)
      await refused(w.act(inner.id, "unseal"), "container")
      await w.act(outer.id, "unseal")
      expect((await w.act(inner.id, "unseal")).status).toBe(200)
    })
    it.each([
      ["now", "06-18", "06-20"],
      ["later on", "09-18", "09-20"]
    ])("keeps a container sealed if its case is on an order %s", async (_, from, to) => {
      const kit = await w.container("kit")
      await w.pack(kit.id, (await w.gear()).unit)
      await w.act(kit.id, "seal")
      await demandOver(w.app, kit.product, w.S, 1, from, to, { asset_id: kit.housing, opportunity_id: 77 })
      await refused(w.act(kit.id, "unseal"), "container")
    })
  })

  describe("transfer", () => {
    it("ends the old content rows and starts new ones, and reserves the units only in a kit", async () => {
      const [kit, box] = [await w.container("kit"), await w.container("transport")]
      const [one, two] = [await w.gear(), await w.gear()]
      await w.pack(kit.id, one.unit, { position: "A" })
      await w.pack(kit.id, two.unit)
      const serialised_item_ids = [one.unit, two.unit]
      const moved = await w.act(kit.id, "transfer", { serialised_item_ids, target_container_id: box.id })
      expect(moved.status).toBe(200)
      const left = { container_id: kit.id, unpacked_reason: "transferred", transferred_to_container_id: box.id }
      expect(moved.body.container_items).toMatchObject([
        { ...left, serialised_item_id: one.unit },
        { ...left, serialised_item_id: two.unit },
        { container_id: box.id, serialised_item_id: one.unit, unpacked_at: null, position: "A" },
        { container_id: box.id, serialised_item_id: two.unit, unpacked_at: null }
      ])
      expect([await w.free(one.product), await w.free(two.product)]).toEqual([1, 1])
      await w.act(box.id, "transfer", { serialised_item_ids: [one.unit], target_container_id: kit.id })
      expect(await w.free(one.product)).toBe(0)
      expect(await w.show(`/stock_levels/${one.unit}`)).toMatchObject({
        container_stock_level_id: kit.housing,
        container_mode: "kit"
      })
    })
    it("rejects invalid transfers as a whole", async () => {
      const [kit, box, closed] = [await w.container("kit"), await w.container("transport"), await w.container("kit")]
      const [inside, outside, filler] = [await w.gear(), await w.gear(), await w.gear()]
      await w.pack(kit.id, inside.unit)
      await w.pack(closed.id, filler.unit)
      await w.act(closed.id, "seal")
      const far = { name: "Far", barcode: "FAR", store_id: await w.store() }
      const elsewhere = (await w.create("/containers/temporary", far)).id
      type Wrong = [from: number, units: number[] | undefined, to: number | undefined, fields: string[]]
      const refusals: ReadonlyArray<Wrong> = [
        [kit.id, undefined, undefined, ["serialised_item_ids", "target_container_id"]],
        [kit.id, [], 99_999, ["serialised_item_ids", "target_container_id"]],
        [kit.id, [inside.unit], kit.id, ["target_container_id"]],
        [kit.id, [inside.unit], closed.id, ["container", "target_container_id"]],
        [kit.id, [inside.unit], elsewhere, ["target_container_id"]],
        [closed.id, [filler.unit], kit.id, ["container"]],
        [kit.id, [inside.unit, outside.unit], box.id, ["serialised_item_ids"]],
        [kit.id, [99_999], box.id, ["serialised_item_ids"]]
      ]
      for (const [from, serialised_item_ids, target_container_id, fields] of refusals)
        await refused(w.act(from, "transfer", { serialised_item_ids, target_container_id }), ...fields)
      expect((await w.box(kit.id)).items.length).toBe(1)
    })
    it("moves a nested container with its case", async () => {
      const [one, two] = [await w.container("transport"), await w.container("transport")]
      const inner = await w.container("kit")
      await w.pack(one.id, inner.housing)
      await w.act(one.id, "transfer", { serialised_item_ids: [inner.housing], target_container_id: two.id })
      expect((await w.box(inner.id)).parent_container_id).toBe(two.id)
    })
  })

  describe("dissolve", () => {
    it("moves the contents to another container on request, and warns about nested containers", async () => {
      const from = await w.container("transport"),
        to = await w.container("kit"),
        inner = await w.container("kit", { body: { name: "Inner" } })
      const { product, unit } = await w.gear()
      await w.pack(from.id, unit)
      await w.pack(from.id, inner.housing)
      await refused(w.act(from.id, "dissolve", { transfer_to_container_id: from.id }), "transfer_to_container_id")
      await refused(w.act(from.id, "dissolve", { transfer_to_container_id: 99_999 }), "transfer_to_container_id")
      await refused(w.act(from.id, "dissolve", { reason: "r".repeat(21) }), "reason")
      const done = await w.act(from.id, "dissolve", { reason: "worn", transfer_to_container_id: to.id })
      expect(done.body.container).toMatchObject({ status: "dissolved", dissolved_reason: "worn" })
      expect(done.body.meta.warnings).toEqual([expect.stringContaining("Inner")])
      expect((await w.box(to.id)).items.map((item) => item.serialised_item_id)).toEqual([unit, inner.housing])
      expect((await w.box(inner.id)).parent_container_id).toBe(to.id)
      expect(await w.free(product)).toBe(0)
    })
    it("makes a nested container independent", async () => {
      const [outer, inner] = [await w.container("kit"), await w.container("kit", { body: { name: "Inner" } })]
      await w.pack(outer.id, inner.housing)
      expect((await w.act(outer.id, "dissolve")).body.meta.warnings).toEqual([expect.stringContaining("Inner")])
      expect((await w.box(inner.id)).parent_container_id).toBe(null)
    })
  })

  describe("compliance", () => {
    it("is reported for closed containers, nested ones included", async () => {
      const part = await w.units(w.S, 1, { name: "Par can" })
      const outer = await w.container("kit", {
        template: { slots: [{ product_id: part.id, quantity: 2, binding: "fixed" }] },
        body: { scan_mode: "free", barcode: "OUT" }
      })
      const inner = await w.container("kit")
      const deep = await w.gear()
      await w.pack(inner.id, deep.unit)
      await w.act(inner.id, "seal")
      await w.pack(outer.id, part.units[0]!, { position: "1" })
      await w.pack(outer.id, inner.housing)
      const compliance = () => w.get(`/containers/${outer.id}/compliance`)
      await refused(compliance(), "container")
      await w.act(outer.id, "seal")
      const { body } = await compliance()
      expect(body.compliance).toMatchObject({
        container_id: outer.id,
        name: "Case",
        barcode: "OUT",
        status: "sealed",
        scan_mode: "free",
        sealed_by_user_id: 1,
        is_compliant: false,
        slots: [
          { product_id: part.id, product_name: "Par can", binding: "fixed", required: 2, packed: 1, satisfied: false }
        ],
        containers: [{ container_id: inner.id, is_compliant: true, items: [{ serialised_item_id: deep.unit }] }]
      })
      const serial = (await w.show(`/stock_levels/${part.units[0]}`)).serial_number
      expect(body.compliance.items[0]).toMatchObject({
        serialised_item_id: part.units[0],
        product_id: part.id,
        product_name: "Par can",
        asset_number: null,
        serial_number: serial,
        position: "1",
        packed_at: "2026-06-18T12:00:00.000Z",
        packed_by_user_id: 1
      })
      const packer = viewerWith(["containers.pack"], ["containers:read"])
      expect((await w.get(`/containers/${outer.id}/compliance`, packer)).status).toBe(403)
    })
  })

  describe("repacking", () => {
    it("replaces a dissolved container with a new one", async () => {
      const kit = await w.container("kit")
      const { unit } = await w.gear()
      await w.pack(kit.id, unit)
      const start = (body: object) => w.post("/containers/repack/start", body)
      await refused(start({}), "container_id")
      await refused(start({ container_id: kit.id }), "container", "container_id")
      await refused(w.act(kit.id, "repack", { serialised_item_id: unit }), "container")
      await w.act(kit.id, "dissolve")
      const next = await start({ container_id: kit.id, name: "Case, again" })
      expect([next.status, next.body.container]).toMatchObject([
        201,
        {
          name: "Case, again",
          status: "open",
          previous_container_id: kit.id,
          serialised_item_id: kit.housing,
          product_id: kit.product,
          store_id: w.S,
          items: []
        }
      ])
      const id = next.body.container.id
      expect(id).not.toBe(kit.id)
      await refused(start({ container_id: kit.id }), "container_id")
      const packed = await w.act(id, "repack", { serialised_item_id: unit, position: "2" })
      expect([packed.status, packed.body.container_item]).toMatchObject([
        201,
        { container_id: id, serialised_item_id: unit, position: "2", unpacked_at: null }
      ])
      await refused(w.act(id, "repack", { serialised_item_id: unit }), "serialised_item_id")
      await refused(w.act(id, "repack", { serialised_item_id: 99_999 }), "serialised_item_id")
      expect((await w.act(id, "seal")).status).toBe(200)
    })
  })

  it.each([
    ["pack", "pack"],
    ["seal", "seal"],
    ["unseal", "seal"],
    ["transfer", "transfer"],
    ["dissolve", "dissolve"],
    ["repack", "repack"],
    ["dispatch", "dispatch"],
    ["return", "dispatch"],
    ["verify-checkin", "repack"]
  ])("change by %s only with containers.%s and containers:write", async (verb, permission) => {
    const kit = await w.container("kit")
    const others = "view pack seal transfer dissolve repack dispatch".split(" ").filter((one) => one !== permission)
    const status = async (permissions: ReadonlyArray<string>, ability: string) => {
      const held = permissions.map((one) => `containers.${one}`)
      return (await w.post(`/containers/${kit.id}/${verb}`, {}, viewerWith(held, [`containers:${ability}`]))).status
    }
    expect([await status(others, "write"), await status([permission], "read")]).toEqual([403, 403])
    expect(await status([permission], "write")).not.toBe(403)
  })

  itFoldsAgain(w)
})
