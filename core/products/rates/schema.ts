/** Rate definitions (how time and quantity are charged) and product rates (their prices) (rules/rates 2, 5). */
import type { JsonObject } from "../../kernel/fields/field.ts"
import { boolean, choice, date, integer, json, list, longText, money, ref, text } from "../../kernel/fields/field.ts"
import { type RowOf, table } from "../../kernel/tables/table.ts"
import type { BasePeriod, CalculationStrategy } from "../../pricing/pricing/modifiers.ts"
import { basePeriods, rateTransactionTypes, strategies } from "../../pricing/pricing/modifiers.ts"

const strategyNames = Object.fromEntries(strategies.map(({ identifier, label }) => [identifier, label])) as {
  [S in CalculationStrategy]: string
}
const periodNames = Object.fromEntries(Object.entries(basePeriods).map(([period, { label }]) => [period, label])) as {
  [P in BasePeriod]: string
}

const described = { name: text({ required: true, search: true }), description: longText({ nullable: true }) }
/**
 * Fields of request bodies. Period, modifiers and configs are checked together by `definition.ts`: some clients send an
 * empty list for an empty object, and a period sent with the fixed strategy is ignored.
 */
export const rateDefinitionFields = {
  ...described,
  calculation_strategy: choice(strategyNames, { required: true }),
  base_period: text({
    nullable: true,
    max: 20,
    describe: `One of ${Object.keys(basePeriods).join(", ")}; which of them depends on the strategy`
  }),
  enabled_modifiers: list(text({ max: 50 }), { default: [], max_items: 20 }),
  strategy_config: json({
    form: "any",
    default: {},
    describe: "Options of the strategy, as listed by GET /rate_engine/schema"
  }),
  modifier_configs: json({ form: "any", default: {}, describe: "Object with one entry per enabled modifier" })
}
export const rate_definitions = table(
  "rate_definitions",
  {
    ...described,
    calculation_strategy: choice(strategyNames),
    base_period: choice(periodNames, { nullable: true }),
    enabled_modifiers: list(text()),
    strategy_config: json<JsonObject>(),
    modifier_configs: json<JsonObject>(),
    is_preset: boolean({ computed: true, default: false }),
    preset_slug: text({ computed: true, nullable: true, search: true }),
    cloned_from_id: ref("rate_definitions", { computed: true, nullable: true, on_delete: "clear" })
  },
  {
    reference: true,
    // Users who see products may calculate prices (rules/rates 6.3), and those who write quotes see them.
    visibility: { all_columns: ["rates.*", "products.*", "opportunities.*"] },
    indexes: [["name_folded"], ["cloned_from_id"]],
    uniques: [{ columns: ["preset_slug"], field: "preset_slug", message: "The preset slug has already been taken." }]
  }
)
export type RateDefinitionRow = RowOf<typeof rate_definitions>

export const productRateFields = {
  /** Archived products' rates do not prevent deleting the definition, as users could not remove them. */
  rate_definition_id: ref("rate_definitions", {
    required: true,
    on_delete: "refuse",
    while_of: { column: "product_id", table: "products", is: [{ deleted_at: null }] },
    otherwise: "delete",
    way_out: "remove or change the product's rate first"
  }),
  // Deleted with the store: without it the rate would apply at all stores (rules/rates 5).
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "delete" }),
  transaction_type: choice(rateTransactionTypes, { required: true, any_case: true }),
  price: money({ required: true, currency: "currency" }),
  currency: text({ required: true, max: 3, length: 3, format: "currency" }),
  valid_from: date({ nullable: true, on_null: "clear" }),
  valid_to: date({ nullable: true, on_null: "clear" }),
  priority: integer({ default: 0 })
}
export const product_rates = table(
  "product_rates",
  { product_id: ref("products", { computed: true, on_delete: "keep" }), ...productRateFields },
  {
    visibility: { all_columns: ["rates.*", "products.*", "opportunities.*"] },
    indexes: [["product_id", "transaction_type"], ["rate_definition_id"], ["store_id"]]
  }
)
export type ProductRateRow = RowOf<typeof product_rates>
