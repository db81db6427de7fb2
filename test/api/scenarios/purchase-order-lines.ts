/** Lines of purchase orders: defaults from products, totals, changes. */
import { expect } from "vitest"
import { amounts, refusedOn, type Made } from "../calling.ts"
import { ends_at, hundred, opp, orders, type Scenario, scenario, starts_at } from "../purchase-scenarios.ts"

const rowAmounts = ({ items }: Made<"purchase_order">): ReadonlyArray<ReadonlyArray<string>> => items.map(amounts)

export const orderLineScenarios = (): ReadonlyArray<Scenario> => [
  scenario(21, "a line takes name, cost, tax class and cost group from its product", async (s) => {
    const group = await s.made("/api/v1/cost_groups", { name: `${s.name} hire` }, "cost_group")
    const bought = await s.made("/api/v1/cost_groups", { name: `${s.name} bought` }, "cost_group")
    const product = await s.product({
      purchase_tax_class_id: 2,
      sub_rental_price: "12.50",
      purchase_price: "400.00",
      sub_rental_cost_group_id: group.id,
      purchase_cost_group_id: bought.id
    })
    const hire = await s.order({ items: [{ product_id: product.id, quantity: "4" }] })
    expect(hire.items[0]).toMatchObject({
      product_id: product.id,
      name: product.name,
      unit_cost: "12.50",
      subtotal: "50.00",
      tax_class_id: 2,
      cost_group_id: group.id,
      starts_at,
      ends_at
    })
    const purchase = await s.order({ po_type: "purchase", items: [{ product_id: product.id }] })
    expect(purchase.items[0]).toMatchObject({ unit_cost: "400.00", cost_group_id: bought.id })
  }),
  scenario(22, "a line prefers values in the request to its product's", async (s) => {
    const product = await s.product({ sub_rental_price: "12.50" })
    const { items } = await s.order({
      items: [
        {
          product_id: product.id,
          name: "Their lamp",
          description: "Incl. clamp",
          unit_cost: 0,
          tax_class_id: 2,
          starts_at: "2031-09-02T00:00:00Z"
        }
      ]
    })
    expect(items[0]).toMatchObject({
      name: "Their lamp",
      description: "Incl. clamp",
      unit_cost: "0.00",
      tax_class_id: 2,
      starts_at: "2031-09-02T00:00:00.000Z",
      ends_at
    })
  }),
  scenario(23, "an order rounds tax once per class, and gives the remainder to the last line", async (s) => {
    const row = { name: "A third", unit_cost: "33.33" }
    const order = await s.order({ items: [row, row] })
    expect(amounts(order)).toEqual(["66.66", "13.33", "79.99"])
    expect(rowAmounts(order)).toEqual([
      ["33.33", "6.67", "40.00"],
      ["33.33", "6.66", "39.99"]
    ])
  }),
  scenario(24, "a line applies its quantity and discount", async (s) => {
    const order = await s.order({
      items: [{ name: "Tent", unit_cost: "33.33", quantity: "2.5", discount_percent: "10" }]
    })
    // 83.325 rounds to 83.33, less 8.33.
    expect(amounts(order.items[0])).toEqual(["75.00", "15.00", "90.00"])
    expect(order.items[0].discount_percent).toBe("10.00")
  }),
  scenario(25, "an order refuses invalid lines by position and field", async (s) => {
    const supplier_id = (await s.supplier()).id
    const sent = (items: ReadonlyArray<object>) => s.post(orders, { supplier_id, items })
    refusedOn(await sent([{ unit_cost: "1.00" }]), "items.0.name")
    refusedOn(await sent([hundred, { ...hundred, quantity: "0" }]), "items.1.quantity")
    refusedOn(await sent([{ ...hundred, unit_cost: "-1.00" }]), "items.0.unit_cost")
    refusedOn(await sent([{ ...hundred, unit_cost: "1.005" }]), "items.0.unit_cost")
    refusedOn(await sent([{ ...hundred, unit_cost: "x" }]), "items.0.unit_cost")
    refusedOn(await sent([{ ...hundred, discount_percent: "100.01" }]), "items.0.discount_percent")
    for (const column of ["product_id", "tax_class_id", "cost_group_id"])
      refusedOn(await sent([{ ...hundred, [column]: 999_999 }]), `items.0.${column}`)
    refusedOn(await sent([{ ...hundred, name: "x".repeat(256) }]), "items.0.name")
    refusedOn(await s.post(orders, { supplier_id, items: "all" }), "items")
    refusedOn(await sent([{ ...hundred, id: 1 }]), "items.0.id")
    refusedOn(await sent([{ ...hundred, starts_at: ends_at, ends_at: starts_at }]), "items.0.ends_at")
    // All errors at once, each with its position.
    refusedOn(
      await sent([{ unit_cost: "1.00" }, hundred, { ...hundred, unit_cost: "-1" }]),
      "items.0.name",
      "items.2.unit_cost"
    )
  }),
  scenario(26, "a line without a cost or a product costs nothing", async (s) => {
    const order = await s.order({ items: [{ name: "Delivery" }] })
    expect(order.items[0].unit_cost).toBe("0.00")
    expect(order.total).toBe("0.00")
  }),
  scenario(27, "a line converts its product's cost to the order's currency", async (s) => {
    expect((await s.put("/api/v1/currencies/JPY", { is_enabled: true })).status).toBe(200)
    await s.made(
      "/api/v1/exchange_rates",
      { source_currency_code: "JPY", target_currency_code: "GBP", rate: "0.005" },
      "exchange_rate"
    )
    const product = await s.product({ sub_rental_price: "12.50" })
    const order = await s.order({ currency: "JPY", items: [{ product_id: product.id, quantity: "2" }] })
    expect(order).toMatchObject({ currency_code: "JPY", subtotal: "5000", tax_total: "1000", total: "6000" })
    expect(order.items[0].unit_cost).toBe("2500")
    refusedOn(
      await s.post(orders, {
        supplier_id: order.supplier_id,
        currency: "JPY",
        items: [{ name: "x", unit_cost: "1.5" }]
      }),
      "items.0.unit_cost"
    )
  }),
  scenario(28, "a line may refer only to a line of the order's own opportunity", async (s) => {
    const deal = await s.deal()
    const other = await s.deal()
    const supplier_id = (await s.supplier()).id
    const items = [{ ...hundred, opportunity_item_id: deal.line }]
    refusedOn(await s.post(orders, { supplier_id, items }), "items.0.opportunity_item_id")
    refusedOn(await s.post(orders, { supplier_id, opportunity_id: other.id, items }), "items.0.opportunity_item_id")
    const order = await s.order({ supplier_id, opportunity_id: deal.id, items })
    expect(order.items[0].opportunity_item_id).toBe(deal.line)
    refusedOn(await s.put(`${orders}/${order.id}`, { opportunity_id: other.id }), "opportunity_id")
    refusedOn(await s.put(`${orders}/${order.id}`, { opportunity_id: null }), "opportunity_id")
    const { body } = await s.put(`${orders}/${order.id}`, {
      opportunity_id: null,
      items: [{ id: order.items[0].id, opportunity_item_id: null }]
    })
    expect([body.purchase_order.opportunity_id, body.purchase_order.items[0].opportunity_item_id]).toEqual([null, null])
  }),
  scenario(29, "an update replaces all lines, and keeps ids and absent fields of known ones", async (s) => {
    const { id, items } = await s.order({ items: [hundred, { name: "Rig", unit_cost: "10.00", quantity: "3" }] })
    const [truss, rig] = items
    const { body } = await s.put(`${orders}/${id}`, {
      items: [
        { id: rig!.id, quantity: "4" },
        { name: "Truck", unit_cost: "60.00" }
      ]
    })
    expect(body.purchase_order.items.map((item) => [item.name, item.quantity, item.subtotal])).toEqual([
      ["Rig", "4.00", "40.00"],
      ["Truck", "1.00", "60.00"]
    ])
    expect(body.purchase_order.items[0].id).toBe(rig!.id)
    expect(body.purchase_order.items.map((item) => item.id)).not.toContain(truss.id)
    expect(body.purchase_order.total).toBe("120.00")
    refusedOn(await s.put(`${orders}/${id}`, { items: [{ id: truss.id }] }), "items.0.id")
    refusedOn(await s.put(`${orders}/${id}`, { items: [{ id: rig!.id }, { id: rig!.id }] }), "items.1.id")
    expect((await s.put(`${orders}/${id}`, { items: [] })).body.purchase_order.items).toEqual([])
  }),
  scenario(30, "a line takes name and cost of another product that replaces its own", async (s) => {
    const lamp = await s.product({ sub_rental_price: "10.00" })
    const desk = await s.product({ sub_rental_price: "25.00" })
    const { id, items } = await s.order({ items: [{ product_id: lamp.id, quantity: "2" }] })
    const { body } = await s.put(`${orders}/${id}`, { items: [{ id: items[0].id, product_id: desk.id }] })
    expect(body.purchase_order.items[0]).toMatchObject({
      id: items[0].id,
      name: desk.name,
      unit_cost: "25.00",
      quantity: "2.00",
      subtotal: "50.00"
    })
  }),
  scenario(31, "a line moves with the order's dates unless it has its own", async (s) => {
    const own = { ...hundred, starts_at: "2031-09-03T00:00:00.000Z" }
    const { id } = await s.order({ items: [hundred, own] })
    const later = "2031-09-02T09:00:00.000Z"
    const { body } = await s.put(`${orders}/${id}`, { starts_at: later, ends_at: "2031-09-08T00:00:00Z" })
    expect(body.purchase_order.items.map((item) => [item.starts_at, item.ends_at])).toEqual([
      [later, "2031-09-08T00:00:00.000Z"],
      [own.starts_at, "2031-09-08T00:00:00.000Z"]
    ])
    refusedOn(await s.put(`${orders}/${id}`, { ends_at: "2031-09-02T10:00:00Z" }), "ends_at")
  }),
  scenario(32, "an order refuses a total too large to be exact", async (s) => {
    const supplier_id = (await s.supplier()).id
    const large = { name: "All", unit_cost: "20000000.00", quantity: "1000000000" }
    refusedOn(await s.post(orders, { supplier_id, items: [large] }), "items.0.unit_cost")
  }),
  scenario(33, "a line follows its product when products are merged", async (s) => {
    const kept = await s.product()
    const doubled = await s.product()
    const { id } = await s.order({ items: [{ product_id: doubled.id, unit_cost: "1.00" }] })
    expect((await s.post(`/api/v1/products/${kept.id}/merge`, { secondary_id: doubled.id })).status).toBe(200)
    expect((await s.shown(id)).items[0].product_id).toBe(kept.id)
  }),
  scenario(34, "a line loses its reference when the opportunity's line is deleted", async (s) => {
    const deal = await s.deal()
    const { id } = await s.order({ opportunity_id: deal.id, items: [{ ...hundred, opportunity_item_id: deal.line }] })
    expect((await s.remove(`${opp}/${deal.id}/items/${deal.line}`)).status).toBeLessThan(300)
    const { items } = await s.shown(id)
    expect([items[0].name, items[0].opportunity_item_id]).toEqual(["Truss", null])
  })
]
