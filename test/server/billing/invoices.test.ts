/** Invoices on a server: idempotency, filters, overdue ones, exports to accounting, and PDFs. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isToBeTold } from "../../../core/billing/accounting/postings.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { overdueSweep } from "../../../server/billing/slice.ts"
import { both_engines, type Engine, engines } from "../../app.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"
import { serve, type ServeOptions, type Serving } from "../serving.ts"
import { type Billing, billingOf } from "./billing.ts"
import { ranOnce } from "../delivery/jobs/words.ts"

let serving: Serving
let billing: Billing
let member_id: number
const opensBilling = (engine: Engine, options?: ServeOptions, settings: { readonly [group: string]: object } = {}) => {
  beforeAll(async () => {
    serving = await serve(engine, options)
    billing = billingOf(serving)
    for (const [group, of] of Object.entries(settings)) await billing.must(`settings/${group}`, { settings: of }, "PUT")
    member_id = await billing.member("Φωτισμός Αθηνών Α.Ε.")
  })
  afterAll(() => serving?.close())
}

describe.each(both_engines)("billing requests on %s", (engine) => {
  opensBilling(engine)
  let keys = 0
  const twice = async (path: string, json: object, other: object) => {
    const headers = { "idempotency-key": `billing-${++keys}` }
    const ask = (body: object) => serving.ask(`/api/v1/${path}`, { method: "POST", json: body, headers })
    const [first, again, changed] = [await ask(json), await ask(json), await ask(other)]
    expect(first.status, first.text).toBeLessThan(300)
    expect([again.status, again.text]).toEqual([first.status, first.text])
    expect(changed.status, changed.text).toBe(409)
    return first.body
  }
  const shown = async (id: number) => (await billing.must(`invoices/${id}?include=payments,credit_notes`)).invoice

  it("issue, pay, refund and credit once per Idempotency-Key, and answer 409 for another body", async () => {
    const { id } = await billing.draft(member_id)
    const { invoice } = await twice(`invoices/${id}/issue`, {}, { due_at: "2040-01-01T00:00:00Z" })
    await twice(`invoices/${id}/payments`, { amount: "30.00" }, { amount: "31.00" })
    await twice(`invoices/${id}/refunds`, { amount: "10.00" }, { amount: "11.00" })
    await twice(`invoices/${id}/credit_notes`, { amount: "5.00" }, {})
    const end = await shown(id)
    expect([end.amount_paid, end.amount_credited, end.payments.length, end.credit_notes.length]).toEqual([
      "20.00",
      "5.00",
      2,
      1
    ])
    const next = await billing.issued(member_id)
    expect(Number(next["number"])).toBe(Number(invoice.number) + 1)
  })
  it("create one draft invoice for an order per Idempotency-Key, and answer 409 for another body", async () => {
    const { opportunity } = await billing.must("opportunities", {
      subject: "Festival",
      store_id: 1,
      member_id,
      starts_at: "2031-09-01T09:00:00Z",
      ends_at: "2031-09-05T17:00:00Z"
    })
    await billing.must(`opportunities/${opportunity.id}/items`, {
      name: "Hire",
      unit_price: "10.00",
      transaction_type: 1
    })
    await twice(`opportunities/${opportunity.id}/invoices`, {}, { type: "proforma" })
    expect((await billing.must(`invoices?q[opportunity_id_eq]=${opportunity.id}`)).invoices).toHaveLength(1)
  })
  it("refuse to mail an invoice to recipients with line breaks or of invalid types, or to more than 50", async () => {
    const { id } = await billing.issued(member_id)
    const mail = (json: object) => serving.ask(`/api/v1/invoices/${id}/email`, { method: "POST", json })
    expect((await mail({ to: "a@b.example\r\nBcc: c@d.example" })).status).toBe(422)
    expect((await mail({ to: ["a@b.example", 7] })).status).toBe(422)
    expect((await mail({ to: Array.from({ length: 51 }, (_, at) => `a${at}@b.example`) })).status).toBe(422)
    expect((await shown(id)).emailed_at).toBeNull()
  })

  /** Money filters compare major units, by the decimals of each row's currency. */
  describe("money filters of invoices", () => {
    let filtered_id: number
    beforeAll(async () => {
      filtered_id = await billing.member("Ann")
      await draft("GBP", "900.00")
      await draft("GBP", "89.99")
    })
    const draft = async (currency: string, unit_price: string) =>
      billing.draft(filtered_id, { currency, items: [{ name: "Hire", unit_price }] })
    const found = async (query: string): Promise<ReadonlyArray<string>> => {
      const { invoices } = await billing.must(`invoices?q[member_id_eq]=${filtered_id}&sort=total&per_page=50&${query}`)
      return invoices.map((one) => `${one.currency_code} ${one.total}`).sort()
    }

    it("compare amounts in the base currency exactly, also with values between two minor units", async () => {
      expect(await found("q[total_gteq]=900.00")).toEqual(["GBP 900.00"])
      expect(await found("q[total_gt]=899.999")).toEqual(["GBP 900.00"])
      expect(await found("q[total_gt]=900")).toEqual([])
      expect(await found("q[total_lt]=90")).toEqual(["GBP 89.99"])
      expect(await found("q[total_eq]=89.991")).toEqual([])
      expect(await found("q[total_eq]=much")).toEqual([])
    })
    it("compare yen without decimals and dinars with three", async () => {
      for (const code of ["JPY", "KWD"]) {
        await billing.must(`currencies/${code}`, { is_enabled: true }, "PUT")
        const rate = { source_currency_code: code, target_currency_code: "GBP", rate: "2", effective_at: "2020-01-01" }
        await billing.must("exchange_rates", rate)
      }
      for (const [code, price] of [
        ["JPY", "900"],
        ["JPY", "89999"],
        ["KWD", "900.000"],
        ["KWD", "90.001"]
      ] as const)
        await draft(code, price)
      expect(await found("q[total_gteq]=900.00")).toEqual(["GBP 900.00", "JPY 89999", "JPY 900", "KWD 900.000"])
      expect(await found("q[total_eq]=900")).toEqual(["GBP 900.00", "JPY 900", "KWD 900.000"])
      expect(await found("q[total_in]=89.99,90.001,much")).toEqual(["GBP 89.99", "KWD 90.001"])
      expect(await found("q[total_not_eq]=900")).toEqual(["GBP 89.99", "JPY 89999", "KWD 90.001"])
      expect(await found("q[total_gt]=900&q[currency_code_eq]=JPY")).toEqual(["JPY 89999"])
      expect(await found("q[total_lteq]=90.0005")).toEqual(["GBP 89.99"])
      expect(await found("q[total_gt]=899.5")).toEqual(["GBP 900.00", "JPY 89999", "JPY 900", "KWD 900.000"])
    })
  })
})

