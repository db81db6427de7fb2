import { beforeAll, describe, expect, it } from "vitest"
import { engines } from "../../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../../app-house.ts"
import { hire_dates, fifty_each } from "../../../../rental-house.ts"

describe.each(engines)("lines of opportunities on %s", (engine) => {
  const w = appHouse(engine)
  /** An organisation taxed at the standard 20 %. */
  let customer: number
  beforeAll(async () => {
    customer = await w.customer({ sale_tax_class_id: 1 })
  })

  const rate = (product: number, body: object) => w.create(`/products/${product}/rates`, { currency: "GBP", ...body })
  const dailyRate = async (price: string, tax_class_id: number | null = 1) => {
    const product = await w.product({ tax_class_id })
    const daily = { calculation_strategy: "period", base_period: "daily", strategy_config: { day_type: "clock" } }
    const definition = await w.create("/rate_definitions", { name: `Daily ${product}`, ...daily })
    await rate(product, { rate_definition_id: definition.id, transaction_type: "rental", price })
    return product
  }

  it("last for one day from now and are charged for it if no dates are given", async () => {
    const { items, charge_total } = await w.deal()
    expect([charge_total, items[0].charge_period_label, items[0].tax_rate]).toEqual(["100.00", "Day", "0.00"])
    expect(Date.parse(items[0].ends_at!) - Date.parse(items[0].starts_at!)).toBe(86_400_000)
  })
  it("round days up for a rate, and down for a manual price", async () => {
    const product = await dailyRate("10.00", null)
    const opportunity = await w.deal(hire_dates, { name: "Desk", item_id: product })
    expect(opportunity.items[0].total).toBe("50.00")
    const path = `/opportunities/${opportunity.id}/items/${opportunity.items[0].id}`
    expect((await w.amend(path, { unit_price: "10.00" })).items[0].total).toBe("40.00")
    expect((await w.amend(path, { unit_price: null })).items[0].total).toBe("50.00")
  })
  it("have net totals if prices include tax", async () => {
    const product = await w.product({ tax_class_id: 1 })
    const opportunity = await w.deal(
      { member_id: customer, prices_include_tax: true },
      { name: "A", item_id: product, unit_price: "120.00" }
    )
    expect(opportunity).toMatchObject({
      charge_total: "100.00",
      tax_total: "20.00",
      charge_including_tax_total: "120.00"
    })
    expect(opportunity.items[0].total).toBe("100.00")
  })
  it("have no charge and accept no price if they are groups", async () => {
    const group = await w.deal({}, { item_type: "group", name: "Sound" })
    expect(group.line).toMatchObject({ total: "0.00", quantity: "1.00", starts_at: null, tax_rate: null })
    expect((await w.patch(`/opportunities/${group.id}/items/${group.line.id}`, { unit_price: 5 })).status).toBe(422)
  })
  it("may be free as included accessories, and are removed with their product", async () => {
    const [desk, gel] = [await w.serialised(), await w.serialised()]
    const free = { quantity: "0.5", included: true, zero_priced: true }
    await w.create(`/products/${desk}/accessories`, { accessory_product_id: gel, ...free })
    const { id, items } = await w.deal(hire_dates, { name: "Desk", item_id: desk, quantity: 4 })
    expect(items[1]).toMatchObject({ path: "00010001", item_id: gel, quantity: "2.00", unit_price: "0.00" })
    expect((await w.remove(`/opportunities/${id}/items/${items[0].id}`)).body.opportunity.items).toEqual([])
  })
  describe("the kind of a line", () => {
    /** Creates a product of a type with a fixed rate for lines of that type. */
    const rated = async (product_type: string, price: string, more: object = {}) => {
      const product = await w.product({ product_type, ...more })
      const [fixed] = await w.show("/rate_definitions?q[preset_slug_eq]=fixed-rate")
      await rate(product, { rate_definition_id: fixed.id, transaction_type: product_type, price })
      return product
    }
    it("follows the product's type, with rates for sales and services", async () => {
      const { id } = await w.opportunity(hire_dates)
      await w.create(`/opportunities/${id}/items`, { name: "Tape", item_id: await rated("sale", "3.00"), quantity: 4 })
      const opportunity = await w.create(`/opportunities/${id}/items`, {
        name: "Delivery",
        item_id: await rated("service", "40.00")
      })
      expect(opportunity).toMatchObject({ sale_charge_total: "12.00", service_charge_total: "40.00" })
      expect(opportunity.items).toMatchObject([
        { transaction_type_label: "Sale", total: "12.00" },
        { transaction_type_label: "Service", total: "40.00" }
      ])
    })
    it("is the requested kind, if one is requested", async () => {
      const item_id = await rated("sale", "3.00")
      const sent = async (transaction_type: unknown) =>
        (await w.deal(hire_dates, { name: "Tape", item_id, transaction_type })).line.transaction_type
      expect([await sent(0), await sent("rental"), await sent("Sub-rental"), await sent(null)]).toEqual([0, 0, 3, 1])
    })
    it("follows a new product, unless the kind was set by hand", async () => {
      const [fog, fluid] = [await dailyRate("10.00", null), await rated("sale", "3.00")]
      const { id, line } = await w.deal(hire_dates, { name: "Fog", item_id: fog })
      const path = `/opportunities/${id}/items/${line.id}`
      expect((await w.amend(path, { item_id: fluid })).items[0]).toMatchObject({ transaction_type: 1, total: "3.00" })
      expect((await w.amend(path, { transaction_type: "service" })).items[0]).toMatchObject({ transaction_type: 2 })
      expect((await w.amend(path, { item_id: fog })).items[0]).toMatchObject({ transaction_type: 2 })
    })
    it("is that of the accessory's own product, even if hired goods add the accessory", async () => {
      const [fog, fluid] = [await dailyRate("10.00", null), await rated("sale", "3.00")]
      await w.create(`/products/${fog}/accessories`, { accessory_product_id: fluid, quantity: "1", included: true })
      const { items } = await w.deal(hire_dates, { name: "Fog", item_id: fog })
      expect(items[1]).toMatchObject({ transaction_type_label: "Sale", total: "3.00" })
    })
    it("causes no shortage if it is a service", async () => {
      const product = await rated("service", "40.00")
      const { id } = await w.deal(hire_dates, { name: "Delivery", item_id: product })
      expect(await w.confirm(id)).toMatchObject({ has_shortage: false })
      expect((await w.show(`/opportunities/${id}/shortages`)).length).toBe(0)
    })
    it("causes a warning for a service without a rate at 0.00, unless 0 was set as its price", async () => {
      const { id } = await w.opportunity({ ...hire_dates, member_id: await w.customer({ sale_tax_class_id: 1 }) })
      const item_id = await w.product({ name: "Delivery", product_type: "service", tax_class_id: 1 })
      const warnings = async (body: object) =>
        (await w.must("POST", `/opportunities/${id}/items`, { name: "Delivery", item_id, ...body })).meta.warnings
      expect(await warnings({})).toEqual([
        "Delivery comes out at 0.00: no service rate holds for it here. Set a unit price, 0 where it is free."
      ])
      expect(await warnings({ unit_price: 0 })).toBeUndefined()
      expect(await warnings({ unit_price: "1.00" })).toBeUndefined()
      const path = `/opportunities/${id}`
      const { body } = await w.post(`${path}/convert_to_quotation`)
      const { id: line_id } = (await w.show(`${path}?include=items`)).items[0]
      const number = Number(body.opportunity.number)
      const said = [
        `At 0.00 without being meant to: Delivery; PATCH /api/v1${path}/items/${line_id} {"unit_price": PRICE} ` +
          `(flightcase quote update '#${number}' ${line_id} --price PRICE), 0 where it is free.`
      ]
      expect((await w.post(`${path}/convert_to_order`)).body.meta.warnings).toEqual(said)
      expect((await w.post(`${path}/invoices`)).body.meta.warnings).toEqual(said)
      await w.amend(`${path}/items/${line_id}`, { unit_price: 0 })
      expect((await w.post(`${path}/invoices`)).body.meta?.warnings ?? []).not.toContainEqual(
        expect.stringMatching(/^At 0/)
      )
    })
  })
  it("keep a manual total to the penny, until a manual price or a rate replaces it", async () => {
    const product = await dailyRate("10.00", null)
    const { id, line } = await w.deal(hire_dates, {
      name: "Desk",
      item_id: product,
      quantity: 9,
      line_total: "1500.00"
    })
    expect(line).toMatchObject({ total: "1500.00", unit_price: "166.67", charged_periods: "1" })
    const path = `/opportunities/${id}/items/${line.id}`
    const amended = async (body: object) => (await w.amend(path, body)).items[0]
    expect(await amended({ quantity: 10, discount_percent: 10 })).toMatchObject({
      total: "1350.00",
      unit_price: "150.00"
    })
    expect(await amended({ unit_price: "1.00", discount_percent: null })).toMatchObject({
      total: "40.00",
      charged_periods: "4"
    })
    expect(await amended({ line_total: "99.00" })).toMatchObject({ total: "99.00" })
    expect(await amended({ line_total: null })).toMatchObject({ total: "500.00", unit_price: "10.00" })
    await refused(w.patch(path, { line_total: "1.00", unit_price: "1.00" }), "line_total")
  })
  it("are rejected with another store than their opportunity's", async () => {
    const { id } = await w.opportunity(hire_dates)
    expect((await w.post(`/opportunities/${id}/items`, { ...fifty_each, store_id: 1 })).status).toBe(201)
    await refused(w.post(`/opportunities/${id}/items`, { ...fifty_each, store_id: await w.store() }), "store_id")
  })
  it("charge a manual price once if the charge period is fixed", async () => {
    const charged = async (charge_period: unknown) =>
      (await w.deal(hire_dates, { ...fifty_each, charge_period })).charge_total
    expect([await charged(undefined), await charged("Week"), await charged("fixed")]).toEqual([
      "400.00",
      "400.00",
      "100.00"
    ])
    await refused(
      w.post(`/opportunities/${(await w.opportunity()).id}/items`, { ...fifty_each, charge_period: "fortnight" }),
      "charge_period"
    )
  })
  it("are reordered completely or not at all, unless the lines left out are to be removed", async () => {
    const { id } = await w.opportunity()
    await w.create(`/opportunities/${id}/items`, { item_type: "group", name: "G" })
    const [group, line] = (await w.create(`/opportunities/${id}/items`, fifty_each)).items
    const nest = (nodes: ReadonlyArray<object>, body = {}) =>
      w.patch(`/opportunities/${id}/items/tree`, { nodes, ...body })
    const below_a_line = [line, group].map(({ id }, at) => ({ id, depth: at + 1 }))
    expect((await nest(below_a_line)).status).toBe(422)
    await refused(nest([{ id: group.id, depth: 1 }]), "nodes")
    expect((await nest([])).status).toBe(422)
    expect((await w.patch(`/opportunities/${id}/items/tree`, {})).status).toBe(422)
    const pruned = await nest([{ id: group.id, depth: 1 }], { prune_orphans: true })
    expect(pruned.body.opportunity).toMatchObject({ charge_total: "0.00", items: [{ id: group.id }] })
  })
  it("are rejected by field if invalid", async () => {
    const { id } = await w.opportunity(hire_dates)
    const add = (body: object) => w.post(`/opportunities/${id}/items`, body)
    await refused(add({}), "name")
    await refused(add({ name: "x", item_type: "thing" }), "item_type")
    await refused(add({ name: "x", item_id: 99999 }), "item_id")
    await refused(add({ name: "x", parent_path: "0009" }), "parent_path")
    await refused(add({ name: "x", unit_price: "-1" }), "unit_price")
    await refused(add({ name: "x", quantity: "-1", discount_percent: 101 }), "quantity", "discount_percent")
    await refused(add({ name: "x", starts_at: "2026-02-02", ends_at: "2026-02-01" }), "ends_at")
    await refused(add({ name: "x", item_type: "accessory" }), "principal_item_id")
    expect((await add({ name: "x", item_type: "accessory", principal_item_id: 99999 })).status).toBe(404)
    await refused(add({ name: "x", currency: "EUR", unit_price: "1.00" }), "currency")
    expect((await w.post(`/opportunities/999999/items`, fifty_each)).status).toBe(404)
  })
  it("are all kept when eight are added concurrently", async () => {
    const opportunity = await w.opportunity()
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        w.post(`/opportunities/${opportunity.id}/items`, { name: `L${at}`, unit_price: "10.00" })
      )
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(201))
    const shown = await w.show(`/opportunities/${opportunity.id}?include=items`)
    expect(shown.charge_total).toBe("80.00")
    expect(shown.items.map((line) => line.path)).toEqual(Array.from({ length: 8 }, (_, at) => `000${at + 1}`))
  })
  itFoldsAgain(w)
})
