import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { demandOver } from "../stock-demands.ts"
import { errorKeys, type ContainerFixture, containerFixture } from "./fixtures.ts"

describe.each(engines)("packing on %s", (engine) => {
  let app: App, containers_fixture: ContainerFixture
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-06-18T12:00:00.000Z")
    containers_fixture = await containerFixture(app)
  })
  afterAll(() => app.close())
  const level = async (id: number) => (await app.call("GET", `/api/v1/stock_levels/${id}`)).body.stock_level

  describe("containers", () => {
    it("H1: are listed with their mode, and with what is in them on request", async () => {
      const kit = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, unit)
      const list = async (more = "") =>
        (await app.call("GET", `/api/v1/containers?q[product_id_eq]=${kit.product}${more}`)).body
      const plain = await list()
      expect(plain.containers).toMatchObject([
        {
          id: kit.id,
          name: "Case",
          status: "open",
          scan_mode: "free",
          is_temporary: false,
          serialised_item_id: kit.housing,
          product_id: kit.product,
          store_id: containers_fixture.S,
          opportunity_id: null,
          parent_container_id: null,
          availability_mode: "kit",
          product: null,
          store: null,
          sealed_at: null,
          dissolved_at: null
        }
      ])
      expect(plain.meta).toEqual({ total: 1, per_page: 20, page: 1 })
      expect(Object.hasOwn(plain.containers[0], "items")).toBe(false)
      expect(plain.containers[0].uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      const full = (await list("&include=activeItems,product,store")).containers[0]
      expect(full.items).toMatchObject([{ serialised_item_id: unit }])
      expect(full).toMatchObject({ product: { id: kit.product }, store: { id: containers_fixture.S } })
      expect((await containers_fixture.show(kit.id)).items).toMatchObject([{ serialised_item_id: unit }])
    })
    it("are strict where the product has a template; the store is that of the case", async () => {
      const { product } = await containers_fixture.gear()
      const kit = await containers_fixture.container("kit", { template: { slots: [{ product_id: product }] } })
      expect(await containers_fixture.show(kit.id)).toMatchObject({
        scan_mode: "strict",
        store_id: containers_fixture.S,
        items: []
      })
    })
    it("H23: one case serves one container at a time", async () => {
      const first = await containers_fixture.container("kit")
      const second = () => app.call("POST", "/api/v1/containers", { name: "Second", serialised_item_id: first.housing })
      expect(errorKeys(await second())).toEqual([422, ["serialised_item_id"]])
      await containers_fixture.act(first.id, "dissolve")
      expect((await second()).status).toBe(201)
    })
    it("the case must be a serialised unit of the product, at the store, and the product a case", async () => {
      const { product, unit } = await containers_fixture.gear()
      const other = await containers_fixture.caseProduct(),
        elsewhere = await containers_fixture.store()
      const make = async (body: object) =>
        errorKeys(await app.call("POST", "/api/v1/containers", { name: "C", ...body }))
      expect(await make({ product_id: product })).toEqual([422, ["product_id"]])
      expect(await make({ serialised_item_id: unit })).toEqual([422, ["serialised_item_id"]])
      expect(await make({ product_id: other, serialised_item_id: unit })).toEqual([422, ["serialised_item_id"]])
      const housing = await containers_fixture.unit(other, containers_fixture.S)
      expect(await make({ serialised_item_id: housing, store_id: elsewhere })).toEqual([422, ["serialised_item_id"]])
      const bulk = await containers_fixture.bulk(containers_fixture.S, 3)
      await app.call("PUT", `/api/v1/products/${bulk.id}/container_template`, { is_containerable: true })
      expect(await make({ product_id: bulk.id, serialised_item_id: bulk.level })).toEqual([422, ["serialised_item_id"]])
      expect(await make({ product_id: other, serialised_item_id: housing })).toEqual([201, []])
    })
    it("bad input is told by field", async () => {
      expect(errorKeys(await app.call("POST", "/api/v1/containers", {}))).toEqual([422, ["name"]])
      expect(
        errorKeys(
          await app.call("POST", "/api/v1/containers", {
            name: "x".repeat(256),
            product_id: 99_999,
            store_id: "x",
            scan_mode: "individual"
          })
        )
      ).toEqual([422, ["name", "product_id", "scan_mode", "store_id"]])
      expect(errorKeys(await app.call("POST", "/api/v1/containers/temporary", {}))).toEqual([
        422,
        ["barcode", "name", "store_id"]
      ])
    })
    it("H25: temporary ones hold nothing back; their barcode is theirs while they are in use", async () => {
      const make = () =>
        app.call("POST", "/api/v1/containers/temporary", {
          name: "Crate",
          barcode: "T-1",
          store_id: containers_fixture.S,
          notes: "blue"
        })
      const made = await make()
      expect([made.status, made.body.container]).toMatchObject([
        201,
        {
          is_temporary: true,
          scan_mode: "free",
          product_id: null,
          serialised_item_id: null,
          availability_mode: "transport",
          barcode: "T-1",
          notes: "blue",
          items: []
        }
      ])
      expect(errorKeys(await make())).toEqual([422, ["barcode"]])
      const { product, unit } = await containers_fixture.gear()
      expect((await containers_fixture.pack(made.body.container.id, unit)).status).toBe(201)
      expect(await containers_fixture.free(product)).toBe(1)
      await containers_fixture.act(made.body.container.id, "dissolve")
      expect((await make()).status).toBe(201)
    })
    it("can be renamed; the scan mode changes only while they are open", async () => {
      const kit = await containers_fixture.container("kit")
      const patch = (body: object) => app.call("PATCH", `/api/v1/containers/${kit.id}`, body)
      expect(
        (await patch({ name: "Truss box", barcode: "B1", notes: "n", scan_mode: "strict", status: "sealed" })).body
          .container
      ).toMatchObject({ name: "Truss box", barcode: "B1", notes: "n", scan_mode: "strict", status: "open" })
      expect((await patch({ notes: "", barcode: null })).body.container).toMatchObject({ notes: null, barcode: "B1" })
      const { unit } = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, unit)
      await containers_fixture.act(kit.id, "seal")
      expect(errorKeys(await patch({ scan_mode: "free" }))).toEqual([422, ["container"]])
      expect((await patch({ name: "Sealed box" })).status).toBe(200)
      await containers_fixture.act(kit.id, "dissolve")
      expect(errorKeys(await patch({ name: "Gone" }))).toEqual([422, ["container"]])
    })
  })

  describe("pack and unpack", () => {
    it("H5: a free unit goes in; a kit takes it out of stock from now on, until it comes out again", async () => {
      const kit = await containers_fixture.container("kit")
      const { product, unit } = await containers_fixture.gear()
      expect(await containers_fixture.free(product)).toBe(1)
      const packed = await containers_fixture.pack(kit.id, unit, { position: "Slot 1", notes: "top" })
      expect([packed.status, packed.body.container_item]).toMatchObject([
        201,
        {
          container_id: kit.id,
          serialised_item_id: unit,
          product_id: product,
          position: "Slot 1",
          notes: "top",
          packed_at: "2026-06-18T12:00:00.000Z",
          packed_by_user_id: 1,
          unpacked_at: null,
          unpacked_reason: null,
          transferred_to_container_id: null
        }
      ])
      expect([
        await containers_fixture.free(product),
        await containers_fixture.free(product, "2026-06-17"),
        await containers_fixture.free(product, "2030-01-01")
      ]).toEqual([0, 1, 0])
      for (let cycle = 0; cycle < 2; cycle++) {
        const out = await containers_fixture.act(kit.id, "unpack", { serialised_item_id: unit, reason: "lost" })
        expect([out.status, out.body.container_item]).toMatchObject([
          200,
          { serialised_item_id: unit, unpacked_at: "2026-06-18T12:00:00.000Z", unpacked_reason: "manual" }
        ])
        expect(await containers_fixture.free(product)).toBe(1)
        await containers_fixture.pack(kit.id, unit)
        expect(await containers_fixture.free(product)).toBe(0)
      }
      const chart = await app.call(
        "GET",
        `/api/v1/availability/${product}/gantt?store_id=${containers_fixture.S}&from=2026-06-18&to=2026-06-20`
      )
      expect(chart.body.gantt.demands).toMatchObject([
        {
          asset_id: unit,
          source_type: "container",
          source_name: expect.stringMatching(/^Containers #\d+$/),
          colour: "#0EA5E9",
          phase: "reserved"
        }
      ])
    })
    it("H7: a unit that is committed from now on stays out, whatever the container", async () => {
      const kit = await containers_fixture.container("kit"),
        box = await containers_fixture.container("transport")
      const { product, unit } = await containers_fixture.gear()
      await demandOver(app, product, containers_fixture.S, 1, "07-01", "07-03", { asset_id: unit })
      expect(errorKeys(await containers_fixture.pack(kit.id, unit))).toEqual([422, ["serialised_item_id"]])
      expect(errorKeys(await containers_fixture.pack(box.id, unit))).toEqual([422, ["serialised_item_id"]])
      expect((await containers_fixture.show(kit.id)).items).toEqual([])
      expect(await containers_fixture.free(product)).toBe(1)
    })
    it("claims on a quantity, claims gone by and quotations do not count; a unit overdue does", async () => {
      const kit = await containers_fixture.container("kit")
      const { product, unit } = await containers_fixture.gear()
      await demandOver(app, product, containers_fixture.S, 1, "07-01", "07-03")
      await demandOver(app, product, containers_fixture.S, 1, "06-01", "06-03", { asset_id: unit })
      await demandOver(app, product, containers_fixture.S, 1, "07-01", "07-03", { asset_id: unit, phase: "draft" })
      expect((await containers_fixture.pack(kit.id, unit)).status).toBe(201)
      const late = await containers_fixture.gear()
      await demandOver(app, late.product, containers_fixture.S, 1, "06-01", "06-03", { asset_id: late.unit, out: true })
      expect(errorKeys(await containers_fixture.pack(kit.id, late.unit))).toEqual([422, ["serialised_item_id"]])
    })
    it("H9: only open containers are packed and unpacked, told before anything about the unit", async () => {
      const kit = await containers_fixture.container("kit")
      const first = await containers_fixture.gear(),
        elsewhere = await containers_fixture.gear(await containers_fixture.store())
      await containers_fixture.pack(kit.id, first.unit)
      await containers_fixture.act(kit.id, "seal")
      expect(errorKeys(await containers_fixture.pack(kit.id, elsewhere.unit))).toEqual([422, ["container"]])
      expect(errorKeys(await containers_fixture.act(kit.id, "unpack", { serialised_item_id: elsewhere.unit }))).toEqual(
        [422, ["container"]]
      )
    })
    it("H11: units of other stores, bulk levels, units packed or written off stay out", async () => {
      const kit = await containers_fixture.container("kit"),
        other = await containers_fixture.container("transport")
      const elsewhere = await containers_fixture.gear(await containers_fixture.store()),
        bulk = await containers_fixture.bulk(containers_fixture.S, 4),
        inside = await containers_fixture.gear(),
        gone = await containers_fixture.gear()
      await containers_fixture.pack(other.id, inside.unit)
      await containers_fixture.post(`/products/${gone.product}/stock_levels/${gone.unit}/stock_transactions`, {
        transaction_type: 7,
        quantity: 1
      })
      for (const unit of [elsewhere.unit, bulk.level, inside.unit, gone.unit]) {
        expect(errorKeys(await containers_fixture.pack(kit.id, unit))).toEqual([422, ["serialised_item_id"]])
      }
      expect(errorKeys(await containers_fixture.pack(other.id, inside.unit))).toEqual([422, ["serialised_item_id"]])
    })
    it.each([
      ["nothing", {}, ["serialised_item_id"]],
      ["an unknown unit", { serialised_item_id: 99_999 }, ["serialised_item_id"]],
      [
        "words",
        { serialised_item_id: "x", position: "p".repeat(256), notes: 5 },
        ["notes", "position", "serialised_item_id"]
      ]
    ])("%s cannot be packed", async (_, body, keys) => {
      const kit = await containers_fixture.container("kit")
      expect(errorKeys(await containers_fixture.act(kit.id, "pack", body))).toEqual([422, keys])
    })
    it("H13: a transport box takes nothing out of stock", async () => {
      const box = await containers_fixture.container("transport")
      const { product, unit } = await containers_fixture.gear()
      await containers_fixture.pack(box.id, unit)
      expect(await containers_fixture.free(product)).toBe(1)
      expect(await level(unit)).toMatchObject({ container_stock_level_id: box.housing, container_mode: "transport" })
    })
    it("H15: a hybrid holds its fixed parts only, and follows when their binding changes", async () => {
      const hybrid = await containers_fixture.container("hybrid")
      const part = await containers_fixture.gear(),
        other = await containers_fixture.gear()
      const { id } = (
        await containers_fixture.post(`/products/${hybrid.product}/components`, {
          component_product_id: part.product,
          binding: "pool"
        })
      ).component
      await containers_fixture.pack(hybrid.id, part.unit)
      await containers_fixture.pack(hybrid.id, other.unit)
      const bind = (binding: string) =>
        app.call("PATCH", `/api/v1/products/${hybrid.product}/components/${id}`, { binding })
      expect([await containers_fixture.free(part.product), await containers_fixture.free(other.product)]).toEqual([
        1, 1
      ])
      await bind("fixed")
      expect([await containers_fixture.free(part.product), await containers_fixture.free(other.product)]).toEqual([
        0, 1
      ])
      await bind("pool")
      expect(await containers_fixture.free(part.product)).toBe(1)
      await bind("fixed")
      await app.call("DELETE", `/api/v1/products/${hybrid.product}/components/${id}`)
      expect(await containers_fixture.free(part.product)).toBe(1)
      await containers_fixture.post(`/products/${hybrid.product}/components`, {
        component_product_id: part.product,
        binding: "fixed"
      })
      expect(await containers_fixture.free(part.product)).toBe(0)
    })
    it("what is committed elsewhere cannot become fixed, nor its box a kit", async () => {
      const hybrid = await containers_fixture.container("hybrid")
      const part = await containers_fixture.gear()
      const { id } = (
        await containers_fixture.post(`/products/${hybrid.product}/components`, {
          component_product_id: part.product,
          binding: "pool"
        })
      ).component
      await containers_fixture.pack(hybrid.id, part.unit)
      await demandOver(app, part.product, containers_fixture.S, 1, "07-01", "07-03", { asset_id: part.unit })
      expect(
        errorKeys(await app.call("PATCH", `/api/v1/products/${hybrid.product}/components/${id}`, { binding: "fixed" }))
      ).toEqual([422, ["binding"]])
      expect(
        errorKeys(
          await app.call("PUT", `/api/v1/products/${hybrid.product}/container_template`, { availability_mode: "kit" })
        )
      ).toEqual([422, ["availability_mode"]])
      expect((await app.call("GET", `/api/v1/products/${hybrid.product}/components`)).body.components[0].binding).toBe(
        "pool"
      )
    })
    it("a box that becomes a kit holds what is in it", async () => {
      const box = await containers_fixture.container("transport")
      const { product, unit } = await containers_fixture.gear()
      await containers_fixture.pack(box.id, unit)
      await app.call("PUT", `/api/v1/products/${box.product}/container_template`, { availability_mode: "kit" })
      expect(await containers_fixture.free(product)).toBe(0)
      expect((await level(unit)).container_mode).toBe("kit")
    })
    it("H17: what is not packed here cannot be taken out here", async () => {
      const kit = await containers_fixture.container("kit"),
        other = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      expect(errorKeys(await containers_fixture.act(kit.id, "unpack", { serialised_item_id: unit }))).toEqual([
        422,
        ["serialised_item_id"]
      ])
      await containers_fixture.pack(other.id, unit)
      expect(errorKeys(await containers_fixture.act(kit.id, "unpack", { serialised_item_id: unit }))).toEqual([
        422,
        ["serialised_item_id"]
      ])
      expect(errorKeys(await containers_fixture.act(kit.id, "unpack", {}))).toEqual([422, ["serialised_item_id"]])
    })
    it("H19: the unit says which case it is in, until it is taken out", async () => {
      const kit = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, unit)
      expect(await level(unit)).toMatchObject({ container_stock_level_id: kit.housing, container_mode: "kit" })
      await containers_fixture.act(kit.id, "unpack", { serialised_item_id: unit })
      expect(await level(unit)).toMatchObject({ container_stock_level_id: null, container_mode: null })
    })
    it("a packed unit can neither be deleted nor moved to another store", async () => {
      const kit = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      await containers_fixture.pack(kit.id, unit)
      const other = await containers_fixture.store()
      for (const id of [unit, kit.housing]) {
        expect(errorKeys(await app.call("DELETE", `/api/v1/stock_levels/${id}`))).toEqual([422, ["stock_level"]])
        expect(errorKeys(await app.call("PUT", `/api/v1/stock_levels/${id}`, { store_id: other }))).toEqual([
          422,
          ["store_id"]
        ])
      }
    })
    it("a strict container takes no more than its template allows", async () => {
      const part = await containers_fixture.units(containers_fixture.S, 2)
      const kit = await containers_fixture.container("kit", {
        template: { slots: [{ product_id: part.id }], max_items: 1 }
      })
      await containers_fixture.pack(kit.id, part.units[0]!)
      expect(errorKeys(await containers_fixture.pack(kit.id, part.units[1]!))).toEqual([422, ["container"]])
    })
    it("packing and looking need permissions and abilities of their own", async () => {
      const kit = await containers_fixture.container("kit")
      const { unit } = await containers_fixture.gear()
      expect(
        (await app.call("GET", "/api/v1/containers", undefined, viewerWith(["stock.view"], ["stock:read"]))).status
      ).toBe(403)
      expect(
        (await app.call("GET", "/api/v1/containers", undefined, viewerWith(["containers.view"], ["containers:read"])))
          .status
      ).toBe(200)
      const pack = (viewer: ReturnType<typeof viewerWith>) =>
        app.call("POST", `/api/v1/containers/${kit.id}/pack`, { serialised_item_id: unit }, viewer)
      expect((await pack(viewerWith(["containers.view"], ["containers:write"]))).status).toBe(403)
      expect((await pack(viewerWith(["containers.pack"], ["containers:read"]))).status).toBe(403)
      expect((await pack(viewerWith(["containers.pack"], ["containers:write"]))).status).toBe(201)
      expect((await app.call("POST", "/api/v1/containers/99999/pack", {}, viewerWith([], []))).status).toBe(404)
    })
  })

  describe("nesting", () => {
    it("two levels pass, three do not; what is nested knows its parent", async () => {
      const [outer, middle, inner] = [
        await containers_fixture.container("kit"),
        await containers_fixture.container("kit"),
        await containers_fixture.container("kit")
      ] as const
      expect((await containers_fixture.pack(outer.id, middle.housing)).status).toBe(201)
      expect((await containers_fixture.show(middle.id)).parent_container_id).toBe(outer.id)
      expect(errorKeys(await containers_fixture.pack(middle.id, inner.housing))).toEqual([422, ["serialised_item_id"]])
      await containers_fixture.act(outer.id, "unpack", { serialised_item_id: middle.housing })
      expect((await containers_fixture.show(middle.id)).parent_container_id).toBe(null)
      expect((await containers_fixture.pack(middle.id, inner.housing)).status).toBe(201)
      // The subtree counts: middle now brings a level of its own.
      expect(errorKeys(await containers_fixture.pack(outer.id, middle.housing))).toEqual([422, ["serialised_item_id"]])
    })
    it("H21: a limit of one refuses any case; a deeper limit allows more", async () => {
      const flat = await containers_fixture.container("kit", { template: { max_nesting_depth: 1 } }),
        deep = await containers_fixture.container("kit", { template: { max_nesting_depth: 3 } })
      const [one, two, three] = [
        await containers_fixture.container("kit"),
        await containers_fixture.container("kit"),
        await containers_fixture.container("kit")
      ] as const
      expect(errorKeys(await containers_fixture.pack(flat.id, one.housing))).toEqual([422, ["serialised_item_id"]])
      expect((await containers_fixture.pack(deep.id, one.housing)).status).toBe(201)
      expect((await containers_fixture.pack(one.id, two.housing)).status).toBe(201)
      expect(errorKeys(await containers_fixture.pack(two.id, three.housing))).toEqual([422, ["serialised_item_id"]])
    })
    it("a case goes neither into itself nor into what is inside it", async () => {
      const outer = await containers_fixture.container("transport", { template: { max_nesting_depth: 5 } }),
        inner = await containers_fixture.container("transport", { template: { max_nesting_depth: 5 } })
      expect(errorKeys(await containers_fixture.pack(outer.id, outer.housing))).toEqual([422, ["serialised_item_id"]])
      await containers_fixture.pack(outer.id, inner.housing)
      expect(errorKeys(await containers_fixture.pack(inner.id, outer.housing))).toEqual([422, ["serialised_item_id"]])
    })
  })

  describe("availability of cases", () => {
    it("a kit is as many as its cases whose fixed parts are inside", async () => {
      const product = await containers_fixture.caseProduct({ availability_mode: "kit" })
      const part = await containers_fixture.units(containers_fixture.S, 3)
      await containers_fixture.post(`/products/${product}/components`, {
        component_product_id: part.id,
        binding: "fixed"
      })
      const one = await containers_fixture.container("kit", { product }),
        two = await containers_fixture.container("kit", { product })
      expect(await containers_fixture.free(product)).toBe(0)
      await containers_fixture.pack(one.id, part.units[0]!)
      expect(await containers_fixture.free(product)).toBe(1)
      // A booking of another unit of the same product changes nothing.
      await demandOver(app, part.id, containers_fixture.S, 1, "09-01", "09-02", { asset_id: part.units[2]! })
      expect(await containers_fixture.free(product)).toBe(1)
      await containers_fixture.pack(two.id, part.units[1]!)
      expect(await containers_fixture.free(product)).toBe(2)
      await demandOver(app, product, containers_fixture.S, 1, "09-01", "09-02")
      expect(await containers_fixture.free(product)).toBe(1)
    })
    it("G19: a hybrid is the lesser of its cases and its pool", async () => {
      const product = await containers_fixture.caseProduct({ availability_mode: "hybrid" })
      const pool = await containers_fixture.bulk(containers_fixture.S, 6)
      for (let made = 0; made < 5; made++) await containers_fixture.unit(product, containers_fixture.S)
      expect(await containers_fixture.free(product)).toBe(5)
      await containers_fixture.post(`/products/${product}/components`, {
        component_product_id: pool.id,
        quantity: 2,
        binding: "pool"
      })
      expect(await containers_fixture.free(product)).toBe(3)
      await demandOver(app, pool.id, containers_fixture.S, 5, "09-01", "09-02")
      expect(await containers_fixture.free(product)).toBe(0)
    })
  })

  it("of many who pack the same unit at once, one does", async () => {
    const cases = [
      await containers_fixture.container("kit"),
      await containers_fixture.container("transport"),
      await containers_fixture.container("kit")
    ]
    const { unit } = await containers_fixture.gear()
    const replies = await Promise.all(cases.map((one) => containers_fixture.pack(one.id, unit)))
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 422, 422])
  })
  it("of two cases packed into each other at once, one is", async () => {
    const one = await containers_fixture.container("transport"),
      two = await containers_fixture.container("transport")
    const replies = await Promise.all([
      containers_fixture.pack(one.id, two.housing),
      containers_fixture.pack(two.id, one.housing)
    ])
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 422])
  })
  it("a unit packed and allocated at once ends up in one place", async () => {
    const kit = await containers_fixture.container("kit")
    const { product, unit } = await containers_fixture.gear()
    const { id } = await containers_fixture.opportunity({
      subject: "Gig",
      store_id: containers_fixture.S,
      starts_at: "2026-07-01",
      ends_at: "2026-07-03"
    })
    const line = (
      await containers_fixture.post(`/opportunities/${id}/items`, {
        name: "Line",
        item_type: "product",
        item_id: product,
        quantity: 1
      })
    ).opportunity.items[0].id
    for (const move of ["quotation", "order"]) await containers_fixture.post(`/opportunities/${id}/convert_to_${move}`)
    const replies = await Promise.all([
      containers_fixture.pack(kit.id, unit),
      app.call("POST", `/api/v1/opportunities/${id}/quick_allocate`, {
        allocations: [{ opportunity_item_id: line, stock_level_id: unit }]
      })
    ])
    expect(replies.filter((reply) => reply.status === 422).length).toBe(1)
    expect(replies.filter((reply) => reply.status < 300).length).toBe(1)
  })

  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
