import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

describe.each(engines)("quantities that multiply on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())

  const post = (path: string, json: object): Promise<Got> => server.ask(`/api/v1${path}`, { json })
  const made = async (path: string, json: object): Promise<number> => {
    const got = await post(path, json)
    expect(got.status, got.text).toBe(201)
    return (Object.values(got.body)[0] as { id: number }).id
  }
  const product = (name: string): Promise<number> => made("/products", { name })
  const opportunity = (more: object = {}): Promise<number> => made("/opportunities", { subject: "Big", ...more })
  const window = { store_id: 1, starts_at: "2031-07-01T09:00:00Z", ends_at: "2031-07-05T09:00:00Z" }
  const line = (id: number, item_id: number, quantity: number): Promise<Got> =>
    post(`/opportunities/${id}/items`, { name: "Line", item_id, quantity })
  const refused = (got: Got): readonly [number, ReadonlyArray<string>] => [
    got.status,
    Object.keys(got.body.errors ?? {})
  ]

  it("no more than a million parts go into one kit, or with one product", async () => {
    const [kit, part] = [await product("Kit"), await product("Part")]
    for (const [path, field] of [
      ["components", "component_product_id"],
      ["accessories", "accessory_product_id"]
    ] as const) {
      expect(refused(await post(`/products/${kit}/${path}`, { [field]: part, quantity: 1_000_001 }))).toEqual([
        422,
        ["quantity"]
      ])
    }
  })
  it("accessories that would come along by the billion are refused at the quantity, with or without dates", async () => {
    const [lamp, clamp] = [await product("Lamp"), await product("Clamp")]
    await made(`/products/${lamp}/accessories`, { accessory_product_id: clamp, quantity: 1_000_000, included: true })
    for (const more of [{}, window]) {
      const id = await opportunity(more)
      expect(refused(await line(id, lamp, 1_000_000_000))).toEqual([422, ["quantity"]])
      const got = await line(id, lamp, 2)
      expect(got.body.opportunity.items.map((one: { quantity: string }) => one.quantity)).toEqual([
        "2.00",
        "2000000.00"
      ])
    }
  })
  it("kits within kits are counted as far as counting goes", async () => {
    const [outer, inner, part] = [await product("Outer"), await product("Inner"), await product("Grain")]
    await made(`/products/${inner}/components`, { component_product_id: part, quantity: 1_000_000 })
    await made(`/products/${outer}/components`, { component_product_id: inner, quantity: 1_000 })
    const id = await opportunity(window)
    expect((await line(id, outer, 2)).status).toBe(201)
    expect(refused(await line(id, outer, 3))).toEqual([422, ["quantity"]])
    expect(refused(await line(id, inner, 1_000_000_000))).toEqual([422, ["quantity"]])
    await post(`/opportunities/${id}/convert_to_quotation`, {})
    expect((await post(`/opportunities/${id}/convert_to_order`, { shortage_notes: "A desert" })).status).toBe(200)
    const { availability } = (
      await server.ask(`/api/v1/products/${part}/availability?store_id=1&date=2031-07-02T12:00:00Z`)
    ).body
    expect(availability.available).toBe(-2_000_000_000)
  })
})
