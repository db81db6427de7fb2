/**
 * Electronic invoices: both formats as stored, checks by EN 16931, and refusals (rules/billing 1.7). `UPDATE_GOLDEN=1`
 * updates the stored files.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { eInvoice } from "../../../../core/billing/einvoice/build.ts"
import { ciiText } from "../../../../core/billing/einvoice/cii.ts"
import type { EInvoiceForm, Source } from "../../../../core/billing/einvoice/amounts.ts"
import { ublText } from "../../../../core/billing/einvoice/write.ts"
import { buyer, creditOf, documents, invoiceOf, seller, type Sold } from "./documents.ts"
import { brokenRules, missedBy } from "./rules.ts"
import { readInvoice } from "./semantic.ts"
import { readXml } from "./xml-reader.ts"
import { anyCharacters } from "../../../any-characters.ts"

const forms: ReadonlyArray<EInvoiceForm> = ["ubl", "cii"]
const textOf = (source: Source, form: EInvoiceForm): string => {
  const built = Result.getOrThrow(eInvoice(source, form))
  return form === "ubl" ? ublText(built) : ciiText(built)
}
const errorsOf = (source: Source, form: EInvoiceForm = "ubl"): { readonly [field: string]: ReadonlyArray<string> } => {
  const built = eInvoice(source, form)
  return Result.isFailure(built) ? (built.failure.errors ?? {}) : {}
}
const hire: Sold = { name: "Lamp", price: 1_000 }

describe.each(forms)("an e-invoice as %s", (form) => {
  it.each(Object.keys(documents))("matches the stored file %s and breaks no EN 16931 rule", (name) => {
    const text = textOf(documents[name] ?? invoiceOf({ sold: [] }), form)
    const path = join(import.meta.dirname, `../../../fixtures/golden/einvoice/${name}.${form}.xml`)
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text)
    expect(text).toBe(readFileSync(path, "utf8"))
    expect(brokenRules(readInvoice(text))).toEqual([])
  })
  it("keeps the totals of any invoice and its credit note, and breaks no EN 16931 rule", () => {
    fc.assert(
      fc.property(anyInvoice, (invoice) => {
        for (const source of [invoice, creditOf(invoice)]) {
          const read = readInvoice(textOf(source, form))
          expect(brokenRules(read)).toEqual([])
          const sign = source === invoice ? 1 : -1
          const minor = (text: string | undefined): number =>
            Math.round(Number(text) * (source.currency_code === "JPY" ? 1 : 100)) + 0
          expect([read.without_vat, read.tax, read.with_vat].map(minor)).toEqual(
            [source.subtotal, source.tax_total, source.total].map((one) => sign * one + 0)
          )
        }
      })
    )
  })
  it("keeps any text, without the characters that XML cannot contain", () => {
    fc.assert(
      fc.property(anyCharacters({ minLength: 1 }), (words) => {
        const text = textOf(invoiceOf({ sold: [hire], notes: [`a${words}z`] }), form)
        const kept = `a${words}z`
          .replace(/\r\n?/g, "\n")
          .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "")
        expect(JSON.stringify(readXml(text))).toContain(JSON.stringify(kept))
      })
    )
  })
})

const anySold: fc.Arbitrary<Sold> = fc.record(
  {
    name: fc.string({ minLength: 1 }),
    quantity: fc.integer({ min: 1, max: 99_999 }).map((hundredths) => (hundredths / 100).toFixed(2)),
    price: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: -100_000, max: 10_000_000 })),
    percent: fc.constantFrom("5.00", "12.50", "33.33", "100.00"),
    rate: fc.constantFrom(1, 2, 3, 4, 5)
  },
  { requiredKeys: ["name", "price"] }
)
const anyInvoice = fc
  .record({
    sold: fc.array(anySold, { minLength: 1, maxLength: 12 }),
    prices_include_tax: fc.boolean(),
    currency_code: fc.constantFrom("GBP", "JPY")
  })
  .map((given) => invoiceOf({ ...given, exchange_rate: "0.0052000000" }))

describe("tax of a VAT group", () => {
  it("equals net times rate to the minor unit if prices exclude tax", () => {
    fc.assert(
      fc.property(fc.array(anySold, { minLength: 1, maxLength: 12 }), (sold) => {
        const { vat } = readInvoice(textOf(invoiceOf({ sold }), "ubl"))
        expect(vat.map((one) => missedBy(one).toNumber())).toEqual(vat.map(() => 0))
      })
    )
  })
  it("equals net times rate within a minor unit if prices include tax", () => {
    fc.assert(
      fc.property(fc.array(anySold, { minLength: 1, maxLength: 12 }), (sold) => {
        const { vat } = readInvoice(textOf(invoiceOf({ sold, prices_include_tax: true }), "ubl"))
        for (const one of vat) expect(missedBy(one).lessThanOrEqualTo("0.01")).toBe(true)
      })
    )
  })
})

describe("an e-invoice", () => {
  const read = (source: Source) => readInvoice(textOf(source, "cii"))
  it('has the type "prepayment invoice" and the hire period for a deposit', () => {
    expect(read(documents["deposit"] ?? invoiceOf({ sold: [] }))).toMatchObject({
      code: "386",
      period: { first: "2026-03-02", last: "2026-03-06" }
    })
  })
  it("deducts a deposit as a row of negative quantity, and names the deposit's invoice", () => {
    const { due, lines, preceding, without_vat } = read(documents["final"] ?? invoiceOf({ sold: [] }))
    expect(lines[1]).toMatchObject({ quantity: "-1", price: "500.00", net: "-500.00" })
    expect(preceding).toEqual([{ number: "0000000031", date: "2026-02-01" }])
    expect([without_vat, due]).toEqual(["700.00", "840.00"])
  })
  it("has positive amounts for a credit note, with the credited invoice's number and no bank account", () => {
    expect(read(creditOf(invoiceOf({ sold: [hire] })))).toMatchObject({
      code: "381",
      with_vat: "12.00",
      preceding: [{ number: "0000000042", date: "2026-03-09" }],
      account: undefined
    })
  })
  it("counts days in the store's time zone: a hire ending at midnight ends the day before", () => {
    const days = ["2026-07-01T23:30:00.000Z", "2026-07-03T23:00:00.000Z"] as const
    expect(read(invoiceOf({ sold: [{ ...hire, days }] })).period).toEqual({ first: "2026-07-02", last: "2026-07-03" })
  })
  it("uses the issue date as the delivery date when the hire dates are unknown", () => {
    expect(read(invoiceOf({ sold: [hire] }))).toMatchObject({ delivery_date: "2026-03-09", period: undefined })
  })
  it("has net unit prices precise enough to give the row's net amount within 0.05", () => {
    const inclusive = { prices_include_tax: true, sold: [{ name: "Seats", quantity: "99999.99", price: 1_234_567 }] }
    const [line] = read(invoiceOf(inclusive)).lines
    expect(Number(line?.price) * Number(line?.quantity)).toBeCloseTo(Number(line?.net), 1)
    expect(read(invoiceOf({ ...inclusive, sold: [{ ...hire, quantity: "3.00" }] })).lines[0]).toMatchObject({
      price: "8.333",
      net: "25.00"
    })
  })
  it("moves text rows to the notes", () => {
    const invoice = invoiceOf({ sold: [hire] })
    const words = { ...invoice.rows[0]!, item_type: "text", name: "Mind the step", subtotal: 0, tax_total: 0 }
    const text = textOf({ ...invoice, rows: [...invoice.rows, words] }, "ubl")
    expect(readInvoice(text).lines).toHaveLength(1)
    expect(text).toContain("Spring tour\nMind the step")
  })
  it("gives rows without amount and tax rate the VAT category of the other rows", () => {
    const invoice = invoiceOf({ sold: [hire] })
    const free = { ...invoice.rows[0]!, name: "Included", unit_price: 0, subtotal: 0, tax_total: 0 }
    const { lines, vat } = read({ ...invoice, rows: [...invoice.rows, { ...free, tax_rate: null, tax_rate_id: null }] })
    expect(lines[1]).toMatchObject({ category: "S", rate: "20", net: "0.00" })
    expect(vat).toHaveLength(1)
  })
  it("joins the reasons of different exempt rates", () => {
    const rates = new Map([
      [3, { name: "Training", category: "E" as const, reason: "Education" }],
      [4, { name: "Insurance", category: "E" as const, reason: "Insurance" }]
    ])
    const sold = [
      { ...hire, rate: 3 },
      { ...hire, rate: 4 }
    ]
    expect(read(invoiceOf({ sold, rates })).vat).toMatchObject([{ category: "E", reason: "Education; Insurance" }])
  })
})

describe("the check of an e-invoice", () => {
  const sold = [hire]
  it("reports the seller's missing name, country and VAT id", () => {
    const nameless = { ...seller, name: "", country_code: null, tax_number: null, registration_number: null }
    expect(Object.keys(errorsOf(invoiceOf({ sold, seller: nameless })))).toEqual([
      "company.name",
      "company.country_code",
      "company.tax_number"
    ])
  })
  it("reports a missing registration number if the seller's tax number is no VAT id", () => {
    const local = { ...seller, tax_number: "12/345/67890", registration_number: null }
    expect(Object.keys(errorsOf(invoiceOf({ sold, seller: local })))).toEqual(["company.registration_number"])
    expect(errorsOf(invoiceOf({ sold, seller: { ...local, registration_number: "HRB 1" } }))).toEqual({})
  })
  it("reports the buyer's missing country, and with reverse charge the VAT id", () => {
    const unknown = { ...buyer, country_code: null, tax_number: null, registration_number: null }
    expect(Object.keys(errorsOf(invoiceOf({ sold: [{ ...hire, rate: 5 }], buyer: unknown })))).toEqual([
      "member.country_id",
      "member.tax_number"
    ])
  })
  it("reports missing network addresses in UBL and invalid ones in CII", () => {
    const invoice = invoiceOf({
      sold,
      seller: { ...seller, peppol_id: null, email: null },
      buyer: { ...buyer, peppol_id: null, email: " " }
    })
    expect(Object.keys(errorsOf(invoice))).toEqual(["einvoice.peppol_id", "member.peppol_id"])
    expect(errorsOf(invoice, "cii")).toEqual({})
    expect(errorsOf(invoiceOf({ sold, buyer: { ...buyer, peppol_id: "FR123" } }), "cii")).toHaveProperty([
      "member.peppol_id"
    ])
  })
  it("reports a missing exemption reason, rows outside VAT beside taxed rows, and an invoice without rows", () => {
    const rates = new Map([[4, { name: "Insurance", category: "E" as const, reason: " " }]])
    expect(errorsOf(invoiceOf({ sold: [{ ...hire, rate: 4 }], rates }))).toHaveProperty(["items.0.tax_rate_id"])
    expect(errorsOf(invoiceOf({ sold: [hire, { ...hire, rate: 6 }] }))).toHaveProperty(["items"])
    expect(errorsOf(invoiceOf({ sold: [] }))).toHaveProperty(["items"])
  })
  it("reports tax that differs from the rates by one unit of the currency", () => {
    const invoice = invoiceOf({ sold: [hire] })
    const taxed = (more: number): Source => ({
      ...invoice,
      rows: invoice.rows.map((row) => ({ ...row, tax_total: row.tax_total + more })),
      tax_total: invoice.tax_total + more
    })
    expect(errorsOf(taxed(99))).toEqual({})
    expect(errorsOf(taxed(100))).toHaveProperty(["tax_total"])
  })
  it("reports amounts with three decimals, which an e-invoice cannot hold", () => {
    const thousandths = invoiceOf({ currency_code: "KWD", sold: [{ ...hire, price: 1_001 }] })
    expect(errorsOf(thousandths)).toHaveProperty(["currency_code"])
  })
})

it("the rule checker finds broken rules and malformed XML", () => {
  const text = textOf(invoiceOf({ sold: [hire] }), "ubl")
  const wrong = text.replace(">12.00</cbc:TaxInclusiveAmount>", ">12.01</cbc:TaxInclusiveAmount>")
  expect(brokenRules(readInvoice(wrong))).toEqual(["BR-CO-15", "BR-CO-16"])
  expect(() => readXml(text.replace("</cac:Party>", ""))).toThrow()
})
