/** Invoices from outside: every expectation from rules/billing 1 and 6, the rulings, and the interface 2.4, 2.5, 4.5 and 5. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, money, now, openBooks, refusal, sums } from "./billing-black-box.ts"

const rights = ["view", "create", "edit", "delete", "issue", "void", "credit"].map((name) => `invoices.${name}`)
const permissions = [...rights, "payments.record", "opportunities.view"]
const abilities = ["invoices:read", "invoices:write", "payments:write", "credit-notes:read"]

describe.each(engines)("Billing, on %s", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())

  describe("A draft (rules/billing 1.2, 1.3)", () => {
    const item = (more: object): object => ({ items: [{ name: "A row", unit_price: "1.00", ...more }] })
    it.each<[string, string, object]>([
      ["an opportunity that is not there", "opportunity_id", { opportunity_id: 999_999 }],
      ["a reference of 256 characters", "reference", { reference: "x".repeat(256) }],
      ["terms below nothing", "payment_terms_days", { payment_terms_days: -1 }],
      ["a due date that is none", "due_at", { due_at: "tomorrow" }],
      ["items that are no list", "items", { items: "all" }],
      ["a row's name of 256 characters", "items.0.name", item({ name: "x".repeat(256) })],
      ["a price that is none", "items.0.unit_price", item({ unit_price: "a lot" })],
      ["fewer pieces than none", "items.0.quantity", item({ quantity: "-1" })],
      ["a discount below nothing", "items.0.discount_percent", item({ discount_percent: -1 })],
      ["a tax class that is not there", "items.0.tax_class_id", item({ tax_class_id: 999_999 })],
      ["a revenue group that is not there", "items.0.revenue_group_id", item({ revenue_group_id: 999_999 })]
    ])("is refused for %s", async (_, field, more) => {
      const before = (await books.get("/invoices")).meta.total
      expect(refusal(await books.post("/invoices", { member_id: books.member, ...more }))).toEqual([422, field])
      expect((await books.get("/invoices")).meta.total).toBe(before)
    })

    const priced = (unit_price: unknown, more: object = {}): object => ({ name: "A row", unit_price, ...more })
    it.each<[string, ReadonlyArray<object>, object, ReadonlyArray<string>]>([
      ["whole numbers are pence", [priced(10_000)], {}, ["100.00", "20.00", "120.00"]],
      ["texts are pounds", [priced("100")], {}, ["100.00", "20.00", "120.00"]],
      ["half a penny rounds up", [priced("0.01", { quantity: "1.5" })], {}, ["0.02", "0.00", "0.02"]],
      ["a discount of all", [priced("33.33", { discount_percent: 100 })], {}, ["0.00", "0.00", "0.00"]],
      ["a deduction", [priced("100.00"), priced("-20.00")], {}, ["80.00", "16.00", "96.00"]],
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
    it("adds the rest of a class's tax to its last row, and lists the highest rate first", async () => {
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
    it("keeps its tax when the rate changes, also when its rows do", async () => {
      const class_id = (await books.made("/product_tax_classes", { name: "Changing" })).id
      const rate = await books.made("/tax_rates", { name: "Changing", rate: "10" })
      const organisation_tax_class_id = (await books.get("/organisation_tax_classes")).organisation_tax_classes.find(
        (one: any) => one.name === "Standard"
      ).id
      await books.made("/tax_rules", {
        organisation_tax_class_id,
        product_tax_class_id: class_id,
        tax_rate_id: rate.id
      })
      const { id } = await books.draft({ items: [priced("100.00", { tax_class_id: class_id })] })
      expect((await books.put(`/tax_rates/${rate.id}`, { rate: "25" })).status).toBe(200)
      const [item] = (await books.shown(id)).items
      expect([item.tax_rate, item.tax_total]).toEqual(["10.0000", "10.00"])
      await books.put(`/invoices/${id}`, { items: [{ id: item.id, ...priced("200.00", { tax_class_id: class_id }) }] })
      expect(sums(await books.shown(id))).toEqual(["200.00", "20.00", "220.00"])
    })
  })

  describe("Issuing and voiding (rules/billing 1.1, 1.3)", () => {
    const issue = (id: number, json: object = {}) => books.post(`/invoices/${id}/issue`, json)

    it("numbers each kind without gaps, whatever fails in between", async () => {
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
    it("voids a proforma that was issued", async () => {
      const { id } = await books.issued({ type: "proforma" })
      expect((await books.post(`/invoices/${id}/void`)).body.invoice.status).toBe("voided")
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
  })

  describe("Money (rules/billing 1.4, 1.5, 6)", () => {
    const pay = (id: number, amount: unknown, more: object = {}) =>
      books.post(`/invoices/${id}/payments`, { amount, ...more })
    const refund = (id: number, amount: unknown, more: object = {}) =>
      books.post(`/invoices/${id}/refunds`, { amount, ...more })
    const credit = (id: number, json: object = {}) => books.post(`/invoices/${id}/credit_notes`, json)
    const after = async (id: number) => money(await books.shown(id))

    it("100.00 at 20 %: 50.00, then 70.00, then 20.00 back (6)", async () => {
      const { id, total } = await books.issued()
      expect(total).toBe("120.00")
      const first = await pay(id, "50.00", {
        method: "card",
        reference: "R",
        notes: "N",
        paid_at: "2026-06-17T08:00:00Z"
      })
      expect(first.status).toBe(201)
      expect(Object.keys(first.body).sort()).toEqual(["invoice", "payment"])
      const { id: payment_id, recorded_by, reason: _reason, ...payment } = first.body.payment
      expect([typeof payment_id, typeof recorded_by]).toEqual(["number", "number"])
      expect(payment).toEqual({
        ...{ invoice_id: id, member_id: books.member, kind: "payment", amount: "50.00", currency_code: "GBP" },
        ...{ method: "card", method_name: "Card", reference: "R", notes: "N", paid_at: "2026-06-17T08:00:00.000Z" },
        ...{ payment_id: null, created_at: now, updated_at: now },
        ...("kind_name" in payment ? { kind_name: payment.kind_name } : {})
      })
      expect(money(first.body.invoice)).toEqual(["partially_paid", "50.00", "0.00", "70.00", false])
      expect(money((await pay(id, "70.00")).body.invoice)).toEqual(["paid", "120.00", "0.00", "0.00", true])
      const back = await refund(id, "20.00", { reason: "Late" })
      expect(Object.keys(back.body).sort()).toEqual(["invoice", "refund"])
      expect([back.status, back.body.refund.kind, back.body.refund.amount]).toEqual([201, "refund", "20.00"])
      expect(back.body.refund).toMatchObject({ method: "other", method_name: "Other", paid_at: now })
      expect(money(back.body.invoice)).toEqual(["partially_paid", "100.00", "0.00", "20.00", false])
      const { payments } = await books.shown(id)
      expect(payments.map((one: any) => [one.kind, one.amount])).toEqual([
        ["payment", "50.00"],
        ["payment", "70.00"],
        ["refund", "20.00"]
      ])
    })
    it.each<[string, string, unknown, object]>([
      ["no amount", "amount", undefined, {}],
      ["nothing", "amount", 0, {}],
      ["less than nothing", "amount", "-1.00", {}],
      ["what is no number", "amount", "much", {}],
      ["more than is outstanding", "amount", "120.01", {}],
      ["an unknown method", "method", "1.00", { method: "barter" }],
      ["a time to come", "paid_at", "1.00", { paid_at: "2026-06-19T12:00:00Z" }],
      ["another currency", "currency", "1.00", { currency: "JPY" }],
      ["a reference of 256 characters", "reference", "1.00", { reference: "x".repeat(256) }],
      ["notes of 1,001 characters", "notes", "1.00", { notes: "x".repeat(1001) }]
    ])("takes no payment of %s, and no refund of it", async (_, field, amount, more) => {
      const { id } = await books.issued()
      expect(refusal(await pay(id, amount, more))).toEqual([422, field])
      expect((await pay(id, "120.00")).status).toBe(201)
      expect(refusal(await refund(id, amount, more))).toEqual([422, field])
      expect(await after(id)).toEqual(["paid", "120.00", "0.00", "0.00", true])
    })
    it.each([
      ["KWD", "10.000", 1500, "1.500", "10.500"],
      ["JPY", 1000, 200, "200", "1000"]
    ])("takes whole numbers as minor units of %s", async (currency, unit_price, amount, paid, outstanding) => {
      const { id } = await books.issued({ currency, items: [{ name: "Stage", unit_price }] })
      expect((await pay(id, amount, { currency })).body).toMatchObject({
        payment: { amount: paid, currency_code: currency },
        invoice: { amount_paid: paid, amount_outstanding: outstanding }
      })
    })
    it("numbers credit notes automatically, and finds and sorts them by number, status, currency and total", async () => {
      const credited = async (more: object, amount: string) =>
        (await credit((await books.issued(more)).id, { amount })).body.credit_note
      const pounds = [await credited({}, "3.00"), await credited({}, "5.00"), await credited({}, "4.00")]
      const yen = await credited({ currency: "JPY" }, "60")
      const by = async (query: string): Promise<ReadonlyArray<any>> =>
        (await books.get(`/credit_notes?per_page=100&${query}`)).credit_notes
      const all = await by("sort=number")
      expect(all.map(({ number }) => number)).toEqual(all.map((_, at) => String(at + 1).padStart(10, "0")))
      expect(await by("sort=-number")).toEqual(all.toReversed())
      expect((await by(`q[number_eq]=${yen.number}`)).map(({ id }) => id)).toEqual([yen.id])
      expect((await by("q[currency_code_eq]=JPY")).map(({ id }) => id)).toEqual([yen.id])
      expect([(await by("q[status_eq]=issued")).length, await by("q[status_eq]=draft")]).toEqual([all.length, []])
      const newest = `q[currency_code_eq]=GBP&q[number_gteq]=${pounds[0].number}`
      const totals = (await by(`sort=-total&${newest}`)).map(({ total }) => Number(total))
      expect(totals).toEqual(totals.toSorted((one, other) => other - one))
      expect(totals.length).toBeGreaterThanOrEqual(3)
      expect((await books.ask("POST", "/credit_notes", {})).status).toBe(405)
    })
    it("an invoice partly paid and partly credited is paid once nothing is outstanding", async () => {
      const { id } = await books.issued()
      await credit(id, { amount: "20.00" })
      expect(await after(id)).toEqual(["issued", "0.00", "20.00", "100.00", false])
      expect(refusal(await pay(id, "100.01"))).toEqual([422, "amount"])
      await pay(id, "100.00")
      expect(await after(id)).toEqual(["paid", "100.00", "20.00", "0.00", true])
    })
  })

  describe("Documents and prices", () => {
    it.each(["GBP", "JPY", "KWD"])(
      "a checkout of prices that include tax has the same total in %s",
      async (currency) => {
        const lines = [333, 1000, 999].map((unit_price) => ({ unit_price, quantity: 3, discount_percent: "12.5" }))
        const job = await books.job(lines, { currency, prices_include_tax: true })
        const draft = await books.billed(job.id)
        expect(draft.prices_include_tax).toBe(false)
        expect(sums(draft)).toEqual([job.charge_excluding_tax_total, job.tax_total, job.charge_including_tax_total])
      }
    )
  })

  describe("A checkout (rules/billing 1.3)", () => {
    it("of optional lines alone is refused", async () => {
      const { id } = await books.job([{ unit_price: "5.00", is_optional: true }])
      expect(refusal(await books.checkout(id))).toEqual([422, "items"])
    })
    it("deducts two full deposits down to zero and no further, each by its number", async () => {
      const { id } = await books.job()
      const numbers: Array<string> = []
      for (let at = 0; at < 2; at++) {
        const deposit = await books.billed(id, { type: "deposit" })
        numbers.push((await books.made(`/invoices/${deposit.id}/issue`)).number)
      }
      const draft = await books.billed(id)
      expect(sums(draft)).toEqual(["0.00", "0.00", "0.00"])
      expect(draft.items[1].name).toContain(numbers[0])
    })
  })

  describe("Between draft and issue (rules/billing 1.1 to 1.3)", () => {
    const issue = (id: number) => books.post(`/invoices/${id}/issue`, {})

    it("a draft keeps its currency after that was disabled and its rate removed", async () => {
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
    it("an archived customer cannot be billed until restored", async () => {
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
    it("a deposit that had a deduction at another rate is deducted at its net total", async () => {
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
    it("a deposit above the total is deducted up to the total", async () => {
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
    it("odd percentages add up to the total with the final invoice", async () => {
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
    it("a percentage that amounts to zero is refused at the percent", async () => {
      const job = await books.job([{ unit_price: "1.00" }])
      const { body, status } = await books.checkout(job.id, { type: "deposit", percent: "0.01" })
      expect([status, Object.keys(body.errors)]).toEqual([422, ["percent"]])
    })
    it.each([
      ["GBP", "0.01", "0.01", ["0.00", "0.00", "0.00"]],
      ["JPY", "0.01", "150", ["2", "0", "2"]],
      ["KWD", "0.01", "1.005", ["0.010", "0.002", "0.012"]]
    ])("a hundredth of a unit in %s is rounded once", async (currency, quantity, unit_price, sums) => {
      const rates = (await books.get("/exchange_rates?per_page=100")).exchange_rates
      if (currency === "JPY" && !rates.some((one: any) => one.target_currency_code === "JPY"))
        await books.made("/exchange_rates", { source_currency_code: "GBP", target_currency_code: "JPY", rate: "2" })
      const { subtotal, tax_total, total } = await books.issued({
        currency,
        items: [{ name: "Bit", quantity, unit_price }]
      })
      expect([subtotal, tax_total, total]).toEqual(sums)
    })
    it("credits by amount, by row and of the rest add up to the invoice, and refunds to the payments", async () => {
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
    it("sixteen concurrent payments, credits, refunds and voids of one invoice leave a consistent balance", async () => {
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

  describe("The fifteen operations (interface 5)", () => {
    const draft = async (): Promise<string> => `/invoices/${(await books.draft()).id}`
    const issued = async (): Promise<string> => `/invoices/${(await books.issued()).id}`
    const paid = async (): Promise<string> => {
      const path = await issued()
      await books.made(`${path}/payments`, { amount: "120.00" })
      return path
    }
    const note = async (): Promise<string> => `/credit_notes/${(await books.made(`${await issued()}/credit_notes`)).id}`
    const member = (): object => ({ member_id: books.member })
    type Case = readonly [string, string, () => Promise<string>, string, string, number, (() => object)?, string?]
    const cases: ReadonlyArray<Case> = [
      ["list", "GET", async () => "/invoices", "invoices:read", "invoices.view", 200],
      ["show", "GET", draft, "invoices:read", "invoices.view", 200],
      ["create", "POST", async () => "/invoices", "invoices:write", "invoices.create", 201, member],
      ["update", "PUT", draft, "invoices:write", "invoices.edit", 200, () => ({ subject: "New" })],
      ["delete", "DELETE", draft, "invoices:write", "invoices.delete", 204],
      [
        ...(["checkout", "POST", async () => `/opportunities/${(await books.job()).id}/invoices`] as const),
        ...(["invoices:write", "invoices.create", 201, () => ({}), "opportunities.view"] as const)
      ],
      ["issue", "POST", async () => `${await draft()}/issue`, "invoices:write", "invoices.issue", 200, () => ({})],
      ["void", "POST", async () => `${await issued()}/void`, "invoices:write", "invoices.void", 200, () => ({})],
      [
        ...([
          "pay",
          "POST",
          async () => `${await issued()}/payments`,
          "payments:write",
          "payments.record",
          201
        ] as const),
        () => ({ amount: "1.00" })
      ],
      [
        ...([
          "refund",
          "POST",
          async () => `${await paid()}/refunds`,
          "payments:write",
          "payments.record",
          201
        ] as const),
        () => ({ amount: "1.00" })
      ],
      [
        "credit",
        "POST",
        async () => `${await issued()}/credit_notes`,
        "invoices:write",
        "invoices.credit",
        201,
        () => ({})
      ],
      [
        ...(["e-mail", "POST", async () => `${await issued()}/email`, "invoices:write", "invoices.edit", 200] as const),
        () => ({ to: "pay@example.com" })
      ],
      // Permitted, it is refused for want of the seller's name.
      ["XML", "GET", async () => `${await issued()}/xml`, "invoices:read", "invoices.view", 422],
      ["PDF", "GET", async () => `${await issued()}/pdf`, "invoices:read", "invoices.view", 200],
      ["list of credit notes", "GET", async () => "/credit_notes", "credit-notes:read", "invoices.view", 200],
      ["one credit note", "GET", note, "credit-notes:read", "invoices.view", 200]
    ]
    it.each(cases.map((one) => ({ name: one[0], one })))("$name", async ({ one }) => {
      const [, method, at, ability, permission, status, json, second] = one
      const path = await at()
      const body = json?.()
      const needed = [permission, ...(second === undefined ? [] : [second])]
      const asked = async (held: ReadonlyArray<string>, can: ReadonlyArray<string>) =>
        books.ask(method, path, body, { token: await books.tokenOf(held, can) })
      for (const one of needed) {
        const got = await asked(
          permissions.filter((name) => name !== one),
          ["*"]
        )
        expect([one, got.status]).toEqual([one, 403])
      }
      const unable = await asked(
        permissions,
        abilities.filter((name) => name !== ability)
      )
      expect(unable.status).toBe(403)
      const done = await asked(needed, [ability])
      expect(done.status, done.text.slice(0, 300)).toBe(status)
      expect((await books.ask(method, path, body, { token: null })).status).toBe(401)
    })
    it.each(["attachments", "activity", "actions"])("%s of an invoice need the right to see invoices", async (list) => {
      const token = await books.tokenOf(
        permissions.filter((one) => one !== "invoices.view"),
        abilities
      )
      const got = await books.ask("GET", `${await draft()}/${list}`, undefined, { token })
      expect([403, 404]).toContain(got.status)
    })
    it("answers 404 for missing rows, even to users without permissions", async () => {
      const token = await books.tokenOf([], ["products:read"])
      expect((await books.ask("GET", "/invoices/999999", undefined, { token })).status).toBe(404)
      expect((await books.ask("POST", "/opportunities/999999/invoices", {})).status).toBe(404)
    })
  })
})

describe.each(engines)("Invoices are found, on %s (rules/billing 1.3)", (engine) => {
  let books: Books
  const ids: { [name: string]: number } = {}
  beforeAll(async () => {
    books = await openBooks(engine)
    const job = await books.job()
    const other = (await books.made("/members", { name: "Other", membership_type: "organisation" })).id
    const add = async (name: string, more: object, when?: object): Promise<void> => {
      ids[name] = (await (when === undefined ? books.draft(more) : books.issued(more, when))).id
    }
    await add("plain", { subject: "Summer gala" })
    await add("deposit", { type: "deposit", reference: "PO 1", store_id: 1 }, {})
    await add("old", { subject: "Old" }, { issued_at: "2026-01-05T00:00:00Z", due_at: "2026-02-01T00:00:00Z" })
    await add("yen", { currency: "JPY", items: [{ name: "Stage", unit_price: 5000 }] }, {})
    await add("voided", { member_id: other }, { issued_at: "2026-03-01T00:00:00Z" })
    await books.made(`/invoices/${ids["voided"]}/void`)
    const big = { opportunity_id: job.id, items: [{ name: "Big", unit_price: "900.00" }] }
    await add("paid", big, { allow_overbilling: true })
    await books.made(`/invoices/${ids["paid"]}/payments`, { amount: "1080.00" })
    ids["job"] = job.id
    ids["other"] = other
  })
  afterAll(() => books.close())
  const named = async (query: string): Promise<ReadonlyArray<string>> => {
    const at = query.replaceAll(/[A-Z]{3,}(?=$|&)/g, (word) => String(ids[word.toLowerCase()] ?? word))
    const { invoices } = await books.get(`/invoices?${at}`)
    return invoices.map((one: any) => Object.keys(ids).find((name) => ids[name] === one.id))
  }
  it.each<[string, ReadonlyArray<string>]>([
    ["", ["plain", "deposit", "old", "yen", "voided", "paid"]],
    ["q[status_eq]=draft", ["plain"]],
    ["q[status_eq]=voided", ["voided"]],
    ["q[status_eq]=void", ["voided"]],
    ["q[status_in]=draft,void", ["plain", "voided"]],
    ["q[status_not_eq]=void", ["plain", "deposit", "old", "yen", "paid"]],
    ["q[type_eq]=deposit", ["deposit"]],
    ["q[number_eq]=0000000001", ["deposit"]],
    ["q[subject_cont]=GALA", ["plain"]],
    ["q[reference_eq]=PO 1", ["deposit"]],
    ["q[store_id_eq]=1", ["deposit"]],
    ["q[member_id_eq]=OTHER", ["voided"]],
    ["q[opportunity_id_eq]=JOB", ["paid"]],
    ["q[currency_code_eq]=JPY", ["yen"]],
    ["q[is_overdue_true]=1", ["old"]],
    ["q[due_at_lt]=2026-03-01", ["old"]],
    ["q[issued_at_lt]=2026-04-01", ["old", "voided"]],
    ["q[paid_at_gteq]=2026-06-01", ["paid"]],
    ["q[total_gteq]=1000.00&q[currency_code_eq]=GBP", ["paid"]],
    ["sort=-number&q[number_present]=1", ["paid", "voided", "yen", "old", "deposit"]],
    ["sort=issued_at&q[issued_at_lt]=2026-04-01", ["old", "voided"]],
    ["sort=-total&q[currency_code_eq]=GBP&per_page=1", ["paid"]],
    ["sort=-amount_outstanding&q[status_eq]=issued&q[currency_code_eq]=JPY", ["yen"]],
    ["sort=due_at&q[status_eq]=issued&per_page=1", ["old"]],
    ["sort=-created_at&q[status_eq]=draft", ["plain"]]
  ])("%s", async (query, expected) => {
    expect(await named(query)).toEqual(expected)
  })
  it("with pages, and how many there are", async () => {
    expect((await books.get("/invoices?per_page=4&page=2")).meta).toEqual({ total: 6, per_page: 4, page: 2 })
  })
})
