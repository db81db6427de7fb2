/** Containers: packing and unpacking. */
import { expect } from "vitest"
import { refusedOn, type Scenario, scenario, type Scene, v1 } from "../availability-scenarios.ts"

const kit = { availability_mode: "kit" }
const gear = async (s: Scene, store_id: number) => {
  const {
    id,
    units: [unit]
  } = await s.units(store_id, 1)
  return { product: id, unit: unit! }
}
const itemsIn = async (s: Scene, id: number) => (await s.get(`${v1}/containers/${id}`)).body.container.items
const level = async (s: Scene, id: number) => (await s.get(`${v1}/stock_levels/${id}`)).body.stock_level
/** Creates a sealed kit with one unit in it. */
const sealed = async (s: Scene, store_id: number) => {
  const made = await s.container(store_id, kit),
    inside = await gear(s, store_id)
  expect((await s.pack(made.id, inside.unit)).status).toBe(201)
  expect((await s.act(made.id, "seal")).status).toBe(200)
  return { ...made, inside }
}

export const containerScenarios = (): ReadonlyArray<Scenario> => [
  scenario("H1", "lists containers with their mode", async (s) => {
    const S = await s.store(),
      { id } = await s.container(S, kit)
    expect((await s.get(`${v1}/containers?q[store_id_eq]=${S}`)).body).toMatchObject({
      containers: [{ id, availability_mode: "kit" }],
      meta: { total: 1, per_page: 20, page: 1 }
    })
  }),
  scenario("H3", "requires the ability containers:read to list containers", async (s) => {
    if (s.nobody !== undefined) expect((await s.nobody("GET", `${v1}/containers`)).status).toBe(401)
    if (s.somebody !== undefined)
      expect((await (await s.somebody(["containers.view"], ["stock:read"]))("GET", `${v1}/containers`)).status).toBe(
        403
      )
  }),
  scenario("H5", "packs a free unit", async (s) => {
    const S = await s.store(),
      { id } = await s.container(S, kit),
      { unit } = await gear(s, S)
    const reply = await s.pack(id, unit, { position: "Slot 1" })
    expect([reply.status, reply.body.container_item]).toMatchObject([
      201,
      { container_id: id, serialised_item_id: unit, position: "Slot 1", unpacked_at: null, unpacked_reason: null }
    ])
  }),
  scenario("H7", "refuses to pack a unit that is allocated to an order", async (s) => {
    const S = await s.store(),
      { id } = await s.container(S, kit),
      { product, unit } = await gear(s, S)
    await s.allocate(await s.claim(S, product, 1, "06-10", "06-25"), unit)
    refusedOn(await s.pack(id, unit), "serialised_item_id")
    expect(await itemsIn(s, id)).toEqual([])
    expect(await s.free(product, S)).toBe(1)
  }),
  scenario("H9", "refuses to pack into a sealed container", async (s) => {
    const S = await s.store(),
      { id } = await sealed(s, S)
    refusedOn(await s.pack(id, (await gear(s, S)).unit), "container")
  }),
  scenario("H11", "refuses to pack a unit of another store", async (s) => {
    const { id } = await s.container(await s.store(), kit)
    refusedOn(await s.pack(id, (await gear(s, await s.store())).unit), "serialised_item_id")
  }),
  scenario("H13", "leaves a unit in a transport container available", async (s) => {
    const S = await s.store(),
      { id } = await s.container(S, { availability_mode: "transport" }),
      { product, unit } = await gear(s, S)
    expect((await s.pack(id, unit)).status).toBe(201)
    expect([await s.free(product, S), (await s.gantt(product, S, "06-18", "06-20")).demands]).toEqual([1, []])
  }),
  scenario("H15", "makes packed units unavailable when a pool part becomes fixed", async (s) => {
    const S = await s.store(),
      { id, product: H } = await s.container(S, { availability_mode: "hybrid" }),
      { product, unit } = await gear(s, S)
    const { id: component } = await s.made(
      `${v1}/products/${H}/components`,
      { component_product_id: product, binding: "pool" },
      "component"
    )
    await s.pack(id, unit)
    expect(await s.free(product, S)).toBe(1)
    expect((await s.patch(`${v1}/products/${H}/components/${component}`, { binding: "fixed" })).status).toBe(200)
    expect(await s.free(product, S)).toBe(0)
  }),
  scenario("H17", "refuses to unpack a unit that is not packed, or from a sealed container", async (s) => {
    const S = await s.store(),
      { id } = await s.container(S, kit),
      closed = await sealed(s, S)
    refusedOn(await s.act(id, "unpack", { serialised_item_id: (await gear(s, S)).unit }), "serialised_item_id")
    refusedOn(await s.act(id, "unpack", { serialised_item_id: closed.inside.unit }), "serialised_item_id")
    refusedOn(await s.act(closed.id, "unpack", { serialised_item_id: closed.inside.unit }), "container")
  }),
  scenario("H19", "shows a unit's container", async (s) => {
    const S = await s.store(),
      { housing, id } = await s.container(S, kit),
      { unit } = await gear(s, S)
    await s.pack(id, unit)
    expect(await level(s, unit)).toMatchObject({ container_stock_level_id: housing, container_mode: "kit" })
    await s.act(id, "unpack", { serialised_item_id: unit })
    expect(await level(s, unit)).toMatchObject({ container_stock_level_id: null, container_mode: null })
  }),
  scenario("H21", "refuses a container in a container when nesting is one level", async (s) => {
    const S = await s.store(),
      root = await s.container(S, { ...kit, max_nesting_depth: 1 }),
      inner = await s.container(S, kit)
    refusedOn(await s.pack(root.id, inner.housing), "serialised_item_id")
  }),
  scenario("H23", "refuses to use a case in two containers at once", async (s) => {
    const { housing, id, product } = await s.container(await s.store(), kit)
    const again = () =>
      s.post(`${v1}/containers`, { name: s.subject, product_id: product, serialised_item_id: housing })
    refusedOn(await again(), "serialised_item_id")
    expect((await s.act(id, "dissolve")).status).toBe(200)
    expect((await again()).status).toBe(201)
  }),
  scenario("H25", "leaves a unit in a temporary container available", async (s) => {
    const S = await s.store(),
      { product, unit } = await gear(s, S)
    const { availability_mode, id } = await s.made(
      `${v1}/containers/temporary`,
      { name: s.subject, barcode: `T of ${s.subject}`, store_id: S },
      "container"
    )
    expect(availability_mode).toBe("transport")
    expect((await s.pack(id, unit)).status).toBe(201)
    expect(await s.free(product, S)).toBe(1)
  }),
  scenario("H27", "repacks an unsealed container, and releases its units when it is dissolved", async (s) => {
    const S = await s.store(),
      { id, inside } = await sealed(s, S),
      second = await gear(s, S)
    expect((await s.act(id, "unseal")).status).toBe(200)
    expect((await s.pack(id, second.unit)).status).toBe(201)
    expect([await s.free(inside.product, S), await s.free(second.product, S)]).toEqual([0, 0])
    expect((await s.act(id, "dissolve")).body.container).toMatchObject({ status: "dissolved", items: [] })
    const {
      containers: [{ container_items }]
    } = (await s.get(`${v1}/containers?q[store_id_eq]=${S}&include=container_items`)).body
    expect(container_items.map((one) => [one.unpacked_reason, typeof one.unpacked_at])).toEqual([
      ["dissolved", "string"],
      ["dissolved", "string"]
    ])
    expect([await s.free(inside.product, S), await s.free(second.product, S)]).toEqual([1, 1])
  })
]
