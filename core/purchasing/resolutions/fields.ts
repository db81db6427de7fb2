/** Fields of requests that resolve shortages (rules/availability 9). */
import {
  boolean,
  choice,
  decimal,
  integer,
  type Json,
  json,
  list,
  object,
  ref,
  text,
  timestamp,
  type ValuesOf
} from "../../kernel/fields/field.ts"
import { waitingNote } from "../../orders/opportunities/waiting/api.ts"
import { purchase_order_types } from "../schema.ts"

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
