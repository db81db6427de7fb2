/** Prices under locks, lines, totals, costs, participants. */
import { expect } from "vitest"
import { fourDays, fifty_each, opp, type Scenario, scenario, type Scene } from "../opportunity-scenarios.ts"

const taxedMember = (s: Scene) =>
  s.made(
    "/api/v1/members",
    { name: `Taxed ${s.subject}`, membership_type: "organisation", sale_tax_class_id: 1 },
    "member"
  )
const days = (from: string, to: string) => ({
  starts_at: `2031-10-${from}T09:00:00Z`,
  ends_at: `2031-10-${to}T09:00:00Z`
})

export const lineScenarios = (): ReadonlyArray<Scenario> => [
  scenario(65, "changed lines of a locked order are taxed at the locked rate", async (s) => {
    const member = await taxedMember(s)
    const product = await s.product({ stock_method: 1, tax_class_id: 1 })
    for (const [change, total, tax, including] of [
      [{ unit_price: "75.00" }, "600.00", "120.00", "720.00"],
      [{ discount_percent: 10 }, "360.00", "72.00", "432.00"],
      [{ quantity: 4 }, "800.00", "160.00", "960.00"]
    ] as const) {
      const {
        id,
        items: [line]
      } = await s.withLine({ ...fourDays, member_id: member.id }, { ...fifty_each, item_id: product.id })
      expect((await s.ordered(id)).body.opportunity).toMatchObject({ charge_total: "400.00", tax_total: "80.00" })
      const after = (await s.patch(`${opp}/${id}/items/${line.id}`, change)).body.opportunity
      expect(after).toMatchObject({ charge_total: total, tax_total: tax, items: [{ total }] })
      expect(after.charge_including_tax_total).toBe(including)
    }
  }),
  scenario(67, "a line without dates is charged for one day", async (s) =>
    expect((await s.withLine({})).items[0].total).toBe("100.00")
  ),
  scenario(69, "a line is charged for the days of its hire", async (s) => {
    expect(
      (await s.withLine(days("01", "04"), { name: "Wall", quantity: 5, unit_price: "450.00" })).items[0].total
    ).toBe("6750.00")
  }),
  scenario(71, "a changed quantity changes the charge", async (s) => {
    const {
      id,
      items: [line]
    } = await s.withLine()
    expect((await s.patch(`${opp}/${id}/items/${line.id}`, { quantity: "4" })).body.opportunity.charge_total).toBe(
      "800.00"
    )
    const other = await s.deal()
    expect((await s.patch(`${opp}/${other.id}/items/${line.id}`, { quantity: "4" })).status).toBe(404)
  }),
  scenario(73, "a discount reduces the charge", async (s) => {
    const {
      id,
      items: [line]
    } = await s.withLine({})
    expect(
      (await s.patch(`${opp}/${id}/items/${line.id}`, { discount_percent: 10 })).body.opportunity.items[0].total
    ).toBe("90.00")
  }),
  scenario(75, "a new name keeps price and total", async (s) => {
    const {
      id,
      items: [line]
    } = await s.withLine()
    const reply = await s.patch(`${opp}/${id}/items/${line.id}`, { name: "Renamed Stack" })
    expect([reply.status, reply.body.opportunity.items[0]]).toMatchObject([
      200,
      { name: "Renamed Stack", unit_price: "50.00", total: "400.00" }
    ])
  }),
  scenario(77, "the product's rate sets the price", async (s) => {
    const member = await taxedMember(s)
    const product = await s.product({ stock_method: 1, tax_class_id: 1 })
    const definition = await s.made(
      "/api/v1/rate_definitions",
      { name: "Daily 77", calculation_strategy: "period", base_period: "daily" },
      "rate_definition"
    )
    await s.made(
      `/api/v1/products/${product.id}/rates`,
      { rate_definition_id: definition.id, transaction_type: "rental", price: "100.00", currency: "GBP" },
      "rate"
    )
    const opportunity = await s.withLine(
      { ...days("01", "04"), member_id: member.id },
      { name: "Lamp", item_id: product.id, quantity: 2 }
    )
    expect(opportunity).toMatchObject({
      tax_total: "120.00",
      charge_including_tax_total: "720.00",
      items: [{ unit_price: "100.00", total: "600.00", tax_rate: "20.00" }]
    })
  }),
  scenario(79, "a text line with a price is charged, and claims no stock", async (s) => {
    const opportunity = await s.withLine(days("01", "03"), {
      item_type: "text",
      name: "Note",
      quantity: 1,
      unit_price: "50.00"
    })
    expect(opportunity.items[0].total).toBe("100.00")
    const dearer = await s.withLine(days("01", "03"), {
      item_type: "text",
      name: "Note",
      quantity: 1,
      unit_price: "100.00",
      discount_percent: 10
    })
    expect(dearer.items[0].total).toBe("180.00")
    await s.ordered(opportunity.id)
    s.later(async ({ held }) => expect(await held(opportunity.id)).toBe(0))
  }),
  scenario(81, "a line is added below a group", async (s) => {
    const { id } = await s.withLine({}, { item_type: "group", name: "Stage" })
    expect(
      (await s.post(`${opp}/${id}/items`, { name: "In it", parent_path: "0001" })).body.opportunity.items.map(
        (one) => one.path
      )
    ).toEqual(["0001", "00010001"])
  }),
  scenario(83, "included accessories are added with their product", async (s) => {
    const product = await s.product({ stock_method: 1 })
    const accessory = async (quantity: string, included: boolean) => {
      const { id } = await s.product({ stock_method: 1 })
      await s.made(
        `/api/v1/products/${product.id}/accessories`,
        { accessory_product_id: id, quantity, included },
        "accessory"
      )
    }
    await accessory("2", true)
    await accessory("1", false)
    const one = await s.withLine({}, { name: "Head", item_id: product.id, quantity: 3 })
    expect(one.items).toMatchObject([
      { path: "0001", item_type: "product" },
      { path: "00010001", item_type: "accessory", quantity: "6.00" }
    ])
    await accessory("0.5", true)
    const two = await s.withLine({}, { name: "Head", item_id: product.id, quantity: 4 })
    expect(two.items.map((line) => [line.path, line.quantity])).toEqual([
      ["0001", "4.00"],
      ["00010001", "8.00"],
      ["00010002", "2.00"]
    ])
  }),
  scenario(85, "lines are nested by reordering the tree", async (s) => {
    const {
      id,
      items: [group]
    } = await s.withLine({}, { item_type: "group", name: "Stage" })
    const {
      items: [, line]
    } = await s.made(`${opp}/${id}/items`, { name: "Desk" }, "opportunity")
    const reply = await s.patch(`${opp}/${id}/items/tree`, {
      nodes: [
        { id: group.id, depth: 1 },
        { id: line!.id, depth: 2 }
      ]
    })
    expect(reply.body.opportunity.items).toMatchObject([
      { id: group.id, path: "0001" },
      { id: line!.id, path: "00010001" }
    ])
  }),
  scenario(87, "a line is removed with those below it", async (s) => {
    const {
      id,
      items: [line]
    } = await s.withLine()
    const reply = await s.remove(`${opp}/${id}/items/${line.id}`)
    expect([reply.status, reply.body.opportunity.charge_total]).toEqual([200, "0.00"])
    const other = await s.withLine({}, { item_type: "group", name: "Stage" })
    await s.post(`${opp}/${other.id}/items`, { name: "In it", parent_path: "0001" })
    await s.post(`${opp}/${other.id}/items`, { name: "Beside" })
    expect((await s.remove(`${opp}/${other.id}/items/${other.items[0].id}`)).body.opportunity.items).toMatchObject([
      { name: "Beside", path: "0002" }
    ])
  }),
  scenario(89, "a cancelled order refuses changes of lines and costs", async (s) => {
    const {
      id,
      items: [line]
    } = await s.withLine()
    const {
      costs: [cost]
    } = await s.made(`${opp}/${id}/costs`, { description: "Van", amount: "1.00" }, "opportunity")
    await s.ordered(id)
    await s.move(id, "change_status", { status: 6 })
    for (const reply of [
      await s.patch(`${opp}/${id}/items/${line.id}`, { quantity: 3 }),
      await s.patch(`${opp}/${id}/costs/${cost!.id}`, { amount: "2.00" }),
      await s.post(`${opp}/${id}/items`, fifty_each),
      await s.post(`${opp}/${id}/costs`, { description: "x" })
    ])
      expect(reply.status).toBe(422)
  }),
  scenario(91, "a cost without a type gets the type Miscellaneous", async (s) => {
    const { id } = await s.deal()
    expect(
      (await s.post(`${opp}/${id}/costs`, { description: "Sundries", amount: "50.00", quantity: 2 })).body.opportunity
        .service_charge_total
    ).toBe("100.00")
    expect((await s.shown(id, "costs")).costs).toMatchObject([{ cost_type_label: "Miscellaneous", amount: "50.00" }])
  }),
  scenario(93, "a cost is taxed if the customer is", async (s) => {
    const { id } = await s.deal({ member_id: (await taxedMember(s)).id })
    expect(
      (await s.post(`${opp}/${id}/costs`, { description: "Cover", cost_type: 3, amount: "100.00" })).body.opportunity
    ).toMatchObject({ tax_total: "20.00", charge_including_tax_total: "120.00", charge_total: "100.00" })
  }),
  scenario(95, "lines and costs add up, and a deal price replaces their total", async (s) => {
    const { id } = await s.withLine({})
    expect(
      (await s.post(`${opp}/${id}/costs`, { description: "Truck", cost_type: 0, amount: "30.00" })).body.opportunity
    ).toMatchObject({ charge_total: "130.00", rental_charge_total: "100.00", transit_charge_total: "30.00" })
    expect((await s.move(id, "deal_price", { deal_total: "200.00" })).body.opportunity).toMatchObject({
      charge_total: "200.00",
      transit_charge_total: "30.00"
    })
  }),
  scenario(97, "a participant is added, changed and removed", async (s) => {
    const person = await s.made("/api/v1/members", { name: "Bea 97", membership_type: "contact" }, "member")
    const { id } = await s.deal()
    const { id: participant } = await s.made(
      `${opp}/${id}/participants`,
      { member_id: person.id, role: "Rigger" },
      "participant"
    )
    const at = `${opp}/${id}/participants/${participant}`
    const changed = await s.patch(at, { role: "Crew chief", mute: true })
    expect([changed.status, changed.body.participant]).toMatchObject([200, { role: "Crew chief", mute: true }])
    expect((await s.shown(id, "participants,participants.member")).participants).toMatchObject([
      { member: { id: person.id, name: "Bea 97" } }
    ])
    const other = await s.deal()
    expect((await s.patch(`${opp}/${other.id}/participants/${participant}`, { mute: false })).status).toBe(404)
    expect((await s.remove(at)).status).toBe(204)
  })
]
