/** Amounts, races and permissions of invoices over HTTP (rules/billing 1 and 6); the rest is in the scenarios. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { amounts } from "./calling.ts"
import { type Books, openBooks } from "./billing-black-box.ts"

const rights = ["view", "create", "edit", "delete", "issue", "void", "credit"].map((name) => `invoices.${name}`)
const permissions = [...rights, "payments.record", "opportunities.view"]
const abilities = ["invoices:read", "invoices:write", "payments:write", "credit-notes:read"]

describe.each(engines)("invoices over HTTP on %s", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())

  describe("the totals of a draft (rules/billing 1.2, 1.3)", () => {
    const priced = (unit_price: unknown, more: object = {}): object => ({ name: "A row", unit_price, ...more })
    it.each<[string, ReadonlyArray<object>, object, ReadonlyArray<string>]>([
      ["whole numbers are pence", [priced(10_000)], {}, ["100.00", "20.00", "120.00"]],
      ["texts are pounds", [priced("100")], {}, ["100.00", "20.00", "120.00"]],
      ["half a penny rounds up", [priced("0.01", { quantity: "1.5" })], {}, ["0.02", "0.00", "0.02"]],
      ["a discount of 100 %", [priced("33.33", { discount_percent: 100 })], {}, ["0.00", "0.00", "0.00"]],
      ["a deduction", [priced("100.00"), priced("-20.00")], {}, ["80.00", "16.00", "96.00"]],
      [
        "two rows of 10.00 that include tax",
        [priced("10"), priced("10")],
        { prices_include_tax: true },
        ["16.67", "3.33", "20.00"]
      ],
      ["yen", [priced(333)], { currency: "JPY" }, ["333", "67", "400"]],
      ["yen as text", [priced("1000")], { currency: "JPY" }, ["1000", "200", "1200"]],
      ["dinars", [priced("1.001")], { currency: "KWD" }, ["1.001", "0.200", "1.201"]],
      ["fils", [priced(1001)], { currency: "KWD" }, ["1.001", "0.200", "1.201"]]
    ])("are exact and equal the sums of the draft's rows: %s", async (_, items, more, expected) => {
      const invoice = await books.shown((await books.draft({ items, ...more })).id)
      expect(amounts(invoice)).toEqual(expected)
      expect([Number(invoice.amount_paid), invoice.amount_outstanding]).toEqual([0, expected[2]])
      const scale = invoice.currency_code === "JPY" ? 1 : invoice.currency_code === "KWD" ? 1000 : 100
      const sumOf = <const K extends string>(rows: ReadonlyArray<{ readonly [key in K]: unknown }>, key: K): number =>
        rows.reduce((sum, row) => sum + Math.round(Number(row[key]) * scale), 0) / scale
      expect(["subtotal", "tax_total", "total"].map((key) => sumOf(invoice.items, key))).toEqual(expected.map(Number))
      expect(["net", "tax", "gross"].map((key) => sumOf(invoice.tax_summary, key))).toEqual(expected.map(Number))
    })
  })

  describe("the amounts and numbers of invoices (rules/billing 1)", () => {
    const issue = (id: number) => books.post(`/invoices/${id}/issue`, {})

    it("a draft keeps a currency that was disabled or lost its rate, which new invoices cannot use", async () => {
      const draft = await books.draft({ currency: "JPY", items: [{ name: "Stage", unit_price: "1001" }] })
      const { exchange_rates } = await books.get("/exchange_rates?per_page=100")
      const rate = exchange_rates.find((one) => one.target_currency_code === "JPY")!
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
    it("a deposit with a negative row at another tax rate is deducted by its own total", async () => {
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
    it("deposits of odd percentages and the final invoice add up to the total", async () => {
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
    it.each([
      ["GBP", "0.01", "0.01", ["0.00", "0.00", "0.00"]],
      ["JPY", "0.01", "150", ["2", "0", "2"]],
      ["KWD", "0.01", "1.005", ["0.010", "0.002", "0.012"]]
    ])("a row of quantity 0.01 in %s is rounded once", async (currency, quantity, unit_price, sums) => {
      const rates = (await books.get("/exchange_rates?per_page=100")).exchange_rates
      if (currency === "JPY" && !rates.some((one) => one.target_currency_code === "JPY"))
        await books.made("/exchange_rates", { source_currency_code: "GBP", target_currency_code: "JPY", rate: "2" })
      const { subtotal, tax_total, total } = await books.issued({
        currency,
        items: [{ name: "Bit", quantity, unit_price }]
      })
      expect([subtotal, tax_total, total]).toEqual(sums)
    })
    it("credits by amount, by row and of the remainder add up to the invoice's total", async () => {
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
      const row = shown.items.find((one) => one.name === "A")!
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
      for (const column of ["subtotal", "tax_total", "total"] as const)
        expect(-notes.reduce((all: number, one) => all + Number(one[column]), 0)).toBeCloseTo(Number(shown[column]), 6)
    })
    it("sixteen concurrent payments, credits, refunds and voids leave a consistent balance", async () => {
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
      const sum = <A>(rows: ReadonlyArray<A>, of: (row: A) => number) => rows.reduce((all, row) => all + of(row), 0)
      const paid = sum(got.payments, (row) => (row.kind === "refund" ? -1 : 1) * Number(row.amount))
      const credited = -sum(got.credit_notes, (row) => Number(row.total))
      expect([Number(got.amount_paid), Number(got.amount_credited)]).toEqual([paid, credited])
      if (got.status !== "voided")
        expect(Number(got.amount_outstanding)).toBeCloseTo(Number(got.total) - paid - credited, 6)
      else expect([paid, credited]).toEqual([0, 0])
    })
    it("invoice numbers stay unique when prefixes and number series change", async () => {
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

  describe("permissions and abilities for invoices (rules/conventions 11)", () => {
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
        ...(["bill an opportunity", "POST", async () => `/opportunities/${(await books.job()).id}/invoices`] as const),
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
      // Permitted, but 422: the seller's name is missing.
      ["read the XML", "GET", async () => `${await issued()}/xml`, "invoices:read", "invoices.view", 422],
      ["read the PDF", "GET", async () => `${await issued()}/pdf`, "invoices:read", "invoices.view", 200],
      ["list credit notes", "GET", async () => "/credit_notes", "credit-notes:read", "invoices.view", 200],
      ["show a credit note", "GET", note, "credit-notes:read", "invoices.view", 200]
    ]
    it.each(cases.map((one) => ({ name: one[0], one })))("are both needed to $name", async ({ one }) => {
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
    it.each(["attachments", "activity", "actions"])(
      "do not open the %s of an invoice without the permission to see invoices",
      async (list) => {
        const token = await books.tokenOf(
          permissions.filter((one) => one !== "invoices.view"),
          abilities
        )
        const got = await books.ask("GET", `${await draft()}/${list}`, undefined, { token })
        expect([403, 404]).toContain(got.status)
      }
    )
  })
})
