/** Products, accessories, stock, custom fields. */
import { expect } from "vitest"
import { refusedOn, type Scenario, scenario, type Scene, v1 } from "../availability-scenarios.ts"

const accessoriesOf = (id: number): string => `${v1}/products/${id}/accessories`
const levelsOf = async (s: Scene, product: number) =>
  (await s.get(`${v1}/stock_levels?q[product_id_eq]=${product}`)).body.stock_levels
const merge = (s: Scene, primary: number, secondary_id: unknown) =>
  s.post(`${v1}/products/${primary}/merge`, { secondary_id })
const field = (s: Scene, name: string, body: object = {}) =>
  s.made(`${v1}/custom_fields`, { name, module_type: "Product", field_type: 0, ...body }, "custom_field")

export const productScenarios = (): ReadonlyArray<Scenario> => [
  scenario("I1", "a product is created", async (s) => {
    const reply = await s.post(`${v1}/products`, { name: "New Speaker", product_type: "rental" })
    expect([reply.status, reply.body.product]).toMatchObject([201, { name: "New Speaker", product_type: "rental" }])
  }),
  scenario("I3", "a bulk product has an empty stock level at the default store", async (s) => {
    // A default store always exists, at first the first one, so this also covers the first store.
    const before = (await s.get(`${v1}/stores?q[is_default_eq]=true`)).body.stores
    expect(await levelsOf(s, (await s.product()).id)).toMatchObject([{ store_id: before[0].id, quantity_held: "0.00" }])
    const S = await s.store({ is_default: true })
    expect((await levelsOf(s, (await s.product()).id)).map((one) => one.store_id)).toEqual([S])
    expect(await levelsOf(s, (await s.product({ stock_method: 2 })).id)).toEqual([])
    await s.put(`${v1}/stores/${before[0].id}`, { is_default: true })
  }),
  scenario("I5", "money is accepted in minor units and returned with decimals", async (s) => {
    const { id } = await s.product({ replacement_charge: 10000 })
    expect((await s.get(`${v1}/products/${id}`)).body.product.replacement_charge).toBe("100.00")
  }),
  scenario("I7", "a deleted product answers 404", async (s) => {
    const { id } = await s.product()
    const reply = await s.remove(`${v1}/products/${id}`)
    expect([
      reply.status,
      (await s.get(`${v1}/products/${id}`)).status,
      (await s.get(`${v1}/products?q[id_eq]=${id}`)).body.products
    ]).toEqual([204, 404, []])
  }),
  scenario("I9", "invalid merges are refused", async (s) => {
    const P = (await s.product()).id,
      gone = (await s.product()).id,
      sale = (await s.product({ product_type: "sale" })).id
    await s.remove(`${v1}/products/${gone}`)
    for (const other of [P, gone, 9_999_999, sale]) refusedOn(await merge(s, P, other), "secondary_id")
  }),
  scenario("I11", "merging fills only empty custom fields, and overwrites none", async (s) => {
    await field(s, "shared_ref")
    await field(s, "unique_note")
    const P = (await s.product({ custom_fields: { shared_ref: "P-1" } })).id
    const Q = (await s.product({ custom_fields: { shared_ref: "Q-1", unique_note: "only here" } })).id
    const reply = await merge(s, P, Q)
    expect([reply.status, reply.body.product.id]).toEqual([200, P])
    expect((await s.get(`${v1}/products/${P}`)).body.product.custom_fields).toMatchObject({
      shared_ref: "P-1",
      unique_note: "only here"
    })
    expect((await s.get(`${v1}/products/${Q}`)).status).toBe(404)
  }),
  scenario("I13", "products are filtered, sorted and paged", async (s) => {
    for (const name of ["b", "a", "c"]) await s.product({ name: `${s.subject} ${name}`, product_type: "sale" })
    const { meta, products } = (
      await s.get(`${v1}/products?q[product_type_eq]=sale&sort=name&q[name_start]=${encodeURIComponent(s.subject)}`)
    ).body
    expect([products.map((one) => [one.name.at(-1), one.product_type]), meta.per_page]).toEqual([
      [
        ["a", "sale"],
        ["b", "sale"],
        ["c", "sale"]
      ],
      20
    ])
    const all = (await s.get(`${v1}/products?q[product_type_eq]=sale&per_page=100`)).body.products
    expect(all.every((one) => one.product_type === "sale")).toBe(true)
  }),
  scenario("I15", "an accessory is found only under its own product", async (s) => {
    const P = (await s.product()).id,
      other = (await s.product()).id,
      A = (await s.product()).id
    const { id } = await s.made(accessoriesOf(P), { accessory_product_id: A }, "accessory")
    const reply = await s.put(`${accessoriesOf(P)}/${id}`, { quantity: 5 })
    expect([reply.status, reply.body.accessory.quantity]).toEqual([200, "5.0"])
    expect([
      (await s.put(`${accessoriesOf(other)}/${id}`, { quantity: 5 })).status,
      (await s.remove(`${accessoriesOf(other)}/${id}`)).status
    ]).toEqual([404, 404])
  }),
  scenario("I17", "a product cannot have an accessory twice or itself", async (s) => {
    const P = (await s.product()).id,
      A = (await s.product()).id
    await s.made(accessoriesOf(P), { accessory_product_id: A }, "accessory")
    refusedOn(await s.post(accessoriesOf(P), { accessory_product_id: A }), "accessory_product_id")
    refusedOn(await s.post(accessoriesOf(P), { accessory_product_id: P }), "accessory_product_id")
  }),
  scenario("I19", "accessories are left out on request", async (s) => {
    const S = await s.store(),
      P = (await s.product()).id,
      A = (await s.product()).id
    await s.made(accessoriesOf(P), { accessory_product_id: A, quantity: 2, included: true }, "accessory")
    const { id } = await s.made(`${v1}/opportunities`, { subject: s.subject, store_id: S }, "opportunity")
    const added = (body: object) =>
      s.made(`${v1}/opportunities/${id}/items`, { name: "Line", item_id: P, quantity: 3, ...body }, "opportunity")
    expect((await added({ materialize_included_accessories: false })).items).toHaveLength(1)
    expect((await added({})).items.slice(1).map((one) => one.quantity)).toEqual(["3.00", "6.00"])
  }),

  scenario("J2", "a bulk product has one stock level per store", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 5)
    refusedOn(await s.post(`${v1}/stock_levels`, { product_id: P, store_id: S, quantity_held: 1 }), "product_id")
  }),
  scenario("J4", "a purchase increases the quantity held", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 0)
    const { id } = (await levelsOf(s, P)).find((one) => one.store_id === S)!
    const reply = await s.post(`${v1}/products/${P}/stock_levels/${id}/stock_transactions`, {
      transaction_type: 4,
      quantity: "10.0"
    })
    expect([reply.status, reply.body.stock_transaction]).toMatchObject([
      201,
      { transaction_type: 4, quantity_move: "10.0", manual: true }
    ])
    expect((await s.get(`${v1}/stock_levels/${id}`)).body.stock_level.quantity_held).toBe("10.00")
  }),
  scenario("J6", "invalid stock transactions are refused", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 5),
      {
        id: Q,
        units: [unit]
      } = await s.units(S, 1)
    const { id } = (await levelsOf(s, P)).find((one) => one.store_id === S)!
    const at = `${v1}/products/${P}/stock_levels/${id}/stock_transactions`
    refusedOn(await s.post(at, { transaction_type: 999, quantity: 1 }), "transaction_type")
    refusedOn(await s.post(at, { transaction_type: 4, quantity: 2.5 }), "quantity")
    refusedOn(
      await s.post(`${v1}/products/${Q}/stock_levels/${unit}/stock_transactions`, { transaction_type: 4, quantity: 2 }),
      "quantity"
    )
  }),
  scenario("J8", "a write-off reduces availability", async (s) => {
    const S = await s.store(),
      P = await s.bulk(S, 10)
    const { id } = (await levelsOf(s, P)).find((one) => one.store_id === S)!
    expect(
      (await s.post(`${v1}/products/${P}/stock_levels/${id}/stock_transactions`, { transaction_type: 6, quantity: 1 }))
        .status
    ).toBe(201)
    expect((await s.point(P, S, "07-01")).total_stock).toBe(9)
  }),
  scenario("J10", "a custom field cannot be renamed to a name in use", async (s) => {
    await field(s, "taken_name")
    const { id } = await field(s, "own_name", { validation_rules: { min_length: 2 } })
    const put = (body: object) => s.put(`${v1}/custom_fields/${id}`, body)
    refusedOn(await put({ name: "taken_name" }), "name")
    expect((await put({ name: "own_name" })).body.custom_field).toMatchObject({
      name: "own_name",
      validation_rules: { min_length: 2 }
    })
    expect((await put({ validation_rules: null })).body.custom_field.validation_rules).toBe(null)
  })
]
