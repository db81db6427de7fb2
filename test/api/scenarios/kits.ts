/** Components of products, and availability of the whole. */
import { expect } from "vitest"
import { refusedOn, type Scenario, scenario, type Scene, v1 } from "../availability-scenarios.ts"

const partsOf = (id: number): string => `${v1}/products/${id}/components`
const part = (s: Scene, kit: number, component_product_id: number, quantity = 1, binding = "pool") =>
  s.made(partsOf(kit), { component_product_id, quantity, binding }, "component")
/** Creates products of which each is a component of the one before. */
const chain = async (s: Scene, length: number): Promise<ReadonlyArray<number>> => {
  const ids: Array<number> = []
  for (let at = 0; at < length; at++) {
    ids.push((await s.product()).id)
    if (at > 0) await part(s, ids[at - 1]!, ids[at]!)
  }
  return ids
}

export const kitScenarios = (): ReadonlyArray<Scenario> => [
  scenario("G1", "a component makes a product a kit", async (s) => {
    const [K, C] = [(await s.product()).id, (await s.product()).id]
    const reply = await s.post(partsOf(K), { component_product_id: C, quantity: 2, binding: "pool" })
    expect([reply.status, reply.body.component]).toMatchObject([
      201,
      { product_id: K, component_product_id: C, quantity: "2.0000", binding: "pool" }
    ])
    expect((await s.get(`${v1}/products/${K}`)).body.product.is_kit).toBe(true)
  }),
  scenario("G3", "a kit cannot be a component of its own component, one or three levels down", async (s) => {
    const [K, C] = await chain(s, 2)
    refusedOn(await s.post(partsOf(C!), { component_product_id: K }), "component_product_id")
    const [A, , , D] = await chain(s, 4)
    refusedOn(await s.post(partsOf(D!), { component_product_id: A }), "component_product_id")
  }),
  scenario("G5", "two levels of kits are allowed", async (s) => {
    const [X] = await chain(s, 2),
      P = (await s.product()).id
    expect((await s.post(partsOf(P), { component_product_id: X })).status).toBe(201)
  }),
  scenario("G7", "a component can be changed under its own product, and not under another", async (s) => {
    const [K, C] = [(await s.product()).id, (await s.product()).id]
    const { id } = await part(s, K, C, 2)
    const reply = await s.patch(`${partsOf(K)}/${id}`, { quantity: 5, binding: "fixed" })
    expect([reply.status, reply.body.component]).toMatchObject([
      200,
      { quantity: "5.0000", binding: "fixed", component_product_id: C }
    ])
    expect((await s.get(partsOf(K))).body.components).toMatchObject([{ quantity: "5.0000", binding: "fixed" }])
    expect((await s.patch(`${partsOf((await s.product()).id)}/${id}`, { quantity: 5 })).status).toBe(404)
  }),
  scenario("G9", "components need the ability kits:read", async (s) => {
    const K = (await s.product()).id,
      C = await s.product()
    await part(s, K, C.id)
    expect((await s.get(partsOf(K))).body).toMatchObject({
      components: [{ component_name: C.name }],
      meta: { total: 1, per_page: 1, page: 1 }
    })
    if (s.somebody === undefined) return
    expect(
      (await (await s.somebody(["products.view", "kits.view"], ["products:read"]))("GET", partsOf(K))).status
    ).toBe(403)
    expect((await (await s.somebody(["kits.view"], ["kits:read"]))("GET", partsOf(K))).status).toBe(200)
  }),
  scenario("G11", "the scarcest part limits a kit each day", async (s) => {
    const S = await s.store(),
      A = await s.bulk(S, 5),
      B = await s.bulk(S, 8),
      K = (await s.product()).id
    await part(s, K, A)
    await part(s, K, B, 2)
    await s.claim(S, B, 6, "07-02", "07-03")
    const range = await s.range(K, S, "07-01", "07-03")
    expect([range.slots.map((slot) => slot.available), range.min_available, range.max_available]).toEqual([
      [4, 1],
      1,
      4
    ])
  }),
  scenario("G13", "nested kits multiply their quantities", async (s) => {
    const S = await s.store(),
      leaf = await s.bulk(S, 9),
      inner = (await s.product()).id,
      outer = (await s.product()).id
    await part(s, inner, leaf, 2)
    await part(s, outer, inner)
    expect((await s.point(outer, S, "07-01")).available).toBe(4)
  }),
  scenario("G15", "a line for a kit claims its parts", async (s) => {
    const S = await s.store(),
      A = await s.bulk(S, 50),
      B = await s.bulk(S, 50),
      K = await s.bulk(S, 50)
    await part(s, K, A, 2)
    await part(s, K, B, 3)
    const { id } = await s.claim(S, K, 4, "07-01", "07-03")
    const taken = async (product: number) =>
      (await s.gantt(product, S, "07-01", "07-03")).demands.map((one) => one.quantity)
    expect([await taken(A), await taken(B), await taken(K)]).toEqual([[8], [12], []])
    s.later(async ({ held }) => expect(await held(id)).toBe(20))
  }),
  scenario("G17", "a line for a hybrid kit claims its cases and their pool parts", async (s) => {
    const S = await s.store(),
      H = await s.caseProduct({ availability_mode: "hybrid" }),
      A = await s.bulk(S, 10)
    for (let at = 0; at < 3; at++) await s.unit(H, S)
    await part(s, H, A, 2)
    await s.claim(S, H, 2, "07-01", "07-03")
    const taken = async (product: number) =>
      (await s.gantt(product, S, "07-01", "07-03")).demands.map((one) => one.quantity)
    expect([await taken(A), await taken(H)]).toEqual([[4], [2]])
  }),
  scenario("G19", "a hybrid kit is limited by its cases and its pool parts", async (s) => {
    const S = await s.store()
    // Five cases, each with its fixed content.
    const H = await s.caseProduct({ availability_mode: "hybrid" }),
      { id: F, units } = await s.units(S, 5),
      A = await s.bulk(S, 6)
    await part(s, H, F, 1, "fixed")
    await part(s, H, A, 2)
    for (const unit of units) {
      const { id } = await s.made(
        `${v1}/containers`,
        { name: s.subject, serialised_item_id: await s.unit(H, S) },
        "container"
      )
      expect((await s.pack(id, unit)).status).toBe(201)
    }
    expect((await s.point(H, S, "07-01")).available).toBe(3)
    const pool = (await s.get(`${v1}/stock_levels?q[product_id_eq]=${A}&q[store_id_eq]=${S}`)).body.stock_levels[0].id
    await s.made(
      `${v1}/products/${A}/stock_levels/${pool}/stock_transactions`,
      { transaction_type: 6, quantity: 5 },
      "stock_transaction"
    )
    expect((await s.point(H, S, "07-01")).available).toBe(0)
    const alone = await s.caseProduct({ availability_mode: "hybrid" })
    for (let at = 0; at < 3; at++) await s.unit(alone, S)
    expect((await s.point(alone, S, "07-01")).available).toBe(3)
    // Stock that is present on the first day only.
    const hired = (await s.product()).id
    await s.made(
      `${v1}/stock_levels`,
      {
        product_id: hired,
        store_id: S,
        quantity_held: 10,
        starts_at: "2026-07-01T00:00:00Z",
        ends_at: "2026-07-02T00:00:00Z"
      },
      "stock_level"
    )
    await part(s, alone, hired)
    expect((await s.range(alone, S, "07-01", "07-03")).slots.map((slot) => slot.available)).toEqual([3, 0])
  })
]
