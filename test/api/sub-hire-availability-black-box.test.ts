/**
 * Sub-hired goods count as stock only within their hire period (rules/billing 2.3, rules/availability 3, 6 and 7.3).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, everything, openBooks } from "./billing-black-box.ts"

const at = (text: string): string => (text.length === 5 ? `2026-${text}T00:00:00Z` : text)

/** A store, by default with 10 of a product, and requests for its availability. */
const fieldOf = (yard: Books, depot: () => number) => {
  let count = 0
  const product = async (more: object = {}): Promise<number> =>
    (await yard.made("/products", { name: `Thing ${++count}`, ...more })).id
  const bulk = async (quantity_held = 10): Promise<number> => {
    const product_id = await product()
    if (quantity_held > 0) await yard.made("/stock_levels", { product_id, store_id: depot(), quantity_held })
    return product_id
  }
  const asked = async (path: string) => {
    const got = await yard.ask("GET", path)
    expect(got.status, `${path} ${got.text}`).toBe(200)
    return Object.values(got.body)[0]
  }
  const ordered = (product_id: number, quantity: unknown, from: string, to: string, more: object = {}) =>
    yard.sent({
      ...{ store_id: depot(), starts_at: at(from), ends_at: at(to) },
      items: [{ product_id, quantity, unit_cost: 1 }],
      ...more
    })
  const hired = async (...wanted: Parameters<typeof ordered>) => {
    const order = await ordered(...wanted)
    const got = await yard.receive(order.id, order.items.map(everything))
    expect(got.status, got.text).toBe(200)
    return order
  }
  /** Available quantity on each of these days of 2026. */
  const points = (product_id: number, ...days: ReadonlyArray<string>): Promise<ReadonlyArray<number>> =>
    Promise.all(
      days.map(
        async (day) =>
          (await asked(`/availability?product_id=${product_id}&store_id=${depot()}&date=2026-${day}`)).available
      )
    )
  const span = (from: string, to: string): string => `store_id=${depot()}&from=2026-${from}&to=2026-${to}`
  const job = async (product_id: number, quantity: number, from: string, to: string) => {
    const { id } = await yard.made("/opportunities", {
      ...{ subject: "A job", store_id: depot(), member_id: yard.member, starts_at: at(from), ends_at: at(to) }
    })
    await yard.made(`/opportunities/${id}/items`, { name: "A line", item_id: product_id, quantity })
    for (const step of ["convert_to_quotation", "convert_to_order"]) await yard.made(`/opportunities/${id}/${step}`)
    return (await yard.get(`/opportunities/${id}?include=items`)).opportunity
  }
  return { product, bulk, asked, ordered, hired, points, span, job }
}

