import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { demandOver, setDemands } from "../../stock-demands.ts"
import type { Body } from "../../../answers.ts"

describe.each(engines)("merging products on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const made = async (more = {}) =>
    (await w.create("/products", { name: "Product", stock_method: 2, ...more })).id as number
  const merge = (primary: number, secondary_id: unknown) => w.post(`/products/${primary}/merge`, { secondary_id })
  const list = async <const Key extends keyof Body>(path: string, key: Key): Promise<Body[Key]> =>
    (await w.get(`/${path}`)).body[key]

  it("requires another active product of the same type and stock method, and permission", async () => {
    const [P, gone] = [await made(), await made()]
    const [sale, bulk] = [await made({ product_type: "sale" }), await made({ stock_method: 1 })]
    await w.remove(`/products/${gone}`)
    for (const secondary of [undefined, P, 99_999, "x", sale, bulk, gone])
      await refused(merge(P, secondary), "secondary_id")
    const reader = viewerWith(["products.view"], ["products:write"])
    expect((await w.post(`/products/${P}/merge`, {}, reader)).status).toBe(403)
  })
  it("moves units, their ledger and their demands, and archives the other product", async () => {
    const [P, Q] = [await w.units(S, 1), await w.units(S, 2)]
    await demandOver(w.app, Q.id, S, 1, "09-01", "09-02", { asset_id: Q.units[0]! })
    const merged = await merge(P.id, Q.id)
    expect([merged.status, merged.body.product.id]).toEqual([200, P.id])
    expect((await w.get(`/products/${Q.id}`)).status).toBe(404)
    expect((await list(`stock_levels?q[product_id_eq]=${P.id}`, "stock_levels")).map((one) => one.id)).toEqual([
      ...P.units,
      ...Q.units
    ])
    expect((await w.get(`/products/${P.id}/stock_levels/${Q.units[0]}/stock_transactions`)).body.meta.total).toBe(1)
    const { body } = await w.get(`/availability?product_id=${P.id}&store_id=${S}&date=2026-09-01`)
    expect(body.availability).toMatchObject({ total_stock: 3, total_demanded: 1, available: 2 })
  })
  it("leaves one bulk level per store, with the ledgers of both products", async () => {
    const [P, Q] = [await w.bulk(S, 4), await w.bulk(S, 3)]
    const T = await w.store()
    await w.create("/stock_levels", { product_id: Q.id, store_id: T, quantity_held: 5 })
    await merge(P.id, Q.id)
    const levels = await list(`stock_levels?q[product_id_eq]=${P.id}&sort=store_id`, "stock_levels")
    expect(levels.map((one) => [one.store_id, one.quantity_held])).toEqual([
      [1, "0.00"],
      [S, "7.00"],
      [T, "5.00"]
    ])
    const ledger = await list(`products/${P.id}/stock_levels/${P.level}/stock_transactions`, "stock_transactions")
    expect(ledger.map((one) => one.quantity_move).sort()).toEqual(["3.0", "4.0"])
  })
  it("combines accessories and components of both products, without duplicates or links to itself", async () => {
    const [P, Q, A, B, outer] = [await made(), await made(), await made(), await made(), await made()] as const
    const accessory = (of: number, accessory_product_id: number) =>
      w.must("POST", `/products/${of}/accessories`, { accessory_product_id })
    const component = (of: number, component_product_id: number) =>
      w.must("POST", `/products/${of}/components`, { component_product_id })
    for (const to of [A, Q]) await accessory(P, to)
    for (const to of [A, B]) await accessory(Q, to)
    await accessory(outer, Q)
    await component(Q, A)
    for (const to of [Q, P]) await component(outer, to)
    expect((await merge(P, Q)).body.product.is_kit).toBe(true)
    const accessories = async (of: number) =>
      (await list(`products/${of}/accessories`, "accessories")).map((one) => one.accessory_product_id)
    const components = async (of: number) =>
      (await list(`products/${of}/components`, "components")).map((one) => one.component_product_id)
    expect([await accessories(P), await accessories(outer)]).toEqual([[A, B], [P]])
    expect([await components(P), await components(outer)]).toEqual([[A], [P]])
  })
  it("is rejected if one product contains the other through a third, and allowed for a direct component", async () => {
    const [P, X, Q] = [await made(), await made(), await made()] as const
    await w.create(`/products/${P}/components`, { component_product_id: X })
    await w.create(`/products/${X}/components`, { component_product_id: Q })
    await refused(merge(P, Q), "secondary_id")
    await refused(merge(Q, P), "secondary_id")
    expect((await merge(P, X)).status).toBe(200)
    expect((await list(`products/${P}/components`, "components")).map((one) => one.component_product_id)).toEqual([Q])
  })
  it("fills only empty custom fields of the kept product, and overwrites none", async () => {
    for (const name of ["shared_ref", "unique_note"]) {
      await w.create("/custom_fields", { name, module_type: "Product", field_type: 0 })
    }
    const P = await made({ custom_fields: { shared_ref: "P" } }),
      Q = await made({ custom_fields: { shared_ref: "Q", unique_note: "note" } })
    expect((await merge(P, Q)).body.product.custom_fields).toMatchObject({ shared_ref: "P", unique_note: "note" })
  })
  it("keeps packed units packed", async () => {
    const [box, P, Q] = [await made(), await w.units(S, 0), await w.units(S, 1)]
    await w.put(`/products/${box}/container_template`, { is_containerable: true, availability_mode: "kit" })
    const housing = await w.unit(box, S)
    const { id } = await w.create("/containers", { name: "Case", serialised_item_id: housing })
    await w.create(`/containers/${id}/pack`, { serialised_item_id: Q.units[0] })
    await merge(P.id, Q.id)
    expect((await w.show(`/containers/${id}`)).items).toMatchObject([{ product_id: P.id }])
    expect((await w.show(`/availability?product_id=${P.id}&store_id=${S}&date=2026-09-01`)).available).toBe(0)
    await w.create(`/containers/${id}/unpack`, { serialised_item_id: Q.units[0] })
    expect((await w.show(`/availability?product_id=${P.id}&store_id=${S}&date=2026-09-01`)).available).toBe(1)
  })
  it("combines the quantities of both products in container templates", async () => {
    const [box, P, Q, other] = [await made(), await made(), await made(), await made()] as const
    const template = `/products/${box}/container_template`
    const slots = [
      { product_id: P, quantity: 1 },
      { product_id: other, quantity: 4 },
      { product_id: Q, quantity: 2 }
    ]
    await w.put(template, { is_containerable: true, slots })
    await merge(P, Q)
    expect((await w.show(template)).slots).toMatchObject([
      { product_id: P, quantity: 3 },
      { product_id: other, quantity: 4 }
    ])
  })
  it("moves the merged product's case template and cases to the kept product", async () => {
    const [P, Q, inside] = [await made(), await made(), await w.units(S, 1)]
    const template = (of: number) => `/products/${of}/container_template`
    await w.put(template(Q), { is_containerable: true, availability_mode: "kit", max_nesting_depth: 4 })
    const { id } = await w.create("/containers", { name: "Case", serialised_item_id: await w.unit(Q, S) })
    await w.create(`/containers/${id}/pack`, { serialised_item_id: inside.units[0] })
    expect((await merge(P, Q)).status).toBe(200)
    expect(await w.show(template(P))).toMatchObject({
      is_containerable: true,
      availability_mode: "kit",
      max_nesting_depth: 4
    })
    expect(await w.show(`/containers/${id}`)).toMatchObject({ product_id: P, availability_mode: "kit" })
  })
  it("gives the merged product's cases the kept one's mode, unless a unit it would reserve is booked", async () => {
    const [P, Q, inside, busy] = [await made(), await made(), await w.units(S, 1), await w.units(S, 1)]
    for (const [of, availability_mode] of [
      [P, "kit"],
      [Q, "transport"]
    ] as const)
      await w.put(`/products/${of}/container_template`, { is_containerable: true, availability_mode })
    const { id } = await w.create("/containers", { name: "Box", serialised_item_id: await w.unit(Q, S) })
    for (const unit of [inside.units[0], busy.units[0]])
      await w.create(`/containers/${id}/pack`, { serialised_item_id: unit })
    const free = async (of: number) =>
      (await w.show(`/availability?product_id=${of}&store_id=${S}&date=2026-12-01`)).available
    expect(await free(inside.id)).toBe(1)
    const source = await demandOver(w.app, busy.id, S, 1, "09-01", "09-02", { asset_id: busy.units[0]! })
    await refused(merge(P, Q), "secondary_id")
    await setDemands(w.app, "opportunity_item", source, [])
    expect((await merge(P, Q)).status).toBe(200)
    expect(await free(inside.id)).toBe(0)
  })
  it("is rejected if kits would become too deep", async () => {
    const [a, b, P] = [await made(), await made(), await made()]
    const [Q, c, d] = [await made(), await made(), await made()]
    for (const [of, component_product_id] of [
      [a, b],
      [b, P],
      [Q, c],
      [c, d]
    ] as const)
      await w.create(`/products/${of}/components`, { component_product_id })
    await refused(merge(P, Q), "secondary_id")
    const { id } = (await list(`products/${c}/components`, "components"))[0]
    await w.remove(`/products/${c}/components/${id}`)
    expect((await merge(P, Q)).status).toBe(200)
  })
  itFoldsAgain(w)
})
