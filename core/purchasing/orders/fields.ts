/** Fields of requests about purchase orders (rules/billing 2.3). */
import {
  choice,
  decimal,
  integer,
  json,
  type JsonObject,
  list,
  longText,
  object,
  ref,
  text,
  timestamp,
  type ValuesOf
} from "../../kernel/fields/field.ts"
import { purchase_order_types } from "../schema.ts"
import { Context, Schema } from "effect"
import type { StoreRead } from "../../kernel/endpoints/endpoint.ts"

const cleared = { nullable: true, on_null: "clear" } as const
const items_max = 5_000
/** A line: without `id` a new one. Of a line that is there, what is left out stays. */
const itemFields = {
  id: integer({
    nullable: true,
    names: "purchase_order_items",
    describe: "A line of this order; without it a new one"
  }),
  product_id: ref("products", { nullable: true }),
  opportunity_item_id: ref("opportunity_items", {
    nullable: true,
    describe: "The line of the opportunity it is for; of the opportunity that the order names"
  }),
  name: text({ nullable: true, describe: "Required without a product" }),
  description: longText({ nullable: true }),
  quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", nullable: true, describe: "1 unless given" }),
  unit_cost: json({
    form: "any",
    nullable: true,
    describe: "Money in the order's currency, for one piece over the whole hire; what the product costs unless given"
  }),
  discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true }),
  tax_class_id: ref("product_tax_classes", {
    nullable: true,
    describe: "The product's for purchases unless given, else the default"
  }),
  cost_group_id: ref("cost_groups", { nullable: true, describe: "The product's unless given" }),
  starts_at: timestamp({ nullable: true, describe: "The order's unless given" }),
  ends_at: timestamp({ nullable: true, describe: "The order's unless given" }),
  sort_order: integer({ min: 0, max: 999_999, nullable: true })
}
export type SentItem = ValuesOf<typeof itemFields>
const items = () =>
  list(object(itemFields), { nullable: true, max_items: items_max, describe: "All lines: replaces those there are" })

const shared = {
  opportunity_id: ref("opportunities", cleared),
  subject: text(cleared),
  reference: text(cleared),
  expected_at: timestamp(cleared),
  starts_at: timestamp({ ...cleared, describe: "When the hire begins; needed to send a sub-hire" }),
  ends_at: timestamp({ ...cleared, describe: "When the hire ends; needed to send a sub-hire" }),
  delivery_instructions: longText({ ...cleared, max: 5_000 }),
  notes: longText({ ...cleared, max: 5_000 }),
  custom_fields: json<JsonObject>({ default: {} }),
  items: items()
}
const currency = () => text({ format: "currency", max: 3, nullable: true })
const po_type = "sub_hire (subhire) or purchase"
export const createFields = {
  supplier_id: ref("members", { required: true }),
  store_id: ref("stores", { nullable: true, describe: "The default store unless given" }),
  po_type: choice(purchase_order_types, { default: "sub_hire", any_case: true, describe: po_type }),
  currency: currency(),
  currency_code: currency(),
  ...shared
}
/** What a body that was read holds: what may be left out may be absent. */
export type CreateValues = Partial<ValuesOf<typeof createFields>>
export const updateFields = {
  supplier_id: ref("members"),
  store_id: ref("stores"),
  po_type: choice(purchase_order_types, { any_case: true, describe: po_type }),
  currency: currency(),
  currency_code: currency(),
  ...shared
}
export type UpdateValues = Partial<ValuesOf<typeof updateFields>>
export const sendFields = {
  email: text({
    format: "email",
    nullable: true,
    describe: "Unless given the supplier's address for bills, else their primary one; without any nothing is mailed"
  }),
  message: longText({ nullable: true, max: 5_000, describe: "Instead of the text that the settings give" })
}
export const cancelFields = { reason: longText({ nullable: true, max: 1_000 }) }

// The mail with a purchase order (rules/billing 2.3). Sending is recorded on server or device; the server that records
// it queues the message in the same transaction. Addresses stay out of the journal.

export const purchaseOrderMail = Schema.Struct({
  purchase_order_id: Schema.Int,
  sent_at: Schema.String,
  /** Null: no address of the supplier is known, and nothing is mailed. */
  to: Schema.NullOr(Schema.String),
  /** Null: as the settings word it. */
  message: Schema.NullOr(Schema.String),
  sender_user_id: Schema.Int
})
export type PurchaseOrderMail = typeof purchaseOrderMail.Type

/** Queues the message. A server has it; a device does not, and sends the command on. */
export class PurchaseOrderMailer extends Context.Service<
  PurchaseOrderMailer,
  (mail: PurchaseOrderMail) => StoreRead<void>
>()("flightcase/PurchaseOrderMailer") {}
