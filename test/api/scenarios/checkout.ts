/** Billing opportunities: rows, exact totals, excluded lines, deposits. */
import { expect } from "vitest"
import { invoices, opp, type Scenario, scenario } from "../billing-scenarios.ts"
import { amounts, refusedOn, type Made } from "../calling.ts"

const totalsOf = (deal: Made<"opportunity">): ReadonlyArray<string> => [
  deal.charge_excluding_tax_total,
  deal.tax_total,
  deal.charge_including_tax_total
]
const rowsOf = ({ items }: Made<"invoice">) =>
  items.map((item) => [item.item_type, item.name, item.quantity, item.unit_price, item.subtotal])

export const checkoutScenarios = (): ReadonlyArray<Scenario> => [
  scenario(60, "a draft has a row per charged line, and the opportunity's totals", async (s) => {
    const product = await s.product()
    const deal = await s.deal(
      [
        { name: "Line L", quantity: "2", unit_price: "50.00" },
        { item_id: product.id, quantity: "3", unit_price: "10.00" }
      ],
      { reference: "PO 60" }
    )
    const invoice = await s.billed(deal.id)
    expect(invoice).toMatchObject({
      type: "standard",
      status: "draft",
      number: null,
      subject: deal.subject,
      reference: "PO 60",
      member_id: deal.member_id,
      store_id: 1,
      opportunity_id: deal.id,
      version_id: null,
      prices_include_tax: false,
      due_at: null,
      payment_terms_days: 30
    })
    expect(amounts(invoice)).toEqual(totalsOf(deal))
    expect(invoice.items.map((item) => [item.opportunity_item_id, item.product_id, item.tax_class_id])).toEqual([
      [deal.items[0]!.id, null, null],
      [deal.items[1]!.id, product.id, 1]
    ])
    expect((await s.get(`${opp}/${deal.id}`)).body.opportunity.invoiced).toBe(false)
  }),
  scenario(61, "optional lines and costs, groups and texts without a charge are left out", async (s) => {
    const deal = await s.deal([
      { name: "Group", item_type: "group" },
      { name: "Kept", unit_price: "10.00" },
      { name: "Perhaps", unit_price: "99.00", is_optional: true },
      { name: "Please note", item_type: "text" }
    ])
    await s.made(`${opp}/${deal.id}/costs`, { description: "Van", amount: "40.00", quantity: "2" }, "cost")
    await s.made(`${opp}/${deal.id}/costs`, { description: "Crane", amount: "400.00", is_optional: true }, "cost")
    const invoice = await s.billed(deal.id)
    expect(rowsOf(invoice).map(([type, name]) => [type, name])).toEqual([
      ["product", "Kept"],
      ["cost", "Van"]
    ])
    expect(rowsOf(invoice)[1]).toEqual(["cost", "Van", "2.00", "40.00", "80.00"])
    expect(invoice.items[1]!.opportunity_cost_id).toBeGreaterThan(0)
    expect(amounts(invoice)).toEqual(totalsOf((await s.get(`${opp}/${deal.id}`)).body.opportunity))
  }),
  scenario(62, "a deal price becomes one row with the opportunity's name and the default tax class", async (s) => {
    const deal = await s.deal()
    const agreed = (await s.post(`${opp}/${deal.id}/deal_price`, { deal_total: "333.33" })).body.opportunity
    const invoice = await s.billed(deal.id)
    expect(rowsOf(invoice)).toEqual([["custom", deal.subject, "1.00", "333.33", "333.33"]])
    expect(amounts(invoice)).toEqual(totalsOf(agreed))
    expect(amounts(invoice)).toEqual(["333.33", "66.67", "400.00"])
  }),
  scenario(63, "tax is apportioned by class and adds up to the opportunity's", async (s) => {
    const [taxed, exempt] = [await s.product(), await s.product({ tax_class_id: 2 })]
    const deal = await s.deal([
      { item_id: taxed.id, unit_price: "33.33", charge_period: 4, transaction_type: 1 },
      { item_id: exempt.id, unit_price: "12.34", transaction_type: 1 },
      { item_id: taxed.id, unit_price: "33.33", transaction_type: 1 }
    ])
    const invoice = await s.billed(deal.id)
    expect(amounts(invoice)).toEqual(totalsOf(deal))
    const sums = invoice.tax_summary.map((row) => Number(row.tax)).reduce((a: number, b: number) => a + b, 0)
    expect(sums.toFixed(2)).toBe(invoice.tax_total)
    const rows = invoice.items.map((row) => Number(row.tax_total)).reduce((a: number, b: number) => a + b, 0)
    expect(rows.toFixed(2)).toBe(invoice.tax_total)
  }),
  scenario(64, "prices that include tax become net rows", async (s) => {
    const product = await s.product()
    const deal = await s.deal([{ item_id: product.id, unit_price: "9.99", transaction_type: 1, quantity: "3" }], {
      prices_include_tax: true
    })
    await s.made(`${opp}/${deal.id}/costs`, { description: "Van", amount: "10.00" }, "cost")
    const whole = (await s.get(`${opp}/${deal.id}`)).body.opportunity
    const invoice = await s.billed(deal.id)
    expect(invoice.prices_include_tax).toBe(false)
    expect(amounts(invoice)).toEqual(totalsOf(whole))
  }),
  scenario(65, "a row keeps its total if its unit price cannot be exact", async (s) => {
    const deal = await s.deal([
      { name: "Lamp", quantity: "3", unit_price: "33.33", discount_percent: "7", transaction_type: 1 },
      { name: "Tie", quantity: "1000", line_total: "5.00", transaction_type: 1 },
      { name: "Wire", quantity: "7", line_total: "100.00", transaction_type: 1 }
    ])
    const invoice = await s.billed(deal.id)
    for (const item of invoice.items) {
      const gross = Math.round(Number(item.quantity) * Number(item.unit_price) * 100)
      expect(gross - Math.round(Number(item.discount_amount) * 100)).toBe(Math.round(Number(item.subtotal) * 100))
    }
    expect(rowsOf(invoice)).toEqual([
      ["product", "Lamp", "3.00", "33.33", "92.99"],
      ["product", "Tie", "1.00", "5.00", "5.00"],
      ["product", "Wire", "7.00", "14.29", "100.00"]
    ])
    expect(invoice.items.map((item) => [item.discount_percent, item.discount_amount])).toEqual([
      ["7.00", "7.00"],
      [null, "0.00"],
      [null, "0.03"]
    ])
    expect(invoice.items[1]!.description).toBe("Quantity 1000.00")
    expect(amounts(invoice)).toEqual(totalsOf(deal))
  }),
  scenario(66, "only the active version is billed", async (s) => {
    const deal = await s.deal()
    await s.post(`${opp}/${deal.id}/convert_to_quotation`)
    await s.made(`${opp}/${deal.id}/versions`, {}, "version")
    const second = await s.made(`${opp}/${deal.id}/versions`, { label: "Second" }, "version")
    await s.made(`${opp}/${deal.id}/items`, { name: "More", unit_price: "5.00" }, "opportunity")
    const whole = (await s.get(`${opp}/${deal.id}?include=versions`)).body.opportunity
    const invoice = await s.billed(deal.id)
    expect(invoice.version_id).toBe(whole.active_version_id)
    expect(invoice.version_id).toBe(second.id)
    expect(amounts(invoice)).toEqual(totalsOf(whole))
  }),
  scenario(67, "lost and deleted opportunities, and those without a customer or a charge, are refused", async (s) => {
    const lost = await s.deal()
    await s.post(`${opp}/${lost.id}/convert_to_quotation`)
    await s.post(`${opp}/${lost.id}/change_status`, { status: 2 })
    refusedOn(await s.checkout(lost.id), "opportunity")
    refusedOn(await s.checkout((await s.deal(undefined, { member_id: null })).id), "member_id")
    refusedOn(await s.checkout((await s.deal([])).id), "items")
    refusedOn(await s.checkout((await s.deal()).id, { type: "final" }), "type")
    expect((await s.checkout(999_999)).status).toBe(404)
    const gone = await s.deal()
    await s.remove(`${opp}/${gone.id}`)
    expect((await s.checkout(gone.id)).status).toBe(404)
  }),
  scenario(68, "an issued deposit is proposed as a deduction", async (s) => {
    const product = await s.product()
    const deal = await s.deal([{ item_id: product.id, unit_price: "100.00", transaction_type: 1 }])
    const deposit = await s.billed(deal.id, { type: "deposit", percent: "30" })
    expect(amounts(deposit)).toEqual(["30.00", "6.00", "36.00"])
    expect(deposit.items[0]!.name).toContain("30 % of")
    expect(amounts(await s.billed(deal.id))).toEqual(["100.00", "20.00", "120.00"])
    await s.issue(deposit.id)
    const final = await s.billed(deal.id)
    expect(amounts(final)).toEqual(["70.00", "14.00", "84.00"])
    expect(final.items[1]).toMatchObject({
      item_type: "custom",
      unit_price: "-30.00",
      subtotal: "-30.00",
      tax_total: "-6.00",
      total: "-36.00",
      tax_rate: "20.0000"
    })
    expect(final.items[1]!.name).toContain("2031-06-18")
    expect(amounts(await s.billed(deal.id, { deduct_deposits: false }))).toEqual(["100.00", "20.00", "120.00"])
    expect(amounts(await s.billed(deal.id, { type: "proforma" }))).toEqual(["100.00", "20.00", "120.00"])
    const without = await s.put(`${invoices}/${final.id}`, { items: [{ id: final.items[0]!.id }] })
    expect(amounts(without.body.invoice)).toEqual(["100.00", "20.00", "120.00"])
  }),
  scenario(69, "a deposit is deducted once", async (s) => {
    const deal = await s.deal([{ name: "Hire", unit_price: "100.00", transaction_type: 1 }])
    const deposit = await s.billed(deal.id, { type: "deposit", percent: "50" })
    await s.issue(deposit.id)
    const [one, other] = [await s.billed(deal.id), await s.billed(deal.id)]
    expect([one.total, other.total]).toEqual(["50.00", "50.00"])
    expect((await s.issue(one.id)).status).toBe(200)
    refusedOn(await s.issue(other.id), "items")
    refusedOn(await s.checkout(deal.id), "items")
    refusedOn(await s.post(`${invoices}/${deposit.id}/void`), "status")
    await s.post(`${invoices}/${one.id}/void`)
    expect((await s.issue(other.id)).status).toBe(200)
  }),
  scenario(70, "a deposit above the total is deducted down to zero", async (s) => {
    const deal = await s.deal([{ name: "Hire", unit_price: "100.00", transaction_type: 1 }])
    const deposit = await s.billed(deal.id, { type: "deposit" })
    await s.issue(deposit.id)
    await s.post(`${opp}/${deal.id}/deal_price`, { deal_total: "60.00" })
    const final = await s.billed(deal.id)
    expect(final.total).toBe("0.00")
    expect((await s.issue(final.id)).body.invoice.status).toBe("paid")
  }),
  scenario(71, "a deposit of 0 %, above 100 % or of less than a penny is refused", async (s) => {
    const deal = await s.deal()
    refusedOn(await s.checkout(deal.id, { type: "deposit", percent: "0" }), "percent")
    refusedOn(await s.checkout(deal.id, { type: "deposit", percent: "100.01" }), "percent")
    const small = await s.deal([{ name: "Pen", unit_price: "1.00" }])
    refusedOn(await s.checkout(small.id, { type: "deposit", percent: "0.01" }), "percent")
  }),
  scenario(72, "custom fields of the same name and kind are copied", async (s) => {
    for (const module_type of ["Opportunity", "Invoice"]) {
      await s.made("/api/v1/custom_fields", { name: "cost_centre", module_type, field_type: 0 }, "custom_field")
      await s.made(
        "/api/v1/custom_fields",
        { name: "grade", module_type, field_type: module_type === "Invoice" ? 0 : 2 },
        "custom_field"
      )
    }
    const deal = await s.deal(undefined, { custom_fields: { cost_centre: "CC-72", grade: "4" } })
    const invoice = await s.billed(deal.id)
    expect(invoice.custom_fields).toEqual({ cost_centre: "CC-72", grade: null })
    await s.issue(invoice.id)
    const { body } = await s.put(`${invoices}/${invoice.id}`, { custom_fields: { cost_centre: "CC-73" } })
    expect(body.invoice.custom_fields.cost_centre).toBe("CC-73")
  }),
  scenario(73, "a discounted order is billed at its discounted price", async (s) => {
    const product = await s.product()
    const deal = await s.deal([
      { item_id: product.id, unit_price: "33.33", quantity: "7", discount_percent: "12.5", transaction_type: 1 },
      { item_id: product.id, unit_price: "0.07", quantity: "13", transaction_type: 1 }
    ])
    expect(amounts(await s.billed(deal.id))).toEqual(totalsOf(deal))
  }),
  scenario(74, "rows sent back unchanged keep their amounts", async (s) => {
    const product = await s.product()
    const deal = await s.deal([
      { item_id: product.id, unit_price: "33.33", quantity: "7", discount_percent: "12.5", transaction_type: 1 }
    ])
    const invoice = await s.billed(deal.id)
    const { body } = await s.put(`${invoices}/${invoice.id}`, {
      items: invoice.items.map(({ id, quantity, unit_price }) => ({ id, quantity, unit_price }))
    })
    expect(amounts(body.invoice)).toEqual(amounts(invoice))
  }),
  scenario(75, "locked tax is billed as locked", async (s) => {
    const product = await s.product()
    const deal = await s.deal([{ item_id: product.id, unit_price: "100.00", transaction_type: 1 }])
    await s.post(`${opp}/${deal.id}/lock_locks`)
    const whole = await s.deal([{ item_id: product.id, unit_price: "100.00", transaction_type: 1 }])
    await s.post(`${opp}/${whole.id}/deal_price`, { deal_total: "50.00" })
    for (const move of ["convert_to_quotation", "convert_to_order"]) await s.post(`${opp}/${whole.id}/${move}`)
    const rate = await s.made("/api/v1/tax_rates", { name: `${s.name} rate`, rate: "10" }, "tax_rate")
    const rule = await s.made(
      "/api/v1/tax_rules",
      { organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: rate.id, priority: 9 },
      "tax_rule"
    )
    const invoice = await s.billed(deal.id)
    expect(amounts(invoice)).toEqual(["100.00", "20.00", "120.00"])
    expect(invoice.tax_summary).toMatchObject([{ rate: "20.0000", tax: "20.00" }])
    expect((await s.billed(whole.id)).tax_summary).toMatchObject([{ rate: "20.0000", tax: "10.00" }])
    await s.remove(`/api/v1/tax_rules/${rule.id}`)
  }),
  scenario(76, "a deducted deposit can be credited only after its final invoice is credited", async (s) => {
    const deal = await s.deal([{ name: "Hire", unit_price: "100.00", transaction_type: 1 }])
    const deposit = await s.billed(deal.id, { type: "deposit", percent: "50" })
    await s.issue(deposit.id)
    const final = await s.billed(deal.id)
    await s.issue(final.id)
    refusedOn(await s.post(`${invoices}/${deposit.id}/credit_notes`), "invoice")
    refusedOn(await s.post(`${invoices}/${deposit.id}/credit_notes`, { amount: "0.01" }), "invoice")
    await s.post(`${invoices}/${final.id}/credit_notes`)
    expect((await s.billed(deal.id)).total).toBe(final.total)
    expect((await s.post(`${invoices}/${deposit.id}/credit_notes`)).status).toBe(201)
  }),
  scenario(77, "crediting a final invoice of zero frees its deposit to be deducted or voided", async (s) => {
    const deal = await s.deal([{ name: "Hire", unit_price: "100.00", transaction_type: 1 }])
    const deposit = await s.billed(deal.id, { type: "deposit" })
    await s.issue(deposit.id)
    const final = await s.billed(deal.id)
    expect((await s.issue(final.id)).body.invoice.total).toBe("0.00")
    refusedOn(await s.post(`${invoices}/${deposit.id}/void`), "status")
    expect((await s.post(`${invoices}/${final.id}/credit_notes`)).status).toBe(201)
    expect((await s.billed(deal.id)).total).toBe("0.00")
    expect((await s.post(`${invoices}/${deposit.id}/void`)).status).toBe(200)
  }),
  scenario(78, "a draft cannot be issued with a deposit that was credited since", async (s) => {
    const deal = await s.deal([{ name: "Hire", unit_price: "100.00", transaction_type: 1 }])
    const deposit = await s.billed(deal.id, { type: "deposit", percent: "50" })
    await s.issue(deposit.id)
    const early = await s.billed(deal.id)
    await s.post(`${invoices}/${deposit.id}/credit_notes`, { amount: "10.00" })
    refusedOn(await s.issue(early.id), "items")
    const late = await s.billed(deal.id)
    expect(Number(late.total) - Number(early.total)).toBe(10)
    expect((await s.issue(late.id)).status).toBe(200)
  }),
  scenario(79, "a deposit in another currency is not deducted", async (s) => {
    const deal = await s.deal([{ name: "Hire", unit_price: "100.00", transaction_type: 1 }])
    await s.put("/api/v1/currencies/JPY", { is_enabled: true })
    const rate = { source_currency_code: "JPY", target_currency_code: "GBP", rate: "2", effective_at: "2026-01-01" }
    await s.post("/api/v1/exchange_rates", rate)
    const deposit = { type: "deposit", currency: "JPY", member_id: deal.member_id, opportunity_id: deal.id }
    const { id } = await s.draft({ ...deposit, items: [{ name: "Deposit", unit_price: "5000" }] })
    expect((await s.issue(id)).status).toBe(200)
    expect((await s.billed(deal.id)).items).toHaveLength(1)
  })
]
