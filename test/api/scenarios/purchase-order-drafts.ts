/** Draft purchase orders: creating, changing and deleting them, lists. */
import { expect } from "vitest"
import { amounts, refusedOn } from "../calling.ts"
import { ends_at, hundred, orders, type Scenario, scenario, starts_at } from "../purchase-scenarios.ts"

export const orderDraftScenarios = (): ReadonlyArray<Scenario> => [
  scenario(1, "a draft order has its defaults and its totals", async (s) => {
    const supplier = await s.supplier()
    const reply = await s.post(orders, { supplier_id: supplier.id, subject: s.name, items: [hundred] })
    expect(reply.status).toBe(201)
    expect(reply.body.meta).toBeUndefined()
    expect(reply.body.purchase_order).toMatchObject({
      subject: s.name,
      reference: null,
      po_type: "sub_hire",
      po_type_name: "Sub-Hire",
      status: "draft",
      status_name: "Draft",
      supplier_id: supplier.id,
      store_id: 1,
      opportunity_id: null,
      currency_code: "GBP",
      exchange_rate: "1.00000000",
      subtotal: "100.00",
      tax_total: "20.00",
      total: "120.00",
      expected_at: null,
      starts_at: null,
      ends_at: null,
      sent_at: null,
      received_at: null,
      returned_at: null,
      cancelled_at: null,
      cancellation_reason: null,
      delivery_instructions: null,
      notes: null,
      created_by: 1,
      custom_fields: {},
      supplier: null,
      store: null,
      opportunity: null
    })
    expect(reply.body.purchase_order.items).toHaveLength(1)
    expect(reply.body.purchase_order.items[0]).toMatchObject({
      purchase_order_id: reply.body.purchase_order.id,
      product_id: null,
      opportunity_item_id: null,
      name: "Truss",
      description: null,
      quantity: "1.00",
      received_quantity: "0.00",
      outstanding_quantity: "1.00",
      unit_cost: "100.00",
      discount_percent: null,
      subtotal: "100.00",
      tax_class_id: 1,
      tax_rate: "20.0000",
      tax_total: "20.00",
      total: "120.00",
      cost_group_id: null,
      starts_at: null,
      ends_at: null,
      sort_order: 0
    })
  }),
  scenario(2, "a draft order gets the next number of ten digits", async (s) => {
    const one = await s.order()
    const other = await s.order({ po_type: "purchase" })
    s.later(async ({ ask }) => {
      const numbers = await Promise.all(
        [one, other].map(async ({ id }) => (await ask("GET", `${orders}/${id}`)).body.purchase_order.number)
      )
      expect(numbers[0]).toMatch(/^\d{10}$/)
      expect(Number(numbers[1])).toBe(Number(numbers[0]) + 1)
    })
  }),
  scenario(3, "a draft order is refused for missing, archived, user and venue suppliers", async (s) => {
    refusedOn(await s.post(orders, {}), "supplier_id")
    refusedOn(await s.post(orders, { supplier_id: 999_999 }), "supplier_id")
    const gone = await s.supplier()
    await s.remove(`/api/v1/members/${gone.id}`)
    refusedOn(await s.post(orders, { supplier_id: gone.id }), "supplier_id")
    const [user] = (await s.get("/api/v1/members?q[membership_type_eq]=user")).body.members
    refusedOn(await s.post(orders, { supplier_id: user.id }), "supplier_id")
    const venue = await s.supplier({ membership_type: "venue", purchase_tax_class_id: null })
    refusedOn(await s.post(orders, { supplier_id: venue.id }), "supplier_id")
    const contact = await s.supplier({ membership_type: "contact" })
    expect((await s.order({ supplier_id: contact.id })).supplier_id).toBe(contact.id)
  }),
  scenario(4, "a draft order accepts its type without an underscore or with capitals", async (s) => {
    expect((await s.order({ po_type: "subhire" })).po_type).toBe("sub_hire")
    expect((await s.order({ po_type: "Sub_Hire" })).po_type).toBe("sub_hire")
    expect((await s.order({ po_type: "purchase" })).po_type_name).toBe("Purchase")
    const supplier_id = (await s.supplier()).id
    refusedOn(await s.post(orders, { supplier_id, po_type: "lease" }), "po_type")
  }),
  scenario(5, "a draft order refuses invalid texts, dates and references", async (s) => {
    const supplier_id = (await s.supplier()).id
    const sent = (body: object) => s.post(orders, { supplier_id, ...body })
    refusedOn(await sent({ subject: "x".repeat(256) }), "subject")
    refusedOn(await sent({ reference: "x".repeat(256) }), "reference")
    refusedOn(await sent({ notes: "x".repeat(5_001) }), "notes")
    refusedOn(await sent({ delivery_instructions: "x".repeat(5_001) }), "delivery_instructions")
    refusedOn(await sent({ expected_at: "soon" }), "expected_at")
    refusedOn(await sent({ store_id: 999_999 }), "store_id")
    refusedOn(await sent({ opportunity_id: 999_999 }), "opportunity_id")
    refusedOn(await sent({ starts_at: ends_at, ends_at: starts_at }), "ends_at")
    expect((await s.order({ starts_at, ends_at: starts_at })).ends_at).toBe(starts_at)
  }),
  scenario(6, "a draft order is in the supplier's currency, which must be enabled and have a rate", async (s) => {
    const supplier_id = (await s.supplier()).id
    refusedOn(await s.post(orders, { supplier_id, currency: "JPY" }), "currency")
    refusedOn(await s.post(orders, { supplier_id, currency: "XXX" }), "currency")
    refusedOn(await s.post(orders, { supplier_id, currency_code: "USD" }), "currency")
    await s.made(
      "/api/v1/exchange_rates",
      { source_currency_code: "EUR", target_currency_code: "GBP", rate: "0.80" },
      "exchange_rate"
    )
    const abroad = await s.supplier({ default_currency_code: "EUR" })
    expect(await s.order({ supplier_id: abroad.id })).toMatchObject({
      currency_code: "EUR",
      exchange_rate: "0.80000000",
      total: "120.00"
    })
    expect((await s.order({ supplier_id: abroad.id, currency: "GBP" })).currency_code).toBe("GBP")
  }),
  scenario(7, "a draft order keeps fields that a change leaves out, and clears null ones", async (s) => {
    const { id } = await s.order({ reference: "Q 17", notes: "By noon", expected_at: starts_at })
    const { body } = await s.put(`${orders}/${id}`, { reference: null, delivery_instructions: "Dock 2" })
    expect(body.purchase_order).toMatchObject({
      subject: s.name,
      reference: null,
      notes: "By noon",
      expected_at: starts_at,
      delivery_instructions: "Dock 2",
      total: "120.00"
    })
    expect(body.purchase_order.items).toHaveLength(1)
  }),
  scenario(8, "a draft order keeps its currency", async (s) => {
    const { id } = await s.order()
    refusedOn(await s.put(`${orders}/${id}`, { currency: "EUR" }), "currency")
    expect((await s.put(`${orders}/${id}`, { currency_code: "GBP" })).status).toBe(200)
  }),
  scenario(9, "a draft order is taxed again for another supplier", async (s) => {
    const { id } = await s.order()
    const untaxed = await s.supplier({ purchase_tax_class_id: null })
    const { body } = await s.put(`${orders}/${id}`, { supplier_id: untaxed.id })
    expect(amounts(body.purchase_order)).toEqual(["100.00", "0.00", "100.00"])
    expect(body.purchase_order.items[0].tax_rate).toBe("0.0000")
    const [user] = (await s.get("/api/v1/members?q[membership_type_eq]=user")).body.members
    refusedOn(await s.put(`${orders}/${id}`, { supplier_id: user.id }), "supplier_id")
  }),
  scenario(10, "a draft order does not change when it is sent back as read", async (s) => {
    const product = await s.product({ sub_rental_price: "33.33" })
    const { id } = await s.order({ items: [{ product_id: product.id, quantity: "3" }, hundred] })
    const before = await s.shown(id)
    const { body } = await s.put(`${orders}/${id}`, before)
    expect(body.purchase_order).toEqual(before)
  }),
  scenario(11, "a draft order is gone once deleted", async (s) => {
    const { id } = await s.order()
    expect((await s.remove(`${orders}/${id}`)).status).toBe(204)
    expect((await s.get(`${orders}/${id}`)).status).toBe(404)
    expect((await s.get(`${orders}?q[id_eq]=${id}`)).body.meta.total).toBe(0)
    expect((await s.send(id)).status).toBe(404)
    expect((await s.remove(`${orders}/${id}`)).status).toBe(404)
  }),
  scenario(12, "a draft order is filtered and sorted in lists", async (s) => {
    const deal = await s.deal()
    const hire = await s.order({ reference: "R-12", opportunity_id: deal.id, expected_at: "2031-08-30T00:00:00Z" })
    const bought = await s.order({ po_type: "purchase", starts_at: null, expected_at: "2031-08-29T00:00:00Z" })
    const ids = async (query: string): Promise<ReadonlyArray<number>> =>
      (await s.get(`${orders}?q[subject_eq]=${s.name}&${query}`)).body.purchase_orders.map((one) => one.id)
    expect(await ids("")).toEqual([hire.id, bought.id])
    expect(await ids("sort=expected_at")).toEqual([bought.id, hire.id])
    expect(await ids("sort=-created_at")).toHaveLength(2)
    expect(await ids("q[po_type_eq]=subhire")).toEqual([hire.id])
    expect(await ids("q[po_type_eq]=Purchase")).toEqual([bought.id])
    expect(await ids("q[po_type_not_eq]=sub_hire")).toEqual([bought.id])
    expect(await ids("q[status_eq]=draft")).toEqual([hire.id, bought.id])
    expect(await ids("q[status_in]=sent,Partially Received")).toEqual([])
    expect(await ids("q[reference_cont]=r-1")).toEqual([hire.id])
    expect(await ids(`q[supplier_id_eq]=${bought.supplier_id}`)).toEqual([bought.id])
    expect(await ids(`q[supplier.name_eq]=${encodeURIComponent(`${s.name} supplier 2`)}`)).toEqual([hire.id])
    expect(await ids(`q[opportunity_id_eq]=${deal.id}`)).toEqual([hire.id])
    expect(await ids("q[starts_at_null]=1")).toEqual([bought.id])
    expect(await ids("q[expected_at_lt]=2031-08-29T12:00:00Z")).toEqual([bought.id])
    expect(await ids("q[sent_at_present]=1")).toEqual([])
    expect(await ids("q[store_id_eq]=1")).toEqual([hire.id, bought.id])
  }),
  scenario(13, "a draft order includes related rows on request", async (s) => {
    const deal = await s.deal()
    const { id, supplier_id } = await s.order({ opportunity_id: deal.id })
    const one = await s.shown(id, "supplier,store,opportunity,items")
    expect(one).toMatchObject({
      supplier: { id: supplier_id },
      store: { id: 1 },
      opportunity: { id: deal.id, name: deal.subject }
    })
    expect(one.items).toHaveLength(1)
    expect((await s.get(`${orders}/${id}`)).body.purchase_order.items).toBeNull()
    const listed = (await s.get(`${orders}?q[id_eq]=${id}&include=items,supplier`)).body.purchase_orders
    expect(listed[0].items[0].outstanding_quantity).toBe("1.00")
    expect(listed[0].supplier?.id).toBe(supplier_id)
  }),
  scenario(14, "a draft order has custom fields", async (s) => {
    const key = `gate_${s.name.slice(-3)}`
    await s.made(
      "/api/v1/custom_fields",
      { module_type: "PurchaseOrder", name: key, field_type: 0, is_searchable: true },
      "custom_field"
    )
    const { id, custom_fields } = await s.order({ custom_fields: { [key]: "North" } })
    expect(custom_fields[key]).toBe("North")
    const { body } = await s.put(`${orders}/${id}`, { custom_fields: { [key]: "South" } })
    expect(body.purchase_order.custom_fields[key]).toBe("South")
    expect((await s.get(`${orders}?q[cf.${key}_eq]=South`)).body.purchase_orders.map((one) => one.id)).toEqual([id])
  }),
  scenario(15, "a draft order follows its supplier when suppliers are merged", async (s) => {
    const first = await s.supplier()
    const second = await s.supplier()
    const { id } = await s.order({ supplier_id: second.id })
    expect((await s.post(`/api/v1/members/${first.id}/merge`, { secondary_id: second.id })).status).toBe(200)
    expect((await s.shown(id)).supplier_id).toBe(first.id)
  })
]
