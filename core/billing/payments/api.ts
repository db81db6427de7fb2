/** Endpoints of payments and refunds (rules/billing 1.4). Writers of one invoice wait for each other. */
import { Effect, Schema } from "effect"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { command, type Endpoint, type Failure, type Input } from "../../kernel/endpoints/endpoint.ts"
import { wholeNumber } from "../../kernel/tables/field-schema.ts"
import { created, renderById, viewContext } from "../../kernel/endpoints/resource.ts"
import { Store } from "../../kernel/store/store.ts"
import { invoiceResource, paymentResource } from "../state/resources.ts"
import { payments } from "../state/tables.ts"
import { type MovedResult, no_payment_named, recordPayment, recordRefund, type RefundFacts } from "./decide.ts"
import { one, path, paymentFields, refundFields } from "../state/fields.ts"

const record = { ability: "payments:write", permission: "payments.record" } as const
const result: Schema.Codec<MovedResult> = Schema.suspend(() =>
  Schema.Struct({ id: wholeNumber, payment_id: wholeNumber })
)

/** The payment or refund, and what it made of the invoice: a caller nearly always needs both. */
const both = ({ id, payment_id }: MovedResult, input: Input) =>
  Effect.all({
    row: renderById(paymentResource, payment_id, [], viewContext(input)),
    invoice: renderById(invoiceResource, id, input.query, viewContext(input))
  })

const refundFacts = Effect.fnUntraced(function* (
  payment_id: number | null
): Effect.fn.Return<RefundFacts, Failure, Store> {
  const payment = payment_id === null ? undefined : yield* Store.get(payments, payment_id)
  if (payment === undefined) return no_payment_named
  const moved = yield* Store.find(payments, { invoice_id: payment.invoice_id })
  return {
    payment,
    refunded: moved.filter((one) => one.payment_id === payment.id).reduce((sum, { amount }) => sum + amount, 0)
  }
})

const pay = command("POST", `${path}/{id}/payments`, {
  answer: { payment: Shown.row(() => paymentResource), invoice: Shown.row(() => invoiceResource) },
  success_status: 201,
  name: "invoices.pay",
  summary: "Record a payment",
  ...record,
  params: one,
  fields: paymentFields,
  result,
  facts: () => Effect.void,
  decide: (_facts, input, context) => recordPayment(input.rows.id, input.values, context),
  respond: (done, input) =>
    Effect.map(both(done, input), ({ row, invoice }) => created({ payment: row.payment, invoice: invoice.invoice }))
})
const refund = command("POST", `${path}/{id}/refunds`, {
  answer: { refund: Shown.row(() => paymentResource), invoice: Shown.row(() => invoiceResource) },
  success_status: 201,
  name: "invoices.refund",
  summary: "Record a refund",
  ...record,
  params: one,
  fields: refundFields,
  result,
  facts: ({ values }) => refundFacts(values.payment_id ?? null),
  decide: (facts, input, context) => recordRefund(input.rows.id, facts, input.values, context),
  respond: (done, input) =>
    Effect.map(both(done, input), ({ row, invoice }) => created({ refund: row.payment, invoice: invoice.invoice }))
})

export const paymentEndpoints: ReadonlyArray<Endpoint> = [pay, refund]
