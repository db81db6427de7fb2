/** What requests about payments and refunds hold (rules/billing 1.4). */
import { choice, integer, longText, money, text, timestamp } from "../../kernel/field.ts"
import { payment_methods } from "../schema.ts"

const moved = {
  amount: money({ currency: "currency_code", required: true, describe: "In the invoice's currency; above zero" }),
  method: choice(payment_methods, { default: "other", any_case: true }),
  paid_at: timestamp({ nullable: true, describe: "When the money moved; now where it is left out" }),
  reference: text({ nullable: true }),
  notes: longText({ nullable: true, max: 1_000 }),
  currency: text({
    nullable: true,
    max: 3,
    format: "currency",
    input_only: true,
    describe: "If given, the invoice's own"
  }),
  currency_code: text({ nullable: true, max: 3, format: "currency", input_only: true, describe: "As currency" })
}
export const paymentFields = moved
export const refundFields = {
  ...moved,
  reason: longText({ nullable: true, max: 1_000 }),
  payment_id: integer({
    nullable: true,
    names: "payments",
    describe: "The payment that is given back, in part or whole; one of the same invoice"
  })
}
