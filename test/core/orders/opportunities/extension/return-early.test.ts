/** Early returns and extensions of part of a line: check-in, split, price, stock, credit (rules/opportunities 4.5). */
import { describe, expect, it } from "vitest"
import { both_engines, engines, viewerWith } from "../../../../app.ts"
import { type AppHouse, appHouse, refused } from "../../../../app-house.ts"
import { tableRows } from "../../../../words.ts"
import { opportunityEvents } from "../../../../../core/orders/opportunities/events/participants.ts"
import { returnEarly } from "../../../../../core/orders/opportunities/extension/return-early.ts"
import type { NewEvent } from "../../../../../core/kernel/events/event-type.ts"
import { withoutStamps } from "../../../../../core/kernel/tables/field-schema.ts"
import { decider, type Facts, given_at } from "../../../decider.ts"
import { lamp, line, line_id, opportunity, opportunity_id, stateOf, unit } from "../state.ts"
import type { Listed } from "../../../../answers.ts"

const hire = { starts_at: "2026-09-01T09:00:00.000Z", ends_at: "2026-09-05T09:00:00.000Z" }
const wednesday = "2026-09-03T09:00:00.000Z"
const now = "2026-09-04T12:00:00.000Z"

/** Builders of dispatched orders: ten pieces of a bulk product (`counted`) or three units (`tracked`). */
const orders = (w: AppHouse) => {
  const shown = (id: number) => w.show(`/opportunities/${id}?include=items,items.assets`)
  const counted = async (line: object = {}, header: object = {}) => {
    const product_id = await w.product({ name: "PAR 64" })
    await w.hold(product_id, 10)
    const body = { name: "PAR 64", item_id: product_id, quantity: 10, unit_price: "10.00", ...line }
    const { id, items } = await w.withLine({ ...hire, subject: "Fair", ...header }, body)
    await w.confirm(id)
    const path = `/opportunities/${id}/items/${items[0].id}/fulfilment`
    await w.must("PATCH", path, { action: "dispatch", quantity: "10" })
    return { id: Number(id), product_id, line: Number(items[0].id), path }
  }
  const tracked = async () => {
    const product = await w.units(1, 3, { name: "Moving head" })
    const order = await w.order(product.id, 3, { ...hire, subject: "Club" })
    await w.allocate(order, ...product.units)
    const { items } = await shown(order.id)
    const asset_ids: ReadonlyArray<number> = items[0]?.assets.map((one) => one.id) ?? []
    await w.must("POST", `/opportunities/${order.id}/quick_book_out`, { asset_ids, dispatched_at: hire.starts_at })
    return { id: order.id, product_id: product.id, units: product.units, line: order.line.id, asset_ids }
  }
  const early = (id: number, body: object) => w.post(`/opportunities/${id}/return_early`, body)
  return { counted, early, shown, tracked }
}
/** Quantity, end, returned quantity and total of each line. */
const linesOf = (order: Pick<Listed<"opportunities">, "items">) =>
  order.items.map((line) => [line.quantity, line.ends_at?.slice(5, 16), line.returned_quantity, line.total])