describe.each(engines)("sub-hired stock by days on %s (rules/billing 2.3)", (engine) => {
  let yard: Books
  let depot: number
  let field: ReturnType<typeof fieldOf>
  beforeAll(async () => {
    yard = await openBooks(engine)
    depot = (await yard.made("/stores", { name: "Depot" })).id
    field = fieldOf(yard, () => depot)
  })
  afterAll(() => yard.close())

  it.each(["draft", "sent", "cancelled"])("does not count while its order is %s", async (status) => {
    const product_id = await field.bulk()
    const items = [{ product_id, quantity: 5, unit_cost: 1 }]
    const { id } =
      status === "draft" ? await yard.order({ store_id: depot, items }) : await yard.sent({ store_id: depot, items })
    if (status === "cancelled") await yard.made(`/purchase_orders/${id}/cancel`)
    expect(await field.points(product_id, "07-02", "07-04")).toEqual([10, 10])
  })
  it("counts at its order's store, and not at another", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "07-03", "07-06", { store_id: 1 })
    expect(await field.points(product_id, "07-04")).toEqual([10])
    expect((await field.asked(`/availability?product_id=${product_id}&store_id=1&date=2026-07-04`)).available).toBe(5)
  })
  it("adds to its own product and not to another, and a line without a product adds nothing", async () => {
    const [product_id, other] = [await field.bulk(), await field.bulk()]
    await field.hired(product_id, 5, "07-03", "07-06", {
      items: [
        { name: "Driver", quantity: 5, unit_cost: 1 },
        { product_id, quantity: 1, unit_cost: 1 }
      ]
    })
    expect([await field.points(product_id, "07-04"), await field.points(other, "07-04")]).toEqual([[11], [10]])
  })
  it("reduces or ends the listed shortages on its days", async () => {
    const product_id = await field.bulk()
    await field.job(product_id, 12, "07-02", "07-05")
    const short = async () =>
      (await field.asked(`/availability/shortages?${field.span("07-01", "07-09")}&per_page=200`))
        .filter((one: Record<"product_id", unknown>) => one.product_id === product_id)
        .map((one: any) => [one.date.slice(5), one.available, one.severity])
    expect(await short()).toEqual([
      ...[
        ["07-02", -2, 2],
        ["07-03", -2, 2],
        ["07-04", -2, 2]
      ]
    ])
    await field.hired(product_id, 1, "07-03", "07-04")
    await field.hired(product_id, 2, "07-04", "07-05")
    expect(await short()).toEqual([
      ...[
        ["07-02", -2, 2],
        ["07-03", -1, 1]
      ]
    ])
  })
  it("ends an order's shortage if it is hired for the same hours", async () => {
    const product_id = await field.bulk()
    const [from, to] = ["2026-07-02T09:00:00Z", "2026-07-04T17:00:00Z"]
    const { id } = await field.job(product_id, 12, from, to)
    await field.hired(product_id, 2, from, to)
    expect(await field.asked(`/opportunities/${id}/shortages`)).toEqual([])
    expect((await yard.get(`/opportunities/${id}`)).opportunity.has_shortage).toBe(false)
  })
  it("adds to the availability of kits that contain the product", async () => {
    const product_id = await field.bulk()
    const kit = await field.product()
    await yard.made(`/products/${kit}/components`, { component_product_id: product_id, quantity: 2, binding: "pool" })
    await field.hired(product_id, 5, "07-03", "07-06")
    expect(await field.points(kit, "07-02", "07-03", "07-06")).toEqual([5, 7, 5])
  })
})

describe.each(engines)("sub-hired stock in a store's time zone on %s (rules/availability 4)", (engine) => {
  let yard: Books
  let depot: number
  let field: ReturnType<typeof fieldOf>
  beforeAll(async () => {
    yard = await openBooks(engine)
    depot = (await yard.made("/stores", { name: "Brooklyn", timezone: "America/New_York" })).id
    field = fieldOf(yard, () => depot)
  })
  afterAll(() => yard.close())

  it("counts on the store's days", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "2026-07-03T04:00:00Z", "2026-07-06T04:00:00Z")
    expect(await field.points(product_id, "07-02", "07-03", "07-05", "07-06")).toEqual([10, 15, 15, 10])
  })
  it("counts to the end of a day of 25 hours", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z")
    expect(await field.points(product_id, "10-31", "11-01", "11-02")).toEqual([10, 15, 10])
  })
})

describe.each(engines)("sub-hired stock by hours on %s (rules/availability 4)", (engine) => {
  let yard: Books
  let depot: number
  let field: ReturnType<typeof fieldOf>
  beforeAll(async () => {
    yard = await openBooks(engine)
    expect((await yard.put("/settings/availability", { settings: { resolution: "hourly" } })).status).toBe(200)
    depot = (await yard.made("/stores", { name: "Depot" })).id
    field = fieldOf(yard, () => depot)
  })
  afterAll(() => yard.close())

  it("counts from the first hour of its hire to the last", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "2026-07-03T09:00:00Z", "2026-07-03T17:00:00Z")
    const range = await field.asked(
      `/availability?product_id=${product_id}&store_id=${depot}&from=2026-07-03T07:00:00Z&to=2026-07-03T19:00:00Z`
    )
    expect(range.slots.map((one: { readonly available: number }) => one.available)).toEqual([
      10, 10, 15, 15, 15, 15, 15, 15, 15, 15, 10, 10
    ])
  })
  it("ends the shortage of an order of the same hours, and not of a longer one", async () => {
    const product_id = await field.bulk()
    const [from, to] = ["2026-07-03T09:00:00Z", "2026-07-03T17:00:00Z"]
    const same = await field.job(product_id, 12, from, to)
    await field.hired(product_id, 2, from, to)
    expect(await field.asked(`/opportunities/${same.id}/shortages`)).toEqual([])
    const other = await field.bulk()
    const longer = await field.job(other, 12, "2026-07-03T09:00:00Z", "2026-07-03T18:00:00Z")
    await field.hired(other, 2, from, to)
    expect((await field.asked(`/opportunities/${longer.id}/shortages`)).length).toBe(1)
  })
})
