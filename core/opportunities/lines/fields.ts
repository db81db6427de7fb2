/** What bodies about lines may hold (rules/opportunities 7.2, 7.3). */
import {
  boolean,
  choice,
  code,
  decimal,
  integer,
  json,
  money,
  longText,
  ref,
  text,
  timestamp
} from "../../kernel/field.ts"
import type { JsonObject } from "../../kernel/json.ts"
import { charge_period_labels, item_types, line_quantity_max, transaction_type_labels } from "../child-tables.ts"

const quantity = { scale: 2, min: "0", max: String(line_quantity_max) } as const
const percent = { scale: 2, min: "0", max: "100" } as const
const currency = () => text({ nullable: true, max: 3, format: "currency" })

export const addItemFields = {
  item_type: choice(item_types, { default: "product", any_case: true }),
  name: text({ required: true }),
  item_id: ref("products", { nullable: true }),
  /** The same as `item_id`. */
  itemable_id: ref("products", { nullable: true }),
  itemable_type: text({ nullable: true }),
  parent_path: text({ nullable: true }),
  principal_item_id: integer({ nullable: true, names: "opportunity_items" }),
  quantity: decimal({ ...quantity, default: "1.00" }),
  transaction_type: code(transaction_type_labels, { default: 0 }),
  charge_period: code(charge_period_labels, { default: 1 }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean({ default: false }),
  discount_percent: decimal({ ...percent, nullable: true }),
  unit_price: money({ currency: "currency_code", nullable: true }),
  currency: currency(),
  revenue_group_id: ref("revenue_groups", { nullable: true }),
  description: longText({ nullable: true }),
  notes: longText({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} }),
  materialize_included_accessories: boolean({ default: true })
}

export const changeItemFields = {
  quantity: decimal(quantity),
  unit_price: money({ currency: "currency_code", nullable: true, on_null: "clear" }),
  currency: currency(),
  discount_percent: decimal({ ...percent, nullable: true, on_null: "clear" }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  is_optional: boolean(),
  item_id: ref("products", { nullable: true, on_null: "clear" }),
  itemable_type: text({ nullable: true, on_null: "clear" }),
  name: text({ required: true, on_null: "reject" }),
  description: longText({ nullable: true, on_null: "clear" }),
  notes: longText({ nullable: true, on_null: "clear" })
}
