import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { demandOver } from "../stock-demands.ts"
import { errorKeys, type ContainerFixture, containerFixture } from "./fixtures.ts"

describe.each(engines)("states of containers on %s", (engine) => {
  let app: App, containers_fixture: ContainerFixture
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-06-18T12:00:00.000Z")
    containers_fixture = await containerFixture(app)
  })
  afterAll(() => app.close())
  const items = async (container: number) =>
    (await app.call("GET", `/api/v1/containers?q[id_eq]=${container}&include=container_items`)).body.containers[0]
      .container_items

  describe("seal and unseal", () => {
    it("a packed container is closed and opened again; H27: then it can be packed", async () => {
      const kit = await containers_fixture.container("kit")
      const first = await containers_fixture.gear(),
        second = await containers_fixture.gear()
      expect(errorKeys(await containers_fixture.act(kit.id, "seal"))).toEqual([422, ["container"]])
      await containers_fixture.pack(kit.id, first.unit)
      const sealed = await containers_fixture.act(kit.id, "seal", { notes: "checked twice" })
      expect([sealed.status, sealed.body.container]).toMatchObject([
        200,
        {
          status: "sealed",
          sealed_at: "2026-06-18T12:00:00.000Z",
          sealed_by_user_id: 1,
          notes: "checked twice",
          items: [{ serialised_item_id: first.unit }]
        }
      ])
      expect(errorKeys(await containers_fixture.act(kit.id, "seal"))).toEqual([422, ["container"]])
      expect(await containers_fixture.free(first.product)).toBe(0)
      const open = await containers_fixture.act(kit.id, "unseal")
      expect([open.status, open.body.container]).toMatchObject([
        200,
        { status: "open", unsealed_at: "2026-06-18T12:00:00.000Z", unsealed_by_user_id: 1 }
      ])
      expect(errorKeys(await containers_fixture.act(kit.id, "unseal"))).toEqual([422, ["container"]])
      expect((await containers_fixture.pack(kit.id, second.unit)).status).toBe(201)
    })
    it("a strict one is closed when every slot is filled and nothing else is inside; a free one whenever", async () => {
      const part = await containers_fixture.units(containers_fixture.S, 3),
        stray = await containers_fixture.gear()
      const kit = await containers_fixture.container("kit", {
        template: { slots: [{ product_id: part.id, quantity: 2 }] }
      })
      const seal = () => containers_fixture.act(kit.id, "seal")
      await containers_fixture.pack(kit.id, part.units[0]!)
      expect(errorKeys(await seal())).toEqual([422, ["container"]])
      await containers_fixture.pack(kit.id, part.units[1]!)
      await containers_fixture.pack(kit.id, stray.unit)
      expect(errorKeys(await seal())).toEqual([422, ["container"]])
      await app.call("PATCH", `/api/v1/containers/${kit.id}`, { scan_mode: "free" })
      expect((await seal()).status).toBe(200)
      await containers_fixture.act(kit.id, "unseal")
      await app.call("PATCH", `/api/v1/containers/${kit.id}`, { scan_mode: "strict" })
      await containers_fixture.act(kit.id, "unpack", { serialised_item_id: stray.unit })
      await containers_fixture.pack(kit.id, part.units[2]!)
      expect(errorKeys(await seal())).toEqual([422, ["container"]])
      await containers_fixture.act(kit.id, "unpack", { serialised_item_id: part.units[2] })
      expect((await seal()).status).toBe(200)
    })
    it("the inner one is closed first and opened last", async () => {
      const outer = await containers_fixture.container("kit"),
        inner = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      await containers_fixture.pack(outer.id, inner.housing)
      await containers_fixture.pack(inner.id, unit)
      expect(errorKeys(await containers_fixture.act(outer.id, "seal"))).toEqual([422, ["container"]])
      await containers_fixture.act(inner.id, "seal")
      expect((await containers_fixture.act(outer.id, "seal")).status).toBe(200)
      expect(errorKeys(await containers_fixture.act(inner.id, "unseal"))).toEqual([422, ["container"]])
      await containers_fixture.act(outer.id, "unseal")
      expect((await containers_fixture.act(inner.id, "unseal")).status).toBe(200)
    })
    it.each([
      ["now", "06-18", "06-20"],
      ["later on", "09-18", "09-20"]
    ])("one whose case is on an order %s stays closed", async (_, from, to) => {
      const kit = await containers_fixture.container("kit")
      await containers_fixture.pack(kit.id, (await containers_fixture.gear()).unit)
      await containers_fixture.act(kit.id, "seal")
      await demandOver(app, kit.product, containers_fixture.S, 1, from, to, {
        asset_id: kit.housing,
        opportunity_id: 77
      })
      expect(errorKeys(await containers_fixture.act(kit.id, "unseal"))).toEqual([422, ["container"]])
    })
  })

  describe("transfer", () => {
    it("closes the old rows and begins new ones; what is held follows the container", async () => {
      const kit = await containers_fixture.container("kit"),
        box = await containers_fixture.container("transport")
      const one = await containers_fixture.gear(),
        two = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, one.unit, { position: "A" })
      await containers_fixture.pack(kit.id, two.unit)
      const moved = await containers_fixture.act(kit.id, "transfer", {
        serialised_item_ids: [one.unit, two.unit],
        target_container_id: box.id
      })
      expect(moved.status).toBe(200)
      expect(moved.body.container_items).toMatchObject([
        {
          container_id: kit.id,
          serialised_item_id: one.unit,
          unpacked_reason: "transferred",
          transferred_to_container_id: box.id
        },
        {
          container_id: kit.id,
          serialised_item_id: two.unit,
          unpacked_reason: "transferred",
          transferred_to_container_id: box.id
        },
        { container_id: box.id, serialised_item_id: one.unit, unpacked_at: null, position: "A" },
        { container_id: box.id, serialised_item_id: two.unit, unpacked_at: null }
      ])
      expect([await containers_fixture.free(one.product), await containers_fixture.free(two.product)]).toEqual([1, 1])
      await containers_fixture.act(box.id, "transfer", { serialised_item_ids: [one.unit], target_container_id: kit.id })
      expect(await containers_fixture.free(one.product)).toBe(0)
      expect((await app.call("GET", `/api/v1/stock_levels/${one.unit}`)).body.stock_level).toMatchObject({
        container_stock_level_id: kit.housing,
        container_mode: "kit"
      })
    })
    it("refuses what cannot be, all or nothing", async () => {
      const kit = await containers_fixture.container("kit"),
        box = await containers_fixture.container("transport"),
        closed = await containers_fixture.container("kit")
      const inside = await containers_fixture.gear(),
        outside = await containers_fixture.gear(),
        filler = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, inside.unit)
      await containers_fixture.pack(closed.id, filler.unit)
      await containers_fixture.act(closed.id, "seal")
      const elsewhere = (
        await containers_fixture.post("/containers/temporary", {
          name: "Far",
          barcode: "FAR",
          store_id: await containers_fixture.store()
        })
      ).container.id
      const transfer = async (from: number, body: object) =>
        errorKeys(await containers_fixture.act(from, "transfer", body))
      expect(await transfer(kit.id, {})).toEqual([422, ["serialised_item_ids", "target_container_id"]])
      expect(await transfer(kit.id, { serialised_item_ids: [], target_container_id: 99_999 })).toEqual([
        422,
        ["serialised_item_ids", "target_container_id"]
      ])
      expect(await transfer(kit.id, { serialised_item_ids: [inside.unit], target_container_id: kit.id })).toEqual([
        422,
        ["target_container_id"]
      ])
      expect(await transfer(kit.id, { serialised_item_ids: [inside.unit], target_container_id: closed.id })).toEqual([
        422,
        ["container", "target_container_id"]
      ])
      expect(await transfer(kit.id, { serialised_item_ids: [inside.unit], target_container_id: elsewhere })).toEqual([
        422,
        ["target_container_id"]
      ])
      expect(await transfer(closed.id, { serialised_item_ids: [filler.unit], target_container_id: kit.id })).toEqual([
        422,
        ["container"]
      ])
      expect(
        await transfer(kit.id, { serialised_item_ids: [inside.unit, outside.unit], target_container_id: box.id })
      ).toEqual([422, ["serialised_item_ids"]])
      expect(await transfer(kit.id, { serialised_item_ids: [99_999], target_container_id: box.id })).toEqual([
        422,
        ["serialised_item_ids"]
      ])
      expect((await containers_fixture.show(kit.id)).items.length).toBe(1)
    })
    it("a nested container moves with its case", async () => {
      const one = await containers_fixture.container("transport"),
        two = await containers_fixture.container("transport"),
        inner = await containers_fixture.container("kit")
      await containers_fixture.pack(one.id, inner.housing)
      await containers_fixture.act(one.id, "transfer", {
        serialised_item_ids: [inner.housing],
        target_container_id: two.id
      })
      expect((await containers_fixture.show(inner.id)).parent_container_id).toBe(two.id)
    })
  })

  describe("dissolve", () => {
    it("H27: everything is free again and closed with its reason", async () => {
      const kit = await containers_fixture.container("kit")
      const one = await containers_fixture.gear(),
        two = await containers_fixture.gear()
      for (const { unit } of [one, two]) await containers_fixture.pack(kit.id, unit)
      const done = await containers_fixture.act(kit.id, "dissolve")
      expect([done.status, done.body.container, done.body.meta]).toMatchObject([
        200,
        {
          status: "dissolved",
          dissolved_at: "2026-06-18T12:00:00.000Z",
          dissolved_by_user_id: 1,
          dissolved_reason: "manual",
          items: []
        },
        { warnings: [] }
      ])
      expect((await items(kit.id)).map((item: any) => [item.unpacked_reason, item.unpacked_at])).toEqual(
        Array(2).fill(["dissolved", "2026-06-18T12:00:00.000Z"])
      )
      expect([await containers_fixture.free(one.product), await containers_fixture.free(two.product)]).toEqual([1, 1])
      expect(errorKeys(await containers_fixture.act(kit.id, "dissolve"))).toEqual([422, ["container"]])
    })
    it("may hand its contents on; nested containers are named", async () => {
      const from = await containers_fixture.container("transport"),
        to = await containers_fixture.container("kit"),
        inner = await containers_fixture.container("kit", { body: { name: "Inner" } })
      const { product, unit } = await containers_fixture.gear()
      await containers_fixture.pack(from.id, unit)
      await containers_fixture.pack(from.id, inner.housing)
      expect(
        errorKeys(await containers_fixture.act(from.id, "dissolve", { transfer_to_container_id: from.id }))
      ).toEqual([422, ["transfer_to_container_id"]])
      expect(
        errorKeys(await containers_fixture.act(from.id, "dissolve", { transfer_to_container_id: 99_999 }))
      ).toEqual([422, ["transfer_to_container_id"]])
      expect(errorKeys(await containers_fixture.act(from.id, "dissolve", { reason: "r".repeat(21) }))).toEqual([
        422,
        ["reason"]
      ])
      const done = await containers_fixture.act(from.id, "dissolve", {
        reason: "worn",
        transfer_to_container_id: to.id
      })
      expect(done.body.container).toMatchObject({ status: "dissolved", dissolved_reason: "worn" })
      expect(done.body.meta.warnings).toEqual([expect.stringContaining("Inner")])
      expect((await containers_fixture.show(to.id)).items.map((item: any) => item.serialised_item_id)).toEqual([
        unit,
        inner.housing
      ])
      expect((await containers_fixture.show(inner.id)).parent_container_id).toBe(to.id)
      expect(await containers_fixture.free(product)).toBe(0)
    })
    it("a nested container stands on its own afterwards", async () => {
      const outer = await containers_fixture.container("kit"),
        inner = await containers_fixture.container("kit", { body: { name: "Inner" } })
      await containers_fixture.pack(outer.id, inner.housing)
      expect((await containers_fixture.act(outer.id, "dissolve")).body.meta.warnings).toEqual([
        expect.stringContaining("Inner")
      ])
      expect((await containers_fixture.show(inner.id)).parent_container_id).toBe(null)
    })
  })

  describe("compliance", () => {
    it("is told of closed containers, nested ones included", async () => {
      const part = await containers_fixture.units(containers_fixture.S, 1, { name: "Par can" })
      const outer = await containers_fixture.container("kit", {
        template: { slots: [{ product_id: part.id, quantity: 2, binding: "fixed" }] },
        body: { scan_mode: "free", barcode: "OUT" }
      })
      const inner = await containers_fixture.container("kit")
      const deep = await containers_fixture.gear()
      await containers_fixture.pack(inner.id, deep.unit)
      await containers_fixture.act(inner.id, "seal")
      await containers_fixture.pack(outer.id, part.units[0]!, { position: "1" })
      await containers_fixture.pack(outer.id, inner.housing)
      const compliance = () => app.call("GET", `/api/v1/containers/${outer.id}/compliance`)
      expect(errorKeys(await compliance())).toEqual([422, ["container"]])
      await containers_fixture.act(outer.id, "seal")
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
      const serial = (await app.call("GET", `/api/v1/stock_levels/${part.units[0]}`)).body.stock_level.serial_number
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
      expect(
        (
          await app.call(
            "GET",
            `/api/v1/containers/${outer.id}/compliance`,
            undefined,
            viewerWith(["containers.pack"], ["containers:read"])
          )
        ).status
      ).toBe(403)
    })
  })

  describe("repacking", () => {
    it("a dissolved container is followed by a new one", async () => {
      const kit = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, unit)
      const start = (body: object) => app.call("POST", "/api/v1/containers/repack/start", body)
      expect(errorKeys(await start({}))).toEqual([422, ["container_id"]])
      expect(errorKeys(await start({ container_id: kit.id }))).toEqual([422, ["container", "container_id"]])
      expect(errorKeys(await containers_fixture.act(kit.id, "repack", { serialised_item_id: unit }))).toEqual([
        422,
        ["container"]
      ])
      await containers_fixture.act(kit.id, "dissolve")
      const next = await start({ container_id: kit.id, name: "Case, again" })
      expect([next.status, next.body.container]).toMatchObject([
        201,
        {
          name: "Case, again",
          status: "open",
          previous_container_id: kit.id,
          serialised_item_id: kit.housing,
          product_id: kit.product,
          store_id: containers_fixture.S,
          items: []
        }
      ])
      const id = next.body.container.id
      expect(id).not.toBe(kit.id)
      expect(errorKeys(await start({ container_id: kit.id }))).toEqual([422, ["container_id"]])
      const packed = await containers_fixture.act(id, "repack", { serialised_item_id: unit, position: "2" })
      expect([packed.status, packed.body.container_item]).toMatchObject([
        201,
        { container_id: id, serialised_item_id: unit, position: "2", unpacked_at: null }
      ])
      expect(errorKeys(await containers_fixture.act(id, "repack", { serialised_item_id: unit }))).toEqual([
        422,
        ["serialised_item_id"]
      ])
      expect(errorKeys(await containers_fixture.act(id, "repack", { serialised_item_id: 99_999 }))).toEqual([
        422,
        ["serialised_item_id"]
      ])
      expect((await containers_fixture.act(id, "seal")).status).toBe(200)
    })
  })

  it.each([
    ["seal", "containers.seal"],
    ["unseal", "containers.seal"],
    ["transfer", "containers.transfer"],
    ["dissolve", "containers.dissolve"],
    ["repack", "containers.repack"]
  ])("%s needs %s and containers:write", async (verb, permission) => {
    const kit = await containers_fixture.container("kit")
    const call = (viewer: ReturnType<typeof viewerWith>) =>
      app.call("POST", `/api/v1/containers/${kit.id}/${verb}`, {}, viewer)
    expect((await call(viewerWith(["containers.view", "containers.pack"], ["containers:write"]))).status).toBe(403)
    expect((await call(viewerWith([permission], ["containers:read"]))).status).toBe(403)
    expect((await call(viewerWith([permission], ["containers:write"]))).status).not.toBe(403)
    expect((await app.call("POST", `/api/v1/containers/99999/${verb}`, {}, viewerWith([], []))).status).toBe(404)
  })

  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
