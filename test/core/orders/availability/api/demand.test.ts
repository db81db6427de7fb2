import { beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../../app-house.ts"

/** Demands of an opportunity by its status, and the availability they leave (rules/availability 2.3 to 2.8). */
describe.each(engines)("demands of opportunities on %s", (engine) => {
  const w = appHouse(engine, "2026-03-01T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const draft = async (
    starts_at: string,
    ends_at: string | null,
    product: number,
    quantity: number,
    more: object = {},
    line: object = {}
  ) => {
    const { id } = await w.opportunity({ subject: "Tour", store_id: S, starts_at, ends_at, ...more })
    const body = { name: "Line", item_type: "product", item_id: product, quantity, ...line }
    const { items } = await w.create(`/opportunities/${id}/items`, body)
    return { id: id as number, item: items.at(-1).id as number, items }
  }
  const quotation = async (...given: Parameters<typeof draft>) => {
    const made = await draft(...given)
    await w.create(`/opportunities/${made.id}/convert_to_quotation`)
    return made
  }
  const order = async (...given: Parameters<typeof draft>) => {
    const made = await quotation(...given)
    await w.create(`/opportunities/${made.id}/convert_to_order`)
    return made
  }
  const status = (id: number, status: number) => w.must("POST", `/opportunities/${id}/change_status`, { status })
  const point = (product: number, date: string) =>
    w.show(`/availability?product_id=${product}&store_id=${S}&date=${date}`)
  const free = async (product: number, date: string) => (await point(product, date)).available
  const allocated = async (id: number, item: number, unit: number) => {
    const { items } = (await w.allocate({ id, line: { id: item } }, unit)).body.opportunity
    return items.find((one) => one.id === item)!.assets.map((one) => one.id)
  }
  const demands = async (product: number, from: string, to: string) =>
    (await w.show(`/availability/${product}/gantt?store_id=${S}&from=${from}&to=${to}`)).demands

  it("hold no stock if the quotation is provisional or lost, stock if postponed, and buffers too if reserved", async () => {
    const P = await w.bulk(S, 5, { buffer_before_minutes: 1440, post_rent_unavailability: 1440 })
    const { id } = await quotation("2026-04-10", "2026-04-12", P.id, 2)
    const days = async () => Promise.all(["2026-04-09", "2026-04-10", "2026-04-12"].map((day) => free(P.id, day)))
    expect(await days()).toEqual([5, 5, 5])
    await status(id, 4)
    expect([await days(), (await demands(P.id, "2026-04-01", "2026-04-30"))[0].phase]).toEqual([[5, 3, 5], "held"])
    await status(id, 1)
    expect([await days(), (await demands(P.id, "2026-04-01", "2026-04-30"))[0].phase]).toEqual([[3, 3, 3], "reserved"])
    await status(id, 2)
    expect([await days(), await demands(P.id, "2026-04-01", "2026-04-30")]).toEqual([[5, 5, 5], []])
  })
  it("block nothing once the dates of a quotation or undispatched order have passed", async () => {
    const P = await w.bulk(S, 2)
    const reserved = await quotation("2026-03-02", "2026-03-04", P.id, 1)
    await status(reserved.id, 1)
    await order("2026-03-02", "2026-03-04", P.id, 1)
    w.app.setClock("2026-03-10T12:00:00.000Z")
    expect([await free(P.id, "2026-03-03"), await free(P.id, "2026-03-10"), await free(P.id, "2026-03-20")]).toEqual([
      0, 2, 2
    ])
    w.app.setClock("2026-03-01T12:00:00.000Z")
  })
  it("exist for optional lines and included accessories", async () => {
    const [P, cable] = [await w.bulk(S, 5), await w.bulk(S, 20)]
    await w.create(`/products/${P.id}/accessories`, { accessory_product_id: cable.id, quantity: 2, included: true })
    await order("2026-04-10", "2026-04-12", P.id, 3, {}, { is_optional: true })
    expect([await free(P.id, "2026-04-10"), await free(cable.id, "2026-04-10")]).toEqual([2, 14])
  })
  it("use the charge dates if the setting says so", async () => {
    const P = await w.bulk(S, 5)
    const by = (demand_date_source: string) => w.update("/settings/availability", { settings: { demand_date_source } })
    await by("charge")
    await order("2026-04-10", "2026-04-12", P.id, 2, { charge_starts_at: "2026-04-15", charge_ends_at: "2026-04-16" })
    await order("2026-04-20", "2026-04-22", P.id, 1, { charge_ends_at: "2026-04-21" })
    await by("operational")
    const days = ["2026-04-10", "2026-04-15", "2026-04-20", "2026-04-21"]
    expect(await Promise.all(days.map((day) => free(P.id, day)))).toEqual([5, 3, 4, 5])
  })
  it("start with an early dispatch, and end with a return before the planned start", async () => {
    const P = await w.units(S, 1)
    const { id, item } = await order("2026-04-10", "2026-04-12", P.id, 1)
    const asset_ids = await allocated(id, item, P.units[0]!)
    w.app.setClock("2026-04-08T09:00:00.000Z")
    await w.create(`/opportunities/${id}/quick_book_out`, { asset_ids })
    expect([await free(P.id, "2026-04-07"), await free(P.id, "2026-04-08"), await free(P.id, "2026-04-09")]).toEqual([
      1, 0, 0
    ])
    w.app.setClock("2026-04-09T09:00:00.000Z")
    await w.create(`/opportunities/${id}/quick_check_in`, { asset_ids })
    expect([await free(P.id, "2026-04-09"), await free(P.id, "2026-04-11")]).toEqual([1, 1])
    const days = `store_id=${S}&from=2026-04-08&to=2026-04-12&product_ids[]=${P.id}`
    const calendar = await w.show(`/availability/calendar?${days}`)
    expect(calendar.products[0].days.map((day) => day.pending_checkin)).toEqual([0, 1, 1, 1, 1])
    w.app.setClock("2026-03-01T12:00:00.000Z")
  })
  it("keep their buffers when the product's buffers change", async () => {
    const P = await w.bulk(S, 5)
    await order("2026-04-10", "2026-04-12", P.id, 2)
    await w.must("PUT", `/products/${P.id}`, { buffer_before_minutes: 2880 })
    expect([await free(P.id, "2026-04-09"), await free(P.id, "2026-04-10")]).toEqual([5, 3])
  })
  it("do not arise from write-offs, sales or purchases, which change stock, or from quantity_unavailable", async () => {
    const [P, U] = [await w.bulk(S, 10), await w.units(S, 2)]
    const move = (product: number, level: number, transaction_type: number, quantity: number) =>
      w.must("POST", `/products/${product}/stock_levels/${level}/stock_transactions`, { transaction_type, quantity })
    await move(P.id, P.level, 6, 3)
    await move(P.id, P.level, 4, 5)
    await move(U.id, U.units[0]!, 7, 1)
    await w.must("PUT", `/stock_levels/${P.level}`, { quantity_unavailable: 4 })
    expect([await free(P.id, "2026-04-10"), await free(U.id, "2026-04-10")]).toEqual([12, 1])
  })
  it("end when the opportunity is deleted, and return when it is restored", async () => {
    const P = await w.bulk(S, 5)
    const { id } = await order("2026-04-10", "2026-04-12", P.id, 2)
    await w.must("DELETE", `/opportunities/${id}`)
    expect(await free(P.id, "2026-04-10")).toBe(5)
    await w.create(`/opportunities/${id}/restore`)
    expect(await free(P.id, "2026-04-10")).toBe(3)
  })
  it("are for a kit's parts, while a kit line's availability is the kit's", async () => {
    const [A, K] = [await w.bulk(S, 7), await w.product()]
    await w.create(`/products/${K}/components`, { component_product_id: A.id, quantity: 2 })
    await order("2026-04-10", "2026-04-12", A.id, 2)
    expect(await free(K, "2026-04-10")).toBe(2)
    const { id } = await order("2026-04-10", "2026-04-12", K, 3)
    expect(
      (await demands(A.id, "2026-04-10", "2026-04-10")).map((one: { readonly quantity: number }) => one.quantity)
    ).toEqual([2, 6])
    expect(await demands(K, "2026-04-10", "2026-04-10")).toEqual([])
    expect(await w.show(`/opportunities/${id}/availability`)).toMatchObject([
      { requested_quantity: 3, available_for_item: 2, shortage_quantity: 1, has_shortage: true }
    ])
    expect((await w.show(`/opportunities/${id}`)).has_shortage).toBe(true)
    // Its component is short by one; the list names the component, never the kit.
    const sweep = await w.show(`/availability/shortages?store_id=${S}&from=2026-04-10&to=2026-04-10`)
    expect(
      sweep
        .filter((one) => one.product_id === A.id || one.product_id === K)
        .map((one) => [one.product_id, one.severity])
    ).toEqual([[A.id, 1]])
  })
  it("reserve no stock for a draft, although its shortage is reported", async () => {
    const P = await w.bulk(S, 5)
    await order("2026-04-10", "2026-04-12", P.id, 4)
    const { id } = await draft("2026-04-10", "2026-04-12", P.id, 3)
    expect(await w.show(`/opportunities/${id}/availability`)).toMatchObject([
      { requested_quantity: 3, available_for_item: 1, shortage_quantity: 2 }
    ])
    expect((await w.show(`/opportunities/${id}`)).has_shortage).toBe(true)
    expect(await free(P.id, "2026-04-10")).toBe(1)
    await w.create(`/opportunities/${id}/convert_to_quotation`)
    expect((await w.show(`/opportunities/${id}`)).has_shortage).toBe(true)
    await status(id, 2)
    expect((await w.show(`/opportunities/${id}`)).has_shortage).toBe(false)
  })
  it("reduce the availability of the opportunity's other lines only on an order", async () => {
    const P = await w.bulk(S, 5)
    const { id, item } = await draft("2026-04-10", "2026-04-12", P.id, 3)
    const { opportunity } = await w.must("POST", `/opportunities/${id}/items`, {
      name: "More",
      item_type: "product",
      item_id: P.id,
      quantity: 3
    })
    expect(opportunity.has_shortage).toBe(false)
    await w.create(`/opportunities/${id}/convert_to_quotation`)
    expect((await w.create(`/opportunities/${id}/convert_to_order`)).has_shortage).toBe(true)
    expect((await w.create(`/opportunities/${id}/revert_to_quotation`)).has_shortage).toBe(false)
    expect(
      (await w.must("PATCH", `/opportunities/${id}/items/${item}`, { quantity: 6 })).opportunity.has_shortage
    ).toBe(true)
    expect((await w.must("DELETE", `/opportunities/${id}/items/${item}`)).opportunity.has_shortage).toBe(false)
  })

  itFoldsAgain(w)
})