describe("the overdue state of an invoice", () => {
  const due = {
    type: "standard",
    status: "issued",
    due_at: "2026-07-01T10:00:00.000Z",
    overdue_told_at: null,
    deleted_at: null
  } as const
  const at = (text: string, zone = "UTC", more: Partial<Parameters<typeof isToBeTold>[0]> = {}): boolean =>
    isToBeTold({ ...due, ...more }, zone, Date.parse(`2026-07-${text}Z`))
  it("begins once the due date has ended in the store's time zone", () => {
    expect([at("01T23:59:59"), at("02T00:00:00")]).toEqual([false, true])
    expect([at("01T11:59:59", "Pacific/Auckland"), at("01T12:00:00", "Pacific/Auckland")]).toEqual([false, true])
    expect([at("02T06:59:59", "America/Los_Angeles"), at("02T07:00:00", "America/Los_Angeles")]).toEqual([false, true])
  })
  it("includes partially paid invoices, but no paid, draft, voided, proforma, undated, notified or deleted ones", () => {
    expect(at("09T00:00:00", "UTC", { status: "partially_paid" })).toBe(true)
    for (const more of [
      { status: "paid" },
      { status: "draft" },
      { status: "voided" },
      { type: "proforma" },
      { due_at: null },
      { overdue_told_at: due.due_at },
      { deleted_at: due.due_at }
    ] as const)
      expect(at("09T00:00:00", "UTC", more)).toBe(false)
  })
})

