/** Payments and refunds of one invoice of 100.00 net and 20 % tax (rules/billing 1.1, 1.4). */
import { describe, it } from "vitest"
import {
  type MovedMoney,
  no_payment_named,
  recordPayment,
  recordRefund,
  type RefundFacts
} from "../../../../core/billing/payments/decide.ts"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { decided_at, given_at, stamps } from "../../decider.ts"
import { given, invoiceIn, issued } from "../invoice.ts"
import type { InvoiceRow, PaymentRow } from "../../../../core/billing/state/tables.ts"

const of120 = (set: Partial<InvoiceRow> = {}) => issued([{ quantity: "1.00", amount: 10_000 }], set).rows
const half_paid = { status: "partially_paid", amount_paid: 5_000, amount_outstanding: 7_000 } as const
const paid = { status: "paid", amount_paid: 12_000, amount_outstanding: 0, paid_at: given_at } as const
const pay = (money: MovedMoney) => (facts: Parameters<typeof invoiceIn>[0]) =>
  recordPayment(invoiceIn(facts), money, facts.context)
const refund =
  (money: MovedMoney, named: RefundFacts = no_payment_named) =>
  (facts: Parameters<typeof invoiceIn>[0]) =>
    recordRefund(invoiceIn(facts), named, money, facts.context)
const row = <K extends PaymentRow["kind"]>(kind: K, amount: number, more: object = {}) => ({
  id: 1001,
  invoice_id: 1,
  member_id: 1,
  kind,
  amount,
  currency_code: "GBP",
  method: "other",
  reference: null,
  notes: null,
  reason: null,
  paid_at: decided_at,
  recorded_by: 1,
  external_id: null,
  payment_id: null,
  ...more
})

const event = (type: string, set: object, was: object, payment: object) => ({
  stream: "invoice:1",
  type: `payment.${type}`,
  data: { id: 1, set, was, payment } as JsonObject
})
const refunded20 = { status: "partially_paid", amount_paid: 10_000, amount_outstanding: 2_000, paid_at: null } as const

describe("a payment", () => {
  it("leaves the rest outstanding if it is below the outstanding amount", () => {
    given(...of120())
      .when(pay({ amount: 5_000, method: "cash", reference: "Till 1" }))
      .thenEvents(
        event(
          "recorded",
          half_paid,
          { status: "issued", amount_paid: 0, amount_outstanding: 12_000 },
          row("payment", 5_000, { method: "cash", reference: "Till 1" })
        )
      )
  })
  it("marks the invoice as paid at the payment's time if it covers the outstanding amount", () => {
    given(...of120(half_paid))
      .when(pay({ amount: 7_000, paid_at: "2026-06-10T08:00:00.000Z" }))
      .thenEvents(
        event(
          "recorded",
          { status: "paid", amount_paid: 12_000, amount_outstanding: 0, paid_at: "2026-06-10T08:00:00.000Z" },
          { status: "partially_paid", amount_paid: 5_000, amount_outstanding: 7_000, paid_at: null },
          row("payment", 7_000, { paid_at: "2026-06-10T08:00:00.000Z" })
        )
      )
  })
  it("is rejected one minor unit above the outstanding amount, naming that amount", () => {
    given(...of120(half_paid))
      .when(pay({ amount: 7_001 }))
      .thenRefused({
        amount: ["The payment of 70.01 GBP is more than the 70.00 GBP that are outstanding; record that much or less."]
      })
  })
  it("is rejected for an amount of zero", () => {
    given(...of120())
      .when(pay({ amount: 0 }))
      .thenRefused({ amount: ["The amount field must be greater than 0."] })
  })
  it("is rejected in another currency", () => {
    given(...of120())
      .when(pay({ amount: 100, currency: "EUR" }))
      .thenRefused({ currency: ["The invoice is in GBP; a payment of it is in the same currency."] })
  })
  it("is rejected with a time more than 5 minutes in the future", () => {
    given(...of120())
      .when(pay({ amount: 100, paid_at: "2026-06-18T12:05:00.001Z" }))
      .thenRefused({ paid_at: ["The paid at field must not be in the future."] })
    given(...of120())
      .when(pay({ amount: 100, paid_at: "2026-06-18T12:05:00.000Z" }))
      .thenResult({ id: 1, payment_id: 1001 })
  })
  it.each([
    ["draft", "Invoice 0000000001 is a draft; issue it before a payment is recorded."],
    ["voided", "Invoice 0000000001 was voided, so it takes no payment."],
    ["paid", "Invoice 0000000001 is paid already; nothing is outstanding."],
    ["credited", "Invoice 0000000001 is credited already; nothing is outstanding."]
  ] as const)("is rejected for a %s invoice", (status, text) => {
    given(...of120({ status }))
      .when(pay({ amount: 100 }))
      .thenRefused({ status: [text] })
  })
  it("is rejected for a proforma, issued or not", () => {
    for (const status of ["draft", "issued"] as const)
      given(...of120({ type: "proforma", status }))
        .when(pay({ amount: 100 }))
        .thenRefused({ type: ["A proforma asks for no money, so it takes no payment; issue an invoice instead."] })
  })
})

