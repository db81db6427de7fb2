/** Faults of money: double payments, refunds, credits and numbers. */
import type { Mutant } from "./mutant.ts"

const payments = "core/billing/payments/decide.ts"
const payments_test = "test/core/billing/payments/payments.test.ts"
const credits = "core/billing/credits/decide.ts"
const credits_test = "test/core/billing/credits/credits.test.ts"
const histories = {
  file: "test/core/billing/histories.test.ts",
  test: "an invoice's sums stay exact in any order of payments, refunds, credits and voids"
}

export const billing_mutants: ReadonlyArray<Mutant> = [
  {
    name: "an opportunity is billed twice",
    file: "core/billing/state/billed.ts",
    within: "overbilling",
    find: "billing.own <= leftToBill(billing.others)",
    replace: "billing.own <= billing.others.total",
    killed_by: [
      { file: "test/core/billing/invoices/issue.test.ts", test: "is rejected, naming billed and remaining amounts" }
    ]
  },
  {
    name: "a payment above the outstanding amount is accepted",
    file: payments,
    within: "recordPayment",
    find: "amount > invoice.amount_outstanding",
    replace: "amount > invoice.total",
    killed_by: [{ file: payments_test, test: "is rejected one minor unit above the outstanding amount" }, histories]
  },
  {
    name: "a refund above the amount paid is accepted",
    file: payments,
    within: "recordRefund",
    find: "amount > invoice.amount_paid",
    replace: "amount > invoice.total",
    killed_by: [{ file: payments_test, test: "is rejected one minor unit above what is paid" }, histories]
  },
  {
    name: "a credit above the invoice's total is accepted",
    file: credits,
    within: "byAmount",
    find: "amount > most",
    replace: "amount > invoice.total",
    killed_by: [{ file: credits_test, test: "is rejected one minor unit above the remaining amount" }, histories]
  },
  {
    name: "credited rows may exceed the invoice's total",
    file: credits,
    within: "byItems",
    find: "sum > most",
    replace: "sum > invoice.total * 9",
    killed_by: [
      {
        file: credits_test,
        test: "is rejected for deduction rows alone, and for more than the invoice's total after deductions"
      },
      histories
    ]
  },
  {
    name: "a row may be credited beyond its quantity",
    file: credits,
    within: "takenOf",
    find: "quantity > row.quantity",
    replace: "quantity > hundredths(row.item.quantity)",
    killed_by: [{ file: credits_test, test: "is rejected above the remaining quantity, at the row's position" }]
  },
  {
    name: "a row may be credited beyond its remaining amount",
    file: credits,
    within: "ofQuantity",
    find: "isWithin(due.net, left.net) && isWithin(due.tax, left.tax)",
    replace: "isWithin(0, left.net)",
    killed_by: [{ file: credits_test, test: "is limited by the row's remaining amount after a credit by amount" }]
  },
  {
    name: "the last credit of a row takes its proportion instead of the remainder",
    file: credits,
    within: "ofQuantity",
    find: "quantity === row.quantity",
    replace: "quantity > row.quantity",
    killed_by: [
      {
        file: credits_test,
        test: "credits net and tax in proportion to the quantity, and the row's remainder with its last part"
      }
    ]
  },
  {
    name: "rounding remainders of a split amount are lost",
    file: credits,
    within: "proRata",
    find: "raised.has(at) ? Math.sign(odd) : 0",
    replace: "raised.has(-at - 1) ? Math.sign(odd) : 0",
    killed_by: [{ file: credits_test, test: "is spread over the rows by their remaining amounts" }, histories]
  },
  {
    name: "a document number is skipped",
    file: "core/kernel/runtime/ids.ts",
    within: "nextDocumentNumber",
    find: "number_sequences.next + 1",
    in_text: true,
    replace: "number_sequences.next + 2",
    killed_by: [{ file: "test/api/races.test.ts", test: "are each numbered from 1 without a gap" }]
  },
  {
    name: "concurrent changes of one invoice do not wait for each other",
    file: "core/kernel/runtime/engine.ts",
    within: "lockCommandStreams",
    find: "lockFirst(streamsOfCommand(endpoint, call.params, call.request.body))",
    replace: "lockFirst([])",
    killed_by: [{ file: "test/api/races.test.ts", test: "two full payments" }]
  }
]
