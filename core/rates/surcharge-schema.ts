/** Surcharge groups: charges that are switched on for a whole opportunity (rules/billing 5). */
import { boolean, choice, integer, json, list, money, object, longText, ref, text } from "../kernel/field.ts"
import type { Json } from "../kernel/json.ts"
import { type RowOf, table } from "../kernel/table.ts"
import { surchargeCalculations, surchargeScopes } from "../pricing/surcharges.ts"

const columns = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true, on_null: "clear" }),
  is_active: boolean({ default: true }),
  /** New opportunities start with the group switched on. */
  default_enabled: boolean({ default: false }),
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "handled" }),
  sort_order: integer({ default: 0 })
}

const surchargeFields = {
  name: text({ required: true }),
  calculation_type: choice(surchargeCalculations, { required: true }),
  /** A percentage of 0 to 100, or money in the base currency: how it is read depends on the type. */
  value: json<Json>({ form: "any", required: true }),
  applies_to: choice(surchargeScopes, { default: "all" }),
  tax_class_id: ref("product_tax_classes", { nullable: true, on_delete: "clear" }),
  min_amount: money({ nullable: true }),
  max_amount: money({ nullable: true }),
  /** Default: its index in the list. */
  sort_order: integer({ nullable: true })
}

/** Fields of request bodies. `surcharges` replaces all of the group; entries with an `id` of the group keep it. */
export const surchargeGroupFields = {
  ...columns,
  surcharges: list(object({ id: integer({ min: 1, nullable: true }), ...surchargeFields }), {
    default: [],
    max_items: 100,
    input_only: true
  })
}
export const surcharge_groups = table("surcharge_groups", columns, {
  visibility: { all_columns: ["pricing.manage", "opportunities.*"] }
})

export const surcharges = table(
  "surcharges",
  {
    ...surchargeFields,
    surcharge_group_id: ref("surcharge_groups", { computed: true, on_delete: "delete" }),
    /** Decimal string: a percentage with 2 decimals, or money at the base currency's scale. */
    value: text({ max: 20 }),
    sort_order: integer({ default: 0 })
  },
  {
    visibility: { all_columns: ["pricing.manage", "opportunities.*"] },
    indexes: [["surcharge_group_id", "sort_order"]],
    stream: { entity: "surcharge_group", column: "surcharge_group_id" }
  }
)
export type SurchargeRow = RowOf<typeof surcharges>