describe("a refund", () => {
  it("reopens a paid invoice", () => {
    given(...of120(paid))
      .when(refund({ amount: 2_000, reason: "Broken lamp" }))
      .thenEvents(event("refunded", refunded20, paid, row("refund", 2_000, { reason: "Broken lamp" })))
  })
  it("leaves the invoice issued and unpaid if it returns all payments", () => {
    given(...of120(paid))
      .when(refund({ amount: 12_000 }))
      .thenEvents(
        event(
          "refunded",
          { status: "issued", amount_paid: 0, amount_outstanding: 12_000, paid_at: null },
          paid,
          row("refund", 12_000)
        )
      )
  })
  it("pays out the credit of a credited invoice, and leaves its status credited", () => {
    given(
      ...of120({ ...paid, status: "credited", amount_credited: 12_000, amount_outstanding: -12_000, paid_at: null })
    )
      .when(refund({ amount: 12_000 }))
      .thenEvents(
        event(
          "refunded",
          { amount_paid: 0, amount_outstanding: 0 },
          { amount_paid: 12_000, amount_outstanding: -12_000 },
          row("refund", 12_000)
        )
      )
  })
  it("is limited to the rest of the payment it names, which must be one of the invoice", () => {
    const payment: PaymentRow = { ...row("payment", 5_000), method: "other", id: 21, ...stamps }
    given(...of120(paid))
      .when(refund({ amount: 2_000, payment_id: 21 }, { payment, refunded: 3_000 }))
      .thenEvents(event("refunded", refunded20, paid, row("refund", 2_000, { payment_id: 21 })))
    given(...of120(paid))
      .when(refund({ amount: 2_001, payment_id: 21 }, { payment, refunded: 3_000 }))
      .thenRefused({
        amount: [
          "The refund of 20.01 GBP is more than the 20.00 GBP that are left of payment 21; refund that much or less of it."
        ]
      })
    for (const other of [undefined, { ...payment, invoice_id: 2 }, { ...payment, kind: "refund" as const }])
      given(...of120(paid))
        .when(refund({ amount: 1, payment_id: 21 }, { payment: other, refunded: 0 }))
        .thenRefused({ payment_id: ["Invoice 0000000001 has no payment 21; name one of its own, or none."] })
  })
  it("is rejected one minor unit above what is paid", () => {
    given(...of120(half_paid))
      .when(refund({ amount: 5_001 }))
      .thenRefused({
        amount: ["The refund of 50.01 GBP is more than the 50.00 GBP that are paid; refund that much or less."]
      })
  })
  it("is rejected without a payment", () => {
    given(...of120({ number: "INV-0001" }))
      .when(refund({ amount: 1 }))
      .thenRefused({ amount: ["Nothing is paid on invoice INV-0001, so nothing can be refunded."] })
  })
  it.each([
    ["draft", "Invoice 0000000001 is a draft; issue it before a refund is recorded."],
    ["voided", "Invoice 0000000001 was voided, so it takes no refund."]
  ] as const)("is rejected for a %s invoice", (status, text) => {
    given(...of120({ status }))
      .when(refund({ amount: 100 }))
      .thenRefused({ status: [text] })
  })
})
