/** Fields of requests about purchase orders (rules/billing 2.3). */
import { boolean, choice, decimal, integer, json, list, longText, object, ref, text } from "../kernel/index.ts"
import { timestamp, type Json, type JsonObject, type StoreRead, type ValuesOf } from "../kernel/index.ts"
import { purchase_order_types, type PurchaseOrderRow } from "./schema.ts"
import { Context, Effect, Schema } from "effect"
import type { DemandRow } from "../orders/demands/schema.ts"
import type { StockLevelRow } from "../products/stock/schema.ts"

const cleared = { nullable: true, on_null: "clear" } as const
const items_max = 5_000
/** A line; without `id` a new one. On existing lines, omitted fields keep their values. */
const itemFields = {
  id: integer({
    nullable: true,
    names: "purchase_order_items",
    describe: "Id of a line of this order; omit it to add a line"
  }),
  product_id: ref("products", { nullable: true }),
  opportunity_item_id: ref("opportunity_items", {
    nullable: true,
    describe: "Line of the order's opportunity that the goods are for"
  }),
  name: text({ nullable: true, describe: "Line's name; required without a product" }),
  description: longText({ nullable: true }),
  quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", nullable: true, describe: "Quantity; default: 1" }),
  unit_cost: json({
    form: "any",
    nullable: true,
    describe: "Cost of one piece over the whole hire, in the order's currency; default: the product's"
  }),
  discount_percent: decimal({ scale: 2, min: "0", max: "100", nullable: true }),
  tax_class_id: ref("product_tax_classes", {
    nullable: true,
    describe: "Tax class; default: the product's for purchases"
  }),
  cost_group_id: ref("cost_groups", { nullable: true, describe: "Cost group; default: the product's" }),
  starts_at: timestamp({ nullable: true, describe: "Start of the line's hire; default: the order's" }),
  ends_at: timestamp({ nullable: true, describe: "End of the line's hire; default: the order's" }),
  sort_order: integer({ min: 0, max: 999_999, nullable: true })
}
export type SentItem = ValuesOf<typeof itemFields>
const items = () =>
  list(object(itemFields), { nullable: true, max_items: items_max, describe: "All lines; replaces the existing ones" })

const shared = {
  opportunity_id: ref("opportunities", cleared),
  subject: text(cleared),
  reference: text(cleared),
  expected_at: timestamp(cleared),
  starts_at: timestamp({ ...cleared, describe: "Start of the hire, for lines without their own" }),
  ends_at: timestamp({ ...cleared, describe: "End of the hire, for lines without their own" }),
  delivery_instructions: longText({ ...cleared, max: 5_000 }),
  notes: longText({ ...cleared, max: 5_000 }),
  custom_fields: json<JsonObject>({ default: {} }),
  items: items()
}
const currency = () => text({ format: "currency", max: 3, nullable: true })
const po_type = "Purchased goods are kept; sub-hired goods are returned"
export const createFields = {
  supplier_id: ref("members", { required: true }),
  store_id: ref("stores", { nullable: true, describe: "Store; default: the default store" }),
  po_type: choice(purchase_order_types, { default: "sub_hire", any_case: true, describe: po_type }),
  currency: currency(),
  currency_code: currency(),
  ...shared
}
/** Parsed values of a new order; optional fields may be absent. */
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
// The mail with a purchase order (rules/billing 2.3). Sending is recorded on server or device; the server that records
// it queues the message in the same transaction. Addresses stay out of the journal.

export const purchaseOrderMail = Schema.Struct({
  purchase_order_id: Schema.Int,
  sent_at: Schema.String,
  /** Address given in the request, else the supplier's; null without either, and nothing is mailed. */
  to: Schema.NullOr(Schema.String),
  /** Text of the message; null for the text in the settings. */
  message: Schema.NullOr(Schema.String),
  sender_user_id: Schema.Int
})
export type PurchaseOrderMail = typeof purchaseOrderMail.Type

/** Queues the message on a server, with warnings; does nothing on devices, whose command a server takes later. */
export const PurchaseOrderMailer = Context.Reference<(mail: PurchaseOrderMail) => StoreRead<ReadonlyArray<string>>>(
  "flightcase/PurchaseOrderMailer",
  { defaultValue: () => () => Effect.succeed([]) }
)

