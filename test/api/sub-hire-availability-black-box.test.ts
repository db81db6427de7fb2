/** Sub-hired goods are stock in their window alone: rules/billing 2.3, rules/availability 3, 6 and 7.3, rulings 25 and 26. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, everything, now, openBooks } from "./billing-black-box.ts"

const at = (text: string): string => (text.length === 5 ? `2026-${text}T00:00:00Z` : text)

/** Availability at a store with 10 of a product by default. */
const fieldOf = (yard: Books, depot: () => number) => {
  let count = 0
  const product = async (more: object = {}): Promise<number> =>
    (await yard.made("/products", { name: `Thing ${++count}`, ...more })).id
  const bulk = async (quantity_held = 10): Promise<number> => {
    const product_id = await product()
    if (quantity_held > 0) await yard.made("/stock_levels", { product_id, store_id: depot(), quantity_held })
    return product_id
  }
  const asked = async (path: string): Promise<any> => {
    const got = await yard.ask("GET", path)
    expect(got.status, `${path} ${got.text}`).toBe(200)
    return Object.values(got.body)[0]
  }
  const ordered = (product_id: number, quantity: unknown, from: string, to: string, more: object = {}): Promise<any> =>
    yard.sent({
      ...{ store_id: depot(), starts_at: at(from), ends_at: at(to) },
      items: [{ product_id, quantity, unit_cost: 1 }],
      ...more
    })
  const hired = async (...wanted: Parameters<typeof ordered>): Promise<any> => {
    const order = await ordered(...wanted)
    const got = await yard.receive(order.id, order.items.map(everything))
    expect(got.status, got.text).toBe(200)
    return order
  }
  /** Free on these days of 2026, by points. */
  const points = (product_id: number, ...days: ReadonlyArray<string>): Promise<ReadonlyArray<number>> =>
    Promise.all(
      days.map(
        async (day) =>
          (await asked(`/availability?product_id=${product_id}&store_id=${depot()}&date=2026-${day}`)).available
      )
    )
  const span = (from: string, to: string): string => `store_id=${depot()}&from=2026-${from}&to=2026-${to}`
  const job = async (product_id: number, quantity: number, from: string, to: string): Promise<any> => {
    const { id } = await yard.made("/opportunities", {
      ...{ subject: "A job", store_id: depot(), member_id: yard.member, starts_at: at(from), ends_at: at(to) }
    })
    await yard.made(`/opportunities/${id}/items`, { name: "A line", item_id: product_id, quantity })
    for (const step of ["convert_to_quotation", "convert_to_order"]) await yard.made(`/opportunities/${id}/${step}`)
    return (await yard.get(`/opportunities/${id}?include=items`)).opportunity
  }
  return { product, bulk, asked, ordered, hired, points, span, job }
}

