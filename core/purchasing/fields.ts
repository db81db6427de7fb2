/** Fields of requests about purchase orders (rules/billing 2.3). */
import type { Json, JsonObject, ValuesOf } from "../kernel/fields/field.ts"
import {
  boolean,
  choice,
  decimal,
  integer,
  json,
  list,
  longText,
  object,
  ref,
  text,
  timestamp
} from "../kernel/fields/field.ts"
import { purchase_order_types, type PurchaseOrderRow } from "./schema.ts"
import { Context, Schema } from "effect"
import type { StoreRead } from "../kernel/endpoints/endpoint.ts"
import type { DemandRow } from "../orders/demands/schema.ts"
import type { StockLevelRow } from "../products/stock/schema.ts"
import { waitingNote } from "../orders/opportunities/waiting/api.ts"

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

// Fields of requests about deliveries and returns (rules/billing 2.3).

const most = "1000000000"
const row = { nullable: true, names: "purchase_order_items" } as const
const named = {
  item_id: integer({ ...row, describe: "A row of this order" }),
  purchase_order_item_id: integer({ ...row, describe: "As item_id" })
}
const serial_numbers = list(text({ max: 255 }), {
  nullable: true,
  max_items: 5_000,
  describe: "Of serialised products: one for each piece, or none at all"
})
const notes = longText({ nullable: true, max: 1_000 })
const about = {
  reference: text({ nullable: true, describe: "The delivery note" }),
  notes: longText({ nullable: true, max: 5_000 })
}
export const receiveFields = {
  lines: list(
    object({
      ...named,
      quantity: decimal({ scale: 2, min: "0.01", max: most, required: true }),
      serial_numbers,
      notes
    }),
    { required: true, min_items: 1, max_items: 1_000 }
  ),
  received_at: timestamp({ nullable: true, describe: "Now unless given; not in the future" }),
  ...about
}
export type ReceiveValues = Partial<ValuesOf<typeof receiveFields>>
export type ReceivedLine = ValuesOf<typeof receiveFields>["lines"] extends ReadonlyArray<infer L> ? Partial<L> : never

export const returnFields = {
  lines: list(
    object({
      ...named,
      quantity: decimal({
        scale: 2,
        min: "0.01",
        max: most,
        nullable: true,
        describe: "All that is here unless given"
      }),
      serial_numbers: list(text({ max: 255 }), {
        nullable: true,
        max_items: 5_000,
        describe: "The units that go back"
      }),
      stock_level_ids: list(integer({ names: "stock_levels" }), {
        nullable: true,
        max_items: 5_000,
        describe: "The units that go back, where they have no serial number"
      }),
      notes
    }),
    { nullable: true, min_items: 1, max_items: 1_000, describe: "Without lines all that is here goes back" }
  ),
  returned_at: timestamp({ nullable: true, describe: "Now unless given; not in the future" }),
  ...about
}
export type ReturnValues = Partial<ValuesOf<typeof returnFields>>
export type ReturnedLine = NonNullable<ReturnValues["lines"]>[number]

// Claims on a unit that is to be returned to its supplier.

/** Somebody has a unit, or will have it, from now on. */
export interface UnitClaim {
  readonly demand: DemandRow
  /** Who, in words. */
  readonly job: string
}
/** As refusals name an order. */
export const orderName = ({ id, number }: Pick<PurchaseOrderRow, "id" | "number">): string =>
  `Purchase order ${number ?? id}`
export const unitName = ({ id, serial_number }: Pick<StockLevelRow, "id" | "serial_number">): string =>
  serial_number === null ? `Unit ${id}` : `Unit ${serial_number}`
export const claimText = ({ demand, job }: UnitClaim): string =>
  demand.out
    ? `is out on hire with ${job}; check it in first.`
    : `is allocated to ${job} from ${demand.starts_at} to ${demand.ends_at}; release it there first.`

// Fields of requests that resolve shortages (rules/availability 9).

const resolutions = { ...purchase_order_types, waitlist: "Waiting list" } as const
export const resolveFields = {
  resolution: choice(resolutions, {
    required: true,
    any_case: true,
    describe: "subhire: hire what is short; purchase: buy it; waitlist: wait for it to come free"
  }),
  supplier_id: ref("members", { nullable: true, describe: "Required for a new order" }),
  purchase_order_id: ref("purchase_orders", { nullable: true, describe: "A draft that the lines are added to" }),
  lines: list(
    object({
      opportunity_item_id: integer({ required: true, min: 1, names: "opportunity_items" }),
      quantity: decimal({
        scale: 2,
        min: "0.01",
        max: "1000000000",
        nullable: true,
        describe: "What is short and not on order unless given"
      }),
      unit_cost: json<Json>({ form: "any", nullable: true, describe: "The product's unless given" })
    }),
    { nullable: true, min_items: 1, max_items: 1_000, describe: "All that is short unless given" }
  ),
  currency: text({ format: "currency", max: 3, nullable: true }),
  expected_at: timestamp({ nullable: true }),
  sub_rental: boolean({
    default: false,
    describe: "Lines that are hired whole become sub-rentals (transaction type 3): their charges are summed apart"
  }),
  note: waitingNote
}
export type ResolveValues = Partial<ValuesOf<typeof resolveFields>>
