/** What bodies about costs and deal prices may hold (rules/opportunities 8, 11). */
import { boolean, code, decimal, integer, money, longText, text } from "../../kernel/field.ts"
import { cost_type_labels, transaction_type_labels } from "../child-tables.ts"

export const costFields = {
  description: text({ required: true }),
  cost_type: code(cost_type_labels, { default: 5 }),
  transaction_type: code(transaction_type_labels, { default: 2 }),
  amount: money({ currency: "currency_code", default: 0 }),
  quantity: decimal({ scale: 2, min: "0", max: "1000000000", default: "1.00" }),
  currency: text({ nullable: true, max: 3, format: "currency" }),
  is_optional: boolean({ default: false }),
  sort_order: integer({ min: 0, max: 999_999, default: 0 }),
  notes: longText({ nullable: true, on_null: "clear" })
}
export const dealPriceFields = {
  deal_total: money({ currency: "currency_code", required: true }),
  currency: text({ nullable: true, max: 3, format: "currency" })
}