// Fields of requests about deliveries and returns (rules/billing 2.3).

const most = "1000000000"
const row = { nullable: true, names: "purchase_order_items" } as const
const named = {
  item_id: integer({ ...row, describe: "Id of a line of this order" }),
  purchase_order_item_id: integer({ ...row, describe: "Same as item_id" })
}
const serial_numbers = list(text({ max: 255 }), {
  nullable: true,
  max_items: 5_000,
  describe: "Serial numbers of serialised products: one per piece, or none"
})
const notes = longText({ nullable: true, max: 1_000 })
const about = {
  reference: text({ nullable: true, describe: "Number of the delivery or return note" }),
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
  received_at: timestamp({ nullable: true, describe: "Time of the delivery; default: now; not in the future" }),
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
        describe: "Quantity; default: units named, else all not returned"
      }),
      serial_numbers: list(text({ max: 255 }), {
        nullable: true,
        max_items: 5_000,
        describe: "Serial numbers of the units to return"
      }),
      stock_level_ids: list(integer({ names: "stock_levels" }), {
        nullable: true,
        max_items: 5_000,
        describe: "Ids of stock levels of the units to return"
      }),
      notes
    }),
    {
      nullable: true,
      min_items: 1,
      max_items: 1_000,
      describe: "Lines to return; default: all received and not yet returned"
    }
  ),
  returned_at: timestamp({ nullable: true, describe: "Time of the return; default: now; not in the future" }),
  ...about
}
export type ReturnValues = Partial<ValuesOf<typeof returnFields>>
// Claims on a unit that is to be returned to its supplier.

/** Demand on a unit, current or later. */
export interface UnitClaim {
  readonly demand: DemandRow
  /** Name of the job that holds the unit. */
  readonly job: string
}
/** Name of an order in messages. */
export const orderName = ({ id, number }: Pick<PurchaseOrderRow, "id" | "number">): string =>
  `Purchase order ${number ?? id}`
export const unitName = ({ id, serial_number }: Pick<StockLevelRow, "id" | "serial_number">): string =>
  serial_number === null ? `Unit ${id}` : `Unit ${serial_number}`
export const claimText = ({ demand, job }: UnitClaim): string =>
  demand.out
    ? `is out on hire with ${job}; check it in first.`
    : `is allocated to ${job} from ${demand.starts_at} to ${demand.ends_at}; release it there first.`

// Fields of requests that resolve shortages (rules/availability 9).

const resolutions = { ...purchase_order_types, waitlist: "Waiting list", transfer: "Transfer" } as const
export const resolveFields = {
  resolution: choice(resolutions, {
    required: true,
    any_case: true,
    describe: "Sub-hire or buy what is short, move it from another store, or wait for it"
  }),
  supplier_id: ref("members", { nullable: true, describe: "Supplier; required for a new order" }),
  purchase_order_id: ref("purchase_orders", { nullable: true, describe: "Draft purchase order to add the lines to" }),
  lines: list(
    object({
      opportunity_item_id: integer({ required: true, min: 1, names: "opportunity_items" }),
      quantity: decimal({
        scale: 2,
        min: "0.01",
        max: "1000000000",
        nullable: true,
        describe: "Quantity; default: all that is short and not on order"
      }),
      unit_cost: json<Json>({ form: "any", nullable: true, describe: "Cost per piece; default: the product's" })
    }),
    { nullable: true, min_items: 1, max_items: 1_000, describe: "Lines to resolve; default: all that are short" }
  ),
  currency: text({ format: "currency", max: 3, nullable: true }),
  expected_at: timestamp({ nullable: true }),
  from_store_id: ref("stores", {
    nullable: true,
    describe: "Store that sends a transfer; default: the one that has most of it"
  }),
  starts_at: timestamp({ nullable: true, describe: "Time a transfer leaves; default: when the goods are needed" }),
  arrives_at: timestamp({ nullable: true, describe: "Time a transfer arrives; default: starts_at" }),
  sub_rental: boolean({ default: false, describe: "Change fully sub-hired lines to sub-rentals" }),
  note: longText({ nullable: true, max: 2000, describe: "Note for the waiting list" })
}
export type ResolveValues = Partial<ValuesOf<typeof resolveFields>>
