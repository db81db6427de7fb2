/** Purchase orders from outside: rules/billing 2, the rulings, and the interface 2.10, 3.3, 4.12, 5 and 6. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { mailServer, type TestMailServer } from "../server/mail/smtp.ts"
import { now, refusal, sums } from "./billing-black-box.ts"
import { everything, hire, keyed, listening, openYard, soon, wordsOf, type Yard } from "./procurement-black-box.ts"

const order_costs = ["exchange_rate", "subtotal", "tax_total", "total"]
const item_costs = ["unit_cost", "discount_percent", "subtotal", "tax_rate", "tax_total", "total"]
const out = (iso: string): string => iso.replace("Z", ".000Z")

describe.each(engines)("A purchase order, on %s (rules/billing 2.2, 2.3)", (engine) => {
  let yard: Yard
  beforeAll(async () => {
    yard = await openYard(engine)
  })
  afterAll(() => yard.close())

  it("has every field in its form", async () => {
    const { id } = await yard.order()
    const { items, ...order } = await yard.order_of(id)
    expect(order).toMatchObject({
      ...{ id, subject: null, reference: null, po_type: "sub_hire", status: "draft", status_name: "Draft" },
      ...{ supplier_id: yard.supplier, store_id: 1, opportunity_id: null, currency_code: "GBP" },
      ...{ exchange_rate: "1.00000000", subtotal: "100.00", tax_total: "20.00", total: "120.00", expected_at: null },
      ...{ starts_at: out(hire.starts_at), ends_at: out(hire.ends_at), sent_at: null, received_at: null },
      ...{ cancelled_at: null, cancellation_reason: null, delivery_instructions: null, notes: null, created_by: 1 },
      ...{ custom_fields: {}, created_at: now, updated_at: now, supplier: null, store: null, opportunity: null }
    })
    expect(order.number).toMatch(/^\d{10}$/)
    expect([typeof id, typeof order.po_type_name]).toEqual(["number", "string"])
    expect(items.length).toBe(1)
    expect(items[0]).toMatchObject({
      ...{ purchase_order_id: id, product_id: null, opportunity_item_id: null, name: "Crane", description: null },
      ...{ quantity: "1.00", received_quantity: "0.00", outstanding_quantity: "1.00", unit_cost: "100.00" },
      ...{ discount_percent: null, subtotal: "100.00", tax_class_id: yard.standard, tax_rate: "20.0000" },
      ...{ tax_total: "20.00", total: "120.00", cost_group_id: null, starts_at: out(hire.starts_at) },
      ...{ ends_at: out(hire.ends_at), sort_order: items[0].sort_order, created_at: now, updated_at: now }
    })
    expect([typeof items[0].id, typeof items[0].sort_order]).toEqual(["number", "number"])
  })
  it("is numbered one after the other from the first, whatever its store, and a refused or deleted one leaves it so", async () => {
    const store = (await yard.made("/stores", { name: "Elsewhere" })).id
    const first = Number((await yard.order()).number)
    expect(refusal(await yard.post("/purchase_orders", {}))[0]).toBe(422)
    const second = await yard.order({ store_id: store })
    expect(Number(second.number)).toBe(first + 1)
    expect((await yard.remove(`/purchase_orders/${second.id}`)).status).toBe(204)
    expect(Number((await yard.order()).number)).toBe(first + 2)
  })
  it("shows includes only to who asks, one by one and in lists", async () => {
    const job = await yard.job()
    const { id } = await yard.order({ opportunity_id: job.id })
    const plain = (await yard.get(`/purchase_orders/${id}`)).purchase_order
    for (const key of ["supplier", "store", "opportunity", "items"]) expect([key, plain[key]]).toEqual([key, null])
    const query = "include=supplier,store,opportunity,items,nonsense"
    const { purchase_orders } = await yard.get(`/purchase_orders?q[opportunity_id_eq]=${job.id}&${query}`)
    for (const full of [(await yard.get(`/purchase_orders/${id}?${query}`)).purchase_order, ...purchase_orders]) {
      expect([full.supplier.id, full.store.id, full.items.length]).toEqual([yard.supplier, 1, 1])
      expect(full.opportunity).toEqual({ id: job.id, name: "A job" })
    }
  })
  it("begins with nothing but a supplier", async () => {
    const order = await yard.made("/purchase_orders", { supplier_id: yard.supplier })
    expect(order).toMatchObject({ po_type: "sub_hire", store_id: 1, status: "draft", starts_at: null, ends_at: null })
    expect(sums(order)).toEqual(["0.00", "0.00", "0.00"])
    expect((await yard.order_of(order.id)).items).toEqual([])
  })
  it("takes what it is told", async () => {
    const told = {
      ...{ po_type: "purchase", subject: "Cranes", reference: "Q-7", expected_at: "2026-06-30T08:00:00.000Z" },
      ...{ notes: "Two drivers", delivery_instructions: "Gate 4", currency: "KWD" }
    }
    const { currency, ...shown } = told
    expect(await yard.order({ ...told, starts_at: null, ends_at: null })).toMatchObject({
      ...shown,
      currency_code: currency
    })
  })
  it.each([
    ["sub_hire", "sub_hire"],
    ["subhire", "sub_hire"],
    ["purchase", "purchase"]
  ])("of type %s is a %s", async (po_type, expected) => {
    const order = await yard.order({ po_type })
    expect([order.po_type, (await yard.order_of(order.id)).po_type]).toEqual([expected, expected])
  })
  it("is in its supplier's currency, and at the rate an invoice in it has", async () => {
    const yen = await yard.organisation_of({ default_currency_code: "JPY" })
    const order = await yard.order({ supplier_id: yen, items: [{ name: "Crane", unit_cost: 1000 }] })
    const invoice = await yard.draft({ currency: "JPY", items: [] })
    expect([order.currency_code, order.subtotal, order.exchange_rate]).toEqual(["JPY", "1000", invoice.exchange_rate])
  })
  it.each(["organisation", "contact"])("is to a supplier who is an %s", async (membership_type) => {
    const { id } = await yard.made("/members", { name: "Somebody", membership_type })
    expect((await yard.order({ supplier_id: id })).supplier_id).toBe(id)
  })

  const item = (more: object): object => ({ items: [{ name: "A row", unit_cost: "1.00", ...more }] })
  it.each<[string, string, object]>([
    ["no supplier", "supplier_id", { supplier_id: undefined }],
    ["a supplier that is not there", "supplier_id", { supplier_id: 999_999 }],
    ["a store that is not there", "store_id", { store_id: 999_999 }],
    ["an opportunity that is not there", "opportunity_id", { opportunity_id: 999_999 }],
    ["an unknown type", "po_type", { po_type: "gift" }],
    ["a subject of 256 characters", "subject", { subject: "x".repeat(256) }],
    ["a reference of 256 characters", "reference", { reference: "x".repeat(256) }],
    ["a currency nobody knows", "currency", { currency: "QQQ" }],
    ["a currency that is not enabled", "currency", { currency: "BHD" }],
    ["an expected time that is none", "expected_at", { expected_at: "soon" }],
    ["an end before its start", "ends_at", { starts_at: "2026-07-02", ends_at: "2026-07-01" }],
    ["items that are no list", "items", { items: "all" }],
    ["a row's name of 256 characters", "items.0.name", item({ name: "x".repeat(256) })],
    ["no pieces", "items.0.quantity", item({ quantity: 0 })],
    ["fewer pieces than none", "items.0.quantity", item({ quantity: "-1" })],
    ["pieces that are no number", "items.0.quantity", item({ quantity: "many" })],
    ["a cost that is none", "items.0.unit_cost", item({ unit_cost: "a lot" })],
    ["a cost below nothing", "items.0.unit_cost", item({ unit_cost: "-0.01" })],
    ["a cost of a tenth of a penny", "items.0.unit_cost", item({ unit_cost: "1.001" })],
    ["a discount above 100", "items.0.discount_percent", item({ discount_percent: "100.01" })],
    ["a discount below nothing", "items.0.discount_percent", item({ discount_percent: -1 })],
    ["a tax class that is not there", "items.0.tax_class_id", item({ tax_class_id: 999_999 })],
    ["a product that is not there", "items.0.product_id", item({ product_id: 999_999 })],
    ["a cost group that is not there", "items.0.cost_group_id", item({ cost_group_id: 999_999 })],
    ["a line of no opportunity", "items.0.opportunity_item_id", item({ opportunity_item_id: 999_999 })],
    ["a row's end before its start", "items.0.ends_at", item({ starts_at: "2026-07-02", ends_at: "2026-07-01" })],
    ["an unknown custom field", "custom_fields.colour", { custom_fields: { colour: "red" } }]
  ])("is refused for %s", async (_, field, more) => {
    const before = (await yard.get("/purchase_orders")).meta.total
    const [status, ...fields] = refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, ...more }))
    expect([status, fields.includes(field), fields.length <= 2]).toEqual([422, true, true])
    expect((await yard.get("/purchase_orders")).meta.total).toBe(before)
  })
  it("is refused for a second row that is neither product nor name", async () => {
    const got = await yard.post("/purchase_orders", {
      ...{ supplier_id: yard.supplier, items: [{ name: "Fine", unit_cost: 1 }, { unit_cost: 1 }] }
    })
    expect(got.status, got.text).toBe(422)
    expect(Object.keys(got.body.errors)).toEqual([expect.stringMatching(/^items\.1\.(name|product_id)$/)])
  })
  it.each(["archived", "venue", "user"])("is refused for a supplier who is %s", async (kind) => {
    const membership_type = kind === "archived" ? "organisation" : kind
    if (kind === "user") await yard.made("/users", { name: "Ann", email: "ann@example.com", roles: [], active: true })
    else await yard.made("/members", { name: "No supplier", membership_type })
    const { members } = await yard.get(
      `/members?q[membership_type_eq]=${membership_type}&sort=-created_at&per_page=100`
    )
    const { id } = members.find((one: any) => kind === "user" || one.name === "No supplier")
    if (kind === "archived") expect((await yard.remove(`/members/${id}`)).status).toBe(204)
    expect(refusal(await yard.post("/purchase_orders", { supplier_id: id }))).toEqual([422, "supplier_id"])
  })
  it("is refused for an opportunity that was deleted, and for lines of another one or of none", async () => {
    const [job, other] = [await yard.job(), await yard.job()]
    const row = { name: "A row", unit_cost: 1, opportunity_item_id: other.items[0].id }
    for (const opportunity_id of [job.id, undefined])
      expect(
        refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, opportunity_id, items: [row] }))
      ).toEqual([422, "items.0.opportunity_item_id"])
    const { id } = await yard.order({ opportunity_id: other.id, items: [row] })
    expect((await yard.order_of(id)).items[0].opportunity_item_id).toBe(other.items[0].id)
    await yard.remove(`/opportunities/${job.id}`)
    expect(
      refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, opportunity_id: job.id }))
    ).toEqual([...[422, "opportunity_id"]])
  })
  it("needs a rate to the base for a currency that is not the base", async () => {
    expect((await yard.put("/currencies/SEK", { is_enabled: true })).status).toBe(200)
    expect(refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, currency: "SEK" }))).toEqual([
      ...[422, "currency"]
    ])
  })

  it.each<[string, string, string, string, string]>([
    ["sub_hire", "lamp", "12.50", "20.0000", "sub_hire_group"],
    ["purchase", "lamp", "250.00", "20.0000", "purchase_group"],
    ["sub_hire", "cable", "1.25", "5.0000", "sub_hire_group"],
    ["purchase", "cable", "9.99", "5.0000", "purchase_group"]
  ])("of type %s costs for a %s what the product says: %s", async (po_type, product, unit_cost, tax_rate, group) => {
    const product_id = product === "lamp" ? yard.lamp : yard.cable
    const { id } = await yard.order({ po_type, items: [{ product_id, quantity: 2 }] })
    const { items } = await yard.order_of(id)
    expect(items[0]).toMatchObject({
      ...{ product_id, name: product === "lamp" ? "Lamp" : "Cable", quantity: "2.00", unit_cost, tax_rate },
      tax_class_id: product === "lamp" ? yard.standard : yard.reduced,
      cost_group_id: group === "sub_hire_group" ? yard.sub_hire_group : yard.purchase_group
    })
  })
  it("takes of a row what it says rather than what the product or the header does", async () => {
    const told = {
      ...{ name: "My lamp", description: "The blue one", unit_cost: "3.00", tax_class_id: yard.reduced },
      ...{ cost_group_id: yard.purchase_group, starts_at: "2026-07-02T00:00:00.000Z", discount_percent: "12.50" }
    }
    const { id } = await yard.order({ items: [{ product_id: yard.lamp, ...told }] })
    expect((await yard.order_of(id)).items[0]).toMatchObject({ ...told, ends_at: out(hire.ends_at) })
  })

  const row = (unit_cost: unknown, more: object = {}): object => ({ name: "A row", unit_cost, ...more })
  it.each<[string, ReadonlyArray<object>, object, ReadonlyArray<string>]>([
    ["nothing", [], {}, ["0.00", "0.00", "0.00"]],
    ["what is free", [row(0)], {}, ["0.00", "0.00", "0.00"]],
    ["whole numbers are pence", [row(10_000)], {}, ["100.00", "20.00", "120.00"]],
    ["texts are pounds", [row("100")], {}, ["100.00", "20.00", "120.00"]],
    ["two and a half of 10.00", [row("10.00", { quantity: "2.5" })], {}, ["25.00", "5.00", "30.00"]],
    ["two rows of 33.33: one rounding", [row("33.33"), row("33.33")], {}, ["66.66", "13.33", "79.99"]],
    ["half a penny rounds up", [row("0.01", { quantity: "1.5" })], {}, ["0.02", "0.00", "0.02"]],
    ["a discount", [row("33.33", { quantity: 3, discount_percent: "10" })], {}, ["89.99", "18.00", "107.99"]],
    ["a discount of all", [row("33.33", { discount_percent: 100 })], {}, ["0.00", "0.00", "0.00"]],
    ["yen", [row(333)], { currency: "JPY" }, ["333", "67", "400"]],
    ["yen as text", [row("1000")], { currency: "JPY" }, ["1000", "200", "1200"]],
    ["dinars", [row("1.001")], { currency: "KWD" }, ["1.001", "0.200", "1.201"]],
    ["fils", [row(1001)], { currency: "KWD" }, ["1.001", "0.200", "1.201"]]
  ])("comes to: %s", async (_, rows, more, expected) => {
    const items = rows.map((one) => ({ tax_class_id: yard.standard, ...one }))
    const order = await yard.order_of((await yard.order({ items, ...more })).id)
    expect(sums(order)).toEqual(expected)
    const scale = order.currency_code === "JPY" ? 1 : order.currency_code === "KWD" ? 1000 : 100
    const sumOf = (key: string): number =>
      order.items.reduce((sum: number, one: any) => sum + Math.round(Number(one[key]) * scale), 0) / scale
    expect(["subtotal", "tax_total", "total"].map(sumOf)).toEqual(expected.map(Number))
  })
  it("rounds once for each class, and gives the rest to the class's last row", async () => {
    const { id } = await yard.order({
      items: [
        row("10.00", { tax_class_id: yard.reduced }),
        row("33.33", { tax_class_id: yard.standard }),
        row("33.33", { tax_class_id: yard.standard })
      ]
    })
    const { items, ...order } = await yard.order_of(id)
    expect(sums(order)).toEqual(["76.66", "13.83", "90.49"])
    expect(items.map((one: any) => [one.tax_rate, one.tax_total])).toEqual([
      ["5.0000", "0.50"],
      ["20.0000", "6.67"],
      ["20.0000", "6.66"]
    ])
  })
  it.each(["no class", "a class for what it buys of us"])("is not taxed of a supplier with %s", async (kind) => {
    const supplier_id = await yard.organisation_of(kind === "no class" ? {} : { sale_tax_class_id: yard.organisation })
    expect(sums(await yard.order({ supplier_id }))).toEqual(["100.00", "0.00", "100.00"])
  })
  it("is taxed by the rule of the default classes where none joins supplier and class (rules/conventions 17)", async () => {
    expect(sums(await yard.order({ items: [row("100.00", { tax_class_id: yard.exempt })] }))).toEqual([
      ...["100.00", "20.00", "120.00"]
    ])
  })

  it("is changed in part; items replace the set", async () => {
    const { id } = await yard.order({ subject: "Old", reference: "R", items: [row("1.00"), row("2.00")] })
    const put = await yard.put(`/purchase_orders/${id}`, { subject: "New" })
    expect([put.status, put.body.purchase_order.subject, put.body.purchase_order.reference]).toEqual([200, "New", "R"])
    const { items } = await yard.order_of(id)
    expect(items.length).toBe(2)
    await yard.put(`/purchase_orders/${id}`, { items: [row("5.00"), row("7.00"), row("1.00")] })
    const after = await yard.order_of(id)
    expect([after.items.map((one: any) => one.unit_cost), after.subtotal]).toEqual([["5.00", "7.00", "1.00"], "13.00"])
    await yard.put(`/purchase_orders/${id}`, { items: [] })
    expect([(await yard.order_of(id)).items, (await yard.order_of(id)).total]).toEqual([[], "0.00"])
  })
  it("is refused a change for what a new one would be refused for", async () => {
    const { id } = await yard.order()
    for (const [field, body] of [
      ["supplier_id", { supplier_id: 999_999 }],
      ["subject", { subject: "x".repeat(256) }],
      ["ends_at", { ends_at: "2026-06-01" }],
      ["items.0.quantity", { items: [row(1, { quantity: 0 })] }]
    ] as const)
      expect(refusal(await yard.put(`/purchase_orders/${id}`, body))).toEqual([422, field])
    expect(await yard.order_of(id)).toMatchObject({ supplier_id: yard.supplier, total: "120.00" })
  })
  it("is deleted, and then found by nobody", async () => {
    const { id } = await yard.order()
    const gone = await yard.remove(`/purchase_orders/${id}`)
    expect([gone.status, gone.text]).toEqual([204, ""])
    expect((await yard.ask("GET", `/purchase_orders/${id}`)).status).toBe(404)
    expect((await yard.put(`/purchase_orders/${id}`, {})).status).toBe(404)
    for (const action of ["send", "receive", "cancel"])
      expect([action, (await yard.post(`/purchase_orders/${id}/${action}`, {})).status]).toEqual([action, 404])
    expect((await yard.remove(`/purchase_orders/${id}`)).status).toBe(404)
    const { purchase_orders } = await yard.get("/purchase_orders?per_page=100")
    expect(purchase_orders.some((one: any) => one.id === id)).toBe(false)
  })
  it("has custom fields of its own, by which it is found", async () => {
    await yard.made("/custom_fields", {
      ...{ name: "approved_by", module_type: "PurchaseOrder", field_type: 0, is_searchable: true }
    })
    const { id } = await yard.order({ custom_fields: { approved_by: "Ann" } })
    await yard.order({ custom_fields: { approved_by: "Bob" } })
    expect((await yard.order_of(id)).custom_fields).toEqual({ approved_by: "Ann" })
    const { purchase_orders } = await yard.get("/purchase_orders?q[cf.approved_by_eq]=Ann")
    expect(purchase_orders.map((one: any) => one.id)).toEqual([id])
    expect(
      refusal(await yard.post("/purchase_orders", { supplier_id: yard.supplier, custom_fields: { x: 1 } }))
    ).toEqual([...[422, "custom_fields.x", "x"]])
  })
})

describe.each(engines)("A purchase order moves on, on %s (rules/billing 2.1)", (engine) => {
  let yard: Yard
  beforeAll(async () => {
    yard = await openYard(engine)
  })
  afterAll(() => yard.close())
  const act = (id: number, name: string, json: object = {}) => yard.post(`/purchase_orders/${id}/${name}`, json)
  const two = { items: [{ name: "Crane", quantity: 2, unit_cost: "100.00" }] }
  const reached: { readonly [status: string]: () => Promise<any> } = {
    draft: () => yard.order(two),
    sent: () => yard.sent(two),
    partially_received: async () => {
      const { id, items } = await yard.sent(two)
      expect((await yard.receive(id, [{ item_id: items[0].id, quantity: 1 }])).status).toBe(200)
      return yard.order_of(id)
    },
    received: () => yard.received(two),
    cancelled: async () => {
      const { id } = await yard.order(two)
      expect((await act(id, "cancel")).status).toBe(200)
      return yard.order_of(id)
    }
  }
  const names: { readonly [status: string]: string } = {
    ...{ draft: "Draft", sent: "Sent", partially_received: "Partially Received", received: "Received" },
    cancelled: "Cancelled"
  }
  const moves: { readonly [status: string]: { readonly [action: string]: string | number } } = {
    draft: { update: "draft", delete: 204, send: "sent", receive: 422, cancel: "cancelled" },
    sent: { update: 422, delete: 422, send: 422, receive: "received", cancel: "cancelled" },
    partially_received: { update: 422, delete: 422, send: 422, receive: "received", cancel: 422 },
    received: { update: 422, delete: 422, send: 422, receive: 422, cancel: 422 },
    cancelled: { update: 422, delete: 422, send: 422, receive: 422, cancel: 422 }
  }
  it.each(
    Object.entries(moves).flatMap(([status, actions]) =>
      Object.entries(actions).map(([action, to]) => ({ status, action, to }))
    )
  )("$status, $action: $to", async ({ status, action, to }) => {
    const { id, number, items, ...order } = await reached[status]!()
    expect([order.status, order.status_name]).toEqual([status, names[status]])
    const lines = [{ item_id: (items ?? (await yard.order_of(id)).items)[0].id, quantity: status === "sent" ? 2 : 1 }]
    const got =
      action === "update"
        ? await yard.put(`/purchase_orders/${id}`, { subject: "New" })
        : action === "delete"
          ? await yard.remove(`/purchase_orders/${id}`)
          : await act(id, action, action === "receive" ? { lines } : {})
    if (to === 204) return expect(got.status).toBe(204)
    if (to === 422) {
      expect(refusal(got)).toEqual([422, "status"])
      return expect((await yard.order_of(id)).status).toBe(status)
    }
    expect([got.status, got.body.purchase_order.status, got.body.purchase_order.number]).toEqual([200, to, number])
    expect((await yard.order_of(id)).status).toBe(to)
  })
  it("says when it was sent and cancelled, and why", async () => {
    const { id, sent_at } = await yard.sent()
    const got = (await act(id, "cancel", { reason: "Found cheaper" })).body.purchase_order
    expect([sent_at, got.cancelled_at, got.cancellation_reason, got.received_at]).toEqual([
      ...[now, now, "Found cheaper", null]
    ])
  })
  it("is cancelled for a reason of 1,000 characters at most", async () => {
    const { id } = await yard.order()
    expect(refusal(await act(id, "cancel", { reason: "x".repeat(1001) }))).toEqual([422, "reason"])
    expect((await act(id, "cancel", { reason: "x".repeat(1000) })).status).toBe(200)
  })
  it("is not sent empty", async () => {
    const { id } = await yard.order({ items: [] })
    expect((await act(id, "send")).status).toBe(422)
    expect((await yard.order_of(id)).status).toBe("draft")
  })
  it.each([
    ["sub_hire", { starts_at: null, ends_at: null }, 422],
    ["sub_hire", { ends_at: null }, 422],
    ["sub_hire", { starts_at: null }, 422],
    ["sub_hire", {}, 200],
    ["purchase", { starts_at: null, ends_at: null }, 200]
  ])("of type %s with %j is answered %i when sent", async (po_type, more, status) => {
    const { id } = await yard.order({ po_type, ...more })
    const got = await act(id, "send")
    expect(got.status, got.text).toBe(status)
    if (status === 422) expect(Object.keys(got.body.errors).every((key) => /(starts|ends)_at$/.test(key))).toBe(true)
  })
  it.each(["archived", "no longer active"])("is not sent to a supplier who is %s", async (kind) => {
    const supplier_id = await yard.organisation_of()
    const { id } = await yard.order({ supplier_id })
    if (kind === "archived") expect((await yard.remove(`/members/${supplier_id}`)).status).toBe(204)
    else expect((await yard.put(`/members/${supplier_id}`, { is_active: false })).status).toBe(200)
    const got = await act(id, "send")
    expect(got.status, got.text).toBe(422)
    expect((await yard.order_of(id)).status).toBe("draft")
  })
  it("is not sent to what is no address", async () => {
    const { id } = await yard.order()
    expect(refusal(await act(id, "send", { email: "nobody@" }))).toEqual([422, "email"])
    expect((await yard.order_of(id)).status).toBe("draft")
  })
  it("under an idempotency key is made, sent and cancelled once, and the answer replayed", async () => {
    const body = { supplier_id: yard.supplier, ...hire, items: [{ name: "Crane", unit_cost: 1 }] }
    const before = (await yard.get("/purchase_orders")).meta.total
    const make = (json: object) => yard.ask("POST", "/purchase_orders", json, keyed("P1"))
    const [first, again] = [await make(body), await make(body)]
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    expect([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]]).toEqual([undefined, "true"])
    const other = await make({ ...body, subject: "Other" })
    expect(refusal(other)).toEqual([409, "idempotency_key"])
    expect((await yard.get("/purchase_orders")).meta.total).toBe(before + 1)
    const path = `/purchase_orders/${first.body.purchase_order.id}`
    for (const action of ["send", "cancel"]) {
      const go = () => yard.ask("POST", `${path}/${action}`, {}, keyed(`P-${action}`))
      const [one, two] = [await go(), await go()]
      expect([one.status, two.status, two.headers["idempotent-replayed"]]).toEqual([200, 200, "true"])
    }
    const refused = () => yard.ask("POST", `${path}/send`, {}, keyed("P-late"))
    expect([(await refused()).status, (await refused()).headers["idempotent-replayed"]]).toEqual([422, "true"])
    expect(refusal(await yard.ask("POST", `${path}/cancel`, {}, keyed("P1")))).toEqual([409, "idempotency_key"])
  })
})

describe.each(engines)("Who may do what with purchase orders, on %s (interface 5, rules/billing 2.2)", (engine) => {
  let yard: Yard
  beforeAll(async () => {
    yard = await openYard(engine)
  })
  afterAll(() => yard.close())
  const rights = ["view", "create", "edit", "delete", "send", "receive"].map((name) => `purchase_orders.${name}`)
  const abilities = ["purchase_orders:read", "purchase_orders:write"]
  const draft = async (): Promise<string> => `/purchase_orders/${(await yard.order()).id}`
  const lines = async (path: string) => ({
    lines: (await yard.get(`${path}?include=items`)).purchase_order.items.map(everything)
  })
  const sent = async (): Promise<string> => `/purchase_orders/${(await yard.sent()).id}`
  type Case = readonly [string, string, () => Promise<string>, string, string, number, ((path: string) => any)?]
  const cases: ReadonlyArray<Case> = [
    ["list", "GET", async () => (await draft()).replace(/\/\d+$/, ""), "read", "view", 200],
    ["show", "GET", draft, "read", "view", 200],
    ["create", "POST", async () => "/purchase_orders", "write", "create", 201, () => ({ supplier_id: yard.supplier })],
    ["update", "PUT", draft, "write", "edit", 200, () => ({ subject: "New" })],
    ["delete", "DELETE", draft, "write", "delete", 204],
    ["send", "POST", async () => `${await draft()}/send`, "write", "send", 200, () => ({})],
    [
      ...(["receive", "POST", async () => `${await sent()}/receive`, "write", "receive", 200] as const),
      (path) => lines(path.replace("/receive", ""))
    ],
    ["cancel", "POST", async () => `${await sent()}/cancel`, "write", "edit", 200, () => ({})]
  ]
  it.each(cases.map((one) => ({ name: one[0], one })))("$name", async ({ one }) => {
    const [, method, at, able, permission, status, json] = one
    const [ability, right] = [`purchase_orders:${able}`, `purchase_orders.${permission}`]
    const path = await at()
    const body = await json?.(path)
    const asked = async (held: ReadonlyArray<string>, can: ReadonlyArray<string>) =>
      yard.ask(method, path, body, { token: await yard.tokenOf(held, can) })
    const others = rights.filter((name) => name !== right)
    expect((await asked([...others, "costs.view"], ["*"])).status).toBe(403)
    const unable = await asked(
      rights,
      abilities.filter((name) => name !== ability)
    )
    expect(unable.status).toBe(403)
    const done = await asked([right], [ability])
    expect(done.status, done.text.slice(0, 300)).toBe(status)
    if (status === 204) return
    const order = done.body.purchase_order ?? done.body.purchase_orders[0]
    for (const key of order_costs) expect([key, key in order]).toEqual([key, false])
    expect(order).toMatchObject({ currency_code: "GBP", supplier_id: yard.supplier })
    expect((await yard.ask(method, path, body, { token: null })).status).toBe(401)
  })
  it("an order that is not there is not found, even by who may do nothing", async () => {
    const token = await yard.tokenOf([], ["products:read"])
    for (const path of ["/purchase_orders/999999", "/purchase_orders/abc"])
      expect((await yard.ask("GET", path, undefined, { token })).status).toBe(404)
    for (const action of ["send", "receive", "cancel"])
      expect((await yard.ask("POST", `/purchase_orders/999999/${action}`, {}, { token })).status).toBe(404)
  })
  it("costs are stored for who may not see them, shown only to who may, and never null instead of absent", async () => {
    const token = await yard.tokenOf(rights, abilities)
    const item = { product_id: yard.lamp, unit_cost: "7.00", discount_percent: "10", quantity: 2 }
    const body = { supplier_id: yard.supplier, ...hire, items: [item] }
    const blind = async (method: string, path: string, json?: object): Promise<any> => {
      const got = await yard.ask(method, `/purchase_orders${path}`, json, { token })
      expect([200, 201], got.text).toContain(got.status)
      const order = got.body.purchase_order ?? got.body.purchase_orders.at(-1)
      for (const key of order_costs) expect([path, key, key in order]).toEqual([path, key, false])
      for (const one of order.items ?? [])
        for (const key of item_costs) expect([path, key, key in one]).toEqual([path, key, false])
      return order
    }
    const { id } = await blind("POST", "?include=items", body)
    const [row] = (await blind("GET", `/${id}?include=items`)).items
    expect(row).toMatchObject({ quantity: "2.00", tax_class_id: yard.standard, cost_group_id: yard.sub_hire_group })
    await blind("GET", "?include=items&per_page=100")
    const seen = await yard.order_of(id)
    expect([...sums(seen), seen.items[0].unit_cost, seen.items[0].discount_percent]).toEqual([
      ...["12.60", "2.52", "15.12", "7.00", "10.00"]
    ])
    await blind("PUT", `/${id}?include=items`, { items: [{ ...item, unit_cost: "8.00" }] })
    const changed = await yard.order_of(id)
    expect([changed.subtotal, Object.keys(changed).filter((key) => order_costs.includes(key)).length]).toEqual([
      ...["14.40", 4]
    ])
    await blind("POST", `/${id}/send?include=items`, {})
    const all = { lines: [{ item_id: changed.items[0].id, quantity: 1 }] }
    expect((await blind("POST", `/${id}/receive`, all)).items.length).toBe(1)
    const other = await yard.order()
    await blind("POST", `/${other.id}/cancel?include=items`, {})
    const seer = await yard.tokenOf([...rights, "costs.view"], abilities)
    const shown = (await yard.ask("GET", `/purchase_orders/${id}?include=items`, undefined, { token: seer })).body
    expect([shown.purchase_order.total, shown.purchase_order.items[0].unit_cost]).toEqual(["17.28", "8.00"])
  })
  it("nobody learns a cost by filters, sorts, or views", async () => {
    const token = await yard.tokenOf(rights, [...abilities, "*"])
    await yard.order({ items: [{ name: "Dear", unit_cost: "900.00" }] })
    const ids = async (query: string) =>
      (await yard.ask("GET", `/purchase_orders?per_page=100&${query}`, undefined, { token })).body.purchase_orders.map(
        (one: any) => one.id
      )
    const all = await ids("")
    for (const query of ["q[total_gteq]=90000", "q[subtotal_lt]=1", "sort=-total", "sort=subtotal"])
      expect([query, await ids(query)]).toEqual([query, all])
  })
  it.each<[string, ReadonlyArray<number>]>([
    ["Warehouse", [200, 403, 200]],
    ["Operations Manager", [200, 201, 200]],
    ["Admin", [200, 201, 200]],
    ["Sales", [403, 403, 403]],
    ["Read Only", [200, 403, 403]]
  ])("the role %s lists, creates and receives: %j (rules/conventions 11)", async (role, expected) => {
    const email = `${role.replaceAll(" ", "")}@example.com`
    const user = await yard.made("/users", { name: role, email, roles: [role], active: true })
    const token = (await yard.made("/tokens", { name: role, abilities: ["*"], user_id: user.id })).secret
    const order = await yard.sent()
    const asked = async (method: string, path: string, json?: object) => yard.ask(method, path, json, { token })
    const list = await asked("GET", "/purchase_orders")
    const made = await asked("POST", "/purchase_orders", { supplier_id: yard.supplier })
    const got = await asked("POST", `/purchase_orders/${order.id}/receive`, { lines: order.items.map(everything) })
    expect([list.status, made.status, got.status]).toEqual(expected)
    if (list.status === 200)
      expect("total" in list.body.purchase_orders[0]).toBe(role === "Admin" || role === "Operations Manager")
  })
})

describe.each(engines)("Purchase orders are found, on %s (interface 2.10, rules/billing 2.3)", (engine) => {
  let yard: Yard
  const ids: { [name: string]: number } = {}
  beforeAll(async () => {
    yard = await openYard(engine)
    ids["job"] = (await yard.job()).id
    ids["depot"] = (await yard.made("/stores", { name: "Depot" })).id
    ids["other"] = await yard.organisation_of({ default_currency_code: "JPY" })
    yard.setClock("2026-06-10T12:00:00.000Z")
    ids["done"] = (await yard.received()).id
    yard.setClock(now)
    ids["plain"] = (await yard.order({ subject: "Summer gala" })).id
    ids["bought"] = (
      await yard.order({
        ...{ po_type: "purchase", supplier_id: ids["other"], store_id: ids["depot"], reference: "QQ" },
        ...{ expected_at: "2026-07-10T00:00:00Z", starts_at: null, ends_at: null, items: [] }
      })
    ).id
    ids["early"] = (await yard.sent({ starts_at: "2026-01-05T00:00:00Z", ends_at: "2026-02-01T00:00:00Z" })).id
    const part = await yard.sent({
      ...{ opportunity_id: ids["job"], expected_at: "2026-06-20T00:00:00Z" },
      items: [{ name: "Crane", quantity: 2, unit_cost: 1 }]
    })
    await yard.receive(part.id, [{ item_id: part.items[0].id, quantity: 1 }])
    ids["part"] = part.id
    ids["gone"] = (await yard.order()).id
    await yard.made(`/purchase_orders/${ids["gone"]}/cancel`)
  })
  afterAll(() => yard.close())
  const named = async (query: string): Promise<ReadonlyArray<string>> => {
    const at = query.replaceAll(/[A-Z]{3,}(?=$|&)/g, (word) => String(ids[word.toLowerCase()] ?? word))
    const { purchase_orders } = await yard.get(`/purchase_orders?${at}`)
    const made = ["done", "plain", "bought", "early", "part", "gone"]
    return purchase_orders.map((one: any) => made.find((name) => ids[name] === one.id))
  }
  const all = ["done", "plain", "bought", "early", "part", "gone"]
  it.each<[string, ReadonlyArray<string>]>([
    ["", all],
    ["q[status_eq]=draft", ["plain", "bought"]],
    ["q[status_eq]=sent", ["early"]],
    ["q[status_eq]=Cancelled", ["gone"]],
    ["q[status_eq]=nonsense", []],
    ["q[status_in]=partially_received,received", ["done", "part"]],
    ["q[status_not_eq]=draft", ["done", "early", "part", "gone"]],
    ["q[po_type_eq]=purchase", ["bought"]],
    ["q[po_type_eq]=subhire&q[status_eq]=draft", ["plain"]],
    ["q[po_type_eq]=sub_hire&q[status_eq]=draft", ["plain"]],
    ["q[number_eq]=0000000002", ["plain"]],
    ["q[number_end]=3", ["bought"]],
    ["q[supplier_id_eq]=OTHER", ["bought"]],
    ["q[store_id_eq]=DEPOT", ["bought"]],
    ["q[opportunity_id_eq]=JOB", ["part"]],
    ["q[opportunity_id_null]=1&q[status_eq]=received", ["done"]],
    ["q[expected_at_gteq]=2026-07-10", ["bought"]],
    ["q[expected_at_lt]=2026-07-10", ["part"]],
    ["q[starts_at_lt]=2026-02-01", ["early"]],
    ["q[ends_at_lteq]=2026-02-01", ["early"]],
    ["q[starts_at_null]=1", ["bought"]],
    ["q[sent_at_lt]=2026-06-15", ["done"]],
    ["q[received_at_present]=1", ["done"]],
    ["q[cancelled_at_gteq]=2026-06-18", ["gone"]],
    ["q[created_at_lt]=2026-06-15", ["done"]],
    ["q[updated_at_lt]=2026-06-15", ["done"]],
    ["q[nonsense_eq]=1&sort=nonsense&include=nonsense", all],
    ["sort=-number", all.toReversed()],
    ["sort=number&per_page=2&page=2", ["bought", "early"]],
    ["sort=-created_at&per_page=1&page=6", ["done"]],
    ["sort=starts_at&q[starts_at_lt]=2026-07-02&per_page=1", ["early"]],
    ["sort=-expected_at&q[expected_at_present]=1", ["bought", "part"]],
    ["sort=expected_at&q[expected_at_present]=1", ["part", "bought"]],
    ["page=9", []]
  ])("%s", async (query, expected) => {
    expect(await named(query)).toEqual(expected)
  })
  it("by status in one order, and the other way round in the other", async () => {
    const status = async (sort: string) =>
      (await yard.get(`/purchase_orders?sort=${sort}`)).purchase_orders.map((one: any) => one.status)
    const up = await status("status")
    expect(await status("-status")).toEqual(up.toReversed())
    expect(up.filter((one: string, at: number) => one !== up[at - 1]).length).toBe(5)
  })
  it("with pages, and how many there are", async () => {
    expect((await yard.get("/purchase_orders?per_page=4&page=2")).meta).toEqual({ total: 6, per_page: 4, page: 2 })
    expect((await yard.get("/purchase_orders")).meta).toEqual({ total: 6, per_page: 20, page: 1 })
  })
  it("by a view of one's own, with just its columns", async () => {
    const view = await yard.made("/custom_views", {
      ...{ name: "Short", entity_type: "purchase_orders", visibility: "personal", columns: ["number", "status"] },
      filters: [{ field: "status", predicate: "eq", value: "sent" }]
    })
    const { purchase_orders, meta } = await yard.get(`/purchase_orders?view_id=${view.id}`)
    expect(purchase_orders).toEqual([{ id: ids["early"], number: "0000000004", status: "sent" }])
    expect(meta).toMatchObject({ total: 1, view: { id: view.id, name: "Short" } })
  })
})

describe.each(engines)("What others are told of purchase orders, on %s (rules/billing 2.3, interface 6)", (engine) => {
  let yard: Yard
  let mail: TestMailServer
  beforeAll(async () => {
    mail = await mailServer()
    yard = await openYard(engine, { smtp_url: mail.url })
  })
  afterAll(async () => {
    await yard.close()
    await mail.close()
  })
  it("subscribers: made, sent, each receipt, cancelled, each with the whole order and its costs", async () => {
    const kinds = ["created", "sent", "received", "cancelled"].map((name) => `purchase_order.${name}`)
    const { webhook_events } = await yard.get("/webhook_events?per_page=100")
    for (const kind of kinds) expect(webhook_events.map((one: any) => one.name)).toContain(kind)
    const ear = await listening(yard, kinds)
    const rights = ["create", "send", "receive", "view", "edit"].map((name) => `purchase_orders.${name}`)
    const token = await yard.tokenOf(rights, ["*"])
    const asked = async (path: string, json: object): Promise<any> => {
      const got = await yard.ask("POST", `/purchase_orders${path}`, json, { token })
      expect([200, 201], got.text).toContain(got.status)
      return got.body
    }
    const body = { supplier_id: yard.supplier, ...hire, items: [{ product_id: yard.cable, quantity: 2 }] }
    const { id } = (await asked("", body)).purchase_order
    const created = await ear.heard("purchase_order.created")
    expect(Object.keys(created).sort()).toEqual(["data", "event", "timestamp", "type"])
    expect([created.type, created.timestamp]).toEqual(["purchase_order.created", now])
    expect(created.data.purchase_order).toMatchObject({ id, status: "draft", subtotal: "2.50", total: "2.63" })
    expect(created.data.purchase_order.items[0]).toMatchObject({ unit_cost: "1.25", tax_total: "0.13" })
    await asked(`/${id}/send`, {})
    const sent = (await ear.heard("purchase_order.sent")).data.purchase_order
    expect(sent).toMatchObject({ id, status: "sent", sent_at: now, total: "2.63" })
    expect(sent.items[0].unit_cost).toBe("1.25")
    const item_id = sent.items[0].id
    const receipts: Array<number> = []
    for (const fully of [false, true]) {
      const { meta } = await asked(`/${id}/receive`, { lines: [{ item_id, quantity: 1 }] })
      const { data } = await ear.heard("purchase_order.received", (one) => one.fully_received === fully)
      expect(data.receipt).toMatchObject({ id: meta.receipt.id, received_at: now, lines: [{ item_id }] })
      expect(data.purchase_order).toMatchObject({ id, status: fully ? "received" : "partially_received" })
      expect(data.purchase_order.items[0].unit_cost).toBe("1.25")
      receipts.push(data.receipt.id)
    }
    expect([new Set(receipts).size, ear.told("purchase_order.received").length]).toEqual([2, 2])
    const other = (await asked("", body)).purchase_order
    await asked(`/${other.id}/cancel`, { reason: "No" })
    const { data } = await ear.heard("purchase_order.cancelled")
    expect(data.purchase_order).toMatchObject({ id: other.id, status: "cancelled", cancellation_reason: "No" })
    expect(ear.told("purchase_order.created").length).toBe(2)
    await ear.close()
  })
  it("nobody of what was refused", async () => {
    const ear = await listening(yard, ["*"])
    const { id } = await yard.order({ items: [] })
    expect((await yard.post(`/purchase_orders/${id}/send`)).status).toBe(422)
    await yard.order()
    await expect.poll(() => ear.told("purchase_order.created").length, soon).toBe(2)
    expect(ear.told("purchase_order.sent").length).toBe(0)
    await ear.close()
  })
  it("the supplier, by e-mail with the order as PDF: where bills go, to the first address, where told, or nowhere", async () => {
    const { list_names } = await yard.get("/list_names?per_page=100")
    const { id: list } = list_names.find((one: any) => one.name === "Email Type")
    const type_id = (await yard.get(`/list_names/${list}`)).list_name.values.find(
      (one: any) => one.name === "Billing"
    ).id
    const supplierWith = async (...emails: ReadonlyArray<object>): Promise<number> => {
      const id = await yard.organisation_of()
      for (const email of emails) await yard.made(`/members/${id}/emails`, email)
      return id
    }
    const main = { address: "main@s.example", is_primary: true }
    const bills = await supplierWith(main, { address: "bills@s.example", type_id })
    const primary = await supplierWith({ address: "x@s.example" }, main)
    const none = await supplierWith()
    const sent = async (supplier_id: number, json: object = {}): Promise<any> => {
      const { id } = await yard.order({ supplier_id, subject: "Cranes" })
      const got = await yard.post(`/purchase_orders/${id}/send`, json)
      expect([got.status, got.body.purchase_order?.status], got.text).toEqual([200, "sent"])
      return got.body.purchase_order
    }
    const order = await sent(bills, { message: "By the back gate, please." })
    await expect.poll(() => mail.taken.length, soon).toBe(1)
    const [first] = mail.taken
    expect(first!.to).toEqual(["bills@s.example"])
    expect([first!.read.subject?.includes(order.number), first!.read.text]).toEqual([
      ...[true, expect.stringContaining("By the back gate, please.")]
    ])
    const { content } = first!.read.attachments[0]!
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    const words = wordsOf(new Uint8Array(content))
    for (const word of [order.number, "Crane", "100.00"]) expect(words).toContain(word)
    await sent(primary)
    await sent(none, { email: "told@s.example" })
    await sent(none)
    await expect.poll(() => mail.taken.length, soon).toBe(3)
    expect(mail.taken.flatMap(({ to }) => to).toSorted()).toEqual([
      ...["bills@s.example", "main@s.example", "told@s.example"]
    ])
  })
})