describe("one of two lamps that comes back before its line ends", () => {
  const { given } = decider(opportunityEvents)
  const dates = { starts_at: "2026-06-10T10:00:00.000Z", ends_at: "2026-06-20T10:00:00.000Z" }
  const at = "2026-06-18T10:00:00.000Z"
  const prices = { unit_price: 1_000, manual_unit_price: 1_000, discounted_total: 20_000, total: 20_000 }
  const totals = { rental_charge_total: 20_000, charge_excluding_tax_total: 20_000, charge_total: 20_000 }
  const out = { status: 2, dispatched_at: dates.starts_at }
  const lamps = [
    opportunity({ state: 2, status: 2, ...dates, ...totals, charge_including_tax_total: 20_000 }),
    line({ ...dates, ...prices, tax_rate: "0.0000" }),
    ...[1, 2].flatMap((id) => [unit(id, out), lamp(id)])
  ]
  const asked = {
    items: [{ opportunity_item_id: line_id, asset_ids: [1] }],
    returned_at: at,
    received_by: 3,
    return_store_id: null,
    condition: null,
    damage_notes: null,
    already_back: false
  }
  const event = (type: string, data: NewEvent["data"]): NewEvent => ({
    stream: `opportunity:${opportunity_id}`,
    type: `opportunity.${type}`,
    data: { id: opportunity_id, ...data }
  })
  /** Returns a lamp early without stocked products, so that no demand events follow. */
  const early =
    (more: Partial<typeof asked> = {}) =>
    (facts: Facts) =>
      returnEarly(stateOf(facts, { stocked: new Map() }), { ...asked, ...more }, facts.context)
  it("is checked in, split off to a line of its own and charged until then", () => {
    given(...lamps)
      .when(early())
      .thenEvents(
        event("asset_returned", {
          assignment_id: 1,
          set: { status: 4, returned_at: at },
          was: { status: 2, returned_at: null },
          also: { received_by: 3, return_store_id: null }
        }),
        event("item_split", {
          item_id: line_id,
          set: { quantity: "1.00", discounted_total: 10_000 },
          was: { quantity: "2.00", discounted_total: 20_000 },
          also: { part_item_id: 1001, part_quantity: "1.00", total: 10_000 }
        }),
        event("item_added", {
          item_id: 1001,
          item: {
            ...withoutStamps(line({ ...dates, ...prices, tax_rate: "0.0000" }).row),
            id: 1001,
            path: "0002",
            quantity: "1.00",
            ends_at: at,
            discounted_total: 8_000,
            total: 8_000,
            origin_item_id: line_id,
            first_made_at: given_at
          },
          also: {}
        }),
        event("asset_line_changed", {
          assignment_id: 1,
          set: { opportunity_item_id: 1001 },
          was: { opportunity_item_id: line_id },
          also: {}
        }),
        event("priced", {
          set: {
            rental_charge_total: 18_000,
            charge_excluding_tax_total: 18_000,
            charge_total: 18_000,
            charge_including_tax_total: 18_000
          },
          lines: [{ id: line_id, total: 10_000 }],
          costs: { added: [], altered: [], removed: [] }
        }),
        { stream: "stock_level:501", type: "stock_level.updated", data: { id: 501, quantity_allocated: "0.00" } }
      )
  })
  it("cannot be named twice, or be returned on a quotation", () => {
    given(...lamps)
      .when(early({ items: [{ opportunity_item_id: line_id, asset_ids: [1, 1] }] }))
      .thenRefused({ "items.0.asset_ids.1": ["The unit is listed twice."] })
    given(opportunity({ state: 1, status: 0, ...dates }), line(dates))
      .when(early())
      .thenRefused({ state: ["Only lines of an order are split; change quantities and dates of a quotation's lines."] })
  })
})

describe.each(both_engines)("an early return on %s", (engine) => {
  const w = appHouse(engine, now)
  const { counted, early, shown, tracked } = orders(w)

  it("splits bulk goods from their line, charges them until the return, and frees their stock", async () => {
    const { id, line, product_id } = await counted()
    const reply = await early(id, { items: [{ opportunity_item_id: line, quantity: 4 }], returned_at: wednesday })
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    const { opportunity, returned } = reply.body
    expect(linesOf(opportunity)).toEqual([
      ["6.00", "09-05T09:00", "0.00", "240.00"],
      ["4.00", "09-03T09:00", "4.00", "80.00"]
    ])
    expect([opportunity.charge_total, opportunity.status_label]).toEqual(["320.00", "On Hire"])
    const part_item_id = opportunity.items[1]?.id
    expect(returned).toEqual([
      {
        opportunity_item_id: line,
        part_item_id,
        quantity: "4.00",
        charged_until: wednesday,
        total_before: "400.00",
        total_after: "320.00"
      }
    ])
    const free = await w.get(`/products/${product_id}/availability?store_id=1&from=${wednesday}&to=${hire.ends_at}`)
    expect(free.body.availability.min_available).toBe(4)
  })
  it("moves the named units to a line of their own, and frees them for other orders", async () => {
    const { asset_ids, id, line, product_id, units } = await tracked()
    const [first, ...others] = asset_ids
    await w.must("POST", `/opportunities/${id}/return_early`, {
      items: [{ opportunity_item_id: line, asset_ids: [first] }],
      returned_at: wednesday
    })
    const { items } = await shown(id)
    expect(linesOf({ items })).toEqual([
      ["2.00", "09-05T09:00", "0.00", "80.00"],
      ["1.00", "09-03T09:00", "0.00", "20.00"]
    ])
    expect(items.map(({ assets }) => assets.map((one) => one.id))).toEqual([others, [first]])
    const next = await w.order(product_id, 2, { starts_at: "2026-09-04T09:00:00Z", ends_at: "2026-09-05T09:00:00Z" })
    const allocated = await w.allocate(next, units[0] ?? 0)
    expect(allocated.status, JSON.stringify(allocated.body)).toBe(200)
    await refused(w.allocate(next, units[1] ?? 0), "allocations.0.stock_level_id")
  })
})