describe.each(engines)("the overdue sweep on %s", (engine) => {
  opensBilling(engine)
  const swept = (): Promise<unknown> => serving.run(ranOnce(overdueSweep.kind, { due_at: "2026-07-02T00:07:00.000Z" }))
  const told = () =>
    serving.run(
      Effect.flatMap(Store, (store) =>
        store.run("select data from journal where type = 'invoice.overdue' order by position")
      )
    )
  it("records each overdue invoice once, and no draft or proforma", async () => {
    serving.setClock(Date.parse("2026-06-01T10:00:00Z"))
    const member_id = await billing.member("Ann")
    const late = await billing.issued(member_id, {}, { due_at: "2026-06-30T10:00:00Z" })
    await billing.issued(member_id, {}, { due_at: "2026-07-02T10:00:00Z" })
    await billing.issued(member_id, { type: "proforma" }, { due_at: "2026-06-02T10:00:00Z" })
    await billing.draft(member_id, { due_at: "2026-06-02T10:00:00Z" })
    serving.setClock(Date.parse("2026-07-01T09:00:00Z"))
    expect(await swept()).toEqual({ told: 1 })
    expect(await swept()).toEqual({ told: 0 })
    expect(JSON.stringify(await told())).toContain(`${late.id}`)
    const { invoice } = await billing.must(`invoices/${late.id}`)
    expect([invoice.is_overdue, invoice.status]).toEqual([true, "issued"])
    serving.setClock(Date.parse("2026-07-03T09:00:00Z"))
    expect(await swept()).toEqual({ told: 1 })
    expect(await told()).toHaveLength(2)
  })
  it("records 103 overdue invoices in one run", async () => {
    serving.setClock(Date.parse("2026-08-01T10:00:00Z"))
    const member_id = await billing.member("Ann")
    for (let at = 0; at < 103; at++) await billing.issued(member_id, {}, { due_at: "2026-08-02T10:00:00Z" })
    serving.setClock(Date.parse("2026-09-01T09:00:00Z"))
    expect(await swept()).toEqual({ told: 103 })
    expect(await told()).toHaveLength(2 + 103)
  })
})

/** Accounting exports are complete, with each document once. */
describe.each(engines)("accounting on %s", (engine) => {
  opensBilling(engine)
  const told = async (kind: string, more = ""): Promise<ReadonlyArray<any>> =>
    Object.values(await billing.must(`accounting/postings?kind=${kind}&since=2026-01-01${more}`))[0]

  it("lists each invoice, credit note, payment and refund once, exported ones on request, and a later void", async () => {
    const member_id = await billing.member("Ann", { address: "ann@ann.example" })
    const paid = await billing.issued(member_id)
    const voided = await billing.issued(member_id)
    const unheard = await billing.issued(member_id)
    await billing.issued(member_id, { type: "proforma" })
    await billing.draft(member_id)
    await billing.must(`invoices/${unheard.id}/void`, {})
    await billing.must(`invoices/${paid.id}/payments`, { amount: "30.00", method: "cash" })
    await billing.must(`invoices/${paid.id}/refunds`, { amount: "10.00", method: "cash" })
    await billing.must(`invoices/${paid.id}/credit_notes`, { amount: "20.00" })
    const documents = [
      ...(await told("invoices")),
      ...(await told("voids")),
      ...(await told("credit_notes")),
      ...(await told("payments"))
    ]
    expect(documents.map(({ key, total }) => [key.replace(/\/.*/, ""), total])).toEqual([
      ["invoices", "100.00"],
      ["invoices", "100.00"],
      ["credit_notes", "-20.00"],
      ["payments", "30.00"],
      ["payments", "-10.00"]
    ])
    expect(documents[0]).toMatchObject({ member_name: "Ann", member_email: "ann@ann.example", number: paid["number"] })
    for (const { postings } of documents) {
      const sum = (side: string) => postings.reduce((all: number, one: any) => all + Number(one[side]), 0)
      expect(sum("debit")).toBeCloseTo(sum("credit"), 9)
    }
    const keys = documents.map(({ key }) => key)
    expect(await billing.must("accounting/exports", { keys })).toEqual({ marked: 5 })
    expect(await billing.must("accounting/exports", { keys })).toEqual({ marked: 5 })
    expect(await told("invoices")).toEqual([])
    expect(await told("payments")).toEqual([])
    expect(await told("invoices", "&again=1")).toHaveLength(2)
    await billing.must(`invoices/${voided.id}/void`, {})
    const [taken] = await told("voids")
    expect([taken.total, taken.number]).toEqual(["-100.00", `${voided["number"]}-VOID`])
  })
  it("posts to the accounts in the settings", async () => {
    await billing.must(
      "settings/accounting",
      { settings: { revenue_account: "4711", receivables_account: "1300" } },
      "PUT"
    )
    await billing.issued(await billing.member("Bob"))
    const [document] = await told("invoices")
    expect(document.postings.map(({ account }: any) => account).slice(0, 2)).toEqual(["1300", "4711"])
  })
  it("refuses an invalid date, an unknown kind and an unknown document", async () => {
    expect((await serving.ask("/api/v1/accounting/postings?kind=invoices&since=yesterday")).status).toBe(422)
    expect((await serving.ask("/api/v1/accounting/postings?kind=bills&since=2026-01-01")).status).toBe(422)
    expect((await serving.ask("/api/v1/accounting/exports", { json: { keys: ["bills/1"] } })).status).toBe(422)
  })
})