describe.each(engines)("Sub-hired stock by days, on %s (rules/billing 2.3)", (engine) => {
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
  it("counts in the order's store alone", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "07-03", "07-06", { store_id: 1 })
    expect(await field.points(product_id, "07-04")).toEqual([10])
    expect((await field.asked(`/availability?product_id=${product_id}&store_id=1&date=2026-07-04`)).available).toBe(5)
  })
  it("does not affect other products; text lines affect none", async () => {
    const [product_id, other] = [await field.bulk(), await field.bulk()]
    await field.hired(product_id, 5, "07-03", "07-06", {
      items: [
        { name: "Driver", quantity: 5, unit_cost: 1 },
        { product_id, quantity: 1, unit_cost: 1 }
      ]
    })
    expect([await field.points(product_id, "07-04"), await field.points(other, "07-04")]).toEqual([[11], [10]])
  })
  it("is the same in the product's own range", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "07-03", "07-05")
    const { slots } = await field.asked(`/products/${product_id}/availability?${field.span("07-02", "07-04")}`)
    expect(slots.map((one: any) => one.available)).toEqual([10, 15])
  })
  it("in the sweep takes its days away", async () => {
    const product_id = await field.bulk()
    await field.job(product_id, 12, "07-02", "07-05")
    const short = async () =>
      (await field.asked(`/availability/shortages?${field.span("07-01", "07-09")}&per_page=200`))
        .filter((one: any) => one.product_id === product_id)
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
  it("ends the shortage of an order, in its flag, its lines and its list", async () => {
    const product_id = await field.bulk()
    const { id } = await field.job(product_id, 12, "07-02", "07-05")
    const look = async (): Promise<ReadonlyArray<unknown>> => {
      const [line] = await field.asked(`/opportunities/${id}/availability`)
      const shortages = await field.asked(`/opportunities/${id}/shortages`)
      const { opportunity } = await yard.get(`/opportunities/${id}`)
      return [opportunity.has_shortage, line.available_for_item, line.shortage_quantity, shortages.length]
    }
    expect(await look()).toEqual([true, 10, 2, 1])
    await field.hired(product_id, 2, "07-02", "07-04")
    expect(await look()).toEqual([true, 10, 2, 1])
    await field.hired(product_id, 2, "07-04", "07-05")
    expect(await look()).toEqual([false, 12, 0, 0])
  })
  it("for the very hours of a job ends that job's shortage", async () => {
    const product_id = await field.bulk()
    const [from, to] = ["2026-07-02T09:00:00Z", "2026-07-04T17:00:00Z"]
    const { id } = await field.job(product_id, 12, from, to)
    await field.hired(product_id, 2, from, to)
    expect(await field.asked(`/opportunities/${id}/shortages`)).toEqual([])
    expect((await yard.get(`/opportunities/${id}`)).opportunity.has_shortage).toBe(false)
  })
  it("bought ends the shortage of an order, too", async () => {
    const product_id = await field.bulk()
    const { id } = await field.job(product_id, 12, "07-02", "07-05")
    await field.hired(product_id, 2, "07-02", "07-05", { po_type: "purchase" })
    expect((await yard.get(`/opportunities/${id}`)).opportunity.has_shortage).toBe(false)
  })
  it("is part of a range's least and most, and of the chart's total in its window", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "07-03", "07-05")
    const range = await field.asked(`/availability?product_id=${product_id}&${field.span("07-02", "07-06")}`)
    expect([range.min_available, range.max_available]).toEqual([10, 15])
    const total = async (from: string, to: string) =>
      (await field.asked(`/availability/${product_id}/gantt?${field.span(from, to)}`)).total_stock
    expect([await total("07-03", "07-04"), await total("08-03", "08-04")]).toEqual([15, 10])
  })
  it("feeds a kit as its part", async () => {
    const product_id = await field.bulk()
    const kit = await field.product()
    await yard.made(`/products/${kit}/components`, { component_product_id: product_id, quantity: 2, binding: "pool" })
    await field.hired(product_id, 5, "07-03", "07-06")
    expect(await field.points(kit, "07-02", "07-03", "07-06")).toEqual([5, 7, 5])
  })
  it("of units counts each, and lists them as free within their window alone", async () => {
    const product_id = await field.product({ stock_method: 2 })
    const own = (await yard.made("/stock_levels", { product_id, store_id: depot, serial_number: "OWN" })).id
    const order = await field.ordered(product_id, 2, "07-03", "07-06")
    const line = { ...everything(order.items[0]), serial_numbers: ["SUB-1", "SUB-2"] }
    expect((await yard.receive(order.id, [line])).status).toBe(200)
    expect(await field.points(product_id, "07-02", "07-04", "07-06")).toEqual([1, 3, 1])
    const free = async (from: string, to: string) =>
      (await field.asked(`/products/${product_id}/available-assets?${field.span(from, to)}`)).map(
        (one: any) => one.serial_number
      )
    expect(await free("07-03", "07-06")).toEqual(["OWN", "SUB-1", "SUB-2"])
    for (const [from, to] of [
      ["07-01", "07-02"],
      ["07-02", "07-05"],
      ["07-05", "07-08"],
      ["07-06", "07-07"]
    ])
      expect([from, await free(from!, to!)]).toEqual([from, ["OWN"]])
    expect(typeof own).toBe("number")
  })
  it("ends on the day after its period", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "07-03", "07-06")
    yard.setClock("2026-07-10T12:00:00.000Z")
    expect(await field.points(product_id, "07-04", "07-10")).toEqual([15, 10])
    yard.setClock(now)
  })
})

describe.each(engines)("Sub-hired stock in a store's own time, on %s (rules/availability 4)", (engine) => {
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
  it("counts on a day of 25 hours to its end", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z")
    expect(await field.points(product_id, "10-31", "11-01", "11-02")).toEqual([10, 15, 10])
  })
})

describe.each(engines)("Sub-hired stock by hours, on %s (rules/availability 4)", (engine) => {
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

  it("counts from its first hour to its last", async () => {
    const product_id = await field.bulk()
    await field.hired(product_id, 5, "2026-07-03T09:00:00Z", "2026-07-03T17:00:00Z")
    const range = await field.asked(
      `/availability?product_id=${product_id}&store_id=${depot}&from=2026-07-03T07:00:00Z&to=2026-07-03T19:00:00Z`
    )
    expect(range.slots.map((one: any) => one.available)).toEqual([10, 10, 15, 15, 15, 15, 15, 15, 15, 15, 10, 10])
  })
  it("ends the shortage of a job of the same hours, and of no longer one", async () => {
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