describe.each(engines)("an early return of part of a line on %s", (engine) => {
  const w = appHouse(engine, now)
  const { counted, early, shown } = orders(w)

  it.each(
    tableRows(`
      two days at 10.00 a day          | 4  | 09-03T09:00 |          | 80.00  | 240.00
      less than a day is one day       | 4  | 09-01T15:00 |          | 40.00  | 240.00
      before the hire is one day       | 4  | 08-31T15:00 |          | 40.00  | 240.00
      a discount of 10 %               | 4  | 09-03T09:00 | discount | 72.00  | 216.00
      a price for the line is divided  | 3  | 09-03T09:00 | whole    | 30.00  | 70.01
      a price charged once stays       | 4  | 09-03T09:00 | once     | 40.00  | 60.00`)
  )(
    "charges the part until its return by the line's price: %s (%s back at %s %s cost %s, the rest of the line %s)",
    async (_title, quantity, at, kind, part, rest) => {
      const lines: { readonly [kind: string]: object } = {
        discount: { discount_percent: "10" },
        whole: { unit_price: null, line_total: "100.01" },
        once: { charge_period: 4 }
      }
      const { id, line } = await counted(lines[kind ?? ""] ?? {})
      await w.must("POST", `/opportunities/${id}/return_early`, {
        items: [{ opportunity_item_id: line, quantity }],
        returned_at: `2026-${at}:00.000Z`
      })
      expect((await shown(id)).items.map((one) => one.total)).toEqual([rest, part])
    }
  )
  it("charges the part by the rate agreed for the line, although the product's rate has changed since", async () => {
    const product_id = await w.product({ name: "Hazer" })
    await w.hold(product_id, 10)
    const daily = (price: string) => ({ rate_definition_id: 1, currency: "GBP", transaction_type: "rental", price })
    const rate = await w.create(`/products/${product_id}/rates`, daily("12.50"))
    const { id, line, path } = await (async () => {
      const made = await w.withLine(hire, { name: "Hazer", item_id: product_id, quantity: 10, unit_price: null })
      await w.confirm(made.id)
      const path = `/opportunities/${made.id}/items/${made.items[0].id}/fulfilment`
      return { id: made.id, line: made.items[0], path }
    })()
    await w.must("PATCH", path, { action: "dispatch", quantity: "10" })
    expect(line.total).toBe("500.00")
    await w.must("PUT", `/products/${product_id}/rates/${rate.id}`, { price: "20.00" })
    await w.must("POST", `/opportunities/${id}/return_early`, {
      items: [{ opportunity_item_id: line.id, quantity: 4 }],
      returned_at: wednesday
    })
    expect((await shown(id)).items.map((one) => one.total)).toEqual(["300.00", "100.00"])
  })
  it("ends the line itself if all of its goods come back", async () => {
    const { id, line } = await counted()
    const { body } = await early(id, { items: [{ opportunity_item_id: line }], returned_at: wednesday })
    expect(linesOf(body.opportunity)).toEqual([["10.00", "09-03T09:00", "10.00", "200.00"]])
    expect(body.opportunity.status_label).toBe("Checked")
  })
  it("splits off goods that were checked in before, without counting them twice", async () => {
    const { id, line, path } = await counted()
    await w.must("PATCH", path, { action: "return", quantity: "4" })
    const items = [{ opportunity_item_id: line, quantity: 4 }]
    await w.must("POST", `/opportunities/${id}/return_early`, { items, returned_at: wednesday, already_back: true })
    expect(linesOf(await shown(id))).toEqual([
      ["6.00", "09-05T09:00", "0.00", "240.00"],
      ["4.00", "09-03T09:00", "4.00", "80.00"]
    ])
  })
  it("is rejected for more than is out, for a time in the future, for sold goods and on a quotation", async () => {
    const { id, line, path } = await counted()
    const items = (quantity: number) => [{ opportunity_item_id: line, quantity }]
    await refused(early(id, { items: items(11) }), "items.0.quantity")
    await w.must("POST", `/opportunities/${id}/return_early`, { items: items(4), returned_at: wednesday })
    await refused(early(id, { items: items(7) }), "items.0.quantity")
    await w.must("PATCH", path, { action: "return", quantity: "4" })
    await refused(early(id, { items: items(3) }), "items.0.quantity")
    await refused(early(id, { items: items(2), returned_at: "2026-09-04T13:00:00Z" }), "returned_at")
    await refused(early(id, { items: [...items(1), ...items(1)] }), "items.1.opportunity_item_id")
    await refused(early(id, { items: [{ opportunity_item_id: 999_999, quantity: 1 }] }), "items.0.opportunity_item_id")
    const sold = await counted({ transaction_type: 1 })
    await refused(early(sold.id, { items: [{ opportunity_item_id: sold.line }] }), "items.0.opportunity_item_id")
    const quote = await w.withLine(hire)
    const of_quote = [{ opportunity_item_id: quote.items[0].id }]
    await refused(early(quote.id, { items: of_quote }), "state")
  })
})

