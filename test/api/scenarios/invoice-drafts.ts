/** Drafts: creating, changing and deleting them, rows and taxes, lists. */
import { expect } from "vitest"
import { hundred, invoices, type Scenario, scenario } from "../billing-scenarios.ts"
import { amounts, refusedOn, type Made } from "../calling.ts"

const rowAmounts = ({ items }: Made<"invoice">) => items.map(amounts)

export const draftScenarios = (): ReadonlyArray<Scenario> => [
  scenario(1, "a draft invoice has no number, its defaults and its totals", async (s) => {
    const member = await s.customer()
    const reply = await s.post(invoices, { member_id: member.id, subject: s.name, items: [hundred] })
    expect(reply.status).toBe(201)
    expect(reply.body.meta).toBeUndefined()
    expect(reply.body.invoice).toMatchObject({
      number: null,
      type: "standard",
      type_name: "Standard",
      status: "draft",
      status_name: "Draft",
      is_overdue: false,
      reference: null,
      member_id: member.id,
      store_id: null,
      opportunity_id: null,
      version_id: null,
      currency_code: "GBP",
      exchange_rate: "1.00000000",
      prices_include_tax: false,
      subtotal: "100.00",
      discount_total: "0.00",
      tax_total: "20.00",
      total: "120.00",
      amount_paid: "0.00",
      amount_credited: "0.00",
      amount_outstanding: "120.00",
      tax_summary: [
        {
          tax_class_id: 1,
          tax_rate_id: 1,
          tax_rate_name: "Standard",
          rate: "20.0000",
          net: "100.00",
          tax: "20.00",
          gross: "120.00"
        }
      ],
      payment_terms_days: 30,
      notes: null,
      void_reason: null,
      custom_fields: {},
      issued_at: null,
      due_at: null,
      paid_at: null,
      voided_at: null,
      emailed_at: null,
      member: null,
      store: null,
      opportunity: null,
      payments: null,
      credit_notes: null
    })
    expect(reply.body.invoice.items).toHaveLength(1)
    expect(reply.body.invoice.items[0]).toMatchObject({
      opportunity_item_id: null,
      opportunity_cost_id: null,
      product_id: null,
      item_type: "custom",
      name: "Stage",
      description: null,
      quantity: "1.00",
      unit_price: "100.00",
      discount_percent: null,
      discount_amount: "0.00",
      tax_class_id: 1,
      tax_rate_id: 1,
      tax_rate_name: "Standard",
      tax_rate: "20.0000",
      revenue_group_id: null,
      starts_at: null,
      ends_at: null,
      sort_order: 0
    })
  }),
  scenario(2, "a draft invoice rounds tax once per class, and gives the remainder to the last row", async (s) => {
    const row = { name: "A third", unit_price: "33.33" }
    const invoice = await s.draft({ items: [row, row] })
    expect(amounts(invoice)).toEqual(["66.66", "13.33", "79.99"])
    expect(rowAmounts(invoice)).toEqual([
      ["33.33", "6.67", "40.00"],
      ["33.33", "6.66", "39.99"]
    ])
  }),
  scenario(3, "a draft invoice accepts prices that include tax", async (s) => {
    const one = await s.draft({ prices_include_tax: true, items: [{ name: "A", unit_price: "120.00" }] })
    expect(amounts(one)).toEqual(["100.00", "20.00", "120.00"])
    const other = await s.draft({ prices_include_tax: true, items: [{ name: "B", unit_price: "10.00" }] })
    expect(amounts(other)).toEqual(["8.33", "1.67", "10.00"])
    expect(other.items[0]).toMatchObject({ unit_price: "10.00", subtotal: "8.33", tax_total: "1.67", total: "10.00" })
  }),
  scenario(4, "a draft invoice does not tax a customer without a tax class", async (s) => {
    const member = await s.customer({ sale_tax_class_id: null })
    const invoice = await s.draft({ member_id: member.id })
    expect(amounts(invoice)).toEqual(["100.00", "0.00", "100.00"])
    expect(invoice.tax_summary).toMatchObject([{ tax_rate_id: null, tax_rate_name: "No Tax", rate: "0.0000" }])
  }),
  scenario(5, "a draft invoice takes a row's name and tax class from its product", async (s) => {
    const product = await s.product({ tax_class_id: 2 })
    const invoice = await s.draft({ items: [{ product_id: product.id, unit_price: 5000, quantity: "2" }] })
    expect(invoice.items[0]).toMatchObject({
      product_id: product.id,
      item_type: "product",
      name: product.name,
      tax_class_id: 2,
      subtotal: "100.00"
    })
  }),
  scenario(6, "a draft invoice applies discounts and deductions", async (s) => {
    const invoice = await s.draft({
      items: [
        { name: "Tent", unit_price: "33.33", quantity: "3", discount_percent: "10" },
        { name: "Goodwill", unit_price: "-9.99" }
      ]
    })
    // A discount of 10 % of 99.99 is rounded to 10.00.
    expect(invoice.items[0]).toMatchObject({ discount_percent: "10.00", discount_amount: "10.00", subtotal: "89.99" })
    expect(invoice.discount_total).toBe("10.00")
    expect(amounts(invoice)).toEqual(["80.00", "16.00", "96.00"])
  }),
  scenario(7, "a draft invoice may have no rows, or a negative total with which it cannot be issued", async (s) => {
    expect(amounts(await s.draft({ items: [] }))).toEqual(["0.00", "0.00", "0.00"])
    const below = await s.draft({ items: [{ name: "Back", unit_price: "-10.00" }] })
    expect(amounts(below)).toEqual(["-10.00", "-2.00", "-12.00"])
    refusedOn(await s.issue(below.id), "total")
  }),
  scenario(8, "a draft invoice is refused for missing, archived and user members", async (s) => {
    refusedOn(await s.post(invoices, {}), "member_id")
    refusedOn(await s.post(invoices, { member_id: 999_999 }), "member_id")
    const gone = await s.customer()
    await s.remove(`/api/v1/members/${gone.id}`)
    refusedOn(await s.post(invoices, { member_id: gone.id }), "member_id")
    const [user] = (await s.get("/api/v1/members?q[membership_type_eq]=user")).body.members
    refusedOn(await s.post(invoices, { member_id: user.id }), "member_id")
    for (const membership_type of ["contact", "venue"])
      await s.draft({ member_id: (await s.customer({ membership_type })).id })
  }),
  scenario(9, "a draft invoice refuses invalid rows by position and field", async (s) => {
    const member_id = (await s.customer()).id
    const sent = (items: ReadonlyArray<object>) => s.post(invoices, { member_id, items })
    refusedOn(await sent([{ unit_price: "1.00" }]), "items.0.name")
    refusedOn(await sent([{ name: "x" }]), "items.0.unit_price")
    refusedOn(await sent([hundred, { ...hundred, quantity: "0" }]), "items.1.quantity")
    refusedOn(await sent([{ ...hundred, unit_price: "1.005" }]), "items.0.unit_price")
    refusedOn(await sent([{ ...hundred, discount_percent: "100.01" }]), "items.0.discount_percent")
    for (const column of ["product_id", "tax_class_id", "revenue_group_id"])
      refusedOn(await sent([{ ...hundred, [column]: 999_999 }]), `items.0.${column}`)
    refusedOn(await sent([{ ...hundred, name: "x".repeat(256) }]), "items.0.name")
    refusedOn(await s.post(invoices, { member_id, items: "all" }), "items")
    refusedOn(await sent([{ ...hundred, id: 1 }]), "items.0.id")
    refusedOn(
      await sent([{ ...hundred, starts_at: "2031-02-02T00:00:00Z", ends_at: "2031-02-01T00:00:00Z" }]),
      "items.0.ends_at"
    )
  }),
  scenario(10, "a draft invoice refuses an invalid type, terms, texts and references", async (s) => {
    const member_id = (await s.customer()).id
    refusedOn(await s.post(invoices, { member_id, type: "final" }), "type")
    for (const payment_terms_days of [-1, 366])
      refusedOn(await s.post(invoices, { member_id, payment_terms_days }), "payment_terms_days")
    refusedOn(await s.post(invoices, { member_id, due_at: "tomorrow" }), "due_at")
    refusedOn(await s.post(invoices, { member_id, subject: "x".repeat(256) }), "subject")
    refusedOn(await s.post(invoices, { member_id, notes: "x".repeat(5001) }), "notes")
    for (const column of ["store_id", "opportunity_id"])
      refusedOn(await s.post(invoices, { member_id, [column]: 999_999 }), column)
  }),
  scenario(11, "a draft invoice uses the customer's payment terms", async (s) => {
    const member = await s.customer({ invoice_term_length: 14 })
    expect((await s.draft({ member_id: member.id })).payment_terms_days).toBe(14)
    expect((await s.draft({ member_id: member.id, payment_terms_days: 0 })).payment_terms_days).toBe(0)
  }),
  scenario(12, "a draft invoice needs an enabled currency with an exchange rate", async (s) => {
    const member_id = (await s.customer()).id
    refusedOn(await s.post(invoices, { member_id, currency: "JPY" }), "currency")
    refusedOn(await s.post(invoices, { member_id, currency: "XXX" }), "currency")
    refusedOn(await s.post(invoices, { member_id, currency_code: "USD" }), "currency")
    expect((await s.put("/api/v1/currencies/ZZZ", { is_enabled: true })).status).toBe(404)
    refusedOn(await s.put("/api/v1/currencies/GBP", { is_enabled: false }), "is_enabled")
    refusedOn(await s.put("/api/v1/currencies/JPY", {}), "is_enabled")
    expect((await s.put("/api/v1/currencies/JPY", { is_enabled: true })).body.currency.is_enabled).toBe(true)
    await s.made(
      "/api/v1/exchange_rates",
      { source_currency_code: "JPY", target_currency_code: "GBP", rate: "0.005" },
      "exchange_rate"
    )
    const yen = await s.draft({ member_id, currency: "JPY", items: [{ name: "Koto", unit_price: "1005" }] })
    expect(amounts(yen)).toEqual(["1005", "201", "1206"])
    refusedOn(
      await s.post(invoices, { member_id, currency: "JPY", items: [{ name: "Koto", unit_price: "1005.5" }] }),
      "items.0.unit_price"
    )
  }),
  scenario(13, "a draft invoice is in the customer's currency", async (s) => {
    await s.made(
      "/api/v1/exchange_rates",
      { source_currency_code: "EUR", target_currency_code: "GBP", rate: "0.85" },
      "exchange_rate"
    )
    const member = await s.customer({ default_currency_code: "EUR" })
    const invoice = await s.draft({ member_id: member.id })
    expect(invoice).toMatchObject({ currency_code: "EUR", exchange_rate: "0.85000000", total: "120.00" })
  }),
  scenario(14, "a draft invoice refuses another customer's opportunity", async (s) => {
    const deal = await s.deal()
    refusedOn(await s.post(invoices, { member_id: (await s.customer()).id, opportunity_id: deal.id }), "opportunity_id")
    const invoice = await s.draft({ member_id: deal.member_id, opportunity_id: deal.id })
    expect(invoice.opportunity_id).toBe(deal.id)
    refusedOn(await s.put(`${invoices}/${invoice.id}`, { member_id: (await s.customer()).id }), "member_id")
  }),
  scenario(15, "a draft invoice keeps fields that a change leaves out", async (s) => {
    const { id } = await s.draft({ reference: "PO 1", notes: "Thank you" })
    const { body } = await s.put(`${invoices}/${id}`, { reference: null, payment_terms_days: 7 })
    expect(body.invoice).toMatchObject({
      subject: s.name,
      reference: null,
      notes: "Thank you",
      payment_terms_days: 7,
      total: "120.00"
    })
  }),
  scenario(16, "a draft invoice replaces all rows, and keeps ids and absent fields of known ones", async (s) => {
    const { id, items } = await s.draft({ items: [hundred, { name: "Rig", unit_price: "10.00", quantity: "3" }] })
    const [stage, rig] = items
    const { body } = await s.put(`${invoices}/${id}`, {
      items: [
        { id: rig!.id, quantity: "4" },
        { name: "Truck", unit_price: "60.00" }
      ]
    })
    expect(body.invoice.items.map((item) => [item.name, item.quantity, item.subtotal])).toEqual([
      ["Rig", "4.00", "40.00"],
      ["Truck", "1.00", "60.00"]
    ])
    expect(body.invoice.items[0].id).toBe(rig!.id)
    expect(body.invoice.items.map((item) => item.id)).not.toContain(stage!.id)
    expect(body.invoice.total).toBe("120.00")
    refusedOn(await s.put(`${invoices}/${id}`, { items: [{ id: stage!.id }] }), "items.0.id")
    refusedOn(await s.put(`${invoices}/${id}`, { items: [{ id: rig!.id }, { id: rig!.id }] }), "items.1.id")
  }),
  scenario(17, "a draft invoice is taxed again for another customer", async (s) => {
    const { id } = await s.draft()
    const untaxed = await s.customer({ sale_tax_class_id: null })
    const { body } = await s.put(`${invoices}/${id}`, { member_id: untaxed.id })
    expect(amounts(body.invoice)).toEqual(["100.00", "0.00", "100.00"])
  }),
  scenario(18, "a draft invoice keeps its currency and tax mode", async (s) => {
    const { id } = await s.draft()
    await s.put(`${invoices}/${id}`, { currency: "EUR", prices_include_tax: true })
    expect((await s.get(`${invoices}/${id}`)).body.invoice).toMatchObject({
      currency_code: "GBP",
      prices_include_tax: false,
      total: "120.00"
    })
  }),
  scenario(19, "a draft invoice is gone once deleted", async (s) => {
    const { id } = await s.draft()
    expect((await s.remove(`${invoices}/${id}`)).status).toBe(204)
    expect((await s.get(`${invoices}/${id}`)).status).toBe(404)
    expect((await s.get(`${invoices}?q[id_eq]=${id}`)).body.meta.total).toBe(0)
    expect((await s.issue(id)).status).toBe(404)
  }),
  scenario(20, "a draft invoice is filtered and sorted in lists", async (s) => {
    const small = await s.draft({ type: "deposit", reference: "R-20" })
    const large = await s.draft({ items: [{ name: "All", unit_price: "500.00" }] })
    const ids = async (query: string): Promise<ReadonlyArray<number>> =>
      (await s.get(`${invoices}?q[subject_eq]=${s.name}&${query}`)).body.invoices.map((one) => one.id)
    expect(await ids("")).toEqual([small.id, large.id])
    expect(await ids("sort=-total")).toEqual([large.id, small.id])
    expect(await ids("q[type_eq]=deposit")).toEqual([small.id])
    expect(await ids("q[reference_cont]=r-2")).toEqual([small.id])
    expect(await ids("q[total_gt]=120.00")).toEqual([large.id])
    expect(await ids("q[member_id_in]=" + large.member_id)).toEqual([large.id])
    expect(await ids("q[status_eq]=draft")).toEqual([small.id, large.id])
    expect(await ids("q[status_not_eq]=draft")).toEqual([])
    expect(await ids("q[is_overdue_true]=1")).toEqual([])
    expect(await ids("q[is_overdue_false]=1")).toEqual([small.id, large.id])
  }),
  scenario(21, "a draft invoice includes related rows on request", async (s) => {
    const deal = await s.deal()
    const { id } = await s.draft({ member_id: deal.member_id, opportunity_id: deal.id, store_id: 1 })
    const one = await s.shown(id, "member,store,opportunity,items,payments,credit_notes")
    expect(one).toMatchObject({
      member: { id: deal.member_id },
      store: { id: 1 },
      opportunity: { id: deal.id, name: deal.subject },
      payments: [],
      credit_notes: []
    })
    expect((await s.get(`${invoices}/${id}`)).body.invoice.items).toBeNull()
  })
]
