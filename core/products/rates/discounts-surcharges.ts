/** Discount rules, and groups of surcharges: their tables, endpoints and rules (rules/billing 4, 5). */
import { Effect, Result, Schema } from "effect"
import { baseCurrency, baseView, boolean, choice, createdEvent, crudResource, date } from "../../kernel/index.ts"
import { deletedEvent, follow, integer, invalid, json, list, longText, money, object } from "../../kernel/index.ts"
import { ref, resource, rowEvents, Shown, Store, table, text, updatedEvents } from "../../kernel/index.ts"
import { updateWhere, viewManageAccess, type DecideContext, type FieldErrors, type Json } from "../../kernel/index.ts"
import { type JsonObject, type NewEvent, type RowOf, type Slice, type ValuesOf } from "../../kernel/index.ts"
import { readCriteria } from "../../pricing/pricing/criteria.ts"
import { discountScopes, discountTypes, readDiscountValue, showDiscountValue } from "../../pricing/pricing/discounts.ts"
import type { SurchargeGroup } from "../../pricing/pricing/surcharges.ts"
import { readSurchargeValue, surchargeCalculations, surchargeScopes } from "../../pricing/pricing/surcharges.ts"
import { stores } from "../../setup/stores.ts"

// Discount rules: their table, endpoints and facts for pricing (rules/billing 4).

const rule_columns = {
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
  ...rule_columns,
  /** Percentage above 0 up to 100, or money in `currency_code`, by the rule's type. */
  discount_value: json<Json>({ form: "any", required: true })
}
const discount_rules = table(
  "discount_rules",
  {
    ...rule_columns,
    /** Decimal string: a percentage with 2 decimals, or money at the currency's own scale. */
    discount_value: text({ max: 20 })
  },
  {
    // A rule still applies to lines made before its deletion (rules/billing 4).
    soft_delete: true,
    reference: true,
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

export const discountRulesSlice: Slice = crudResource({
  resource: discountRuleResource,
  fields,
  path: "/api/v1/discount_rules",
  access: viewManageAccess("pricing", "pricing.manage", "pricing.manage"),
  rules: {
    save: ({ next, input, context }) =>
      Result.mapBoth(judge(next, input.values["discount_value"], baseCurrency(context.settings)), {
        onSuccess: (set) => ({ set }),
        onFailure: invalid
      })
  }
})

/**
 * Rules for stage 2 of pricing: active ones, and those deleted since the opportunity was created (`since`; null for a
 * new one). One query.
 */
export const discountFacts = Effect.fnUntraced(function* (since: string | null) {
  const rules = yield* Store.find(discount_rules, { is_active: true }, { order: ["-priority", "id"] })
  const deleted = rules.filter(({ deleted_at }) => deleted_at !== null && since !== null && deleted_at >= since)
  return [...rules.filter(({ deleted_at }) => deleted_at === null), ...deleted]
})

// Surcharge groups: charges that can be enabled for an opportunity (rules/billing 5).

const group_columns = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true, on_null: "clear" }),
  is_active: boolean({ default: true }),
  /** Whether the group is enabled on new opportunities. */
  default_enabled: boolean({ default: false }),
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "handled" }),
  sort_order: integer({ default: 0 })
}

const surchargeFields = {
  name: text({ required: true }),
  calculation_type: choice(surchargeCalculations, { required: true }),
  /** Percentage of 0 to 100, or money in the base currency, by the surcharge's type. */
  value: json<Json>({ form: "any", required: true }),
  applies_to: choice(surchargeScopes, { default: "all" }),
  tax_class_id: ref("product_tax_classes", { nullable: true, on_delete: "clear" }),
  min_amount: money({ nullable: true }),
  max_amount: money({ nullable: true }),
  /** Position in the group; default: index in the list. */
  sort_order: integer({ nullable: true })
}

/**
 * Fields of request bodies. `surcharges` replaces all surcharges of the group; those sent with their `id` are updated.
 */
const surchargeGroupFields = {
  ...group_columns,
  surcharges: list(object({ id: integer({ min: 1, nullable: true }), ...surchargeFields }), {
    default: [],
    max_items: 100,
    input_only: true
  })
}
const surcharge_groups = table("surcharge_groups", group_columns, {
  visibility: { all_columns: ["pricing.manage", "opportunities.*"] }
})