describe.each(engines)("extending part of a line on %s", (engine) => {
  const w = appHouse(engine, now)
  const { counted, shown, tracked } = orders(w)
  const later = "2026-09-07T09:00:00.000Z"

  it("holds the extended unit until the new end, and no other unit", async () => {
    const { asset_ids, id, line, product_id, units } = await tracked()
    const parts = [{ opportunity_item_id: line, asset_ids: asset_ids.slice(0, 1) }]
    await w.must("POST", `/opportunities/${id}/extend`, { ends_at: "2026-09-09T09:00:00Z", parts })
    const next = await w.order(product_id, 1, { starts_at: "2026-09-07T09:00:00Z", ends_at: "2026-09-08T09:00:00Z" })
    await refused(w.allocate(next, units[0] ?? 0), "allocations.0.stock_level_id")
    expect((await w.allocate(next, units[1] ?? 0)).status).toBe(200)
  })
  it("gives the part a line of its own with the new end; the rest of the line keeps its end and price", async () => {
    const { id, line, product_id } = await counted()
    const body = { ends_at: later, parts: [{ opportunity_item_id: line, quantity: 3 }] }
    const preview = await w.must("POST", `/opportunities/${id}/extend/preview`, body)
    const { extension } = await w.must("POST", `/opportunities/${id}/extend`, body)
    const order = await shown(id)
    expect(linesOf(order)).toEqual([
      ["7.00", "09-05T09:00", "0.00", "280.00"],
      ["3.00", "09-07T09:00", "0.00", "180.00"]
    ])
    expect(order.items.map((one) => one.dispatched_quantity)).toEqual(["7.00", "3.00"])
    expect([order.ends_at, order.charge_total]).toEqual([later, "460.00"])
    expect([extension.lines_followed, extension.lines_kept]).toEqual([[order.items[1]?.id], [line]])
    expect(preview.extension.after).toEqual(extension.after)
    const free = await w.get(`/products/${product_id}/availability?store_id=1&from=2026-09-06T00:00:00Z&to=${later}`)
    expect(free.body.availability.min_available).toBe(7)
  })
  it('is rejected for more than is still out, and together with lines: "follow"', async () => {
    const { id, line, path } = await counted()
    await w.must("PATCH", path, { action: "return", quantity: "8" })
    const parts = [{ opportunity_item_id: line, quantity: 3 }]
    await refused(w.post(`/opportunities/${id}/extend`, { ends_at: later, parts }), "parts.0")
    await refused(w.post(`/opportunities/${id}/extend`, { ends_at: later, lines: "follow", parts }), "lines")
  })
})

