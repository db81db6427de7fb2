/** Endpoints and rules of surcharge groups (rules/billing 5). */
import type { Json, ValuesOf } from "../../kernel/fields/field.ts"
import { boolean, choice, integer, json, list, longText, money, object, ref, text } from "../../kernel/fields/field.ts"
import { type RowOf, table, updateWhere } from "../../kernel/tables/table.ts"
import type { SurchargeGroup } from "../../pricing/pricing/surcharges.ts"
import { readSurchargeValue, surchargeCalculations, surchargeScopes } from "../../pricing/pricing/surcharges.ts"
import { Effect, Result, Schema } from "effect"
import type { DecideContext, Slice } from "../../kernel/endpoints/endpoint.ts"
import { follow, type NewEvent } from "../../kernel/events/event-type.ts"
import {
  createdEvent,
  crudResource,
  deletedEvent,
  rowEvents,
  updatedEvent,
  viewManageAccess
} from "../../kernel/endpoints/crud-resource.ts"
import { type FieldErrors, invalid } from "../../kernel/fields/rejection.ts"
import { baseView, resource } from "../../kernel/endpoints/resource.ts"
import { baseCurrency } from "../../kernel/events/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { stores } from "../../setup/stores.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"

// Surcharge groups: charges that can be enabled for an opportunity (rules/billing 5).

const columns = {
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
  ...columns,
  surcharges: list(object({ id: integer({ min: 1, nullable: true }), ...surchargeFields }), {
    default: [],
    max_items: 100,
    input_only: true
  })
}
const surcharge_groups = table("surcharge_groups", columns, {
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

type SentSurcharge = ValuesOf<typeof surchargeGroupFields>["surcharges"][number]
interface Replaced {
  readonly events: ReadonlyArray<NewEvent>
}

/** Events that replace a group's surcharges. Errors are keyed `surcharges.<n>.<field>`. */
const replaceSurcharges = (
  group_id: number,
  sent: ReadonlyArray<SentSurcharge>,
  stored: ReadonlyArray<SurchargeRow>,
  context: DecideContext
): Result.Result<Replaced, FieldErrors> => {
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
    const updated = updatedEvent(surcharges, before, row)
    return updated === undefined ? [] : [updated]
  })
  if (Object.keys(errors).length > 0) return Result.fail(errors)
  return Result.succeed({
    events: [...[...unsent.values()].map((surcharge) => deletedEvent(surcharges, surcharge.id, surcharge)), ...events]
  })
}

const crud = crudResource({
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
      const sent = input.values["surcharges"] as ReadonlyArray<SentSurcharge> | undefined
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
  ...crud,
  tables: [...(crud.tables ?? []), surcharges],
  events: [...(crud.events ?? []), ...rowEvents(surcharges)],
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