/** Invoices and credit notes as PDF, over HTTP. */
describe.each(engines)("the PDF of an invoice on %s", (engine) => {
  opensBilling(
    engine,
    { public_url: "https://hire.example" },
    {
      company: { name: "Northlight Rental", base_currency: "EUR" },
      invoicing: {
        iban: "DE02 1203 0000 0000 2020 51",
        bic: "BYLADEM1001",
        payment_link: "https://pay.example/?ref={number}&amount={amount}&currency={currency}",
        terms: "Equipment remains ours."
      }
    }
  )
  const textOf = async (target: string) => {
    const got = await serving.ask(`/api/v1/${target}`)
    expect(got.status, got.text).toBe(200)
    return { headers: got.headers, text: pagesOfPdf(got.bytes).join("\n") }
  }

  it("has the invoice's number, customer, subject, terms and payment details", async () => {
    const invoice = await billing.issued(member_id, { subject: "Winter Gala" })
    const { headers, text } = await textOf(`invoices/${invoice["id"]}/pdf`)
    expect(headers["content-type"]).toBe("application/pdf")
    expect(headers["content-disposition"]).toBe(`inline; filename="invoice-${invoice["number"]}.pdf"`)
    expect(text).toContain(`Invoice ${invoice["number"]}`)
    expect(text).toContain("Φωτισμός Αθηνών Α.Ε.")
    expect(text).toContain("Winter Gala")
    expect(text).toContain("Please pay €100.00 by")
    expect(text).toContain("DE02 1203 0000 0000 2020 51")
    expect(text).toContain("Equipment remains ours.")
    expect(text).not.toMatch(/DRAFT|VOID/)
  })
  it("is marked DRAFT or VOID for draft and voided invoices, without a request for payment", async () => {
    const { id } = await billing.draft(member_id)
    const draft = await textOf(`invoices/${id}/pdf`)
    expect(draft.headers["content-disposition"]).toBe(`inline; filename="invoice-draft-${id}.pdf"`)
    expect(draft.text).toContain("DRAFT")
    expect(draft.text).not.toContain("Please pay")
    await billing.must(`invoices/${id}/issue`, {})
    await billing.must(`invoices/${id}/void`, {})
    const voided = await textOf(`invoices/${id}/pdf`)
    expect(voided.text).toContain("VOID")
    expect(voided.text).not.toContain("Please pay")
  })
  it("names the customer as of issuing, also after a change of name", async () => {
    const other = await billing.member("Before Ltd")
    const { id } = await billing.issued(other)
    await billing.must(`members/${other}`, { name: "After Ltd" }, "PUT")
    const { text } = await textOf(`invoices/${id}/pdf`)
    expect([text.includes("Before Ltd"), text.includes("After Ltd")]).toEqual([true, false])
  })
  it("has a counterpart for credit notes, with the reason and the invoice's number", async () => {
    const { id, number } = await billing.issued(member_id)
    const { credit_note } = await billing.must(`invoices/${id}/credit_notes`, { amount: "30.00", reason: "Dark lamp" })
    const { headers, text } = await textOf(`credit_notes/${credit_note.id}/pdf`)
    expect(headers["content-disposition"]).toBe(`inline; filename="credit-note-${credit_note.number}.pdf"`)
    for (const part of [`Credit note ${credit_note.number}`, number, "30.00", "Dark lamp"]) expect(text).toContain(part)
  })
  it("states the reasons for charging no VAT as of the issue, also on credit notes", async () => {
    const classOf = async (name: string, rate: object): Promise<number> => {
      const { tax_rate } = await billing.must("tax_rates", { name, rate: "0", ...rate })
      const { product_tax_class } = await billing.must("product_tax_classes", { name })
      const by = { organisation_tax_class_id: 1, product_tax_class_id: product_tax_class.id }
      await billing.must("tax_rules", { ...by, tax_rate_id: tax_rate.id })
      return product_tax_class.id
    }
    const insured = await classOf("Insurance", { vat_category: "exempt", exemption_reason: "Exempt, art. 135" })
    const reversed = await classOf("Reverse", { vat_category: "reverse_charge" })
    const french = await billing.member("Théâtre du Lac")
    await billing.must(`members/${french}`, { locale: "fr-FR", sale_tax_class_id: 1 }, "PUT")
    const sold = [insured, insured, reversed].map((tax_class_id) => ({ name: "A", unit_price: "9.00", tax_class_id }))
    const { id } = await billing.issued(french, { items: sold })
    const { tax_rates } = await billing.must("tax_rates?q[name_eq]=Insurance")
    await billing.must(`tax_rates/${tax_rates[0].id}`, { exemption_reason: "Another" }, "PUT")
    const { credit_note } = await billing.must(`invoices/${id}/credit_notes`, {})
    for (const target of [`invoices/${id}/pdf`, `credit_notes/${credit_note.id}/pdf`]) {
      const { text } = await textOf(target)
      expect(text.split("Exempt, art. 135").length, target).toBe(2)
      expect(text).toContain("Autoliquidation")
    }
  })
  it("has the period of the order for deposits and parts, as of the issue", async () => {
    const order = await billing.order(member_id)
    const issued = async (part: object): Promise<number> => {
      const { id } = (await billing.must(`${order}/invoices`, part)).invoice
      await billing.must(`invoices/${id}/issue`, {})
      return id
    }
    const ids = [await issued({ type: "deposit", percent: "25" }), await issued({ amount: "5.00" })]
    await billing.must(order, { ends_at: "2031-09-09T17:00:00Z" }, "PUT")
    for (const id of ids)
      expect((await textOf(`invoices/${id}/pdf`)).text).toMatch(/Period\s*1 September 2031 – 5\s+September 2031/)
  })
  it("names rows that checkout makes in the customer's language", async () => {
    const german = await billing.member("Bühne GmbH")
    await billing.must(`members/${german}`, { locale: "de-DE" }, "PUT")
    const order = await billing.order(german)
    const billed = async (part: object) => (await billing.must(`${order}/invoices`, part)).invoice
    const names = ({ items }: Awaited<ReturnType<typeof billed>>) => items.map(({ name }) => name)
    const deposit = await billed({ type: "deposit", amount: "2.00" })
    const { number } = (await billing.must(`invoices/${deposit.id}/issue`, {})).invoice
    const part = await billed({ percent: "33.33" })
    const issued = (await billing.must(`invoices/${part.id}/issue`, {})).invoice
    expect([...names(deposit), ...names(part), names(await billed({})).at(-1)]).toEqual([
      "Teil von Festival",
      "33,33 % von Festival",
      expect.stringMatching(`^Anzahlungsrechnung ${number} vom \\d{4}-`),
      `Berechnet mit Rechnung ${issued.number}`
    ])
    expect((await textOf(`invoices/${part.id}/pdf`)).text).toMatch(/Anzahlungsrechnung \d+ vom\s+\d+\. [A-Z]/)
  })
  it("names the customer into whom the draft's customer was merged", async () => {
    const [gone, kept] = [await billing.member("Twice Ltd"), await billing.member("Once Ltd")]
    const { id } = await billing.draft(gone)
    await billing.must(`members/${kept}/merge`, { secondary_id: gone })
    const { invoice } = await billing.must(`invoices/${id}/issue`, {})
    expect(invoice.member_id).toBe(kept)
    expect((await textOf(`invoices/${id}/pdf`)).text).toContain("Once Ltd")
  })
  it("is refused without the ability, and answers 404 for a missing invoice", async () => {
    const { id } = await billing.draft(member_id)
    const { token } = await billing.must("tokens", { name: "Reads", abilities: ["products:read"] })
    expect((await serving.ask(`/api/v1/invoices/${id}/pdf`, { token: token.secret })).status).toBe(403)
    expect((await serving.ask("/api/v1/invoices/999999/pdf")).status).toBe(404)
  })
  it("has only valid settings, as saving an invalid one answers 422 with its name", async () => {
    const refused = async (settings: object) => {
      const got = await serving.ask("/api/v1/settings/invoicing", { method: "PUT", json: { settings } })
      expect(got.status, got.text).toBe(422)
      return Object.keys(got.body.errors)[0]
    }
    expect(await refused({ iban: "DE02120300000000202052" })).toBe("iban")
    expect(await refused({ bic: "X" })).toBe("bic")
    expect(await refused({ payment_link: "https://pay.example/{invoice}" })).toBe("payment_link")
    expect(await refused({ payment_link: "javascript:alert(1)" })).toBe("payment_link")
    expect(await refused({ logo_attachment_id: 4711 })).toBe("logo_attachment_id")
    expect(await refused({ accent: "blue" })).toBe("accent")
    expect(await refused({ mail_subject: "Invoice {{ invoice.nummer }}" })).toBe("mail_subject")
    expect(await refused({ mail_text: "Dear {{ member.name " })).toBe("mail_text")
  })
})