describe.each(engines)("the credit draft on %s", (engine) => {
  const w = appHouse(engine, now)
  const { counted, shown } = orders(w)
  const billed = async (more: object = {}) => {
    const member_id = await w.customer()
    const order = await counted({}, { member_id, ...more })
    const invoice = await w.create(`/opportunities/${order.id}/invoices`)
    await w.must("POST", `/invoices/${invoice.id}/issue`, {})
    return { ...order, member_id, invoice_id: invoice.id }
  }
  const draftOf = (id: number) => w.show(`/opportunities/${id}/credit_draft`)

  it("holds the amount billed beyond the order's total until issued; then nothing is left to credit or bill", async () => {
    const { id, invoice_id, line } = await billed()
    expect(await draftOf(id)).toMatchObject({ subtotal: "0.00", items: [] })
    const back = { items: [{ opportunity_item_id: line, quantity: 4 }], returned_at: wednesday }
    const { meta } = await w.must("POST", `/opportunities/${id}/return_early`, back)
    expect(meta.warnings).toEqual([expect.stringMatching("^It is invoiced already: .* is its credit draft")])
    expect(await draftOf(id)).toMatchObject({
      subtotal: "80.00",
      total: "80.00",
      left_out: "0.00",
      items: [{ invoice_id, name: "PAR 64", amount: "80.00", tax_total: "0.00" }]
    })
    const notes = await w.create(`/opportunities/${id}/credit_notes`, { reason: "Four back early" })
    expect(notes).toMatchObject([{ invoice_id, total: "-80.00", reason: "Four back early" }])
    expect(await draftOf(id)).toMatchObject({ subtotal: "0.00", items: [] })
    await refused(w.post(`/opportunities/${id}/credit_notes`, {}), "items")
    await refused(w.post(`/opportunities/${id}/invoices`, {}), "items")
  })
  it("is listed until it is issued, newest order first, filtered by store and customer", async () => {
    const store_id = (await w.create("/stores", { name: "South" })).id
    const [first, second, whole] = [await billed({ store_id }), await billed({ store_id }), await billed({ store_id })]
    const back = (line: number) => ({ items: [{ opportunity_item_id: line, quantity: 4 }], returned_at: wednesday })
    for (const { id, line } of [first, second]) await w.must("POST", `/opportunities/${id}/return_early`, back(line))
    const list = async (query: string) => (await w.get(`/credit_drafts?${query}`)).body
    const { credit_drafts, meta } = await list(`store_id=${store_id}`)
    expect(credit_drafts.map((one: { opportunity_id: number }) => one.opportunity_id)).toEqual([second.id, first.id])
    expect(credit_drafts[1]).toMatchObject({ beyond_total: "80.00", billed_total: "400.00", currency_code: "GBP" })
    expect(meta).toEqual({ total: 2, per_page: 50, page: 1 })
    expect((await list(`store_id=${store_id}&per_page=1&page=2`)).credit_drafts).toMatchObject([
      { opportunity_id: first.id }
    ])
    expect((await list(`member_id=${first.member_id}`)).credit_drafts).toMatchObject([{ opportunity_id: first.id }])
    expect((await list(`member_id=${whole.member_id}`)).credit_drafts).toEqual([])
    await w.must("POST", `/opportunities/${first.id}/credit_notes`, {})
    expect((await list(`store_id=${store_id}`)).credit_drafts).toMatchObject([{ opportunity_id: second.id }])
  })
  it("is listed only for users who see both orders and invoices", async () => {
    const asked = async (...held: ReadonlyArray<string>) =>
      (await w.get("/credit_drafts", viewerWith(held, ["*"]))).status
    expect([await asked("invoices.view"), await asked("opportunities.view")]).toEqual([403, 403])
    expect(await asked("invoices.view", "opportunities.view")).toBe(200)
  })
  it("is reduced by the cost of goods that stay longer and of lines added later", async () => {
    const { id, line } = await billed()
    await w.must("POST", `/opportunities/${id}/return_early`, {
      items: [{ opportunity_item_id: line, quantity: 4 }],
      returned_at: wednesday
    })
    await w.must("POST", `/opportunities/${id}/extend`, {
      ends_at: "2026-09-07T09:00:00Z",
      parts: [{ opportunity_item_id: line, quantity: 3 }]
    })
    expect((await shown(id)).charge_total).toBe("380.00")
    expect(await draftOf(id)).toMatchObject({ subtotal: "20.00", items: [{ amount: "20.00" }] })
    // A line added later also reduces the credit.
    const van = { name: "Van", item_type: "service", quantity: 1, unit_price: "15.00", charge_period: 4 }
    await w.must("POST", `/opportunities/${id}/items`, van)
    expect(await draftOf(id)).toMatchObject({ subtotal: "5.00", items: [{ amount: "5.00" }] })
  })
})
