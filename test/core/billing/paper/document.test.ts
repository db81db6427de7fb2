/** Content of invoice documents, and payment details. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { exemptionReasons } from "../../../../core/billing/einvoice/amounts.ts"
import { creditNoteDocument, invoiceDocument } from "../../../../core/billing/paper/document.ts"
import { epcCode, isIban, paymentLink, paymentLinkFault } from "../../../../core/billing/paper/mail-text.ts"
import { spacedIban, standardMail } from "../../../../core/billing/paper/mail-text.ts"
import { type Block, readDocument } from "../../../../core/pricing/print/blocks.ts"
import { creditNoteSample, flat, invoiceSample, type Sample } from "./samples.ts"

const textOf = (sample: Sample): string => JSON.stringify(invoiceDocument(invoiceSample(sample)))
const codesOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> =>
  flat(blocks).flatMap((block) => (block.kind === "code" ? [block.value] : []))
const plain = { lines: 3, currency: "EUR", language: "en-GB" }

describe("an invoice document", () => {
  it.each([
    ["EUR in German", { ...plain, language: "de" }],
    ["JPY", { ...plain, currency: "JPY" }],
    ["KWD to an Arabic name", { ...plain, currency: "KWD", buyer: "شركة الأضواء للفعاليات" }],
    ["1,000 lines", { ...plain, lines: 1_000, with_discount: true, with_deposit: true }],
    ["no lines", { ...plain, lines: 0 }]
  ])("can be read back from stored JSON: %s", (_what, sample) => {
    for (const document of [invoiceDocument(invoiceSample(sample)), creditNoteDocument(creditNoteSample(sample))])
      expect(Result.isSuccess(readDocument(JSON.parse(JSON.stringify(document))))).toBe(true)
  })
  it("shows amounts at the currency's scale, in the customer's language", () => {
    expect(textOf({ ...plain, language: "de" })).toContain("2.018,13\u00a0€")
    expect(textOf({ ...plain, currency: "JPY" })).toContain("1,694")
    expect(textOf({ ...plain, currency: "KWD" })).toContain("KD\u00a01,694.190")
  })
  it("states the exchange rate if it is not in the accounting currency", () => {
    expect(textOf({ ...plain, currency: "KWD" })).toContain("at the rate of 0.9123.")
    expect(textOf(plain)).not.toContain("at the rate")
  })
  it("shows paid and outstanding amounts, and a bank code for the outstanding one", () => {
    const { invoice } = invoiceSample(plain)
    const left = invoice.total - 1_000
    const open = { status: "partially_paid", amount_paid: 1_000, amount_outstanding: left } as const
    const document = invoiceDocument(invoiceSample({ ...plain, invoice: open }))
    expect(JSON.stringify(document)).toContain("-€10.00")
    const amount = `EUR${(left / 100).toFixed(2)}`
    expect(codesOf(document.blocks)[0]?.split("\n")).toEqual([
      "BCD",
      "002",
      "1",
      "SCT",
      "BYLADEM1001",
      "Northlight Rental GmbH",
      "DE02120300000000202051",
      amount,
      "",
      "",
      "0000000042"
    ])
  })
  it("shows discounts in percent, and the rounding of a price as more decimals of it", () => {
    const { items, ...paper } = invoiceSample({ ...plain, language: "de", lines: 2 })
    const [first, second] = items
    const discounted = { quantity: "7.00", unit_price: 999, discount_percent: "12.50", discount_amount: 874 }
    const rounded = { quantity: "7.00", unit_price: 875, discount_percent: null, discount_amount: 6, subtotal: 6119 }
    const shown = (...rows: ReadonlyArray<object>) =>
      JSON.stringify(
        invoiceDocument({ ...paper, items: [first!, second!].map((row, at) => ({ ...row, ...rows[at] })) })
      ).replaceAll("\u00a0", " ")
    const both = shown({ ...discounted, subtotal: 6119 }, rounded)
    for (const part of ["9,99 €", "12,5 %", "8,741 €", '"Enthaltene Rabatte","value":"8,74 €"'])
      expect(both).toContain(part)
    expect(both).not.toContain("0,06 €")
    expect(shown({}, rounded)).not.toMatch(/Rabatt/)
  })
  it("shows the price after the discount on a credit note, without decimals that it does not need", () => {
    for (const [currency, price] of [
      ["EUR", "-€10.80"],
      ["JPY", "-JPY\u00a01,080"]
    ] as const) {
      const paper = creditNoteSample({ ...plain, currency })
      const items = [{ ...paper.items[0]!, quantity: "1.00", unit_price: -1_200, subtotal: -1_080 }]
      const cells = JSON.stringify(creditNoteDocument({ ...paper, items })).match(new RegExp(`"${price}0*"`, "g"))
      expect(cells).toEqual([`"${price}"`, `"${price}"`])
    }
  })
  it("gives reasons for charging no VAT on rows that cost something alone", () => {
    const taxed = { subtotal: 10_000, tax_total: 2_000, tax_rate: "20.0000", tax_rate_id: 1 }
    const row = (subtotal: number) => ({ subtotal, tax_total: 0, tax_rate: "0.0000", tax_rate_id: null })
    const rates = { rates: new Map(), untaxed: { name: "", category: "O", reason: null } } as const
    const reasons = (subtotal: number) => exemptionReasons([taxed, row(subtotal)], rates, { O: "Not subject to VAT" })
    expect([reasons(0), reasons(100)]).toEqual([[], ["Not subject to VAT"]])
  })
  it("states on a proforma that it is no invoice, and shows no payment details", () => {
    const proforma = (language: string, status: "issued" | "voided" = "issued") =>
      textOf({ ...plain, language, invoice: { type: "proforma", status } })
    expect(codesOf(invoiceDocument(invoiceSample({ ...plain, invoice: { type: "proforma" } })).blocks)).toEqual([])
    expect(proforma("en-GB")).toContain("This is not an invoice for tax purposes, and no payment is asked for yet.")
    expect(proforma("en-GB")).toContain("Once invoiced, €2,018.13 will be due.")
    expect(proforma("en-GB")).not.toMatch(/Please pay|pay\.example|IBAN|"Due"/)
    expect(proforma("de")).toContain("Mit der Rechnung werden 2.018,13\u00a0€ fällig.")
    expect(proforma("en-GB", "voided")).not.toContain("will be due")
  })
  it("has no bank code once paid or voided, or as a draft", () => {
    for (const invoice of [
      { status: "paid", amount_outstanding: 0 },
      { status: "voided" },
      { status: "draft", number: null }
    ] as const)
      expect(codesOf(invoiceDocument(invoiceSample({ ...plain, invoice })).blocks)).toEqual([])
  })
})

describe("the mail of an invoice", () => {
  const mailed = (invoice: NonNullable<Sample["invoice"]>, language = "en-GB"): string => {
    const paper = invoiceSample({ ...plain, language, invoice })
    return standardMail(paper.invoice, paper, paper.options).text.replaceAll("\u00a0", " ")
  }
  const part_paid = { status: "partially_paid", amount_paid: 1_000, amount_outstanding: 200_813 } as const
  it("states what is left to pay and when it is due", () => {
    expect(mailed(part_paid)).toContain("\nTo pay: €2,008.13\nDue: 22 December 2026\n\n")
    expect(mailed(part_paid, "de")).toContain("\nZu zahlen: 2.008,13 €\nFällig: 22. Dezember 2026\n\n")
    expect(mailed({ ...part_paid, due_at: null })).not.toContain("Due")
  })
  it("states that nothing is left to pay, or that the invoice is void, and names no due date then", () => {
    const voided = mailed({ status: "voided", amount_outstanding: 0 })
    expect(voided).toContain("\nThis invoice is void: please do not pay it.\n")
    const paid = mailed({ status: "paid", amount_outstanding: 0 })
    expect(paid).toContain("\nNothing is left to pay.\n")
    expect(voided + paid + mailed({ type: "proforma" })).not.toMatch(/Due|To pay|pay\.example/)
  })
})

describe("payment details", () => {
  it("require an IBAN with valid check digits", () => {
    expect(isIban("GB82 WEST 1234 5698 7654 32")).toBe(true)
    expect(isIban("GB82 WEST 1234 5698 7654 33")).toBe(false)
    expect(isIban("GB82")).toBe(false)
    expect(spacedIban("de02120300000000202051")).toBe("DE02 1203 0000 0000 2020 51")
  })
  it("include an EPC bank code for an amount in euros, and none for zero euros or for pounds", () => {
    const of = { iban: "DE02120300000000202051", bic: null, holder: "Ä".repeat(80), text: "7", amount_minor: 1 }
    expect(epcCode({ ...of, currency: "GBP" })).toBeUndefined()
    expect(epcCode({ ...of, currency: "EUR", amount_minor: 0 })).toBeUndefined()
    const code = epcCode({ ...of, currency: "EUR" }) ?? ""
    expect(new TextEncoder().encode(code).length).toBeLessThanOrEqual(331)
    expect(code.split("\n").slice(4, 8)).toEqual(["", "Ä".repeat(35), "DE02120300000000202051", "EUR0.01"])
  })
  it("fill the fields of a payment link, which requires https and known fields", () => {
    const values = { number: "R/7&x", amount: "10.00", currency: "EUR" }
    expect(paymentLink("https://pay.example/{number}?a={amount}{currency}", values)).toBe(
      "https://pay.example/R%2F7%26x?a=10.00EUR"
    )
    expect(paymentLinkFault("http://pay.example")).toMatch(/https/)
    expect(paymentLinkFault("https://pay.example/{id}")).toMatch(/not \{id\}/)
    expect(paymentLinkFault("https://pay.example/{number}")).toBeUndefined()
  })
})
