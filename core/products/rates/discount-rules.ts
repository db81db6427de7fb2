/** Discount rules: their table, endpoints and facts for pricing (rules/billing 4). */
import { Effect, Result } from "effect"
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import type { Json, JsonObject } from "../../kernel/fields/field.ts"
import { boolean, choice, date, integer, json, longText, money, ref, text } from "../../kernel/fields/field.ts"
import { crudResource, viewManageAccess } from "../../kernel/endpoints/crud-resource.ts"
import { type FieldErrors, invalid } from "../../kernel/fields/rejection.ts"
import { resource } from "../../kernel/endpoints/resource.ts"
import { baseCurrency } from "../../kernel/events/settings.ts"
import { orderSql } from "../../kernel/store/statement.ts"
import { Store } from "../../kernel/store/store.ts"
import { type RowOf, table } from "../../kernel/tables/table.ts"
import { readCriteria } from "../../pricing/pricing/criteria.ts"
import { discountScopes, discountTypes, readDiscountValue, showDiscountValue } from "../../pricing/pricing/discounts.ts"

const columns = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true, on_null: "clear" }),
  discount_type: choice(discountTypes, { required: true }),
  applies_to: choice(discountScopes, { default: "line" }),
  max_discount_amount: money({ nullable: true, on_null: "clear", currency: "currency_code" }),
  currency_code: text({ nullable: true, on_null: "clear", max: 3, format: "currency" }),
  criteria: json<JsonObject>({ required: true }),
  auto_apply: boolean({ default: false }),
  stackable: boolean({ default: false }),
  priority: integer({ default: 0 }),
  is_active: boolean({ default: true }),
  valid_from: date({ nullable: true, on_null: "clear" }),
  valid_to: date({ nullable: true, on_null: "clear" }),
  // Deleted with the store: without it the rule would apply at every store.
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "delete" })
}
const fields = {
  ...columns,
  /** Percentage above 0 up to 100, or money in `currency_code`, by the rule's type. */
  discount_value: json<Json>({ form: "any", required: true })
}
const discount_rules = table(
  "discount_rules",
  {
    ...columns,
    /** Decimal string: a percentage with 2 decimals, or money at the currency's own scale. */
    discount_value: text({ max: 20 })
  },
  {
    // A rule still applies to lines made before its deletion (rules/billing 4).
    soft_delete: true,
    visibility: { all_columns: ["pricing.manage", "opportunities.*"] },
    indexes: [["is_active", "priority"]]
  }
)
type DiscountRuleRow = RowOf<typeof discount_rules>

const discountRuleResource = resource({
  singular: "discount_rule",
  table: discount_rules,
  called: { by: ["name"] },
  filters: ["name", "discount_type", "auto_apply", "is_active", "store_id", "created_at"],
  sorts: ["name", "priority", "created_at"],
  view: (base, row) => ({ ...base, discount_value: showDiscountValue(row.discount_type, row.discount_value) })
})

/** Columns to store for a rule, or errors by field. `sent`: the value in the request body; undefined if absent. */
const judge = (
  next: DiscountRuleRow,
  sent: Json | undefined,
  base_currency: string
): Result.Result<Partial<DiscountRuleRow>, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (next.discount_type === "fixed_amount" && next.currency_code === null) {
    errors["currency_code"] = ["The currency code field is required with a fixed amount."]
  }
  // An unsent value is checked, too, as type or currency may have changed.
  const value = readDiscountValue(next.discount_type, sent ?? next.discount_value, next.currency_code ?? base_currency)
  if (Result.isFailure(value)) errors["discount_value"] = [`The discount value field ${value.failure}`]
  if (next.valid_from !== null && next.valid_to !== null && next.valid_to < next.valid_from) {
    errors["valid_to"] = ["The valid to must be a date after or equal to valid from."]
  }
  const criteria = readCriteria(next.criteria)
  if (Result.isFailure(criteria)) Object.assign(errors, criteria.failure)
  return Result.isFailure(value) || Object.keys(errors).length > 0
    ? Result.fail(errors)
    : Result.succeed({ discount_value: value.success })
}

const crud = crudResource({
  resource: discountRuleResource,
  fields,
  path: "/api/v1/discount_rules",
  access: viewManageAccess("pricing", "pricing.manage", "pricing.manage"),
  rules: {
    save: ({ next, input, context }) =>
      Result.mapBoth(judge(next, input.values["discount_value"] as Json | undefined, baseCurrency(context.settings)), {
        onSuccess: (set) => ({ set }),
        onFailure: invalid
      })
  }
})

/**
 * Rules for stage 2 of pricing: active ones, and those deleted since the opportunity was created (`since`; null for a
 * new one). Two queries.
 */
export const discountFacts = Effect.fnUntraced(function* (since: string | null) {
  const order = ["-priority", "id"]
  const rules = yield* Store.find(discount_rules, { is_active: true, deleted_at: null }, { order })
  if (since === null) return rules
  const deleted = yield* Store.select(
    discount_rules,
    (sql) => sql`where is_active and deleted_at >= ${since} order by ${sql.literal(orderSql(discount_rules, order))}`
  )
  return [...rules, ...deleted]
})

export const discountRulesSlice: Slice = crud
