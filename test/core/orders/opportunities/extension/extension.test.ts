import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../../app.ts"
import { appHouse, refused } from "../../../../app-house.ts"
import type { Body, Listed } from "../../../../answers.ts"

type Order = Listed<"opportunities">
const hire = { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-05T09:00:00Z" }
const gala = { subject: "Gala", starts_at: "2026-09-06T09:00:00Z", ends_at: "2026-09-07T09:00:00Z" }
const later = "2026-09-08T09:00:00.000Z"

describe.each(engines)("extending a hire on %s", (engine) => {
  const w = appHouse(engine)

  /** Creates a product with a quantity of bulk stock and returns its id. */
  const stocked = async (quantity: number, name = "PAR 64"): Promise<number> => {
    const id = await w.product({ name })
    await w.hold(id, quantity)
    return id
  }
  const line = async (id: number, body: object): Promise<Order["items"][0]> => {
    const lamp = { name: "Lamp", quantity: 1, unit_price: "10.00" }
    return (await w.create(`/opportunities/${id}/items`, { ...lamp, ...body })).items.at(-1)
  }
  const ordered = async (lines: ReadonlyArray<object>, header: object = {}): Promise<Order> => {
    const { id } = await w.opportunity({ ...hire, ...header })
    for (const one of lines) await line(id, one)
    await w.confirm(id)
    return shown(id)
  }
  const shown = (id: number): Promise<Order> => w.show(`/opportunities/${id}?include=items,items.assets`)
  const extend = (id: number, body: object) => w.post(`/opportunities/${id}/extend`, body)

  it("moves the header, lines with the old end, charge dates, price and demands together", async () => {
    const product = await stocked(4)
    const order = await ordered(
      [
        { item_id: product, quantity: 4, name: "PAR 64" },
        { name: "Truss", starts_at: hire.starts_at, ends_at: "2026-09-03T09:00:00Z" }
      ],
      { charge_ends_at: hire.ends_at }
    )
    const [par, truss] = order.items
    const reply = await extend(order.id, { ends_at: later })
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    expect(reply.body.opportunity).toMatchObject({ ends_at: later, charge_ends_at: later, charge_total: "300.00" })
    expect(reply.body.opportunity.items.map((one) => one.ends_at)).toEqual([later, "2026-09-03T09:00:00.000Z"])
    expect(reply.body.extension).toMatchObject({
      before: { ends_at: "2026-09-05T09:00:00.000Z", charge_total: "180.00", has_shortage: false, shortages: [] },
      after: { ends_at: later, charge_total: "300.00", has_shortage: false, shortages: [] },
      original_starts_at: null,
      original_ends_at: "2026-09-05T09:00:00.000Z",
      lines_followed: [par.id],
      lines_kept: [truss.id]
    })
    expect(reply.body.meta.warnings).toEqual(["1 line keeps its dates: Truss (until 2026-09-03T09:00:00.000Z)."])
    const free = await w.get(
      `/products/${product}/availability?store_id=1&from=2026-09-07T00:00:00Z&to=2026-09-08T00:00:00Z`
    )
    expect(free.body.availability.min_available).toBe(0)
  })
  it("keeps the first agreed end over two extensions, and shows the first extension in the activity", async () => {
    const order = await ordered([{ name: "Lamp" }])
    await extend(order.id, { ends_at: later, reason: "Rain" })
    const again = await extend(order.id, { ends_at: "2026-09-10T09:00:00Z" })
    expect(again.body.opportunity.original_ends_at).toBe("2026-09-05T09:00:00.000Z")
    const activity = await w.show(`/opportunities/${order.id}/activity`)
    const entries = activity.filter((one) => one.action === "opportunity.extended")
    expect(entries[1]).toMatchObject({
      old_values: { ends_at: "2026-09-05T09:00:00.000Z" },
      new_values: { ends_at: later, reason: "Rain", lines_followed: [order.items[0].id], lines_kept: [] }
    })
  })
  it(`moves the named lines only, and none with lines "keep"`, async () => {
    const order = await ordered([{ name: "A" }, { name: "B", ends_at: "2026-09-03T09:00:00Z" }, { name: "C" }])
    const [a, b, c] = order.items
    const named = await extend(order.id, { ends_at: later, lines: [b.id, c.id] })
    expect(named.body.extension).toMatchObject({ lines_followed: [b.id, c.id], lines_kept: [a.id] })
    expect(named.body.opportunity.items.map((one) => one.ends_at)).toEqual([a.ends_at, later, later])
    const kept = await extend(order.id, { ends_at: "2026-09-09T09:00:00Z", lines: "keep" })
    expect(kept.body.extension.lines_followed).toEqual([])
    expect(kept.body.opportunity.items.map((one) => one.ends_at)).toEqual([a.ends_at, later, later])
    expect(kept.body.extension.after.charge_total).toBe(kept.body.extension.before.charge_total)
  })
  it("is rejected for invalid values, a cancelled order or missing permission, and changes nothing", async () => {
    const order = await ordered([{ name: "A" }, { name: "B", starts_at: "2026-09-03T09:00:00Z" }])
    const other = await ordered([{ name: "Elsewhere" }])
    await refused(extend(order.id, {}), "ends_at")
    await refused(extend(order.id, { ends_at: "2026-08-01T09:00:00Z" }), "ends_at")
    await refused(extend(order.id, { ends_at: later, lines: "some" }), "lines")
    await refused(extend(order.id, { ends_at: later, lines: [order.items[0].id, other.items[0].id] }), "lines.1")
    const errors = await refused(extend(order.id, { ends_at: "2026-09-02T09:00:00Z" }), "ends_at")
    expect(errors.ends_at[0]).toContain("B would end")
    expect(await shown(order.id)).toEqual(order)
    const rights = viewerWith(["opportunities.view"], ["*"])
    expect((await w.post(`/opportunities/${order.id}/extend`, { ends_at: later }, rights)).status).toBe(403)
    await w.post(`/opportunities/${order.id}/change_status`, { status: 6 })
    await refused(extend(order.id, { ends_at: later }), "state")
  })
  it("rejects dates before 1900, in previews as well", async () => {
    const order = await ordered([{ name: "A" }])
    for (const [field, at] of [
      ["starts_at", "0001-01-01T00:00:00Z"],
      ["ends_at", "1899-12-31T23:59:59Z"],
      ["charge_ends_at", "1899-12-31T23:59:59Z"]
    ] as const) {
      const says = `The ${field.replaceAll("_", " ")} field must be a time from 1900-01-01 on.`
      const asked = await w.post(`/opportunities/${order.id}/extend/preview`, { [field]: at })
      expect([asked.status, asked.body.errors]).toEqual([422, { [field]: [says] }])
      expect((await extend(order.id, { [field]: at })).body.errors).toEqual({ [field]: [says] })
    }
    expect(await shown(order.id)).toEqual(order)
  })
  it("is rejected if another order holds a unit, naming that order", async () => {
    const product = await w.serialised({ name: "Desk" })
    const desk = await w.unit(product, 1, { item_name: "Desk 1" })
    const first = await ordered([{ item_id: product, name: "Desk" }, { name: "Cable" }])
    const next = await ordered([{ item_id: product, name: "Desk" }], gala)
    for (const one of [first, next])
      await w.create(`/opportunities/${one.id}/items/${one.items[0].id}/assets`, { stock_level_id: desk })
    const before = await shown(first.id)
    const errors = await refused(extend(first.id, { ends_at: later }), "ends_at")
    expect(errors.ends_at[0]).toContain(`Desk 1 is held by "Gala" (order ${Number(next.number)})`)
    expect(await shown(first.id)).toEqual(before)
    expect((await extend(first.id, { ends_at: later, lines: [first.items[1].id] })).status).toBe(200)
  })
  it("warns of a shortage and its holder, or is rejected, by the store's policy", async () => {
    const product = await stocked(4, "Fresnel")
    const first = await ordered([{ item_id: product, name: "Fresnel", quantity: 3 }])
    const next = await ordered([{ item_id: product, name: "Fresnel", quantity: 2 }], gala)
    await w.put("/stores/1", { shortage_policy: "block" })
    const staff = viewerWith(["opportunities.view", "opportunities.edit"], ["*"])
    const blocked = await w.post(`/opportunities/${first.id}/extend`, { ends_at: later }, staff)
    expect(blocked.status).toBe(422)
    expect(blocked.body.errors.shortages[0]).toBe(
      `Stock is short: Fresnel by 1. Fresnel: 2 promised to "Gala" (${next.number}) from 2026-09-06T09:00:00.000Z to 2026-09-07T09:00:00.000Z.`
    )
    await w.put("/stores/1", { shortage_policy: "warn" })
    const told = await w.post(`/opportunities/${first.id}/extend/preview`, { ends_at: later }, staff)
    expect(told.status, JSON.stringify(told.body)).toBe(200)
    expect((await shown(first.id)).ends_at).toBe("2026-09-05T09:00:00.000Z")
    const done = await w.post(`/opportunities/${first.id}/extend`, { ends_at: later, reason: "Rain" }, staff)
    expect(done.status).toBe(200)
    expect(done.body.extension).toEqual(told.body.extension)
    expect(done.body.extension.after).toMatchObject({
      has_shortage: true,
      shortages: [{ product_name: "Fresnel", remaining_shortfall: 1, promised_to: [{ opportunity_id: next.id }] }]
    })
    expect(done.body.meta.warnings[0]).toBe("Stock is short: Fresnel by 1.")
    const { activity } = (await w.get(`/opportunities/${first.id}/activity`)).body
    expect(activity[0]).toMatchObject({ action: "shortage.acknowledged", new_values: { policy_at_time: "warn" } })
  })
  it("does not charge returned lines for longer, and names partly returned lines", async () => {
    const product = await stocked(10, "Cable")
    const order = await ordered([
      { item_id: product, name: "All back", quantity: 2 },
      { item_id: product, name: "Half back", quantity: 2 }
    ])
    for (const [at, quantity] of [2, 1].entries()) {
      const path = `/opportunities/${order.id}/items/${order.items[at]!.id}/fulfilment`
      await w.patch(path, { action: "dispatch", quantity: 2 })
      expect((await w.patch(path, { action: "return", quantity })).status).toBe(200)
    }
    const { body } = await extend(order.id, { ends_at: later })
    expect(body.extension).toMatchObject({ lines_followed: [order.items[1].id], lines_kept: [order.items[0].id] })
    expect(body.meta.warnings).toEqual([
      "1 line came back and is not charged for longer: All back.",
      "1 of 2 Half back came back; the line is charged in full for the new dates."
    ])
  })
  it("can be to an earlier end, which lowers the price and releases stock", async () => {
    const product = await stocked(1, "Desk")
    const order = await ordered([{ item_id: product, name: "Desk" }])
    const { body } = await extend(order.id, { ends_at: "2026-09-03T09:00:00Z" })
    expect(body.extension).toMatchObject({
      before: { charge_total: "40.00" },
      after: { charge_total: "20.00" },
      original_ends_at: "2026-09-05T09:00:00.000Z"
    })
    const free = await w.get(
      `/products/${product}/availability?store_id=1&from=2026-09-04T00:00:00Z&to=2026-09-05T00:00:00Z`
    )
    expect(free.body.availability.min_available).toBe(1)
  })
  it("warns that a deal price and the collection times stay unchanged", async () => {
    const { id } = await w.opportunity({ ...hire, collect_starts_at: "2026-09-05T10:00:00Z" })
    await line(id, { name: "Lamp" })
    await w.create(`/opportunities/${id}/deal_price`, { deal_total: "30.00" })
    await w.put(`/opportunities/${id}`, { invoiced: true })
    const { body } = await extend(id, { ends_at: later })
    expect(body.meta.warnings).toEqual([
      "A deal price of 30.00 GBP is set, so the total stays; set another one or clear it.",
      "collect stays planned for 2026-09-05T10:00:00.000Z, before the hire ends; give its new times along, or change them."
    ])
    expect(body.opportunity.original_ends_at).toBeNull()
  })
  it("warns of dates that do not fit dispatched goods, in previews as well", async () => {
    const product = await w.serialised()
    const desk = await w.unit(product, 1, { asset_number: "DESK-OUT" })
    const order = await ordered([{ name: "Desk", item_id: product }])
    const path = `/opportunities/${order.id}`
    const { asset } = (await w.post(`${path}/items/${order.items[0].id}/assets`, { stock_level_id: desk })).body
    const dispatched_at = "2026-08-31T12:00:00.000Z"
    expect((await w.post(`${path}/quick_book_out`, { asset_ids: [asset.id], dispatched_at })).status).toBe(200)
    const warned = async (body: object): Promise<unknown> =>
      (await w.post(`${path}/extend/preview`, body)).body.meta.warnings
    expect(await warned({ ends_at: later })).toEqual([])
    expect(await warned({ starts_at: "2026-08-31T09:00:00Z" })).toEqual([])
    const begins = `Went out before the hire begins now: DESK-OUT (${dispatched_at}); give an earlier start where that is wrong.`
    expect(await warned({ starts_at: "2026-09-02T09:00:00Z" })).toEqual([begins])
    const before = { starts_at: "2026-08-20T09:00:00Z", ends_at: "2026-08-21T09:00:00Z" }
    const ends = `Went out after the hire ends now: DESK-OUT (${dispatched_at}); give a later end where that is wrong.`
    expect(await warned(before)).toEqual([ends])
    expect((await extend(order.id, before)).body.meta.warnings).toEqual([ends])
  })
  it("is rejected for a hire without dates, naming where to set them", async () => {
    const { id } = await w.opportunity({ starts_at: undefined, ends_at: undefined })
    const before = await shown(id)
    const errors = {
      starts_at: [
        "The hire has no dates yet that could be moved; set starts_at and ends_at by a plain change (orders update)."
      ]
    }
    for (const path of ["extend", "extend/preview"]) {
      const reply = await w.post(`/opportunities/${id}/${path}`, { ends_at: later })
      expect([reply.status, reply.body.errors]).toEqual([422, errors])
    }
    expect(await shown(id)).toEqual(before)
    await w.put(`/opportunities/${id}`, { starts_at: hire.starts_at })
    expect((await extend(id, { ends_at: later })).body.opportunity.ends_at).toBe(later)
  })
  it("is suggested if a plain update changes the end, which leaves the lines' dates unchanged", async () => {
    const order = await ordered([{ name: "A" }])
    const [a] = order.items
    const told = ({ body }: { readonly body: Body }) =>
      (body.meta.warnings ?? []).filter((text: string) => !text.startsWith("Untaxed: "))
    const changed = await w.put(`/opportunities/${order.id}`, { ends_at: later })
    expect(told(changed)).toEqual([
      `1 line keeps its dates: A (until 2026-09-05T09:00:00.000Z). Price and stock follow the lines. ` +
        `To move it along: POST /api/v1/opportunities/${order.id}/extend {"ends_at":"${later}","lines":[${a.id}]} ` +
        `(flightcase orders extend '#${Number(order.number)}' --to ${later} --lines ${a.id}).`
    ])
    const last = "2026-09-09T09:00:00.000Z"
    const again = await w.put(`/opportunities/${order.id}`, { ends_at: last })
    expect(told(again)).toEqual([
      expect.stringMatching(/^1 line keeps its dates: A [(]until 2026-09-05T09:00:00[.]000Z[)]/)
    ])
    const shorter = await w.put(`/opportunities/${order.id}`, { ends_at: later })
    expect(told(shorter)).toEqual([])
    const shortest = await w.put(`/opportunities/${order.id}`, { ends_at: "2026-09-04T09:00:00.000Z" })
    expect(told(shortest)).toEqual([expect.stringContaining("1 line keeps its dates: A (until")])
    await w.put(`/opportunities/${order.id}`, { ends_at: later })
    const moved = await extend(order.id, { ends_at: later, lines: [a.id] })
    expect(moved.body.extension).toMatchObject({ lines_followed: [a.id], after: { charge_total: "70.00" } })
    expect(told(await w.put(`/opportunities/${order.id}`, { subject: "Other" }))).toEqual([])
  })
})