const surcharges = table(
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
type SurchargeRow = RowOf<typeof surcharges>

const inOrder = { order: ["sort_order", "id"] }

/** Surcharges by the id of their group, in order. One query. */
const surchargesOf = Effect.fnUntraced(function* (group_ids: ReadonlyArray<number>) {
  const rows = yield* Store.find(surcharges, { surcharge_group_id: group_ids }, inOrder)
  const byGroup = new Map<number, Array<SurchargeRow>>(group_ids.map((id) => [id, []]))
  for (const row of rows) byGroup.get(row.surcharge_group_id)?.push(row)
  return byGroup
})

/** Columns of a surcharge within its group in responses. */
const {
  surcharge_group_id: _group,
  created_at: _created,
  updated_at: _updated,
  deleted_at: _deleted,
  ...surcharge_shows
} = surcharges.columns

const surchargeGroupResource = resource({
  singular: "surcharge_group",
  shows: { surcharges: Shown.objects(surcharge_shows) },
  table: surcharge_groups,
  called: { by: ["name"] },
  filters: ["name", "is_active", "store_id", "created_at"],
  sorts: ["name", "sort_order", "created_at"],
  load: (rows) => surchargesOf(rows.map(({ id }) => id)),
  view: (base, row, _found, context, loaded) => {
    const { created_at, updated_at, ...own } = base
    const shown = (loaded.get(row.id) ?? []).map((one) => {
      const {
        surcharge_group_id: _group,
        created_at: _created,
        updated_at: _updated,
        ...surcharge
      } = baseView(surcharges, one, context)
      return surcharge
    })
    return { ...own, surcharges: shown, created_at: created_at ?? null, updated_at: updated_at ?? null }
  }
})

/** Events that replace a group's surcharges. Errors are keyed `surcharges.<n>.<field>`. */
const replaceSurcharges = (
  group_id: number,
  sent: ReadonlyArray<ValuesOf<typeof surchargeGroupFields>["surcharges"][number]>,
  stored: ReadonlyArray<SurchargeRow>,
  context: DecideContext
): Result.Result<{ readonly events: ReadonlyArray<NewEvent> }, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const unsent = new Map(stored.map((one) => [one.id, one]))
  const events = sent.flatMap((one, index): ReadonlyArray<NewEvent> => {
    const path = `surcharges.${index}`
    const value = readSurchargeValue(one.calculation_type, one.value, baseCurrency(context.settings))
    if (Result.isFailure(value)) errors[`${path}.value`] = [`The value field ${value.failure}`]
    if (one.min_amount !== null && one.max_amount !== null && one.max_amount < one.min_amount) {
      errors[`${path}.max_amount`] = ["The max amount must not be below the min amount."]
    }
    const before = one.id === null ? undefined : unsent.get(one.id)
    if (one.id !== null && before === undefined)
      errors[`${path}.id`] = ["The group has no such surcharge left; leave the id out to add one."]
    if (Result.isFailure(value)) return []
    if (before !== undefined) unsent.delete(before.id)
    const row = { ...one, value: value.success, sort_order: one.sort_order ?? index }
    if (before === undefined)
      return [createdEvent(surcharges, { ...row, id: context.id(surcharges), surcharge_group_id: group_id })]
    return updatedEvents(surcharges, before, row)
  })
  if (Object.keys(errors).length > 0) return Result.fail(errors)
  return Result.succeed({
    events: [...[...unsent.values()].map((surcharge) => deletedEvent(surcharges, surcharge.id, surcharge)), ...events]
  })
}

const surchargeGroups = crudResource({
  resource: surchargeGroupResource,
  fields: surchargeGroupFields,
  path: "/api/v1/surcharge_groups",
  access: viewManageAccess("pricing", "pricing.manage", "pricing.manage"),
  rules: {
    facts: (_input, before) =>
      Effect.gen(function* () {
        return {
          stored: before === undefined ? [] : yield* Store.find(surcharges, { surcharge_group_id: before.id }, inOrder)
        }
      }),
    save: ({ next, facts, input, context }) => {
      const sent = input.values.surcharges
      if (sent === undefined) return Result.succeed({})
      return Result.mapBoth(replaceSurcharges(next.id, sent, facts.stored, context), {
        onSuccess: ({ events }) => ({ also: events }),
        onFailure: invalid
      })
    }
  }
})

/** Groups by id with their surcharges, for stage 3 of pricing. Two queries. */
export const surchargeFacts = Effect.fnUntraced(function* (group_ids: ReadonlyArray<number>) {
  const groups = yield* Store.getMany(surcharge_groups, group_ids)
  const byGroup = yield* surchargesOf(groups.map(({ id }) => id))
  return groups.map((group): SurchargeGroup => ({ ...group, surcharges: byGroup.get(group.id) ?? [] }))
})

/** Ids of groups enabled on new opportunities of a store. */
export const defaultSurchargeGroupIds = Effect.fnUntraced(function* (store_id: number | null) {
  const groups = yield* Store.find(surcharge_groups, { is_active: true, default_enabled: true }, inOrder)
  return groups.filter((group) => group.store_id === null || group.store_id === store_id).map(({ id }) => id)
})

export const surchargeGroupsSlice: Slice = {
  ...surchargeGroups,
  tables: [...(surchargeGroups.tables ?? []), surcharges],
  events: [...(surchargeGroups.events ?? []), ...rowEvents(surcharges)],
  follows: [
    // Deleting a store deactivates its groups: without the store they would be charged at all stores.
    follow(
      `${stores.entity}.deleted`,
      () => Schema.Struct({ id: Schema.Int }),
      ({ id }, { recorded_at }) => [
        updateWhere(surcharge_groups, { store_id: id }, { is_active: false, store_id: null, updated_at: recorded_at })
      ]
    )
  ]
}
