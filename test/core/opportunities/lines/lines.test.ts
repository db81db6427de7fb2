import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp } from "../../../app.ts"
import { fourDays, lineL, opportunity_path, opportunityFixture, type OpportunityFixture } from "../fixtures.ts"

describe.each(engines)("lines of opportunities on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  /** An organisation taxed at the standard 20 %. */
  let customer: { readonly id: number }
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
    customer = await w.made(
      "/api/v1/members",
      { name: "Taxed Ltd", membership_type: "organisation", sale_tax_class_id: 1 },
      "member"
    )
  })
  afterAll(() => app.close())

  const dailyRate = async (price: string, tax_class_id: number | null = 1) => {
    const product = await w.product({ stock_method: 1, tax_class_id })
    const definition = await w.made(
      "/api/v1/rate_definitions",
      {
        name: `Daily ${product.id}`,
        calculation_strategy: "period",
        base_period: "daily",
        strategy_config: { day_type: "clock" }
      },
      "rate_definition"
    )
    await w.made(
      `/api/v1/products/${product.id}/rates`,
      { rate_definition_id: definition.id, transaction_type: "rental", price, currency: "GBP" },
      "rate"
    )
    return product
  }

  it("without dates a line is charged for one day, and gets a day from now (scenario 67)", async () => {
    const { items, charge_total } = await w.withLine()
    expect(charge_total).toBe("100.00")
    expect(items[0]).toMatchObject({
      name: "Line L",
      path: "0001",
      parent_path: null,
      depth: 1,
      quantity: "2.00",
      unit_price: "50.00",
      total: "100.00",
      tax_rate: "0.00",
      charge_period_label: "Day",
      transaction_type_label: "Rental"
    })
    expect(Date.parse(items[0].ends_at) - Date.parse(items[0].starts_at)).toBe(86_400_000)
  })
  it("a manual price counts whole days, rounded down (scenario 69)", async () => {
    const opportunity = await w.withLine(
      { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-04T17:00:00Z" },
      { name: "PA", quantity: 5, unit_price: "450.00" }
    )
    expect(opportunity.items[0].total).toBe("6750.00")
    expect(opportunity).toMatchObject({
      rental_charge_total: "6750.00",
      charge_total: "6750.00",
      charge_excluding_tax_total: "6750.00"
    })
  })
  it("a rate prices the line, tax follows the two classes (scenario 77)", async () => {
    const product = await dailyRate("100.00")
    const opportunity = await w.withLine(
      { member_id: customer.id, starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-04T09:00:00Z" },
      { name: "Desk", item_id: product.id, quantity: 2 }
    )
    expect(opportunity.items[0]).toMatchObject({
      item_id: product.id,
      unit_price: "100.00",
      total: "600.00",
      tax_rate: "20.00"
    })
    expect(opportunity).toMatchObject({
      charge_total: "600.00",
      tax_total: "120.00",
      charge_including_tax_total: "720.00"
    })
  })
  it("a rate rounds days up where a manual price rounds them down", async () => {
    const product = await dailyRate("10.00", null)
    const opportunity = await w.withLine(fourDays, { name: "Desk", item_id: product.id })
    expect(opportunity.items[0].total).toBe("50.00")
    const byHand = await w.patch(`${opportunity_path}/${opportunity.id}/items/${opportunity.items[0].id}`, {
      unit_price: "10.00"
    })
    expect(byHand.body.opportunity.items[0].total).toBe("40.00")
    const again = await w.patch(`${opportunity_path}/${opportunity.id}/items/${opportunity.items[0].id}`, {
      unit_price: null
    })
    expect(again.body.opportunity.items[0].total).toBe("50.00")
  })
  it("quantity, discount and name change what they name (scenarios 71, 73, 75)", async () => {
    const opportunity = await w.withLine(fourDays)
    const line = `${opportunity_path}/${opportunity.id}/items/${opportunity.items[0].id}`
    expect((await w.patch(line, { quantity: "4" })).body.opportunity.charge_total).toBe("800.00")
    expect((await w.patch(line, { discount_percent: 10 })).body.opportunity).toMatchObject({ charge_total: "720.00" })
    const renamed = (await w.patch(line, { name: "Renamed Stack", notes: "by the door" })).body.opportunity
    expect(renamed.items[0]).toMatchObject({ name: "Renamed Stack", notes: "by the door", total: "720.00" })
    const other = await w.opportunity()
    expect(
      (await w.patch(`${opportunity_path}/${other.id}/items/${opportunity.items[0].id}`, { quantity: 1 })).status
    ).toBe(404)
  })
  it("prices that include tax are stored net", async () => {
    const product = await w.product({ stock_method: 1, tax_class_id: 1 })
    const opportunity = await w.withLine(
      { member_id: customer.id, prices_include_tax: true },
      { name: "A", item_id: product.id, unit_price: "120.00" }
    )
    expect(opportunity).toMatchObject({
      charge_total: "100.00",
      tax_total: "20.00",
      charge_including_tax_total: "120.00"
    })
    expect(opportunity.items[0].total).toBe("100.00")
  })
  it("text lines are charged and groups are not (scenario 79)", async () => {
    const { id } = await w.opportunity({ starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-03T09:00:00Z" })
    await w.made(`${opportunity_path}/${id}/items`, { item_type: "group", name: "Sound" }, "opportunity")
    const opportunity = await w.made(
      `${opportunity_path}/${id}/items`,
      { item_type: "text", name: "Rigging", unit_price: "50.00", parent_path: "0001" },
      "opportunity"
    )
    expect(opportunity.items).toMatchObject([
      { item_type: "group", path: "0001", total: "0.00", quantity: "1.00", starts_at: null, tax_rate: null },
      { item_type: "text", path: "00010001", parent_path: "0001", depth: 2, total: "100.00" }
    ])
    expect(
      (await w.patch(`${opportunity_path}/${id}/items/${opportunity.items[0].id}`, { unit_price: 5 })).status
    ).toBe(422)
  })
  it("optional lines are priced and not counted; sale lines forget the days", async () => {
    const { id } = await w.opportunity(fourDays)
    await w.made(`${opportunity_path}/${id}/items`, { ...lineL, is_optional: true }, "opportunity")
    const opportunity = await w.made(
      `${opportunity_path}/${id}/items`,
      { name: "Tape", unit_price: "3.00", quantity: 2, transaction_type: 1 },
      "opportunity"
    )
    expect(opportunity.items[0].total).toBe("400.00")
    expect(opportunity).toMatchObject({ rental_charge_total: "0.00", sale_charge_total: "6.00", charge_total: "6.00" })
  })
  it("included accessories come along, the others do not (scenario 83)", async () => {
    const [context, psu, gel, hook] = [await w.product(), await w.product(), await w.product(), await w.product()]
    const accessory = (accessory_product_id: number, body: object) =>
      w.made(`/api/v1/products/${context.id}/accessories`, { accessory_product_id, ...body }, "accessory")
    await accessory(psu.id, { quantity: "2", included: true, sort_order: 1 })
    await accessory(gel.id, { quantity: "0.5", included: true, zero_priced: true, sort_order: 2 })
    await accessory(hook.id, { quantity: "1", included: false, sort_order: 3 })
    const opportunity = await w.withLine(fourDays, { name: "Desk", item_id: context.id, quantity: 4 } as never)
    expect(opportunity.items).toMatchObject([
      { path: "0001", item_id: context.id },
      { path: "00010001", item_type: "accessory", item_id: psu.id, quantity: "8.00" },
      { path: "00010002", item_id: gel.id, quantity: "2.00", unit_price: "0.00" }
    ])
    expect(opportunity.items).toHaveLength(3)
    const removed = await w.remove(`${opportunity_path}/${opportunity.id}/items/${opportunity.items[0].id}`)
    expect(removed.body.opportunity.items).toEqual([])
  })
  it("a tree is put in a new order, or not at all (scenarios 85, 87)", async () => {
    const { id } = await w.opportunity()
    await w.made(`${opportunity_path}/${id}/items`, { item_type: "group", name: "G" }, "opportunity")
    const {
      items: [group, line]
    } = await w.made(`${opportunity_path}/${id}/items`, lineL, "opportunity")
    const nest = (nodes: ReadonlyArray<object>, body = {}) =>
      w.patch(`${opportunity_path}/${id}/items/tree`, { nodes, ...body })
    expect(
      (
        await nest([
          { id: line.id, depth: 1 },
          { id: group.id, depth: 2 }
        ])
      ).status
    ).toBe(422)
    expect((await nest([{ id: group.id, depth: 1 }])).body.errors.nodes).toHaveLength(1)
    expect((await nest([])).status).toBe(422)
    expect((await w.patch(`${opportunity_path}/${id}/items/tree`, {})).status).toBe(422)
    const nested = await nest([
      { id: group.id, depth: 1 },
      { id: line.id, depth: 5 }
    ])
    expect(nested.body.opportunity.items).toMatchObject([{ path: "0001" }, { id: line.id, path: "00010001" }])
    const pruned = await nest([{ id: group.id, depth: 1 }], { prune_orphans: true })
    expect(pruned.body.opportunity).toMatchObject({ charge_total: "0.00", items: [{ id: group.id }] })
  })
  it("removing a group takes what is below it, siblings keep their place", async () => {
    const { id } = await w.opportunity()
    await w.made(`${opportunity_path}/${id}/items`, { item_type: "group", name: "G" }, "opportunity")
    await w.made(`${opportunity_path}/${id}/items`, { ...lineL, parent_path: "0001" }, "opportunity")
    const opportunity = await w.made(`${opportunity_path}/${id}/items`, lineL, "opportunity")
    expect(opportunity.charge_total).toBe("200.00")
    const left = (await w.remove(`${opportunity_path}/${id}/items/${opportunity.items[0].id}`)).body.opportunity
    expect(left).toMatchObject({ charge_total: "100.00", items: [{ path: "0002" }] })
    expect(left.items).toHaveLength(1)
  })
  it("bad lines are refused by field", async () => {
    const { id } = await w.opportunity(fourDays)
    const keys = async (body: object) => {
      const reply = await w.post(`${opportunity_path}/${id}/items`, body)
      return [reply.status, ...Object.keys(reply.body.errors ?? {})]
    }
    expect(await keys({})).toEqual([422, "name"])
    expect(await keys({ name: "x", item_type: "thing" })).toEqual([422, "item_type"])
    expect(await keys({ name: "x", item_id: 99999 })).toEqual([422, "item_id"])
    expect(await keys({ name: "x", parent_path: "0009" })).toEqual([422, "parent_path"])
    expect(await keys({ name: "x", unit_price: "-1" })).toEqual([422, "unit_price"])
    expect(await keys({ name: "x", quantity: "-1", discount_percent: 101 })).toEqual([
      422,
      "quantity",
      "discount_percent"
    ])
    expect(await keys({ name: "x", starts_at: "2026-02-02", ends_at: "2026-02-01" })).toEqual([422, "ends_at"])
    expect(await keys({ name: "x", item_type: "accessory" })).toEqual([422, "principal_item_id"])
    expect(await keys({ name: "x", item_type: "accessory", principal_item_id: 99999 })).toEqual([404])
    expect(await keys({ name: "x", currency: "EUR", unit_price: "1.00" })).toEqual([422, "currency"])
    expect((await w.post(`${opportunity_path}/999999/items`, lineL)).status).toBe(404)
  })
  it("eight edits at once lose nothing", async () => {
    const opportunity = await w.opportunity()
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        w.post(`${opportunity_path}/${opportunity.id}/items`, { name: `L${at}`, unit_price: "10.00" })
      )
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(201))
    const shown = (await w.get(`${opportunity_path}/${opportunity.id}?include=items`)).body.opportunity
    expect(shown.charge_total).toBe("80.00")
    expect(shown.items.map((line: { path: string }) => line.path)).toEqual([
      "0001",
      "0002",
      "0003",
      "0004",
      "0005",
      "0006",
      "0007",
      "0008"
    ])
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
