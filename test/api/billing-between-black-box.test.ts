/** What changes between a draft and its issue, deposits of several rates, and numbers whose settings change midway. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, openBooks } from "./billing-black-box.ts"

describe.each(engines)("Between draft and issue, on %s (rules/billing 1.1 to 1.3)", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())
  const issue = (id: number) => books.post(`/invoices/${id}/issue`, {})

  it("a currency that was disabled, and whose rate is gone, is that of the draft still", async () => {
    const draft = await books.draft({ currency: "JPY", items: [{ name: "Stage", unit_price: "1001" }] })
    const { exchange_rates } = await books.get("/exchange_rates?per_page=100")
    const rate = exchange_rates.find((one: any) => one.target_currency_code === "JPY")
    expect((await books.remove(`/exchange_rates/${rate.id}`)).status).toBeLessThan(300)
    expect((await books.put("/currencies/JPY", { is_enabled: false })).status).toBe(200)
    const { body, status } = await issue(draft.id)
    expect([status, body.invoice.currency_code, body.invoice.total]).toEqual([200, "JPY", "1201"])
    expect(body.invoice.exchange_rate).toBe(draft.exchange_rate)
    const refused = await books.post("/invoices", { member_id: books.member, currency: "JPY", items: [] })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["currency"]])
    await books.put("/currencies/JPY", { is_enabled: true })
    const without = await books.post("/invoices", { member_id: books.member, currency: "JPY", items: [] })
    expect(without.status).toBe(422)
    expect(JSON.stringify(without.body.errors)).toMatch(/exchange rate/i)
  })
  it("a customer who was archived is not billed; once restored, is", async () => {
    const member = await books.made("/members", { name: "Leaving", membership_type: "organisation" })
    const draft = await books.draft({ member_id: member.id })
    const archived = await books.ask("PUT", `/members/${member.id}/archive`)
    const gone = archived.status < 300 ? archived : await books.remove(`/members/${member.id}`)
    expect(gone.status).toBeLessThan(300)
    const refused = await issue(draft.id)
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["member_id"]])
    expect((await books.post(`/members/${member.id}/restore`)).status).toBe(200)
    expect((await issue(draft.id)).status).toBe(200)
  })
  it("a deposit with a deduction of another rate is taken off for what it came to", async () => {
    const job = await books.job([{ unit_price: "1000.00" }])
    const deposit = await books.issued({
      type: "deposit",
      opportunity_id: job.id,
      items: [
        { name: "Part", unit_price: "100.00", tax_class_id: books.standard },
        { name: "Voucher", unit_price: "-50.00", tax_class_id: books.reduced }
      ]
    })
    expect(deposit.total).toBe("67.50")
    const draft = await books.billed(job.id)
    expect(draft.total).toBe("1132.50")
    expect((await issue(draft.id)).status).toBe(200)
  })
  it("such a deposit that is more than the whole takes off the whole, and no more", async () => {
    const job = await books.job([{ unit_price: "10.00" }])
    await books.issued({
      type: "deposit",
      opportunity_id: job.id,
      items: [
        { name: "Part", unit_price: "100.00", tax_class_id: books.standard },
        { name: "Other part", unit_price: "31.37", tax_class_id: books.reduced },
        { name: "Voucher", unit_price: "-50.00", tax_class_id: books.exempt }
      ]
    })
    const draft = await books.billed(job.id)
    expect(draft.total).toBe("0.00")
    const { body, status } = await issue(draft.id)
    expect([status, body.invoice.status]).toEqual([200, "paid"])
  })
  it("odd parts of the whole come to the whole with the final invoice", async () => {
    const job = await books.job([{ unit_price: "33.33" }, { unit_price: "0.07", quantity: "3" }])
    const whole = await books.billed(job.id, { type: "proforma" })
    const totals: Array<number> = []
    for (const percent of ["33.33", "0.99", "12.5"]) {
      const { id } = await books.billed(job.id, { type: "deposit", percent })
      totals.push(Number((await issue(id)).body.invoice.total))
    }
    const { id } = await books.billed(job.id)
    totals.push(Number((await issue(id)).body.invoice.total))
    expect(totals.reduce((sum, one) => sum + one, 0)).toBeCloseTo(Number(whole.total), 6)
  })
  it("a part that comes to nothing is refused by the percent", async () => {
    const job = await books.job([{ unit_price: "1.00" }])
    const { body, status } = await books.checkout(job.id, { type: "deposit", percent: "0.01" })
    expect([status, Object.keys(body.errors)]).toEqual([422, ["percent"]])
  })
  it.each([
    ["GBP", "0.01", "0.01", ["0.00", "0.00", "0.00"]],
    ["JPY", "0.01", "150", ["2", "0", "2"]],
    ["KWD", "0.01", "1.005", ["0.010", "0.002", "0.012"]]
  ])("a hundredth of a thing in %s is rounded once", async (currency, quantity, unit_price, sums) => {
    const rates = (await books.get("/exchange_rates?per_page=100")).exchange_rates
    if (currency === "JPY" && !rates.some((one: any) => one.target_currency_code === "JPY"))
      await books.made("/exchange_rates", { source_currency_code: "GBP", target_currency_code: "JPY", rate: "2" })
    const { subtotal, tax_total, total } = await books.issued({
      currency,
      items: [{ name: "Bit", quantity, unit_price }]
    })
    expect([subtotal, tax_total, total]).toEqual(sums)
  })
  it("amounts, then rows, then all that is left: credits come to the invoice, and refunds to what was paid", async () => {
    const invoice = await books.issued({
      prices_include_tax: true,
      items: [
        { name: "A", unit_price: "99.99", quantity: "3", discount_percent: "33.33", tax_class_id: books.standard },
        { name: "B", unit_price: "0.07", quantity: "0.33", tax_class_id: books.reduced },
        { name: "Gift", unit_price: "10.00", discount_percent: "100", tax_class_id: books.exempt },
        { name: "Off", unit_price: "-1.11", tax_class_id: books.reduced }
      ]
    })
    await books.made(`/invoices/${invoice.id}/payments`, { amount: invoice.total })
    const credit = async (body: object) =>
      Number((await books.made(`/invoices/${invoice.id}/credit_notes`, body)).total)
    const shown = await books.shown(invoice.id, "items")
    const row = shown.items.find((one: any) => one.name === "A")
    let sum = await credit({ amount: "17.01" })
    sum += await credit({ items: [{ invoice_item_id: row.id, quantity: "1" }] })
    sum += await credit({})
    expect(-sum).toBeCloseTo(Number(invoice.total), 6)
    const over = await books.post(`/invoices/${invoice.id}/refunds`, { amount: String(Number(invoice.total) + 0.01) })
    expect(over.status).toBe(422)
    await books.made(`/invoices/${invoice.id}/refunds`, { amount: invoice.total })
    expect(await books.shown(invoice.id)).toMatchObject({
      status: "credited",
      amount_paid: "0.00",
      amount_outstanding: "0.00"
    })
    const notes = (await books.shown(invoice.id, "credit_notes")).credit_notes
    for (const column of ["subtotal", "tax_total", "total"])
      expect(-notes.reduce((all: number, one: any) => all + Number(one[column]), 0)).toBeCloseTo(
        Number(shown[column]),
        6
      )
  })
  it("sixteen at once pay, credit, refund and void one invoice: what is left adds up", async () => {
    const { id } = await books.issued()
    const path = `/invoices/${id}`
    const asked = Array.from({ length: 16 }, (_, at) =>
      at % 4 === 0
        ? books.post(`${path}/payments`, { amount: "30.00" })
        : at % 4 === 1
          ? books.post(`${path}/credit_notes`, { amount: "25.00" })
          : at % 4 === 2
            ? books.post(`${path}/refunds`, { amount: "10.00" })
            : books.post(`${path}/void`, {})
    )
    const answers = await Promise.all(asked)
    expect(answers.filter(({ status }) => ![200, 201, 422].includes(status))).toEqual([])
    const got = await books.shown(id, "payments,credit_notes")
    const sum = (rows: ReadonlyArray<any>, of: (row: any) => number) => rows.reduce((all, row) => all + of(row), 0)
    const paid = sum(got.payments, (row) => (row.kind === "refund" ? -1 : 1) * Number(row.amount))
    const credited = -sum(got.credit_notes, (row) => Number(row.total))
    expect([Number(got.amount_paid), Number(got.amount_credited)]).toEqual([paid, credited])
    if (got.status !== "voided")
      expect(Number(got.amount_outstanding)).toBeCloseTo(Number(got.total) - paid - credited, 6)
    else expect([paid, credited]).toEqual([0, 0])
  })
  it("numbers stay apart and without gaps when prefixes and series change midway", async () => {
    const stores = [1, (await books.made("/stores", { name: "North" })).id]
    const numbering = (settings: object) => books.put("/settings/numbering", { settings })
    const numbers: Array<string> = []
    const both = async () => {
      for (const store_id of stores) numbers.push((await books.issued({ store_id })).number)
    }
    await both()
    expect((await numbering({ "invoice.prefix": "N{store}-", "invoice.per_store": true })).status).toBe(200)
    await both()
    expect((await numbering({ "invoice.prefix": "R-" })).status).toBeGreaterThanOrEqual(200)
    await both()
    await numbering({ "invoice.prefix": "", "invoice.per_store": false })
    await both()
    expect(new Set(numbers).size, numbers.join(" ")).toBe(numbers.length)
  })
})
