/** Fields of requests about invoices (rules/billing 1.3). */
import { boolean, choice, decimal, integer, json, list, longText, money, object, ref } from "../../kernel/index.ts"
import { text, timestamp, type Json, type JsonObject, type SharedDraft, type ValuesOf } from "../../kernel/index.ts"
import { credit_notes, invoice_types, invoices, payment_methods } from "./tables.ts"

const cleared = { nullable: true, on_null: "clear" } as const
export const items_max = 5_000
/** A row; without `id` a new one. Existing rows keep omitted fields, but `sort_order`: their position as sent. */
const itemFields = {
  id: integer({
    nullable: true,
    names: "invoice_items",
    describe: "Id of a row of this invoice; omit it to add a row"
  }),
  product_id: ref("products", { nullable: true }),
  name: text({ nullable: true, describe: "Row's name; required without a product" }),
  description: longText({ nullable: true }),
  quantity: decimal({
    scale: 2,
    min: "0.01",
    max: "1000000000",
    nullable: true,
    describe: "Quantity; default of new rows: 1"
  }),
  unit_price: json({
    form: "any",
    nullable: true,
    describe: "Price in the invoice's currency, negative to deduct; required for new rows"
  }),
  discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true }),
  tax_class_id: ref("product_tax_classes", {
    nullable: true,
    describe: "Tax class; default: the product's, else the default class"
  }),
  revenue_group_id: ref("revenue_groups", { nullable: true }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  sort_order: integer({ min: 0, max: 999_999, nullable: true })
}
export type SentItem = ValuesOf<typeof itemFields>
const items = () =>
  list(object(itemFields), { nullable: true, max_items: items_max, describe: "All rows; those not sent are removed" })

const shared = {
  store_id: ref("stores", cleared),
  opportunity_id: ref("opportunities", cleared),
  subject: text(cleared),
  reference: text(cleared),
  notes: longText({ ...cleared, max: 5_000 }),
  payment_terms_days: integer({ min: 0, max: 365, nullable: true }),
  due_at: timestamp({ ...cleared, describe: "Due date, instead of the payment terms" }),
  custom_fields: json<JsonObject>({ default: {} })
}
const currency = () => text({ format: "currency", max: 3, nullable: true })
export const createFields = {
  member_id: ref("members", { required: true }),
  type: choice(invoice_types, { default: "standard", any_case: true }),
  ...shared,
  currency: currency(),
  currency_code: currency(),
  prices_include_tax: boolean({ default: false }),
  items: items()
}
/** Parsed values of a new invoice; optional fields may be absent. */
export type CreateValues = Partial<ValuesOf<typeof createFields>>
export const updateFields = {
  member_id: ref("members"),
  type: choice(invoice_types, { any_case: true }),
  ...shared,
  items: items()
}
export type UpdateValues = Partial<ValuesOf<typeof updateFields>>
// Fields of credit notes (rules/billing 1.5).

export const creditFields = {
  items: list(
    object({
      invoice_item_id: ref("invoice_items", { required: true, live: false }),
      quantity: decimal({
        scale: 2,
        min: "0.01",
        nullable: true,
        describe: "Quantity to credit; default: all that is left of the row"
      }),
      amount: json<Json>({
        form: "any",
        nullable: true,
        describe: 'Amount to credit before tax, instead of a quantity: "40.00"'
      })
    }),
    { nullable: true, min_items: 1, max_items: items_max }
  ),
  amount: money({
    currency: "currency_code",
    nullable: true,
    describe: "Amount to credit with tax, spread over the rows; default: the rest"
  }),
  reason: longText({ nullable: true, max: 1_000 }),
  notes: longText({ nullable: true, max: 5_000 }),
  issued_at: timestamp({ nullable: true, describe: "Issue date; default: now" })
}

// Fields of payments and refunds (rules/billing 1.4).

export const paymentFields = {
  amount: money({
    currency: "currency_code",
    required: true,
    describe: "Amount in the invoice's currency, above zero"
  }),
  method: choice(payment_methods, { default: "other", any_case: true }),
  paid_at: timestamp({ nullable: true, describe: "Time paid or refunded; default: now" }),
  reference: text({ nullable: true }),
  notes: longText({ nullable: true, max: 1_000 }),
  currency: text({
    nullable: true,
    max: 3,
    format: "currency",
    input_only: true,
    describe: "Must be the invoice's currency if given"
  }),
  currency_code: text({ nullable: true, max: 3, format: "currency", input_only: true, describe: "Same as currency" })
}
export const refundFields = {
  ...paymentFields,
  reason: longText({ nullable: true, max: 1_000 }),
  payment_id: integer({
    nullable: true,
    names: "payments",
    describe: "Payment of this invoice to refund, wholly or in part"
  })
}

// Paths, path parameters and rights that endpoints of billing share.

export const path = "/api/v1/invoices"
export const credit_notes_path = "/api/v1/credit_notes"
export const one = { id: { table: invoices } } as const
export const one_credit_note = { id: { table: credit_notes } } as const
export const read = { ability: "invoices:read", permission: "invoices.view" } as const satisfies SharedDraft
export const read_credit_notes = {
  ability: "credit-notes:read",
  permission: "invoices.view"
} as const satisfies SharedDraft
export const write = "invoices:write"
