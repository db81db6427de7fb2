/** Edge cases of the day: zones, clock changes, midnight, partial returns, kits, credits, sub-hire and roles. */
import { beforeAll, describe, expect, it } from "vitest"
import { type App, engines, viewerWith } from "../../../app.ts"
import { appHouse, refused } from "../../../app-house.ts"
import type { Body } from "../../../answers.ts"

const now = "2026-10-25T12:00:00.000Z"

describe.each(engines)("the day's lists at the edges of a day, on %s", (engine) => {
  const w = appHouse(engine, now, now)
  let bulk: number
  const stores: { [name: string]: number } = {}
  beforeAll(async () => {
    bulk = await w.product()
    for (const [name, timezone] of Object.entries({
      London: "Europe/London",
      Auckland: "Pacific/Auckland",
      Honolulu: "Pacific/Honolulu",
      Empty: "UTC"
    })) {
      const { id } = await w.create("/stores", { name, timezone })
      stores[name] = id
      await w.create("/stock_levels", { product_id: bulk, store_id: id, quantity_held: "1000" })
    }
  }, 60_000)

  const order = async (subject: string, at: string, starts_at: string, ends_at: string, item: object = {}) => {
    const line = { name: "Cable", item_id: bulk, quantity: 12, ...item }
    const made = await w.deal({ subject, starts_at, ends_at, store_id: stores[at] }, line)
    await w.post(`/opportunities/${made.id}/convert_to_quotation`)
    await w.must("POST", `/opportunities/${made.id}/convert_to_order`, { shortage_notes: "known" })
    return { id: made.id as number, line: made.items[0].id as number }
  }
  const moved = async ({ id, line }: { id: number; line: number }, action: string, quantity: number) => {
    await w.must("PATCH", `/opportunities/${id}/items/${line}/fulfilment`, { action, quantity })
  }
  const today = async (at?: string, date?: string, viewer?: Parameters<App["call"]>[3]) => {
    const query = [
      ...(at === undefined ? [] : [`store_id=${stores[at]}`]),
      ...(date === undefined ? [] : [`date=${date}`])
    ]
    return (await w.must("GET", `/today?${query.join("&")}`, undefined, viewer)).today
  }
  const subjects = (list: { orders: ReadonlyArray<{ subject: string }> }) => list.orders.map((one) => one.subject)

  it("contain a dispatch in the last hour of a 25-hour day, and not one an hour later", async () => {
    await order("25th, 23:30", "London", "2026-10-25T23:30:00Z", "2026-10-30T12:00:00Z")
    await order("26th, 00:30", "London", "2026-10-26T00:30:00Z", "2026-10-30T12:00:00Z")
    expect(subjects((await today("London")).going_out)).toEqual(["25th, 23:30"])
    expect((await today("London", "2026-10-26")).going_out.orders.map((one) => one.subject)).toContain("26th, 00:30")
  })
  it("put a dispatch at 00:30 after a 23-hour day on the next day", async () => {
    // The clock goes from 01:00 to 02:00: the 28th of March 2027 ends at 23:00 UTC.
    await order("28 Mar, 23:30", "London", "2027-03-28T22:30:00Z", "2027-04-02T12:00:00Z")
    await order("29 Mar, 00:30", "London", "2027-03-28T23:30:00Z", "2027-04-02T12:00:00Z")
    expect(subjects((await today("London", "2027-03-28")).going_out)).toEqual(["28 Mar, 23:30"])
    expect(subjects((await today("London", "2027-03-29")).going_out)).toEqual(["28 Mar, 23:30", "29 Mar, 00:30"])
  })
  it("put each order on its own store's day, for stores a day apart", async () => {
    // 12:00 UTC is 01:00 on the 26th in Auckland and 02:00 on the 25th in Honolulu.
    await order("Kiwi", "Auckland", "2026-10-26T08:00:00Z", "2026-10-29T08:00:00Z")
    await order("Aloha", "Honolulu", "2026-10-26T08:00:00Z", "2026-10-29T08:00:00Z")
    expect((await today("Auckland")).date).toBe("2026-10-26")
    expect((await today("Honolulu")).date).toBe("2026-10-25")
    const all = await today()
    expect(subjects(all.going_out)).toEqual(expect.arrayContaining(["Kiwi", "Aloha"]))
    const kiwi = all.going_out.orders.find((one) => one.subject === "Kiwi")
    expect(kiwi).toMatchObject({ timezone: "Pacific/Auckland", store_name: "Auckland" })
    expect(subjects((await today("Honolulu", "2026-10-24")).going_out)).toEqual([])
  })
  it("put a return at midnight on the day that begins then, and make it late a moment after", async () => {
    const due = await order("Midnight", "Honolulu", "2026-10-20T08:00:00Z", "2026-10-26T10:00:00Z")
    await moved(due, "dispatch", 12)
    expect(subjects((await today("Honolulu", "2026-10-25")).coming_back)).toEqual([])
    expect(subjects((await today("Honolulu", "2026-10-26")).coming_back)).toEqual(["Midnight"])
    w.app.setClock("2026-10-26T10:00:00.000Z")
    expect(subjects((await today("Honolulu")).late)).toEqual([])
    w.app.setClock("2026-10-26T10:00:01.000Z")
    expect(subjects((await today("Honolulu")).late)).toEqual(["Midnight"])
    w.app.setClock(now)
  })
  it("list an order as late after a partial return, until all of it is back", async () => {
    const late = await order("In parts", "London", "2026-10-20T08:00:00Z", "2026-10-25T10:00:00Z")
    await moved(late, "dispatch", 12)
    await moved(late, "return", 5)
    const shown = (await today("London")).late
    expect(shown.orders).toMatchObject([{ subject: "In parts", wanted: 12, out: 7, back: 5, is_late: true }])
    await moved(late, "return", 7)
    expect((await today("London")).late.orders).toEqual([])
  })
  it("count whole pieces of a fractional quantity, and omit the order once all of it is dispatched", async () => {
    const cable = await order("Metres", "London", "2026-10-25T15:00:00Z", "2026-10-29T10:00:00Z", { quantity: 2.5 })
    const counts = async () => (await today("London")).going_out.orders.find((one) => one.subject === "Metres")?.out
    await moved(cable, "dispatch", 2)
    expect(await counts()).toBe(2)
    await moved(cable, "dispatch", 0.5)
    expect(await counts()).toBeUndefined()
  })
  it("count a kit as dispatched once all its serialised parts are, and omit its order once all kits are", async () => {
    const kit = await w.product({ name: "Camera kit" })
    const [camera, tripod] = [await w.serialised(), await w.serialised()]
    const codes: Array<string> = []
    for (const [n, part] of [camera, camera, tripod, tripod].entries()) {
      codes.push(`KIT-${engine}-${n}`)
      await w.unit(part, 1, { asset_number: codes.at(-1), store_id: stores["London"] })
    }
    for (const component_product_id of [camera, tripod])
      await w.create(`/products/${kit}/components`, { component_product_id, quantity: 1 })
    const item = { name: "Camera kit", item_id: kit, quantity: 2 }
    const shoot = await order("Shoot", "London", "2026-10-25T16:00:00Z", "2026-10-29T10:00:00Z", item)
    const scan = async (code: string | undefined) =>
      expect((await w.post(`/opportunities/${shoot.id}/scan`, { direction: "out", code })).status).toBe(200)
    const counts = async () => {
      const found = (await today("London")).going_out.orders.find((one) => one.subject === "Shoot")
      return found === undefined ? "gone" : [found.wanted, found.packed, found.out, found.back]
    }
    expect(await counts()).toEqual([2, 0, 0, 0])
    await scan(codes[0])
    expect(await counts()).toEqual([2, 0, 0, 0])
    await scan(codes[2])
    expect(await counts()).toEqual([2, 1, 1, 0])
    await scan(codes[1])
    await scan(codes[3])
    expect(await counts()).toBe("gone")
    expect(subjects((await today("London", "2026-10-29")).coming_back)).toContain("Shoot")
  })
  it("count the outstanding amount of partly credited invoices, and omit fully credited ones", async () => {
    const member_id = await w.customer()
    const issued = async (subject: string, unit_price: string) => {
      const items = [{ name: "Lamp", quantity: "1", unit_price }]
      const { id } = await w.create("/invoices", { member_id, subject, store_id: stores["London"], due_at: now, items })
      expect((await w.post(`/invoices/${id}/issue`, { due_at: now })).status).toBe(200)
      return id as number
    }
    const [part, whole] = [await issued("In part", "100.00"), await issued("Wholly", "50.00")]
    const credit = async (id: number, body: object) => {
      await w.must("POST", `/invoices/${id}/credit_notes`, { reason: "Returned", ...body })
    }
    await credit(whole, {})
    await credit(part, { amount: "30.00" })
    const { unpaid } = await today("London")
    expect(unpaid).toMatchObject({ count: 1, invoices: [{ subject: "In part" }] })
    expect(unpaid?.totals[0]?.outstanding).toBe(unpaid?.invoices[0]?.outstanding)
  })
  it("show sub-hired goods due in until received, and due back until returned", async () => {
    const supplier_id = await w.customer({ name: "Rig Hire" })
    const rig = await w.product()
    const { id, items } = await w.create("/purchase_orders", {
      po_type: "sub_hire",
      supplier_id,
      store_id: stores["London"],
      subject: "Truss",
      starts_at: "2026-10-25T08:00:00Z",
      ends_at: "2026-10-26T18:00:00Z",
      items: [{ product_id: rig, name: "Truss", quantity: "4", unit_cost: "10.00" }]
    })
    const path = `/purchase_orders/${id}`
    expect((await w.post(`${path}/send`)).status).toBe(200)
    expect((await today("London")).sub_hire_in?.purchase_orders).toMatchObject([
      { subject: "Truss", supplier_name: "Rig Hire", pieces: 4, timezone: "Europe/London" }
    ])
    await w.must("POST", `${path}/receive`, { lines: [{ item_id: items[0].id, quantity: "3" }] })
    expect((await today("London")).sub_hire_in?.purchase_orders).toMatchObject([{ pieces: 1 }])
    expect((await today("London")).sub_hire_back?.count).toBe(0)
    expect((await today("London", "2026-10-26")).sub_hire_back?.purchase_orders).toMatchObject([
      { pieces: 3, is_late: false }
    ])
    const found = await w.show("/search?q=truss")
    expect(found.purchase_orders).toHaveLength(1)
    const level = await w.show(`/stock_levels?q[product_id_eq]=${rig}`)
    expect(level.some((one) => one.is_sub_hired)).toBe(true)
    await w.post(`${path}/return`)
    expect((await today("London", "2026-10-26")).sub_hire_back?.count).toBe(0)
  })
  it("are empty for an empty store, and are rejected for an unknown one", async () => {
    const empty = await today("Empty")
    for (const list of ["going_out", "coming_back", "late", "to_prepare", "short"] as const)
      expect(empty[list], list).toEqual({ count: 0, more: false, orders: [] })
    expect(empty.unpaid).toEqual({ count: 0, more: false, totals: [], invoices: [] })
    await refused(w.get("/today?store_id=4711"), "store_id")
  })
  it("omit invoices, purchase orders and amounts for roles and tokens without access to them", async () => {
    const parts = (day: Body["today"]) => [day.unpaid !== null, day.sub_hire_back !== null, day.sub_hire_in !== null]
    const seen = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string> = ["*"]) =>
      parts(await today("London", undefined, viewerWith(permissions, abilities)))
    expect(await seen(["opportunities.view"])).toEqual([false, false, false])
    expect(await seen(["opportunities.view", "invoices.view"])).toEqual([true, false, false])
    expect(await seen(["opportunities.view", "purchase_orders.view"])).toEqual([false, true, true])
    // A token that may read only orders gets no amounts, whatever its user may see.
    expect(await seen(["opportunities.view", "invoices.view"], ["opportunities:read"])).toEqual([false, false, false])
    const without_names = await today("London", "2026-10-29", viewerWith(["opportunities.view"], ["*"]))
    expect(without_names.going_out.orders.every((one) => !("charge_total" in one))).toBe(true)
  })
})
