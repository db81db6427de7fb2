/** Postings balance, and files for accounting programs contain them. */
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  postedCreditNote,
  postedInvoice,
  postedPayment,
  postedVoid,
  shownPosted
} from "../../../../core/billing/accounting/postings.ts"
import { exportFiles } from "../../../../core/billing/accounting/csv.ts"
import type { PaymentRow } from "../../../../core/billing/state/tables.ts"
import { creditNoteSample, invoiceSample } from "../paper/samples.ts"

type Accounts = Parameters<typeof postedVoid>[2]

const accounts: Accounts = {
  receivables: "1100",
  revenue: (group) => (group === null ? "4000" : `40${group}`),
  tax: "2200",
  taxCode: (rate) => (rate === null ? "" : `T${rate}`),
  payment: (method) => (method === "cash" ? "1010" : "1200")
}
const payment: PaymentRow = {
  id: 5,
  invoice_id: 7,
  member_id: 5,
  kind: "payment",
  amount: 1_234,
  currency_code: "EUR",
  method: "cash",
  reference: "bank-1",
  notes: null,
  reason: null,
  paid_at: "2026-12-01T10:00:00.000Z",
  recorded_by: 1,
  external_id: null,
  payment_id: null,
  created_at: "2026-12-01T10:00:00.000Z",
  updated_at: "2026-12-01T10:00:00.000Z",
  deleted_at: null
}
const sums = (posted: { readonly postings: ReadonlyArray<{ readonly debit: number; readonly credit: number }> }) => [
  posted.postings.reduce((sum, { debit }) => sum + debit, 0),
  posted.postings.reduce((sum, { credit }) => sum + credit, 0)
]

describe("accounting postings", () => {
  it("have equal debits and credits for any rows, and are reversed on every account by voiding the invoice", () => {
    const row = fc.record({
      subtotal: fc.integer({ min: -5_000_000, max: 5_000_000 }),
      tax_total: fc.integer({ min: -1_000_000, max: 1_000_000 }),
      tax_rate_id: fc.option(fc.integer({ min: 1, max: 4 })),
      revenue_group_id: fc.option(fc.integer({ min: 1, max: 4 }))
    })
    const { invoice, items } = invoiceSample({ lines: 1, currency: "EUR", language: "en" })
    const [item] = items
    if (item === undefined) throw new Error("a sample without rows")
    fc.assert(
      fc.property(fc.array(row, { maxLength: 30 }), (rows) => {
        const made = rows.map((more, id) => ({ ...item, ...more, id }))
        const posted = postedInvoice(invoice, made, accounts)
        const back = postedVoid(invoice, made, accounts)
        const [debit, credit] = sums(posted)
        expect(debit).toBe(credit)
        expect(sums(back)).toEqual([debit, credit])
        const balance = new Map<string, number>()
        for (const { account, credit, debit, tax_code } of [...posted.postings, ...back.postings])
          balance.set(`${account} ${tax_code}`, (balance.get(`${account} ${tax_code}`) ?? 0) + debit - credit)
        expect([...balance.values()].every((sum) => sum === 0)).toBe(true)
        for (const { credit, debit } of posted.postings) expect(Math.min(credit, debit)).toBe(0)
      })
    )
  })
  it("debit the invoice's total to receivables, and are reversed on the same accounts by a full credit note", () => {
    const { invoice, items } = invoiceSample({ lines: 9, currency: "EUR", language: "en", with_deposit: true })
    const grouped = items.map((item, at) => ({ ...item, revenue_group_id: at % 2 === 0 ? 1 : null }))
    const posted = postedInvoice(invoice, grouped, accounts)
    expect(posted.postings[0]).toEqual({ account: "1100", tax_code: "", debit: invoice.total, credit: 0 })
    const sample = creditNoteSample({ lines: 9, currency: "EUR", language: "en", with_deposit: true })
    const groups = new Map(grouped.map((item) => [item.id, item.revenue_group_id]))
    const credited = postedCreditNote(sample.credit_note, sample.items, invoice, groups, accounts)
    expect(credited.postings).toEqual(posted.postings.map((one) => ({ ...one, debit: one.credit, credit: one.debit })))
  })
  it("debit the payment account for a payment and credit it for a refund", () => {
    const { invoice } = invoiceSample({ lines: 1, currency: "EUR", language: "en" })
    const [paid, refunded] = (["payment", "refund"] as const).map((kind) =>
      postedPayment({ ...payment, kind }, invoice, accounts)
    )
    expect(paid?.postings).toEqual([
      { account: "1010", tax_code: "", debit: 1_234, credit: 0 },
      { account: "1100", tax_code: "", debit: 0, credit: 1_234 }
    ])
    expect(refunded?.postings).toEqual([
      { account: "1010", tax_code: "", debit: 0, credit: 1_234 },
      { account: "1100", tax_code: "", debit: 1_234, credit: 0 }
    ])
  })
})

describe("accounting export files", () => {
  const options = { locale: "en-GB", cell: (text: string) => text }
  const { invoice, items } = invoiceSample({ lines: 2, currency: "EUR", language: "en" })
  const shown = (id: number) =>
    shownPosted(postedInvoice({ ...invoice, id }, items, accounts), { name: 'Ann, "Ltd"', email: null }, "UTC")
  const paid = shownPosted(postedPayment(payment, invoice, accounts), { name: "Ann", email: null }, "UTC")
  it("hold at most 500 invoices each for Xero, with payments in a file of their own", () => {
    const files = exportFiles([...Array.from({ length: 501 }, (_, id) => shown(id + 1)), paid], "xero", options)
    expect(files.map(({ name }) => name)).toEqual(["xero-invoices-1.csv", "xero-invoices-2.csv", "xero-payments.csv"])
    expect(files[1]?.text.split("\r\n").slice(0, 2)).toEqual([
      "*ContactName,EmailAddress,*InvoiceNumber,Reference,*InvoiceDate,*DueDate,Total,*Description,*Quantity,*UnitAmount,*AccountCode,*TaxType,TaxAmount,Currency",
      '"Ann, ""Ltd""",,0000000042,PO 4711,22/11/2026,22/12/2026,481.24,Robe MegaPointe,1,12.00,4000,T1,2.28,EUR'
    ])
    expect(files[2]?.text.split("\r\n")[1]).toBe("01/12/2026,12.34,Ann,Invoice 0000000042,bank-1,1010,EUR")
  })
  it("hold at most 100 invoices each for QuickBooks", () => {
    const files = exportFiles(
      Array.from({ length: 101 }, (_, id) => shown(id + 1)),
      "quickbooks",
      options
    )
    expect(files.map(({ text }) => text.split("\r\n").length)).toEqual([202, 4])
  })
  it("have a row for each posting as plain CSV", () => {
    const [file] = exportFiles([shown(7), paid], "csv", options)
    expect(file?.text.split("\r\n").slice(1, 4)).toEqual([
      '2026-11-22,invoices,0000000042,,"Ann, ""Ltd""",1100,,481.24,0.00,EUR,1.00000000,PO 4711',
      '2026-11-22,invoices,0000000042,,"Ann, ""Ltd""",4000,T1,0.00,404.40,EUR,1.00000000,PO 4711',
      '2026-11-22,invoices,0000000042,,"Ann, ""Ltd""",2200,T1,0.00,76.84,EUR,1.00000000,PO 4711'
    ])
  })
})
