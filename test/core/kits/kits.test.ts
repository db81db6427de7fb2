import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { demandOver } from "../stock-demands.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

describe.each(engines)("kits and accessories on %s", (engine) => {
  let app: App, business: SampleBusiness, S: number
  beforeAll(async () => {
    app = await openApp(engine)
    app.setClock("2026-06-18T12:00:00.000Z")
    business = sampleBusiness(app)
    S = await business.store()
  })
  afterAll(() => app.close())
  const made = async (more = {}) =>
    (await business.post("/products", { name: "Product", ...more })).product.id as number
  const add = (product: number, component_product_id: unknown, more = {}) =>
    app.call("POST", `/api/v1/products/${product}/components`, { component_product_id, ...more })
  const isKit = async (product: number) => (await app.call("GET", `/api/v1/products/${product}`)).body.product.is_kit
  const errorKeys = (reply: { status: number; body: any }) => [
    reply.status,
    Object.keys(reply.body?.errors ?? {}).sort()
  ]

  describe("components", () => {
    it("G1: the first makes the product a kit, the last taken away makes it none", async () => {
      const K = await made(),
        C = await made({ name: "Cable" })
      const first = await add(K, C, { quantity: 2, binding: "pool" })
      expect(first.status).toBe(201)
      expect(first.body.component).toMatchObject({
        product_id: K,
        component_product_id: C,
        component_name: "Cable",
        quantity: "2.0000",
        binding: "pool",
        sort_order: 0,
        created_at: expect.any(String),
        updated_at: expect.any(String)
      })
      expect(await isKit(K)).toBe(true)
      expect((await app.call("DELETE", `/api/v1/products/${K}/components/${first.body.component.id}`)).status).toBe(204)
      expect(await isKit(K)).toBe(false)
    })
    it("G3: a kit cannot contain itself, at any depth", async () => {
      const [A, B, C] = [await made(), await made(), await made()] as const
      expect(errorKeys(await add(A, A))).toEqual([422, ["component_product_id"]])
      await add(A, B)
      expect(errorKeys(await add(B, A))).toEqual([422, ["component_product_id"]])
      await add(B, C)
      expect(errorKeys(await add(C, A))).toEqual([422, ["component_product_id"]])
      expect(errorKeys(await add(A, B))).toEqual([422, ["component_product_id"]])
    })
    it("G5: three levels pass, a fourth does not, whichever end it is added to", async () => {
      const [A, B, C, D, E] = [await made(), await made(), await made(), await made(), await made()] as const
      for (const [up, down] of [
        [A, B],
        [B, C],
        [C, D]
      ] as const)
        expect((await add(up, down)).status).toBe(201)
      expect(errorKeys(await add(D, E))).toEqual([422, ["component_product_id"]])
      expect(errorKeys(await add(E, A))).toEqual([422, ["component_product_id"]])
      expect((await add(E, B)).status).toBe(201)
    })
    it("G7: quantity, binding and order can be changed, the product cannot", async () => {
      const K = await made(),
        C = await made(),
        other = await made()
      const { id } = (await add(K, C)).body.component
      const put = await app.call("PATCH", `/api/v1/products/${K}/components/${id}`, {
        quantity: 5,
        binding: "fixed",
        sort_order: 3,
        component_product_id: other
      })
      expect([put.status, put.body.component]).toMatchObject([
        200,
        { quantity: "5.0000", binding: "fixed", sort_order: 3, component_product_id: C }
      ])
      expect((await app.call("PATCH", `/api/v1/products/${other}/components/${id}`, {})).status).toBe(404)
      expect((await app.call("DELETE", `/api/v1/products/${other}/components/${id}`)).status).toBe(404)
    })
    it("G9: need abilities and permissions of their own; are listed by order, then id", async () => {
      const K = await made(),
        first = await made(),
        second = await made()
      await add(K, first, { sort_order: 2 })
      await add(K, second, { sort_order: 1 })
      const path = `/api/v1/products/${K}/components`
      expect(
        (await app.call("GET", path, undefined, viewerWith(["kits.view", "products.view"], ["products:read"]))).status
      ).toBe(403)
      const listed = await app.call("GET", path, undefined, viewerWith(["kits.view"], ["kits:read"]))
      expect(listed.body.components.map((one: any) => one.component_product_id)).toEqual([second, first])
      expect(listed.body.meta).toEqual({ total: 2, per_page: 2, page: 1 })
      const writer = viewerWith(["kits.view", "products.edit"], ["kits:write", "products:write"])
      expect((await app.call("POST", path, {}, writer)).status).toBe(403)
      expect((await app.call("POST", path, {}, viewerWith(["kits.manage"], ["kits:write"]))).status).toBe(422)
    })
    it.each([
      ["nothing", {}, ["component_product_id"]],
      ["an unknown product", { component_product_id: 99_999 }, ["component_product_id"]],
      [
        "words",
        { component_product_id: "x", quantity: "y", binding: "z", sort_order: -1 },
        ["binding", "component_product_id", "quantity", "sort_order"]
      ],
      ["less than one", { component_product_id: 1, quantity: 0.5 }, ["quantity"]]
    ])("%s is refused", async (_, body, keys) => {
      const K = await made()
      expect(errorKeys(await app.call("POST", `/api/v1/products/${K}/components`, body))).toEqual([422, keys])
      expect(await isKit(K)).toBe(false)
    })
    it("an archived product is no component; a deleted kit is not found", async () => {
      const K = await made(),
        C = await made()
      await app.call("DELETE", `/api/v1/products/${C}`)
      expect(errorKeys(await add(K, C))).toEqual([422, ["component_product_id"]])
      expect((await add(C, K)).status).toBe(404)
    })
  })

  describe("availability of kits", () => {
    const range = async (product_id: number, from: string, to: string) =>
      (
        await app.call(
          "GET",
          `/api/v1/availability?product_id=${product_id}&store_id=${S}&from=2026-${from}&to=2026-${to}`
        )
      ).body.availability
    const point = async (product_id: number, date: string) =>
      (await app.call("GET", `/api/v1/availability?product_id=${product_id}&store_id=${S}&date=2026-${date}`)).body
        .availability
    it("G11: a kit is as free as its scarcest part", async () => {
      const A = await business.bulk(S, 5),
        B = await business.bulk(S, 8),
        K = await made()
      await add(K, A.id)
      await add(K, B.id, { quantity: 2 })
      await demandOver(app, B.id, S, 6, "07-02", "07-03")
      const found = await range(K, "07-01", "07-03")
      expect(found.slots.map((slot: any) => [slot.available, slot.total_stock, slot.total_demanded])).toEqual([
        [4, 0, 0],
        [1, 0, 0]
      ])
      expect(found).toMatchObject({ min_available: 1, max_available: 4, calculated_at: null })
      expect(await point(K, "07-01")).toMatchObject({
        total_stock: 4,
        total_demanded: 0,
        available: 4,
        demand_breakdown: {}
      })
    })
    it("G13: kits of kits multiply", async () => {
      const leaf = await business.bulk(S, 9),
        inner = await made(),
        outer = await made()
      await add(inner, leaf.id, { quantity: 2 })
      await add(outer, inner)
      expect((await point(outer, "07-01")).available).toBe(4)
    })
    it("a deleted part is left out, a kit of nothing but fixed parts has no slots", async () => {
      const A = await business.bulk(S, 5),
        B = await business.bulk(S, 1),
        K = await made()
      await add(K, A.id)
      await add(K, B.id)
      expect((await point(K, "07-01")).available).toBe(1)
      await app.call("DELETE", `/api/v1/products/${B.id}`)
      expect((await point(K, "07-01")).available).toBe(5)
      const F = await made()
      await add(F, A.id, { binding: "fixed" })
      expect(await range(F, "07-01", "07-02")).toMatchObject({ slots: [], min_available: null })
      expect((await point(F, "07-01")).available).toBe(0)
    })
  })

  describe("accessories", () => {
    const path = (product: number) => `/api/v1/products/${product}/accessories`
    it("are made with defaults, named, listed in order", async () => {
      const P = await made(),
        A = await made({ name: "Hook Clamp" }),
        B = await made()
      const first = await app.call("POST", path(P), { accessory_product_id: A, sort_order: 1 })
      expect([first.status, first.body.accessory]).toMatchObject([
        201,
        {
          product_id: P,
          accessory_product_id: A,
          related_name: "Hook Clamp",
          quantity: "1.0",
          included: false,
          zero_priced: false,
          sort_order: 1
        }
      ])
      const second = await app.call("POST", path(P), {
        accessory_product_id: B,
        quantity: 0.5,
        included: true,
        zero_priced: true,
        product_id: A
      })
      expect(second.body.accessory).toMatchObject({ product_id: P, quantity: "0.5", included: true, zero_priced: true })
      const listed = await app.call("GET", path(P))
      expect(listed.body.accessories.map((one: any) => one.accessory_product_id)).toEqual([B, A])
      expect(listed.body.meta).toEqual({ total: 2, per_page: 2, page: 1 })
      const shown = await app.call("GET", `/api/v1/products/${P}?include=accessories`)
      expect(shown.body.product.accessories.length).toBe(2)
    })
    it("I15: can be changed, and are not found under another product", async () => {
      const P = await made(),
        A = await made(),
        other = await made()
      const { id } = (await app.call("POST", path(P), { accessory_product_id: A })).body.accessory
      const put = await app.call("PUT", `${path(P)}/${id}`, { quantity: 5 })
      expect([put.status, put.body.accessory.quantity]).toEqual([200, "5.0"])
      expect(
        (await app.call("PUT", `${path(P)}/${id}`, { accessory_product_id: other })).body.accessory.accessory_product_id
      ).toBe(other)
      expect((await app.call("PUT", `${path(other)}/${id}`, {})).status).toBe(404)
      expect((await app.call("DELETE", `${path(other)}/${id}`)).status).toBe(404)
      expect((await app.call("DELETE", `${path(P)}/${id}`)).status).toBe(204)
      expect((await app.call("GET", path(P))).body.accessories).toEqual([])
    })
    it("I17: a pair is unique, a product is no accessory of itself", async () => {
      const P = await made(),
        A = await made(),
        B = await made()
      await app.call("POST", path(P), { accessory_product_id: A })
      const second = (await app.call("POST", path(P), { accessory_product_id: B })).body.accessory.id
      expect(errorKeys(await app.call("POST", path(P), { accessory_product_id: A }))).toEqual([
        422,
        ["accessory_product_id"]
      ])
      expect(errorKeys(await app.call("POST", path(P), { accessory_product_id: P }))).toEqual([
        422,
        ["accessory_product_id"]
      ])
      expect(errorKeys(await app.call("PUT", `${path(P)}/${second}`, { accessory_product_id: A }))).toEqual([
        422,
        ["accessory_product_id"]
      ])
    })
    it("bad input is told by field, a viewer changes nothing", async () => {
      const P = await made()
      expect(errorKeys(await app.call("POST", path(P), {}))).toEqual([422, ["accessory_product_id"]])
      expect(
        errorKeys(
          await app.call("POST", path(P), {
            accessory_product_id: 99_999,
            quantity: -1,
            included: "yes",
            zero_priced: 2,
            sort_order: -1
          })
        )
      ).toEqual([422, ["accessory_product_id", "included", "quantity", "sort_order", "zero_priced"]])
      expect((await app.call("POST", path(P), {}, viewerWith(["products.view"], ["products:write"]))).status).toBe(403)
      expect((await app.call("POST", path(P), {}, viewerWith(["products.edit"], ["products:read"]))).status).toBe(403)
      expect((await app.call("GET", path(P), undefined, viewerWith(["products.view"], ["products:read"]))).status).toBe(
        200
      )
    })
    it("a change to them is a change of the product", async () => {
      const P = await made(),
        A = await made()
      const types = async () =>
        app.run(
          Effect.gen(function* () {
            const rows = yield* (yield* Store).run<{ type: string }>(
              `select type from journal where stream = 'product:${P}' order by position`
            )
            return rows.map((row) => row.type)
          })
        )
      const { id } = (await app.call("POST", path(P), { accessory_product_id: A })).body.accessory
      await app.call("PUT", `${path(P)}/${id}`, { quantity: 2 })
      await app.call("DELETE", `${path(P)}/${id}`)
      expect(await types()).toEqual(["product.created", "product.updated", "product.updated", "product.updated"])
    })
  })

  describe("the container template", () => {
    const path = (product: number) => `/api/v1/products/${product}/container_template`
    it("starts empty and keeps what is left out", async () => {
      const P = await made({ stock_method: 2 }),
        A = await made(),
        B = await made()
      expect((await app.call("GET", path(P))).body.container_template).toEqual({
        product_id: P,
        is_containerable: false,
        availability_mode: null,
        checkin_mode: null,
        max_nesting_depth: 2,
        repack_on_return: false,
        slots: [],
        max_items: null
      })
      const put = await app.call("PUT", path(P), {
        is_containerable: true,
        availability_mode: "kit",
        slots: [
          { product_id: A, quantity: 2 },
          { product_id: B, quantity: 1, binding: "fixed" }
        ],
        max_items: 3
      })
      const slots = [
        { product_id: A, quantity: 2, binding: null },
        { product_id: B, quantity: 1, binding: "fixed" }
      ]
      expect([put.status, put.body.container_template]).toEqual([
        200,
        {
          product_id: P,
          is_containerable: true,
          availability_mode: "kit",
          checkin_mode: "parent",
          max_nesting_depth: 2,
          repack_on_return: false,
          slots,
          max_items: 3
        }
      ])
      const kept = await app.call("PUT", path(P), { checkin_mode: "parent_then_verify", max_nesting_depth: 1 })
      expect(kept.body.container_template).toMatchObject({
        slots,
        max_items: 3,
        checkin_mode: "parent_then_verify",
        max_nesting_depth: 1
      })
      const cleared = await app.call("PUT", path(P), {
        slots: null,
        max_items: null,
        availability_mode: null,
        checkin_mode: null
      })
      expect(cleared.body.container_template).toMatchObject({
        is_containerable: true,
        slots: [],
        max_items: null,
        availability_mode: null,
        checkin_mode: null
      })
    })
    it.each([
      ["an unknown product", { slots: [{ product_id: 99_999 }] }, ["slots.0.product_id"]],
      ["a slot of nothing", { slots: [{ quantity: 1 }] }, ["slots.0.product_id"]],
      ["less than one", { slots: [{ product_id: 1, quantity: 0 }] }, ["slots.0.quantity"]],
      ["a product twice", { slots: [{ product_id: 1 }, { product_id: 1 }] }, ["slots.1.product_id"]],
      [
        "unknown words",
        { availability_mode: "box", checkin_mode: "none", is_containerable: "x", max_nesting_depth: 0 },
        ["availability_mode", "checkin_mode", "is_containerable", "max_nesting_depth"]
      ],
      ["more than fits", { slots: [{ product_id: 1, quantity: 3 }], max_items: 2 }, ["max_items"]],
      ["slots that are no list", { slots: "all" }, ["slots"]]
    ])("%s is refused", async (_, body, keys) => {
      await made()
      const P = await made()
      expect(errorKeys(await app.call("PUT", path(P), body))).toEqual([422, keys])
    })
    it("needs kits.view and kits:read, kits.manage and kits:write", async () => {
      const P = await made()
      expect((await app.call("GET", path(P), undefined, viewerWith(["kits.view"], ["products:read"]))).status).toBe(403)
      expect((await app.call("GET", path(P), undefined, viewerWith(["kits.view"], ["kits:read"]))).status).toBe(200)
      expect((await app.call("PUT", path(P), {}, viewerWith(["kits.view"], ["kits:write"]))).status).toBe(403)
      expect((await app.call("PUT", path(P), {}, viewerWith(["kits.manage"], ["kits:write"]))).status).toBe(200)
    })
  })

  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
