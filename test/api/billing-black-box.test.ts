/** Invoices from outside: every expectation from rules/billing 1 and 6, the rulings, and the interface 2.4, 3.2, 4.5. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, money, now, openBooks, refusal, sums } from "./billing-black-box.ts"

describe.each(engines)("A draft, on %s (rules/billing 1.2, 1.3)", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())

  it("has every field in its form", async () => {
    const { id, items, ...invoice } = await books.shown((await books.draft()).id, "items")
    expect(invoice).toEqual({
      ...{ number: null, type: "standard", type_name: "Standard", status: "draft", status_name: "Draft" },
      ...{ is_overdue: false, subject: null, reference: null, member_id: books.member, store_id: null },
      ...{ opportunity_id: null, version_id: null, currency_code: "GBP", exchange_rate: "1.00000000" },
      ...{ prices_include_tax: false, subtotal: "100.00", discount_total: "0.00", tax_total: "20.00" },
      ...{ total: "120.00", amount_paid: "0.00", amount_credited: "0.00", amount_outstanding: "120.00" },
      tax_summary: [
        {
          ...{ tax_class_id: books.standard, tax_rate_id: invoice.tax_summary[0].tax_rate_id },
          ...{ tax_rate_name: "Standard", rate: "20.0000", net: "100.00", tax: "20.00", gross: "120.00" }
        }
      ],
      ...{ payment_terms_days: 30, notes: null, void_reason: null, custom_fields: {}, issued_at: null, due_at: null },
      ...{ paid_at: null, voided_at: null, emailed_at: null, created_at: now, updated_at: now },
      ...{ member: null, store: null, opportunity: null, payments: null, credit_notes: null }
    })
    const [{ id: item_id, tax_rate_id, ...item }] = items
    expect([typeof id, typeof item_id, typeof tax_rate_id]).toEqual(["number", "number", "number"])
    expect(item).toEqual({
      ...{ invoice_id: id, opportunity_item_id: null, opportunity_cost_id: null, product_id: null },
      ...{ item_type: "custom", name: "Stage", description: null, quantity: "1.00", unit_price: "100.00" },
      ...{ discount_percent: null, discount_amount: "0.00", subtotal: "100.00", tax_class_id: books.standard },
      ...{ tax_rate_name: "Standard", tax_rate: "20.0000", tax_total: "20.00", total: "120.00" },
      ...{ revenue_group_id: null, starts_at: null, ends_at: null, sort_order: item.sort_order },
      ...{ created_at: now, updated_at: now }
    })
  })
  it("shows includes only to who asks", async () => {
    const { id } = await books.draft({ store_id: 1 })
    const plain = (await books.get(`/invoices/${id}`)).invoice
    for (const key of ["member", "store", "opportunity", "items", "payments", "credit_notes"])
      expect([key, plain[key]]).toEqual([key, null])
    const full = await books.shown(id, "member,store,opportunity,items,payments,credit_notes,nonsense")
    expect([full.member.id, full.store.id, full.opportunity, full.items.length]).toEqual([books.member, 1, null, 1])
    expect([full.payments, full.credit_notes]).toEqual([[], []])
  })

  const item = (more: object): object => ({ items: [{ name: "A row", unit_price: "1.00", ...more }] })
  it.each<[string, string, object]>([
    ["no member", "member_id", { member_id: undefined }],
    ["a member that is not there", "member_id", { member_id: 999_999 }],
    ["an unknown type", "type", { type: "final" }],
    ["a store that is not there", "store_id", { store_id: 999_999 }],
    ["an opportunity that is not there", "opportunity_id", { opportunity_id: 999_999 }],
    ["a currency nobody knows", "currency", { currency: "QQQ" }],
    ["a currency that is not enabled", "currency", { currency: "BHD" }],
    ["a subject of 256 characters", "subject", { subject: "x".repeat(256) }],
    ["a reference of 256 characters", "reference", { reference: "x".repeat(256) }],
    ["notes of 5,001 characters", "notes", { notes: "x".repeat(5001) }],
    ["terms below nothing", "payment_terms_days", { payment_terms_days: -1 }],
    ["terms of 366 days", "payment_terms_days", { payment_terms_days: 366 }],
    ["a due date that is none", "due_at", { due_at: "tomorrow" }],
    ["items that are no list", "items", { items: "all" }],
    ["a row without name or product", "items.0.name", item({ name: undefined })],
    ["a row's name of 256 characters", "items.0.name", item({ name: "x".repeat(256) })],
    ["a row without price", "items.0.unit_price", item({ unit_price: undefined })],
    ["a price that is none", "items.0.unit_price", item({ unit_price: "a lot" })],
    ["no pieces", "items.0.quantity", item({ quantity: 0 })],
    ["fewer pieces than none", "items.0.quantity", item({ quantity: "-1" })],
    ["a discount above 100", "items.0.discount_percent", item({ discount_percent: "100.01" })],
    ["a discount below nothing", "items.0.discount_percent", item({ discount_percent: -1 })],
    ["a tax class that is not there", "items.0.tax_class_id", item({ tax_class_id: 999_999 })],
    ["a product that is not there", "items.0.product_id", item({ product_id: 999_999 })],
    ["a revenue group that is not there", "items.0.revenue_group_id", item({ revenue_group_id: 999_999 })],
    ["an end before its start", "items.0.ends_at", item({ starts_at: "2026-07-02", ends_at: "2026-07-01" })]
  ])("is refused for %s", async (_, field, more) => {
    const before = (await books.get("/invoices")).meta.total
    expect(refusal(await books.post("/invoices", { member_id: books.member, ...more }))).toEqual([422, field])
    expect((await books.get("/invoices")).meta.total).toBe(before)
  })
  it("is refused for an archived member, and for another member's opportunity", async () => {
    const { id } = await books.made("/members", { name: "Gone", membership_type: "organisation" })
    const job = await books.job()
    const foreign = await books.post("/invoices", { member_id: id, opportunity_id: job.id })
    expect(foreign.status, foreign.text).toBe(422)
    await books.remove(`/members/${id}`)
    expect(refusal(await books.post("/invoices", { member_id: id }))).toEqual([422, "member_id"])
  })
  it("needs a rate to the base for a currency that is not the base", async () => {
    expect((await books.put("/currencies/SEK", { is_enabled: true })).status).toBe(200)
    expect(refusal(await books.post("/invoices", { member_id: books.member, currency: "SEK" }))).toEqual([
      422,
      "currency"
    ])
  })
  it("takes the customer's terms and currency, and a due date of its own", async () => {
    const { id } = await books.made("/members", {
      ...{ name: "Yen", membership_type: "organisation", default_currency_code: "JPY", invoice_term_length: 14 }
    })
    const yen = await books.draft({ member_id: id, items: [{ name: "Stage", unit_price: 1000 }] })
    expect([yen.currency_code, yen.payment_terms_days, yen.total]).toEqual(["JPY", 14, "1000"])
    const told = await books.draft({ payment_terms_days: 7, due_at: "2026-09-01T00:00:00Z", currency_code: "KWD" })
    expect([told.payment_terms_days, told.due_at, told.currency_code]).toEqual([7, "2026-09-01T00:00:00.000Z", "KWD"])
  })

  const priced = (unit_price: unknown, more: object = {}): object => ({ name: "A row", unit_price, ...more })
  it.each<[string, ReadonlyArray<object>, object, ReadonlyArray<string>]>([
    ["nothing", [], {}, ["0.00", "0.00", "0.00"]],
    ["whole numbers are pence", [priced(10_000)], {}, ["100.00", "20.00", "120.00"]],
    ["texts are pounds", [priced("100")], {}, ["100.00", "20.00", "120.00"]],
    ["two rows of 33.33: one rounding", [priced("33.33"), priced("33.33")], {}, ["66.66", "13.33", "79.99"]],
    ["half a penny rounds up", [priced("0.01", { quantity: "1.5" })], {}, ["0.02", "0.00", "0.02"]],
    ["a discount", [priced("33.33", { quantity: 3, discount_percent: "10" })], {}, ["89.99", "18.00", "107.99"]],
    ["a discount of all", [priced("33.33", { discount_percent: 100 })], {}, ["0.00", "0.00", "0.00"]],
    ["a deduction", [priced("100.00"), priced("-20.00")], {}, ["80.00", "16.00", "96.00"]],
    ["less than nothing, while a draft", [priced("-20.00")], {}, ["-20.00", "-4.00", "-24.00"]],
    ["120.00 with its tax", [priced("120.00")], { prices_include_tax: true }, ["100.00", "20.00", "120.00"]],
    ["10.00 with its tax", [priced("10.00")], { prices_include_tax: true }, ["8.33", "1.67", "10.00"]],
    ["two of 10.00 with it", [priced("10"), priced("10")], { prices_include_tax: true }, ["16.67", "3.33", "20.00"]],
    ["yen", [priced(333)], { currency: "JPY" }, ["333", "67", "400"]],
    ["yen as text", [priced("1000")], { currency: "JPY" }, ["1000", "200", "1200"]],
    ["dinars", [priced("1.001")], { currency: "KWD" }, ["1.001", "0.200", "1.201"]],
    ["fils", [priced(1001)], { currency: "KWD" }, ["1.001", "0.200", "1.201"]]
  ])("comes to: %s", async (_, items, more, expected) => {
    const invoice = await books.shown((await books.draft({ items, ...more })).id)
    expect(sums(invoice)).toEqual(expected)
    expect([Number(invoice.amount_paid), invoice.amount_outstanding]).toEqual([0, expected[2]])
    const scale = invoice.currency_code === "JPY" ? 1 : invoice.currency_code === "KWD" ? 1000 : 100
    const sumOf = (rows: ReadonlyArray<any>, key: string): number =>
      rows.reduce((sum, row) => sum + Math.round(Number(row[key]) * scale), 0) / scale
    expect(["subtotal", "tax_total", "total"].map((key) => sumOf(invoice.items, key))).toEqual(expected.map(Number))
    expect(["net", "tax", "gross"].map((key) => sumOf(invoice.tax_summary, key))).toEqual(expected.map(Number))
  })
  it("gives the rest of a class's tax to its last row, and sums up the highest rate first", async () => {
    const { items, tax_summary } = await books.shown(
      (
        await books.draft({
          items: [priced("10.00", { tax_class_id: books.reduced }), priced("33.33"), priced("33.33")]
        })
      ).id
    )
    expect(items.map((row: any) => row.tax_total)).toEqual(["0.50", "6.67", "6.66"])
    expect(tax_summary.map((row: any) => [row.rate, row.net, row.tax, row.gross])).toEqual([
      ["20.0000", "66.66", "13.33", "79.99"],
      ["5.0000", "10.00", "0.50", "10.50"]
    ])
  })
  it("is not taxed where the customer has no tax class", async () => {
    const { id } = await books.made("/members", { name: "Untaxed", membership_type: "organisation" })
    const invoice = await books.shown((await books.draft({ member_id: id })).id)
    expect(sums(invoice)).toEqual(["100.00", "0.00", "100.00"])
    expect(invoice.tax_summary).toMatchObject([
      { tax_rate_id: null, tax_rate_name: "No Tax", rate: "0.0000", net: "100.00", tax: "0.00", gross: "100.00" }
    ])
  })
  it("keeps its tax when the rate changes, also when its rows do", async () => {
    const class_id = (await books.made("/product_tax_classes", { name: "Changing" })).id
    const rate = await books.made("/tax_rates", { name: "Changing", rate: "10" })
    const organisation_tax_class_id = (await books.get("/organisation_tax_classes")).organisation_tax_classes.find(
      (one: any) => one.name === "Standard"
    ).id
    await books.made("/tax_rules", { organisation_tax_class_id, product_tax_class_id: class_id, tax_rate_id: rate.id })
    const { id } = await books.draft({ items: [priced("100.00", { tax_class_id: class_id })] })
    expect((await books.put(`/tax_rates/${rate.id}`, { rate: "25" })).status).toBe(200)
    const [item] = (await books.shown(id)).items
    expect([item.tax_rate, item.tax_total]).toEqual(["10.0000", "10.00"])
    await books.put(`/invoices/${id}`, { items: [{ id: item.id, ...priced("200.00", { tax_class_id: class_id }) }] })
    expect(sums(await books.shown(id))).toEqual(["200.00", "20.00", "220.00"])
  })
  it("takes name and tax class of a product", async () => {
    const product = await books.made("/products", { name: "Cable", tax_class_id: books.reduced })
    const { id } = await books.draft({ items: [{ product_id: product.id, unit_price: "10.00", quantity: "2" }] })
    const { items } = await books.shown(id)
    expect([items[0].item_type, items[0].name, items[0].tax_class_id, items[0].total]).toEqual([
      ...["product", "Cable", books.reduced, "21.00"]
    ])
  })
  it("is changed in part; items replace the set and keep their ids", async () => {
    const { id } = await books.draft({ subject: "Old", reference: "R", items: [priced("1.00"), priced("2.00")] })
    const { items } = await books.shown(id)
    const put = await books.put(`/invoices/${id}`, { subject: "New" })
    expect([put.status, put.body.invoice.subject, put.body.invoice.reference]).toEqual([200, "New", "R"])
    expect((await books.shown(id)).items.length).toBe(2)
    await books.put(`/invoices/${id}`, { items: [{ id: items[1].id, ...priced("5.00") }, priced("7.00")] })
    const after = await books.shown(id)
    expect(after.items.map((row: any) => [row.id === items[1].id, row.unit_price])).toEqual([
      [true, "5.00"],
      [false, "7.00"]
    ])
    expect(sums(after)).toEqual(["12.00", "2.40", "14.40"])
    await books.put(`/invoices/${id}`, { currency: "JPY", prices_include_tax: true })
    const fixed = await books.shown(id)
    expect([fixed.currency_code, fixed.prices_include_tax, fixed.total]).toEqual(["GBP", false, "14.40"])
  })
  it("keeps its member while an opportunity is linked", async () => {
    const job = await books.job()
    const other = await books.made("/members", { name: "Other", membership_type: "organisation" })
    const { id } = await books.draft({ opportunity_id: job.id })
    expect(refusal(await books.put(`/invoices/${id}`, { member_id: other.id }))).toEqual([422, "member_id"])
    const free = await books.draft()
    expect((await books.put(`/invoices/${free.id}`, { member_id: other.id })).status).toBe(200)
  })
  it("is deleted, and then not found", async () => {
    const { id } = await books.draft()
    const gone = await books.remove(`/invoices/${id}`)
    expect([gone.status, gone.text]).toEqual([204, ""])
    for (const path of ["", "/pdf", "/xml?format=ubl"])
      expect((await books.ask("GET", `/invoices/${id}${path}`)).status).toBe(404)
    for (const path of ["issue", "void", "payments", "refunds", "credit_notes", "email"])
      expect([path, (await books.post(`/invoices/${id}/${path}`, {})).status]).toEqual([path, 404])
  })
})

describe.each(engines)("Issuing and voiding, on %s (rules/billing 1.1, 1.3)", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())
  const issue = (id: number, json: object = {}) => books.post(`/invoices/${id}/issue`, json)

  it("numbers without holes, whatever failed in between, each kind by itself", async () => {
    const numbers: Array<string> = []
    const empty = await books.draft({ items: [] })
    for (const type of ["standard", "proforma", "deposit", "proforma", "standard"]) {
      expect(refusal(await issue(empty.id))).toEqual([422, "items"])
      numbers.push((await books.issued({ type })).number)
    }
    expect(numbers).toEqual(["0000000001", "0000000001", "0000000002", "0000000002", "0000000003"])
    const first = (await books.made(`/invoices/${(await books.draft()).id}/issue`)).id
    expect((await books.post(`/invoices/${first}/void`, { reason: "Wrong" })).body.invoice).toMatchObject({
      ...{ number: "0000000004", status: "voided", status_name: "Voided", void_reason: "Wrong", voided_at: now },
      ...{ amount_outstanding: "0.00", is_overdue: false }
    })
    expect((await books.issued()).number).toBe("0000000005")
  })
  it("is due after its terms, or when it says", async () => {
    const terms = await books.issued({ payment_terms_days: 14 }, { issued_at: "2026-06-01T10:00:00Z" })
    expect([terms.status, terms.issued_at]).toEqual(["issued", "2026-06-01T10:00:00.000Z"])
    expect(terms.due_at.slice(0, 10)).toBe("2026-06-15")
    expect(terms.is_overdue).toBe(true)
    const own = await books.issued({ due_at: "2026-08-01T00:00:00Z" })
    expect([own.issued_at, own.due_at, own.is_overdue]).toEqual([now, "2026-08-01T00:00:00.000Z", false])
    const told = await books.issued({ due_at: "2026-08-01T00:00:00Z" }, { due_at: "2026-07-09T00:00:00Z" })
    expect(told.due_at).toBe("2026-07-09T00:00:00.000Z")
  })
  it.each<[string, string, object, object]>([
    ["in the future", "issued_at", {}, { issued_at: "2026-06-19T00:00:00Z" }],
    ["due before it is issued", "due_at", {}, { due_at: "2026-06-01T00:00:00Z" }],
    ["without rows", "items", { items: [] }, {}]
  ])("refuses one %s", async (_, field, draft, json) => {
    const { id } = await books.draft(draft)
    expect(refusal(await issue(id, json))).toEqual([422, field])
    expect([(await books.shown(id)).status, (await books.shown(id)).number]).toEqual(["draft", null])
  })
  it("refuses a total below nothing and an archived customer; a hire stop does not matter", async () => {
    const negative = await books.draft({ items: [{ name: "Back", unit_price: "-1.00" }] })
    expect((await issue(negative.id)).status).toBe(422)
    const { id } = await books.made("/members", { name: "Stopped", membership_type: "organisation", is_on_stop: true })
    const stopped = await books.draft({ member_id: id })
    const left = await books.draft({ member_id: id })
    expect((await issue(stopped.id)).status).toBe(200)
    await books.remove(`/members/${id}`)
    expect(refusal(await issue(left.id))).toEqual([422, "member_id"])
  })
  it("counts a total of nothing as paid", async () => {
    const free = await books.issued({ items: [{ name: "Gift", unit_price: "0" }] })
    expect([...money(free), free.paid_at]).toEqual(["paid", "0.00", "0.00", "0.00", true, now])
  })
  it("is final", async () => {
    const { id } = await books.issued()
    for (const got of [
      await books.put(`/invoices/${id}`, { subject: "New" }),
      await books.remove(`/invoices/${id}`),
      await issue(id)
    ])
      expect(refusal(got)).toEqual([422, "status"])
  })
  it("ends with the void", async () => {
    const { id } = await books.issued()
    expect(refusal(await books.post(`/invoices/${(await books.draft()).id}/void`))).toEqual([422, "status"])
    expect(refusal(await books.post(`/invoices/${id}/void`, { reason: "x".repeat(1001) }))).toEqual([422, "reason"])
    expect((await books.post(`/invoices/${id}/void`)).status).toBe(200)
    for (const [what, json] of [
      ["issue", {}],
      ["void", {}],
      ["payments", { amount: "1.00" }],
      ["refunds", { amount: "1.00" }],
      ["credit_notes", {}]
    ] as const)
      expect([what, ...refusal(await books.post(`/invoices/${id}/${what}`, json))]).toEqual([what, 422, "status"])
  })
  it("is overdue while money is missing after the due date, and found by that", async () => {
    const { id } = await books.issued({}, { issued_at: "2026-01-01T00:00:00Z", due_at: "2026-02-01T00:00:00Z" })
    const found = async (): Promise<boolean> =>
      (await books.get("/invoices?q[is_overdue_true]=1&per_page=100")).invoices.some((one: any) => one.id === id)
    expect([(await books.shown(id)).is_overdue, await found()]).toEqual([true, true])
    await books.post(`/invoices/${id}/payments`, { amount: "20.00" })
    expect([(await books.shown(id)).is_overdue, await found()]).toEqual([true, true])
    await books.post(`/invoices/${id}/payments`, { amount: "100.00" })
    expect([(await books.shown(id)).is_overdue, await found()]).toEqual([false, false])
  })
  it("keeps a proforma out of money", async () => {
    const { id } = await books.issued({ type: "proforma" })
    for (const [what, json] of [
      ["payments", { amount: "1.00" }],
      ["refunds", { amount: "1.00" }],
      ["credit_notes", {}]
    ] as const)
      expect([what, ...refusal(await books.post(`/invoices/${id}/${what}`, json))]).toEqual([what, 422, "type"])
    expect((await books.post(`/invoices/${id}/void`)).body.invoice.status).toBe("voided")
  })
})
