import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, errorKeys, itFoldsAgain, refused } from "../../../app-house.ts"

describe.each(engines)("kits and accessories on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const made = async (more = {}) => (await w.create("/products", { name: "Product", ...more })).id as number
  const add = (product: number, component_product_id: unknown, more = {}) =>
    w.post(`/products/${product}/components`, { component_product_id, ...more })
  const isKit = async (product: number) => (await w.show(`/products/${product}`)).is_kit

  describe("components", () => {
    it("make the product a kit while it has at least one", async () => {
      const [K, C] = [await made(), await made({ name: "Cable" })]
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
      expect((await w.remove(`/products/${K}/components/${first.body.component.id}`)).status).toBe(204)
      expect(await isKit(K)).toBe(false)
    })
    it("cannot include the kit itself, directly or through one or two others, nor a product twice", async () => {
      const [A, B, C] = [await made(), await made(), await made()] as const
      await refused(add(A, A), "component_product_id")
      await add(A, B)
      await refused(add(B, A), "component_product_id")
      await add(B, C)
      await refused(add(C, A), "component_product_id")
      await refused(add(A, B), "component_product_id")
    })
    it("may be three levels deep, not four, whichever end they are added to", async () => {
      const [A, B, C, D, E] = [await made(), await made(), await made(), await made(), await made()] as const
      for (const [up, down] of [
        [A, B],
        [B, C],
        [C, D]
      ] as const)
        expect((await add(up, down)).status).toBe(201)
      await refused(add(D, E), "component_product_id")
      await refused(add(E, A), "component_product_id")
      expect((await add(E, B)).status).toBe(201)
    })
    it("can change their quantity, binding and order, but not their product", async () => {
      const [K, C, other] = [await made(), await made(), await made()]
      const { id } = (await add(K, C)).body.component
      const changed = { binding: "fixed", sort_order: 3 }
      const sent = { ...changed, quantity: 5, component_product_id: other }
      const kept = { ...changed, quantity: "5.0000", component_product_id: C }
      expect(await w.amend(`/products/${K}/components/${id}`, sent)).toMatchObject(kept)
      expect((await w.patch(`/products/${other}/components/${id}`, {})).status).toBe(404)
      expect((await w.remove(`/products/${other}/components/${id}`)).status).toBe(404)
    })
    it("require kits abilities and permissions, and are listed by their sort order", async () => {
      const [K, first, second] = [await made(), await made(), await made()]
      await add(K, first, { sort_order: 2 })
      await add(K, second, { sort_order: 1 })
      const path = `/products/${K}/components`
      expect((await w.get(path, viewerWith(["kits.view", "products.view"], ["products:read"]))).status).toBe(403)
      const listed = await w.get(path, viewerWith(["kits.view"], ["kits:read"]))
      expect(listed.body.components.map((one) => one.component_product_id)).toEqual([second, first])
      expect(listed.body.meta).toEqual({ total: 2, per_page: 2, page: 1 })
      const writer = viewerWith(["kits.view", "products.edit"], ["kits:write", "products:write"])
      expect((await w.post(path, {}, writer)).status).toBe(403)
      expect((await w.post(path, {}, viewerWith(["kits.manage"], ["kits:write"]))).status).toBe(422)
    })
    it.each([
      ["an empty body", {}, ["component_product_id"]],
      ["an unknown product", { component_product_id: 99_999 }, ["component_product_id"]],
      [
        "words as ids and numbers",
        { component_product_id: "x", quantity: "y", binding: "z", sort_order: -1 },
        ["binding", "component_product_id", "quantity", "sort_order"]
      ],
      ["a quantity below one", { component_product_id: 1, quantity: 0.5 }, ["quantity"]]
    ])("are rejected for %s", async (_, body, keys) => {
      const K = await made()
      expect(errorKeys(await w.post(`/products/${K}/components`, body))).toEqual([422, keys])
      expect(await isKit(K)).toBe(false)
    })
    it("cannot be archived products, and are 404 for a deleted kit", async () => {
      const [K, C] = [await made(), await made()]
      await w.remove(`/products/${C}`)
      await refused(add(K, C), "component_product_id")
      expect((await add(C, K)).status).toBe(404)
    })
  })

  describe("availability of kits", () => {
    const range = async (product_id: number, from: string, to: string) =>
      await w.show(`/availability?product_id=${product_id}&store_id=${S}&from=2026-${from}&to=2026-${to}`)
    const point = async (product_id: number, date: string) =>
      await w.show(`/availability?product_id=${product_id}&store_id=${S}&date=2026-${date}`)
    it("is limited by their parts, on a day and over a range, without stock of their own", async () => {
      const [A, B, K] = [await w.bulk(S, 5), await w.bulk(S, 8), await made()]
      await add(K, A.id)
      await add(K, B.id, { quantity: 2 })
      const asked = `/availability?product_id=${K}&store_id=${S}`
      const whole = { total_demanded: 0, available: 4 }
      expect(await w.show(`${asked}&date=2026-07-01`)).toMatchObject({
        ...{ ...whole, total_stock: 4, demand_breakdown: {} }
      })
      expect(await w.show(`${asked}&from=2026-07-01&to=2026-07-02`)).toMatchObject({
        ...{ slots: [{ ...whole, total_stock: 0 }], calculated_at: null }
      })
    })
    it("ignores a deleted part, and has no slots for a kit whose one part is fixed", async () => {
      const [A, B, K] = [await w.bulk(S, 5), await w.bulk(S, 1), await made()]
      await add(K, A.id)
      await add(K, B.id)
      expect((await point(K, "07-01")).available).toBe(1)
      await w.remove(`/products/${B.id}`)
      expect((await point(K, "07-01")).available).toBe(5)
      const F = await made()
      await add(F, A.id, { binding: "fixed" })
      expect(await range(F, "07-01", "07-02")).toMatchObject({ slots: [], min_available: null })
      expect((await point(F, "07-01")).available).toBe(0)
    })
  })

  describe("accessories", () => {
    const path = (product: number) => `/products/${product}/accessories`
    it("are created with defaults, returned with names, and listed in order", async () => {
      const [P, A, B] = [await made(), await made({ name: "Hook Clamp" }), await made()]
      const first = await w.post(path(P), { accessory_product_id: A, sort_order: 1 })
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
      const second = await w.post(path(P), {
        accessory_product_id: B,
        quantity: 0.5,
        included: true,
        zero_priced: true,
        product_id: A
      })
      expect(second.body.accessory).toMatchObject({ product_id: P, quantity: "0.5", included: true, zero_priced: true })
      const listed = await w.get(path(P))
      expect(listed.body.accessories.map((one) => one.accessory_product_id)).toEqual([B, A])
      expect(listed.body.meta).toEqual({ total: 2, per_page: 2, page: 1 })
      const shown = await w.get(`/products/${P}?include=accessories`)
      expect(shown.body.product.accessories.length).toBe(2)
    })
    it("can be changed and deleted, and are 404 under another product", async () => {
      const [P, A, other] = [await made(), await made(), await made()]
      const { id } = await w.create(path(P), { accessory_product_id: A })
      const put = await w.put(`${path(P)}/${id}`, { quantity: 5 })
      expect([put.status, put.body.accessory.quantity]).toEqual([200, "5.0"])
      expect((await w.update(`${path(P)}/${id}`, { accessory_product_id: other })).accessory_product_id).toBe(other)
      expect((await w.put(`${path(other)}/${id}`, {})).status).toBe(404)
      expect((await w.remove(`${path(other)}/${id}`)).status).toBe(404)
      expect((await w.remove(`${path(P)}/${id}`)).status).toBe(204)
      expect(await w.show(path(P))).toEqual([])
    })
    it("are unique per product and accessory, and never the product itself", async () => {
      const [P, A, B] = [await made(), await made(), await made()]
      await w.post(path(P), { accessory_product_id: A })
      const second = (await w.create(path(P), { accessory_product_id: B })).id
      await refused(w.post(path(P), { accessory_product_id: A }), "accessory_product_id")
      await refused(w.post(path(P), { accessory_product_id: P }), "accessory_product_id")
      await refused(w.put(`${path(P)}/${second}`, { accessory_product_id: A }), "accessory_product_id")
    })
    it("are rejected by field if invalid, and require products.edit to change", async () => {
      const P = await made()
      await refused(w.post(path(P), {}), "accessory_product_id")
      const wrong = { accessory_product_id: 99_999, quantity: -1, included: "yes", zero_priced: 2, sort_order: -1 }
      await refused(w.post(path(P), wrong), ...Object.keys(wrong))
      expect((await w.post(path(P), {}, viewerWith(["products.view"], ["products:write"]))).status).toBe(403)
      expect((await w.post(path(P), {}, viewerWith(["products.edit"], ["products:read"]))).status).toBe(403)
      expect((await w.get(path(P), viewerWith(["products.view"], ["products:read"]))).status).toBe(200)
    })
    it("are recorded as an update of the product", async () => {
      const [P, A] = [await made(), await made()]
      const types = async () =>
        w.app.run(
          Effect.gen(function* () {
            const rows = yield* (yield* Store).run<{ type: string }>(
              `select type from journal where stream = 'product:${P}' order by position`
            )
            return rows.map((row) => row.type)
          })
        )
      const { id } = await w.create(path(P), { accessory_product_id: A })
      await w.put(`${path(P)}/${id}`, { quantity: 2 })
      await w.remove(`${path(P)}/${id}`)
      expect(await types()).toEqual(["product.created", "product.updated", "product.updated", "product.updated"])
    })
  })

  describe("the container template", () => {
    const path = (product: number) => `/products/${product}/container_template`
    it("starts empty, keeps absent fields, and clears fields sent as null", async () => {
      const [P, A, B] = [await made({ stock_method: 2 }), await made(), await made()]
      expect(await w.show(path(P))).toEqual({
        product_id: P,
        is_containerable: false,
        availability_mode: null,
        checkin_mode: null,
        max_nesting_depth: 2,
        repack_on_return: false,
        slots: [],
        max_items: null
      })
      const put = await w.put(path(P), {
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
      const changed = { checkin_mode: "parent_then_verify", max_nesting_depth: 1 }
      expect(await w.update(path(P), changed)).toMatchObject({ slots, max_items: 3, ...changed })
      const cleared = { max_items: null, availability_mode: null, checkin_mode: null }
      expect(await w.update(path(P), { slots: null, ...cleared })).toMatchObject({
        is_containerable: true,
        slots: [],
        ...cleared
      })
    })
    it.each([
      ["an unknown product", { slots: [{ product_id: 99_999 }] }, ["slots.0.product_id"]],
      ["a slot without a product", { slots: [{ quantity: 1 }] }, ["slots.0.product_id"]],
      ["a quantity below one", { slots: [{ product_id: 1, quantity: 0 }] }, ["slots.0.quantity"]],
      ["a product twice", { slots: [{ product_id: 1 }, { product_id: 1 }] }, ["slots.1.product_id"]],
      [
        "unknown words",
        { availability_mode: "box", checkin_mode: "none", is_containerable: "x", max_nesting_depth: 0 },
        ["availability_mode", "checkin_mode", "is_containerable", "max_nesting_depth"]
      ],
      ["more than max_items", { slots: [{ product_id: 1, quantity: 3 }], max_items: 2 }, ["max_items"]],
      ["slots that are no list", { slots: "all" }, ["slots"]]
    ])("is rejected for %s", async (_, body, keys) => {
      await made()
      const P = await made()
      expect(errorKeys(await w.put(path(P), body))).toEqual([422, keys])
    })
    it("requires the ability kits:read to read, and the permission kits.manage to change", async () => {
      const P = await made()
      expect((await w.get(path(P), viewerWith(["kits.view"], ["products:read"]))).status).toBe(403)
      expect((await w.get(path(P), viewerWith(["kits.view"], ["kits:read"]))).status).toBe(200)
      expect((await w.put(path(P), {}, viewerWith(["kits.view"], ["kits:write"]))).status).toBe(403)
      expect((await w.put(path(P), {}, viewerWith(["kits.manage"], ["kits:write"]))).status).toBe(200)
    })
  })

  itFoldsAgain(w)
})
